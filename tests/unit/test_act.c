/* Effects: one at a time, each answered for in the plan, retried with pauses, alerted where people must know. */

#include "unit/engine_world.h"

static const struct dr_deed *deed(const struct engine_world *e, const char *what) {
    const struct dr_plan *plan = &ew_report(e, 0)->plan;
    for (size_t i = 0; i < plan->deed_n; i++) {
        if (strcmp(plan->deeds[i].what, what) == 0) {
            return &plan->deeds[i];
        }
    }
    FAIL("no deed \"%s\"", what);
}

TEST(act, launch_that_is_throttled_is_tried_four_times_in_a_tick_and_then_left_to_the_next) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = ew_fault(DR_FAULT_ERROR, DR_CALL_COMPUTE_LAUNCH, 0);
    fault.code = DR_E_THROTTLED;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->calls[DR_CALL_COMPUTE_LAUNCH], 4 * ew_item(e)->up_requested);
    CHECK_CONTAINS(deed(e, "launch")->outcome, "throttled");
    CHECK_EQ_INT(ew_item(e)->attempts.v[0].attempt, 1);
    ew_heal(e);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_item(e)->up_instance_ids.n, ew_item(e)->up_requested);
}

TEST(act, launch_that_is_denied_alerts_people) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = ew_fault(DR_FAULT_ERROR, DR_CALL_COMPUTE_LAUNCH, 1);
    fault.code = DR_E_DENIED;
    ew_strike(e, &fault);
    e->runner.cfg.max_batch_up = 1;
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(dr_world_stats(e->world).alerts, 2); /* the call, and the scale-up that failed with it */
    CHECK_CONTAINS(dr_str_of(e->last_notice), "2 fail scale-up");
    CHECK(ew_item(e)->backoff_until_epoch > 0);
}

TEST(act, every_evicted_pod_is_named_with_its_outcome) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    ew_deploy(e, "web", 8, 100);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 30 * DR_SECOND_MS);
    CHECK(ew_tick(e, 0));
    CHECK_CONTAINS(deed(e, "evict")->outcome, "accepted, leaves ");
    CHECK_CONTAINS(deed(e, "evict")->target, "default/web-");
    CHECK_CONTAINS(deed(e, "cordon")->outcome, "ok, instance i-");
    CHECK_EQ_INT(deed(e, "cordon")->rule, 18);
}

TEST(act, eviction_that_fails_is_tried_again_and_loses_nobody) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    ew_deploy(e, "web", 8, 100);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 30 * DR_SECOND_MS);
    struct dr_fault fault = ew_fault(DR_FAULT_ERROR, DR_CALL_CLUSTER_EVICT, 1);
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_CONTAINS(deed(e, "evict")->outcome, "unavailable");
    CHECK(e->calls[DR_CALL_CLUSTER_EVICT] >= 2);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 1);
    CHECK_EQ_INT(dr_world_stats(e->world).lost_pods, 0);
}

TEST(act, budget_that_blocks_is_asked_again) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    ew_deploy(e, "web", 8, 100);
    static const struct dr_str values[] = {{"web", 3}};
    static const struct dr_requirement web = {.key = {"app", 3}, .op = DR_OP_IN, .values = {values, 1}};
    struct dr_budget budget = {.ns = DR_STR("default"), .name = DR_STR("web"), .selector = {&web, 1}, .value = 1};
    struct dr_err err;
    CHECK_OK(dr_world_add_budget(e->world, &budget, &err), err);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 30 * DR_SECOND_MS);
    CHECK(ew_tick(e, 0));
    ew_run(e, 6 * DR_MINUTE_MS);
    CHECK(dr_world_stats(e->world).evictions_blocked > 0);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 1);
    CHECK_EQ_INT(dr_world_stats(e->world).lost_pods, 0);
}

TEST(act, ghost_is_deleted_by_name_and_uid_and_said_so) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    (void)dr_world_kill(e->world, dr_world_pick(e->world, -1, DR_STR_NONE, 0));
    (void)dr_world_advance(e->world, dr_world_now(e->world) + DR_MINUTE_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_STR(deed(e, "delete ghost node")->outcome, "ok");
    CHECK_EQ_INT(dr_world_counts(e->world).ghosts, 0);
}

/* The result is in the item before the next effect: at the second launch the first instance is recorded. */
static void check_recorded(struct engine_world *e, const struct dr_call *call) {
    if (call->name == DR_CALL_COMPUTE_LAUNCH) {
        const struct dr_state *item = ew_item(e);
        CHECK_EQ_INT(item->up_instance_ids.n, e->seen);
        CHECK_EQ_INT(item->attempts.n, e->seen + 1);
        CHECK_EQ_INT(item->attempts.v[e->seen].status, DR_ATTEMPT_OPEN);
        e->seen++;
    }
}

TEST(rule_7, at_every_launch_its_attempt_is_open_in_the_item_and_the_one_before_is_recorded) {
    struct engine_world *e = ew_hot(NULL, NULL);
    ew_deploy(e, "batch", 8, 1500);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 5 * DR_MINUTE_MS);
    e->on_call = check_recorded;
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->seen, 2);
    struct dr_snapshot snap;
    dr_world_peek(e->world, &snap);
    for (size_t i = 0; i < snap.instance_n; i++) {
        CHECK(snap.instances[i].action_id.n == 0 || dr_str_eq(snap.instances[i].action_id, ew_item(e)->up_action_id));
    }
}

/* At every termination the machine is marked, and the Nodes were read after that. */
static void check_marked(struct engine_world *e, const struct dr_call *call) {
    if (call->name == DR_CALL_STORE_CAS) {
        e->seen = 0;
    } else if (call->name == DR_CALL_CLUSTER_OBSERVE) {
        e->seen = 1;
    } else if (call->name == DR_CALL_COMPUTE_TERMINATE) {
        CHECK_EQ_INT(ew_item(e)->marks.n, 1);
        CHECK_EQ_INT(e->seen, 1);
    }
}

TEST(rule_15, at_every_termination_the_nodes_were_read_after_the_mark_was_written) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    e->on_call = check_marked;
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->calls[DR_CALL_COMPUTE_TERMINATE], 1);
}
