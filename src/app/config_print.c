#include "app/config_print.h"

#include <string.h>

#define MAX_VALUE_BYTES 8192
#define COMMENT_COLUMN 40

/* ---- YAML ---- */

/* Would the text, written as it is, be read as that text again? When in doubt it goes into quotes. */
static bool plain(struct dr_str text) {
    if (text.n == 0 || dr_str_is(text, "null")) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (i == 0 || strchr("._-%", c) == NULL)) {
            return false;
        }
    }
    return true;
}

/* Bytes of a character at the start of the text that YAML refuses or takes for a line break, unless it is escaped; 0: it may stand there. `ret`: its number. */
static size_t odd(struct dr_str text, unsigned *ret) {
    const unsigned char *p = (const unsigned char *)text.p;
    if (p[0] < ' ' || p[0] == 0x7f) {
        *ret = p[0];
        return 1;
    }
    if (text.n >= 2 && p[0] == 0xc2 && p[1] < 0xa0) { /* the second row of controls */
        *ret = p[1];
        return 2;
    }
    if (text.n >= 3 && p[0] >= 0xe0 && p[0] < 0xf0) {
        unsigned number = (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        *ret = number;
        return number == 0x2028 || number == 0x2029 || number == 0xfeff || number >= 0xfffe ? 3 : 0;
    }
    return 0;
}

static void put_escaped(struct dr_buf *buf, struct dr_str text) {
    unsigned number = 0;
    dr_buf_putc(buf, '"');
    for (size_t i = 0, n = 0; i < text.n; i += n) {
        n = odd(dr_str_sub(text, i, text.n), &number);
        if (n > 0) {
            dr_buf_fmt(buf, number < 256 ? "\\x%02x" : "\\u%04x", number);
        } else {
            n = 1;
            dr_buf_puts(buf, text.p[i] == '"' || text.p[i] == '\\' ? "\\" : "");
            dr_buf_putc(buf, text.p[i]);
        }
    }
    dr_buf_putc(buf, '"');
}

static void put_scalar(struct dr_buf *buf, struct dr_str text) {
    unsigned number = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (odd(dr_str_sub(text, i, text.n), &number) > 0) {
            put_escaped(buf, text);
            return;
        }
    }
    if (plain(text)) {
        dr_buf_put_str(buf, text);
        return;
    }
    dr_buf_putc(buf, '\'');
    for (size_t i = 0; i < text.n; i++) {
        dr_buf_puts(buf, text.p[i] == '\'' ? "'" : "");
        dr_buf_putc(buf, text.p[i]);
    }
    dr_buf_putc(buf, '\'');
}

static void put_comment(struct dr_buf *buf, size_t line_start, const struct dr_settings *settings, struct dr_origin origin,
                        const struct dr_key *key) {
    size_t width = buf->n - line_start;
    do {
        dr_buf_putc(buf, ' ');
    } while (++width < COMMENT_COLUMN);
    dr_buf_puts(buf, "# ");
    dr_settings_put_origin(settings, origin, key, buf);
    dr_buf_putc(buf, '\n');
}

/* Headers of the sections that a path opens; gives the depth of its last name and that name. */
static size_t open_sections(struct dr_buf *buf, const char *before, const char *path, const char **ret_name) {
    size_t depth = 0;
    bool same = true;
    const char *rest = path;
    const char *dot;
    while ((dot = strchr(rest, '.')) != NULL) {
        size_t end = (size_t)(dot - path) + 1;
        same = same && strncmp(before, path, end) == 0;
        if (!same) {
            dr_buf_fmt(buf, "%*s%.*s:\n", (int)(2 * depth), "", (int)(dot - rest), rest);
        }
        depth++;
        rest = dot + 1;
    }
    *ret_name = rest;
    return depth;
}

static void put_custom_yaml(const struct dr_settings *settings, struct dr_buf *buf) {
    size_t line = buf->n;
    size_t n = dr_config_custom_n(&settings->cfg);
    dr_buf_puts(buf, n == 0 ? "custom: []" : "custom:");
    put_comment(buf, line, settings, settings->custom_origin, NULL);
    size_t key_n;
    const struct dr_key *keys = dr_custom_keys(&key_n);
    struct dr_buf value;
    dr_buf_init(&value, MAX_VALUE_BYTES);
    for (size_t i = 0; i < n; i++) {
        struct dr_custom custom = dr_config_custom(&settings->cfg, i);
        for (size_t k = 0; k < key_n; k++) {
            dr_buf_clear(&value);
            dr_custom_get(&custom, &keys[k], &value);
            if (value.n > 0) {
                dr_buf_fmt(buf, "  %s %s: ", k == 0 ? "-" : " ", keys[k].path);
                put_scalar(buf, dr_buf_str(&value));
                dr_buf_putc(buf, '\n');
            }
        }
    }
    dr_buf_deinit(&value);
}

static void put_list(struct dr_buf *buf, struct dr_strs list) {
    dr_buf_putc(buf, '[');
    for (size_t i = 0; i < list.n; i++) {
        dr_buf_puts(buf, i == 0 ? "" : ", ");
        put_scalar(buf, list.v[i]);
    }
    dr_buf_putc(buf, ']');
}

void dr_config_put_yaml(const struct dr_settings *settings, struct dr_buf *buf) {
    size_t line = buf->n;
    dr_buf_fmt(buf, "preset: %s", dr_preset_name(settings->preset));
    put_comment(buf, line, settings, settings->preset_origin, NULL);
    const char *before = "";
    struct dr_buf value;
    dr_buf_init(&value, MAX_VALUE_BYTES);
    for (size_t i = 0; i < dr_settings_key_n(); i++) {
        const struct dr_key *key = dr_settings_key(i);
        const char *name;
        size_t depth = open_sections(buf, before, key->path, &name);
        before = key->path;
        dr_buf_clear(&value);
        dr_settings_get(settings, key, &value);
        line = buf->n;
        dr_buf_fmt(buf, "%*s%s: ", (int)(2 * depth), "", name);
        if (key->type == DR_KEY_LIST) {
            put_list(buf, dr_settings_list(settings, key));
        } else if (key->type == DR_KEY_ENUM_LIST) {
            dr_buf_put_str(buf, dr_buf_str(&value)); /* already a list in YAML */
        } else {
            put_scalar(buf, dr_buf_str(&value));
        }
        put_comment(buf, line, settings, settings->origins[i], key);
    }
    dr_buf_deinit(&value);
    put_custom_yaml(settings, buf);
}

/* ---- JSON ---- */

void dr_config_put_json(const struct dr_settings *settings, struct dr_jsonw *w) {
    struct dr_buf text;
    dr_buf_init(&text, MAX_VALUE_BYTES);
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "preset", dr_preset_name(settings->preset));
    dr_jsonw_key(w, "values");
    dr_jsonw_object(w);
    for (size_t i = 0; i < dr_settings_key_n(); i++) {
        const struct dr_key *key = dr_settings_key(i);
        dr_jsonw_key(w, key->path);
        dr_jsonw_object(w);
        dr_buf_clear(&text);
        dr_settings_get(settings, key, &text);
        dr_jsonw_kv_str(w, "value", dr_buf_str(&text));
        dr_buf_clear(&text);
        dr_settings_put_origin(settings, settings->origins[i], key, &text);
        dr_jsonw_kv_str(w, "origin", dr_buf_str(&text));
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
    dr_jsonw_key(w, "custom");
    dr_jsonw_array(w);
    for (size_t i = 0; i < dr_config_custom_n(&settings->cfg); i++) {
        struct dr_custom custom = dr_config_custom(&settings->cfg, i);
        size_t key_n;
        const struct dr_key *custom_keys = dr_custom_keys(&key_n);
        dr_jsonw_object(w);
        for (size_t k = 0; k < key_n; k++) {
            dr_buf_clear(&text);
            dr_custom_get(&custom, &custom_keys[k], &text);
            if (text.n > 0) {
                dr_jsonw_kv_str(w, custom_keys[k].path, dr_buf_str(&text));
            }
        }
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
    dr_jsonw_end(w);
    dr_buf_deinit(&text);
}

/* ---- schema ---- */

static void put_strings(struct dr_jsonw *w, const char *choices) {
    struct dr_str rest = dr_str_of(choices);
    dr_jsonw_key(w, "enum");
    dr_jsonw_array(w);
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, '|');
        dr_jsonw_str(w, dr_str_sub(rest, 0, end));
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
    dr_jsonw_end(w);
}

/* A list of type names, because most values may be written as a number or with their unit. */
static void put_types(struct dr_jsonw *w, const char *first, const char *second) {
    dr_jsonw_key(w, "type");
    dr_jsonw_array(w);
    dr_jsonw_cstr(w, first);
    dr_jsonw_cstr(w, second);
    dr_jsonw_end(w);
}

static void put_type(struct dr_jsonw *w, const struct dr_key *key) {
    switch (key->type) {
    case DR_KEY_INT:
        dr_jsonw_kv_cstr(w, "type", "integer");
        dr_jsonw_kv_i64(w, "minimum", key->min);
        dr_jsonw_kv_i64(w, "maximum", key->max);
        break;
    case DR_KEY_SPAN:
        put_types(w, "string", "integer");
        dr_jsonw_kv_cstr(w, "pattern",
                         key->choices == NULL ? "^([0-9]+(ms|s|m|h|d))+$|^[0-9]+$" : "^([0-9]+(ms|s|m|h|d))+$|^[0-9]+$|^off$");
        dr_jsonw_kv_i64(w, "minimum", key->min / 1000);
        dr_jsonw_kv_i64(w, "maximum", key->max / 1000);
        break;
    case DR_KEY_RATIO:
        put_types(w, "string", "number");
        dr_jsonw_kv_cstr(w, "pattern", key->choices == NULL ? "^[0-9.]+ ?%?$" : "^[0-9.]+ ?%?$|^off$");
        dr_jsonw_kv_micro(w, "minimum", key->min);
        dr_jsonw_kv_micro(w, "maximum", key->max);
        break;
    case DR_KEY_VALUE:
        dr_jsonw_kv_cstr(w, "type", "number");
        break;
    case DR_KEY_BOOL:
        dr_jsonw_kv_cstr(w, "type", "boolean");
        break;
    case DR_KEY_ENUM:
    case DR_KEY_COMPARE:
        put_strings(w, key->choices);
        break;
    case DR_KEY_STR:
        dr_jsonw_kv_cstr(w, "type", "string");
        dr_jsonw_kv_i64(w, "minLength", key->min);
        dr_jsonw_kv_i64(w, "maxLength", key->max);
        break;
    case DR_KEY_SECRET:
        dr_jsonw_kv_cstr(w, "type", "string");
        dr_jsonw_kv_cstr(w, "pattern", "^$|^(file|ssm|secretsmanager):.+$");
        break;
    case DR_KEY_LIST:
        if (key->choices == NULL) {
            dr_jsonw_kv_cstr(w, "type", "array");
        } else {
            put_types(w, "array", "object");
        }
        dr_jsonw_kv_i64(w, "maxItems", key->max);
        break;
    case DR_KEY_ENUM_LIST:
        dr_jsonw_kv_cstr(w, "type", "array");
        dr_jsonw_kv_bool(w, "uniqueItems", true);
        dr_jsonw_kv_i64(w, "minItems", 1);
        dr_jsonw_key(w, "items");
        dr_jsonw_object(w);
        put_strings(w, key->choices);
        dr_jsonw_end(w);
        break;
    }
}

static void put_property(struct dr_jsonw *w, const char *name, const struct dr_key *key) {
    dr_jsonw_key(w, name);
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "description", key->help);
    put_type(w, key);
    dr_jsonw_end(w);
}

static void begin_object(struct dr_jsonw *w) {
    dr_jsonw_kv_cstr(w, "type", "object");
    dr_jsonw_kv_bool(w, "additionalProperties", false);
    dr_jsonw_key(w, "properties");
    dr_jsonw_object(w);
}

/* Keys of one section stand together in the table; a section ends where its prefix does. Gives the first key that is not of it. */
static size_t put_section(struct dr_jsonw *w, const struct dr_key *keys, size_t n, size_t at, size_t prefix_n) {
    size_t first = at;
    while (at < n && strncmp(keys[at].path, keys[first].path, prefix_n) == 0) {
        const char *name = keys[at].path + prefix_n;
        const char *dot = strchr(name, '.');
        if (dot == NULL) {
            put_property(w, name, &keys[at++]);
            continue;
        }
        dr_jsonw_key_str(w, (struct dr_str){name, (size_t)(dot - name)});
        dr_jsonw_object(w);
        begin_object(w);
        at = put_section(w, keys, n, at, (size_t)(dot - keys[at].path) + 1);
        dr_jsonw_end(w);
        dr_jsonw_end(w);
    }
    return at;
}

static void put_custom_schema(struct dr_jsonw *w) {
    size_t n;
    const struct dr_key *keys = dr_custom_keys(&n);
    dr_jsonw_key(w, "custom");
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "description", "Further signals with their rules.");
    dr_jsonw_kv_cstr(w, "type", "array");
    dr_jsonw_key(w, "items");
    dr_jsonw_object(w);
    dr_jsonw_key(w, "required");
    dr_jsonw_array(w);
    dr_jsonw_cstr(w, "name");
    dr_jsonw_cstr(w, "query");
    dr_jsonw_end(w);
    begin_object(w);
    for (size_t i = 0; i < n; i++) {
        put_property(w, keys[i].path, &keys[i]);
    }
    dr_jsonw_end(w);
    dr_jsonw_end(w);
    dr_jsonw_end(w);
}

void dr_config_put_schema(struct dr_jsonw *w) {
    size_t n;
    const struct dr_key *keys = dr_config_keys(&n);
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    dr_jsonw_kv_cstr(w, "title", "drover configuration");
    begin_object(w);
    dr_jsonw_key(w, "preset");
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "description", "Where values come from that the file does not give.");
    dr_jsonw_key(w, "enum");
    dr_jsonw_array(w);
    for (int i = 0; i < DR_PRESET_N; i++) {
        dr_jsonw_cstr(w, dr_preset_name((enum dr_preset)i));
    }
    dr_jsonw_end(w);
    dr_jsonw_end(w);
    put_section(w, keys, n, 0, 0);
    keys = dr_live_keys(&n);
    put_section(w, keys, n, 0, 0);
    put_custom_schema(w);
    dr_jsonw_end(w);
    dr_jsonw_end(w);
}
