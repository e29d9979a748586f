#include "engine/tick.h"

#include <string.h>

#include "base/time.h"
#include "core/transition.h"
#include "engine/run.h"

static enum dr_tick_outcome refuse(struct dr_run *run, enum dr_tick_outcome outcome, enum dr_reason reason) {
    run->plan->decision.verdict = DR_VERDICT_REFUSED;
    run->plan->decision.reason = reason;
    run->report->outcome = outcome;
    return outcome;
}

static bool load_state(struct dr_run *run) {
    const struct dr_store *store = &run->ports->store;
    struct dr_err *err = &run->report->err;
    if (store->ops->load(store->self, run->arena, run->cfg->cluster, dr_run_call_deadline(run), &run->state, err) < 0) {
        (void)dr_wrap(err, "state of cluster \"%.*s\"", DR_FMT(run->cfg->cluster));
        run->report->outcome = err->code == DR_E_CORRUPT ? DR_TICK_REFUSED : DR_TICK_FAILED;
        run->plan->decision.verdict = DR_VERDICT_REFUSED;
        run->plan->decision.reason = err->code == DR_E_CORRUPT ? DR_REASON_MALFORMED : DR_REASON_UNKNOWN;
        run->plan->decision.detail = dr_str_dup(run->arena, dr_str_of(err->text));
        return false;
    }
    if (!run->state.exists) {
        dr_state_init(&run->state, run->cfg->cluster);
    }
    return true;
}

/* A wrong type in what describes an action, a mark or the lease: nothing is done until a person has looked. */
static void describe_problems(struct dr_run *run) {
    for (size_t i = 0; i < run->state.problems.n; i++) {
        const struct dr_problem *problem = &run->state.problems.v[i];
        if (problem->blocking) {
            (void)dr_fail(&run->report->err, DR_E_CORRUPT,
                          "item \"%.*s\": attribute %.*s %.*s; nothing was done: correct the attribute (or remove it together with "
                          "scalingInProgress if no action is under way) and run again",
                          DR_FMT(run->cfg->cluster), DR_FMT(problem->attribute), DR_FMT(problem->what));
            return;
        }
    }
}

void dr_run_build_view(struct dr_run *run) {
    if (run->view_stale) {
        dr_view_build(run->obs, run->cfg, &run->state, &run->snap, &run->view);
        run->view_stale = false;
    }
    run->machine.arena = run->obs;
    run->machine.view = &run->view;
    run->machine.turn = &run->turn;
    run->machine.plan = run->plan;
    run->machine.now_ms = dr_run_now(run);
    run->machine.now_epoch = run->machine.now_ms / 1000;
}

static bool time_left(const struct dr_run *run, int64_t need_ms) {
    return !run->ports->clock.ops->stopping(run->ports->clock.self) && dr_run_now(run) + need_ms <= run->options->deadline_ms;
}

static void refresh(struct dr_run *run) {
    dr_plan_keep(run->arena, run->plan);
    dr_arena_reset(run->options->later);
    run->obs = run->options->later;
    dr_run_observe(run);
}

static void announce(struct dr_run *run) {
    const struct dr_step *step = &run->step;
    const struct dr_notify *notify = &run->ports->notify;
    if ((!step->alert && !step->finished) || notify->ops == NULL || notify->ops->notify == NULL) {
        return;
    }
    struct dr_str text = dr_str_fmt(run->arena, "%s: %.*s", step->what, DR_FMT(step->target));
    notify->ops->notify(notify->self, dr_run_now(run), step->alert ? DR_NOTICE_ALERT : DR_NOTICE_INFO, step->what, text);
}

static enum dr_write write_step(struct dr_run *run) {
    bool has_mark = run->step.has_mark;
    enum dr_write write = run->leased ? dr_run_write(run, &run->step.next) : dr_run_take_lease(run, &run->step.next);
    if (write != DR_WRITE_OK) {
        return write;
    }
    if (has_mark) {
        run->turn.marked_seq = run->snap.seq;
    }
    dr_run_deed(run, run->step.rule, run->step.what, run->step.target, DR_STR("written"));
    announce(run);
    return write;
}

/* Effects need a lease on the very revision that was read, and one that outlives them (rules 4, 5). */
static enum dr_write effect_step(struct dr_run *run) {
    if (!run->leased) {
        enum dr_write write = dr_run_take_lease(run, NULL);
        return write == DR_WRITE_OK ? DR_WRITE_RELOADED : write;
    }
    int64_t fence_revision = run->state.revision;
    enum dr_write write = dr_run_keep_lease(run);
    if (write != DR_WRITE_OK || run->state.revision != fence_revision) {
        return write == DR_WRITE_OK ? DR_WRITE_RELOADED : write;
    }
    return dr_run_act(run);
}

/* True: go on. */
static bool do_step(struct dr_run *run) {
    switch (run->step.kind) {
    case DR_STEP_DONE:
        run->report->outcome = run->machine.waiting ? DR_TICK_WAITING : DR_TICK_DONE;
        return false;
    case DR_STEP_WAIT: {
        run->report->outcome = DR_TICK_WAITING;
        int64_t wait_ms = run->step.wait_ms < DR_INBOX_MS ? run->step.wait_ms : DR_INBOX_MS;
        if (!run->leased || !time_left(run, wait_ms + DR_EFFECT_MS)) {
            return false;
        }
        run->ports->clock.ops->sleep_ms(run->ports->clock.self, wait_ms);
        refresh(run);
        return true;
    }
    case DR_STEP_REFRESH:
        run->report->outcome = DR_TICK_WAITING;
        if (!time_left(run, DR_EFFECT_MS)) {
            return false;
        }
        refresh(run);
        return true;
    case DR_STEP_WRITE:
        run->report->outcome = DR_TICK_WAITING;
        return time_left(run, 0) && write_step(run) != DR_WRITE_STOP;
    default:
        run->report->outcome = DR_TICK_WAITING;
        return time_left(run, DR_EFFECT_MS) && effect_step(run) != DR_WRITE_STOP;
    }
}

static void next_step(struct dr_run *run) {
    dr_run_build_view(run);
    dr_step_next(&run->machine, &run->step);
}

static void dry_run(struct dr_run *run) {
    next_step(run);
    run->report->outcome = DR_TICK_DONE;
    if (run->step.kind >= DR_STEP_WRITE) {
        dr_run_deed(run, run->step.rule, run->step.what, run->step.target, DR_STR("planned"));
    }
    if (run->plan->up == NULL) {
        dr_view_describe(run->arena, &run->view, run->plan);
    }
}

/* Somebody else is at work: this process stands by. */
static bool lease_is_held(struct dr_run *run) {
    bool held = !run->leased && run->step.kind >= DR_STEP_WRITE &&
                dr_lease_look(&run->state, run->options->request_id, run->machine.now_epoch) == DR_LEASE_OTHER;
    if (held) {
        (void)refuse(run, DR_TICK_LEASE, DR_REASON_LEASE_HELD);
    }
    return held;
}

static void steps(struct dr_run *run) {
    for (int i = 0; i < DR_STEPS_MAX; i++) {
        /* A process that was stopped wakes up with an old picture of the world: it looks again before it acts. */
        if (i > 0 && dr_run_now(run) - run->snap.now_ms > DR_STALE_MS && time_left(run, DR_EFFECT_MS)) {
            refresh(run);
        }
        next_step(run);
        if (lease_is_held(run) || !do_step(run)) {
            return;
        }
    }
    run->report->outcome = DR_TICK_WAITING;
}

static void begin(struct dr_run *run, int64_t now_ms) {
    memset(run->plan, 0, sizeof(*run->plan));
    run->plan->request_id = run->options->request_id;
    run->plan->cluster = run->cfg->cluster;
    run->plan->at_ms = now_ms;
    dr_turn_init(&run->turn, run->options->request_id, now_ms);
}

/*
 * The item was read beside everything else: most ticks find that there is nothing to do, and take as long as their slowest read. What was seen so may be older than the
 * item, so it is good for clocks and for a plan, and for nothing that is done: a tick that has a step looks again, after the item. True: nothing is left to do.
 */
static bool glance(struct dr_run *run) {
    if (dr_state_blocked(&run->state)) {
        return false;
    }
    if (run->options->dry_run) {
        dry_run(run);
        return true;
    }
    next_step(run);
    if (run->step.kind == DR_STEP_DONE || run->step.kind == DR_STEP_WAIT) { /* without a lease nobody waits */
        return !do_step(run);
    }
    return lease_is_held(run);
}

static void work(struct dr_run *run) {
    if (dr_state_blocked(&run->state)) {
        describe_problems(run);
        (void)refuse(run, DR_TICK_REFUSED, DR_REASON_MALFORMED);
        return;
    }
    dr_run_observe(run);
    if (run->options->dry_run) {
        dry_run(run);
    } else {
        steps(run);
    }
}

enum dr_tick_outcome dr_tick(const struct dr_ports *ports, const struct dr_config *cfg, const struct dr_tick_options *options,
                             struct dr_arena *arena, struct dr_tick_report *ret) {
    struct dr_run run;
    memset(ret, 0, sizeof(*ret));
    run.ports = ports;
    run.cfg = cfg;
    run.options = options;
    run.arena = arena;
    run.obs = arena;
    run.report = ret;
    run.plan = &ret->plan;
    run.leased = false;
    run.fence = 0;
    run.snap.seq = 0;
    int64_t now_ms = dr_run_now(&run);
    begin(&run, now_ms);
    const struct dr_store *store = &ports->store;
    bool at_once = store->ops->request != NULL;
    if (at_once) {
        store->ops->request(store->self, cfg->cluster, dr_run_call_deadline(&run));
        dr_run_observe(&run);
    }
    if (load_state(&run)) {
        if (!at_once) {
            work(&run);
        } else if (!glance(&run)) {
            begin(&run, now_ms);
            run.obs = options->later;
            work(&run);
        }
        dr_run_finish(&run);
    }
    if (run.obs != arena) {
        dr_plan_keep(arena, run.plan);
    }
    return ret->outcome;
}
