/* What is special about the SQLite store: files that are not ours or not sound, reading beside a writer, several processes, failing disks. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapter/sqlite/sqlite.h"
#include "base/time.h"
#include "harness/test.h"

#define PK DR_STR("cluster")

static const char *in_tmp(const char *name) {
    static char paths[4][600];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", dr_test_tmpdir(), name);
    return path;
}

static void write_file(const char *path, const void *bytes, size_t n) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_EQ_INT(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static void run_sql(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    CHECK_EQ_INT(sqlite3_open(path, &db), SQLITE_OK);
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
        FAIL("%s: %s", sql, why);
    }
    sqlite3_close(db);
}

static struct dr_sqlite *open_ok(const char *path, enum dr_sqlite_mode mode) {
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_OK(dr_sqlite_open(path, mode, &handle, &err), err);
    return handle;
}

static enum dr_cas put_count(struct dr_sqlite *handle, int64_t revision, int64_t count) {
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_state state;
    dr_state_init(&state, PK);
    state.revision = revision;
    state.worker_count = count;
    enum dr_cas outcome = DR_CAS_LOST;
    struct dr_err err;
    CHECK_OK(store.ops->cas(store.self, &state, 0, &outcome, &err), err);
    return outcome;
}

static struct dr_state get(struct dr_sqlite *handle, struct dr_arena *arena) {
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_state state;
    struct dr_err err;
    CHECK_OK(store.ops->load(store.self, arena, PK, 0, &state, &err), err);
    return state;
}

static int put_row(struct dr_sqlite *handle, int64_t at_ms, const char *json, struct dr_err *err) {
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_journal_row row = {at_ms, DR_STR("r"), 0, dr_str_of(json)};
    return store.ops->journal_put(store.self, PK, &row, INT64_MAX, 0, err);
}

/* A sound state file of ours with an item and some hundred rows, closed. */
static const char *make_file(const char *name) {
    const char *path = in_tmp(name);
    struct dr_sqlite *handle = open_ok(path, DR_SQLITE_WRITE);
    struct dr_err err;
    CHECK_EQ_INT(put_count(handle, 0, 3), DR_CAS_OK);
    for (int i = 0; i < 300; i++) {
        CHECK_OK(put_row(handle, 1000 + i, "{\"some\":\"row that takes a little room in the file\"}", &err), err);
    }
    dr_sqlite_close(handle);
    return path;
}

/* Opening fails with that code and text in both modes, and neither the file nor its folder changes. */
static void check_refused(const char *path, enum dr_code code, const char *text) {
    size_t before_n = 0;
    char *before = dr_test_read_file(path, &before_n);
    for (int i = 0; i < 2; i++) {
        struct dr_sqlite *handle = NULL;
        struct dr_err err;
        CHECK_FAILS(dr_sqlite_open(path, i == 0 ? DR_SQLITE_WRITE : DR_SQLITE_READ, &handle, &err), err, code);
        CHECK(handle == NULL);
        CHECK_CONTAINS(dr_str_of(err.text), text);
        CHECK_CONTAINS(dr_str_of(err.text), path);
        size_t n = 0;
        char *now = dr_test_read_file(path, &n);
        CHECK_EQ_INT(n, before_n);
        CHECK(memcmp(now, before, n) == 0);
        free(now);
        char beside[700];
        snprintf(beside, sizeof(beside), "%s-wal", path);
        CHECK(access(beside, F_OK) != 0);
        snprintf(beside, sizeof(beside), "%s-shm", path);
        CHECK(access(beside, F_OK) != 0);
    }
    free(before);
}

TEST(sqlite, file_that_is_no_database_is_refused_and_left) {
    const char *path = in_tmp("notes.txt");
    char text[5000];
    memset(text, 'x', sizeof(text));
    write_file(path, text, sizeof(text));
    check_refused(path, DR_E_INVALID, "not a state file");
    write_file(path, "short", 5);
    check_refused(path, DR_E_INVALID, "not a state file");
}

TEST(sqlite, empty_file_is_refused_and_left) {
    const char *path = in_tmp("empty.db");
    write_file(path, "", 0);
    check_refused(path, DR_E_INVALID, "is empty");
}

TEST(sqlite, database_of_another_program_is_refused_and_left) {
    const char *path = in_tmp("photos.db");
    run_sql(path, "PRAGMA application_id=1234; CREATE TABLE photo (id INTEGER); INSERT INTO photo VALUES (1)");
    check_refused(path, DR_E_INVALID, "of another program");
    const char *plain = in_tmp("plain.db");
    run_sql(plain, "CREATE TABLE item (id INTEGER)");
    check_refused(plain, DR_E_INVALID, "of another program");
}

TEST(sqlite, newer_schema_is_refused_and_left) {
    const char *path = make_file("newer.db");
    run_sql(path, "PRAGMA journal_mode=DELETE; PRAGMA user_version=2");
    check_refused(path, DR_E_INVALID, "newer drover (schema 2, this one knows 1)");
}

TEST(sqlite, schema_that_became_newer_in_the_log_only_is_refused) {
    const char *path = make_file("log.db");
    sqlite3 *db = NULL; /* stays open, so that its log is not moved into the file */
    CHECK_EQ_INT(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_EQ_INT(sqlite3_exec(db, "PRAGMA user_version=2", NULL, NULL, NULL), SQLITE_OK);
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_FAILS(dr_sqlite_open(path, DR_SQLITE_WRITE, &handle, &err), err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(err.text), "newer drover");
    sqlite3_close(db);
}

TEST(sqlite, missing_tables_are_refused_and_left) {
    const char *path = make_file("tables.db");
    run_sql(path, "PRAGMA journal_mode=DELETE; DROP TABLE inbox");
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_FAILS(dr_sqlite_open(path, DR_SQLITE_READ, &handle, &err), err, DR_E_CORRUPT);
    CHECK_CONTAINS(dr_str_of(err.text), "no such table");
}

TEST(sqlite, damaged_file_is_refused_for_writing_and_left) {
    const char *path = make_file("damaged.db");
    size_t n = 0;
    char *bytes = dr_test_read_file(path, &n);
    const size_t sound = 8192; /* two pages */
    CHECK(n > sound + 4096);
    memset(bytes + sound, 0x5a, n - sound);
    write_file(path, bytes, n);
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_FAILS(dr_sqlite_open(path, DR_SQLITE_WRITE, &handle, &err), err, DR_E_CORRUPT);
    CHECK_CONTAINS(dr_str_of(err.text), "damaged");
    size_t now_n = 0;
    char *now = dr_test_read_file(path, &now_n);
    CHECK_EQ_INT(now_n, n);
    CHECK(memcmp(now, bytes, n) == 0);
    free(now);
    free(bytes);
}

TEST(sqlite, file_cut_off_is_refused_and_left) {
    const char *path = make_file("cut.db");
    CHECK_EQ_INT(truncate(path, 3 * 4096 + 100), 0);
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_FAILS(dr_sqlite_open(path, DR_SQLITE_WRITE, &handle, &err), err, DR_E_CORRUPT);
    struct stat st;
    CHECK_EQ_INT(stat(path, &st), 0);
    CHECK_EQ_INT(st.st_size, 3 * 4096 + 100);
}

TEST(sqlite, missing_file_and_folder_are_named) {
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_FAILS(dr_sqlite_open(in_tmp("none.db"), DR_SQLITE_READ, &handle, &err), err, DR_E_NOT_FOUND);
    CHECK(access(in_tmp("none.db"), F_OK) != 0);
    CHECK_FAILS(dr_sqlite_open(in_tmp("nowhere/none.db"), DR_SQLITE_WRITE, &handle, &err), err, DR_E_NOT_FOUND);
    CHECK_CONTAINS(dr_str_of(err.text), "nowhere: does not exist; make it first");
    CHECK_FAILS(dr_sqlite_open(dr_test_tmpdir(), DR_SQLITE_WRITE, &handle, &err), err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(err.text), "not a regular file");
    CHECK_FAILS(dr_sqlite_open("", DR_SQLITE_WRITE, &handle, &err), err, DR_E_INVALID);
}

TEST(sqlite, names_with_signs_of_a_uri_are_plain_names) {
    const char *path = in_tmp("a?b#c%20d e.db");
    struct dr_sqlite *handle = open_ok(path, DR_SQLITE_WRITE);
    CHECK_EQ_INT(put_count(handle, 0, 4), DR_CAS_OK);
    dr_sqlite_close(handle);
    handle = open_ok(path, DR_SQLITE_READ);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    CHECK_EQ_INT(get(handle, &arena).worker_count, 4);
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}

/* Root may write everything, so the child becomes somebody else first. */
static int as_nobody(int (*fn)(const char *path), const char *path) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) {
            _exit(99);
        }
        _exit(fn(path));
    }
    int status = 0;
    CHECK_EQ_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int refused_as_read_only(const char *path) {
    struct dr_sqlite *handle = NULL;
    struct dr_err err = {.code = DR_OK};
    if (dr_sqlite_open(path, DR_SQLITE_WRITE, &handle, &err) == 0 || err.code != DR_E_DENIED ||
        strstr(err.text, "cannot be written") == NULL) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return 0;
}

static int can_be_read(const char *path) {
    struct dr_sqlite *handle = NULL;
    struct dr_err err = {.code = DR_OK};
    if (dr_sqlite_open(path, DR_SQLITE_READ, &handle, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    int result = get(handle, &arena).worker_count == 3 ? 0 : 2;
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
    return result;
}

TEST(sqlite, read_only_file_is_refused_for_writing_and_can_be_read) {
    const char *path = make_file("fixed.db");
    size_t n = 0;
    char *before = dr_test_read_file(path, &n);
    CHECK_EQ_INT(chmod(dr_test_tmpdir(), 0777), 0);
    CHECK_EQ_INT(chmod(path, 0444), 0);
    CHECK_EQ_INT(as_nobody(refused_as_read_only, path), 0);
    CHECK_EQ_INT(as_nobody(can_be_read, path), 0);
    CHECK_EQ_INT(chmod(dr_test_tmpdir(), 0555), 0);
    CHECK_EQ_INT(chmod(path, 0666), 0);
    CHECK_EQ_INT(as_nobody(refused_as_read_only, path), 0); /* WAL needs the folder */
    CHECK_EQ_INT(as_nobody(can_be_read, path), 0);
    CHECK_EQ_INT(chmod(dr_test_tmpdir(), 0755), 0);
    size_t now_n = 0;
    char *now = dr_test_read_file(path, &now_n);
    CHECK_EQ_INT(now_n, n);
    CHECK(memcmp(before, now, n) == 0);
    free(now);
    free(before);
}

TEST(sqlite, reading_leaves_no_trace) {
    const char *path = make_file("quiet.db");
    char wal[700];
    snprintf(wal, sizeof(wal), "%s-wal", path);
    CHECK(access(wal, F_OK) != 0);
    struct dr_sqlite *handle = open_ok(path, DR_SQLITE_READ);
    CHECK(access(wal, F_OK) != 0);
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_state state;
    dr_state_init(&state, PK);
    enum dr_cas outcome;
    struct dr_err err;
    struct dr_event event = {DR_STR("i-1"), DR_EVENT_WARNING, 1, false};
    CHECK_FAILS(store.ops->cas(store.self, &state, 0, &outcome, &err), err, DR_E_DENIED);
    CHECK_FAILS(store.ops->inbox_put(store.self, PK, &event, 0, &err), err, DR_E_DENIED);
    CHECK_FAILS(store.ops->inbox_handle(store.self, PK, event.instance_id, event.kind, 0, 0, &err), err, DR_E_DENIED);
    CHECK_FAILS(put_row(handle, 1, "{}", &err), err, DR_E_DENIED);
    dr_sqlite_close(handle);
    CHECK(access(wal, F_OK) != 0);
}

TEST(sqlite, reader_sees_what_a_writer_in_progress_has_written) {
    const char *path = in_tmp("live.db");
    struct dr_sqlite *writer = open_ok(path, DR_SQLITE_WRITE);
    CHECK_EQ_INT(put_count(writer, 0, 1), DR_CAS_OK);
    struct dr_sqlite *reader = open_ok(path, DR_SQLITE_READ);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    CHECK_EQ_INT(get(reader, &arena).worker_count, 1);
    CHECK_EQ_INT(put_count(writer, 1, 2), DR_CAS_OK);
    CHECK_EQ_INT(get(reader, &arena).worker_count, 2);
    dr_sqlite_close(writer);
    CHECK_EQ_INT(get(reader, &arena).worker_count, 2);
    dr_arena_deinit(&arena);
    dr_sqlite_close(reader);
}

/* The writer ends without closing, as by kill -9: the log is all there is of its writes. */
TEST(sqlite, writes_of_a_process_that_died_are_there) {
    const char *path = in_tmp("died.db");
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct dr_sqlite *handle = open_ok(path, DR_SQLITE_WRITE);
        (void)put_count(handle, 0, 7);
        _exit(0);
    }
    int status = 0;
    CHECK_EQ_INT(waitpid(child, &status, 0), child);
    CHECK_EQ_INT(status, 0);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_sqlite *reader = open_ok(path, DR_SQLITE_READ);
    CHECK_EQ_INT(get(reader, &arena).worker_count, 7);
    dr_sqlite_close(reader);
    struct dr_sqlite *handle = open_ok(path, DR_SQLITE_WRITE);
    CHECK_EQ_INT(get(handle, &arena).worker_count, 7);
    CHECK_EQ_INT(put_count(handle, 1, 8), DR_CAS_OK);
    dr_sqlite_close(handle);
    dr_arena_deinit(&arena);
}

/* ---- several processes ---- */

enum { PROCESSES = 4, ROUNDS = 50 };

/* Each wants to write every revision once; it notes those that it won. The file is made by whoever comes first. */
static void compete(const char *path, unsigned char *won) {
    struct dr_sqlite *handle = open_ok(path, DR_SQLITE_WRITE);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    int64_t revision = 0;
    while (revision < ROUNDS) {
        if (put_count(handle, revision, getpid()) == DR_CAS_OK) {
            won[revision] = 1;
        }
        revision = get(handle, &arena).revision;
        dr_arena_reset(&arena);
    }
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}

TEST_TIMEOUT(sqlite, of_several_processes_exactly_one_wins_each_revision, 120) {
    const char *path = in_tmp("shared.db");
    int pipes[PROCESSES][2];
    pid_t children[PROCESSES];
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        CHECK_EQ_INT(pipe(pipes[i]), 0);
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            unsigned char won[ROUNDS] = {0};
            compete(path, won);
            _exit(write(pipes[i][1], won, sizeof(won)) == (ssize_t)sizeof(won) ? 0 : 1);
        }
    }
    int winners[ROUNDS] = {0};
    for (int i = 0; i < PROCESSES; i++) {
        unsigned char won[ROUNDS];
        int status = 0;
        CHECK_EQ_INT(waitpid(children[i], &status, 0), children[i]);
        CHECK_EQ_INT(status, 0);
        CHECK_EQ_INT(read(pipes[i][0], won, sizeof(won)), sizeof(won));
        for (int r = 0; r < ROUNDS; r++) {
            winners[r] += won[r];
        }
    }
    for (int r = 0; r < ROUNDS; r++) {
        CHECK_EQ_INT(winners[r], 1);
    }
    struct dr_sqlite *handle = open_ok(path, DR_SQLITE_READ);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    CHECK_EQ_INT(get(handle, &arena).revision, ROUNDS);
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}

/* ---- stored data that is not what we wrote ---- */

TEST(sqlite, item_that_cannot_be_decoded_is_corrupt_and_left) {
    static const struct {
        const char *sql;
        const char *text;
    } cases[] = {
        {"UPDATE item SET body='{'", "item cluster"},
        {"UPDATE item SET body='[]'", "item cluster"},
        {"UPDATE item SET revision=9", "its body says revision 1, its row 9"},
        {"UPDATE item SET body='{\"pk\":{\"S\":\"other\"},\"revision\":{\"N\":\"1\"}}'", "its body says pk \"other\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[32];
        snprintf(name, sizeof(name), "wrong-%zu.db", i);
        const char *path = make_file(name);
        run_sql(path, cases[i].sql);
        struct dr_sqlite *handle = open_ok(path, DR_SQLITE_WRITE);
        struct dr_store store = dr_sqlite_store(handle);
        struct dr_arena arena;
        dr_arena_init(&arena, 0);
        struct dr_state state;
        struct dr_err err;
        CHECK_FAILS(store.ops->load(store.self, &arena, PK, 0, &state, &err), err, DR_E_CORRUPT);
        CHECK_CONTAINS(dr_str_of(err.text), cases[i].text);
        dr_arena_deinit(&arena);
        dr_sqlite_close(handle);
    }
}

TEST(sqlite, unknown_kind_of_event_is_corrupt) {
    const char *path = make_file("kind.db");
    run_sql(path, "INSERT INTO inbox (pk, instance_id, kind, at_ms) VALUES ('cluster', 'i-1', 'surprise', 1)");
    struct dr_sqlite *handle = open_ok(path, DR_SQLITE_READ);
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    const struct dr_event *events;
    size_t n;
    struct dr_err err;
    CHECK_FAILS(store.ops->inbox(store.self, &arena, PK, 0, &events, &n, &err), err, DR_E_CORRUPT);
    CHECK_CONTAINS(dr_str_of(err.text), "surprise");
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}

TEST(sqlite, journal_key_with_another_body_is_a_conflict) {
    struct dr_sqlite *handle = open_ok(in_tmp("keys.db"), DR_SQLITE_WRITE);
    struct dr_err err;
    CHECK_OK(put_row(handle, 5, "{\"a\":1}", &err), err);
    CHECK_OK(put_row(handle, 5, "{\"a\":1}", &err), err);
    CHECK_FAILS(put_row(handle, 5, "{\"a\":2}", &err), err, DR_E_CONFLICT);
    dr_sqlite_close(handle);
}

TEST(sqlite, waiting_events_are_not_hidden_by_a_thousand_handled_ones) {
    struct dr_sqlite *handle = open_ok(in_tmp("inbox.db"), DR_SQLITE_WRITE);
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_err err;
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    for (int i = 0; i < 1001; i++) {
        struct dr_event event = {dr_str_fmt(&arena, "i-%04d", i), DR_EVENT_WARNING, i, false};
        CHECK_OK(store.ops->inbox_put(store.self, PK, &event, 0, &err), err);
        if (i < 1000) {
            CHECK_OK(store.ops->inbox_handle(store.self, PK, event.instance_id, event.kind, 1 << 30, 0, &err), err);
        }
    }
    const struct dr_event *events;
    size_t n;
    CHECK_OK(store.ops->inbox(store.self, &arena, PK, 0, &events, &n, &err), err);
    CHECK_EQ_INT(n, 1000);
    CHECK_EQ_STR(events[999].instance_id, "i-1000");
    CHECK(!events[999].handled);
    CHECK_EQ_STR(events[0].instance_id, "i-0000");
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}

/* ---- ceilings and disks ---- */

TEST(sqlite, rows_and_items_beyond_the_ceiling_are_refused) {
    struct dr_sqlite *handle = open_ok(in_tmp("large.db"), DR_SQLITE_WRITE);
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_err err;
    char *large = malloc(DR_SQLITE_MAX_BODY_BYTES + 2);
    CHECK(large != NULL);
    memset(large, '1', DR_SQLITE_MAX_BODY_BYTES + 1);
    large[DR_SQLITE_MAX_BODY_BYTES + 1] = '\0';
    CHECK_FAILS(put_row(handle, 1, large, &err), err, DR_E_LIMIT);
    large[DR_SQLITE_MAX_BODY_BYTES] = '\0';
    CHECK_OK(put_row(handle, 1, large, &err), err);
    struct dr_state state;
    dr_state_init(&state, PK);
    struct dr_extra extra = {DR_STR("note"), {large, DR_SQLITE_MAX_BODY_BYTES}}; /* a number that long */
    state.extra.v = &extra;
    state.extra.n = 1;
    enum dr_cas outcome;
    CHECK_FAILS(store.ops->cas(store.self, &state, 0, &outcome, &err), err, DR_E_LIMIT);
    free(large);
    dr_sqlite_close(handle);
}

TEST(sqlite, reading_more_than_the_arena_may_hold_is_an_error) {
    struct dr_sqlite *handle = open_ok(make_file("many.db"), DR_SQLITE_READ);
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_arena arena;
    dr_arena_init(&arena, 8192);
    struct dr_journal_query query = {0};
    const struct dr_journal_row *rows;
    size_t n;
    struct dr_err err;
    CHECK_FAILS(store.ops->journal_read(store.self, &arena, PK, &query, 0, &rows, &n, &err), err, DR_E_LIMIT);
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}

/* A limit on file size stands in for a disk without room. */
TEST(sqlite, full_disk_is_an_error_and_what_was_written_stays) {
    const char *path = make_file("full.db");
    struct dr_sqlite *handle = open_ok(path, DR_SQLITE_WRITE);
    struct dr_err err;
    CHECK_EQ_INT(put_count(handle, 1, 4), DR_CAS_OK);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit;
    CHECK_EQ_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit small = {20000, limit.rlim_max};
    CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    int failed = 0;
    for (int i = 0; i < 50 && failed == 0; i++) {
        failed = put_row(handle, 5000 + i, "{\"grows\":\"the log until there is no room\"}", &err);
    }
    CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_EQ_INT(failed, -1);
    CHECK_EQ_INT(err.code, DR_E_UNAVAILABLE);
    CHECK_CONTAINS(dr_str_of(err.text), "full.db: write the journal: ");
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    CHECK_EQ_INT(get(handle, &arena).worker_count, 4);
    CHECK_EQ_INT(put_count(handle, 2, 5), DR_CAS_OK);
    dr_sqlite_close(handle);
    handle = open_ok(path, DR_SQLITE_WRITE);
    CHECK_EQ_INT(get(handle, &arena).worker_count, 5);
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}

TEST(sqlite, no_room_for_a_new_file_leaves_none) {
    const char *path = in_tmp("new.db");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit;
    CHECK_EQ_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit small = {6000, limit.rlim_max};
    CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    int result = dr_sqlite_open(path, DR_SQLITE_WRITE, &handle, &err);
    CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_EQ_INT(result, -1);
    CHECK_EQ_INT(err.code, DR_E_UNAVAILABLE);
    CHECK(access(path, F_OK) != 0);
    dr_sqlite_close(open_ok(path, DR_SQLITE_WRITE)); /* and nothing is left in the way */
}

TEST(sqlite, only_key_is_found_and_several_are_named) {
    struct dr_sqlite *handle = open_ok(in_tmp("only.db"), DR_SQLITE_WRITE);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_str key;
    struct dr_err err;
    CHECK_OK(dr_sqlite_only_key(handle, &arena, &key, &err), err);
    CHECK_EQ_STR(key, "");
    CHECK_EQ_INT(put_count(handle, 0, 1), DR_CAS_OK);
    CHECK_OK(dr_sqlite_only_key(handle, &arena, &key, &err), err);
    CHECK_EQ_STR(key, "cluster");
    run_sql(in_tmp("only.db"), "INSERT INTO item VALUES ('shop', 0, '{}')");
    CHECK_FAILS(dr_sqlite_only_key(handle, &arena, &key, &err), err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(err.text), "cluster, shop");
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}
