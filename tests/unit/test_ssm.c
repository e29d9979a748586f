/* Secrets by reference against a scripted server. */
#include "adapter/ssm/parse.h"
#include "adapter/ssm/ssm.h"
#include "base/time.h"
#include "unit/aws_help.h"

struct bench {
    struct aws_world w;
    struct dr_server_answer answers[8];
    struct dr_server_script script;
    struct dr_buf seen;
    struct dr_secrets *secrets;
    const struct dr_secret *value;
};

static bool serve(void *self, const struct dr_server_request *request) {
    struct bench *b = self;
    dr_buf_fmt(&b->seen, "%.*s %.*s\n", DR_FMT(dr_server_header(request, "x-amz-target")), DR_FMT(request->body));
    return dr_server_script(&b->script, request);
}

static void set_up(struct bench *b) {
    memset(b, 0, sizeof(*b));
    dr_buf_init(&b->seen, 0);
    aws_world_ready(&b->w, serve, b);
    b->script = (struct dr_server_script){b->answers, 0};
    struct dr_secrets_options o = {.aws = b->w.aws, .now_ms = aws_world_now, .self = &b->w};
    b->secrets = dr_secrets_new(&o, &b->w.err);
    CHECK(b->secrets != NULL);
}

static void tear_down(struct bench *b) {
    dr_secrets_free(b->secrets);
    aws_world_close(&b->w);
    dr_buf_deinit(&b->seen);
}

static void answer(struct bench *b, int status, const char *body) {
    b->answers[b->script.n++] = (struct dr_server_answer){status, NULL, body};
}

static int get(struct bench *b, const char *reference) {
    return dr_secrets_get(b->secrets, dr_str_of(reference), b->w.now_ms + 2000, &b->value, &b->w.err);
}

#define PARAMETER(value) "{\"Parameter\":{\"Name\":\"/a\",\"Type\":\"SecureString\",\"Value\":\"" value "\",\"Version\":1}}"

TEST(secrets, parameter_is_asked_for_decrypted_and_kept) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, PARAMETER("hun\\\"ter\\u00e9"));
    answer(&b, 200, PARAMETER("next"));
    CHECK_OK(get(&b, "ssm:/a"), b.w.err);
    CHECK_EQ_STR(dr_secret_reveal(b.value), "hun\"ter\xC3\xA9");
    CHECK_EQ_CSTR(dr_secret_mask(b.value), "***");
    CHECK_EQ_STR(dr_buf_str(&b.seen), "AmazonSSM.GetParameter {\"Name\":\"/a\",\"WithDecryption\":true}\n");
    b.w.now_ms += 5 * DR_MINUTE_MS;
    CHECK_OK(get(&b, "ssm:/a"), b.w.err);
    CHECK_EQ_INT(dr_server_requests(b.w.server), 1);
    b.w.now_ms += 1;
    CHECK_OK(get(&b, "ssm:/a"), b.w.err);
    CHECK_EQ_STR(dr_secret_reveal(b.value), "next");
    tear_down(&b);
}

TEST(secrets, secret_is_read_whole_or_by_member) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{\"Name\":\"x\",\"SecretString\":\"{\\\"user\\\":\\\"u\\\",\\\"token\\\":\\\"t\\\\\\\"1\\\"}\"}");
    CHECK_OK(get(&b, "secretsmanager:x#token"), b.w.err);
    CHECK_EQ_STR(dr_secret_reveal(b.value), "t\"1");
    CHECK_OK(get(&b, "secretsmanager:x"), b.w.err);
    CHECK_EQ_STR(dr_secret_reveal(b.value), "{\"user\":\"u\",\"token\":\"t\\\"1\"}");
    CHECK_CONTAINS(dr_buf_str(&b.seen), "secretsmanager.GetSecretValue {\"SecretId\":\"x\"}\n");
    CHECK_FAILS(get(&b, "secretsmanager:x#other"), b.w.err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(b.w.err.text),
                   "secret secretsmanager:x#other: secretsmanager GetSecretValue: SecretString: has no member \"other\"");
    tear_down(&b);
}

TEST(secrets, wrong_answers_never_show_a_value) {
    static const struct {
        const char *reference;
        int status;
        const char *body;
        enum dr_code code;
    } cases[] = {
        {"ssm:/a", 200, "{\"Parameter\":{\"Value\":hunter2}}", DR_E_UNAVAILABLE},
        {"ssm:/a", 200, "{\"Parameter\":{\"Value\":\"hunter2", DR_E_UNAVAILABLE},
        {"ssm:/a", 200, "{\"Parameter\":{\"Value\":[\"hunter2\"]}}", DR_E_UNAVAILABLE},
        {"ssm:/a", 200, "{\"Parameter\":\"hunter2\"}", DR_E_UNAVAILABLE},
        {"ssm:/a", 200, "{}", DR_E_UNAVAILABLE},
        {"ssm:/a", 200, "hunter2", DR_E_UNAVAILABLE},
        {"ssm:/a", 400, "{\"__type\":\"ParameterNotFound\"}", DR_E_NOT_FOUND},
        {"ssm:/a", 400, "{\"__type\":\"AccessDeniedException\",\"message\":\"no\"}", DR_E_DENIED},
        {"secretsmanager:x", 200, "{\"SecretBinary\":\"aHVudGVyMg==\"}", DR_E_UNAVAILABLE},
        {"secretsmanager:x", 400, "{\"__type\":\"ResourceNotFoundException\"}", DR_E_NOT_FOUND},
        {"secretsmanager:x#a", 200, "{\"SecretString\":\"hunter2\"}", DR_E_INVALID},
        {"secretsmanager:x#a", 200, "{\"SecretString\":\"{\\\"a\\\":{\\\"b\\\":\\\"hunter2\\\"}}\"}", DR_E_INVALID},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        set_up(&b);
        answer(&b, cases[i].status, cases[i].body);
        CHECK_FAILS(get(&b, cases[i].reference), b.w.err, cases[i].code);
        CHECK(strstr(b.w.err.text, "hunter2") == NULL);
        CHECK_CONTAINS(dr_str_of(b.w.err.text), cases[i].reference);
        tear_down(&b);
    }
}

TEST(secrets, old_value_serves_while_the_service_is_silent_but_not_for_ever) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, PARAMETER("good"));
    answer(&b, 500, "{}");
    CHECK_OK(get(&b, "ssm:/a"), b.w.err);
    b.w.now_ms += 10 * DR_MINUTE_MS;
    CHECK_OK(get(&b, "ssm:/a"), b.w.err);
    CHECK_EQ_STR(dr_secret_reveal(b.value), "good");
    b.w.now_ms += DR_HOUR_MS;
    CHECK_FAILS(get(&b, "ssm:/a"), b.w.err, DR_E_UNAVAILABLE);
    tear_down(&b);
}

TEST(secrets, removed_secret_does_not_serve_on) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, PARAMETER("good"));
    answer(&b, 400, "{\"__type\":\"ParameterNotFound\"}");
    CHECK_OK(get(&b, "ssm:/a"), b.w.err);
    b.w.now_ms += 10 * DR_MINUTE_MS;
    CHECK_FAILS(get(&b, "ssm:/a"), b.w.err, DR_E_NOT_FOUND);
    tear_down(&b);
}

TEST(secrets, forgotten_value_is_asked_for_again_at_once) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, PARAMETER("first"));
    answer(&b, 200, PARAMETER("second"));
    CHECK_OK(get(&b, "ssm:/a"), b.w.err);
    dr_secrets_forget(b.secrets, DR_STR("ssm:/a"));
    CHECK_OK(get(&b, "ssm:/a"), b.w.err);
    CHECK_EQ_STR(dr_secret_reveal(b.value), "second");
    tear_down(&b);
}

TEST(secrets, wrong_references_are_refused_without_a_call) {
    static const char *const wrong[] = {"", "plain", "ssm:", "secretsmanager:", "secretsmanager:#member", "file:/x"};
    struct bench b;
    set_up(&b);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_FAILS(get(&b, wrong[i]), b.w.err, DR_E_INVALID);
        CHECK_CONTAINS(dr_str_of(b.w.err.text), "must be ssm:NAME or secretsmanager:NAME[#MEMBER]");
    }
    CHECK_EQ_INT(dr_server_requests(b.w.server), 0);
    tear_down(&b);
}

TEST(secrets, value_over_the_ceiling_is_refused) {
    struct dr_buf body;
    struct dr_secret value = {NULL, 0};
    struct dr_err err;
    dr_buf_init(&body, 0);
    dr_buf_puts(&body, "{\"Parameter\":{\"Value\":\"");
    for (int i = 0; i <= DR_SECRETS_MAX_BYTES; i++) {
        dr_buf_putc(&body, 'x');
    }
    dr_buf_puts(&body, "\"}}");
    CHECK_FAILS(dr_ssm_parse_parameter(dr_buf_str(&body), &value, &err), err, DR_E_LIMIT);
    dr_buf_deinit(&body);
}
