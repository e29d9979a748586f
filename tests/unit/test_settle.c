/* What the result of an effect means for the item and for the rest of the tick: rule 16, and the snapshot that effects are worked into. */

#include "unit/step_world.h"

/* A mark on a machine that this tick's Describe does not show, launched so long ago by the active scale-up. */
static struct step_world *unseen(int64_t age_s) {
    struct step_world *s = stw_new();
    stw_workers(s, 2);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    v[0].status = DR_ATTEMPT_FAILED;
    v[0].instance_id = DR_STR("i-9");
    v[0].launched_epoch = SW_NOW_EPOCH - age_s;
    stw_mark(s, "i-9");
    return s;
}

TEST(rule_16, not_found_is_no_success_for_a_young_machine_that_was_never_described) {
    struct step_world *s = unseen(599);
    (void)stw_expect(s, DR_STEP_TERMINATE);
    CHECK(!stw_settle(s, DR_E_NOT_FOUND, NULL));
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-9")));
}

TEST(rule_16, not_found_is_success_for_a_machine_older_than_ten_minutes) {
    struct step_world *s = unseen(600);
    (void)stw_expect(s, DR_STEP_TERMINATE);
    CHECK(stw_settle(s, DR_E_NOT_FOUND, NULL));
    CHECK(!dr_state_marked(&s->w->state, DR_STR("i-9")) && dr_state_ended(&s->w->state, DR_STR("i-9")));
}

TEST(rule_16, not_found_is_success_for_a_machine_that_was_described) {
    struct step_world *s = unseen(10);
    (void)sw_instance(s->w, "i-9", "za");
    (void)stw_expect(s, DR_STEP_TERMINATE);
    CHECK(stw_settle(s, DR_E_NOT_FOUND, NULL));
    CHECK(dr_state_ended(&s->w->state, DR_STR("i-9")));
}

TEST(rule_13, result_of_a_call_for_what_is_no_longer_marked_changes_nothing) {
    struct step_world *s = unseen(600);
    (void)stw_expect(s, DR_STEP_TERMINATE);
    s->w->state.marks = (struct dr_strs){NULL, 0};
    CHECK(!stw_settle(s, DR_E_PROTECTED, NULL));
    CHECK_EQ_INT(s->w->state.refused.n, 0);
}

TEST(rule_13, accepted_termination_completes_its_target_and_keeps_its_mark) {
    struct step_world *s = stw_new();
    stw_workers(s, 4);
    sw_scale_down(s->w, "i-4");
    stw_mark(s, "i-4");
    (void)stw_expect(s, DR_STEP_TERMINATE);
    CHECK(stw_settle(s, DR_OK, NULL));
    CHECK(dr_strs_has(s->w->state.down_completed, DR_STR("i-4")));
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-4")));
    CHECK(!stw_settle(s, DR_OK, NULL));
}

TEST(settle, unknown_machine_of_no_action_is_found_gone_at_once) {
    struct step_world *s = stw_new();
    stw_workers(s, 2);
    stw_mark(s, "i-9");
    (void)stw_expect(s, DR_STEP_TERMINATE);
    CHECK(stw_settle(s, DR_E_NOT_FOUND, NULL));
    CHECK(dr_state_ended(&s->w->state, DR_STR("i-9")));
}

/* ---- the snapshot after an effect ---- */

static struct step_world *one_pod(void) {
    struct step_world *s = stw_new();
    stw_workers(s, 3);
    (void)sw_pod(s->w, stw_node(s, "i-1"), 100, SW_GIB);
    s->w->pods[0].grace_ms = 30000;
    return s;
}

static void reflect(struct step_world *s, const struct dr_step *step, enum dr_code code, const int *evicted) {
    struct dr_result result = {.code = code, .evicted = evicted};
    dr_step_reflect(&s->w->arena, &s->w->snap, step, &result, SW_NOW_MS);
}

TEST(reflect, every_effect_makes_the_snapshot_old) {
    struct step_world *s = one_pod();
    struct dr_step step = {.kind = DR_STEP_TERMINATE, .instance_id = DR_STR("i-1")};
    reflect(s, &step, DR_E_TIMEOUT, NULL);
    CHECK(s->w->snap.touched);
    CHECK_EQ_INT(s->w->snap.instances[0].state, DR_INSTANCE_RUNNING);
}

TEST(reflect, evicted_pods_are_leaving_within_the_shorter_grace_and_absent_ones_are_gone) {
    struct step_world *s = one_pod();
    (void)sw_pod(s->w, stw_node(s, "i-1"), 100, SW_GIB);
    (void)sw_pod(s->w, stw_node(s, "i-1"), 100, SW_GIB);
    const struct dr_pod *pods[] = {&s->w->pods[0], &s->w->pods[1], &s->w->pods[2]};
    const int outcomes[] = {0, 1, 2};
    struct dr_step step = {.kind = DR_STEP_EVICT, .pods = pods, .pod_n = 3, .grace_ms = 5000};
    reflect(s, &step, DR_E_CONFLICT, outcomes);
    CHECK(s->w->snap.pods[0].deleting);
    CHECK_EQ_INT(s->w->snap.pods[0].delete_by_ms, SW_NOW_MS + 5000);
    CHECK_EQ_INT(s->w->snap.pods[1].phase, DR_PHASE_SUCCEEDED);
    CHECK(!s->w->snap.pods[2].deleting);
    CHECK(!s->w->pods[0].deleting); /* what was observed is not changed in place */
}

TEST(reflect, own_grace_of_a_pod_holds_where_none_is_given) {
    struct step_world *s = one_pod();
    const struct dr_pod *pods[] = {&s->w->pods[0]};
    const int outcomes[] = {0};
    struct dr_step step = {.kind = DR_STEP_EVICT, .pods = pods, .pod_n = 1, .grace_ms = -1};
    reflect(s, &step, DR_OK, outcomes);
    CHECK_EQ_INT(s->w->snap.pods[0].delete_by_ms, SW_NOW_MS + 30000);
}

TEST(rule_18, patched_node_needs_a_fresh_read_before_the_next_patch) {
    struct step_world *s = one_pod();
    struct dr_step step = {.kind = DR_STEP_CORDON, .node = &s->w->snap.nodes[1], .cordon_owner = DR_STR("down-1")};
    reflect(s, &step, DR_OK, NULL);
    CHECK(s->w->snap.nodes[1].unschedulable);
    CHECK_EQ_STR(s->w->snap.nodes[1].cordon_owner, "down-1");
    CHECK_EQ_INT(s->w->snap.nodes[1].resource_version.n, 0);
    step = (struct dr_step){.kind = DR_STEP_UNCORDON, .node = &s->w->snap.nodes[1]};
    reflect(s, &step, DR_OK, NULL);
    CHECK(!s->w->snap.nodes[1].unschedulable);
    CHECK_EQ_INT(s->w->snap.nodes[1].cordon_owner.n, 0);
    CHECK_EQ_INT(s->w->snap.nodes[1].resource_version.n, 0);
}

TEST(rule_18, patch_that_met_a_conflict_changes_nothing) {
    struct step_world *s = one_pod();
    struct dr_step step = {.kind = DR_STEP_CORDON, .node = &s->w->snap.nodes[1], .cordon_owner = DR_STR("down-1")};
    reflect(s, &step, DR_E_CONFLICT, NULL);
    CHECK(!s->w->snap.nodes[1].unschedulable);
}

TEST(reflect, deleted_node_leaves_the_list_also_when_it_was_gone_already) {
    struct step_world *s = one_pod();
    struct dr_step step = {.kind = DR_STEP_DELETE_NODE, .node = &s->w->snap.nodes[0]};
    reflect(s, &step, DR_E_CONFLICT, NULL);
    CHECK_EQ_INT(s->w->snap.node_n, 3);
    reflect(s, &step, DR_E_NOT_FOUND, NULL);
    CHECK_EQ_INT(s->w->snap.node_n, 2);
    CHECK_EQ_STR(s->w->snap.nodes[0].name, "node-i-2");
    CHECK_EQ_STR(s->w->snap.nodes[1].name, "node-i-3");
    step = (struct dr_step){.kind = DR_STEP_DELETE_NODE, .node = &s->w->snap.nodes[1]};
    reflect(s, &step, DR_OK, NULL);
    CHECK_EQ_INT(s->w->snap.node_n, 1);
    CHECK_EQ_STR(s->w->snap.nodes[0].name, "node-i-2");
}

TEST(reflect, handled_event_is_handled_for_the_rest_of_the_tick) {
    struct step_world *s = one_pod();
    stw_event(s, "i-1", DR_EVENT_WARNING, false);
    stw_event(s, "i-2", DR_EVENT_WARNING, false);
    struct dr_step step = {.kind = DR_STEP_HANDLE_EVENT, .event = &s->w->snap.events[1]};
    reflect(s, &step, DR_OK, NULL);
    CHECK(!s->w->snap.events[0].handled && s->w->snap.events[1].handled);
}

TEST(reflect, launched_machine_is_not_made_up) {
    struct step_world *s = one_pod();
    struct dr_step step = {.kind = DR_STEP_LAUNCH};
    reflect(s, &step, DR_OK, NULL);
    CHECK_EQ_INT(s->w->snap.instance_n, 3);
    CHECK(s->w->snap.touched);
}
