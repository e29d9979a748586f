#ifndef DR_SIM_WORLD_H
#define DR_SIM_WORLD_H

/*
 * A whole world in memory behind the ports, under virtual time: zones, machines, Nodes, a scheduler of its own, workloads with budgets, load, prices, interruptions, a store; with faults at every port call and the
 * promises of docs/protocol.md checked from outside on every step.
 *
 * One seed decides everything: the same options, calls and seed give the same trace, byte for byte, in every build. Only integers, no pointers, no hash order.
 *
 * Who runs: the runner (a test, `drover simulate`, the demo) makes a world, fills it, takes ports for one or more processes, and calls the engine's tick with them. Time moves only by dr_world_advance, by a process's sleep, by latency and by
 * faults that take time. What should happen at a given moment is scheduled with dr_world_at, so that it also happens in the middle of a tick that sleeps.
 *
 * Memory: what observe hands out stays valid and unchanged until the same process has observed three more changes; its strings live as long as the world, resource versions as long as the snapshot. Everything is freed by dr_world_free.
 */

#include "core/model.h"
#include "core/state.h"
#include "port/world.h"
#include "sim/fault.h"

struct dr_world;

#define DR_WORLD_MAX_PROCESSES 8
#define DR_WORLD_MAX_ZONES 16
#define DR_WORLD_MAX_TYPES 16
#define DR_WORLD_TRACE_RING 200

/* How a Node says which machine it is (DESIGN 8). */
enum dr_world_identity { DR_IDENTITY_PROVIDER_ID, DR_IDENTITY_LABEL, DR_IDENTITY_IP, DR_IDENTITY_BOTH };

/* What the runner wants to be told; every function may be NULL. Hooks may call the world. */
struct dr_world_hooks {
    void *self;
    void (*trace)(void *self, int64_t now_ms, const char *line); /* one event, without newline */
    void (*call)(void *self, const struct dr_call *call);        /* every port call, before it */
    void (*crash)(void *self, int process);                      /* must leave by longjmp; without it a crash fault ends the program */
    void (*interleave)(void *self, const struct dr_call *call, bool after, int64_t arg); /* see dr_fault_kind */
    void (*wake)(void *self, const struct dr_event *event); /* a row reached the inbox: an event-driven mode would tick now */
    void (*notify)(void *self, int64_t now_ms, enum dr_notice_level level, const char *event, struct dr_str text);
    void (*plan)(void *self, const struct dr_plan *plan);
    void (*violation)(void *self, const char *text);
};

struct dr_world_options {
    uint64_t seed;
    int64_t start_ms;
    struct dr_str cluster; /* key of the item that the promises are checked against */

    /* The pool. Strings are copied. */
    const struct dr_worker_type *types;
    size_t type_n;
    const struct dr_subnet *subnets;
    size_t subnet_n;
    struct dr_str region;
    struct dr_str template_version;
    int64_t servers;               /* control-plane Nodes, tainted NoSchedule, not in the instance list */
    int64_t spot_percent_of_price; /* spot price as a share of on-demand, 35 by default */

    /* What the promises are compared with: same values as the engine's configuration. */
    int64_t min_workers;
    int64_t max_workers;
    int64_t join_timeout_ms;
    bool zone_is_rule; /* minimum >= zones */
    bool check;        /* promises are checked (default true) */
    bool codec_check;  /* every written item goes through its encoded form and must come back equal */

    /* Machines and Nodes; ranges are drawn uniformly. */
    int64_t boot_min_ms, boot_max_ms; /* pending -> running */
    int64_t join_min_ms, join_max_ms; /* running -> Node object */
    int64_t ready_ms;                 /* Node object -> Ready */
    int64_t never_join_ppm;           /* share of launches that never join */
    int64_t not_ready_after_ms;       /* kubelet silent -> NotReady (40 s) */
    int64_t pod_eviction_ms;          /* NotReady -> pods deleted by the node controller (300 s) */
    int64_t shutdown_ms;              /* shutting-down -> terminated (30 s) */
    int64_t terminated_visible_ms;    /* terminated -> no longer described (1 h) */
    int64_t describe_lag_ms;          /* a fresh instance is not described for so long */
    bool nodes_vanish;                /* a cloud controller removes the Node of an ended machine; false, as with K3s: it stays */
    bool reuse_addresses;             /* the lowest free address of a subnet is given again, and with it the Node's name */
    enum dr_world_identity identity;

    /* Pods. A workload may say otherwise. */
    int64_t pod_start_ms;
    int64_t pod_stop_ms;

    /* Metrics. */
    int64_t sample_ms;       /* 15 s */
    int64_t pod_use_percent; /* without curves or series: cpu and memory used by a running pod, in percent of its requests */

    /* Cost. */
    int64_t fixed_fleet; /* workers of the fleet that cost is compared with; 0: max_workers */

    /* Ceilings. */
    size_t max_machines; /* in all states at once */
    size_t max_pods;
    size_t journal_rows; /* the oldest go first */

    struct dr_world_hooks hooks;
};

/* Two zones ("a", "b") with a subnet each, one type "t3.medium" (2 cores, 4 GiB, 110 pods less what the system takes), minimum 2, maximum 10, everything else as in the comments above. */
void dr_world_options_init(struct dr_world_options *options, uint64_t seed);

/* NULL with an error for options that contradict themselves. */
struct dr_world *dr_world_new(const struct dr_world_options *options, struct dr_err *err);
void dr_world_free(struct dr_world *world); /* NULL is fine */

/* Ports of one process, 0 .. DR_WORLD_MAX_PROCESSES - 1. Every process has its own clock offset and its own lent snapshots; all share the world and the store. */
struct dr_ports dr_world_ports(struct dr_world *world, int process);
/* The process is asked to stop (clock.stopping). */
void dr_world_stop(struct dr_world *world, int process, bool on);
/* Offset of the process's clock from true time. */
void dr_world_set_clock_offset(struct dr_world *world, int process, int64_t ms);

/* ---- time ---- */
int64_t dr_world_now(const struct dr_world *world);
/* Lets everything happen until `until_ms` (no-op if that is past). False once a promise was broken: the world stands still then. May be called inside hooks and by ports. */
bool dr_world_advance(struct dr_world *world, int64_t until_ms);
/* Time of the next scheduled event, INT64_MAX if there is none. */
int64_t dr_world_next(const struct dr_world *world);
/* Calls fn(world, arg) at that time (at once if past), in the order in which they were scheduled. `arg` belongs to the caller. */
void dr_world_at(struct dr_world *world, int64_t at_ms, void (*fn)(struct dr_world *world, void *arg), void *arg);

/* ---- machines ---- */
struct dr_world_worker {
    struct dr_str type;   /* empty: first type */
    struct dr_str subnet; /* empty: the least filled */
    struct dr_str zone;   /* used if subnet is empty */
    enum dr_market market;
    int64_t age_ms;          /* launched so long ago */
    struct dr_str action_id; /* our tag; empty: not launched by us */
    int64_t index;
    bool never_join;
    bool booting; /* goes through boot and join; otherwise it is running, joined and Ready at once */
};
/* A machine of the pool that did not come from a launch call. Returns its id. */
struct dr_str dr_world_add_worker(struct dr_world *world, const struct dr_world_worker *worker);

/* Verbs on a machine by id; false if there is no such machine (or Node) alive. */
bool dr_world_interrupt(
    struct dr_world *world, struct dr_str id,
    int64_t notice_delay_ms); /* warning; the inbox gets it after the delay (< 0: never); the machine ends 120 s from now */
bool dr_world_rebalance(struct dr_world *world, struct dr_str id, int64_t notice_delay_ms); /* hint only */
/* Warns a share of the running spot machines of a pool, drawn by the seed (empty strings: any); returns how many. */
size_t dr_world_reclaim(struct dr_world *world, struct dr_str type, struct dr_str zone, int64_t percent, int64_t notice_delay_ms);
bool dr_world_kill(struct dr_world *world, struct dr_str id); /* ends at once, by nobody's wish */
bool dr_world_kubelet(struct dr_world *world, struct dr_str id, bool up);
bool dr_world_protect(struct dr_world *world, struct dr_str id, bool on);      /* termination protection of EC2 */
bool dr_world_node_protect(struct dr_world *world, struct dr_str id, bool on); /* annotation drover.dev/protected */
bool dr_world_node_cordon(struct dr_world *world, struct dr_str id, bool on);  /* by a person */
bool dr_world_node_taint(struct dr_world *world, struct dr_str id, const struct dr_taint *taint);
bool dr_world_node_delete(struct dr_world *world, struct dr_str id);         /* by a person */
bool dr_world_node_break_identity(struct dr_world *world, struct dr_str id); /* the Node no longer says whose it is, or says it wrongly */
/* Puts an event into the inbox as it stands (duplicates, late ones, foreign machines); marks nothing in the world except that a warning makes a machine that exists interrupted. */
void dr_world_event(struct dr_world *world, struct dr_str id, enum dr_event_kind kind, int64_t at_ms);
/* The n-th (from 0) running worker in order of launch that passes the filter; empty if none. `market` -1 and zone empty: any. */
struct dr_str dr_world_pick(struct dr_world *world, int market, struct dr_str zone, size_t n);

/* ---- the cloud ---- */
/* Further launches that succeed, -1: no limit. Empty strings and market -1: all of them. */
void dr_world_set_capacity(struct dr_world *world, struct dr_str type, struct dr_str zone, int market, int64_t n);
void dr_world_set_price(struct dr_world *world, struct dr_str type, struct dr_str zone, int market, int64_t micro_usd_per_hour);
void dr_world_set_quota(struct dr_world *world, int64_t instances);             /* alive at once; -1: no limit */
void dr_world_never_join_next(struct dr_world *world, int64_t n);               /* the next n launches never join */
void dr_world_zone_broken(struct dr_world *world, struct dr_str zone, bool on); /* what is launched there never joins */
void dr_world_set_boot(struct dr_world *world, int64_t boot_ms, int64_t join_ms,
                       int64_t ready_ms); /* exact times from now on; < 0: leaves one as it is */
void dr_world_set_describe_lag(struct dr_world *world, int64_t ms);

/* ---- workloads ---- */
enum dr_world_kind { DR_WORKLOAD_DEPLOYMENT, DR_WORKLOAD_DAEMONSET, DR_WORKLOAD_BARE, DR_WORKLOAD_MIRROR };
struct dr_world_workload {
    struct dr_str ns; /* empty: "default" */
    struct dr_str name;
    int64_t replicas; /* deployments and bare pods; the others have one on every fitting Node */
    struct dr_pod_spec spec;
    struct dr_labels labels; /* empty: app=<name> */
    int64_t priority;        /* higher first in the scheduler */
    int64_t grace_ms;        /* -1: 30 s */
    int64_t start_ms;        /* -1: of the options */
    int64_t stop_ms;         /* -1: of the options; never longer than the grace */
    enum dr_world_kind kind;
    bool critical;
    bool local_data;
    bool stuck_stop;   /* its pods never finish terminating while the machine lives */
    bool image_broken; /* bound, never running */
};
/* kind, name, one replica, requests, everything else by default. */
struct dr_world_workload dr_world_workload_of(enum dr_world_kind kind, const char *name, int64_t replicas, int64_t cpu_milli,
                                              int64_t mem_bytes);
/* Copied deeply. Returns a handle (>= 0), or -1 with an error past a ceiling. */
int dr_world_add_workload(struct dr_world *world, const struct dr_world_workload *workload, struct dr_err *err);
int dr_world_find_workload(const struct dr_world *world, struct dr_str name); /* -1: none */
void dr_world_set_replicas(struct dr_world *world, int workload,
                           int64_t replicas); /* 0 ends all its pods; extra pods go newest first, waiting ones before running ones */
void dr_world_set_volume(struct dr_world *world, int workload, bool unbound);
void dr_world_fix(struct dr_world *world, int workload); /* image, stuck termination: healed from now on */
/* At most 256; copied deeply. `has_status` is filled by the world. */
int dr_world_add_budget(struct dr_world *world, const struct dr_budget *budget, struct dr_err *err);
bool dr_world_remove_budget(struct dr_world *world, struct dr_str name);

/* ---- load and metrics ---- */
/* What the fleet is asked to do, linear between points, constant outside: cpu and memory series are demand / capacity of the Ready workers, at most 100 %. */
void dr_world_demand_cpu(struct dr_world *world, int64_t at_ms, int64_t milli);
void dr_world_demand_mem(struct dr_world *world, int64_t at_ms, int64_t bytes);
/* A series as it is to be read ("cpu" 820000 from 20:04), by name of the signal; it wins over demand. A series holds each value until the next point, or is linear between points; before the first point it has no samples. Points may come in any order. */
void dr_world_series(struct dr_world *world, struct dr_str signal, int64_t at_ms, int64_t micro);
void dr_world_series_linear(struct dr_world *world, struct dr_str signal, bool on);
void dr_world_series_clear(struct dr_world *world, struct dr_str signal);
enum dr_outage { DR_OUTAGE_UNKNOWN, DR_OUTAGE_GAP, DR_OUTAGE_HANG };
/* From `from_ms` until `to_ms` the signal (empty: all) cannot be read (UNKNOWN with `why`; HANG: after the deadline), or has no samples of that time (GAP). */
void dr_world_outage(struct dr_world *world, struct dr_str signal, enum dr_outage kind, int64_t from_ms, int64_t to_ms, struct dr_str why);

/* ---- faults ---- */
/* Replaces the plan (copied, at most 64) and starts counting calls anew. */
void dr_world_set_faults(struct dr_world *world, const struct dr_fault *faults, size_t n);
uint64_t dr_world_calls(const struct dr_world *world);   /* since then */
uint64_t dr_world_strikes(const struct dr_world *world); /* how often a fault struck since then */
/* Virtual time that every call of this name takes (DR_CALL_ANY: all). 0 by default. */
void dr_world_set_latency(struct dr_world *world, int name, int64_t ms);
/* Hooks may be changed between ticks. */
struct dr_world_hooks *dr_world_hooks(struct dr_world *world);

/* ---- looking in, without faults, latency or counting ---- */
/* The true state now (Describe lag left out of account). Same lifetime as an observation; events (those of the inbox) until the next look. Readings are none. */
void dr_world_peek(struct dr_world *world, struct dr_snapshot *ret);
/* The stored item of the cluster; NULL: none. Valid until the next write. */
const struct dr_state *dr_world_item(const struct dr_world *world);
/* Puts an item as another system or a person would, past compare-and-set (its revision as given). */
void dr_world_put_item(struct dr_world *world, const struct dr_state *state);
int64_t dr_world_signal(struct dr_world *world, struct dr_str signal, bool *known); /* present value in millionths */

struct dr_world_counts {
    int64_t machines; /* pending or running */
    int64_t ready;    /* workers whose Node is Ready */
    int64_t nodes;    /* worker Node objects, ghosts included */
    int64_t ghosts;   /* Node objects whose machine is gone */
    int64_t cordoned; /* by an action or interruption */
    int64_t pods;     /* not ended */
    int64_t running;
    int64_t waiting; /* unschedulable */
};
struct dr_world_counts dr_world_counts(struct dr_world *world);
int64_t dr_world_zone_ready(struct dr_world *world, struct dr_str zone);

struct dr_world_stats {
    int64_t cost_on_demand_micro_usd;
    int64_t cost_spot_micro_usd;
    int64_t cost_fixed_micro_usd; /* of the fixed fleet for the same time */
    int64_t node_ms;              /* machine time, pending and running */
    int64_t pending_pod_ms;       /* summed waiting time of unschedulable pods */
    int64_t launches;
    int64_t launch_refusals;
    int64_t terminations; /* by the autoscaler */
    int64_t interruptions;
    int64_t evictions; /* accepted */
    int64_t evictions_blocked;
    int64_t lost_pods; /* running pods of a controller that died with their machine */
    int64_t cut_short; /* terminating pods whose machine was ended before they had finished */
    int64_t alerts;    /* notices of level alert */
    int64_t violations;
    int64_t peak_workers, least_ready;
};
struct dr_world_stats dr_world_stats(struct dr_world *world);

/* ---- promises ---- */
/* Text of the first broken promise, NULL if all held. */
const char *dr_world_violation(const struct dr_world *world);
/* Lines that led there (or the last ones), oldest first, each with newline. */
void dr_world_trace_tail(const struct dr_world *world, struct dr_buf *buf);
/* Hash of every trace line so far. */
uint64_t dr_world_trace_hash(const struct dr_world *world);
/* Writes a line into the trace, as the runner's own remark. */
__attribute__((format(printf, 2, 3))) void dr_world_trace(struct dr_world *world, const char *fmt, ...);

#define DR_SETTLED_PODS 1u /* also: no pod waits that a new worker would run while there is room below maximum */
/*
 * After faults have stopped and time was given: no action, no cordon of ours, no ghost, no debt, no mark for a machine that runs, every machine is a worker or ended, what fits runs.
 * True if so; otherwise false and every remaining thing is named in `buf` (may be NULL), one per line. Does not count as a violation.
 */
bool dr_world_check_settled(struct dr_world *world, unsigned flags, struct dr_buf *buf);

#endif
