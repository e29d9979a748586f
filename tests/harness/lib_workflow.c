#include "harness/workflow.h"

#include "base/time.h"

#define CORE 1000
#define GIB (INT64_C(1) << 30)
#define DR_TRIAL_FAULTS 8
#define HEAL_MS (100 * DR_MINUTE_MS)

static void add(struct dr_world *world, struct dr_world_workload workload) {
    struct dr_err err;
    DR_ASSERT(dr_world_add_workload(world, &workload, &err) >= 0);
}

/* What every cluster has: an agent on every node, and something that must not be disrupted all at once. */
static void furnish(struct dr_world *world, int workers) {
    for (int i = 0; i < workers; i++) {
        (void)dr_world_add_worker(
            world, &(struct dr_world_worker){.market = i % 2 == 0 ? DR_MARKET_ON_DEMAND : DR_MARKET_SPOT, .age_ms = (i + 1) * DR_HOUR_MS});
    }
    add(world, dr_world_workload_of(DR_WORKLOAD_DAEMONSET, "agent", 1, 50, GIB / 32));
    add(world, dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", 4, 200, GIB / 8));
    static const struct dr_str values[] = {{"web", 3}};
    static const struct dr_requirement web = {.key = {"app", 3}, .op = DR_OP_IN, .values = {values, 1}};
    struct dr_budget budget = {.ns = DR_STR("default"), .name = DR_STR("web"), .selector = {&web, 1}, .percent = true, .value = 25};
    struct dr_err err;
    DR_ASSERT(dr_world_add_budget(world, &budget, &err) >= 0);
}

static void quiet(struct dr_world *world) {
    dr_world_series(world, DR_STR("cpu"), 0, 200000);
    dr_world_series(world, DR_STR("memory"), 0, 300000);
}

static void busy(struct dr_world *world) {
    dr_world_series(world, DR_STR("cpu"), 0, 500000);
    dr_world_series(world, DR_STR("memory"), 0, 600000);
}

static void fill_up(struct dr_world *world) {
    furnish(world, 2);
    busy(world);
    add(world, dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "batch", 6, 800, GIB / 4));
}

static void configure_down(struct dr_world_options *options, struct dr_config *cfg) {
    (void)options;
    cfg->max_batch_down = 2;
    cfg->idle_for_ms = 4 * DR_MINUTE_MS;
}

static void fill_down(struct dr_world *world) {
    furnish(world, 4);
    quiet(world);
}

static void interrupt_one(struct dr_world *world, void *arg) {
    (void)arg;
    struct dr_str id = dr_world_pick(world, DR_MARKET_SPOT, DR_STR_NONE, 0);
    (void)dr_world_interrupt(world, id, 1000);
}

static void fill_replacement(struct dr_world *world) {
    furnish(world, 3);
    busy(world);
    dr_world_at(world, dr_world_now(world) + 3 * DR_MINUTE_MS, interrupt_one, NULL);
}

static void crowd(struct dr_world *world, void *arg) {
    (void)arg;
    add(world, dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "crowd", 8, 900, GIB / 4));
    busy(world);
}

static void configure_cancel(struct dr_world_options *options, struct dr_config *cfg) {
    configure_down(options, cfg);
    options->pod_stop_ms = 25 * DR_SECOND_MS;
    /* Pressure at once, so that it returns within the drain. */
    for (size_t i = 0; i < cfg->up_n; i++) {
        cfg->up[i].for_ms = cfg->up[i].kind == DR_RULE_PENDING ? 0 : cfg->up[i].for_ms;
    }
}

static void fill_cancel(struct dr_world *world) {
    furnish(world, 4);
    quiet(world);
    dr_world_at(world, dr_world_now(world) + 4 * DR_MINUTE_MS + 10 * DR_SECOND_MS, crowd, NULL);
}

static void fill_join_failure(struct dr_world *world) {
    fill_up(world);
    dr_world_never_join_next(world, 2);
}

static void configure_clear(struct dr_world_options *options, struct dr_config *cfg) {
    configure_down(options, cfg);
    cfg->drain_timeout_ms = 20 * DR_MINUTE_MS;
    cfg->stuck_ms = 6 * DR_MINUTE_MS;
}

static void heal_stuck(struct dr_world *world, void *arg) {
    (void)arg;
    dr_world_fix(world, dr_world_find_workload(world, DR_STR("clingy")));
}

static void fill_clear(struct dr_world *world) {
    furnish(world, 4);
    quiet(world);
    struct dr_world_workload clingy = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "clingy", 4, 100, GIB / 16);
    clingy.stuck_stop = true;
    add(world, clingy);
    dr_world_at(world, dr_world_now(world) + 25 * DR_MINUTE_MS, heal_stuck, NULL);
}

static void hint_one(struct dr_world *world, void *arg) {
    (void)arg;
    struct dr_str id = dr_world_pick(world, DR_MARKET_SPOT, DR_STR_NONE, 0);
    (void)dr_world_rebalance(world, id, 1000);
}

static void fill_rebalance(struct dr_world *world) {
    furnish(world, 3);
    busy(world);
    dr_world_at(world, dr_world_now(world) + 3 * DR_MINUTE_MS, hint_one, NULL);
}

const struct dr_workflow dr_workflows[] = {
    {"scale-up of 2", NULL, fill_up, 14 * DR_MINUTE_MS, 0},
    {"scale-down of 2", configure_down, fill_down, 10 * DR_MINUTE_MS, 0},
    {"replacement", NULL, fill_replacement, 12 * DR_MINUTE_MS, 0},
    {"rebalance", NULL, fill_rebalance, 16 * DR_MINUTE_MS, 0},
    {"cancel", configure_cancel, fill_cancel, 12 * DR_MINUTE_MS, 0},
    {"join failure", NULL, fill_join_failure, 24 * DR_MINUTE_MS, 0},
    {"force-clear", configure_clear, fill_clear, 16 * DR_MINUTE_MS, 0},
    {"lease take-over", NULL, fill_up, 16 * DR_MINUTE_MS, 4},
};
const size_t dr_workflow_n = sizeof(dr_workflows) / sizeof(dr_workflows[0]);

void dr_trial_open(struct dr_trial *trial, const struct dr_workflow *workflow, uint64_t seed, const struct dr_fault *faults,
                   size_t fault_n) {
    struct dr_world_options options;
    struct dr_config cfg;
    struct dr_err err;
    dr_config_init(&cfg, DR_PRESET_DEFAULT);
    dr_world_options_init(&options, seed);
    options.codec_check = true;
    cfg.max_workers = 6;
    if (workflow->configure != NULL) {
        workflow->configure(&options, &cfg);
    }
    options.cluster = cfg.cluster;
    options.min_workers = cfg.min_workers;
    options.max_workers = cfg.max_workers;
    options.join_timeout_ms = cfg.join_timeout_ms;
    options.zone_is_rule = true;
    trial->world = dr_world_new(&options, &err);
    DR_ASSERT(trial->world != NULL);
    workflow->fill(trial->world);
    dr_runner_init(&trial->runner, trial->world, &cfg);
    struct dr_fault all[DR_TRIAL_FAULTS];
    DR_ASSERT(fault_n < DR_TRIAL_FAULTS);
    for (size_t i = 0; i < fault_n; i++) {
        all[i] = faults[i];
    }
    if (workflow->crash_cas > 0) {
        all[fault_n] = dr_fault_of(DR_FAULT_CRASH_AFTER);
        all[fault_n].name = DR_CALL_STORE_CAS;
        all[fault_n].occurrence = workflow->crash_cas;
        fault_n++;
    }
    dr_world_set_faults(trial->world, all, fault_n);
}

void dr_trial_close(struct dr_trial *trial) {
    dr_runner_deinit(&trial->runner);
    dr_world_free(trial->world);
}

const char *dr_trial_heal(struct dr_trial *trial, struct dr_buf *buf) {
    dr_world_set_faults(trial->world, NULL, 0);
    dr_buf_clear(buf);
    if (dr_world_violation(trial->world) == NULL && dr_runner_run(&trial->runner, dr_world_now(trial->world) + HEAL_MS) &&
        dr_world_check_settled(trial->world, DR_SETTLED_PODS, buf)) {
        return NULL;
    }
    const char *violation = dr_world_violation(trial->world);
    if (violation != NULL) {
        dr_buf_puts(buf, violation);
        dr_buf_putc(buf, '\n');
    }
    dr_world_trace_tail(trial->world, buf);
    return buf->p;
}

static void no_request(void *self, struct dr_str pk, int64_t deadline_ms) { (void)self, (void)pk, (void)deadline_ms; }

void dr_runner_read_at_once(struct dr_runner *runner) {
    static struct dr_store_ops ops;
    for (size_t i = 0; i < sizeof(runner->processes) / sizeof(runner->processes[0]); i++) {
        struct dr_store *store = &runner->processes[i].ports.store;
        if (store->ops != NULL && store->ops != &ops) {
            ops = *store->ops;
            ops.request = no_request;
            store->ops = &ops;
        }
    }
}
