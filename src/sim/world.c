/* Making and ending a world, its clock and its ports. */

#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "sim/inner.h"

#define MIB (INT64_C(1) << 20)

static const struct dr_worker_type default_types[] = {
    {.name = {"t3.medium", 9}, .cpu_milli = 1930, .mem_bytes = 3500 * MIB, .pod_limit = 110, .on_demand_micro_usd = 41600},
};
static const struct dr_subnet default_subnets[] = {
    {.id = {"subnet-a", 8}, .zone = {"a", 1}},
    {.id = {"subnet-b", 8}, .zone = {"b", 1}},
};

void dr_world_options_init(struct dr_world_options *options, uint64_t seed) {
    *options = (struct dr_world_options){
        .seed = seed,
        .start_ms = INT64_C(1763200800000), /* 2025-11-15T10:00:00Z */
        .cluster = DR_STR("cluster"),
        .types = default_types,
        .type_n = 1,
        .subnets = default_subnets,
        .subnet_n = 2,
        .region = DR_STR("eu-central-1"),
        .template_version = DR_STR("1"),
        .servers = 1,
        .spot_percent_of_price = 35,
        .min_workers = 2,
        .max_workers = 10,
        .join_timeout_ms = 10 * DR_MINUTE_MS,
        .zone_is_rule = true,
        .check = true,
        .boot_min_ms = 15 * DR_SECOND_MS,
        .boot_max_ms = 30 * DR_SECOND_MS,
        .join_min_ms = 25 * DR_SECOND_MS,
        .join_max_ms = 50 * DR_SECOND_MS,
        .ready_ms = 10 * DR_SECOND_MS,
        .not_ready_after_ms = 40 * DR_SECOND_MS,
        .pod_eviction_ms = 5 * DR_MINUTE_MS,
        .shutdown_ms = 30 * DR_SECOND_MS,
        .terminated_visible_ms = DR_HOUR_MS,
        .identity = DR_IDENTITY_BOTH,
        .pod_start_ms = 3 * DR_SECOND_MS,
        .pod_stop_ms = 5 * DR_SECOND_MS,
        .sample_ms = 15 * DR_SECOND_MS,
        .pod_use_percent = 60,
        .max_machines = 2000,
        .max_pods = 20000,
        .journal_rows = 2000,
    };
}

static int check_times(const struct dr_world_options *o, struct dr_err *err) {
    if (o->boot_min_ms < 0 || o->boot_max_ms < o->boot_min_ms || o->join_min_ms < 0 || o->join_max_ms < o->join_min_ms) {
        return dr_fail(err, DR_E_INVALID, "world: boot and join times must be 0 <= min <= max");
    }
    if (o->sample_ms < DR_SECOND_MS) {
        return dr_fail(err, DR_E_INVALID, "world: sample_ms: %lld: at least 1000", (long long)o->sample_ms);
    }
    if (o->min_workers < 0 || o->max_workers < o->min_workers) {
        return dr_fail(err, DR_E_INVALID, "world: workers: minimum %lld, maximum %lld: 0 <= minimum <= maximum", (long long)o->min_workers,
                       (long long)o->max_workers);
    }
    return 0;
}

static int check_options(const struct dr_world_options *o, struct dr_err *err) {
    if (o->type_n == 0 || o->type_n > DR_WORLD_MAX_TYPES) {
        return dr_fail(err, DR_E_INVALID, "world: types: %zu: 1 to %d", o->type_n, DR_WORLD_MAX_TYPES);
    }
    if (o->subnet_n == 0 || o->subnet_n > SIM_MAX_SUBNETS) {
        return dr_fail(err, DR_E_INVALID, "world: subnets: %zu: 1 to %d", o->subnet_n, SIM_MAX_SUBNETS);
    }
    for (size_t i = 0; i < o->type_n; i++) {
        if (o->types[i].cpu_milli <= 0 || o->types[i].mem_bytes <= 0 || o->types[i].pod_limit <= 0) {
            return dr_fail(err, DR_E_INVALID, "world: type %.*s: cpu, memory and pods must be above 0", DR_FMT(o->types[i].name));
        }
    }
    if (o->max_machines == 0 || o->max_machines > 100000 || o->max_pods > 1000000) {
        return dr_fail(err, DR_E_LIMIT, "world: at most 100000 machines and 1000000 pods");
    }
    return check_times(o, err);
}

static int copy_pool(struct dr_world *w, struct dr_err *err) {
    for (size_t i = 0; i < w->o.type_n; i++) {
        struct dr_worker_type *t = &w->types[i];
        *t = w->o.types[i];
        t->name = sim_str(w, t->name);
        t->labels = sim_labels(w, t->labels);
        t->taints = sim_taints(w, t->taints, t->taint_n, 0);
    }
    for (size_t i = 0; i < w->o.subnet_n; i++) {
        w->subnets[i] = (struct dr_subnet){sim_str(w, w->o.subnets[i].id), sim_str(w, w->o.subnets[i].zone)};
        size_t z = sim_zone_find(w, w->subnets[i].zone);
        if (z == w->zone_n) {
            if (z == DR_WORLD_MAX_ZONES) {
                return dr_fail(err, DR_E_LIMIT, "world: more than %d zones", DR_WORLD_MAX_ZONES);
            }
            w->zones[w->zone_n++] = w->subnets[i].zone;
        }
        w->subnet_zone[i] = z;
    }
    for (size_t t = 0; t < w->o.type_n; t++) {
        for (size_t z = 0; z < w->zone_n; z++) {
            int64_t price = w->types[t].on_demand_micro_usd;
            w->price[t][z][DR_MARKET_ON_DEMAND] = (struct sim_price){price, -1};
            w->price[t][z][DR_MARKET_SPOT] = (struct sim_price){price * w->o.spot_percent_of_price / 100, -1};
        }
    }
    w->o.types = w->types;
    w->o.subnets = w->subnets;
    w->o.cluster = sim_str(w, w->o.cluster);
    w->o.region = sim_str(w, w->o.region);
    w->o.template_version = sim_str(w, w->o.template_version);
    w->pool = (struct dr_pool){w->types, w->o.type_n, w->subnets, w->o.subnet_n, w->o.template_version};
    return 0;
}

static void init_ceilings(struct dr_world *w) {
    w->machine_cap = w->o.max_machines;
    w->machines = calloc(w->machine_cap, sizeof *w->machines);
    /* Ghosts and servers need room beside the machines. */
    w->node_cap = w->o.max_machines * 2 + (size_t)w->o.servers;
    w->nodes = calloc(w->node_cap, sizeof *w->nodes);
    w->tokens = calloc(SIM_MAX_TOKENS, sizeof *w->tokens);
    w->intents = calloc(SIM_MAX_INTENTS, sizeof *w->intents);
    w->budgets = calloc(SIM_MAX_BUDGETS, sizeof *w->budgets);
    w->ring = calloc(DR_WORLD_TRACE_RING, sizeof *w->ring);
    DR_ASSERT(w->machines != NULL && w->nodes != NULL && w->tokens != NULL && w->intents != NULL && w->budgets != NULL && w->ring != NULL);
}

struct dr_world *dr_world_new(const struct dr_world_options *options, struct dr_err *err) {
    if (check_options(options, err) < 0) {
        return NULL;
    }
    struct dr_world *w = calloc(1, sizeof *w);
    DR_ASSERT(w != NULL);
    w->o = *options;
    dr_arena_init(&w->arena, (size_t)1 << 30);
    dr_arena_init(&w->scratch, (size_t)1 << 28);
    dr_arena_init(&w->peeked, (size_t)1 << 28);
    w->now_ms = w->o.start_ms;
    w->waiting_ms = w->now_ms;
    struct dr_rand root;
    dr_rand_init(&root, w->o.seed);
    w->rand_boot = dr_rand_split(&root, 1);
    w->rand_fault = dr_rand_split(&root, 2);
    w->quota = -1;
    w->trace_hash = UINT64_C(0xcbf29ce484222325);
    w->sweep_due_ms = INT64_MAX;
    w->sampled_to = w->now_ms / w->o.sample_ms - SIM_SAMPLES;
    w->totals_due = true;
    if (w->o.fixed_fleet == 0) {
        w->o.fixed_fleet = w->o.max_workers;
    }
    if (copy_pool(w, err) < 0) {
        dr_world_free(w);
        return NULL;
    }
    init_ceilings(w);
    for (int i = 0; i <= DR_WORLD_MAX_PROCESSES; i++) {
        w->processes[i].world = w;
        w->processes[i].number = i;
    }
    for (int part = 0; part < SIM_PART_N; part++) {
        w->parts[part].dirty = true;
    }
    sim_gate_review(w);
    for (int64_t i = 1; i <= w->o.servers; i++) {
        sim_node_server(w, i);
    }
    return w;
}

void dr_world_free(struct dr_world *world) {
    if (world == NULL) {
        return;
    }
    sim_lend_free(world);
    sim_metrics_free(world);
    sim_store_free(world);
    free(world->events);
    free(world->machines);
    free(world->nodes);
    free(world->pods);
    free(world->pod_free);
    free(world->workloads);
    free(world->budgets);
    free(world->tokens);
    free(world->intents);
    free(world->ring);
    dr_arena_deinit(&world->arena);
    dr_arena_deinit(&world->scratch);
    dr_arena_deinit(&world->peeked);
    free(world);
}

static int64_t clock_now(void *self) {
    const struct sim_process *p = self;
    return p->world->now_ms + p->clock_offset_ms;
}

static void clock_sleep(void *self, int64_t ms) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_CLOCK_SLEEP, 0, &g);
    if (ms > 0) {
        (void)dr_world_advance(p->world, p->world->now_ms + ms);
    }
    (void)sim_gate_leave(p, &g, NULL);
}

static bool clock_stopping(void *self) {
    const struct sim_process *p = self;
    return p->stopping || p->world->broken;
}

static void notify(void *self, int64_t now_ms, enum dr_notice_level level, const char *event, struct dr_str text) {
    struct sim_process *p = self;
    if (level == DR_NOTICE_ALERT) {
        p->world->stats.alerts++;
    }
    sim_trace(p->world, "%s %s: %.*s", level == DR_NOTICE_ALERT ? "alert" : "notice", event, DR_FMT(dr_str_sub(text, 0, 120)));
    if (p->world->o.hooks.notify != NULL) {
        p->world->o.hooks.notify(p->world->o.hooks.self, now_ms, level, event, text);
    }
}

static void notify_plan(void *self, const struct dr_plan *plan) {
    struct sim_process *p = self;
    if (p->world->o.hooks.plan != NULL) {
        p->world->o.hooks.plan(p->world->o.hooks.self, plan);
    }
}

static const struct dr_clock_ops clock_ops = {clock_now, clock_sleep, clock_stopping};
static const struct dr_notify_ops notify_ops = {notify, notify_plan};

struct dr_ports dr_world_ports(struct dr_world *world, int process) {
    DR_ASSERT(process >= 0 && process < DR_WORLD_MAX_PROCESSES);
    struct sim_process *p = &world->processes[process];
    return (struct dr_ports){
        .clock = {&clock_ops, p},
        .metrics = {&sim_metrics_ops, p},
        .cluster = {&sim_cluster_ops, p},
        .compute = {&sim_compute_ops, p},
        .store = {&sim_store_ops, p},
        .notify = {&notify_ops, p},
    };
}

void dr_world_stop(struct dr_world *world, int process, bool on) {
    DR_ASSERT(process >= 0 && process < DR_WORLD_MAX_PROCESSES);
    world->processes[process].stopping = on;
}

void dr_world_set_clock_offset(struct dr_world *world, int process, int64_t ms) {
    DR_ASSERT(process >= 0 && process < DR_WORLD_MAX_PROCESSES);
    world->processes[process].clock_offset_ms = ms;
}

struct dr_world_hooks *dr_world_hooks(struct dr_world *world) {
    world->gate_busy = true; /* a call hook may be set through it */
    return &world->o.hooks;
}
