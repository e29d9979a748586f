#ifndef DR_CORE_FLEET_H
#define DR_CORE_FLEET_H

/*
 * Identity and counting: which Node is which instance, what every worker is at the moment, and the counts that bounds are compared with (docs/protocol.md, "Words").
 *
 * A Node belongs to an instance if its provider id (aws:///zone/i-...) or its label drover.dev/instance-id names it, or, where it has neither, if its InternalIP is that of exactly one pending or running instance. Provider id and
 * label must not differ, the address must agree with EC2's where both are known, the Node must be younger than the launch (DR_LAUNCH_SKEW_MS of clock difference is allowed; an address or a name that came back on a new
 * machine is told apart by this), and the mapping must be one to one. Otherwise the Node is unknown: never a victim, never a ghost, and while there is one nothing is called unjoined.
 */

#include "base/time.h"
#include "core/config.h"
#include "core/model.h"
#include "core/state.h"

/* A Node's creation time is the API server's clock, the launch time EC2's. */
#define DR_LAUNCH_SKEW_MS (5 * DR_SECOND_MS)
/* A worker that is NotReady for longer is not live. */
#define DR_NOT_READY_MS (5 * DR_MINUTE_MS)
/* A NotReady Node that EC2 does not know is a ghost once it is this old (rule 26). */
#define DR_GHOST_AGE_MS (10 * DR_MINUTE_MS)
/*
 * A Node is created with Ready=False and keeps that transition time until it becomes Ready; if its kubelet falls silent before that, the node controller turns the condition to Unknown some 40 to 50 s later. A Ready
 * condition that is not True but changed later than this after the Node's creation therefore was True in between.
 */
#define DR_NEVER_READY_MS (60 * DR_SECOND_MS)

enum dr_node_kind {
    DR_NODE_WORKER, /* mapped to a worker */
    DR_NODE_SERVER, /* control plane */
    DR_NODE_GHOST, /* identity is clear, its instance is seen terminated, or unknown to EC2 while the Node is NotReady and older than 10 min (rule 26) */
    DR_NODE_ABSENT, /* identity is clear, no worker has it, and it is no ghost (yet): counts as live while Ready if Describe does not show the instance at all and it is not known to have ended */
    DR_NODE_UNKNOWN, /* contradicts itself or EC2, has no identity, or EC2 could not be asked */
};

struct dr_worker {
    const struct dr_instance *instance; /* NULL only for a worker that is a Ready Node whose instance Describe does not show */
    const struct dr_node *node;         /* NULL: no Node mapped */
    struct dr_str id;
    struct dr_str zone;
    bool joined;          /* has a Node that is Ready, or was Ready before (DR_NEVER_READY_MS) */
    bool unjoined;        /* no Node, the Node list is known and every Node is mapped */
    bool ready;           /* has a Node that is Ready now */
    bool contested;       /* more than one Node names it: none is mapped, yet it is not "without a Node" */
    bool interrupted;     /* has a warning record */
    bool hinted;          /* has a rebalance record */
    bool marked;          /* in terminatingInstanceIds */
    bool refused;         /* termination protection said no */
    bool quarantined;     /* and the time has not passed yet */
    bool join_expired;    /* the Node list is known, it has no Node, and its join timeout is reached */
    bool live;            /* see "Words" */
    bool target;          /* of the active scale-down, not completed */
    int64_t not_ready_ms; /* 0 when Ready or without Node */
    size_t pod_first;     /* pods of this worker: fleet.pod_index[pod_first .. pod_first + pod_n) */
    size_t pod_n;
};

struct dr_zone {
    struct dr_str name;
    int64_t live;
    int64_t planned; /* live + what is coming and has its zone already */
};

/* A machine that is intended or recorded but that Describe does not show: a launch index without instance, or a recorded instance. */
struct dr_coming {
    const struct dr_attempt *attempt; /* NULL: an index without any attempt yet, or an instance of a foreign item */
    struct dr_str id;                 /* recorded instance; empty: none yet */
};

struct dr_fleet {
    const struct dr_snapshot *snap;
    struct dr_worker *workers; /* sorted by id */
    size_t worker_n;
    enum dr_node_kind *node_kind;           /* per snapshot node */
    const struct dr_instance *const *by_id; /* all instances of the snapshot sorted by id; NULL: they are sorted as they stand */
    struct dr_zone *zones;                  /* of the pool's subnets and the workers, sorted by name */
    size_t zone_n;
    struct dr_coming *coming; /* of the active scale-up, in order of the index */
    size_t coming_n;
    bool workers_known; /* instances are known */
    bool nodes_known;   /* the Node list is known */
    bool
        all_mapped; /* both are known and every Node is mapped (worker, server, ghost or absent): only then something may be called unjoined */
    int64_t worker_count; /* pending or running, tags of the pool, not ended */
    int64_t live;
    int64_t planned; /* live + coming */
    int64_t held;    /* workers neither marked nor interrupted + coming */
    bool pods_indexed;
    const size_t *pod_index; /* positions in the snapshot's pods, grouped by worker; filled by dr_fleet_index_pods */
};

/*
 * Builds the view. Works with unknown parts: without instances there are no workers and workers_known is false; without Nodes, EC2 alone. An id in `state->ended` is no worker whatever Describe says; an instance under a Node with
 * a control-plane role is none either. The view points into state and snapshot.
 */
void dr_fleet_build(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, const struct dr_snapshot *snap,
                    struct dr_fleet *ret);

/* Groups the pods by worker (needed only for victims, drains and fit; a quiet tick does without). Done once; with the pods unknown pods_indexed stays false. */
void dr_fleet_index_pods(struct dr_arena *arena, struct dr_fleet *fleet);

/* The i-th pod of a worker, i < worker->pod_n. */
static inline const struct dr_pod *dr_fleet_pod(const struct dr_fleet *fleet, const struct dr_worker *worker, size_t i) {
    return &fleet->snap->pods[fleet->pod_index[worker->pod_first + i]];
}

const struct dr_worker *dr_fleet_find(const struct dr_fleet *fleet, struct dr_str id); /* NULL: none */
struct dr_zone *dr_fleet_zone(const struct dr_fleet *fleet, struct dr_str name);       /* NULL: none */
/* The instance as Describe shows it in any state, ended ones included; NULL: not shown. */
const struct dr_instance *dr_fleet_instance(const struct dr_fleet *fleet, struct dr_str id);

#endif
