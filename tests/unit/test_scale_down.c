/* Scale-down on worlds built by hand: rules 13, 14, 18 to 20, 25, 27. */

#include "unit/step_world.h"

#define MOVED 0
#define GONE 1
#define BLOCKED 2

/* Four quiet workers in three zones, i-4 (zone za, like i-1) is the target. */
static struct step_world *targeted(void) {
    struct step_world *s = stw_new();
    stw_percent(s, DR_SIGNAL_AT_CPU, 10);
    stw_percent(s, DR_SIGNAL_AT_MEMORY, 10);
    stw_workers(s, 4);
    sw_scale_down(s->w, "i-4");
    s->w->state.down_reason = DR_STR("idle");
    s->w->state.down_started_epoch = SW_NOW_EPOCH - 60;
    return s;
}

/* ... its drain has begun, it is cordoned and empty. */
static struct step_world *drained(void) {
    struct step_world *s = targeted();
    stw_draining(s, "i-4", 1, (const char *const[]){"owner-web"});
    return s;
}

static bool is_target(const struct step_world *s, const char *id) { return dr_strs_has(s->w->state.down_targets, dr_str_of(id)); }

static bool is_avoided(const struct step_world *s, const char *id) {
    return dr_state_avoid(&s->w->state, dr_str_fmt(&s->w->arena, "victim/%s", id)) != NULL;
}

/* ---- the way of one target ---- */

TEST(scale_down, target_is_written_about_cordoned_evicted_marked_and_only_then_terminated) {
    struct step_world *s = targeted();
    struct dr_pod *pod = sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    stw_writes(s, "store owners", 19);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_CORDON)->cordon_owner, "down-1");
    (void)stw_settle(s, DR_OK, NULL);
    const struct dr_step *step = stw_expect(s, DR_STEP_EVICT);
    CHECK_EQ_INT(step->pod_n, 1);
    CHECK_EQ_INT(step->grace_ms, -1);
    stw_evicted(s, MOVED);
    CHECK_EQ_INT(stw_expect(s, DR_STEP_WAIT)->wait_ms, 5000);
    stw_look(s, 5000);
    s->w->snap.pods = s->w->pods;
    pod->node = stw_node(s, "i-1")->name;
    stw_writes(s, "mark", 14);
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-4")));
    CHECK(s->w->state.down_terminating);
    (void)stw_expect(s, DR_STEP_REFRESH);
    stw_look(s, 0);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_TERMINATE)->instance_id, "i-4");
    (void)stw_settle(s, DR_OK, NULL);
    stw_writes(s, "complete scale-down", 13);
    CHECK_EQ_INT(s->w->state.last_scale_epoch, s->w->snap.now_ms / 1000);
}

TEST(scale_down, second_target_is_not_touched_before_the_first_is_done) {
    struct step_world *s = stw_new();
    stw_workers(s, 5);
    struct dr_state next;
    (void)dr_down_begin(&s->w->arena, &s->w->state, &next, DR_STR("down-1"), SW_NOW_EPOCH,
                        sw_strs(s->w, 2, (const char *const[]){"i-4", "i-5"}), DR_STR("surplus"));
    s->w->state = next;
    s->w->cfg.max_workers = 3;
    (void)sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    stw_writes(s, "store owners", 19);
    (void)stw_settle(s, DR_OK, NULL);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_CORDON)->instance_id, "i-4");
    (void)stw_settle(s, DR_OK, NULL);
    (void)stw_expect(s, DR_STEP_EVICT);
    stw_evicted(s, MOVED);
    (void)stw_expect(s, DR_STEP_WAIT);
}

TEST(hazard_27, eviction_that_a_budget_blocks_is_tried_again_and_does_not_end_the_drain) {
    struct step_world *s = targeted();
    (void)sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    stw_writes(s, "store owners", 19);
    (void)stw_expect(s, DR_STEP_CORDON);
    (void)stw_settle(s, DR_OK, NULL);
    (void)stw_expect(s, DR_STEP_EVICT);
    stw_evicted(s, BLOCKED);
    CHECK_EQ_INT(stw_expect(s, DR_STEP_WAIT)->wait_ms, 2000);
    stw_look(s, 2000);
    (void)stw_expect(s, DR_STEP_EVICT);
}

TEST(scale_down, pod_that_was_gone_already_is_done) {
    struct step_world *s = targeted();
    (void)sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    stw_writes(s, "store owners", 19);
    (void)stw_expect(s, DR_STEP_CORDON);
    (void)stw_settle(s, DR_OK, NULL);
    (void)stw_expect(s, DR_STEP_EVICT);
    stw_evicted(s, GONE);
    CHECK_EQ_INT(stw_expect(s, DR_STEP_REFRESH)->rule, 14);
}

TEST(scale_down, nothing_is_done_to_a_target_while_a_part_is_unknown) {
    for (int i = 0; i < 3; i++) {
        struct step_world *s = drained();
        struct dr_part *parts[] = {&s->w->snap.instances_part, &s->w->snap.nodes_part, &s->w->snap.pods_part};
        size_t *counts[] = {&s->w->snap.instance_n, &s->w->snap.node_n, &s->w->snap.pod_n};
        *parts[i] = (struct dr_part){.why = DR_STR("timeout")};
        *counts[i] = 0;
        CHECK(stw_next(s)->kind == DR_STEP_DONE || s->step.kind == DR_STEP_WAIT);
        CHECK(s->m.waiting);
    }
}

/* ---- rule 13 ---- */

TEST(rule_13, unmarked_target_is_never_terminated) {
    struct step_world *s = drained();
    for (int i = 0; i < 3; i++) {
        CHECK(stw_next(s)->kind != DR_STEP_TERMINATE);
        if (s->step.kind == DR_STEP_WRITE) {
            CHECK(dr_state_marked(&s->step.next, DR_STR("i-4")));
            break;
        }
    }
    CHECK_EQ_CSTR(s->step.what, "mark");
}

TEST(rule_13, target_that_ended_by_itself_is_given_back_unmarked) {
    struct step_world *s = drained();
    stw_instance(s, "i-4")->state = DR_INSTANCE_TERMINATED;
    stw_writes(s, "target ended by itself", 13);
    CHECK(!is_target(s, "i-4"));
    CHECK_EQ_INT(s->w->state.marks.n, 0);
    stw_writes(s, "end scale-down without effect", 13);
    CHECK_EQ_INT(s->w->state.last_scale_epoch, 0);
}

TEST(rule_13, target_that_was_remembered_as_ended_is_done) {
    struct step_world *s = drained();
    stw_mark(s, "i-4");
    struct dr_state next;
    (void)dr_mark_ended(&s->w->arena, &s->w->state, &next, DR_STR("i-4"), SW_NOW_EPOCH);
    next.down_completed = (struct dr_strs){NULL, 0};
    s->w->state = next;
    stw_writes(s, "target ended", 13);
    stw_writes(s, "complete scale-down", 13);
}

/* ---- rule 14 ---- */

TEST(rule_14, mark_needs_data_read_after_the_last_effect) {
    struct step_world *s = drained();
    s->w->snap.touched = true;
    CHECK_EQ_INT(stw_expect(s, DR_STEP_REFRESH)->rule, 14);
    stw_look(s, 0);
    stw_writes(s, "mark", 14);
}

TEST(rule_14, evicted_pod_without_a_node_holds_the_mark_up) {
    struct step_world *s = drained();
    struct dr_pod *pod = sw_pod(s->w, NULL, 100, SW_GIB / 8);
    pod->owner_uid = DR_STR("owner-web");
    pod->phase = DR_PHASE_PENDING;
    (void)stw_expect(s, DR_STEP_WAIT);
    pod->node = stw_node(s, "i-1")->name;
    stw_writes(s, "mark", 14);
}

TEST(rule_14, other_peoples_waiting_pods_do_not_hold_the_mark_up) {
    struct step_world *s = drained();
    struct dr_pod *pod = sw_pod(s->w, NULL, 100, SW_GIB / 8);
    pod->phase = DR_PHASE_PENDING;
    stw_writes(s, "mark", 14);
}

TEST(rule_14, unknown_signals_hold_the_mark_up) {
    struct step_world *s = drained();
    stw_percent(s, DR_SIGNAL_AT_CPU, -1);
    (void)stw_expect(s, DR_STEP_WAIT);
    CHECK(is_target(s, "i-4"));
}

TEST(rule_14, custom_signal_that_never_had_a_series_does_not_hold_the_mark_up) {
    struct step_world *s = drained();
    struct dr_custom queue;
    struct dr_err err;
    dr_custom_init(&queue);
    queue.name = DR_STR("queue");
    queue.query = DR_STR("queue_length");
    queue.has_above = true;
    queue.above_micro = 5000000;
    CHECK_OK(dr_config_add_custom(&s->w->cfg, &queue, &err), err);
    s->w->snap.reading_n = 3;
    stw_writes(s, "mark", 14);
}

TEST(hazard_14, pod_that_a_worker_would_help_holds_the_mark_up_before_it_is_pressure) {
    struct step_world *s = drained();
    for (size_t i = 0; i < 3; i++) {
        (void)sw_pod(s->w, &s->w->nodes[i], 1900, SW_GIB);
    }
    sw_pending(s->w, 1000, SW_GIB)->unschedulable_since_ms = SW_NOW_MS - 5000;
    (void)stw_expect(s, DR_STEP_WAIT);
    CHECK(is_target(s, "i-4"));
    s->w->state.down_reason = DR_STR("surplus");
    s->w->cfg.max_workers = 3;
    stw_writes(s, "mark", 14);
}

TEST(rule_14, node_that_someone_uncordoned_is_cordoned_again_before_the_mark) {
    struct step_world *s = drained();
    stw_node(s, "i-4")->unschedulable = false;
    stw_node(s, "i-4")->cordon_owner = DR_STR_NONE;
    CHECK_EQ_INT(stw_expect(s, DR_STEP_CORDON)->rule, 18);
}

TEST(rule_14, pod_that_came_meanwhile_is_evicted_before_the_mark) {
    struct step_world *s = drained();
    (void)sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    stw_writes(s, "store owners", 19);
    (void)stw_expect(s, DR_STEP_EVICT);
}

TEST(rule_14, victim_whose_zone_would_now_be_empty_is_given_back) {
    struct step_world *s = drained();
    s->w->cfg.min_workers = 3;
    struct dr_node *other = stw_node(s, "i-1");
    other->ready = DR_READY_FALSE;
    other->ready_changed_ms = SW_NOW_MS - 6 * DR_MINUTE_MS;
    s->w->cfg.min_workers = 2;
    s->w->snap.pool.subnet_n = 2;
    stw_node(s, "i-3")->zone = stw_instance(s, "i-3")->zone = DR_STR("zb");
    stw_writes(s, "give victim back: no longer safe", 14);
    CHECK(!is_target(s, "i-4"));
    CHECK_EQ_INT(s->w->state.marks.n, 0);
}

TEST(rule_14, victim_with_a_pod_that_may_not_be_moved_is_given_back_before_anything_is_evicted) {
    struct step_world *s = targeted();
    stw_draining(s, "i-4", 0, NULL);
    struct dr_pod *pod = sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    pod->critical = true;
    stw_writes(s, "give victim back: a pod may not be moved", 14);
    CHECK(is_avoided(s, "i-4"));
    CHECK_EQ_INT(stw_expect(s, DR_STEP_WRITE)->rule, 13);
}

TEST(rule_14, victim_whose_drain_never_began_is_given_back_without_being_avoided) {
    struct step_world *s = targeted();
    sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8)->critical = true;
    stw_writes(s, "give victim back: a pod may not be moved", 14);
    CHECK(!is_target(s, "i-4") && !is_avoided(s, "i-4"));
}

/* ---- rule 18 ---- */

TEST(rule_18, victim_that_a_person_cordoned_is_given_back_and_not_avoided) {
    struct step_world *s = targeted();
    stw_node(s, "i-4")->unschedulable = true;
    stw_writes(s, "give victim back: cordoned by someone else", 18);
    CHECK(!is_target(s, "i-4") && !is_avoided(s, "i-4"));
    stw_writes(s, "end scale-down without effect", 13);
    stw_percent(s, DR_SIGNAL_AT_CPU, 50);
    (void)stw_expect(s, DR_STEP_DONE);
}

TEST(rule_18, node_that_we_changed_is_read_again_before_it_is_patched_again) {
    struct step_world *s = drained();
    stw_node(s, "i-4")->cordon_owner = DR_STR("down-0");
    stw_node(s, "i-4")->resource_version = DR_STR_NONE;
    (void)stw_expect(s, DR_STEP_REFRESH);
}

/* ---- rule 19 ---- */

TEST(rule_19, owners_are_in_the_item_before_their_pods_are_evicted) {
    struct step_world *s = targeted();
    struct dr_pod *pod = sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    pod->owner_uid = DR_STR("owner-new");
    stw_draining(s, "i-4", 1, (const char *const[]){"owner-web"});
    stw_writes(s, "store owners", 19);
    CHECK(dr_strs_has(dr_state_drain(&s->w->state, DR_STR("i-4"))->owner_uids, DR_STR("owner-new")));
    (void)stw_expect(s, DR_STEP_EVICT);
}

static struct step_world *with_successor(int64_t waiting_ms) {
    struct step_world *s = drained();
    struct dr_pod *pod = sw_pending(s->w, 1900, SW_GIB);
    pod->owner_uid = DR_STR("owner-web");
    pod->unschedulable_since_ms = SW_NOW_MS - waiting_ms;
    for (size_t i = 0; i < 4; i++) {
        (void)sw_pod(s->w, &s->w->nodes[i], 1500, SW_GIB);
        s->w->pods[s->w->snap.pod_n - 1].owner = DR_OWNER_DAEMONSET;
    }
    return s;
}

TEST(rule_19, successor_that_waits_for_less_than_30_s_is_neither_pressure_nor_a_reason_to_cancel) {
    struct step_world *s = with_successor(29 * DR_SECOND_MS);
    s->w->cfg.up[DR_UP_PENDING].for_ms = 0;
    (void)stw_expect(s, DR_STEP_WAIT);
    CHECK(is_target(s, "i-4"));
}

TEST(rule_19, successor_that_stays_unschedulable_for_30_s_cancels_and_its_victim_is_avoided) {
    struct step_world *s = with_successor(30 * DR_SECOND_MS);
    stw_writes(s, "cancel scale-down: evicted pods find no room", 19);
    CHECK(!is_target(s, "i-4"));
    CHECK(is_avoided(s, "i-4"));
}

/* ---- rule 20 ---- */

static struct step_world *two_targets(void) {
    struct step_world *s = stw_new();
    stw_percent(s, DR_SIGNAL_AT_CPU, 10);
    stw_percent(s, DR_SIGNAL_AT_MEMORY, 10);
    stw_workers(s, 6);
    (void)dr_down_begin(&s->w->arena, &s->w->state, &s->w->state, DR_STR("down-1"), SW_NOW_EPOCH,
                        sw_strs(s->w, 2, (const char *const[]){"i-5", "i-6"}), DR_STR("idle"));
    stw_draining(s, "i-5", 0, NULL);
    return s;
}

TEST(rule_20, returning_pressure_cancels_what_is_not_marked_and_only_that) {
    struct step_world *s = two_targets();
    stw_mark(s, "i-5");
    stw_instance(s, "i-5")->state = DR_INSTANCE_SHUTTING_DOWN;
    s->w->snap.touched = true;
    stw_percent(s, DR_SIGNAL_AT_CPU, 90);
    stw_writes(s, "cancel scale-down: pressure returned", 20);
    CHECK(is_target(s, "i-5") && !is_target(s, "i-6"));
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-5")));
    CHECK(!is_avoided(s, "i-6"));
}

TEST(rule_20, falling_below_minimum_cancels) {
    struct step_world *s = two_targets();
    s->w->cfg.min_workers = 4;
    (void)stw_expect(s, DR_STEP_WRITE);
    CHECK_EQ_CSTR(s->step.what, "mark");
    stw_node(s, "i-1")->ready = DR_READY_FALSE;
    stw_node(s, "i-1")->ready_changed_ms = SW_NOW_MS - 6 * DR_MINUTE_MS;
    stw_writes(s, "cancel scale-down: below minimum", 20);
    CHECK_EQ_INT(s->w->state.down_targets.n, 0);
}

TEST(rule_20, marked_machine_is_terminated_whatever_pressure_returns) {
    struct step_world *s = drained();
    stw_writes(s, "mark", 14);
    stw_percent(s, DR_SIGNAL_AT_CPU, 95);
    stw_look(s, 0);
    (void)stw_expect(s, DR_STEP_TERMINATE);
}

TEST(rule_20, drain_that_takes_too_long_gives_its_victim_back_with_an_alert) {
    struct step_world *s = targeted();
    struct dr_pod *pod = sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    stw_draining(s, "i-4", 1, (const char *const[]){"owner-0"});
    pod->deleting = true;
    s->w->cfg.stuck_ms = DR_HOUR_MS;
    stw_pass(s, s->w->cfg.drain_timeout_ms - 61 * DR_SECOND_MS);
    (void)stw_expect(s, DR_STEP_WAIT);
    stw_pass(s, DR_SECOND_MS);
    CHECK(stw_next(s)->alert);
    stw_writes(s, "give victim back: drain timed out", 20);
    CHECK(is_avoided(s, "i-4"));
}

/* ---- rule 16 ---- */

TEST(rule_16, refused_target_is_given_back_and_uncordoned) {
    struct step_world *s = drained();
    stw_writes(s, "mark", 14);
    stw_look(s, 0);
    (void)stw_expect(s, DR_STEP_TERMINATE);
    CHECK(stw_settle(s, DR_E_PROTECTED, NULL));
    CHECK(dr_strs_has(s->w->state.refused, DR_STR("i-4")));
    stw_writes(s, "give victim back: termination refused", 16);
    stw_writes(s, "end scale-down without effect", 13);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_UNCORDON)->instance_id, "i-4");
}

/* ---- rule 25 ---- */

static struct step_world *not_ready_target(void) {
    struct step_world *s = targeted();
    s->w->state.down_reason = DR_STR("not-ready");
    stw_node(s, "i-4")->ready = DR_READY_UNKNOWN;
    stw_node(s, "i-4")->ready_changed_ms = SW_NOW_MS - 16 * DR_MINUTE_MS;
    return s;
}

TEST(rule_25, worker_that_is_not_ready_moves_what_it_can_and_waits_for_nothing) {
    struct step_world *s = not_ready_target();
    (void)sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    struct dr_pod *critical = sw_pod(s->w, stw_node(s, "i-4"), 100, SW_GIB / 8);
    critical->critical = true;
    stw_writes(s, "store owners", 19);
    (void)stw_expect(s, DR_STEP_CORDON);
    (void)stw_settle(s, DR_OK, NULL);
    CHECK_EQ_INT(stw_expect(s, DR_STEP_EVICT)->pod_n, 2);
    stw_evicted(s, MOVED);
    (void)stw_expect(s, DR_STEP_REFRESH);
    s->w->snap.touched = false;
    stw_writes(s, "mark", 14);
}

TEST(rule_25, worker_that_is_ready_again_is_given_back) {
    struct step_world *s = not_ready_target();
    stw_node(s, "i-4")->ready = DR_READY_TRUE;
    stw_writes(s, "give victim back: ready again", 25);
    CHECK(!is_target(s, "i-4") && !is_avoided(s, "i-4"));
}

TEST(rule_25, worker_that_is_not_ready_is_replaced_whatever_the_signals_say) {
    struct step_world *s = not_ready_target();
    stw_draining(s, "i-4", 0, NULL);
    stw_percent(s, DR_SIGNAL_AT_CPU, 95);
    stw_writes(s, "mark", 14);
}

TEST(rule_25, surplus_goes_whatever_the_signals_say_while_it_is_one) {
    struct step_world *s = drained();
    s->w->state.down_reason = DR_STR("surplus");
    stw_percent(s, DR_SIGNAL_AT_CPU, 95);
    s->w->cfg.max_workers = 4;
    stw_writes(s, "cancel scale-down: pressure returned", 20);
    struct step_world *t = drained();
    t->w->state.down_reason = DR_STR("surplus");
    stw_percent(t, DR_SIGNAL_AT_CPU, 95);
    t->w->cfg.max_workers = 3;
    stw_writes(t, "mark", 14);
}

/* ---- rule 27 ---- */

TEST(rule_27, stuck_scale_down_gives_uncommitted_victims_back_and_keeps_its_marks) {
    struct step_world *s = two_targets();
    stw_mark(s, "i-5");
    s->w->snap.seq = 0; /* as if just marked: the marks' own stage waits for a fresh look */
    stw_instance(s, "i-5")->state = DR_INSTANCE_SHUTTING_DOWN;
    s->w->snap.touched = true;
    s->w->snap.now_ms += s->w->cfg.stuck_ms;
    stw_writes(s, "clear stuck scale-down", 27);
    CHECK(!is_target(s, "i-6") && is_target(s, "i-5"));
    CHECK(stw_next(s)->alert);
    stw_writes(s, "clear stuck scale-down", 27);
    CHECK_EQ_INT(s->w->state.down_action_id.n, 0);
    CHECK(dr_state_marked(&s->w->state, DR_STR("i-5")));
    CHECK(!s->w->state.scaling);
}

TEST(rule_27, scale_down_is_not_stuck_before_its_limit) {
    struct step_world *s = targeted();
    s->w->state.down_started_epoch = SW_NOW_EPOCH - s->w->cfg.stuck_ms / 1000 + 1;
    stw_writes(s, "store owners", 19);
}

/* ---- unjoined targets ---- */

TEST(hazard_26, target_that_never_joined_is_marked_without_cordon) {
    struct step_world *s = stw_new();
    stw_percent(s, DR_SIGNAL_AT_CPU, 10);
    stw_workers(s, 3);
    (void)sw_instance(s->w, "i-9", "za");
    sw_scale_down(s->w, "i-9");
    s->w->state.down_started_epoch = SW_NOW_EPOCH;
    stw_writes(s, "mark", 14);
    stw_look(s, 0);
    (void)stw_expect(s, DR_STEP_TERMINATE);
}
