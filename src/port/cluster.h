#ifndef DR_PORT_CLUSTER_H
#define DR_PORT_CLUSTER_H

/* The Kubernetes side: Nodes, pods, budgets; cordon, eviction, removal of Node objects. */

#include "base/err.h"
#include "core/model.h"

enum dr_evict_outcome {
    DR_EVICT_ACCEPTED, /* 201 */
    DR_EVICT_GONE,     /* 404, or another pod of that name (UID precondition) */
    DR_EVICT_BLOCKED,  /* 429: a budget says not now */
    DR_EVICT_ERROR,    /* see the error; nothing is known */
};

struct dr_eviction {
    struct dr_str ns;
    struct dr_str name;
    struct dr_str uid;
    int64_t grace_ms;              /* -1: the pod's own */
    enum dr_evict_outcome outcome; /* filled by the call */
    struct dr_err err;             /* with DR_EVICT_ERROR */
};

struct dr_cluster_ops {
    void (*request)(void *self, int64_t deadline_ms); /* may be NULL */
    /* Fills the nodes, pods and budgets parts, each known or unknown on its own. */
    void (*observe)(void *self, struct dr_arena *arena, int64_t deadline_ms, struct dr_snapshot *ret);
    /*
     * Cordon (`on`) or uncordon: one patch of spec.unschedulable and the annotation, conditional on the annotation and resourceVersion in `node` as it was read (rule 18).
     * DR_E_CONFLICT: it changed since; DR_E_NOT_FOUND: no such Node. Asked for what is already so by the same owner: success.
     */
    int (*cordon)(void *self, const struct dr_node *node, struct dr_str owner, bool on, int64_t deadline_ms, struct dr_err *err);
    /* Eviction API with UID precondition, in parallel; every entry gets its outcome. */
    void (*evict)(void *self, struct dr_eviction *evictions, size_t n, int64_t deadline_ms);
    /* Removes the Node object with this UID. DR_E_NOT_FOUND counts as done; DR_E_CONFLICT: another Node of that name. */
    int (*delete_node)(void *self, struct dr_str name, struct dr_str uid, int64_t deadline_ms, struct dr_err *err);
};
struct dr_cluster {
    const struct dr_cluster_ops *ops;
    void *self;
};

#endif
