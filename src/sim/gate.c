/* The gate through which every port call goes: counting, latency, faults. */

#include "base/num.h"
#include "base/time.h"
#include "sim/inner.h"

#define LONGEST_CALL_MS (10 * DR_SECOND_MS)

void sim_gate_review(struct dr_world *w) {
    bool busy = w->fault_n > 0 || w->o.hooks.call != NULL;
    for (int i = 0; i < DR_CALL_NAME_N; i++) {
        busy = busy || w->latency_ms[i] > 0;
    }
    w->gate_busy = busy;
}

void dr_world_set_faults(struct dr_world *world, const struct dr_fault *faults, size_t n) {
    DR_ASSERT(n <= SIM_MAX_FAULTS);
    for (size_t i = 0; i < n; i++) {
        world->faults[i] = (struct sim_fault){faults[i], 0};
        world->keep_history = world->keep_history || faults[i].kind == DR_FAULT_STALE;
    }
    world->fault_n = n;
    world->calls = 0;
    world->strikes = 0;
    for (int i = 0; i < DR_CALL_NAME_N; i++) {
        world->name_calls[i] = 0;
    }
    sim_gate_review(world);
}

uint64_t dr_world_calls(const struct dr_world *world) { return world->calls; }
uint64_t dr_world_strikes(const struct dr_world *world) { return world->strikes; }

void dr_world_set_latency(struct dr_world *world, int name, int64_t ms) {
    for (int i = 0; i < DR_CALL_NAME_N; i++) {
        if (name == DR_CALL_ANY || name == i) {
            world->latency_ms[i] = ms;
        }
    }
    sim_gate_review(world);
}

static bool meets(struct dr_world *w, const struct sim_fault *s, const struct dr_call *call) {
    const struct dr_fault *f = &s->f;
    if ((f->call != 0 && f->call != call->number) || (f->name != DR_CALL_ANY && f->name != (int)call->name)) {
        return false;
    }
    uint64_t occurrence = f->name == DR_CALL_ANY ? call->number : call->occurrence;
    if ((f->occurrence != 0 && f->occurrence != occurrence) || (f->process >= 0 && f->process != call->process)) {
        return false;
    }
    if (w->now_ms < f->from_ms || (f->to_ms != 0 && w->now_ms >= f->to_ms) || (f->limit != 0 && s->strikes >= f->limit)) {
        return false;
    }
    return f->ppm == 0 || (int64_t)dr_rand_below(&w->rand_fault, 1000000) < f->ppm;
}

static void crash(struct sim_process *p) {
    DR_ASSERT(p->world->o.hooks.crash != NULL);
    p->world->o.hooks.crash(p->world->o.hooks.self, p->number);
    bool crash_hook_returned = true;
    DR_ASSERT(!crash_hook_returned);
}

static void interleave(struct dr_world *w, const struct sim_gate *g, bool after, int64_t arg) {
    if (w->o.hooks.interleave != NULL) {
        w->o.hooks.interleave(w->o.hooks.self, &g->call, after, arg);
    }
}

/* Kinds that end the call; a sleep has no reply to fail. */
static void strike_reply(struct sim_gate *g, const struct dr_fault *f) {
    if (g->call.name == DR_CALL_CLOCK_SLEEP) {
        return;
    }
    if (f->kind == DR_FAULT_LOSE_REPLY && dr_call_is_effect(g->call.name)) {
        g->lost = true;
        g->code = DR_E_TIMEOUT;
        return;
    }
    g->act = false;
    g->code = f->kind != DR_FAULT_ERROR ? DR_E_TIMEOUT : f->code == DR_OK ? DR_E_UNAVAILABLE : f->code;
    g->parts = f->kind == DR_FAULT_ERROR ? f->parts : 0;
}

static void strike(struct sim_process *p, struct sim_gate *g, const struct dr_fault *f) {
    struct dr_world *w = p->world;
    switch (f->kind) {
    case DR_FAULT_ERROR:
    case DR_FAULT_TIMEOUT:
    case DR_FAULT_LOSE_REPLY:
        strike_reply(g, f);
        break;
    case DR_FAULT_STALE:
        g->stale_ms = f->ms;
        break;
    case DR_FAULT_CRASH_BEFORE:
        crash(p);
        break;
    case DR_FAULT_CRASH_AFTER:
        g->crash_after = true;
        break;
    case DR_FAULT_CLOCK_STEP:
        p->clock_offset_ms += f->ms;
        break;
    case DR_FAULT_INTERLEAVE_BEFORE:
        interleave(w, g, false, f->arg);
        break;
    case DR_FAULT_INTERLEAVE_AFTER:
        g->interleave_after = true;
        g->arg = f->arg;
        break;
    case DR_FAULT_DELAY:
        (void)dr_world_advance(w, w->now_ms + f->ms);
        break;
    }
}

static void look(struct sim_process *p, struct sim_gate *g) {
    struct dr_world *w = p->world;
    if (w->o.hooks.call != NULL) {
        w->o.hooks.call(w->o.hooks.self, &g->call);
    }
    if (w->latency_ms[g->call.name] > 0) {
        (void)dr_world_advance(w, w->now_ms + w->latency_ms[g->call.name]);
    }
    for (size_t i = 0; i < w->fault_n; i++) {
        if (meets(w, &w->faults[i], &g->call)) {
            w->faults[i].strikes++;
            w->strikes++;
            sim_trace(w, "fault %s at call %llu %s of process %d", dr_fault_kind_text(w->faults[i].f.kind),
                      (unsigned long long)g->call.number, dr_call_name_text(g->call.name), p->number);
            const struct dr_fault f = w->faults[i].f; /* a hook may replace the plan */
            strike(p, g, &f);
        }
    }
}

void sim_gate_enter(struct sim_process *p, enum dr_call_name name, int64_t deadline_ms, struct sim_gate *g) {
    struct dr_world *w = p->world;
    w->started = true;
    g->call = (struct dr_call){++w->calls, name, ++w->name_calls[name], p->number};
    g->act = true;
    g->lost = false;
    g->code = DR_OK;
    g->crash_after = false;
    g->interleave_after = false;
    g->arg = 0;
    g->stale_ms = -1;
    g->parts = 0;
    g->deadline_ms = deadline_ms;
    if (w->gate_busy) {
        look(p, g);
    }
    if (w->broken) { /* the world stands still: nothing may be made worse */
        g->act = false;
        g->lost = false;
        g->code = DR_E_UNAVAILABLE;
    }
}

/* Nobody waits longer than the deadline, nor than the longest call. */
static void wait_for_nothing(struct sim_process *p, const struct sim_gate *g) {
    int64_t until = p->world->now_ms + LONGEST_CALL_MS;
    if (g->deadline_ms > 0) {
        until = dr_min_i64(until, g->deadline_ms - p->clock_offset_ms);
    }
    (void)dr_world_advance(p->world, until);
}

int sim_gate_refuse(struct sim_process *p, struct sim_gate *g, struct dr_err *err) {
    DR_ASSERT(!g->act);
    if (g->code == DR_E_TIMEOUT) {
        wait_for_nothing(p, g);
    }
    if (g->interleave_after) {
        interleave(p->world, g, true, g->arg);
    }
    if (g->crash_after) {
        crash(p);
    }
    return dr_fail(err, g->code, "%s: simulated: %s", dr_call_name_text(g->call.name), dr_code_name(g->code));
}

int sim_gate_leave(struct sim_process *p, struct sim_gate *g, struct dr_err *err) {
    if (g->interleave_after) {
        interleave(p->world, g, true, g->arg);
    }
    if (g->crash_after) {
        crash(p);
    }
    if (g->lost) {
        wait_for_nothing(p, g);
        return dr_fail(err, g->code, "%s: simulated: no reply", dr_call_name_text(g->call.name));
    }
    return 0;
}
