#include "core/pending.h"

#include "base/num.h"
#include "core/room.h"

/* Zones as bits. A region has fewer than ten; what lies beyond 64 cannot be asked for. */
#define MAX_ZONES 64

struct work {
    struct dr_arena *arena;
    const struct dr_config *cfg;
    const struct dr_state *state;
    struct dr_fleet *fleet;
    const struct dr_pool *pool;
    struct dr_pending *ret;
    const struct dr_pod **pods; /* helpable */
    size_t pod_n;
    uint64_t pool_zones; /* zones of the pool's subnets */
    struct dr_overhead overhead;
    struct dr_room *rooms; /* there, joining or coming */
    size_t room_n;
    struct dr_room *bins; /* new workers */
    size_t bin_n;
    size_t bin_max;
    bool joining;                   /* some machine is joining or coming */
    const struct dr_room *unplaced; /* the first room of an index that has no place yet */
    int64_t newest_join_ms;
};

/* Asked of every pod in every tick: the question that most of them answer stands first. */
static bool waits(const struct dr_pod *pod) {
    if (!pod->unschedulable) {
        return false;
    }
    bool tied_to_a_node = pod->owner == DR_OWNER_DAEMONSET || pod->owner == DR_OWNER_MIRROR;
    return pod->phase == DR_PHASE_PENDING && pod->node.n == 0 && !pod->deleting && !tied_to_a_node;
}

static bool is_successor(const struct dr_state *state, const struct dr_pod *pod) {
    for (size_t i = 0; pod->owner_uid.n > 0 && i < state->drains.n; i++) {
        if (dr_strs_has(state->drains.v[i].owner_uids, pod->owner_uid)) {
            return true;
        }
    }
    return false;
}

static bool older(const struct dr_pod *a, const struct dr_pod *b) {
    if (b == NULL || a->unschedulable_since_ms != b->unschedulable_since_ms) {
        return b == NULL || a->unschedulable_since_ms < b->unschedulable_since_ms;
    }
    int c = dr_str_cmp(a->ns, b->ns);
    return c != 0 ? c < 0 : dr_str_cmp(a->name, b->name) < 0;
}

static void count_waiting(struct work *w) {
    const struct dr_snapshot *snap = w->fleet->snap;
    struct dr_pending *ret = w->ret;
    for (size_t i = 0; i < snap->pod_n; i++) {
        const struct dr_pod *pod = &snap->pods[i];
        if (!waits(pod)) {
            continue;
        }
        if (is_successor(w->state, pod)) {
            ret->successors++;
            if (ret->successors == 1 || pod->unschedulable_since_ms < ret->successor_since_ms) {
                ret->successor_since_ms = pod->unschedulable_since_ms;
            }
            continue;
        }
        ret->waiting++;
        if (older(pod, ret->oldest)) {
            ret->oldest = pod;
        }
    }
}

static uint64_t zone_bit(const struct dr_fleet *fleet, struct dr_str zone) {
    for (size_t i = 0; i < fleet->zone_n && i < MAX_ZONES; i++) {
        if (dr_str_eq(fleet->zones[i].name, zone)) {
            return UINT64_C(1) << i;
        }
    }
    return 0;
}

/* Of `zones`, those in which an empty worker of the type meets the pod's rules. */
static uint64_t zones_for(const struct work *w, const struct dr_pod_spec *spec, const struct dr_worker_type *type, uint64_t zones) {
    uint64_t fit = 0;
    for (size_t i = 0; i < w->fleet->zone_n && i < MAX_ZONES; i++) {
        uint64_t bit = UINT64_C(1) << i;
        if ((zones & bit) != 0 && dr_fit_type_rules(spec, type, w->fleet->zones[i].name) == DR_FIT_YES) {
            fit |= bit;
        }
    }
    return fit;
}

/* An empty new worker of the first type that could run the pod. False: no worker helps it. */
static bool new_bin(const struct work *w, const struct dr_pod_spec *spec, struct dr_room *ret) {
    for (size_t i = 0; i < w->pool->type_n; i++) {
        dr_room_of_type(&w->pool->types[i], w->pool_zones, &w->overhead, ret);
        if (dr_room_holds(ret, spec, 1) == 1 && zones_for(w, spec, ret->type, ret->zones) != 0) {
            return true;
        }
    }
    return false;
}

static void collect_helpable(struct work *w) {
    const struct dr_snapshot *snap = w->fleet->snap;
    const struct dr_pod_spec *last = NULL;
    const struct dr_pod *oldest = NULL;
    bool helps = false;
    size_t listed = (size_t)dr_min_i64(w->ret->waiting, DR_WAITING_LISTED);
    struct dr_waiting *list = DR_NEW_N(w->arena, struct dr_waiting, listed);
    w->pods = DR_NEW_N(w->arena, const struct dr_pod *, (size_t)w->ret->waiting);
    w->ret->pods = list;
    for (size_t i = 0; i < snap->pod_n; i++) {
        const struct dr_pod *pod = &snap->pods[i];
        if (!waits(pod) || is_successor(w->state, pod)) {
            continue;
        }
        if (pod->spec != last) {
            struct dr_room bin;
            last = pod->spec;
            helps = new_bin(w, pod->spec, &bin);
        }
        if (w->ret->pod_n < listed) {
            list[w->ret->pod_n++] = (struct dr_waiting){pod, pod->unschedulable_since_ms, helps};
        }
        if (helps) {
            w->pods[w->pod_n++] = pod;
            oldest = older(pod, oldest) ? pod : oldest;
        }
    }
    w->ret->helpable = (int64_t)w->pod_n;
    if (oldest != NULL) {
        w->ret->oldest = oldest;
        w->ret->since_ms = oldest->unschedulable_since_ms;
    }
}

static const struct dr_worker_type *find_type(const struct work *w, struct dr_str name) {
    for (size_t i = 0; i < w->pool->type_n; i++) {
        if (dr_str_eq(w->pool->types[i].name, name)) {
            return &w->pool->types[i];
        }
    }
    return NULL;
}

static void add_empty(struct work *w, const struct dr_worker_type *type, uint64_t zones) {
    w->joining = true;
    if (type != NULL && zones != 0) {
        dr_room_of_type(type, zones, &w->overhead, &w->rooms[w->room_n++]);
    }
}

static bool stays(const struct dr_worker *worker) { return worker->live && !worker->target; }
/* Live without having been Ready: it boots, registers or starts its network. */
static bool is_joining(const struct dr_worker *worker) {
    return stays(worker) && !worker->joined && !worker->contested && worker->instance != NULL;
}

static void take_rooms(struct work *w) {
    struct dr_fleet *fleet = w->fleet;
    w->rooms = DR_NEW_N(w->arena, struct dr_room, fleet->worker_n + fleet->coming_n);
    for (size_t i = 0; i < fleet->worker_n; i++) {
        const struct dr_worker *worker = &fleet->workers[i];
        if (stays(worker) && worker->ready && !worker->node->unschedulable) {
            dr_room_of_worker(w->arena, fleet, worker, &w->rooms[w->room_n++]);
        }
        if (worker->joined && worker->node != NULL) {
            w->newest_join_ms = dr_max_i64(w->newest_join_ms, worker->node->created_ms);
        }
    }
    for (size_t i = 0; i < fleet->worker_n; i++) {
        const struct dr_worker *worker = &fleet->workers[i];
        if (is_joining(worker)) {
            add_empty(w, find_type(w, worker->instance->type), zone_bit(fleet, worker->zone));
        }
    }
    for (size_t i = 0; i < fleet->coming_n; i++) {
        const struct dr_attempt *attempt = fleet->coming[i].attempt;
        if (attempt != NULL) {
            add_empty(w, find_type(w, attempt->type), zone_bit(fleet, attempt->zone));
        } else {
            w->unplaced = w->unplaced == NULL ? &w->rooms[w->room_n] : w->unplaced;
            add_empty(w, &w->pool->types[0], w->pool_zones);
        }
    }
}

/* Seats up to `count` pods of a group in one room; returns how many. */
static int64_t seat(struct work *w, struct dr_room *room, const struct dr_pod_spec *spec, int64_t count) {
    int64_t n = dr_room_holds(room, spec, count);
    if (n == 0) {
        return 0;
    }
    if (room->node != NULL) {
        n = dr_fit_rules(spec, room->node) == DR_FIT_YES ? n : 0;
    } else {
        uint64_t zones = zones_for(w, spec, room->type, room->zones);
        n = zones != 0 ? n : 0;
        room->zones = zones != 0 ? zones : room->zones;
    }
    if (n > 0) {
        dr_room_take(w->arena, room, spec, n);
    }
    return n;
}

/* First fit over what is there, then over new workers, opening more of these while they are wanted. */
static void pack_group(struct work *w, const struct dr_pod_group *group) {
    int64_t left = group->count;
    for (size_t i = 0; i < w->room_n && left > 0; i++) {
        left -= seat(w, &w->rooms[i], group->spec, left);
    }
    w->ret->remainder += left;
    for (size_t i = 0; i < w->bin_n && left > 0; i++) {
        left -= seat(w, &w->bins[i], group->spec, left);
    }
    while (left > 0 && w->bin_n < w->bin_max) {
        bool helps = new_bin(w, group->spec, &w->bins[w->bin_n]);
        DR_ASSERT(helps);
        left -= seat(w, &w->bins[w->bin_n++], group->spec, left);
    }
}

static bool was_tried(const struct work *w, const struct dr_pod *pod) {
    int64_t now_ms = w->fleet->snap->now_ms;
    return w->newest_join_ms > pod->unschedulable_since_ms || (w->newest_join_ms > 0 && now_ms - w->newest_join_ms < DR_NEWLY_JOINED_MS);
}

/* One worker once. A new worker that others ask for anyway is the one. */
static void pack_unmodelled(struct work *w, const struct dr_pod_groups *groups) {
    for (size_t i = 0; i < groups->n; i++) {
        const struct dr_pod_group *group = &groups->v[i];
        for (int64_t k = 0; group->spec->unmodelled && !w->joining && k < group->count; k++) {
            if (was_tried(w, group->pods[k])) {
                continue;
            }
            w->ret->unmodelled_only = w->bin_n == 0;
            w->ret->remainder++;
            if (w->bin_n == 0) {
                bool helps = new_bin(w, group->spec, &w->bins[w->bin_n++]);
                DR_ASSERT(helps);
                w->bins[0].zones = zones_for(w, group->spec, w->bins[0].type, w->bins[0].zones);
            }
            return;
        }
    }
}

/* A room that pods were seated in must be where all of them may be. */
static struct dr_need need_of(const struct work *w, const struct dr_room *room) {
    struct dr_need need = {.type = room->type->name};
    if (room->zones != w->pool_zones) {
        need.zone = w->fleet->zones[__builtin_ctzll(room->zones)].name;
    }
    return need;
}

static void list_needs(struct work *w) {
    struct dr_need *needs = DR_NEW_N(w->arena, struct dr_need, w->bin_n);
    for (size_t i = 0; i < w->bin_n; i++) {
        needs[i] = need_of(w, &w->bins[i]);
    }
    if (w->unplaced != NULL) {
        w->ret->next = need_of(w, w->unplaced);
    }
    w->ret->needs = needs;
    w->ret->workers_needed = (int64_t)w->bin_n;
}

static void pack(struct work *w) {
    struct dr_room measure;
    struct dr_pod_groups groups;
    dr_room_of_type(&w->pool->types[0], w->pool_zones, &w->overhead, &measure);
    dr_room_groups(w->arena, w->pods, w->pod_n, &measure, &groups);
    take_rooms(w);
    /* One more than the maximum is enough to know that the maximum binds. */
    w->bin_max = (size_t)dr_clamp_i64(w->cfg->max_workers + 1, 1, (int64_t)w->pod_n + 1);
    w->bins = DR_NEW_N(w->arena, struct dr_room, w->bin_max);
    for (size_t i = 0; i < groups.n; i++) {
        if (!groups.v[i].spec->unmodelled) {
            pack_group(w, &groups.v[i]);
        }
    }
    pack_unmodelled(w, &groups);
    list_needs(w);
}

/* What must be known to say more about pods that wait; empty: all is. */
static struct dr_str find_unknown(const struct dr_fleet *fleet) {
    const struct dr_snapshot *snap = fleet->snap;
    if (!fleet->workers_known) {
        return snap->instances_part.why;
    }
    if (!fleet->nodes_known) {
        return snap->nodes_part.why;
    }
    return snap->pool.type_n == 0 || snap->pool.subnet_n == 0 ? DR_STR("the pool has no worker type or no subnet") : DR_STR_NONE;
}

void dr_pending_work_out(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, struct dr_fleet *fleet,
                         struct dr_pending *ret) {
    const struct dr_snapshot *snap = fleet->snap;
    *ret = (struct dr_pending){.known = snap->pods_part.known, .why = snap->pods_part.why};
    struct work w = {.arena = arena, .cfg = cfg, .state = state, .fleet = fleet, .pool = &snap->pool, .ret = ret};
    if (!ret->known) {
        return;
    }
    count_waiting(&w);
    if (ret->waiting == 0) {
        return;
    }
    bool known = fleet->workers_known && fleet->nodes_known && snap->pool.type_n > 0 && snap->pool.subnet_n > 0;
    if (!known) {
        ret->known = false;
        ret->why = find_unknown(fleet);
        return;
    }
    dr_fleet_index_pods(arena, fleet);
    dr_overhead_work_out(arena, fleet, &w.overhead);
    for (size_t i = 0; i < snap->pool.subnet_n; i++) {
        w.pool_zones |= zone_bit(fleet, snap->pool.subnets[i].zone);
    }
    collect_helpable(&w);
    if (w.pod_n > 0) {
        pack(&w);
    }
}
