#include "unit/engine_world.h"

#include <stdio.h>

#define EW_MAX 4
#define GIB (INT64_C(1) << 30)

static struct engine_world *all[EW_MAX];

__attribute__((destructor)) static void free_all(void) {
    for (size_t i = 0; i < EW_MAX; i++) {
        if (all[i] != NULL) {
            dr_runner_deinit(&all[i]->runner);
            dr_world_free(all[i]->world);
            dr_arena_deinit(&all[i]->arena);
            free(all[i]);
        }
    }
}

static struct engine_world *of(void *self) { return ((struct dr_runner *)self)->self; }

static void called(void *self, const struct dr_call *call) {
    struct engine_world *e = of(self);
    e->calls[call->name]++;
    if (e->on_call != NULL) {
        e->on_call(e, call);
    }
}

static void interleaved(void *self, const struct dr_call *call, bool after, int64_t arg) {
    struct engine_world *e = of(self);
    if (e->on_interleave != NULL) {
        e->on_interleave(e, call, after, arg);
    }
}

static void traced(void *self, int64_t now_ms, const char *line) {
    (void)self, (void)now_ms;
    puts(line);
}

static void notified(void *self, int64_t now_ms, enum dr_notice_level level, const char *event, struct dr_str text) {
    (void)now_ms;
    struct engine_world *e = of(self);
    e->notices++;
    (void)snprintf(e->last_notice, sizeof e->last_notice, "%d %s: %.*s", (int)level, event, (int)(text.n < 150 ? text.n : 150), text.p);
}

void ew_defaults(struct dr_world_options *options, struct dr_config *cfg) {
    dr_world_options_init(options, 7);
    dr_config_init(cfg, DR_PRESET_DEFAULT);
    cfg->max_workers = 6;
    options->codec_check = true;
    options->boot_min_ms = options->boot_max_ms = 20 * DR_SECOND_MS;
    options->join_min_ms = options->join_max_ms = 20 * DR_SECOND_MS;
    options->ready_ms = 5 * DR_SECOND_MS;
    options->pod_stop_ms = 5 * DR_SECOND_MS;
    options->max_workers = cfg->max_workers;
    options->zone_is_rule = true;
}

struct engine_world *ew_open(const struct dr_world_options *options, const struct dr_config *cfg) {
    size_t slot = 0;
    while (slot < EW_MAX && all[slot] != NULL) {
        slot++;
    }
    CHECK(slot < EW_MAX);
    struct dr_world_options o;
    struct dr_config c;
    ew_defaults(&o, &c);
    c = cfg != NULL ? *cfg : c;
    o = options != NULL ? *options : o;
    o.cluster = c.cluster;
    o.min_workers = c.min_workers;
    o.max_workers = c.max_workers;
    o.join_timeout_ms = c.join_timeout_ms;
    struct engine_world *e = calloc(1, sizeof *e);
    CHECK(e != NULL);
    struct dr_err err = {.code = DR_OK};
    e->world = dr_world_new(&o, &err);
    if (e->world == NULL) {
        FAIL("world: %s", err.text);
    }
    all[slot] = e;
    dr_arena_init(&e->arena, 0);
    dr_runner_init(&e->runner, e->world, &c);
    e->runner.self = e;
    struct dr_world_hooks *hooks = dr_world_hooks(e->world);
    hooks->call = called;
    hooks->interleave = interleaved;
    hooks->notify = notified;
    hooks->trace = getenv("EW_TRACE") != NULL ? traced : NULL; /* for a person who looks at one test */
    ew_heal(e);
    ew_signals(e, 50, 60);
    return e;
}

void ew_workers(struct engine_world *e, size_t n) {
    for (size_t i = 0; i < n; i++) {
        (void)dr_world_add_worker(e->world, &(struct dr_world_worker){.market = i % 2 == 0 ? DR_MARKET_ON_DEMAND : DR_MARKET_SPOT,
                                                                      .age_ms = (int64_t)(n - i) * DR_HOUR_MS});
    }
}

void ew_signals(struct engine_world *e, int64_t cpu_percent, int64_t memory_percent) {
    dr_world_series_clear(e->world, DR_STR("cpu"));
    dr_world_series_clear(e->world, DR_STR("memory"));
    dr_world_series(e->world, DR_STR("cpu"), 0, cpu_percent * 10000);
    dr_world_series(e->world, DR_STR("memory"), 0, memory_percent * 10000);
}

void ew_deploy(struct engine_world *e, const char *name, int64_t replicas, int64_t cpu_milli) {
    struct dr_world_workload workload = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, name, replicas, cpu_milli, GIB / 8);
    struct dr_err err = {.code = DR_OK};
    CHECK_OK(dr_world_add_workload(e->world, &workload, &err), err);
}

struct engine_world *ew_idle(const struct dr_world_options *options, const struct dr_config *cfg, size_t n) {
    struct engine_world *e = ew_open(options, cfg);
    ew_workers(e, n);
    ew_signals(e, 10, 10);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + DR_MINUTE_MS);
    struct dr_state state;
    dr_state_init(&state, e->runner.cfg.cluster);
    int64_t now = dr_world_now(e->world) / 1000;
    state.revision = 1;
    state.worker_count = (int64_t)n;
    state.idle_since_epoch = now - 3600;
    state.idle_seen_epoch = now - 60;
    dr_world_put_item(e->world, &state);
    return e;
}

struct engine_world *ew_hot(const struct dr_world_options *options, const struct dr_config *cfg) {
    struct engine_world *e = ew_open(options, cfg);
    ew_workers(e, 2);
    ew_signals(e, 90, 60);
    (void)dr_world_advance(e->world, dr_world_now(e->world) + 10 * DR_MINUTE_MS);
    return e;
}

struct dr_fault ew_fault(enum dr_fault_kind kind, enum dr_call_name name, uint64_t occurrence) {
    struct dr_fault fault = dr_fault_of(kind);
    fault.name = (int)name;
    fault.occurrence = occurrence;
    return fault;
}

void ew_strike(struct engine_world *e, const struct dr_fault *fault) { dr_world_set_faults(e->world, fault, 1); }
void ew_heal(struct engine_world *e) { dr_world_set_faults(e->world, NULL, 0); }

static void check_promises(const struct engine_world *e) {
    if (dr_world_violation(e->world) != NULL) {
        FAIL("%s", dr_world_violation(e->world));
    }
}

bool ew_tick(struct engine_world *e, int process) {
    bool ended = dr_runner_tick(&e->runner, process);
    check_promises(e);
    return ended;
}

const struct dr_tick_report *ew_report(const struct engine_world *e, int process) { return &e->runner.processes[process].report; }

void ew_run(struct engine_world *e, int64_t ms) {
    (void)dr_runner_run(&e->runner, dr_world_now(e->world) + ms);
    check_promises(e);
}

void ew_settle(struct engine_world *e, int64_t ms) {
    ew_heal(e);
    ew_run(e, ms);
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 16);
    if (!dr_world_check_settled(e->world, DR_SETTLED_PODS, &buf)) {
        FAIL("not settled: %s", buf.p);
    }
    dr_buf_deinit(&buf);
}

const struct dr_state *ew_item(const struct engine_world *e) {
    const struct dr_state *item = dr_world_item(e->world);
    CHECK(item != NULL);
    return item;
}

struct dr_state ew_copy(struct engine_world *e) {
    struct dr_state copy;
    dr_state_copy(&e->arena, &copy, ew_item(e));
    copy.revision++;
    return copy;
}

int64_t ew_effects(const struct engine_world *e) {
    return e->calls[DR_CALL_COMPUTE_LAUNCH] + e->calls[DR_CALL_COMPUTE_TERMINATE] + e->calls[DR_CALL_CLUSTER_CORDON] +
           e->calls[DR_CALL_CLUSTER_EVICT] + e->calls[DR_CALL_CLUSTER_DELETE_NODE];
}

void ew_forget(struct engine_world *e) { memset(e->calls, 0, sizeof e->calls); }

const struct dr_node *ew_node(struct engine_world *e, struct dr_str id) {
    struct dr_snapshot snap;
    dr_world_peek(e->world, &snap);
    for (size_t i = 0; i < snap.node_n; i++) {
        if (dr_str_eq(snap.nodes[i].instance_label, id)) {
            return &snap.nodes[i];
        }
    }
    return NULL;
}

bool ew_alive(struct engine_world *e, struct dr_str id) {
    struct dr_snapshot snap;
    dr_world_peek(e->world, &snap);
    for (size_t i = 0; i < snap.instance_n; i++) {
        if (dr_str_eq(snap.instances[i].id, id)) {
            return snap.instances[i].state == DR_INSTANCE_PENDING || snap.instances[i].state == DR_INSTANCE_RUNNING;
        }
    }
    return false;
}
