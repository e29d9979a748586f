#ifndef DR_CORE_MODEL_H
#define DR_CORE_MODEL_H

/*
 * The world as one tick sees it. Adapters and the simulator fill these structures; the core only reads them. All memory belongs to the tick's arena (or outlives it).
 * Every part of a snapshot is either known or unknown with a reason; an unknown part has no elements and is never read as "empty".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum dr_market { DR_MARKET_ON_DEMAND, DR_MARKET_SPOT };
const char *dr_market_name(enum dr_market market); /* "on-demand", "spot" */

enum dr_instance_state {
    DR_INSTANCE_PENDING,
    DR_INSTANCE_RUNNING,
    DR_INSTANCE_STOPPING,
    DR_INSTANCE_STOPPED,
    DR_INSTANCE_SHUTTING_DOWN,
    DR_INSTANCE_TERMINATED,
};

/* An EC2 instance that carries the pool's tags. Servers of the cluster are not in the list. */
struct dr_instance {
    struct dr_str id; /* i-... */
    struct dr_str type;
    struct dr_str zone;
    struct dr_str subnet;
    struct dr_str private_ip;
    enum dr_market market;
    enum dr_instance_state state;
    int64_t launched_ms;
    struct dr_str action_id; /* our tag at creation; empty: not launched by an action of ours */
    int64_t index;           /* our tag at creation; meaningful only with action_id */
};

struct dr_label {
    struct dr_str key;
    struct dr_str value;
};
struct dr_labels {
    const struct dr_label *v;
    size_t n;
};
/* NULL if there is no such key. */
const struct dr_str *dr_labels_get(struct dr_labels labels, struct dr_str key);

enum dr_taint_effect { DR_TAINT_NO_SCHEDULE, DR_TAINT_PREFER_NO_SCHEDULE, DR_TAINT_NO_EXECUTE };
struct dr_taint {
    struct dr_str key;
    struct dr_str value;
    enum dr_taint_effect effect;
};
struct dr_toleration {
    struct dr_str key; /* empty with `exists`: tolerates every key */
    struct dr_str value;
    bool exists;     /* operator Exists; otherwise Equal */
    bool any_effect; /* no effect given */
    enum dr_taint_effect effect;
};

enum dr_match_op { DR_OP_IN, DR_OP_NOT_IN, DR_OP_EXISTS, DR_OP_NOT_EXISTS, DR_OP_GT, DR_OP_LT };
struct dr_requirement {
    struct dr_str key;
    enum dr_match_op op;
    struct dr_strs values;
};
/* Requirements of one term are all needed; of several terms one is enough. */
struct dr_term {
    const struct dr_requirement *requirements;
    size_t requirement_n;
};

enum dr_ready { DR_READY_UNKNOWN, DR_READY_FALSE, DR_READY_TRUE };

struct dr_node {
    struct dr_str name;
    struct dr_str uid;
    struct dr_str resource_version;
    struct dr_str provider_id;    /* aws:///zone/i-..., k3s://name, or empty */
    struct dr_str instance_label; /* label drover.dev/instance-id, or empty */
    struct dr_str internal_ip;
    struct dr_str zone;
    int64_t created_ms;
    enum dr_ready ready;
    int64_t ready_changed_ms; /* last transition of the Ready condition */
    bool unschedulable;
    struct dr_str cordon_owner; /* annotation drover.dev/cordoned-by: action id or interruption id; empty: not ours */
    bool protected_;            /* annotation drover.dev/protected: "true" */
    bool server;                /* control-plane role: never a worker */
    struct dr_labels labels;
    const struct dr_taint *taints;
    size_t taint_n;
    int64_t cpu_milli; /* allocatable */
    int64_t mem_bytes;
    int64_t pod_limit;
};

enum dr_owner { DR_OWNER_NONE, DR_OWNER_DAEMONSET, DR_OWNER_MIRROR, DR_OWNER_CONTROLLER };
enum dr_phase { DR_PHASE_PENDING, DR_PHASE_RUNNING, DR_PHASE_SUCCEEDED, DR_PHASE_FAILED, DR_PHASE_UNKNOWN };

struct dr_host_port {
    int64_t port;
    char protocol; /* 'T', 'U' or 'S' */
};

/* What the scheduler's hard rules look at. Equal pods should share one spec (pointer-equal); fit compares contents where pointers differ. */
struct dr_pod_spec {
    int64_t cpu_milli; /* requests: containers, the largest init container, sidecars, overhead */
    int64_t mem_bytes;
    struct dr_labels selector;
    const struct dr_term *affinity; /* required node affinity; none: term_n == 0 */
    size_t term_n;
    const struct dr_toleration *tolerations;
    size_t toleration_n;
    const struct dr_host_port *host_ports;
    size_t host_port_n;
    struct dr_strs volume_zones; /* zones that all its bound volumes allow; none given: anywhere */
    bool volume_unbound;         /* waits for a volume, or its volumes have no zone in common: no worker helps */
    bool unmodelled;             /* has a hard rule that fit does not know (spread, anti-affinity, extended resource) */
};

struct dr_pod {
    struct dr_str ns;
    struct dr_str name;
    struct dr_str uid;
    struct dr_str owner_uid; /* controller; empty: none */
    enum dr_owner owner;
    enum dr_phase phase;
    struct dr_str node; /* name; empty: not bound */
    bool ready;
    bool critical;      /* priority class system-node-critical or system-cluster-critical */
    bool local_data;    /* emptyDir on disk, hostPath or local volume */
    bool unschedulable; /* PodScheduled=False, reason Unschedulable */
    int64_t unschedulable_since_ms;
    int64_t created_ms;
    bool deleting;
    int64_t delete_by_ms; /* deletionTimestamp: when its grace ends; only with `deleting` */
    int64_t grace_ms;     /* terminationGracePeriodSeconds */
    struct dr_labels labels;
    const struct dr_pod_spec *spec;
};

/* A PodDisruptionBudget. Exactly one of min_available and max_unavailable is set, as a number or in percent. */
struct dr_budget {
    struct dr_str ns;
    struct dr_str name;
    struct dr_term selector; /* over pod labels; an empty one selects all pods of the namespace */
    bool has_min_available;
    bool percent;
    int64_t value;
    bool has_status; /* disruptions_allowed is what the API server worked out */
    int64_t disruptions_allowed;
    int64_t expected_pods;
};

struct dr_sample {
    int64_t at_ms;
    int64_t micro; /* value in millionths */
};

/* One signal's readings in its window, oldest first. Unknown: samples are none and `why` says what happened. */
struct dr_reading {
    bool known;
    struct dr_str why;
    const struct dr_sample *samples;
    size_t sample_n;
};

enum dr_event_kind { DR_EVENT_WARNING, DR_EVENT_REBALANCE, DR_EVENT_STATE_CHANGE };
const char *dr_event_kind_name(enum dr_event_kind kind); /* "warning", "rebalance", "state-change" */

/* A row of the inbox (rule 21). */
struct dr_event {
    struct dr_str instance_id;
    enum dr_event_kind kind;
    int64_t at_ms; /* the event's own time */
    bool handled;
};

/* Where and as what a worker can be launched. */
struct dr_subnet {
    struct dr_str id;
    struct dr_str zone;
};
struct dr_worker_type {
    struct dr_str name;
    int64_t cpu_milli; /* allocatable of a fresh worker, DaemonSets not yet taken off */
    int64_t mem_bytes;
    int64_t pod_limit;
    struct dr_labels labels; /* besides zone, region, type, host name and kubernetes.io/os=linux; kubernetes.io/arch belongs here */
    const struct dr_taint *taints;
    size_t taint_n;
    int64_t on_demand_micro_usd; /* per hour; 0: unknown */
};
struct dr_pool {
    const struct dr_worker_type *types;
    size_t type_n;
    const struct dr_subnet *subnets;
    size_t subnet_n;
    struct dr_str template_version;
};

struct dr_part {
    bool known;
    struct dr_str why; /* of an unknown part */
};

struct dr_snapshot {
    int64_t now_ms;
    uint64_t seq; /* grows with every observation of a tick; writes and effects are ordered against it */
    bool touched; /* effects of this tick have been worked into it since it was observed: not fresh (rule 14) */
    struct dr_part instances_part;
    const struct dr_instance *instances;
    size_t instance_n;
    struct dr_part nodes_part;
    const struct dr_node *nodes;
    size_t node_n;
    struct dr_part pods_part;
    const struct dr_pod *pods;
    size_t pod_n;
    struct dr_part budgets_part;
    const struct dr_budget *budgets;
    size_t budget_n;
    struct dr_part events_part;
    const struct dr_event *events;
    size_t event_n;
    const struct dr_reading *readings; /* one per configured signal, in the configuration's order */
    size_t reading_n;
    struct dr_pool pool;
};

#endif
