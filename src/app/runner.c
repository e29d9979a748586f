#include "app/runner.h"

#include <string.h>

#define TICK_ARENA_MAX ((size_t)256 << 20)

static void crashed(void *self, int process) {
    struct dr_runner *runner = self;
    DR_ASSERT(runner->processes[process].running);
    longjmp(runner->processes[process].crash, 1);
}

static void woken(void *self, const struct dr_event *event) {
    (void)event;
    struct dr_runner *runner = self;
    runner->woken = true;
}

void dr_runner_init(struct dr_runner *runner, struct dr_world *world, const struct dr_config *cfg) {
    memset(runner, 0, sizeof(*runner));
    runner->world = world;
    runner->cfg = *cfg;
    runner->next_ms = dr_world_now(world);
    struct dr_world_hooks *hooks = dr_world_hooks(world);
    hooks->self = runner;
    hooks->crash = crashed;
    hooks->wake = woken;
    for (int i = 0; i < DR_WORLD_MAX_PROCESSES; i++) {
        dr_arena_init(&runner->processes[i].arena, TICK_ARENA_MAX);
        dr_arena_init(&runner->processes[i].later, TICK_ARENA_MAX);
        runner->processes[i].ports = dr_world_ports(world, i);
    }
}

void dr_runner_deinit(struct dr_runner *runner) {
    for (int i = 0; i < DR_WORLD_MAX_PROCESSES; i++) {
        dr_arena_deinit(&runner->processes[i].arena);
        dr_arena_deinit(&runner->processes[i].later);
    }
}

/* "p0-00000123": written by hand, because a simulated week asks for thousands of them. */
static struct dr_str request_id(struct dr_runner_process *p, int process, uint64_t number) {
    char text[] = "p0-00000000";
    text[1] = (char)('0' + process);
    for (size_t i = sizeof(text) - 2; i > 2; i--, number /= 10) {
        text[i] = (char)('0' + number % 10);
    }
    memcpy(p->request_id, text, sizeof(text));
    return (struct dr_str){p->request_id, sizeof(text) - 1};
}

static void tick(struct dr_runner *runner, int process) {
    struct dr_runner_process *p = &runner->processes[process];
    dr_arena_reset(&p->arena);
    struct dr_ports ports = p->ports;
    if (runner->store.ops != NULL) {
        ports.store = runner->store;
    }
    struct dr_tick_options options = {
        .request_id = request_id(p, process, ++runner->tick_n),
        .deadline_ms = ports.clock.ops->now_ms(ports.clock.self) + runner->cfg.tick_limit_ms,
        .later = &p->later,
    };
    (void)dr_tick(&ports, &runner->cfg, &options, &p->arena, &p->report);
}

bool dr_runner_tick(struct dr_runner *runner, int process) {
    struct dr_runner_process *p = &runner->processes[process];
    DR_ASSERT(!p->running);
    p->running = true;
    if (setjmp(p->crash) != 0) {
        p->running = false;
        runner->crashes++;
        dr_world_trace(runner->world, "process %d crashed", process);
        return false;
    }
    tick(runner, process);
    p->running = false;
    if (runner->after_tick != NULL) {
        runner->after_tick(runner, process, &p->report);
    }
    return true;
}

bool dr_runner_run(struct dr_runner *runner, int64_t until_ms) {
    struct dr_world *world = runner->world;
    while (!runner->stop) {
        int64_t now_ms = dr_world_now(world);
        if (runner->woken || now_ms >= runner->next_ms) {
            runner->woken = false;
            if (now_ms >= runner->next_ms) {
                runner->next_ms += (1 + (now_ms - runner->next_ms) / runner->cfg.interval_ms) * runner->cfg.interval_ms;
            }
            (void)dr_runner_tick(runner, 0);
            continue;
        }
        if (now_ms >= until_ms) {
            break;
        }
        /* From event to event, so that an arrival in the inbox wakes a tick at its own time. */
        int64_t to_ms = runner->next_ms < until_ms ? runner->next_ms : until_ms;
        int64_t event_ms = dr_world_next(world);
        event_ms = event_ms > now_ms ? event_ms : now_ms;
        if (!dr_world_advance(world, event_ms < to_ms ? event_ms : to_ms)) {
            break;
        }
    }
    return dr_world_violation(world) == NULL;
}
