/* The Kubernetes side: lists, cordon, eviction, removal of Node objects. */

#include "sim/inner.h"

static struct dr_part unknown(struct dr_str why) { return (struct dr_part){false, why}; }

static void show(struct sim_process *p, unsigned hidden, struct dr_str why, int64_t stale_ms, struct dr_snapshot *ret) {
    struct dr_world *w = p->world;
    ret->nodes_part = ret->pods_part = ret->budgets_part = unknown(why);
    ret->nodes = NULL;
    ret->pods = NULL;
    ret->budgets = NULL;
    ret->node_n = ret->pod_n = ret->budget_n = 0;
    if (!(hidden & DR_FAULT_NODES)) {
        const struct sim_gen *g = sim_lend(w, p, SIM_NODES, stale_ms);
        p->nodes_stamp = g->seen_stamp;
        p->nodes_ms = g->seen_ms;
        ret->nodes_part = (struct dr_part){.known = true};
        ret->nodes = g->v;
        ret->node_n = g->n;
    }
    if (!(hidden & DR_FAULT_PODS)) {
        const struct sim_gen *g = sim_lend(w, p, SIM_PODS, stale_ms);
        ret->pods_part = (struct dr_part){.known = true};
        ret->pods = g->v;
        ret->pod_n = g->n;
    }
    if (!(hidden & DR_FAULT_BUDGETS)) {
        const struct sim_gen *g = sim_lend(w, p, SIM_BUDGETS, stale_ms);
        ret->budgets_part = (struct dr_part){.known = true};
        ret->budgets = g->v;
        ret->budget_n = g->n;
    }
}

static void cluster_observe(void *self, struct dr_arena *arena, int64_t deadline_ms, struct dr_snapshot *ret) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_CLUSTER_OBSERVE, deadline_ms, &g);
    if (!g.act) {
        struct dr_err err;
        unsigned hidden = g.parts == 0 ? DR_FAULT_NODES | DR_FAULT_PODS | DR_FAULT_BUDGETS : g.parts;
        (void)sim_gate_refuse(p, &g, &err);
        show(p, hidden, dr_str_dup(arena, dr_str_of(err.text)), -1, ret);
        return;
    }
    sim_settle(p->world);
    show(p, 0, DR_STR_NONE, g.stale_ms, ret);
    (void)sim_gate_leave(p, &g, NULL);
}

static int cordon(struct sim_process *p, const struct dr_node *node, struct dr_str owner, bool on, struct dr_err *err) {
    struct dr_world *w = p->world;
    struct sim_node *n = sim_node_find(w, node->name);
    if (n == NULL || !dr_str_eq(n->uid, node->uid)) {
        return dr_fail(err, DR_E_NOT_FOUND, "cluster.cordon: no node %.*s", DR_FMT(node->name));
    }
    bool already =
        on ? n->unschedulable && n->cordon_owner.n > 0 && dr_str_eq(n->cordon_owner, owner) : !n->unschedulable && n->cordon_owner.n == 0;
    if (already) {
        return 0;
    }
    int64_t version;
    if (!dr_str_to_i64(node->resource_version, &version) || (uint64_t)version != n->version ||
        !dr_str_eq(node->cordon_owner, n->cordon_owner)) {
        return dr_fail(err, DR_E_CONFLICT, "cluster.cordon: node %.*s changed since it was read", DR_FMT(node->name));
    }
    if (!on) {
        sim_promise_uncordon(p, n);
        if (w->broken) {
            return dr_fail(err, DR_E_UNAVAILABLE, "cluster.cordon: the world stands still");
        }
    }
    n->unschedulable = on;
    n->cordon_owner = on ? sim_str(w, owner) : DR_STR_NONE;
    sim_node_changed(w, n);
    sim_trace(w, "node %.*s %s by %.*s", DR_FMT(n->name), on ? "cordoned" : "uncordoned", DR_FMT(owner));
    return 0;
}

static int cluster_cordon(void *self, const struct dr_node *node, struct dr_str owner, bool on, int64_t deadline_ms, struct dr_err *err) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_CLUSTER_CORDON, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    int r = cordon(p, node, owner, on, err);
    sim_settle(p->world);
    return sim_gate_leave(p, &g, err) < 0 ? -1 : r;
}

static int find_pod(const struct dr_world *w, struct dr_str ns, struct dr_str name) {
    for (size_t i = 0; i < w->pod_n; i++) {
        const struct sim_pod *p = &w->pods[i];
        if (p->used && dr_str_eq(p->name, name) && dr_str_eq(w->workloads[p->workload].w.ns, ns)) {
            return (int)i;
        }
    }
    return SIM_NONE;
}

/* What the eviction subresource answers: pods that do not run yet pass, running ones need room in their one budget. */
static enum dr_evict_outcome judge(const struct dr_world *w, const struct sim_pod *p, struct dr_err *err) {
    const struct sim_workload *l = &w->workloads[p->workload];
    if (p->deleting || p->phase != DR_PHASE_RUNNING) {
        return DR_EVICT_ACCEPTED;
    }
    const struct dr_budget *found = NULL;
    for (size_t i = 0; i < w->budget_n; i++) {
        const struct dr_budget *b = &w->budgets[i].b;
        if (!sim_budget_selects(b, l->w.ns, l->w.labels)) {
            continue;
        }
        if (found != NULL) {
            (void)dr_fail(err, DR_E_INVALID, "cluster.evict: pod %.*s has more than one budget", DR_FMT(p->name));
            return DR_EVICT_ERROR;
        }
        found = b;
    }
    if (found == NULL) {
        return DR_EVICT_ACCEPTED;
    }
    struct sim_budget_status s = sim_budget_status(w, found);
    /* An unready pod may go while the budget is met without it. */
    bool room = p->ready ? s.healthy > s.desired : s.healthy >= s.desired && s.desired > 0;
    return room ? DR_EVICT_ACCEPTED : DR_EVICT_BLOCKED;
}

static void evict(struct dr_world *w, struct dr_eviction *e) {
    int slot = find_pod(w, e->ns, e->name);
    if (slot == SIM_NONE || !dr_str_eq(w->pods[slot].uid, e->uid)) {
        e->outcome = DR_EVICT_GONE;
        return;
    }
    e->outcome = judge(w, &w->pods[slot], &e->err);
    if (e->outcome == DR_EVICT_BLOCKED) {
        w->stats.evictions_blocked++;
        sim_trace(w, "eviction of %.*s blocked by its budget", DR_FMT(e->name));
    }
    if (e->outcome != DR_EVICT_ACCEPTED || w->pods[slot].deleting) {
        return;
    }
    w->stats.evictions++;
    sim_pod_delete(w, slot, e->grace_ms, "evicted");
}

static void fail_all(struct dr_eviction *evictions, size_t n, const struct dr_err *err) {
    for (size_t i = 0; i < n; i++) {
        evictions[i].outcome = DR_EVICT_ERROR;
        evictions[i].err = *err;
    }
}

static void cluster_evict(void *self, struct dr_eviction *evictions, size_t n, int64_t deadline_ms) {
    struct sim_process *p = self;
    struct sim_gate g;
    struct dr_err err;
    sim_gate_enter(p, DR_CALL_CLUSTER_EVICT, deadline_ms, &g);
    if (!g.act) {
        (void)sim_gate_refuse(p, &g, &err);
        fail_all(evictions, n, &err);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        evict(p->world, &evictions[i]);
    }
    sim_settle(p->world);
    if (sim_gate_leave(p, &g, &err) < 0) {
        fail_all(evictions, n, &err);
    }
}

static int delete_node(struct sim_process *p, struct dr_str name, struct dr_str uid, struct dr_err *err) {
    struct sim_node *n = sim_node_find(p->world, name);
    if (n == NULL) {
        return dr_fail(err, DR_E_NOT_FOUND, "cluster.delete_node: no node %.*s", DR_FMT(name));
    }
    if (!dr_str_eq(n->uid, uid)) {
        return dr_fail(err, DR_E_CONFLICT, "cluster.delete_node: another node %.*s", DR_FMT(name));
    }
    sim_promise_delete_node(p, n);
    if (p->world->broken) {
        return dr_fail(err, DR_E_UNAVAILABLE, "cluster.delete_node: the world stands still");
    }
    sim_node_remove(p->world, n, "deleted by the autoscaler");
    return 0;
}

static int cluster_delete_node(void *self, struct dr_str name, struct dr_str uid, int64_t deadline_ms, struct dr_err *err) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_CLUSTER_DELETE_NODE, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    int r = delete_node(p, name, uid, err);
    sim_settle(p->world);
    return sim_gate_leave(p, &g, err) < 0 ? -1 : r;
}

const struct dr_cluster_ops sim_cluster_ops = {
    .request = NULL,
    .observe = cluster_observe,
    .cordon = cluster_cordon,
    .evict = cluster_evict,
    .delete_node = cluster_delete_node,
};
