#include "app/config_file.h"

#include <stdint.h>
#include <string.h>

#include "app/nearest.h"
#include "base/err.h"

#define MAX_VALUE_BYTES 8192

struct walk {
    struct dr_settings *settings;
    struct dr_arena *arena;
    struct dr_reports *reports;
};

/* ---- the two tables as one ---- */

static size_t core_key_n(void) {
    size_t n;
    dr_config_keys(&n);
    return n;
}

size_t dr_settings_key_n(void) {
    size_t n;
    dr_live_keys(&n);
    return core_key_n() + n;
}

const struct dr_key *dr_settings_key(size_t i) {
    size_t n;
    const struct dr_key *core = dr_config_keys(&n);
    return i < n ? &core[i] : &dr_live_keys(&n)[i - core_key_n()];
}

/* Is the key one of the core's? */
static bool is_core(const struct dr_key *key) {
    size_t n;
    const struct dr_key *core = dr_config_keys(&n);
    return (uintptr_t)key >= (uintptr_t)core && (uintptr_t)key < (uintptr_t)(core + n);
}

size_t dr_settings_key_index(const struct dr_key *key) {
    size_t n;
    const struct dr_key *first = is_core(key) ? dr_config_keys(&n) : dr_live_keys(&n);
    return (size_t)(key - first) + (is_core(key) ? 0 : core_key_n());
}

const struct dr_key *dr_settings_key_find(struct dr_str path) {
    const struct dr_key *key = dr_config_key_find(path);
    size_t n;
    const struct dr_key *keys = dr_live_keys(&n);
    for (size_t i = 0; i < n && key == NULL; i++) {
        key = dr_str_is(path, keys[i].path) ? &keys[i] : NULL;
    }
    return key;
}

void dr_settings_get(const struct dr_settings *settings, const struct dr_key *key, struct dr_buf *buf) {
    if (is_core(key)) {
        dr_config_get(&settings->cfg, key, buf);
    } else {
        dr_key_get(&settings->live, key, buf);
    }
}

struct dr_strs dr_settings_list(const struct dr_settings *settings, const struct dr_key *key) {
    return is_core(key) ? dr_key_list(&settings->cfg, key) : dr_key_list(&settings->live, key);
}

static int set_key(struct dr_settings *settings, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    return is_core(key) ? dr_config_set(&settings->cfg, arena, key, text, err) : dr_key_set(&settings->live, arena, key, text, err);
}

/* ---- defaults ---- */

/* Values that the preset has in common with the default are called default. */
static void set_origins(struct dr_settings *settings) {
    struct dr_config plain;
    dr_config_init(&plain, DR_PRESET_DEFAULT);
    size_t n;
    const struct dr_key *keys = dr_config_keys(&n);
    struct dr_buf a;
    struct dr_buf b;
    dr_buf_init(&a, MAX_VALUE_BYTES);
    dr_buf_init(&b, MAX_VALUE_BYTES);
    for (size_t i = 0; i < n; i++) {
        dr_buf_clear(&a);
        dr_buf_clear(&b);
        dr_config_get(&settings->cfg, &keys[i], &a);
        dr_config_get(&plain, &keys[i], &b);
        bool same = dr_str_eq(dr_buf_str(&a), dr_buf_str(&b));
        settings->origins[i] = (struct dr_origin){same ? DR_ORIGIN_DEFAULT : DR_ORIGIN_PRESET, 0, 0};
    }
    dr_buf_deinit(&a);
    dr_buf_deinit(&b);
    for (size_t i = n; i < dr_settings_key_n(); i++) {
        settings->origins[i] = (struct dr_origin){DR_ORIGIN_DEFAULT, 0, 0};
    }
    bool custom = dr_config_custom_n(&settings->cfg) > 0;
    settings->custom_origin = (struct dr_origin){custom ? DR_ORIGIN_PRESET : DR_ORIGIN_DEFAULT, 0, 0};
}

void dr_settings_init(struct dr_settings *settings, struct dr_arena *arena, enum dr_preset preset, enum dr_origin_kind origin) {
    *settings = (struct dr_settings){.preset = preset, .preset_origin = {origin, 0, 0}};
    settings->origins = DR_NEW_N(arena, struct dr_origin, dr_settings_key_n());
    dr_config_init(&settings->cfg, preset);
    dr_live_config_init(&settings->live);
    set_origins(settings);
}

/* A list in the file as the text that the key table reads: "[zone, age]"; a mapping: "[name=value]". NULL text: an element is no single value. */
static struct dr_str list_text(struct dr_arena *arena, const struct dr_yaml *list) {
    struct dr_buf buf;
    dr_buf_init(&buf, MAX_VALUE_BYTES);
    dr_buf_putc(&buf, '[');
    for (const struct dr_yaml *item = list->child; item != NULL; item = item->next) {
        bool comma = dr_str_find(item->text, ',') < item->text.n; /* would be read as two */
        if (item->kind != DR_YAML_SCALAR || comma) {
            dr_buf_deinit(&buf);
            return DR_STR_NONE;
        }
        dr_buf_puts(&buf, item == list->child ? "" : ", ");
        if (list->kind == DR_YAML_MAPPING) {
            dr_buf_fmt(&buf, "%.*s=", DR_FMT(item->key->text));
        }
        dr_buf_put_str(&buf, item->text);
    }
    dr_buf_putc(&buf, ']');
    struct dr_str text = dr_str_dup(arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

static void report_allowed(struct walk *w, struct dr_str path, const struct dr_yaml *value, const struct dr_key *key, const char *problem) {
    struct dr_buf allowed;
    dr_buf_init(&allowed, 512);
    dr_config_key_allowed(key, &allowed);
    dr_reports_add(w->reports, value->line, value->column, "%.*s: %s: must be %.*s", DR_FMT(path), problem, DR_FMT(dr_buf_str(&allowed)));
    dr_buf_deinit(&allowed);
}

/* The text that a key's setter takes; false: reported why there is none. */
static bool value_text(struct walk *w, struct dr_str path, const struct dr_yaml *value, const struct dr_key *key, struct dr_str *ret) {
    if (dr_yaml_null(value)) {
        report_allowed(w, path, value, key, "has no value");
        return false;
    }
    *ret = value->kind == DR_YAML_SCALAR ? value->text : DR_STR_NONE;
    bool list = key->type == DR_KEY_LIST || key->type == DR_KEY_ENUM_LIST;
    bool mapping = key->type == DR_KEY_LIST && key->choices != NULL;
    if ((list && value->kind == DR_YAML_SEQUENCE) || (mapping && value->kind == DR_YAML_MAPPING)) {
        *ret = list_text(w->arena, value);
    }
    if (ret->p == NULL) {
        report_allowed(w, path, value, key, dr_yaml_kind_name(value));
        return false;
    }
    return true;
}

static void apply_key(struct walk *w, struct dr_str path, const struct dr_yaml *value, const struct dr_key *key) {
    struct dr_str text;
    struct dr_err err;
    if (!value_text(w, path, value, key, &text)) {
        return;
    }
    if (set_key(w->settings, w->arena, key, text, &err) < 0) {
        dr_reports_add(w->reports, value->line, value->column, "%.*s: %s", DR_FMT(path), err.text);
        return;
    }
    w->settings->origins[dr_settings_key_index(key)] = (struct dr_origin){DR_ORIGIN_FILE, value->line, value->column};
}

/* ---- unknown keys ---- */

/* The name that a key has directly under `prefix` ("" for the top), empty if it is not under it. */
static struct dr_str name_under(struct dr_str path, struct dr_str prefix) {
    if (prefix.n > 0) {
        if (path.n <= prefix.n || path.p[prefix.n] != '.' || !dr_str_eq(dr_str_sub(path, 0, prefix.n), prefix)) {
            return DR_STR_NONE;
        }
        path = dr_str_sub(path, prefix.n + 1, path.n);
    }
    return dr_str_sub(path, 0, dr_str_find(path, '.'));
}

static bool is_section(struct dr_str path) {
    for (size_t i = 0; i < dr_settings_key_n(); i++) {
        if (name_under(dr_str_of(dr_settings_key(i)->path), path).n > 0) {
            return true;
        }
    }
    return false;
}

/* A key of another section that ends in the same name: people remember "cooldown", not where it stands. */
static const struct dr_key *key_ending_in(struct dr_str name) {
    for (size_t i = 0; i < dr_settings_key_n(); i++) {
        struct dr_str path = dr_str_of(dr_settings_key(i)->path);
        if (path.n > name.n && path.p[path.n - name.n - 1] == '.' && dr_str_eq(dr_str_sub(path, path.n - name.n, path.n), name)) {
            return dr_settings_key(i);
        }
    }
    return NULL;
}

static void report_unknown(struct walk *w, struct dr_str prefix, struct dr_str path, const struct dr_yaml *key) {
    struct dr_nearest nearest;
    dr_nearest_init(&nearest, key->text);
    for (size_t i = 0; i < dr_settings_key_n(); i++) {
        dr_nearest_try(&nearest, name_under(dr_str_of(dr_settings_key(i)->path), prefix));
    }
    if (prefix.n == 0) {
        dr_nearest_try(&nearest, DR_STR("preset"));
        dr_nearest_try(&nearest, DR_STR("custom"));
    }
    const struct dr_key *elsewhere = dr_config_key_near(path);
    if (elsewhere == NULL) {
        elsewhere = key_ending_in(key->text);
    }
    if (nearest.found) {
        const char *dot = prefix.n > 0 ? "." : "";
        dr_reports_add(w->reports, key->line, key->column, "%.*s: unknown key; did you mean %.*s%s%.*s?", DR_FMT(path), DR_FMT(prefix), dot,
                       DR_FMT(nearest.best));
    } else if (elsewhere != NULL) {
        dr_reports_add(w->reports, key->line, key->column, "%.*s: unknown key; did you mean %s?", DR_FMT(path), elsewhere->path);
    } else {
        dr_reports_add(w->reports, key->line, key->column, "%.*s: unknown key; `drover config --reference` lists all", DR_FMT(path));
    }
}

/* ---- custom signals ---- */

static void apply_custom_key(struct walk *w, struct dr_custom *custom, const struct dr_yaml *value) {
    struct dr_str path = dr_str_fmt(w->arena, "custom.%.*s", DR_FMT(value->key->text));
    const struct dr_key *key = dr_custom_key_find(value->key->text);
    if (key == NULL) {
        struct dr_nearest nearest;
        dr_nearest_init(&nearest, value->key->text);
        size_t n;
        const struct dr_key *keys = dr_custom_keys(&n);
        for (size_t i = 0; i < n; i++) {
            dr_nearest_try(&nearest, dr_str_of(keys[i].path));
        }
        dr_reports_add(w->reports, value->key->line, value->key->column, "%.*s: unknown key; %s%.*s%s", DR_FMT(path),
                       nearest.found ? "did you mean " : "name, query, above, below, for and readings are known", DR_FMT(nearest.best),
                       nearest.found ? "?" : "");
        return;
    }
    struct dr_str text;
    struct dr_err err;
    if (value_text(w, path, value, key, &text) && dr_custom_set(custom, w->arena, key, text, &err) < 0) {
        dr_reports_add(w->reports, value->line, value->column, "%.*s: %s", DR_FMT(path), err.text);
    }
}

static void apply_custom_item(struct walk *w, const struct dr_yaml *item) {
    if (item->kind != DR_YAML_MAPPING) {
        dr_reports_add(w->reports, item->line, item->column, "custom: %s: must be a mapping with name, query and above or below",
                       dr_yaml_kind_name(item));
        return;
    }
    size_t before = w->reports->n + w->reports->left_out;
    struct dr_custom custom;
    dr_custom_init(&custom);
    for (const struct dr_yaml *value = item->child; value != NULL; value = value->next) {
        apply_custom_key(w, &custom, value);
    }
    if (w->reports->n + w->reports->left_out > before) {
        return; /* what is missing may be what was wrong */
    }
    for (size_t i = 0; i < dr_config_custom_n(&w->settings->cfg); i++) {
        if (dr_str_eq(dr_config_custom(&w->settings->cfg, i).name, custom.name)) {
            dr_reports_add(w->reports, item->line, item->column, "custom: %.*s: given twice", DR_FMT(custom.name));
            return;
        }
    }
    struct dr_err err;
    if (dr_config_add_custom(&w->settings->cfg, &custom, &err) < 0) {
        dr_reports_add(w->reports, item->line, item->column, "custom: %s", err.text);
    }
}

/* The list of the file takes the place of the preset's. */
static void apply_custom(struct walk *w, const struct dr_yaml *list) {
    if (list->kind != DR_YAML_SEQUENCE) {
        if (!dr_yaml_null(list)) {
            dr_reports_add(w->reports, list->line, list->column, "custom: %s: must be a list of signals", dr_yaml_kind_name(list));
        }
        return;
    }
    dr_config_clear_custom(&w->settings->cfg);
    w->settings->custom_origin = (struct dr_origin){DR_ORIGIN_FILE, list->line, list->column};
    for (const struct dr_yaml *item = list->child; item != NULL; item = item->next) {
        apply_custom_item(w, item);
    }
}

/* ---- the walk ---- */

static void put_presets(struct dr_buf *buf) {
    for (int i = 0; i < DR_PRESET_N; i++) {
        dr_buf_puts(buf, i == 0 ? "" : i + 1 < DR_PRESET_N ? ", " : " or ");
        dr_buf_puts(buf, dr_preset_name((enum dr_preset)i));
    }
}

static void apply_preset(struct walk *w, const struct dr_yaml *mapping) {
    const struct dr_yaml *value = dr_yaml_get(mapping, "preset");
    if (value == NULL) {
        return;
    }
    enum dr_preset preset;
    if (value->kind != DR_YAML_SCALAR || !dr_preset_find(value->text, &preset)) {
        struct dr_buf allowed;
        dr_buf_init(&allowed, 256);
        put_presets(&allowed);
        dr_reports_add(w->reports, value->line, value->column, "preset: %.*s: must be %.*s", DR_FMT(value->text),
                       DR_FMT(dr_buf_str(&allowed)));
        dr_buf_deinit(&allowed);
        return;
    }
    if (w->settings->preset_origin.kind == DR_ORIGIN_COMMAND_LINE) {
        return;
    }
    const char *file = w->settings->file;
    dr_settings_init(w->settings, w->arena, preset, DR_ORIGIN_FILE);
    w->settings->file = file;
    w->settings->preset_origin = (struct dr_origin){DR_ORIGIN_FILE, value->line, value->column};
}

/* The depth is bounded by the parser's ceiling and by the table: only sections are entered. */
static void apply_section(struct walk *w, struct dr_str prefix, const struct dr_yaml *mapping) {
    for (const struct dr_yaml *value = mapping->child; value != NULL; value = value->next) {
        struct dr_str name = value->key->text;
        struct dr_str path = prefix.n == 0 ? name : dr_str_fmt(w->arena, "%.*s.%.*s", DR_FMT(prefix), DR_FMT(name));
        const struct dr_key *key = dr_settings_key_find(path);
        if (prefix.n == 0 && dr_str_is(name, "preset")) {
            continue; /* came first */
        }
        if (prefix.n == 0 && dr_str_is(name, "custom")) {
            apply_custom(w, value);
        } else if (dr_str_find(name, '.') < name.n && (key != NULL || is_section(path))) {
            /* The same key could be given twice without being noticed. */
            dr_reports_add(w->reports, value->key->line, value->key->column,
                           "%.*s: write it as sections, one name per level, not with dots", DR_FMT(path));
        } else if (key != NULL) {
            apply_key(w, path, value, key);
        } else if (name.n == 0 || !is_section(path)) {
            report_unknown(w, prefix, path, value->key);
        } else if (value->kind == DR_YAML_MAPPING) {
            apply_section(w, path, value);
        } else if (!dr_yaml_null(value)) {
            dr_reports_add(w->reports, value->line, value->column, "%.*s: %s: must be a mapping of keys", DR_FMT(path),
                           dr_yaml_kind_name(value));
        }
    }
}

void dr_settings_apply(struct dr_settings *settings, struct dr_arena *arena, const struct dr_yaml *mapping, struct dr_reports *reports) {
    struct walk w = {settings, arena, reports};
    if (mapping->kind != DR_YAML_MAPPING) {
        dr_reports_add(reports, mapping->line, mapping->column, "%s: must be a mapping of keys", dr_yaml_kind_name(mapping));
        return;
    }
    apply_preset(&w, mapping);
    apply_section(&w, DR_STR_NONE, mapping);
}

static const char *env_find(const char *const *env, const char *name) {
    size_t n = strlen(name);
    for (; *env != NULL; env++) {
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=') {
            return *env + n + 1;
        }
    }
    return NULL;
}

static void apply_env(struct walk *w, const char *const *env) {
    for (size_t i = 0; i < dr_settings_key_n(); i++) {
        const struct dr_key *key = dr_settings_key(i);
        const char *value = key->env == NULL ? NULL : env_find(env, key->env);
        struct dr_err err;
        if (value == NULL) {
            continue;
        }
        struct dr_str text = dr_str_of(value);
        int result = is_core(key) ? dr_config_set_env(&w->settings->cfg, w->arena, key, text, &err)
                                  : dr_key_set(&w->settings->live, w->arena, key, text, &err);
        if (result < 0) {
            dr_reports_add_at(w->reports, "environment", "%s: %s", key->env, err.text);
        } else {
            w->settings->origins[i] = (struct dr_origin){DR_ORIGIN_ENVIRONMENT, 0, 0};
        }
    }
}

int dr_settings_load(struct dr_settings *settings, struct dr_arena *arena, const struct dr_settings_source *source,
                     struct dr_reports *reports) {
    struct walk w = {settings, arena, reports};
    enum dr_preset preset = DR_PRESET_DEFAULT;
    if (source->preset != NULL && !dr_preset_find(dr_str_of(source->preset), &preset)) {
        struct dr_buf allowed;
        dr_buf_init(&allowed, 256);
        put_presets(&allowed);
        dr_reports_add_at(reports, "command line", "--preset: %s: must be %.*s", source->preset, DR_FMT(dr_buf_str(&allowed)));
        dr_buf_deinit(&allowed);
    }
    dr_settings_init(settings, arena, preset, source->preset == NULL ? DR_ORIGIN_DEFAULT : DR_ORIGIN_COMMAND_LINE);
    settings->file = source->file;
    const struct dr_yaml *root = NULL;
    if (source->file != NULL && dr_yaml_load(arena, reports, &root) == 0) {
        dr_settings_apply(settings, arena, root, reports);
    }
    if (source->env != NULL) {
        apply_env(&w, source->env);
    }
    dr_settings_check(settings, reports->n == 0, reports);
    return reports->n == 0 ? 0 : -1;
}
