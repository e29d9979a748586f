/* What the runner does to machines, Nodes and the cloud. */

#include "base/time.h"
#include "sim/inner.h"

#define NOTICE_MS (2 * DR_MINUTE_MS)

static bool named(struct dr_str wanted, struct dr_str name) { return wanted.n == 0 || dr_str_eq(wanted, name); }

static size_t alive_in_subnet(const struct dr_world *w, size_t subnet) {
    size_t n = 0;
    for (size_t i = 0; i < w->machine_n; i++) {
        n += sim_machine_alive(&w->machines[i]) && w->machines[i].subnet == subnet;
    }
    return n;
}

static size_t choose_subnet(const struct dr_world *w, const struct dr_world_worker *worker) {
    if (worker->subnet.n > 0) {
        return sim_subnet_find(w, worker->subnet);
    }
    size_t best = w->o.subnet_n;
    for (size_t i = 0; i < w->o.subnet_n; i++) {
        bool fits = worker->zone.n == 0 || dr_str_eq(worker->zone, w->subnets[i].zone);
        if (fits && (best == w->o.subnet_n || alive_in_subnet(w, i) < alive_in_subnet(w, best))) {
            best = i;
        }
    }
    return best;
}

struct dr_str dr_world_add_worker(struct dr_world *world, const struct dr_world_worker *worker) {
    size_t type = worker->type.n == 0 ? 0 : sim_type_find(world, worker->type);
    size_t subnet = choose_subnet(world, worker);
    DR_ASSERT(type < world->o.type_n && subnet < world->o.subnet_n);
    struct sim_machine *m = sim_machine_launch(world, type, subnet, worker->market, worker->action_id, worker->index);
    DR_ASSERT(m != NULL);
    m->launched_ms -= worker->age_ms;
    m->never_join = worker->never_join;
    sim_trace(world, "instance %.*s added (zone %.*s, %s)", DR_FMT(m->id), DR_FMT(world->zones[m->zone]),
              m->market == DR_MARKET_SPOT ? "spot" : "on-demand");
    if (worker->booting) {
        sim_machine_boot(world, m);
        return m->id;
    }
    m->visible = true;
    m->visible_stamp = ++world->stamp;
    m->state = DR_INSTANCE_RUNNING;
    if (!worker->never_join) {
        struct sim_node *n = sim_node_join(world, m);
        DR_ASSERT(n != NULL);
        n->created_ms -= worker->age_ms > 0 ? worker->age_ms - 1 : 0; /* younger than the launch */
        sim_node_set_ready(world, n, DR_READY_TRUE);
        n->ready_changed_ms = n->created_ms;
    }
    return m->id;
}

static struct sim_machine *alive(struct dr_world *w, struct dr_str id) {
    struct sim_machine *m = sim_machine_find(w, id);
    return m != NULL && sim_machine_alive(m) ? m : NULL;
}

static struct sim_node *node_of(struct dr_world *w, struct dr_str id) {
    for (size_t i = 0; i < w->node_n; i++) {
        if (w->nodes[i].used && dr_str_eq(w->nodes[i].machine_id, id)) {
            return &w->nodes[i];
        }
    }
    return NULL;
}

bool dr_world_interrupt(struct dr_world *world, struct dr_str id, int64_t notice_delay_ms) {
    struct sim_machine *m = alive(world, id);
    if (m == NULL) {
        return false;
    }
    int slot = (int)(m - world->machines);
    m->warned = true;
    m->warned_ms = world->now_ms;
    world->stats.interruptions++;
    sim_trace(world, "instance %.*s will be reclaimed in 2 minutes", DR_FMT(m->id));
    sim_post(world, world->now_ms + NOTICE_MS, SIM_EV_RECLAIM, slot, m->serial, 0);
    if (notice_delay_ms >= 0) {
        sim_post(world, world->now_ms + notice_delay_ms, SIM_EV_NOTICE, slot, m->serial, DR_EVENT_WARNING);
    }
    return true;
}

size_t dr_world_reclaim(struct dr_world *world, struct dr_str type, struct dr_str zone, int64_t percent, int64_t notice_delay_ms) {
    size_t n = 0;
    for (size_t i = 0; i < world->machine_n; i++) {
        const struct sim_machine *m = &world->machines[i];
        bool here = named(type, world->types[m->type].name) && named(zone, world->zones[m->zone]);
        if (!m->used || m->state != DR_INSTANCE_RUNNING || m->market != DR_MARKET_SPOT || m->warned || !here) {
            continue;
        }
        if ((int64_t)dr_rand_below(&world->rand_fault, 100) < percent) {
            n += dr_world_interrupt(world, m->id, notice_delay_ms);
        }
    }
    return n;
}

bool dr_world_rebalance(struct dr_world *world, struct dr_str id, int64_t notice_delay_ms) {
    struct sim_machine *m = alive(world, id);
    if (m == NULL) {
        return false;
    }
    m->hinted_ms = world->now_ms;
    sim_trace(world, "instance %.*s is likely to be reclaimed", DR_FMT(m->id));
    if (notice_delay_ms >= 0) {
        sim_post(world, world->now_ms + notice_delay_ms, SIM_EV_NOTICE, (int)(m - world->machines), m->serial, DR_EVENT_REBALANCE);
    }
    return true;
}

bool dr_world_kill(struct dr_world *world, struct dr_str id) {
    struct sim_machine *m = alive(world, id);
    if (m != NULL) {
        sim_machine_end(world, m, true, "killed");
    }
    return m != NULL;
}

bool dr_world_kubelet(struct dr_world *world, struct dr_str id, bool up) {
    struct sim_machine *m = alive(world, id);
    if (m == NULL || m->node == SIM_NONE) {
        return false;
    }
    sim_trace(world, "kubelet of %.*s %s", DR_FMT(id), up ? "speaks" : "falls silent");
    sim_machine_kubelet(world, m, up);
    return true;
}

bool dr_world_protect(struct dr_world *world, struct dr_str id, bool on) {
    struct sim_machine *m = alive(world, id);
    if (m != NULL) {
        m->protected_ = on;
    }
    return m != NULL;
}

bool dr_world_node_protect(struct dr_world *world, struct dr_str id, bool on) {
    struct sim_node *n = node_of(world, id);
    if (n != NULL) {
        n->protected_ = on;
        sim_node_changed(world, n);
    }
    return n != NULL;
}

bool dr_world_node_cordon(struct dr_world *world, struct dr_str id, bool on) {
    struct sim_node *n = node_of(world, id);
    if (n == NULL) {
        return false;
    }
    n->unschedulable = on;
    n->by_person = on;
    if (!on) {
        n->cordon_owner = DR_STR_NONE;
    }
    sim_trace(world, "node %.*s %s by a person", DR_FMT(n->name), on ? "cordoned" : "uncordoned");
    sim_node_changed(world, n);
    return true;
}

bool dr_world_node_taint(struct dr_world *world, struct dr_str id, const struct dr_taint *taint) {
    struct sim_node *n = node_of(world, id);
    if (n == NULL) {
        return false;
    }
    struct dr_taint *v = sim_taints(world, n->taints, n->taint_n, 1);
    v[n->taint_n] = (struct dr_taint){sim_str(world, taint->key), sim_str(world, taint->value), taint->effect};
    n->taints = v;
    n->taint_n++;
    sim_node_changed(world, n);
    return true;
}

bool dr_world_node_delete(struct dr_world *world, struct dr_str id) {
    struct sim_node *n = node_of(world, id);
    if (n != NULL) {
        sim_node_remove(world, n, "deleted by a person");
    }
    return n != NULL;
}

bool dr_world_node_break_identity(struct dr_world *world, struct dr_str id) {
    struct sim_node *n = node_of(world, id);
    if (n == NULL) {
        return false;
    }
    n->identity_broken = true;
    n->provider_id = dr_str_fmt(&world->arena, "k3s://%.*s", DR_FMT(n->name));
    n->instance_label = DR_STR_NONE;
    n->ip = DR_STR("192.0.2.1"); /* nobody's */
    sim_node_changed(world, n);
    return true;
}

void dr_world_event(struct dr_world *world, struct dr_str id, enum dr_event_kind kind, int64_t at_ms) {
    sim_inbox_deliver(world, id, kind, at_ms);
}

struct dr_str dr_world_pick(struct dr_world *world, int market, struct dr_str zone, size_t n) {
    uint64_t after = 0;
    for (;;) {
        const struct sim_machine *next = NULL;
        for (size_t i = 0; i < world->machine_n; i++) {
            const struct sim_machine *m = &world->machines[i];
            bool fits = m->used && m->state == DR_INSTANCE_RUNNING && (market < 0 || (int)m->market == market) &&
                        (zone.n == 0 || dr_str_eq(world->zones[m->zone], zone));
            if (fits && m->serial > after && (next == NULL || m->serial < next->serial)) {
                next = m;
            }
        }
        if (next == NULL || n-- == 0) {
            return next == NULL ? DR_STR_NONE : next->id;
        }
        after = next->serial;
    }
}

static void settle_bills(struct dr_world *w) {
    for (size_t i = 0; i < w->machine_n; i++) {
        if (sim_machine_alive(&w->machines[i])) {
            sim_bill(w, &w->machines[i]);
        }
    }
}

static void set_pools(struct dr_world *w, struct dr_str type, struct dr_str zone, int market, const int64_t *capacity,
                      const int64_t *price) {
    settle_bills(w);
    for (size_t t = 0; t < w->o.type_n; t++) {
        for (size_t z = 0; z < w->zone_n; z++) {
            for (int m = 0; m < 2; m++) {
                if (!named(type, w->types[t].name) || !named(zone, w->zones[z]) || (market >= 0 && market != m)) {
                    continue;
                }
                w->price[t][z][m].capacity = capacity != NULL ? *capacity : w->price[t][z][m].capacity;
                w->price[t][z][m].micro_usd = price != NULL ? *price : w->price[t][z][m].micro_usd;
            }
        }
    }
}

void dr_world_set_capacity(struct dr_world *world, struct dr_str type, struct dr_str zone, int market, int64_t n) {
    set_pools(world, type, zone, market, &n, NULL);
}

void dr_world_set_price(struct dr_world *world, struct dr_str type, struct dr_str zone, int market, int64_t micro_usd_per_hour) {
    set_pools(world, type, zone, market, NULL, &micro_usd_per_hour);
}

void dr_world_set_quota(struct dr_world *world, int64_t instances) { world->quota = instances; }

void dr_world_never_join_next(struct dr_world *world, int64_t n) { world->never_join_next = n; }

void dr_world_zone_broken(struct dr_world *world, struct dr_str zone, bool on) {
    size_t z = sim_zone_find(world, zone);
    DR_ASSERT(z < world->zone_n);
    world->zone_broken[z] = on;
}

void dr_world_set_boot(struct dr_world *world, int64_t boot_ms, int64_t join_ms, int64_t ready_ms) {
    if (boot_ms >= 0) {
        world->o.boot_min_ms = world->o.boot_max_ms = boot_ms;
    }
    if (join_ms >= 0) {
        world->o.join_min_ms = world->o.join_max_ms = join_ms;
    }
    if (ready_ms >= 0) {
        world->o.ready_ms = ready_ms;
    }
}

void dr_world_set_describe_lag(struct dr_world *world, int64_t ms) { world->o.describe_lag_ms = ms; }
