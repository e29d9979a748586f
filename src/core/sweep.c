/*
 * Sweeps (rules 24-26): what no action claims is found by looking, whoever left it behind. Cordons of ours without an owner, Node objects without a machine, machines that never joined, second machines of one index.
 */

#include "core/step.h"
#include "core/transition.h"

/* Does anything still stand behind this cordon? Marked and interrupted nodes are never uncordoned (rule 18). */
static bool cordon_claimed(struct dr_machine *m, const struct dr_worker *worker) {
    const struct dr_state *state = m->view->state;
    if (worker->marked || worker->interrupted) {
        return true;
    }
    return worker->target && dr_str_eq(worker->node->cordon_owner, state->down_action_id) &&
           !dr_strs_has(state->down_completed, worker->id);
}

static bool sweep_cordons(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_fleet *fleet = &m->view->fleet;
    for (size_t i = 0; i < fleet->worker_n; i++) {
        const struct dr_worker *worker = &fleet->workers[i];
        if (worker->node == NULL || worker->node->cordon_owner.n == 0 || cordon_claimed(m, worker) ||
            !dr_machine_may(m, DR_STEP_UNCORDON, worker->node->name)) {
            continue;
        }
        ret->kind = worker->node->resource_version.n == 0 ? DR_STEP_REFRESH : DR_STEP_UNCORDON;
        ret->rule = 26;
        ret->what = "uncordon";
        ret->target = worker->node->name;
        ret->node = worker->node;
        ret->instance_id = worker->id;
        return true;
    }
    return false;
}

static bool sweep_ghosts(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_fleet *fleet = &m->view->fleet;
    if (!fleet->workers_known) {
        return false;
    }
    for (size_t i = 0; i < m->view->snap->node_n; i++) {
        const struct dr_node *node = &m->view->snap->nodes[i];
        if (fleet->node_kind[i] != DR_NODE_GHOST || !dr_machine_may(m, DR_STEP_DELETE_NODE, node->name)) {
            continue;
        }
        ret->kind = DR_STEP_DELETE_NODE;
        ret->rule = 26;
        ret->what = "delete ghost node";
        ret->target = node->name;
        ret->node = node;
        return true;
    }
    return false;
}

static bool of_active_action(const struct dr_state *state, const struct dr_instance *instance) {
    return state->up_action_id.n > 0 && dr_str_eq(instance->action_id, state->up_action_id);
}

/* A second machine for an index that has one (rule 24). */
static bool is_second(const struct dr_state *state, const struct dr_instance *instance) {
    if (!of_active_action(state, instance) || instance->index < 0 || instance->index >= (int64_t)state->attempts.n) {
        return false;
    }
    struct dr_str first = state->attempts.v[instance->index].instance_id;
    return first.n > 0 && !dr_str_eq(first, instance->id);
}

/* Quarantine ends by itself: when the time is up the machine is swept like any other, when it joins it is a worker again. */
static bool sweep_unjoined(struct dr_machine *m, struct dr_step *ret, const struct dr_worker *worker) {
    const struct dr_state *state = m->view->state;
    const struct dr_timed_id *quarantine = dr_state_quarantined(state, worker->id);
    struct dr_state next;
    if (quarantine == NULL && m->view->cfg->join_failure == DR_JOIN_QUARANTINE) {
        (void)dr_quarantine_put(m->arena, state, &next, worker->id, m->now_epoch + m->view->cfg->quarantine_ms / 1000);
        return dr_step_write(ret, 24, "quarantine", worker->id, &next);
    }
    if (quarantine != NULL && m->now_epoch < quarantine->epoch) {
        return false;
    }
    (void)dr_mark_add(m->arena, state, &next, worker->id);
    ret->has_mark = true;
    return dr_step_write(ret, 24, "mark unjoined machine", worker->id, &next);
}

static bool sweep_instance(struct dr_machine *m, struct dr_step *ret, const struct dr_worker *worker) {
    const struct dr_state *state = m->view->state;
    const struct dr_instance *instance = worker->instance;
    if (worker->quarantined && worker->joined && worker->ready) {
        struct dr_state next;
        (void)dr_quarantine_end(m->arena, state, &next, worker->id);
        return dr_step_write(ret, 24, "end quarantine: joined", worker->id, &next);
    }
    if (instance == NULL || instance->action_id.n == 0 || worker->marked || worker->refused || worker->interrupted) {
        return false;
    }
    if (is_second(state, instance)) {
        struct dr_state next;
        (void)dr_mark_add(m->arena, state, &next, worker->id);
        ret->has_mark = true;
        return dr_step_write(ret, 24, "mark second machine of an index", worker->id, &next);
    }
    return worker->unjoined && worker->join_expired && !worker->target && !of_active_action(state, instance) &&
           sweep_unjoined(m, ret, worker);
}

bool dr_stage_sweeps(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_fleet *fleet = &m->view->fleet;
    if (sweep_cordons(m, ret) || sweep_ghosts(m, ret)) {
        return true;
    }
    for (size_t i = 0; i < fleet->worker_n; i++) {
        if (sweep_instance(m, ret, &fleet->workers[i])) {
            return true;
        }
    }
    return false;
}
