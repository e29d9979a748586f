#include "unit/small_world.h"

static struct small_world *all;

void sw_free(struct small_world *w) {
    struct small_world **at = &all;
    while (*at != w) {
        at = &(*at)->next;
    }
    *at = w->next;
    dr_arena_deinit(&w->arena);
    free(w);
}

__attribute__((destructor)) static void free_all(void) {
    while (all != NULL) {
        sw_free(all);
    }
}

struct small_world *sw_new(void) {
    struct small_world *w = calloc(1, sizeof *w);
    CHECK(w != NULL);
    w->next = all;
    all = w;
    dr_arena_init(&w->arena, 0);
    dr_config_init(&w->cfg, DR_PRESET_DEFAULT);
    dr_state_init(&w->state, DR_STR("cluster"));
    w->types[0] = (struct dr_worker_type){.name = DR_STR("medium"), .cpu_milli = 2000, .mem_bytes = 8 * SW_GIB, .pod_limit = 20};
    w->subnets[0] = (struct dr_subnet){DR_STR("subnet-a"), DR_STR("za")};
    w->subnets[1] = (struct dr_subnet){DR_STR("subnet-b"), DR_STR("zb")};
    w->subnets[2] = (struct dr_subnet){DR_STR("subnet-c"), DR_STR("zc")};
    struct dr_part known = {.known = true};
    w->snap = (struct dr_snapshot){
        .now_ms = SW_NOW_MS,
        .instances_part = known,
        .instances = w->instances,
        .nodes_part = known,
        .nodes = w->nodes,
        .pods_part = known,
        .pods = w->pods,
        .budgets_part = known,
        .budgets = w->budgets,
        .events_part = known,
        .pool = {.types = w->types, .type_n = 1, .subnets = w->subnets, .subnet_n = 3},
    };
    return w;
}

struct dr_instance *sw_instance(struct small_world *w, const char *id, const char *zone) {
    CHECK(w->snap.instance_n < SW_MAX);
    struct dr_instance *instance = &w->instances[w->snap.instance_n++];
    *instance = (struct dr_instance){
        .id = dr_str_of(id),
        .type = DR_STR("medium"),
        .zone = dr_str_of(zone),
        .private_ip = sw_fmt(w, "10.0.0.", w->snap.instance_n),
        .state = DR_INSTANCE_RUNNING,
        .launched_ms = SW_NOW_MS - DR_HOUR_MS,
    };
    return instance;
}

struct dr_node *sw_node(struct small_world *w, const struct dr_instance *instance) {
    CHECK(w->snap.node_n < SW_MAX);
    struct dr_node *node = &w->nodes[w->snap.node_n++];
    *node = (struct dr_node){
        .name = dr_str_fmt(&w->arena, "node-%.*s", DR_FMT(instance->id)),
        .provider_id = dr_str_fmt(&w->arena, "aws:///%.*s/%.*s", DR_FMT(instance->zone), DR_FMT(instance->id)),
        .internal_ip = instance->private_ip,
        .zone = instance->zone,
        .created_ms = instance->launched_ms + DR_MINUTE_MS,
        .ready = DR_READY_TRUE,
        .ready_changed_ms = instance->launched_ms + 70 * DR_SECOND_MS,
        .cpu_milli = 2000,
        .mem_bytes = 8 * SW_GIB,
        .pod_limit = 20,
    };
    return node;
}

struct dr_node *sw_worker(struct small_world *w, const char *id, const char *zone) {
    return sw_node(w, sw_instance(w, id, zone));
}

struct dr_pod *sw_pod(struct small_world *w, const struct dr_node *node, int64_t cpu_milli, int64_t mem_bytes) {
    CHECK(w->snap.pod_n < SW_MAX);
    size_t i = w->snap.pod_n++;
    w->specs[i] = (struct dr_pod_spec){.cpu_milli = cpu_milli, .mem_bytes = mem_bytes};
    w->pods[i] = (struct dr_pod){
        .ns = DR_STR("shop"),
        .name = sw_fmt(w, "pod-", i),
        .uid = sw_fmt(w, "uid-", i),
        .owner_uid = sw_fmt(w, "owner-", i),
        .owner = DR_OWNER_CONTROLLER,
        .phase = DR_PHASE_RUNNING,
        .node = node != NULL ? node->name : DR_STR_NONE,
        .ready = true,
        .created_ms = SW_NOW_MS - 1800 * DR_SECOND_MS,
        .spec = &w->specs[i],
    };
    return &w->pods[i];
}

struct dr_pod_spec *sw_spec(struct small_world *w, const struct dr_pod *pod) {
    return &w->specs[pod - w->pods];
}

struct dr_pod *sw_pending(struct small_world *w, int64_t cpu_milli, int64_t mem_bytes) {
    struct dr_pod *pod = sw_pod(w, NULL, cpu_milli, mem_bytes);
    pod->phase = DR_PHASE_PENDING;
    pod->ready = false;
    pod->unschedulable = true;
    pod->unschedulable_since_ms = SW_NOW_MS - 300 * DR_SECOND_MS;
    return pod;
}

struct dr_strs sw_strs(struct small_world *w, size_t n, const char *const *v) {
    struct dr_str *list = DR_NEW_N(&w->arena, struct dr_str, n);
    for (size_t i = 0; i < n; i++) {
        list[i] = dr_str_of(v[i]);
    }
    return (struct dr_strs){list, n};
}

struct dr_str sw_fmt(struct small_world *w, const char *prefix, size_t i) {
    return dr_str_fmt(&w->arena, "%s%zu", prefix, i);
}

void sw_ended(struct small_world *w, const char *id) {
    struct dr_timed_id *v = DR_NEW(&w->arena, struct dr_timed_id);
    *v = (struct dr_timed_id){dr_str_of(id), SW_NOW_EPOCH - 60};
    w->state.ended.v = v;
    w->state.ended.n = 1;
}

void sw_record(struct small_world *w, const char *id, enum dr_event_kind kind) {
    struct dr_record *v = DR_NEW(&w->arena, struct dr_record);
    *v = (struct dr_record){.instance_id = dr_str_of(id), .kind = kind, .noticed_epoch = SW_NOW_EPOCH - 10};
    w->state.records.v = v;
    w->state.records.n = 1;
}

void sw_avoid(struct small_world *w, const char *key, int64_t until_epoch) {
    struct dr_avoid *v = DR_NEW_N(&w->arena, struct dr_avoid, w->state.avoid.n + 1);
    for (size_t i = 0; i < w->state.avoid.n; i++) {
        v[i] = w->state.avoid.v[i];
    }
    v[w->state.avoid.n] = (struct dr_avoid){dr_str_of(key), until_epoch, 1};
    w->state.avoid.v = v;
    w->state.avoid.n++;
}

struct dr_attempt *sw_scale_up(struct small_world *w, int64_t requested, size_t attempt_n) {
    struct dr_attempt *v = DR_NEW_N(&w->arena, struct dr_attempt, attempt_n);
    for (size_t i = 0; i < attempt_n; i++) {
        v[i] = (struct dr_attempt){.status = DR_ATTEMPT_OPEN, .attempt = 1, .type = DR_STR("medium"), .zone = DR_STR("za")};
    }
    w->state.scaling = true;
    w->state.up_action_id = DR_STR("up-1");
    w->state.up_requested = requested;
    w->state.up_has_attempts = true;
    w->state.attempts.v = v;
    w->state.attempts.n = attempt_n;
    return v;
}

void sw_scale_down(struct small_world *w, const char *id) {
    w->state.scaling = true;
    w->state.down_action_id = DR_STR("down-1");
    w->state.down_targets = sw_strs(w, 1, (const char *const[]){id});
    struct dr_drain *drain = DR_NEW(&w->arena, struct dr_drain);
    drain->instance_id = dr_str_of(id);
    w->state.drains.v = drain;
    w->state.drains.n = 1;
}

struct dr_fleet *sw_build(struct small_world *w) {
    dr_fleet_build(&w->arena, &w->cfg, &w->state, &w->snap, &w->fleet);
    return &w->fleet;
}

const struct dr_worker *sw_find(struct small_world *w, const char *id) {
    const struct dr_worker *worker = dr_fleet_find(sw_build(w), dr_str_of(id));
    CHECK(worker != NULL);
    return worker;
}
