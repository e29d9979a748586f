/* Writing the item with lost replies, lost races and lost leases: rules 1 to 4. */

#include "unit/engine_world.h"

static const struct dr_extra note = {.name = {"note", 4}, .json = {"{\"S\":\"by hand\"}", 15}};

static bool has_note(const struct dr_state *item) { return item->extra.n == 1 && dr_str_is(item->extra.v[0].name, "note"); }

/* A person adds an attribute while a tick is running: same lease, same action, next revision. */
static void add_note(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after, (void)arg;
    struct dr_state state = ew_copy(e);
    state.extra.v = &note;
    state.extra.n = 1;
    dr_world_put_item(e->world, &state);
}

static void steal_lease(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after, (void)arg;
    struct dr_state state = ew_copy(e);
    state.lease_owner = DR_STR("somebody-else");
    state.lease_until_epoch = dr_world_now(e->world) / 1000 + 60;
    state.fence++;
    dr_world_put_item(e->world, &state);
    ew_forget(e);
}

/* The same request came in twice (a retried invocation keeps its id): same owner, next fence. */
static void raise_fence(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after, (void)arg;
    struct dr_state state = ew_copy(e);
    state.fence++;
    dr_world_put_item(e->world, &state);
    ew_forget(e);
}

/* Somebody wrote himself into the lease by hand and left the fence alone. */
static void rename_owner(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after, (void)arg;
    struct dr_state state = ew_copy(e);
    state.lease_owner = DR_STR("somebody-else");
    dr_world_put_item(e->world, &state);
    ew_forget(e);
}

/* Same owner and fence, but the action is another one. */
static void swap_action(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after, (void)arg;
    struct dr_state state = ew_copy(e);
    state.up_action_id = DR_STR("1-somebody-else");
    dr_world_put_item(e->world, &state);
    ew_forget(e);
}

static struct dr_fault at_cas(enum dr_fault_kind kind, uint64_t occurrence) { return ew_fault(kind, DR_CALL_STORE_CAS, occurrence); }

TEST(rule_1, unknown_attributes_survive_a_whole_scale_up) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_state state;
    dr_state_init(&state, DR_STR("cluster"));
    state.revision = 5;
    state.extra.v = &note;
    state.extra.n = 1;
    dr_world_put_item(e->world, &state);
    CHECK(ew_tick(e, 0));
    ew_signals(e, 50, 60);
    ew_settle(e, 20 * DR_MINUTE_MS);
    CHECK(dr_world_stats(e->world).launches > 0);
    CHECK(ew_item(e)->revision > 5);
    CHECK(has_note(ew_item(e)));
    CHECK(dr_str_is(ew_item(e)->extra.v[0].json, "{\"S\":\"by hand\"}"));
}

TEST(rule_2, write_whose_reply_was_lost_is_success_and_the_tick_goes_on) {
    for (uint64_t occurrence = 1; occurrence <= 3; occurrence++) {
        struct engine_world *e = ew_hot(NULL, NULL);
        struct dr_fault fault = at_cas(DR_FAULT_LOSE_REPLY, occurrence);
        ew_strike(e, &fault);
        CHECK(ew_tick(e, 0));
        CHECK_EQ_INT(dr_world_strikes(e->world), 1);
        CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_WAITING);
        CHECK_EQ_INT(ew_item(e)->up_requested, dr_world_stats(e->world).launches);
        CHECK_EQ_INT(ew_item(e)->up_instance_ids.n, dr_world_stats(e->world).launches);
    }
}

TEST(rule_2, write_is_found_written_when_no_reply_ever_came) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault faults[3];
    for (uint64_t i = 0; i < 3; i++) {
        faults[i] = at_cas(i == 2 ? DR_FAULT_ERROR : DR_FAULT_LOSE_REPLY, i + 1);
    }
    faults[1].kind = DR_FAULT_ERROR;
    dr_world_set_faults(e->world, faults, 3);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(dr_world_strikes(e->world), 3);
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_WAITING);
    CHECK(dr_world_stats(e->world).launches > 0);
}

TEST(rule_2, write_that_never_arrived_stops_the_tick_before_its_effect) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = at_cas(DR_FAULT_ERROR, 0);
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_FAILED);
    CHECK_EQ_INT(ew_effects(e), 0);
    ew_signals(e, 50, 60);
    ew_settle(e, 10 * DR_MINUTE_MS);
}

TEST(rule_2, store_that_neither_writes_nor_reads_stops_the_tick) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault faults[] = {at_cas(DR_FAULT_ERROR, 0), ew_fault(DR_FAULT_ERROR, DR_CALL_STORE_LOAD, 0)};
    faults[1].from_ms = dr_world_now(e->world) + 1;
    dr_world_set_faults(e->world, faults, 2);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_FAILED);
    CHECK_EQ_INT(ew_effects(e), 0);
}

TEST(rule_3, lost_race_with_fence_and_action_still_ours_is_worked_out_again) {
    /* The second write (an attempt) and the third (its result) meet the note: neither is lost, nor is the note. */
    for (uint64_t occurrence = 2; occurrence <= 3; occurrence++) {
        struct engine_world *e = ew_hot(NULL, NULL);
        struct dr_fault fault = at_cas(DR_FAULT_INTERLEAVE_BEFORE, occurrence);
        fault.limit = 1;
        e->on_interleave = add_note;
        ew_strike(e, &fault);
        CHECK(ew_tick(e, 0));
        CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_WAITING);
        CHECK(has_note(ew_item(e)));
        CHECK(dr_world_stats(e->world).launches > 0);
        CHECK_EQ_INT(ew_item(e)->up_instance_ids.n, dr_world_stats(e->world).launches);
    }
}

TEST(rule_3, lost_race_against_another_fence_stops_before_the_next_effect) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = at_cas(DR_FAULT_INTERLEAVE_BEFORE, 2);
    e->on_interleave = steal_lease;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LOST);
    CHECK_CONTAINS(dr_str_of(ew_report(e, 0)->err.text), "somebody-else");
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK(dr_str_is(ew_item(e)->lease_owner, "somebody-else"));
    CHECK_EQ_INT(ew_item(e)->attempts.n, 0);
}

TEST(rule_3, fence_alone_or_owner_alone_is_enough_to_stop) {
    for (int i = 0; i < 2; i++) {
        struct engine_world *e = ew_hot(NULL, NULL);
        struct dr_fault fault = at_cas(DR_FAULT_INTERLEAVE_BEFORE, 2);
        e->on_interleave = i == 0 ? raise_fence : rename_owner;
        ew_strike(e, &fault);
        CHECK(ew_tick(e, 0));
        CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LOST);
        CHECK_EQ_INT(ew_effects(e), 0);
    }
}

TEST(rule_3, lost_race_against_another_action_stops_before_the_next_effect) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = at_cas(DR_FAULT_INTERLEAVE_BEFORE, 2);
    e->on_interleave = swap_action;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LOST);
    CHECK_EQ_INT(ew_effects(e), 0);
}

TEST(rule_3, result_of_an_effect_is_not_written_over_another_holder) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = at_cas(DR_FAULT_INTERLEAVE_BEFORE, 3);
    e->on_interleave = steal_lease;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LOST);
    CHECK_EQ_INT(dr_world_stats(e->world).launches, 1);
    CHECK_EQ_INT(ew_item(e)->up_instance_ids.n, 0);
    CHECK(dr_str_is(ew_item(e)->lease_owner, "somebody-else"));
}

/* ---- rule 4 ---- */

static void hold_lease(struct engine_world *e, int64_t for_s) {
    struct dr_state state;
    dr_state_init(&state, DR_STR("cluster"));
    state.revision = 3;
    state.lease_owner = DR_STR("somebody-else");
    state.lease_until_epoch = dr_world_now(e->world) / 1000 + for_s;
    state.fence = 8;
    dr_world_put_item(e->world, &state);
}

TEST(rule_4, nothing_is_done_or_written_while_another_process_holds_the_lease) {
    struct engine_world *e = ew_hot(NULL, NULL);
    hold_lease(e, -10);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LEASE);
    CHECK_EQ_INT(ew_report(e, 0)->plan.decision.reason, DR_REASON_LEASE_HELD);
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK_EQ_INT(ew_item(e)->revision, 3);
    CHECK_EQ_INT(e->calls[DR_CALL_STORE_CAS], 0);
}

TEST(rule_4, lease_is_taken_over_ten_seconds_after_its_end_with_a_new_fence) {
    struct engine_world *e = ew_hot(NULL, NULL);
    hold_lease(e, -11);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_item(e)->fence, 9);
    CHECK(dr_world_stats(e->world).launches > 0);
}

/* Before every effect: the lease in the item is the caller's and outlives the effect. */
static void check_lease(struct engine_world *e, const struct dr_call *call) {
    bool effect = call->name == DR_CALL_COMPUTE_LAUNCH || call->name == DR_CALL_COMPUTE_TERMINATE || call->name == DR_CALL_CLUSTER_CORDON ||
                  call->name == DR_CALL_CLUSTER_EVICT || call->name == DR_CALL_CLUSTER_DELETE_NODE ||
                  call->name == DR_CALL_STORE_INBOX_HANDLE;
    if (!effect) {
        return;
    }
    e->seen++;
    const struct dr_state *item = ew_item(e);
    if (!dr_str_starts(item->lease_owner, call->process == 0 ? "p0-" : "p1-")) {
        FAIL("%s without the lease", dr_call_name_text(call->name));
    }
    if (item->lease_until_epoch * 1000 < dr_world_now(e->world) + 10 * DR_SECOND_MS) {
        FAIL("%s with %lld ms of the lease left", dr_call_name_text(call->name),
             (long long)(item->lease_until_epoch * 1000 - dr_world_now(e->world)));
    }
}

TEST(rule_4, effect_after_a_stall_starts_only_under_a_lease_that_outlives_it) {
    static const int64_t stalls_ms[] = {35 * DR_SECOND_MS, 55 * DR_SECOND_MS, 90 * DR_SECOND_MS};
    for (size_t i = 0; i < 3; i++) {
        struct engine_world *e = ew_hot(NULL, NULL);
        /* The write of the attempt takes that long: the lease that it renewed is as old when the launch would start. */
        struct dr_fault fault = at_cas(DR_FAULT_DELAY, 2);
        fault.ms = stalls_ms[i];
        e->on_call = check_lease;
        ew_strike(e, &fault);
        CHECK(ew_tick(e, 0));
        CHECK_EQ_INT(dr_world_strikes(e->world), 1);
        CHECK(e->seen > 0);
    }
}

TEST(rule_4, long_drain_keeps_its_lease) {
    struct dr_world_options options;
    struct dr_config cfg;
    ew_defaults(&options, &cfg);
    options.pod_stop_ms = 100 * DR_SECOND_MS;
    struct engine_world *e = ew_idle(&options, &cfg, 4);
    struct dr_world_workload slow = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "slow", 8, 100, 1 << 20);
    slow.grace_ms = 120 * DR_SECOND_MS;
    struct dr_err err;
    CHECK_OK(dr_world_add_workload(e->world, &slow, &err), err);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 30 * DR_SECOND_MS);
    e->on_call = check_lease;
    CHECK(ew_tick(e, 0));
    ew_run(e, 6 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 1);
    CHECK(e->seen >= 3);
}

/* The second process runs inside the first one's call, after a stall. */
static void take_over(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)after;
    if (call->process == 0 && !e->runner.processes[1].running) {
        (void)dr_world_advance(e->world, dr_world_now(e->world) + arg);
        (void)dr_runner_tick(&e->runner, 1);
    }
}

TEST(rule_4, holder_that_wakes_up_after_a_take_over_repeats_its_one_call_and_stops) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = ew_fault(DR_FAULT_INTERLEAVE_BEFORE, DR_CALL_COMPUTE_LAUNCH, 1);
    fault.arg = 75 * DR_SECOND_MS;
    fault.process = 0;
    e->on_interleave = take_over;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LOST);
    CHECK_EQ_INT(ew_report(e, 0)->effects, 1);
    CHECK_EQ_INT(ew_report(e, 1)->outcome, DR_TICK_WAITING);
    /* The same token: the same machine. */
    CHECK_EQ_INT(dr_world_counts(e->world).machines, 2 + ew_item(e)->up_requested);
    ew_signals(e, 50, 60);
    ew_settle(e, 20 * DR_MINUTE_MS);
}
