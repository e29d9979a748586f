/*
 * The inbox (rule 21): events become records in the item, then their rows are marked handled. Only a warning makes a worker interrupted; a rebalance hint asks for a replacement first; a state change only wakes a tick.
 * The record is written before the row is handled, so a crash in between repeats a write that is already there.
 */

#include "core/step.h"
#include "core/transition.h"

static bool handle(struct dr_machine *m, struct dr_step *ret, const struct dr_event *event) {
    if (!dr_machine_may(m, DR_STEP_HANDLE_EVENT, event->instance_id)) {
        return false;
    }
    ret->kind = DR_STEP_HANDLE_EVENT;
    ret->rule = 21;
    ret->what = "handle event";
    ret->target = event->instance_id;
    ret->event = event;
    return true;
}

static bool warning_was_handled(const struct dr_snapshot *snap, struct dr_str id) {
    for (size_t i = 0; i < snap->event_n; i++) {
        const struct dr_event *event = &snap->events[i];
        if (event->kind == DR_EVENT_WARNING && event->handled && dr_str_eq(event->instance_id, id)) {
            return true;
        }
    }
    return false;
}

/* Launched by the active scale-up, though Describe may not show it yet. */
static bool launched_here(const struct dr_state *state, struct dr_str id) {
    for (size_t i = 0; i < state->attempts.n; i++) {
        if (dr_str_eq(state->attempts.v[i].instance_id, id)) {
            return true;
        }
    }
    return false;
}

static bool put_record(struct dr_machine *m, struct dr_step *ret, const struct dr_event *event, const struct dr_worker *worker) {
    struct dr_record record = {
        .instance_id = event->instance_id,
        .kind = event->kind,
        .noticed_epoch = event->at_ms / 1000,
        .recorded_epoch = m->now_epoch,
    };
    if (worker != NULL) {
        record.zone = worker->zone;
        record.market = worker->instance != NULL ? worker->instance->market : DR_MARKET_SPOT;
    }
    struct dr_state next;
    if (!dr_record_put(m->arena, m->view->state, &next, &record)) {
        return handle(m, ret, event);
    }
    return dr_step_write(ret, 21, event->kind == DR_EVENT_WARNING ? "record interruption" : "record rebalance hint", event->instance_id,
                         &next);
}

static bool take(struct dr_machine *m, struct dr_step *ret, const struct dr_event *event) {
    const struct dr_state *state = m->view->state;
    const struct dr_fleet *fleet = &m->view->fleet;
    if (event->kind == DR_EVENT_STATE_CHANGE) {
        return handle(m, ret, event);
    }
    if (!fleet->workers_known) {
        return false;
    }
    const struct dr_worker *worker = dr_fleet_find(fleet, event->instance_id);
    if (worker == NULL && !launched_here(state, event->instance_id)) {
        return handle(m, ret, event);
    }
    const struct dr_record *record = dr_state_record(state, event->instance_id);
    if (record != NULL && (record->kind == DR_EVENT_WARNING || event->kind == DR_EVENT_REBALANCE)) {
        return handle(m, ret, event);
    }
    if (event->kind == DR_EVENT_REBALANCE) {
        bool at_maximum = fleet->held >= m->view->cfg->max_workers;
        if (at_maximum || warning_was_handled(m->view->snap, event->instance_id) || (worker != NULL && worker->marked)) {
            return handle(m, ret, event);
        }
    }
    return put_record(m, ret, event, worker);
}

bool dr_stage_inbox(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_snapshot *snap = m->view->snap;
    for (size_t i = 0; i < snap->event_n; i++) {
        if (!snap->events[i].handled && take(m, ret, &snap->events[i])) {
            return true;
        }
    }
    return false;
}
