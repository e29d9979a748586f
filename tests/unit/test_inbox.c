/* The inbox on worlds built by hand: rule 21. */

#include "unit/step_world.h"

static struct step_world *told(const char *id, enum dr_event_kind kind) {
    struct step_world *s = stw_new();
    stw_workers(s, 3);
    stw_event(s, id, kind, false);
    return s;
}

TEST(rule_21, warning_is_recorded_before_its_row_is_handled) {
    struct step_world *s = told("i-2", DR_EVENT_WARNING);
    stw_writes(s, "record interruption", 21);
    const struct dr_record *record = dr_state_record(&s->w->state, DR_STR("i-2"));
    CHECK(record != NULL);
    CHECK_EQ_INT(record->kind, DR_EVENT_WARNING);
    CHECK_EQ_INT(record->noticed_epoch, SW_NOW_EPOCH - 2);
    CHECK_EQ_INT(record->recorded_epoch, SW_NOW_EPOCH);
    CHECK_EQ_STR(record->zone, "zb");
    CHECK_EQ_STR(stw_expect(s, DR_STEP_HANDLE_EVENT)->target, "i-2");
}

TEST(rule_21, row_that_cannot_be_handled_does_not_hold_the_tick_up) {
    struct step_world *s = told("i-2", DR_EVENT_WARNING);
    stw_writes(s, "record interruption", 21);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    (void)stw_settle(s, DR_E_UNAVAILABLE, NULL);
    CHECK_EQ_CSTR(stw_expect(s, DR_STEP_CORDON)->what, "cordon");
}

TEST(rule_21, state_change_only_wakes) {
    struct step_world *s = told("i-2", DR_EVENT_STATE_CHANGE);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    CHECK_EQ_INT(s->w->state.records.n, 0);
}

TEST(rule_21, event_for_a_machine_that_is_no_worker_is_only_handled) {
    struct step_world *s = told("i-foreign", DR_EVENT_WARNING);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    struct step_world *t = told("i-ended", DR_EVENT_WARNING);
    (void)sw_instance(t->w, "i-ended", "za");
    sw_ended(t->w, "i-ended");
    (void)stw_expect(t, DR_STEP_HANDLE_EVENT);
}

TEST(rule_21, event_waits_while_nobody_knows_who_is_a_worker) {
    struct step_world *s = told("i-2", DR_EVENT_WARNING);
    s->w->snap.instances_part = (struct dr_part){.why = DR_STR("timeout")};
    s->w->snap.instance_n = 0;
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK_EQ_INT(s->w->state.records.n, 0);
}

TEST(rule_21, warning_for_a_launched_machine_that_describe_does_not_show_yet_is_recorded) {
    struct step_world *s = told("i-new", DR_EVENT_WARNING);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    v[0].status = DR_ATTEMPT_LAUNCHED;
    v[0].instance_id = DR_STR("i-new");
    v[0].launched_epoch = SW_NOW_EPOCH;
    stw_writes(s, "record interruption", 21);
}

TEST(rule_21, duplicate_is_only_handled) {
    struct step_world *s = told("i-2", DR_EVENT_WARNING);
    sw_record(s->w, "i-2", DR_EVENT_WARNING);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
}

TEST(rule_21, handled_row_is_not_taken_again) {
    struct step_world *s = stw_new();
    stw_workers(s, 3);
    stw_event(s, "i-2", DR_EVENT_WARNING, true);
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK_EQ_INT(s->w->state.records.n, 0);
}

TEST(rule_21, hint_is_recorded_and_makes_nobody_interrupted) {
    struct step_world *s = told("i-2", DR_EVENT_REBALANCE);
    stw_writes(s, "record rebalance hint", 21);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    const struct dr_worker *worker = dr_fleet_find(&s->view.fleet, DR_STR("i-2"));
    CHECK(worker->hinted && !worker->interrupted && worker->live);
}

TEST(rule_21, hint_after_a_handled_warning_is_only_handled) {
    struct step_world *s = stw_new();
    stw_workers(s, 3);
    stw_event(s, "i-2", DR_EVENT_WARNING, true);
    stw_event(s, "i-2", DR_EVENT_REBALANCE, false);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    CHECK_EQ_INT(s->w->state.records.n, 0);
}

TEST(rule_21, hint_for_a_marked_machine_or_at_maximum_is_only_handled) {
    struct step_world *s = told("i-2", DR_EVENT_REBALANCE);
    stw_mark(s, "i-2");
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    struct step_world *t = told("i-2", DR_EVENT_REBALANCE);
    t->w->cfg.max_workers = 3;
    (void)stw_expect(t, DR_STEP_HANDLE_EVENT);
}

TEST(hazard_33, hint_then_warning_then_duplicate_is_one_record_and_one_replacement) {
    struct step_world *s = told("i-2", DR_EVENT_REBALANCE);
    stw_writes(s, "record rebalance hint", 21);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    (void)stw_settle(s, DR_OK, NULL);
    stw_writes(s, "begin replacement", 22);
    s->w->snap.events = s->events;
    s->events[0].handled = true;
    stw_event(s, "i-2", DR_EVENT_WARNING, false);
    stw_writes(s, "record interruption", 21);
    CHECK_EQ_INT(s->w->state.records.n, 1);
    CHECK(s->w->state.records.v[0].action_id.n > 0);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    (void)stw_settle(s, DR_OK, NULL);
    s->w->snap.events = s->events;
    s->events[1].handled = true;
    stw_event(s, "i-2", DR_EVENT_WARNING, false);
    (void)stw_expect(s, DR_STEP_HANDLE_EVENT);
    CHECK_EQ_INT(s->w->state.up_requested, 1);
}
