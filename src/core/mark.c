/*
 * Marks (rules 13, 15, 16): a mark outlives its action and only rolls forward.
 *
 *     marked -> [Nodes read again; joined meanwhile: cordon and drain] -> TerminateInstances -> seen shutting down -> ended
 *                                                                                    \-> refused by termination protection -> refused
 */

#include "core/drain.h"
#include "core/step.h"
#include "core/transition.h"

#define STUCK_POD_MS 30000 /* a pod this long past its grace will not go by itself */

static bool ended(const struct dr_fleet *fleet, struct dr_str id) {
    const struct dr_instance *instance = dr_fleet_instance(fleet, id);
    return instance != NULL && (instance->state == DR_INSTANCE_SHUTTING_DOWN || instance->state == DR_INSTANCE_TERMINATED);
}

static bool open_target(const struct dr_state *state, struct dr_str id) {
    return state->down_action_id.n > 0 && dr_strs_has(state->down_targets, id) && !dr_strs_has(state->down_completed, id);
}

static bool seen_ended(struct dr_machine *m, struct dr_step *ret, struct dr_str id) {
    struct dr_state next = *m->view->state;
    if (open_target(&next, id)) {
        (void)dr_down_mark_done(m->arena, &next, &next, next.down_action_id, id);
    }
    (void)dr_mark_ended(m->arena, &next, &next, id, m->now_epoch);
    return dr_step_write(ret, 13, "unmark ended", id, &next);
}

/* Pods that are still worth waiting for: on a Ready node, not yet asked to go, or within their grace. */
static bool worth_waiting(struct dr_machine *m, const struct dr_worker *worker) {
    if (!worker->ready) {
        return false;
    }
    dr_fleet_index_pods(m->arena, &m->view->fleet);
    for (size_t i = 0; i < worker->pod_n; i++) {
        const struct dr_pod *pod = &m->view->snap->pods[m->view->fleet.pod_index[worker->pod_first + i]];
        enum dr_pod_class class = dr_pod_classify(pod);
        if (class == DR_POD_STAYS || class == DR_POD_FINISHED) {
            continue;
        }
        if (!pod->deleting || m->now_ms < pod->delete_by_ms + STUCK_POD_MS) {
            return true;
        }
    }
    return false;
}

/* Rule 15: what joined, or was given a pod, after it was chosen is drained before the call. An interrupted machine had its drain; a mark that its action drained is empty. */
static bool drain_first(struct dr_machine *m, struct dr_step *ret, const struct dr_worker *worker, bool *ret_wait) {
    *ret_wait = false;
    if (worker->node == NULL || worker->interrupted || !worth_waiting(m, worker)) {
        return false;
    }
    bool drained;
    struct dr_str owner = worker->node->unschedulable && worker->node->cordon_owner.n > 0
                              ? worker->node->cordon_owner
                              : dr_str_fmt(m->arena, "mark-%.*s", DR_FMT(worker->id));
    if (dr_machine_drain(m, ret, worker, owner, true, -1, &drained)) {
        ret->rule = 15;
        return true;
    }
    *ret_wait = !drained;
    return false;
}

/* Whether it joined meanwhile is known only when everything that says so could be read. An interrupted machine goes anyway: nothing is gained by waiting. */
static bool can_tell(const struct dr_machine *m, struct dr_str id) {
    const struct dr_snapshot *snap = m->view->snap;
    const struct dr_record *record = dr_state_record(m->view->state, id);
    bool interrupted = record != NULL && record->kind == DR_EVENT_WARNING;
    return interrupted || (snap->instances_part.known && snap->nodes_part.known && snap->pods_part.known);
}

static bool roll_forward(struct dr_machine *m, struct dr_step *ret, struct dr_str id) {
    /* An accepted call is not yet a machine seen shutting down: the mark waits for an observation of its own (rule 13). */
    if (ended(&m->view->fleet, id)) {
        return !m->view->snap->touched && seen_ended(m, ret, id);
    }
    dr_machine_wait(m, 0);
    if (m->view->snap->seq <= m->turn->marked_seq) {
        ret->kind = DR_STEP_REFRESH;
        ret->rule = 15;
        return true;
    }
    if (!can_tell(m, id)) {
        return false;
    }
    const struct dr_worker *worker = dr_fleet_find(&m->view->fleet, id);
    bool wait = false;
    if (worker != NULL && drain_first(m, ret, worker, &wait)) {
        return true;
    }
    if (wait || !dr_machine_may(m, DR_STEP_TERMINATE, id)) {
        return false;
    }
    ret->kind = DR_STEP_TERMINATE;
    ret->rule = 16;
    ret->what = "terminate";
    ret->target = id;
    ret->instance_id = id;
    return true;
}

bool dr_stage_marks(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    for (size_t i = 0; i < state->marks.n; i++) {
        if (roll_forward(m, ret, state->marks.v[i])) {
            return true;
        }
    }
    return false;
}
