#include "core/settle.h"

#include <string.h>

#include "core/transition.h"

#define FRESH_S 600 /* rule 16: "not found" proves nothing about a machine younger than this that was never described */

static int64_t launched_epoch(const struct dr_state *state, struct dr_str id) {
    for (size_t i = 0; i < state->attempts.n; i++) {
        if (dr_str_eq(state->attempts.v[i].instance_id, id)) {
            return state->attempts.v[i].launched_epoch;
        }
    }
    return 0;
}

static bool not_found_is_success(const struct dr_machine *m, const struct dr_state *state, struct dr_str id) {
    bool described = dr_fleet_instance(&m->view->fleet, id) != NULL;
    return described || m->now_epoch >= launched_epoch(state, id) + FRESH_S;
}

static bool mark_done(struct dr_machine *m, struct dr_state *state, struct dr_str id) {
    if (state->down_action_id.n == 0 || !dr_strs_has(state->down_targets, id)) {
        return false;
    }
    return dr_down_mark_done(m->arena, state, state, state->down_action_id, id);
}

static bool settle_terminate(struct dr_machine *m, const struct dr_step *step, const struct dr_result *result, const struct dr_state *in,
                             struct dr_state *out) {
    *out = *in;
    if (!dr_state_marked(in, step->instance_id)) {
        return false;
    }
    if (result->code == DR_OK) {
        return mark_done(m, out, step->instance_id);
    }
    if (result->code == DR_E_NOT_FOUND && not_found_is_success(m, in, step->instance_id)) {
        bool done = mark_done(m, out, step->instance_id);
        return dr_mark_ended(m->arena, out, out, step->instance_id, m->now_epoch) || done;
    }
    if (result->code == DR_E_PROTECTED) {
        return dr_mark_refused(m->arena, in, out, step->instance_id);
    }
    return false;
}

bool dr_step_settle(struct dr_machine *m, const struct dr_step *step, const struct dr_result *result, const struct dr_state *in,
                    struct dr_state *out) {
    switch (step->kind) {
    case DR_STEP_LAUNCH:
        return dr_settle_launch(m, step, result, in, out);
    case DR_STEP_TERMINATE:
        return settle_terminate(m, step, result, in, out);
    default:
        *out = *in;
        return false;
    }
}

/* A part of the snapshot as a copy that may be changed. An unknown part has no array. */
static void *own(struct dr_arena *arena, const void *v, size_t n, size_t size) {
    void *copy = dr_arena_alloc(arena, n, size);
    if (n > 0) {
        memcpy(copy, v, n * size);
    }
    return copy;
}

/* The snapshot's Nodes as a copy that may be changed; `ret_at` is where `node` is in it. */
static struct dr_node *own_nodes(struct dr_arena *arena, struct dr_snapshot *snap, const struct dr_node *node, size_t *ret_at) {
    *ret_at = (size_t)(node - snap->nodes);
    DR_ASSERT(*ret_at < snap->node_n);
    struct dr_node *nodes = own(arena, snap->nodes, snap->node_n, sizeof(*nodes));
    snap->nodes = nodes;
    return nodes;
}

static void reflect_cordon(struct dr_arena *arena, struct dr_snapshot *snap, const struct dr_step *step) {
    size_t at;
    struct dr_node *nodes = own_nodes(arena, snap, step->node, &at);
    struct dr_node *node = &nodes[at];
    node->unschedulable = step->kind == DR_STEP_CORDON;
    node->cordon_owner = step->kind == DR_STEP_CORDON ? step->cordon_owner : DR_STR_NONE;
    node->resource_version = DR_STR_NONE; /* changed by us: a further patch needs a fresh read */
}

static void reflect_evictions(struct dr_arena *arena, struct dr_snapshot *snap, const struct dr_step *step, const struct dr_result *result,
                              int64_t now_ms) {
    const struct dr_pod *before = snap->pods;
    struct dr_pod *pods = own(arena, before, snap->pod_n, sizeof(*pods));
    for (size_t i = 0; i < step->pod_n; i++) {
        struct dr_pod *pod = &pods[step->pods[i] - before];
        if (result->evicted[i] == 0) {
            pod->deleting = true;
            pod->delete_by_ms = now_ms + (step->grace_ms >= 0 && step->grace_ms < pod->grace_ms ? step->grace_ms : pod->grace_ms);
        } else if (result->evicted[i] == 1) {
            pod->phase = DR_PHASE_SUCCEEDED;
        }
    }
    snap->pods = pods;
}

static void reflect_termination(struct dr_arena *arena, struct dr_snapshot *snap, struct dr_str id) {
    struct dr_instance *instances = own(arena, snap->instances, snap->instance_n, sizeof(*instances));
    for (size_t i = 0; i < snap->instance_n; i++) {
        if (dr_str_eq(instances[i].id, id)) {
            instances[i].state = DR_INSTANCE_SHUTTING_DOWN;
        }
    }
    snap->instances = instances;
}

static void reflect_removed_node(struct dr_arena *arena, struct dr_snapshot *snap, const struct dr_node *node) {
    size_t at;
    struct dr_node *nodes = own_nodes(arena, snap, node, &at);
    memmove(&nodes[at], &nodes[at + 1], (snap->node_n - at - 1) * sizeof(*nodes));
    snap->node_n--;
}

static void reflect_handled(struct dr_arena *arena, struct dr_snapshot *snap, const struct dr_event *event) {
    size_t at = (size_t)(event - snap->events);
    struct dr_event *events = own(arena, snap->events, snap->event_n, sizeof(*events));
    events[at].handled = true;
    snap->events = events;
}

void dr_step_reflect(struct dr_arena *arena, struct dr_snapshot *snap, const struct dr_step *step, const struct dr_result *result,
                     int64_t now_ms) {
    snap->touched = true;
    if (step->kind == DR_STEP_EVICT) {
        reflect_evictions(arena, snap, step, result, now_ms);
        return;
    }
    bool absent = result->code == DR_E_NOT_FOUND;
    if (result->code != DR_OK && !(absent && step->kind == DR_STEP_DELETE_NODE)) {
        return;
    }
    switch (step->kind) {
    case DR_STEP_CORDON:
    case DR_STEP_UNCORDON:
        reflect_cordon(arena, snap, step);
        break;
    case DR_STEP_TERMINATE:
        reflect_termination(arena, snap, step->instance_id);
        break;
    case DR_STEP_DELETE_NODE:
        reflect_removed_node(arena, snap, step->node);
        break;
    case DR_STEP_HANDLE_EVENT:
        reflect_handled(arena, snap, step->event);
        break;
    default:
        break;
    }
}
