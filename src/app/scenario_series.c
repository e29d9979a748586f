/* What the signals read and what is asked of the fleet: constant values and load traces. */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/nearest.h"
#include "app/scenario.h"
#include "base/num.h"
#include "base/time.h"

#define MAX_TRACE_BYTES ((size_t)64 << 20)
#define MAX_TRACE_ROWS 1000000
#define MAX_LINE_REPORTS 10
#define BEFORE_MS (6 * DR_HOUR_MS) /* a value given for the start has held so long: windows are full */

/* ---- the trace file ---- */

static char *read_file(struct dr_arena *arena, const char *file, struct dr_reports *reports, size_t *ret_n) {
    FILE *in = fopen(file, "rb");
    if (in == NULL) {
        dr_reports_add_at(reports, file, "%s", strerror(errno));
        return NULL;
    }
    struct dr_buf buf;
    dr_buf_init(&buf, MAX_TRACE_BYTES);
    char block[65536];
    size_t n;
    while (!buf.truncated && (n = fread(block, 1, sizeof block, in)) > 0) {
        dr_buf_put(&buf, block, n);
    }
    bool broken = ferror(in) != 0;
    (void)fclose(in);
    char *text = NULL;
    if (broken || buf.truncated) {
        dr_reports_add_at(reports, file, "%s", broken ? "cannot be read" : "larger than 64 MiB");
    } else {
        text = dr_arena_alloc(arena, buf.n + 1, 1);
        memcpy(text, buf.n == 0 ? "" : buf.p, buf.n);
        *ret_n = buf.n;
    }
    dr_buf_deinit(&buf);
    return text;
}

static struct dr_str unquote(struct dr_str s) {
    s = dr_str_trim(s);
    return s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"' ? dr_str_sub(s, 1, s.n - 1) : s;
}

/* One row; false: `why` says what is wrong with it. */
static bool read_row(struct dr_str row, int64_t scale_micro, struct dr_sample *ret, const char **why) {
    size_t comma = dr_str_find(row, ',');
    struct dr_str value = unquote(dr_str_sub(row, comma + 1, row.n));
    if (comma == row.n) {
        *why = "must be TIME,VALUE";
        return false;
    }
    if (!dr_time_parse(unquote(dr_str_sub(row, 0, comma)), &ret->at_ms)) {
        *why = "the time must be Unix seconds or YYYY-MM-DD HH:MM:SS";
        return false;
    }
    if (!dr_str_to_micro(value, &ret->micro)) {
        *why = "the value must be a number";
        return false;
    }
    ret->micro = dr_mul_div(ret->micro, scale_micro, 1000000);
    return true;
}

static int64_t median_step(struct dr_arena *arena, const struct dr_sample *v, size_t n);

int dr_trace_load(struct dr_arena *arena, const char *file, int64_t scale_micro, struct dr_reports *reports,
                  struct dr_scenario_curve *ret) {
    size_t size = 0;
    const char *text = read_file(arena, file, reports, &size);
    if (text == NULL) {
        return -1;
    }
    size_t rows = 1;
    for (size_t i = 0; i < size; i++) {
        rows += text[i] == '\n';
    }
    if (rows > MAX_TRACE_ROWS) {
        dr_reports_add_at(reports, file, "more than %d rows", MAX_TRACE_ROWS);
        return -1;
    }
    struct dr_sample *v = DR_NEW_N(arena, struct dr_sample, rows);
    size_t n = 0;
    int wrong = 0;
    struct dr_str rest = {text, size};
    for (int line = 1; rest.n > 0 && wrong < MAX_LINE_REPORTS; line++) {
        size_t end = dr_str_find(rest, '\n');
        struct dr_str row = dr_str_trim(dr_str_sub(rest, 0, end));
        rest = dr_str_sub(rest, end + 1, rest.n);
        const char *why = NULL;
        if (row.n == 0) {
            continue;
        }
        if (!read_row(row, scale_micro, &v[n], &why)) {
            if (line > 1) { /* the first line may be a header */
                wrong++;
                dr_reports_add_at(reports, file, "line %d: %.*s: %s", line, DR_FMT(dr_str_sub(row, 0, 60)), why);
            }
        } else if (n > 0 && v[n].at_ms <= v[n - 1].at_ms) {
            wrong++;
            dr_reports_add_at(reports, file, "line %d: %.*s: not later than the row before", line, DR_FMT(dr_str_sub(row, 0, 60)));
        } else {
            n++;
        }
    }
    if (wrong == 0 && n < 2) {
        dr_reports_add_at(reports, file, "fewer than two rows of TIME,VALUE");
        wrong++;
    }
    ret->points = v;
    ret->n = n;
    ret->step_ms = wrong > 0 ? 0 : median_step(arena, v, n);
    return wrong > 0 ? -1 : 0;
}

static int compare_i64(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median_step(struct dr_arena *arena, const struct dr_sample *v, size_t n) {
    int64_t *steps = DR_NEW_N(arena, int64_t, n - 1);
    for (size_t i = 0; i + 1 < n; i++) {
        steps[i] = v[i + 1].at_ms - v[i].at_ms;
    }
    qsort(steps, n - 1, sizeof steps[0], compare_i64);
    return steps[(n - 1) / 2];
}

/* ---- the sections ---- */

struct trace_text {
    struct dr_str file;
    struct dr_str scale;
    struct dr_str peak;
};
static const struct dr_field trace_fields[] = {
    {"file", DR_FIELD_STR, offsetof(struct trace_text, file), NULL, ""},
    {"scale", DR_FIELD_STR, offsetof(struct trace_text, scale), NULL, ""},
    {"peak", DR_FIELD_STR, offsetof(struct trace_text, peak), NULL, ""},
    {NULL, DR_FIELD_OTHER, 0, NULL, NULL},
};

/* The path as it stands in the scenario is relative to the scenario. */
static const char *resolve(struct dr_scenario_reader *r, struct dr_str file) {
    const char *slash = strrchr(r->source->file, '/');
    if (file.p[0] == '/' || slash == NULL) {
        return dr_str_dup(r->arena, file).p;
    }
    return dr_str_fmt(r->arena, "%.*s/%.*s", (int)(slash - r->source->file), r->source->file, DR_FMT(file)).p;
}

/* The file that the command line gives for this signal, NULL: none. */
static const char *given_file(const struct dr_scenario_source *source, struct dr_str signal) {
    for (size_t i = 0; i < source->series_n; i++) {
        struct dr_str text = dr_str_of(source->series[i]);
        size_t equals = dr_str_find(text, '=');
        if (equals < text.n && dr_str_eq(dr_str_sub(text, 0, equals), signal)) {
            return source->series[i] + equals + 1;
        }
    }
    return NULL;
}

static bool parse_amount(bool demand, struct dr_str signal, struct dr_str text, int64_t *ret) {
    if (!demand) {
        return dr_parse_value(text, ret);
    }
    return dr_str_is(signal, "cpu") ? dr_parse_cores(text, ret) : dr_parse_bytes(text, ret);
}

/* Times begin with the run, values at their peak within it. A demand of cpu is in cores, so a trace value of 1 is one core. */
static void fit_trace(struct dr_scenario_reader *r, struct dr_scenario_curve *c, int64_t peak) {
    struct dr_sample *v = (struct dr_sample *)(uintptr_t)c->points; /* our own, just made */
    int64_t from_ms = v[0].at_ms;
    int64_t top = 0;
    size_t n = 0;
    for (; n < c->n && v[n].at_ms - from_ms <= r->scenario->lexicon.end_ms - r->scenario->lexicon.start_ms; n++) {
        top = dr_max_i64(top, v[n].micro);
    }
    c->n = n;
    for (size_t i = 0; i < n; i++) {
        v[i].at_ms += r->scenario->lexicon.start_ms - from_ms;
        if (peak >= 0 && top > 0) {
            v[i].micro = dr_mul_div(v[i].micro, peak, top);
        } else if (c->demand) {
            v[i].micro = dr_str_is(c->signal, "cpu") ? v[i].micro / 1000 : v[i].micro / 1000000;
        }
    }
}

static void read_trace(struct dr_scenario_reader *r, const char *path, const struct dr_yaml *node, struct dr_scenario_curve *c) {
    struct trace_text text = {.file = DR_STR_NONE};
    int64_t scale_micro = 1000000;
    int64_t peak = -1;
    if (node != NULL && node->kind == DR_YAML_MAPPING) {
        dr_fields_read(r, path, node, trace_fields, &text);
    }
    if (text.scale.n > 0 && (!dr_parse_value(text.scale, &scale_micro) || scale_micro <= 0)) {
        const struct dr_yaml *v = dr_yaml_get(node, "scale");
        dr_reports_add(r->reports, v->line, v->column, "%s.scale: %.*s: must be a number above 0", path, DR_FMT(text.scale));
    }
    if (text.peak.n > 0 && (!parse_amount(c->demand, c->signal, text.peak, &peak) || peak <= 0)) {
        const struct dr_yaml *v = dr_yaml_get(node, "peak");
        dr_reports_add(r->reports, v->line, v->column, "%s.peak: %.*s: must be the largest value, above 0", path, DR_FMT(text.peak));
    }
    const char *file = given_file(r->source, c->signal);
    if (file == NULL && text.file.n == 0) {
        DR_ASSERT(node != NULL); /* without one the command line gave the file */
        dr_reports_add(r->reports, node->line, node->column, "%s.file: is missing: a value, or a mapping with file and scale or peak",
                       path);
        return;
    }
    if (dr_trace_load(r->arena, file != NULL ? file : resolve(r, text.file), scale_micro, r->reports, c) == 0) {
        fit_trace(r, c, peak);
    }
}

static void read_constant(struct dr_scenario_reader *r, const char *path, const struct dr_yaml *node, struct dr_scenario_curve *c) {
    struct dr_sample *one = DR_NEW(r->arena, struct dr_sample);
    one->at_ms = r->scenario->lexicon.start_ms - BEFORE_MS;
    if (!parse_amount(c->demand, c->signal, node->text, &one->micro)) {
        dr_reports_add(r->reports, node->line, node->column, "%s: %.*s: must be a value such as %s, or a mapping with file", path,
                       DR_FMT(node->text),
                       !c->demand                    ? "82% or 120"
                       : dr_str_is(c->signal, "cpu") ? "3.5"
                                                     : "8Gi");
        return;
    }
    c->points = one;
    c->n = 1;
}

static bool known_name(struct dr_scenario_reader *r, const char *section, bool demand, const struct dr_yaml *v) {
    static const struct dr_str both[] = {{"cpu", 3}, {"memory", 6}};
    struct dr_strs names = demand ? (struct dr_strs){both, 2} : r->scenario->lexicon.signals;
    struct dr_nearest nearest;
    if (dr_strs_has(names, v->key->text)) {
        return true;
    }
    dr_nearest_init(&nearest, v->key->text);
    for (size_t i = 0; i < names.n; i++) {
        dr_nearest_try(&nearest, names.v[i]);
    }
    dr_reports_add(r->reports, v->key->line, v->key->column, "world.%s.%.*s: %s%.*s%s", section, DR_FMT(v->key->text),
                   nearest.found ? "unknown; did you mean "
                   : demand      ? "must be cpu or memory"
                                 : "must be a signal of the configuration",
                   DR_FMT(nearest.best), nearest.found ? "?" : "");
    return false;
}

static size_t read_section(struct dr_scenario_reader *r, const char *section, const struct dr_yaml *mapping,
                           struct dr_scenario_curve *curves) {
    bool demand = strcmp(section, "demand") == 0;
    size_t n = 0;
    if (mapping == NULL || dr_yaml_null(mapping)) {
        return 0;
    }
    if (mapping->kind != DR_YAML_MAPPING || mapping->n > DR_MAX_SIGNALS) {
        dr_reports_add(r->reports, mapping->line, mapping->column, "world.%s: %s: must be a mapping of signals to values", section,
                       dr_yaml_kind_name(mapping));
        return 0;
    }
    for (const struct dr_yaml *v = mapping->child; v != NULL; v = v->next) {
        if (!known_name(r, section, demand, v)) {
            continue;
        }
        const char *path = dr_str_fmt(r->arena, "world.%s.%.*s", section, DR_FMT(v->key->text)).p;
        struct dr_scenario_curve *c = &curves[n++];
        *c = (struct dr_scenario_curve){.signal = v->key->text, .demand = demand};
        if (v->kind == DR_YAML_SCALAR && given_file(r->source, c->signal) == NULL) {
            read_constant(r, path, v, c);
        } else {
            read_trace(r, path, v, c);
        }
    }
    return n;
}

/* A series of the command line for a signal that the file does not mention. */
static size_t read_given(struct dr_scenario_reader *r, struct dr_scenario_curve *curves, size_t n) {
    for (size_t i = 0; i < r->source->series_n; i++) {
        struct dr_str text = dr_str_of(r->source->series[i]);
        size_t equals = dr_str_find(text, '=');
        struct dr_str signal = dr_str_sub(text, 0, equals);
        bool there = false;
        for (size_t k = 0; k < n; k++) {
            there = there || dr_str_eq(curves[k].signal, signal);
        }
        if (there) {
            continue;
        }
        if (equals == text.n || !dr_strs_has(r->scenario->lexicon.signals, signal)) {
            dr_reports_add_at(r->reports, "command line", "--series: %s: must be SIGNAL=FILE with a signal of the configuration",
                              r->source->series[i]);
            continue;
        }
        curves[n] = (struct dr_scenario_curve){.signal = signal};
        read_trace(r, "--series", NULL, &curves[n++]);
    }
    return n;
}

void dr_scenario_read_curves(struct dr_scenario_reader *reader, const struct dr_yaml *series, const struct dr_yaml *demand) {
    struct dr_scenario_curve *curves =
        DR_NEW_N(reader->arena, struct dr_scenario_curve, (size_t)2 * DR_MAX_SIGNALS + reader->source->series_n);
    size_t n = read_section(reader, "series", series, curves);
    n += read_section(reader, "demand", demand, curves + n);
    n = read_given(reader, curves, n);
    reader->scenario->curves = curves;
    reader->scenario->curve_n = n;
}
