/* Queue and secrets on an AWS endpoint: DROVER_TEST_AWS is the URL of the stack's emulator. Without the variable these tests are not there. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "adapter/sqlite/sqlite.h"
#include "adapter/sqs/sqs.h"
#include "adapter/ssm/ssm.h"
#include "base/json_write.h"
#include "harness/test.h"

struct bench {
    char url[256];
    const char *environ_[4];
    struct dr_arena arena;
    struct dr_err err;
    struct dr_http *http;
    struct dr_aws *aws;
    struct dr_str name; /* of this test alone */
    struct dr_str queue_url;
    struct dr_sqlite *sqlite;
    struct dr_store store;
    struct dr_sqs *sqs;
    char log[1024];
    int64_t later_ms; /* added to the clock of the adapters */
};

static int64_t real_now_ms(void *self) {
    (void)self;
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t now_ms(void *self) { return real_now_ms(NULL) + ((struct bench *)self)->later_ms; }

static int64_t soon(void) { return real_now_ms(NULL) + 10000; }

static const struct dr_aws_service sqs = {"sqs", DR_AWS_JSON_10, NULL, "AmazonSQS"};
static const struct dr_aws_service ssm = {"ssm", DR_AWS_JSON_11, NULL, "AmazonSSM"};
static const struct dr_aws_service secretsmanager = {"secretsmanager", DR_AWS_JSON_11, NULL, "secretsmanager"};

static struct dr_str call(struct bench *b, const struct dr_aws_service *service, const char *action, struct dr_str body) {
    struct dr_aws_request request = {.service = service, .action = action, .body = body, .deadline_ms = soon(), .repeatable = true};
    struct dr_str reply;
    CHECK_OK(dr_aws_do(b->aws, &request, &b->arena, &reply, &b->err), b->err);
    return dr_str_dup(&b->arena, reply);
}

static void take_log(void *self, const char *event, struct dr_str text) {
    struct bench *b = self;
    snprintf(b->log + strlen(b->log), sizeof(b->log) - strlen(b->log), "%s: %.*s\n", event, DR_FMT(text));
}

static void set_up(struct bench *b) {
    *b = (struct bench){.http = NULL};
    dr_arena_init(&b->arena, 0);
    snprintf(b->url, sizeof(b->url), "AWS_ENDPOINT_URL=%s", getenv("DROVER_TEST_AWS"));
    b->environ_[0] = b->url;
    b->environ_[1] = "AWS_ACCESS_KEY_ID=test";
    b->environ_[2] = "AWS_SECRET_ACCESS_KEY=test";
    b->http = dr_http_new(&b->err);
    CHECK(b->http != NULL);
    struct dr_aws_options options = {
        .http = b->http, .now_ms = real_now_ms, .seed = 1, .environ = b->environ_, .region = DR_STR("us-east-1")};
    b->aws = dr_aws_new(&options, &b->err);
    CHECK(b->aws != NULL);
    b->name = dr_str_fmt(&b->arena, "test-%ld-%lld", (long)getpid(), (long long)real_now_ms(NULL));
}

static void set_up_queue(struct bench *b) {
    set_up(b);
    struct dr_str reply = call(b, &sqs, "CreateQueue", dr_str_fmt(&b->arena, "{\"QueueName\":\"%.*s\"}", DR_FMT(b->name)));
    const char *at = strstr(reply.p, "http");
    CHECK(at != NULL);
    b->queue_url = dr_str_sub(dr_str_of(at), 0, dr_str_find(dr_str_of(at), '"'));
    const char *path = dr_str_fmt(&b->arena, "%s/state.db", dr_test_tmpdir()).p;
    CHECK_OK(dr_sqlite_open(path, DR_SQLITE_WRITE, &b->sqlite, &b->err), b->err);
    b->store = dr_sqlite_store(b->sqlite);
    struct dr_sqs_options o = {.aws = b->aws,
                               .now_ms = now_ms,
                               .self = b,
                               .queue_url = b->queue_url,
                               .store = b->store,
                               .cluster = DR_STR("cluster"),
                               .visibility_s = 1,
                               .max_receives = 2,
                               .log = take_log,
                               .log_self = b};
    b->sqs = dr_sqs_new(&o, &b->err);
    CHECK(b->sqs != NULL);
}

static void tear_down(struct bench *b) {
    dr_sqs_free(b->sqs);
    dr_sqlite_close(b->sqlite);
    dr_aws_free(b->aws);
    dr_http_free(b->http);
    dr_arena_deinit(&b->arena);
}

static void send_text(struct bench *b, const char *text) {
    struct dr_buf body;
    struct dr_jsonw w;
    dr_buf_init(&body, 0);
    dr_jsonw_init(&w, &body, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_str(&w, "QueueUrl", b->queue_url);
    dr_jsonw_kv_cstr(&w, "MessageBody", text);
    dr_jsonw_end(&w);
    (void)call(b, &sqs, "SendMessage", dr_buf_str(&body));
    dr_buf_deinit(&body);
}

static const char warning[] =
    "{\"source\":\"aws.ec2\",\"detail-type\":\"EC2 Spot Instance Interruption Warning\",\"time\":\"2026-11-15T20:04:00Z\","
    "\"detail\":{\"instance-id\":\"i-0abc\",\"instance-action\":\"terminate\"}}";

static size_t inbox_n(struct bench *b) {
    const struct dr_event *events;
    size_t n = 0;
    CHECK_OK(b->store.ops->inbox(b->store.self, &b->arena, DR_STR("cluster"), soon(), &events, &n, &b->err), b->err);
    return n;
}

static long long number_after(struct dr_str reply, const char *name) {
    const char *at = strstr(reply.p, name);
    CHECK(at != NULL);
    at += strlen(name);
    return strtoll(at + strcspn(at, "0123456789"), NULL, 10);
}

/* Nothing is in the queue, neither to be seen nor hidden for a while. */
static void check_empty(struct bench *b) {
    static const char names[] = "\"AttributeNames\":[\"ApproximateNumberOfMessages\",\"ApproximateNumberOfMessagesNotVisible\"]";
    struct dr_str reply =
        call(b, &sqs, "GetQueueAttributes", dr_str_fmt(&b->arena, "{\"QueueUrl\":\"%.*s\",%s}", DR_FMT(b->queue_url), names));
    CHECK_EQ_INT(number_after(reply, "\"ApproximateNumberOfMessages\""), 0);
    CHECK_EQ_INT(number_after(reply, "\"ApproximateNumberOfMessagesNotVisible\""), 0);
}

static void run_warning_sent_twice_is_one_row_and_the_queue_is_empty(void) {
    struct bench b;
    set_up_queue(&b);
    send_text(&b, warning);
    send_text(&b, warning);
    size_t n = 0;
    CHECK_OK(dr_sqs_drain(b.sqs, soon(), &n, &b.err), b.err);
    CHECK_EQ_INT(n, 2);
    CHECK_EQ_INT(inbox_n(&b), 1);
    CHECK_EQ_INT(dr_sqs_stats(b.sqs).received, 2);
    check_empty(&b);
    tear_down(&b);
}

static void run_long_poll_wakes_when_a_message_comes(void) {
    struct bench b;
    set_up_queue(&b);
    size_t n = 0;
    dr_sqs_start(b.sqs);
    while (!dr_sqs_ready(b.sqs)) {
        dr_http_poll(b.http, 1000, -1);
    }
    CHECK_OK(dr_sqs_take(b.sqs, soon(), &n, &b.err), b.err);
    CHECK_EQ_INT(n, 0);
    dr_sqs_start(b.sqs); /* now it waits at the queue */
    CHECK_EQ_INT(dr_sqs_wait_ms(b.sqs), -1);
    dr_http_poll(b.http, 100, -1);
    CHECK(!dr_sqs_ready(b.sqs));
    send_text(&b, warning);
    while (!dr_sqs_ready(b.sqs)) {
        dr_http_poll(b.http, 1000, -1);
    }
    CHECK_OK(dr_sqs_take(b.sqs, soon(), &n, &b.err), b.err);
    CHECK_EQ_INT(n, 1);
    CHECK_EQ_INT(inbox_n(&b), 1);
    tear_down(&b);
}

static void run_poison_is_dropped_after_its_last_reception(void) {
    struct bench b;
    set_up_queue(&b);
    send_text(&b, "<html>not an event</html>");
    size_t n = 0;
    CHECK_OK(dr_sqs_drain(b.sqs, soon(), &n, &b.err), b.err);
    CHECK_EQ_INT(dr_sqs_stats(b.sqs).dropped, 0);
    int64_t until_ms = soon();
    while (dr_sqs_stats(b.sqs).poison < 2 && real_now_ms(NULL) < until_ms) { /* it is hidden for a second */
        CHECK_OK(dr_sqs_drain(b.sqs, soon(), &n, &b.err), b.err);
        dr_http_poll(b.http, 50, -1);
    }
    CHECK_EQ_INT(dr_sqs_stats(b.sqs).dropped, 1);
    CHECK_CONTAINS(dr_str_of(b.log), "poison_dropped: message ");
    check_empty(&b);
    tear_down(&b);
}

static void run_missing_queue_is_an_error_with_a_back_off(void) {
    struct bench b;
    set_up_queue(&b);
    (void)call(&b, &sqs, "DeleteQueue", dr_str_fmt(&b.arena, "{\"QueueUrl\":\"%.*s\"}", DR_FMT(b.queue_url)));
    size_t n = 0;
    CHECK_FAILS(dr_sqs_drain(b.sqs, soon(), &n, &b.err), b.err, DR_E_NOT_FOUND);
    CHECK(dr_sqs_wait_ms(b.sqs) > 0);
    CHECK_CONTAINS(dr_str_of(b.log), "queue_failed: sqs ReceiveMessage: ");
    tear_down(&b);
}

static void run_parameter_and_secret_are_read_and_refreshed(void) {
    struct bench b;
    set_up(&b);
    struct dr_secrets_options o = {.aws = b.aws, .now_ms = now_ms, .self = &b};
    struct dr_secrets *secrets = dr_secrets_new(&o, &b.err);
    const struct dr_secret *value = NULL;
    struct dr_str parameter = dr_str_fmt(&b.arena, "ssm:/%.*s/token", DR_FMT(b.name));
    struct dr_str member = dr_str_fmt(&b.arena, "secretsmanager:%.*s#token", DR_FMT(b.name));
    struct dr_str whole = dr_str_fmt(&b.arena, "secretsmanager:%.*s", DR_FMT(b.name));
    CHECK_FAILS(dr_secrets_get(secrets, parameter, soon(), &value, &b.err), b.err, DR_E_NOT_FOUND);
    call(&b, &ssm, "PutParameter",
         dr_str_fmt(&b.arena, "{\"Name\":\"/%.*s/token\",\"Type\":\"SecureString\",\"Value\":\"first\"}", DR_FMT(b.name)));
    call(&b, &secretsmanager, "CreateSecret",
         dr_str_fmt(&b.arena,
                    "{\"Name\":\"%.*s\",\"ClientRequestToken\":\"0123456789012345678901234567890123456789\",\"SecretString\":\"{"
                    "\\\"token\\\":\\\"abc\\\"}\"}",
                    DR_FMT(b.name)));
    dr_secrets_request(secrets, parameter, soon());
    dr_secrets_request(secrets, member, soon());
    CHECK_OK(dr_secrets_get(secrets, parameter, soon(), &value, &b.err), b.err);
    CHECK_EQ_STR(dr_secret_reveal(value), "first");
    CHECK_OK(dr_secrets_get(secrets, member, soon(), &value, &b.err), b.err);
    CHECK_EQ_STR(dr_secret_reveal(value), "abc");
    CHECK_OK(dr_secrets_get(secrets, whole, soon(), &value, &b.err), b.err);
    CHECK_EQ_STR(dr_secret_reveal(value), "{\"token\":\"abc\"}");
    call(&b, &ssm, "PutParameter",
         dr_str_fmt(&b.arena, "{\"Name\":\"/%.*s/token\",\"Type\":\"SecureString\",\"Value\":\"second\",\"Overwrite\":true}",
                    DR_FMT(b.name)));
    CHECK_OK(dr_secrets_get(secrets, parameter, soon(), &value, &b.err), b.err);
    CHECK_EQ_STR(dr_secret_reveal(value), "first");
    b.later_ms = INT64_C(360000);
    CHECK_OK(dr_secrets_get(secrets, parameter, soon(), &value, &b.err), b.err);
    CHECK_EQ_STR(dr_secret_reveal(value), "second");
    dr_secrets_free(secrets);
    tear_down(&b);
}

#define EVERY_TEST(X)                                                                                                                      \
    X(warning_sent_twice_is_one_row_and_the_queue_is_empty)                                                                                \
    X(long_poll_wakes_when_a_message_comes)                                                                                                \
    X(poison_is_dropped_after_its_last_reception)                                                                                          \
    X(missing_queue_is_an_error_with_a_back_off)                                                                                           \
    X(parameter_and_secret_are_read_and_refreshed)

#define ENTRY(name) {"aws_events", #name, __FILE__, __LINE__, run_##name, 120, NULL},
static struct dr_test tests[] = {EVERY_TEST(ENTRY)};

__attribute__((constructor)) static void add(void) {
    for (size_t i = 0; getenv("DROVER_TEST_AWS") != NULL && i < sizeof(tests) / sizeof(tests[0]); i++) {
        dr_test_register(&tests[i]);
    }
}
