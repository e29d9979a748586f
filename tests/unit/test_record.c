/* The end of a tick: journal, notices, clocks, lease. */

#include "unit/engine_world.h"

static size_t journal(struct engine_world *e, const struct dr_journal_row **rows) {
    const struct dr_store *store = &e->runner.processes[7].ports.store;
    struct dr_journal_query query = {.limit = 1000};
    size_t n;
    struct dr_err err;
    CHECK_OK(store->ops->journal_read(store->self, &e->arena, DR_STR("cluster"), &query, 0, rows, &n, &err), err);
    return n;
}

static size_t journal_n(struct engine_world *e) {
    const struct dr_journal_row *rows;
    return journal(e, &rows);
}

TEST(record, tick_that_did_something_is_journalled_with_its_deeds_and_rules) {
    struct engine_world *e = ew_hot(NULL, NULL);
    CHECK(ew_tick(e, 0));
    const struct dr_journal_row *rows;
    CHECK_EQ_INT(journal(e, &rows), 1);
    CHECK_CONTAINS(rows[0].json, "\"verdict\":\"scale_up\"");
    CHECK_CONTAINS(rows[0].json, "\"what\":\"intend launch\"");
    CHECK_CONTAINS(rows[0].json, "\"rule\":7");
    CHECK(dr_str_starts(rows[0].request_id, "p0-"));
}

TEST(record, quiet_tick_is_journalled_when_its_reason_changes_else_once_an_hour) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 10 * DR_MINUTE_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(journal_n(e), 1);
    for (int i = 0; i < 29; i++) {
        (void)dr_world_advance(e->world, dr_world_now(e->world) + 2 * DR_MINUTE_MS);
        CHECK(ew_tick(e, 0));
    }
    CHECK_EQ_INT(journal_n(e), 1);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 2 * DR_MINUTE_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(journal_n(e), 2);
    ew_signals(e, 10, 10);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 2 * DR_MINUTE_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->plan.decision.reason, DR_REASON_NOT_IDLE_YET);
    CHECK_EQ_INT(journal_n(e), 3);
    CHECK_EQ_STR(ew_item(e)->last_reason, "not_idle_yet");
}

TEST(record, row_that_could_not_be_written_is_due_again) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 10 * DR_MINUTE_MS);
    struct dr_fault fault = ew_fault(DR_FAULT_ERROR, DR_CALL_STORE_JOURNAL_PUT, 1);
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(journal_n(e), 0);
    CHECK_EQ_INT(ew_item(e)->last_reason.n, 0);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(journal_n(e), 1);
}

static void steal(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg) {
    (void)call, (void)after, (void)arg;
    struct dr_state state = ew_copy(e);
    state.lease_owner = DR_STR("somebody-else");
    state.lease_until_epoch = dr_world_now(e->world) / 1000 + 60;
    state.fence++;
    dr_world_put_item(e->world, &state);
}

TEST(record, tick_that_lost_the_lease_is_journalled_and_leaves_the_item_alone) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = ew_fault(DR_FAULT_INTERLEAVE_BEFORE, DR_CALL_STORE_CAS, 2);
    e->on_interleave = steal;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_LOST);
    CHECK_EQ_INT(journal_n(e), 1);
    CHECK_EQ_STR(ew_item(e)->lease_owner, "somebody-else");
}

TEST(record, lease_is_given_back_at_the_end) {
    struct engine_world *e = ew_hot(NULL, NULL);
    CHECK(ew_tick(e, 0));
    CHECK(ew_item(e)->fence > 0);
    CHECK_EQ_INT(ew_item(e)->lease_owner.n, 0);
    CHECK_EQ_INT(ew_item(e)->lease_until_epoch, 0);
}

TEST(record, what_has_expired_is_dropped_with_the_lease) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_state state;
    dr_state_init(&state, DR_STR("cluster"));
    struct dr_timed_id ended = {DR_STR("i-old"), dr_world_now(e->world) / 1000 - 86401};
    state.revision = 1;
    state.ended.v = &ended;
    state.ended.n = 1;
    dr_world_put_item(e->world, &state);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_item(e)->ended.n, 0);
}

TEST(record, people_hear_once_what_keeps_the_fleet_from_growing) {
    struct dr_world_options options;
    struct dr_config cfg;
    ew_defaults(&options, &cfg);
    cfg.max_workers = 2;
    struct engine_world *e = ew_hot(&options, &cfg);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->notices, 1);
    CHECK_CONTAINS(dr_str_of(e->last_notice), "max_reached");
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 2 * DR_MINUTE_MS);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->notices, 1);
}

TEST(record, finished_action_is_announced) {
    struct engine_world *e = ew_hot(NULL, NULL);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(e->notices, 0);
    ew_signals(e, 50, 60);
    ew_run(e, 5 * DR_MINUTE_MS);
    CHECK_EQ_INT(e->notices, 1);
    CHECK_CONTAINS(dr_str_of(e->last_notice), "0 complete scale-up");
}

static void count_plan(void *self, const struct dr_plan *plan) {
    (void)plan;
    (*(int64_t *)self)++;
}

TEST(record, finished_plan_is_shown_and_a_program_that_tells_nobody_works_too) {
    struct engine_world *e = ew_hot(NULL, NULL);
    int64_t plans = 0;
    struct dr_notify_ops ops = {.plan = count_plan};
    e->runner.processes[0].ports.notify = (struct dr_notify){&ops, &plans};
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(plans, 1);
    e->runner.processes[0].ports.notify = (struct dr_notify){NULL, NULL};
    ew_signals(e, 50, 60);
    ew_settle(e, 10 * DR_MINUTE_MS);
    CHECK_EQ_INT(plans, 1);
}

TEST(record, journal_names_what_was_unknown) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    struct dr_fault fault = ew_fault(DR_FAULT_ERROR, DR_CALL_COMPUTE_OBSERVE, 0);
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    const struct dr_journal_row *rows;
    CHECK_EQ_INT(journal(e, &rows), 1);
    CHECK_CONTAINS(rows[0].json, "\"unknown\":\"instances: ");
}
