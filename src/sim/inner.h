#ifndef DR_SIM_INNER_H
#define DR_SIM_INNER_H

/*
 * What the files of the simulator share. Things live in arrays of slots and refer to each other by slot number; a slot that is used again gets a new serial, and whatever was scheduled for the old one finds that out and does nothing.
 *
 * The promises are judged by what a process could know: `stamp` orders observations and losses even within one millisecond, so that a machine that died after it was last looked at is not held against the process.
 */

#include "base/rand.h"
#include "base/str.h"
#include "sim/world.h"

#define SIM_NONE (-1)
#define SIM_LENT 4
#define SIM_HISTORY 16
#define SIM_MAX_FAULTS 64
#define SIM_MAX_BUDGETS 256
#define SIM_MAX_WORKLOADS 4096
#define SIM_MAX_SERIES 48
#define SIM_MAX_OUTAGES 256
#define SIM_MAX_TOKENS 4096
#define SIM_MAX_INTENTS 8192
#define SIM_MAX_EVENTS ((size_t)1 << 20)
#define SIM_MAX_SUBNETS 64
#define SIM_SAMPLES 512
#define SIM_LINE 224

enum sim_event_kind {
    SIM_EV_CALL,    /* the runner's function */
    SIM_EV_BOOT,    /* machine: pending -> running */
    SIM_EV_VISIBLE, /* machine: Describe shows it */
    SIM_EV_JOIN,    /* machine: Node object */
    SIM_EV_READY,   /* node: Ready */
    SIM_EV_SILENT,  /* machine: kubelet silent for long enough */
    SIM_EV_ENDED,   /* machine: shutting-down -> terminated */
    SIM_EV_VANISH,  /* machine: no longer described */
    SIM_EV_RECLAIM, /* machine: its two minutes are over */
    SIM_EV_NOTICE,  /* machine: event reaches the inbox; `b` is the kind */
    SIM_EV_EXPEL,   /* node: NotReady for long enough that its pods are deleted */
    SIM_EV_START,   /* pod: running */
    SIM_EV_GONE,    /* pod: finished terminating */
};

struct sim_event {
    int64_t at_ms;
    uint64_t seq;
    enum sim_event_kind kind;
    int slot;
    uint64_t serial;
    int64_t b;
    void (*fn)(struct dr_world *world, void *arg);
    void *arg;
};

struct sim_machine {
    uint64_t serial;
    struct dr_str id;
    struct dr_str ip;
    struct dr_str node_name;
    struct dr_str action_id;
    struct dr_str replaced_by;
    int64_t address; /* within the subnet */
    int64_t index;
    size_t type;
    size_t subnet;
    size_t zone;
    int64_t launched_ms;
    int64_t join_ms; /* running -> Node object, drawn at launch */
    int64_t kubelet_since_ms;
    int64_t warned_ms;
    int64_t hinted_ms;
    int64_t replaced_ms;
    int64_t billed_ms; /* paid up to here */
    uint64_t visible_stamp;
    uint64_t lost_stamp;   /* left pending/running */
    uint64_t joined_stamp; /* its Node came into being */
    uint64_t notice_stamp; /* a warning reached the inbox; 0: none yet */
    enum dr_market market;
    enum dr_instance_state state;
    int node;
    bool used;
    bool visible;
    bool never_join;
    bool protected_;
    bool kubelet_up;
    bool warned;
    bool refused_name;
    bool replaced_warned; /* it was warned then, not only hinted at */
};

struct sim_node {
    bool used;
    uint64_t serial;
    struct dr_str name;
    struct dr_str uid;
    struct dr_str provider_id;
    struct dr_str instance_label;
    struct dr_str ip;
    struct dr_str zone_name;
    int machine; /* SIM_NONE: a server, or its machine is no longer described */
    struct dr_str machine_id;
    int64_t created_ms;
    enum dr_ready ready;
    int64_t ready_changed_ms;
    bool unschedulable;
    bool by_person; /* cordoned by a person */
    struct dr_str cordon_owner;
    bool protected_;
    bool server;
    bool identity_broken;
    struct dr_labels labels;
    const struct dr_taint *taints;
    size_t taint_n;
    int64_t cpu_milli, mem_bytes, pod_limit;
    int64_t used_cpu, used_mem, pod_n;
    int pod_head;
    uint64_t version;
};

struct sim_workload {
    struct dr_world_workload w; /* deep copy */
    struct dr_pod_spec *spec;   /* what its pods point to */
    struct dr_str owner_uid;
    int64_t next_name;
    int64_t live; /* pods that are not being deleted */
};

struct sim_pod {
    bool used;
    uint64_t serial;
    int workload;
    int node;
    int next, prev; /* on the node */
    int only_node;  /* DaemonSet and mirror pods */
    enum dr_phase phase;
    bool ready;
    bool unschedulable;
    int64_t unschedulable_since_ms;
    int64_t created_ms;
    bool deleting;
    int64_t delete_by_ms; /* when its grace ends */
    int64_t stop_ms;
    bool dead; /* its machine ended under it */
    struct dr_str name;
    struct dr_str uid;
};

/* A built part of a snapshot. The world holds the newest; processes hold what they were lent. */
enum sim_part { SIM_INSTANCES, SIM_NODES, SIM_PODS, SIM_BUDGETS, SIM_TRUE_INSTANCES };
#define SIM_PART_N 5
struct sim_gen {
    struct sim_gen *next_free;
    int refs;
    int64_t built_ms;
    int64_t seen_ms; /* last time it was current in an observation */
    uint64_t seen_stamp;
    struct dr_arena arena;
    const void *v;
    size_t n;
};
struct sim_parts {
    struct sim_gen *current;
    bool dirty;
    struct sim_gen *history[SIM_HISTORY];
    size_t history_n;
};

struct sim_process {
    struct dr_world *world;
    int number;
    int64_t clock_offset_ms;
    bool stopping;
    struct sim_gen *lent[SIM_PART_N][SIM_LENT];
    size_t lent_at[SIM_PART_N];
    /* what it could know */
    uint64_t instances_stamp;
    uint64_t nodes_stamp;
    int64_t nodes_ms;
    uint64_t inbox_stamp;
};

struct sim_price {
    int64_t micro_usd;
    int64_t capacity; /* -1: no limit */
};

struct sim_token {
    struct dr_str token;
    size_t zone;
    uint64_t parameters;
    struct dr_str id;
};

struct sim_point {
    int64_t at_ms;
    int64_t value;
};
struct sim_curve {
    struct sim_point *v;
    size_t n, cap;
    size_t cursor; /* where the last look-up ended: time mostly moves on */
};
struct sim_series {
    struct dr_str name;
    bool linear;
    struct sim_curve curve;
};
struct sim_outage {
    struct dr_str signal;
    enum dr_outage kind;
    int64_t from_ms, to_ms;
    struct dr_str why;
};
struct sim_derived { /* cpu and memory worked out from the world, -1: none */
    int64_t cpu, mem;
};

struct sim_fault {
    struct dr_fault f;
    int64_t strikes;
};

struct sim_budget {
    struct dr_budget b;
};

struct sim_inbox_row {
    struct dr_str pk;
    struct dr_event event;
    int64_t keep_until_ms; /* of a handled row */
};
struct sim_journal_row {
    struct dr_str pk;
    struct dr_journal_row row;
    int64_t expire_ms;
};
struct sim_item {
    struct dr_arena arena[2];
    struct dr_state state[2];
    int now; /* which one counts */
};
#define SIM_MAX_ITEMS 16

struct dr_world {
    struct dr_world_options o;
    struct dr_arena arena;   /* names and texts: they live as long as the world */
    struct dr_arena scratch; /* inside one operation */
    struct dr_arena peeked;  /* what the last look without ports was given */
    int64_t now_ms;
    uint64_t stamp;
    uint64_t serial;
    uint64_t machine_serial;
    struct dr_rand rand_boot;
    struct dr_rand rand_fault;

    struct sim_event *events; /* heap by (at_ms, seq) */
    size_t event_n, event_cap;
    uint64_t event_seq;

    struct dr_worker_type types[DR_WORLD_MAX_TYPES];
    struct dr_subnet subnets[SIM_MAX_SUBNETS];
    struct dr_str zones[DR_WORLD_MAX_ZONES];
    size_t zone_n;
    size_t subnet_zone[SIM_MAX_SUBNETS];
    int64_t subnet_next[SIM_MAX_SUBNETS]; /* next fresh address */
    bool zone_broken[DR_WORLD_MAX_ZONES];
    struct dr_pool pool;
    struct sim_price price[DR_WORLD_MAX_TYPES][DR_WORLD_MAX_ZONES][2];
    int64_t quota;
    int64_t never_join_next;
    struct sim_token *tokens;
    size_t token_n;
    uint64_t token_seq;
    uint64_t *intents;
    size_t intent_n;
    uint64_t intent_seq;

    struct sim_machine *machines;
    size_t machine_n, machine_cap;
    struct sim_node *nodes;
    size_t node_n, node_cap;
    struct sim_pod *pods;
    size_t pod_n, pod_cap;
    int *pod_free;
    size_t pod_free_n, pod_free_cap;
    size_t pods_alive, unbound_n;
    struct sim_workload *workloads;
    size_t workload_n, workload_cap;
    struct sim_budget *budgets;
    size_t budget_n;
    uint64_t node_version;

    struct sim_parts parts[SIM_PART_N];
    struct sim_gen *gen_free;

    struct sim_curve demand_cpu, demand_mem;
    struct sim_series series[SIM_MAX_SERIES];
    size_t series_n;
    struct sim_outage outages[SIM_MAX_OUTAGES];
    size_t outage_n;
    struct sim_derived samples[SIM_SAMPLES]; /* ring by sample number */
    int64_t sampled_to;                      /* number of the last one made */
    int64_t totals_ms;
    int64_t cap_cpu, cap_mem, use_cpu, use_mem;

    struct sim_item items[SIM_MAX_ITEMS];
    size_t item_n;
    struct sim_inbox_row *inbox;
    size_t inbox_n, inbox_cap;
    struct sim_journal_row *journal; /* sorted by cluster and key */
    size_t journal_n, journal_cap;
    int64_t sweep_due_ms; /* when the next inbox or journal row expires */

    struct sim_fault faults[SIM_MAX_FAULTS];
    size_t fault_n;
    uint64_t calls;
    uint64_t name_calls[DR_CALL_NAME_N];
    uint64_t strikes;
    int64_t latency_ms[DR_CALL_NAME_N];

    struct sim_process processes[DR_WORLD_MAX_PROCESSES + 1]; /* the last one is the world's own look */

    char (*ring)[SIM_LINE];
    size_t ring_at, ring_n;
    uint64_t trace_hash;
    char violation[SIM_LINE * 2];

    struct dr_world_stats stats;
    int64_t cost_od, cost_spot; /* micro-USD times ms per hour */
    int64_t waiting_n;
    int64_t waiting_ms; /* integral is up to date to here */

    bool schedule_due; /* something changed for the scheduler */
    bool keep_history; /* stale reads are planned */
    bool totals_due;   /* capacity or use changed at totals_ms */
    bool gate_busy;    /* some fault, latency or hook is set: the gate must look */
    bool broken;       /* a promise; the world stands still */
    bool started;      /* time has moved or a port was called */
};

/* trace.c */
__attribute__((format(printf, 2, 3))) void sim_trace(struct dr_world *w, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void sim_break(struct dr_world *w, const char *fmt, ...);

/* events.c */
void sim_post(struct dr_world *w, int64_t at_ms, enum sim_event_kind kind, int slot, uint64_t serial, int64_t b);
/* Lets the scheduler run if anything changed for it. */
void sim_settle(struct dr_world *w);
/* Room for one more in a growing array; false at the ceiling. */
bool sim_grow(void **v, size_t *cap, size_t n, size_t size, size_t max);
struct dr_str sim_uid(struct dr_world *w, char kind, uint64_t serial);

/* machine.c */
struct sim_machine *sim_machine_find(struct dr_world *w, struct dr_str id); /* in any state that is described */
bool sim_machine_alive(const struct sim_machine *m);                        /* pending or running */
/* NULL past the ceiling. */
struct sim_machine *sim_machine_launch(struct dr_world *w, size_t type, size_t subnet, enum dr_market market, struct dr_str action_id,
                                       int64_t index);
void sim_machine_boot(struct dr_world *w, struct sim_machine *m);
/* Leaves running: shutting-down, or terminated at once. */
void sim_machine_end(struct dr_world *w, struct sim_machine *m, bool at_once, const char *why);
void sim_machine_event(struct dr_world *w, const struct sim_event *e);
void sim_machine_kubelet(struct dr_world *w, struct sim_machine *m, bool up);
void sim_bill(struct dr_world *w, struct sim_machine *m);
size_t sim_type_find(const struct dr_world *w, struct dr_str name); /* type_n: none */
size_t sim_subnet_find(const struct dr_world *w, struct dr_str id); /* subnet_n: none */
size_t sim_zone_find(const struct dr_world *w, struct dr_str name); /* zone_n: none */
void sim_peaks(struct dr_world *w);

/* node.c */
struct sim_node *sim_node_find(struct dr_world *w, struct dr_str name);
struct sim_node *sim_node_join(struct dr_world *w, struct sim_machine *m);
void sim_node_server(struct dr_world *w, int64_t number);
void sim_node_set_ready(struct dr_world *w, struct sim_node *n, enum dr_ready ready);
void sim_node_remove(struct dr_world *w, struct sim_node *n, const char *why);
void sim_node_changed(struct dr_world *w, struct sim_node *n);
void sim_node_event(struct dr_world *w, const struct sim_event *e);

/* pod.c */
void sim_pod_bind(struct dr_world *w, int pod, int node);
/* Begins to terminate (or goes at once if it is not bound). `grace_ms` < 0: its own. */
void sim_pod_delete(struct dr_world *w, int pod, int64_t grace_ms, const char *why);
void sim_pod_remove(struct dr_world *w, int pod);
void sim_pod_event(struct dr_world *w, const struct sim_event *e);
void sim_pod_set_waiting(struct dr_world *w, struct sim_pod *p, bool on);
void sim_pods_of_new_node(struct dr_world *w, int node);
void sim_pods_of_lost_node(struct dr_world *w, int node); /* all of them go at once, as the garbage collection of pods does */
void sim_pods_machine_died(struct dr_world *w, int node);
void sim_pods_node_ready(struct dr_world *w, int node, bool ready);
void sim_pods_kubelet_back(struct dr_world *w, int node);
void sim_pods_expel(struct dr_world *w, int node);
/* SIM_NONE past the ceiling. */
int sim_pod_create(struct dr_world *w, int workload, int only_node);
bool sim_pod_evictable(const struct dr_world *w, const struct sim_pod *p); /* neither DaemonSet nor mirror */

/* sched.c */
void sim_schedule(struct dr_world *w);
/* Hard rules apart from room, for DaemonSets too (`daemon`: cordon and NotReady do not matter). */
bool sim_rules_allow(const struct dr_pod_spec *spec, const struct sim_node *n, bool daemon);
/* Would an empty new worker of some type and zone run it? */
bool sim_new_worker_helps(struct dr_world *w, const struct dr_pod_spec *spec);

/* budget.c */
bool sim_budget_selects(const struct dr_budget *b, struct dr_str ns, struct dr_labels labels);
/* Healthy and wanted pods now. */
struct sim_budget_status {
    int64_t healthy, desired, expected;
};
struct sim_budget_status sim_budget_status(const struct dr_world *w, const struct dr_budget *b);

/* copy.c: deep copies into the world's arena */
struct dr_str sim_str(struct dr_world *w, struct dr_str s);
struct dr_labels sim_labels(struct dr_world *w, struct dr_labels from);
struct dr_taint *sim_taints(struct dr_world *w, const struct dr_taint *v, size_t n, size_t room);
struct dr_term sim_term(struct dr_world *w, struct dr_term from);
void sim_spec(struct dr_world *w, struct dr_pod_spec *to, const struct dr_pod_spec *from);

/* lend.c */
void sim_dirty(struct dr_world *w, enum sim_part part);
const struct sim_gen *sim_lend(struct dr_world *w, struct sim_process *p, enum sim_part part, int64_t stale_ms);
void sim_lend_free(struct dr_world *w);

/* gate.c */
struct sim_gate {
    struct dr_call call;
    bool act;          /* the call does its work */
    bool lost;         /* and its reply is lost, or it failed before: `code` */
    enum dr_code code; /* with !act or lost */
    bool crash_after;
    bool interleave_after;
    int64_t arg;
    int64_t stale_ms; /* -1: fresh */
    unsigned parts;
    int64_t deadline_ms;
};
void sim_gate_enter(struct sim_process *p, enum dr_call_name name, int64_t deadline_ms, struct sim_gate *g);
/* After the work. Returns -1 with the error if the reply is lost. */
int sim_gate_leave(struct sim_process *p, struct sim_gate *g, struct dr_err *err);
/* For a call that must not act: time-out or error, never 0. */
int sim_gate_refuse(struct sim_process *p, struct sim_gate *g, struct dr_err *err);
void sim_gate_review(struct dr_world *w);

/* metrics.c */
/* To be called before capacity or use changes: samples of the time before are made with what was true then. */
void sim_metrics_touch(struct dr_world *w);
void sim_metrics_free(struct dr_world *w);

/* ports */
extern const struct dr_metrics_ops sim_metrics_ops;
extern const struct dr_cluster_ops sim_cluster_ops;
extern const struct dr_compute_ops sim_compute_ops;
extern const struct dr_store_ops sim_store_ops;

/* store.c */
void sim_inbox_deliver(struct dr_world *w, struct dr_str id, enum dr_event_kind kind, int64_t at_ms);
void sim_store_free(struct dr_world *w);

/* promise.c */
void sim_promise_write(struct sim_process *p, const struct dr_state *old, const struct dr_state *new_);
void sim_promise_launch(struct sim_process *p, const struct dr_launch *launch);
void sim_promise_terminate(struct sim_process *p, const struct sim_machine *m);
void sim_promise_delete_node(struct sim_process *p, const struct sim_node *n);
void sim_promise_uncordon(struct sim_process *p, const struct sim_node *n);

#endif
