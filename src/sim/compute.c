/* The EC2 side: Describe, launch with idempotent tokens, terminate. */

#include "sim/inner.h"

static void compute_observe(void *self, struct dr_arena *arena, int64_t deadline_ms, struct dr_snapshot *ret) {
    struct sim_process *p = self;
    struct dr_world *w = p->world;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_COMPUTE_OBSERVE, deadline_ms, &g);
    ret->pool = w->pool;
    if (!g.act) {
        struct dr_err err;
        (void)sim_gate_refuse(p, &g, &err);
        ret->instances_part = (struct dr_part){false, dr_str_dup(arena, dr_str_of(err.text))};
        ret->instances = NULL;
        ret->instance_n = 0;
        return;
    }
    const struct sim_gen *gen = sim_lend(w, p, SIM_INSTANCES, g.stale_ms);
    p->instances_stamp = gen->seen_stamp;
    ret->instances_part = (struct dr_part){.known = true};
    ret->instances = gen->v;
    ret->instance_n = gen->n;
    (void)sim_gate_leave(p, &g, NULL);
}

static uint64_t parameters_of(const struct dr_launch *l) {
    uint64_t h = dr_str_hash(l->type) * 31 + dr_str_hash(l->subnet);
    h = h * 31 + dr_str_hash(l->template_version) + (uint64_t)l->market;
    return (h * 31 + dr_str_hash(l->action_id)) * 31 + (uint64_t)l->index;
}

/* A token is known per zone: the same one elsewhere launches again, as EC2 does. */
static const struct sim_token *token_find(const struct dr_world *w, struct dr_str token, size_t zone) {
    for (size_t i = 0; i < w->token_n; i++) {
        if (w->tokens[i].zone == zone && dr_str_eq(w->tokens[i].token, token)) {
            return &w->tokens[i];
        }
    }
    return NULL;
}

static void token_put(struct dr_world *w, const struct dr_launch *l, size_t zone, struct dr_str id) {
    struct sim_token *t = &w->tokens[w->token_seq++ % SIM_MAX_TOKENS];
    w->token_n = w->token_n < SIM_MAX_TOKENS ? w->token_n + 1 : SIM_MAX_TOKENS;
    *t = (struct sim_token){sim_str(w, l->token), zone, parameters_of(l), id};
}

static int64_t alive_count(const struct dr_world *w) {
    int64_t n = 0;
    for (size_t i = 0; i < w->machine_n; i++) {
        n += sim_machine_alive(&w->machines[i]);
    }
    return n;
}

static int refuse(struct dr_world *w, const struct dr_launch *l, struct dr_err *err, enum dr_code code, const char *why) {
    w->stats.launch_refusals++;
    sim_trace(w, "launch refused in %.*s (%.*s, %s): %s", DR_FMT(l->zone), DR_FMT(l->type),
              l->market == DR_MARKET_SPOT ? "spot" : "on-demand", why);
    return dr_fail(err, code, "compute.launch: %s", why);
}

static int launch_new(struct sim_process *p, const struct dr_launch *l, size_t type, size_t subnet, struct dr_str *ret_id,
                      struct dr_err *err) {
    struct dr_world *w = p->world;
    size_t zone = w->subnet_zone[subnet];
    struct sim_price *pool = &w->price[type][zone][l->market];
    if (pool->capacity == 0) {
        return refuse(w, l, err, DR_E_CAPACITY, "no capacity");
    }
    if (w->quota >= 0 && alive_count(w) >= w->quota) {
        return refuse(w, l, err, DR_E_QUOTA, "account limit");
    }
    sim_promise_launch(p, l);
    struct sim_machine *m = sim_machine_launch(w, type, subnet, l->market, l->action_id, l->index);
    if (m == NULL) {
        return refuse(w, l, err, DR_E_QUOTA, "ceiling of the world");
    }
    pool->capacity -= pool->capacity > 0;
    w->stats.launches++;
    sim_trace(w, "instance %.*s launched (%.*s, zone %.*s, %s, action %.*s index %d)", DR_FMT(m->id), DR_FMT(l->type),
              DR_FMT(w->zones[zone]), l->market == DR_MARKET_SPOT ? "spot" : "on-demand", DR_FMT(l->action_id), (int)l->index);
    sim_machine_boot(w, m);
    token_put(w, l, zone, m->id);
    *ret_id = m->id;
    return 0;
}

static int launch(struct sim_process *p, const struct dr_launch *l, struct dr_str *ret_id, struct dr_err *err) {
    struct dr_world *w = p->world;
    size_t type = sim_type_find(w, l->type), subnet = sim_subnet_find(w, l->subnet);
    if (type == w->o.type_n || subnet == w->o.subnet_n) {
        return refuse(w, l, err, DR_E_INVALID, "no such type or subnet");
    }
    if (l->zone.n > 0 && !dr_str_eq(l->zone, w->subnets[subnet].zone)) {
        return refuse(w, l, err, DR_E_INVALID, "the subnet is not in that zone");
    }
    if (l->token.n == 0 || l->token.n > DR_TOKEN_MAX) {
        return refuse(w, l, err, DR_E_INVALID, "token must have 1 to 64 characters");
    }
    const struct sim_token *t = token_find(w, l->token, w->subnet_zone[subnet]);
    if (t == NULL) {
        return launch_new(p, l, type, subnet, ret_id, err);
    }
    if (t->parameters != parameters_of(l)) {
        return refuse(w, l, err, DR_E_INVALID, "the token was used with other parameters");
    }
    *ret_id = t->id;
    return 0;
}

static int compute_launch(void *self, struct dr_arena *arena, const struct dr_launch *l, int64_t deadline_ms, struct dr_str *ret_id,
                          struct dr_err *err) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_COMPUTE_LAUNCH, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    struct dr_str id = DR_STR_NONE;
    int r = launch(p, l, &id, err);
    sim_settle(p->world);
    if (sim_gate_leave(p, &g, err) < 0) {
        return -1;
    }
    if (r == 0) {
        *ret_id = dr_str_dup(arena, id);
    }
    return r;
}

static int terminate(struct sim_process *p, struct dr_str id, struct dr_err *err) {
    struct dr_world *w = p->world;
    struct sim_machine *m = sim_machine_find(w, id);
    if (m == NULL || !m->visible) { /* a fresh one is not known everywhere yet */
        return dr_fail(err, DR_E_NOT_FOUND, "compute.terminate: %.*s does not exist", DR_FMT(id));
    }
    if (!sim_machine_alive(m)) {
        return 0;
    }
    sim_promise_terminate(p, m);
    if (w->broken) {
        return dr_fail(err, DR_E_UNAVAILABLE, "compute.terminate: the world stands still");
    }
    if (m->protected_) {
        sim_trace(w, "terminate refused for %.*s: protected", DR_FMT(id));
        return dr_fail(err, DR_E_PROTECTED, "compute.terminate: %.*s is protected", DR_FMT(id));
    }
    w->stats.terminations++;
    sim_machine_end(w, m, false, "terminated by the autoscaler");
    return 0;
}

static int compute_terminate(void *self, struct dr_str id, int64_t deadline_ms, struct dr_err *err) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_COMPUTE_TERMINATE, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    int r = terminate(p, id, err);
    sim_settle(p->world);
    return sim_gate_leave(p, &g, err) < 0 ? -1 : r;
}

const struct dr_compute_ops sim_compute_ops = {
    .request = NULL,
    .observe = compute_observe,
    .launch = compute_launch,
    .terminate = compute_terminate,
};
