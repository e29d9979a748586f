/* Rules of docs/protocol.md that need time, a second look or bad luck: the whole engine on the simulated world. Single steps are in the tests of their modules. */

#include "unit/engine_world.h"

static void defaults(struct dr_world_options *options, struct dr_config *cfg) { ew_defaults(options, cfg); }

static struct dr_str pick(struct engine_world *e, size_t n) { return dr_world_pick(e->world, -1, DR_STR_NONE, n); }

static void pass(struct engine_world *e, int64_t ms) { (void)dr_world_advance(e->world, dr_world_now(e->world) + ms); }

static int64_t launches(struct engine_world *e) { return dr_world_stats(e->world).launches; }

/* ---- launch ---- */

TEST(rule_8, zone_that_only_times_out_is_given_up_in_the_end_and_avoided) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    cfg.max_batch_up = 1;
    struct engine_world *e = ew_hot(&options, &cfg);
    struct dr_fault fault = ew_fault(DR_FAULT_TIMEOUT, DR_CALL_COMPUTE_LAUNCH, 0);
    fault.to_ms = dr_world_now(e->world) + 20 * DR_MINUTE_MS;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    struct dr_str zone = dr_str_dup(&e->arena, ew_item(e)->attempts.v[0].zone);
    ew_run(e, 14 * DR_MINUTE_MS);
    CHECK_EQ_INT(ew_item(e)->attempts.n, 1);
    CHECK_EQ_INT(ew_item(e)->attempts.v[0].attempt, 1);
    CHECK_EQ_INT(ew_item(e)->attempts.v[0].status, DR_ATTEMPT_OPEN);
    ew_run(e, 4 * DR_MINUTE_MS);
    struct dr_str key = dr_str_fmt(&e->arena, "zone/%.*s", DR_FMT(zone));
    CHECK(dr_state_avoid(ew_item(e), key) != NULL);
    CHECK_EQ_INT(launches(e), 0);
    CHECK(dr_world_stats(e->world).alerts > 0);
}

TEST(rule_9, machine_whose_launch_nobody_heard_of_is_found_by_its_token_not_launched_again) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    options.describe_lag_ms = 3 * DR_MINUTE_MS;
    struct engine_world *e = ew_hot(&options, &cfg);
    struct dr_fault faults[] = {ew_fault(DR_FAULT_LOSE_REPLY, DR_CALL_COMPUTE_LAUNCH, 1),
                                ew_fault(DR_FAULT_CRASH_BEFORE, DR_CALL_COMPUTE_LAUNCH, 2)};
    dr_world_set_faults(e->world, faults, 2);
    CHECK(!ew_tick(e, 0));
    CHECK_EQ_INT(launches(e), 1);
    CHECK_EQ_INT(ew_item(e)->up_instance_ids.n, 0);
    ew_heal(e);
    ew_run(e, 3 * DR_MINUTE_MS);
    CHECK_EQ_INT(launches(e), 1 + (ew_item(e)->up_requested > 1 ? ew_item(e)->up_requested - 1 : 0));
    ew_signals(e, 50, 60);
    ew_settle(e, 20 * DR_MINUTE_MS);
}

TEST(rule_10, late_launch_gets_its_whole_join_timeout) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    cfg.join_timeout_ms = 5 * DR_MINUTE_MS;
    cfg.min_workers = 4;
    struct engine_world *e = ew_open(&options, &cfg);
    ew_workers(e, 2);
    dr_world_set_boot(e->world, 2 * DR_MINUTE_MS, 2 * DR_MINUTE_MS, 0);
    dr_world_never_join_next(e->world, 1);
    /* The second of two launches is refused an answer for four minutes: it becomes Ready eight minutes after the action began. */
    struct dr_fault fault = ew_fault(DR_FAULT_ERROR, DR_CALL_COMPUTE_LAUNCH, 0);
    fault.to_ms = dr_world_now(e->world) + 4 * DR_MINUTE_MS;
    dr_world_set_latency(e->world, DR_CALL_COMPUTE_LAUNCH, 1);
    fault.from_ms = dr_world_now(e->world) + 2;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_item(e)->up_requested, 2);
    CHECK_EQ_INT(launches(e), 1);
    struct dr_str action = dr_str_dup(&e->arena, ew_item(e)->up_action_id);
    ew_run(e, 7 * DR_MINUTE_MS);
    CHECK(dr_str_eq(ew_item(e)->up_action_id, action));
    ew_run(e, 4 * DR_MINUTE_MS);
    CHECK(ew_item(e)->last_scale_epoch > 0);
    CHECK_EQ_INT(ew_item(e)->backoff_count, 0);
}

TEST(rule_11, completion_is_written_once_and_starts_one_cooldown) {
    struct engine_world *e = ew_hot(NULL, NULL);
    CHECK(ew_tick(e, 0));
    ew_signals(e, 50, 60);
    ew_run(e, 4 * DR_MINUTE_MS);
    int64_t completed = ew_item(e)->last_scale_epoch;
    CHECK(completed > 0);
    ew_run(e, 20 * DR_MINUTE_MS);
    CHECK_EQ_INT(ew_item(e)->last_scale_epoch, completed);
}

TEST(rule_12, worker_lost_during_a_scale_up_is_made_up_for_by_the_same_action) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    cfg.min_workers = 3;
    struct engine_world *e = ew_open(&options, &cfg);
    ew_workers(e, 2);
    dr_world_set_boot(e->world, 3 * DR_MINUTE_MS, DR_MINUTE_MS, 0);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_item(e)->up_requested, 1);
    struct dr_str action = dr_str_dup(&e->arena, ew_item(e)->up_action_id);
    (void)dr_world_kill(e->world, pick(e, 0));
    pass(e, DR_MINUTE_MS);
    CHECK(ew_tick(e, 0));
    CHECK(dr_str_eq(ew_item(e)->up_action_id, action));
    CHECK_EQ_INT(ew_item(e)->up_requested, 2);
    ew_settle(e, 20 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 3);
    CHECK_EQ_INT(launches(e), 2);
}

/* ---- terminate ---- */

TEST(rule_13, stale_describe_does_not_bring_an_ended_machine_back) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    struct dr_fault none = ew_fault(DR_FAULT_STALE, DR_CALL_COMPUTE_OBSERVE, 1000000);
    none.ms = DR_MINUTE_MS;
    ew_strike(e, &none); /* from here the world keeps what it showed */
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 1);
    ew_run(e, 3 * DR_MINUTE_MS);
    CHECK_EQ_INT(ew_item(e)->marks.n, 0);
    CHECK_EQ_INT(ew_item(e)->ended.n, 1);
    ew_signals(e, 50, 60);
    ew_forget(e);
    struct dr_fault stale = ew_fault(DR_FAULT_STALE, DR_CALL_COMPUTE_OBSERVE, 0);
    stale.ms = 4 * DR_MINUTE_MS;
    ew_strike(e, &stale);
    pass(e, DR_SECOND_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->plan.worker_count, 3);
    CHECK_EQ_INT(e->calls[DR_CALL_COMPUTE_TERMINATE], 0);
    CHECK_EQ_INT(ew_item(e)->marks.n, 0);
}

/* A stray machine of ours: past its join timeout by the calendar, and about to join. */
static struct engine_world *with_late_joiner(void) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 2);
    dr_world_set_boot(e->world, 5 * DR_SECOND_MS, 5 * DR_SECOND_MS, 2 * DR_SECOND_MS);
    ew_deploy(e, "web", 6, 900); /* four find room, two wait */
    pass(e, DR_MINUTE_MS);
    e->id = dr_world_add_worker(e->world, &(struct dr_world_worker){.booting = true, .action_id = DR_STR("1-old"), .age_ms = DR_HOUR_MS});
    return e;
}

static void stall(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after;
    pass(e, arg);
}

TEST(rule_15, machine_that_joins_between_mark_and_call_is_drained_first) {
    struct engine_world *e = with_late_joiner();
    struct dr_fault fault = ew_fault(DR_FAULT_INTERLEAVE_AFTER, DR_CALL_STORE_CAS, 1);
    fault.arg = 20 * DR_SECOND_MS;
    fault.limit = 1;
    e->on_interleave = stall;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    ew_run(e, 2 * DR_MINUTE_MS);
    CHECK(!ew_alive(e, e->id));
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 1);
    CHECK(dr_world_stats(e->world).evictions > 0);
    CHECK_EQ_INT(dr_world_stats(e->world).lost_pods, 0);
}

TEST(rule_16, protected_machine_is_given_back_alerted_and_never_tried_again) {
    struct engine_world *e = ew_idle(NULL, NULL, 3);
    for (size_t i = 0; i < 3; i++) {
        (void)dr_world_protect(e->world, pick(e, i), true);
    }
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 0);
    CHECK_EQ_INT(ew_item(e)->refused.n, 1);
    CHECK(dr_world_stats(e->world).alerts > 0);
    struct dr_str refused = dr_str_dup(&e->arena, ew_item(e)->refused.v[0]);
    ew_run(e, 4 * DR_MINUTE_MS);
    const struct dr_node *node = ew_node(e, refused);
    CHECK(node != NULL && !node->unschedulable && node->cordon_owner.n == 0);
    int64_t tried = e->calls[DR_CALL_COMPUTE_TERMINATE];
    ew_run(e, 2 * DR_HOUR_MS);
    CHECK_EQ_INT(e->calls[DR_CALL_COMPUTE_TERMINATE], tried);
}

/* ---- drain ---- */

static void person_cordons(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)after, (void)arg;
    for (size_t i = 0; call->process == 0 && i < 4; i++) {
        (void)dr_world_node_cordon(e->world, pick(e, i), true);
    }
}

TEST(rule_18, cordon_loses_against_a_person_who_was_faster_and_the_persons_cordon_stays) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    struct dr_fault fault = ew_fault(DR_FAULT_INTERLEAVE_BEFORE, DR_CALL_CLUSTER_CORDON, 1);
    e->on_interleave = person_cordons;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    ew_run(e, 30 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 0);
    CHECK_EQ_INT(ew_item(e)->down_action_id.n, 0);
    for (size_t i = 0; i < 4; i++) {
        const struct dr_node *node = ew_node(e, pick(e, i));
        CHECK(node->unschedulable && node->cordon_owner.n == 0);
    }
}

/* Room for the victim's pods disappears in the moment before they are evicted. */
static void fill_room(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after, (void)arg;
    ew_deploy(e, "hog", 6, 600);
    pass(e, 1);
}

TEST(rule_19, successors_without_room_cancel_the_drain_and_the_victim_comes_back) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    cfg.max_workers = options.max_workers = 4;
    struct engine_world *e = ew_idle(&options, &cfg, 4);
    ew_deploy(e, "web", 4, 700);
    pass(e, 30 * DR_SECOND_MS);
    struct dr_fault fault = ew_fault(DR_FAULT_INTERLEAVE_BEFORE, DR_CALL_CLUSTER_EVICT, 1);
    e->on_interleave = fill_room;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    ew_run(e, DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_stats(e->world).evictions, 1);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 0);
    CHECK_EQ_INT(ew_item(e)->down_action_id.n, 0);
    CHECK_EQ_INT(ew_item(e)->avoid.n, 1);
    CHECK_EQ_INT(dr_world_counts(e->world).cordoned, 0);
    CHECK_EQ_INT(dr_world_counts(e->world).waiting, 0);
    CHECK_EQ_INT(launches(e), 0);
}

static void hot(struct dr_world *world, void *arg) {
    (void)arg;
    struct dr_err err;
    struct dr_world_workload crowd = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "crowd", 9, 900, 1 << 20);
    (void)dr_world_add_workload(world, &crowd, &err);
}

TEST(rule_20, returning_pressure_gives_the_victim_back_before_anything_is_bought) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    cfg.up[DR_UP_PENDING].for_ms = 0;
    options.pod_stop_ms = 25 * DR_SECOND_MS;
    struct engine_world *e = ew_idle(&options, &cfg, 4);
    ew_deploy(e, "web", 8, 100);
    pass(e, 30 * DR_SECOND_MS);
    dr_world_at(e->world, dr_world_now(e->world) + 10 * DR_SECOND_MS, hot, NULL);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_item(e)->down_action_id.n, 0);
    CHECK_EQ_INT(ew_item(e)->marks.n, 0);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 0);
    ew_signals(e, 50, 60);
    ew_settle(e, 40 * DR_MINUTE_MS);
    CHECK(dr_world_stats(e->world).least_ready >= 2);
}

/* ---- interruption ---- */

TEST(rule_21, duplicates_late_and_foreign_events_change_nothing) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    struct dr_str victim = dr_str_dup(&e->arena, dr_world_pick(e->world, DR_MARKET_SPOT, DR_STR_NONE, 0));
    (void)dr_world_interrupt(e->world, victim, 0);
    ew_run(e, 10 * DR_MINUTE_MS);
    CHECK_EQ_INT(launches(e), 1);
    dr_world_event(e->world, victim, DR_EVENT_WARNING, dr_world_now(e->world) - 9 * DR_MINUTE_MS);
    dr_world_event(e->world, victim, DR_EVENT_REBALANCE, dr_world_now(e->world) - 11 * DR_MINUTE_MS);
    dr_world_event(e->world, DR_STR("i-0123456789abcdef0"), DR_EVENT_WARNING, dr_world_now(e->world));
    dr_world_event(e->world, pick(e, 0), DR_EVENT_STATE_CHANGE, dr_world_now(e->world));
    ew_settle(e, 10 * DR_MINUTE_MS);
    CHECK_EQ_INT(launches(e), 1);
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 3);
    struct dr_snapshot snap;
    dr_world_peek(e->world, &snap);
    for (size_t i = 0; i < snap.event_n; i++) {
        CHECK(snap.events[i].handled);
    }
}

TEST(rule_22, replacement_that_never_joins_is_replaced_itself) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    cfg.join_timeout_ms = 4 * DR_MINUTE_MS;
    struct engine_world *e = ew_open(&options, &cfg);
    ew_workers(e, 3);
    dr_world_never_join_next(e->world, 1);
    (void)dr_world_interrupt(e->world, pick(e, 1), 0);
    ew_run(e, 3 * DR_MINUTE_MS);
    CHECK_EQ_INT(launches(e), 1);
    ew_settle(e, 40 * DR_MINUTE_MS);
    CHECK_EQ_INT(launches(e), 2);
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 3);
}

static void warn_newest(struct dr_world *world, void *arg) {
    (void)arg;
    struct dr_str newest = DR_STR_NONE;
    for (size_t i = 0; dr_world_pick(world, -1, DR_STR_NONE, i).n > 0; i++) {
        newest = dr_world_pick(world, -1, DR_STR_NONE, i);
    }
    (void)dr_world_interrupt(world, newest, 0);
}

TEST(rule_22, replacement_that_is_warned_before_it_joins_hands_the_debt_on_once) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    (void)dr_world_interrupt(e->world, pick(e, 1), 0);
    dr_world_at(e->world, dr_world_now(e->world) + 30 * DR_SECOND_MS, warn_newest, NULL);
    ew_run(e, 2 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_stats(e->world).interruptions, 2);
    ew_settle(e, 40 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 3);
    CHECK_EQ_INT(launches(e), 2);
}

TEST(hazard_35, replacement_comes_when_stock_comes_back) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    dr_world_set_capacity(e->world, DR_STR_NONE, DR_STR_NONE, -1, 0);
    (void)dr_world_interrupt(e->world, pick(e, 1), 0);
    ew_run(e, 20 * DR_MINUTE_MS);
    CHECK_EQ_INT(launches(e), 0);
    CHECK_EQ_INT(ew_item(e)->records.n, 1);
    dr_world_set_capacity(e->world, DR_STR_NONE, DR_STR_NONE, -1, -1);
    ew_settle(e, 60 * DR_MINUTE_MS);
    CHECK_EQ_INT(launches(e), 1);
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 3);
}

/* The victim of the active scale-down; another worker is warned. */
static void warn_other(struct dr_world *world, void *arg) {
    (void)arg;
    const struct dr_state *item = dr_world_item(world);
    for (size_t i = 0; i < 4; i++) {
        struct dr_str id = dr_world_pick(world, -1, DR_STR_NONE, i);
        if (item->down_targets.n == 1 && !dr_str_eq(id, item->down_targets.v[0])) {
            (void)dr_world_interrupt(world, id, 0);
            return;
        }
    }
}

TEST(rule_23, warning_during_an_uncommitted_scale_down_returns_the_victim_instead_of_a_launch) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    options.pod_stop_ms = 25 * DR_SECOND_MS;
    struct engine_world *e = ew_idle(&options, &cfg, 4);
    ew_deploy(e, "web", 8, 100);
    pass(e, 30 * DR_SECOND_MS);
    dr_world_at(e->world, dr_world_now(e->world) + 10 * DR_SECOND_MS, warn_other, NULL);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(dr_world_stats(e->world).interruptions, 1);
    CHECK_EQ_INT(ew_item(e)->down_action_id.n, 0);
    CHECK_EQ_INT(ew_item(e)->records.n, 1);
    CHECK(ew_item(e)->records.v[0].returned_id.n > 0);
    ew_signals(e, 50, 60);
    ew_settle(e, 30 * DR_MINUTE_MS);
    CHECK_EQ_INT(launches(e), 0);
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 3);
}

static void warn_at_mark(struct engine_world *e, const struct dr_call *call) {
    (void)call;
    if (e->seen == 0 && dr_world_item(e->world) != NULL && ew_item(e)->marks.n == 1 && call->name == DR_CALL_COMPUTE_TERMINATE) {
        e->seen = 1;
        warn_other(e->world, NULL);
    }
}

TEST(rule_23, warning_during_a_committed_scale_down_launches_and_the_mark_rolls_forward) {
    struct engine_world *e = ew_idle(NULL, NULL, 3);
    struct dr_fault fault = ew_fault(DR_FAULT_ERROR, DR_CALL_COMPUTE_TERMINATE, 0);
    fault.to_ms = dr_world_now(e->world) + DR_MINUTE_MS;
    e->on_call = warn_at_mark;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->seen, 1);
    ew_run(e, 4 * DR_MINUTE_MS);
    CHECK_EQ_INT(launches(e), 1);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 1);
    ew_signals(e, 50, 60);
    ew_settle(e, 30 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 2);
}

TEST(rule_23, warned_machine_that_nobody_takes_is_ended_after_ten_minutes) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    e->id = dr_str_dup(&e->arena, pick(e, 1));
    dr_world_event(e->world, e->id, DR_EVENT_WARNING, dr_world_now(e->world));
    ew_run(e, 9 * DR_MINUTE_MS);
    CHECK(ew_alive(e, e->id));
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 4);
    ew_settle(e, 10 * DR_MINUTE_MS);
    CHECK(!ew_alive(e, e->id));
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 3);
}

/* ---- sweeps ---- */

TEST(rule_24, machine_of_a_forgotten_action_that_never_joins_is_ended_and_a_strangers_is_not) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 2);
    struct dr_str ours = dr_world_add_worker(e->world, &(struct dr_world_worker){.never_join = true, .action_id = DR_STR("1-old")});
    struct dr_str theirs = dr_world_add_worker(e->world, &(struct dr_world_worker){.never_join = true});
    ours = dr_str_dup(&e->arena, ours);
    theirs = dr_str_dup(&e->arena, theirs);
    ew_run(e, 9 * DR_MINUTE_MS);
    CHECK(ew_alive(e, ours));
    ew_run(e, 4 * DR_MINUTE_MS);
    CHECK(!ew_alive(e, ours));
    ew_run(e, DR_HOUR_MS);
    CHECK(ew_alive(e, theirs));
}

TEST(rule_25, silent_worker_is_drained_marked_and_the_fleet_keeps_its_size) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 4);
    e->runner.cfg.min_workers = 4;
    ew_deploy(e, "web", 8, 100);
    pass(e, 30 * DR_SECOND_MS);
    e->id = dr_str_dup(&e->arena, pick(e, 2));
    (void)dr_world_kubelet(e->world, e->id, false);
    ew_run(e, 14 * DR_MINUTE_MS);
    CHECK(ew_alive(e, e->id));
    ew_settle(e, 20 * DR_MINUTE_MS);
    CHECK(!ew_alive(e, e->id));
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 4);
}

TEST(rule_25, half_of_the_fleet_silent_ends_nobody) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 4);
    (void)dr_world_kubelet(e->world, pick(e, 2), false);
    (void)dr_world_kubelet(e->world, pick(e, 3), false);
    ew_run(e, DR_HOUR_MS);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 0);
}

TEST(rule_25, workers_that_come_back_above_maximum_are_drained_down_to_it) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    cfg.max_workers = options.max_workers = 4;
    struct engine_world *e = ew_open(&options, &cfg);
    ew_workers(e, 6);
    ew_deploy(e, "web", 6, 100);
    ew_run(e, 20 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 4);
    CHECK_EQ_INT(dr_world_stats(e->world).lost_pods, 0);
}

TEST(rule_26, node_of_a_killed_machine_is_removed_and_its_name_can_come_back) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    options.reuse_addresses = true;
    struct engine_world *e = ew_open(&options, &cfg);
    ew_workers(e, 2);
    (void)dr_world_kill(e->world, pick(e, 0));
    ew_settle(e, 20 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(e->world).ghosts, 0);
    CHECK_EQ_INT(dr_world_counts(e->world).ready, 2);
    CHECK_EQ_INT(dr_world_counts(e->world).nodes, 2);
}

TEST(rule_27, stuck_scale_down_is_cleared_and_the_fleet_is_as_before) {
    struct dr_world_options options;
    struct dr_config cfg;
    defaults(&options, &cfg);
    cfg.drain_timeout_ms = 14 * DR_MINUTE_MS;
    cfg.stuck_ms = 15 * DR_MINUTE_MS;
    struct engine_world *e = ew_idle(&options, &cfg, 4);
    struct dr_world_workload clingy = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "clingy", 8, 100, 1 << 20);
    clingy.stuck_stop = true;
    struct dr_err err;
    CHECK_OK(dr_world_add_workload(e->world, &clingy, &err), err);
    pass(e, 30 * DR_SECOND_MS);
    e->runner.cfg.drain_timeout_ms = DR_HOUR_MS; /* so that only the limit of the action is left */
    CHECK(ew_tick(e, 0));
    CHECK(ew_item(e)->down_action_id.n > 0);
    ew_signals(e, 50, 60);
    ew_run(e, 13 * DR_MINUTE_MS);
    CHECK(ew_item(e)->down_action_id.n > 0);
    ew_run(e, 4 * DR_MINUTE_MS);
    CHECK_EQ_INT(ew_item(e)->down_action_id.n, 0);
    CHECK_EQ_INT(ew_item(e)->marks.n, 0);
    CHECK_EQ_INT(dr_world_counts(e->world).cordoned, 0);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 0);
}
