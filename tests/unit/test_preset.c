/*
 * Golden decision tables, one per published algorithm, written by hand from the documents: scale-up and scale-down workflows (strict), scaling algorithm (simple), layered algorithm with its flash-sale and spot timelines.
 * Where drover departs on purpose the row says so.
 */
#include "decision_world.h"
#include "harness/test.h"

#define U WORLD_UNKNOWN
#define NEVER (-1)
#define LONG 3600

struct row {
    const char *what;
    /* given */
    int64_t cpu, cpu_for_s, cpu_before; /* percent now, for how long, and before that */
    int64_t memory;                     /* percent */
    int64_t pods, pods_for_s;           /* that wait and that a new worker would help */
    int64_t workers, min, max;
    int64_t scaled_s; /* ago; NEVER */
    int64_t idle_s;   /* on the idle clock; NEVER: not running */
    /* expected */
    enum dr_verdict verdict;
    int delta;
    enum dr_reason reason;
    const char *clamped_by;
};

static void check(const struct row *row, const struct world *w) {
    const struct dr_decision *d = &w->plan.decision;
    const char *by = d->clamped_by == NULL ? "-" : d->clamped_by;
    const char *expected_by = row->clamped_by == NULL ? "-" : row->clamped_by;
    if (d->verdict != row->verdict || d->delta != row->delta || d->reason != row->reason || strcmp(by, expected_by) != 0) {
        FAIL("%s: %s %+d %s by %s, expected %s %+d %s by %s", row->what, dr_verdict_name(d->verdict), (int)d->delta,
             dr_reason_name(d->reason), by, dr_verdict_name(row->verdict), row->delta, dr_reason_name(row->reason), expected_by);
    }
}

static void run(enum dr_preset preset, const struct row *row) {
    struct world *w = world_new(preset);
    w->cfg.min_workers = row->min;
    w->cfg.max_workers = row->max;
    world_workers(w, (size_t)row->workers);
    if (row->cpu == U) {
        world_unknown(w, DR_SIGNAL_AT_CPU, "connection refused");
    } else {
        world_signal(w, DR_SIGNAL_AT_CPU, row->cpu * 10000, row->cpu_for_s * DR_SECOND_MS, row->cpu_before * 10000);
    }
    world_percent(w, DR_SIGNAL_AT_MEMORY, row->memory);
    world_pending(w, (size_t)row->pods, row->pods_for_s * DR_SECOND_MS);
    if (row->scaled_s != NEVER) {
        world_last_scale(w, "scale_up", row->scaled_s);
    }
    if (row->idle_s != NEVER) {
        world_idle(w, row->idle_s);
    }
    world_decide(w);
    check(row, w);
    world_free(w);
}

#define UP DR_VERDICT_SCALE_UP
#define DOWN DR_VERDICT_SCALE_DOWN
#define NOOP DR_VERDICT_NOOP
#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* clang-format off: tables are read by column */
/* ---- strict: cpu >= 70 % and pods pending for >= 180 s, both; cpu < 30 %, nothing pending, idle for 600 s ---- */

static const struct row strict_rows[] = {
    /* what                                 cpu  for  bef mem pods for  n  min max scaled idle   expected */
    {"cpu high and pods waiting", 80, LONG, 80, 60, 5, 200, 3, 2, 10, NEVER, NEVER, UP, 1, DR_REASON_RULES, NULL},
    {"both exactly at the threshold", 70, LONG, 70, 60, 5, 180, 3, 2, 10, NEVER, NEVER, UP, 1, DR_REASON_RULES, NULL},
    {"cpu one reading above is enough", 80, 0, 50, 60, 5, 200, 3, 2, 10, NEVER, NEVER, UP, 1, DR_REASON_RULES, NULL},
    {"cpu just below", 69, LONG, 69, 60, 5, 200, 3, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"pods wait one second too short", 80, LONG, 80, 60, 5, 179, 3, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_SPIKE, NULL},
    {"cpu high but nothing waits", 95, LONG, 95, 60, 0, 0, 3, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"pods wait for an hour but cpu is low", 15, LONG, 15, 60, 40, 3600, 3, 2, 10, NEVER, 600, NOOP, 0, DR_REASON_PENDING, NULL},
    {"ten pods are one worker", 80, LONG, 80, 60, 10, 200, 3, 2, 10, NEVER, NEVER, UP, 1, DR_REASON_RULES, NULL},
    {"eleven pods are two workers", 80, LONG, 80, 60, 11, 200, 3, 2, 10, NEVER, NEVER, UP, 2, DR_REASON_RULES, NULL},
    {"batch limits", 80, LONG, 80, 60, 35, 200, 3, 2, 10, NEVER, NEVER, UP, 2, DR_REASON_RULES, "batch"},
    {"maximum limits", 80, LONG, 80, 60, 35, 200, 9, 2, 10, NEVER, NEVER, UP, 1, DR_REASON_RULES, "maximum"},
    {"at maximum", 80, LONG, 80, 60, 35, 200, 10, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_MAX_REACHED, "maximum"},
    {"cooldown up not over", 80, LONG, 80, 60, 5, 200, 3, 2, 10, 299, NEVER, NOOP, 0, DR_REASON_COOLDOWN, NULL},
    {"cooldown up just over", 80, LONG, 80, 60, 5, 200, 3, 2, 10, 300, NEVER, UP, 1, DR_REASON_RULES, NULL},
    {"memory plays no part", 50, LONG, 50, 99, 0, 0, 3, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},

    {"idle long enough", 20, LONG, 20, 60, 0, 0, 4, 2, 10, 600, 600, DOWN, -1, DR_REASON_IDLE, NULL},
    {"memory does not hold it up", 20, LONG, 20, 99, 0, 0, 4, 2, 10, 600, 600, DOWN, -1, DR_REASON_IDLE, NULL},
    {"just below the lower threshold", 29, LONG, 29, 60, 0, 0, 4, 2, 10, NEVER, 600, DOWN, -1, DR_REASON_IDLE, NULL},
    {"exactly at the lower threshold", 30, LONG, 30, 60, 0, 0, 4, 2, 10, NEVER, 600, NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"idle one second too short", 20, LONG, 20, 60, 0, 0, 4, 2, 10, NEVER, 599, NOOP, 0, DR_REASON_NOT_IDLE_YET, NULL},
    {"the idle clock starts at the action", 20, LONG, 20, 60, 0, 0, 4, 2, 10, 599, 700, NOOP, 0, DR_REASON_NOT_IDLE_YET, NULL},
    {"at minimum", 20, LONG, 20, 60, 0, 0, 2, 2, 10, NEVER, 900, NOOP, 0, DR_REASON_AT_MINIMUM, NULL},
    {"a pod waits", 20, LONG, 20, 60, 1, 10, 4, 2, 10, NEVER, 900, NOOP, 0, DR_REASON_PENDING, NULL},
    {"cpu unknown", U, LONG, 20, 60, 0, 0, 4, 2, 10, NEVER, 900, NOOP, 0, DR_REASON_UNKNOWN, NULL},
    /* Departure: the workflows know a minimum only as a floor for removal; a worker that is lost is replaced without cooldown. */
    {"below minimum in cooldown", 50, LONG, 50, 60, 0, 0, 1, 2, 10, 10, NEVER, UP, 1, DR_REASON_BELOW_MINIMUM, NULL},
};

/* clang-format on */
TEST(preset_strict, golden_table) {
    for (size_t i = 0; i < ROWS(strict_rows); i++) {
        run(DR_PRESET_STRICT, &strict_rows[i]);
    }
}

/* ---- simple: cpu > 70 % for 3 min, or pods pending for 180 s; cpu <= 30 %, nothing pending, idle for 600 s ---- */

/* clang-format off */
static const struct row simple_rows[] = {
    /* what                                 cpu  for  bef mem pods for  n  min max scaled idle   expected */
    {"cpu above for three minutes",         71,  180, 50, 60,  0,   0,  3, 2, 10, NEVER, NEVER, UP, 1, DR_REASON_RULES, NULL},
    {"cpu above, a quarter minute short",   71,  165, 50, 60,  0,   0,  3, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_SPIKE, NULL},
    {"cpu exactly at the threshold",        70, LONG, 70, 60,  0,   0,  3, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"a short spike",                       99,   60, 50, 60,  0,   0,  3, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_SPIKE, NULL},
    {"pods alone are enough",               20, LONG, 20, 60,  3, 180,  3, 2, 10, NEVER, NEVER, UP, 1, DR_REASON_RULES, NULL},
    {"pods wait one second too short",      50, LONG, 50, 60,  3, 179,  3, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_SPIKE, NULL},
    {"eleven pods are two workers",         50, LONG, 50, 60, 11, 180,  3, 2, 10, NEVER, NEVER, UP, 2, DR_REASON_RULES, NULL},
    {"batch limits",                        50, LONG, 50, 60, 25, 180,  3, 2, 10, NEVER, NEVER, UP, 2, DR_REASON_RULES, "batch"},
    {"maximum limits",                      50, LONG, 50, 60, 25, 180,  9, 2, 10, NEVER, NEVER, UP, 1, DR_REASON_RULES, "maximum"},
    {"memory plays no part",                50, LONG, 50, 99,  0,   0,  3, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    /* the four cases in which nothing is done; the fourth, an action in progress, is a test of its own */
    {"metrics unavailable",                  U,    0,  0, 60,  0,   0,  3, 2, 10, NEVER,   900, NOOP, 0, DR_REASON_UNKNOWN, NULL},
    {"max workers reached",                 90, LONG, 90, 60,  9, 200, 10, 2, 10, NEVER, NEVER, NOOP, 0, DR_REASON_MAX_REACHED, "maximum"},
    {"cooldown up active",                  90, LONG, 90, 60,  9, 200,  3, 2, 10,   299, NEVER, NOOP, 0, DR_REASON_COOLDOWN, NULL},
    {"cooldown up elapsed",                 90, LONG, 90, 60,  9, 200,  3, 2, 10,   300, NEVER, UP, 1, DR_REASON_RULES, NULL},
    /* Departure: with cpu unknown the pods, which are known, may still ask for a worker. */
    {"cpu unknown, pods waiting",            U,    0,  0, 60,  9, 200,  3, 2, 10, NEVER, NEVER, UP, 1, DR_REASON_RULES, NULL},

    {"exactly at the lower threshold",      30, LONG, 30, 60,  0,   0,  4, 2, 10, NEVER,   600, DOWN, -1, DR_REASON_IDLE, NULL},
    {"just above the lower threshold",      31, LONG, 31, 60,  0,   0,  4, 2, 10, NEVER,   600, NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"idle one second too short",           10, LONG, 10, 60,  0,   0,  4, 2, 10, NEVER,   599, NOOP, 0, DR_REASON_NOT_IDLE_YET, NULL},
    {"one node at a time",                  10, LONG, 10, 60,  0,   0,  9, 2, 10,   600,   600, DOWN, -1, DR_REASON_IDLE, NULL},
    {"a pod waits",                         10, LONG, 10, 60,  1,  10,  4, 2, 10, NEVER,   900, NOOP, 0, DR_REASON_SPIKE, NULL},
    {"at minimum",                          10, LONG, 10, 60,  0,   0,  2, 2, 10, NEVER,   900, NOOP, 0, DR_REASON_AT_MINIMUM, NULL},
    {"at maximum and idle",                 10, LONG, 10, 60,  0,   0, 10, 2, 10, NEVER,   900, DOWN, -1, DR_REASON_IDLE, NULL},
};

/* clang-format on */
TEST(preset_simple, golden_table) {
    for (size_t i = 0; i < ROWS(simple_rows); i++) {
        run(DR_PRESET_SIMPLE, &simple_rows[i]);
    }
}

TEST(preset_simple, action_in_progress_decides_nothing) {
    struct world *w = world_new(DR_PRESET_SIMPLE);
    world_workers(w, 3);
    world_percent(w, DR_SIGNAL_AT_CPU, 95);
    w->state.scaling = true;
    w->state.up_action_id = DR_STR("1799999900-req");
    const struct dr_decision *d = world_decide(w);
    CHECK_EQ_INT(d->verdict, DR_VERDICT_ADVANCE);
    CHECK_EQ_INT(d->reason, DR_REASON_ACTION_ACTIVE);
    CHECK_EQ_INT(d->delta, 0);
    world_free(w);
}

TEST(preset_simple, cooldown_of_the_wanted_direction_counts_after_either_action) {
    /* Down waits 600 s after a scale-up, up waits 300 s after a scale-down. */
    struct world *w = world_new(DR_PRESET_SIMPLE);
    world_workers(w, 4);
    world_percent(w, DR_SIGNAL_AT_CPU, 10);
    w->cfg.idle_for_ms = 0;
    world_last_scale(w, "scale_up", 599);
    CHECK_EQ_INT(world_decide(w)->reason, DR_REASON_COOLDOWN);
    CHECK_EQ_INT(w->plan.decision.left_ms, 1000);
    world_last_scale(w, "scale_up", 600);
    CHECK_EQ_INT(world_decide(w)->verdict, DR_VERDICT_SCALE_DOWN);
    world_percent(w, DR_SIGNAL_AT_CPU, 95);
    world_last_scale(w, "scale_down", 300);
    CHECK_EQ_INT(world_decide(w)->verdict, DR_VERDICT_SCALE_UP);
    world_free(w);
}

/* ---- layered ---- */

struct layered_row {
    const char *what;
    int64_t cpu, cpu_before; /* percent in this reading and in the one two minutes earlier; U: unknown */
    int64_t memory, memory_before;
    int64_t pods;
    int64_t workers, min, max;
    const char *last; /* last action */
    int64_t scaled_s;
    enum dr_verdict verdict;
    int delta;
    enum dr_reason reason;
    const char *clamped_by;
};

/* Two readings, two minutes apart: the first only moves the clocks. */
static void run_layered(const struct layered_row *row) {
    struct world *w = world_new(DR_PRESET_LAYERED);
    w->cfg.min_workers = row->min;
    w->cfg.max_workers = row->max;
    world_workers(w, (size_t)row->workers);
    w->snap.now_ms = WORLD_NOW_MS - 2 * DR_MINUTE_MS;
    world_percent(w, DR_SIGNAL_AT_CPU, row->cpu_before);
    world_percent(w, DR_SIGNAL_AT_MEMORY, row->memory_before);
    dr_view_build(&w->arena, &w->cfg, &w->state, &w->snap, &w->view);
    struct dr_state next;
    dr_clocks_update(&w->arena, &w->view, &next);
    w->state = next;
    w->snap.now_ms = WORLD_NOW_MS;
    world_percent(w, DR_SIGNAL_AT_CPU, row->cpu);
    world_percent(w, DR_SIGNAL_AT_MEMORY, row->memory);
    world_pending(w, (size_t)row->pods, 0);
    if (row->scaled_s != NEVER) {
        world_last_scale(w, row->last, row->scaled_s);
    }
    world_decide(w);
    struct row expected = {
        .what = row->what, .verdict = row->verdict, .delta = row->delta, .reason = row->reason, .clamped_by = row->clamped_by};
    check(&expected, w);
    world_free(w);
}

/* clang-format off */
static const struct layered_row flash_sale[] = {
    /* time    cpu bef mem bef pods n min max  last action, s ago      expected */
    {"20:00",  35, 35, 60, 60, 0,  2, 2, 10, "", NEVER,           NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"20:02",  65, 35, 60, 60, 0,  2, 2, 10, "", NEVER,           NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"20:04",  82, 65, 60, 60, 3,  2, 2, 10, "", NEVER,           UP, 2, DR_REASON_RULES, NULL},
    {"20:06",  85, 82, 60, 60, 8,  4, 2, 10, "scale_up", 120,     NOOP, 0, DR_REASON_COOLDOWN, NULL},
    {"20:08",  78, 85, 60, 60, 2,  4, 2, 10, "scale_up", 240,     NOOP, 0, DR_REASON_COOLDOWN, NULL},
    {"20:10",  68, 78, 60, 60, 0,  4, 2, 10, "scale_up", 360,     NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"20:30",  40, 42, 45, 45, 0,  4, 2, 10, "scale_up", 1560,    NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"20:40",  28, 31, 45, 45, 0,  4, 2, 10, "scale_up", 2160,    DOWN, -1, DR_REASON_IDLE, NULL},
};

/* clang-format on */
TEST(preset_layered, flash_sale_timeline) {
    for (size_t i = 0; i < ROWS(flash_sale); i++) {
        run_layered(&flash_sale[i]);
    }
}

/* clang-format off */
static const struct layered_row layered_rows[] = {
    /* what                                       cpu bef mem bef pods n min max last, s ago             expected */
    {"cpu above in two readings",                 71, 71, 60, 60, 0,  3, 2, 10, "", NEVER,            UP, 1, DR_REASON_RULES, NULL},
    {"cpu above in this reading only",            71, 60, 60, 60, 0,  3, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_SPIKE, NULL},
    {"cpu above, before it exactly at threshold", 71, 70, 60, 60, 0,  3, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_SPIKE, NULL},
    {"cpu exactly at the threshold",              70, 80, 60, 60, 0,  3, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"cpu above, before it unknown",              71,  U, 60, 60, 0,  3, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_SPIKE, NULL},
    {"memory above in two readings",              50, 50, 76, 76, 0,  3, 2, 10, "", NEVER,            UP, 1, DR_REASON_RULES, NULL},
    {"memory above in this reading only",         50, 50, 76, 70, 0,  3, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_SPIKE, NULL},
    {"memory exactly at the threshold",           50, 50, 75, 80, 0,  3, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"one pod, at once",                          50, 50, 60, 60, 1,  3, 2, 10, "", NEVER,            UP, 1, DR_REASON_RULES, NULL},
    {"five pods are not urgent",                  50, 50, 60, 60, 5,  3, 2, 10, "", NEVER,            UP, 1, DR_REASON_RULES, NULL},
    {"six pods are urgent",                       50, 50, 60, 60, 6,  3, 2, 10, "", NEVER,            UP, 2, DR_REASON_RULES, NULL},
    {"urgent, one below maximum",                 50, 50, 60, 60, 6,  9, 2, 10, "", NEVER,            UP, 1, DR_REASON_RULES, "maximum"},
    {"at maximum",                                90, 90, 60, 60, 6, 10, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_MAX_REACHED, "maximum"},
    {"below minimum, in cooldown",                50, 50, 60, 60, 0,  1, 2, 10, "scale_up", 10,       UP, 1, DR_REASON_BELOW_MINIMUM, NULL},
    {"no worker at all",                          50, 50, 60, 60, 0,  0, 2, 10, "scale_up", 10,       UP, 2, DR_REASON_BELOW_MINIMUM, NULL},
    /* Departure: minimum enforcement stays within the batch limit. */
    {"far below minimum",                         50, 50, 60, 60, 0,  1, 5, 10, "", NEVER,            UP, 2, DR_REASON_BELOW_MINIMUM, "batch"},
    {"spot interruption, 10:04",                  50, 50, 60, 60, 0,  3, 4, 10, "", NEVER,            UP, 1, DR_REASON_BELOW_MINIMUM, NULL},
    /* Departure: no action on cached metrics. */
    {"cpu unknown",                                U, 20, 40, 40, 0,  4, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_UNKNOWN, NULL},
    {"all metrics unknown, pods waiting",          U,  U,  U,  U, 6,  4, 2, 10, "", NEVER,            UP, 2, DR_REASON_RULES, NULL},

    {"low in cpu and memory",                     29, 29, 49, 49, 0,  4, 2, 10, "", NEVER,            DOWN, -1, DR_REASON_IDLE, NULL},
    {"low for the first time is enough",          29, 50, 49, 60, 0,  4, 2, 10, "", NEVER,            DOWN, -1, DR_REASON_IDLE, NULL},
    {"cpu exactly at the lower threshold",        30, 29, 49, 49, 0,  4, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"memory exactly at the lower threshold",     29, 29, 50, 49, 0,  4, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_WITHIN_LIMITS, NULL},
    {"low at minimum",                            29, 29, 49, 49, 0,  2, 2, 10, "", NEVER,            NOOP, 0, DR_REASON_AT_MINIMUM, NULL},
    /* The last action's own cooldown counts, whatever is wanted now. */
    {"down 299 s after up",                       29, 29, 49, 49, 0,  4, 2, 10, "scale_up", 299,      NOOP, 0, DR_REASON_COOLDOWN, NULL},
    {"down 300 s after up",                       29, 29, 49, 49, 0,  4, 2, 10, "scale_up", 300,      DOWN, -1, DR_REASON_IDLE, NULL},
    {"up 599 s after down",                       90, 90, 60, 60, 0,  4, 2, 10, "scale_down", 599,    NOOP, 0, DR_REASON_COOLDOWN, NULL},
    {"up 600 s after down",                       90, 90, 60, 60, 0,  4, 2, 10, "scale_down", 600,    UP, 1, DR_REASON_RULES, NULL},
};

/* clang-format on */
TEST(preset_layered, golden_table) {
    for (size_t i = 0; i < ROWS(layered_rows); i++) {
        run_layered(&layered_rows[i]);
    }
}

TEST(preset_layered, custom_signals_ask_above_their_threshold_only) {
    static const struct {
        const char *name;
        int64_t threshold;
    } signals[] = {{"queue_depth", 100}, {"api_latency_p95", 500}, {"request_rate", 1000}};
    for (size_t i = 0; i < ROWS(signals); i++) {
        struct world *w = world_new(DR_PRESET_LAYERED);
        world_workers(w, 3);
        size_t signal = DR_SIGNAL_AT_CUSTOM + i;
        CHECK_EQ_STR(w->cfg.signals[signal].name, signals[i].name);
        world_signal(w, signal, signals[i].threshold * 1000000, DR_DAY_MS, 0);
        CHECK_EQ_INT(world_decide(w)->verdict, DR_VERDICT_NOOP);
        world_signal(w, signal, signals[i].threshold * 1000000 + 1, DR_DAY_MS, 0);
        CHECK_EQ_INT(world_decide(w)->verdict, DR_VERDICT_SCALE_UP);
        CHECK_EQ_INT(w->plan.decision.delta, 1);
        CHECK_CONTAINS(world_text(w), signals[i].name);
        world_free(w);
    }
}

/* ---- what else the presets say ---- */

TEST(presets, values_that_no_decision_shows) {
    struct dr_config c;
    dr_config_init(&c, DR_PRESET_DEFAULT);
    CHECK_EQ_INT(c.sizing, DR_SIZING_FIT);
    CHECK_EQ_INT(c.interval_ms, 120000);
    CHECK_EQ_INT(c.join_timeout_ms, 600000);
    CHECK_EQ_INT(c.drain_timeout_ms, 300000);
    CHECK_EQ_INT(c.stuck_ms, 900000);
    CHECK_EQ_INT(c.pods_per_node, 10);
    CHECK_EQ_INT(c.order_n, 4);
    dr_config_init(&c, DR_PRESET_STRICT);
    CHECK_EQ_INT(c.spot_percent, 100);
    CHECK_EQ_INT(c.on_demand_base, 0);
    CHECK_EQ_INT(c.order_n, 2);
    CHECK_EQ_INT(c.order[0], DR_ORDER_ZONE);
    CHECK_EQ_INT(c.order[1], DR_ORDER_AGE);
    dr_config_init(&c, DR_PRESET_LAYERED);
    CHECK_EQ_INT(c.spot_percent, 70);
    CHECK_EQ_INT(c.replace, DR_REPLACE_NEXT_TICK);
    CHECK_EQ_INT(c.replace_market, DR_REPLACE_ON_DEMAND);
    CHECK_EQ_INT(c.join_failure, DR_JOIN_QUARANTINE);
    CHECK_EQ_INT(c.cooldown_by, DR_COOLDOWN_LAST);
    CHECK_EQ_INT(dr_config_custom_n(&c), 3);
}

TEST(presets, are_found_by_name_and_free_of_contradictions) {
    for (int i = 0; i < DR_PRESET_N; i++) {
        enum dr_preset found = DR_PRESET_DEFAULT;
        CHECK(dr_preset_find(dr_str_of(dr_preset_name((enum dr_preset)i)), &found));
        CHECK_EQ_INT(found, i);
        struct dr_config c;
        dr_config_init(&c, found);
        CHECK_EQ_INT(dr_config_check(&c, NULL, NULL), 0);
    }
    enum dr_preset untouched = DR_PRESET_SIMPLE;
    CHECK(!dr_preset_find(DR_STR("strictly"), &untouched));
    CHECK_EQ_INT(untouched, DR_PRESET_SIMPLE);
}
