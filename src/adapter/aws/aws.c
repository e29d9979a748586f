/* The client itself: environment, region, endpoints, counters. */
#include "adapter/aws/aws.h"

#include <stdlib.h>
#include <string.h>

#include "adapter/aws/inner.h"
#include "adapter/aws/sigv4.h"
#include "base/time.h"

#define REGION_AGAIN_MS (30 * DR_SECOND_MS)

enum { RETRY_TOKENS = 500 };

struct dr_str dr_aws_env(const struct dr_aws *aws, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; aws->environ != NULL && aws->environ[i] != NULL; i++) {
        if (strncmp(aws->environ[i], name, n) == 0 && aws->environ[i][n] == '=') {
            return dr_str_of(aws->environ[i] + n + 1);
        }
    }
    return DR_STR_NONE;
}

struct dr_aws *dr_aws_new(const struct dr_aws_options *options, struct dr_err *err) {
    DR_ASSERT(options->http != NULL && options->now_ms != NULL);
    struct dr_aws *aws = calloc(1, sizeof *aws);
    DR_ASSERT(aws != NULL);
    (void)err; /* nothing can be wrong yet: region and credentials are looked for when they are needed */
    dr_arena_init(&aws->arena, 0);
    dr_rand_init(&aws->rand, options->seed);
    aws->http = options->http;
    aws->now_ms = options->now_ms;
    aws->self = options->self;
    aws->environ = options->environ;
    aws->region = dr_str_dup(&aws->arena, options->region);
    aws->profile = dr_str_dup(&aws->arena, options->profile);
    aws->retry_tokens = RETRY_TOKENS;
    struct dr_str bundle = dr_aws_env(aws, "AWS_CA_BUNDLE");
    aws->tls.ca_file = bundle.n > 0 ? bundle.p : NULL;
    return aws;
}

void dr_aws_free(struct dr_aws *aws) {
    if (aws == NULL) {
        return;
    }
    dr_aws_credentials_clear(&aws->credentials);
    dr_arena_deinit(&aws->arena);
    free(aws->skews);
    free(aws->counts);
    free(aws);
}

const char *dr_aws_source_name(const struct dr_aws *aws) { return aws->source == NULL ? NULL : aws->source->name; }

/* A region goes into a host name and a signature. */
static bool valid_region(struct dr_str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-')) {
            return false;
        }
    }
    return s.n > 0 && s.n <= 64;
}

static int find_region(struct dr_aws *aws, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    struct dr_aws_profile profile;
    struct dr_err inner = {0};
    *ret = dr_aws_env(aws, "AWS_REGION");
    if (ret->n > 0) {
        return 0;
    }
    *ret = dr_aws_env(aws, "AWS_DEFAULT_REGION");
    if (ret->n > 0) {
        return 0;
    }
    if (dr_aws_profile_read(aws, arena, &profile, err) < 0) {
        return -1;
    }
    *ret = profile.region;
    if (ret->n > 0) {
        return 0;
    }
    if (dr_aws_metadata_region(aws, arena, ret, &inner) == 1) {
        return 0;
    }
    return dr_fail(err, DR_E_INVALID,
                   "no region: not configured, AWS_REGION and AWS_DEFAULT_REGION are not set, the profile has none, instance metadata: %s",
                   inner.text);
}

struct dr_str dr_aws_region(struct dr_aws *aws, struct dr_err *err) {
    struct dr_arena arena;
    struct dr_str found = aws->region;
    struct dr_err failed = {0};
    int64_t now = aws->now_ms(aws->self);
    if (found.n > 0 && valid_region(found)) {
        return found;
    }
    if (found.n == 0 && now < aws->region_again_ms) {
        (void)dr_fail(err, aws->region_failed.code, "%s", aws->region_failed.text);
        return DR_STR_NONE;
    }
    dr_arena_init(&arena, 0);
    int r = found.n > 0 ? 0 : find_region(aws, &arena, &found, &failed);
    if (r == 0 && !valid_region(found)) {
        r = dr_fail(&failed, DR_E_INVALID, "region \"%.*s\": only a-z, 0-9 and - are allowed", DR_FMT(dr_str_sub(found, 0, 64)));
    }
    if (r == 0) {
        aws->region = dr_str_dup(&aws->arena, found);
    } else {
        aws->region_again_ms = now + REGION_AGAIN_MS; /* looking for instance metadata takes seconds where there is none */
        aws->region_failed = failed;
        (void)dr_fail(err, failed.code, "%s", failed.text);
    }
    dr_arena_deinit(&arena);
    return r == 0 ? aws->region : DR_STR_NONE;
}

/* AWS_ENDPOINT_URL_<NAME>; two services are known there by another name than in signatures. */
static struct dr_str service_variable(struct dr_aws *aws, const char *service) {
    static const char *const others[][2] = {{"secretsmanager", "AWS_ENDPOINT_URL_SECRETS_MANAGER"},
                                            {"monitoring", "AWS_ENDPOINT_URL_CLOUDWATCH"}};
    char name[96] = "AWS_ENDPOINT_URL_";
    size_t n = strlen(name);
    for (size_t i = 0; service[i] != '\0' && n + 1 < sizeof name; i++) {
        char c = service[i];
        name[n++] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c == '-' || c == '.' ? '_' : c;
    }
    name[n] = '\0';
    struct dr_str value = dr_aws_env(aws, name);
    for (size_t i = 0; i < 2 && value.n == 0; i++) {
        value = strcmp(service, others[i][0]) == 0 ? dr_aws_env(aws, others[i][1]) : value;
    }
    return value;
}

static const char *domain_of(struct dr_str region) {
    static const char *const domains[][2] = {{"cn-", "amazonaws.com.cn"},
                                             {"us-isob-", "sc2s.sgov.gov"},
                                             {"us-iso-", "c2s.ic.gov"},
                                             {"eusc-", "amazonaws.eu"},
                                             {"", "amazonaws.com"}};
    size_t i = 0;
    while (!dr_str_starts(region, domains[i][0])) {
        i++;
    }
    return domains[i][1];
}

/* Read once. A profile that cannot be read is reported where its keys or region are needed. */
static struct dr_str profile_endpoint(struct dr_aws *aws) {
    struct dr_aws_profile profile;
    struct dr_arena arena;
    struct dr_err ignored;
    if (!aws->profile_endpoint_read) {
        aws->profile_endpoint_read = true;
        dr_arena_init(&arena, 0);
        if (dr_aws_profile_read(aws, &arena, &profile, &ignored) == 0) {
            aws->profile_endpoint = dr_str_dup(&aws->arena, profile.endpoint_url);
        }
        dr_arena_deinit(&arena);
    }
    return aws->profile_endpoint;
}

int dr_aws_endpoint(struct dr_aws *aws, const char *service, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    bool ignore = dr_str_is(dr_aws_env(aws, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), "true");
    struct dr_str url = ignore ? DR_STR_NONE : service_variable(aws, service);
    if (url.n == 0 && !ignore) {
        url = dr_aws_env(aws, "AWS_ENDPOINT_URL");
    }
    if (url.n == 0 && !ignore) {
        url = profile_endpoint(aws);
    }
    if (url.n == 0) {
        struct dr_str region = dr_aws_region(aws, err);
        if (region.n == 0) {
            return -1;
        }
        url = dr_str_fmt(arena, "https://%s.%.*s.%s", service, DR_FMT(region), domain_of(region));
    }
    while (dr_str_ends(url, "/")) {
        url.n--;
    }
    *ret = url;
    return 0;
}

void dr_aws_count_call(struct dr_aws *aws, const char *service, const char *action) {
    for (size_t i = 0; i < aws->count_n; i++) {
        if (strcmp(aws->counts[i].service, service) == 0 && strcmp(aws->counts[i].action, action) == 0) {
            aws->counts[i].n++;
            return;
        }
    }
    struct dr_aws_count *more = realloc(aws->counts, (aws->count_n + 1) * sizeof *more);
    DR_ASSERT(more != NULL);
    more[aws->count_n++] =
        (struct dr_aws_count){dr_str_dup(&aws->arena, dr_str_of(service)).p, dr_str_dup(&aws->arena, dr_str_of(action)).p, 1};
    aws->counts = more;
}

void dr_aws_calls(const struct dr_aws *aws, void (*each)(void *self, const char *service, const char *action, int64_t n), void *self) {
    for (size_t i = 0; i < aws->count_n; i++) {
        each(self, aws->counts[i].service, aws->counts[i].action, aws->counts[i].n);
    }
}

int64_t dr_aws_skew_ms(const struct dr_aws *aws, const char *service) {
    for (size_t i = 0; i < aws->skew_n; i++) {
        if (strcmp(aws->skews[i].service, service) == 0) {
            return aws->skews[i].ms;
        }
    }
    return 0;
}

void dr_aws_set_skew(struct dr_aws *aws, const char *service, int64_t skew_ms) {
    for (size_t i = 0; i < aws->skew_n; i++) {
        if (strcmp(aws->skews[i].service, service) == 0) {
            aws->skews[i].ms = skew_ms;
            return;
        }
    }
    struct dr_aws_skew *more = realloc(aws->skews, (aws->skew_n + 1) * sizeof *more);
    DR_ASSERT(more != NULL);
    more[aws->skew_n++] = (struct dr_aws_skew){dr_str_dup(&aws->arena, dr_str_of(service)).p, skew_ms};
    aws->skews = more;
}

static int by_name(const void *a, const void *b) {
    const struct dr_aws_param *x = a;
    const struct dr_aws_param *y = b;
    return dr_str_cmp(x->name, y->name);
}

void dr_aws_form(const char *action, const char *version, const struct dr_aws_param *params, size_t n, struct dr_buf *ret) {
    struct dr_aws_param *all = calloc(n + 2, sizeof *all);
    DR_ASSERT(all != NULL);
    all[0] = (struct dr_aws_param){DR_STR("Action"), dr_str_of(action)};
    all[1] = (struct dr_aws_param){DR_STR("Version"), dr_str_of(version)};
    if (n > 0) {
        memcpy(all + 2, params, n * sizeof *params);
    }
    qsort(all, n + 2, sizeof *all, by_name);
    for (size_t i = 0; i < n + 2; i++) {
        dr_buf_puts(ret, i > 0 ? "&" : "");
        dr_sigv4_escape(ret, all[i].name);
        dr_buf_putc(ret, '=');
        dr_sigv4_escape(ret, all[i].value);
    }
    free(all);
}
