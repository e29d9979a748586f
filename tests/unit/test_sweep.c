/* Sweeps on worlds built by hand: rules 18, 24, 26. */

#include "unit/step_world.h"

/* Three workers and a running machine with our tag that has no Node. */
static struct step_world *with_stray(int64_t age_ms) {
    struct step_world *s = stw_new();
    stw_workers(s, 3);
    struct dr_instance *stray = sw_instance(s->w, "i-9", "za");
    stray->action_id = DR_STR("up-0");
    stray->index = 0;
    stray->launched_ms = SW_NOW_MS - age_ms;
    return s;
}

static int64_t timeout_ms(const struct step_world *s) { return s->w->cfg.join_timeout_ms; }

TEST(rule_24, machine_of_ours_that_did_not_join_in_time_is_marked) {
    struct step_world *s = with_stray(0);
    stw_instance(s, "i-9")->launched_ms = SW_NOW_MS - timeout_ms(s) + 1;
    (void)stw_expect(s, DR_STEP_DONE);
    stw_instance(s, "i-9")->launched_ms = SW_NOW_MS - timeout_ms(s);
    CHECK(stw_next(s)->has_mark);
    stw_writes(s, "mark unjoined machine", 24);
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-9")));
}

TEST(rule_24, machine_without_our_tag_is_never_swept) {
    struct step_world *s = with_stray(DR_DAY_MS);
    stw_instance(s, "i-9")->action_id = DR_STR_NONE;
    (void)stw_expect(s, DR_STEP_DONE);
}

TEST(rule_24, machine_of_the_active_action_is_left_to_it) {
    struct step_world *s = with_stray(DR_HOUR_MS);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    s->w->state.up_action_id = DR_STR("up-0");
    v[0].since_epoch = SW_NOW_EPOCH;
    v[0].status = DR_ATTEMPT_LAUNCHED;
    v[0].instance_id = DR_STR("i-9");
    v[0].launched_epoch = SW_NOW_EPOCH - 60;
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK_EQ_INT(s->w->state.marks.n, 0);
}

TEST(rule_24, second_machine_of_an_index_is_marked_young_as_it_is) {
    struct step_world *s = with_stray(DR_SECOND_MS);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    s->w->state.up_action_id = DR_STR("up-0");
    (void)stw_launched(s, &v[0], 0, "i-8", DR_MINUTE_MS);
    stw_writes(s, "mark second machine of an index", 24);
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-9")) && !dr_state_marked(&s->w->state, DR_STR("i-8")));
}

TEST(rule_24, machine_of_an_index_that_is_still_open_is_its_first) {
    struct step_world *s = with_stray(DR_SECOND_MS);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    s->w->state.up_action_id = DR_STR("up-0");
    v[0].since_epoch = SW_NOW_EPOCH;
    (void)stw_expect(s, DR_STEP_LAUNCH);
    (void)stw_settle(s, DR_E_TIMEOUT, NULL);
    (void)stw_expect(s, DR_STEP_WAIT);
}

TEST(rule_24, nothing_is_unjoined_while_a_node_cannot_be_mapped_or_read) {
    struct step_world *s = with_stray(DR_HOUR_MS);
    struct dr_node *riddle = stw_node(s, "i-3");
    riddle->provider_id = DR_STR("k3s://who-knows");
    riddle->internal_ip = DR_STR("192.0.2.1");
    (void)stw_expect(s, DR_STEP_DONE);
    struct step_world *t = with_stray(DR_HOUR_MS);
    t->w->snap.nodes_part = (struct dr_part){.why = DR_STR("timeout")};
    t->w->snap.node_n = 0;
    (void)stw_expect(t, DR_STEP_DONE);
}

TEST(rule_17, minimum_does_not_protect_what_failed_to_join) {
    struct step_world *s = stw_new();
    stw_workers(s, 1);
    struct dr_instance *stray = sw_instance(s->w, "i-9", "zb");
    stray->action_id = DR_STR("up-0");
    s->w->state.backoff_until_epoch = SW_NOW_EPOCH + 60;
    s->w->cfg.min_workers = 2;
    stw_writes(s, "mark unjoined machine", 24);
}

TEST(rule_16, refused_and_interrupted_machines_are_not_swept) {
    struct step_world *s = with_stray(DR_HOUR_MS);
    s->w->state.refused = sw_strs(s->w, 1, (const char *const[]){"i-9"});
    (void)stw_expect(s, DR_STEP_DONE);
    s->w->state.refused.n = 0;
    sw_record(s->w, "i-9", DR_EVENT_WARNING);
    s->w->cfg.max_workers = 3;
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK_EQ_INT(s->plan.decision.reason, DR_REASON_DEBT);
}

/* ---- quarantine ---- */

TEST(quarantine, keeps_the_machine_for_its_time_and_then_it_is_swept) {
    struct step_world *s = with_stray(DR_HOUR_MS);
    s->w->cfg.join_failure = DR_JOIN_QUARANTINE;
    stw_writes(s, "quarantine", 24);
    CHECK_EQ_INT(s->w->state.marks.n, 0);
    (void)stw_expect(s, DR_STEP_DONE);
    stw_pass(s, s->w->cfg.quarantine_ms - 1000);
    (void)stw_expect(s, DR_STEP_DONE);
    stw_pass(s, 1000);
    stw_writes(s, "mark unjoined machine", 24);
}

TEST(quarantine, ends_when_the_machine_joins_after_all) {
    struct step_world *s = with_stray(DR_HOUR_MS);
    s->w->cfg.join_failure = DR_JOIN_QUARANTINE;
    stw_writes(s, "quarantine", 24);
    (void)sw_node(s->w, stw_instance(s, "i-9"));
    stw_writes(s, "end quarantine: joined", 24);
    CHECK(dr_state_quarantined(&s->w->state, DR_STR("i-9")) == NULL);
    (void)stw_expect(s, DR_STEP_DONE);
}

/* ---- cordons ---- */

static struct step_world *cordoned(const char *owner) {
    struct step_world *s = stw_new();
    stw_workers(s, 3);
    stw_node(s, "i-2")->unschedulable = true;
    stw_node(s, "i-2")->cordon_owner = dr_str_of(owner);
    return s;
}

TEST(rule_26, cordon_of_an_action_that_no_longer_exists_is_undone) {
    struct step_world *s = cordoned("down-0");
    const struct dr_step *step = stw_expect(s, DR_STEP_UNCORDON);
    CHECK_EQ_INT(step->rule, 26);
    CHECK_EQ_STR(step->instance_id, "i-2");
    (void)stw_settle(s, DR_OK, NULL);
    (void)stw_expect(s, DR_STEP_DONE);
}

TEST(rule_26, annotation_that_was_left_without_its_cordon_is_undone_too) {
    struct step_world *s = cordoned("down-0");
    stw_node(s, "i-2")->unschedulable = false;
    (void)stw_expect(s, DR_STEP_UNCORDON);
}

TEST(rule_26, cordon_that_was_patched_in_this_tick_is_read_again_first) {
    struct step_world *s = cordoned("down-0");
    stw_node(s, "i-2")->resource_version = DR_STR_NONE;
    (void)stw_expect(s, DR_STEP_REFRESH);
}

TEST(rule_26, uncordon_that_fails_is_tried_again_later_and_does_not_stop_the_tick) {
    struct step_world *s = cordoned("down-0");
    (void)stw_expect(s, DR_STEP_UNCORDON);
    (void)stw_settle(s, DR_E_CONFLICT, NULL);
    CHECK_EQ_INT(stw_expect(s, DR_STEP_WAIT)->wait_ms, 2000);
    stw_look(s, 2000);
    (void)stw_expect(s, DR_STEP_UNCORDON);
}

TEST(rule_18, cordon_of_a_person_is_never_undone) {
    struct step_world *s = cordoned("");
    (void)stw_expect(s, DR_STEP_DONE);
}

TEST(rule_18, cordon_of_a_marked_or_interrupted_machine_is_never_undone) {
    struct step_world *s = cordoned("mark-i-2");
    stw_mark(s, "i-2");
    (void)stw_next(s);
    struct dr_step step = {.kind = DR_STEP_DONE};
    CHECK(!dr_stage_sweeps(&s->m, &step));
    struct step_world *t = cordoned("interruption-i-2");
    sw_record(t->w, "i-2", DR_EVENT_WARNING);
    (void)stw_next(t);
    CHECK(!dr_stage_sweeps(&t->m, &step));
}

TEST(rule_18, cordon_of_an_ended_interruption_is_undone) {
    struct step_world *s = cordoned("interruption-i-2");
    (void)stw_expect(s, DR_STEP_UNCORDON);
}

TEST(rule_18, cordon_of_an_open_target_stays) {
    struct step_world *s = cordoned("down-1");
    sw_scale_down(s->w, "i-2");
    (void)stw_next(s);
    struct dr_step step = {.kind = DR_STEP_DONE};
    CHECK(!dr_stage_sweeps(&s->m, &step));
    stw_node(s, "i-2")->cordon_owner = DR_STR("down-0");
    (void)stw_next(s);
    CHECK(dr_stage_sweeps(&s->m, &step));
    CHECK_EQ_INT(step.kind, DR_STEP_UNCORDON);
}

/* ---- ghosts ---- */

TEST(rule_26, node_of_a_terminated_machine_is_deleted) {
    struct step_world *s = stw_new();
    stw_workers(s, 3);
    stw_instance(s, "i-3")->state = DR_INSTANCE_SHUTTING_DOWN;
    (void)stw_expect(s, DR_STEP_DONE);
    stw_instance(s, "i-3")->state = DR_INSTANCE_TERMINATED;
    CHECK_EQ_STR(stw_expect(s, DR_STEP_DELETE_NODE)->target, "node-i-3");
    (void)stw_settle(s, DR_OK, NULL);
    (void)stw_expect(s, DR_STEP_DONE);
}

/* i-3 is unknown to EC2. */
static struct step_world *forgotten(enum dr_ready ready, int64_t age_ms) {
    struct step_world *s = stw_new();
    stw_workers(s, 3);
    struct dr_node *node = stw_node(s, "i-3");
    node->ready = ready;
    node->created_ms = SW_NOW_MS - age_ms;
    node->ready_changed_ms = node->created_ms + 1000;
    s->w->snap.instance_n = 2;
    return s;
}

TEST(rule_26, node_that_ec2_does_not_know_is_deleted_only_if_not_ready_and_older_than_ten_minutes) {
    (void)stw_expect(forgotten(DR_READY_FALSE, 11 * DR_MINUTE_MS), DR_STEP_DELETE_NODE);
    (void)stw_expect(forgotten(DR_READY_FALSE, 9 * DR_MINUTE_MS), DR_STEP_DONE);
    (void)stw_expect(forgotten(DR_READY_TRUE, DR_DAY_MS), DR_STEP_DONE);
}

TEST(rule_26, no_node_is_deleted_while_ec2_cannot_be_asked) {
    struct step_world *s = forgotten(DR_READY_FALSE, DR_DAY_MS);
    s->w->snap.instances_part = (struct dr_part){.why = DR_STR("timeout")};
    s->w->snap.instance_n = 0;
    (void)stw_expect(s, DR_STEP_DONE);
}

TEST(rule_26, deletion_that_fails_is_tried_again) {
    struct step_world *s = forgotten(DR_READY_FALSE, DR_DAY_MS);
    (void)stw_expect(s, DR_STEP_DELETE_NODE);
    (void)stw_settle(s, DR_E_UNAVAILABLE, NULL);
    (void)stw_expect(s, DR_STEP_WAIT);
    stw_look(s, 2000);
    (void)stw_expect(s, DR_STEP_DELETE_NODE);
}
