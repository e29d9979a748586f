/* Where credentials come from, when they are fetched again, and what is said when there are none. */
#include <sys/stat.h>

#include "unit/aws_help.h"

#define SOON "2026-11-15T21:04:00Z"  /* an hour after AT */
#define LATER "2026-11-15T23:04:00Z" /* three hours */

/* What the endpoints say; the test changes it between calls. */
struct script {
    const char *path; /* that answers; everything else is 404 */
    int status;
    const char *doc;
    const char *token; /* wanted in Authorization or in the metadata header; NULL: none */
    int asked;         /* for `path` */
    char body[4096];   /* of the last request */
    int token_status;  /* metadata: of PUT /latest/api/token; 0: 200 */
    const char *role;  /* metadata: NULL: 404 */
};

static bool serve(void *self, const struct dr_server_request *request) {
    struct script *script = self;
    (void)snprintf(script->body, sizeof script->body, "%.*s", DR_FMT(request->body));
    if (dr_str_is(request->target, "/latest/api/token")) {
        bool good =
            dr_str_is(request->method, "PUT") && dr_str_is(dr_server_header(request, "x-aws-ec2-metadata-token-ttl-seconds"), "21600");
        return dr_server_reply(request, good ? script->token_status == 0 ? 200 : script->token_status : 400, NULL, "imds-token");
    }
    struct dr_str header =
        dr_server_header(request, dr_str_starts(request->target, "/latest/") ? "x-aws-ec2-metadata-token" : "authorization");
    if (script->token != NULL && !dr_str_is(header, script->token)) {
        return dr_server_reply(request, 401, NULL, "");
    }
    if (dr_str_is(request->target, "/latest/meta-data/iam/security-credentials/") && script->role != NULL) {
        return dr_server_reply(request, 200, NULL, script->role);
    }
    if (script->path == NULL || !dr_str_is(request->target, script->path)) {
        return dr_server_reply(request, 404, NULL, "");
    }
    script->asked++;
    return dr_server_reply(request, script->status, NULL, script->doc);
}

static void open_world(struct aws_world *w, struct script *script) {
    aws_world_open(w, serve, script);
    aws_world_set(w, "HOME", dr_test_tmpdir());
}

/* No network beyond the test: metadata is the server's, or off. */
static void start(struct aws_world *w, bool metadata, const char *profile) {
    if (metadata) {
        aws_world_set(w, "AWS_EC2_METADATA_SERVICE_ENDPOINT", dr_server_url(w->server, "/").p);
    } else {
        aws_world_set(w, "AWS_EC2_METADATA_DISABLED", "true");
    }
    aws_world_start(w, "eu-west-1", profile);
}

static const struct dr_aws_credentials *get(struct aws_world *w) {
    const struct dr_aws_credentials *credentials = NULL;
    CHECK_OK(dr_aws_credentials_get(w->aws, false, &credentials, &w->err), w->err);
    return credentials;
}

static void check_none(struct aws_world *w, enum dr_code code, const char *text) {
    const struct dr_aws_credentials *credentials = NULL;
    CHECK_FAILS(dr_aws_credentials_get(w->aws, false, &credentials, &w->err), w->err, code);
    CHECK_CONTAINS(dr_str_of(w->err.text), text);
    CHECK(strstr(w->err.text, "hunter2") == NULL);
}

static const char *write_file(struct aws_world *w, const char *name, const char *text) {
    struct dr_str folder = dr_str_fmt(&w->arena, "%.*s/.aws", DR_FMT(dr_str_of(strchr(w->environ[1], '=') + 1)));
    struct dr_str path = dr_str_fmt(&w->arena, "%s/%s", folder.p, name);
    (void)mkdir(folder.p, 0700);
    FILE *file = fopen(path.p, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    return path.p;
}

TEST(aws_credentials, environment_gives_keys_and_token) {
    struct script script = {0};
    struct aws_world w;
    open_world(&w, &script);
    aws_world_set(&w, "AWS_ACCESS_KEY_ID", "AKID");
    aws_world_set(&w, "AWS_SECRET_ACCESS_KEY", "hunter2");
    aws_world_set(&w, "AWS_SESSION_TOKEN", "token");
    start(&w, false, NULL);
    const struct dr_aws_credentials *got = get(&w);
    CHECK_EQ_STR(got->access_key, "AKID");
    CHECK_EQ_STR(dr_secret_reveal(&got->secret_key), "hunter2");
    CHECK_EQ_STR(dr_secret_reveal(&got->token), "token");
    CHECK_EQ_CSTR(dr_aws_source_name(w.aws), "environment");
    aws_world_close(&w);
}

TEST(aws_credentials, half_of_an_environment_is_an_error_and_nothing_else_is_tried) {
    struct script script = {.role = "r",
                            .path = "/latest/meta-data/iam/security-credentials/r",
                            .status = 200,
                            .doc = "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\"}"};
    struct aws_world w;
    open_world(&w, &script);
    aws_world_set(&w, "AWS_SECRET_ACCESS_KEY", "hunter2");
    start(&w, true, NULL);
    check_none(&w, DR_E_INVALID, "AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID");
    aws_world_close(&w);
}

TEST(aws_credentials, keys_with_a_line_break_are_refused) {
    struct script script = {0};
    struct aws_world w;
    open_world(&w, &script);
    aws_world_set(&w, "AWS_ACCESS_KEY_ID", "AKID");
    aws_world_set(&w, "AWS_SECRET_ACCESS_KEY", "hunter2\n");
    start(&w, false, NULL);
    check_none(&w, DR_E_INVALID, "a line break");
    aws_world_close(&w);
}

TEST(aws_credentials, without_any_source_all_reasons_are_told) {
    struct script script = {0};
    struct aws_world w;
    open_world(&w, &script);
    start(&w, false, NULL);
    check_none(&w, DR_E_DENIED,
               "no credentials: environment: AWS_ACCESS_KEY_ID is not set; web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set; profile: "
               "no profile; profile "
               "default has no keys; container: ");
    check_none(&w, DR_E_DENIED, "AWS_EC2_METADATA_DISABLED");
    aws_world_close(&w);
}

TEST(aws_credentials, profile_is_found_in_either_file) {
    struct script script = {0};
    struct aws_world w;
    open_world(&w, &script);
    write_file(&w, "credentials",
               "# keys\n[default]\naws_access_key_id=DEFAULT\naws_secret_access_key=d\n\n[work]\n  aws_access_key_id = "
               "NESTED\naws_access_key_id = WORK \n"
               "aws_secret_access_key = hunter2\naws_session_token=t=1\n");
    write_file(&w, "config",
               "[default]\nregion=us-east-1\n[profile "
               "other]\naws_access_key_id=OTHER\naws_secret_access_key=o\n[work]\naws_access_key_id=WRONG\n");
    start(&w, false, "work");
    const struct dr_aws_credentials *got = get(&w);
    CHECK_EQ_STR(got->access_key, "WORK");
    CHECK_EQ_STR(dr_secret_reveal(&got->secret_key), "hunter2");
    CHECK_EQ_STR(dr_secret_reveal(&got->token), "t=1");
    dr_aws_free(w.aws);
    aws_world_start(&w, NULL, NULL);
    CHECK_EQ_STR(get(&w)->access_key, "DEFAULT");
    CHECK_EQ_STR(dr_aws_region(w.aws, &w.err), "us-east-1");
    dr_aws_free(w.aws);
    aws_world_set(&w, "AWS_PROFILE", "other");
    aws_world_start(&w, NULL, NULL);
    CHECK_EQ_STR(get(&w)->access_key, "OTHER");
    aws_world_close(&w);
}

TEST(aws_credentials, profile_that_is_asked_for_goes_before_the_environment) {
    struct script script = {0};
    struct aws_world w;
    open_world(&w, &script);
    aws_world_set(&w, "AWS_ACCESS_KEY_ID", "ENVIRONMENT");
    aws_world_set(&w, "AWS_SECRET_ACCESS_KEY", "x");
    write_file(&w, "credentials", "[work]\naws_access_key_id=WORK\naws_secret_access_key=y\n");
    start(&w, false, "work");
    CHECK_EQ_STR(get(&w)->access_key, "WORK");
    aws_world_close(&w);
}

TEST(aws_credentials, wrong_profiles_are_named_with_file_and_line) {
    static const struct {
        const char *config;
        const char *profile;
        const char *text;
    } cases[] = {
        {"[default]\n", "work", "profile work is in neither of the shared files"},
        {"[default\n", NULL, "config:1: a section must end with ]"},
        {"[default]\nregion\n", NULL, "config:2: expected key = value"},
        {"[default]\naws_access_key_id=hunter2\n", NULL, "profile default: the secret key is missing"},
        {"[default]\ncredential_process = /bin/keys\n", NULL, "profile default uses credential_process, which is not supported"},
        {"[default]\nrole_arn = r\nsource_profile = base\n", NULL, "profile default uses source_profile, which is not supported"},
        {"[default]\nsso_session = x\n", NULL, "uses sso_session"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct script script = {0};
        struct aws_world w;
        open_world(&w, &script);
        write_file(&w, "config", cases[i].config);
        start(&w, false, cases[i].profile);
        check_none(&w, DR_E_INVALID, cases[i].text);
        aws_world_close(&w);
    }
}

#define STS_OK                                                                                                                             \
    "<AssumeRoleWithWebIdentityResponse "                                                                                                  \
    "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult><Credentials>"                                   \
    "<SessionToken>st</SessionToken><SecretAccessKey>hunter2</SecretAccessKey><Expiration>" SOON                                           \
    "</Expiration><AccessKeyId>ASIA</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"

TEST(aws_credentials, web_identity_becomes_a_session) {
    struct script script = {.path = "/", .status = 200, .doc = STS_OK};
    struct aws_world w;
    open_world(&w, &script);
    aws_world_set(&w, "AWS_WEB_IDENTITY_TOKEN_FILE", write_file(&w, "token", "ey.J+/=\n"));
    aws_world_set(&w, "AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
    start(&w, false, NULL);
    const struct dr_aws_credentials *got = get(&w);
    CHECK_EQ_STR(got->access_key, "ASIA");
    CHECK_EQ_STR(dr_secret_reveal(&got->token), "st");
    CHECK_EQ_INT(got->expires_ms, AT + 3600000);
    CHECK_EQ_CSTR(script.body,
                  "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=drover&Version=2011-06-15&"
                  "WebIdentityToken=ey.J%2B%2F%3D");
    aws_world_close(&w);
}

TEST(aws_credentials, web_identity_that_fails_says_why) {
    static const struct {
        int status;
        const char *doc;
        enum dr_code code;
        const char *text;
    } cases[] = {
        {400, "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>expired</Message></Error></ErrorResponse>", DR_E_DENIED,
         "credentials from web identity: sts AssumeRoleWithWebIdentity: InvalidIdentityToken: expired"},
        {503, "", DR_E_UNAVAILABLE, "sts AssumeRoleWithWebIdentity: no error code"},
        {200, "<a><AccessKeyId>hunter2", DR_E_INVALID, "sts AssumeRoleWithWebIdentity: xml at byte"},
        {200, "<a><AccessKeyId>x</AccessKeyId><SecretAccessKey>hunter2</SecretAccessKey></a>", DR_E_INVALID, "Expiration is missing"},
        {200, "<a><SecretAccessKey>hunter2</SecretAccessKey><Expiration>" SOON "</Expiration></a>", DR_E_INVALID,
         "the access key is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct script script = {.path = "/", .status = cases[i].status, .doc = cases[i].doc};
        struct aws_world w;
        open_world(&w, &script);
        aws_world_set(&w, "AWS_WEB_IDENTITY_TOKEN_FILE", write_file(&w, "token", "t"));
        aws_world_set(&w, "AWS_ROLE_ARN", "r");
        start(&w, false, NULL);
        check_none(&w, cases[i].code, cases[i].text);
        aws_world_close(&w);
    }
    struct script script = {0};
    struct aws_world w;
    open_world(&w, &script);
    aws_world_set(&w, "AWS_WEB_IDENTITY_TOKEN_FILE", "/nonexistent/token");
    aws_world_set(&w, "AWS_ROLE_ARN", "r");
    start(&w, false, NULL);
    check_none(&w, DR_E_NOT_FOUND, "/nonexistent/token: No such file or directory");
    aws_world_close(&w);
}

#define DOC(key, until) "{\"AccessKeyId\":\"" key "\",\"SecretAccessKey\":\"hunter2\",\"Token\":\"st\",\"Expiration\":\"" until "\"}"

TEST(aws_credentials, container_endpoint_is_asked_with_the_token_of_a_file_that_may_change) {
    struct script script = {.path = "/creds", .status = 200, .doc = DOC("ONE", SOON), .token = "first"};
    struct aws_world w;
    open_world(&w, &script);
    aws_world_set(&w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", dr_server_url(w.server, "/creds").p);
    aws_world_set(&w, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", write_file(&w, "token", "first\n"));
    start(&w, false, NULL);
    CHECK_EQ_STR(get(&w)->access_key, "ONE");
    CHECK_EQ_CSTR(dr_aws_source_name(w.aws), "container");
    write_file(&w, "token", "second\n");
    script.token = "second";
    script.doc = DOC("TWO", LATER);
    w.now_ms = AT + 3600000 - 60000;
    CHECK_EQ_STR(get(&w)->access_key, "TWO");
    aws_world_close(&w);
}

TEST(aws_credentials, container_token_goes_to_no_foreign_host_in_the_clear) {
    static const char *const urls[] = {"http://example.com/", "http://127.0.0.1.example.com/", "http://169.254.170.2.example.com/x",
                                       "http://169.254.170.24/", "ftp://127.0.0.1/"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct script script = {0};
        struct aws_world w;
        open_world(&w, &script);
        aws_world_set(&w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", urls[i]);
        aws_world_set(&w, "AWS_CONTAINER_AUTHORIZATION_TOKEN", "hunter2");
        start(&w, false, NULL);
        check_none(&w, DR_E_INVALID, "must be https or a loopback");
        aws_world_close(&w);
    }
}

TEST(aws_credentials, container_answers_that_are_no_credentials_are_errors) {
    static const struct {
        int status;
        const char *doc;
        enum dr_code code;
        const char *text;
    } cases[] = {
        {403, "hunter2", DR_E_DENIED, "credentials from container: the endpoint answers 403"},
        {500, "", DR_E_UNAVAILABLE, "answers 500"},
        {200, "", DR_E_INVALID, "no JSON object"},
        {200, "<html>hunter2</html>", DR_E_INVALID, "no JSON object"},
        {200, "[\"hunter2\"]", DR_E_INVALID, "no JSON object"},
        {200, "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"hunter2\",", DR_E_INVALID, "no JSON object"},
        {200, "{\"SecretAccessKey\":\"hunter2\"}", DR_E_INVALID, "the access key is missing"},
        {200, "{\"AccessKeyId\":7,\"SecretAccessKey\":\"hunter2\"}", DR_E_INVALID, "the access key is missing"},
        {200, DOC("a", "tomorrow"), DR_E_INVALID, "Expiration is no time"},
        {200, DOC("a", "2026-11-15T20:03:00Z"), DR_E_DENIED, "have already ended; is this machine's clock right?"},
        {200, "{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"no trust\"}", DR_E_DENIED,
         "AssumeRoleUnauthorizedAccess: no trust"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct script script = {.path = "/creds", .status = cases[i].status, .doc = cases[i].doc};
        struct aws_world w;
        open_world(&w, &script);
        aws_world_set(&w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", dr_server_url(w.server, "/creds").p);
        start(&w, false, NULL);
        check_none(&w, cases[i].code, cases[i].text);
        aws_world_close(&w);
    }
}

#define ROLE_PATH "/latest/meta-data/iam/security-credentials/worker"

TEST(aws_credentials, instance_metadata_is_asked_with_a_session_token) {
    struct script script = {.path = ROLE_PATH, .status = 200, .doc = DOC("ROLE", SOON), .token = "imds-token", .role = "worker\n"};
    struct aws_world w;
    open_world(&w, &script);
    start(&w, true, NULL);
    CHECK_EQ_STR(get(&w)->access_key, "ROLE");
    CHECK_EQ_CSTR(dr_aws_source_name(w.aws), "instance metadata");
    aws_world_close(&w);
}

TEST(aws_credentials, instance_without_a_role_or_without_metadata_has_none) {
    struct script script = {.token = "imds-token"};
    struct aws_world w;
    open_world(&w, &script);
    start(&w, true, NULL);
    check_none(&w, DR_E_DENIED, "the instance has no role");
    dr_aws_free(w.aws);
    script.token_status = 403;
    aws_world_start(&w, "eu-west-1", NULL);
    check_none(&w, DR_E_DENIED, "switched off for this instance");
    dr_aws_free(w.aws);
    script.token_status = 404;
    aws_world_start(&w, "eu-west-1", NULL);
    check_none(&w, DR_E_DENIED, "instance metadata: no answer");
    aws_world_close(&w);
}

TEST(aws_credentials, region_of_the_instance_is_the_last_resort) {
    struct script script = {.path = "/latest/meta-data/placement/region", .status = 200, .doc = "ap-south-1\n", .token = "imds-token"};
    struct aws_world w;
    open_world(&w, &script);
    aws_world_set(&w, "AWS_EC2_METADATA_SERVICE_ENDPOINT", dr_server_url(w.server, "").p);
    aws_world_start(&w, NULL, NULL);
    CHECK_EQ_STR(dr_aws_region(w.aws, &w.err), "ap-south-1");
    CHECK_EQ_STR(dr_aws_region(w.aws, &w.err), "ap-south-1");
    CHECK_EQ_INT(script.asked, 1);
    aws_world_close(&w);
}

TEST(aws_credentials, session_is_renewed_before_it_ends_and_not_earlier) {
    struct script script = {.path = ROLE_PATH, .status = 200, .doc = DOC("ONE", SOON), .token = "imds-token", .role = "worker"};
    struct aws_world w;
    open_world(&w, &script);
    start(&w, true, NULL);
    CHECK_EQ_STR(get(&w)->access_key, "ONE");
    script.doc = DOC("TWO", LATER);
    w.now_ms = AT + INT64_C(54) * 60000;
    CHECK_EQ_STR(get(&w)->access_key, "ONE");
    w.now_ms = AT + INT64_C(55) * 60000;
    CHECK_EQ_STR(get(&w)->access_key, "TWO");
    CHECK_EQ_INT(script.asked, 2);
    aws_world_close(&w);
}

TEST(aws_credentials, source_that_fails_is_asked_again_after_a_while_and_the_old_session_used_to_its_end) {
    struct script script = {.path = ROLE_PATH, .status = 200, .doc = DOC("ONE", SOON), .token = "imds-token", .role = "worker"};
    struct aws_world w;
    open_world(&w, &script);
    start(&w, true, NULL);
    CHECK_EQ_STR(get(&w)->access_key, "ONE");
    script.status = 400;
    w.now_ms = AT + INT64_C(56) * 60000;
    CHECK_EQ_STR(get(&w)->access_key, "ONE");
    CHECK_EQ_INT(script.asked, 2);
    w.now_ms += 29999;
    CHECK_EQ_STR(get(&w)->access_key, "ONE");
    CHECK_EQ_INT(script.asked, 2);
    w.now_ms += 1;
    CHECK_EQ_STR(get(&w)->access_key, "ONE");
    CHECK_EQ_INT(script.asked, 3);
    w.now_ms = AT + 3600000;
    check_none(&w, DR_E_INVALID, "credentials from instance metadata");
    check_none(&w, DR_E_INVALID, "credentials from instance metadata");
    CHECK_EQ_INT(script.asked, 4);
    script.status = 200;
    script.doc = DOC("TWO", LATER);
    w.now_ms += 30000;
    CHECK_EQ_STR(get(&w)->access_key, "TWO");
    aws_world_close(&w);
}

TEST(aws_credentials, old_keys_of_instance_metadata_are_used_while_it_has_no_others) {
    struct script script = {
        .path = ROLE_PATH, .status = 200, .doc = DOC("OLD", "2026-11-15T20:00:00Z"), .token = "imds-token", .role = "worker"};
    struct aws_world w;
    open_world(&w, &script);
    start(&w, true, NULL);
    CHECK_EQ_STR(get(&w)->access_key, "OLD");
    CHECK_EQ_STR(get(&w)->access_key, "OLD");
    CHECK_EQ_INT(script.asked, 1);
    aws_world_close(&w);
}

/* The session is refused once; newer keys are there by then. */
static bool serve_two_sessions(void *self, const struct dr_server_request *request) {
    int *handed_out = self;
    if (dr_str_is(request->target, "/creds")) {
        return dr_server_reply(request, 200, NULL, ++*handed_out == 1 ? DOC("ONE", LATER) : DOC("TWO", LATER));
    }
    bool good = strstr(dr_server_header(request, "authorization").p, "Credential=TWO/") != NULL;
    return dr_server_reply(request, good ? 200 : 400, "Date: Sun, 15 Nov 2026 20:04:00 GMT\r\n",
                           good ? "fine" : "<Response><Errors><Error><Code>RequestExpired</Code></Error></Errors></Response>");
}

TEST(aws_credentials, session_that_the_service_calls_expired_is_renewed_once_for_the_call) {
    static const struct dr_aws_service ec2 = {"ec2", DR_AWS_QUERY, "2016-11-15", NULL};
    int handed_out = 0;
    struct aws_world w;
    aws_world_open(&w, serve_two_sessions, &handed_out);
    aws_world_set(&w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", dr_server_url(w.server, "/creds").p);
    aws_world_start(&w, "eu-west-1", NULL);
    struct dr_aws_request request = {.service = &ec2, .action = "RunInstances", .deadline_ms = AT + 60000};
    CHECK_OK(dr_aws_do(w.aws, &request, &w.arena, &w.body, &w.err), w.err);
    CHECK_EQ_STR(w.body, "fine");
    CHECK_EQ_INT(handed_out, 2);
    aws_world_close(&w);
}

/* Newer keys every time, and none of them is good enough. */
static bool serve_endless_sessions(void *self, const struct dr_server_request *request) {
    int *handed_out = self;
    static const char *const docs[] = {DOC("ONE", LATER), DOC("TWO", LATER), DOC("THREE", LATER), DOC("FOUR", LATER)};
    if (dr_str_is(request->target, "/creds")) {
        return dr_server_reply(request, 200, NULL, docs[(*handed_out)++ % 4]);
    }
    return dr_server_reply(request, 400, NULL,
                           "<Response><Errors><Error><Code>ExpiredToken</Code><Message>m</Message></Error></Errors></Response>");
}

TEST(aws_credentials, session_is_not_renewed_twice_for_one_call) {
    static const struct dr_aws_service ec2 = {"ec2", DR_AWS_QUERY, "2016-11-15", NULL};
    int handed_out = 0;
    struct aws_world w;
    aws_world_open(&w, serve_endless_sessions, &handed_out);
    aws_world_set(&w, "AWS_CONTAINER_CREDENTIALS_FULL_URI", dr_server_url(w.server, "/creds").p);
    aws_world_start(&w, "eu-west-1", NULL);
    struct dr_aws_request request = {.service = &ec2, .action = "DescribeInstances", .deadline_ms = AT + 60000, .repeatable = true};
    CHECK_FAILS(dr_aws_do(w.aws, &request, &w.arena, &w.body, &w.err), w.err, DR_E_DENIED);
    CHECK_EQ_CSTR(w.err.text, "ec2 DescribeInstances: ExpiredToken: m");
    CHECK_EQ_INT(handed_out, 2);
    aws_world_close(&w);
}
