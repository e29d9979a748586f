#include "adapter/prometheus/answer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/json.h"

enum { MAX_WHY = 300, MAX_QUOTE = 200 };

struct answer {
    struct dr_arena *arena;
    bool success;
    bool has_status;
    struct dr_str error_type;
    struct dr_str error;
    struct dr_str warning;
    size_t series_n;
    size_t point_n;    /* of the first series, finite or not */
    struct dr_str odd; /* the last value that was not finite */
    struct dr_sample *samples;
    size_t sample_n;
    size_t sample_cap;
};

void dr_prometheus_unknown(struct dr_arena *arena, struct dr_reading *ret, const char *fmt, ...) {
    char text[MAX_WHY];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (char *p = text; *p != '\0'; p++) {
        *p = (unsigned char)*p < ' ' || *p == 0x7F ? ' ' : *p;
    }
    *ret = (struct dr_reading){.known = false, .why = dr_str_dup(arena, dr_str_of(text))};
}

static int add_sample(struct answer *a, struct dr_sample sample, struct dr_err *err) {
    if (a->sample_n == DR_PROMETHEUS_MAX_SAMPLES) {
        return dr_fail(err, DR_E_LIMIT, "more than %d samples", DR_PROMETHEUS_MAX_SAMPLES);
    }
    if (a->sample_n == a->sample_cap) {
        size_t cap = a->sample_cap == 0 ? 64 : a->sample_cap * 2;
        struct dr_sample *samples = DR_NEW_N(a->arena, struct dr_sample, cap);
        for (size_t i = 0; i < a->sample_n; i++) {
            samples[i] = a->samples[i];
        }
        a->samples = samples;
        a->sample_cap = cap;
    }
    /* Times of one series grow; an answer in which they do not is not one that rules may be checked on. */
    if (a->sample_n > 0 && sample.at_ms <= a->samples[a->sample_n - 1].at_ms) {
        return dr_fail(err, DR_E_INVALID, "samples are not in the order of their time");
    }
    a->samples[a->sample_n++] = sample;
    return 0;
}

/* [time, "value"] */
static int read_point(struct dr_json *j, struct answer *a, struct dr_err *err) {
    struct dr_str time;
    struct dr_str value;
    struct dr_sample sample;
    if (dr_json_enter(j, DR_JSON_ARRAY, err) < 0 || dr_json_next_element(j, err) <= 0 || dr_json_number(j, &time, err) < 0 ||
        dr_json_next_element(j, err) <= 0 || dr_json_str(j, a->arena, &value, err) < 0 || dr_json_leave(j, err) < 0) {
        return err->code != DR_OK ? -1 : dr_fail(err, DR_E_INVALID, "a sample without time or value");
    }
    a->point_n++;
    if (!dr_decimal_scale(time, 3, DR_DECIMAL_ROUND, &sample.at_ms)) {
        return dr_fail(err, DR_E_INVALID, "a time out of range");
    }
    if (!dr_str_to_micro(value, &sample.micro)) {
        a->odd = value;
        return 0;
    }
    return add_sample(a, sample, err);
}

static int read_points(struct dr_json *j, struct answer *a, struct dr_err *err) {
    int r = dr_json_enter(j, DR_JSON_ARRAY, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_element(j, err)) > 0) {
        r = read_point(j, a, err) < 0 ? -1 : 1;
    }
    return r;
}

static int read_series(struct dr_json *j, struct answer *a, struct dr_err *err) {
    struct dr_json_key key;
    a->series_n++;
    if (a->series_n > 1) {
        return dr_json_skip(j, err); /* only counted */
    }
    int r = dr_json_enter(j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        if (dr_json_key_is(&key, "values")) {
            r = read_points(j, a, err);
        } else if (dr_json_key_is(&key, "value")) {
            r = read_point(j, a, err);
        } else if (dr_json_key_is(&key, "histograms") || dr_json_key_is(&key, "histogram")) {
            return dr_fail(err, DR_E_INVALID, "a histogram instead of numbers");
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

/* `result` of a scalar is one point, of anything else a list of series. The type may stand behind it, so the shape decides. */
static int read_result(struct dr_json *j, struct answer *a, struct dr_err *err) {
    struct dr_str raw;
    if (dr_json_raw(j, &raw, err) < 0) {
        return -1;
    }
    struct dr_json inner;
    enum dr_json_type type = DR_JSON_NULL;
    dr_json_init(&inner, raw, 0);
    if (dr_json_enter(&inner, DR_JSON_ARRAY, err) < 0) {
        return -1;
    }
    int r = dr_json_next_element(&inner, err);
    if (r > 0 && dr_json_peek(&inner, &type, err) == 0 && type == DR_JSON_NUMBER) {
        dr_json_init(&inner, raw, 0);
        a->series_n = 1;
        return read_point(&inner, a, err);
    }
    while (r > 0) {
        r = read_series(&inner, a, err) < 0 ? -1 : dr_json_next_element(&inner, err);
    }
    return r;
}

static int read_data(struct dr_json *j, struct answer *a, struct dr_err *err) {
    struct dr_json_key key;
    enum dr_json_type type;
    if (dr_json_peek(j, &type, err) < 0) {
        return -1;
    }
    if (type == DR_JSON_NULL) {
        return dr_json_null(j, err);
    }
    int r = dr_json_enter(j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        r = dr_json_key_is(&key, "result") ? read_result(j, a, err) : 0;
        r = r < 0 ? -1 : 1;
    }
    return r;
}

/* Remarks on the style of a query came among the warnings for some versions; they do not make a number less true. */
static int read_warnings(struct dr_json *j, struct answer *a, struct dr_err *err) {
    enum dr_json_type type;
    if (dr_json_peek(j, &type, err) < 0) {
        return -1;
    }
    if (type == DR_JSON_NULL) {
        return dr_json_null(j, err);
    }
    int r = dr_json_enter(j, DR_JSON_ARRAY, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_element(j, err)) > 0) {
        struct dr_str text;
        r = dr_json_str(j, a->arena, &text, err) < 0 ? -1 : 1;
        if (r > 0 && a->warning.n == 0 && !dr_str_starts(text, "PromQL info")) {
            a->warning = text;
        }
    }
    return r;
}

static int read_body(struct dr_json *j, struct answer *a, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_json_enter(j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        if (dr_json_key_is(&key, "status")) {
            struct dr_str status;
            r = dr_json_str(j, a->arena, &status, err);
            a->has_status = r == 0;
            a->success = r == 0 && dr_str_is(status, "success");
        } else if (dr_json_key_is(&key, "data")) {
            r = read_data(j, a, err);
        } else if (dr_json_key_is(&key, "errorType")) {
            r = dr_json_str(j, a->arena, &a->error_type, err);
        } else if (dr_json_key_is(&key, "error")) {
            r = dr_json_str(j, a->arena, &a->error, err);
        } else if (dr_json_key_is(&key, "warnings")) {
            r = read_warnings(j, a, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r < 0 ? -1 : dr_json_end(j, err);
}

static int quote(struct dr_str s) { return s.n > MAX_QUOTE ? MAX_QUOTE : (int)s.n; }

static void put_refusal(struct dr_arena *arena, int status, const struct answer *a, struct dr_reading *ret) {
    if (a->has_status && a->error.n > 0) {
        dr_prometheus_unknown(arena, ret, "prometheus: %.*s: %.*s", quote(a->error_type), a->error_type.n == 0 ? "error" : a->error_type.p,
                              quote(a->error), a->error.p);
        return;
    }
    const char *what = status == 401 || status == 403  ? "access denied: check user, password or token"
                       : status == 404                 ? "nothing at this address: check url and path prefix"
                       : status >= 300 && status < 400 ? "a redirect, which is not followed: check the url"
                                                       : "no answer of Prometheus";
    dr_prometheus_unknown(arena, ret, "prometheus: status %d, %s", status, what);
}

void dr_prometheus_answer(struct dr_arena *arena, int status, struct dr_str body, struct dr_reading *ret) {
    struct answer a = {.arena = arena};
    struct dr_json j;
    struct dr_err err = {.code = DR_OK};
    dr_json_init(&j, body, 0);
    int r = read_body(&j, &a, &err);
    if (status != 200 || (r == 0 && a.has_status && !a.success)) {
        put_refusal(arena, status, &a, ret);
        return;
    }
    if (r < 0 || !a.has_status) {
        dr_prometheus_unknown(arena, ret, "prometheus: the answer is not one of Prometheus: %s", r < 0 ? err.text : "it has no status");
        return;
    }
    if (a.warning.n > 0) {
        dr_prometheus_unknown(arena, ret, "prometheus: incomplete answer: %.*s", quote(a.warning), a.warning.p);
        return;
    }
    if (a.series_n == 0 || a.point_n == 0) {
        dr_prometheus_unknown(arena, ret, "prometheus: no data: no series matches the query");
        return;
    }
    if (a.series_n > 1) {
        dr_prometheus_unknown(arena, ret, "prometheus: %zu series where one is wanted: aggregate, for example with max(...)", a.series_n);
        return;
    }
    if (a.sample_n == 0) {
        dr_prometheus_unknown(arena, ret, "prometheus: the value is %.*s, not a number to compare", quote(a.odd), a.odd.p);
        return;
    }
    *ret = (struct dr_reading){.known = true, .samples = a.samples, .sample_n = a.sample_n};
}
