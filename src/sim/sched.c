/*
 * The scheduler: hard rules, then the emptiest node. Written apart from the core's fit on purpose: each checks the other.
 * A pod that no node can take becomes Unschedulable; pods of the same workload need not be tried again in the same pass.
 */

#include <stdlib.h>

#include "sim/inner.h"

static const struct dr_str *label_of(const struct sim_node *n, struct dr_str key) {
    for (size_t i = 0; i < n->labels.n; i++) {
        if (dr_str_eq(n->labels.v[i].key, key)) {
            return &n->labels.v[i].value;
        }
    }
    return NULL;
}

static bool listed(struct dr_strs list, struct dr_str s) {
    for (size_t i = 0; i < list.n; i++) {
        if (dr_str_eq(list.v[i], s)) {
            return true;
        }
    }
    return false;
}

static bool numeric(const struct dr_requirement *r, struct dr_str have) {
    int64_t a, b;
    if (r->values.n != 1 || !dr_str_to_i64(have, &a) || !dr_str_to_i64(r->values.v[0], &b)) {
        return false;
    }
    return r->op == DR_OP_GT ? a > b : a < b;
}

static bool requirement_met(const struct dr_requirement *r, const struct sim_node *n) {
    const struct dr_str *have = label_of(n, r->key);
    switch (r->op) {
    case DR_OP_EXISTS:
        return have != NULL;
    case DR_OP_NOT_EXISTS:
        return have == NULL;
    case DR_OP_IN:
        return have != NULL && listed(r->values, *have);
    case DR_OP_NOT_IN:
        return have == NULL || !listed(r->values, *have);
    case DR_OP_GT:
    case DR_OP_LT:
        return have != NULL && numeric(r, *have);
    }
    return false;
}

/* One term is enough; a term without requirements matches nothing, as in Kubernetes. */
static bool affinity_met(const struct dr_pod_spec *spec, const struct sim_node *n) {
    for (size_t t = 0; t < spec->term_n; t++) {
        const struct dr_term *term = &spec->affinity[t];
        bool all = term->requirement_n > 0;
        for (size_t i = 0; all && i < term->requirement_n; i++) {
            all = requirement_met(&term->requirements[i], n);
        }
        if (all) {
            return true;
        }
    }
    return spec->term_n == 0;
}

static bool selector_met(const struct dr_pod_spec *spec, const struct sim_node *n) {
    for (size_t i = 0; i < spec->selector.n; i++) {
        const struct dr_str *have = label_of(n, spec->selector.v[i].key);
        if (have == NULL || !dr_str_eq(*have, spec->selector.v[i].value)) {
            return false;
        }
    }
    return true;
}

static bool tolerated(const struct dr_pod_spec *spec, const struct dr_taint *taint) {
    for (size_t i = 0; i < spec->toleration_n; i++) {
        const struct dr_toleration *t = &spec->tolerations[i];
        bool key = t->key.n == 0 ? t->exists : dr_str_eq(t->key, taint->key);
        bool effect = t->any_effect || t->effect == taint->effect;
        if (key && effect && (t->exists || dr_str_eq(t->value, taint->value))) {
            return true;
        }
    }
    return false;
}

static bool taints_met(const struct dr_pod_spec *spec, const struct sim_node *n) {
    for (size_t i = 0; i < n->taint_n; i++) {
        if (n->taints[i].effect != DR_TAINT_PREFER_NO_SCHEDULE && !tolerated(spec, &n->taints[i])) {
            return false;
        }
    }
    return true;
}

bool sim_rules_allow(const struct dr_pod_spec *spec, const struct sim_node *n, bool daemon) {
    if (!daemon && (n->unschedulable || n->ready != DR_READY_TRUE)) {
        return false;
    }
    if (spec->volume_unbound || (spec->volume_zones.n > 0 && !listed(spec->volume_zones, n->zone_name))) {
        return false;
    }
    return selector_met(spec, n) && affinity_met(spec, n) && taints_met(spec, n);
}

static bool ports_clash(const struct dr_pod_spec *a, const struct dr_pod_spec *b) {
    for (size_t i = 0; i < a->host_port_n; i++) {
        for (size_t j = 0; j < b->host_port_n; j++) {
            if (a->host_ports[i].port == b->host_ports[j].port && a->host_ports[i].protocol == b->host_ports[j].protocol) {
                return true;
            }
        }
    }
    return false;
}

static bool room_for(const struct dr_world *w, const struct dr_pod_spec *spec, const struct sim_node *n) {
    if (n->used_cpu + spec->cpu_milli > n->cpu_milli || n->used_mem + spec->mem_bytes > n->mem_bytes || n->pod_n >= n->pod_limit) {
        return false;
    }
    if (spec->host_port_n == 0) {
        return true;
    }
    for (int i = n->pod_head; i != SIM_NONE; i = w->pods[i].next) {
        if (ports_clash(spec, w->workloads[w->pods[i].workload].spec)) {
            return false;
        }
    }
    return true;
}

static int64_t fill_ppm(const struct dr_pod_spec *spec, const struct sim_node *n) {
    return (n->used_cpu + spec->cpu_milli) * 1000000 / n->cpu_milli +
           (n->used_mem + spec->mem_bytes) / 1024 * 1000000 / (n->mem_bytes / 1024 + 1);
}

static int best_node(const struct dr_world *w, const struct sim_pod *p) {
    const struct dr_pod_spec *spec = w->workloads[p->workload].spec;
    if (p->only_node != SIM_NONE) {
        const struct sim_node *n = &w->nodes[p->only_node];
        return sim_rules_allow(spec, n, true) && room_for(w, spec, n) ? p->only_node : SIM_NONE;
    }
    int best = SIM_NONE;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < w->node_n; i++) {
        const struct sim_node *n = &w->nodes[i];
        if (!n->used || !sim_rules_allow(spec, n, false) || !room_for(w, spec, n)) {
            continue;
        }
        int64_t fill = fill_ppm(spec, n);
        if (fill < least) {
            least = fill;
            best = (int)i;
        }
    }
    return best;
}

struct waiting {
    int64_t priority;
    uint64_t serial;
    int slot;
};

static int by_priority(const void *a, const void *b) {
    const struct waiting *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    return x->serial < y->serial ? -1 : 1;
}

static size_t collect(struct dr_world *w, struct waiting *v) {
    size_t n = 0;
    for (size_t i = 0; i < w->pod_n && n < w->unbound_n; i++) {
        const struct sim_pod *p = &w->pods[i];
        if (p->used && p->node == SIM_NONE) {
            /* A DaemonSet's pod has its place by right: before everything else. */
            int64_t priority = p->only_node != SIM_NONE ? INT64_MAX : w->workloads[p->workload].w.priority;
            v[n++] = (struct waiting){priority, p->serial, (int)i};
        }
    }
    return n;
}

void sim_schedule(struct dr_world *w) {
    if (w->unbound_n == 0) {
        return;
    }
    dr_arena_reset(&w->scratch);
    struct waiting *v = DR_NEW_N(&w->scratch, struct waiting, w->unbound_n);
    bool *failed = DR_NEW_N(&w->scratch, bool, w->workload_n);
    size_t n = collect(w, v);
    qsort(v, n, sizeof *v, by_priority);
    for (size_t i = 0; i < n; i++) {
        struct sim_pod *p = &w->pods[v[i].slot];
        bool anywhere = p->only_node == SIM_NONE;
        int node = anywhere && failed[p->workload] ? SIM_NONE : best_node(w, p);
        if (node != SIM_NONE) {
            sim_pod_bind(w, v[i].slot, node);
            continue;
        }
        failed[p->workload] = failed[p->workload] || anywhere;
        if (!p->unschedulable) {
            sim_pod_set_waiting(w, p, true);
            const struct sim_workload *l = &w->workloads[p->workload];
            sim_trace(w, "pod %.*s/%.*s unschedulable", DR_FMT(l->w.ns), DR_FMT(p->name));
        }
    }
}

/* A fresh Node as it would join, with the requests of the DaemonSets that would land on it. */
static void imagine(const struct dr_world *w, const struct dr_worker_type *t, struct dr_str zone, struct dr_label *labels,
                    struct sim_node *n) {
    size_t k = 0;
    labels[k++] = (struct dr_label){DR_STR("kubernetes.io/hostname"), DR_STR("?")}; /* none that a pod could name */
    labels[k++] = (struct dr_label){DR_STR("kubernetes.io/os"), DR_STR("linux")};
    labels[k++] = (struct dr_label){DR_STR("topology.kubernetes.io/zone"), zone};
    labels[k++] = (struct dr_label){DR_STR("topology.kubernetes.io/region"), w->o.region};
    labels[k++] = (struct dr_label){DR_STR("node.kubernetes.io/instance-type"), t->name};
    for (size_t i = 0; i < t->labels.n && k < 64; i++) {
        labels[k++] = t->labels.v[i];
    }
    *n = (struct sim_node){.used = true, .ready = DR_READY_TRUE, .zone_name = zone, .pod_head = SIM_NONE, .labels = {labels, k}};
    n->cpu_milli = t->cpu_milli;
    n->mem_bytes = t->mem_bytes;
    n->pod_limit = t->pod_limit;
    n->taints = t->taints;
    n->taint_n = t->taint_n;
}

bool sim_new_worker_helps(struct dr_world *w, const struct dr_pod_spec *spec) {
    for (size_t t = 0; t < w->o.type_n; t++) {
        for (size_t z = 0; z < w->zone_n; z++) {
            struct dr_label labels[64];
            struct sim_node n;
            imagine(w, &w->types[t], w->zones[z], labels, &n);
            bool clash = false;
            for (size_t i = 0; i < w->workload_n; i++) {
                const struct sim_workload *l = &w->workloads[i];
                bool daemon = l->w.kind == DR_WORKLOAD_DAEMONSET || l->w.kind == DR_WORKLOAD_MIRROR;
                if (daemon && l->w.replicas != 0 && sim_rules_allow(l->spec, &n, true)) {
                    n.used_cpu += l->spec->cpu_milli;
                    n.used_mem += l->spec->mem_bytes;
                    n.pod_n++;
                    clash = clash || ports_clash(spec, l->spec);
                }
            }
            if (!clash && sim_rules_allow(spec, &n, false) && room_for(w, spec, &n)) {
                return true;
            }
        }
    }
    return false;
}
