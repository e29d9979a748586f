#include "decision_world.h"

#include <stdio.h>

#include "harness/test.h"

#define GIB (INT64_C(1) << 30)

static const struct dr_worker_type worker_type = {
    .name = {"m5.xlarge", 9}, .cpu_milli = 4000, .mem_bytes = 16 * GIB, .pod_limit = 110, .on_demand_micro_usd = 192000};
static const struct dr_subnet subnets[] = {{{"subnet-a", 8}, {"zone-a", 6}}, {{"subnet-b", 8}, {"zone-b", 6}}};

struct world *world_new(enum dr_preset preset) {
    struct world *w = calloc(1, sizeof *w);
    CHECK(w != NULL);
    dr_arena_init(&w->arena, 0);
    dr_config_init(&w->cfg, preset);
    dr_state_init(&w->state, DR_STR("cluster"));
    w->snap = (struct dr_snapshot){
        .now_ms = WORLD_NOW_MS,
        .seq = 1,
        .instances_part = {.known = true},
        .nodes_part = {.known = true},
        .pods_part = {.known = true},
        .budgets_part = {.known = true},
        .events_part = {.known = true},
        .instances = w->instances,
        .nodes = w->nodes,
        .pods = w->pods,
        .readings = w->readings,
        .reading_n = w->cfg.signal_n,
        .pool = {.types = &worker_type, .type_n = 1, .subnets = subnets, .subnet_n = 2, .template_version = DR_STR("1")}};
    for (size_t i = DR_SIGNAL_AT_CUSTOM; i < w->cfg.signal_n; i++) {
        world_unknown(w, i, "no series");
    }
    world_percent(w, DR_SIGNAL_AT_CPU, 50);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 60);
    return w;
}

void world_free(struct world *w) {
    dr_arena_deinit(&w->arena);
    free(w);
}

void world_workers(struct world *w, size_t n) {
    CHECK(w->snap.instance_n + n <= WORLD_MAX);
    for (size_t k = 0; k < n; k++) {
        size_t i = w->snap.instance_n++;
        struct dr_str zone = subnets[i % 2].zone;
        struct dr_str id = dr_str_fmt(&w->arena, "i-%04zu", i);
        struct dr_str ip = dr_str_fmt(&w->arena, "10.0.0.%zu", i + 1);
        w->instances[i] = (struct dr_instance){.id = id,
                                               .type = worker_type.name,
                                               .zone = zone,
                                               .subnet = subnets[i % 2].id,
                                               .private_ip = ip,
                                               .market = DR_MARKET_SPOT,
                                               .state = DR_INSTANCE_RUNNING,
                                               .launched_ms = WORLD_NOW_MS - DR_DAY_MS - (int64_t)i * DR_MINUTE_MS};
        w->nodes[w->snap.node_n++] = (struct dr_node){.name = dr_str_fmt(&w->arena, "node-%zu", i),
                                                      .uid = dr_str_fmt(&w->arena, "uid-%zu", i),
                                                      .resource_version = DR_STR("1"),
                                                      .provider_id = dr_str_fmt(&w->arena, "aws:///%.*s/%.*s", DR_FMT(zone), DR_FMT(id)),
                                                      .internal_ip = ip,
                                                      .zone = zone,
                                                      .created_ms = w->instances[i].launched_ms + DR_MINUTE_MS,
                                                      .ready = DR_READY_TRUE,
                                                      .ready_changed_ms = w->instances[i].launched_ms + 2 * DR_MINUTE_MS,
                                                      .cpu_milli = worker_type.cpu_milli,
                                                      .mem_bytes = worker_type.mem_bytes,
                                                      .pod_limit = worker_type.pod_limit};
    }
}

void world_signal(struct world *w, size_t signal, int64_t micro, int64_t held_ms, int64_t before_micro) {
    static const int64_t step_ms = 15 * DR_SECOND_MS;
    struct dr_sample *samples = w->samples[signal];
    for (size_t i = 0; i < WORLD_SAMPLES; i++) {
        int64_t age_ms = step_ms * (int64_t)(WORLD_SAMPLES - 1 - i);
        samples[i] = (struct dr_sample){.at_ms = w->snap.now_ms - age_ms, .micro = age_ms <= held_ms ? micro : before_micro};
    }
    w->readings[signal] = (struct dr_reading){.known = true, .samples = samples, .sample_n = WORLD_SAMPLES};
}

void world_percent(struct world *w, size_t signal, int64_t percent) {
    if (percent == WORLD_UNKNOWN) {
        world_unknown(w, signal, "connection refused");
    } else {
        world_signal(w, signal, percent * 10000, DR_DAY_MS, 0);
    }
}

void world_unknown(struct world *w, size_t signal, const char *why) {
    w->readings[signal] = (struct dr_reading){.known = false, .why = dr_str_of(why)};
}

static struct dr_pod *new_pod(struct world *w, int64_t cpu_milli) {
    CHECK(w->snap.pod_n < WORLD_PODS);
    size_t i = w->snap.pod_n++;
    struct dr_pod_spec *spec = DR_NEW(&w->arena, struct dr_pod_spec);
    spec->cpu_milli = cpu_milli;
    spec->mem_bytes = GIB / 4;
    w->pods[i] = (struct dr_pod){.ns = DR_STR("shop"),
                                 .name = dr_str_fmt(&w->arena, "web-%zu", i),
                                 .uid = dr_str_fmt(&w->arena, "pod-%zu", i),
                                 .owner_uid = DR_STR("web"),
                                 .owner = DR_OWNER_CONTROLLER,
                                 .created_ms = w->snap.now_ms - DR_HOUR_MS,
                                 .spec = spec};
    return &w->pods[i];
}

struct dr_pod *world_waiting(struct world *w, int64_t cpu_milli, int64_t age_ms) {
    struct dr_pod *pod = new_pod(w, cpu_milli);
    pod->phase = DR_PHASE_PENDING;
    pod->unschedulable = true;
    pod->unschedulable_since_ms = w->snap.now_ms - age_ms;
    return pod;
}

struct dr_pod *world_running(struct world *w, size_t i, int64_t cpu_milli) {
    struct dr_pod *pod = new_pod(w, cpu_milli);
    pod->phase = DR_PHASE_RUNNING;
    pod->ready = true;
    pod->node = w->nodes[i].name;
    return pod;
}

void world_pending(struct world *w, size_t n, int64_t age_ms) {
    for (size_t i = 0; n > 0 && i < w->snap.node_n; i++) {
        world_running(w, i, worker_type.cpu_milli);
    }
    for (size_t i = 0; i < n; i++) {
        world_waiting(w, 1000, age_ms);
    }
}

void world_last_scale(struct world *w, const char *action, int64_t ago_s) {
    w->state.last_scale_action = dr_str_of(action);
    w->state.last_scale_epoch = w->snap.now_ms / DR_SECOND_MS - ago_s;
}

void world_idle(struct world *w, int64_t for_s) {
    int64_t now = w->snap.now_ms / DR_SECOND_MS;
    w->state.idle_since_epoch = now - for_s;
    w->state.idle_seen_epoch = now - w->cfg.interval_ms / DR_SECOND_MS;
}

const struct dr_decision *world_decide(struct world *w) {
    dr_view_build(&w->arena, &w->cfg, &w->state, &w->snap, &w->view);
    w->plan = (struct dr_plan){0};
    dr_decide(&w->arena, &w->view, &w->plan);
    return &w->plan.decision;
}

struct dr_str world_text(struct world *w) {
    struct dr_buf buf;
    dr_buf_init(&buf, 4096);
    dr_plan_text(&w->plan, &buf);
    struct dr_str text = dr_str_dup(&w->arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}
