#ifndef DR_APP_RUNNER_H
#define DR_APP_RUNNER_H

/*
 * Runs the engine on a simulated world: a tick every interval and one whenever an event arrives, in virtual time. Processes may crash (by a fault of the world) and come back with the next tick; a second process may run inside the first one's
 * call. `drover simulate`, the demo, tests and benchmarks all run this one.
 */

#include <setjmp.h>

#include "engine/tick.h"
#include "sim/world.h"

struct dr_runner;

struct dr_runner_process {
    struct dr_arena arena;
    struct dr_arena later;
    struct dr_ports ports;
    jmp_buf crash;
    bool running;
    char request_id[16];
    struct dr_tick_report report; /* of its last tick that ended */
};

struct dr_runner {
    struct dr_world *world;
    struct dr_config cfg;
    struct dr_store store; /* instead of the world's own; ops NULL: the world's */
    struct dr_runner_process processes[DR_WORLD_MAX_PROCESSES];
    uint64_t tick_n; /* ticks begun: part of the request id */
    int64_t next_ms; /* of the next scheduled tick */
    bool woken;
    bool stop; /* set by a hook to leave dr_runner_run */
    int64_t crashes;
    void *self;
    void (*after_tick)(struct dr_runner *runner, int process,
                       const struct dr_tick_report *report); /* may be NULL; not called for a crash */
};

/* Takes over the world's crash and wake hooks. The world stays the caller's. */
void dr_runner_init(struct dr_runner *runner, struct dr_world *world, const struct dr_config *cfg);
void dr_runner_deinit(struct dr_runner *runner);

/* One tick of a process, now. False: it crashed in the middle. */
bool dr_runner_tick(struct dr_runner *runner, int process);

/* Ticks of process 0 at every interval and on events until then. False: a promise was broken. */
bool dr_runner_run(struct dr_runner *runner, int64_t until_ms);

#endif
