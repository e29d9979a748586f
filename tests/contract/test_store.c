/* The store contract on every store that there is. */
#include <sqlite3.h>
#include <stdio.h>

#include "adapter/sqlite/sqlite.h"
#include "contract/store_contract.h"

/* ---- SQLite: two handles on one file ---- */

struct sqlite_bench {
    char path[512];
    struct dr_sqlite *handles[2];
    int64_t sequence;
};

static void *sqlite_open_two(void) {
    struct sqlite_bench *bench = calloc(1, sizeof(*bench));
    struct dr_err err;
    CHECK(bench != NULL);
    snprintf(bench->path, sizeof(bench->path), "%s/state.db", dr_test_tmpdir());
    for (int i = 0; i < 2; i++) {
        CHECK_OK(dr_sqlite_open(bench->path, DR_SQLITE_WRITE, &bench->handles[i], &err), err);
    }
    return bench;
}

static struct dr_store sqlite_writer(void *self, int n) {
    struct sqlite_bench *bench = self;
    return dr_sqlite_store(bench->handles[n]);
}

static void sqlite_put_foreign(void *self, const char *json) {
    struct sqlite_bench *bench = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    CHECK_EQ_INT(sqlite3_open(bench->path, &db), SQLITE_OK);
    CHECK_EQ_INT(sqlite3_prepare_v2(db, "INSERT INTO item VALUES ('cluster', 0, ?)", -1, &insert, NULL), SQLITE_OK);
    CHECK_EQ_INT(sqlite3_bind_text(insert, 1, json, -1, SQLITE_STATIC), SQLITE_OK);
    CHECK_EQ_INT(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_finalize(insert);
    sqlite3_close(db);
}

/* Time passes for this store when a row of the journal is written, of any cluster. */
static void sqlite_pass_time(void *self, int64_t now_ms) {
    struct sqlite_bench *bench = self;
    struct dr_store store = dr_sqlite_store(bench->handles[0]);
    struct dr_journal_row row = {now_ms, DR_STR("clock"), bench->sequence++, DR_STR("{}")};
    struct dr_err err;
    CHECK_OK(store.ops->journal_put(store.self, DR_STR("clock"), &row, INT64_MAX, INT64_MAX, &err), err);
}

static void sqlite_close_two(void *self) {
    struct sqlite_bench *bench = self;
    dr_sqlite_close(bench->handles[0]);
    dr_sqlite_close(bench->handles[1]);
    free(bench);
}

static const struct store_case on_sqlite = {sqlite_open_two, sqlite_writer, sqlite_put_foreign, sqlite_pass_time, sqlite_close_two};

#define ON_SQLITE(name)                                                                                                                    \
    TEST(store_sqlite, name) { store_contract_##name(&on_sqlite); }
STORE_CONTRACT_TESTS(ON_SQLITE)
