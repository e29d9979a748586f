#ifndef DR_CORE_FIT_H
#define DR_CORE_FIT_H

/*
 * Fit: the scheduler's hard rules by requests, allocatable, pod count, node selector, required node affinity, taints, host ports and volume zones. It answers two questions: would a new worker help this pod
 * (core/pending.h asks it for all pods that wait), and would the pods of a leaving worker find room elsewhere? Equal pods are handled once, as a class.
 */

#include "core/fleet.h"
#include "core/match.h"

enum dr_fit_verdict {
    DR_FIT_YES,
    DR_FIT_NO_ROOM,     /* requests, pod count or host ports */
    DR_FIT_NO_SELECTOR, /* node selector or affinity */
    DR_FIT_NO_TAINT,
    DR_FIT_NO_VOLUME, /* volume zone, or unbound */
};
const char *dr_fit_name(enum dr_fit_verdict verdict);

/* Would an empty worker of `type` in `zone` run the pod, its DaemonSets taken off? */
enum dr_fit_verdict dr_fit_new_worker(const struct dr_pod_spec *spec, const struct dr_worker_type *type, struct dr_str zone,
                                      int64_t daemon_cpu_milli, int64_t daemon_mem_bytes, int64_t daemon_pods);
/* Hard rules apart from room, for a worker that does not exist yet. It has the type's labels and those for zone, region, type and operating system; its host name exists but is none that a pod could name. */
enum dr_fit_verdict dr_fit_type_rules(const struct dr_pod_spec *spec, const struct dr_worker_type *type, struct dr_str zone);
/* Hard rules apart from room. Whether the Node is ready and schedulable is the caller's question. */
enum dr_fit_verdict dr_fit_rules(const struct dr_pod_spec *spec, const struct dr_node *node);

/*
 * Would all pods that must leave `worker` (not DaemonSet, mirror, finished or already being deleted) find room on the other live, ready, schedulable workers that are no targets? Pods that are not bound yet are seated
 * first: they will take room too. False: `ret_blocker` names the first that would not; NULL if the pods are unknown. A pod with a rule that is not modelled cannot be promised room, so it does not fit.
 * `also_leaving` are further workers that leave in the same action: they offer no room and their pods need some. True means that an assignment was found; false that first fit decreasing found none.
 */
bool dr_fit_leaves(struct dr_arena *arena, struct dr_fleet *fleet, const struct dr_worker *worker, struct dr_strs also_leaving,
                   const struct dr_pod **ret_blocker);

#endif
