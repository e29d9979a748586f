/* docs/configuration.md from the table of keys; a test keeps the file and this in step. */
#include <string.h>

#include "app/config_print.h"

#define MAX_VALUE_BYTES 8192

static const char intro[] =
    "# Configuration\n\n"
    "This page is made by `drover config --reference` from the tables of keys in `src/core/config_keys.c` and `src/app/live_config.c`; a "
    "test compares.\n\n"
    "One YAML file, given with `-c`. What it leaves out comes from the preset (`preset:` or `--preset`, `default` if neither is given); "
    "variables of the\n"
    "environment override both. `drover config -c FILE` prints what results, with the origin of every value, in a form that can be used as "
    "a file again.\n"
    "Anything wrong stops the program before it touches anything (exit 2), with all mistakes at once as `file:line:column: key: value: "
    "what is allowed`.\n\n"
    "- Times are written with their unit (`90s`, `3m`, `1h30m`, `2d`); a bare number is seconds.\n"
    "- Shares are written `70%` or `0.7`; in the environment they are percent: `70` or `70%`.\n"
    "- A list takes the place of the preset's list; nothing is merged.\n"
    "- Anchors, aliases, tags, duplicate keys and a second document are refused. A file may have 1 MiB, 32 levels and 100,000 values.\n\n"
    "```yaml\n"
    "preset: default\n"
    "cluster: shop\n"
    "minWorkers: 3\n"
    "scaleUp:\n"
    "  cpu: {threshold: 65%, for: 2m}\n"
    "custom:\n"
    "  - name: queue\n"
    "    query: sum(rabbitmq_queue_messages)\n"
    "    above: 500\n"
    "    for: 2m\n"
    "```\n";

/* A table cell: the bar would end it, and code spans show it as it is. */
static void put_cell(struct dr_buf *buf, struct dr_str text) {
    for (size_t i = 0; i < text.n; i++) {
        dr_buf_puts(buf, text.p[i] == '|' ? "\\" : "");
        dr_buf_putc(buf, text.p[i]);
    }
}

static void put_code(struct dr_buf *buf, struct dr_str text) {
    if (text.n > 0) {
        dr_buf_putc(buf, '`');
        put_cell(buf, text);
        dr_buf_putc(buf, '`');
    }
}

static void put_row(struct dr_buf *buf, const struct dr_key *key, struct dr_str value, bool has_env) {
    struct dr_buf allowed;
    dr_buf_init(&allowed, 512);
    dr_config_key_allowed(key, &allowed);
    dr_buf_puts(buf, "| ");
    put_code(buf, dr_str_of(key->path));
    dr_buf_puts(buf, " | ");
    put_code(buf, value);
    dr_buf_puts(buf, " | ");
    put_cell(buf, dr_buf_str(&allowed));
    if (has_env) {
        dr_buf_puts(buf, " | ");
        put_code(buf, dr_str_of(key->env));
    }
    dr_buf_puts(buf, " | ");
    put_cell(buf, dr_str_of(key->help));
    dr_buf_puts(buf, " |\n");
    dr_buf_deinit(&allowed);
}

/* First name of a path, empty for a key at the top. */
static struct dr_str section_of(const char *path) {
    const char *dot = strchr(path, '.');
    return dot == NULL ? DR_STR_NONE : (struct dr_str){path, (size_t)(dot - path)};
}

static void put_keys(struct dr_buf *buf) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_settings settings;
    dr_settings_init(&settings, &arena, DR_PRESET_DEFAULT, DR_ORIGIN_DEFAULT);
    struct dr_buf value;
    dr_buf_init(&value, MAX_VALUE_BYTES);
    for (size_t i = 0; i < dr_settings_key_n(); i++) {
        const struct dr_key *key = dr_settings_key(i);
        struct dr_str section = section_of(key->path);
        if (i == 0 || !dr_str_eq(section, section_of(dr_settings_key(i - 1)->path))) {
            dr_buf_fmt(buf, "\n## %.*s\n\n| key | default | allowed | variable | meaning |\n|---|---|---|---|---|\n",
                       DR_FMT(section.n == 0 ? DR_STR("General") : section));
        }
        dr_buf_clear(&value);
        dr_settings_get(&settings, key, &value);
        put_row(buf, key, dr_buf_str(&value), true);
    }
    dr_buf_deinit(&value);
    dr_arena_deinit(&arena);
}

static void put_custom_keys(struct dr_buf *buf) {
    dr_buf_puts(buf, "\n## custom\n\nA list of further signals; each needs a name, a query and at least one of `above` and `below`.\n\n"
                     "| key | default | allowed | meaning |\n|---|---|---|---|\n");
    size_t n;
    const struct dr_key *keys = dr_custom_keys(&n);
    struct dr_custom custom;
    dr_custom_init(&custom);
    struct dr_buf value;
    dr_buf_init(&value, MAX_VALUE_BYTES);
    for (size_t i = 0; i < n; i++) {
        dr_buf_clear(&value);
        dr_custom_get(&custom, &keys[i], &value);
        put_row(buf, &keys[i], dr_buf_str(&value), false);
    }
    dr_buf_deinit(&value);
}

static void put_custom_names(const struct dr_config *cfg, struct dr_buf *buf) {
    for (size_t i = 0; i < dr_config_custom_n(cfg); i++) {
        dr_buf_puts(buf, i == 0 ? "" : ", ");
        dr_buf_put_str(buf, dr_config_custom(cfg, i).name);
    }
}

/* One line per key in which some preset differs from the default. */
static void put_presets(struct dr_buf *buf) {
    struct dr_config cfg[DR_PRESET_N];
    struct dr_buf value[DR_PRESET_N];
    dr_buf_puts(buf, "\n## Presets\n\nWhat a preset changes; everything else is as in `default`. `drover config --preset NAME` prints one "
                     "in full.\n\n| key |");
    for (int p = 0; p < DR_PRESET_N; p++) {
        dr_config_init(&cfg[p], (enum dr_preset)p);
        dr_buf_init(&value[p], MAX_VALUE_BYTES);
        dr_buf_fmt(buf, " %s |", dr_preset_name((enum dr_preset)p));
    }
    dr_buf_puts(buf, "\n|---|---|---|---|---|\n");
    size_t n;
    const struct dr_key *keys = dr_config_keys(&n);
    for (size_t i = 0; i <= n; i++) { /* the last one is the list of custom signals */
        bool differs = false;
        for (int p = 0; p < DR_PRESET_N; p++) {
            dr_buf_clear(&value[p]);
            if (i < n) {
                dr_config_get(&cfg[p], &keys[i], &value[p]);
            } else {
                put_custom_names(&cfg[p], &value[p]);
            }
            differs = differs || !dr_str_eq(dr_buf_str(&value[p]), dr_buf_str(&value[0]));
        }
        if (!differs) {
            continue;
        }
        dr_buf_puts(buf, "| ");
        put_code(buf, i < n ? dr_str_of(keys[i].path) : DR_STR("custom"));
        for (int p = 0; p < DR_PRESET_N; p++) {
            dr_buf_puts(buf, " | ");
            put_code(buf, dr_buf_str(&value[p]));
        }
        dr_buf_puts(buf, " |\n");
    }
    for (int p = 0; p < DR_PRESET_N; p++) {
        dr_buf_deinit(&value[p]);
    }
}

void dr_config_put_reference(struct dr_buf *buf) {
    dr_buf_puts(buf, intro);
    put_keys(buf);
    put_custom_keys(buf);
    put_presets(buf);
}
