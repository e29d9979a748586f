#ifndef DR_CORE_STEP_H
#define DR_CORE_STEP_H

/*
 * The step machine: given the state item, an observation and what this tick has tried, it says the one next thing to do. The engine does it, and asks again. Nothing here acts; a crash between two steps loses nothing, because each step is
 * worked out from what is durable and what is seen.
 *
 *     observe -> [ repair | inbox | interruptions | marks | scale-up | scale-down | sweeps | decide ] -> step
 *        ^                                                                                            |
 *        +---- engine: write / effect, then settle its result into the item and the snapshot ---------+
 *
 * Stages stand in a fixed order; a stage that only waits lets the later ones go on. Effects are always preceded by their intent in the item.
 */

#include "core/decision.h"
#include "core/place.h"
#include "core/turn.h"

enum dr_step_kind {
    DR_STEP_DONE,    /* nothing to do now */
    DR_STEP_WAIT,    /* look again after wait_ms, in this tick if it lasts that long */
    DR_STEP_REFRESH, /* observe again first: what follows needs fresh data */
    DR_STEP_WRITE,   /* write `next` */
    DR_STEP_LAUNCH,
    DR_STEP_TERMINATE,
    DR_STEP_CORDON,
    DR_STEP_UNCORDON,
    DR_STEP_EVICT,
    DR_STEP_DELETE_NODE,
    DR_STEP_HANDLE_EVENT,
};

struct dr_step {
    enum dr_step_kind kind;
    int rule;             /* of docs/protocol.md that asks for it; 0: none */
    const char *what;     /* for the journal: "begin scale-up", "mark", "cordon" */
    struct dr_str target; /* instance, node or action that it is about */
    bool alert;           /* people should hear of it */
    bool finished;        /* an action ended: worth a notice */
    int64_t wait_ms;      /* DR_STEP_WAIT */
    bool has_mark;        /* a WRITE that sets a mark */

    struct dr_str action_id; /* LAUNCH */
    size_t index;
    struct dr_attempt attempt;
    struct dr_str token;

    struct dr_str instance_id;  /* TERMINATE; the worker behind CORDON, UNCORDON, EVICT */
    const struct dr_node *node; /* CORDON, UNCORDON, DELETE_NODE */
    struct dr_str cordon_owner; /* CORDON */
    const struct dr_pod **pods; /* EVICT */
    size_t pod_n;
    int64_t grace_ms;             /* EVICT: -1 = each pod's own */
    const struct dr_event *event; /* HANDLE_EVENT */

    struct dr_state next; /* DR_STEP_WRITE; last, because it is large and set as a whole while the rest starts out empty */
};

/* What came back from an effect. */
struct dr_result {
    enum dr_code code;
    struct dr_str instance_id; /* LAUNCH */
    const int *evicted;        /* EVICT: per pod, 0 accepted, 1 gone, 2 blocked, 3 error (enum dr_evict_outcome) */
};

struct dr_machine {
    struct dr_arena *arena;
    struct dr_view *view;
    struct dr_turn *turn;
    struct dr_plan *plan;
    int64_t now_ms;
    int64_t now_epoch;
    int64_t wait_ms; /* smallest wish to look again in this tick; 0: none */
    bool waiting;    /* something is under way that a later tick goes on with */
};

/* The next step. Also fills plan->decision when it comes to that. */
void dr_step_next(struct dr_machine *machine, struct dr_step *ret);

/*
 * Works an effect's result into the item. True: `out` differs from `in` and must be written before the next effect. Applied again to a reloaded item after a lost race it does the same or nothing (rules 2, 3).
 */
bool dr_step_settle(struct dr_machine *machine, const struct dr_step *step, const struct dr_result *result, const struct dr_state *in,
                    struct dr_state *out);

/* Works an effect's result into the snapshot, so that the rest of the tick sees it; sets `touched`. Changed arrays are copied into the arena. */
void dr_step_reflect(struct dr_arena *arena, struct dr_snapshot *snap, const struct dr_step *step, const struct dr_result *result,
                     int64_t now_ms);

/* Client token of an attempt (rule 7): at most 64 characters, the same for the same attempt. */
struct dr_str dr_step_token(struct dr_arena *arena, struct dr_str action_id, size_t index, int64_t attempt);

/* Owner text of an interruption's cordon (rule 18). */
struct dr_str dr_interruption_owner(struct dr_arena *arena, struct dr_str instance_id);

/* Stages, in order; each true if it filled a step. */
bool dr_stage_repair(struct dr_machine *m, struct dr_step *ret);
bool dr_stage_inbox(struct dr_machine *m, struct dr_step *ret);
bool dr_stage_interruptions(struct dr_machine *m, struct dr_step *ret);
bool dr_stage_marks(struct dr_machine *m, struct dr_step *ret);
bool dr_stage_scale_up(struct dr_machine *m, struct dr_step *ret);
bool dr_stage_scale_down(struct dr_machine *m, struct dr_step *ret);
bool dr_stage_sweeps(struct dr_machine *m, struct dr_step *ret);
bool dr_stage_decide(struct dr_machine *m, struct dr_step *ret);

/* Shared by the stages. */
void dr_machine_wait(struct dr_machine *m, int64_t wait_ms); /* 0: a later tick is early enough */
bool dr_machine_may(struct dr_machine *m, enum dr_step_kind kind, struct dr_str key);
bool dr_step_write(struct dr_step *ret, int rule, const char *what, struct dr_str target, const struct dr_state *next);
struct dr_str dr_machine_action_id(struct dr_machine *m); /* <epoch>-<request id> */
/* Cordon, then evict what must leave, then wait for it. True: a step was filled. False: nothing evictable is left on the node, or only waiting is left (see ret_drained). */
bool dr_machine_drain(struct dr_machine *m, struct dr_step *ret, const struct dr_worker *worker, struct dr_str owner, bool forced,
                      int64_t grace_ms, bool *ret_drained);

#endif
