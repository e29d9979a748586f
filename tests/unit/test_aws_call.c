/* Calls against a scripted server: what goes out, what is tried again, what is not. */
#include "unit/aws_help.h"

static const struct dr_aws_service ec2 = {"ec2", DR_AWS_QUERY, "2016-11-15", NULL};
static const struct dr_aws_service dynamodb = {"dynamodb", DR_AWS_JSON_10, NULL, "DynamoDB_20120810"};

static void open_world(struct aws_world *w, dr_server_fn *serve, void *self) {
    aws_world_open(w, serve, self);
    aws_world_set(w, "AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    aws_world_set(w, "AWS_SECRET_ACCESS_KEY", "hunter2");
    aws_world_start(w, "eu-west-1", NULL);
}

static struct dr_aws_request describe(const struct aws_world *w) {
    return (struct dr_aws_request){.service = &ec2, .action = "DescribeInstances", .deadline_ms = w->now_ms + 60000, .repeatable = true};
}

static int call(struct aws_world *w, const struct dr_aws_request *request) {
    return dr_aws_do(w->aws, request, &w->arena, &w->body, &w->err);
}

static bool serve_echo(void *self, const struct dr_server_request *request) {
    struct dr_buf buf;
    (void)self;
    dr_buf_init(&buf, 0);
    dr_buf_put_str(&buf, request->head);
    dr_buf_put_str(&buf, request->body);
    bool open = dr_server_reply(request, 200, NULL, buf.p);
    dr_buf_deinit(&buf);
    return open;
}

TEST(aws_call, query_is_a_sorted_form_and_signed) {
    struct aws_world w;
    open_world(&w, serve_echo, NULL);
    struct dr_aws_param params[] = {{DR_STR("Filter.1.Value.1"), DR_STR("a b/\xC3\xA4&=+~")}, {DR_STR("DryRun"), DR_STR("true")}};
    struct dr_aws_request request = describe(&w);
    request.params = params;
    request.param_n = 2;
    CHECK_OK(call(&w, &request), w.err);
    CHECK(dr_str_starts(w.body, "POST / HTTP/1.1\r\n"));
    CHECK_CONTAINS(w.body, "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261115/eu-west-1/ec2/aws4_request, "
                           "SignedHeaders=content-type;host;x-amz-date, Signature=");
    CHECK_CONTAINS(w.body, "X-Amz-Date: 20261115T200400Z\r\n");
    CHECK_CONTAINS(w.body, "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n");
    CHECK(dr_str_ends(w.body, "\r\n\r\nAction=DescribeInstances&DryRun=true&Filter.1.Value.1=a%20b%2F%C3%A4%26%3D%2B~&Version=2016-11-15"));
    CHECK(strstr(w.body.p, "hunter2") == NULL);
    aws_world_close(&w);
}

TEST(aws_call, json_names_its_target) {
    struct aws_world w;
    open_world(&w, serve_echo, NULL);
    struct dr_aws_request request = describe(&w);
    request.service = &dynamodb;
    request.action = "GetItem";
    request.body = DR_STR("{\"TableName\":\"t\"}");
    CHECK_OK(call(&w, &request), w.err);
    CHECK_CONTAINS(w.body, "X-Amz-Target: DynamoDB_20120810.GetItem\r\n");
    CHECK_CONTAINS(w.body, "Content-Type: application/x-amz-json-1.0\r\n");
    CHECK_CONTAINS(w.body, "SignedHeaders=content-type;host;x-amz-date;x-amz-target, ");
    CHECK(dr_str_ends(w.body, "\r\n\r\n{\"TableName\":\"t\"}"));
    request.body = DR_STR_NONE;
    CHECK_OK(call(&w, &request), w.err);
    CHECK(dr_str_ends(w.body, "\r\n\r\n{}"));
    aws_world_close(&w);
}

#define EC2_ERROR(code) "<Response><Errors><Error><Code>" code "</Code><Message>words</Message></Error></Errors></Response>"

TEST(aws_call, throttled_read_is_tried_again) {
    static const struct dr_server_answer answers[] = {{503, NULL, EC2_ERROR("RequestLimitExceeded")}, {500, NULL, ""}, {200, NULL, "fine"}};
    struct dr_server_script script = {answers, 3};
    struct aws_world w;
    open_world(&w, dr_server_script, &script);
    struct dr_aws_request request = describe(&w);
    struct dr_aws_call *c = dr_aws_start(w.aws, &request);
    CHECK_OK(dr_aws_wait(w.aws, c, &w.body, &w.err), w.err);
    CHECK_EQ_STR(w.body, "fine");
    CHECK_EQ_INT(dr_aws_tries(c), 3);
    CHECK(dr_aws_done(c));
    dr_aws_call_free(c);
    CHECK_EQ_INT(dr_server_requests(w.server), 3);
    aws_world_close(&w);
}

/* The number of requests that the server saw for one call that is always answered like this. */
static int requests_for(const struct dr_server_answer *answer, bool repeatable, enum dr_code expected, const char *text) {
    struct dr_server_script script = {answer, 1};
    struct aws_world w;
    open_world(&w, dr_server_script, &script);
    struct dr_aws_request request = describe(&w);
    request.action = "RunInstances";
    request.repeatable = repeatable;
    CHECK_FAILS(call(&w, &request), w.err, expected);
    CHECK_EQ_CSTR(w.err.text, text);
    int n = dr_server_requests(w.server);
    aws_world_close(&w);
    return n;
}

TEST(aws_call, effect_without_a_token_is_never_tried_again) {
    CHECK_EQ_INT(requests_for(&(struct dr_server_answer){503, NULL, EC2_ERROR("RequestLimitExceeded")}, false, DR_E_THROTTLED,
                              "ec2 RunInstances: RequestLimitExceeded: words"),
                 1);
    CHECK_EQ_INT(requests_for(&(struct dr_server_answer){500, NULL, EC2_ERROR("InternalError")}, false, DR_E_UNAVAILABLE,
                              "ec2 RunInstances: InternalError: words"),
                 1);
    CHECK_EQ_INT(requests_for(&(struct dr_server_answer){502, NULL, "<html>bad  gateway</html>"}, false, DR_E_UNAVAILABLE,
                              "ec2 RunInstances: HTTP 502 without an error code: <html>bad gateway</html>"),
                 1);
}

TEST(aws_call, refusal_that_will_not_change_is_not_tried_again) {
    CHECK_EQ_INT(requests_for(&(struct dr_server_answer){500, NULL, EC2_ERROR("InsufficientInstanceCapacity")}, true, DR_E_CAPACITY,
                              "ec2 RunInstances: InsufficientInstanceCapacity: words"),
                 1);
    CHECK_EQ_INT(requests_for(&(struct dr_server_answer){403, NULL, EC2_ERROR("UnauthorizedOperation")}, true, DR_E_DENIED,
                              "ec2 RunInstances: UnauthorizedOperation: words"),
                 1);
    CHECK_EQ_INT(requests_for(&(struct dr_server_answer){400, NULL, EC2_ERROR("IdempotentInstanceTerminated")}, true, DR_E_CONFLICT,
                              "ec2 RunInstances: IdempotentInstanceTerminated: words"),
                 1);
    CHECK_EQ_INT(requests_for(&(struct dr_server_answer){302, "Location: http://127.0.0.1:1/\r\n", ""}, true, DR_E_INVALID,
                              "ec2 RunInstances: HTTP 302 without an error code: "),
                 1);
}

TEST(aws_call, tries_have_an_end) {
    CHECK_EQ_INT(requests_for(&(struct dr_server_answer){500, NULL, EC2_ERROR("InternalError")}, true, DR_E_UNAVAILABLE,
                              "ec2 RunInstances: InternalError: words"),
                 5);
}

TEST(aws_call, reply_that_is_lost_is_asked_for_again_only_if_repeatable) {
    static const struct dr_server_answer answers[] = {{0, NULL, NULL}, {200, NULL, "fine"}};
    for (int repeatable = 0; repeatable <= 1; repeatable++) {
        struct dr_server_script script = {answers, 2};
        struct aws_world w;
        open_world(&w, dr_server_script, &script);
        struct dr_aws_request request = describe(&w);
        request.repeatable = repeatable != 0;
        if (repeatable) {
            CHECK_OK(call(&w, &request), w.err);
            CHECK_EQ_STR(w.body, "fine");
        } else {
            CHECK_FAILS(call(&w, &request), w.err, DR_E_UNAVAILABLE);
            CHECK_CONTAINS(dr_str_of(w.err.text), "ec2 DescribeInstances: POST 127.0.0.1:");
            CHECK_EQ_INT(dr_server_requests(w.server), 1);
        }
        aws_world_close(&w);
    }
}

TEST(aws_call, pause_that_would_pass_the_deadline_is_not_begun) {
    static const struct dr_server_answer busy = {503, "Retry-After: 120\r\n", EC2_ERROR("RequestLimitExceeded")};
    struct dr_server_script script = {&busy, 1};
    struct aws_world w;
    open_world(&w, dr_server_script, &script);
    struct dr_aws_request request = describe(&w);
    CHECK_FAILS(call(&w, &request), w.err, DR_E_THROTTLED);
    CHECK_EQ_INT(dr_server_requests(w.server), 1);
    request.deadline_ms = w.now_ms;
    CHECK_FAILS(call(&w, &request), w.err, DR_E_TIMEOUT);
    CHECK_EQ_CSTR(w.err.text, "ec2 DescribeInstances: the deadline has passed");
    CHECK_EQ_INT(dr_server_requests(w.server), 1);
    aws_world_close(&w);
}

TEST(aws_call, budget_of_tries_is_shared_and_filled_by_successes) {
    static const struct dr_server_answer answers[] = {{500, NULL, ""}, {500, NULL, ""}, {500, NULL, ""}, {200, NULL, ""}};
    struct dr_server_script script = {answers, 4};
    struct aws_world w;
    open_world(&w, dr_server_script, &script);
    w.aws->retry_tokens = 8;
    struct dr_aws_request request = describe(&w);
    CHECK_FAILS(call(&w, &request), w.err, DR_E_UNAVAILABLE);
    CHECK_EQ_INT(dr_server_requests(w.server), 2); /* one retry was paid for, 3 tokens are left */
    CHECK_FAILS(call(&w, &request), w.err, DR_E_UNAVAILABLE);
    CHECK_EQ_INT(dr_server_requests(w.server), 3);
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(w.aws->retry_tokens, 4);
    aws_world_close(&w);
}

/* Refuses times that are not within 5 minutes of 21:04:00. */
static bool serve_strict_clock(void *self, const struct dr_server_request *request) {
    static const char *const date = "Date: Sun, 15 Nov 2026 21:04:00 GMT\r\n";
    (void)self;
    bool good = dr_str_starts(dr_server_header(request, "x-amz-date"), "20261115T2104");
    return dr_server_reply(request, good ? 200 : 403, date, good ? "fine" : EC2_ERROR("RequestExpired"));
}

TEST(aws_call, wrong_clock_is_noticed_and_corrected_for_effects_too) {
    struct aws_world w;
    open_world(&w, serve_strict_clock, NULL);
    struct dr_aws_request request = describe(&w);
    request.repeatable = false;
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(dr_server_requests(w.server), 2);
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(dr_server_requests(w.server), 3); /* from now on right at once */
    w.now_ms += 3600000;                           /* somebody set the clock */
    request.deadline_ms += 3600000;
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(dr_server_requests(w.server), 5);
    aws_world_close(&w);
}

TEST(aws_call, clock_is_corrected_once_and_then_the_refusal_stands) {
    static const struct dr_server_answer answers[] = {
        {403, "Date: Sun, 15 Nov 2026 21:04:00 GMT\r\n", EC2_ERROR("RequestTimeTooSkewed")},
        {403, "Date: Sun, 15 Nov 2026 22:04:00 GMT\r\n",
         EC2_ERROR("RequestTimeTooSkewed")}, /* a server that does not know the time either */
        {403, "Date: Sun, 15 Nov 2026 23:04:00 GMT\r\n", EC2_ERROR("RequestTimeTooSkewed")},
    };
    struct dr_server_script script = {answers, 3};
    struct aws_world w;
    open_world(&w, dr_server_script, &script);
    struct dr_aws_request request = describe(&w);
    CHECK_FAILS(call(&w, &request), w.err, DR_E_DENIED);
    CHECK_EQ_INT(dr_server_requests(w.server), 2);
    aws_world_close(&w);
}

TEST(aws_call, keys_that_have_ended_and_cannot_be_renewed_are_named) {
    static const struct dr_server_answer answer = {400, "Date: Sun, 15 Nov 2026 20:04:01 GMT\r\n",
                                                   "{\"__type\":\"ExpiredTokenException\",\"message\":\"expired\"}"};
    struct dr_server_script script = {&answer, 1};
    struct aws_world w;
    open_world(&w, dr_server_script, &script);
    struct dr_aws_request request = describe(&w);
    request.service = &dynamodb;
    request.action = "GetItem";
    CHECK_FAILS(call(&w, &request), w.err, DR_E_DENIED);
    CHECK_EQ_CSTR(w.err.text,
                  "dynamodb GetItem: ExpiredTokenException: credentials from environment have ended, and there are no newer ones");
    CHECK_EQ_INT(dr_server_requests(w.server), 1);
    aws_world_close(&w);
}

TEST(aws_call, code_of_a_failed_call_can_be_asked_for) {
    static const struct dr_server_answer answer = {400, "x-amzn-ErrorType: ConditionalCheckFailedException:http://x\r\n", "{}"};
    struct dr_server_script script = {&answer, 1};
    struct aws_world w;
    open_world(&w, dr_server_script, &script);
    struct dr_aws_request request = describe(&w);
    request.service = &dynamodb;
    struct dr_aws_call *c = dr_aws_start(w.aws, &request);
    CHECK_FAILS(dr_aws_wait(w.aws, c, &w.body, &w.err), w.err, DR_E_CONFLICT);
    CHECK_EQ_STR(dr_aws_error_code(c), "ConditionalCheckFailedException");
    dr_aws_call_free(c);
    dr_aws_call_free(NULL);
    aws_world_close(&w);
}

TEST(aws_call, answer_over_its_ceiling_is_an_error_and_not_tried_again) {
    static const struct dr_server_answer answer = {200, NULL, "0123456789"};
    struct dr_server_script script = {&answer, 1};
    struct aws_world w;
    open_world(&w, dr_server_script, &script);
    struct dr_aws_request request = describe(&w);
    request.max_body = 9;
    CHECK_FAILS(call(&w, &request), w.err, DR_E_LIMIT);
    CHECK_EQ_INT(dr_server_requests(w.server), 1);
    aws_world_close(&w);
}

static void add_up(void *self, const char *service, const char *action, int64_t n) {
    dr_buf_fmt(self, "%s %s %lld\n", service, action, (long long)n);
}

TEST(aws_call, calls_are_counted_by_action) {
    struct dr_buf seen;
    struct aws_world w;
    open_world(&w, serve_echo, NULL);
    dr_buf_init(&seen, 0);
    struct dr_aws_request request = describe(&w);
    CHECK_OK(call(&w, &request), w.err);
    CHECK_OK(call(&w, &request), w.err);
    request.action = "DescribeSubnets";
    CHECK_OK(call(&w, &request), w.err);
    dr_aws_calls(w.aws, add_up, &seen);
    CHECK_EQ_STR(dr_buf_str(&seen), "ec2 DescribeInstances 2\nec2 DescribeSubnets 1\n");
    dr_buf_deinit(&seen);
    aws_world_close(&w);
}
