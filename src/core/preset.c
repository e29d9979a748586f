#include "base/time.h"
#include "core/config.h"

static const char *const names[DR_PRESET_N] = {
    [DR_PRESET_DEFAULT] = "default", [DR_PRESET_STRICT] = "strict", [DR_PRESET_SIMPLE] = "simple", [DR_PRESET_LAYERED] = "layered"};

const char *dr_preset_name(enum dr_preset preset) { return names[preset]; }

bool dr_preset_find(struct dr_str name, enum dr_preset *ret) {
    for (int i = 0; i < DR_PRESET_N; i++) {
        if (dr_str_is(name, names[i])) {
            *ret = (enum dr_preset)i;
            return true;
        }
    }
    return false;
}

static struct dr_rule ratio_rule(const char *name, size_t signal, enum dr_compare compare, int64_t percent, int64_t for_ms) {
    return (struct dr_rule){.name = dr_str_of(name),
                            .kind = DR_RULE_SIGNAL,
                            .signal = signal,
                            .compare = compare,
                            .threshold_micro = percent * 10000,
                            .for_ms = for_ms,
                            .readings = 1,
                            .ratio = true};
}

static void init_signals(struct dr_config *cfg) {
    /* One minus the idle share. The average over the non-idle modes, which is often written, divides by their number: it reads 14 % on a saturated machine (hazard 1). */
    cfg->signals[DR_SIGNAL_AT_CPU] = (struct dr_signal){
        .name = DR_STR("cpu"),
        .kind = DR_SIGNAL_CPU,
        .query = DR_STR("1 - sum(rate(node_cpu_seconds_total{mode=\"idle\"}[5m])) / sum(rate(node_cpu_seconds_total[5m]))")};
    cfg->signals[DR_SIGNAL_AT_MEMORY] =
        (struct dr_signal){.name = DR_STR("memory"),
                           .kind = DR_SIGNAL_MEMORY,
                           .query = DR_STR("1 - sum(node_memory_MemAvailable_bytes) / sum(node_memory_MemTotal_bytes)")};
    cfg->signal_n = DR_SIGNAL_AT_CUSTOM;
    /* Three samples and a minute: a 15 s or 30 s scrape may lose one reading, a dead exporter is seen within a minute. */
    cfg->min_samples = 3;
    cfg->max_gap_ms = DR_MINUTE_MS;
}

static void init_up(struct dr_config *cfg) {
    cfg->up_match = DR_MATCH_ANY;
    cfg->up[DR_UP_CPU] = ratio_rule("cpu", DR_SIGNAL_AT_CPU, DR_ABOVE, 70, 3 * DR_MINUTE_MS);
    cfg->up[DR_UP_MEMORY] = ratio_rule("memory", DR_SIGNAL_AT_MEMORY, DR_ABOVE, 75, 3 * DR_MINUTE_MS);
    cfg->up[DR_UP_PENDING] = (struct dr_rule){
        .name = DR_STR("pending"), .kind = DR_RULE_PENDING, .compare = DR_ABOVE, .for_ms = 180 * DR_SECOND_MS, .readings = 1};
    cfg->up_n = DR_UP_CUSTOM;
    cfg->sizing = DR_SIZING_FIT;
    cfg->pods_per_node = 10;
    cfg->urgent_pending = 5;
    cfg->max_batch_up = 2;
    cfg->cooldown_up_ms = 300 * DR_SECOND_MS;
    cfg->join_timeout_ms = 600 * DR_SECOND_MS;
    cfg->join_failure = DR_JOIN_TERMINATE;
    cfg->quarantine_ms = DR_HOUR_MS;
    cfg->backoff_ms = 2 * DR_MINUTE_MS;
    cfg->backoff_max_ms = DR_HOUR_MS;
}

static void init_down(struct dr_config *cfg) {
    cfg->down[DR_DOWN_CPU] = ratio_rule("cpu", DR_SIGNAL_AT_CPU, DR_BELOW, 30, 0);
    cfg->down[DR_DOWN_MEMORY] = ratio_rule("memory", DR_SIGNAL_AT_MEMORY, DR_BELOW, 50, 0);
    cfg->down_n = DR_DOWN_CUSTOM;
    cfg->idle_for_ms = 600 * DR_SECOND_MS;
    cfg->max_batch_down = 1;
    cfg->cooldown_down_ms = 600 * DR_SECOND_MS;
    cfg->drain_timeout_ms = 300 * DR_SECOND_MS;
    cfg->stuck_ms = 900 * DR_SECOND_MS;
    cfg->victim_avoid_ms = 10 * DR_MINUTE_MS;
    static const enum dr_order order[] = {DR_ORDER_ZONE, DR_ORDER_IDLE, DR_ORDER_PODS, DR_ORDER_AGE};
    cfg->order_n = sizeof order / sizeof order[0];
    for (size_t i = 0; i < cfg->order_n; i++) {
        cfg->order[i] = order[i];
    }
}

static void init_default(struct dr_config *cfg) {
    *cfg = (struct dr_config){.cluster = DR_STR("cluster"), .interval_ms = 2 * DR_MINUTE_MS, .min_workers = 2, .max_workers = 10};
    /* A pass ends before the next one is due. */
    cfg->tick_limit_ms = 100 * DR_SECOND_MS;
    init_signals(cfg);
    init_up(cfg);
    init_down(cfg);
    cfg->cooldown_by = DR_COOLDOWN_WANTED;
    /* Most workers on spot, one always on demand: a market that closes at once leaves something to stand on. */
    cfg->spot_percent = 70;
    cfg->on_demand_base = 1;
    cfg->stockout_ms = 10 * DR_MINUTE_MS;
    cfg->replace = DR_REPLACE_AT_ONCE;
    cfg->replace_market = DR_REPLACE_SAME;
    cfg->journal_days = 30;
}

/* What strict and simple have in common: they describe one system, without a memory signal, spot first, oldest worker of the fullest zone first. */
static void init_published(struct dr_config *cfg) {
    cfg->up[DR_UP_MEMORY].off = true;
    cfg->down[DR_DOWN_MEMORY].off = true;
    cfg->sizing = DR_SIZING_RATIO;
    cfg->spot_percent = 100;
    cfg->on_demand_base = 0;
    cfg->order[0] = DR_ORDER_ZONE;
    cfg->order[1] = DR_ORDER_AGE;
    cfg->order_n = 2;
}

static void init_strict(struct dr_config *cfg) {
    init_published(cfg);
    cfg->up_match = DR_MATCH_ALL;
    cfg->up[DR_UP_CPU].compare = DR_AT_LEAST;
    cfg->up[DR_UP_CPU].for_ms = 0;
}

static void init_simple(struct dr_config *cfg) {
    init_published(cfg);
    cfg->down[DR_DOWN_CPU].compare = DR_AT_MOST;
}

static void add_custom(struct dr_config *cfg, const char *name, int64_t above, const char *query) {
    struct dr_custom custom;
    dr_custom_init(&custom);
    custom.name = dr_str_of(name);
    custom.query = dr_str_of(query);
    custom.has_above = true;
    custom.above_micro = above * 1000000;
    struct dr_err err;
    int r = dr_config_add_custom(cfg, &custom, &err);
    DR_ASSERT(r == 0);
}

static void init_layered(struct dr_config *cfg) {
    for (size_t i = DR_UP_CPU; i <= DR_UP_MEMORY; i++) {
        cfg->up[i].for_ms = 0;
        cfg->up[i].readings = 2;
    }
    cfg->up[DR_UP_PENDING].for_ms = 0;
    cfg->sizing = DR_SIZING_STEP;
    cfg->idle_for_ms = 0;
    cfg->cooldown_by = DR_COOLDOWN_LAST;
    cfg->join_timeout_ms = 300 * DR_SECOND_MS;
    cfg->join_failure = DR_JOIN_QUARANTINE;
    cfg->spot_percent = 70;
    cfg->on_demand_base = 0;
    cfg->order_n = 3; /* zone, idle, pods */
    cfg->replace = DR_REPLACE_NEXT_TICK;
    cfg->replace_market = DR_REPLACE_ON_DEMAND;
    /* Series under the names that the usual client libraries give them; where there is none the signal is unknown and asks for nothing. */
    add_custom(cfg, "queue_depth", 100, "sum(queue_depth)");
    add_custom(cfg, "api_latency_p95", 500,
               "1000 * histogram_quantile(0.95, sum by (le) (rate(http_request_duration_seconds_bucket[5m])))");
    add_custom(cfg, "request_rate", 1000, "sum(rate(http_requests_total[5m]))");
}

void dr_config_init(struct dr_config *cfg, enum dr_preset preset) {
    init_default(cfg);
    switch (preset) {
    case DR_PRESET_DEFAULT:
        break;
    case DR_PRESET_STRICT:
        init_strict(cfg);
        break;
    case DR_PRESET_SIMPLE:
        init_simple(cfg);
        break;
    case DR_PRESET_LAYERED:
        init_layered(cfg);
        break;
    }
    dr_config_windows(cfg);
}
