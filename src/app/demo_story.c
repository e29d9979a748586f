#include "app/demo_story.h"

#include "base/time.h"

#define GIB (INT64_C(1) << 30)
#define START_MS INT64_C(1772474400000) /* 2026-03-02 18:00 UTC, a Monday */

static const struct dr_worker_type types[] = {{
    .name = {"m6i.large", 9},
    .cpu_milli = 1930,
    .mem_bytes = 7 * GIB,
    .pod_limit = 29,
    .on_demand_micro_usd = 96000,
}};

static const struct dr_subnet subnets[] = {
    {{"subnet-a", 8}, {"eu-west-1a", 10}},
    {{"subnet-b", 8}, {"eu-west-1b", 10}},
    {{"subnet-c", 8}, {"eu-west-1c", 10}},
};

void dr_demo_options(uint64_t seed, struct dr_world_options *options, struct dr_config *cfg) {
    dr_config_init(cfg, DR_PRESET_DEFAULT);
    cfg->cluster = DR_STR("demo");
    cfg->min_workers = 3;
    cfg->max_workers = 12;
    cfg->max_batch_up = 3;
    cfg->spot_percent = 70;
    cfg->on_demand_base = 2;
    dr_world_options_init(options, seed);
    options->start_ms = START_MS;
    options->cluster = cfg->cluster;
    options->types = types;
    options->type_n = sizeof(types) / sizeof(types[0]);
    options->subnets = subnets;
    options->subnet_n = sizeof(subnets) / sizeof(subnets[0]);
    options->region = DR_STR("eu-west-1");
    options->min_workers = cfg->min_workers;
    options->max_workers = cfg->max_workers;
    options->join_timeout_ms = cfg->join_timeout_ms;
    options->zone_is_rule = true;
    options->boot_min_ms = 25 * DR_SECOND_MS;
    options->boot_max_ms = 45 * DR_SECOND_MS;
    options->join_min_ms = 20 * DR_SECOND_MS;
    options->join_max_ms = 40 * DR_SECOND_MS;
    options->pod_use_percent = 72;
    options->fixed_fleet = 9; /* what a fleet without an autoscaler needs for the sale */
}

/* ---- what happens when ---- */

enum verb { REPLICAS, RECLAIM, HINT, STOCK, BREAK_JOIN };

struct turn {
    int64_t after_ms; /* since the start */
    enum verb verb;
    const char *workload; /* or zone */
    int64_t n;
    const char *text;
};

#define AT(hour, minute) ((hour)*DR_HOUR_MS + (minute)*DR_MINUTE_MS)

static const struct turn turns[] = {
    {AT(1, 0), REPLICAS, "shop", 14, "evening: shop grows to 14 replicas"},
    {AT(2, 0), REPLICAS, "shop", 30, "flash sale: shop jumps to 30 replicas"},
    {AT(2, 6), REPLICAS, "checkout", 8, "checkout follows to 8 replicas"},
    {AT(3, 10), REPLICAS, "shop", 10, "the sale is over: shop back to 10 replicas"},
    {AT(3, 20), REPLICAS, "checkout", 4, "checkout back to 4 replicas"},
    {AT(4, 30), RECLAIM, "", 0, "EC2 reclaims a spot machine: two minutes' notice"},
    {AT(5, 30), REPLICAS, "shop", 7, "late evening: shop down to 7 replicas"},
    {AT(7, 0), REPLICAS, "shop", 4, "quiet night: shop down to 4 replicas"},
    {AT(8, 0), REPLICAS, "reports", 10, "nightly reports: 10 batch pods"},
    {AT(9, 0), REPLICAS, "reports", 0, "the reports are done"},
    {AT(12, 30), STOCK, "eu-west-1b", 0, "no spot capacity in eu-west-1b until noon"},
    {AT(13, 0), REPLICAS, "shop", 12, "morning: shop grows to 12 replicas"},
    {AT(14, 0), BREAK_JOIN, "", 1, "the next machine will boot but never join"},
    {AT(14, 10), REPLICAS, "shop", 22, "mid-morning: shop grows to 22 replicas"},
    {AT(16, 0), HINT, "", 0, "EC2 recommends to rebalance a spot machine"},
    {AT(18, 0), STOCK, "eu-west-1b", -1, "spot capacity in eu-west-1b is back"},
    {AT(18, 30), REPLICAS, "shop", 14, "afternoon: shop down to 14 replicas"},
    {AT(21, 0), RECLAIM, "", 0, "EC2 reclaims another spot machine"},
    {AT(22, 0), REPLICAS, "shop", 10, "the day ends: shop down to 10 replicas"},
};
#define TURN_N (sizeof(turns) / sizeof(turns[0]))

static void play(struct dr_world *world, const struct turn *turn) {
    struct dr_str name = dr_str_of(turn->workload);
    switch (turn->verb) {
    case REPLICAS:
        dr_world_set_replicas(world, dr_world_find_workload(world, name), turn->n);
        break;
    case RECLAIM:
        (void)dr_world_interrupt(world, dr_world_pick(world, DR_MARKET_SPOT, DR_STR_NONE, 0), 2 * DR_SECOND_MS);
        break;
    case HINT:
        (void)dr_world_rebalance(world, dr_world_pick(world, DR_MARKET_SPOT, DR_STR_NONE, 0), 2 * DR_SECOND_MS);
        break;
    case STOCK:
        dr_world_set_capacity(world, DR_STR_NONE, name, DR_MARKET_SPOT, turn->n);
        break;
    case BREAK_JOIN:
        dr_world_never_join_next(world, turn->n);
        break;
    }
}

/* dr_world_at hands one pointer on: which turn, and who is told. The teller lives as long as the world. */
struct cue {
    const struct turn *turn;
    const struct dr_demo_teller *teller;
};

static void on_cue(struct dr_world *world, void *arg) {
    const struct cue *cue = arg;
    cue->teller->tell(cue->teller->self, dr_world_now(world), cue->turn->text);
    play(world, cue->turn);
}

static int add(struct dr_world *world, const struct dr_world_workload *workload, struct dr_err *err) {
    return dr_world_add_workload(world, workload, err) < 0 ? dr_wrap(err, "demo workload") : 0;
}

static int add_workloads(struct dr_world *world, struct dr_err *err) {
    struct dr_world_workload agent = dr_world_workload_of(DR_WORKLOAD_DAEMONSET, "node-agent", 1, 60, GIB / 16);
    struct dr_world_workload shop = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "shop", 10, 450, GIB / 2);
    struct dr_world_workload checkout = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "checkout", 4, 300, GIB / 2);
    struct dr_world_workload reports = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "reports", 0, 600, GIB);
    static const struct dr_str values[] = {{"checkout", 8}};
    static const struct dr_requirement selects = {.key = {"app", 3}, .op = DR_OP_IN, .values = {values, 1}};
    struct dr_budget budget = {.ns = DR_STR("default"),
                               .name = DR_STR("checkout"),
                               .selector = {&selects, 1},
                               .has_min_available = true,
                               .percent = true,
                               .value = 75};
    if (add(world, &agent, err) < 0 || add(world, &shop, err) < 0 || add(world, &checkout, err) < 0 || add(world, &reports, err) < 0) {
        return -1;
    }
    return dr_world_add_budget(world, &budget, err) < 0 ? dr_wrap(err, "demo budget") : 0;
}

int dr_demo_fill(struct dr_world *world, const struct dr_demo_teller *teller, struct dr_err *err) {
    static struct cue cues[TURN_N];
    for (size_t i = 0; i < 4; i++) {
        struct dr_world_worker worker = {
            .zone = subnets[i % 3].zone, .market = i < 2 ? DR_MARKET_ON_DEMAND : DR_MARKET_SPOT, .age_ms = (int64_t)(i + 5) * DR_HOUR_MS};
        (void)dr_world_add_worker(world, &worker);
    }
    if (add_workloads(world, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < TURN_N; i++) {
        cues[i] = (struct cue){&turns[i], teller};
        dr_world_at(world, START_MS + turns[i].after_ms, on_cue, &cues[i]);
    }
    return 0;
}
