/* Looking in: peek, counts, statistics, and whether the world has come to rest. */

#include "base/time.h"
#include "sim/inner.h"

void dr_world_peek(struct dr_world *world, struct dr_snapshot *ret) {
    struct sim_process *own = &world->processes[DR_WORLD_MAX_PROCESSES];
    sim_settle(world);
    const struct sim_gen *instances = sim_lend(world, own, SIM_TRUE_INSTANCES, -1);
    const struct sim_gen *nodes = sim_lend(world, own, SIM_NODES, -1);
    const struct sim_gen *pods = sim_lend(world, own, SIM_PODS, -1);
    const struct sim_gen *budgets = sim_lend(world, own, SIM_BUDGETS, -1);
    dr_arena_reset(&world->peeked);
    struct dr_event *events = DR_NEW_N(&world->peeked, struct dr_event, world->inbox_n);
    for (size_t i = 0; i < world->inbox_n; i++) {
        events[i] = world->inbox[i].event;
    }
    *ret = (struct dr_snapshot){
        .now_ms = world->now_ms,
        .instances_part = {.known = true},
        .instances = instances->v,
        .instance_n = instances->n,
        .nodes_part = {.known = true},
        .nodes = nodes->v,
        .node_n = nodes->n,
        .pods_part = {.known = true},
        .pods = pods->v,
        .pod_n = pods->n,
        .budgets_part = {.known = true},
        .budgets = budgets->v,
        .budget_n = budgets->n,
        .events_part = {.known = true},
        .events = events,
        .event_n = world->inbox_n,
        .pool = world->pool,
    };
}

static bool ghost(const struct dr_world *w, const struct sim_node *n) {
    return n->used && !n->server && (n->machine == SIM_NONE || w->machines[n->machine].state == DR_INSTANCE_TERMINATED);
}

static bool ready_worker(const struct dr_world *w, const struct sim_machine *m) {
    return sim_machine_alive(m) && m->node != SIM_NONE && w->nodes[m->node].ready == DR_READY_TRUE;
}

struct dr_world_counts dr_world_counts(struct dr_world *world) {
    struct dr_world_counts c = {0};
    sim_settle(world);
    for (size_t i = 0; i < world->machine_n; i++) {
        c.machines += sim_machine_alive(&world->machines[i]);
        c.ready += ready_worker(world, &world->machines[i]);
    }
    for (size_t i = 0; i < world->node_n; i++) {
        const struct sim_node *n = &world->nodes[i];
        c.nodes += n->used && !n->server;
        c.ghosts += ghost(world, n);
        c.cordoned += n->used && n->cordon_owner.n > 0;
    }
    for (size_t i = 0; i < world->pod_n; i++) {
        const struct sim_pod *p = &world->pods[i];
        c.pods += p->used;
        c.running += p->used && p->phase == DR_PHASE_RUNNING && !p->dead;
        c.waiting += p->used && p->unschedulable;
    }
    return c;
}

int64_t dr_world_zone_ready(struct dr_world *world, struct dr_str zone) {
    int64_t n = 0;
    for (size_t i = 0; i < world->machine_n; i++) {
        const struct sim_machine *m = &world->machines[i];
        n += ready_worker(world, m) && dr_str_eq(world->zones[m->zone], zone);
    }
    return n;
}

struct dr_world_stats dr_world_stats(struct dr_world *world) {
    for (size_t i = 0; i < world->machine_n; i++) {
        if (sim_machine_alive(&world->machines[i])) {
            sim_bill(world, &world->machines[i]);
        }
    }
    struct dr_world_stats s = world->stats;
    s.cost_on_demand_micro_usd = world->cost_od / DR_HOUR_MS;
    s.cost_spot_micro_usd = world->cost_spot / DR_HOUR_MS;
    int64_t elapsed = world->now_ms - world->o.start_ms;
    s.cost_fixed_micro_usd = elapsed / DR_SECOND_MS * world->types[0].on_demand_micro_usd / 3600 * world->o.fixed_fleet;
    s.pending_pod_ms += world->waiting_n * (world->now_ms - world->waiting_ms);
    return s;
}

/* ---- at rest ---- */

struct rest {
    struct dr_buf *buf;
    bool settled;
};

static void open_matter(struct rest *r, struct dr_str what, const char *why) {
    r->settled = false;
    if (r->buf != NULL) {
        dr_buf_put_str(r->buf, what);
        dr_buf_puts(r->buf, why);
        dr_buf_putc(r->buf, '\n');
    }
}

static bool listed(struct dr_strs list, struct dr_str id) {
    for (size_t i = 0; i < list.n; i++) {
        if (dr_str_eq(list.v[i], id)) {
            return true;
        }
    }
    return false;
}

static void check_item(struct dr_world *w, const struct dr_state *s, struct rest *r) {
    if (s->up_action_id.n > 0) {
        open_matter(r, s->up_action_id, ": scale-up is still active");
    }
    if (s->down_action_id.n > 0) {
        open_matter(r, s->down_action_id, ": scale-down is still active");
    }
    if (s->scaling && s->up_action_id.n == 0 && s->down_action_id.n == 0) {
        open_matter(r, s->pk, ": scalingInProgress without an action");
    }
    for (size_t i = 0; i < s->records.n; i++) {
        open_matter(r, s->records.v[i].instance_id, ": interruption record is still open");
    }
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct sim_machine *m = sim_machine_find(w, s->marks.v[i]);
        if (m != NULL && sim_machine_alive(m)) {
            open_matter(r, m->id, ": marked and still running");
        }
    }
}

static bool exempt(const struct dr_state *s, const struct sim_machine *m) {
    if (m->action_id.n == 0) {
        return true; /* nobody's business but its owner's */
    }
    bool kept = s != NULL && listed(s->refused, m->id);
    for (size_t i = 0; s != NULL && i < s->quarantined.n; i++) {
        kept = kept || dr_str_eq(s->quarantined.v[i].id, m->id);
    }
    return kept;
}

static void check_machines(const struct dr_world *w, const struct dr_state *s, struct rest *r) {
    for (size_t i = 0; i < w->machine_n; i++) {
        const struct sim_machine *m = &w->machines[i];
        if (!sim_machine_alive(m)) {
            continue;
        }
        bool refused = s != NULL && listed(s->refused, m->id);
        if (m->warned && w->now_ms - m->warned_ms > 15 * DR_MINUTE_MS && !refused) {
            open_matter(r, m->id, ": warned long ago and still running");
        }
        if (m->node == SIM_NONE && !exempt(s, m)) {
            open_matter(r, m->id, ": neither a worker nor ended");
        }
    }
}

static void check_nodes(const struct dr_world *w, struct rest *r) {
    for (size_t i = 0; i < w->node_n; i++) {
        const struct sim_node *n = &w->nodes[i];
        if (n->used && n->cordon_owner.n > 0) {
            open_matter(r, n->name, ": still cordoned by us");
        }
        if (ghost(w, n) && !n->identity_broken) {
            open_matter(r, n->name, ": Node without a machine");
        }
    }
}

static int64_t held(const struct dr_world *w) {
    int64_t n = 0;
    for (size_t i = 0; i < w->machine_n; i++) {
        n += sim_machine_alive(&w->machines[i]);
    }
    return n;
}

static void check_pods(struct dr_world *w, unsigned flags, struct rest *r) {
    bool room = held(w) < w->o.max_workers;
    for (size_t i = 0; i < w->pod_n; i++) {
        const struct sim_pod *p = &w->pods[i];
        if (!p->used || !p->unschedulable) {
            continue;
        }
        const struct dr_pod_spec *spec = w->workloads[p->workload].spec;
        if ((flags & DR_SETTLED_PODS) && room && p->only_node == SIM_NONE && sim_new_worker_helps(w, spec)) {
            open_matter(r, p->name, ": waits although a new worker would run it");
        }
    }
}

bool dr_world_check_settled(struct dr_world *world, unsigned flags, struct dr_buf *buf) {
    struct rest r = {buf, true};
    sim_settle(world);
    const struct dr_state *s = dr_world_item(world);
    if (s != NULL) {
        check_item(world, s, &r);
    }
    check_machines(world, s, &r);
    check_nodes(world, &r);
    check_pods(world, flags, &r);
    if (held(world) > world->o.max_workers) {
        open_matter(&r, world->o.cluster, ": more workers than the maximum");
    }
    return r.settled;
}
