/* Faults at port calls. */

#include <setjmp.h>

#include "sim_help.h"

static int load(struct sim *s, struct dr_err *err) {
    struct dr_state state;
    return s->p.store.ops->load(s->p.store.self, &s->arena, DR_STR("cluster"), dr_world_now(s->w) + 3000, &state, err);
}

TEST(sim_fault, calls_are_numbered_and_the_wanted_one_is_struck) {
    struct sim s = sim_plain();
    struct dr_fault f = dr_fault_of(DR_FAULT_ERROR);
    f.call = 2;
    f.code = DR_E_THROTTLED;
    dr_world_set_faults(s.w, &f, 1);
    struct dr_err err;
    CHECK_OK(load(&s, &err), err);
    CHECK_FAILS(load(&s, &err), err, DR_E_THROTTLED);
    CHECK_OK(load(&s, &err), err);
    CHECK_EQ_U64(dr_world_calls(s.w), 3);
    CHECK_EQ_U64(dr_world_strikes(s.w), 1);
    sim_close(&s);
}

TEST(sim_fault, name_and_occurrence_choose_among_other_calls) {
    struct sim s = sim_plain();
    struct dr_fault f = dr_fault_of(DR_FAULT_ERROR);
    f.name = DR_CALL_COMPUTE_OBSERVE;
    f.occurrence = 2;
    dr_world_set_faults(s.w, &f, 1);
    CHECK(sim_observe(&s).instances_part.known);
    struct dr_snapshot snap = sim_observe(&s);
    CHECK(!snap.instances_part.known && snap.instance_n == 0);
    CHECK_CONTAINS(snap.instances_part.why, "unavailable");
    CHECK(snap.nodes_part.known);
    CHECK(sim_observe(&s).instances_part.known);
    sim_close(&s);
}

TEST(sim_fault, one_part_of_the_cluster_may_be_unknown) {
    struct sim s = sim_plain();
    struct dr_fault f = dr_fault_of(DR_FAULT_ERROR);
    f.name = DR_CALL_CLUSTER_OBSERVE;
    f.parts = DR_FAULT_PODS;
    dr_world_set_faults(s.w, &f, 1);
    struct dr_snapshot snap = sim_observe(&s);
    CHECK(snap.nodes_part.known && !snap.pods_part.known && snap.budgets_part.known);
    sim_close(&s);
}

TEST(sim_fault, time_out_takes_the_time_and_does_nothing) {
    struct sim s = sim_plain();
    struct dr_launch l = sim_intend(&s, "act", 0, "a", "tok", DR_STR_NONE);
    struct dr_fault f = dr_fault_of(DR_FAULT_TIMEOUT);
    f.name = DR_CALL_COMPUTE_LAUNCH;
    dr_world_set_faults(s.w, &f, 1);
    int64_t t = dr_world_now(s.w);
    struct dr_str id;
    struct dr_err err;
    CHECK_FAILS(s.p.compute.ops->launch(s.p.compute.self, &s.arena, &l, t + 3000, &id, &err), err, DR_E_TIMEOUT);
    CHECK_EQ_INT(dr_world_now(s.w), t + 3000);
    CHECK_EQ_INT(dr_world_stats(s.w).launches, 0);
    sim_close(&s);
}

TEST(sim_fault, lost_reply_leaves_the_effect) {
    struct sim s = sim_plain();
    struct dr_launch l = sim_intend(&s, "act", 0, "a", "tok", DR_STR_NONE);
    struct dr_fault f = dr_fault_of(DR_FAULT_LOSE_REPLY);
    f.name = DR_CALL_COMPUTE_LAUNCH;
    f.limit = 1;
    dr_world_set_faults(s.w, &f, 1);
    struct dr_str id;
    struct dr_err err;
    CHECK_FAILS(sim_launch(&s, &l, &id, &err), err, DR_E_TIMEOUT);
    CHECK_EQ_INT(dr_world_stats(s.w).launches, 1);
    CHECK_OK(sim_launch(&s, &l, &id, &err), err); /* the token finds it */
    CHECK_EQ_INT(dr_world_stats(s.w).launches, 1);
    sim_close(&s);
}

TEST(sim_fault, lost_reply_of_a_write_shows_at_the_next_write) {
    struct sim s = sim_plain();
    struct dr_state state = sim_load(&s);
    struct dr_fault f = dr_fault_of(DR_FAULT_LOSE_REPLY);
    f.name = DR_CALL_STORE_CAS;
    f.limit = 1;
    dr_world_set_faults(s.w, &f, 1);
    enum dr_cas outcome;
    struct dr_err err;
    CHECK_FAILS(s.p.store.ops->cas(s.p.store.self, &state, 0, &outcome, &err), err, DR_E_TIMEOUT);
    CHECK_EQ_INT(sim_cas(&s, &state), DR_CAS_LOST);
    CHECK_EQ_INT(sim_load(&s).revision, 1);
    sim_close(&s);
}

TEST(sim_fault, stale_observation_shows_the_past) {
    struct sim s = sim_plain();
    struct dr_fault f = dr_fault_of(DR_FAULT_STALE);
    f.name = DR_CALL_COMPUTE_OBSERVE;
    f.occurrence = 3;
    f.ms = 30 * DR_SECOND_MS;
    dr_world_set_faults(s.w, &f, 1);
    CHECK_EQ_INT(sim_observe(&s).instance_n, 0);
    sim_pass(&s, DR_MINUTE_MS);
    (void)sim_worker(&s, "a");
    CHECK_EQ_INT(sim_observe(&s).instance_n, 1);
    CHECK_EQ_INT(sim_observe(&s).instance_n, 0);
    CHECK_EQ_INT(sim_observe(&s).instance_n, 1);
    sim_close(&s);
}

static jmp_buf back;
static void crash_hook(void *self, int process) {
    *(int *)self = process;
    longjmp(back, 1);
}

static struct sim crashing(enum dr_fault_kind kind, int *crashed) {
    struct sim s = sim_plain();
    struct dr_fault f = dr_fault_of(kind);
    f.name = DR_CALL_COMPUTE_LAUNCH;
    f.limit = 1;
    dr_world_set_faults(s.w, &f, 1);
    dr_world_hooks(s.w)->self = crashed;
    dr_world_hooks(s.w)->crash = crash_hook;
    return s;
}

static int64_t launches_at_crash(enum dr_fault_kind kind) {
    static int crashed;
    static struct sim s;
    crashed = -1;
    s = crashing(kind, &crashed);
    struct dr_launch l = sim_intend(&s, "act", 0, "a", "tok", DR_STR_NONE);
    if (setjmp(back) == 0) {
        struct dr_str id;
        struct dr_err err;
        (void)sim_launch(&s, &l, &id, &err);
        FAIL("the call came back");
    }
    CHECK_EQ_INT(crashed, 0);
    int64_t n = dr_world_stats(s.w).launches;
    sim_close(&s);
    return n;
}

TEST(sim_fault, crash_before_leaves_nothing_and_crash_after_leaves_the_effect) {
    CHECK_EQ_INT(launches_at_crash(DR_FAULT_CRASH_BEFORE), 0);
    CHECK_EQ_INT(launches_at_crash(DR_FAULT_CRASH_AFTER), 1);
}

struct seen {
    int before, after;
    struct sim *s;
    int64_t revision;
};
static void interleave_hook(void *self, const struct dr_call *call, bool after, int64_t arg) {
    struct seen *seen = self;
    CHECK_EQ_INT(arg, 42);
    CHECK_EQ_INT(call->name, DR_CALL_STORE_CAS);
    *(after ? &seen->after : &seen->before) += 1;
    if (!after) { /* another process writes first */
        struct dr_ports other = dr_world_ports(seen->s->w, 1);
        struct dr_state state;
        enum dr_cas outcome;
        struct dr_err err;
        CHECK_OK(other.store.ops->load(other.store.self, &seen->s->arena, DR_STR("cluster"), 0, &state, &err), err);
        CHECK_OK(other.store.ops->cas(other.store.self, &state, 0, &outcome, &err), err);
        CHECK_EQ_INT(outcome, DR_CAS_OK);
    }
}

TEST(sim_fault, other_process_can_run_before_and_after_a_call) {
    struct sim s = sim_plain();
    struct seen seen = {.s = &s};
    struct dr_fault f[2] = {dr_fault_of(DR_FAULT_INTERLEAVE_BEFORE), dr_fault_of(DR_FAULT_INTERLEAVE_AFTER)};
    for (int i = 0; i < 2; i++) {
        f[i].name = DR_CALL_STORE_CAS;
        f[i].process = 0;
        f[i].arg = 42;
    }
    dr_world_set_faults(s.w, f, 2);
    dr_world_hooks(s.w)->self = &seen;
    dr_world_hooks(s.w)->interleave = interleave_hook;
    struct dr_state state = sim_load(&s);
    CHECK_EQ_INT(sim_cas(&s, &state), DR_CAS_LOST);
    CHECK_EQ_INT(seen.before, 1);
    CHECK_EQ_INT(seen.after, 1);
    sim_close(&s);
}

TEST(sim_fault, clock_step_moves_one_process_only) {
    struct sim s = sim_plain();
    struct dr_fault f = dr_fault_of(DR_FAULT_CLOCK_STEP);
    f.ms = -DR_HOUR_MS;
    f.process = 0;
    f.limit = 1;
    dr_world_set_faults(s.w, &f, 1);
    struct dr_err err;
    CHECK_OK(load(&s, &err), err);
    struct dr_ports other = dr_world_ports(s.w, 1);
    CHECK_EQ_INT(s.p.clock.ops->now_ms(s.p.clock.self), dr_world_now(s.w) - DR_HOUR_MS);
    CHECK_EQ_INT(other.clock.ops->now_ms(other.clock.self), dr_world_now(s.w));
    sim_close(&s);
}

TEST(sim_fault, latency_and_delay_let_time_pass) {
    struct sim s = sim_plain();
    dr_world_set_latency(s.w, DR_CALL_STORE_LOAD, 20);
    struct dr_fault f = dr_fault_of(DR_FAULT_DELAY);
    f.ms = DR_HOUR_MS;
    f.call = 1;
    dr_world_set_faults(s.w, &f, 1);
    int64_t t = dr_world_now(s.w);
    struct dr_err err;
    CHECK_OK(load(&s, &err), err);
    CHECK_OK(load(&s, &err), err);
    CHECK_EQ_INT(dr_world_now(s.w), t + 40 + DR_HOUR_MS);
    sim_close(&s);
}

static uint64_t strikes_of(uint64_t seed) {
    struct dr_world_options o;
    dr_world_options_init(&o, seed);
    struct sim s = sim_open(&o);
    struct dr_fault f = dr_fault_of(DR_FAULT_ERROR);
    f.ppm = 250000;
    dr_world_set_faults(s.w, &f, 1);
    struct dr_err err;
    for (int i = 0; i < 1000; i++) {
        (void)load(&s, &err);
    }
    uint64_t n = dr_world_strikes(s.w);
    sim_close(&s);
    return n;
}

TEST(sim_fault, probability_follows_the_seed) {
    uint64_t n = strikes_of(5);
    CHECK(n > 180 && n < 320);
    CHECK_EQ_U64(strikes_of(5), n);
}

TEST(sim_fault, window_of_time_bounds_an_outage) {
    struct sim s = sim_plain();
    int64_t t = dr_world_now(s.w);
    struct dr_fault f = dr_fault_of(DR_FAULT_ERROR);
    f.from_ms = t + 1000;
    f.to_ms = t + 2000;
    dr_world_set_faults(s.w, &f, 1);
    struct dr_err err;
    CHECK_OK(load(&s, &err), err);
    sim_pass(&s, 1000);
    CHECK_FAILS(load(&s, &err), err, DR_E_UNAVAILABLE);
    sim_pass(&s, 1000);
    CHECK_OK(load(&s, &err), err);
    sim_close(&s);
}

TEST(sim_fault, every_name_is_found_by_its_text) {
    for (int i = 0; i < DR_CALL_NAME_N; i++) {
        enum dr_call_name name;
        CHECK(dr_call_name_find(dr_call_name_text((enum dr_call_name)i), &name));
        CHECK_EQ_INT(name, i);
    }
    enum dr_call_name name;
    CHECK(!dr_call_name_find("compute.lunch", &name));
}
