/* Node objects. As with K3s a Node outlives its machine until someone deletes it. */

#include "base/time.h"
#include "sim/inner.h"

struct sim_node *sim_node_find(struct dr_world *w, struct dr_str name) {
    for (size_t i = 0; i < w->node_n; i++) {
        if (w->nodes[i].used && dr_str_eq(w->nodes[i].name, name)) {
            return &w->nodes[i];
        }
    }
    return NULL;
}

void sim_node_changed(struct dr_world *w, struct sim_node *n) {
    n->version = ++w->node_version;
    sim_dirty(w, SIM_NODES);
    w->schedule_due = true;
}

static struct sim_node *new_slot(struct dr_world *w) {
    for (size_t i = 0; i < w->node_n; i++) {
        if (!w->nodes[i].used) {
            return &w->nodes[i];
        }
    }
    return w->node_n < w->node_cap ? &w->nodes[w->node_n++] : NULL;
}

static void set_labels(struct dr_world *w, struct sim_node *n, struct dr_str type, struct dr_labels more) {
    struct dr_label *v = DR_NEW_N(&w->arena, struct dr_label, 6 + more.n);
    size_t k = 0;
    v[k++] = (struct dr_label){DR_STR("kubernetes.io/hostname"), n->name};
    v[k++] = (struct dr_label){DR_STR("kubernetes.io/os"), DR_STR("linux")};
    v[k++] = (struct dr_label){DR_STR("topology.kubernetes.io/zone"), n->zone_name};
    v[k++] = (struct dr_label){DR_STR("topology.kubernetes.io/region"), w->o.region};
    v[k++] = (struct dr_label){DR_STR("node.kubernetes.io/instance-type"), type};
    if (n->instance_label.n > 0) {
        v[k++] = (struct dr_label){DR_STR("drover.dev/instance-id"), n->instance_label};
    }
    for (size_t i = 0; i < more.n; i++) {
        v[k++] = more.v[i];
    }
    n->labels = (struct dr_labels){v, k};
}

static void set_identity(struct dr_world *w, struct sim_node *n, const struct sim_machine *m) {
    enum dr_world_identity identity = w->o.identity;
    if (identity == DR_IDENTITY_PROVIDER_ID || identity == DR_IDENTITY_BOTH) {
        n->provider_id = dr_str_fmt(&w->arena, "aws:///%.*s/%.*s", DR_FMT(n->zone_name), DR_FMT(m->id));
    } else {
        n->provider_id = dr_str_fmt(&w->arena, "k3s://%.*s", DR_FMT(n->name)); /* what K3s writes by itself */
    }
    if (identity == DR_IDENTITY_LABEL || identity == DR_IDENTITY_BOTH) {
        n->instance_label = m->id;
    }
}

static struct sim_node *create(struct dr_world *w, struct dr_str name) {
    struct sim_node *n = new_slot(w);
    if (n == NULL) {
        return NULL;
    }
    *n = (struct sim_node){
        .used = true,
        .serial = ++w->serial,
        .name = name,
        .machine = SIM_NONE,
        .created_ms = w->now_ms,
        .ready = DR_READY_FALSE,
        .ready_changed_ms = w->now_ms,
        .pod_head = SIM_NONE,
    };
    n->uid = sim_uid(w, 'n', n->serial);
    sim_node_changed(w, n);
    return n;
}

struct sim_node *sim_node_join(struct dr_world *w, struct sim_machine *m) {
    struct sim_node *n = create(w, m->node_name);
    if (n == NULL) {
        return NULL;
    }
    const struct dr_worker_type *t = &w->types[m->type];
    n->machine = (int)(m - w->machines);
    n->machine_id = m->id;
    n->ip = m->ip;
    n->zone_name = w->zones[m->zone];
    set_identity(w, n, m);
    set_labels(w, n, t->name, t->labels);
    n->taints = sim_taints(w, t->taints, t->taint_n, 0);
    n->taint_n = t->taint_n;
    n->cpu_milli = t->cpu_milli;
    n->mem_bytes = t->mem_bytes;
    n->pod_limit = t->pod_limit;
    m->node = (int)(n - w->nodes);
    m->joined_stamp = ++w->stamp;
    m->kubelet_up = true;
    m->kubelet_since_ms = w->now_ms;
    sim_trace(w, "node %.*s joined (%.*s)", DR_FMT(n->name), DR_FMT(m->id));
    sim_pods_of_new_node(w, m->node);
    return n;
}

void sim_node_server(struct dr_world *w, int64_t number) {
    struct sim_node *n = create(w, dr_str_fmt(&w->arena, "server-%d", (int)number));
    DR_ASSERT(n != NULL);
    n->server = true;
    n->ip = dr_str_fmt(&w->arena, "10.0.0.%d", (int)number + 3);
    n->zone_name = w->zones[0];
    n->provider_id = dr_str_fmt(&w->arena, "k3s://%.*s", DR_FMT(n->name));
    n->cpu_milli = 2000;
    n->mem_bytes = INT64_C(4) << 30;
    n->pod_limit = 110;
    static const struct dr_taint control_plane = {{"node-role.kubernetes.io/control-plane", 37}, {NULL, 0}, DR_TAINT_NO_SCHEDULE};
    n->taints = sim_taints(w, &control_plane, 1, 0);
    n->taint_n = 1;
    static const struct dr_label role = {{"node-role.kubernetes.io/control-plane", 37}, {"true", 4}};
    set_labels(w, n, DR_STR("server"), (struct dr_labels){&role, 1});
    n->ready = DR_READY_TRUE;
}

void sim_node_set_ready(struct dr_world *w, struct sim_node *n, enum dr_ready ready) {
    if (n->ready == ready) {
        return;
    }
    sim_metrics_touch(w);
    n->ready = ready;
    n->ready_changed_ms = w->now_ms;
    sim_node_changed(w, n);
    int slot = (int)(n - w->nodes);
    sim_pods_node_ready(w, slot, ready == DR_READY_TRUE);
    if (n->machine == SIM_NONE) {
        return;
    }
    const struct sim_machine *m = &w->machines[n->machine];
    if (ready == DR_READY_TRUE) {
        sim_trace(w, "node %.*s ready (%.*s, zone %.*s, %s)", DR_FMT(n->name), DR_FMT(m->id), DR_FMT(n->zone_name),
                  m->market == DR_MARKET_SPOT ? "spot" : "on-demand");
    } else {
        sim_trace(w, "node %.*s not ready (%.*s)", DR_FMT(n->name), DR_FMT(m->id));
        sim_post(w, w->now_ms + w->o.pod_eviction_ms, SIM_EV_EXPEL, slot, n->serial, 0);
    }
    sim_peaks(w);
}

void sim_node_remove(struct dr_world *w, struct sim_node *n, const char *why) {
    sim_metrics_touch(w);
    sim_trace(w, "node %.*s removed: %s", DR_FMT(n->name), why);
    n->used = false; /* before its pods go: a DaemonSet must not come back to it */
    if (n->machine != SIM_NONE) {
        w->machines[n->machine].node = SIM_NONE;
    }
    sim_pods_of_lost_node(w, (int)(n - w->nodes));
    sim_dirty(w, SIM_NODES);
    w->schedule_due = true;
    sim_peaks(w);
}

void sim_node_event(struct dr_world *w, const struct sim_event *e) {
    struct sim_node *n = &w->nodes[e->slot];
    if (!n->used || n->serial != e->serial) {
        return;
    }
    if (e->kind == SIM_EV_READY) {
        const struct sim_machine *m = n->machine == SIM_NONE ? NULL : &w->machines[n->machine];
        if (m != NULL && m->kubelet_up) {
            sim_node_set_ready(w, n, DR_READY_TRUE);
        }
    } else if (n->ready != DR_READY_TRUE && w->now_ms - n->ready_changed_ms >= w->o.pod_eviction_ms) {
        sim_pods_expel(w, e->slot);
    }
}
