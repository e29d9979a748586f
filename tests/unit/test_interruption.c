/* Interruptions on worlds built by hand: rules 18, 21, 22, 23. */

#include "unit/step_world.h"

/* Changes the one record; what was observed is not touched. */
static struct dr_record *edit(struct step_world *s, size_t i) {
    struct dr_record *v = DR_NEW_N(&s->w->arena, struct dr_record, s->w->state.records.n);
    for (size_t k = 0; k < s->w->state.records.n; k++) {
        v[k] = s->w->state.records.v[k];
    }
    s->w->state.records.v = v;
    return &v[i];
}

/* Four workers, i-2 got its warning 10 s ago. */
static struct step_world *warned(void) {
    struct step_world *s = stw_new();
    stw_workers(s, 4);
    sw_record(s->w, "i-2", DR_EVENT_WARNING);
    edit(s, 0)->recorded_epoch = SW_NOW_EPOCH - 5;
    return s;
}

static struct step_world *settled(void) {
    struct step_world *s = warned();
    edit(s, 0)->returned_id = DR_STR("i-1");
    return s;
}

static const struct dr_record *record(const struct step_world *s, const char *id) { return dr_state_record(&s->w->state, dr_str_of(id)); }

/* ---- the machine ---- */

TEST(rule_22, record_is_served_before_the_action_that_is_active) {
    struct step_world *s = warned();
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    v[0].since_epoch = SW_NOW_EPOCH;
    CHECK_EQ_STR(stw_expect(s, DR_STEP_CORDON)->instance_id, "i-2");
    (void)stw_settle(s, DR_OK, NULL);
    stw_writes(s, "extend scale-up for replacement", 22);
    CHECK_EQ_INT(s->w->state.up_requested, 2);
    CHECK_EQ_INT(record(s, "i-2")->index, 1);
    CHECK_EQ_INT(stw_expect(s, DR_STEP_LAUNCH)->index, 0);
}

TEST(rule_18, interruption_cordons_under_an_id_of_its_own) {
    struct step_world *s = warned();
    CHECK_EQ_STR(stw_expect(s, DR_STEP_CORDON)->cordon_owner, "interruption-i-2");
}

TEST(rule_18, cordon_of_a_person_is_left_as_it_is_and_the_pods_leave_all_the_same) {
    struct step_world *s = settled();
    stw_node(s, "i-2")->unschedulable = true;
    (void)sw_pod(s->w, stw_node(s, "i-2"), 100, SW_GIB);
    (void)stw_expect(s, DR_STEP_EVICT);
}

TEST(hazard_34, warned_machine_moves_even_critical_pods_with_the_grace_that_is_left) {
    struct step_world *s = settled();
    sw_pod(s->w, stw_node(s, "i-2"), 100, SW_GIB)->critical = true;
    (void)stw_expect(s, DR_STEP_CORDON);
    (void)stw_settle(s, DR_OK, NULL);
    const struct dr_step *step = stw_expect(s, DR_STEP_EVICT);
    CHECK_EQ_INT(step->pod_n, 1);
    CHECK_EQ_INT(step->grace_ms, 110 * DR_SECOND_MS);
}

TEST(rule_23, warned_machine_that_still_runs_ten_minutes_after_its_notice_is_marked) {
    struct step_world *s = settled();
    edit(s, 0)->noticed_epoch = SW_NOW_EPOCH - 599;
    (void)stw_expect(s, DR_STEP_DONE);
    edit(s, 0)->noticed_epoch = SW_NOW_EPOCH - 600;
    CHECK(stw_next(s)->has_mark);
    stw_writes(s, "mark overdue machine", 23);
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-2")));
}

TEST(rule_23, overdue_machine_that_refused_to_end_is_not_marked_again) {
    struct step_world *s = settled();
    edit(s, 0)->noticed_epoch = SW_NOW_EPOCH - 3600;
    s->w->state.refused = sw_strs(s->w, 1, (const char *const[]){"i-2"});
    (void)stw_expect(s, DR_STEP_DONE);
}

/* ---- the debt ---- */

TEST(rule_22, one_replacement_is_begun_and_named_in_the_record) {
    struct step_world *s = warned();
    (void)stw_expect(s, DR_STEP_CORDON);
    (void)stw_settle(s, DR_OK, NULL);
    stw_writes(s, "begin replacement", 22);
    CHECK_EQ_INT(s->w->state.up_requested, 1);
    CHECK(dr_str_eq(record(s, "i-2")->action_id, s->w->state.up_action_id));
    CHECK_EQ_INT(record(s, "i-2")->index, 0);
    stw_writes(s, "intend launch", 7);
    CHECK_EQ_STR(s->w->state.attempts.v[0].replaces, "i-2");
    (void)stw_expect(s, DR_STEP_LAUNCH);
}

TEST(rule_22, batch_limit_does_not_bind_replacements_but_maximum_does) {
    struct step_world *s = stw_new();
    stw_workers(s, 6);
    s->w->cfg.max_batch_up = 1;
    struct dr_record *v = DR_NEW_N(&s->w->arena, struct dr_record, 3);
    static const char *const ids[] = {"i-2", "i-3", "i-4"};
    for (size_t i = 0; i < 3; i++) {
        v[i] = (struct dr_record){.instance_id = dr_str_of(ids[i]),
                                  .kind = DR_EVENT_WARNING,
                                  .noticed_epoch = SW_NOW_EPOCH - 119,
                                  .recorded_epoch = SW_NOW_EPOCH};
        stw_node(s, ids[i])->unschedulable = true;
    }
    s->w->state.records.v = v;
    s->w->state.records.n = 3;
    s->w->cfg.max_workers = 5;
    stw_writes(s, "begin replacement", 22);
    CHECK_EQ_INT(s->w->state.up_requested, 2);
    CHECK_EQ_INT(record(s, "i-3")->index, 1);
    CHECK_EQ_INT(record(s, "i-4")->action_id.n, 0);
    s->w->cfg.max_workers = 6;
    stw_writes(s, "extend scale-up for replacement", 22);
    CHECK_EQ_INT(s->w->state.up_requested, 3);
    CHECK_EQ_INT(record(s, "i-4")->index, 2);
}

TEST(rule_22, at_maximum_the_debt_stays) {
    struct step_world *s = warned();
    s->w->cfg.max_workers = 3;
    stw_node(s, "i-2")->unschedulable = true;
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK_EQ_INT(s->plan.decision.reason, DR_REASON_DEBT);
    CHECK(dr_record_owed(record(s, "i-2")));
    s->w->cfg.max_workers = 4;
    stw_writes(s, "begin replacement", 22);
}

TEST(hazard_35, both_markets_out_of_stock_leaves_the_debt_and_it_is_paid_when_there_is_stock) {
    struct step_world *s = warned();
    stw_node(s, "i-2")->unschedulable = true;
    static const char *const zones[] = {"zone/za", "zone/zb", "zone/zc"};
    for (size_t i = 0; i < 3; i++) {
        sw_avoid(s->w, zones[i], SW_NOW_EPOCH + 300);
    }
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(dr_record_owed(record(s, "i-2")));
    stw_instance(s, "i-2")->state = DR_INSTANCE_TERMINATED;
    stw_pass(s, 299 * DR_SECOND_MS);
    (void)stw_next(s);
    CHECK(record(s, "i-2") != NULL && dr_record_owed(record(s, "i-2")));
    stw_pass(s, DR_SECOND_MS);
    stw_writes(s, "begin replacement", 22);
}

TEST(rule_22, failed_index_brings_the_debt_back_while_the_action_goes_on) {
    struct step_world *s = warned();
    stw_node(s, "i-2")->unschedulable = true;
    struct dr_attempt *v = sw_scale_up(s->w, 2, 2);
    (void)stw_launched(s, &v[0], 0, "i-new", DR_MINUTE_MS);
    v[1].status = DR_ATTEMPT_FAILED;
    edit(s, 0)->action_id = DR_STR("up-1");
    edit(s, 0)->index = 1;
    stw_writes(s, "owe replacement again", 22);
    CHECK(dr_record_owed(record(s, "i-2")));
    stw_writes(s, "extend scale-up for replacement", 22);
    CHECK_EQ_INT(record(s, "i-2")->index, 2);
}

TEST(rule_22, debt_of_an_action_that_is_no_more_comes_back) {
    struct step_world *s = warned();
    stw_node(s, "i-2")->unschedulable = true;
    edit(s, 0)->action_id = DR_STR("up-0");
    stw_writes(s, "repair item", 27);
    CHECK(dr_record_owed(record(s, "i-2")));
    stw_writes(s, "begin replacement", 22);
}

TEST(rule_22, index_that_is_under_way_is_not_asked_for_twice) {
    struct step_world *s = warned();
    stw_node(s, "i-2")->unschedulable = true;
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    (void)stw_launched(s, &v[0], 0, "i-new", DR_MINUTE_MS);
    edit(s, 0)->action_id = DR_STR("up-1");
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK_EQ_INT(s->w->state.up_requested, 1);
}

TEST(rule_22, replacement_with_a_warning_of_its_own_hands_the_debt_on) {
    struct step_world *s = warned();
    stw_node(s, "i-2")->unschedulable = true;
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    (void)stw_launched(s, &v[0], 0, "i-new", DR_MINUTE_MS);
    edit(s, 0)->action_id = DR_STR("up-1");
    struct dr_record second = {.instance_id = DR_STR("i-new"), .kind = DR_EVENT_WARNING, .noticed_epoch = SW_NOW_EPOCH};
    (void)dr_record_put(&s->w->arena, &s->w->state, &s->w->state, &second);
    /* Its own debt is paid by one more index; the first record is settled, not owed again. */
    stw_writes(s, "extend scale-up for replacement", 22);
    CHECK_EQ_INT(s->w->state.up_requested, 2);
    stw_writes(s, "see joins", 11);
    CHECK_EQ_STR(record(s, "i-2")->returned_id, "i-new");
    CHECK_EQ_INT(record(s, "i-new")->index, 1);
    stw_writes(s, "intend launch", 7);
    CHECK_EQ_STR(s->w->state.attempts.v[1].replaces, "i-new");
    CHECK_EQ_INT(s->w->state.up_requested, 2);
}

TEST(rule_22, record_ends_only_when_it_is_settled_and_its_machine_is_gone) {
    struct step_world *s = settled();
    stw_node(s, "i-2")->unschedulable = true;
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(record(s, "i-2") != NULL);
    stw_instance(s, "i-2")->state = DR_INSTANCE_SHUTTING_DOWN;
    stw_writes(s, "end interruption", 22);
    CHECK(record(s, "i-2") == NULL && dr_state_ended(&s->w->state, DR_STR("i-2")));
}

TEST(rule_22, settled_record_of_a_marked_machine_ends_and_leaves_it_to_its_mark) {
    struct step_world *s = settled();
    stw_mark(s, "i-2");
    stw_writes(s, "end interruption", 22);
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-2")) && !dr_state_ended(&s->w->state, DR_STR("i-2")));
}

TEST(rule_22, debt_of_a_marked_machine_stays) {
    struct step_world *s = warned();
    stw_mark(s, "i-2");
    s->w->state.backoff_until_epoch = SW_NOW_EPOCH + 60;
    s->turn.marked_seq = 0;
    (void)stw_expect(s, DR_STEP_TERMINATE);
    CHECK(record(s, "i-2") != NULL && dr_record_owed(record(s, "i-2")));
    s->w->state.backoff_until_epoch = 0;
    stw_writes(s, "begin replacement", 22);
}

TEST(rule_22, debt_lapses_when_its_machine_is_gone_and_the_fleet_is_at_its_maximum_without_it) {
    struct step_world *s = warned();
    stw_instance(s, "i-2")->state = DR_INSTANCE_TERMINATED;
    s->w->cfg.max_workers = 4;
    (void)stw_next(s);
    CHECK(record(s, "i-2") != NULL);
    s->w->cfg.max_workers = 3;
    stw_writes(s, "end interruption", 22);
    CHECK(record(s, "i-2") == NULL && dr_state_ended(&s->w->state, DR_STR("i-2")));
}

TEST(rule_22, machine_that_describe_no_longer_shows_is_gone_two_minutes_after_its_notice) {
    struct step_world *s = settled();
    s->w->snap.instance_n = 1;
    s->w->snap.node_n = 1;
    s->w->cfg.min_workers = 1;
    edit(s, 0)->noticed_epoch = SW_NOW_EPOCH - 120;
    (void)stw_expect(s, DR_STEP_DONE);
    edit(s, 0)->noticed_epoch = SW_NOW_EPOCH - 121;
    stw_writes(s, "end interruption", 22);
}

TEST(rule_22, machine_that_is_remembered_as_ended_is_gone_whatever_describe_shows) {
    struct step_world *s = settled();
    sw_ended(s->w, "i-2");
    stw_writes(s, "end interruption", 22);
    CHECK(record(s, "i-2") == NULL);
}

TEST(interruption, next_tick_leaves_the_replacement_to_a_later_tick) {
    struct step_world *s = warned();
    stw_node(s, "i-2")->unschedulable = true;
    s->w->cfg.replace = DR_REPLACE_NEXT_TICK;
    edit(s, 0)->recorded_epoch = SW_NOW_EPOCH;
    (void)stw_expect(s, DR_STEP_DONE);
    stw_pass(s, DR_MINUTE_MS);
    stw_writes(s, "begin replacement", 22);
}

TEST(rule_27, replacement_waits_beside_a_scale_up_of_another_system) {
    struct step_world *s = warned();
    stw_node(s, "i-2")->unschedulable = true;
    s->w->state.scaling = true;
    s->w->state.up_action_id = DR_STR("1730000300-req-xyz");
    s->w->state.up_started_epoch = SW_NOW_EPOCH;
    s->w->state.up_requested = 1;
    s->w->state.up_instance_ids = sw_strs(s->w, 1, (const char *const[]){"i-aaa"});
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(dr_record_owed(record(s, "i-2")));
}

/* ---- rule 23: during a scale-down ---- */

static struct step_world *during_scale_down(const char *target) {
    struct step_world *s = warned();
    stw_node(s, "i-2")->unschedulable = true;
    sw_scale_down(s->w, target);
    s->w->state.down_started_epoch = SW_NOW_EPOCH;
    s->w->state.down_reason = DR_STR("idle");
    return s;
}

TEST(rule_23, uncommitted_scale_down_is_cancelled_and_its_victim_is_the_replacement) {
    struct step_world *s = during_scale_down("i-4");
    stw_writes(s, "cancel scale-down for replacement", 23);
    CHECK_EQ_STR(record(s, "i-2")->returned_id, "i-4");
    CHECK_EQ_INT(s->w->state.down_action_id.n, 0);
    CHECK(!s->w->state.scaling);
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK_EQ_INT(s->w->state.up_action_id.n, 0);
}

TEST(rule_23, committed_scale_down_ends_its_mark_remains_and_a_scale_up_begins) {
    struct step_world *s = during_scale_down("i-4");
    stw_mark(s, "i-4");
    s->turn.marked_seq = 0;
    stw_writes(s, "end committed scale-down for replacement", 23);
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-4")));
    CHECK_EQ_INT(record(s, "i-2")->returned_id.n, 0);
    CHECK_EQ_INT(s->w->state.last_scale_epoch, 0);
    stw_writes(s, "begin replacement", 22);
    CHECK_EQ_INT(s->w->state.up_requested, 1);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_TERMINATE)->instance_id, "i-4");
}

TEST(rule_23, completed_scale_down_that_is_ended_for_a_replacement_counts_as_completed) {
    struct step_world *s = during_scale_down("i-4");
    stw_mark(s, "i-4");
    s->w->state.down_completed = s->w->state.down_targets;
    stw_writes(s, "end committed scale-down for replacement", 23);
    CHECK_EQ_INT(s->w->state.last_scale_epoch, SW_NOW_EPOCH);
}

TEST(rule_23, victim_that_is_not_live_is_given_back_but_replaces_nobody) {
    struct step_world *s = during_scale_down("i-4");
    stw_node(s, "i-4")->ready = DR_READY_UNKNOWN;
    stw_node(s, "i-4")->ready_changed_ms = SW_NOW_MS - 20 * DR_MINUTE_MS;
    stw_writes(s, "cancel scale-down for replacement", 23);
    CHECK(dr_record_owed(record(s, "i-2")));
    stw_writes(s, "begin replacement", 22);
}

TEST(rule_23, target_that_is_itself_interrupted_leaves_its_scale_down) {
    struct step_world *s = during_scale_down("i-2");
    stw_node(s, "i-2")->cordon_owner = DR_STR("down-1");
    stw_writes(s, "drop interrupted target", 23);
    CHECK_EQ_INT(s->w->state.down_targets.n, 0);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_CORDON)->cordon_owner, "interruption-i-2");
}

/* ---- rebalance hints ---- */

static struct step_world *hinted(void) {
    struct step_world *s = stw_new();
    stw_workers(s, 4);
    sw_record(s->w, "i-4", DR_EVENT_REBALANCE);
    edit(s, 0)->recorded_epoch = SW_NOW_EPOCH - 10;
    return s;
}

TEST(rule_21, hint_gets_its_replacement_first_and_nobody_is_cordoned) {
    struct step_world *s = hinted();
    stw_writes(s, "begin replacement", 22);
    CHECK(!s->w->nodes[3].unschedulable);
    stw_writes(s, "intend launch", 7);
}

TEST(rule_21, hinted_worker_is_drained_by_the_ordinary_way_once_its_replacement_joined) {
    struct step_world *s = hinted();
    edit(s, 0)->returned_id = DR_STR("i-1");
    stw_writes(s, "begin scale-down", 21);
    CHECK_EQ_STR(s->w->state.down_reason, "rebalance");
    CHECK_EQ_STR(s->w->state.down_targets.v[0], "i-4");
    CHECK_EQ_INT(s->plan.decision.reason, DR_REASON_REBALANCE);
}

TEST(rule_21, hinted_worker_waits_while_something_else_is_scaling_or_marked) {
    struct step_world *s = hinted();
    edit(s, 0)->returned_id = DR_STR("i-1");
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    (void)stw_launched(s, &v[0], 0, "i-new", DR_MINUTE_MS);
    (void)stw_expect(s, DR_STEP_DONE);
}

TEST(rule_21, hint_at_maximum_is_dropped) {
    struct step_world *s = hinted();
    s->w->cfg.max_workers = 4;
    stw_writes(s, "end interruption", 22);
    CHECK(record(s, "i-4") == NULL && !dr_state_ended(&s->w->state, DR_STR("i-4")));
}

TEST(rule_21, hint_whose_worker_may_not_be_drained_is_forgotten_after_an_hour) {
    struct step_world *s = hinted();
    edit(s, 0)->returned_id = DR_STR("i-1");
    stw_node(s, "i-4")->protected_ = true;
    (void)stw_expect(s, DR_STEP_DONE);
    edit(s, 0)->recorded_epoch = SW_NOW_EPOCH - 3600;
    stw_writes(s, "end interruption", 22);
}

TEST(rule_21, hint_for_a_machine_that_is_gone_ends) {
    struct step_world *s = hinted();
    stw_instance(s, "i-4")->state = DR_INSTANCE_TERMINATED;
    stw_writes(s, "end interruption", 22);
    CHECK(dr_state_ended(&s->w->state, DR_STR("i-4")));
}
