/* The contract of the ports on the simulated world. */
#include <stdio.h>

#include "base/time.h"
#include "contract/world_contract.h"
#include "sim/world.h"

#define START_MS INT64_C(1800000000000)

static void *sim_open(void) {
    struct dr_world_options options;
    struct dr_err err;
    dr_world_options_init(&options, 7);
    options.start_ms = START_MS;
    options.cluster = DR_STR("drover");
    options.check = false; /* the tests do what no autoscaler may do */
    options.servers = 0;
    options.boot_min_ms = options.boot_max_ms = options.join_min_ms = options.join_max_ms = DR_SECOND_MS;
    options.pod_start_ms = DR_SECOND_MS;
    options.sample_ms = DR_SECOND_MS;
    struct dr_world *world = dr_world_new(&options, &err);
    if (world == NULL) {
        FAIL("%s", err.text);
    }
    return world;
}

static struct dr_ports sim_ports(void *self) { return dr_world_ports(self, 0); }
static void sim_close(void *self) { dr_world_free(self); }
static void sim_pass(void *self, int64_t ms) { CHECK(dr_world_advance(self, dr_world_now(self) + ms)); }

static struct dr_str zone_of(void *self, size_t zone) {
    struct dr_snapshot snap;
    dr_world_peek(self, &snap);
    CHECK(zone < snap.pool.subnet_n);
    return snap.pool.subnets[zone].zone;
}

static void sim_worker(void *self, size_t zone, char ret_id[WORLD_ID_MAX]) {
    struct dr_world_worker worker = {.zone = zone_of(self, zone), .market = DR_MARKET_SPOT};
    struct dr_str id = dr_world_add_worker(self, &worker);
    snprintf(ret_id, WORLD_ID_MAX, "%.*s", DR_FMT(id));
    sim_pass(self, DR_SECOND_MS);
}

static void sim_deployment(void *self, const char *name, int replicas, int cpu_milli) {
    struct dr_world_workload workload = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, name, replicas, cpu_milli, INT64_C(64) << 20);
    struct dr_err err;
    CHECK_OK(dr_world_add_workload(self, &workload, &err), err);
    sim_pass(self, 5 * DR_SECOND_MS);
}

static void sim_budget(void *self, const char *name, int max_unavailable) {
    struct dr_str app = dr_str_of(name);
    struct dr_requirement requirement = {.key = DR_STR("app"), .op = DR_OP_IN, .values = {.v = &app, .n = 1}};
    struct dr_budget budget = {.ns = DR_STR("default"), .name = app, .selector = {&requirement, 1}, .value = max_unavailable};
    struct dr_err err;
    CHECK_OK(dr_world_add_budget(self, &budget, &err), err);
}

static void sim_no_capacity(void *self, size_t zone) { dr_world_set_capacity(self, DR_STR_NONE, zone_of(self, zone), -1, 0); }
static void sim_protect(void *self, const char *id) { CHECK(dr_world_protect(self, dr_str_of(id), true)); }
static void sim_touch(void *self, const char *id, bool protected) { CHECK(dr_world_node_protect(self, dr_str_of(id), protected)); }
static void sim_interrupt(void *self, const char *id) { dr_world_event(self, dr_str_of(id), DR_EVENT_WARNING, dr_world_now(self)); }

static void sim_series(void *self, int value) {
    dr_world_series(self, DR_STR(WORLD_SIGNAL), dr_world_now(self), value * INT64_C(1000000));
    sim_pass(self, 10 * DR_SECOND_MS);
}

static const struct world_case on_sim = {
    .open = sim_open,
    .ports = sim_ports,
    .close = sim_close,
    .pass = sim_pass,
    .worker = sim_worker,
    .deployment = sim_deployment,
    .budget = sim_budget,
    .no_capacity = sim_no_capacity,
    .protect = sim_protect,
    .touch = sim_touch,
    .series = sim_series,
    .interrupt = sim_interrupt,
};

#define ON_SIM(name)                                                                                                                       \
    TEST(world_sim, name) { world_contract_##name(&on_sim); }
WORLD_CONTRACT_TESTS(ON_SIM)
