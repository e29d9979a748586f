/* The configuration file: values with their origin, and every mistake at once with its place. */
#include <stdio.h>

#include "app/config_file.h"
#include "app/config_print.h"
#include "harness/test.h"

struct loaded {
    struct dr_arena arena;
    struct dr_reports reports;
    struct dr_settings settings;
    struct dr_buf text; /* of the reports */
    int result;
};

static void load(struct loaded *l, const char *yaml, const char *preset, const char *const *env) {
    static char path[600];
    snprintf(path, sizeof(path), "%s/f.yaml", dr_test_tmpdir());
    dr_arena_init(&l->arena, 0);
    dr_buf_init(&l->text, 1 << 20);
    struct dr_settings_source source = {yaml == NULL ? NULL : path, preset, env};
    if (yaml != NULL) {
        FILE *file = fopen(path, "wb");
        CHECK(file != NULL);
        CHECK_EQ_INT(fwrite(yaml, 1, strlen(yaml), file), strlen(yaml));
        fclose(file);
    }
    dr_reports_init(&l->reports, &l->arena, path);
    l->result = dr_settings_load(&l->settings, &l->arena, &source, &l->reports);
    l->reports.file = "f.yaml";
    for (size_t i = 0; i < l->reports.n; i++) { /* the folder differs in every run */
        if (l->reports.v[i].where == path) {
            l->reports.v[i].where = "f.yaml";
        }
    }
    l->settings.file = yaml == NULL ? NULL : "f.yaml";
    dr_reports_put(&l->reports, &l->text);
}

static void unload(struct loaded *l) {
    dr_buf_deinit(&l->text);
    dr_arena_deinit(&l->arena);
}

static void check_wrong(const char *yaml, const char *expected) {
    struct loaded l;
    load(&l, yaml, NULL, NULL);
    CHECK_EQ_CSTR(l.text.p == NULL ? "" : l.text.p, expected);
    CHECK_EQ_INT(l.result, -1);
    unload(&l);
}

/* Value and origin of a key: "5m, f.yaml:2". */
static struct dr_str value(struct loaded *l, const char *path) {
    const struct dr_key *key = dr_settings_key_find(dr_str_of(path));
    CHECK(key != NULL);
    size_t i = dr_settings_key_index(key);
    struct dr_buf buf;
    dr_buf_init(&buf, 8192);
    dr_settings_get(&l->settings, key, &buf);
    dr_buf_puts(&buf, ", ");
    dr_settings_put_origin(&l->settings, l->settings.origins[i], key, &buf);
    struct dr_str text = dr_str_dup(&l->arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

TEST(config_file, nothing_given_is_the_default) {
    struct loaded l;
    load(&l, NULL, NULL, NULL);
    CHECK_EQ_INT(l.result, 0);
    CHECK_EQ_STR(value(&l, "minWorkers"), "2, default");
    CHECK_EQ_STR(value(&l, "scaleUp.cooldown"), "5m, default");
    CHECK_EQ_INT(l.settings.preset, DR_PRESET_DEFAULT);
    unload(&l);
}

TEST(config_file, values_come_from_preset_file_and_environment_in_that_order) {
    static const char *const env[] = {"PATH=/bin", "CPU_UP=65", "MIN_WORKERS=4", NULL};
    struct loaded l;
    load(&l, "preset: strict\nminWorkers: 3\nscaleUp:\n  cpu: {threshold: 80%, for: 90s}\n  maxBatch: 3\n", NULL, env);
    CHECK_EQ_CSTR(l.text.p == NULL ? "" : l.text.p, "");
    CHECK_EQ_STR(value(&l, "minWorkers"), "4, environment MIN_WORKERS");
    CHECK_EQ_STR(value(&l, "scaleUp.cpu.threshold"), "65%, environment CPU_UP");
    CHECK_EQ_STR(value(&l, "scaleUp.cpu.for"), "1m30s, f.yaml:4");
    CHECK_EQ_STR(value(&l, "scaleUp.maxBatch"), "3, f.yaml:5");
    CHECK_EQ_STR(value(&l, "scaleUp.match"), "all, preset strict");
    CHECK_EQ_STR(value(&l, "scaleDown.maxBatch"), "1, default");
    CHECK_EQ_INT(l.settings.preset, DR_PRESET_STRICT);
    CHECK_EQ_INT(l.settings.preset_origin.kind, DR_ORIGIN_FILE);
    unload(&l);
}

TEST(config_file, preset_counts_wherever_it_stands_in_the_file) {
    struct loaded l;
    load(&l, "scaleUp: {match: any}\npreset: strict\n", NULL, NULL);
    CHECK_EQ_STR(value(&l, "scaleUp.match"), "any, f.yaml:1");
    CHECK_EQ_STR(value(&l, "scaleUp.sizing"), "ratio, preset strict");
    unload(&l);
}

TEST(config_file, preset_of_the_command_line_wins) {
    struct loaded l;
    load(&l, "preset: strict\nminWorkers: 3\n", "layered", NULL);
    CHECK_EQ_INT(l.result, 0);
    CHECK_EQ_INT(l.settings.preset, DR_PRESET_LAYERED);
    CHECK_EQ_STR(value(&l, "cooldown.by"), "last, preset layered");
    CHECK_EQ_STR(value(&l, "minWorkers"), "3, f.yaml:2");
    unload(&l);
}

TEST(config_file, list_and_flow_list_set_the_order) {
    struct loaded l;
    load(&l, "scaleDown:\n  order:\n    - age\n    - pods\n", NULL, NULL);
    CHECK_EQ_STR(value(&l, "scaleDown.order"), "[age, pods], f.yaml:3");
    unload(&l);
    load(&l, "scaleDown: {order: [pods, zone]}\n", NULL, NULL);
    CHECK_EQ_STR(value(&l, "scaleDown.order"), "[pods, zone], f.yaml:1");
    unload(&l);
}

TEST(config_file, custom_signals_take_the_place_of_the_presets) {
    struct loaded l;
    load(&l,
         "preset: layered\ncustom:\n  - {name: queue, query: 'sum(q)', above: 500, for: 2m}\n  - name: lag\n    query: max(lag)\n    "
         "below: -1.5\n    readings: 3\n",
         NULL, NULL);
    CHECK_EQ_CSTR(l.text.p == NULL ? "" : l.text.p, "");
    CHECK_EQ_INT(dr_config_custom_n(&l.settings.cfg), 2);
    struct dr_custom queue = dr_config_custom(&l.settings.cfg, 0);
    CHECK_EQ_STR(queue.name, "queue");
    CHECK_EQ_STR(queue.query, "sum(q)");
    CHECK(queue.has_above && !queue.has_below);
    CHECK_EQ_INT(queue.above_micro, 500000000);
    CHECK_EQ_INT(queue.for_ms, 120000);
    struct dr_custom lag = dr_config_custom(&l.settings.cfg, 1);
    CHECK_EQ_INT(lag.below_micro, -1500000);
    CHECK_EQ_INT(lag.readings, 3);
    CHECK_EQ_INT(l.settings.custom_origin.line, 3);
    unload(&l);
}

TEST(config_file, every_mistake_is_reported_at_once_in_order) {
    check_wrong("minWorkers: -1\n"
                "scaleUp:\n"
                "  cpu:\n"
                "    threshold: 170%\n"
                "    treshold: 70%\n"
                "  cooldown: soon\n"
                "scaledown:\n"
                "  idleFor: 1m\n"
                "minWorkers: 2\n",
                "f.yaml:1:13: minWorkers: -1: must be a whole number of workers from 0 to 1000\n"
                "f.yaml:4:16: scaleUp.cpu.threshold: 170%: must be a share such as 70% or 0.7 from 1% to 100%, or off\n"
                "f.yaml:5:5: scaleUp.cpu.treshold: unknown key; did you mean scaleUp.cpu.threshold?\n"
                "f.yaml:6:13: scaleUp.cooldown: soon: must be a time such as 90s, 3m or 1h30m from 0s to 1d\n"
                "f.yaml:7:1: scaledown: unknown key; did you mean scaleDown?\n"
                "f.yaml:9:1: minWorkers: given twice, first in line 1\n");
}

TEST(config_file, each_kind_of_mistake_says_what_is_allowed) {
    static const struct {
        const char *yaml;
        const char *expected;
    } cases[] = {
        {"minWorkers: two\n", "f.yaml:1:13: minWorkers: two: must be a whole number of workers from 0 to 1000\n"},
        {"minWorkers: 1001\n", "f.yaml:1:13: minWorkers: 1001: must be a whole number of workers from 0 to 1000\n"},
        {"minWorkers: 1.5\n", "f.yaml:1:13: minWorkers: 1.5: must be a whole number of workers from 0 to 1000\n"},
        {"minWorkers:\n", "f.yaml:1:12: minWorkers: has no value: must be a whole number of workers from 0 to 1000\n"},
        {"minWorkers: [2]\n", "f.yaml:1:13: minWorkers: a list: must be a whole number of workers from 0 to 1000\n"},
        {"minWorkers: {a: 2}\n", "f.yaml:1:13: minWorkers: a mapping: must be a whole number of workers from 0 to 1000\n"},
        {"scaleUp: {match: some}\n", "f.yaml:1:18: scaleUp.match: some: must be any or all\n"},
        {"scaleUp: {cpu: {compare: <}}\n", "f.yaml:1:26: scaleUp.cpu.compare: <: must be > or >=\n"},
        {"scaleDown: {allowBarePods: yes}\n", "f.yaml:1:28: scaleDown.allowBarePods: yes: must be true or false\n"},
        {"scaleDown: {order: [age, size]}\n",
         "f.yaml:1:20: scaleDown.order: [age, size]: must be a list of zone, idle, pods and age, each at most once\n"},
        {"scaleDown: {order: [[age]]}\n",
         "f.yaml:1:20: scaleDown.order: a list: must be a list of zone, idle, pods and age, each at most once\n"},
        {"scaleUp: 5\n", "f.yaml:1:10: scaleUp: a single value: must be a mapping of keys\n"},
        {"scaleUp: [cpu]\n", "f.yaml:1:10: scaleUp: a list: must be a mapping of keys\n"},
        {"- minWorkers\n", "f.yaml:1:1: a list: must be a mapping of keys\n"},
        {"minWorkers\n", "f.yaml:1:1: a single value: must be a mapping of keys\n"},
        {"preset: strikt\n", "f.yaml:1:9: preset: strikt: must be default, strict, simple or layered\n"},
        {"minWorker: 2\n", "f.yaml:1:1: minWorker: unknown key; did you mean minWorkers?\n"},
        {"cooldwn: {by: last}\n", "f.yaml:1:1: cooldwn: unknown key; did you mean cooldown?\n"},
        {"podsPerNode: 5\n", "f.yaml:1:1: podsPerNode: unknown key; did you mean scaleUp.podsPerNode?\n"},
        {"scaleUp.cooldown: 5m\n", "f.yaml:1:1: scaleUp.cooldown: write it as sections, one name per level, not with dots\n"},
        {"colour: red\n", "f.yaml:1:1: colour: unknown key; `drover config --reference` lists all\n"},
        {"'': 1\n", "f.yaml:1:1: : unknown key"},
        {"custom: 5\n", "f.yaml:1:9: custom: a single value: must be a list of signals\n"},
        {"custom: [5]\n", "f.yaml:1:10: custom: a single value: must be a mapping with name, query and above or below\n"},
        {"custom:\n  - {name: q, query: x}\n", "f.yaml:2:5: custom: q: needs `above` or `below`\n"},
        {"custom:\n  - {name: q, above: 1}\n", "f.yaml:2:5: custom: q: needs a query\n"},
        {"custom:\n  - {name: cpu, query: x, above: 1}\n", "f.yaml:2:5: custom: cpu: is the name of a signal of our own\n"},
        {"custom:\n  - {name: q, query: x, abov: 1}\n", "f.yaml:2:25: custom.abov: unknown key; did you mean above?\n"},
        {"custom:\n  - {name: q, query: x, colour: 1}\n",
         "f.yaml:2:25: custom.colour: unknown key; name, query, above, below, for and readings are known\n"},
        {"custom:\n  - {name: q, query: x, above: much}\n", "f.yaml:2:32: custom.above: much: must be a number\n"},
        {"custom:\n  - {name: q, query: x, above: 1}\n  - {name: q, query: y, above: 2}\n", "f.yaml:3:5: custom: q: given twice\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct loaded l;
        load(&l, cases[i].yaml, NULL, NULL);
        CHECK_EQ_INT(l.result, -1);
        CHECK_CONTAINS(dr_buf_str(&l.text), cases[i].expected);
        unload(&l);
    }
}

TEST(config_file, contradictions_are_named_at_the_value_that_was_given) {
    check_wrong("minWorkers: 5\nmaxWorkers: 4\n", "f.yaml:1:13: minWorkers: 5: is above maxWorkers (maxWorkers is 4)\n");
    check_wrong("maxWorkers: 1\n", "f.yaml:1:13: minWorkers: 2: is above maxWorkers (maxWorkers is 1)\n");
    check_wrong("scaleUp: {cpu: {threshold: 20%}}\n", "f.yaml:1:28: scaleDown.cpu.threshold: 30%: is not below scaleUp.cpu.threshold: the "
                                                      "fleet would grow and shrink by turns (scaleUp.cpu.threshold is 20%)\n");
    check_wrong("custom:\n  - {name: q, query: x, above: 1, below: 2}\n",
                "f.yaml:2:3: custom: `below` of a signal is above its `above`: the fleet would grow and shrink by turns\n");
}

TEST(config_file, contradictions_of_given_values_are_named_beside_other_mistakes) {
    check_wrong("minWorkers: 5\nmaxWorkers: 4\nintervall: 1m\n", "f.yaml:1:13: minWorkers: 5: is above maxWorkers (maxWorkers is 4)\n"
                                                                 "f.yaml:3:1: intervall: unknown key; did you mean interval?\n");
    /* The default that stands in for the refused maximum is nobody's mistake. */
    check_wrong("minWorkers: 50\nmaxWorkers: many\n", "f.yaml:2:13: maxWorkers: many: must be a whole number of workers from 1 to 1000\n");
}

TEST(config_file, a_section_with_nothing_in_it_is_allowed) {
    struct loaded l;
    load(&l, "scaleUp:\nscaleDown: {}\ncustom:\n", NULL, NULL);
    CHECK_EQ_INT(l.result, 0);
    unload(&l);
}

TEST(config_file, mistakes_in_the_environment_name_the_variable) {
    static const char *const env[] = {"CPU_UP=0.7", "MAX_WORKERS=many", "COOLDOWN_UP_SEC=-1", NULL};
    struct loaded l;
    load(&l, NULL, NULL, env);
    CHECK_EQ_INT(l.result, -1);
    CHECK_EQ_CSTR(l.text.p, "environment: MAX_WORKERS: many: must be a whole number of workers from 1 to 1000\n"
                            "environment: CPU_UP: 0.7: must be percent, such as 70 or 70%\n"
                            "environment: COOLDOWN_UP_SEC: -1: must be a time such as 90s, 3m or 1h30m from 0s to 1d\n");
    unload(&l);
    static const char *const contradiction[] = {"MIN_WORKERS=50", NULL};
    load(&l, NULL, NULL, contradiction);
    CHECK_EQ_CSTR(l.text.p, "environment: minWorkers: 50: is above maxWorkers (maxWorkers is 10)\n");
    unload(&l);
}

TEST(config_file, unknown_preset_of_the_command_line_is_reported) {
    struct loaded l;
    load(&l, NULL, "fast", NULL);
    CHECK_EQ_CSTR(l.text.p, "command line: --preset: fast: must be default, strict, simple or layered\n");
    unload(&l);
}

/* What `drover config` prints is a configuration file that gives the same values again, also with a query that YAML could misread. */
TEST(config_file, printed_configuration_reads_back_the_same) {
    static const char *const presets[] = {"default", "strict", "simple", "layered"};
    for (size_t i = 0; i < 4; i++) {
        struct loaded first;
        load(&first,
             "scaleUp: {cpu: {threshold: 33.5%}, pending: {for: 'off'}}\n"
             "signals: {cpu: {query: \"x # y: 'z' \\t end\"}, memory: {query: \"[it''s] - {a: b}\"}}\n"
             "custom: [{name: q, query: \"a: b # c\", above: 1.25}]\n"
             "ec2: {tags: {drover.dev/cluster: a b, 'x: y': '#1'}, taints: ['a=b:NoSchedule', '[x=y']}\n"
             "kubernetes: {token: 'ssm:/drover/token', endpoint: 'https://[::1]:6443'}\n",
             presets[i], NULL);
        CHECK_EQ_CSTR(first.text.p == NULL ? "" : first.text.p, "");
        struct dr_buf printed;
        dr_buf_init(&printed, 1 << 20);
        dr_config_put_yaml(&first.settings, &printed);
        struct loaded second;
        load(&second, printed.p, NULL, NULL);
        CHECK_EQ_CSTR(second.text.p == NULL ? "" : second.text.p, "");
        for (size_t k = 0; k < dr_settings_key_n(); k++) {
            struct dr_buf a;
            struct dr_buf b;
            dr_buf_init(&a, 8192);
            dr_buf_init(&b, 8192);
            dr_settings_get(&first.settings, dr_settings_key(k), &a);
            dr_settings_get(&second.settings, dr_settings_key(k), &b);
            CHECK_EQ_CSTR(b.p == NULL ? "" : b.p, a.p == NULL ? "" : a.p);
            dr_buf_deinit(&a);
            dr_buf_deinit(&b);
        }
        CHECK_EQ_INT(second.settings.preset, first.settings.preset);
        CHECK_EQ_INT(dr_config_custom_n(&second.settings.cfg), 1);
        CHECK_EQ_STR(dr_config_custom(&second.settings.cfg, 0).query, "a: b # c");
        dr_buf_deinit(&printed);
        unload(&second);
        unload(&first);
    }
}

/* docs/configuration.md is made from the table of keys; `drover config --reference > docs/configuration.md` brings it up to date. */
TEST(config_file, reference_page_is_up_to_date) {
    struct dr_buf page;
    dr_buf_init(&page, 1 << 20);
    dr_config_put_reference(&page);
    size_t n = 0;
    char *file = dr_test_read_file(dr_test_path("docs/configuration.md"), &n);
    if (page.n != n || memcmp(page.p, file, n) != 0) {
        FAIL("docs/configuration.md differs from `drover config --reference`");
    }
    free(file);
    dr_buf_deinit(&page);
}
