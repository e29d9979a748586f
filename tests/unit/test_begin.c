/* The last stage begins at most one action per tick: rules 2, 22, 25. */

#include "unit/step_world.h"

static struct step_world *quiet(size_t workers) {
    struct step_world *s = stw_new();
    stw_workers(s, workers);
    return s;
}

TEST(rule_2, action_is_begun_only_when_nothing_is_scaling) {
    struct step_world *s = quiet(2);
    stw_percent(s, DR_SIGNAL_AT_CPU, 90);
    stw_writes(s, "begin scale-up", 2);
    CHECK_EQ_STR(s->w->state.up_action_id, "1800000000-req-1");
    CHECK(s->w->state.scaling);
    for (int i = 0; i < 8; i++) {
        if (stw_next(s)->kind != DR_STEP_WRITE) {
            break;
        }
        CHECK(s->step.next.down_action_id.n == 0);
        CHECK_EQ_STR(s->step.next.up_action_id, "1800000000-req-1");
        s->w->state = s->step.next;
    }
    (void)stw_expect(s, DR_STEP_LAUNCH);
}

TEST(rule_2, one_tick_begins_one_action) {
    struct step_world *s = quiet(2);
    stw_percent(s, DR_SIGNAL_AT_CPU, 90);
    stw_writes(s, "begin scale-up", 2);
    dr_state_init(&s->w->state, DR_STR("cluster"));
    (void)stw_expect(s, DR_STEP_DONE);
    stw_pass(s, DR_MINUTE_MS);
    stw_writes(s, "begin scale-up", 2);
}

TEST(begin, active_action_is_described_and_nothing_is_begun) {
    struct step_world *s = quiet(2);
    stw_percent(s, DR_SIGNAL_AT_CPU, 90);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    (void)stw_launched(s, &v[0], 0, "i-new", DR_MINUTE_MS);
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(s->m.waiting);
    CHECK_EQ_INT(s->plan.decision.verdict, DR_VERDICT_ADVANCE);
    CHECK_EQ_STR(s->plan.action_id, "up-1");
}

TEST(begin, idle_fleet_shrinks_by_one_with_the_reason_in_the_item) {
    struct step_world *s = quiet(4);
    stw_percent(s, DR_SIGNAL_AT_CPU, 10);
    stw_percent(s, DR_SIGNAL_AT_MEMORY, 10);
    s->w->state.idle_since_epoch = SW_NOW_EPOCH - 3600;
    s->w->state.idle_seen_epoch = SW_NOW_EPOCH - 60;
    stw_writes(s, "begin scale-down", 2);
    CHECK_EQ_INT(s->w->state.down_targets.n, 1);
    CHECK_EQ_STR(s->w->state.down_reason, "idle");
}

TEST(rule_25, surplus_is_drained_whatever_idle_time_and_cooldown_say) {
    struct step_world *s = quiet(5);
    s->w->cfg.max_workers = 4;
    s->w->state.last_scale_epoch = SW_NOW_EPOCH - 1;
    s->w->state.last_scale_action = DR_STR("scale_up");
    stw_writes(s, "begin scale-down", 2);
    CHECK_EQ_STR(s->w->state.down_reason, "surplus");
    CHECK_EQ_INT(s->w->state.down_targets.n, 1);
}

TEST(rule_22, no_decision_is_taken_beside_a_debt) {
    struct step_world *s = quiet(2);
    stw_percent(s, DR_SIGNAL_AT_CPU, 90);
    sw_record(s->w, "i-gone", DR_EVENT_WARNING);
    s->w->state.backoff_until_epoch = SW_NOW_EPOCH + 60;
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK_EQ_INT(s->plan.decision.reason, DR_REASON_DEBT);
    CHECK(s->m.waiting);
}

/* ---- NotReady ---- */

static void silence(struct step_world *s, const char *id, int64_t for_ms) {
    stw_node(s, id)->ready = DR_READY_UNKNOWN;
    stw_node(s, id)->ready_changed_ms = SW_NOW_MS - for_ms;
}

TEST(rule_25, worker_not_ready_for_15_minutes_is_drained) {
    struct step_world *s = quiet(4);
    silence(s, "i-2", 15 * DR_MINUTE_MS - 1000);
    (void)stw_expect(s, DR_STEP_DONE);
    silence(s, "i-2", 15 * DR_MINUTE_MS);
    stw_writes(s, "begin scale-down", 2);
    CHECK_EQ_STR(s->w->state.down_targets.v[0], "i-2");
    CHECK_EQ_STR(s->w->state.down_reason, "not-ready");
    CHECK_EQ_INT(s->plan.decision.reason, DR_REASON_NOT_READY);
}

TEST(rule_25, of_several_the_longest_silent_goes_alone) {
    struct step_world *s = quiet(7);
    silence(s, "i-2", 20 * DR_MINUTE_MS);
    silence(s, "i-5", 30 * DR_MINUTE_MS);
    stw_writes(s, "begin scale-down", 2);
    CHECK_EQ_INT(s->w->state.down_targets.n, 1);
    CHECK_EQ_STR(s->w->state.down_targets.v[0], "i-5");
}

TEST(rule_25, third_of_the_workers_not_ready_is_not_their_own_fault) {
    struct step_world *s = quiet(3);
    silence(s, "i-2", 20 * DR_MINUTE_MS);
    (void)stw_expect(s, DR_STEP_DONE);
    struct step_world *t = quiet(6);
    silence(t, "i-2", 20 * DR_MINUTE_MS);
    silence(t, "i-3", DR_MINUTE_MS);
    (void)stw_expect(t, DR_STEP_DONE);
    silence(t, "i-3", 0);
    stw_node(t, "i-3")->ready = DR_READY_TRUE;
    stw_writes(t, "begin scale-down", 2);
}

TEST(rule_25, protected_refused_avoided_and_foreign_cordoned_machines_are_left_alone) {
    for (int i = 0; i < 4; i++) {
        struct step_world *s = quiet(4);
        silence(s, "i-2", 20 * DR_MINUTE_MS);
        if (i == 0) {
            stw_node(s, "i-2")->protected_ = true;
        } else if (i == 1) {
            s->w->state.refused = sw_strs(s->w, 1, (const char *const[]){"i-2"});
        } else if (i == 2) {
            sw_avoid(s->w, "victim/i-2", SW_NOW_EPOCH + 1);
        } else {
            stw_node(s, "i-2")->unschedulable = true;
        }
        (void)stw_expect(s, DR_STEP_DONE);
    }
}

TEST(rule_25, nobody_is_called_not_ready_while_pods_are_unknown) {
    struct step_world *s = quiet(4);
    silence(s, "i-2", 20 * DR_MINUTE_MS);
    s->w->snap.pods_part = (struct dr_part){.why = DR_STR("timeout")};
    (void)stw_expect(s, DR_STEP_DONE);
}

TEST(rule_25, scale_up_that_is_due_comes_before_it) {
    struct step_world *s = quiet(4);
    silence(s, "i-2", 20 * DR_MINUTE_MS);
    stw_percent(s, DR_SIGNAL_AT_CPU, 90);
    stw_writes(s, "begin scale-up", 2);
}
