#include "adapter/sqs/sqs.h"

#include <stdio.h>
#include <stdlib.h>

#include "adapter/sqs/parse.h"
#include "base/json_write.h"
#include "base/num.h"
#include "base/time.h"

static const struct dr_aws_service service = {"sqs", DR_AWS_JSON_10, NULL, "AmazonSQS"};

enum { BATCH = 10, DRAIN_BATCHES = 100, MAX_REPLY = 16 << 20 };
#define POLL_SLACK_MS (10 * DR_SECOND_MS) /* over what the queue itself waits */
#define BACKOFF_MS INT64_C(1000)
#define MAX_BACKOFF_MS (60 * DR_SECOND_MS)

struct dr_sqs {
    struct dr_sqs_options o;
    struct dr_aws_call *poll; /* NULL: none under way */
    bool patient;             /* the last answer was good: polls may wait at the queue */
    int64_t backoff_ms;
    int64_t not_before_ms;
    struct dr_sqs_stats stats;
};

static int64_t now_of(const struct dr_sqs *sqs) { return sqs->o.now_ms(sqs->o.self); }

static int64_t in_range(int64_t value, int64_t standard, int64_t max, bool *ok) {
    *ok = *ok && value >= 0 && value <= max;
    return value == 0 ? standard : value;
}

struct dr_sqs *dr_sqs_new(const struct dr_sqs_options *options, struct dr_err *err) {
    DR_ASSERT(options->aws != NULL && options->now_ms != NULL && options->store.ops != NULL);
    if (!dr_str_starts(options->queue_url, "https://") && !dr_str_starts(options->queue_url, "http://")) {
        (void)dr_fail(err, DR_E_INVALID, "sqs: queue \"%.*s\": must be the URL of the queue",
                      DR_FMT(dr_str_sub(options->queue_url, 0, 100)));
        return NULL;
    }
    bool ok = true;
    struct dr_sqs_options o = *options;
    o.wait_s = in_range(o.wait_s, 20, 20, &ok);
    o.visibility_s = in_range(o.visibility_s, 60, 43200, &ok);
    o.max_receives = in_range(o.max_receives, 5, 1000, &ok);
    if (!ok) {
        (void)dr_fail(err, DR_E_INVALID, "sqs: a poll waits 1 to 20 s, visibility is 1 to 43200 s, receives are 1 to 1000");
        return NULL;
    }
    struct dr_sqs *sqs = calloc(1, sizeof(*sqs));
    if (sqs == NULL) {
        (void)dr_fail(err, DR_E_INTERNAL, "sqs: no memory");
        return NULL;
    }
    sqs->o = o;
    return sqs;
}

void dr_sqs_free(struct dr_sqs *sqs) {
    if (sqs != NULL) {
        dr_aws_call_free(sqs->poll);
        free(sqs);
    }
}

static void tell(struct dr_sqs *sqs, const char *event, struct dr_str text) {
    if (sqs->o.log != NULL) {
        sqs->o.log(sqs->o.log_self, event, text);
    }
}

static struct dr_aws_call *send_poll(struct dr_sqs *sqs, int64_t wait_s, int64_t deadline_ms) {
    struct dr_buf body;
    struct dr_jsonw w;
    dr_buf_init(&body, 0);
    dr_jsonw_init(&w, &body, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_str(&w, "QueueUrl", sqs->o.queue_url);
    dr_jsonw_kv_i64(&w, "MaxNumberOfMessages", BATCH);
    dr_jsonw_kv_i64(&w, "WaitTimeSeconds", wait_s);
    dr_jsonw_kv_i64(&w, "VisibilityTimeout", sqs->o.visibility_s);
    dr_jsonw_key(&w, "AttributeNames");
    dr_jsonw_array(&w);
    dr_jsonw_cstr(&w, "ApproximateReceiveCount");
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
    /* Not repeated by the client below, which would do so inside of a wait: we have a back-off of our own and a loop to go back to. */
    struct dr_aws_request request = {
        .service = &service, .action = "ReceiveMessage", .body = dr_buf_str(&body), .deadline_ms = deadline_ms, .max_body = MAX_REPLY};
    struct dr_aws_call *call = dr_aws_start(sqs->o.aws, &request);
    dr_buf_deinit(&body);
    return call;
}

void dr_sqs_start(struct dr_sqs *sqs) {
    int64_t now_ms = now_of(sqs);
    if (sqs->poll != NULL || now_ms < sqs->not_before_ms) {
        return;
    }
    int64_t wait_s = sqs->patient ? sqs->o.wait_s : 0;
    sqs->poll = send_poll(sqs, wait_s, now_ms + wait_s * DR_SECOND_MS + POLL_SLACK_MS);
}

bool dr_sqs_ready(const struct dr_sqs *sqs) { return sqs->poll != NULL && dr_aws_done(sqs->poll); }

int64_t dr_sqs_wait_ms(const struct dr_sqs *sqs) {
    return sqs->poll != NULL ? -1 : dr_clamp_i64(sqs->not_before_ms - now_of(sqs), 0, MAX_BACKOFF_MS);
}

/* ---- working up messages ---- */

/* What is to be deleted of one batch. */
struct done {
    struct dr_str receipts[BATCH * 10];
    size_t n;
};

/* True: the message may go. */
static bool is_dropped(struct dr_sqs *sqs, struct dr_arena *arena, const struct dr_sqs_message *message, const struct dr_err *why) {
    bool dropped = message->receives >= sqs->o.max_receives;
    sqs->stats.poison++;
    sqs->stats.dropped += dropped;
    tell(sqs, dropped ? "poison_dropped" : "poison_seen",
         dr_str_fmt(arena, "message %.*s, received %lld times: %s; it begins: %.*s", DR_FMT(message->id), (long long)message->receives,
                    why->text, DR_FMT(dr_str_sub(message->body, 0, 200))));
    return dropped;
}

static int work_up(struct dr_sqs *sqs, struct dr_arena *arena, const struct dr_sqs_message *message, int64_t deadline_ms, size_t *events,
                   struct done *done, struct dr_err *err) {
    struct dr_event event;
    struct dr_err why;
    int kind = dr_sqs_parse_event(arena, message->body, &event, &why);
    sqs->stats.received++;
    if (kind < 0 && !is_dropped(sqs, arena, message, &why)) {
        return 0;
    }
    if (kind == 0) {
        sqs->stats.ignored++;
    }
    if (kind > 0) {
        const struct dr_store *store = &sqs->o.store;
        if (store->ops->inbox_put(store->self, sqs->o.cluster, &event, deadline_ms, err) < 0) {
            return dr_wrap(err, "event of %.*s into the inbox", DR_FMT(event.instance_id));
        }
        sqs->stats.stored++;
        ++*events;
    }
    done->receipts[done->n++] = message->receipt;
    return 0;
}

/* Up to ten at once. */
static int delete_batch(struct dr_sqs *sqs, struct dr_arena *arena, const struct dr_str *receipts, size_t n, int64_t deadline_ms,
                        size_t *ret_failed, struct dr_str *ret_why, struct dr_err *err) {
    struct dr_buf body;
    struct dr_jsonw w;
    dr_buf_init(&body, 0);
    dr_jsonw_init(&w, &body, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_str(&w, "QueueUrl", sqs->o.queue_url);
    dr_jsonw_key(&w, "Entries");
    dr_jsonw_array(&w);
    for (size_t i = 0; i < n; i++) {
        dr_jsonw_object(&w);
        dr_jsonw_kv_str(&w, "Id", dr_str_fmt(arena, "m%zu", i));
        dr_jsonw_kv_str(&w, "ReceiptHandle", receipts[i]);
        dr_jsonw_end(&w);
    }
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
    struct dr_aws_request request = {.service = &service,
                                     .action = "DeleteMessageBatch",
                                     .body = dr_buf_str(&body),
                                     .deadline_ms = deadline_ms,
                                     .repeatable = true}; /* deleting twice is as good as once */
    struct dr_str reply;
    int result = dr_aws_do(sqs->o.aws, &request, arena, &reply, err);
    dr_buf_deinit(&body);
    return result < 0 ? -1 : dr_sqs_parse_deleted(arena, reply, ret_failed, ret_why, err);
}

/* Messages that cannot be deleted come again and find their row in the inbox: told, but not a failure of what was done. */
static void delete_done(struct dr_sqs *sqs, struct dr_arena *arena, const struct done *done, int64_t deadline_ms) {
    for (size_t i = 0; i < done->n; i += BATCH) {
        size_t failed = 0;
        struct dr_str why = DR_STR_NONE;
        struct dr_err err;
        size_t n = done->n - i < BATCH ? done->n - i : BATCH;
        if (delete_batch(sqs, arena, done->receipts + i, n, deadline_ms, &failed, &why, &err) < 0) {
            tell(sqs, "delete_failed", dr_str_of(err.text));
        } else if (failed > 0) {
            tell(sqs, "delete_failed", dr_str_fmt(arena, "%zu messages: %.*s", failed, DR_FMT(why)));
        }
    }
}

static int work_up_all(struct dr_sqs *sqs, struct dr_arena *arena, struct dr_str body, int64_t deadline_ms, size_t *events,
                       size_t *ret_messages, struct dr_err *err) {
    const struct dr_sqs_message *messages = NULL;
    size_t n = 0;
    struct done done = {.n = 0};
    *ret_messages = 0;
    if (dr_sqs_parse_messages(arena, body, &messages, &n, err) < 0) {
        return -1;
    }
    int result = 0;
    for (size_t i = 0; i < n && result == 0; i++) {
        result = work_up(sqs, arena, &messages[i], deadline_ms, events, &done, err);
    }
    delete_done(sqs, arena, &done, deadline_ms); /* also after a failure: those before it are safe in the inbox */
    *ret_messages = n;
    return result;
}

/* The poll to its end, and what it brought. */
static int finish_poll(struct dr_sqs *sqs, int64_t deadline_ms, size_t *events, size_t *ret_messages, struct dr_err *err) {
    struct dr_arena arena;
    struct dr_str body;
    dr_arena_init(&arena, 0);
    *ret_messages = 0;
    int result = dr_aws_wait(sqs->o.aws, sqs->poll, &body, err);
    if (result == 0) {
        result = work_up_all(sqs, &arena, body, deadline_ms, events, ret_messages, err);
    }
    dr_aws_call_free(sqs->poll);
    sqs->poll = NULL;
    sqs->patient = result == 0;
    if (result == 0) {
        sqs->backoff_ms = 0;
    } else {
        sqs->stats.failures++;
        sqs->backoff_ms = sqs->backoff_ms == 0 ? BACKOFF_MS : dr_min_i64(sqs->backoff_ms * 2, MAX_BACKOFF_MS);
        sqs->not_before_ms = now_of(sqs) + sqs->backoff_ms;
        tell(sqs, "queue_failed", dr_str_of(err->text));
    }
    dr_arena_deinit(&arena);
    return result;
}

int dr_sqs_take(struct dr_sqs *sqs, int64_t deadline_ms, size_t *ret_n, struct dr_err *err) {
    struct dr_err own;
    size_t messages = 0;
    DR_ASSERT(sqs->poll != NULL);
    *ret_n = 0;
    return finish_poll(sqs, deadline_ms, ret_n, &messages, err == NULL ? &own : err);
}

int dr_sqs_drain(struct dr_sqs *sqs, int64_t deadline_ms, size_t *ret_n, struct dr_err *err) {
    struct dr_err own;
    size_t messages = 1;
    *ret_n = 0;
    for (int i = 0; i < DRAIN_BATCHES && messages > 0; i++) {
        if (sqs->poll == NULL) {
            sqs->poll = send_poll(sqs, 0, deadline_ms);
        }
        if (finish_poll(sqs, deadline_ms, ret_n, &messages, err == NULL ? &own : err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void events_request(void *self) {
    struct dr_sqs *sqs = self;
    int64_t now_ms = now_of(sqs);
    if (sqs->poll == NULL && now_ms >= sqs->not_before_ms) {
        sqs->poll = send_poll(sqs, 0, now_ms + POLL_SLACK_MS);
    }
}

static int events_collect(void *self, int64_t deadline_ms, size_t *ret_n, struct dr_err *err) {
    struct dr_sqs *sqs = self;
    *ret_n = 0;
    return sqs->poll == NULL ? 0 : dr_sqs_drain(sqs, deadline_ms, ret_n, err);
}

struct dr_events dr_sqs_events(struct dr_sqs *sqs) {
    static const struct dr_events_ops ops = {events_request, events_collect};
    return (struct dr_events){&ops, sqs};
}

struct dr_sqs_stats dr_sqs_stats(const struct dr_sqs *sqs) {
    return sqs->stats;
}
