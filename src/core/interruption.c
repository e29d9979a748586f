/*
 * Interruptions (rules 21-23): each record is served in every tick, beside whatever else is active.
 *
 *     warning:    recorded -> [drain: cordon with its own id, evict with what grace is left] -> machine ends
 *                          -> [debt] -> replacement index of a scale-up -> joined = settled       -> record ends when
 *                                  \-> victim of an uncommitted scale-down given back = settled   -> settled and gone
 *     rebalance:  recorded -> replacement joined -> ordinary scale-down of the hinted worker -> record ends
 *
 * A replacement that fails brings the debt back; one that gets a warning of its own hands it on to its own record.
 */

#include "core/drain.h"
#include "core/step.h"
#include "core/transition.h"

#define NOTICE_S 120     /* a warned machine ends two minutes after its notice */
#define OVERDUE_S 600    /* still running then: marked (rule 23) */
#define HINT_KEPT_S 3600 /* a hint whose worker cannot be drained is forgotten */
#define LEAST_GRACE_MS 1000

static bool gone(const struct dr_machine *m, const struct dr_record *record) {
    if (dr_state_ended(m->view->state, record->instance_id)) {
        return true;
    }
    const struct dr_instance *instance = dr_fleet_instance(&m->view->fleet, record->instance_id);
    if (instance != NULL) {
        return instance->state == DR_INSTANCE_SHUTTING_DOWN || instance->state == DR_INSTANCE_TERMINATED;
    }
    return m->view->fleet.workers_known && m->now_epoch > record->noticed_epoch + NOTICE_S;
}

static const struct dr_attempt *replacement(const struct dr_state *state, const struct dr_record *record) {
    if (record->action_id.n == 0 || !dr_str_eq(record->action_id, state->up_action_id)) {
        return NULL;
    }
    return record->index < (int64_t)state->attempts.n ? &state->attempts.v[record->index] : NULL;
}

static bool settled(const struct dr_record *record) { return record->returned_id.n > 0; }

static bool owes(const struct dr_record *record) { return !settled(record) && record->action_id.n == 0; }

/* The debt comes back: the index failed, or the action that had it is no more. */
static bool debt_back(struct dr_machine *m, struct dr_step *ret, const struct dr_record *record) {
    const struct dr_state *state = m->view->state;
    if (settled(record) || record->action_id.n == 0) {
        return false;
    }
    const struct dr_attempt *attempt = replacement(state, record);
    bool ours = dr_str_eq(record->action_id, state->up_action_id);
    if (ours && (attempt == NULL || attempt->status != DR_ATTEMPT_FAILED)) {
        return false;
    }
    struct dr_state next;
    (void)dr_record_assign(m->arena, state, &next, record->instance_id, DR_STR_NONE, 0);
    return dr_step_write(ret, 22, "owe replacement again", record->instance_id, &next);
}

/* Ends with the machine remembered as ended, so that a stale Describe cannot bring it back (rule 13). */
static bool end_record(struct dr_machine *m, struct dr_step *ret, const struct dr_record *record, bool ended) {
    struct dr_state next = *m->view->state;
    if (ended) {
        (void)dr_mark_ended(m->arena, &next, &next, record->instance_id, m->now_epoch);
    }
    (void)dr_record_end(m->arena, &next, &next, record->instance_id);
    return dr_step_write(ret, 22, "end interruption", record->instance_id, &next);
}

/* A target that is interrupted leaves its uncommitted scale-down: the machine goes anyway, and its cordon needs its own id. */
static bool leave_scale_down(struct dr_machine *m, struct dr_step *ret, const struct dr_worker *worker) {
    const struct dr_state *state = m->view->state;
    if (!worker->target || worker->marked || dr_strs_has(state->down_completed, worker->id)) {
        return false;
    }
    struct dr_state next;
    if (!dr_down_drop(m->arena, state, &next, state->down_action_id, worker->id, m->now_epoch, 0)) {
        return false;
    }
    return dr_step_write(ret, 23, "drop interrupted target", worker->id, &next);
}

static bool serve_warning(struct dr_machine *m, struct dr_step *ret, const struct dr_record *record, bool is_gone) {
    const struct dr_worker *worker = dr_fleet_find(&m->view->fleet, record->instance_id);
    if (is_gone || worker == NULL) {
        /* The fleet is as large as it may be without the machine: the debt lapses, or it would hold back every later decision. */
        bool lapsed = owes(record) && m->view->fleet.workers_known && m->view->fleet.held >= m->view->cfg->max_workers;
        return is_gone && (settled(record) || lapsed) && end_record(m, ret, record, true);
    }
    if (worker->marked) {
        return settled(record) && end_record(m, ret, record, false);
    }
    if (m->now_epoch >= record->noticed_epoch + OVERDUE_S && !worker->refused) {
        struct dr_state next;
        (void)dr_mark_add(m->arena, m->view->state, &next, record->instance_id);
        ret->has_mark = true;
        return dr_step_write(ret, 23, "mark overdue machine", record->instance_id, &next);
    }
    if (leave_scale_down(m, ret, worker)) {
        return true;
    }
    dr_machine_wait(m, 0);
    int64_t left_ms = (record->noticed_epoch + NOTICE_S) * 1000 - m->now_ms;
    if (left_ms <= 0 || worker->node == NULL || !m->view->snap->pods_part.known) {
        return false;
    }
    bool drained;
    int64_t grace_ms = left_ms > LEAST_GRACE_MS ? left_ms : LEAST_GRACE_MS;
    return dr_machine_drain(m, ret, worker, dr_interruption_owner(m->arena, worker->id), true, grace_ms, &drained);
}

/* Replacement is there: an ordinary drain, by the ordinary filters. */
static bool drain_hinted(struct dr_machine *m, struct dr_step *ret, const struct dr_record *record, const struct dr_worker *worker) {
    const struct dr_state *state = m->view->state;
    dr_machine_wait(m, 0);
    if (state->scaling || worker->marked || m->turn->decided) {
        return false;
    }
    struct dr_candidate candidate = dr_victim_check(m->arena, m->view->cfg, state, &m->view->fleet, worker, false);
    if (candidate.verdict != DR_VICTIM_OK) {
        return m->now_epoch >= record->recorded_epoch + HINT_KEPT_S && end_record(m, ret, record, false);
    }
    struct dr_str *target = DR_NEW(m->arena, struct dr_str);
    *target = worker->id;
    struct dr_state next;
    (void)dr_down_begin(m->arena, state, &next, dr_machine_action_id(m), m->now_epoch, (struct dr_strs){target, 1}, DR_STR("rebalance"));
    m->turn->decided = true;
    m->plan->decision.verdict = DR_VERDICT_SCALE_DOWN;
    m->plan->decision.reason = DR_REASON_REBALANCE;
    m->plan->decision.delta = -1;
    return dr_step_write(ret, 21, "begin scale-down", next.down_action_id, &next);
}

static bool serve_hint(struct dr_machine *m, struct dr_step *ret, const struct dr_record *record, bool is_gone) {
    if (is_gone) {
        return end_record(m, ret, record, true);
    }
    const struct dr_worker *worker = dr_fleet_find(&m->view->fleet, record->instance_id);
    if (worker == NULL) {
        return false;
    }
    if (settled(record)) {
        return drain_hinted(m, ret, record, worker);
    }
    if (record->action_id.n == 0 && m->view->fleet.held >= m->view->cfg->max_workers) {
        return end_record(m, ret, record, false);
    }
    return false;
}

static bool payable(const struct dr_machine *m, const struct dr_record *record) {
    if (!owes(record)) {
        return false;
    }
    /* `next_tick`: the tick that wrote the record only drains. */
    return m->view->cfg->replace == DR_REPLACE_AT_ONCE || record->recorded_epoch < m->turn->started_ms / 1000;
}

static int64_t payable_n(const struct dr_machine *m) {
    int64_t n = 0;
    for (size_t i = 0; i < m->view->state->records.n; i++) {
        n += payable(m, &m->view->state->records.v[i]) ? 1 : 0;
    }
    return n;
}

static bool uncommitted(const struct dr_state *state, struct dr_str id) {
    return !dr_state_marked(state, id) && !dr_strs_has(state->down_completed, id);
}

/* Rule 23: victims that are not committed are given back, first as replacements; then the scale-down ends, its marks remain. */
static bool take_back_victims(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    struct dr_state next = *state;
    size_t record = 0;
    bool given_back = false;
    for (size_t i = 0; i < state->down_targets.n; i++) {
        struct dr_str id = state->down_targets.v[i];
        if (!uncommitted(state, id)) {
            continue;
        }
        const struct dr_worker *worker = dr_fleet_find(&m->view->fleet, id);
        while (worker != NULL && worker->live && worker->joined && record < state->records.n && !payable(m, &state->records.v[record])) {
            record++;
        }
        if (worker != NULL && worker->live && worker->joined && record < state->records.n) {
            (void)dr_record_return(m->arena, &next, &next, state->records.v[record++].instance_id, id);
        }
        (void)dr_down_drop(m->arena, &next, &next, state->down_action_id, id, m->now_epoch, 0);
        given_back = true;
    }
    if (next.down_completed.n > 0 && next.down_completed.n == next.down_targets.n) {
        (void)dr_down_complete(m->arena, &next, &next, state->down_action_id, m->now_epoch);
    } else {
        (void)dr_down_fail(m->arena, &next, &next, state->down_action_id);
    }
    ret->finished = true;
    return dr_step_write(ret, 23, given_back ? "cancel scale-down for replacement" : "end committed scale-down for replacement",
                         state->down_action_id, &next);
}

static bool pay_debts(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    const struct dr_fleet *fleet = &m->view->fleet;
    int64_t n = payable_n(m);
    if (n == 0 || !fleet->workers_known) {
        return false;
    }
    if (state->down_action_id.n > 0) {
        return take_back_victims(m, ret);
    }
    dr_machine_wait(m, 0);
    int64_t room = m->view->cfg->max_workers - fleet->held;
    struct dr_place place;
    struct dr_place_wish any = {.only_market = false};
    if (room <= 0 || m->now_epoch < state->backoff_until_epoch || (state->up_action_id.n > 0 && !state->up_has_attempts) ||
        !dr_place_next(m->arena, m->view->cfg, state, fleet, &any, m->now_epoch, &place)) {
        return false;
    }
    n = n < room ? n : room;
    struct dr_state next;
    int64_t first = state->up_action_id.n > 0 ? state->up_requested : 0;
    if (state->up_action_id.n > 0) {
        (void)dr_up_extend(m->arena, state, &next, state->up_action_id, first + n);
    } else {
        (void)dr_up_begin(m->arena, state, &next, dr_machine_action_id(m), m->now_epoch, n);
        m->plan->decision.verdict = DR_VERDICT_SCALE_UP;
        m->plan->decision.reason = DR_REASON_REPLACEMENT;
        m->plan->decision.delta = n;
        m->turn->decided = true;
    }
    int64_t given = 0;
    for (size_t i = 0; i < state->records.n && given < n; i++) {
        if (payable(m, &state->records.v[i])) {
            (void)dr_record_assign(m->arena, &next, &next, state->records.v[i].instance_id, next.up_action_id, first + given++);
        }
    }
    return dr_step_write(ret, 22, state->up_action_id.n > 0 ? "extend scale-up for replacement" : "begin replacement", next.up_action_id,
                         &next);
}

bool dr_stage_interruptions(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    for (size_t i = 0; i < state->records.n; i++) {
        const struct dr_record *record = &state->records.v[i];
        bool is_gone = gone(m, record);
        if (debt_back(m, ret, record)) {
            return true;
        }
        if (record->kind == DR_EVENT_WARNING ? serve_warning(m, ret, record, is_gone) : serve_hint(m, ret, record, is_gone)) {
            return true;
        }
    }
    return pay_debts(m, ret);
}
