#include "unit/step_world.h"

static struct step_world *all[8];

__attribute__((destructor)) static void free_all(void) {
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

struct step_world *stw_new(void) {
    size_t slot = 0;
    while (slot < sizeof all / sizeof all[0] && all[slot] != NULL) {
        slot++;
    }
    CHECK(slot < sizeof all / sizeof all[0]);
    struct step_world *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    all[slot] = s;
    s->w = sw_new();
    s->w->snap.seq = 1;
    s->w->snap.pool.template_version = DR_STR("7");
    s->w->snap.events = s->events;
    s->w->snap.readings = s->readings;
    s->w->snap.reading_n = 2;
    stw_percent(s, DR_SIGNAL_AT_CPU, 50);
    stw_percent(s, DR_SIGNAL_AT_MEMORY, 60);
    dr_turn_init(&s->turn, DR_STR("req-1"), SW_NOW_MS);
    return s;
}

void stw_percent(struct step_world *s, size_t signal, int64_t percent) {
    if (percent < 0) {
        s->readings[signal] = (struct dr_reading){.why = DR_STR("connection refused")};
        return;
    }
    for (size_t i = 0; i < STW_SAMPLES; i++) {
        int64_t age_ms = 15 * DR_SECOND_MS * (int64_t)(STW_SAMPLES - 1 - i);
        s->samples[signal][i] = (struct dr_sample){.at_ms = s->w->snap.now_ms - age_ms, .micro = percent * 10000};
    }
    s->readings[signal] = (struct dr_reading){.known = true, .samples = s->samples[signal], .sample_n = STW_SAMPLES};
}

void stw_event(struct step_world *s, const char *id, enum dr_event_kind kind, bool handled) {
    CHECK(s->w->snap.event_n < sizeof s->events / sizeof s->events[0]);
    s->events[s->w->snap.event_n++] =
        (struct dr_event){.instance_id = dr_str_of(id), .kind = kind, .at_ms = s->w->snap.now_ms - 2000, .handled = handled};
}

struct dr_node *stw_worker(struct step_world *s, const char *id, const char *zone) {
    struct dr_node *node = sw_worker(s->w, id, zone);
    node->uid = sw_fmt(s->w, "uid-node-", s->w->snap.node_n);
    node->resource_version = DR_STR("1");
    return node;
}

void stw_workers(struct step_world *s, size_t n) {
    static const char *const zones[] = {"za", "zb", "zc"};
    for (size_t i = 0; i < n; i++) {
        (void)stw_worker(s, sw_fmt(s->w, "i-", s->w->snap.instance_n + 1).p, zones[i % 3]);
    }
}

struct dr_node *stw_node(struct step_world *s, const char *id) {
    for (size_t i = 0; i < s->w->snap.node_n; i++) {
        if (dr_str_is(s->w->snap.nodes[i].name, dr_str_fmt(&s->w->arena, "node-%s", id).p)) {
            /* After an effect was worked in the snapshot holds its own copies; tests change what is observed next. */
            s->w->snap.nodes = memmove(s->w->nodes, s->w->snap.nodes, s->w->snap.node_n * sizeof(s->w->nodes[0]));
            return &s->w->nodes[i];
        }
    }
    FAIL("no node of %s", id);
}

struct dr_instance *stw_instance(struct step_world *s, const char *id) {
    for (size_t i = 0; i < s->w->snap.instance_n; i++) {
        if (dr_str_is(s->w->snap.instances[i].id, id)) {
            s->w->snap.instances = memmove(s->w->instances, s->w->snap.instances, s->w->snap.instance_n * sizeof(s->w->instances[0]));
            return &s->w->instances[i];
        }
    }
    FAIL("no instance %s", id);
}

void stw_draining(struct step_world *s, const char *id, size_t owner_n, const char *const *owners) {
    struct dr_state *state = &s->w->state;
    (void)dr_down_drain(&s->w->arena, state, state, state->down_action_id, dr_str_of(id), sw_strs(s->w, owner_n, owners),
                        SW_NOW_EPOCH - 60);
    struct dr_node *node = stw_node(s, id);
    node->unschedulable = true;
    node->cordon_owner = state->down_action_id;
}

void stw_mark(struct step_world *s, const char *id) { (void)dr_mark_add(&s->w->arena, &s->w->state, &s->w->state, dr_str_of(id)); }

struct dr_instance *stw_launched(struct step_world *s, struct dr_attempt *attempt, size_t index, const char *id, int64_t age_ms) {
    struct dr_instance *instance = sw_instance(s->w, id, "za");
    instance->action_id = s->w->state.up_action_id;
    instance->index = (int64_t)index;
    instance->launched_ms = s->w->snap.now_ms - age_ms;
    attempt->status = DR_ATTEMPT_LAUNCHED;
    attempt->instance_id = instance->id;
    attempt->launched_epoch = instance->launched_ms / 1000;
    attempt->since_epoch = attempt->launched_epoch;
    return instance;
}

const struct dr_step *stw_next(struct step_world *s) {
    dr_view_build(&s->w->arena, &s->w->cfg, &s->w->state, &s->w->snap, &s->view);
    s->m.arena = &s->w->arena;
    s->m.view = &s->view;
    s->m.turn = &s->turn;
    s->m.plan = &s->plan;
    s->m.now_ms = s->w->snap.now_ms;
    s->m.now_epoch = s->m.now_ms / 1000;
    dr_step_next(&s->m, &s->step);
    return &s->step;
}

static const char *kind_text(enum dr_step_kind kind) {
    static const char *const names[] = {
        [DR_STEP_DONE] = "done",
        [DR_STEP_WAIT] = "wait",
        [DR_STEP_REFRESH] = "refresh",
        [DR_STEP_WRITE] = "write",
        [DR_STEP_LAUNCH] = "launch",
        [DR_STEP_TERMINATE] = "terminate",
        [DR_STEP_CORDON] = "cordon",
        [DR_STEP_UNCORDON] = "uncordon",
        [DR_STEP_EVICT] = "evict",
        [DR_STEP_DELETE_NODE] = "delete node",
        [DR_STEP_HANDLE_EVENT] = "handle event",
    };
    return names[kind];
}

const struct dr_step *stw_expect(struct step_world *s, enum dr_step_kind kind) {
    const struct dr_step *step = stw_next(s);
    if (step->kind != kind) {
        FAIL("next step is %s \"%s\" (rule %d), expected %s", kind_text(step->kind), step->what != NULL ? step->what : "", step->rule,
             kind_text(kind));
    }
    return step;
}

void stw_writes(struct step_world *s, const char *what, int rule) {
    const struct dr_step *step = stw_expect(s, DR_STEP_WRITE);
    CHECK_EQ_CSTR(step->what, what);
    CHECK_EQ_INT(step->rule, rule);
    s->w->state = step->next;
    if (step->has_mark) {
        s->turn.marked_seq = s->w->snap.seq;
    }
}

/* As the engine counts retries. A field that a kind does not use may hold what an earlier step left there. */
static struct dr_str retry_key(const struct dr_step *step) {
    switch (step->kind) {
    case DR_STEP_LAUNCH:
        return step->token;
    case DR_STEP_CORDON:
    case DR_STEP_UNCORDON:
    case DR_STEP_DELETE_NODE:
        return step->node->name;
    case DR_STEP_HANDLE_EVENT:
        return step->event->instance_id;
    default:
        return step->instance_id;
    }
}

static bool work_in(struct step_world *s, const struct dr_result *result) {
    struct dr_state next;
    bool changed = dr_step_settle(&s->m, &s->step, result, &s->w->state, &next);
    if (result->code != DR_OK) {
        dr_turn_failed(&s->turn, (int)s->step.kind, retry_key(&s->step), result->code, s->w->snap.now_ms);
    }
    if (changed) {
        s->w->state = next;
    }
    dr_step_reflect(&s->w->arena, &s->w->snap, &s->step, result, s->w->snap.now_ms);
    return changed;
}

bool stw_settle(struct step_world *s, enum dr_code code, const char *instance_id) {
    struct dr_result result = {.code = code, .instance_id = instance_id != NULL ? dr_str_of(instance_id) : DR_STR_NONE};
    return work_in(s, &result);
}

void stw_evicted(struct step_world *s, int outcome) {
    int *outcomes = DR_NEW_N(&s->w->arena, int, s->step.pod_n);
    for (size_t i = 0; i < s->step.pod_n; i++) {
        outcomes[i] = outcome;
    }
    struct dr_result result = {.code = outcome == 2 ? DR_E_CONFLICT : outcome == 3 ? DR_E_UNAVAILABLE : DR_OK, .evicted = outcomes};
    (void)work_in(s, &result);
}

void stw_look(struct step_world *s, int64_t ms) {
    s->w->snap.now_ms += ms;
    s->w->snap.seq++;
    s->w->snap.touched = false;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < STW_SAMPLES; k++) {
            s->samples[i][k].at_ms += ms;
        }
    }
}

void stw_pass(struct step_world *s, int64_t ms) {
    stw_look(s, ms);
    dr_turn_init(&s->turn, DR_STR("req-2"), s->w->snap.now_ms);
    s->w->snap.seq = 1;
}
