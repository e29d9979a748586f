#include "adapter/sqs/parse.h"

#include <string.h>

#include "base/json.h"
#include "base/time.h"

enum { MAX_MESSAGES = 100, MAX_EVENT_BYTES = 1 << 20, MAX_INSTANCE_ID = 64 };

static int odd(struct dr_err *err, const char *call) {
    if (err != NULL && err->code == DR_E_INVALID) {
        err->code = DR_E_UNAVAILABLE;
    }
    return dr_wrap(err, "sqs %s: answer", call);
}

static int get_str(struct dr_json *j, struct dr_arena *arena, const char *field, struct dr_str *ret, struct dr_err *err) {
    struct dr_str view;
    if (dr_json_str(j, arena, &view, err) < 0) {
        return dr_wrap(err, "%s", field);
    }
    *ret = dr_str_dup(arena, view);
    return 0;
}

/* ---- ReceiveMessage ---- */

static int read_attributes(struct dr_json *j, struct dr_arena *arena, struct dr_sqs_message *message, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str text;
    int r = dr_json_enter(j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        if (!dr_json_key_is(&key, "ApproximateReceiveCount")) {
            r = dr_json_skip(j, err);
        } else if ((r = dr_json_str(j, arena, &text, err)) == 0 && (!dr_str_to_i64(text, &message->receives) || message->receives < 0)) {
            r = dr_fail(err, DR_E_INVALID, "ApproximateReceiveCount: \"%.*s\" is not a count", DR_FMT(dr_str_sub(text, 0, 40)));
        }
    }
    return r;
}

static int read_message(struct dr_json *j, struct dr_arena *arena, struct dr_sqs_message *message, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_json_enter(j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        r = dr_json_key_is(&key, "MessageId")       ? get_str(j, arena, "MessageId", &message->id, err)
            : dr_json_key_is(&key, "ReceiptHandle") ? get_str(j, arena, "ReceiptHandle", &message->receipt, err)
            : dr_json_key_is(&key, "Body")          ? get_str(j, arena, "Body", &message->body, err)
            : dr_json_key_is(&key, "Attributes")    ? read_attributes(j, arena, message, err)
                                                    : dr_json_skip(j, err);
    }
    return r == 0 && message->receipt.n == 0 ? dr_fail(err, DR_E_INVALID, "no ReceiptHandle") : r;
}

static int read_messages(struct dr_json *j, struct dr_arena *arena, struct dr_sqs_message *list, size_t *n, struct dr_err *err) {
    enum dr_json_type type = DR_JSON_NULL;
    int r = dr_json_peek(j, &type, err);
    if (r == 0 && type == DR_JSON_NULL) {
        return dr_json_null(j, err);
    }
    r = dr_json_enter(j, DR_JSON_ARRAY, err);
    while (r >= 0 && (r = dr_json_next_element(j, err)) > 0) {
        if (*n == MAX_MESSAGES) {
            return dr_fail(err, DR_E_LIMIT, "Messages: more than %d", MAX_MESSAGES);
        }
        r = read_message(j, arena, &list[*n], err);
        if (r < 0) {
            return dr_wrap(err, "Messages[%zu]", *n);
        }
        ++*n;
    }
    return r;
}

int dr_sqs_parse_messages(struct dr_arena *arena, struct dr_str body, const struct dr_sqs_message **ret, size_t *ret_n,
                          struct dr_err *err) {
    struct dr_sqs_message *list = DR_NEW_N(arena, struct dr_sqs_message, MAX_MESSAGES);
    struct dr_json j;
    struct dr_json_key key;
    size_t n = 0;
    dr_json_init(&j, body, 0);
    int r = dr_json_enter(&j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(&j, &key, err)) > 0) {
        r = dr_json_key_is(&key, "Messages") ? read_messages(&j, arena, list, &n, err) : dr_json_skip(&j, err);
    }
    if (r < 0 || dr_json_end(&j, err) < 0) {
        return odd(err, "ReceiveMessage");
    }
    *ret = list;
    *ret_n = n;
    return 0;
}

/* ---- DeleteMessageBatch ---- */

static int read_failed(struct dr_json *j, struct dr_arena *arena, size_t *n, struct dr_str *why, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_json_enter(j, DR_JSON_ARRAY, err);
    while (r >= 0 && (r = dr_json_next_element(j, err)) > 0) {
        ++*n;
        r = dr_json_enter(j, DR_JSON_OBJECT, err);
        while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
            r = dr_json_key_is(&key, "Code") && why->n == 0 ? get_str(j, arena, "Code", why, err) : dr_json_skip(j, err);
        }
    }
    return r;
}

int dr_sqs_parse_deleted(struct dr_arena *arena, struct dr_str body, size_t *ret_failed, struct dr_str *ret_why, struct dr_err *err) {
    struct dr_json j;
    struct dr_json_key key;
    *ret_failed = 0;
    *ret_why = DR_STR_NONE;
    dr_json_init(&j, body, 0);
    int r = dr_json_enter(&j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(&j, &key, err)) > 0) {
        r = dr_json_key_is(&key, "Failed") ? read_failed(&j, arena, ret_failed, ret_why, err) : dr_json_skip(&j, err);
    }
    return r < 0 || dr_json_end(&j, err) < 0 ? odd(err, "DeleteMessageBatch") : 0;
}

/* ---- events ---- */

struct event_text {
    struct dr_str source;
    struct dr_str type;
    struct dr_str time;
    struct dr_str instance_id;
    struct dr_str sns_type;
    struct dr_str sns_message;
};

static int read_detail(struct dr_json *j, struct dr_arena *arena, struct event_text *event, struct dr_err *err) {
    struct dr_json_key key;
    enum dr_json_type type = DR_JSON_NULL;
    int r = dr_json_peek(j, &type, err);
    if (r < 0 || type != DR_JSON_OBJECT) { /* other services' details may be anything */
        return r < 0 ? -1 : dr_json_skip(j, err);
    }
    r = dr_json_enter(j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        r = dr_json_key_is(&key, "instance-id") ? get_str(j, arena, "detail.instance-id", &event->instance_id, err) : dr_json_skip(j, err);
    }
    return r;
}

static int read_event(struct dr_arena *arena, struct dr_str body, struct event_text *event, struct dr_err *err) {
    struct dr_json j;
    struct dr_json_key key;
    dr_json_init(&j, body, MAX_EVENT_BYTES);
    int r = dr_json_enter(&j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(&j, &key, err)) > 0) {
        r = dr_json_key_is(&key, "source")        ? get_str(&j, arena, "source", &event->source, err)
            : dr_json_key_is(&key, "detail-type") ? get_str(&j, arena, "detail-type", &event->type, err)
            : dr_json_key_is(&key, "time")        ? get_str(&j, arena, "time", &event->time, err)
            : dr_json_key_is(&key, "detail")      ? read_detail(&j, arena, event, err)
            : dr_json_key_is(&key, "Type")        ? get_str(&j, arena, "Type", &event->sns_type, err)
            : dr_json_key_is(&key, "Message")     ? get_str(&j, arena, "Message", &event->sns_message, err)
                                                  : dr_json_skip(&j, err);
    }
    return r < 0 ? -1 : dr_json_end(&j, err);
}

static bool kind_of(struct dr_str type, enum dr_event_kind *ret) {
    static const struct {
        const char *type;
        enum dr_event_kind kind;
    } kinds[] = {
        {"EC2 Spot Instance Interruption Warning", DR_EVENT_WARNING},
        {"EC2 Instance Rebalance Recommendation", DR_EVENT_REBALANCE},
        {"EC2 Instance State-change Notification", DR_EVENT_STATE_CHANGE},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (dr_str_is(type, kinds[i].type)) {
            *ret = kinds[i].kind;
            return true;
        }
    }
    return false;
}

static bool instance_id_ok(struct dr_str id) {
    bool ok = dr_str_starts(id, "i-") && id.n > 2 && id.n <= MAX_INSTANCE_ID;
    for (size_t i = 2; i < id.n && ok; i++) {
        ok = (id.p[i] >= '0' && id.p[i] <= '9') || (id.p[i] >= 'a' && id.p[i] <= 'z');
    }
    return ok;
}

int dr_sqs_parse_event(struct dr_arena *arena, struct dr_str body, struct dr_event *ret, struct dr_err *err) {
    struct event_text event = {.source = DR_STR_NONE};
    if (read_event(arena, body, &event, err) < 0) {
        return dr_wrap(err, "event");
    }
    if (dr_str_is(event.sns_type, "Notification") && event.source.n == 0) {
        struct dr_str inner = event.sns_message;
        event = (struct event_text){.source = DR_STR_NONE};
        if (read_event(arena, inner, &event, err) < 0) {
            return dr_wrap(err, "event in a notification");
        }
    }
    if (event.source.n == 0 || event.type.n == 0) {
        return dr_fail(err, DR_E_INVALID, "event: no %s", event.source.n == 0 ? "source" : "detail-type");
    }
    struct dr_event found = {.handled = false};
    if (!dr_str_is(event.source, "aws.ec2") || !kind_of(event.type, &found.kind)) {
        return 0;
    }
    if (!instance_id_ok(event.instance_id)) {
        return dr_fail(err, DR_E_INVALID, "event: detail.instance-id: \"%.*s\" is not an instance id",
                       DR_FMT(dr_str_sub(event.instance_id, 0, 40)));
    }
    if (!dr_time_parse(event.time, &found.at_ms)) {
        return dr_fail(err, DR_E_INVALID, "event: time: \"%.*s\" is not a time", DR_FMT(dr_str_sub(event.time, 0, 40)));
    }
    found.instance_id = event.instance_id;
    *ret = found;
    return 1;
}
