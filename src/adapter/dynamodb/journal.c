/* The journal. */

#include "adapter/dynamodb/handle.h"

#define DEFAULT_ROWS 1000
#define MAX_MS INT64_C(9999999999999) /* 13 digits: until the year 2286 */

static int check_row(const struct dr_journal_row *row, struct dr_err *err) {
    if (row->at_ms < 0 || row->at_ms > MAX_MS || row->sequence < 0 || row->sequence > DR_DYNAMODB_MAX_SEQUENCE || row->request_id.n > 512) {
        return dr_fail(err, DR_E_LIMIT, "dynamodb journal: time %lld, sequence %lld or a request id of %zu bytes does not fit in a key",
                       (long long)row->at_ms, (long long)row->sequence, row->request_id.n);
    }
    if (row->json.n > DR_DYNAMODB_MAX_PAYLOAD) {
        return dr_fail(err, DR_E_LIMIT, "dynamodb journal: a row of %zu bytes: at most %d are allowed", row->json.n,
                       DR_DYNAMODB_MAX_PAYLOAD);
    }
    return 0;
}

static struct dr_str key_of(struct dr_arena *arena, const struct dr_journal_row *row) {
    return dr_str_fmt(arena, "%013lld#%.*s#%06lld", (long long)row->at_ms, DR_FMT(row->request_id), (long long)row->sequence);
}

/* The key is taken: our own row again (a lost reply) is success, another one is a mistake somewhere and not covered up. */
static int compare_row(struct dr_dynamodb *db, struct dr_arena *arena, struct dr_str pk, struct dr_str sk, struct dr_str json,
                       int64_t deadline_ms, struct dr_err *err) {
    struct dr_dynamodb_call call;
    struct dr_str item = DR_STR_NONE;
    struct dr_dynamodb_row row = {.ttl = 0};
    dr_dynamodb_begin(&call, db, "GetItem", db->o.logs_table);
    dr_jsonw_key(&call.w, "Key");
    dr_jsonw_object(&call.w);
    dr_dynamodb_put_s(&call.w, "pk", pk);
    dr_dynamodb_put_s(&call.w, "sk", sk);
    dr_jsonw_end(&call.w);
    dr_jsonw_kv_bool(&call.w, "ConsistentRead", true);
    int result = dr_dynamodb_run(&call, deadline_ms, err);
    if (result == 0) {
        result = dr_dynamodb_parse_item(call.reply, &item, err);
    }
    if (result == 0 && item.n > 0) { /* none: it expired in between */
        result = dr_dynamodb_parse_row(arena, item, &row, err);
        if (result == 0 && !dr_str_eq(row.payload, json)) {
            result = dr_fail(err, DR_E_CONFLICT, "dynamodb journal: another row has the key %.*s", DR_FMT(sk));
        }
    }
    dr_dynamodb_end(&call);
    return result;
}

int dr_dynamodb_journal_put(void *self, struct dr_str pk, const struct dr_journal_row *row, int64_t expire_ms, int64_t deadline_ms,
                            struct dr_err *err) {
    struct dr_dynamodb *db = self;
    if (check_row(row, err) < 0) {
        return -1;
    }
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_str sk = key_of(&arena, row);
    struct dr_dynamodb_call call;
    dr_dynamodb_begin(&call, db, "PutItem", db->o.logs_table);
    dr_jsonw_key(&call.w, "Item");
    dr_jsonw_object(&call.w);
    dr_dynamodb_put_s(&call.w, "pk", pk);
    dr_dynamodb_put_s(&call.w, "sk", sk);
    dr_dynamodb_put_s(&call.w, "payload", row->json);
    dr_dynamodb_put_n(&call.w, "ttl", dr_dynamodb_ttl(expire_ms));
    dr_jsonw_end(&call.w);
    dr_jsonw_kv_cstr(&call.w, "ConditionExpression", "attribute_not_exists(#p)");
    dr_jsonw_key(&call.w, "ExpressionAttributeNames");
    dr_jsonw_object(&call.w);
    dr_jsonw_kv_cstr(&call.w, "#p", "pk");
    dr_jsonw_end(&call.w);
    bool refused = false;
    int result = dr_dynamodb_write(&call, deadline_ms, &refused, err);
    if (result == 0 && refused) {
        result = compare_row(db, &arena, pk, sk, row->json, deadline_ms, err);
    }
    dr_arena_deinit(&arena);
    return result;
}

int dr_dynamodb_journal_read(void *self, struct dr_arena *arena, struct dr_str pk, const struct dr_journal_query *query,
                             int64_t deadline_ms, const struct dr_journal_row **ret, size_t *ret_n, struct dr_err *err) {
    struct dr_dynamodb *db = self;
    int64_t from_ms = query->from_ms < 0 ? 0 : query->from_ms;
    int64_t to_ms = query->to_ms == 0 || query->to_ms > MAX_MS ? MAX_MS : query->to_ms;
    *ret = NULL;
    *ret_n = 0;
    if (from_ms >= to_ms) {
        return 0; /* DynamoDB refuses a range that ends before it begins */
    }
    struct dr_dynamodb_range range = {
        .pk = pk,
        .from = dr_str_fmt(arena, "%013lld", (long long)from_ms),
        .to = dr_str_fmt(arena, "%013lld", (long long)to_ms), /* no key is just this: those of `to_ms` itself go on and come after it */
        .newest_first = query->newest_first,
        .limit = query->limit == 0 ? DEFAULT_ROWS : query->limit,
    };
    struct dr_dynamodb_rows rows;
    if (dr_dynamodb_query(db, arena, &range, NULL, deadline_ms, &rows, err) < 0) {
        return -1;
    }
    struct dr_journal_row *list = dr_arena_try(arena, rows.n, sizeof(*list));
    if (list == NULL) {
        return dr_fail(err, DR_E_LIMIT, "dynamodb Query: the journal has more rows than fit in the memory set aside for it");
    }
    size_t n = 0;
    for (size_t i = 0; i < rows.n; i++) { /* other programs may keep rows of theirs in this table: they are not ours to judge */
        struct dr_journal_row *row = &list[n];
        n += rows.v[i].payload.n > 0 && dr_dynamodb_parse_sk(rows.v[i].sk, &row->at_ms, &row->request_id, &row->sequence);
        row->json = rows.v[i].payload;
    }
    *ret = list;
    *ret_n = n;
    return 0;
}
