#ifndef DR_TEST_SIM_HELP_H
#define DR_TEST_SIM_HELP_H

/* Small worlds for the tests of the simulator. */

#include "base/time.h"
#include "harness/test.h"
#include "sim/world.h"

#define SIM_MIB (INT64_C(1) << 20)

struct sim {
    struct dr_world *w;
    struct dr_ports p;
    struct dr_arena arena;
};

static inline struct sim sim_open(const struct dr_world_options *options) {
    struct dr_err err = {0};
    struct sim s = {.w = dr_world_new(options, &err)};
    if (s.w == NULL) {
        FAIL("world: %s", err.text);
    }
    s.p = dr_world_ports(s.w, 0);
    dr_arena_init(&s.arena, 0);
    return s;
}

static inline struct sim sim_plain(void) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    o.codec_check = true;
    return sim_open(&o);
}

static inline void sim_close(struct sim *s) {
    dr_arena_deinit(&s->arena);
    dr_world_free(s->w);
}

static inline void sim_pass(struct sim *s, int64_t ms) { (void)dr_world_advance(s->w, dr_world_now(s->w) + ms); }

static inline struct dr_str sim_worker(struct sim *s, const char *zone) {
    return dr_world_add_worker(s->w, &(struct dr_world_worker){.zone = dr_str_of(zone), .age_ms = DR_HOUR_MS});
}

static inline int sim_deploy(struct sim *s, const char *name, int64_t replicas, int64_t cpu_milli) {
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, name, replicas, cpu_milli, 100 * SIM_MIB);
    struct dr_err err;
    int handle = dr_world_add_workload(s->w, &l, &err);
    CHECK_OK(handle, err);
    return handle;
}

static inline int sim_add(struct sim *s, const struct dr_world_workload *l) {
    struct dr_err err;
    int handle = dr_world_add_workload(s->w, l, &err);
    CHECK_OK(handle, err);
    return handle;
}

static inline struct dr_snapshot sim_peek(struct sim *s) {
    struct dr_snapshot snap;
    dr_world_peek(s->w, &snap);
    return snap;
}

/* What the first process sees through its ports. */
static inline struct dr_snapshot sim_observe(struct sim *s) {
    struct dr_snapshot snap = {0};
    s->p.compute.ops->observe(s->p.compute.self, &s->arena, 0, &snap);
    s->p.cluster.ops->observe(s->p.cluster.self, &s->arena, 0, &snap);
    return snap;
}

/* The first pod of that workload ("web" finds web-00000 and its successors), or NULL. */
static inline const struct dr_pod *sim_pod(struct sim *s, const char *name) {
    struct dr_snapshot snap = sim_peek(s);
    for (size_t i = 0; i < snap.pod_n; i++) {
        if (dr_str_starts(snap.pods[i].name, name) && !snap.pods[i].deleting) {
            return &snap.pods[i];
        }
    }
    return NULL;
}

static inline const struct dr_node *sim_node(struct sim *s, struct dr_str instance) {
    struct dr_snapshot snap = sim_peek(s);
    for (size_t i = 0; i < snap.node_n; i++) {
        if (dr_str_eq(snap.nodes[i].instance_label, instance)) {
            return &snap.nodes[i];
        }
    }
    return NULL;
}

static inline const struct dr_instance *sim_instance(struct sim *s, struct dr_str id) {
    struct dr_snapshot snap = sim_observe(s);
    for (size_t i = 0; i < snap.instance_n; i++) {
        if (dr_str_eq(snap.instances[i].id, id)) {
            return &snap.instances[i];
        }
    }
    return NULL;
}

static inline enum dr_evict_outcome sim_evict(struct sim *s, const struct dr_pod *pod) {
    struct dr_eviction e = {.ns = pod->ns, .name = pod->name, .uid = pod->uid, .grace_ms = -1};
    s->p.cluster.ops->evict(s->p.cluster.self, &e, 1, 0);
    return e.outcome;
}

static inline struct dr_state sim_load(struct sim *s) {
    struct dr_state state;
    struct dr_err err;
    CHECK_OK(s->p.store.ops->load(s->p.store.self, &s->arena, DR_STR("cluster"), 0, &state, &err), err);
    return state;
}

static inline enum dr_cas sim_cas(struct sim *s, const struct dr_state *state) {
    struct dr_err err;
    enum dr_cas outcome;
    CHECK_OK(s->p.store.ops->cas(s->p.store.self, state, 0, &outcome, &err), err);
    return outcome;
}

/* Writes a mark as an engine would, on fresh observations. */
static inline void sim_mark(struct sim *s, struct dr_str id) {
    (void)sim_observe(s);
    const struct dr_event *events;
    size_t n;
    struct dr_err err;
    CHECK_OK(s->p.store.ops->inbox(s->p.store.self, &s->arena, DR_STR("cluster"), 0, &events, &n, &err), err);
    struct dr_state state = sim_load(s);
    struct dr_str *v = DR_NEW_N(&s->arena, struct dr_str, state.marks.n + 1);
    for (size_t i = 0; i < state.marks.n; i++) {
        v[i] = state.marks.v[i];
    }
    v[state.marks.n] = id;
    state.marks = (struct dr_strs){v, state.marks.n + 1};
    CHECK_EQ_INT(sim_cas(s, &state), DR_CAS_OK);
}

static inline int sim_terminate(struct sim *s, struct dr_str id, struct dr_err *err) {
    return s->p.compute.ops->terminate(s->p.compute.self, id, 0, err);
}

/* Writes the intent of one launch index and, with `call`, makes the call. */
static inline struct dr_launch sim_intend(struct sim *s, const char *action, size_t index, const char *zone, const char *token,
                                          struct dr_str replaces) {
    struct dr_state state = sim_load(s);
    struct dr_attempt *v = DR_NEW_N(&s->arena, struct dr_attempt, index + 1);
    bool same = dr_str_is(state.up_action_id, action);
    for (size_t i = 0; i < index && same && i < state.attempts.n; i++) {
        v[i] = state.attempts.v[i];
    }
    struct dr_str subnet = dr_str_fmt(&s->arena, "subnet-%s", zone);
    v[index] = (struct dr_attempt){
        .status = DR_ATTEMPT_OPEN, .attempt = 1, .type = DR_STR("t3.medium"), .zone = dr_str_of(zone), .subnet = subnet};
    v[index].template_version = DR_STR("1");
    v[index].since_epoch = dr_world_now(s->w) / 1000;
    v[index].replaces = replaces;
    state.up_instance_ids = same ? state.up_instance_ids : (struct dr_strs){NULL, 0};
    state.up_action_id = dr_str_of(action);
    state.up_started_epoch = dr_world_now(s->w) / 1000;
    state.up_requested = (int64_t)index + 1;
    state.up_has_attempts = true;
    state.scaling = true;
    state.attempts.v = v;
    state.attempts.n = index + 1;
    CHECK_EQ_INT(sim_cas(s, &state), DR_CAS_OK);
    return (struct dr_launch){
        .token = dr_str_of(token),
        .action_id = state.up_action_id,
        .index = (int64_t)index,
        .type = DR_STR("t3.medium"),
        .zone = v[index].zone,
        .subnet = subnet,
        .template_version = DR_STR("1"),
    };
}

static inline int sim_launch(struct sim *s, const struct dr_launch *launch, struct dr_str *id, struct dr_err *err) {
    return s->p.compute.ops->launch(s->p.compute.self, &s->arena, launch, 0, id, err);
}

#endif
