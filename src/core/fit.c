#include "core/fit.h"

#include "core/drain.h"
#include "core/room.h"

const char *dr_fit_name(enum dr_fit_verdict verdict) {
    switch (verdict) {
    case DR_FIT_YES:
        return "fits";
    case DR_FIT_NO_ROOM:
        return "no room";
    case DR_FIT_NO_SELECTOR:
        return "selector or affinity does not match";
    case DR_FIT_NO_TAINT:
        return "taint not tolerated";
    case DR_FIT_NO_VOLUME:
        return "volume not available there";
    }
    return "unknown";
}

static enum dr_fit_verdict check_rules(const struct dr_pod_spec *spec, struct dr_label_source labels, const struct dr_taint *taints,
                                       size_t taint_n, struct dr_str zone) {
    if (spec->volume_unbound || (spec->volume_zones.n > 0 && !dr_strs_has(spec->volume_zones, zone))) {
        return DR_FIT_NO_VOLUME;
    }
    if (!dr_match_selector(spec->selector, labels) || !dr_match_affinity(spec->affinity, spec->term_n, labels)) {
        return DR_FIT_NO_SELECTOR;
    }
    return dr_match_taints(spec->tolerations, spec->toleration_n, taints, taint_n) ? DR_FIT_YES : DR_FIT_NO_TAINT;
}

enum dr_fit_verdict dr_fit_rules(const struct dr_pod_spec *spec, const struct dr_node *node) {
    struct dr_str zone = node->zone;
    const struct dr_str *label = zone.n == 0 ? dr_labels_get(node->labels, DR_STR("topology.kubernetes.io/zone")) : NULL;
    return check_rules(spec, dr_label_source_of(&node->labels), node->taints, node->taint_n, label != NULL ? *label : zone);
}

struct future {
    const struct dr_worker_type *type;
    struct dr_str zone;
};

/* eu-west-1a -> eu-west-1 */
static struct dr_str region_of(struct dr_str zone) { return zone.n > 0 ? dr_str_sub(zone, 0, zone.n - 1) : zone; }

static bool get_future_label(const void *self, struct dr_str key, struct dr_str *ret_value) {
    const struct future *future = self;
    const struct dr_str *given = dr_labels_get(future->type->labels, key);
    const struct dr_label known[] = {
        {DR_STR("topology.kubernetes.io/zone"), future->zone},
        {DR_STR("topology.kubernetes.io/region"), region_of(future->zone)},
        {DR_STR("node.kubernetes.io/instance-type"), future->type->name},
        {DR_STR("kubernetes.io/os"), DR_STR("linux")},
        /* No pod can know the name of a machine that is not there; the empty value equals none that may be asked for. */
        {DR_STR("kubernetes.io/hostname"), DR_STR("")},
        {DR_STR("failure-domain.beta.kubernetes.io/zone"), future->zone},
        {DR_STR("failure-domain.beta.kubernetes.io/region"), region_of(future->zone)},
        {DR_STR("beta.kubernetes.io/instance-type"), future->type->name},
        {DR_STR("beta.kubernetes.io/os"), DR_STR("linux")},
    };
    if (given == NULL) {
        given = dr_labels_get((struct dr_labels){known, sizeof known / sizeof known[0]}, key);
    }
    if (given != NULL) {
        *ret_value = *given;
    }
    return given != NULL;
}

enum dr_fit_verdict dr_fit_type_rules(const struct dr_pod_spec *spec, const struct dr_worker_type *type, struct dr_str zone) {
    struct future future = {type, zone};
    return check_rules(spec, (struct dr_label_source){get_future_label, &future}, type->taints, type->taint_n, zone);
}

enum dr_fit_verdict dr_fit_new_worker(const struct dr_pod_spec *spec, const struct dr_worker_type *type, struct dr_str zone,
                                      int64_t daemon_cpu_milli, int64_t daemon_mem_bytes, int64_t daemon_pods) {
    enum dr_fit_verdict verdict = dr_fit_type_rules(spec, type, zone);
    if (verdict != DR_FIT_YES) {
        return verdict;
    }
    struct dr_overhead overhead = {daemon_cpu_milli, daemon_mem_bytes, daemon_pods, NULL};
    struct dr_room room;
    dr_room_of_type(type, 1, &overhead, &room);
    return dr_room_holds(&room, spec, 1) == 1 ? DR_FIT_YES : DR_FIT_NO_ROOM;
}

struct leave {
    struct dr_arena *arena;
    struct dr_fleet *fleet;
    struct dr_room *rooms;
    size_t room_n;
};

static bool offers_room(const struct dr_worker *w, const struct dr_worker *leaving, struct dr_strs also_leaving) {
    return w != leaving && w->live && w->ready && !w->target && !w->node->unschedulable && !dr_strs_has(also_leaving, w->id);
}

/* Seats a group on the rooms, first fit; returns how many found none. */
static int64_t seat(struct leave *l, const struct dr_pod_group *group) {
    int64_t left = group->count;
    for (size_t i = 0; i < l->room_n && left > 0; i++) {
        int64_t n = dr_room_holds(&l->rooms[i], group->spec, left);
        if (n > 0 && dr_fit_rules(group->spec, l->rooms[i].node) == DR_FIT_YES) {
            dr_room_take(l->arena, &l->rooms[i], group->spec, n);
            left -= n;
        }
    }
    return left;
}

/* Seats all pods of a list, largest first; returns the first that finds no room, NULL if all do. With `lenient` those without room are passed over. */
static const struct dr_pod *seat_all(struct leave *l, const struct dr_pod **pods, size_t n, bool lenient) {
    struct dr_room none = {0};
    struct dr_pod_groups groups;
    dr_room_groups(l->arena, pods, n, l->room_n > 0 ? &l->rooms[0] : &none, &groups);
    for (size_t i = 0; i < groups.n; i++) {
        const struct dr_pod_group *group = &groups.v[i];
        if (!lenient && group->spec->unmodelled) {
            return group->pods[0];
        }
        int64_t left = seat(l, group);
        if (left > 0 && !lenient) {
            return group->pods[group->count - left];
        }
    }
    return NULL;
}

static void take_rooms(struct leave *l, const struct dr_worker *leaving, struct dr_strs also_leaving) {
    l->rooms = DR_NEW_N(l->arena, struct dr_room, l->fleet->worker_n);
    for (size_t i = 0; i < l->fleet->worker_n; i++) {
        if (offers_room(&l->fleet->workers[i], leaving, also_leaving)) {
            dr_room_of_worker(l->arena, l->fleet, &l->fleet->workers[i], &l->rooms[l->room_n++]);
        }
    }
}

static size_t collect_unbound(const struct dr_snapshot *snap, const struct dr_pod **pods) {
    size_t n = 0;
    for (size_t i = 0; i < snap->pod_n; i++) {
        const struct dr_pod *pod = &snap->pods[i];
        if (pod->node.n == 0 && dr_pod_must_leave(pod)) {
            pods[n++] = pod;
        }
    }
    return n;
}

static size_t collect_leaving(const struct dr_fleet *fleet, const struct dr_worker *worker, const struct dr_pod **pods) {
    size_t n = 0;
    for (size_t i = 0; i < worker->pod_n; i++) {
        const struct dr_pod *pod = dr_fleet_pod(fleet, worker, i);
        if (dr_pod_must_leave(pod)) {
            pods[n++] = pod;
        }
    }
    return n;
}

bool dr_fit_leaves(struct dr_arena *arena, struct dr_fleet *fleet, const struct dr_worker *worker, struct dr_strs also_leaving,
                   const struct dr_pod **ret_blocker) {
    dr_fleet_index_pods(arena, fleet);
    *ret_blocker = NULL;
    if (!fleet->pods_indexed) {
        return false;
    }
    const struct dr_pod **pods = DR_NEW_N(arena, const struct dr_pod *, fleet->snap->pod_n);
    size_t n = collect_leaving(fleet, worker, pods);
    if (n == 0) {
        return true;
    }
    struct leave l = {.arena = arena, .fleet = fleet};
    take_rooms(&l, worker, also_leaving);
    for (size_t i = 0; i < also_leaving.n; i++) {
        const struct dr_worker *other = dr_fleet_find(fleet, also_leaving.v[i]);
        bool twice = dr_strs_has((struct dr_strs){also_leaving.v, i}, also_leaving.v[i]);
        n += other != NULL && other != worker && !twice ? collect_leaving(fleet, other, pods + n) : 0;
    }
    const struct dr_pod **unbound = DR_NEW_N(arena, const struct dr_pod *, fleet->snap->pod_n);
    seat_all(&l, unbound, collect_unbound(fleet->snap, unbound), true);
    *ret_blocker = seat_all(&l, pods, n, false);
    return *ret_blocker == NULL;
}
