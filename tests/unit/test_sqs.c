/* Events from a scripted queue, and what is in messages. */
#include "adapter/sqs/parse.h"
#include "adapter/sqs/sqs.h"
#include "base/json_write.h"
#include "base/time.h"
#include "unit/aws_help.h"

/* ---- messages ---- */

#define EVENT(type, detail)                                                                                                                \
    "{\"version\":\"0\",\"source\":\"aws.ec2\",\"detail-type\":\"" type "\",\"time\":\"2026-11-15T20:04:00Z\",\"detail\":" detail "}"
#define WARNING EVENT("EC2 Spot Instance Interruption Warning", "{\"instance-id\":\"i-0abc\",\"instance-action\":\"terminate\"}")

TEST(sqs_parse, three_kinds_of_events_are_known) {
    static const struct {
        const char *body;
        enum dr_event_kind kind;
    } cases[] = {
        {WARNING, DR_EVENT_WARNING},
        {EVENT("EC2 Instance Rebalance Recommendation", "{\"instance-id\":\"i-0abc\"}"), DR_EVENT_REBALANCE},
        {EVENT("EC2 Instance State-change Notification", "{\"state\":\"running\",\"instance-id\":\"i-0abc\"}"), DR_EVENT_STATE_CHANGE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dr_arena arena;
        struct dr_event event;
        struct dr_err err;
        dr_arena_init(&arena, 0);
        CHECK_EQ_INT(dr_sqs_parse_event(&arena, dr_str_of(cases[i].body), &event, &err), 1);
        CHECK_EQ_INT(event.kind, cases[i].kind);
        CHECK_EQ_STR(event.instance_id, "i-0abc");
        CHECK_EQ_INT(event.at_ms, AT);
        CHECK(!event.handled);
        dr_arena_deinit(&arena);
    }
}

TEST(sqs_parse, event_inside_a_notification_is_unwrapped) {
    struct dr_arena arena;
    struct dr_event event;
    struct dr_err err;
    struct dr_buf buf;
    struct dr_jsonw w;
    dr_arena_init(&arena, 0);
    dr_buf_init(&buf, 0);
    dr_jsonw_init(&w, &buf, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_cstr(&w, "Type", "Notification");
    dr_jsonw_kv_cstr(&w, "Message", WARNING);
    dr_jsonw_end(&w);
    CHECK_EQ_INT(dr_sqs_parse_event(&arena, dr_buf_str(&buf), &event, &err), 1);
    CHECK_EQ_STR(event.instance_id, "i-0abc");
    dr_buf_deinit(&buf);
    dr_arena_deinit(&arena);
}

TEST(sqs_parse, events_of_others_are_none_of_our_business) {
    static const char *const bodies[] = {
        "{\"source\":\"aws.s3\",\"detail-type\":\"Object Created\",\"detail\":7}",
        "{\"source\":\"my.app\",\"detail-type\":\"EC2 Spot Instance Interruption "
        "Warning\",\"time\":\"x\",\"detail\":{\"instance-id\":\"i-0abc\"}}",
        EVENT("EC2 Spot Instance Request Fulfillment", "{\"instance-id\":\"i-0abc\"}"),
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct dr_arena arena;
        struct dr_event event;
        struct dr_err err;
        dr_arena_init(&arena, 0);
        CHECK_EQ_INT(dr_sqs_parse_event(&arena, dr_str_of(bodies[i]), &event, &err), 0);
        dr_arena_deinit(&arena);
    }
}

TEST(sqs_parse, wrong_events_name_the_field) {
    static const struct {
        const char *body;
        const char *text;
    } cases[] = {
        {"", "event: "},
        {"hello", "event: "},
        {"[]", "event: "},
        {"<html>", "event: "},
        {"{}", "event: no source"},
        {"{\"source\":\"aws.ec2\"}", "event: no detail-type"},
        {"{\"source\":7}", "event: source: "},
        {EVENT("EC2 Spot Instance Interruption Warning", "{}"), "detail.instance-id: \"\" is not an instance id"},
        {EVENT("EC2 Spot Instance Interruption Warning", "null"), "detail.instance-id"},
        {EVENT("EC2 Spot Instance Interruption Warning", "{\"instance-id\":[]}"), "detail.instance-id"},
        {EVENT("EC2 Spot Instance Interruption Warning", "{\"instance-id\":\"i-../x\"}"), "is not an instance id"},
        {"{\"source\":\"aws.ec2\",\"detail-type\":\"EC2 Instance Rebalance "
         "Recommendation\",\"time\":\"soon\",\"detail\":{\"instance-id\":\"i-1\"}}",
         "event: time: \"soon\" is not a time"},
        {"{\"Type\":\"Notification\",\"Message\":\"hello\"}", "event in a notification"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dr_arena arena;
        struct dr_event event;
        struct dr_err err;
        dr_arena_init(&arena, 0);
        CHECK_FAILS(dr_sqs_parse_event(&arena, dr_str_of(cases[i].body), &event, &err), err, DR_E_INVALID);
        CHECK_CONTAINS(dr_str_of(err.text), cases[i].text);
        dr_arena_deinit(&arena);
    }
}

TEST(sqs_parse, wrong_answers_of_the_queue_name_call_and_field) {
    static const struct {
        const char *body;
        const char *text;
    } cases[] = {
        {"", "sqs ReceiveMessage: answer"},
        {"<html>", "sqs ReceiveMessage: answer"},
        {"{\"Messages\":{}}", "sqs ReceiveMessage: answer"},
        {"{\"Messages\":[{\"Body\":\"x\"}]}", "Messages[0]: no ReceiptHandle"},
        {"{\"Messages\":[{\"ReceiptHandle\":\"r\",\"Body\":1}]}", "Messages[0]: Body"},
        {"{\"Messages\":[{\"ReceiptHandle\":\"r\",\"Attributes\":{\"ApproximateReceiveCount\":\"many\"}}]}", "\"many\" is not a count"},
        {"{\"Messages\":[{\"ReceiptHandle\":\"r\"", "sqs ReceiveMessage: answer"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dr_arena arena;
        const struct dr_sqs_message *messages;
        size_t n;
        struct dr_err err;
        dr_arena_init(&arena, 0);
        CHECK_FAILS(dr_sqs_parse_messages(&arena, dr_str_of(cases[i].body), &messages, &n, &err), err, DR_E_UNAVAILABLE);
        CHECK_CONTAINS(dr_str_of(err.text), cases[i].text);
        dr_arena_deinit(&arena);
    }
}

/* ---- the queue ---- */

struct bench {
    struct aws_world w;
    struct dr_server_answer answers[8];
    struct dr_server_script script;
    struct dr_buf seen;
    struct dr_sqs *sqs;
    struct dr_buf log;
    int put_n;
    int put_at_deletion; /* rows that were in the inbox when a deletion was asked for; -1: none was */
    bool store_fails;
    struct dr_event last;
};

static bool serve(void *self, const struct dr_server_request *request) {
    struct bench *b = self;
    struct dr_str target = dr_server_header(request, "x-amz-target");
    dr_buf_fmt(&b->seen, "%.*s %.*s\n", DR_FMT(target), DR_FMT(request->body));
    if (dr_str_is(target, "AmazonSQS.DeleteMessageBatch")) {
        b->put_at_deletion = b->put_n;
    }
    return dr_server_script(&b->script, request);
}

static int inbox_put(void *self, struct dr_str pk, const struct dr_event *event, int64_t deadline_ms, struct dr_err *err) {
    struct bench *b = self;
    (void)deadline_ms;
    CHECK_EQ_STR(pk, "shop");
    if (b->store_fails) {
        return dr_fail(err, DR_E_UNAVAILABLE, "store is away");
    }
    b->put_n++;
    b->last = *event;
    return 0;
}

static void take_log(void *self, const char *event, struct dr_str text) {
    struct bench *b = self;
    dr_buf_fmt(&b->log, "%s: %.*s\n", event, DR_FMT(text));
}

static void set_up(struct bench *b) {
    static const struct dr_store_ops ops = {.inbox_put = inbox_put};
    memset(b, 0, sizeof(*b));
    b->put_at_deletion = -1;
    dr_buf_init(&b->seen, 0);
    dr_buf_init(&b->log, 0);
    dr_buf_puts(&b->log, "");
    aws_world_ready(&b->w, serve, b);
    b->script = (struct dr_server_script){b->answers, 0};
    struct dr_sqs_options o = {.aws = b->w.aws,
                               .now_ms = aws_world_now,
                               .self = &b->w,
                               .queue_url = DR_STR("https://sqs.eu-west-1.amazonaws.com/1/events"),
                               .store = {&ops, b},
                               .cluster = DR_STR("shop"),
                               .max_receives = 3,
                               .log = take_log,
                               .log_self = b};
    b->sqs = dr_sqs_new(&o, &b->w.err);
    CHECK(b->sqs != NULL);
}

static void tear_down(struct bench *b) {
    dr_sqs_free(b->sqs);
    aws_world_close(&b->w);
    dr_buf_deinit(&b->seen);
    dr_buf_deinit(&b->log);
}

static void answer(struct bench *b, int status, const char *body) {
    b->answers[b->script.n++] = (struct dr_server_answer){status, NULL, body};
}

static int64_t soon(const struct bench *b) { return b->w.now_ms + 10000; }

static int poll_once(struct bench *b, size_t *n) {
    dr_sqs_start(b->sqs);
    while (!dr_sqs_ready(b->sqs)) {
        dr_http_poll(b->w.http, 1000, -1);
    }
    return dr_sqs_take(b->sqs, soon(b), n, &b->w.err);
}

#define MESSAGE(id, count, body)                                                                                                           \
    "{\"MessageId\":\"" id "\",\"ReceiptHandle\":\"r-" id "\",\"Attributes\":{\"ApproximateReceiveCount\":\"" count "\"},\"Body\":" body "}"
#define QUOTED_WARNING                                                                                                                     \
    "\"{\\\"source\\\":\\\"aws.ec2\\\",\\\"detail-type\\\":\\\"EC2 Spot Instance Interruption "                                            \
    "Warning\\\",\\\"time\\\":\\\"2026-11-15T20:04:00Z\\\",\\\"detail\\\":{\\\"instance-id\\\":\\\"i-0abc\\\"}}\""

TEST(sqs, message_is_deleted_after_its_event_is_in_the_inbox) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{\"Messages\":[" MESSAGE("1", "1", QUOTED_WARNING) "]}");
    answer(&b, 200, "{\"Successful\":[{\"Id\":\"m0\"}]}");
    size_t n = 0;
    CHECK_OK(poll_once(&b, &n), b.w.err);
    CHECK_EQ_INT(n, 1);
    CHECK_EQ_INT(b.put_at_deletion, 1);
    CHECK_EQ_INT(b.last.at_ms, AT);
    CHECK_CONTAINS(
        dr_buf_str(&b.seen),
        "AmazonSQS.DeleteMessageBatch "
        "{\"QueueUrl\":\"https://sqs.eu-west-1.amazonaws.com/1/events\",\"Entries\":[{\"Id\":\"m0\",\"ReceiptHandle\":\"r-1\"}]}\n");
    tear_down(&b);
}

TEST(sqs, event_that_cannot_be_stored_stays_in_the_queue) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{\"Messages\":[" MESSAGE("1", "1", QUOTED_WARNING) "]}");
    b.store_fails = true;
    size_t n = 0;
    CHECK_FAILS(poll_once(&b, &n), b.w.err, DR_E_UNAVAILABLE);
    CHECK_CONTAINS(dr_str_of(b.w.err.text), "event of i-0abc into the inbox: store is away");
    CHECK_EQ_INT(n, 0);
    CHECK_EQ_INT(b.put_at_deletion, -1);
    CHECK_EQ_INT(dr_sqs_stats(b.sqs).failures, 1);
    tear_down(&b);
}

TEST(sqs, poison_is_kept_until_its_last_reception_and_then_told_and_deleted) {
    struct bench b;
    set_up(&b);
    answer(&b, 200,
           "{\"Messages\":[" MESSAGE("1", "2", "\"junk\"") "," MESSAGE(
               "2", "1", "\"{\\\"source\\\":\\\"aws.s3\\\",\\\"detail-type\\\":\\\"x\\\"}\"") "]}");
    answer(&b, 200, "{\"Successful\":[]}");
    answer(&b, 200, "{\"Messages\":[" MESSAGE("1", "3", "\"junk\"") "]}");
    answer(&b, 200, "{\"Successful\":[]}");
    size_t n = 0;
    CHECK_OK(poll_once(&b, &n), b.w.err);
    CHECK_EQ_INT(n, 0);
    CHECK_CONTAINS(dr_buf_str(&b.seen), "\"Entries\":[{\"Id\":\"m0\",\"ReceiptHandle\":\"r-2\"}]}"); /* only that of others */
    CHECK_CONTAINS(dr_buf_str(&b.log), "poison_seen: message 1, received 2 times: event: ");
    CHECK_OK(poll_once(&b, &n), b.w.err);
    CHECK_CONTAINS(dr_buf_str(&b.seen), "\"Entries\":[{\"Id\":\"m0\",\"ReceiptHandle\":\"r-1\"}]}");
    CHECK_CONTAINS(dr_buf_str(&b.log), "poison_dropped: message 1, received 3 times: event: ");
    struct dr_sqs_stats stats = dr_sqs_stats(b.sqs);
    CHECK_EQ_INT(stats.poison, 2);
    CHECK_EQ_INT(stats.dropped, 1);
    CHECK_EQ_INT(stats.ignored, 1);
    tear_down(&b);
}

TEST(sqs, failed_deletion_is_told_and_loses_nothing) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{\"Messages\":[" MESSAGE("1", "1", QUOTED_WARNING) "]}");
    answer(&b, 200, "{\"Failed\":[{\"Id\":\"m0\",\"Code\":\"ReceiptHandleIsInvalid\",\"SenderFault\":true}]}");
    size_t n = 0;
    CHECK_OK(poll_once(&b, &n), b.w.err);
    CHECK_EQ_INT(n, 1);
    CHECK_CONTAINS(dr_buf_str(&b.log), "delete_failed: 1 messages: ReceiptHandleIsInvalid");
    tear_down(&b);
}

TEST(sqs, first_poll_and_the_one_after_a_failure_do_not_wait_at_the_queue) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{}");
    answer(&b, 500, "{\"__type\":\"InternalFailure\"}");
    answer(&b, 200, "{}");
    size_t n = 0;
    CHECK_OK(poll_once(&b, &n), b.w.err);
    CHECK_CONTAINS(dr_buf_str(&b.seen), "\"WaitTimeSeconds\":0,");
    dr_buf_clear(&b.seen);
    CHECK_FAILS(poll_once(&b, &n), b.w.err, DR_E_UNAVAILABLE);
    CHECK_CONTAINS(dr_buf_str(&b.seen), "\"WaitTimeSeconds\":20,");
    CHECK_EQ_INT(dr_server_requests(b.w.server), 2); /* the client below does not repeat it inside of a wait */
    CHECK_EQ_INT(dr_sqs_wait_ms(b.sqs), 1000);
    dr_sqs_start(b.sqs); /* too early: nothing is sent */
    CHECK(!dr_sqs_ready(b.sqs));
    b.w.now_ms += 1000;
    dr_buf_clear(&b.seen);
    CHECK_OK(poll_once(&b, &n), b.w.err);
    CHECK_CONTAINS(dr_buf_str(&b.seen), "\"WaitTimeSeconds\":0,");
    CHECK_EQ_INT(dr_sqs_wait_ms(b.sqs), 0);
    tear_down(&b);
}

TEST(sqs, back_off_doubles_up_to_a_minute) {
    struct bench b;
    set_up(&b);
    answer(&b, 403, "{\"__type\":\"AccessDeniedException\"}");
    size_t n = 0;
    int64_t expected = 1000;
    for (int i = 0; i < 8; i++) {
        CHECK_FAILS(poll_once(&b, &n), b.w.err, DR_E_DENIED);
        CHECK_EQ_INT(dr_sqs_wait_ms(b.sqs), expected);
        b.w.now_ms += expected;
        expected = expected * 2 > 60000 ? 60000 : expected * 2;
    }
    tear_down(&b);
}

TEST(sqs, drain_takes_batches_until_there_is_none) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{\"Messages\":[" MESSAGE("1", "1", QUOTED_WARNING) "]}");
    answer(&b, 200, "{\"Successful\":[]}");
    answer(&b, 200, "{\"Messages\":[" MESSAGE("2", "1", QUOTED_WARNING) "]}");
    answer(&b, 200, "{\"Successful\":[]}");
    answer(&b, 200, "{\"Messages\":null}");
    size_t n = 0;
    CHECK_OK(dr_sqs_drain(b.sqs, soon(&b), &n, &b.w.err), b.w.err);
    CHECK_EQ_INT(n, 2);
    CHECK_EQ_INT(dr_server_requests(b.w.server), 5);
    tear_down(&b);
}

TEST(sqs, port_asks_without_waiting_at_the_queue_and_not_during_a_back_off) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{}");
    answer(&b, 500, "");
    struct dr_events events = dr_sqs_events(b.sqs);
    for (int i = 0; i < 3; i++) {
        size_t n = 1;
        events.ops->request(events.self);
        CHECK_EQ_INT(events.ops->collect(events.self, soon(&b), &n, &b.w.err), i == 1 ? -1 : 0);
        CHECK_EQ_INT(n, 0);
    }
    CHECK_EQ_INT(dr_server_requests(b.w.server), 2);
    CHECK(strstr(b.seen.p, "\"WaitTimeSeconds\":20") == NULL);
    tear_down(&b);
}

TEST(sqs, options_that_cannot_work_are_refused) {
    struct bench b;
    set_up(&b);
    static const struct dr_store_ops ops = {.inbox_put = inbox_put};
    struct dr_sqs_options o = {.aws = b.w.aws, .now_ms = aws_world_now, .self = &b.w, .queue_url = DR_STR("events"), .store = {&ops, &b}};
    CHECK(dr_sqs_new(&o, &b.w.err) == NULL);
    CHECK_CONTAINS(dr_str_of(b.w.err.text), "must be the URL of the queue");
    o.queue_url = DR_STR("https://x/y");
    o.wait_s = 21;
    CHECK(dr_sqs_new(&o, &b.w.err) == NULL);
    tear_down(&b);
}
