/* One scenario: builds the world, lets it run, judges. */

#include <string.h>

#include "app/scenario.h"
#include "base/time.h"

#define RUN_ARENA_MAX ((size_t)1 << 30)
#define TAIL_LINES 30
#define MAX_HOLES 100 /* of all traces; the world has a ceiling */

static struct dr_scenario_run *run_of(void *self) {
    struct dr_runner *runner = self;
    return runner->self;
}

static void on_trace(void *self, int64_t now_ms, const char *line) {
    (void)now_ms;
    const struct dr_scenario_run *run = run_of(self);
    if (run->options->trace != NULL) {
        run->options->trace(run->options->self, line);
    }
}

static void on_interleave(void *self, const struct dr_call *call, bool after, int64_t process) {
    (void)call;
    (void)after;
    struct dr_scenario_run *run = run_of(self);
    if (!run->runner.processes[process].running) {
        (void)dr_runner_tick(&run->runner, (int)process);
    }
}

static void on_tick(struct dr_runner *runner, int process, const struct dr_tick_report *report) {
    dr_scenario_note_tick(runner->self, process, report);
}

static void add_workers(struct dr_scenario_run *run) {
    const struct dr_scenario *s = run->scenario;
    for (size_t i = 0; i < s->worker_n; i++) {
        for (int64_t k = 0; k < s->workers[i].count; k++) {
            struct dr_world_worker worker = s->workers[i].worker;
            worker.index = k;
            /* Of one entry each is a minute younger than the one before, so that "oldest" means something. */
            worker.age_ms = worker.age_ms > k * DR_MINUTE_MS ? worker.age_ms - k * DR_MINUTE_MS : worker.age_ms;
            (void)dr_world_add_worker(run->world, &worker);
        }
    }
}

/* A hole in the trace is a hole in the series; demand goes on between its points. */
static void add_curve(struct dr_world *world, const struct dr_scenario_curve *c, size_t *holes) {
    for (size_t i = 0; i < c->n; i++) {
        const struct dr_sample *p = &c->points[i];
        if (!c->demand) {
            dr_world_series(world, c->signal, p->at_ms, p->micro);
        } else if (dr_str_is(c->signal, "cpu")) {
            dr_world_demand_cpu(world, p->at_ms, p->micro);
        } else {
            dr_world_demand_mem(world, p->at_ms, p->micro);
        }
        bool hole = !c->demand && c->step_ms > 0 && i + 1 < c->n && c->points[i + 1].at_ms - p->at_ms > c->step_ms * 5 / 2;
        if (hole && (*holes)++ < MAX_HOLES) {
            dr_world_outage(world, c->signal, DR_OUTAGE_GAP, p->at_ms + c->step_ms, c->points[i + 1].at_ms, DR_STR_NONE);
        }
    }
    if (c->step_ms > 0 && !c->demand) {
        dr_world_series_linear(world, c->signal, true);
    }
}

static void fill(struct dr_scenario_run *run) {
    const struct dr_scenario *s = run->scenario;
    struct dr_err err;
    size_t holes = 0;
    add_workers(run);
    for (size_t i = 0; i < s->workload_n; i++) {
        DR_ASSERT(dr_world_add_workload(run->world, &s->workloads[i], &err) >= 0); /* ceilings were checked when it was read */
    }
    for (size_t i = 0; i < s->budget_n; i++) {
        DR_ASSERT(dr_world_add_budget(run->world, &s->budgets[i], &err) >= 0);
    }
    for (size_t i = 0; i < s->curve_n; i++) {
        add_curve(run->world, &s->curves[i], &holes);
    }
}

static void finish(struct dr_scenario_run *run, bool whole) {
    struct dr_scenario_result *result = run->result;
    const char *violation = dr_world_violation(run->world);
    if (violation != NULL) {
        result->held = false;
        result->violation = dr_str_dup(run->arena, dr_str_of(violation)).p;
    } else {
        dr_scenario_judge(run);
    }
    if (whole) {
        result->stats = dr_world_stats(run->world);
        result->counts = dr_world_counts(run->world);
        result->ticks = (int64_t)run->runner.tick_n;
        result->trace_hash = dr_world_trace_hash(run->world);
    }
    if (!result->held) {
        struct dr_buf buf;
        dr_buf_init(&buf, 0);
        dr_world_trace_tail(run->world, &buf);
        struct dr_str tail = dr_buf_str(&buf);
        size_t from = tail.n;
        for (int lines = 0; from > 0 && lines <= TAIL_LINES; from--) {
            lines += tail.p[from - 1] == '\n';
        }
        result->trace = dr_str_dup(run->arena, dr_str_sub(tail, from == 0 ? 0 : from + 1, tail.n));
        dr_buf_deinit(&buf);
    }
}

/* One run, with one fault more at `call` (0: none). Returns how many calls there were. */
static uint64_t run_once(struct dr_arena *arena, const struct dr_scenario *scenario, const struct dr_scenario_run_options *options,
                         uint64_t call, struct dr_scenario_result *result) {
    struct dr_scenario_run *run = DR_NEW(arena, struct dr_scenario_run);
    *run = (struct dr_scenario_run){.arena = arena, .scenario = scenario, .options = options, .result = result};
    run->failed = DR_NEW_N(arena, bool, scenario->expect_n);
    struct dr_world_options world_options = scenario->options;
    world_options.seed = scenario->seed;
    struct dr_err err;
    run->world = dr_world_new(&world_options, &err);
    if (run->world == NULL) {
        result->held = false;
        result->violation = dr_str_dup(arena, dr_str_of(err.text)).p;
        return 0;
    }
    dr_runner_init(&run->runner, run->world, &scenario->settings.cfg);
    run->runner.self = run;
    run->runner.after_tick = on_tick;
    dr_world_hooks(run->world)->trace = on_trace;
    dr_world_hooks(run->world)->interleave = on_interleave;
    fill(run);
    struct dr_fault faults[DR_SCENARIO_MAX_FAULTS + 1];
    size_t fault_n = dr_scenario_faults(scenario, faults);
    if (call > 0) {
        faults[fault_n] = dr_fault_of((enum dr_fault_kind)scenario->each);
        faults[fault_n].call = call;
        faults[fault_n].limit = 1;
        faults[fault_n++].arg = 1;
    }
    dr_world_set_faults(run->world, faults, fault_n);
    dr_scenario_watch(run);
    dr_scenario_schedule(run);
    (void)dr_runner_run(&run->runner, scenario->lexicon.end_ms);
    finish(run, call == 0);
    uint64_t calls = dr_world_calls(run->world);
    dr_runner_deinit(&run->runner);
    dr_world_free(run->world);
    return calls;
}

static void keep(struct dr_arena *arena, const struct dr_scenario_result *from, struct dr_scenario_result *to) {
    to->held = from->held;
    to->failure_n = from->failure_n;
    to->failures_left_out = from->failures_left_out;
    for (size_t i = 0; i < from->failure_n; i++) {
        to->failures[i] = from->failures[i];
        to->failures[i].seen = dr_str_dup(arena, from->failures[i].seen);
    }
    to->violation = from->violation == NULL ? NULL : dr_str_dup(arena, dr_str_of(from->violation)).p;
    to->trace = dr_str_dup(arena, from->trace);
}

void dr_scenario_run(struct dr_arena *arena, const struct dr_scenario *scenario, const struct dr_scenario_run_options *options,
                     struct dr_scenario_result *ret) {
    static const struct dr_scenario_run_options quiet = {NULL, NULL};
    *ret = (struct dr_scenario_result){.held = true, .runs = 1};
    struct dr_arena own;
    dr_arena_init(&own, RUN_ARENA_MAX);
    struct dr_scenario_result first = {.held = true};
    uint64_t calls = run_once(&own, scenario, options, 0, &first);
    ret->stats = first.stats;
    ret->counts = first.counts;
    ret->ticks = first.ticks;
    ret->trace_hash = first.trace_hash;
    keep(arena, &first, ret);
    /* The first failing run is told; the others would say much the same. */
    for (uint64_t call = 1; scenario->each >= 0 && ret->held && call <= calls && call <= DR_SCENARIO_MAX_RUNS; call++) {
        dr_arena_reset(&own);
        struct dr_scenario_result again = {.held = true};
        (void)run_once(&own, scenario, &quiet, call, &again);
        ret->runs++;
        if (!again.held) {
            ret->failed_call = (int64_t)call;
            keep(arena, &again, ret);
        }
    }
    dr_arena_deinit(&own);
}
