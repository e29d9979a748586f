#include "core/fleet.h"

#include "core/identity.h"
#include "core/sort.h"

/*
 * Cost matters here: every tick builds the view, and most ticks find a quiet fleet. Describe usually gives instances in the order of their ids and Nodes in the same order, so nothing is sorted unless it must be, each look-up
 * first tries the neighbour of the last hit, and pods are not touched.
 */

struct build {
    struct dr_arena *arena;
    const struct dr_config *cfg;
    const struct dr_state *state;
    const struct dr_snapshot *snap;
    struct dr_fleet *fleet;
    size_t hint;   /* where the next Node's worker is expected */
    size_t absent; /* Ready Nodes whose instance Describe does not show */
    bool drop;     /* some worker is a server */
    bool twice;    /* Describe shows some id twice */
};

/* Ids and zones that differ mostly do so in their last character; equal ones are often the same bytes. */
static bool same(struct dr_str a, struct dr_str b) {
    if (a.n != b.n || a.n == 0) {
        return a.n == b.n;
    }
    return a.p == b.p || (a.p[a.n - 1] == b.p[b.n - 1] && dr_str_eq(a, b));
}

static const struct dr_instance *instance_at(const struct dr_fleet *fleet, size_t i) {
    return fleet->by_id == NULL ? &fleet->snap->instances[i] : fleet->by_id[i];
}

const struct dr_instance *dr_fleet_instance(const struct dr_fleet *fleet, struct dr_str id) {
    size_t lo = 0;
    size_t hi = fleet->workers_known ? fleet->snap->instance_n : 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct dr_instance *instance = instance_at(fleet, mid);
        int c = dr_str_cmp(id, instance->id);
        if (c == 0) {
            return instance;
        }
        if (c < 0) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return NULL;
}

static struct dr_worker *find_worker(const struct dr_fleet *fleet, struct dr_str id) {
    size_t lo = 0;
    size_t hi = fleet->worker_n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = dr_str_cmp(id, fleet->workers[mid].id);
        if (c == 0) {
            return &fleet->workers[mid];
        }
        if (c < 0) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return NULL;
}

const struct dr_worker *dr_fleet_find(const struct dr_fleet *fleet, struct dr_str id) { return find_worker(fleet, id); }

struct dr_zone *dr_fleet_zone(const struct dr_fleet *fleet, struct dr_str name) {
    for (size_t i = 0; i < fleet->zone_n; i++) {
        if (same(fleet->zones[i].name, name)) {
            return &fleet->zones[i];
        }
    }
    return NULL;
}

static bool has_timed(const struct dr_timed_id *list, size_t n, struct dr_str id, int64_t after_epoch) {
    for (size_t i = 0; i < n; i++) {
        if (list[i].epoch > after_epoch && dr_str_eq(list[i].id, id)) {
            return true;
        }
    }
    return false;
}

static bool has_ended(const struct build *b, struct dr_str id) { return has_timed(b->state->ended.v, b->state->ended.n, id, INT64_MIN); }

static int compare_ids(const void *a, const void *b, const void *ctx) {
    (void)ctx;
    return dr_str_cmp(((const struct dr_instance *)a)->id, ((const struct dr_instance *)b)->id);
}

static void sort_instances(struct build *b) {
    const struct dr_snapshot *snap = b->snap;
    for (size_t i = 1; i < snap->instance_n; i++) {
        int c = dr_str_cmp(snap->instances[i - 1].id, snap->instances[i].id);
        b->twice = b->twice || c == 0;
        if (c > 0) {
            b->twice = true; /* perhaps: it shows only once they are in order */
            const void **v = DR_NEW_N(b->arena, const void *, snap->instance_n);
            for (size_t k = 0; k < snap->instance_n; k++) {
                v[k] = &snap->instances[k];
            }
            dr_sort(b->arena, v, snap->instance_n, compare_ids, NULL);
            b->fleet->by_id = (const struct dr_instance *const *)v;
            return;
        }
    }
}

static void take_instances(struct build *b) {
    struct dr_fleet *fleet = b->fleet;
    sort_instances(b);
    fleet->workers = DR_NEW_N(b->arena, struct dr_worker, b->snap->instance_n);
    for (size_t i = 0; i < b->snap->instance_n; i++) {
        const struct dr_instance *instance = instance_at(fleet, i);
        bool twice = b->twice && fleet->worker_n > 0 && dr_str_eq(fleet->workers[fleet->worker_n - 1].id, instance->id);
        if (twice || !dr_instance_works(instance) || has_ended(b, instance->id)) {
            continue;
        }
        struct dr_worker *worker = &fleet->workers[fleet->worker_n++];
        worker->instance = instance;
        worker->id = instance->id;
        worker->zone = instance->zone;
    }
}

static struct dr_worker *find_expected(struct build *b, struct dr_str id) {
    struct dr_fleet *fleet = b->fleet;
    struct dr_worker *worker = NULL;
    if (b->hint < fleet->worker_n && same(fleet->workers[b->hint].id, id)) {
        worker = &fleet->workers[b->hint];
    } else {
        worker = find_worker(fleet, id);
    }
    if (worker != NULL) {
        b->hint = (size_t)(worker - fleet->workers) + 1;
    }
    return worker;
}

/* The only worker with this address; none if two have it, since one of the two readings is stale. */
static struct dr_worker *find_by_address(const struct build *b, struct dr_str ip) {
    struct dr_worker *found = NULL;
    for (size_t i = 0; ip.n > 0 && i < b->fleet->worker_n; i++) {
        struct dr_worker *worker = &b->fleet->workers[i];
        if (dr_str_eq(worker->instance->private_ip, ip)) {
            if (found != NULL) {
                return NULL;
            }
            found = worker;
        }
    }
    return found;
}

/* The mapping is one to one: a second Node makes the first one unknown too. */
static enum dr_node_kind claim(struct build *b, struct dr_worker *worker, const struct dr_node *node) {
    if (!dr_identity_agrees(node, worker->instance)) {
        return DR_NODE_UNKNOWN;
    }
    if (worker->node != NULL) {
        b->fleet->node_kind[worker->node - b->snap->nodes] = DR_NODE_UNKNOWN;
        worker->contested = true;
        return DR_NODE_UNKNOWN;
    }
    worker->node = node;
    return DR_NODE_WORKER;
}

/*
 * Does a Ready Node count whose instance Describe does not show? Describe lags behind for what has just been launched, so a young Node does, and one that the item knows. An old one that stays unseen is somebody else's machine in
 * our cluster: counting it would let our own workers go below minimum.
 */
static bool counts_unseen(const struct build *b, struct dr_str id, const struct dr_node *node) {
    const struct dr_state *state = b->state;
    if (node->ready != DR_READY_TRUE || has_ended(b, id)) {
        return false;
    }
    bool known = dr_strs_has(state->up_instance_ids, id) || dr_strs_has(state->down_targets, id) || dr_strs_has(state->marks, id);
    for (size_t i = 0; i < state->attempts.n && !known; i++) {
        known = dr_str_eq(state->attempts.v[i].instance_id, id);
    }
    return known || b->snap->now_ms - node->created_ms <= DR_GHOST_AGE_MS;
}

/* A Node with a clear identity that no worker has. */
static enum dr_node_kind without_worker(struct build *b, struct dr_str id, const struct dr_node *node) {
    const struct dr_instance *instance = dr_fleet_instance(b->fleet, id);
    if (instance != NULL) {
        if (!dr_identity_agrees(node, instance)) {
            return DR_NODE_UNKNOWN;
        }
        return instance->state == DR_INSTANCE_TERMINATED ? DR_NODE_GHOST : DR_NODE_ABSENT;
    }
    if (node->ready != DR_READY_TRUE && b->snap->now_ms - node->created_ms > DR_GHOST_AGE_MS) {
        return DR_NODE_GHOST;
    }
    if (counts_unseen(b, id, node)) {
        b->absent++;
    }
    return DR_NODE_ABSENT;
}

static void take_server(struct build *b, const struct dr_node *node) {
    struct dr_str id;
    struct dr_worker *worker = NULL;
    if (dr_identity_of(node, &id) == DR_IDENTITY_ID && (worker = find_worker(b->fleet, id)) != NULL) {
        worker->instance = NULL;
        b->drop = true;
    }
}

static enum dr_node_kind take_node(struct build *b, const struct dr_node *node) {
    struct dr_str id;
    switch (dr_identity_of(node, &id)) {
    case DR_IDENTITY_ID: {
        struct dr_worker *worker = find_expected(b, id);
        return worker != NULL ? claim(b, worker, node) : without_worker(b, id, node);
    }
    case DR_IDENTITY_NONE: {
        struct dr_worker *worker = find_by_address(b, node->internal_ip);
        return worker != NULL ? claim(b, worker, node) : DR_NODE_UNKNOWN;
    }
    case DR_IDENTITY_BROKEN:
        break;
    }
    return DR_NODE_UNKNOWN;
}

/* A machine of the control plane that carries the pool's tags by mistake must never be counted, let alone chosen. */
static void drop_servers(struct build *b) {
    size_t kept = 0;
    for (size_t i = 0; i < b->fleet->worker_n; i++) {
        if (b->fleet->workers[i].instance != NULL) {
            b->fleet->workers[kept++] = b->fleet->workers[i];
        }
    }
    b->fleet->worker_n = kept;
}

static void take_nodes(struct build *b) {
    struct dr_fleet *fleet = b->fleet;
    const struct dr_snapshot *snap = b->snap;
    fleet->node_kind = DR_NEW_N(b->arena, enum dr_node_kind, snap->node_n);
    for (size_t i = 0; i < snap->node_n; i++) {
        fleet->node_kind[i] = snap->nodes[i].server ? DR_NODE_SERVER : DR_NODE_UNKNOWN;
        if (snap->nodes[i].server && fleet->workers_known) {
            take_server(b, &snap->nodes[i]);
        }
    }
    if (b->drop) {
        drop_servers(b);
    }
    fleet->all_mapped = fleet->workers_known;
    for (size_t i = 0; i < snap->node_n && fleet->workers_known; i++) {
        if (!snap->nodes[i].server) {
            fleet->node_kind[i] = take_node(b, &snap->nodes[i]);
            fleet->all_mapped = fleet->all_mapped && fleet->node_kind[i] != DR_NODE_UNKNOWN;
        }
    }
}

/* Ready Nodes whose instance Describe does not show (yet, or for a moment) become workers without instance. */
static void take_absent(struct build *b) {
    struct dr_fleet *fleet = b->fleet;
    struct dr_worker *workers = DR_NEW_N(b->arena, struct dr_worker, fleet->worker_n + b->absent);
    for (size_t i = 0; i < fleet->worker_n; i++) {
        workers[i] = fleet->workers[i];
    }
    fleet->workers = workers;
    for (size_t i = 0; i < b->snap->node_n; i++) {
        const struct dr_node *node = &b->snap->nodes[i];
        struct dr_str id;
        if (fleet->node_kind[i] != DR_NODE_ABSENT || dr_identity_of(node, &id) != DR_IDENTITY_ID || dr_fleet_instance(fleet, id) != NULL ||
            !counts_unseen(b, id, node)) {
            continue;
        }
        size_t at = fleet->worker_n;
        while (at > 0 && dr_str_cmp(workers[at - 1].id, id) > 0) {
            at--;
        }
        if (at > 0 && dr_str_eq(workers[at - 1].id, id)) {
            /* Two Nodes with one identity: neither is believed, and one machine at most stands behind them. */
            workers[at - 1].contested = true;
            fleet->node_kind[i] = DR_NODE_UNKNOWN;
            fleet->node_kind[workers[at - 1].node - b->snap->nodes] = DR_NODE_UNKNOWN;
            fleet->all_mapped = false;
            continue;
        }
        for (size_t k = fleet->worker_n; k > at; k--) {
            workers[k] = workers[k - 1];
        }
        workers[at] = (struct dr_worker){.node = node, .id = id, .zone = node->zone};
        fleet->worker_n++;
    }
}

/* Zones stay sorted by name; counts move with them. */
static struct dr_zone *add_zone(struct dr_fleet *fleet, struct dr_str name) {
    struct dr_zone *zone = dr_fleet_zone(fleet, name);
    if (zone != NULL) {
        return zone;
    }
    size_t at = fleet->zone_n++;
    while (at > 0 && dr_str_cmp(fleet->zones[at - 1].name, name) > 0) {
        fleet->zones[at] = fleet->zones[at - 1];
        at--;
    }
    fleet->zones[at] = (struct dr_zone){.name = name};
    return &fleet->zones[at];
}

static void take_zones(struct build *b) {
    struct dr_fleet *fleet = b->fleet;
    fleet->zones = DR_NEW_N(b->arena, struct dr_zone, b->snap->pool.subnet_n + fleet->worker_n);
    for (size_t i = 0; i < b->snap->pool.subnet_n; i++) {
        add_zone(fleet, b->snap->pool.subnets[i].zone);
    }
}

static void judge_by_node(const struct build *b, struct dr_worker *w) {
    int64_t now_ms = b->snap->now_ms;
    if (w->contested && w->instance != NULL) {
        w->node = NULL;
    }
    if (w->node == NULL) {
        w->unjoined = b->fleet->nodes_known && b->fleet->all_mapped && !w->contested;
        w->join_expired =
            b->fleet->nodes_known && !w->contested && w->instance != NULL && now_ms - w->instance->launched_ms >= b->cfg->join_timeout_ms;
        return;
    }
    w->ready = w->node->ready == DR_READY_TRUE;
    w->joined = w->ready || w->node->ready_changed_ms > w->node->created_ms + DR_NEVER_READY_MS;
    if (!w->ready) {
        int64_t since_ms = w->node->ready_changed_ms > 0 ? w->node->ready_changed_ms : w->node->created_ms;
        w->not_ready_ms = now_ms > since_ms ? now_ms - since_ms : 0;
    }
}

static void judge_by_state(const struct build *b, struct dr_worker *w) {
    const struct dr_state *state = b->state;
    w->marked = state->marks.n > 0 && dr_strs_has(state->marks, w->id);
    w->refused = state->refused.n > 0 && dr_strs_has(state->refused, w->id);
    w->quarantined = has_timed(state->quarantined.v, state->quarantined.n, w->id, b->snap->now_ms / 1000);
    for (size_t i = 0; i < state->records.n; i++) {
        if (dr_str_eq(state->records.v[i].instance_id, w->id)) {
            w->interrupted = w->interrupted || state->records.v[i].kind == DR_EVENT_WARNING;
            w->hinted = w->hinted || state->records.v[i].kind == DR_EVENT_REBALANCE;
        }
    }
    w->target = state->down_action_id.n > 0 && dr_strs_has(state->down_targets, w->id) && !dr_strs_has(state->down_completed, w->id);
}

static void count_workers(struct build *b) {
    struct dr_fleet *fleet = b->fleet;
    for (size_t i = 0; i < fleet->worker_n; i++) {
        struct dr_worker *w = &fleet->workers[i];
        judge_by_node(b, w);
        judge_by_state(b, w);
        w->live = !w->interrupted && !w->marked && !w->refused && !w->quarantined && !w->join_expired && w->not_ready_ms <= DR_NOT_READY_MS;
        fleet->worker_count += w->instance != NULL;
        fleet->held += !w->marked && !w->interrupted;
        fleet->live += w->live;
        struct dr_zone *zone = w->zone.n > 0 ? add_zone(fleet, w->zone) : NULL;
        if (zone != NULL) {
            zone->live += w->live;
            zone->planned += w->live;
        }
    }
}

static bool shown_for_index(const struct build *b, size_t index) {
    for (size_t i = 0; i < b->snap->instance_n; i++) {
        const struct dr_instance *instance = &b->snap->instances[i];
        if (instance->index == (int64_t)index && dr_str_eq(instance->action_id, b->state->up_action_id)) {
            return true;
        }
    }
    return false;
}

/* A recorded instance that may still appear: neither shown by Describe or a Node, nor ended or given up. */
static bool not_shown_yet(const struct build *b, struct dr_str id) {
    const struct dr_state *state = b->state;
    if (dr_fleet_instance(b->fleet, id) != NULL || find_worker(b->fleet, id) != NULL || has_ended(b, id) || dr_strs_has(state->marks, id)) {
        return false;
    }
    for (size_t i = 0; i < state->records.n; i++) {
        if (state->records.v[i].kind == DR_EVENT_WARNING && dr_str_eq(state->records.v[i].instance_id, id)) {
            return false;
        }
    }
    return true;
}

static bool attempt_is_coming(const struct build *b, const struct dr_attempt *attempt, size_t index) {
    if (attempt->status == DR_ATTEMPT_FAILED || attempt->status == DR_ATTEMPT_JOINED) {
        return false;
    }
    return attempt->instance_id.n > 0 ? not_shown_yet(b, attempt->instance_id) : !shown_for_index(b, index);
}

static void add_coming(struct dr_fleet *fleet, const struct dr_attempt *attempt, struct dr_str id) {
    fleet->coming[fleet->coming_n++] = (struct dr_coming){attempt, id};
    struct dr_zone *zone = attempt != NULL ? dr_fleet_zone(fleet, attempt->zone) : NULL;
    if (zone != NULL) {
        zone->planned++;
    }
}

static void count_coming(struct build *b) {
    const struct dr_state *state = b->state;
    struct dr_fleet *fleet = b->fleet;
    if (state->up_action_id.n > 0 && state->up_has_attempts) {
        /* The request is bounded by the codec, not by us; what could never be launched need not be listed. */
        size_t requested = (size_t)(state->up_requested < 0 ? 0 : state->up_requested > 1000 ? 1000 : state->up_requested);
        size_t n = requested > state->attempts.n ? requested : state->attempts.n;
        fleet->coming = DR_NEW_N(b->arena, struct dr_coming, n);
        for (size_t i = 0; i < n; i++) {
            const struct dr_attempt *attempt = i < state->attempts.n ? &state->attempts.v[i] : NULL;
            if (attempt != NULL ? attempt_is_coming(b, attempt, i) : !shown_for_index(b, i)) {
                add_coming(fleet, attempt, attempt != NULL ? attempt->instance_id : DR_STR_NONE);
            }
        }
    } else if (state->up_action_id.n > 0) {
        fleet->coming = DR_NEW_N(b->arena, struct dr_coming, state->up_instance_ids.n);
        for (size_t i = 0; i < state->up_instance_ids.n; i++) {
            if (not_shown_yet(b, state->up_instance_ids.v[i])) {
                add_coming(fleet, NULL, state->up_instance_ids.v[i]);
            }
        }
    }
    fleet->planned = fleet->live + (int64_t)fleet->coming_n;
    fleet->held += (int64_t)fleet->coming_n;
}

void dr_fleet_build(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, const struct dr_snapshot *snap,
                    struct dr_fleet *ret) {
    *ret = (struct dr_fleet){.snap = snap, .workers_known = snap->instances_part.known, .nodes_known = snap->nodes_part.known};
    struct build b = {.arena = arena, .cfg = cfg, .state = state, .snap = snap, .fleet = ret};
    if (ret->workers_known) {
        take_instances(&b);
    }
    if (ret->nodes_known) {
        take_nodes(&b);
    }
    if (b.absent > 0) {
        take_absent(&b);
    }
    take_zones(&b);
    count_workers(&b);
    count_coming(&b);
}
