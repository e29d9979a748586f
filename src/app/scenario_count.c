/* What expectations count: the world as it is now, the stored item, and the figures of the run so far. */

#include "app/scenario.h"
#include "base/time.h"

static bool alive(const struct dr_instance *i) { return i->state == DR_INSTANCE_PENDING || i->state == DR_INSTANCE_RUNNING; }

static const struct dr_node *node_of(const struct dr_snapshot *snap, const struct dr_instance *instance) {
    for (size_t i = 0; i < snap->node_n; i++) {
        const struct dr_node *n = &snap->nodes[i];
        bool same = dr_str_eq(n->instance_label, instance->id) || dr_str_ends(n->provider_id, instance->id.p) ||
                    dr_str_eq(n->internal_ip, instance->private_ip);
        if (same && n->created_ms >= instance->launched_ms) {
            return n;
        }
    }
    return NULL;
}

static int64_t count_workers(struct dr_scenario_run *run, bool ready, const struct dr_sentence_arg *zone,
                             const struct dr_sentence_arg *market) {
    struct dr_snapshot snap;
    dr_world_peek(run->world, &snap);
    int64_t n = 0;
    for (size_t i = 0; i < snap.instance_n; i++) {
        const struct dr_instance *x = &snap.instances[i];
        if (!alive(x) || (zone->given && !dr_str_eq(zone->text, x->zone)) || (market->given && market->n != (int64_t)x->market)) {
            continue;
        }
        const struct dr_node *node = ready ? node_of(&snap, x) : NULL;
        n += !ready || (node != NULL && node->ready == DR_READY_TRUE);
    }
    return n;
}

static int64_t count_stats(struct dr_scenario_run *run, enum dr_counter counter) {
    struct dr_world_stats s = dr_world_stats(run->world);
    switch (counter) {
    case DR_COUNTER_LAUNCHES:
        return s.launches;
    case DR_COUNTER_LAUNCH_REFUSALS:
        return s.launch_refusals;
    case DR_COUNTER_TERMINATIONS:
        return s.terminations;
    case DR_COUNTER_INTERRUPTIONS:
        return s.interruptions;
    case DR_COUNTER_EVICTIONS:
        return s.evictions;
    case DR_COUNTER_EVICTIONS_BLOCKED:
        return s.evictions_blocked;
    case DR_COUNTER_LOST_PODS:
        return s.lost_pods;
    case DR_COUNTER_CUT_SHORT:
        return s.cut_short;
    case DR_COUNTER_ALERTS:
        return s.alerts;
    case DR_COUNTER_CRASHES:
        return run->runner.crashes;
    case DR_COUNTER_STRIKES:
        return (int64_t)dr_world_strikes(run->world);
    case DR_COUNTER_PENDING_SECONDS:
        return s.pending_pod_ms / DR_SECOND_MS;
    default:
        DR_ASSERT(counter < DR_COUNTER_N);
        return 0;
    }
}

int64_t dr_scenario_count(struct dr_scenario_run *run, enum dr_counter counter, const struct dr_sentence_arg *zone,
                          const struct dr_sentence_arg *market) {
    if ((zone->given || market->given) && (counter == DR_COUNTER_WORKERS || counter == DR_COUNTER_READY)) {
        return count_workers(run, counter == DR_COUNTER_READY, zone, market);
    }
    struct dr_world_counts c = dr_world_counts(run->world);
    const struct dr_state *item = dr_world_item(run->world);
    switch (counter) {
    case DR_COUNTER_WORKERS:
        return c.machines;
    case DR_COUNTER_READY:
        return c.ready;
    case DR_COUNTER_NODES:
        return c.nodes;
    case DR_COUNTER_GHOSTS:
        return c.ghosts;
    case DR_COUNTER_CORDONED:
        return c.cordoned;
    case DR_COUNTER_PODS:
        return c.pods;
    case DR_COUNTER_RUNNING:
        return c.running;
    case DR_COUNTER_WAITING:
        return c.waiting;
    case DR_COUNTER_MARKS:
        return item == NULL ? 0 : (int64_t)item->marks.n;
    case DR_COUNTER_RECORDS:
        return item == NULL ? 0 : (int64_t)item->records.n;
    case DR_COUNTER_REFUSED:
        return item == NULL ? 0 : (int64_t)item->refused.n;
    case DR_COUNTER_QUARANTINED:
        return item == NULL ? 0 : (int64_t)item->quarantined.n;
    default:
        return count_stats(run, counter);
    }
}

int64_t dr_scenario_count_pods(struct dr_scenario_run *run, struct dr_str workload, int64_t what) {
    struct dr_snapshot snap;
    dr_world_peek(run->world, &snap);
    int64_t n = 0;
    for (size_t i = 0; i < snap.pod_n; i++) {
        const struct dr_pod *p = &snap.pods[i];
        /* Names are <workload>-<five digits>. */
        if (p->name.n != workload.n + 6 || !dr_str_eq(dr_str_sub(p->name, 0, workload.n), workload)) {
            continue;
        }
        bool is[] = {p->phase == DR_PHASE_RUNNING && !p->deleting, p->unschedulable, p->deleting, true};
        n += is[what];
    }
    return n;
}

bool dr_scenario_worker_is(struct dr_scenario_run *run, struct dr_str name, enum dr_worker_state state) {
    struct dr_str id = dr_scenario_worker(run, name);
    struct dr_snapshot snap;
    dr_world_peek(run->world, &snap);
    const struct dr_instance *instance = NULL;
    for (size_t i = 0; i < snap.instance_n; i++) {
        instance = dr_str_eq(snap.instances[i].id, id) && alive(&snap.instances[i]) ? &snap.instances[i] : instance;
    }
    const struct dr_node *node = instance == NULL ? NULL : node_of(&snap, instance);
    const struct dr_state *item = dr_world_item(run->world);
    switch (state) {
    case DR_WORKER_ALIVE:
        return instance != NULL;
    case DR_WORKER_GONE:
        return instance == NULL;
    case DR_WORKER_READY:
        return node != NULL && node->ready == DR_READY_TRUE;
    case DR_WORKER_CORDONED:
        return node != NULL && node->cordon_owner.n > 0;
    case DR_WORKER_OPEN:
        return node != NULL && !node->unschedulable;
    case DR_WORKER_MARKED:
        return item != NULL && dr_state_marked(item, id);
    case DR_WORKER_STATE_N:
        break;
    }
    return false;
}
