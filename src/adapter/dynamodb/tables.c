/* The tables themselves: how they are, and making them. */

#include "adapter/dynamodb/handle.h"

#define POLL_MS 1000

struct shape {
    const char *keys; /* as dr_dynamodb_parse_keys tells them */
    bool sort_key;
    bool expires;
};
static const struct shape shapes[] = {
    [DR_DYNAMODB_STATE] = {"pk:HASH", false, false},
    [DR_DYNAMODB_LOGS] = {"pk:HASH sk:RANGE", true, true},
};

static struct dr_str name_of(const struct dr_dynamodb *db, enum dr_dynamodb_which which) {
    return which == DR_DYNAMODB_STATE ? db->o.state_table : db->o.logs_table;
}

/* A call that takes nothing but the table's name; one text of its answer. */
static int ask(struct dr_dynamodb *db, struct dr_arena *arena, const char *action, struct dr_str table, const char *path,
               int64_t deadline_ms, struct dr_str *ret, struct dr_err *err) {
    struct dr_dynamodb_call call;
    dr_dynamodb_begin(&call, db, action, table);
    int result = dr_dynamodb_run(&call, deadline_ms, err);
    if (result == 0) {
        result = dr_dynamodb_parse_text(action, arena, call.reply, path, ret, err);
    }
    dr_dynamodb_end(&call);
    return result;
}

static int describe(struct dr_dynamodb *db, struct dr_arena *arena, enum dr_dynamodb_which which, int64_t deadline_ms,
                    struct dr_dynamodb_table *ret, struct dr_err *err) {
    struct dr_dynamodb_call call;
    struct dr_err own;
    err = err == NULL ? &own : err;
    struct dr_str status = DR_STR_NONE;
    struct dr_str keys = DR_STR_NONE;
    struct dr_str billing = DR_STR_NONE;
    *ret = (struct dr_dynamodb_table){.exists = false};
    dr_dynamodb_begin(&call, db, "DescribeTable", name_of(db, which));
    int result = dr_dynamodb_run(&call, deadline_ms, err);
    if (result == 0) {
        bool bad = dr_dynamodb_parse_text("DescribeTable", arena, call.reply, "Table.TableStatus", &status, err) < 0 ||
                   dr_dynamodb_parse_text("DescribeTable", arena, call.reply, "Table.BillingModeSummary.BillingMode", &billing, err) < 0 ||
                   dr_dynamodb_parse_keys(arena, call.reply, &keys, err) < 0;
        result = bad ? -1 : 0;
        ret->exists = true;
        ret->active = dr_str_is(status, "ACTIVE") || dr_str_is(status, "UPDATING");
        ret->keys_ok = dr_str_is(keys, shapes[which].keys);
        ret->on_demand = dr_str_is(billing, "PAY_PER_REQUEST");
    } else if (err->code == DR_E_NOT_FOUND) {
        result = 0;
    }
    dr_dynamodb_end(&call);
    return result;
}

int dr_dynamodb_look(struct dr_dynamodb *db, enum dr_dynamodb_which which, int64_t deadline_ms, struct dr_dynamodb_table *ret,
                     struct dr_err *ret_why, struct dr_err *err) {
    struct dr_arena arena;
    struct dr_err own = {.code = DR_OK};
    struct dr_err *why = ret_why == NULL ? &own : ret_why;
    struct dr_str table = name_of(db, which);
    struct dr_str text = DR_STR_NONE;
    why->code = DR_OK;
    dr_arena_init(&arena, 0);
    int result = describe(db, &arena, which, deadline_ms, ret, err);
    if (result == 0 && ret->exists) {
        static const char recovery[] = "ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus";
        if (ask(db, &arena, "DescribeContinuousBackups", table, recovery, deadline_ms, &text, why) == 0) {
            ret->recovery = dr_str_is(text, "ENABLED") || dr_str_is(text, "ENABLING");
        }
        text = DR_STR_NONE;
        static const char ttl[] = "TimeToLiveDescription.TimeToLiveStatus";
        if (shapes[which].expires && ask(db, &arena, "DescribeTimeToLive", table, ttl, deadline_ms, &text, why) == 0) {
            ret->ttl = dr_str_is(text, "ENABLED") || dr_str_is(text, "ENABLING");
        }
    }
    dr_arena_deinit(&arena);
    return result;
}

static void put_key(struct dr_jsonw *w, const char *name, const char *what, const char *value) {
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "AttributeName", name);
    dr_jsonw_kv_cstr(w, what, value);
    dr_jsonw_end(w);
}

static int create_table(struct dr_dynamodb *db, enum dr_dynamodb_which which, int64_t deadline_ms, struct dr_err *err) {
    struct dr_dynamodb_call call;
    bool sort_key = shapes[which].sort_key;
    dr_dynamodb_begin(&call, db, "CreateTable", name_of(db, which));
    dr_jsonw_kv_cstr(&call.w, "BillingMode", "PAY_PER_REQUEST");
    dr_jsonw_key(&call.w, "AttributeDefinitions");
    dr_jsonw_array(&call.w);
    put_key(&call.w, "pk", "AttributeType", "S");
    if (sort_key) {
        put_key(&call.w, "sk", "AttributeType", "S");
    }
    dr_jsonw_end(&call.w);
    dr_jsonw_key(&call.w, "KeySchema");
    dr_jsonw_array(&call.w);
    put_key(&call.w, "pk", "KeyType", "HASH");
    if (sort_key) {
        put_key(&call.w, "sk", "KeyType", "RANGE");
    }
    dr_jsonw_end(&call.w);
    bool refused = false; /* someone else is making it */
    return dr_dynamodb_write(&call, deadline_ms, &refused, err);
}

static int wait_active(struct dr_dynamodb *db, struct dr_arena *arena, enum dr_dynamodb_which which, int64_t deadline_ms,
                       struct dr_dynamodb_table *ret, struct dr_err *err) {
    DR_ASSERT(db->o.sleep_ms != NULL);
    for (;;) {
        if (describe(db, arena, which, deadline_ms, ret, err) < 0) {
            return -1;
        }
        if (ret->active) {
            return 0;
        }
        if (db->o.now_ms(db->o.self) + POLL_MS >= deadline_ms) {
            struct dr_str name = name_of(db, which);
            return dr_fail(err, DR_E_TIMEOUT, "dynamodb CreateTable: table %.*s is not active yet", DR_FMT(name));
        }
        db->o.sleep_ms(db->o.self, POLL_MS);
    }
}

/* Servers that speak DynamoDB's protocol without all of its extras (in tests, at the edge) keep the tables all the same. */
static int set_extra(struct dr_dynamodb_call *call, int64_t deadline_ms, struct dr_err *err) {
    int result = dr_dynamodb_run(call, deadline_ms, err);
    if (result == 0) {
        result = dr_dynamodb_parse_done(call->action, call->reply, err);
    } else if (dr_str_is(dr_aws_error_code(call->sent), "UnknownOperationException")) {
        result = 0;
    }
    dr_dynamodb_end(call);
    return result;
}

static int set_recovery(struct dr_dynamodb *db, struct dr_str table, int64_t deadline_ms, struct dr_err *err) {
    struct dr_dynamodb_call call;
    dr_dynamodb_begin(&call, db, "UpdateContinuousBackups", table);
    dr_jsonw_key(&call.w, "PointInTimeRecoverySpecification");
    dr_jsonw_object(&call.w);
    dr_jsonw_kv_bool(&call.w, "PointInTimeRecoveryEnabled", true);
    dr_jsonw_end(&call.w);
    return set_extra(&call, deadline_ms, err);
}

static int set_ttl(struct dr_dynamodb *db, struct dr_str table, int64_t deadline_ms, struct dr_err *err) {
    struct dr_dynamodb_call call;
    dr_dynamodb_begin(&call, db, "UpdateTimeToLive", table);
    dr_jsonw_key(&call.w, "TimeToLiveSpecification");
    dr_jsonw_object(&call.w);
    dr_jsonw_kv_cstr(&call.w, "AttributeName", "ttl");
    dr_jsonw_kv_bool(&call.w, "Enabled", true);
    dr_jsonw_end(&call.w);
    return set_extra(&call, deadline_ms, err);
}

int dr_dynamodb_create(struct dr_dynamodb *db, enum dr_dynamodb_which which, int64_t deadline_ms, struct dr_err *err) {
    struct dr_arena arena;
    struct dr_dynamodb_table table;
    struct dr_str name = name_of(db, which);
    dr_arena_init(&arena, 0);
    int result = dr_dynamodb_look(db, which, deadline_ms, &table, NULL, err);
    if (result == 0 && table.exists && !table.keys_ok) {
        result = dr_fail(err, DR_E_CONFLICT, "dynamodb: table %.*s is there with other keys; name another one", DR_FMT(name));
    }
    if (result == 0 && !table.exists) {
        result = create_table(db, which, deadline_ms, err);
        if (result == 0) {
            result = wait_active(db, &arena, which, deadline_ms, &table, err);
        }
    }
    if (result == 0 && !table.recovery) {
        result = set_recovery(db, name, deadline_ms, err);
    }
    if (result == 0 && shapes[which].expires && !table.ttl) {
        result = set_ttl(db, name, deadline_ms, err);
    }
    dr_arena_deinit(&arena);
    return result;
}
