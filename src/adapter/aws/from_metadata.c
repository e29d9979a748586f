/* Instance metadata, version 2: a token by PUT, then everything else with it. Version 1 is not asked. */
#include "adapter/aws/inner.h"
#include "base/time.h"

enum { TIMEOUT_MS = 1000, TRIES = 3, MAX_ANSWER = 64 << 10 };

struct imds {
    struct dr_aws *aws;
    struct dr_arena *arena;
    struct dr_str base;
    struct dr_str token;
};

/* 1 = an answer of 200 is in `ret`; 0 = 404; -1. A packet may be lost: the limit of hops is short by design, and the first call of a boot is slow. */
static int ask(struct imds *imds, const char *method, const char *path, struct dr_http_header header, struct dr_str *ret,
               struct dr_err *err) {
    struct dr_http_response response;
    struct dr_http_request request = {.method = method,
                                      .url = dr_str_fmt(imds->arena, "%.*s%s", DR_FMT(imds->base), path),
                                      .headers = &header,
                                      .header_n = 1,
                                      .timeout_ms = TIMEOUT_MS,
                                      .max_body = MAX_ANSWER,
                                      .secret = true,
                                      .repeatable = true,
                                      .direct = true};
    int r = -1;
    for (int i = 0; i < TRIES && r < 0; i++) {
        r = dr_http_do(imds->aws->http, &request, imds->arena, &response, err);
        if (r == 0 && response.status >= 500) {
            r = dr_fail(err, DR_E_UNAVAILABLE, "%s %s answers %d", method, path, response.status);
        } else if (r < 0 && err->code == DR_E_UNAVAILABLE) {
            return -1; /* refused at once: there is none */
        }
    }
    if (r < 0) {
        return -1;
    }
    if (response.status != 200 && response.status != 404) {
        return dr_fail(err, dr_aws_error_class(DR_STR_NONE, response.status), "%s %s answers %d", method, path, response.status);
    }
    *ret = dr_str_trim(response.body);
    return response.status == 200;
}

static int get(struct imds *imds, const char *path, struct dr_str *ret, struct dr_err *err) {
    struct dr_http_header header = {DR_STR("X-aws-ec2-metadata-token"), imds->token};
    return ask(imds, "GET", path, header, ret, err);
}

/* 1 = there is a metadata service and it gave a token; 0 = there is none, with the reason. */
static int open_imds(struct imds *imds, struct dr_err *err) {
    struct dr_http_header ttl = {DR_STR("X-aws-ec2-metadata-token-ttl-seconds"), DR_STR("21600")};
    struct dr_str base = dr_aws_env(imds->aws, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    if (dr_str_is(dr_aws_env(imds->aws, "AWS_EC2_METADATA_DISABLED"), "true")) {
        (void)dr_fail(err, DR_E_NOT_FOUND, "switched off by AWS_EC2_METADATA_DISABLED");
        return 0;
    }
    imds->base = base.n > 0 ? base : DR_STR("http://169.254.169.254");
    while (dr_str_ends(imds->base, "/")) {
        imds->base.n--;
    }
    int r = ask(imds, "PUT", "/latest/api/token", ttl, &imds->token, err);
    if (r == 0 || (r < 0 && (err->code == DR_E_UNAVAILABLE || err->code == DR_E_TIMEOUT))) {
        (void)dr_fail(err, DR_E_NOT_FOUND, "no answer (not on EC2, or the hop limit is 1 and this is a container)");
        return 0;
    }
    if (r < 0 && err->code == DR_E_DENIED) { /* how EC2 says that it is switched off for this instance */
        (void)dr_fail(err, DR_E_NOT_FOUND, "refused (403): switched off for this instance");
        return 0;
    }
    return r;
}

static int load(struct imds *imds, struct dr_aws_credentials *ret, struct dr_err *err) {
    struct dr_str role;
    struct dr_str doc;
    int r = open_imds(imds, err);
    if (r < 1) {
        return r;
    }
    r = get(imds, "/latest/meta-data/iam/security-credentials/", &role, err);
    if (r == 0 || (r > 0 && role.n == 0)) {
        (void)dr_fail(err, DR_E_NOT_FOUND, "the instance has no role");
        return 0;
    }
    if (r < 0) {
        return -1;
    }
    role = dr_str_trim(dr_str_sub(role, 0, dr_str_find(role, '\n')));
    struct dr_str path = dr_str_fmt(imds->arena, "/latest/meta-data/iam/security-credentials/%.*s", DR_FMT(role));
    r = get(imds, path.p, &doc, err);
    if (r < 1) {
        return r < 0 ? -1 : dr_fail(err, DR_E_NOT_FOUND, "the role %.*s has no credentials", DR_FMT(dr_str_sub(role, 0, 80)));
    }
    if (dr_aws_credentials_from_json(ret, doc, err) < 0) {
        return -1;
    }
    int64_t now = imds->aws->now_ms(imds->aws->self);
    if (ret->expires_ms != 0 && ret->expires_ms <= now) {
        /* The service hands out old keys while it cannot make new ones, and the other services accept them for that time. */
        ret->expires_ms = now + 10 * DR_MINUTE_MS;
    }
    return 1;
}

int dr_aws_from_metadata(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct imds imds = {.aws = aws, .arena = &arena};
    int r = load(&imds, ret, err);
    dr_arena_deinit(&arena);
    return r;
}

int dr_aws_metadata_region(struct dr_aws *aws, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    struct imds imds = {.aws = aws, .arena = arena};
    int r = open_imds(&imds, err);
    r = r < 1 ? r : get(&imds, "/latest/meta-data/placement/region", ret, err);
    if (r == 0 && imds.token.n > 0) {
        (void)dr_fail(err, DR_E_NOT_FOUND, "it names none");
    }
    return r;
}
