/*
 * Machines: pending -> running -> (joined) -> shutting-down -> terminated -> no longer described.
 * A machine joins once, some time after it runs, unless it was drawn never to; its kubelet may fall silent and come back.
 */

#include "base/time.h"
#include "sim/inner.h"

#define JOIN_RETRY_MS (10 * DR_SECOND_MS)

size_t sim_type_find(const struct dr_world *w, struct dr_str name) {
    size_t i = 0;
    while (i < w->o.type_n && !dr_str_eq(w->types[i].name, name)) {
        i++;
    }
    return i;
}

size_t sim_subnet_find(const struct dr_world *w, struct dr_str id) {
    size_t i = 0;
    while (i < w->o.subnet_n && !dr_str_eq(w->subnets[i].id, id)) {
        i++;
    }
    return i;
}

size_t sim_zone_find(const struct dr_world *w, struct dr_str name) {
    size_t i = 0;
    while (i < w->zone_n && !dr_str_eq(w->zones[i], name)) {
        i++;
    }
    return i;
}

bool sim_machine_alive(const struct sim_machine *m) {
    return m->used && (m->state == DR_INSTANCE_PENDING || m->state == DR_INSTANCE_RUNNING);
}

struct sim_machine *sim_machine_find(struct dr_world *w, struct dr_str id) {
    for (size_t i = 0; i < w->machine_n; i++) {
        if (w->machines[i].used && dr_str_eq(w->machines[i].id, id)) {
            return &w->machines[i];
        }
    }
    return NULL;
}

void sim_peaks(struct dr_world *w) {
    int64_t alive = 0, ready = 0;
    for (size_t i = 0; i < w->machine_n; i++) {
        const struct sim_machine *m = &w->machines[i];
        if (sim_machine_alive(m)) {
            alive++;
            ready += m->node != SIM_NONE && w->nodes[m->node].ready == DR_READY_TRUE;
        }
    }
    w->stats.peak_workers = alive > w->stats.peak_workers ? alive : w->stats.peak_workers;
    if (!w->started || ready < w->stats.least_ready) {
        w->stats.least_ready = ready;
    }
}

void sim_bill(struct dr_world *w, struct sim_machine *m) {
    int64_t ms = w->now_ms - m->billed_ms;
    if (ms <= 0) {
        return;
    }
    int64_t price = w->price[m->type][m->zone][m->market].micro_usd;
    *(m->market == DR_MARKET_SPOT ? &w->cost_spot : &w->cost_od) += ms * price;
    w->stats.node_ms += ms;
    m->billed_ms = w->now_ms;
}

static bool address_taken(const struct dr_world *w, size_t subnet, int64_t address) {
    for (size_t i = 0; i < w->machine_n; i++) {
        const struct sim_machine *m = &w->machines[i];
        if (m->used && m->state != DR_INSTANCE_TERMINATED && m->subnet == subnet && m->address == address) {
            return true;
        }
    }
    return false;
}

static void give_address(struct dr_world *w, struct sim_machine *m) {
    int64_t a = w->subnet_next[m->subnet];
    if (w->o.reuse_addresses) {
        a = 0;
        while (address_taken(w, m->subnet, a)) {
            a++;
        }
    } else {
        w->subnet_next[m->subnet]++;
    }
    m->address = a;
    int high = (int)(a / 250), net = (int)m->subnet + 1, low = (int)(a % 250) + 4;
    m->ip = dr_str_fmt(&w->arena, "10.%d.%d.%d", high, net, low);
    m->node_name = dr_str_fmt(&w->arena, "ip-10-%d-%d-%d", high, net, low);
}

static struct sim_machine *new_slot(struct dr_world *w) {
    for (size_t i = 0; i < w->machine_n; i++) {
        if (!w->machines[i].used) {
            return &w->machines[i];
        }
    }
    return w->machine_n < w->machine_cap ? &w->machines[w->machine_n++] : NULL;
}

struct sim_machine *sim_machine_launch(struct dr_world *w, size_t type, size_t subnet, enum dr_market market, struct dr_str action_id,
                                       int64_t index) {
    struct sim_machine *m = new_slot(w);
    if (m == NULL) {
        return NULL;
    }
    *m = (struct sim_machine){
        .type = type,
        .subnet = subnet,
        .zone = w->subnet_zone[subnet],
        .market = market,
        .state = DR_INSTANCE_PENDING,
        .launched_ms = w->now_ms,
        .billed_ms = w->now_ms,
        .index = index,
        .node = SIM_NONE,
        .serial = ++w->serial,
        .action_id = sim_str(w, action_id),
    };
    give_address(w, m); /* before it counts as used */
    m->used = true;
    m->id = dr_str_fmt(&w->arena, "i-%016llx", (unsigned long long)++w->machine_serial);
    sim_dirty(w, SIM_INSTANCES);
    sim_dirty(w, SIM_TRUE_INSTANCES);
    sim_peaks(w);
    return m;
}

void sim_machine_boot(struct dr_world *w, struct sim_machine *m) {
    int slot = (int)(m - w->machines);
    /* All draws are made whatever they are used for, so that one machine's fate does not shift another's. */
    int64_t boot = dr_rand_between(&w->rand_boot, w->o.boot_min_ms, w->o.boot_max_ms);
    m->join_ms = dr_rand_between(&w->rand_boot, w->o.join_min_ms, w->o.join_max_ms);
    bool unlucky = (int64_t)dr_rand_below(&w->rand_boot, 1000000) < w->o.never_join_ppm;
    if (w->never_join_next > 0) {
        w->never_join_next--;
        unlucky = true;
    }
    m->never_join = m->never_join || unlucky || w->zone_broken[m->zone];
    sim_post(w, w->now_ms + boot, SIM_EV_BOOT, slot, m->serial, 0);
    if (w->o.describe_lag_ms > 0) {
        sim_post(w, w->now_ms + w->o.describe_lag_ms, SIM_EV_VISIBLE, slot, m->serial, 0);
    } else {
        m->visible = true;
        m->visible_stamp = ++w->stamp;
    }
}

static void ended(struct dr_world *w, struct sim_machine *m) {
    m->state = DR_INSTANCE_TERMINATED;
    sim_dirty(w, SIM_INSTANCES);
    sim_dirty(w, SIM_TRUE_INSTANCES);
    sim_trace(w, "instance %.*s terminated", DR_FMT(m->id));
    sim_post(w, w->now_ms + w->o.terminated_visible_ms, SIM_EV_VANISH, (int)(m - w->machines), m->serial, 0);
    if (w->o.nodes_vanish && m->node != SIM_NONE) {
        sim_node_remove(w, &w->nodes[m->node], "its machine ended");
    }
}

void sim_machine_kubelet(struct dr_world *w, struct sim_machine *m, bool up) {
    if (m->kubelet_up == up) {
        return;
    }
    m->kubelet_up = up;
    m->kubelet_since_ms = w->now_ms;
    if (m->node == SIM_NONE) {
        return;
    }
    if (up) {
        sim_node_set_ready(w, &w->nodes[m->node], DR_READY_TRUE);
        sim_pods_kubelet_back(w, m->node);
    } else {
        sim_post(w, w->now_ms + w->o.not_ready_after_ms, SIM_EV_SILENT, (int)(m - w->machines), m->serial, 0);
    }
}

void sim_machine_end(struct dr_world *w, struct sim_machine *m, bool at_once, const char *why) {
    DR_ASSERT(sim_machine_alive(m));
    sim_bill(w, m);
    m->lost_stamp = ++w->stamp;
    sim_machine_kubelet(w, m, false);
    if (m->node != SIM_NONE) {
        sim_pods_machine_died(w, m->node);
    }
    m->state = DR_INSTANCE_SHUTTING_DOWN;
    sim_trace(w, "instance %.*s shutting down: %s", DR_FMT(m->id), why);
    if (at_once) {
        ended(w, m);
    } else {
        sim_post(w, w->now_ms + w->o.shutdown_ms, SIM_EV_ENDED, (int)(m - w->machines), m->serial, 0);
    }
    sim_dirty(w, SIM_INSTANCES);
    sim_dirty(w, SIM_TRUE_INSTANCES);
    sim_peaks(w);
}

static void boot_event(struct dr_world *w, struct sim_machine *m, int slot) {
    if (m->state != DR_INSTANCE_PENDING) {
        return;
    }
    m->state = DR_INSTANCE_RUNNING;
    sim_dirty(w, SIM_INSTANCES);
    sim_dirty(w, SIM_TRUE_INSTANCES);
    sim_trace(w, "instance %.*s running", DR_FMT(m->id));
    if (!m->never_join) {
        sim_post(w, w->now_ms + m->join_ms, SIM_EV_JOIN, slot, m->serial, 0);
    }
}

/* K3s refuses a name whose Node (and node password) still exists; the agent tries on. */
static void join_event(struct dr_world *w, struct sim_machine *m, int slot) {
    if (m->state != DR_INSTANCE_RUNNING || m->node != SIM_NONE) {
        return;
    }
    if (sim_node_find(w, m->node_name) != NULL) {
        if (!m->refused_name) {
            sim_trace(w, "node %.*s refused: the name is taken (%.*s)", DR_FMT(m->node_name), DR_FMT(m->id));
        }
        m->refused_name = true;
        sim_post(w, w->now_ms + JOIN_RETRY_MS, SIM_EV_JOIN, slot, m->serial, 0);
        return;
    }
    struct sim_node *n = sim_node_join(w, m);
    if (n != NULL) {
        sim_post(w, w->now_ms + w->o.ready_ms, SIM_EV_READY, (int)(n - w->nodes), n->serial, 0);
    }
}

static void vanish_event(struct dr_world *w, struct sim_machine *m) {
    if (m->node != SIM_NONE) {
        w->nodes[m->node].machine = SIM_NONE;
    }
    m->used = false;
    sim_dirty(w, SIM_INSTANCES);
    sim_dirty(w, SIM_TRUE_INSTANCES);
}

static void silent_event(struct dr_world *w, struct sim_machine *m) {
    if (!m->kubelet_up && m->node != SIM_NONE && w->now_ms - m->kubelet_since_ms >= w->o.not_ready_after_ms) {
        sim_node_set_ready(w, &w->nodes[m->node], DR_READY_UNKNOWN);
    }
}

void sim_machine_event(struct dr_world *w, const struct sim_event *e) {
    struct sim_machine *m = &w->machines[e->slot];
    if (!m->used || m->serial != e->serial) {
        return;
    }
    switch (e->kind) {
    case SIM_EV_BOOT:
        boot_event(w, m, e->slot);
        break;
    case SIM_EV_VISIBLE:
        m->visible = true;
        m->visible_stamp = ++w->stamp;
        sim_dirty(w, SIM_INSTANCES);
        break;
    case SIM_EV_JOIN:
        join_event(w, m, e->slot);
        break;
    case SIM_EV_SILENT:
        silent_event(w, m);
        break;
    case SIM_EV_ENDED:
        ended(w, m);
        break;
    case SIM_EV_VANISH:
        vanish_event(w, m);
        break;
    case SIM_EV_RECLAIM:
        if (sim_machine_alive(m)) {
            sim_machine_end(w, m, false, "reclaimed");
        }
        break;
    case SIM_EV_NOTICE:
        sim_inbox_deliver(w, m->id, (enum dr_event_kind)e->b, e->b == DR_EVENT_WARNING ? m->warned_ms : m->hinted_ms);
        break;
    case SIM_EV_CALL:
    case SIM_EV_READY:
    case SIM_EV_EXPEL:
    case SIM_EV_START:
    case SIM_EV_GONE:
        break;
    }
}
