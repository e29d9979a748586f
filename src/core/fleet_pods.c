/* The part of the fleet that costs a walk over all pods: done only when victims, drains or fit ask for it. */
#include "core/fleet.h"
#include "core/sort.h"

#define NO_WORKER SIZE_MAX

static int compare_node_names(const void *a, const void *b, const void *ctx) {
    (void)ctx;
    return dr_str_cmp(((const struct dr_worker *)a)->node->name, ((const struct dr_worker *)b)->node->name);
}

struct names {
    const void **v; /* workers with a Node, sorted by its name */
    size_t n;
    size_t last; /* pods of one Node often stand together */
};

static const struct dr_worker *find_by_name(struct names *names, struct dr_str name) {
    size_t lo = 0;
    size_t hi = names->n;
    size_t mid = names->last;
    while (lo < hi) {
        const struct dr_worker *worker = names->v[mid];
        int c = dr_str_cmp(name, worker->node->name);
        if (c == 0) {
            names->last = mid;
            return worker;
        }
        if (c < 0) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
        mid = lo + (hi - lo) / 2;
    }
    return NULL;
}

static void sort_names(struct dr_arena *arena, const struct dr_fleet *fleet, struct names *ret) {
    *ret = (struct names){.v = DR_NEW_N(arena, const void *, fleet->worker_n)};
    for (size_t i = 0; i < fleet->worker_n; i++) {
        if (fleet->workers[i].node != NULL) {
            ret->v[ret->n++] = &fleet->workers[i];
        }
    }
    dr_sort(arena, ret->v, ret->n, compare_node_names, NULL);
}

void dr_fleet_index_pods(struct dr_arena *arena, struct dr_fleet *fleet) {
    const struct dr_snapshot *snap = fleet->snap;
    if (fleet->pods_indexed || !snap->pods_part.known) {
        return;
    }
    struct names names;
    sort_names(arena, fleet, &names);
    size_t *worker_of = DR_NEW_N(arena, size_t, snap->pod_n);
    for (size_t i = 0; i < snap->pod_n; i++) {
        const struct dr_worker *worker = snap->pods[i].node.n > 0 ? find_by_name(&names, snap->pods[i].node) : NULL;
        worker_of[i] = worker != NULL ? (size_t)(worker - fleet->workers) : NO_WORKER;
        if (worker != NULL) {
            fleet->workers[worker_of[i]].pod_n++;
        }
    }
    size_t first = 0;
    for (size_t i = 0; i < fleet->worker_n; i++) {
        fleet->workers[i].pod_first = first;
        first += fleet->workers[i].pod_n;
        fleet->workers[i].pod_n = 0;
    }
    size_t *index = DR_NEW_N(arena, size_t, first);
    for (size_t i = 0; i < snap->pod_n; i++) {
        if (worker_of[i] != NO_WORKER) {
            struct dr_worker *worker = &fleet->workers[worker_of[i]];
            index[worker->pod_first + worker->pod_n++] = i;
        }
    }
    fleet->pod_index = index;
    fleet->pods_indexed = true;
}
