/* The item and the inbox. */

#include <stdlib.h>
#include <string.h>

#include "adapter/dynamodb/handle.h"

#define MAX_INBOX_ROWS 1000
#define MAX_INBOX_READ 100000 /* handled ones stay for a day */

static bool table_name_ok(struct dr_str name) {
    bool ok = name.n >= 3 && name.n <= 1024; /* an ARN names a table too */
    for (size_t i = 0; i < name.n && ok; i++) {
        char c = name.p[i];
        ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':' ||
             c == '/';
    }
    return ok;
}

struct dr_dynamodb *dr_dynamodb_new(const struct dr_dynamodb_options *options, struct dr_err *err) {
    DR_ASSERT(options->aws != NULL && options->now_ms != NULL);
    if (!table_name_ok(options->state_table) || !table_name_ok(options->logs_table)) {
        (void)dr_fail(err, DR_E_INVALID, "dynamodb: table names \"%.*s\" and \"%.*s\": letters, digits, - _ . and at least 3 of them",
                      DR_FMT(options->state_table), DR_FMT(options->logs_table));
        return NULL;
    }
    struct dr_dynamodb *db = calloc(1, sizeof(*db));
    if (db == NULL) {
        (void)dr_fail(err, DR_E_INTERNAL, "dynamodb: no memory");
        return NULL;
    }
    db->o = *options;
    return db;
}

/* ---- reads ahead of their time ---- */

static bool is_ahead(const struct dr_dynamodb *db, enum dr_dynamodb_ahead which) { return db->ahead[which].db != NULL; }

/* True: this read is under way, and now the caller's to wait for and to end. */
static bool take_ahead(struct dr_dynamodb *db, enum dr_dynamodb_ahead which, struct dr_str pk, struct dr_dynamodb_call *ret) {
    if (!is_ahead(db, which) || !dr_str_eq(db->ahead_pk, pk)) {
        return false;
    }
    *ret = db->ahead[which];
    db->ahead[which].db = NULL;
    return true;
}

static void drop_ahead(struct dr_dynamodb *db) {
    for (int i = 0; i < DR_DYNAMODB_AHEAD_N; i++) {
        if (is_ahead(db, (enum dr_dynamodb_ahead)i)) {
            dr_dynamodb_end(&db->ahead[i]);
            db->ahead[i].db = NULL;
        }
    }
}

void dr_dynamodb_free(struct dr_dynamodb *db) {
    if (db != NULL) {
        drop_ahead(db);
        free(db);
    }
}

/* ---- the item ---- */

static int decode(struct dr_dynamodb *db, struct dr_arena *arena, struct dr_str pk, struct dr_str item, struct dr_state *ret,
                  struct dr_err *err) {
    struct dr_err own;
    struct dr_state state;
    err = err == NULL ? &own : err;
    if (dr_state_decode(arena, item, &state, err) < 0) {
        err->code = DR_E_CORRUPT;
        return dr_wrap(err, "dynamodb table %.*s: item %.*s", DR_FMT(db->o.state_table), DR_FMT(pk));
    }
    if (!dr_str_eq(state.pk, pk)) {
        return dr_fail(err, DR_E_UNAVAILABLE, "dynamodb GetItem: Item.pk: \"%.*s\" instead of \"%.*s\"", DR_FMT(state.pk), DR_FMT(pk));
    }
    *ret = state;
    return 0;
}

static void send_load(struct dr_dynamodb *db, struct dr_str pk, struct dr_dynamodb_call *call, int64_t deadline_ms) {
    dr_dynamodb_begin(call, db, "GetItem", db->o.state_table);
    dr_jsonw_key(&call->w, "Key");
    dr_jsonw_object(&call->w);
    dr_dynamodb_put_s(&call->w, "pk", pk);
    dr_jsonw_end(&call->w);
    dr_jsonw_kv_bool(&call->w, "ConsistentRead", true);
    dr_dynamodb_send(call, deadline_ms);
}

static int load(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, struct dr_state *ret, struct dr_err *err) {
    struct dr_dynamodb *db = self;
    struct dr_dynamodb_call call;
    if (!take_ahead(db, DR_DYNAMODB_ITEM, pk, &call)) {
        send_load(db, pk, &call, deadline_ms);
    }
    struct dr_str item = DR_STR_NONE;
    int result = dr_dynamodb_wait(&call, err);
    if (result == 0) {
        result = dr_dynamodb_parse_item(call.reply, &item, err);
    }
    if (result == 0 && item.n > 0) {
        result = decode(db, arena, pk, item, ret, err);
    } else if (result == 0) {
        dr_state_init(ret, dr_str_dup(arena, pk));
    }
    dr_dynamodb_end(&call);
    return result;
}

/* Our own first try may have been what made the second one fail. */
static int look_again(struct dr_dynamodb *db, const struct dr_state *written, int64_t deadline_ms, enum dr_cas *ret, struct dr_err *err) {
    struct dr_arena arena;
    struct dr_state now = {.exists = false};
    dr_arena_init(&arena, 0);
    int result = load(db, &arena, written->pk, deadline_ms, &now, err);
    if (result == 0) {
        *ret = now.exists && dr_state_eq(&now, written) ? DR_CAS_OK : DR_CAS_LOST;
    }
    dr_arena_deinit(&arena);
    return result;
}

static void put_condition(struct dr_jsonw *w, int64_t revision) {
    dr_jsonw_kv_cstr(w, "ConditionExpression", revision == 0 ? "attribute_not_exists(#r)" : "#r = :r");
    dr_jsonw_key(w, "ExpressionAttributeNames");
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "#r", "revision");
    dr_jsonw_end(w);
    if (revision > 0) {
        dr_jsonw_key(w, "ExpressionAttributeValues");
        dr_jsonw_object(w);
        dr_dynamodb_put_n(w, ":r", revision);
        dr_jsonw_end(w);
    }
}

static int cas(void *self, const struct dr_state *state, int64_t deadline_ms, enum dr_cas *ret, struct dr_err *err) {
    struct dr_dynamodb *db = self;
    struct dr_err own;
    err = err == NULL ? &own : err;
    DR_ASSERT(state->revision >= 0 && state->revision < INT64_MAX);
    struct dr_state next = *state;
    next.revision = state->revision + 1;
    struct dr_buf item;
    dr_buf_init(&item, DR_STATE_MAX_BYTES);
    dr_state_encode(&next, &item);
    if (item.truncated) {
        dr_buf_deinit(&item);
        return dr_fail(err, DR_E_LIMIT, "dynamodb PutItem: the item is larger than %d bytes", DR_STATE_MAX_BYTES);
    }
    struct dr_dynamodb_call call;
    dr_dynamodb_begin(&call, db, "PutItem", db->o.state_table);
    call.counted = true;
    dr_jsonw_key(&call.w, "Item");
    dr_jsonw_raw(&call.w, dr_buf_str(&item));
    put_condition(&call.w, state->revision);
    dr_buf_deinit(&item);
    int result = dr_dynamodb_run(&call, deadline_ms, err);
    if (result == 0) {
        result = dr_dynamodb_parse_done("PutItem", call.reply, err);
        *ret = result == 0 ? DR_CAS_OK : *ret;
    } else if (err->code == DR_E_CONFLICT) {
        *ret = DR_CAS_LOST;
        result = dr_aws_tries(call.sent) > 1 ? look_again(db, &next, deadline_ms, ret, err) : 0;
    }
    dr_dynamodb_end(&call);
    return result;
}

/* ---- the inbox ---- */

static struct dr_str inbox_pk(struct dr_arena *arena, struct dr_str pk) { return dr_str_fmt(arena, "%.*s#inbox", DR_FMT(pk)); }

static struct dr_str inbox_sk(struct dr_arena *arena, struct dr_str instance_id, enum dr_event_kind kind) {
    return dr_str_fmt(arena, "%.*s#%s", DR_FMT(instance_id), dr_event_kind_name(kind));
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

static int by_time(const void *left, const void *right) {
    const struct dr_event *a = left;
    const struct dr_event *b = right;
    if (a->at_ms != b->at_ms) {
        return a->at_ms < b->at_ms ? -1 : 1;
    }
    int order = dr_str_cmp(a->instance_id, b->instance_id);
    return order != 0 ? order : (int)a->kind - (int)b->kind;
}

/* Those that wait before those that are handled: a day of the latter must not hide the former. */
static int by_need(const void *left, const void *right) {
    const struct dr_event *a = left;
    const struct dr_event *b = right;
    return a->handled != b->handled ? (int)a->handled - (int)b->handled : by_time(left, right);
}

static void request(void *self, struct dr_str pk, int64_t deadline_ms) {
    struct dr_dynamodb *db = self;
    struct dr_arena arena;
    drop_ahead(db);
    dr_arena_init(&arena, 0);
    struct dr_dynamodb_range range = {.pk = inbox_pk(&arena, pk), .limit = MAX_INBOX_READ};
    db->ahead_pk = pk;
    send_load(db, pk, &db->ahead[DR_DYNAMODB_ITEM], deadline_ms);
    dr_dynamodb_query_send(db, &range, &db->ahead[DR_DYNAMODB_INBOX], deadline_ms);
    dr_arena_deinit(&arena);
}

static int inbox(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, const struct dr_event **ret, size_t *ret_n,
                 struct dr_err *err) {
    struct dr_dynamodb *db = self;
    struct dr_dynamodb_range range = {.pk = inbox_pk(arena, pk), .limit = MAX_INBOX_READ};
    struct dr_dynamodb_rows rows;
    struct dr_dynamodb_call ahead;
    bool taken = take_ahead(db, DR_DYNAMODB_INBOX, pk, &ahead);
    if (dr_dynamodb_query(db, arena, &range, taken ? &ahead : NULL, deadline_ms, &rows, err) < 0) {
        return -1;
    }
    struct dr_event *events = dr_arena_try(arena, rows.n, sizeof(*events));
    if (events == NULL) {
        return dr_fail(err, DR_E_LIMIT, "dynamodb Query: the inbox has more rows than fit in the memory set aside for it");
    }
    for (size_t i = 0; i < rows.n; i++) {
        const struct dr_dynamodb_row *row = &rows.v[i];
        events[i] = (struct dr_event){row->instance_id, DR_EVENT_WARNING, row->at_ms, row->handled};
        if (row->instance_id.n == 0 || !kind_of(row->kind, &events[i].kind)) {
            return dr_fail(err, DR_E_CORRUPT,
                           "dynamodb table %.*s: inbox row %.*s: instanceId \"%.*s\" or kind \"%.*s\" is not one of ours",
                           DR_FMT(db->o.logs_table), DR_FMT(row->sk), DR_FMT(row->instance_id), DR_FMT(row->kind));
        }
    }
    size_t n = rows.n < MAX_INBOX_ROWS ? rows.n : MAX_INBOX_ROWS;
    if (rows.n > 0) {
        qsort(events, rows.n, sizeof(*events), by_need);
        qsort(events, n, sizeof(*events), by_time);
    }
    *ret = events;
    *ret_n = n;
    return 0;
}

/* "#t" and ":t" for an expression about the expiry. */
static void put_ttl_words(struct dr_jsonw *w, int64_t seconds) {
    dr_jsonw_key(w, "ExpressionAttributeNames");
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "#t", "ttl");
    dr_jsonw_kv_cstr(w, "#p", "pk");
    dr_jsonw_end(w);
    dr_jsonw_key(w, "ExpressionAttributeValues");
    dr_jsonw_object(w);
    dr_dynamodb_put_n(w, ":t", seconds);
}

static int inbox_put(void *self, struct dr_str pk, const struct dr_event *event, int64_t deadline_ms, struct dr_err *err) {
    struct dr_dynamodb *db = self;
    struct dr_dynamodb_call call;
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    dr_dynamodb_begin(&call, db, "PutItem", db->o.logs_table);
    dr_jsonw_key(&call.w, "Item");
    dr_jsonw_object(&call.w);
    dr_dynamodb_put_s(&call.w, "pk", inbox_pk(&arena, pk));
    dr_dynamodb_put_s(&call.w, "sk", inbox_sk(&arena, event->instance_id, event->kind));
    dr_dynamodb_put_s(&call.w, "instanceId", event->instance_id);
    dr_dynamodb_put_s(&call.w, "kind", dr_str_of(dr_event_kind_name(event->kind)));
    dr_dynamodb_put_n(&call.w, "atMs", event->at_ms);
    dr_dynamodb_put_bool(&call.w, "handled", false);
    dr_jsonw_end(&call.w);
    /* A row that has expired but is still there is not there. */
    dr_jsonw_kv_cstr(&call.w, "ConditionExpression", "attribute_not_exists(#p) OR #t <= :t");
    put_ttl_words(&call.w, db->o.now_ms(db->o.self) / 1000);
    dr_jsonw_end(&call.w);
    bool refused = false; /* it is there already */
    int result = dr_dynamodb_write(&call, deadline_ms, &refused, err);
    dr_arena_deinit(&arena);
    return result;
}

static int inbox_handle(void *self, struct dr_str pk, struct dr_str instance_id, enum dr_event_kind kind, int64_t keep_until_ms,
                        int64_t deadline_ms, struct dr_err *err) {
    struct dr_dynamodb *db = self;
    struct dr_dynamodb_call call;
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    dr_dynamodb_begin(&call, db, "UpdateItem", db->o.logs_table);
    dr_jsonw_key(&call.w, "Key");
    dr_jsonw_object(&call.w);
    dr_dynamodb_put_s(&call.w, "pk", inbox_pk(&arena, pk));
    dr_dynamodb_put_s(&call.w, "sk", inbox_sk(&arena, instance_id, kind));
    dr_jsonw_end(&call.w);
    dr_jsonw_kv_cstr(&call.w, "UpdateExpression", "SET handled = :h, #t = :t");
    /* Only a handled row has an expiry; it is kept for the longest time that was asked for. */
    dr_jsonw_kv_cstr(&call.w, "ConditionExpression", "attribute_exists(#p) AND (attribute_not_exists(#t) OR #t < :t)");
    put_ttl_words(&call.w, dr_dynamodb_ttl(keep_until_ms));
    dr_dynamodb_put_bool(&call.w, ":h", true);
    dr_jsonw_end(&call.w);
    bool refused = false; /* absent, or handled before */
    int result = dr_dynamodb_write(&call, deadline_ms, &refused, err);
    dr_arena_deinit(&arena);
    return result;
}

static const struct dr_store_ops ops = {
    .request = request,
    .load = load,
    .cas = cas,
    .inbox = inbox,
    .inbox_put = inbox_put,
    .inbox_handle = inbox_handle,
    .journal_put = dr_dynamodb_journal_put,
    .journal_read = dr_dynamodb_journal_read,
};

struct dr_store dr_dynamodb_store(struct dr_dynamodb *db) {
    return (struct dr_store){&ops, db};
}
