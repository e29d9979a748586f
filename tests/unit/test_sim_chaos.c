/*
 * Hours of bad luck: machines are reclaimed, fall silent and come back, capacity runs out, Describe lags, load jumps, and every kind of fault strikes at random calls, with a second process that runs inside the first. Then everything heals. The promises
 * must hold throughout, and the world must come to rest. Seeds are fixed, so that a failure is the change's and not the day's.
 */

#include "app/runner.h"
#include "base/rand.h"
#include "sim_help.h"

#define FIRST_SEED 1
#define SEEDS 150
#define BAD_MS (6 * DR_HOUR_MS)
#define HEAL_MS (3 * DR_HOUR_MS)

struct chaos {
    struct dr_world *world;
    struct dr_runner runner;
    struct dr_rand rand;
    int64_t end_ms;
};

static int64_t below(struct chaos *c, uint64_t n) { return (int64_t)dr_rand_below(&c->rand, n); }

static struct dr_str some_worker(struct chaos *c, int market) { return dr_world_pick(c->world, market, DR_STR_NONE, (size_t)below(c, 4)); }

static void all_speak(struct dr_world *world) {
    for (size_t i = 0; i < 12; i++) {
        (void)dr_world_kubelet(world, dr_world_pick(world, -1, DR_STR_NONE, i), true);
    }
}

static void load(struct dr_world *world, int64_t cpu) {
    dr_world_series(world, DR_STR("cpu"), dr_world_now(world), cpu);
    dr_world_series(world, DR_STR("memory"), dr_world_now(world), cpu * 2 / 3);
}

static void mishap(struct dr_world *world, void *arg) {
    struct chaos *c = arg;
    if (dr_world_now(world) > c->end_ms) {
        return;
    }
    switch (below(c, 9)) {
    case 0:
        dr_world_set_replicas(world, 0, below(c, 30));
        break;
    case 1:
        (void)dr_world_interrupt(world, some_worker(c, DR_MARKET_SPOT), below(c, 60000));
        break;
    case 2:
        (void)dr_world_rebalance(world, some_worker(c, DR_MARKET_SPOT), 0);
        break;
    case 3:
        (void)dr_world_kubelet(world, some_worker(c, -1), false);
        break;
    case 4:
        all_speak(world);
        break;
    case 5:
        dr_world_never_join_next(world, below(c, 2));
        break;
    case 6:
        dr_world_set_capacity(world, DR_STR_NONE, below(c, 2) ? DR_STR("a") : DR_STR("b"), (int)below(c, 2), below(c, 2) - 1);
        break;
    case 7:
        load(world, below(c, 900000));
        break;
    default:
        dr_world_set_describe_lag(world, below(c, 3) * 20 * DR_SECOND_MS);
        break;
    }
    dr_world_at(world, dr_world_now(world) + below(c, 10 * DR_MINUTE_MS), mishap, c);
}

static struct chaos *current; /* the interleave hook's self is the runner's */

static void second_process(void *self, const struct dr_call *call, bool after, int64_t arg) {
    (void)self;
    (void)after;
    (void)arg;
    struct chaos *c = current;
    if (call->process != 0 || c->runner.processes[1].running) {
        return;
    }
    (void)dr_world_advance(c->world, dr_world_now(c->world) + below(c, 3) * 40 * DR_SECOND_MS);
    (void)dr_runner_tick(&c->runner, 1);
}

static void add_workloads(struct dr_world *world) {
    struct dr_world_workload l[3] = {
        dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", 6, 400, 200 * SIM_MIB),
        dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "api", 4, 200, 100 * SIM_MIB),
        dr_world_workload_of(DR_WORKLOAD_DAEMONSET, "agent", 1, 50, 20 * SIM_MIB),
    };
    struct dr_err err;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(dr_world_add_workload(world, &l[i], &err), err);
    }
    struct dr_str app = DR_STR("api");
    struct dr_requirement selects = {DR_STR("app"), DR_OP_IN, {&app, 1}};
    struct dr_budget budget = {.name = DR_STR("api"), .selector = {&selects, 1}, .value = 1};
    CHECK_OK(dr_world_add_budget(world, &budget, &err), err);
}

static void open_world(struct chaos *c, uint64_t seed) {
    struct dr_config cfg;
    struct dr_world_options o;
    struct dr_err err;
    dr_config_init(&cfg, DR_PRESET_DEFAULT);
    cfg.max_workers = 6;
    cfg.idle_for_ms = 4 * DR_MINUTE_MS;
    cfg.spot_percent = 70;
    dr_world_options_init(&o, seed);
    o.cluster = cfg.cluster;
    o.min_workers = cfg.min_workers;
    o.max_workers = cfg.max_workers;
    o.join_timeout_ms = cfg.join_timeout_ms;
    o.zone_is_rule = dr_config_zone_is_rule(&cfg, 2);
    o.codec_check = true;
    c->world = dr_world_new(&o, &err);
    CHECK(c->world != NULL);
    dr_rand_init(&c->rand, seed * 7919);
    c->end_ms = o.start_ms + BAD_MS;
    for (int i = 0; i < 3; i++) {
        (void)dr_world_add_worker(c->world,
                                  &(struct dr_world_worker){.market = i > 0 ? DR_MARKET_SPOT : DR_MARKET_ON_DEMAND, .age_ms = DR_HOUR_MS});
    }
    add_workloads(c->world);
    dr_world_series(c->world, DR_STR("cpu"), 0, 200000);
    dr_world_series(c->world, DR_STR("memory"), 0, 300000);
    dr_runner_init(&c->runner, c->world, &cfg);
    dr_world_hooks(c->world)->interleave = second_process;
    current = c;
}

static void curse(struct dr_world *world) {
    static const enum dr_fault_kind kinds[] = {
        DR_FAULT_ERROR,       DR_FAULT_TIMEOUT, DR_FAULT_LOSE_REPLY,        DR_FAULT_CRASH_BEFORE,
        DR_FAULT_CRASH_AFTER, DR_FAULT_STALE,   DR_FAULT_INTERLEAVE_BEFORE, DR_FAULT_INTERLEAVE_AFTER,
    };
    struct dr_fault faults[8];
    for (size_t i = 0; i < 8; i++) {
        faults[i] = dr_fault_of(kinds[i]);
        faults[i].ppm = 8000;
        faults[i].ms = DR_MINUTE_MS;
    }
    dr_world_set_faults(world, faults, 8);
}

static void heal(struct dr_world *world) {
    dr_world_set_faults(world, NULL, 0);
    dr_world_set_capacity(world, DR_STR_NONE, DR_STR_NONE, -1, -1);
    dr_world_set_describe_lag(world, 0);
    dr_world_never_join_next(world, 0);
    all_speak(world);
    load(world, 500000);
    dr_world_set_replicas(world, 0, 6);
}

static uint64_t suffer(uint64_t seed) {
    struct chaos c;
    struct dr_buf buf;
    open_world(&c, seed);
    curse(c.world);
    dr_world_at(c.world, dr_world_now(c.world) + DR_MINUTE_MS, mishap, &c);
    (void)dr_runner_run(&c.runner, c.end_ms + DR_HOUR_MS);
    uint64_t strikes = dr_world_strikes(c.world);
    heal(c.world);
    (void)dr_runner_run(&c.runner, dr_world_now(c.world) + HEAL_MS);
    dr_buf_init(&buf, 1 << 20);
    if (dr_world_violation(c.world) != NULL) {
        dr_world_trace_tail(c.world, &buf);
        FAIL("seed %llu: %s\n%s", (unsigned long long)seed, dr_world_violation(c.world), buf.p);
    }
    if (!dr_world_check_settled(c.world, DR_SETTLED_PODS, &buf)) {
        FAIL("seed %llu did not come to rest:\n%s", (unsigned long long)seed, buf.p);
    }
    dr_buf_deinit(&buf);
    dr_runner_deinit(&c.runner);
    dr_world_free(c.world);
    return strikes;
}

TEST_TIMEOUT(sim_chaos, promises_hold_in_hours_of_bad_luck_and_the_world_comes_to_rest, 300) {
    uint64_t strikes = 0;
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
        strikes += suffer(seed);
    }
    CHECK(strikes / SEEDS > 10); /* the luck was bad indeed */
}
