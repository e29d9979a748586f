/* The engine on an idle world, and a whole simulated week. */

#include <stdio.h>

#include "app/runner.h"
#include "base/time.h"
#include "harness/bench.h"

#define GIB (INT64_C(1) << 30)
#define WORKERS 10
#define PODS 100

static struct dr_world *idle_world(struct dr_config *cfg) {
    struct dr_world_options options;
    struct dr_err err;
    dr_config_init(cfg, DR_PRESET_DEFAULT);
    cfg->min_workers = WORKERS;
    cfg->max_workers = INT64_C(2) * WORKERS;
    dr_world_options_init(&options, 1);
    options.cluster = cfg->cluster;
    options.min_workers = cfg->min_workers;
    options.max_workers = cfg->max_workers;
    struct dr_world *world = dr_world_new(&options, &err);
    DR_ASSERT(world != NULL);
    for (int i = 0; i < WORKERS; i++) {
        (void)dr_world_add_worker(world, &(struct dr_world_worker){.age_ms = DR_DAY_MS});
    }
    struct dr_world_workload web = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", PODS, 100, GIB / 16);
    DR_ASSERT(dr_world_add_workload(world, &web, &err) >= 0);
    (void)dr_world_advance(world, dr_world_now(world) + DR_HOUR_MS);
    return world;
}

BENCH(tick_idle) {
    struct dr_config cfg;
    struct dr_world *world = idle_world(&cfg);
    struct dr_runner runner;
    dr_runner_init(&runner, world, &cfg);
    const int64_t n = 300000;
    for (int i = 0; i < 1000; i++) {
        (void)dr_runner_tick(&runner, 0);
    }
    int64_t start_ns = dr_bench_now_ns();
    for (int64_t i = 0; i < n; i++) {
        (void)dr_runner_tick(&runner, 0);
    }
    double spent_s = (double)(dr_bench_now_ns() - start_ns) / 1e9;
    dr_bench_put("engine.idle_ticks", (double)n / spent_s, "ticks/s", ">= 1,000,000, at least 200,000");
    dr_runner_deinit(&runner);
    dr_world_free(world);
}

BENCH(week) {
    struct dr_config cfg;
    struct dr_world *world = idle_world(&cfg);
    struct dr_runner runner;
    dr_runner_init(&runner, world, &cfg);
    int64_t start_ns = dr_bench_now_ns();
    (void)dr_runner_run(&runner, dr_world_now(world) + 7 * DR_DAY_MS);
    double spent_s = (double)(dr_bench_now_ns() - start_ns) / 1e9;
    dr_bench_put("engine.week", spent_s * 1000, "ms", "< 10");
    dr_runner_deinit(&runner);
    dr_world_free(world);
}
