/* A signed token in a file (mounted into a pod, written by an identity provider) becomes a session through STS. The token is read every time: it is rotated. */
#include <string.h>

#include "adapter/aws/inner.h"
#include "adapter/aws/xml.h"
#include "base/time.h"

enum { MAX_TOKEN = 64 << 10, MAX_ANSWER = 256 << 10, TIMEOUT_MS = 10000 };

static int read_session(struct dr_str body, struct dr_aws_credentials *ret, struct dr_arena *arena, struct dr_err *err) {
    struct dr_aws_field fields[] = {{.name = "AccessKeyId"}, {.name = "SecretAccessKey"}, {.name = "SessionToken"}, {.name = "Expiration"}};
    int64_t expires_ms = 0;
    if (dr_aws_xml_fields(body, fields, 4, arena, err) < 0) {
        return dr_wrap(err, "sts AssumeRoleWithWebIdentity");
    }
    if (!dr_time_parse(fields[3].value, &expires_ms)) {
        return dr_fail(err, DR_E_INVALID, "sts AssumeRoleWithWebIdentity: Expiration is missing or no time");
    }
    return dr_aws_credentials_set(ret, fields[0].value, fields[1].value, fields[2].value, expires_ms, err);
}

static int ask_sts(struct dr_aws *aws, struct dr_str form, struct dr_aws_credentials *ret, struct dr_arena *arena, struct dr_err *err) {
    struct dr_http_header type = {DR_STR("Content-Type"), DR_STR("application/x-www-form-urlencoded; charset=utf-8")};
    struct dr_http_response response;
    struct dr_str url;
    if (dr_aws_endpoint(aws, "sts", arena, &url, err) < 0) {
        return -1;
    }
    struct dr_http_request request = {.method = "POST",
                                      .url = dr_str_fmt(arena, "%.*s/", DR_FMT(url)),
                                      .headers = &type,
                                      .header_n = 1,
                                      .body = form,
                                      .tls = &aws->tls,
                                      .timeout_ms = TIMEOUT_MS,
                                      .max_body = MAX_ANSWER,
                                      .secret = true,
                                      .repeatable = true};
    dr_aws_count_call(aws, "sts", "AssumeRoleWithWebIdentity");
    if (dr_http_do(aws->http, &request, arena, &response, err) < 0) {
        return dr_wrap(err, "sts AssumeRoleWithWebIdentity");
    }
    if (response.status != 200) {
        struct dr_aws_error error;
        dr_aws_error_read(DR_STR_NONE, response.body, &error);
        return dr_fail(err, dr_aws_error_class(dr_str_of(error.code), response.status), "sts AssumeRoleWithWebIdentity: %s: %s",
                       error.code[0] != '\0' ? error.code : "no error code", error.message);
    }
    return read_session(response.body, ret, arena, err);
}

int dr_aws_assume_web_identity(struct dr_aws *aws, const char *token_file, struct dr_str role, struct dr_str session,
                               struct dr_aws_credentials *ret, struct dr_err *err) {
    struct dr_arena arena;
    struct dr_buf form;
    struct dr_str token;
    dr_arena_init(&arena, 0);
    dr_buf_init(&form, 0);
    int r = dr_aws_read_file(token_file, MAX_TOKEN, &arena, &token, err);
    if (r == 0) {
        struct dr_aws_param params[] = {{DR_STR("RoleArn"), role},
                                        {DR_STR("RoleSessionName"), session.n > 0 ? session : DR_STR("drover")},
                                        {DR_STR("WebIdentityToken"), dr_str_trim(token)}};
        dr_aws_form("AssumeRoleWithWebIdentity", "2011-06-15", params, 3, &form);
        r = ask_sts(aws, dr_buf_str(&form), ret, &arena, err);
        explicit_bzero(form.p, form.n);
    }
    dr_buf_deinit(&form);
    dr_arena_deinit(&arena);
    return r;
}

int dr_aws_from_web_identity(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err) {
    struct dr_str file = dr_aws_env(aws, "AWS_WEB_IDENTITY_TOKEN_FILE");
    struct dr_str role = dr_aws_env(aws, "AWS_ROLE_ARN");
    if (file.n == 0 || aws->profile.n > 0) {
        (void)dr_fail(err, DR_E_NOT_FOUND,
                      file.n == 0 ? "AWS_WEB_IDENTITY_TOKEN_FILE is not set" : "not asked, because a profile is configured");
        return 0;
    }
    if (role.n == 0) {
        return dr_fail(err, DR_E_INVALID, "AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN");
    }
    return dr_aws_assume_web_identity(aws, file.p, role, dr_aws_env(aws, "AWS_ROLE_SESSION_NAME"), ret, err) < 0 ? -1 : 1;
}
