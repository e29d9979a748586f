/*
 * Snapshots. Each part is built when someone looks and something changed since, and handed out by pointer: a quiet tick costs nothing here. What was lent to a process is not touched until that process has looked SIM_LENT more
 * times; so a nested tick of another process cannot change the ground under the first.
 */

#include <stdlib.h>
#include <string.h>

#include "sim/inner.h"

void sim_dirty(struct dr_world *w, enum sim_part part) {
    w->parts[part].dirty = true;
    if (part == SIM_PODS) {
        w->parts[SIM_BUDGETS].dirty = true; /* their status counts pods */
    }
}

static struct sim_gen *gen_new(struct dr_world *w) {
    struct sim_gen *g = w->gen_free;
    if (g != NULL) {
        w->gen_free = g->next_free;
        dr_arena_reset(&g->arena);
    } else {
        g = calloc(1, sizeof *g);
        DR_ASSERT(g != NULL);
        dr_arena_init(&g->arena, (size_t)1 << 30);
    }
    g->refs = 1;
    g->n = 0;
    g->v = NULL;
    return g;
}

static void gen_drop(struct dr_world *w, struct sim_gen *g) {
    if (g != NULL && --g->refs == 0) {
        g->next_free = w->gen_free;
        w->gen_free = g;
    }
}

static void build_instances(const struct dr_world *w, struct sim_gen *g, bool all) {
    struct dr_instance *v = DR_NEW_N(&g->arena, struct dr_instance, w->machine_n);
    for (size_t i = 0; i < w->machine_n; i++) {
        const struct sim_machine *m = &w->machines[i];
        if (!m->used || (!all && !m->visible)) {
            continue;
        }
        v[g->n++] = (struct dr_instance){
            .id = m->id,
            .type = w->types[m->type].name,
            .zone = w->zones[m->zone],
            .subnet = w->subnets[m->subnet].id,
            .private_ip = m->state == DR_INSTANCE_TERMINATED ? DR_STR_NONE : m->ip, /* EC2 forgets the address of an ended one */
            .market = m->market,
            .state = m->state,
            .launched_ms = m->launched_ms,
            .action_id = m->action_id,
            .index = m->index,
        };
    }
    g->v = v;
}

static void build_nodes(const struct dr_world *w, struct sim_gen *g) {
    struct dr_node *v = DR_NEW_N(&g->arena, struct dr_node, w->node_n);
    for (size_t i = 0; i < w->node_n; i++) {
        const struct sim_node *n = &w->nodes[i];
        if (!n->used) {
            continue;
        }
        v[g->n++] = (struct dr_node){
            .name = n->name,
            .uid = n->uid,
            .resource_version = dr_str_fmt(&g->arena, "%llu", (unsigned long long)n->version),
            .provider_id = n->provider_id,
            .instance_label = n->instance_label,
            .internal_ip = n->ip,
            .zone = n->zone_name,
            .created_ms = n->created_ms,
            .ready = n->ready,
            .ready_changed_ms = n->ready_changed_ms,
            .unschedulable = n->unschedulable,
            .cordon_owner = n->cordon_owner,
            .protected_ = n->protected_,
            .server = n->server,
            .labels = n->labels,
            .taints = n->taints,
            .taint_n = n->taint_n,
            .cpu_milli = n->cpu_milli,
            .mem_bytes = n->mem_bytes,
            .pod_limit = n->pod_limit,
        };
    }
    g->v = v;
}

static enum dr_owner owner_of(enum dr_world_kind kind) {
    switch (kind) {
    case DR_WORKLOAD_DEPLOYMENT:
        return DR_OWNER_CONTROLLER;
    case DR_WORKLOAD_DAEMONSET:
        return DR_OWNER_DAEMONSET;
    case DR_WORKLOAD_MIRROR:
        return DR_OWNER_MIRROR;
    case DR_WORKLOAD_BARE:
        return DR_OWNER_NONE;
    }
    return DR_OWNER_NONE;
}

static void build_pods(const struct dr_world *w, struct sim_gen *g) {
    struct dr_pod *v = DR_NEW_N(&g->arena, struct dr_pod, w->pods_alive);
    for (size_t i = 0; i < w->pod_n; i++) {
        const struct sim_pod *p = &w->pods[i];
        if (!p->used) {
            continue;
        }
        const struct sim_workload *l = &w->workloads[p->workload];
        v[g->n++] = (struct dr_pod){
            .ns = l->w.ns,
            .name = p->name,
            .uid = p->uid,
            .owner_uid = l->owner_uid,
            .owner = owner_of(l->w.kind),
            .phase = p->phase,
            .node = p->node == SIM_NONE ? DR_STR_NONE : w->nodes[p->node].name,
            .ready = p->ready,
            .critical = l->w.critical,
            .local_data = l->w.local_data,
            .unschedulable = p->unschedulable,
            .unschedulable_since_ms = p->unschedulable_since_ms,
            .created_ms = p->created_ms,
            .deleting = p->deleting,
            .delete_by_ms = p->delete_by_ms,
            .grace_ms = l->w.grace_ms,
            .labels = l->w.labels,
            .spec = l->spec,
        };
    }
    g->v = v;
}

static void build_budgets(const struct dr_world *w, struct sim_gen *g) {
    struct dr_budget *v = DR_NEW_N(&g->arena, struct dr_budget, w->budget_n);
    for (size_t i = 0; i < w->budget_n; i++) {
        struct sim_budget_status s = sim_budget_status(w, &w->budgets[i].b);
        v[i] = w->budgets[i].b;
        v[i].has_status = true;
        v[i].disruptions_allowed = s.healthy > s.desired ? s.healthy - s.desired : 0;
        v[i].expected_pods = s.expected;
    }
    g->v = v;
    g->n = w->budget_n;
}

static void remember(struct dr_world *w, struct sim_parts *parts) {
    if (parts->history_n == SIM_HISTORY) {
        gen_drop(w, parts->history[0]);
        memmove(&parts->history[0], &parts->history[1], (SIM_HISTORY - 1) * sizeof parts->history[0]);
        parts->history_n--;
    }
    parts->history[parts->history_n++] = parts->current;
    parts->current->refs++;
}

static struct sim_gen *current(struct dr_world *w, enum sim_part part) {
    struct sim_parts *parts = &w->parts[part];
    if (!parts->dirty && parts->current != NULL) {
        return parts->current;
    }
    if (parts->current != NULL && w->keep_history) {
        remember(w, parts);
    }
    gen_drop(w, parts->current);
    struct sim_gen *g = gen_new(w);
    switch (part) {
    case SIM_INSTANCES:
    case SIM_TRUE_INSTANCES:
        build_instances(w, g, part == SIM_TRUE_INSTANCES);
        break;
    case SIM_NODES:
        build_nodes(w, g);
        break;
    case SIM_PODS:
        build_pods(w, g);
        break;
    case SIM_BUDGETS:
        build_budgets(w, g);
        break;
    }
    g->built_ms = w->now_ms;
    parts->current = g;
    parts->dirty = false;
    return g;
}

/* The newest one that was built at least so long ago, or the oldest there is. */
static struct sim_gen *past(struct dr_world *w, enum sim_part part, int64_t stale_ms) {
    const struct sim_parts *parts = &w->parts[part];
    if (parts->current != NULL && parts->current->built_ms <= w->now_ms - stale_ms) {
        return parts->current;
    }
    for (size_t i = parts->history_n; i > 0; i--) {
        if (parts->history[i - 1]->built_ms <= w->now_ms - stale_ms) {
            return parts->history[i - 1];
        }
    }
    return parts->history_n > 0 ? parts->history[0] : current(w, part);
}

const struct sim_gen *sim_lend(struct dr_world *w, struct sim_process *p, enum sim_part part, int64_t stale_ms) {
    struct sim_gen *g;
    if (stale_ms >= 0) {
        g = past(w, part, stale_ms);
    } else {
        g = current(w, part);
        g->seen_ms = w->now_ms;
        g->seen_stamp = ++w->stamp;
    }
    size_t at = p->lent_at[part];
    if (p->lent[part][at] != g) {
        at = (at + 1) % SIM_LENT;
        gen_drop(w, p->lent[part][at]);
        g->refs++;
        p->lent[part][at] = g;
        p->lent_at[part] = at;
    }
    return g;
}

void sim_lend_free(struct dr_world *w) {
    for (int part = 0; part < SIM_PART_N; part++) {
        for (int i = 0; i <= DR_WORLD_MAX_PROCESSES; i++) {
            for (int k = 0; k < SIM_LENT; k++) {
                gen_drop(w, w->processes[i].lent[part][k]);
            }
        }
        for (size_t i = 0; i < w->parts[part].history_n; i++) {
            gen_drop(w, w->parts[part].history[i]);
        }
        gen_drop(w, w->parts[part].current);
    }
    while (w->gen_free != NULL) {
        struct sim_gen *g = w->gen_free;
        w->gen_free = g->next_free;
        dr_arena_deinit(&g->arena);
        free(g);
    }
}
