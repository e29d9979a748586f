/* The credentials endpoint of ECS and EKS Pod Identity. */
#include <string.h>

#include "adapter/aws/inner.h"

enum { TIMEOUT_MS = 5000, MAX_ANSWER = 64 << 10, MAX_TOKEN = 64 << 10 };

/* The token must not go to somebody else's machine in the clear. */
static bool allowed(struct dr_str url) {
    static const char *const hosts[] = {"http://127.0.0.1",     "http://localhost",      "http://[::1]",
                                        "http://169.254.170.2", "http://169.254.170.23", "http://[fd00:ec2::23]"};
    if (dr_str_starts(url, "https://")) {
        return true;
    }
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        size_t n = strlen(hosts[i]);
        if (dr_str_starts(url, hosts[i]) && (url.n == n || url.p[n] == '/' || url.p[n] == ':' || url.p[n] == '?')) {
            return true;
        }
    }
    return false;
}

static int find_token(struct dr_aws *aws, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    struct dr_str file = dr_aws_env(aws, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    if (file.n == 0) {
        *ret = dr_aws_env(aws, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
        return 0;
    }
    if (dr_aws_read_file(file.p, MAX_TOKEN, arena, ret, err) < 0) {
        return -1;
    }
    *ret = dr_str_trim(*ret);
    return 0;
}

static int fetch(struct dr_aws *aws, struct dr_str url, struct dr_arena *arena, struct dr_aws_credentials *ret, struct dr_err *err) {
    struct dr_http_header header = {.name = DR_STR("Authorization")};
    struct dr_http_response response;
    if (find_token(aws, arena, &header.value, err) < 0) {
        return -1;
    }
    struct dr_http_request request = {.method = "GET",
                                      .url = url,
                                      .headers = &header,
                                      .header_n = header.value.n > 0 ? 1 : 0,
                                      .tls = &aws->tls,
                                      .timeout_ms = TIMEOUT_MS,
                                      .max_body = MAX_ANSWER,
                                      .secret = true,
                                      .direct = true};
    if (dr_http_do(aws->http, &request, arena, &response, err) < 0) {
        return -1;
    }
    if (response.status != 200) {
        return dr_fail(err, dr_aws_error_class(DR_STR_NONE, response.status), "the endpoint answers %d", response.status);
    }
    return dr_aws_credentials_from_json(ret, response.body, err);
}

int dr_aws_from_container(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err) {
    struct dr_str relative = dr_aws_env(aws, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    struct dr_str full = dr_aws_env(aws, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (relative.n == 0 && full.n == 0) {
        (void)dr_fail(err, DR_E_NOT_FOUND, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI are not set");
        return 0;
    }
    if (relative.n == 0 && !allowed(full)) {
        return dr_fail(err, DR_E_INVALID, "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https or a loopback or container host");
    }
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_str url = relative.n > 0 ? dr_str_fmt(&arena, "http://169.254.170.2%.*s", DR_FMT(relative)) : full;
    int r = fetch(aws, url, &arena, ret, err);
    dr_arena_deinit(&arena);
    return r < 0 ? -1 : 1;
}
