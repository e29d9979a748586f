/* The store port over the prepared statements. */

#include <limits.h>
#include <string.h>

#include "adapter/sqlite/handle.h"

#define MAX_INBOX_ROWS 1000
#define DEFAULT_JOURNAL_ROWS 1000

/* A statement ready for binding; every use ends with `finish`. */
static sqlite3_stmt *use(struct dr_sqlite *handle, enum dr_sqlite_statement which) {
    sqlite3_stmt *statement = handle->statements[which];
    DR_ASSERT(statement != NULL);
    return statement;
}

static void finish(sqlite3_stmt *statement) {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

/* The text stays the caller's until `finish`. An empty view is the empty text, not NULL. */
static void bind_str(sqlite3_stmt *statement, int index, struct dr_str s) {
    int rc = sqlite3_bind_text64(statement, index, s.n == 0 ? "" : s.p, s.n, SQLITE_STATIC, SQLITE_UTF8);
    DR_ASSERT(rc == SQLITE_OK);
}

static void bind_i64(sqlite3_stmt *statement, int index, int64_t value) {
    int rc = sqlite3_bind_int64(statement, index, value);
    DR_ASSERT(rc == SQLITE_OK);
}

/* A column's text as a view that ends with the row. */
static struct dr_str view_str(sqlite3_stmt *statement, int column) {
    const char *p = (const char *)sqlite3_column_text(statement, column);
    int n = sqlite3_column_bytes(statement, column);
    return (struct dr_str){p == NULL ? "" : p, p == NULL ? 0 : (size_t)n};
}

/* A column's text copied to the arena; false when that is full. */
static bool take_str(struct dr_arena *arena, sqlite3_stmt *statement, int column, struct dr_str *ret) {
    struct dr_str view = view_str(statement, column);
    char *copy = dr_arena_try(arena, view.n + 1, 1);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, view.p, view.n);
    *ret = (struct dr_str){copy, view.n};
    return true;
}

static int fail_full(struct dr_sqlite *handle, const char *what, struct dr_err *err) {
    return dr_fail(err, DR_E_LIMIT, "%s: %s: more than fits in memory set aside for it", handle->path, what);
}

static int check_writable(struct dr_sqlite *handle, const char *what, struct dr_err *err) {
    return handle->read_only ? dr_fail(err, DR_E_DENIED, "%s: %s: opened for reading only", handle->path, what) : 0;
}

/* Runs a statement that gives no rows; `ret_changes` may be NULL. */
static int run(struct dr_sqlite *handle, sqlite3_stmt *statement, const char *what, int *ret_changes, struct dr_err *err) {
    int rc = sqlite3_step(statement);
    int changes = sqlite3_changes(handle->db);
    int result = rc == SQLITE_DONE ? 0 : dr_sqlite_fail(err, handle->db, rc, handle->path, what);
    finish(statement);
    if (result == 0 && ret_changes != NULL) {
        *ret_changes = changes;
    }
    return result;
}

/* The body of the row and the columns beside it must tell the same story. */
static int check_item(struct dr_sqlite *handle, struct dr_str pk, int64_t revision, const struct dr_state *state, struct dr_err *err) {
    if (!dr_str_eq(state->pk, pk)) {
        return dr_fail(err, DR_E_CORRUPT, "%s: item %.*s: its body says pk \"%.*s\"", handle->path, DR_FMT(pk), DR_FMT(state->pk));
    }
    if (state->revision != revision) {
        return dr_fail(err, DR_E_CORRUPT, "%s: item %.*s: its body says revision %lld, its row %lld", handle->path, DR_FMT(pk),
                       (long long)state->revision, (long long)revision);
    }
    return 0;
}

static int load(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, struct dr_state *ret, struct dr_err *err) {
    (void)deadline_ms;
    struct dr_sqlite *handle = self;
    sqlite3_stmt *statement = use(handle, DR_SQL_LOAD);
    bind_str(statement, 1, pk);
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_DONE) {
        finish(statement);
        dr_state_init(ret, dr_str_dup(arena, pk));
        return 0;
    }
    if (rc != SQLITE_ROW) {
        int result = dr_sqlite_fail(err, handle->db, rc, handle->path, "read the item");
        finish(statement);
        return result;
    }
    int64_t revision = sqlite3_column_int64(statement, 0);
    struct dr_str body;
    bool fits = take_str(arena, statement, 1, &body);
    finish(statement);
    if (!fits) {
        return fail_full(handle, "the item", err);
    }
    struct dr_state state;
    if (dr_state_decode(arena, body, &state, err) < 0) {
        if (err != NULL) {
            err->code = DR_E_CORRUPT;
        }
        return dr_wrap(err, "%s: item %.*s is damaged; restore the file from a copy or correct the item", handle->path, DR_FMT(pk));
    }
    if (check_item(handle, pk, revision, &state, err) < 0) {
        return -1;
    }
    *ret = state;
    return 0;
}

static int cas(void *self, const struct dr_state *state, int64_t deadline_ms, enum dr_cas *ret, struct dr_err *err) {
    (void)deadline_ms;
    struct dr_sqlite *handle = self;
    DR_ASSERT(state->revision >= 0 && state->revision < INT64_MAX);
    if (check_writable(handle, "write the item", err) < 0) {
        return -1;
    }
    struct dr_state next = *state;
    next.revision = state->revision + 1;
    struct dr_buf body;
    dr_buf_init(&body, DR_SQLITE_MAX_BODY_BYTES);
    dr_state_encode(&next, &body);
    if (body.truncated) {
        dr_buf_deinit(&body);
        return dr_fail(err, DR_E_LIMIT, "%s: the item is larger than %d bytes", handle->path, DR_SQLITE_MAX_BODY_BYTES);
    }
    sqlite3_stmt *statement = use(handle, state->revision == 0 ? DR_SQL_CAS_FIRST : DR_SQL_CAS);
    bind_str(statement, 1, state->pk);
    bind_i64(statement, 2, state->revision);
    bind_str(statement, 3, dr_buf_str(&body));
    int changes = 0;
    int result = run(handle, statement, "write the item", &changes, err);
    dr_buf_deinit(&body);
    if (result == 0) {
        *ret = changes == 1 ? DR_CAS_OK : DR_CAS_LOST;
    }
    return result;
}

static bool kind_of(struct dr_str name, enum dr_event_kind *ret) {
    static const enum dr_event_kind kinds[] = {DR_EVENT_WARNING, DR_EVENT_REBALANCE, DR_EVENT_STATE_CHANGE};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (dr_str_is(name, dr_event_kind_name(kinds[i]))) {
            *ret = kinds[i];
            return true;
        }
    }
    return false;
}

static int inbox(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, const struct dr_event **ret, size_t *ret_n,
                 struct dr_err *err) {
    (void)deadline_ms;
    struct dr_sqlite *handle = self;
    struct dr_event *events = dr_arena_try(arena, MAX_INBOX_ROWS, sizeof(*events));
    if (events == NULL) {
        return fail_full(handle, "the inbox", err);
    }
    sqlite3_stmt *statement = use(handle, DR_SQL_INBOX);
    bind_str(statement, 1, pk);
    bind_i64(statement, 2, MAX_INBOX_ROWS);
    size_t n = 0;
    int rc;
    int result = 0;
    while (result == 0 && (rc = sqlite3_step(statement)) != SQLITE_DONE) {
        struct dr_event *event = &events[n];
        if (rc != SQLITE_ROW) {
            result = dr_sqlite_fail(err, handle->db, rc, handle->path, "read the inbox");
        } else if (!kind_of(view_str(statement, 1), &event->kind)) {
            result =
                dr_fail(err, DR_E_CORRUPT, "%s: inbox: kind \"%.*s\" is not one of ours", handle->path, DR_FMT(view_str(statement, 1)));
        } else if (!take_str(arena, statement, 0, &event->instance_id)) {
            result = fail_full(handle, "the inbox", err);
        } else {
            event->at_ms = sqlite3_column_int64(statement, 2);
            event->handled = sqlite3_column_int64(statement, 3) != 0;
            n++;
        }
    }
    finish(statement);
    if (result == 0) {
        *ret = events;
        *ret_n = n;
    }
    return result;
}

static int inbox_put(void *self, struct dr_str pk, const struct dr_event *event, int64_t deadline_ms, struct dr_err *err) {
    (void)deadline_ms;
    struct dr_sqlite *handle = self;
    if (check_writable(handle, "write the inbox", err) < 0) {
        return -1;
    }
    sqlite3_stmt *statement = use(handle, DR_SQL_INBOX_PUT);
    bind_str(statement, 1, pk);
    bind_str(statement, 2, event->instance_id);
    bind_str(statement, 3, dr_str_of(dr_event_kind_name(event->kind)));
    bind_i64(statement, 4, event->at_ms);
    return run(handle, statement, "write the inbox", NULL, err);
}

static int inbox_handle(void *self, struct dr_str pk, struct dr_str instance_id, enum dr_event_kind kind, int64_t keep_until_ms,
                        int64_t deadline_ms, struct dr_err *err) {
    (void)deadline_ms;
    struct dr_sqlite *handle = self;
    if (check_writable(handle, "write the inbox", err) < 0) {
        return -1;
    }
    sqlite3_stmt *statement = use(handle, DR_SQL_INBOX_HANDLE);
    bind_str(statement, 1, pk);
    bind_str(statement, 2, instance_id);
    bind_str(statement, 3, dr_str_of(dr_event_kind_name(kind)));
    bind_i64(statement, 4, keep_until_ms);
    return run(handle, statement, "write the inbox", NULL, err);
}

static int expire(struct dr_sqlite *handle, enum dr_sqlite_statement which, int64_t now_ms, struct dr_err *err) {
    sqlite3_stmt *statement = use(handle, which);
    bind_i64(statement, 1, now_ms);
    return run(handle, statement, "remove what expired", NULL, err);
}

/* The key is taken: our own row again (a lost reply) is success, another one is a mistake somewhere and not covered up. */
static int compare_row(struct dr_sqlite *handle, struct dr_str pk, const struct dr_journal_row *row, struct dr_err *err) {
    sqlite3_stmt *statement = use(handle, DR_SQL_JOURNAL_GET);
    bind_str(statement, 1, pk);
    bind_i64(statement, 2, row->at_ms);
    bind_str(statement, 3, row->request_id);
    bind_i64(statement, 4, row->sequence);
    int rc = sqlite3_step(statement);
    int result = 0;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) { /* DONE: expired in between */
        result = dr_sqlite_fail(err, handle->db, rc, handle->path, "read the journal");
    } else if (rc == SQLITE_ROW && !dr_str_eq(view_str(statement, 0), row->json)) {
        result = dr_fail(err, DR_E_CONFLICT, "%s: journal: another row has the key %lld, %.*s, %lld", handle->path, (long long)row->at_ms,
                         DR_FMT(row->request_id), (long long)row->sequence);
    }
    finish(statement);
    return result;
}

static int journal_put(void *self, struct dr_str pk, const struct dr_journal_row *row, int64_t expire_ms, int64_t deadline_ms,
                       struct dr_err *err) {
    (void)deadline_ms;
    struct dr_sqlite *handle = self;
    if (check_writable(handle, "write the journal", err) < 0) {
        return -1;
    }
    if (row->json.n > DR_SQLITE_MAX_BODY_BYTES) {
        return dr_fail(err, DR_E_LIMIT, "%s: journal: a row of %zu bytes: at most %d are allowed", handle->path, row->json.n,
                       DR_SQLITE_MAX_BODY_BYTES);
    }
    sqlite3_stmt *statement = use(handle, DR_SQL_JOURNAL_PUT);
    bind_str(statement, 1, pk);
    bind_i64(statement, 2, row->at_ms);
    bind_str(statement, 3, row->request_id);
    bind_i64(statement, 4, row->sequence);
    bind_str(statement, 5, row->json);
    bind_i64(statement, 6, expire_ms);
    int changes = 0;
    if (run(handle, statement, "write the journal", &changes, err) < 0) {
        return -1;
    }
    if (changes == 0) {
        return compare_row(handle, pk, row, err);
    }
    return expire(handle, DR_SQL_JOURNAL_EXPIRE, row->at_ms, err) < 0 ? -1 : expire(handle, DR_SQL_INBOX_EXPIRE, row->at_ms, err);
}

struct rows {
    struct dr_journal_row *v;
    size_t n;
    size_t cap;
};

static bool rows_grow(struct dr_arena *arena, struct rows *rows) {
    if (rows->n < rows->cap) {
        return true;
    }
    size_t cap = rows->cap == 0 ? 64 : rows->cap * 2;
    struct dr_journal_row *v = dr_arena_try(arena, cap, sizeof(*v));
    if (v == NULL) {
        return false;
    }
    if (rows->n > 0) {
        memcpy(v, rows->v, rows->n * sizeof(*v));
    }
    rows->v = v;
    rows->cap = cap;
    return true;
}

static bool take_row(struct dr_arena *arena, sqlite3_stmt *statement, struct rows *rows) {
    if (!rows_grow(arena, rows)) {
        return false;
    }
    struct dr_journal_row *row = &rows->v[rows->n];
    row->at_ms = sqlite3_column_int64(statement, 0);
    row->sequence = sqlite3_column_int64(statement, 2);
    if (!take_str(arena, statement, 1, &row->request_id) || !take_str(arena, statement, 3, &row->json)) {
        return false;
    }
    rows->n++;
    return true;
}

static int journal_read(void *self, struct dr_arena *arena, struct dr_str pk, const struct dr_journal_query *query, int64_t deadline_ms,
                        const struct dr_journal_row **ret, size_t *ret_n, struct dr_err *err) {
    (void)deadline_ms;
    struct dr_sqlite *handle = self;
    size_t limit = query->limit == 0 ? DEFAULT_JOURNAL_ROWS : query->limit;
    sqlite3_stmt *statement = use(handle, query->newest_first ? DR_SQL_JOURNAL_NEWEST : DR_SQL_JOURNAL_OLDEST);
    bind_str(statement, 1, pk);
    bind_i64(statement, 2, query->from_ms);
    bind_i64(statement, 3, query->to_ms == 0 ? INT64_MAX : query->to_ms);
    bind_i64(statement, 4, limit > INT_MAX ? INT_MAX : (int64_t)limit);
    struct rows rows = {NULL, 0, 0};
    int rc;
    int result = rows_grow(arena, &rows) ? 0 : fail_full(handle, "the journal", err);
    while (result == 0 && (rc = sqlite3_step(statement)) != SQLITE_DONE) {
        if (rc != SQLITE_ROW) {
            result = dr_sqlite_fail(err, handle->db, rc, handle->path, "read the journal");
        } else if (!take_row(arena, statement, &rows)) {
            result = fail_full(handle, "the journal", err);
        }
    }
    finish(statement);
    if (result == 0) {
        *ret = rows.v;
        *ret_n = rows.n;
    }
    return result;
}

static const struct dr_store_ops ops = {
    .load = load,
    .cas = cas,
    .inbox = inbox,
    .inbox_put = inbox_put,
    .inbox_handle = inbox_handle,
    .journal_put = journal_put,
    .journal_read = journal_read,
};

struct dr_store dr_sqlite_store(struct dr_sqlite *handle) {
    return (struct dr_store){&ops, handle};
}

int dr_sqlite_only_key(struct dr_sqlite *handle, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    sqlite3_stmt *statement = use(handle, DR_SQL_KEYS);
    struct dr_buf keys;
    dr_buf_init(&keys, 200);
    size_t n = 0;
    int rc;
    *ret = DR_STR_NONE;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        if (n++ == 0) {
            *ret = dr_str_dup(arena, view_str(statement, 0));
        }
        dr_buf_puts(&keys, n > 1 ? ", " : "");
        dr_buf_put_str(&keys, view_str(statement, 0));
    }
    int result = 0;
    if (rc != SQLITE_DONE) {
        result = dr_sqlite_fail(err, handle->db, rc, handle->path, "read the keys");
    } else if (n > 1) {
        result = dr_fail(err, DR_E_INVALID, "%s: holds several clusters (%.*s): name one with --cluster", handle->path,
                         DR_FMT(dr_buf_str(&keys)));
    }
    finish(statement);
    dr_buf_deinit(&keys);
    return result;
}
