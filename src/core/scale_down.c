/*
 * Scale-down (rules 13-20), target by target:
 *
 *     chosen -> owners stored -> cordoned -> evicting -> empty, fresh data says still wanted -> MARKED (commit) -> terminated
 *        \          \              \            \                                                   only forward
 *         +----------+--------------+------------+--> given back: pressure, below minimum, no room for its own pods, drain timeout
 *
 * Giving back only changes the item; the sweep of cordons (core/sweep.c) then uncordons what no action claims: one way to undo, whatever the cause.
 */

#include "base/time.h"
#include "core/drain.h"
#include "core/step.h"
#include "core/transition.h"

#define POLL_MS 5000
#define SUCCESSOR_MS (30 * DR_SECOND_MS) /* rule 19 */

static bool reason_is(const struct dr_state *state, const char *reason) { return dr_str_is(state->down_reason, reason); }

static bool is_open(const struct dr_state *state, struct dr_str id) { return !dr_strs_has(state->down_completed, id); }

static bool is_committed(const struct dr_state *state, struct dr_str id) { return dr_state_marked(state, id) || dr_state_ended(state, id); }

/* Only a drain that was tried and failed speaks against its victim. */
static int64_t avoid_ms(const struct dr_machine *m, struct dr_str id, bool avoid) {
    const struct dr_drain *drain = dr_state_drain(m->view->state, id);
    return avoid && drain != NULL && drain->started_epoch > 0 ? m->view->cfg->victim_avoid_ms : 0;
}

/* All or some targets go back; the action ends when none is left open. */
static bool give_back(struct dr_machine *m, struct dr_step *ret, struct dr_str only, bool avoid, int rule, const char *what) {
    const struct dr_state *state = m->view->state;
    struct dr_state next = *state;
    for (size_t i = 0; i < state->down_targets.n; i++) {
        struct dr_str id = state->down_targets.v[i];
        if (is_open(state, id) && !is_committed(state, id) && (only.n == 0 || dr_str_eq(only, id))) {
            (void)dr_down_drop(m->arena, &next, &next, state->down_action_id, id, m->now_epoch, avoid_ms(m, id, avoid));
        }
    }
    return dr_step_write(ret, rule, what, only.n > 0 ? only : state->down_action_id, &next);
}

static int64_t uncommitted_live(const struct dr_machine *m) {
    const struct dr_state *state = m->view->state;
    int64_t n = 0;
    for (size_t i = 0; i < state->down_targets.n; i++) {
        const struct dr_worker *worker = dr_fleet_find(&m->view->fleet, state->down_targets.v[i]);
        n += worker != NULL && worker->live && is_open(state, worker->id) ? 1 : 0;
    }
    return n;
}

static bool has_uncommitted(const struct dr_state *state) {
    for (size_t i = 0; i < state->down_targets.n; i++) {
        if (is_open(state, state->down_targets.v[i]) && !is_committed(state, state->down_targets.v[i])) {
            return true;
        }
    }
    return false;
}

/* A surplus goes whatever the signals say, as long as it is one; so does a machine that is not ready. */
static bool bound_by_signals(const struct dr_machine *m) {
    if (reason_is(m->view->state, "surplus")) {
        return m->view->fleet.held <= m->view->cfg->max_workers;
    }
    return !reason_is(m->view->state, "not-ready");
}

/* Rules 19, 20: what makes all uncommitted targets go back. */
static bool cancel(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    const struct dr_fleet *fleet = &m->view->fleet;
    if (!has_uncommitted(state)) {
        return false;
    }
    if (fleet->workers_known && fleet->planned - uncommitted_live(m) < m->view->cfg->min_workers && uncommitted_live(m) > 0) {
        return give_back(m, ret, DR_STR_NONE, false, 20, "cancel scale-down: below minimum");
    }
    if (bound_by_signals(m) && m->view->pressure == DR_YES) {
        return give_back(m, ret, DR_STR_NONE, false, 20, "cancel scale-down: pressure returned");
    }
    int64_t since_ms = m->view->pending.successor_since_ms;
    if (since_ms > 0 && m->now_ms >= since_ms + SUCCESSOR_MS) {
        return give_back(m, ret, DR_STR_NONE, true, 19, "cancel scale-down: evicted pods find no room");
    }
    return false;
}

static bool end_action(struct dr_machine *m, struct dr_step *ret, int rule) {
    const struct dr_state *state = m->view->state;
    struct dr_state next;
    ret->finished = true;
    if (state->down_completed.n > 0) {
        (void)dr_down_complete(m->arena, state, &next, state->down_action_id, m->now_epoch);
        return dr_step_write(ret, rule, "complete scale-down", state->down_action_id, &next);
    }
    (void)dr_down_fail(m->arena, state, &next, state->down_action_id);
    return dr_step_write(ret, rule, "end scale-down without effect", state->down_action_id, &next);
}

/* Rule 27: after the limit the uncommitted go back and the action ends; committed ones end as marks. */
static bool clear_stuck(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    if (m->now_ms < state->down_started_epoch * 1000 + m->view->cfg->stuck_ms) {
        return false;
    }
    if (has_uncommitted(state)) {
        return give_back(m, ret, DR_STR_NONE, true, 27, "clear stuck scale-down");
    }
    if (state->down_completed.n == state->down_targets.n) {
        return false;
    }
    ret->alert = true;
    struct dr_state next;
    (void)dr_down_fail(m->arena, state, &next, state->down_action_id);
    return dr_step_write(ret, 27, "clear stuck scale-down", state->down_action_id, &next);
}

/* Pods that this drain evicted and that have no node yet (rule 14). */
static bool successors_wait(const struct dr_machine *m, const struct dr_drain *drain) {
    const struct dr_snapshot *snap = m->view->snap;
    for (size_t i = 0; i < snap->pod_n && drain->owner_uids.n > 0; i++) {
        const struct dr_pod *pod = &snap->pods[i];
        if (pod->phase == DR_PHASE_PENDING && pod->node.n == 0 && !pod->deleting && pod->owner_uid.n > 0 &&
            dr_strs_has(drain->owner_uids, pod->owner_uid)) {
            return true;
        }
    }
    return false;
}

static bool data_known(const struct dr_machine *m) {
    const struct dr_snapshot *snap = m->view->snap;
    return snap->instances_part.known && snap->nodes_part.known && snap->pods_part.known;
}

/* What is not known might be pressure, except for a custom signal: that may never have had a series, and holds up a scale-down only where it has a rule for it. */
static bool may_be_pressure(const struct dr_view *view) {
    /* Waiting pods are pressure only after a while, but nothing shrinks while they wait (hazard 14). */
    if (!view->pending.known || view->pending.helpable > 0) {
        return true;
    }
    if (view->pressure != DR_UNKNOWN) {
        return view->pressure == DR_YES;
    }
    for (size_t i = 0; i < view->up_n; i++) {
        const struct dr_rule *rule = view->up[i].rule;
        bool custom = rule->kind == DR_RULE_SIGNAL && view->cfg->signals[rule->signal].kind == DR_SIGNAL_CUSTOM;
        if (view->up[i].truth == DR_UNKNOWN && !custom) {
            return true;
        }
    }
    return false;
}

/* Rule 14, on fresh data. */
static bool commit(struct dr_machine *m, struct dr_step *ret, const struct dr_worker *worker) {
    const struct dr_state *state = m->view->state;
    const struct dr_drain *drain = dr_state_drain(state, worker->id);
    if (m->view->snap->touched) {
        ret->kind = DR_STEP_REFRESH;
        ret->rule = 14;
        return true;
    }
    if (drain != NULL && successors_wait(m, drain)) {
        dr_machine_wait(m, POLL_MS);
        return false;
    }
    if (bound_by_signals(m) && may_be_pressure(m->view)) {
        dr_machine_wait(m, POLL_MS);
        return false;
    }
    if (worker->live) {
        struct dr_candidate candidate = dr_victim_check(m->arena, m->view->cfg, state, &m->view->fleet, worker, true);
        if (candidate.verdict != DR_VICTIM_OK) {
            return give_back(m, ret, worker->id, true, 14, "give victim back: no longer safe");
        }
    }
    struct dr_state next;
    (void)dr_down_commit(m->arena, state, &next, state->down_action_id, worker->id);
    ret->has_mark = true;
    return dr_step_write(ret, 14, "mark", worker->id, &next);
}

static bool owners_stored(const struct dr_drain *drain, struct dr_strs owners) {
    for (size_t i = 0; i < owners.n; i++) {
        if (drain == NULL || !dr_strs_has(drain->owner_uids, owners.v[i])) {
            return false;
        }
    }
    return drain != NULL && drain->started_epoch > 0;
}

static bool timed_out(const struct dr_machine *m, const struct dr_drain *drain) {
    return drain != NULL && drain->started_epoch > 0 && m->now_ms >= drain->started_epoch * 1000 + m->view->cfg->drain_timeout_ms;
}

/* Somebody else's cordon: never ours to drain or to lift (rule 18). */
static bool foreign_cordon(const struct dr_worker *worker) { return worker->node->unschedulable && worker->node->cordon_owner.n == 0; }

/* A machine that is not ready moves what it can: pods already asked to leave will not finish on a dead kubelet, so nothing waits for them (rule 25). */
static bool moved_what_can_move(struct dr_machine *m, const struct dr_worker *worker, const struct dr_drain_plan *plan) {
    if (worker->ready || !reason_is(m->view->state, "not-ready")) {
        return false;
    }
    return plan->evict_n == 0 || timed_out(m, dr_state_drain(m->view->state, worker->id));
}

static bool drain(struct dr_machine *m, struct dr_step *ret, const struct dr_worker *worker) {
    const struct dr_state *state = m->view->state;
    const struct dr_drain *drain = dr_state_drain(state, worker->id);
    bool not_ready = reason_is(state, "not-ready");
    if (foreign_cordon(worker)) {
        return give_back(m, ret, worker->id, false, 18, "give victim back: cordoned by someone else");
    }
    if (not_ready && worker->ready) {
        return give_back(m, ret, worker->id, false, 25, "give victim back: ready again");
    }
    struct dr_drain_plan plan;
    dr_drain_work_out(m->arena, m->view->cfg, &m->view->fleet, worker, not_ready, &plan);
    if (plan.blocker != NULL && !not_ready) {
        return give_back(m, ret, worker->id, true, 14, "give victim back: a pod may not be moved");
    }
    if (timed_out(m, drain) && plan.remaining > 0 && !not_ready) {
        ret->alert = true;
        return give_back(m, ret, worker->id, true, 20, "give victim back: drain timed out");
    }
    if (!owners_stored(drain, plan.owner_uids)) {
        struct dr_state next;
        (void)dr_down_drain(m->arena, state, &next, state->down_action_id, worker->id, plan.owner_uids, m->now_epoch);
        return dr_step_write(ret, 19, "store owners", worker->id, &next);
    }
    bool drained;
    if (dr_machine_drain(m, ret, worker, state->down_action_id, not_ready, -1, &drained)) {
        return true;
    }
    if (drained || moved_what_can_move(m, worker, &plan)) {
        return commit(m, ret, worker);
    }
    return false;
}

/* True: a step. The first open target that still needs something holds back the ones behind it: one node down at a time. */
static bool advance(struct dr_machine *m, struct dr_step *ret, struct dr_str id, bool *ret_hold) {
    *ret_hold = true;
    const struct dr_state *state = m->view->state;
    const struct dr_instance *instance = dr_fleet_instance(&m->view->fleet, id);
    if (dr_state_marked(state, id)) {
        return false;
    }
    if (dr_state_ended(state, id)) {
        struct dr_state next;
        (void)dr_down_mark_done(m->arena, state, &next, state->down_action_id, id);
        return dr_step_write(ret, 13, "target ended", id, &next);
    }
    if (instance != NULL && (instance->state == DR_INSTANCE_SHUTTING_DOWN || instance->state == DR_INSTANCE_TERMINATED)) {
        return give_back(m, ret, id, false, 13, "target ended by itself");
    }
    const struct dr_worker *worker = dr_fleet_find(&m->view->fleet, id);
    if (worker == NULL || !data_known(m)) {
        return false;
    }
    if (worker->refused) {
        return give_back(m, ret, id, false, 16, "give victim back: termination refused");
    }
    if (worker->node != NULL) {
        return drain(m, ret, worker);
    }
    /* Unjoined: nothing to drain; rule 15 looks again after the mark. */
    return worker->unjoined && commit(m, ret, worker);
}

bool dr_stage_scale_down(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    if (state->down_action_id.n == 0) {
        return false;
    }
    dr_machine_wait(m, 0);
    if (clear_stuck(m, ret) || cancel(m, ret)) {
        return true;
    }
    bool any_open = false;
    for (size_t i = 0; i < state->down_targets.n; i++) {
        bool hold = false;
        if (!is_open(state, state->down_targets.v[i])) {
            continue;
        }
        any_open = true;
        if (advance(m, ret, state->down_targets.v[i], &hold)) {
            return true;
        }
        if (hold) {
            break;
        }
    }
    return !any_open && end_action(m, ret, 13);
}
