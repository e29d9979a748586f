#include "core/decision.h"

#include "decision_world.h"
#include "harness/test.h"

static void expect(struct world *w, enum dr_verdict verdict, int64_t delta, enum dr_reason reason) {
    const struct dr_decision *d = world_decide(w);
    if (d->verdict != verdict || d->delta != delta || d->reason != reason) {
        FAIL("%.*s; expected %s %+d %s", DR_FMT(world_text(w)), dr_verdict_name(verdict), (int)delta, dr_reason_name(reason));
    }
}

static struct world *idle_world(size_t workers) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, workers);
    world_percent(w, DR_SIGNAL_AT_CPU, 10);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 20);
    world_idle(w, 900);
    return w;
}

static struct world *busy_world(size_t workers) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, workers);
    world_percent(w, DR_SIGNAL_AT_CPU, 90);
    return w;
}

TEST(decision, quiet_fleet_stays_as_it_is) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_WITHIN_LIMITS);
    world_free(w);
}

TEST(decision, every_rule_is_recorded_whatever_decided) {
    struct world *w = busy_world(1); /* below minimum decides */
    expect(w, DR_VERDICT_SCALE_UP, 1, DR_REASON_BELOW_MINIMUM);
    CHECK_EQ_INT(w->plan.up_n, 3);
    CHECK_EQ_INT(w->plan.down_n, 2);
    CHECK_EQ_INT(w->plan.up[0].truth, DR_YES);
    CHECK_EQ_INT(w->plan.up[0].value_micro, 900000);
    CHECK_EQ_INT(w->plan.up[1].truth, DR_NO);
    CHECK_EQ_INT(w->plan.down[0].truth, DR_NO);
    CHECK_EQ_INT(w->plan.pressure, DR_YES);
    CHECK_EQ_INT(w->plan.planned, 1);
    world_free(w);
}

TEST(decision, rules_that_are_off_are_not_there) {
    struct world *w = busy_world(3);
    w->cfg.up[DR_UP_CPU].off = true;
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_WITHIN_LIMITS);
    CHECK_EQ_INT(w->plan.up_n, 2);
    world_free(w);
}

TEST(decision, without_down_rules_nothing_is_idle) {
    struct world *w = idle_world(4);
    w->cfg.down[DR_DOWN_CPU].off = w->cfg.down[DR_DOWN_MEMORY].off = true;
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_WITHIN_LIMITS);
    world_free(w);
}

TEST(decision, high_memory_alone_scales_up) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 75);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_WITHIN_LIMITS);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 76);
    expect(w, DR_VERDICT_SCALE_UP, 1, DR_REASON_RULES);
    world_free(w);
}

TEST(decision, high_memory_keeps_idle_cpu_from_shrinking) {
    struct world *w = idle_world(4);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 50);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_WITHIN_LIMITS);
    world_free(w);
}

/* ---- minimum and maximum ---- */

TEST(hazard_15, lost_worker_does_not_wait_for_the_cooldown) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 1);
    world_last_scale(w, "scale_down", 5);
    expect(w, DR_VERDICT_SCALE_UP, 1, DR_REASON_BELOW_MINIMUM);
    world_free(w);
}

TEST(hazard_16, no_workers_and_no_load_brings_the_minimum) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_percent(w, DR_SIGNAL_AT_CPU, WORLD_UNKNOWN);
    world_percent(w, DR_SIGNAL_AT_MEMORY, WORLD_UNKNOWN);
    expect(w, DR_VERDICT_SCALE_UP, 2, DR_REASON_BELOW_MINIMUM);
    world_free(w);
}

TEST(minimum, difference_is_limited_by_the_batch) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    w->cfg.min_workers = 6;
    world_workers(w, 1);
    expect(w, DR_VERDICT_SCALE_UP, 2, DR_REASON_BELOW_MINIMUM);
    CHECK_EQ_INT(w->plan.decision.wanted, 5);
    CHECK_EQ_CSTR(w->plan.decision.clamped_by, "batch");
    world_free(w);
}

TEST(minimum, back_off_after_failed_launches_holds_here_too) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 1);
    w->state.backoff_until_epoch = WORLD_NOW_EPOCH + 90;
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_BACKOFF);
    CHECK_EQ_INT(w->plan.decision.left_ms, 90000);
    w->state.backoff_until_epoch = WORLD_NOW_EPOCH;
    expect(w, DR_VERDICT_SCALE_UP, 1, DR_REASON_BELOW_MINIMUM);
    world_free(w);
}

TEST(minimum, never_launches_past_the_maximum_for_workers_that_are_not_ready) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    w->cfg.max_workers = 3;
    world_workers(w, 3);
    for (size_t i = 0; i < 2; i++) {
        w->nodes[i].ready = DR_READY_FALSE;
        w->nodes[i].ready_changed_ms = WORLD_NOW_MS - 6 * DR_MINUTE_MS;
    }
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_MAX_REACHED);
    CHECK_EQ_INT(w->plan.live, 1);
    CHECK_EQ_INT(w->plan.held, 3);
    world_free(w);
}

TEST(maximum, surplus_goes_whatever_load_and_cooldown_say) {
    struct world *w = busy_world(6);
    w->cfg.max_workers = 4;
    world_last_scale(w, "scale_up", 1);
    expect(w, DR_VERDICT_SCALE_DOWN, -1, DR_REASON_ABOVE_MAXIMUM);
    CHECK_EQ_INT(w->plan.decision.wanted, 2);
    CHECK_EQ_CSTR(w->plan.decision.clamped_by, "batch");
    w->cfg.max_batch_down = 5;
    expect(w, DR_VERDICT_SCALE_DOWN, -2, DR_REASON_ABOVE_MAXIMUM);
    CHECK(w->plan.decision.clamped_by == NULL);
    world_free(w);
}

TEST(hazard_12, at_maximum_the_fleet_can_still_shrink) {
    struct world *w = idle_world(10);
    expect(w, DR_VERDICT_SCALE_DOWN, -1, DR_REASON_IDLE);
    CHECK_EQ_INT(w->plan.decision.victims.chosen.n, 1);
    world_free(w);
}

TEST(maximum, pressure_at_the_maximum_neither_grows_nor_shrinks) {
    struct world *w = idle_world(10);
    world_pending(w, 3, DR_HOUR_MS);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_MAX_REACHED);
    world_free(w);
}

TEST(hazard_18, nothing_left_after_the_clamp_is_not_an_action) {
    struct world *w = busy_world(10);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_MAX_REACHED);
    CHECK_EQ_INT(w->plan.decision.wanted, 1);
    CHECK_EQ_CSTR(w->plan.decision.clamped_by, "maximum");
    world_free(w);
    /* Nor is a shrink for which nobody can go. */
    w = idle_world(3);
    for (size_t i = 0; i < 3; i++) {
        w->nodes[i].protected_ = true;
    }
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_NO_VICTIM);
    CHECK_EQ_INT(w->plan.decision.victims.all_n, 3);
    world_free(w);
}

/* ---- cooldown and back-off ---- */

TEST(hazard_13, cooldown_is_that_of_the_wanted_direction) {
    struct world *w = busy_world(4);
    world_last_scale(w, "scale_down", 299);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_COOLDOWN);
    CHECK_EQ_INT(w->plan.decision.left_ms, 1000);
    world_last_scale(w, "scale_down", 300); /* the down value, 600 s, plays no part */
    expect(w, DR_VERDICT_SCALE_UP, 1, DR_REASON_RULES);
    world_free(w);
    w = idle_world(4);
    w->cfg.cooldown_down_ms = 20 * DR_MINUTE_MS;
    world_last_scale(w, "scale_up", 1199);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_COOLDOWN);
    CHECK_EQ_INT(w->plan.decision.left_ms, 1000);
    world_last_scale(w, "scale_up", 1200);
    expect(w, DR_VERDICT_SCALE_DOWN, -1, DR_REASON_IDLE);
    world_free(w);
}

TEST(hazard_13, by_last_the_last_action_says_which) {
    struct world *w = busy_world(4);
    w->cfg.cooldown_by = DR_COOLDOWN_LAST;
    world_last_scale(w, "scale_down", 301);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_COOLDOWN);
    CHECK_EQ_INT(w->plan.decision.left_ms, 299000);
    world_last_scale(w, "", 301); /* an item that does not say: the wanted direction's */
    expect(w, DR_VERDICT_SCALE_UP, 1, DR_REASON_RULES);
    world_free(w);
}

TEST(cooldown, stamp_from_a_clock_ahead_lasts_no_longer_than_the_cooldown_from_now) {
    struct world *w = busy_world(4);
    world_last_scale(w, "scale_up", -30);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_COOLDOWN);
    CHECK_EQ_INT(w->plan.decision.left_ms, 300000);
    world_free(w);
}

TEST(backoff, holds_up_rules_but_not_a_scale_down) {
    struct world *w = busy_world(4);
    w->state.backoff_until_epoch = WORLD_NOW_EPOCH + 60;
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_BACKOFF);
    world_free(w);
    w = idle_world(4);
    w->state.backoff_until_epoch = WORLD_NOW_EPOCH + 60;
    expect(w, DR_VERDICT_SCALE_DOWN, -1, DR_REASON_IDLE);
    world_free(w);
}

TEST(place, nowhere_to_launch_is_said_and_not_tried) {
    struct world *w = busy_world(4);
    w->snap.pool.subnet_n = 0;
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_NO_PLACE);
    world_free(w);
}

/* ---- pods ---- */

TEST(hazard_3, pods_that_no_worker_helps_do_not_grow_the_fleet) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    world_waiting(w, 64000, DR_HOUR_MS); /* larger than any type */
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_NO_HELP);
    CHECK_EQ_INT(w->plan.pending.waiting, 1);
    CHECK_EQ_INT(w->plan.pending.helpable, 0);
    world_free(w);
}

TEST(hazard_3, pods_that_no_worker_helps_do_not_keep_the_fleet_large) {
    struct world *w = idle_world(6);
    world_waiting(w, 64000, DR_DAY_MS);
    expect(w, DR_VERDICT_SCALE_DOWN, -1, DR_REASON_IDLE);
    world_free(w);
}

TEST(hazard_4, pods_wait_at_low_cpu_and_get_their_worker) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    world_percent(w, DR_SIGNAL_AT_CPU, 15);
    world_pending(w, 40, DR_HOUR_MS);
    expect(w, DR_VERDICT_SCALE_UP, 2, DR_REASON_RULES);
    CHECK_EQ_INT(w->plan.decision.wanted, 10);
    world_free(w);
}

TEST(hazard_14, nothing_shrinks_while_pods_wait) {
    struct world *w = idle_world(4);
    world_pending(w, 1, 10 * DR_SECOND_MS);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_SPIKE);
    /* Also where the pod would find room and only waits for the scheduler. */
    world_free(w);
    w = idle_world(4);
    world_waiting(w, 100, DR_SECOND_MS);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_PENDING);
    world_free(w);
}

TEST(hazard_14, unknown_pods_hold_up_a_scale_down) {
    struct world *w = idle_world(4);
    w->snap.pods_part = (struct dr_part){.known = false, .why = DR_STR("timeout")};
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_UNKNOWN);
    CHECK_CONTAINS(w->plan.unknown, "pods: timeout");
    world_free(w);
}

TEST(hazard_11, low_average_with_full_requests_removes_nobody) {
    struct world *w = idle_world(3);
    for (size_t i = 0; i < 3; i++) {
        world_running(w, i, 3000);
    }
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_NO_VICTIM);
    CHECK_EQ_INT(w->plan.decision.victims.all[0].verdict, DR_VICTIM_NO_ROOM);
    world_free(w);
}

/* ---- unknowns ---- */

TEST(hazard_5, unknown_cpu_or_memory_removes_nobody) {
    for (size_t signal = DR_SIGNAL_AT_CPU; signal <= DR_SIGNAL_AT_MEMORY; signal++) {
        struct world *w = idle_world(4);
        world_unknown(w, signal, "no series");
        expect(w, DR_VERDICT_NOOP, 0, DR_REASON_UNKNOWN);
        world_free(w);
    }
}

TEST(hazard_6, metrics_down_at_full_strength_adds_nobody) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 10);
    world_percent(w, DR_SIGNAL_AT_CPU, WORLD_UNKNOWN);
    world_percent(w, DR_SIGNAL_AT_MEMORY, WORLD_UNKNOWN);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_UNKNOWN);
    world_free(w);
}

TEST(hazard_6, unknown_workers_are_not_no_workers) {
    struct world *w = busy_world(0);
    w->snap.instances_part = (struct dr_part){.known = false, .why = DR_STR("ec2 DescribeInstances: throttled")};
    expect(w, DR_VERDICT_REFUSED, 0, DR_REASON_WORKERS_UNKNOWN);
    CHECK_CONTAINS(world_text(w), "throttled");
    world_free(w);
}

TEST(unknown, pods_known_alone_may_still_scale_up) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    world_percent(w, DR_SIGNAL_AT_CPU, WORLD_UNKNOWN);
    world_percent(w, DR_SIGNAL_AT_MEMORY, WORLD_UNKNOWN);
    world_pending(w, 3, 200 * DR_SECOND_MS);
    expect(w, DR_VERDICT_SCALE_UP, 1, DR_REASON_RULES);
    world_free(w);
}

TEST(unknown, under_match_all_an_unknown_rule_launches_nothing) {
    struct world *w = world_new(DR_PRESET_STRICT);
    world_workers(w, 3);
    world_percent(w, DR_SIGNAL_AT_CPU, WORLD_UNKNOWN);
    world_pending(w, 3, 200 * DR_SECOND_MS);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_UNKNOWN);
    world_free(w);
}

static void add_custom(struct world *w, bool above, bool below) {
    struct dr_custom custom;
    dr_custom_init(&custom);
    custom.name = DR_STR("queue");
    custom.query = DR_STR("sum(queue)");
    custom.has_above = above;
    custom.above_micro = 100 * INT64_C(1000000);
    custom.has_below = below;
    custom.below_micro = 10 * INT64_C(1000000);
    struct dr_err err;
    CHECK_OK(dr_config_add_custom(&w->cfg, &custom, &err), err);
    w->snap.reading_n = w->cfg.signal_n;
}

TEST(unknown, custom_signal_without_series_neither_launches_nor_holds_up) {
    struct world *w = idle_world(4);
    add_custom(w, true, false);
    world_unknown(w, DR_SIGNAL_AT_CUSTOM, "no series");
    expect(w, DR_VERDICT_SCALE_DOWN, -1, DR_REASON_IDLE);
    CHECK_EQ_INT(w->plan.pressure, DR_UNKNOWN);
    world_percent(w, DR_SIGNAL_AT_CPU, 50);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_WITHIN_LIMITS);
    world_free(w);
}

TEST(unknown, custom_signal_with_below_holds_up) {
    struct world *w = idle_world(4);
    add_custom(w, true, true);
    world_unknown(w, DR_SIGNAL_AT_CUSTOM, "no series");
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_UNKNOWN);
    CHECK_CONTAINS(world_text(w), "queue unknown: no series");
    world_signal(w, DR_SIGNAL_AT_CUSTOM, 10 * INT64_C(1000000), DR_DAY_MS, 0);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_WITHIN_LIMITS);
    world_signal(w, DR_SIGNAL_AT_CUSTOM, 9 * INT64_C(1000000), DR_DAY_MS, 0);
    expect(w, DR_VERDICT_SCALE_DOWN, -1, DR_REASON_IDLE);
    world_free(w);
}

TEST(custom, signal_that_asks_for_more_keeps_an_idle_fleet_from_shrinking) {
    struct world *w = idle_world(10);
    add_custom(w, true, false);
    world_signal(w, DR_SIGNAL_AT_CUSTOM, 101 * INT64_C(1000000), DR_DAY_MS, 0);
    expect(w, DR_VERDICT_NOOP, 0, DR_REASON_MAX_REACHED);
    world_free(w);
}

TEST(state, malformed_item_refuses) {
    struct world *w = busy_world(3);
    struct dr_problem problem = {.attribute = DR_STR("scaleUpActionId"), .what = DR_STR("is a number, must be a string"), .blocking = true};
    w->state.problems.v = &problem;
    w->state.problems.n = 1;
    expect(w, DR_VERDICT_REFUSED, 0, DR_REASON_MALFORMED);
    world_free(w);
}

/* ---- sizing ---- */

static int64_t size_of(struct world *w, enum dr_sizing sizing, bool *urgent) {
    w->cfg.sizing = sizing;
    dr_view_build(&w->arena, &w->cfg, &w->state, &w->snap, &w->view);
    return dr_size_up(&w->view, urgent);
}

TEST(sizing, each_kind_on_nine_pods_at_calm_cpu) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    world_pending(w, 9, DR_HOUR_MS);
    bool urgent = false;
    CHECK_EQ_INT(size_of(w, DR_SIZING_RATIO, &urgent), 1); /* ten to a worker */
    CHECK_EQ_INT(size_of(w, DR_SIZING_FIT, NULL), 3);      /* four to a worker */
    CHECK_EQ_INT(size_of(w, DR_SIZING_STEP, NULL), 2);     /* more than five */
    CHECK(urgent);
    world_free(w);
}

TEST(sizing, load_without_pods_asks_for_one) {
    struct world *w = busy_world(3);
    bool urgent = true;
    CHECK_EQ_INT(size_of(w, DR_SIZING_RATIO, &urgent), 1);
    CHECK(!urgent);
    CHECK_EQ_INT(size_of(w, DR_SIZING_FIT, NULL), 1);
    CHECK_EQ_INT(size_of(w, DR_SIZING_STEP, NULL), 1);
    world_free(w);
}

TEST(sizing, one_pod_at_high_cpu_is_urgent) {
    struct world *w = busy_world(3);
    world_pending(w, 1, 0);
    bool urgent = false;
    CHECK_EQ_INT(size_of(w, DR_SIZING_STEP, &urgent), 2);
    CHECK(urgent);
    world_free(w);
}

TEST(sizing, rule_that_is_not_modelled_justifies_one_worker) {
    struct world *w = busy_world(3);
    world_pending(w, 12, DR_HOUR_MS);
    dr_view_build(&w->arena, &w->cfg, &w->state, &w->snap, &w->view);
    w->view.pending.unmodelled_only = true;
    for (int sizing = DR_SIZING_RATIO; sizing <= DR_SIZING_FIT; sizing++) {
        w->cfg.sizing = (enum dr_sizing)sizing;
        CHECK_EQ_INT(dr_size_up(&w->view, NULL), 1);
    }
    world_free(w);
}

TEST(sizing, clamp_names_what_cut) {
    struct world *w = busy_world(8);
    dr_view_build(&w->arena, &w->cfg, &w->state, &w->snap, &w->view);
    const char *by = "x";
    CHECK_EQ_INT(dr_size_clamp(&w->view, 2, 2, &by), 2);
    CHECK(by == NULL);
    CHECK_EQ_INT(dr_size_clamp(&w->view, 3, 2, &by), 2);
    CHECK_EQ_CSTR(by, "batch");
    CHECK_EQ_INT(dr_size_clamp(&w->view, 7, 5, &by), 2);
    CHECK_EQ_CSTR(by, "maximum");
    w->cfg.max_workers = 5; /* below what is there */
    CHECK_EQ_INT(dr_size_clamp(&w->view, 1, 2, &by), 0);
    CHECK_EQ_CSTR(by, "maximum");
    world_free(w);
}

TEST(scale_down, several_at_a_time_stop_at_the_minimum) {
    struct world *w = idle_world(4);
    w->cfg.max_batch_down = 5;
    expect(w, DR_VERDICT_SCALE_DOWN, -2, DR_REASON_IDLE);
    CHECK_EQ_CSTR(w->plan.decision.clamped_by, "minimum");
    world_free(w);
}

TEST(rule_17, stranger_that_never_joined_goes_although_the_rest_is_the_minimum) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    w->snap.node_n = 2; /* the third machine has no Node, a day after its launch */
    world_percent(w, 0, 10);
    world_percent(w, 1, 10);
    world_idle(w, 700);
    const struct dr_decision *decision = world_decide(w);
    CHECK_EQ_INT(decision->verdict, DR_VERDICT_SCALE_DOWN);
    CHECK_EQ_INT(decision->delta, -1);
    CHECK_EQ_INT(decision->victims.chosen.n, 1);
    CHECK(dr_str_eq(decision->victims.chosen.v[0], w->instances[2].id));
    world_free(w);
}
