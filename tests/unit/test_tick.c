/* The tick as a whole: rules 5, 6 and 27, deadlines, refusals. */

#include "harness/workflow.h"
#include "unit/engine_world.h"

static void cordon_as(struct engine_world *e, const char *owner) {
    const struct dr_cluster *cluster = &e->runner.processes[7].ports.cluster;
    struct dr_str id = dr_world_pick(e->world, -1, DR_STR_NONE, 0);
    struct dr_err err;
    CHECK_OK(cluster->ops->cordon(cluster->self, ew_node(e, id), dr_str_of(owner), true, 0, &err), err);
}

static void pass_time(struct engine_world *e, int64_t ms) { (void)dr_world_advance(e->world, dr_world_now(e->world) + ms); }

/* ---- rule 5 ---- */

static void check_owner(struct engine_world *e, const struct dr_call *call) {
    if (call->name == DR_CALL_CLUSTER_CORDON || call->name == DR_CALL_CLUSTER_DELETE_NODE || call->name == DR_CALL_STORE_INBOX_HANDLE) {
        e->seen++;
        CHECK(dr_world_item(e->world) != NULL && dr_str_starts(ew_item(e)->lease_owner, "p0-"));
    }
}

TEST(rule_5, sweeps_and_events_run_under_a_lease_too) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    cordon_as(e, "1-gone");
    dr_world_event(e->world, DR_STR("i-foreign"), DR_EVENT_WARNING, dr_world_now(e->world));
    (void)dr_world_kill(e->world, dr_world_pick(e->world, -1, DR_STR_NONE, 2));
    (void)dr_world_advance(e->world, dr_world_now(e->world) + DR_MINUTE_MS);
    e->on_call = check_owner;
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->seen, 3);
    CHECK_EQ_INT(ew_item(e)->lease_owner.n, 0);
}

static void write_beside(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after, (void)arg;
    struct dr_state state = ew_copy(e);
    state.last_scale_epoch = dr_world_now(e->world) / 1000;
    dr_world_put_item(e->world, &state);
}

TEST(rule_5, plan_made_on_an_older_revision_has_no_effect) {
    struct engine_world *e = ew_hot(NULL, NULL);
    CHECK(ew_tick(e, 0));
    ew_signals(e, 50, 60);
    ew_settle(e, 20 * DR_MINUTE_MS);
    ew_signals(e, 90, 60);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 10 * DR_MINUTE_MS);
    ew_forget(e);
    /* Somebody completes a scale between this tick's read and its first write. */
    struct dr_fault fault = ew_fault(DR_FAULT_INTERLEAVE_BEFORE, DR_CALL_CLUSTER_OBSERVE, 1);
    e->on_interleave = write_beside;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LOST);
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK_EQ_INT(ew_item(e)->up_action_id.n, 0);
}

/* Process 1 runs a whole tick inside a call of process 0. */
static void second_tick(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)after, (void)arg;
    if (call->process == 0) {
        (void)dr_runner_tick(&e->runner, 1);
    }
}

TEST(hazard_32, two_ticks_that_both_read_before_either_writes_launch_once) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = ew_fault(DR_FAULT_INTERLEAVE_BEFORE, DR_CALL_STORE_CAS, 1);
    fault.process = 0;
    e->on_interleave = second_tick;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LOST);
    CHECK_EQ_INT(ew_report(e, 0)->effects, 0);
    CHECK(dr_world_stats(e->world).launches > 0);
    CHECK_EQ_INT(dr_world_stats(e->world).launches, ew_item(e)->up_requested);
}

/* ---- rule 6 ---- */

TEST(rule_6, quiet_tick_writes_its_clocks_once_and_then_nothing) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 10 * DR_MINUTE_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_DONE);
    CHECK_EQ_INT(ew_item(e)->worker_count, 3);
    CHECK_EQ_INT(ew_item(e)->fence, 0);
    int64_t revision = ew_item(e)->revision;
    for (int i = 0; i < 5; i++) {
        (void)dr_world_advance(e->world, dr_world_now(e->world) + 2 * DR_MINUTE_MS);
        CHECK(ew_tick(e, 0));
        CHECK_EQ_INT(ew_report(e, 0)->writes, 0);
    }
    CHECK_EQ_INT(ew_item(e)->revision, revision);
}

TEST(rule_6, changed_clock_is_not_written_while_somebody_holds_the_lease) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    struct dr_state state;
    dr_state_init(&state, DR_STR("cluster"));
    state.revision = 4;
    state.lease_owner = DR_STR("somebody-else");
    state.lease_until_epoch = dr_world_now(e->world) / 1000 + 30;
    dr_world_put_item(e->world, &state);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_DONE);
    CHECK_EQ_INT(ew_item(e)->revision, 4);
    CHECK_EQ_INT(e->calls[DR_CALL_STORE_CAS], 0);
    CHECK_EQ_INT(e->calls[DR_CALL_STORE_JOURNAL_PUT], 0);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 41 * DR_SECOND_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_item(e)->worker_count, 3);
}

/* ---- time ---- */

TEST(tick, deadline_stops_between_effects_and_a_later_tick_goes_on) {
    struct dr_config cfg;
    struct dr_world_options options;
    ew_defaults(&options, &cfg);
    cfg.tick_limit_ms = 25 * DR_SECOND_MS;
    struct engine_world *e = ew_hot(&options, &cfg);
    ew_deploy(e, "batch", 8, 1500);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 5 * DR_MINUTE_MS);
    dr_world_set_latency(e->world, DR_CALL_COMPUTE_LAUNCH, 8 * DR_SECOND_MS);
    dr_world_set_latency(e->world, DR_CALL_STORE_CAS, 4 * DR_SECOND_MS);
    int64_t started_ms = dr_world_now(e->world);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_WAITING);
    CHECK_EQ_INT(dr_world_stats(e->world).launches, 1);
    CHECK(dr_world_now(e->world) <= started_ms + cfg.tick_limit_ms + 4 * DR_SECOND_MS);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + DR_MINUTE_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(dr_world_stats(e->world).launches, 2);
}

TEST(tick, process_that_is_asked_to_stop_begins_nothing) {
    struct engine_world *e = ew_hot(NULL, NULL);
    dr_world_stop(e->world, 0, true);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_WAITING);
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK(dr_world_item(e->world) == NULL || ew_item(e)->up_action_id.n == 0);
}

TEST(tick, drain_is_polled_within_the_tick_until_the_machine_is_ended) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    ew_deploy(e, "web", 4, 200);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 30 * DR_SECOND_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 1);
    CHECK(e->calls[DR_CALL_CLOCK_SLEEP] > 0);
    CHECK_EQ_INT(dr_world_stats(e->world).lost_pods, 0);
}

static void interrupt_first(struct dr_world *world, void *arg) {
    (void)arg;
    (void)dr_world_interrupt(world, dr_world_pick(world, DR_MARKET_SPOT, DR_STR_NONE, 0), 0);
}

TEST(tick, inbox_is_read_while_a_drain_is_polled) {
    struct dr_world_options options;
    struct dr_config cfg;
    ew_defaults(&options, &cfg);
    options.pod_stop_ms = 20 * DR_SECOND_MS;
    struct engine_world *e = ew_idle(&options, &cfg, 4);
    ew_deploy(e, "web", 8, 200);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 30 * DR_SECOND_MS);
    dr_world_at(e->world, dr_world_now(e->world) + 8 * DR_SECOND_MS, interrupt_first, NULL);
    CHECK(ew_tick(e, 0));
    CHECK(ew_item(e)->records.n == 1 || dr_world_stats(e->world).launches > 0);
    ew_signals(e, 50, 60);
    ew_settle(e, 60 * DR_MINUTE_MS);
}

/* The process stands still for a minute between its observation and its decision's effect; meanwhile a person protects the victim. */
static void protect_meanwhile(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after;
    (void)dr_world_advance(e->world, dr_world_now(e->world) + arg);
    for (size_t i = 0; i < 4; i++) {
        (void)dr_world_node_cordon(e->world, dr_world_pick(e->world, -1, DR_STR_NONE, i), true);
    }
}

TEST(tick, old_picture_is_looked_at_again_before_acting_on_it) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    struct dr_fault fault = ew_fault(DR_FAULT_INTERLEAVE_AFTER, DR_CALL_STORE_CAS, 1);
    fault.arg = DR_MINUTE_MS;
    fault.limit = 1;
    e->on_interleave = protect_meanwhile;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->calls[DR_CALL_CLUSTER_CORDON], 0);
    CHECK_EQ_INT(dr_world_stats(e->world).terminations, 0);
}

TEST(tick, plan_outlives_the_observations_that_a_long_tick_drops) {
    struct dr_config cfg;
    struct dr_world_options options;
    ew_defaults(&options, &cfg);
    cfg.tick_limit_ms = 28 * DR_SECOND_MS;
    struct engine_world *e = ew_hot(&options, &cfg);
    struct dr_fault fault = ew_fault(DR_FAULT_ERROR, DR_CALL_COMPUTE_LAUNCH, 0);
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    pass_time(e, DR_MINUTE_MS);
    /* The next tick looks three times; what it says was worked out at the second look, and there is no time to say it anew after the third. */
    dr_world_set_latency(e->world, DR_CALL_METRICS_READ, 5 * DR_SECOND_MS);
    ew_forget(e);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->calls[DR_CALL_CLUSTER_OBSERVE], 3);
    CHECK_EQ_INT(e->calls[DR_CALL_COMPUTE_LAUNCH], 2);
    const struct dr_plan *plan = &ew_report(e, 0)->plan;
    CHECK_EQ_INT(plan->decision.verdict, DR_VERDICT_ADVANCE);
    CHECK_EQ_INT(plan->up_n, cfg.up_n);
    CHECK(plan->up[0].rule == &e->runner.cfg.up[0]);
    CHECK_EQ_INT(plan->up[0].truth, DR_YES);
    CHECK_EQ_STR(plan->up[plan->up_n - 1].why, "");
}

/* ---- dry run ---- */

/* ---- the item beside everything else ---- */

static char order[64]; /* of the calls that were made: looks, loads, writes, effects */

static void keep_order(struct engine_world *e, const struct dr_call *call) {
    (void)e;
    size_t n = strlen(order);
    char word = call->name == DR_CALL_CLUSTER_OBSERVE  ? 'o'
                : call->name == DR_CALL_STORE_LOAD     ? 'l'
                : call->name == DR_CALL_STORE_CAS      ? 'w'
                : call->name == DR_CALL_COMPUTE_LAUNCH ? 'e'
                                                       : '\0';
    if (n + 1 < sizeof(order)) {
        order[n] = word;
    }
}

static void tick_in_order(struct engine_world *e) {
    memset(order, 0, sizeof(order));
    e->on_call = keep_order;
    CHECK(ew_tick(e, 0));
}

TEST(rule_6, quiet_tick_reads_the_item_beside_the_rest_and_looks_once) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    dr_runner_read_at_once(&e->runner);
    ew_signals(e, 50, 50);
    tick_in_order(e);
    CHECK_EQ_CSTR(order, "olw"); /* its clocks */
    tick_in_order(e);
    CHECK_EQ_CSTR(order, "ol");
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_DONE);
}

TEST(rule_5, tick_with_something_to_do_looks_again_after_the_item) {
    struct engine_world *e = ew_hot(NULL, NULL);
    dr_runner_read_at_once(&e->runner);
    tick_in_order(e);
    CHECK(dr_str_starts(dr_str_of(order), "olow"));
    CHECK(strchr(order, 'e') != NULL);
}

/* The need is gone when the item has come. */
static void load_goes(struct engine_world *e, const struct dr_call *call) {
    keep_order(e, call);
    if (call->name == DR_CALL_STORE_LOAD) {
        ew_signals(e, 50, 50);
    }
}

TEST(rule_5, what_was_seen_before_the_item_starts_nothing) {
    struct engine_world *e = ew_hot(NULL, NULL);
    dr_runner_read_at_once(&e->runner);
    memset(order, 0, sizeof(order));
    e->on_call = load_goes;
    CHECK(ew_tick(e, 0));
    CHECK(dr_str_starts(dr_str_of(order), "olo"));
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_DONE);
}

TEST(rule_5, standby_looks_once) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    dr_runner_read_at_once(&e->runner);
    struct dr_state item = ew_copy(e);
    item.lease_owner = DR_STR("somebody");
    item.lease_until_epoch = dr_world_now(e->world) / 1000 + 60;
    dr_world_put_item(e->world, &item);
    tick_in_order(e);
    CHECK_EQ_CSTR(order, "ol");
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LEASE);
}

TEST(dry_run, says_what_it_would_do_and_changes_nothing) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_runner_process *p = &e->runner.processes[0];
    struct dr_tick_options options = {
        .request_id = DR_STR("req-dry"), .deadline_ms = dr_world_now(e->world) + DR_MINUTE_MS, .dry_run = true, .later = &p->later};
    struct dr_tick_report report;
    CHECK_EQ_INT(dr_tick(&p->ports, &e->runner.cfg, &options, &p->arena, &report), DR_TICK_DONE);
    CHECK_EQ_INT(report.plan.decision.verdict, DR_VERDICT_SCALE_UP);
    CHECK_EQ_INT(report.plan.deed_n, 1);
    CHECK_EQ_STR(report.plan.deeds[0].outcome, "planned");
    CHECK_EQ_INT(report.writes, 0);
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK_EQ_INT(e->calls[DR_CALL_STORE_CAS] + e->calls[DR_CALL_STORE_JOURNAL_PUT] + e->calls[DR_CALL_STORE_INBOX_HANDLE], 0);
    CHECK(dr_world_item(e->world) == NULL);
}

TEST(dry_run, describes_the_rules_also_when_an_event_comes_first) {
    struct engine_world *e = ew_hot(NULL, NULL);
    dr_world_event(e->world, DR_STR("i-foreign"), DR_EVENT_WARNING, dr_world_now(e->world));
    struct dr_runner_process *p = &e->runner.processes[0];
    struct dr_tick_options options = {
        .request_id = DR_STR("req-dry"), .deadline_ms = dr_world_now(e->world) + DR_MINUTE_MS, .dry_run = true, .later = &p->later};
    struct dr_tick_report report;
    CHECK_EQ_INT(dr_tick(&p->ports, &e->runner.cfg, &options, &p->arena, &report), DR_TICK_DONE);
    CHECK_EQ_CSTR(report.plan.deeds[0].what, "handle event");
    CHECK(report.plan.up_n > 0);
    CHECK_EQ_INT(e->calls[DR_CALL_STORE_INBOX_HANDLE], 0);
}

/* ---- items that somebody else wrote: rule 27 ---- */

static void put_json(struct engine_world *e, const char *json) {
    struct dr_state state;
    struct dr_err err;
    CHECK_OK(dr_state_decode(&e->arena, dr_str_of(json), &state, &err), err);
    dr_world_put_item(e->world, &state);
}

static void put_fixture(struct engine_world *e, const char *path) {
    char *json = dr_test_read_file(dr_test_path(path), NULL);
    put_json(e, json);
    free(json);
}

TEST(rule_27, wrong_type_where_safety_depends_on_it_stops_everything_and_says_what_to_do) {
    struct engine_world *e = ew_hot(NULL, NULL);
    put_json(e, "{\"pk\":{\"S\":\"cluster\"},\"terminatingInstanceIds\":{\"S\":\"i-1\"}}");
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_REFUSED);
    CHECK_EQ_INT(ew_report(e, 0)->err.code, DR_E_CORRUPT);
    CHECK_CONTAINS(dr_str_of(ew_report(e, 0)->err.text), "terminatingInstanceIds");
    CHECK_CONTAINS(dr_str_of(ew_report(e, 0)->err.text), "nothing was done");
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK_EQ_INT(e->calls[DR_CALL_STORE_CAS], 0);
}

TEST(rule_27, flag_without_an_action_is_repaired_without_marking_and_scaling_goes_on) {
    struct engine_world *e = ew_hot(NULL, NULL);
    put_json(e, "{\"pk\":{\"S\":\"cluster\"},\"scalingInProgress\":{\"BOOL\":true}}");
    CHECK(ew_tick(e, 0));
    CHECK_EQ_STR(dr_str_of(ew_report(e, 0)->plan.deeds[0].what), "repair item");
    CHECK(dr_world_stats(e->world).launches > 0);
    CHECK_EQ_INT(ew_item(e)->marks.n, 0);
    CHECK(e->notices > 0);
}

TEST(rule_27, idle_item_of_another_system_is_taken_over) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    put_fixture(e, "tests/fixtures/item-idle.json");
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_DONE);
    CHECK_EQ_INT(ew_item(e)->revision, 1);
    CHECK_EQ_INT(ew_item(e)->worker_count, 3);
    CHECK_EQ_INT(ew_item(e)->last_scale_epoch, 1730000000);
}

TEST(rule_27, scale_up_of_another_system_is_verified_by_id_and_never_launched_again) {
    struct engine_world *e = ew_hot(NULL, NULL);
    put_fixture(e, "tests/fixtures/item-scale-up.json");
    CHECK(ew_tick(e, 0));
    /* Its ids are nowhere and its join timeout is long over: it ends as failed, by this tick, without a launch. */
    CHECK_EQ_INT(dr_world_stats(e->world).launches, 0);
    CHECK_EQ_INT(ew_item(e)->up_action_id.n, 0);
    CHECK(ew_item(e)->backoff_until_epoch > 0);
    CHECK_EQ_INT(ew_item(e)->marks.n, 0);
}

/* ---- a store that does not answer ---- */

TEST(tick, store_that_does_not_answer_means_nothing_is_done) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = ew_fault(DR_FAULT_TIMEOUT, DR_CALL_STORE_LOAD, 1);
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_FAILED);
    CHECK_CONTAINS(dr_str_of(ew_report(e, 0)->err.text), "state of cluster");
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK_EQ_INT(e->calls[DR_CALL_COMPUTE_OBSERVE], 0);
}

TEST(tick, item_that_cannot_be_decoded_is_refused_and_left_as_it_is) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = ew_fault(DR_FAULT_ERROR, DR_CALL_STORE_LOAD, 1);
    fault.code = DR_E_CORRUPT;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_REFUSED);
    CHECK_EQ_INT(e->calls[DR_CALL_STORE_CAS], 0);
}
