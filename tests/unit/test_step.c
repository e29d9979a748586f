/* The machine itself: order of the stages, waiting, drains. */

#include "unit/step_world.h"

TEST(step, nothing_to_do_is_done) {
    struct step_world *s = stw_new();
    stw_workers(s, 2);
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(!s->m.waiting);
    CHECK_EQ_INT(s->plan.decision.verdict, DR_VERDICT_NOOP);
}

TEST(rule_27, contradicting_item_is_repaired_before_anything_else_and_nothing_is_marked) {
    struct step_world *s = stw_new();
    stw_workers(s, 4);
    sw_scale_down(s->w, "i-4");
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    v[0].since_epoch = SW_NOW_EPOCH;
    stw_event(s, "i-2", DR_EVENT_WARNING, false);
    CHECK(stw_next(s)->alert);
    stw_writes(s, "repair item", 27);
    CHECK_EQ_INT(s->w->state.marks.n, 0);
    CHECK_EQ_INT(s->w->state.down_action_id.n, 0);
    CHECK_EQ_STR(s->w->state.up_action_id, "up-1");
}

TEST(rule_27, flag_without_an_action_is_repaired_and_the_fleet_scales_again) {
    struct step_world *s = stw_new();
    stw_workers(s, 2);
    s->w->state.scaling = true;
    stw_percent(s, DR_SIGNAL_AT_CPU, 90);
    stw_writes(s, "repair item", 27);
    stw_writes(s, "begin scale-up", 2);
}

TEST(step, events_come_before_records_before_marks_before_actions_before_sweeps) {
    struct step_world *s = stw_new();
    stw_workers(s, 4);
    (void)sw_instance(s->w, "i-8", "za");
    (void)sw_instance(s->w, "i-9", "za");
    stw_instance(s, "i-9")->action_id = DR_STR("up-0");
    stw_event(s, "i-2", DR_EVENT_WARNING, false);
    stw_mark(s, "i-8");
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    v[0].since_epoch = SW_NOW_EPOCH;
    stw_writes(s, "record interruption", 21);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    (void)stw_settle(s, DR_OK, NULL);
    (void)stw_expect(s, DR_STEP_CORDON);
    (void)stw_settle(s, DR_OK, NULL);
    stw_writes(s, "extend scale-up for replacement", 22);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_TERMINATE)->instance_id, "i-8");
    (void)stw_settle(s, DR_E_TIMEOUT, NULL);
    (void)stw_expect(s, DR_STEP_LAUNCH);
    (void)stw_settle(s, DR_E_TIMEOUT, NULL);
    stw_writes(s, "intend launch", 7);
    (void)stw_expect(s, DR_STEP_LAUNCH);
    (void)stw_settle(s, DR_E_TIMEOUT, NULL);
    stw_writes(s, "mark unjoined machine", 24);
}

TEST(step, stage_that_only_waits_lets_the_later_ones_go_on) {
    struct step_world *s = stw_new();
    stw_workers(s, 4);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    (void)stw_launched(s, &v[0], 0, "i-new", DR_MINUTE_MS);
    stw_node(s, "i-2")->unschedulable = true;
    stw_node(s, "i-2")->cordon_owner = DR_STR("down-0");
    (void)stw_expect(s, DR_STEP_UNCORDON);
}

TEST(step, smallest_wish_to_look_again_wins) {
    struct dr_machine m = {.wait_ms = 0};
    dr_machine_wait(&m, 0);
    CHECK(m.waiting);
    CHECK_EQ_INT(m.wait_ms, 0);
    dr_machine_wait(&m, 5000);
    dr_machine_wait(&m, 2000);
    dr_machine_wait(&m, 9000);
    dr_machine_wait(&m, 0);
    CHECK_EQ_INT(m.wait_ms, 2000);
}

TEST(step, cordon_that_failed_is_not_tried_at_once_again) {
    struct step_world *s = stw_new();
    stw_workers(s, 4);
    sw_scale_down(s->w, "i-4");
    s->w->state.down_started_epoch = SW_NOW_EPOCH;
    stw_writes(s, "store owners", 19);
    (void)stw_expect(s, DR_STEP_CORDON);
    (void)stw_settle(s, DR_E_CONFLICT, NULL);
    CHECK_EQ_INT(stw_expect(s, DR_STEP_WAIT)->wait_ms, 2000);
    stw_look(s, 2000);
    (void)stw_expect(s, DR_STEP_CORDON);
}
