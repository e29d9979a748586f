#ifndef DR_ENGINE_RUN_H
#define DR_ENGINE_RUN_H

/* What the parts of one running tick share. Private to the engine. */

#include "core/step.h"
#include "engine/tick.h"

#define DR_EFFECT_MS (10 * DR_SECOND_MS) /* an effect takes this long at most (rule 4) */
#define DR_RENEW_BELOW_S 30              /* the lease is renewed when less than this is left */
#define DR_INBOX_MS (5 * DR_SECOND_MS)   /* a tick that polls looks at the inbox this often */
#define DR_STALE_MS (30 * DR_SECOND_MS)  /* an observation older than this is not acted on */
#define DR_STEPS_MAX 4000                /* steps of one tick: more is a mistake of ours, left to the next tick */

struct dr_run {
    const struct dr_ports *ports;
    const struct dr_config *cfg;
    const struct dr_tick_options *options;
    struct dr_arena *arena; /* of the tick: plan, state */
    struct dr_arena *obs;   /* where the present observation lives: `arena` for the first, options->later after it */
    struct dr_tick_report *report;
    struct dr_plan *plan;

    struct dr_state state; /* the item as it is durable, as far as we know */
    int64_t fence;         /* ours, once the lease is taken */
    bool leased;
    struct dr_snapshot snap;
    struct dr_view view;
    bool view_stale; /* state or snapshot changed since the view was built */
    struct dr_turn turn;
    struct dr_machine machine;
    struct dr_step step;
};

static inline int64_t dr_run_now(const struct dr_run *run) { return run->ports->clock.ops->now_ms(run->ports->clock.self); }

/* Deadline of one call that starts now: its own limit, within the tick's. */
int64_t dr_run_call_deadline(const struct dr_run *run);

/* observe.c: everything in parallel; each part may be unknown. */
void dr_run_observe(struct dr_run *run);

/* tick.c: the view of state and snapshot as they are now. */
void dr_run_build_view(struct dr_run *run);

enum dr_write {
    DR_WRITE_OK,
    DR_WRITE_RELOADED, /* lost the race, but fence and action are still ours: work out the step again on the item as it is now (rule 3) */
    DR_WRITE_STOP,     /* someone else has it, or the store does not answer: report->outcome and err say which */
};
/* commit.c: compare-and-set of `next` on the revision that was read; on success run->state is `next`. */
enum dr_write dr_run_write(struct dr_run *run, const struct dr_state *next);
/* Takes the lease together with `next` (NULL: the item as it is) in one write. */
enum dr_write dr_run_take_lease(struct dr_run *run, const struct dr_state *next);
/* Lease still long enough for one effect; renews it when it is short. */
enum dr_write dr_run_keep_lease(struct dr_run *run);

/* act.c: the effect of run->step, its result written into the item and worked into the snapshot. */
enum dr_write dr_run_act(struct dr_run *run);

/* record.c: journal row and final write (clocks, lease given back). */
void dr_run_finish(struct dr_run *run);

/* A deed for the plan; texts are copied. */
void dr_run_deed(struct dr_run *run, int rule, const char *what, struct dr_str target, struct dr_str outcome);

#endif
