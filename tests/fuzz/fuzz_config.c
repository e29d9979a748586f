/* Any bytes as a configuration file: either mistakes are reported, or what is printed of it reads back as the same configuration. */
#include "app/config_print.h"
#include "harness/fuzz.h"

static int apply(struct dr_arena *arena, struct dr_str text, struct dr_reports *reports, struct dr_settings *settings) {
    const struct dr_yaml *root = NULL;
    dr_reports_init(reports, arena, "fuzz");
    dr_settings_init(settings, arena, DR_PRESET_DEFAULT, DR_ORIGIN_DEFAULT);
    if (dr_yaml_parse(arena, text, reports, &root) < 0) {
        DR_ASSERT(reports->n > 0); /* never a refusal without a word */
        return -1;
    }
    dr_settings_apply(settings, arena, root, reports);
    dr_settings_check(settings, reports->n == 0, reports);
    return reports->n == 0 ? 0 : -1;
}

/* Values as text, without their origin. */
static void put_values(const struct dr_settings *settings, struct dr_buf *buf) {
    for (size_t i = 0; i < dr_settings_key_n(); i++) {
        dr_settings_get(settings, dr_settings_key(i), buf);
        dr_buf_putc(buf, '\n');
    }
    size_t n;
    const struct dr_key *custom_keys = dr_custom_keys(&n);
    for (size_t i = 0; i < dr_config_custom_n(&settings->cfg); i++) {
        struct dr_custom custom = dr_config_custom(&settings->cfg, i);
        for (size_t k = 0; k < n; k++) {
            dr_custom_get(&custom, &custom_keys[k], buf);
            dr_buf_putc(buf, '\n');
        }
    }
}

static void read_back(struct dr_arena *arena, const struct dr_settings *settings, struct dr_reports *reports) {
    struct dr_buf printed;
    struct dr_buf before;
    struct dr_buf after;
    dr_buf_init(&printed, 1 << 20);
    dr_buf_init(&before, 1 << 20);
    dr_buf_init(&after, 1 << 20);
    dr_config_put_yaml(settings, &printed);
    struct dr_settings again;
    int result = apply(arena, dr_buf_str(&printed), reports, &again);
    DR_ASSERT(result == 0);
    put_values(settings, &before);
    put_values(&again, &after);
    DR_ASSERT(dr_str_eq(dr_buf_str(&before), dr_buf_str(&after)));
    dr_buf_deinit(&printed);
    dr_buf_deinit(&before);
    dr_buf_deinit(&after);
}

DR_FUZZ(config) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_reports *reports = DR_NEW(&arena, struct dr_reports);
    struct dr_settings settings;
    struct dr_buf text;
    dr_buf_init(&text, 1 << 20);
    if (apply(&arena, (struct dr_str){(const char *)data, n}, reports, &settings) == 0) {
        read_back(&arena, &settings, reports);
    } else {
        dr_reports_put(reports, &text);
    }
    dr_buf_deinit(&text);
    dr_arena_deinit(&arena);
}
