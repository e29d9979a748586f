#ifndef DR_ADAPTER_KUBERNETES_EVENT_H
#define DR_ADAPTER_KUBERNETES_EVENT_H

/* One line of a watch. Nothing here does I/O. */

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct dr_kube_event {
    struct dr_str type; /* ADDED, MODIFIED, DELETED, BOOKMARK, ERROR */
    struct dr_str version;
    struct dr_str name;
    int64_t code;       /* of the Status in an ERROR */
    bool unschedulable; /* condition of a pod, or spec of a node */
    bool ready;
};

/* Texts are views into the line or live in the arena. */
int dr_kube_event_read(struct dr_str line, struct dr_arena *arena, bool of_nodes, struct dr_kube_event *ret, struct dr_err *err);

#endif
