#include "core/config.h"

#include "base/num.h"

bool dr_config_zone_is_rule(const struct dr_config *cfg, size_t zone_n) { return zone_n > 1 && cfg->min_workers >= (int64_t)zone_n; }

static void widen(struct dr_config *cfg, const struct dr_rule *rule) {
    if (rule->kind == DR_RULE_SIGNAL && !rule->off) {
        struct dr_signal *signal = &cfg->signals[rule->signal];
        signal->window_ms = dr_max_i64(signal->window_ms, rule->for_ms);
    }
}

void dr_config_windows(struct dr_config *cfg) {
    for (size_t i = 0; i < cfg->signal_n; i++) {
        cfg->signals[i].window_ms = 0;
    }
    for (size_t i = 0; i < cfg->up_n; i++) {
        widen(cfg, &cfg->up[i]);
    }
    for (size_t i = 0; i < cfg->down_n; i++) {
        widen(cfg, &cfg->down[i]);
    }
}

/* ---- contradictions ---- */

struct check {
    void (*report)(void *self, const char *key, const char *what);
    void *self;
    size_t found;
};

static void contradiction(struct check *check, bool wrong, const char *key, const char *what) {
    if (!wrong) {
        return;
    }
    check->found++;
    if (check->report != NULL) {
        check->report(check->self, key, what);
    }
}

/* Could one value satisfy both rules? Then the fleet would grow and shrink by turns. */
static bool overlap(const struct dr_rule *up, const struct dr_rule *down) {
    if (up->off || down->off) {
        return false;
    }
    if (down->threshold_micro != up->threshold_micro) {
        return down->threshold_micro > up->threshold_micro;
    }
    return up->compare == DR_AT_LEAST && down->compare == DR_AT_MOST;
}

static bool any_on(const struct dr_rule *rules, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!rules[i].off) {
            return true;
        }
    }
    return false;
}

static void check_rules(const struct dr_config *cfg, struct check *check) {
    contradiction(check, overlap(&cfg->up[DR_UP_CPU], &cfg->down[DR_DOWN_CPU]), "scaleDown.cpu.threshold",
                  "is not below scaleUp.cpu.threshold: the fleet would grow and shrink by turns");
    contradiction(check, overlap(&cfg->up[DR_UP_MEMORY], &cfg->down[DR_DOWN_MEMORY]), "scaleDown.memory.threshold",
                  "is not below scaleUp.memory.threshold: the fleet would grow and shrink by turns");
    for (size_t i = DR_DOWN_CUSTOM; i < cfg->down_n; i++) {
        for (size_t j = DR_UP_CUSTOM; j < cfg->up_n; j++) {
            bool same = cfg->down[i].signal == cfg->up[j].signal;
            contradiction(check, same && overlap(&cfg->up[j], &cfg->down[i]), "custom",
                          "`below` of a signal is above its `above`: the fleet would grow and shrink by turns");
        }
    }
    contradiction(check, !any_on(cfg->up, cfg->up_n), "scaleUp", "every rule is off: the fleet would never grow beyond its minimum");
}

size_t dr_config_check(const struct dr_config *cfg, void (*report)(void *self, const char *key, const char *what), void *self) {
    struct check check = {.report = report, .self = self};
    contradiction(&check, cfg->min_workers > cfg->max_workers, "minWorkers", "is above maxWorkers");
    check_rules(cfg, &check);
    contradiction(&check, cfg->backoff_ms > cfg->backoff_max_ms, "scaleUp.backoff", "is above scaleUp.backoffMax");
    contradiction(&check, cfg->drain_timeout_ms > cfg->stuck_ms, "scaleDown.drainTimeout",
                  "is above scaleDown.stuckLimit: the action would be cleared before its drain may fail");
    contradiction(&check, cfg->on_demand_base > cfg->max_workers, "launch.onDemandBase", "is above maxWorkers");
    return check.found;
}

/* ---- custom signals ---- */

static size_t find_custom(const struct dr_config *cfg, struct dr_str name) {
    size_t i = DR_SIGNAL_AT_CUSTOM;
    while (i < cfg->signal_n && !dr_str_eq(cfg->signals[i].name, name)) {
        i++;
    }
    return i;
}

static size_t drop_rules_of(struct dr_rule *rules, size_t n, size_t first, size_t signal) {
    size_t kept = first;
    for (size_t i = first; i < n; i++) {
        if (rules[i].signal != signal) {
            rules[kept++] = rules[i];
        }
    }
    return kept;
}

static struct dr_rule custom_rule(const struct dr_custom *custom, size_t signal, enum dr_compare compare, int64_t threshold_micro) {
    return (struct dr_rule){.name = custom->name,
                            .kind = DR_RULE_SIGNAL,
                            .signal = signal,
                            .compare = compare,
                            .threshold_micro = threshold_micro,
                            .for_ms = custom->for_ms,
                            .readings = custom->readings};
}

static int check_custom(const struct dr_custom *custom, struct dr_err *err) {
    if (custom->name.n == 0) {
        return dr_fail(err, DR_E_INVALID, "a custom signal needs a name");
    }
    if (dr_str_is(custom->name, "cpu") || dr_str_is(custom->name, "memory") || dr_str_is(custom->name, "pending")) {
        return dr_fail(err, DR_E_INVALID, "%.*s: is the name of a signal of our own", DR_FMT(custom->name));
    }
    if (custom->query.n == 0) {
        return dr_fail(err, DR_E_INVALID, "%.*s: needs a query", DR_FMT(custom->name));
    }
    if (!custom->has_above && !custom->has_below) {
        return dr_fail(err, DR_E_INVALID, "%.*s: needs `above` or `below`", DR_FMT(custom->name));
    }
    return 0;
}

void dr_custom_init(struct dr_custom *custom) { *custom = (struct dr_custom){.readings = 1}; }

int dr_config_add_custom(struct dr_config *cfg, const struct dr_custom *custom, struct dr_err *err) {
    if (check_custom(custom, err) < 0) {
        return -1;
    }
    size_t signal = find_custom(cfg, custom->name);
    if (signal == DR_MAX_SIGNALS) {
        return dr_fail(err, DR_E_LIMIT, "%.*s: at most %d custom signals", DR_FMT(custom->name), DR_MAX_SIGNALS - DR_SIGNAL_AT_CUSTOM);
    }
    if (signal == cfg->signal_n) {
        cfg->signal_n++;
    }
    cfg->signals[signal] = (struct dr_signal){.name = custom->name, .kind = DR_SIGNAL_CUSTOM, .query = custom->query};
    cfg->up_n = drop_rules_of(cfg->up, cfg->up_n, DR_UP_CUSTOM, signal);
    cfg->down_n = drop_rules_of(cfg->down, cfg->down_n, DR_DOWN_CUSTOM, signal);
    /* One rule per signal and direction at most, so the ceiling on signals keeps these within their arrays. */
    DR_ASSERT(cfg->up_n < DR_MAX_RULES && cfg->down_n < DR_MAX_RULES);
    if (custom->has_above) {
        cfg->up[cfg->up_n++] = custom_rule(custom, signal, DR_ABOVE, custom->above_micro);
    }
    if (custom->has_below) {
        cfg->down[cfg->down_n++] = custom_rule(custom, signal, DR_BELOW, custom->below_micro);
    }
    dr_config_windows(cfg);
    return 0;
}

void dr_config_clear_custom(struct dr_config *cfg) {
    cfg->signal_n = DR_SIGNAL_AT_CUSTOM;
    cfg->up_n = DR_UP_CUSTOM;
    cfg->down_n = DR_DOWN_CUSTOM;
}

size_t dr_config_custom_n(const struct dr_config *cfg) { return cfg->signal_n - DR_SIGNAL_AT_CUSTOM; }

struct dr_custom dr_config_custom(const struct dr_config *cfg, size_t i) {
    DR_ASSERT(i < dr_config_custom_n(cfg));
    size_t signal = DR_SIGNAL_AT_CUSTOM + i;
    struct dr_custom custom;
    dr_custom_init(&custom);
    custom.name = cfg->signals[signal].name;
    custom.query = cfg->signals[signal].query;
    for (size_t j = DR_UP_CUSTOM; j < cfg->up_n; j++) {
        if (cfg->up[j].signal == signal) {
            custom.has_above = true;
            custom.above_micro = cfg->up[j].threshold_micro;
            custom.for_ms = cfg->up[j].for_ms;
            custom.readings = cfg->up[j].readings;
        }
    }
    for (size_t j = DR_DOWN_CUSTOM; j < cfg->down_n; j++) {
        if (cfg->down[j].signal == signal) {
            custom.has_below = true;
            custom.below_micro = cfg->down[j].threshold_micro;
            custom.for_ms = cfg->down[j].for_ms;
            custom.readings = cfg->down[j].readings;
        }
    }
    return custom;
}
