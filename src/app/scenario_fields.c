/* Mappings of the world section by tables of fields. */

#include <string.h>

#include "app/nearest.h"
#include "app/scenario.h"
#include "app/scenario_words.h"
#include "base/time.h"

#define MAX_LIST 256
#define MAX_FIELD_COUNT 1000000

static const char *allowed(const struct dr_field *field) {
    switch (field->kind) {
    case DR_FIELD_COUNT:
        return "a whole number from 0 to 1000000";
    case DR_FIELD_SPAN:
        return "a span such as 45s, 3m or 1h30m";
    case DR_FIELD_SPAN_RANGE:
        return "a span such as 20s, or a range such as 15s..30s";
    case DR_FIELD_PERCENT:
    case DR_FIELD_SHARE_PPM:
        return "a share from 0% to 1000%";
    case DR_FIELD_BOOL:
        return "true or false";
    case DR_FIELD_CORES:
        return "a number of cores such as 2, 1.5 or 500m";
    case DR_FIELD_BYTES:
        return "an amount of memory such as 512Mi or 2Gi";
    case DR_FIELD_USD:
        return "a price in dollars per hour such as 0.0416";
    case DR_FIELD_STR:
        return "a text";
    case DR_FIELD_STRS:
        return "a list of texts";
    case DR_FIELD_LABELS:
        return "a mapping of keys to texts";
    case DR_FIELD_CHOICE:
    case DR_FIELD_OTHER:
        break;
    }
    return "something else";
}

static void report(struct dr_scenario_reader *r, const char *path, const struct dr_yaml *v, const struct dr_field *field) {
    struct dr_str what = field->kind == DR_FIELD_CHOICE ? dr_words_list(r->arena, dr_str_of(field->choices)) : dr_str_of(allowed(field));
    const char *value = v->kind == DR_YAML_SCALAR ? NULL : dr_yaml_kind_name(v);
    dr_reports_add(r->reports, v->line, v->column, "%s.%s: %.*s: must be %.*s", path, field->name,
                   DR_FMT(value == NULL ? v->text : dr_str_of(value)), DR_FMT(what));
}

static bool parse_range(struct dr_str text, int64_t *ret) {
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] == '.' && text.p[i + 1] == '.') {
            return dr_time_parse_span(dr_str_sub(text, 0, i), &ret[0]) && dr_time_parse_span(dr_str_sub(text, i + 2, text.n), &ret[1]) &&
                   ret[0] <= ret[1];
        }
    }
    bool ok = dr_time_parse_span(text, &ret[0]);
    ret[1] = ret[0];
    return ok;
}

static bool parse_choice(const char *choices, struct dr_str text, int *ret) {
    struct dr_str rest = dr_str_of(choices);
    for (int i = 0; rest.n > 0; i++) {
        size_t end = dr_str_find(rest, '|');
        if (dr_str_eq(dr_str_sub(rest, 0, end), text)) {
            *ret = i;
            return true;
        }
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
    return false;
}

static bool read_list(struct dr_scenario_reader *r, const struct dr_yaml *v, struct dr_strs *ret) {
    if (v->kind != DR_YAML_SEQUENCE || v->n > MAX_LIST) {
        return false;
    }
    struct dr_str *list = DR_NEW_N(r->arena, struct dr_str, v->n);
    size_t n = 0;
    for (const struct dr_yaml *item = v->child; item != NULL; item = item->next) {
        if (item->kind != DR_YAML_SCALAR || item->text.n == 0) {
            return false;
        }
        list[n++] = item->text;
    }
    *ret = (struct dr_strs){list, n};
    return true;
}

static bool read_labels(struct dr_scenario_reader *r, const struct dr_yaml *v, struct dr_labels *ret) {
    if (v->kind != DR_YAML_MAPPING || v->n > MAX_LIST) {
        return false;
    }
    struct dr_label *list = DR_NEW_N(r->arena, struct dr_label, v->n);
    size_t n = 0;
    for (const struct dr_yaml *item = v->child; item != NULL; item = item->next) {
        if (item->kind != DR_YAML_SCALAR) {
            return false;
        }
        list[n++] = (struct dr_label){item->key->text, item->text};
    }
    *ret = (struct dr_labels){list, n};
    return true;
}

static bool in_range(int64_t n, int64_t max) { return n >= 0 && n <= max; }

static bool read_scalar(const struct dr_field *field, struct dr_str text, void *to) {
    int64_t *n = to;
    int64_t range[2];
    switch (field->kind) {
    case DR_FIELD_COUNT:
        return dr_str_to_i64(text, n) && in_range(*n, MAX_FIELD_COUNT);
    case DR_FIELD_SPAN:
        return dr_time_parse_span(text, n);
    case DR_FIELD_SPAN_RANGE:
        if (!parse_range(text, range)) {
            return false;
        }
        memcpy(to, range, sizeof range);
        return true;
    case DR_FIELD_PERCENT:
    case DR_FIELD_SHARE_PPM:
        if (!dr_parse_value(text, n) || !in_range(*n, 10000000)) {
            return false;
        }
        *n = field->kind == DR_FIELD_PERCENT ? *n / 10000 : *n;
        return true;
    case DR_FIELD_BOOL:
        *(bool *)to = dr_str_is(text, "true");
        return dr_str_is(text, "true") || dr_str_is(text, "false");
    case DR_FIELD_CORES:
        return dr_parse_cores(text, n);
    case DR_FIELD_BYTES:
        return dr_parse_bytes(text, n);
    case DR_FIELD_USD:
        return dr_str_to_micro(text, n) && in_range(*n, INT64_C(1000000000000));
    case DR_FIELD_STR:
        *(struct dr_str *)to = text;
        return text.n > 0 && text.n <= 200;
    case DR_FIELD_CHOICE:
        return parse_choice(field->choices, text, to); /* every enum here is an int to the compiler */
    case DR_FIELD_STRS:
    case DR_FIELD_LABELS:
    case DR_FIELD_OTHER:
        break;
    }
    return false;
}

static void read_field(struct dr_scenario_reader *r, const char *path, const struct dr_yaml *v, const struct dr_field *field, void *base) {
    void *to = (char *)base + field->offset;
    bool ok;
    if (field->kind == DR_FIELD_STRS) {
        ok = read_list(r, v, to);
    } else if (field->kind == DR_FIELD_LABELS) {
        ok = read_labels(r, v, to);
    } else {
        ok = v->kind == DR_YAML_SCALAR && !dr_yaml_null(v) && read_scalar(field, v->text, to);
    }
    if (!ok) {
        report(r, path, v, field);
    }
}

void dr_fields_read(struct dr_scenario_reader *reader, const char *path, const struct dr_yaml *mapping, const struct dr_field *fields,
                    void *base) {
    if (mapping->kind != DR_YAML_MAPPING) {
        dr_reports_add(reader->reports, mapping->line, mapping->column, "%s: %s: must be a mapping of keys", path,
                       dr_yaml_kind_name(mapping));
        return;
    }
    for (const struct dr_yaml *v = mapping->child; v != NULL; v = v->next) {
        struct dr_nearest nearest;
        dr_nearest_init(&nearest, v->key->text);
        const struct dr_field *field = NULL;
        for (size_t i = 0; fields[i].name != NULL; i++) {
            dr_nearest_try(&nearest, dr_str_of(fields[i].name));
            field = dr_str_is(v->key->text, fields[i].name) ? &fields[i] : field;
        }
        if (field == NULL && nearest.found) {
            dr_reports_add(reader->reports, v->key->line, v->key->column, "%s.%.*s: unknown key; did you mean %.*s?", path,
                           DR_FMT(v->key->text), DR_FMT(nearest.best));
        } else if (field == NULL) {
            dr_reports_add(reader->reports, v->key->line, v->key->column, "%s.%.*s: unknown key; docs/scenarios.md lists all", path,
                           DR_FMT(v->key->text));
        } else if (field->kind != DR_FIELD_OTHER) {
            read_field(reader, path, v, field, base);
        }
    }
}
