#ifndef DR_SIM_FAULT_H
#define DR_SIM_FAULT_H

/*
 * Faults strike at port calls. Every call of every port has a number (from 1, counted since the plan was set) and a name, and goes through one gate; a fault says which calls it meets and what happens there.
 *
 * Names: metrics.read, cluster.observe, cluster.cordon, cluster.evict, cluster.delete_node, compute.observe, compute.launch, compute.terminate, store.load, store.cas, store.inbox, store.inbox_put,
 * store.inbox_handle, store.journal_put, store.journal_read, clock.sleep (crash, clock step and interleave only).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum dr_call_name {
    DR_CALL_METRICS_READ,
    DR_CALL_CLUSTER_OBSERVE,
    DR_CALL_CLUSTER_CORDON,
    DR_CALL_CLUSTER_EVICT,
    DR_CALL_CLUSTER_DELETE_NODE,
    DR_CALL_COMPUTE_OBSERVE,
    DR_CALL_COMPUTE_LAUNCH,
    DR_CALL_COMPUTE_TERMINATE,
    DR_CALL_STORE_LOAD,
    DR_CALL_STORE_CAS,
    DR_CALL_STORE_INBOX,
    DR_CALL_STORE_INBOX_PUT,
    DR_CALL_STORE_INBOX_HANDLE,
    DR_CALL_STORE_JOURNAL_PUT,
    DR_CALL_STORE_JOURNAL_READ,
    DR_CALL_CLOCK_SLEEP,
};
#define DR_CALL_NAME_N 16
#define DR_CALL_ANY (-1)

const char *dr_call_name_text(enum dr_call_name name); /* "compute.launch" */
bool dr_call_name_find(const char *text, enum dr_call_name *ret);

/* True for a call that changes something (a lost reply differs from an error before). */
bool dr_call_is_effect(enum dr_call_name name);

struct dr_call {
    uint64_t number; /* from 1 since the plan was set */
    enum dr_call_name name;
    uint64_t occurrence; /* of this name, from 1 since the plan was set */
    int process;
};

enum dr_fault_kind {
    DR_FAULT_ERROR,             /* nothing happens; the call fails with `code` */
    DR_FAULT_TIMEOUT,           /* nothing happens; the time until the deadline (10 s at most) passes; DR_E_TIMEOUT */
    DR_FAULT_LOSE_REPLY,        /* it happens; the time passes; DR_E_TIMEOUT (for a read: as DR_FAULT_TIMEOUT) */
    DR_FAULT_STALE,             /* observe shows what an observation at least `ms` ago saw; other calls are not touched */
    DR_FAULT_CRASH_BEFORE,      /* the crash hook is called and must not return */
    DR_FAULT_CRASH_AFTER,       /* it happens, then the crash hook */
    DR_FAULT_CLOCK_STEP,        /* the clock of the calling process jumps by `ms` before the call */
    DR_FAULT_INTERLEAVE_BEFORE, /* the interleave hook is called before */
    DR_FAULT_INTERLEAVE_AFTER,  /* and after: it may run another process's tick or let time pass */
    DR_FAULT_DELAY,             /* `ms` of virtual time pass before the call: a stalled process */
};
#define DR_FAULT_KIND_N 10
const char *dr_fault_kind_text(enum dr_fault_kind kind);

/* For cluster.observe: which parts an ERROR makes unknown; 0 = all of them. */
#define DR_FAULT_NODES 1u
#define DR_FAULT_PODS 2u
#define DR_FAULT_BUDGETS 4u

/* Which calls: all conditions that are set must hold. */
struct dr_fault {
    enum dr_fault_kind kind;
    int name;            /* enum dr_call_name or DR_CALL_ANY */
    uint64_t call;       /* this number; 0: any */
    uint64_t occurrence; /* the n-th call of that name (or of any, with DR_CALL_ANY: same as `call`); 0: any */
    int64_t ppm;         /* probability by the world's seed, parts per million; 0: always */
    int64_t from_ms;     /* 0: from the beginning */
    int64_t to_ms;       /* exclusive; 0: no end */
    int64_t limit;       /* strikes at most so often; 0: no limit */
    int64_t ms;          /* of STALE, CLOCK_STEP and DELAY */
    int64_t arg;         /* handed to the interleave hook */
    int process;         /* -1: any */
    enum dr_code code;   /* of DR_FAULT_ERROR; 0: DR_E_UNAVAILABLE */
    unsigned parts;      /* of ERROR on cluster.observe */
};

/* A fault that meets no condition yet: kind, any name, any process. */
struct dr_fault dr_fault_of(enum dr_fault_kind kind);

#endif
