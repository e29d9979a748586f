/* Marks on worlds built by hand: rules 13, 15, 16. */

#include "unit/step_world.h"

static struct step_world *marked(void) {
    struct step_world *s = stw_new();
    stw_workers(s, 3);
    (void)sw_instance(s->w, "i-9", "za");
    stw_mark(s, "i-9");
    return s;
}

TEST(rule_13, mark_outlives_an_accepted_call_until_the_machine_is_seen_ending) {
    struct step_world *s = marked();
    (void)stw_expect(s, DR_STEP_TERMINATE);
    CHECK(!stw_settle(s, DR_OK, NULL));
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-9")));
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-9")));
    stw_look(s, 5000);
    stw_instance(s, "i-9")->state = DR_INSTANCE_SHUTTING_DOWN;
    stw_writes(s, "unmark ended", 13);
    CHECK(!dr_state_marked(&s->w->state, DR_STR("i-9")) && dr_state_ended(&s->w->state, DR_STR("i-9")));
}

TEST(rule_13, mark_without_an_action_is_rolled_forward_by_every_later_tick) {
    struct step_world *s = marked();
    (void)stw_expect(s, DR_STEP_TERMINATE);
    (void)stw_settle(s, DR_E_TIMEOUT, NULL);
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-9")));
    stw_pass(s, 10 * DR_MINUTE_MS);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_TERMINATE)->instance_id, "i-9");
}

TEST(rule_13, ended_machine_that_a_stale_describe_shows_running_is_left_alone) {
    struct step_world *s = marked();
    s->w->state.marks = (struct dr_strs){NULL, 0};
    sw_ended(s->w, "i-9");
    stw_instance(s, "i-9")->action_id = DR_STR("up-0");
    (void)stw_expect(s, DR_STEP_DONE);
}

TEST(rule_13, mark_of_a_target_that_is_seen_ending_completes_the_target) {
    struct step_world *s = marked();
    sw_scale_down(s->w, "i-9");
    s->w->state.down_started_epoch = SW_NOW_EPOCH;
    s->w->state.down_terminating = true;
    stw_instance(s, "i-9")->state = DR_INSTANCE_TERMINATED;
    stw_writes(s, "unmark ended", 13);
    stw_writes(s, "complete scale-down", 13);
}

TEST(rule_15, nodes_are_read_again_between_mark_and_call) {
    struct step_world *s = marked();
    s->turn.marked_seq = s->w->snap.seq;
    CHECK_EQ_INT(stw_expect(s, DR_STEP_REFRESH)->rule, 15);
    stw_look(s, 0);
    (void)stw_expect(s, DR_STEP_TERMINATE);
}

TEST(rule_15, machine_that_joined_after_its_mark_is_cordoned_and_drained_before_the_call) {
    struct step_world *s = marked();
    struct dr_node *node = sw_node(s->w, stw_instance(s, "i-9"));
    node->resource_version = DR_STR("1");
    struct dr_pod *pod = sw_pod(s->w, node, 100, SW_GIB / 8);
    pod->grace_ms = 30000;
    const struct dr_step *step = stw_expect(s, DR_STEP_CORDON);
    CHECK_EQ_INT(step->rule, 15);
    CHECK_EQ_STR(step->cordon_owner, "mark-i-9");
    (void)stw_settle(s, DR_OK, NULL);
    CHECK_EQ_INT(stw_expect(s, DR_STEP_EVICT)->rule, 15);
    stw_evicted(s, 0);
    (void)stw_expect(s, DR_STEP_WAIT);
    stw_look(s, 30 * DR_SECOND_MS);
    (void)stw_expect(s, DR_STEP_WAIT);
    stw_look(s, 30 * DR_SECOND_MS);
    (void)stw_expect(s, DR_STEP_TERMINATE);
}

TEST(rule_15, mark_waits_while_instances_nodes_or_pods_cannot_be_read) {
    for (int i = 0; i < 3; i++) {
        struct step_world *s = marked();
        if (i == 0) {
            s->w->snap.nodes_part = (struct dr_part){.why = DR_STR("timeout")};
            s->w->snap.node_n = 0;
        } else if (i == 1) {
            s->w->snap.instances_part = (struct dr_part){.why = DR_STR("timeout")};
            s->w->snap.instance_n = 0;
        } else {
            (void)sw_node(s->w, stw_instance(s, "i-9"));
            s->w->snap.pods_part = (struct dr_part){.why = DR_STR("timeout")};
        }
        CHECK(stw_next(s)->kind == DR_STEP_DONE || s->step.kind == DR_STEP_WAIT);
        CHECK(s->m.waiting);
        CHECK(dr_state_marked(&s->w->state, DR_STR("i-9")));
    }
}

TEST(rule_15, interrupted_machine_is_not_held_back_by_a_silent_cluster) {
    struct step_world *s = marked();
    sw_record(s->w, "i-9", DR_EVENT_WARNING);
    struct dr_record *record = DR_NEW(&s->w->arena, struct dr_record);
    *record = s->w->state.records.v[0];
    record->returned_id = DR_STR("i-1");
    record->noticed_epoch = SW_NOW_EPOCH - 700;
    s->w->state.records.v = record;
    s->w->snap.nodes_part = (struct dr_part){.why = DR_STR("timeout")};
    s->w->snap.node_n = 0;
    (void)stw_next(s);
    struct dr_step step = {.kind = DR_STEP_DONE};
    CHECK(dr_stage_marks(&s->m, &step));
    CHECK_EQ_INT(step.kind, DR_STEP_TERMINATE);
}

TEST(rule_15, dead_machine_is_not_waited_for) {
    struct step_world *s = marked();
    struct dr_node *node = sw_node(s->w, stw_instance(s, "i-9"));
    node->ready = DR_READY_UNKNOWN;
    (void)sw_pod(s->w, node, 100, SW_GIB / 8);
    (void)stw_expect(s, DR_STEP_TERMINATE);
}

TEST(rule_15, finished_and_daemonset_pods_are_not_waited_for) {
    struct step_world *s = marked();
    struct dr_node *node = sw_node(s->w, stw_instance(s, "i-9"));
    sw_pod(s->w, node, 100, SW_GIB / 8)->owner = DR_OWNER_DAEMONSET;
    sw_pod(s->w, node, 100, SW_GIB / 8)->phase = DR_PHASE_SUCCEEDED;
    (void)stw_expect(s, DR_STEP_TERMINATE);
}

TEST(rule_16, one_machine_per_call) {
    struct step_world *s = marked();
    (void)sw_instance(s->w, "i-8", "zb");
    stw_mark(s, "i-8");
    CHECK_EQ_STR(stw_expect(s, DR_STEP_TERMINATE)->instance_id, "i-9");
    (void)stw_settle(s, DR_E_THROTTLED, NULL);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_TERMINATE)->instance_id, "i-8");
}

TEST(rule_16, termination_protection_makes_the_mark_refused_and_never_a_victim_again) {
    struct step_world *s = marked();
    struct dr_node *node = sw_node(s->w, stw_instance(s, "i-9"));
    node->resource_version = DR_STR("1");
    node->unschedulable = true;
    node->cordon_owner = DR_STR("mark-i-9");
    stw_instance(s, "i-9")->action_id = DR_STR("up-0");
    (void)stw_expect(s, DR_STEP_TERMINATE);
    CHECK(stw_settle(s, DR_E_PROTECTED, NULL));
    CHECK(!dr_state_marked(&s->w->state, DR_STR("i-9")));
    CHECK(dr_strs_has(s->w->state.refused, DR_STR("i-9")));
    (void)stw_expect(s, DR_STEP_UNCORDON);
    (void)stw_settle(s, DR_OK, NULL);
    stw_pass(s, DR_MINUTE_MS);
    (void)stw_expect(s, DR_STEP_DONE);
    const struct dr_worker *worker = dr_fleet_find(&s->view.fleet, DR_STR("i-9"));
    CHECK(worker != NULL && worker->refused && !worker->live);
}

TEST(rule_16, nothing_else_is_a_refusal) {
    static const enum dr_code codes[] = {DR_E_DENIED, DR_E_INVALID, DR_E_THROTTLED, DR_E_TIMEOUT, DR_E_UNAVAILABLE, DR_E_INTERNAL};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct step_world *s = marked();
        (void)stw_expect(s, DR_STEP_TERMINATE);
        CHECK(!stw_settle(s, codes[i], NULL));
        CHECK(dr_state_marked(&s->w->state, DR_STR("i-9")));
        CHECK_EQ_INT(s->w->state.refused.n, 0);
    }
}
