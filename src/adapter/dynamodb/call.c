/* One call of DynamoDB, and the walk over the pages of a Query. */

#include "adapter/dynamodb/handle.h"

static const struct dr_aws_service service = {"dynamodb", DR_AWS_JSON_10, NULL, "DynamoDB_20120810"};

enum { MAX_REQUEST = 2 << 20, MAX_REPLY = 8 << 20, MAX_PAGES = 500, MAX_LIMIT = 1000000 };

void dr_dynamodb_begin(struct dr_dynamodb_call *call, struct dr_dynamodb *db, const char *action, struct dr_str table) {
    *call = (struct dr_dynamodb_call){.db = db, .action = action, .table = table};
    dr_buf_init(&call->body, MAX_REQUEST);
    dr_jsonw_init(&call->w, &call->body, 0);
    dr_jsonw_object(&call->w);
    dr_jsonw_kv_str(&call->w, "TableName", table);
}

static int explain(struct dr_dynamodb_call *call, struct dr_err *err) {
    struct dr_str code = dr_aws_error_code(call->sent);
    struct dr_err own;
    err = err == NULL ? &own : err;
    if (dr_str_is(code, "TransactionConflictException") || dr_str_is(code, "ReplicatedWriteConflictException")) {
        err->code = DR_E_THROTTLED;
    } else if (dr_str_is(code, "ResourceNotFoundException")) {
        return dr_wrap(err, "table %.*s (`drover check --create` makes it)", DR_FMT(call->table));
    }
    return -1;
}

void dr_dynamodb_send(struct dr_dynamodb_call *call, int64_t deadline_ms) {
    dr_jsonw_end(&call->w);
    if (call->body.truncated) {
        return;
    }
    struct dr_aws_request request = {
        .service = &service,
        .action = call->action,
        .body = dr_buf_str(&call->body),
        .deadline_ms = deadline_ms,
        .repeatable = true,
        .counted = call->counted,
        .max_body = MAX_REPLY,
    };
    call->sent = dr_aws_start(call->db->o.aws, &request);
}

int dr_dynamodb_wait(struct dr_dynamodb_call *call, struct dr_err *err) {
    if (call->sent == NULL) {
        return dr_fail(err, DR_E_LIMIT, "dynamodb %s: a request of more than %d bytes", call->action, MAX_REQUEST);
    }
    return dr_aws_wait(call->db->o.aws, call->sent, &call->reply, err) < 0 ? explain(call, err) : 0;
}

int dr_dynamodb_run(struct dr_dynamodb_call *call, int64_t deadline_ms, struct dr_err *err) {
    dr_dynamodb_send(call, deadline_ms);
    return dr_dynamodb_wait(call, err);
}

void dr_dynamodb_end(struct dr_dynamodb_call *call) {
    dr_aws_call_free(call->sent);
    dr_buf_deinit(&call->body);
}

int dr_dynamodb_write(struct dr_dynamodb_call *call, int64_t deadline_ms, bool *ret_refused, struct dr_err *err) {
    struct dr_err own;
    err = err == NULL ? &own : err;
    int result = dr_dynamodb_run(call, deadline_ms, err);
    bool refused = result < 0 && err->code == DR_E_CONFLICT && ret_refused != NULL;
    if (result == 0) {
        result = dr_dynamodb_parse_done(call->action, call->reply, err);
    }
    if (ret_refused != NULL) {
        *ret_refused = refused;
    }
    dr_dynamodb_end(call);
    return refused ? 0 : result;
}

void dr_dynamodb_put_s(struct dr_jsonw *w, const char *name, struct dr_str value) {
    dr_jsonw_key(w, name);
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "S", value);
    dr_jsonw_end(w);
}

void dr_dynamodb_put_n(struct dr_jsonw *w, const char *name, int64_t value) {
    struct dr_buf buf;
    dr_buf_init(&buf, 32);
    dr_buf_put_i64(&buf, value);
    dr_jsonw_key(w, name);
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "N", dr_buf_str(&buf));
    dr_jsonw_end(w);
    dr_buf_deinit(&buf);
}

void dr_dynamodb_put_bool(struct dr_jsonw *w, const char *name, bool value) {
    dr_jsonw_key(w, name);
    dr_jsonw_object(w);
    dr_jsonw_kv_bool(w, "BOOL", value);
    dr_jsonw_end(w);
}

static void put_query(struct dr_jsonw *w, const struct dr_dynamodb_range *range, size_t more, struct dr_str next) {
    bool all = range->from.n == 0 && range->to.n == 0;
    dr_jsonw_kv_cstr(w, "KeyConditionExpression", all ? "#p = :p" : "#p = :p AND #s BETWEEN :a AND :b");
    dr_jsonw_key(w, "ExpressionAttributeNames");
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "#p", "pk");
    if (!all) {
        dr_jsonw_kv_cstr(w, "#s", "sk");
    }
    dr_jsonw_end(w);
    dr_jsonw_key(w, "ExpressionAttributeValues");
    dr_jsonw_object(w);
    dr_dynamodb_put_s(w, ":p", range->pk);
    if (!all) {
        dr_dynamodb_put_s(w, ":a", range->from);
        dr_dynamodb_put_s(w, ":b", range->to);
    }
    dr_jsonw_end(w);
    dr_jsonw_kv_bool(w, "ConsistentRead", true);
    dr_jsonw_kv_bool(w, "ScanIndexForward", !range->newest_first);
    dr_jsonw_kv_i64(w, "Limit", more > MAX_LIMIT ? MAX_LIMIT : (int64_t)more);
    if (next.n > 0) {
        dr_jsonw_key(w, "ExclusiveStartKey");
        dr_jsonw_raw(w, next);
    }
}

/* Leaves out what is past its time, from `first` on, and what is more than asked for. */
static void keep(struct dr_dynamodb *db, struct dr_dynamodb_rows *rows, size_t first, size_t limit) {
    int64_t now_ms = db->o.now_ms(db->o.self);
    size_t kept = first;
    for (size_t i = first; i < rows->n && kept < limit; i++) {
        bool expired = rows->v[i].ttl > 0 && rows->v[i].ttl <= now_ms / 1000;
        if (!expired) {
            rows->v[kept++] = rows->v[i];
        }
    }
    rows->n = kept;
}

static void send_page(struct dr_dynamodb *db, const struct dr_dynamodb_range *range, const struct dr_dynamodb_rows *before,
                      struct dr_dynamodb_call *call, int64_t deadline_ms) {
    dr_dynamodb_begin(call, db, "Query", db->o.logs_table);
    put_query(&call->w, range, range->limit - before->n, before->next);
    dr_dynamodb_send(call, deadline_ms);
}

void dr_dynamodb_query_send(struct dr_dynamodb *db, const struct dr_dynamodb_range *range, struct dr_dynamodb_call *call,
                            int64_t deadline_ms) {
    const struct dr_dynamodb_rows none = {NULL, 0, 0, DR_STR_NONE};
    send_page(db, range, &none, call, deadline_ms);
}

int dr_dynamodb_query(struct dr_dynamodb *db, struct dr_arena *arena, const struct dr_dynamodb_range *range, struct dr_dynamodb_call *ahead,
                      int64_t deadline_ms, struct dr_dynamodb_rows *ret, struct dr_err *err) {
    struct dr_dynamodb_rows rows = {NULL, 0, 0, DR_STR_NONE};
    for (int page = 0; page == 0 || (rows.next.n > 0 && rows.n < range->limit); page++) {
        if (page == MAX_PAGES) {
            return dr_fail(err, DR_E_LIMIT, "dynamodb Query: more than %d pages", MAX_PAGES);
        }
        struct dr_dynamodb_call call;
        size_t first = rows.n;
        if (page == 0 && ahead != NULL) {
            call = *ahead;
        } else {
            send_page(db, range, &rows, &call, deadline_ms);
        }
        int result = dr_dynamodb_wait(&call, err);
        if (result == 0) {
            result = dr_dynamodb_parse_rows(arena, call.reply, &rows, err);
        }
        dr_dynamodb_end(&call);
        if (result < 0) {
            return -1;
        }
        keep(db, &rows, first, range->limit);
    }
    *ret = rows;
    return 0;
}
