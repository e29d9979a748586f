#include "sim/fault.h"

#include <string.h>

static const char *const names[DR_CALL_NAME_N] = {
    "metrics.read",       "cluster.observe",   "cluster.cordon",     "cluster.evict", "cluster.delete_node", "compute.observe",
    "compute.launch",     "compute.terminate", "store.load",         "store.cas",     "store.inbox",         "store.inbox_put",
    "store.inbox_handle", "store.journal_put", "store.journal_read", "clock.sleep",
};

static const char *const kinds[DR_FAULT_KIND_N] = {
    "error",      "timeout",           "lose-reply",       "stale", "crash-before", "crash-after",
    "clock-step", "interleave-before", "interleave-after", "delay",
};

const char *dr_call_name_text(enum dr_call_name name) {
    DR_ASSERT((unsigned)name < DR_CALL_NAME_N);
    return names[name];
}

bool dr_call_name_find(const char *text, enum dr_call_name *ret) {
    for (unsigned i = 0; i < DR_CALL_NAME_N; i++) {
        if (strcmp(names[i], text) == 0) {
            *ret = (enum dr_call_name)i;
            return true;
        }
    }
    return false;
}

bool dr_call_is_effect(enum dr_call_name name) {
    switch (name) {
    case DR_CALL_CLUSTER_CORDON:
    case DR_CALL_CLUSTER_EVICT:
    case DR_CALL_CLUSTER_DELETE_NODE:
    case DR_CALL_COMPUTE_LAUNCH:
    case DR_CALL_COMPUTE_TERMINATE:
    case DR_CALL_STORE_CAS:
    case DR_CALL_STORE_INBOX_PUT:
    case DR_CALL_STORE_INBOX_HANDLE:
    case DR_CALL_STORE_JOURNAL_PUT:
        return true;
    case DR_CALL_METRICS_READ:
    case DR_CALL_CLUSTER_OBSERVE:
    case DR_CALL_COMPUTE_OBSERVE:
    case DR_CALL_STORE_LOAD:
    case DR_CALL_STORE_INBOX:
    case DR_CALL_STORE_JOURNAL_READ:
    case DR_CALL_CLOCK_SLEEP:
        return false;
    }
    return false;
}

const char *dr_fault_kind_text(enum dr_fault_kind kind) {
    DR_ASSERT((unsigned)kind < DR_FAULT_KIND_N);
    return kinds[kind];
}

struct dr_fault dr_fault_of(enum dr_fault_kind kind) {
    return (struct dr_fault){.kind = kind, .name = DR_CALL_ANY, .process = -1};
}
