/* The last stage: nothing is under way, so the decision may begin an action (DESIGN order: docs/architecture.md). At most one per tick. */

#include "base/time.h"
#include "core/step.h"
#include "core/transition.h"

#define NOT_READY_MS (15 * DR_MINUTE_MS) /* rule 25 */

static bool begin_up(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    struct dr_state next;
    (void)dr_up_begin(m->arena, state, &next, dr_machine_action_id(m), m->now_epoch, m->plan->decision.delta);
    m->plan->action_id = next.up_action_id;
    return dr_step_write(ret, 2, "begin scale-up", next.up_action_id, &next);
}

static bool begin_down(struct dr_machine *m, struct dr_step *ret, struct dr_strs targets, struct dr_str reason) {
    struct dr_state next;
    (void)dr_down_begin(m->arena, m->view->state, &next, dr_machine_action_id(m), m->now_epoch, targets, reason);
    m->plan->action_id = next.down_action_id;
    return dr_step_write(ret, 2, "begin scale-down", next.down_action_id, &next);
}

/* Rule 25: one at a time, and only while less than a third of the workers are NotReady: more than that is the network or the server, not the machines. */
static bool begin_not_ready(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_fleet *fleet = &m->view->fleet;
    const struct dr_worker *oldest = NULL;
    int64_t not_ready = 0;
    if (!fleet->workers_known || !fleet->nodes_known || !m->view->snap->pods_part.known) {
        return false;
    }
    for (size_t i = 0; i < fleet->worker_n; i++) {
        const struct dr_worker *worker = &fleet->workers[i];
        if (worker->node == NULL || worker->ready || worker->marked || worker->interrupted) {
            continue;
        }
        not_ready++;
        bool foreign = worker->node->unschedulable && worker->node->cordon_owner.n == 0;
        bool eligible = worker->joined && worker->not_ready_ms >= NOT_READY_MS && !worker->refused && !worker->node->protected_ && !foreign;
        struct dr_str key = dr_str_fmt(m->arena, "victim/%.*s", DR_FMT(worker->id));
        const struct dr_avoid *avoid = eligible ? dr_state_avoid(m->view->state, key) : NULL;
        if (eligible && (avoid == NULL || avoid->until_epoch <= m->now_epoch) &&
            (oldest == NULL || worker->not_ready_ms > oldest->not_ready_ms)) {
            oldest = worker;
        }
    }
    if (oldest == NULL || not_ready * 3 >= (int64_t)fleet->worker_n) {
        return false;
    }
    struct dr_str *target = DR_NEW(m->arena, struct dr_str);
    *target = oldest->id;
    m->turn->decided = true;
    m->plan->decision.verdict = DR_VERDICT_SCALE_DOWN;
    m->plan->decision.reason = DR_REASON_NOT_READY;
    m->plan->decision.delta = -1;
    return begin_down(m, ret, (struct dr_strs){target, 1}, DR_STR("not-ready"));
}

static bool owes_replacement(const struct dr_state *state) {
    for (size_t i = 0; i < state->records.n; i++) {
        if (state->records.v[i].action_id.n == 0 && state->records.v[i].returned_id.n == 0) {
            return true;
        }
    }
    return false;
}

bool dr_stage_decide(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    if (state->scaling) {
        if (!m->turn->decided) {
            m->plan->decision.verdict = DR_VERDICT_ADVANCE;
            m->plan->decision.reason = DR_REASON_ACTION_ACTIVE;
            m->plan->action_id = state->up_action_id.n > 0 ? state->up_action_id : state->down_action_id;
            dr_view_describe(m->arena, m->view, m->plan);
        }
        return false;
    }
    if (m->turn->decided) {
        return false;
    }
    /* A debt stands for a worker that is already asked for: deciding beside it would ask twice. */
    if (owes_replacement(state)) {
        m->plan->decision.verdict = DR_VERDICT_NOOP;
        m->plan->decision.reason = DR_REASON_DEBT;
        dr_view_describe(m->arena, m->view, m->plan);
        dr_machine_wait(m, 0);
        return false;
    }
    dr_decide(m->arena, m->view, m->plan);
    enum dr_verdict verdict = m->plan->decision.verdict;
    if (verdict != DR_VERDICT_SCALE_UP && begin_not_ready(m, ret)) {
        return true;
    }
    if (verdict == DR_VERDICT_SCALE_UP) {
        m->turn->decided = true;
        return begin_up(m, ret);
    }
    if (verdict == DR_VERDICT_SCALE_DOWN) {
        m->turn->decided = true;
        bool surplus = m->plan->decision.reason == DR_REASON_ABOVE_MAXIMUM;
        return begin_down(m, ret, m->plan->decision.victims.chosen, surplus ? DR_STR("surplus") : DR_STR("idle"));
    }
    return false;
}
