#ifndef DR_ENGINE_TICK_H
#define DR_ENGINE_TICK_H

/*
 * One pass: observe, reconcile, decide, act, record (docs/architecture.md). The same in every mode; a mode only decides when it runs and for how long it may.
 */

#include "core/config.h"
#include "core/plan.h"
#include "port/world.h"

enum dr_tick_outcome {
    DR_TICK_DONE,    /* everything that could be done is done */
    DR_TICK_WAITING, /* an action is under way and goes on in a later tick */
    DR_TICK_LEASE,   /* someone else holds the lease */
    DR_TICK_LOST,    /* lost the race or the lease in the middle: stopped before the next effect */
    DR_TICK_REFUSED, /* the item is malformed in a way that a person must look at */
    DR_TICK_FAILED,  /* the store did not answer: nothing was done, or the tick stopped between effects */
};

struct dr_tick_options {
    struct dr_str request_id; /* unique per tick and process: part of action ids, lease owner */
    int64_t deadline_ms;      /* absolute; the tick stops between effects before it */
    bool dry_run;             /* plan only: no lease, no write, no effect */
    struct dr_arena *later;   /* for observations after the first: reset at each, so that a long drain does not grow */
};

struct dr_tick_report {
    enum dr_tick_outcome outcome;
    struct dr_plan plan; /* lives in the arena given to dr_tick */
    struct dr_err err;   /* with FAILED, LOST, REFUSED */
    int64_t effects;
    int64_t writes;
};

/* Runs one tick. `arena` holds everything of it and may be reset by the caller afterwards. */
enum dr_tick_outcome dr_tick(const struct dr_ports *ports, const struct dr_config *cfg, const struct dr_tick_options *options,
                             struct dr_arena *arena, struct dr_tick_report *ret);

#endif
