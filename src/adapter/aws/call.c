/*
 * One call:
 *
 *     start -> SENT -> judge -> DONE
 *               ^        |
 *               +--------+- PAUSED (throttled, unavailable, timed out: full jitter, budget, deadline)
 *               |        |
 *               +--------+- at once, and once each: a wrong clock, credentials that have ended
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapter/aws/inner.h"
#include "adapter/aws/sigv4.h"
#include "base/num.h"
#include "base/time.h"

enum { MAX_RETRIES = 4, RETRY_COST = 5, TIMEOUT_COST = 10, MAX_TOKENS = 500, MAX_HEADERS = 8 };

#define TRY_MS (30 * DR_SECOND_MS) /* a repeatable try that takes longer is given up for another; more than any long poll waits */
#define SKEW_MS (4 * DR_MINUTE_MS) /* services accept 5 minutes or more */
#define PAUSE_MS INT64_C(100)
#define THROTTLED_PAUSE_MS INT64_C(500)
#define MAX_PAUSE_MS (5 * DR_SECOND_MS)

enum state { SENT, PAUSED, DONE };

struct dr_aws_call {
    struct dr_aws *aws;
    struct dr_arena arena;
    const struct dr_aws_service *service;
    struct dr_str action;
    struct dr_str url;
    struct dr_str host;
    struct dr_str path;
    struct dr_str body;
    int64_t deadline_ms;
    bool repeatable;
    bool secret;
    bool counted;
    size_t max_body;

    enum state state;
    struct dr_http_call *http;
    int64_t sent_ms;   /* our clock, uncorrected */
    int64_t resume_ms; /* monotonic */
    int tries;
    int retries;
    int64_t paid;
    bool skew_fixed;
    bool renewed;
    struct dr_str result;
    struct dr_err failed;
    struct dr_aws_error error;
};

static int64_t monotonic_ms(void) {
    struct timespec ts;
    DR_ASSERT(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
    return (int64_t)ts.tv_sec * DR_SECOND_MS + ts.tv_nsec / 1000000;
}

static void end(struct dr_aws_call *call, enum dr_code code, const char *text) {
    call->state = DONE;
    (void)dr_fail(&call->failed, code, "%s %.*s: %s", call->service->name, DR_FMT(call->action), text);
}

/* Splits "https://host:port/path" for the signature. The default port is not part of the Host header. */
static void split_url(struct dr_aws_call *call, struct dr_str base) {
    bool tls = dr_str_starts(base, "https://");
    struct dr_str rest = dr_str_sub(base, tls ? 8 : 7, base.n);
    size_t slash = dr_str_find(rest, '/');
    struct dr_str host = dr_str_sub(rest, 0, slash);
    if (dr_str_ends(host, tls ? ":443" : ":80")) {
        host.n -= tls ? 4 : 3;
    }
    call->host = dr_str_dup(&call->arena, host);
    call->path = dr_str_fmt(&call->arena, "%.*s/", DR_FMT(dr_str_sub(rest, slash, rest.n)));
    call->url = dr_str_fmt(&call->arena, "%.*s/", DR_FMT(base));
}

static void build(struct dr_aws_call *call, const struct dr_aws_request *request) {
    if (call->service->protocol == DR_AWS_QUERY) {
        struct dr_buf form;
        dr_buf_init(&form, 0);
        dr_aws_form(request->action, call->service->version, request->params, request->param_n, &form);
        call->body = dr_str_dup(&call->arena, dr_buf_str(&form));
        dr_buf_deinit(&form);
    } else {
        call->body = request->body.n == 0 ? DR_STR("{}") : dr_str_dup(&call->arena, request->body);
    }
}

/* Headers that are signed; returns how many. The text of date and target lives in the arena of the try. */
static size_t put_headers(struct dr_aws_call *call, const struct dr_aws_credentials *credentials, int64_t at_ms, struct dr_arena *arena,
                          struct dr_http_header headers[MAX_HEADERS]) {
    static const char *const types[] = {"application/x-www-form-urlencoded; charset=utf-8", "application/x-amz-json-1.0",
                                        "application/x-amz-json-1.1"};
    char date[DR_SIGV4_DATE_SIZE];
    size_t n = 0;
    dr_sigv4_date(at_ms, date);
    headers[n++] = (struct dr_http_header){DR_STR("Host"), call->host};
    headers[n++] = (struct dr_http_header){DR_STR("Content-Type"), dr_str_of(types[call->service->protocol])};
    headers[n++] = (struct dr_http_header){DR_STR("X-Amz-Date"), dr_str_dup(arena, dr_str_of(date))};
    if (call->service->protocol != DR_AWS_QUERY) {
        headers[n++] =
            (struct dr_http_header){DR_STR("X-Amz-Target"), dr_str_fmt(arena, "%s.%.*s", call->service->target, DR_FMT(call->action))};
    }
    if (credentials->token.hidden_n > 0) {
        headers[n++] = (struct dr_http_header){DR_STR("X-Amz-Security-Token"), dr_secret_reveal(&credentials->token)};
    }
    return n;
}

static void sign_and_start(struct dr_aws_call *call, const struct dr_aws_credentials *credentials, struct dr_str region, int64_t left_ms) {
    struct dr_aws *aws = call->aws;
    struct dr_http_header headers[MAX_HEADERS];
    struct dr_arena arena;
    struct dr_buf authorization;
    dr_arena_init(&arena, 0);
    dr_buf_init(&authorization, 0);
    int64_t at_ms = call->sent_ms + dr_aws_skew_ms(aws, call->service->name);
    size_t n = put_headers(call, credentials, at_ms, &arena, headers);
    struct dr_sigv4_key key = {credentials->access_key, &credentials->secret_key, region, dr_str_of(call->service->name)};
    struct dr_sigv4_request signed_part = {.method = "POST", .path = call->path, .headers = headers, .header_n = n, .body = call->body};
    dr_sigv4_sign(&key, &signed_part, at_ms, &authorization);
    headers[n++] = (struct dr_http_header){DR_STR("Authorization"), dr_buf_str(&authorization)};
    struct dr_http_request request = {.method = "POST",
                                      .url = call->url,
                                      .headers = headers,
                                      .header_n = n,
                                      .body = call->body,
                                      .tls = &aws->tls,
                                      .timeout_ms = call->repeatable ? dr_min_i64(left_ms, TRY_MS) : left_ms,
                                      .max_body = call->max_body,
                                      .secret = call->secret,
                                      .repeatable = call->repeatable && !call->counted};
    dr_http_call_free(call->http);
    call->http = dr_http_start(aws->http, &request);
    call->tries++;
    call->state = SENT;
    dr_aws_count_call(aws, call->service->name, call->action.p);
    dr_buf_deinit(&authorization);
    dr_arena_deinit(&arena);
}

static void send_try(struct dr_aws_call *call) {
    struct dr_aws *aws = call->aws;
    const struct dr_aws_credentials *credentials = NULL;
    struct dr_err err = {0};
    struct dr_str region = dr_aws_region(aws, &err);
    if (region.n == 0 || dr_aws_credentials_get(aws, false, &credentials, &err) < 0) {
        end(call, err.code, err.text);
        return;
    }
    call->sent_ms = aws->now_ms(aws->self);
    int64_t left_ms = call->deadline_ms - call->sent_ms;
    if (left_ms <= 0) {
        end(call, DR_E_TIMEOUT, "the deadline has passed");
        return;
    }
    sign_and_start(call, credentials, region, left_ms);
}

struct dr_aws_call *dr_aws_start(struct dr_aws *aws, const struct dr_aws_request *request) {
    struct dr_aws_call *call = calloc(1, sizeof *call);
    DR_ASSERT(call != NULL);
    dr_arena_init(&call->arena, 0);
    call->aws = aws;
    call->service = request->service;
    call->action = dr_str_dup(&call->arena, dr_str_of(request->action));
    call->deadline_ms = request->deadline_ms;
    call->repeatable = request->repeatable;
    call->secret = request->secret;
    call->counted = request->counted;
    call->max_body = request->max_body;
    struct dr_err err = {0};
    struct dr_str base;
    if (dr_aws_endpoint(aws, request->service->name, &call->arena, &base, &err) < 0) {
        end(call, err.code, err.text);
        return call;
    }
    split_url(call, base);
    build(call, request);
    send_try(call);
    return call;
}

/* True: the clock was wrong and is corrected, the request goes out again. It was refused, so that is safe for an effect too. */
static bool fix_skew(struct dr_aws_call *call, int64_t date_ms) {
    int64_t skew = date_ms - call->sent_ms;
    int64_t off = skew - dr_aws_skew_ms(call->aws, call->service->name);
    if (call->skew_fixed || date_ms == 0 || (off < SKEW_MS && off > -SKEW_MS) || !dr_aws_error_skewed(dr_str_of(call->error.code))) {
        return false;
    }
    call->skew_fixed = true;
    dr_aws_set_skew(call->aws, call->service->name, skew);
    return true;
}

/* 1: there are newer credentials; 0: not the case; -1: it is the case, but there are none. */
static int renew(struct dr_aws_call *call, struct dr_err *err) {
    const struct dr_aws_credentials *credentials = NULL;
    if (call->renewed || !dr_aws_error_expired(dr_str_of(call->error.code))) {
        return 0;
    }
    call->renewed = true;
    return dr_aws_credentials_get(call->aws, true, &credentials, err) < 0 ? -1 : 1;
}

static bool may_retry(const struct dr_aws_call *call, enum dr_code class) {
    return call->repeatable && call->retries < MAX_RETRIES &&
           (class == DR_E_THROTTLED || class == DR_E_UNAVAILABLE || class == DR_E_TIMEOUT);
}

/* Pauses before another try, if the budget and the deadline allow it. The budget is the client's: while everything fails, calls stop to multiply. */
static bool pause_for_retry(struct dr_aws_call *call, enum dr_code class, int64_t retry_after_ms) {
    struct dr_aws *aws = call->aws;
    int64_t cost = class == DR_E_TIMEOUT ? TIMEOUT_COST : RETRY_COST;
    int64_t base = class == DR_E_THROTTLED ? THROTTLED_PAUSE_MS : PAUSE_MS;
    int64_t pause = dr_max_i64(dr_http_backoff_ms(dr_rand_next(&aws->rand), call->retries, base, MAX_PAUSE_MS), retry_after_ms);
    if (!may_retry(call, class) || aws->retry_tokens < cost || pause >= call->deadline_ms - aws->now_ms(aws->self)) {
        return false;
    }
    aws->retry_tokens -= cost;
    call->paid = cost;
    call->retries++;
    call->resume_ms = monotonic_ms() + pause;
    call->state = PAUSED;
    return true;
}

static void succeed(struct dr_aws_call *call, struct dr_str body) {
    call->state = DONE;
    call->result = body;
    call->aws->retry_tokens = dr_min_i64(MAX_TOKENS, call->aws->retry_tokens + (call->paid > 0 ? call->paid : 1));
}

static void refuse(struct dr_aws_call *call, const struct dr_http_response *response) {
    char text[640]; /* a code and a whole message */
    struct dr_err err = {0};
    dr_aws_error_read(dr_http_header(call->http, "x-amzn-errortype"), response->body, &call->error);
    enum dr_code class = dr_aws_error_class(dr_str_of(call->error.code), response->status);
    int renewed = 0;
    if (fix_skew(call, response->date_ms) || (renewed = renew(call, &err)) > 0) {
        send_try(call);
        return;
    }
    if (pause_for_retry(call, class, response->retry_after_ms)) {
        return;
    }
    if (renewed < 0) {
        (void)snprintf(text, sizeof text, "%s: %s", call->error.code, err.text);
    } else if (call->error.code[0] != '\0') {
        (void)snprintf(text, sizeof text, "%s: %s", call->error.code, call->error.message);
    } else {
        (void)snprintf(text, sizeof text, "HTTP %d without an error code: %s", response->status, call->error.message);
    }
    end(call, class, text);
}

/* The HTTP call of this try is finished. */
static void judge(struct dr_aws_call *call) {
    struct dr_http_response response;
    struct dr_err err = {0};
    call->error = (struct dr_aws_error){0};
    if (dr_http_wait(call->aws->http, call->http, &response, &err) < 0) {
        if (!pause_for_retry(call, err.code, -1)) {
            end(call, err.code, err.text);
        }
    } else if (response.status >= 200 && response.status < 300) {
        succeed(call, response.body);
    } else {
        refuse(call, &response);
    }
}

int dr_aws_wait(struct dr_aws *aws, struct dr_aws_call *call, struct dr_str *ret_body, struct dr_err *err) {
    DR_ASSERT(call->aws == aws);
    while (call->state != DONE) {
        int64_t left_ms = call->resume_ms - monotonic_ms();
        if (call->state == SENT) {
            judge(call);
        } else if (left_ms > 0) {
            dr_http_run(aws->http, left_ms);
        } else {
            send_try(call);
        }
    }
    if (call->failed.code != DR_OK) {
        return dr_fail(err, call->failed.code, "%s", call->failed.text);
    }
    *ret_body = call->result;
    return 0;
}

bool dr_aws_done(const struct dr_aws_call *call) {
    return call->state == DONE || (call->state == SENT && dr_http_done(call->http)) ||
           (call->state == PAUSED && monotonic_ms() >= call->resume_ms);
}

int dr_aws_tries(const struct dr_aws_call *call) { return call->tries; }

struct dr_str dr_aws_error_code(const struct dr_aws_call *call) {
    return dr_str_of(call->error.code);
}

void dr_aws_call_free(struct dr_aws_call *call) {
    if (call == NULL) {
        return;
    }
    dr_http_call_free(call->http);
    dr_arena_deinit(&call->arena);
    free(call);
}

int dr_aws_do(struct dr_aws *aws, const struct dr_aws_request *request, struct dr_arena *arena, struct dr_str *ret_body,
              struct dr_err *err) {
    struct dr_aws_call *call = dr_aws_start(aws, request);
    int r = dr_aws_wait(aws, call, ret_body, err);
    if (r == 0) {
        char *copy = dr_arena_try(arena, ret_body->n + 1, 1);
        if (copy == NULL) {
            r = dr_fail(err, DR_E_LIMIT, "%s %.*s: no room for a body of %zu bytes", call->service->name, DR_FMT(call->action),
                        ret_body->n);
        } else {
            memcpy(copy, ret_body->p, ret_body->n);
            ret_body->p = copy;
        }
    }
    dr_aws_call_free(call);
    return r;
}
