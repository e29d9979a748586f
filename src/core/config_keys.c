/* The one table of keys. Parser, `drover config`, the reference page and the schema are made from it; defaults come from dr_config_init. */
#include <stddef.h>

#include "base/time.h"
#include "core/config.h"

#define AT(member) .offset = offsetof(struct dr_config, member)
#define OFF(member) .choices = "off", .flag = offsetof(struct dr_config, member)
#define RANGE(lo, hi) .min = (lo), .max = (hi)
#define PERCENT INT64_C(10000) /* in millionths */
#define SECONDS DR_SECOND_MS
#define MINUTES DR_MINUTE_MS
#define HOURS DR_HOUR_MS
#define DAYS DR_DAY_MS

/* Threshold, operator, window and readings of a rule on cpu or memory. Members and literals cannot stand in parentheses. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define RATIO_RULE(dir, what, slot, ops, env_, text)                                                                                       \
    {.path = dir "." what ".threshold",                                                                                                    \
     .type = DR_KEY_RATIO,                                                                                                                 \
     .unit = "%",                                                                                                                          \
     RANGE(PERCENT, 100 * PERCENT),                                                                                                        \
     OFF(slot.off),                                                                                                                        \
     .env = env_,                                                                                                                          \
     .help = text " at this share of the workers' " what "; off: no such rule.",                                                           \
     AT(slot.threshold_micro)},                                                                                                            \
        {.path = dir "." what ".compare",                                                                                                  \
         .type = DR_KEY_COMPARE,                                                                                                           \
         .unit = "",                                                                                                                       \
         .choices = ops,                                                                                                                   \
         .help = "Operator of the threshold: with < or > a value exactly at it does not hold.",                                            \
         AT(slot.compare)},                                                                                                                \
        {.path = dir "." what ".for",                                                                                                      \
         .type = DR_KEY_SPAN,                                                                                                              \
         .unit = "",                                                                                                                       \
         RANGE(0, 6 * HOURS),                                                                                                              \
         .help = "Time over which every sample must hold; 0s: the last sample is enough.",                                                 \
         AT(slot.for_ms)},                                                                                                                 \
    {                                                                                                                                      \
        .path = dir "." what ".readings", .type = DR_KEY_INT, .unit = "readings", RANGE(1, 100),                                           \
        .help = "Number of consecutive passes, at least half an interval apart, in which it must hold.", AT(slot.readings)                 \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

static const struct dr_key keys[] = {
    {.path = "cluster",
     .type = DR_KEY_STR,
     .unit = "",
     RANGE(1, 128),
     .choices = "A-Za-z0-9._-",
     .help = "Name of the cluster and key of its state item.",
     AT(cluster)},
    {.path = "interval",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(5 * SECONDS, 1 * HOURS),
     .help = "Time between scheduled passes; clocks and streaks restart after a gap of more than 2.5 intervals.",
     AT(interval_ms)},
    {.path = "tickLimit",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(12 * SECONDS, 15 * MINUTES),
     .help = "Longest that one pass may last; it stops between effects, each of which needs 10 seconds, and the next pass goes on.",
     AT(tick_limit_ms)},
    {.path = "minWorkers",
     .type = DR_KEY_INT,
     .unit = "workers",
     RANGE(0, 1000),
     .env = "MIN_WORKERS",
     .help = "Fewer workers than this are never planned; what is missing is launched at once, without cooldown.",
     AT(min_workers)},
    {.path = "maxWorkers",
     .type = DR_KEY_INT,
     .unit = "workers",
     RANGE(1, 1000),
     .env = "MAX_WORKERS",
     .help = "More workers than this are never launched; a surplus is drained.",
     AT(max_workers)},

    {.path = "signals.minSamples",
     .type = DR_KEY_INT,
     .unit = "samples",
     RANGE(1, 100),
     .help = "A window with fewer samples is unknown.",
     AT(min_samples)},
    {.path = "signals.maxGap",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(1 * SECONDS, 1 * HOURS),
     .help = "A larger hole between samples, or between the last one and now, makes a signal unknown.",
     AT(max_gap_ms)},
    {.path = "signals.cpu.query",
     .type = DR_KEY_STR,
     .unit = "",
     RANGE(1, 4000),
     .help = "PromQL for the share of cpu in use, 0 to 1.",
     AT(signals[DR_SIGNAL_AT_CPU].query)},
    {.path = "signals.memory.query",
     .type = DR_KEY_STR,
     .unit = "",
     RANGE(1, 4000),
     .help = "PromQL for the share of memory in use, 0 to 1.",
     AT(signals[DR_SIGNAL_AT_MEMORY].query)},

    {.path = "scaleUp.match",
     .type = DR_KEY_ENUM,
     .unit = "",
     .choices = "any|all",
     .help = "Whether one rule is enough to add workers or all are needed.",
     AT(up_match)},
    RATIO_RULE("scaleUp", "cpu", up[DR_UP_CPU], ">|>=", "CPU_UP", "Adds workers"),
    RATIO_RULE("scaleUp", "memory", up[DR_UP_MEMORY], ">|>=", NULL, "Adds workers"),
    {.path = "scaleUp.pending.for",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(0, 6 * HOURS),
     OFF(up[DR_UP_PENDING].off),
     .env = "PENDING_UP_SEC",
     .help = "Adds workers when a pod that a new worker would help has waited this long; off: no such rule.",
     AT(up[DR_UP_PENDING].for_ms)},
    {.path = "scaleUp.sizing",
     .type = DR_KEY_ENUM,
     .unit = "",
     .choices = "ratio|step|fit",
     .help = "How many workers: waiting pods by podsPerNode, 2 when urgent and else 1, or as many as the waiting pods pack on.",
     AT(sizing)},
    {.path = "scaleUp.podsPerNode",
     .type = DR_KEY_INT,
     .unit = "pods",
     RANGE(1, 1000),
     .env = "PODS_PER_NODE",
     .help = "Ratio sizing: waiting pods per new worker.",
     AT(pods_per_node)},
    {.path = "scaleUp.urgentPending",
     .type = DR_KEY_INT,
     .unit = "pods",
     RANGE(0, 10000),
     .help = "Step sizing: more waiting pods than this are urgent.",
     AT(urgent_pending)},
    {.path = "scaleUp.maxBatch",
     .type = DR_KEY_INT,
     .unit = "workers",
     RANGE(1, 100),
     .env = "MAX_BATCH_UP",
     .help = "Most workers that one scale-up launches.",
     AT(max_batch_up)},
    {.path = "scaleUp.cooldown",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(0, 1 * DAYS),
     .env = "COOLDOWN_UP_SEC",
     .help = "Time after the last completed action before the rules may add workers.",
     AT(cooldown_up_ms)},
    {.path = "scaleUp.joinTimeout",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(30 * SECONDS, 1 * HOURS),
     .env = "JOIN_TIMEOUT_SEC",
     .help = "Time from its launch within which a machine must be a Ready node.",
     AT(join_timeout_ms)},
    {.path = "scaleUp.joinFailure",
     .type = DR_KEY_ENUM,
     .unit = "",
     .choices = "terminate|quarantine",
     .help = "What happens to a machine that did not join in time.",
     AT(join_failure)},
    {.path = "scaleUp.quarantine",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(1 * MINUTES, 7 * DAYS),
     .help = "How long a quarantined machine is kept for inspection before it is terminated.",
     AT(quarantine_ms)},
    {.path = "scaleUp.backoff",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(0, 1 * DAYS),
     .help = "Wait after a scale-up in which nothing joined; it doubles each time and holds for minimum enforcement too.",
     AT(backoff_ms)},
    {.path = "scaleUp.backoffMax", .type = DR_KEY_SPAN, .unit = "", RANGE(0, 1 * DAYS), .help = "Longest such wait.", AT(backoff_max_ms)},

    RATIO_RULE("scaleDown", "cpu", down[DR_DOWN_CPU], "<|<=", "CPU_DOWN", "Removes workers"),
    RATIO_RULE("scaleDown", "memory", down[DR_DOWN_MEMORY], "<|<=", NULL, "Removes workers"),
    {.path = "scaleDown.idleFor",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(0, 7 * DAYS),
     .env = "IDLE_DOWN_SEC",
     .help = "How long every scale-down rule must have held with no pod waiting.",
     AT(idle_for_ms)},
    {.path = "scaleDown.maxBatch",
     .type = DR_KEY_INT,
     .unit = "workers",
     RANGE(1, 100),
     .help = "Most workers that one scale-down removes.",
     AT(max_batch_down)},
    {.path = "scaleDown.cooldown",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(0, 1 * DAYS),
     .env = "COOLDOWN_DOWN_SEC",
     .help = "Time after the last completed action before idle workers may be removed.",
     AT(cooldown_down_ms)},
    {.path = "scaleDown.drainTimeout",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(10 * SECONDS, 1 * HOURS),
     .help = "Time within which a worker's pods must have left; otherwise it is given back.",
     AT(drain_timeout_ms)},
    {.path = "scaleDown.stuckLimit",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(1 * MINUTES, 6 * HOURS),
     .help = "A scale-down older than this is cleared; what is not committed is undone.",
     AT(stuck_ms)},
    {.path = "scaleDown.avoidVictim",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(0, 1 * DAYS),
     .help = "How long a worker whose drain failed is not chosen again; doubles each time.",
     AT(victim_avoid_ms)},
    {.path = "scaleDown.order",
     .type = DR_KEY_ENUM_LIST,
     .unit = "",
     .choices = "zone|idle|pods|age",
     .help = "Who goes first: of the fullest zone, the least used, with the fewest pods, the oldest.",
     AT(order)},
    {.path = "scaleDown.allowBarePods",
     .type = DR_KEY_BOOL,
     .unit = "",
     .help = "Whether a pod without a controller may be evicted: nothing brings it back.",
     AT(allow_bare_pods)},
    {.path = "scaleDown.allowLocalData",
     .type = DR_KEY_BOOL,
     .unit = "",
     .help = "Whether a pod with data on its node may be evicted: the data is lost.",
     AT(allow_local_data)},

    {.path = "cooldown.by",
     .type = DR_KEY_ENUM,
     .unit = "",
     .choices = "wanted|last",
     .help = "Whose cooldown counts: that of the direction wanted now, or that of the last action.",
     AT(cooldown_by)},

    {.path = "launch.spotPercent",
     .type = DR_KEY_INT,
     .unit = "%",
     RANGE(0, 100),
     .help = "Share of workers on spot beyond the on-demand base; 100: spot first, 0: never.",
     AT(spot_percent)},
    {.path = "launch.onDemandBase",
     .type = DR_KEY_INT,
     .unit = "workers",
     RANGE(0, 1000),
     .help = "This many workers are on demand before any is on spot.",
     AT(on_demand_base)},
    {.path = "launch.stockout",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(0, 1 * DAYS),
     .help = "How long a type, zone and market that was out of stock is left out.",
     AT(stockout_ms)},

    {.path = "interruption.replace",
     .type = DR_KEY_ENUM,
     .unit = "",
     .choices = "at_once|next_tick",
     .help = "When the replacement of an interrupted worker is launched.",
     AT(replace)},
    {.path = "interruption.market",
     .type = DR_KEY_ENUM,
     .unit = "",
     .choices = "same|on_demand",
     .help = "Market of the replacement: chosen as for any worker, or on demand.",
     AT(replace_market)},

    {.path = "journal.days", .type = DR_KEY_INT, .unit = "days", RANGE(1, 3650), .help = "How long decisions are kept.", AT(journal_days)},
};

#define CUSTOM(member) .offset = offsetof(struct dr_custom, member)
#define GIVEN(member) .flag = offsetof(struct dr_custom, member)
#define HUGE_VALUE INT64_C(1000000000000000000) /* 10^12 units */

static const struct dr_key custom_keys[] = {
    {.path = "name",
     .type = DR_KEY_STR,
     .unit = "",
     RANGE(1, 64),
     .choices = "A-Za-z0-9._-",
     .help = "Name of the signal in reasons and records.",
     CUSTOM(name)},
    {.path = "query", .type = DR_KEY_STR, .unit = "", RANGE(1, 4000), .help = "PromQL that gives one number.", CUSTOM(query)},
    {.path = "above",
     .type = DR_KEY_VALUE,
     .unit = "",
     RANGE(-HUGE_VALUE, HUGE_VALUE),
     .help = "Adds workers when the value is above this.",
     CUSTOM(above_micro),
     GIVEN(has_above)},
    {.path = "below",
     .type = DR_KEY_VALUE,
     .unit = "",
     RANGE(-HUGE_VALUE, HUGE_VALUE),
     .help = "Workers are removed only while the value is below this; an unknown value then holds the removal up.",
     CUSTOM(below_micro),
     GIVEN(has_below)},
    {.path = "for",
     .type = DR_KEY_SPAN,
     .unit = "",
     RANGE(0, 6 * HOURS),
     .help = "Time over which every sample must hold; 0s: the last sample is enough.",
     CUSTOM(for_ms)},
    {.path = "readings",
     .type = DR_KEY_INT,
     .unit = "readings",
     RANGE(1, 100),
     .help = "Number of consecutive passes in which it must hold.",
     CUSTOM(readings)},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct dr_key *dr_config_keys(size_t *ret_n) {
    *ret_n = COUNT(keys);
    return keys;
}

const struct dr_key *dr_custom_keys(size_t *ret_n) {
    *ret_n = COUNT(custom_keys);
    return custom_keys;
}

static const struct dr_key *find(const struct dr_key *table, size_t n, struct dr_str path) {
    for (size_t i = 0; i < n; i++) {
        if (dr_str_is(path, table[i].path)) {
            return &table[i];
        }
    }
    return NULL;
}

const struct dr_key *dr_config_key_find(struct dr_str path) { return find(keys, COUNT(keys), path); }

const struct dr_key *dr_custom_key_find(struct dr_str path) { return find(custom_keys, COUNT(custom_keys), path); }

const struct dr_key *dr_config_key_of_env(struct dr_str variable) {
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (keys[i].env != NULL && dr_str_is(variable, keys[i].env)) {
            return &keys[i];
        }
    }
    return NULL;
}

const struct dr_key *dr_config_key_near(struct dr_str path) {
    const struct dr_key *best = NULL;
    unsigned best_distance = 5; /* more than four slips of the finger is another word */
    for (size_t i = 0; i < COUNT(keys); i++) {
        unsigned distance = dr_str_distance(path, dr_str_of(keys[i].path), best_distance);
        if (distance < best_distance) {
            best = &keys[i];
            best_distance = distance;
        }
    }
    return best;
}
