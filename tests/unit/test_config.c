#include "core/config.h"

#include <dirent.h>
#include <stdio.h>

#include "base/time.h"
#include "harness/test.h"

static struct dr_str value_of(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_key *key) {
    struct dr_buf buf;
    dr_buf_init(&buf, 8192);
    dr_config_get(cfg, key, &buf);
    struct dr_str value = dr_str_dup(arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return value;
}

static const struct dr_key *key_of(const char *path) {
    const struct dr_key *key = dr_config_key_find(dr_str_of(path));
    if (key == NULL) {
        FAIL("no key %s", path);
    }
    return key;
}

static int try_set(struct dr_config *cfg, struct dr_arena *arena, const char *path, const char *text, struct dr_err *err) {
    return dr_config_set(cfg, arena, key_of(path), dr_str_of(text), err);
}

static void set(struct dr_config *cfg, struct dr_arena *arena, const char *path, const char *text) {
    struct dr_err err;
    CHECK_OK(try_set(cfg, arena, path, text, &err), err);
}

#define SETUP                                                                                                                              \
    struct dr_arena arena;                                                                                                                 \
    dr_arena_init(&arena, 0);                                                                                                              \
    struct dr_config cfg;                                                                                                                  \
    dr_config_init(&cfg, DR_PRESET_DEFAULT);                                                                                               \
    struct dr_err err = {0};                                                                                                               \
    (void)err
#define TEARDOWN dr_arena_deinit(&arena)

TEST(keys, every_one_is_documented_and_unique) {
    size_t n = 0;
    const struct dr_key *keys = dr_config_keys(&n);
    CHECK(n > 40);
    for (size_t i = 0; i < n; i++) {
        CHECK(keys[i].unit != NULL);
        CHECK(keys[i].help != NULL && dr_str_ends(dr_str_of(keys[i].help), "."));
        CHECK(dr_config_key_find(dr_str_of(keys[i].path)) == &keys[i]);
        bool has_choices = keys[i].type == DR_KEY_ENUM || keys[i].type == DR_KEY_ENUM_LIST || keys[i].type == DR_KEY_COMPARE;
        CHECK(!has_choices || keys[i].choices != NULL);
        CHECK(has_choices || keys[i].type == DR_KEY_BOOL || keys[i].min < keys[i].max);
        if (keys[i].env != NULL) {
            CHECK(dr_config_key_of_env(dr_str_of(keys[i].env)) == &keys[i]);
        }
    }
    CHECK(dr_config_key_find(DR_STR("scaleUp")) == NULL);
    CHECK(dr_config_key_of_env(DR_STR("PATH")) == NULL);
}

TEST(keys, variables_of_the_usual_names_are_there) {
    static const char *const names[] = {"CPU_UP",          "CPU_DOWN",          "PENDING_UP_SEC",   "IDLE_DOWN_SEC",
                                        "COOLDOWN_UP_SEC", "COOLDOWN_DOWN_SEC", "JOIN_TIMEOUT_SEC", "PODS_PER_NODE",
                                        "MAX_BATCH_UP",    "MIN_WORKERS",       "MAX_WORKERS"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (dr_config_key_of_env(dr_str_of(names[i])) == NULL) {
            FAIL("%s overrides nothing", names[i]);
        }
    }
}

TEST(keys, what_get_writes_set_takes_in_every_preset) {
    for (int preset = 0; preset < DR_PRESET_N; preset++) {
        SETUP;
        dr_config_init(&cfg, (enum dr_preset)preset);
        size_t n = 0;
        const struct dr_key *keys = dr_config_keys(&n);
        for (size_t i = 0; i < n; i++) {
            struct dr_str before = value_of(&arena, &cfg, &keys[i]);
            struct dr_config copy = cfg;
            if (dr_config_set(&copy, &arena, &keys[i], before, &err) < 0) {
                FAIL("%s: %s", keys[i].path, err.text);
            }
            CHECK_EQ_STR(value_of(&arena, &copy, &keys[i]), before.p);
        }
        TEARDOWN;
    }
}

/* A value of the key that differs from the present one. */
static struct dr_str another_value(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_key *key) {
    struct dr_str now = value_of(arena, cfg, key);
    const char *candidates[3] = {NULL, NULL, NULL};
    switch (key->type) {
    case DR_KEY_INT:
        return dr_str_fmt(arena, "%d", dr_str_eq(now, dr_str_fmt(arena, "%d", (int)key->max)) ? (int)key->min : (int)key->max);
    case DR_KEY_SPAN:
        candidates[0] = "1m1s", candidates[1] = "1m2s";
        break;
    case DR_KEY_RATIO:
        candidates[0] = "61.25%", candidates[1] = "62%";
        break;
    case DR_KEY_VALUE:
        candidates[0] = "17.5", candidates[1] = "18";
        break;
    case DR_KEY_BOOL:
        candidates[0] = "true", candidates[1] = "false";
        break;
    case DR_KEY_STR:
        candidates[0] = "abc", candidates[1] = "abd";
        break;
    case DR_KEY_LIST:
        candidates[0] = "[a=b, c=d]", candidates[1] = "[a=b]";
        break;
    case DR_KEY_SECRET:
        candidates[0] = "file:a", candidates[1] = "ssm:b";
        break;
    case DR_KEY_ENUM_LIST:
        candidates[0] = "[age, zone]", candidates[1] = "[age]";
        break;
    case DR_KEY_ENUM:
    case DR_KEY_COMPARE: {
        struct dr_str all = dr_str_of(key->choices);
        size_t bar = dr_str_find(all, '|');
        struct dr_str first = dr_str_sub(all, 0, bar);
        struct dr_str rest = dr_str_sub(all, bar + 1, all.n);
        return dr_str_eq(first, now) ? dr_str_sub(rest, 0, dr_str_find(rest, '|')) : first;
    }
    }
    return dr_str_of(dr_str_is(now, candidates[0]) ? candidates[1] : candidates[0]);
}

TEST(keys, each_sets_its_own_value_and_no_other) {
    SETUP;
    size_t n = 0;
    const struct dr_key *keys = dr_config_keys(&n);
    for (size_t i = 0; i < n; i++) {
        struct dr_config changed = cfg;
        struct dr_str value = another_value(&arena, &cfg, &keys[i]);
        if (dr_config_set(&changed, &arena, &keys[i], value, &err) < 0) {
            FAIL("%s: %s", keys[i].path, err.text);
        }
        CHECK_EQ_STR(value_of(&arena, &changed, &keys[i]), dr_str_dup(&arena, value).p);
        for (size_t j = 0; j < n; j++) {
            bool same = dr_str_eq(value_of(&arena, &changed, &keys[j]), value_of(&arena, &cfg, &keys[j]));
            if (same != (i != j)) {
                FAIL("%s and %s are not apart", keys[i].path, keys[j].path);
            }
        }
    }
    TEARDOWN;
}

TEST(values, ratios_are_percent_or_fraction) {
    SETUP;
    set(&cfg, &arena, "scaleUp.cpu.threshold", "65%");
    CHECK_EQ_INT(cfg.up[DR_UP_CPU].threshold_micro, 650000);
    set(&cfg, &arena, "scaleUp.cpu.threshold", "0.655");
    CHECK_EQ_INT(cfg.up[DR_UP_CPU].threshold_micro, 655000);
    CHECK_EQ_STR(value_of(&arena, &cfg, key_of("scaleUp.cpu.threshold")), "65.5%");
    CHECK_FAILS(try_set(&cfg, &arena, "scaleUp.cpu.threshold", "65", &err), &err, DR_E_INVALID);
    CHECK_EQ_CSTR(err.text, "65: must be a share such as 70% or 0.7 from 1% to 100%, or off");
    CHECK_FAILS(try_set(&cfg, &arena, "scaleUp.cpu.threshold", "101%", &err), &err, DR_E_INVALID);
    CHECK_FAILS(try_set(&cfg, &arena, "scaleUp.cpu.threshold", "x%", &err), &err, DR_E_INVALID);
    CHECK_FAILS(try_set(&cfg, &arena, "scaleUp.cpu.threshold", "70.00001%", &err), &err, DR_E_INVALID);
    CHECK_FAILS(try_set(&cfg, &arena, "scaleUp.cpu.threshold", "0", &err), &err, DR_E_INVALID);
    CHECK_EQ_INT(cfg.up[DR_UP_CPU].threshold_micro, 655000);
    TEARDOWN;
}

TEST(values, environment_speaks_in_percent_and_seconds) {
    SETUP;
    const struct dr_key *cpu_up = dr_config_key_of_env(DR_STR("CPU_UP"));
    CHECK_OK(dr_config_set_env(&cfg, &arena, cpu_up, DR_STR("65"), &err), err);
    CHECK_EQ_INT(cfg.up[DR_UP_CPU].threshold_micro, 650000);
    CHECK_OK(dr_config_set_env(&cfg, &arena, cpu_up, DR_STR(" 66.5% "), &err), err);
    CHECK_EQ_INT(cfg.up[DR_UP_CPU].threshold_micro, 665000);
    CHECK_FAILS(dr_config_set_env(&cfg, &arena, cpu_up, DR_STR("0.7"), &err), &err, DR_E_INVALID);
    CHECK_EQ_CSTR(err.text, "0.7: must be percent, such as 70 or 70%");
    CHECK_FAILS(dr_config_set_env(&cfg, &arena, cpu_up, DR_STR("700"), &err), &err, DR_E_INVALID);
    CHECK_FAILS(dr_config_set_env(&cfg, &arena, cpu_up, DR_STR(""), &err), &err, DR_E_INVALID);
    CHECK_OK(dr_config_set_env(&cfg, &arena, dr_config_key_of_env(DR_STR("COOLDOWN_UP_SEC")), DR_STR("240"), &err), err);
    CHECK_EQ_INT(cfg.cooldown_up_ms, 240000);
    TEARDOWN;
}

TEST(values, spans_keep_every_unit) {
    SETUP;
    set(&cfg, &arena, "scaleDown.idleFor", "1d2h3m4s");
    CHECK_EQ_STR(value_of(&arena, &cfg, key_of("scaleDown.idleFor")), "1d2h3m4s");
    set(&cfg, &arena, "scaleDown.idleFor", "90");
    CHECK_EQ_INT(cfg.idle_for_ms, 90000);
    CHECK_EQ_STR(value_of(&arena, &cfg, key_of("scaleDown.idleFor")), "1m30s");
    set(&cfg, &arena, "scaleDown.idleFor", "0");
    CHECK_EQ_STR(value_of(&arena, &cfg, key_of("scaleDown.idleFor")), "0s");
    TEARDOWN;
}

TEST(values, what_is_refused_says_what_is_allowed_and_changes_nothing) {
    static const struct {
        const char *path, *text, *error;
    } cases[] = {
        {"maxWorkers", "0", "0: must be a whole number of workers from 1 to 1000"},
        {"maxWorkers", "ten", "ten: must be a whole number of workers from 1 to 1000"},
        {"maxWorkers", "", ": must be a whole number of workers from 1 to 1000"},
        {"maxWorkers", "99999999999999999999", "99999999999999999999: must be a whole number of workers from 1 to 1000"},
        {"interval", "1s", "1s: must be a time such as 90s, 3m or 1h30m from 5s to 1h"},
        {"scaleUp.match", "some", "some: must be any or all"},
        {"scaleUp.sizing", "Fit", "Fit: must be ratio, step or fit"},
        {"scaleUp.cpu.compare", "<", "<: must be > or >="},
        {"scaleDown.order", "[zone, zone]", "[zone, zone]: must be a list of zone, idle, pods and age, each at most once"},
        {"scaleDown.order", "[]", "[]: must be a list of zone, idle, pods and age, each at most once"},
        {"scaleDown.allowBarePods", "yes", "yes: must be true or false"},
        {"cluster", "a b", "a b: must be a text of 1 to 128 characters: letters, digits, '.', '_' and '-'"},
        {"launch.spotPercent", "101", "101: must be a whole number from 0 to 100"},
    };
    SETUP;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dr_str before = value_of(&arena, &cfg, key_of(cases[i].path));
        CHECK_FAILS(try_set(&cfg, &arena, cases[i].path, cases[i].text, &err), &err, DR_E_INVALID);
        CHECK_EQ_CSTR(err.text, cases[i].error);
        CHECK_EQ_STR(value_of(&arena, &cfg, key_of(cases[i].path)), before.p);
    }
    TEARDOWN;
}

TEST(values, rule_is_turned_off_and_on_in_any_order_of_keys) {
    SETUP;
    dr_config_init(&cfg, DR_PRESET_SIMPLE);
    CHECK_EQ_STR(value_of(&arena, &cfg, key_of("scaleUp.memory.threshold")), "off");
    set(&cfg, &arena, "scaleUp.memory.for", "4m"); /* before the rule is on */
    set(&cfg, &arena, "scaleUp.memory.threshold", "80%");
    CHECK(!cfg.up[DR_UP_MEMORY].off);
    CHECK_EQ_INT(cfg.up[DR_UP_MEMORY].for_ms, 240000);
    CHECK_EQ_INT(cfg.signals[DR_SIGNAL_AT_MEMORY].window_ms, 240000);
    set(&cfg, &arena, "scaleUp.pending.for", "off");
    CHECK(cfg.up[DR_UP_PENDING].off);
    CHECK_EQ_STR(value_of(&arena, &cfg, key_of("scaleUp.pending.for")), "off");
    TEARDOWN;
}

TEST(values, window_of_a_signal_is_the_longest_of_its_rules) {
    SETUP;
    CHECK_EQ_INT(cfg.signals[DR_SIGNAL_AT_CPU].window_ms, 180000);
    set(&cfg, &arena, "scaleDown.cpu.for", "15m");
    CHECK_EQ_INT(cfg.signals[DR_SIGNAL_AT_CPU].window_ms, 900000);
    set(&cfg, &arena, "scaleDown.cpu.threshold", "off");
    CHECK_EQ_INT(cfg.signals[DR_SIGNAL_AT_CPU].window_ms, 180000);
    TEARDOWN;
}

TEST(keys, nearest_name_is_found_for_a_slip) {
    CHECK_EQ_CSTR(dr_config_key_near(DR_STR("scaleUp.cooldwon"))->path, "scaleUp.cooldown");
    CHECK_EQ_CSTR(dr_config_key_near(DR_STR("maxworkers"))->path, "maxWorkers");
    CHECK(dr_config_key_near(DR_STR("prometheus.url.of.mine")) == NULL);
}

/* ---- contradictions ---- */

struct found {
    size_t n;
    const char *key;
};

static void note(void *self, const char *key, const char *what) {
    struct found *found = self;
    CHECK(what != NULL && what[0] != '\0');
    found->n++;
    found->key = key;
}

static void expect_contradiction(struct dr_config *cfg, const char *key) {
    struct found found = {0};
    CHECK_EQ_INT(dr_config_check(cfg, note, &found), 1);
    CHECK_EQ_INT(found.n, 1);
    CHECK_EQ_CSTR(found.key, key);
    dr_config_init(cfg, DR_PRESET_DEFAULT);
}

TEST(contradictions, each_is_named_with_the_key_to_change) {
    SETUP;
    set(&cfg, &arena, "minWorkers", "11");
    expect_contradiction(&cfg, "minWorkers");
    set(&cfg, &arena, "scaleDown.cpu.threshold", "71%");
    expect_contradiction(&cfg, "scaleDown.cpu.threshold");
    set(&cfg, &arena, "scaleDown.memory.threshold", "76%");
    expect_contradiction(&cfg, "scaleDown.memory.threshold");
    set(&cfg, &arena, "scaleUp.backoff", "2h");
    expect_contradiction(&cfg, "scaleUp.backoff");
    set(&cfg, &arena, "scaleDown.drainTimeout", "20m");
    expect_contradiction(&cfg, "scaleDown.drainTimeout");
    set(&cfg, &arena, "launch.onDemandBase", "11");
    expect_contradiction(&cfg, "launch.onDemandBase");
    set(&cfg, &arena, "scaleUp.cpu.threshold", "off");
    set(&cfg, &arena, "scaleUp.memory.threshold", "off");
    set(&cfg, &arena, "scaleUp.pending.for", "off");
    expect_contradiction(&cfg, "scaleUp");
    TEARDOWN;
}

TEST(contradictions, equal_thresholds_contradict_only_if_one_value_satisfies_both) {
    SETUP;
    set(&cfg, &arena, "scaleDown.cpu.threshold", "70%");
    CHECK_EQ_INT(dr_config_check(&cfg, NULL, NULL), 0);
    set(&cfg, &arena, "scaleUp.cpu.compare", ">=");
    CHECK_EQ_INT(dr_config_check(&cfg, NULL, NULL), 0);
    set(&cfg, &arena, "scaleDown.cpu.compare", "<=");
    expect_contradiction(&cfg, "scaleDown.cpu.threshold");
    TEARDOWN;
}

TEST(zone_rule, holds_where_the_minimum_covers_every_zone) {
    SETUP;
    CHECK(dr_config_zone_is_rule(&cfg, 2));
    CHECK(!dr_config_zone_is_rule(&cfg, 3));
    CHECK(!dr_config_zone_is_rule(&cfg, 1));
    TEARDOWN;
}

/* ---- custom signals ---- */

static void custom_set(struct dr_custom *custom, struct dr_arena *arena, const char *path, const char *text) {
    struct dr_err err;
    const struct dr_key *key = dr_custom_key_find(dr_str_of(path));
    CHECK(key != NULL);
    CHECK_OK(dr_custom_set(custom, arena, key, dr_str_of(text), &err), err);
}

static struct dr_custom queue(struct dr_arena *arena) {
    struct dr_custom custom;
    dr_custom_init(&custom);
    custom_set(&custom, arena, "name", "queue");
    custom_set(&custom, arena, "query", "sum(queue)");
    custom_set(&custom, arena, "above", "100.5");
    return custom;
}

TEST(custom, becomes_a_signal_and_its_rules) {
    SETUP;
    struct dr_custom custom = queue(&arena);
    custom_set(&custom, &arena, "below", "-3");
    custom_set(&custom, &arena, "for", "5m");
    custom_set(&custom, &arena, "readings", "2");
    CHECK_OK(dr_config_add_custom(&cfg, &custom, &err), err);
    CHECK_EQ_INT(cfg.signal_n, 3);
    CHECK_EQ_INT(cfg.signals[2].window_ms, 300000);
    CHECK_EQ_INT(cfg.up[3].threshold_micro, 100500000);
    CHECK_EQ_INT(cfg.up[3].compare, DR_ABOVE);
    CHECK_EQ_INT(cfg.down[2].threshold_micro, -3000000);
    CHECK_EQ_INT(cfg.down[2].compare, DR_BELOW);
    CHECK_EQ_INT(cfg.down[2].readings, 2);
    struct dr_custom back = dr_config_custom(&cfg, 0);
    size_t n = 0;
    const struct dr_key *keys = dr_custom_keys(&n);
    for (size_t i = 0; i < n; i++) {
        struct dr_buf a, b;
        dr_buf_init(&a, 100);
        dr_buf_init(&b, 100);
        dr_custom_get(&custom, &keys[i], &a);
        dr_custom_get(&back, &keys[i], &b);
        CHECK(a.n > 0);
        CHECK(dr_str_eq(dr_buf_str(&a), dr_buf_str(&b)));
        dr_buf_deinit(&a);
        dr_buf_deinit(&b);
    }
    TEARDOWN;
}

TEST(custom, value_that_is_no_number_is_refused) {
    SETUP;
    struct dr_custom custom = queue(&arena);
    CHECK_FAILS(dr_custom_set(&custom, &arena, dr_custom_key_find(DR_STR("above")), DR_STR("many"), &err), &err, DR_E_INVALID);
    CHECK_EQ_CSTR(err.text, "many: must be a number");
    CHECK_EQ_INT(custom.above_micro, 100500000);
    TEARDOWN;
}

TEST(custom, same_name_replaces_and_others_stay) {
    SETUP;
    dr_config_init(&cfg, DR_PRESET_LAYERED);
    struct dr_custom custom = queue(&arena);
    custom.name = DR_STR("queue_depth");
    CHECK_OK(dr_config_add_custom(&cfg, &custom, &err), err);
    CHECK_EQ_INT(dr_config_custom_n(&cfg), 3);
    CHECK_EQ_INT(cfg.up_n, 6);
    CHECK_EQ_INT(dr_config_custom(&cfg, 0).above_micro, 100500000);
    CHECK_EQ_INT(dr_config_custom(&cfg, 1).above_micro, 500000000);
    dr_config_clear_custom(&cfg);
    CHECK_EQ_INT(dr_config_custom_n(&cfg), 0);
    CHECK_EQ_INT(cfg.up_n, 3);
    TEARDOWN;
}

TEST(custom, incomplete_or_reserved_is_refused) {
    SETUP;
    struct dr_custom custom = queue(&arena);
    custom.has_above = false;
    CHECK_FAILS(dr_config_add_custom(&cfg, &custom, &err), &err, DR_E_INVALID);
    custom = queue(&arena);
    custom.query = DR_STR_NONE;
    CHECK_FAILS(dr_config_add_custom(&cfg, &custom, &err), &err, DR_E_INVALID);
    custom = queue(&arena);
    custom.name = DR_STR_NONE;
    CHECK_FAILS(dr_config_add_custom(&cfg, &custom, &err), &err, DR_E_INVALID);
    custom.name = DR_STR("pending");
    CHECK_FAILS(dr_config_add_custom(&cfg, &custom, &err), &err, DR_E_INVALID);
    CHECK_EQ_INT(cfg.signal_n, 2);
    TEARDOWN;
}

TEST(custom, ceiling_is_an_error_and_full_is_not) {
    SETUP;
    struct dr_custom custom = queue(&arena);
    custom.has_below = true;
    for (int i = 0; i < DR_MAX_SIGNALS - 2; i++) {
        custom.name = dr_str_fmt(&arena, "queue%d", i);
        CHECK_OK(dr_config_add_custom(&cfg, &custom, &err), err);
    }
    custom.name = DR_STR("one_more");
    CHECK_FAILS(dr_config_add_custom(&cfg, &custom, &err), &err, DR_E_LIMIT);
    custom.name = DR_STR("queue7"); /* replacing is still possible */
    CHECK_OK(dr_config_add_custom(&cfg, &custom, &err), err);
    CHECK_EQ_INT(dr_config_custom_n(&cfg), DR_MAX_SIGNALS - 2);
    TEARDOWN;
}

TEST(contradictions, custom_below_over_above_is_named) {
    SETUP;
    struct dr_custom custom = queue(&arena);
    custom.has_below = true;
    custom.below_micro = custom.above_micro + 1;
    CHECK_OK(dr_config_add_custom(&cfg, &custom, &err), err);
    expect_contradiction(&cfg, "custom");
    TEARDOWN;
}

/* ---- hazard 38: a value that is read but never used ---- */

/* Is the member named as a whole word, after one of the characters `before`? */
static bool mentions(const char *text, const char *member, const char *before) {
    size_t n = strlen(member);
    for (const char *p = strstr(text, member); p != NULL; p = strstr(p + 1, member)) {
        bool whole = !((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= '0' && p[n] <= '9') || p[n] == '_');
        if (whole && p > text && strchr(before, p[-1]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Does a source file that is not about configuration itself read the member? */
static bool folder_uses(const char *folder, const char *member) {
    DIR *dir = opendir(dr_test_path(folder));
    if (dir == NULL) {
        return false;
    }
    bool used = false;
    for (struct dirent *entry = readdir(dir); entry != NULL && !used; entry = readdir(dir)) {
        struct dr_str name = dr_str_of(entry->d_name);
        if (!dr_str_ends(name, ".c") || dr_str_starts(name, "config") || dr_str_is(name, "preset.c")) {
            continue;
        }
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        size_t n = 0;
        char *text = dr_test_read_file(dr_test_path(path), &n);
        used = mentions(text, member, ">.");
        free(text);
    }
    closedir(dir);
    return used;
}

#define MEMBERS_MAX 100

/* Names of the members of struct dr_config, cut out of the header's text. */
static size_t read_members(char *header, const char **members) {
    char *line = strstr(header, "struct dr_config {");
    CHECK(line != NULL);
    char *end = strstr(line, "\n};");
    CHECK(end != NULL);
    *end = '\0';
    size_t n = 0;
    for (line = strtok(strchr(line, '\n') + 1, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *semicolon = strchr(line, ';');
        if (semicolon == NULL) {
            continue;
        }
        *semicolon = '\0';
        line[strcspn(line, "[")] = '\0';
        CHECK(n < MEMBERS_MAX);
        members[n++] = strrchr(line, ' ') + 1;
    }
    CHECK(n > 35);
    return n;
}

TEST(hazard_38, every_member_of_the_configuration_is_used) {
    const char *members[MEMBERS_MAX];
    char *header = dr_test_read_file(dr_test_path("src/core/config.h"), &(size_t){0});
    size_t n = read_members(header, members);
    for (size_t i = 0; i < n; i++) {
        if (!folder_uses("src/core", members[i]) && !folder_uses("src/engine", members[i]) && !folder_uses("src/app", members[i])) {
            FAIL("%s is set but nothing in src/core, src/engine or src/app reads it", members[i]);
        }
    }
    free(header);
}

TEST(hazard_38, every_member_of_the_configuration_has_a_key) {
    const char *members[MEMBERS_MAX];
    char *header = dr_test_read_file(dr_test_path("src/core/config.h"), &(size_t){0});
    char *table = dr_test_read_file(dr_test_path("src/core/config_keys.c"), &(size_t){0});
    size_t n = read_members(header, members);
    for (size_t i = 0; i < n; i++) {
        bool counter = dr_str_ends(dr_str_of(members[i]), "_n"); /* moves with its list */
        if (!counter && !mentions(table, members[i], "( ")) {
            FAIL("no key sets %s", members[i]);
        }
    }
    free(header);
    free(table);
}
