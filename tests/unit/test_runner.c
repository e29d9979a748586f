#include "unit/engine_world.h"

static void count_tick(struct dr_runner *runner, int process, const struct dr_tick_report *report) {
    (void)process, (void)report;
    ((struct engine_world *)runner->self)->seen++;
}

static void stop_at_third(struct dr_runner *runner, int process, const struct dr_tick_report *report) {
    count_tick(runner, process, report);
    runner->stop = ((struct engine_world *)runner->self)->seen == 3;
}

TEST(runner, ticks_at_every_interval) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 2);
    e->runner.after_tick = count_tick;
    ew_run(e, 10 * DR_MINUTE_MS);
    CHECK_EQ_INT(e->seen, 6); /* at 0, 2, ..., 10 */
    CHECK_EQ_INT(e->runner.tick_n, 6);
}

TEST(runner, event_wakes_a_tick_at_its_own_time) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    ew_run(e, 30 * DR_SECOND_MS);
    e->runner.after_tick = count_tick;
    (void)dr_world_interrupt(e->world, dr_world_pick(e->world, -1, DR_STR_NONE, 0), 5 * DR_SECOND_MS);
    ew_run(e, 6 * DR_SECOND_MS);
    CHECK_EQ_INT(e->seen, 1);
    CHECK_EQ_INT(ew_item(e)->records.n, 1);
}

TEST(runner, event_of_this_very_moment_wakes_a_tick_now) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    (void)dr_world_interrupt(e->world, dr_world_pick(e->world, -1, DR_STR_NONE, 0), 0);
    ew_run(e, DR_SECOND_MS);
    CHECK_EQ_INT(ew_item(e)->records.n, 1);
}

TEST(runner, crashed_process_comes_back_with_the_next_tick) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = ew_fault(DR_FAULT_CRASH_AFTER, DR_CALL_STORE_CAS, 1);
    ew_strike(e, &fault);
    e->runner.after_tick = count_tick;
    CHECK(!ew_tick(e, 0));
    CHECK_EQ_INT(e->runner.crashes, 1);
    CHECK_EQ_INT(e->seen, 0);
    ew_signals(e, 50, 60);
    ew_settle(e, 20 * DR_MINUTE_MS);
    CHECK(e->seen > 0);
}

TEST(runner, hook_may_end_the_run) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 2);
    e->runner.after_tick = stop_at_third;
    ew_run(e, DR_HOUR_MS);
    CHECK_EQ_INT(e->seen, 3);
}

TEST(runner, tick_that_lasted_longer_than_the_interval_is_not_made_up_for) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 2);
    struct dr_fault fault = ew_fault(DR_FAULT_DELAY, DR_CALL_CLUSTER_OBSERVE, 1);
    fault.ms = 9 * DR_MINUTE_MS;
    ew_strike(e, &fault);
    e->runner.after_tick = count_tick;
    ew_run(e, 10 * DR_MINUTE_MS);
    CHECK_EQ_INT(e->seen, 3); /* at 0, once late at 9, and at 10 */
}

TEST(runner, broken_promise_ends_the_run) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 2);
    const struct dr_compute *compute = &e->runner.processes[1].ports.compute;
    struct dr_err err;
    (void)compute->ops->terminate(compute->self, dr_world_pick(e->world, -1, DR_STR_NONE, 0), 0, &err);
    CHECK(!dr_runner_run(&e->runner, dr_world_now(e->world) + DR_HOUR_MS));
    CHECK_CONTAINS(dr_str_of(dr_world_violation(e->world)), "terminated without mark");
}

TEST(runner, store_of_its_own_is_used_instead_of_the_worlds) {
    struct engine_world *e = ew_open(NULL, NULL);
    struct engine_world *other = ew_open(NULL, NULL);
    ew_workers(e, 2);
    e->runner.store = other->runner.processes[0].ports.store;
    CHECK(ew_tick(e, 0));
    CHECK(dr_world_item(e->world) == NULL);
    CHECK(dr_world_item(other->world) != NULL);
}
