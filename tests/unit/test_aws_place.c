/* Region and endpoints. */
#include "unit/aws_help.h"

static bool serve_nothing(void *self, const struct dr_server_request *request) {
    (void)self;
    return dr_server_reply(request, 404, NULL, "");
}

static struct aws_world quiet_world(void) {
    struct aws_world w;
    aws_world_open(&w, serve_nothing, NULL);
    w.environ_n = 0; /* without the endpoint */
    aws_world_set(&w, "AWS_EC2_METADATA_DISABLED", "true");
    return w;
}

static void check_endpoint(struct aws_world *w, const char *service, const char *expected) {
    struct dr_str url;
    CHECK_OK(dr_aws_endpoint(w->aws, service, &w->arena, &url, &w->err), w->err);
    CHECK_EQ_STR(url, expected);
}

TEST(aws_place, region_comes_from_options_variables_and_profile_in_this_order) {
    const char *folder = dr_test_tmpdir();
    struct dr_str file;
    for (int sources = 3; sources >= 0; sources--) {
        struct aws_world w = quiet_world();
        file = dr_str_fmt(&w.arena, "%s/config", folder);
        FILE *out = fopen(file.p, "w");
        CHECK(out != NULL && fputs("[default]\nregion = from-profile\n", out) >= 0 && fclose(out) == 0);
        aws_world_set(&w, "AWS_CONFIG_FILE", file.p);
        if (sources >= 1) {
            aws_world_set(&w, "AWS_DEFAULT_REGION", "from-default");
        }
        if (sources >= 2) {
            aws_world_set(&w, "AWS_REGION", "from-variable");
        }
        aws_world_start(&w, sources >= 3 ? "from-options" : NULL, NULL);
        static const char *const expected[] = {"from-profile", "from-default", "from-variable", "from-options"};
        CHECK_EQ_STR(dr_aws_region(w.aws, &w.err), expected[sources]);
        aws_world_close(&w);
    }
}

TEST(aws_place, missing_region_says_where_it_was_looked_for) {
    struct aws_world w = quiet_world();
    aws_world_start(&w, NULL, NULL);
    CHECK_EQ_INT(dr_aws_region(w.aws, &w.err).n, 0);
    CHECK_EQ_INT(w.err.code, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(w.err.text), "AWS_REGION");
    CHECK_CONTAINS(dr_str_of(w.err.text), "AWS_EC2_METADATA_DISABLED");
    aws_world_close(&w);
}

TEST(aws_place, region_that_is_no_host_name_is_refused) {
    struct aws_world w = quiet_world();
    aws_world_start(&w, "eu-west-1.evil.example/", NULL);
    CHECK_EQ_INT(dr_aws_region(w.aws, &w.err).n, 0);
    CHECK_CONTAINS(dr_str_of(w.err.text), "only a-z, 0-9 and -");
    aws_world_close(&w);
}

TEST(aws_place, endpoints_follow_region_and_variables) {
    struct aws_world w = quiet_world();
    aws_world_start(&w, "eu-west-1", NULL);
    check_endpoint(&w, "ec2", "https://ec2.eu-west-1.amazonaws.com");
    dr_aws_free(w.aws);
    aws_world_start(&w, "cn-north-1", NULL);
    check_endpoint(&w, "dynamodb", "https://dynamodb.cn-north-1.amazonaws.com.cn");
    aws_world_set(&w, "AWS_ENDPOINT_URL", "http://127.0.0.1:4566/");
    aws_world_set(&w, "AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1:8000");
    aws_world_set(&w, "AWS_ENDPOINT_URL_SECRETS_MANAGER", "http://127.0.0.1:8001//");
    check_endpoint(&w, "ec2", "http://127.0.0.1:4566");
    check_endpoint(&w, "dynamodb", "http://127.0.0.1:8000");
    check_endpoint(&w, "secretsmanager", "http://127.0.0.1:8001");
    aws_world_set(&w, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
    check_endpoint(&w, "ec2", "https://ec2.cn-north-1.amazonaws.com.cn");
    aws_world_close(&w);
}

TEST(aws_place, endpoint_of_the_profile_is_used_where_no_variable_says_otherwise) {
    struct aws_world w = quiet_world();
    struct dr_str file = dr_str_fmt(&w.arena, "%s/config", dr_test_tmpdir());
    FILE *out = fopen(file.p, "w");
    CHECK(out != NULL && fputs("[default]\nendpoint_url = http://127.0.0.1:9/x/\n", out) >= 0 && fclose(out) == 0);
    aws_world_set(&w, "AWS_CONFIG_FILE", file.p);
    aws_world_start(&w, "eu-west-1", NULL);
    check_endpoint(&w, "ec2", "http://127.0.0.1:9/x");
    aws_world_set(&w, "AWS_ENDPOINT_URL_EC2", "http://127.0.0.1:8");
    check_endpoint(&w, "ec2", "http://127.0.0.1:8");
    aws_world_close(&w);
}
