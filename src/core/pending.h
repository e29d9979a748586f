#ifndef DR_CORE_PENDING_H
#define DR_CORE_PENDING_H

/*
 * Pods that wait for room, and how many new workers would give it. Only a pod that the scheduler calls Unschedulable waits: one whose image cannot be pulled is bound already. Only a pod that an empty new worker could run
 * asks for one: no worker helps an impossible selector, an unbound volume or a request larger than any type.
 */

#include "core/fit.h"
#include "core/fleet.h"

/* Within this time after a worker joined, pods with rules that are not modelled do not ask for another. */
#define DR_NEWLY_JOINED_MS (10 * DR_MINUTE_MS)

/* What one of the new workers must be. */
struct dr_need {
    struct dr_str type;
    struct dr_str zone; /* empty: any zone of the pool does */
};

/* One that waits, for people who ask about it. */
struct dr_waiting {
    const struct dr_pod *pod;
    int64_t since_ms; /* PodScheduled transition; 0: it does not say */
    bool helpable;
};
#define DR_WAITING_LISTED 100 /* a ceiling, for records are kept for days */

/* The pods that wait and that a new worker would help, after the room on ready and joining workers is filled. */
struct dr_pending {
    bool known;        /* nothing waits, or pods, instances, nodes and the pool are known */
    struct dr_str why; /* of an unknown one */
    int64_t
        waiting; /* Unschedulable pods in all, successors of our own evictions left out; DaemonSet and mirror pods never wait for a worker */
    int64_t helpable; /* of these, those that a new worker could run */
    int64_t
        remainder; /* of these, those that do not fit on what is there or joining: what asks for workers. All pods with rules that are not modelled count as one in it, or none */
    int64_t successors;            /* Unschedulable pods that our own drain evicted: no pressure (rule 19) */
    int64_t successor_since_ms;    /* oldest of these; 0: none */
    int64_t since_ms;              /* oldest PodScheduled transition among the helpable; 0: none */
    bool unmodelled_only;          /* every remaining pod has a rule that we do not model: one worker once, not a fleet */
    int64_t workers_needed;        /* new workers that the remainder packs on (fit sizing), maximum + 1 at most */
    const struct dr_need *needs;   /* one for each of workers_needed, in the order in which they should be launched */
    struct dr_need next;           /* what the next index that is asked for but not placed yet must be; empty: anything will do */
    const struct dr_waiting *pods; /* the first of those that wait, in the order of the snapshot */
    size_t pod_n;
    const struct dr_pod *oldest; /* for the reason: the oldest helpable pod; none helpable: the oldest that waits */
};

/*
 * `state` names the owners whose successors are no pressure. Pending pods fill ready, schedulable workers that do not leave, then workers that are joining and machines that are coming, as empty workers of their type less the
 * DaemonSets. Pods with a rule that is not modelled justify one worker once: they ask for none while a worker is joining, after one joined within DR_NEWLY_JOINED_MS, or if one joined since they began to wait and did not help.
 * Costs a glance at each pod when nothing waits.
 */
void dr_pending_work_out(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, struct dr_fleet *fleet,
                         struct dr_pending *ret);

#endif
