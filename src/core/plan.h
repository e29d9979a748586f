#ifndef DR_CORE_PLAN_H
#define DR_CORE_PLAN_H

/*
 * The plan of one tick: what was decided and why, with every rule's operands and verdict; and what was then done. Text, JSON, journal, traces and web page are rendered from this one structure.
 */

#include "base/json_write.h"
#include "core/fleet.h"
#include "core/pending.h"
#include "core/rule.h"
#include "core/victim.h"

enum dr_verdict {
    DR_VERDICT_NOOP,
    DR_VERDICT_SCALE_UP,
    DR_VERDICT_SCALE_DOWN,
    DR_VERDICT_ADVANCE, /* an action is under way */
    DR_VERDICT_REFUSED, /* nothing may be done: malformed item, workers unknown, lease held */
    DR_VERDICT_N,       /* how many there are */
};

/* Stable names; `dr_reason_name` gives the text that scenarios and the journal use ("rules", "cooldown", ...). */
enum dr_reason {
    DR_REASON_NONE,
    /* scale up */
    DR_REASON_BELOW_MINIMUM,
    DR_REASON_RULES,       /* one or more up rules: which, is in the rule results */
    DR_REASON_REPLACEMENT, /* interrupted workers */
    /* scale down */
    DR_REASON_IDLE,
    DR_REASON_ABOVE_MAXIMUM,
    DR_REASON_REBALANCE,
    DR_REASON_NOT_READY,
    /* nothing */
    DR_REASON_WITHIN_LIMITS,
    DR_REASON_MAX_REACHED,
    DR_REASON_COOLDOWN,
    DR_REASON_BACKOFF,
    DR_REASON_SPIKE,        /* above threshold, not yet sustained */
    DR_REASON_UNKNOWN,      /* metrics or parts unknown */
    DR_REASON_NOT_IDLE_YET, /* idle for less than asked */
    DR_REASON_AT_MINIMUM,
    DR_REASON_NO_VICTIM, /* wants to shrink, nobody can go */
    DR_REASON_NO_PLACE,  /* wants to grow, everything is out of stock */
    DR_REASON_PENDING,   /* would shrink, but pods wait */
    DR_REASON_NO_HELP,   /* pods wait that no new worker would help, or that fit already */
    DR_REASON_ACTION_ACTIVE,
    DR_REASON_DEBT, /* replacements owed but maximum reached */
    /* refused */
    DR_REASON_LEASE_HELD,
    DR_REASON_MALFORMED,
    DR_REASON_WORKERS_UNKNOWN,
    DR_REASON_N, /* how many there are */
};
const char *dr_reason_name(enum dr_reason reason);
const char *dr_verdict_name(enum dr_verdict verdict);

struct dr_decision {
    enum dr_verdict verdict;
    enum dr_reason reason;
    int64_t delta; /* workers to add (> 0) or remove (< 0) */
    bool urgent;
    int64_t left_ms;           /* of cooldown, back-off or idle time still to go */
    int64_t wanted;            /* before the clamp */
    const char *clamped_by;    /* "batch", "maximum", "minimum" or NULL */
    struct dr_victims victims; /* scale-down: the chosen and why not the others */
    struct dr_str
        detail; /* says more than the operands can (what an action is waiting for, who holds the lease); empty: dr_decision_detail words it from the operands */
};

/* One thing done (or tried) in the tick: a write, an effect, a refusal. `rule` is the number in docs/protocol.md, 0 if none. */
struct dr_deed {
    int64_t at_ms;
    const char *what;      /* "begin scale-up", "launch", "cordon", "evict", "mark", "terminate", ... */
    struct dr_str target;  /* instance, node, pod, action */
    struct dr_str outcome; /* "ok", "capacity", "throttled: ...", ... */
    int rule;
};

/* Outcome of a cordon, before the id of the node's instance. */
#define DR_DEED_CORDONED "ok, instance "

struct dr_plan {
    struct dr_str request_id;
    struct dr_str cluster;
    int64_t at_ms;
    struct dr_decision decision;
    struct dr_rule_result *up;
    size_t up_n;
    struct dr_rule_result *down;
    size_t down_n;
    struct dr_pending pending;
    int64_t min_workers, max_workers;
    int64_t worker_count, live, planned, held;
    bool workers_known;
    enum dr_truth pressure;
    enum dr_truth idle;
    int64_t idle_ms;         /* 0: not idle, or since this very tick */
    struct dr_str action_id; /* active before or begun now */
    struct dr_deed *deeds;
    size_t deed_n;
    size_t deed_cap;
    int64_t left_out;      /* deeds beyond the ceiling */
    struct dr_str unknown; /* which parts were unknown, with reasons; empty: none */
};

/* Adds a deed; past 256 the last one says how many were left out. */
void dr_plan_deed(struct dr_arena *arena, struct dr_plan *plan, int64_t at_ms, int rule, const char *what, struct dr_str target,
                  struct dr_str outcome);

/* The reason in words with its numbers, nothing before or behind: "cpu 82% > 70% for 3m, 3 pods pending for 4m10s", "120s left". Worded only when asked for: most ticks are never read. */
void dr_decision_detail(const struct dr_plan *plan, struct dr_buf *buf);
/* One rule with its operands: "cpu 82% > 70% for 3m", "cpu 82% > 70% (1 of 2 readings)", "memory unknown: connection refused". */
void dr_rule_result_text(const struct dr_rule_result *result, struct dr_buf *buf);

/* One line: "scale_up +2: cpu 82% > 70% for 3m, 3 pods pending for 4m10s"; any other reason than the rules is named: "noop cooldown: 120s left", "scale_up +1 below_minimum: 1 planned, minimum 2". */
void dr_plan_text(const struct dr_plan *plan, struct dr_buf *buf);
/* Several lines for people: decision, each rule with operands and verdict, counts, deeds. */
void dr_plan_explain(const struct dr_plan *plan, struct dr_buf *buf);

/*
 * The stored form, one object. Keys are stable; times are milliseconds since 1970, spans milliseconds, signal values decimal numbers. Keys marked ? are left out where there is nothing to say.
 *   at, cluster, requestId?, actionId?
 *   verdict, reason, delta, detail; urgent?, wanted?, clampedBy?, leftMs?
 *   pressure, idle ("yes", "no", "unknown"), idleMs?
 *   workers {known, count, live, planned, held, minimum, maximum}
 *   up, down: [{rule, kind ("signal", "pending"), truth, spike?, compare, threshold, forMs?, readings?, ratio?, value?, heldMs?, streak?, why?}]
 *   pending {known, why?, waiting, helpable, remainder, successors?, sinceMs?, workersNeeded?, unmodelledOnly?, oldest? {namespace, name}, pods? [{namespace, name, sinceMs?, helpable?}]}
 *   victims? {chosen: [id], candidates: [{id, node?, zone, verdict, pod? {namespace, name}}]}
 *   deeds? [{at, what, target?, outcome?, rule?}]
 *   unknown?
 */
void dr_plan_json(const struct dr_plan *plan, struct dr_jsonw *w);
/* The way back, so that a stored plan can be worded like a fresh one. Unknown keys and names are passed over: a newer program may have written them. Strings are copied to the arena. */
int dr_plan_read(struct dr_arena *arena, struct dr_str json, struct dr_plan *ret, struct dr_err *err);

/* Copies what the plan refers to in an observation (workers, pods, texts) into the arena, so that it outlives the observation. */
void dr_plan_keep(struct dr_arena *arena, struct dr_plan *plan);

#endif
