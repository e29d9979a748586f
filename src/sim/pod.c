/*
 * Pods: waiting -> bound -> running -> terminating -> gone. Their controllers make a successor as soon as one begins to terminate.
 * A pod that terminates needs its kubelet: on a silent or dead machine it stays until the Node object goes.
 */

#include "sim/inner.h"

bool sim_pod_evictable(const struct dr_world *w, const struct sim_pod *p) {
    enum dr_world_kind kind = w->workloads[p->workload].w.kind;
    return kind == DR_WORKLOAD_DEPLOYMENT || kind == DR_WORKLOAD_BARE;
}

static bool kubelet_up(const struct dr_world *w, int node) {
    const struct sim_node *n = &w->nodes[node];
    return n->server || (n->machine != SIM_NONE && w->machines[n->machine].kubelet_up);
}

void sim_pod_set_waiting(struct dr_world *w, struct sim_pod *p, bool on) {
    if (p->unschedulable == on) {
        return;
    }
    w->stats.pending_pod_ms += w->waiting_n * (w->now_ms - w->waiting_ms);
    w->waiting_ms = w->now_ms;
    w->waiting_n += on ? 1 : -1;
    p->unschedulable = on;
    p->unschedulable_since_ms = on ? w->now_ms : 0;
    sim_dirty(w, SIM_PODS);
}

static int new_slot(struct dr_world *w) {
    if (w->pods_alive >= w->o.max_pods) {
        return SIM_NONE;
    }
    if (w->pod_free_n > 0) {
        return w->pod_free[--w->pod_free_n];
    }
    if (!sim_grow((void **)&w->pods, &w->pod_cap, w->pod_n, sizeof *w->pods, w->o.max_pods)) {
        return SIM_NONE;
    }
    return (int)w->pod_n++;
}

int sim_pod_create(struct dr_world *w, int workload, int only_node) {
    int slot = new_slot(w);
    if (slot == SIM_NONE) {
        sim_trace(w, "no pod made: ceiling of %zu reached", w->o.max_pods);
        return SIM_NONE;
    }
    struct sim_workload *l = &w->workloads[workload];
    struct sim_pod *p = &w->pods[slot];
    *p = (struct sim_pod){
        .used = true,
        .serial = ++w->serial,
        .workload = workload,
        .node = SIM_NONE,
        .next = SIM_NONE,
        .prev = SIM_NONE,
        .only_node = only_node,
        .phase = DR_PHASE_PENDING,
        .created_ms = w->now_ms,
    };
    p->name = dr_str_fmt(&w->arena, "%.*s-%05d", DR_FMT(l->w.name), (int)l->next_name++);
    p->uid = sim_uid(w, 'p', p->serial);
    l->live++;
    w->pods_alive++;
    w->unbound_n++;
    w->schedule_due = true;
    sim_dirty(w, SIM_PODS);
    return slot;
}

static void link_to(struct dr_world *w, int slot, int node) {
    struct sim_pod *p = &w->pods[slot];
    struct sim_node *n = &w->nodes[node];
    const struct dr_pod_spec *spec = w->workloads[p->workload].spec;
    p->node = node;
    p->prev = SIM_NONE;
    p->next = n->pod_head;
    if (n->pod_head != SIM_NONE) {
        w->pods[n->pod_head].prev = slot;
    }
    n->pod_head = slot;
    n->used_cpu += spec->cpu_milli;
    n->used_mem += spec->mem_bytes;
    n->pod_n++;
}

static void unlink_from(struct dr_world *w, int slot) {
    struct sim_pod *p = &w->pods[slot];
    struct sim_node *n = &w->nodes[p->node];
    const struct dr_pod_spec *spec = w->workloads[p->workload].spec;
    *(p->prev == SIM_NONE ? &n->pod_head : &w->pods[p->prev].next) = p->next;
    if (p->next != SIM_NONE) {
        w->pods[p->next].prev = p->prev;
    }
    n->used_cpu -= spec->cpu_milli;
    n->used_mem -= spec->mem_bytes;
    n->pod_n--;
    DR_ASSERT(n->used_cpu >= 0 && n->used_mem >= 0 && n->pod_n >= 0);
}

void sim_pod_bind(struct dr_world *w, int pod, int node) {
    struct sim_pod *p = &w->pods[pod];
    const struct sim_workload *l = &w->workloads[p->workload];
    DR_ASSERT(p->node == SIM_NONE);
    sim_pod_set_waiting(w, p, false);
    link_to(w, pod, node);
    w->unbound_n--;
    sim_dirty(w, SIM_PODS);
    sim_trace(w, "pod %.*s/%.*s on %.*s", DR_FMT(l->w.ns), DR_FMT(p->name), DR_FMT(w->nodes[node].name));
    if (!l->w.image_broken && kubelet_up(w, node)) {
        sim_post(w, w->now_ms + l->w.start_ms, SIM_EV_START, pod, p->serial, 0);
    }
}

/* What the controller does when one of its pods is no longer counted. */
static void replace(struct dr_world *w, int workload) {
    struct sim_workload *l = &w->workloads[workload];
    while (l->w.kind == DR_WORKLOAD_DEPLOYMENT && l->live < l->w.replicas && sim_pod_create(w, workload, SIM_NONE) != SIM_NONE) {
        l = &w->workloads[workload];
    }
}

static void discount(struct dr_world *w, struct sim_pod *p) {
    if (!p->deleting) {
        w->workloads[p->workload].live--;
    }
}

void sim_pod_remove(struct dr_world *w, int pod) {
    sim_metrics_touch(w);
    struct sim_pod *p = &w->pods[pod];
    int workload = p->workload, node = p->node, only = p->only_node;
    sim_pod_set_waiting(w, p, false);
    if (node != SIM_NONE) {
        unlink_from(w, pod);
    } else {
        w->unbound_n--;
    }
    discount(w, p);
    p->used = false;
    w->pods_alive--;
    DR_ASSERT(sim_grow((void **)&w->pod_free, &w->pod_free_cap, w->pod_free_n, sizeof *w->pod_free, w->o.max_pods));
    w->pod_free[w->pod_free_n++] = pod;
    w->schedule_due = true;
    sim_dirty(w, SIM_PODS);
    if (only != SIM_NONE && w->nodes[only].used && w->workloads[workload].w.replicas != 0) {
        (void)sim_pod_create(w, workload, only); /* a DaemonSet's place does not stay empty */
        return;
    }
    replace(w, workload);
}

void sim_pod_delete(struct dr_world *w, int pod, int64_t grace_ms, const char *why) {
    struct sim_pod *p = &w->pods[pod];
    const struct sim_workload *l = &w->workloads[p->workload];
    if (p->deleting) {
        return;
    }
    sim_trace(w, "pod %.*s/%.*s terminating: %s", DR_FMT(l->w.ns), DR_FMT(p->name), why);
    if (p->node == SIM_NONE) {
        sim_pod_remove(w, pod);
        return;
    }
    int64_t grace = grace_ms < 0 || grace_ms > l->w.grace_ms ? l->w.grace_ms : grace_ms;
    p->stop_ms = l->w.stop_ms < grace ? l->w.stop_ms : grace;
    discount(w, p);
    p->deleting = true;
    p->delete_by_ms = w->now_ms + grace;
    p->ready = false;
    sim_dirty(w, SIM_PODS);
    if (!l->w.stuck_stop && kubelet_up(w, p->node)) {
        sim_post(w, w->now_ms + p->stop_ms, SIM_EV_GONE, pod, p->serial, 0);
    }
    replace(w, p->workload);
}

void sim_pod_event(struct dr_world *w, const struct sim_event *e) {
    struct sim_pod *p = &w->pods[e->slot];
    if (!p->used || p->serial != e->serial || p->node == SIM_NONE || !kubelet_up(w, p->node)) {
        return;
    }
    const struct sim_workload *l = &w->workloads[p->workload];
    if (e->kind == SIM_EV_GONE) {
        if (p->deleting && !l->w.stuck_stop) {
            sim_pod_remove(w, e->slot);
        }
        return;
    }
    if (p->deleting || p->phase != DR_PHASE_PENDING || l->w.image_broken) {
        return;
    }
    sim_metrics_touch(w);
    p->phase = DR_PHASE_RUNNING;
    p->ready = w->nodes[p->node].ready == DR_READY_TRUE;
    sim_dirty(w, SIM_PODS);
}

void sim_pods_of_new_node(struct dr_world *w, int node) {
    for (size_t i = 0; i < w->workload_n; i++) {
        const struct sim_workload *l = &w->workloads[i];
        bool daemon = l->w.kind == DR_WORKLOAD_DAEMONSET || l->w.kind == DR_WORKLOAD_MIRROR;
        if (daemon && l->w.replicas != 0 && sim_rules_allow(l->spec, &w->nodes[node], true)) {
            (void)sim_pod_create(w, (int)i, node);
        }
    }
}

void sim_pods_of_lost_node(struct dr_world *w, int node) {
    while (w->nodes[node].pod_head != SIM_NONE) {
        sim_pod_remove(w, w->nodes[node].pod_head);
    }
    for (size_t i = 0; i < w->pod_n; i++) {
        if (w->pods[i].used && w->pods[i].only_node == node) {
            sim_pod_remove(w, (int)i);
        }
    }
}

void sim_pods_machine_died(struct dr_world *w, int node) {
    for (int i = w->nodes[node].pod_head; i != SIM_NONE; i = w->pods[i].next) {
        struct sim_pod *p = &w->pods[i];
        if (!p->dead && sim_pod_evictable(w, p) && p->phase == DR_PHASE_RUNNING) {
            *(p->deleting ? &w->stats.cut_short : &w->stats.lost_pods) += 1;
        }
        p->dead = true;
    }
}

void sim_pods_node_ready(struct dr_world *w, int node, bool ready) {
    for (int i = w->nodes[node].pod_head; i != SIM_NONE; i = w->pods[i].next) {
        struct sim_pod *p = &w->pods[i];
        if (p->phase == DR_PHASE_RUNNING && !p->deleting) {
            p->ready = ready && !p->dead;
        }
    }
    sim_dirty(w, SIM_PODS);
}

void sim_pods_kubelet_back(struct dr_world *w, int node) {
    for (int i = w->nodes[node].pod_head; i != SIM_NONE; i = w->pods[i].next) {
        struct sim_pod *p = &w->pods[i];
        const struct sim_workload *l = &w->workloads[p->workload];
        if (p->deleting && !l->w.stuck_stop) {
            sim_post(w, w->now_ms + p->stop_ms, SIM_EV_GONE, i, p->serial, 0);
        } else if (p->phase == DR_PHASE_PENDING && !l->w.image_broken) {
            sim_post(w, w->now_ms + l->w.start_ms, SIM_EV_START, i, p->serial, 0);
        }
    }
}

/* Deleting may make successors, which may move the array and grow the lists of other nodes; this node is NotReady and gets none. */
void sim_pods_expel(struct dr_world *w, int node) {
    for (int i = w->nodes[node].pod_head; i != SIM_NONE; i = w->pods[i].next) {
        if (sim_pod_evictable(w, &w->pods[i])) {
            sim_pod_delete(w, i, -1, "its node is not ready");
        }
    }
}
