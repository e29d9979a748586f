#include "adapter/prometheus/prometheus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/prometheus/answer.h"
#include "adapter/prometheus/queries.h"
#include "base/num.h"
#include "base/time.h"

enum { MAX_BODY = 16 << 20, MAX_POINTS = 11000, MAX_GET_BYTES = 6000, MAX_TOKEN_BYTES = 65536 };

struct dr_prometheus {
    struct dr_http *http;
    struct dr_clock clock;
    struct dr_arena arena; /* of the options */
    struct dr_arena round; /* of the queries that are under way */
    struct dr_str url;     /* without a slash at its end */
    const struct dr_http_tls *tls;
    struct dr_str authorization;
    const char *token_file;
    int64_t step_ms;
    const struct dr_str *servers;
    size_t server_n;
    struct dr_http_call *calls[DR_MAX_SIGNALS];
    size_t call_n;
    bool asked;
};

static int64_t now(const struct dr_prometheus *p) { return p->clock.ops->now_ms(p->clock.self); }

static void put_base64(struct dr_buf *buf, struct dr_str s) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.n; i += 3) {
        size_t left = s.n - i;
        unsigned v = (unsigned)(unsigned char)s.p[i] << 16;
        v |= left > 1 ? (unsigned)(unsigned char)s.p[i + 1] << 8 : 0;
        v |= left > 2 ? (unsigned)(unsigned char)s.p[i + 2] : 0;
        dr_buf_putc(buf, digits[v >> 18]);
        dr_buf_putc(buf, digits[v >> 12 & 63]);
        dr_buf_putc(buf, left > 1 ? digits[v >> 6 & 63] : '=');
        dr_buf_putc(buf, left > 2 ? digits[v & 63] : '=');
    }
}

static struct dr_str authorization_of(struct dr_arena *arena, const struct dr_prometheus_options *o) {
    struct dr_buf buf;
    struct dr_str ret = DR_STR_NONE;
    if (o->token.n > 0) {
        return dr_str_fmt(arena, "Bearer %.*s", DR_FMT(o->token));
    }
    if (o->user.n > 0) {
        dr_buf_init(&buf, 0);
        dr_buf_puts(&buf, "Basic ");
        struct dr_str pair = dr_str_fmt(arena, "%.*s:%.*s", DR_FMT(o->user), DR_FMT(o->password));
        put_base64(&buf, pair);
        ret = dr_str_dup(arena, dr_buf_str(&buf));
        dr_buf_deinit(&buf);
    }
    return ret;
}

static int check(const struct dr_prometheus_options *o, struct dr_err *err) {
    if (!dr_str_starts(o->url, "http://") && !dr_str_starts(o->url, "https://")) {
        return dr_fail(err, DR_E_INVALID, "prometheus: \"%.*s\" is not an address such as http://prometheus:9090", DR_FMT(o->url));
    }
    if (dr_str_find(o->url, '?') < o->url.n || dr_str_find(o->url, '#') < o->url.n || dr_str_find(o->url, '@') < o->url.n) {
        return dr_fail(err, DR_E_INVALID, "prometheus: the url may have a path, but no user, query or fragment");
    }
    if (o->user.n > 0 && (o->token.n > 0 || o->token_file != NULL)) {
        return dr_fail(err, DR_E_INVALID, "prometheus: either user and password or a token, not both");
    }
    if (dr_str_find(o->user, ':') < o->user.n) {
        return dr_fail(err, DR_E_INVALID, "prometheus: a user name has no colon");
    }
    return 0;
}

int dr_prometheus_open(const struct dr_prometheus_options *options, struct dr_prometheus **ret, struct dr_err *err) {
    DR_ASSERT(options->http != NULL && options->clock.ops != NULL);
    if (check(options, err) < 0) {
        return -1;
    }
    struct dr_prometheus *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return dr_fail(err, DR_E_INTERNAL, "prometheus: no memory");
    }
    dr_arena_init(&p->arena, 0);
    dr_arena_init(&p->round, 0);
    p->http = options->http;
    p->clock = options->clock;
    p->tls = options->tls;
    p->url = dr_str_dup(&p->arena, options->url);
    while (p->url.p[p->url.n - 1] == '/') {
        p->url.n--;
    }
    p->authorization = authorization_of(&p->arena, options);
    p->token_file = options->token_file == NULL ? NULL : dr_str_dup(&p->arena, dr_str_of(options->token_file)).p;
    p->step_ms = options->step_ms <= 0 ? 15 * DR_SECOND_MS : options->step_ms;
    struct dr_str *servers = DR_NEW_N(&p->arena, struct dr_str, options->server_n);
    for (size_t i = 0; i < options->server_n; i++) {
        servers[i] = dr_str_dup(&p->arena, options->servers[i]);
    }
    p->servers = servers;
    p->server_n = options->server_n;
    *ret = p;
    return 0;
}

static void drop_calls(struct dr_prometheus *p) {
    for (size_t i = 0; i < p->call_n; i++) {
        dr_http_call_free(p->calls[i]);
        p->calls[i] = NULL;
    }
    p->call_n = 0;
    p->asked = false;
    dr_arena_reset(&p->round);
}

void dr_prometheus_close(struct dr_prometheus *prometheus) {
    if (prometheus == NULL) {
        return;
    }
    drop_calls(prometheus);
    dr_arena_deinit(&prometheus->round);
    dr_arena_deinit(&prometheus->arena);
    free(prometheus);
}

/* ---- asking ---- */

static void put_encoded(struct dr_buf *buf, struct dr_str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        if (plain) {
            dr_buf_putc(buf, c);
        } else {
            dr_buf_fmt(buf, "%%%02X", (unsigned)(unsigned char)c);
        }
    }
}

static void put_seconds(struct dr_buf *buf, int64_t ms) { dr_buf_fmt(buf, "%lld.%03lld", (long long)(ms / 1000), (long long)(ms % 1000)); }

struct dr_str dr_prometheus_query(const struct dr_prometheus *prometheus, struct dr_arena *arena, const struct dr_signal *signal) {
    return dr_prometheus_worker_query(arena, signal, prometheus->servers, prometheus->server_n);
}

/* Steps are counted back from now, so that the last sample is of now. */
static void put_form(struct dr_prometheus *p, const struct dr_signal *signal, int64_t now_ms, int64_t timeout_ms, struct dr_buf *buf) {
    dr_buf_puts(buf, "query=");
    put_encoded(buf, dr_prometheus_query(p, &p->round, signal));
    if (signal->window_ms > 0) {
        int64_t step_ms = dr_max_i64(p->step_ms, dr_ceil_div(signal->window_ms, MAX_POINTS - 1));
        int64_t back_ms = dr_ceil_div(signal->window_ms, step_ms) * step_ms;
        dr_buf_puts(buf, "&start=");
        put_seconds(buf, dr_max_i64(now_ms - back_ms, 0));
        dr_buf_puts(buf, "&end=");
        put_seconds(buf, now_ms);
        dr_buf_puts(buf, "&step=");
        put_seconds(buf, step_ms);
    } else {
        dr_buf_puts(buf, "&time=");
        put_seconds(buf, now_ms);
    }
    dr_buf_puts(buf, "&timeout=");
    put_seconds(buf, timeout_ms); /* a bare number: with a unit Prometheus takes whole ones only */
}

static struct dr_str read_token(struct dr_prometheus *p) {
    FILE *f = fopen(p->token_file, "re");
    if (f == NULL) {
        return DR_STR_NONE;
    }
    char *text = dr_arena_alloc(&p->round, MAX_TOKEN_BYTES, 1);
    size_t n = fread(text, 1, MAX_TOKEN_BYTES, f);
    (void)fclose(f);
    struct dr_str token = dr_str_trim((struct dr_str){text, n});
    return token.n == 0 ? DR_STR_NONE : dr_str_fmt(&p->round, "Bearer %.*s", DR_FMT(token));
}

/* By GET, as read-only proxies want it, unless the query is too long for an address. */
static struct dr_http_call *ask(struct dr_prometheus *p, const struct dr_signal *signal, struct dr_str authorization, int64_t now_ms,
                                int64_t timeout_ms) {
    struct dr_buf form;
    struct dr_http_header headers[3];
    size_t n = 0;
    dr_buf_init(&form, 0);
    put_form(p, signal, now_ms, timeout_ms, &form);
    bool get = form.n <= MAX_GET_BYTES;
    struct dr_str path = signal->window_ms > 0 ? DR_STR("/api/v1/query_range") : DR_STR("/api/v1/query");
    struct dr_str url = get ? dr_str_fmt(&p->round, "%.*s%.*s?%.*s", DR_FMT(p->url), DR_FMT(path), DR_FMT(dr_buf_str(&form)))
                            : dr_str_fmt(&p->round, "%.*s%.*s", DR_FMT(p->url), DR_FMT(path));
    struct dr_str body = get ? DR_STR_NONE : dr_str_dup(&p->round, dr_buf_str(&form));
    headers[n++] = (struct dr_http_header){DR_STR("Accept"), DR_STR("application/json")};
    if (authorization.n > 0) {
        headers[n++] = (struct dr_http_header){DR_STR("Authorization"), authorization};
    }
    if (!get) {
        headers[n++] = (struct dr_http_header){DR_STR("Content-Type"), DR_STR("application/x-www-form-urlencoded")};
    }
    struct dr_http_call *call = dr_http_start(p->http, &(struct dr_http_request){.method = get ? "GET" : "POST",
                                                                                 .url = url,
                                                                                 .headers = headers,
                                                                                 .header_n = n,
                                                                                 .body = body,
                                                                                 .tls = p->tls,
                                                                                 .timeout_ms = timeout_ms,
                                                                                 .max_body = MAX_BODY,
                                                                                 .repeatable = true});
    dr_buf_deinit(&form);
    return call;
}

static void request(void *self, const struct dr_signal *signals, size_t signal_n, int64_t now_ms, int64_t deadline_ms) {
    struct dr_prometheus *p = self;
    DR_ASSERT(signal_n <= DR_MAX_SIGNALS);
    drop_calls(p);
    struct dr_str authorization = p->token_file == NULL ? p->authorization : read_token(p);
    int64_t timeout_ms = dr_clamp_i64(deadline_ms - now(p), 1, DR_PROMETHEUS_TIMEOUT_MS);
    for (size_t i = 0; i < signal_n; i++) {
        p->calls[p->call_n++] = ask(p, &signals[i], authorization, now_ms, timeout_ms);
    }
    p->asked = true;
}

static void read_all(void *self, struct dr_arena *arena, const struct dr_signal *signals, size_t signal_n, int64_t now_ms,
                     int64_t deadline_ms, struct dr_reading *ret) {
    struct dr_prometheus *p = self;
    if (!p->asked || p->call_n != signal_n) {
        request(self, signals, signal_n, now_ms, deadline_ms);
    }
    for (size_t i = 0; i < signal_n; i++) {
        struct dr_http_response response;
        struct dr_err err = {.code = DR_OK};
        if (dr_http_wait(p->http, p->calls[i], &response, &err) < 0) {
            dr_prometheus_unknown(arena, &ret[i], "prometheus: %s", err.text);
        } else {
            dr_prometheus_answer(arena, response.status, response.body, &ret[i]);
        }
    }
    drop_calls(p);
}

struct dr_metrics dr_prometheus_metrics(struct dr_prometheus *prometheus) {
    static const struct dr_metrics_ops ops = {.request = request, .read = read_all};
    return (struct dr_metrics){&ops, prometheus};
}
