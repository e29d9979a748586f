#ifndef DR_CORE_DRAIN_H
#define DR_CORE_DRAIN_H

/* Drain plan: the classes of a worker's pods, and what budgets allow. */

#include "core/fleet.h"

enum dr_pod_class {
    DR_POD_STAYS,    /* DaemonSet or mirror: stays and ends with the machine, whatever its priority or namespace */
    DR_POD_FINISHED, /* succeeded or failed: no matter */
    DR_POD_LEAVING,  /* already being deleted: wait for it */
    DR_POD_CRITICAL, /* system-node-critical, system-cluster-critical, or any other pod of kube-system */
    DR_POD_BARE,     /* no controller */
    DR_POD_LOCAL,    /* local data */
    DR_POD_EVICT,    /* ordinary */
};
/* The first class of the list that applies. */
enum dr_pod_class dr_pod_classify(const struct dr_pod *pod);

/* What forbids a voluntary eviction of the pod: DR_POD_CRITICAL, or DR_POD_BARE or DR_POD_LOCAL unless the configuration allows it (a bare pod with local data needs both). DR_POD_EVICT: nothing. */
enum dr_pod_class dr_pod_obstacle(const struct dr_config *cfg, const struct dr_pod *pod);

/* Must the pod be moved before the machine may go, and is not on its way yet? */
bool dr_pod_must_leave(const struct dr_pod *pod);

/* Pods of one worker to evict now and how many are still there. */
struct dr_drain_plan {
    const struct dr_pod **evict; /* not yet being deleted, nothing forbids it */
    size_t evict_n;
    int64_t remaining;            /* pods that must be gone before the machine may go: `evict`, those being deleted, and those that block */
    struct dr_strs owner_uids;    /* controllers of `evict`, each once */
    const struct dr_pod *blocker; /* first pod that forbids a voluntary drain, or NULL */
};

/* `forced` (interruption): critical, bare and local pods are evicted too and nothing blocks. A worker without Node has no pods. */
void dr_drain_work_out(struct dr_arena *arena, const struct dr_config *cfg, struct dr_fleet *fleet, const struct dr_worker *worker,
                       bool forced, struct dr_drain_plan *ret);

/* Does the budget select the pod? (same namespace, selector) */
bool dr_budget_selects(const struct dr_budget *budget, const struct dr_pod *pod);

/*
 * How many of the selected pods may be disrupted now, never below 0: the API server's number where there is one, else from the spec and the pods. Percent rounds up for minAvailable and for maxUnavailable, as the disruption
 * controller does. The number of pods expected is the API server's, else those that are there and not finished (one being deleted included: the careful side).
 */
int64_t dr_budget_allows(const struct dr_budget *budget, const struct dr_snapshot *snap);

/*
 * A pod of the worker that no budget would let go now, or NULL: a budget that selects it allows none, or more than one budget selects it, which the Eviction API refuses for ever. A budget that allows one is no obstacle even if
 * several of its pods are here: they leave one after the other.
 * The pods must be indexed.
 */
const struct dr_pod *dr_budget_blocks(const struct dr_snapshot *snap, struct dr_fleet *fleet, const struct dr_worker *worker);

#endif
