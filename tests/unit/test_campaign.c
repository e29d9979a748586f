/*
 * The workflows are only final when they survive faults: every single fault at every call of every workflow, and a second process inside every call, each followed by healing. All promises must hold throughout and the world must settle.
 */

#include <stdio.h>

#include "base/time.h"
#include "harness/test.h"
#include "harness/workflow.h"

#define SEED 7

static const enum dr_fault_kind strikes[] = {
    DR_FAULT_ERROR, DR_FAULT_LOSE_REPLY, DR_FAULT_TIMEOUT, DR_FAULT_CRASH_BEFORE, DR_FAULT_CRASH_AFTER, DR_FAULT_STALE,
};
#define STRIKE_N (sizeof(strikes) / sizeof(strikes[0]))

static bool at_once; /* the store is asked beside other reads */

static void open_trial(struct dr_trial *trial, const struct dr_workflow *workflow, const struct dr_fault *fault, size_t fault_n) {
    dr_trial_open(trial, workflow, SEED, fault, fault_n);
    if (at_once) {
        dr_runner_read_at_once(&trial->runner);
    }
}

static uint64_t count_calls(const struct dr_workflow *workflow) {
    struct dr_trial trial;
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 20);
    open_trial(&trial, workflow, NULL, 0);
    (void)dr_runner_run(&trial.runner, dr_world_now(trial.world) + workflow->run_ms);
    uint64_t calls = dr_world_calls(trial.world);
    const char *wrong = dr_trial_heal(&trial, &buf);
    if (wrong != NULL) {
        FAIL("%s without faults: %s", workflow->name, wrong);
    }
    dr_trial_close(&trial);
    dr_buf_deinit(&buf);
    return calls;
}

static void strike(const struct dr_workflow *workflow, uint64_t call, enum dr_fault_kind kind, struct dr_buf *buf) {
    struct dr_fault fault = dr_fault_of(kind);
    fault.call = call;
    fault.ms = 3 * DR_MINUTE_MS;
    struct dr_trial trial;
    open_trial(&trial, workflow, &fault, 1);
    (void)dr_runner_run(&trial.runner, dr_world_now(trial.world) + workflow->run_ms);
    const char *wrong = dr_trial_heal(&trial, buf);
    if (wrong != NULL) {
        FAIL("%s, %s at call %llu: %s", workflow->name, dr_fault_kind_text(kind), (unsigned long long)call, wrong);
    }
    dr_trial_close(&trial);
}

static void strike_everywhere(size_t index) {
    const struct dr_workflow *workflow = &dr_workflows[index];
    uint64_t calls = count_calls(workflow);
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 20);
    for (size_t k = 0; k < STRIKE_N; k++) {
        for (uint64_t call = 1; call <= calls; call++) {
            strike(workflow, call, strikes[k], &buf);
        }
    }
    dr_buf_deinit(&buf);
    uint64_t cases = calls * STRIKE_N;
    printf("%s: %llu calls, %llu cases\n", workflow->name, (unsigned long long)calls, (unsigned long long)cases);
}

TEST_TIMEOUT(campaign, scale_up_survives_every_fault_at_every_call, 300) { strike_everywhere(0); }
TEST_TIMEOUT(campaign, scale_down_survives_every_fault_at_every_call, 300) { strike_everywhere(1); }
TEST_TIMEOUT(campaign, replacement_survives_every_fault_at_every_call, 300) { strike_everywhere(2); }
TEST_TIMEOUT(campaign, rebalance_survives_every_fault_at_every_call, 300) { strike_everywhere(3); }
TEST_TIMEOUT(campaign, cancel_survives_every_fault_at_every_call, 300) { strike_everywhere(4); }
TEST_TIMEOUT(campaign, join_failure_survives_every_fault_at_every_call, 300) { strike_everywhere(5); }
TEST_TIMEOUT(campaign, force_clear_survives_every_fault_at_every_call, 300) { strike_everywhere(6); }
TEST_TIMEOUT(campaign, lease_take_over_survives_every_fault_at_every_call, 300) { strike_everywhere(7); }

static void strike_at_once(size_t index) {
    at_once = true;
    strike_everywhere(index);
}

TEST_TIMEOUT(campaign, scale_up_read_at_once_survives_every_fault_at_every_call, 300) { strike_at_once(0); }
TEST_TIMEOUT(campaign, scale_down_read_at_once_survives_every_fault_at_every_call, 300) { strike_at_once(1); }
TEST_TIMEOUT(campaign, replacement_read_at_once_survives_every_fault_at_every_call, 300) { strike_at_once(2); }
TEST_TIMEOUT(campaign, rebalance_read_at_once_survives_every_fault_at_every_call, 300) { strike_at_once(3); }
TEST_TIMEOUT(campaign, cancel_read_at_once_survives_every_fault_at_every_call, 300) { strike_at_once(4); }
TEST_TIMEOUT(campaign, join_failure_read_at_once_survives_every_fault_at_every_call, 300) { strike_at_once(5); }

/* ---- two processes ---- */

static void run_second(void *self, const struct dr_call *call, bool after, int64_t arg) {
    (void)after;
    struct dr_runner *runner = self;
    if (call->process != 0 || runner->processes[1].running) {
        return;
    }
    (void)dr_world_advance(runner->world, dr_world_now(runner->world) + arg);
    (void)dr_runner_tick(runner, 1);
}

/* 0: beside each other; 75 s: the lease has run out and is taken over; 20 min: the first wakes up long after. */
static const int64_t stalls_ms[] = {0, 75 * DR_SECOND_MS, 20 * DR_MINUTE_MS};

static void interleave(const struct dr_workflow *workflow, uint64_t call, enum dr_fault_kind kind, int64_t stall_ms, struct dr_buf *buf) {
    struct dr_fault fault = dr_fault_of(kind);
    fault.call = call;
    fault.limit = 1;
    fault.arg = stall_ms;
    struct dr_trial trial;
    open_trial(&trial, workflow, &fault, 1);
    dr_world_hooks(trial.world)->interleave = run_second;
    (void)dr_runner_run(&trial.runner, dr_world_now(trial.world) + workflow->run_ms);
    const char *wrong = dr_trial_heal(&trial, buf);
    if (wrong != NULL) {
        FAIL("%s, second process %s call %llu after %lld ms: %s", workflow->name, kind == DR_FAULT_INTERLEAVE_BEFORE ? "before" : "after",
             (unsigned long long)call, (long long)stall_ms, wrong);
    }
    dr_trial_close(&trial);
}

static void interleave_everywhere(size_t index) {
    const struct dr_workflow *workflow = &dr_workflows[index];
    uint64_t calls = count_calls(workflow);
    uint64_t cases = 0;
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 20);
    for (size_t s = 0; s < sizeof(stalls_ms) / sizeof(stalls_ms[0]); s++) {
        for (uint64_t call = 1; call <= calls; call++) {
            interleave(workflow, call, DR_FAULT_INTERLEAVE_BEFORE, stalls_ms[s], &buf);
            interleave(workflow, call, DR_FAULT_INTERLEAVE_AFTER, stalls_ms[s], &buf);
            cases += 2;
        }
    }
    dr_buf_deinit(&buf);
    printf("%s: two processes, %llu cases\n", workflow->name, (unsigned long long)cases);
}

TEST_TIMEOUT(campaign, scale_up_survives_a_second_process_at_every_call, 300) { interleave_everywhere(0); }
TEST_TIMEOUT(campaign, scale_down_survives_a_second_process_at_every_call, 300) { interleave_everywhere(1); }
TEST_TIMEOUT(campaign, replacement_survives_a_second_process_at_every_call, 300) { interleave_everywhere(2); }
TEST_TIMEOUT(campaign, rebalance_survives_a_second_process_at_every_call, 300) { interleave_everywhere(3); }
TEST_TIMEOUT(campaign, cancel_survives_a_second_process_at_every_call, 300) { interleave_everywhere(4); }
TEST_TIMEOUT(campaign, join_failure_survives_a_second_process_at_every_call, 300) { interleave_everywhere(5); }
TEST_TIMEOUT(campaign, force_clear_survives_a_second_process_at_every_call, 300) { interleave_everywhere(6); }
TEST_TIMEOUT(campaign, lease_take_over_survives_a_second_process_at_every_call, 300) { interleave_everywhere(7); }

static void interleave_at_once(size_t index) {
    at_once = true;
    interleave_everywhere(index);
}

TEST_TIMEOUT(campaign, scale_up_read_at_once_survives_a_second_process_at_every_call, 300) { interleave_at_once(0); }
TEST_TIMEOUT(campaign, scale_down_read_at_once_survives_a_second_process_at_every_call, 300) { interleave_at_once(1); }
TEST_TIMEOUT(campaign, replacement_read_at_once_survives_a_second_process_at_every_call, 300) { interleave_at_once(2); }
TEST_TIMEOUT(campaign, rebalance_read_at_once_survives_a_second_process_at_every_call, 300) { interleave_at_once(3); }
TEST_TIMEOUT(campaign, cancel_read_at_once_survives_a_second_process_at_every_call, 300) { interleave_at_once(4); }
TEST_TIMEOUT(campaign, join_failure_read_at_once_survives_a_second_process_at_every_call, 300) { interleave_at_once(5); }
TEST_TIMEOUT(campaign, lease_take_over_read_at_once_survives_a_second_process_at_every_call, 300) { interleave_at_once(7); }
