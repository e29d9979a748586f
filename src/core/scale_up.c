/*
 * Scale-up (rules 7-12), per index:
 *
 *     (none) -> OPEN --instance--> LAUNCHED --Ready--> JOINED
 *               |  ^ \                  \--ended, interrupted--> FAILED
 *      capacity |  | unknown outcome: the same attempt again, verbatim
 *               v  |
 *          next attempt (other market, zone)      quota, denied, invalid, out of stock, no answer past the limit --> FAILED
 *
 * The action ends when every index is JOINED, FAILED, or LAUNCHED past its own join timeout: completed if any joined, failed with back-off otherwise.
 */

#include "core/settle.h"
#include "core/transition.h"

/* Ready under its Node: a Node object alone is no capacity. */
static bool is_joined(const struct dr_fleet *fleet, struct dr_str id) {
    const struct dr_worker *worker = dr_fleet_find(fleet, id);
    return worker != NULL && worker->joined && worker->ready;
}

static bool join_expired(const struct dr_machine *m, int64_t launched_epoch) {
    return m->now_ms >= launched_epoch * 1000 + m->view->cfg->join_timeout_ms;
}

static bool index_expired(const struct dr_machine *m, const struct dr_attempt *attempt) {
    return attempt->status == DR_ATTEMPT_LAUNCHED && join_expired(m, attempt->launched_epoch);
}

/* Why a launched instance will never join; empty: it still may. */
static struct dr_str lost(const struct dr_machine *m, const struct dr_attempt *attempt) {
    const struct dr_state *state = m->view->state;
    const struct dr_instance *instance = dr_fleet_instance(&m->view->fleet, attempt->instance_id);
    if (dr_state_ended(state, attempt->instance_id) ||
        (instance != NULL && instance->state != DR_INSTANCE_PENDING && instance->state != DR_INSTANCE_RUNNING)) {
        return DR_STR("ended before it joined");
    }
    if (dr_state_marked(state, attempt->instance_id)) {
        return DR_STR("marked");
    }
    const struct dr_record *record = dr_state_record(state, attempt->instance_id);
    return record != NULL && record->kind == DR_EVENT_WARNING ? DR_STR("interrupted before it joined") : DR_STR_NONE;
}

/* A replacement with a warning of its own settles the record it was for: its own record carries the debt on (rule 22). */
static void hand_on(struct dr_machine *m, struct dr_state *next, size_t index, struct dr_str instance_id) {
    for (size_t i = 0; i < next->records.n; i++) {
        const struct dr_record *record = &next->records.v[i];
        if (dr_str_eq(record->action_id, next->up_action_id) && record->index == (int64_t)index &&
            dr_state_record(next, instance_id) != NULL) {
            (void)dr_record_return(m->arena, next, next, record->instance_id, instance_id);
            return;
        }
    }
}

/* What the world shows about the launched ones, all in one write. */
static bool learn(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    struct dr_state next = *state;
    bool changed = false;
    struct dr_str about = state->up_action_id;
    for (size_t i = 0; i < state->attempts.n; i++) {
        const struct dr_attempt *attempt = &state->attempts.v[i];
        if (attempt->status != DR_ATTEMPT_LAUNCHED) {
            continue;
        }
        struct dr_str why = lost(m, attempt);
        if (why.n > 0) {
            changed |= dr_up_index_fail(m->arena, &next, &next, state->up_action_id, i, why);
            hand_on(m, &next, i, attempt->instance_id);
            about = attempt->instance_id;
        } else if (is_joined(&m->view->fleet, attempt->instance_id)) {
            changed |= dr_up_joined(m->arena, &next, &next, state->up_action_id, i);
            about = attempt->instance_id;
        }
    }
    return changed && dr_step_write(ret, 11, "see joins", about, &next);
}

/* Rule 12. Not while an index has failed or expired: those machines must be cleared first, or a pool that never joins fills up to maximum (hazard 21). */
static bool extend_for_minimum(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    const struct dr_fleet *fleet = &m->view->fleet;
    const struct dr_config *cfg = m->view->cfg;
    if (!fleet->workers_known || fleet->planned >= cfg->min_workers) {
        return false;
    }
    int64_t open_n = state->up_requested;
    for (size_t i = 0; i < state->attempts.n; i++) {
        if (state->attempts.v[i].status == DR_ATTEMPT_FAILED || index_expired(m, &state->attempts.v[i])) {
            return false;
        }
        open_n -= state->attempts.v[i].status == DR_ATTEMPT_OPEN ? 0 : 1;
    }
    int64_t n = cfg->min_workers - fleet->planned;
    n = n < cfg->max_workers - fleet->held ? n : cfg->max_workers - fleet->held;
    n = n < cfg->max_batch_up - open_n ? n : cfg->max_batch_up - open_n;
    if (n <= 0) {
        return false;
    }
    struct dr_state next;
    (void)dr_up_extend(m->arena, state, &next, state->up_action_id, state->up_requested + n);
    return dr_step_write(ret, 12, "extend scale-up for minimum", state->up_action_id, &next);
}

static const struct dr_record *record_of(const struct dr_state *state, size_t index) {
    for (size_t i = 0; i < state->records.n; i++) {
        const struct dr_record *record = &state->records.v[i];
        if (record->action_id.n > 0 && dr_str_eq(record->action_id, state->up_action_id) && record->index == (int64_t)index &&
            record->returned_id.n == 0) {
            return record;
        }
    }
    return NULL;
}

/*
 * A pod that is tied to a zone is helped by a worker there and nowhere else: without stock in it the index fails, or the fleet would grow to maximum for nothing. Below minimum any worker is wanted.
 * `market: on_demand` holds for a replacement as long as there is on-demand stock; after that anything is better than nothing.
 */
static bool choose_place(struct dr_machine *m, const struct dr_state *state, const struct dr_fleet *fleet, struct dr_str zone,
                         bool replacement, struct dr_place *ret) {
    struct dr_place_wish wish = {.zone = replacement ? DR_STR_NONE : zone};
    if (replacement && m->view->cfg->replace_market == DR_REPLACE_ON_DEMAND) {
        wish.only_market = true;
        wish.market = DR_MARKET_ON_DEMAND;
    }
    if (dr_place_next(m->arena, m->view->cfg, state, fleet, &wish, m->now_epoch, ret)) {
        return true;
    }
    bool any_will_do = wish.only_market || fleet->planned <= m->view->cfg->min_workers;
    wish = (struct dr_place_wish){.only_market = false};
    return any_will_do && dr_place_next(m->arena, m->view->cfg, state, fleet, &wish, m->now_epoch, ret);
}

static struct dr_attempt attempt_at(const struct dr_machine *m, const struct dr_place *place, int64_t number, struct dr_str replaces) {
    return (struct dr_attempt){
        .attempt = number,
        .type = place->type,
        .zone = place->zone,
        .subnet = place->subnet,
        .market = place->market,
        .template_version = m->view->snap->pool.template_version,
        .replaces = replaces,
    };
}

static bool intend(struct dr_machine *m, struct dr_step *ret, size_t index) {
    const struct dr_state *state = m->view->state;
    const struct dr_record *record = record_of(state, index);
    struct dr_place place = {.type = DR_STR_NONE};
    struct dr_str why = DR_STR_NONE;
    if (!m->view->fleet.workers_known) {
        dr_machine_wait(m, 0);
        return false;
    }
    /* held counts this index already; a worker that came back may have used up the room. */
    if (m->view->fleet.held > m->view->cfg->max_workers) {
        why = DR_STR("maximum reached");
    } else if (!choose_place(m, state, &m->view->fleet, m->view->pending.next.zone, record != NULL, &place)) {
        why = DR_STR("out of stock everywhere");
    }
    struct dr_attempt attempt = attempt_at(m, &place, 1, record != NULL ? record->instance_id : DR_STR_NONE);
    struct dr_state next;
    (void)dr_up_attempt(m->arena, state, &next, state->up_action_id, index, &attempt, m->now_epoch);
    if (why.n > 0) {
        (void)dr_up_index_fail(m->arena, &next, &next, state->up_action_id, index, why);
        return dr_step_write(ret, 8, "give up index", why, &next);
    }
    return dr_step_write(ret, 7, "intend launch", dr_str_fmt(m->arena, "%.*s %s", DR_FMT(place.zone), dr_market_name(place.market)), &next);
}

/* Rule 9: an open attempt is resent until its outcome is known; past the limit it is given up only after this very tick got no answer either. What appears later is swept. */
static bool launch(struct dr_machine *m, struct dr_step *ret, size_t index) {
    const struct dr_state *state = m->view->state;
    const struct dr_attempt *attempt = &state->attempts.v[index];
    struct dr_str token = dr_step_token(m->arena, state->up_action_id, index, attempt->attempt);
    if (dr_machine_may(m, DR_STEP_LAUNCH, token)) {
        ret->kind = DR_STEP_LAUNCH;
        ret->rule = 7;
        ret->what = "launch";
        ret->target = dr_str_fmt(m->arena, "%.*s %s", DR_FMT(attempt->zone), dr_market_name(attempt->market));
        ret->action_id = state->up_action_id;
        ret->index = index;
        ret->attempt = *attempt;
        ret->token = token;
        return true;
    }
    bool past_limit = m->now_ms >= attempt->since_epoch * 1000 + m->view->cfg->stuck_ms;
    if (!past_limit || !dr_code_unknown_outcome(dr_turn_code(m->turn, DR_STEP_LAUNCH, token))) {
        return false;
    }
    struct dr_state next;
    (void)dr_up_index_fail(m->arena, state, &next, state->up_action_id, index, DR_STR("no answer from EC2"));
    (void)dr_avoid_put(m->arena, &next, &next, dr_place_zone_key(m->arena, attempt->zone), m->now_epoch, m->view->cfg->stockout_ms);
    ret->alert = true;
    return dr_step_write(ret, 9, "give up unanswered attempt", attempt->zone, &next);
}

static void quarantine_expired(struct dr_machine *m, struct dr_state *next) {
    const struct dr_state *state = m->view->state;
    for (size_t i = 0; i < state->attempts.n && m->view->cfg->join_failure == DR_JOIN_QUARANTINE; i++) {
        if (state->attempts.v[i].status == DR_ATTEMPT_LAUNCHED) {
            int64_t until = m->now_epoch + m->view->cfg->quarantine_ms / 1000;
            (void)dr_quarantine_put(m->arena, next, next, state->attempts.v[i].instance_id, until);
        }
    }
}

static bool end_action(struct dr_machine *m, struct dr_step *ret, bool joined) {
    const struct dr_state *state = m->view->state;
    struct dr_state next = *state;
    quarantine_expired(m, &next);
    ret->finished = true;
    if (joined) {
        (void)dr_up_complete(m->arena, &next, &next, state->up_action_id, m->now_epoch);
        return dr_step_write(ret, 11, "complete scale-up", state->up_action_id, &next);
    }
    (void)dr_up_fail(m->arena, &next, &next, state->up_action_id, m->now_epoch, m->view->cfg->backoff_ms, m->view->cfg->backoff_max_ms);
    ret->alert = true;
    return dr_step_write(ret, 11, "fail scale-up", state->up_action_id, &next);
}

static bool finish(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    bool joined = false;
    for (size_t i = 0; i < state->attempts.n; i++) {
        const struct dr_attempt *attempt = &state->attempts.v[i];
        joined |= attempt->status == DR_ATTEMPT_JOINED;
        if (attempt->status == DR_ATTEMPT_OPEN) {
            return false;
        }
        /* While the Node list is unknown nothing has failed to join (rule 10 and "unjoined"). */
        if (attempt->status == DR_ATTEMPT_LAUNCHED &&
            (!index_expired(m, attempt) || !m->view->fleet.nodes_known || !m->view->fleet.workers_known)) {
            return false;
        }
    }
    return end_action(m, ret, joined);
}

/* Rule 27: an action of another system has ids but no attempts. It is verified by id and never launched again. */
static bool verify_foreign(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    if (!m->view->fleet.nodes_known || !m->view->fleet.workers_known) {
        return false;
    }
    size_t joined_n = 0;
    for (size_t i = 0; i < state->up_instance_ids.n; i++) {
        joined_n += is_joined(&m->view->fleet, state->up_instance_ids.v[i]) ? 1 : 0;
    }
    bool all = joined_n == state->up_instance_ids.n && joined_n > 0;
    if (!all && !join_expired(m, state->up_started_epoch)) {
        return false;
    }
    return end_action(m, ret, joined_n > 0);
}

bool dr_stage_scale_up(struct dr_machine *m, struct dr_step *ret) {
    const struct dr_state *state = m->view->state;
    if (state->up_action_id.n == 0) {
        return false;
    }
    dr_machine_wait(m, 0);
    if (!state->up_has_attempts) {
        return verify_foreign(m, ret);
    }
    if (learn(m, ret) || extend_for_minimum(m, ret)) {
        return true;
    }
    for (size_t i = 0; i < state->attempts.n; i++) {
        if (state->attempts.v[i].status == DR_ATTEMPT_OPEN && launch(m, ret, i)) {
            return true;
        }
    }
    if ((int64_t)state->attempts.n < state->up_requested) {
        return intend(m, ret, state->attempts.n);
    }
    return finish(m, ret);
}

/* The zone that a refused index must be in, worked out as if it had no place yet. */
static struct dr_str zone_needed(struct dr_machine *m, const struct dr_state *state, size_t index) {
    struct dr_state before = *state;
    before.attempts.n = index;
    struct dr_fleet fleet;
    struct dr_pending pending;
    dr_fleet_build(m->arena, m->view->cfg, &before, m->view->snap, &fleet);
    dr_pending_work_out(m->arena, m->view->cfg, &before, &fleet, &pending);
    return pending.next.zone;
}

/* The fleet without a refused attempt: counted, it would fill the very zone that it was refused in, and the next attempt would go to another zone instead of the other market. */
static struct dr_fleet fleet_without(struct dr_machine *m, const struct dr_attempt *refused) {
    struct dr_fleet fleet = m->view->fleet;
    fleet.zones = DR_NEW_N(m->arena, struct dr_zone, fleet.zone_n);
    for (size_t i = 0; i < fleet.zone_n; i++) {
        fleet.zones[i] = m->view->fleet.zones[i];
    }
    fleet.coming = DR_NEW_N(m->arena, struct dr_coming, fleet.coming_n);
    fleet.coming_n = 0;
    bool found = false;
    for (size_t i = 0; i < m->view->fleet.coming_n; i++) {
        const struct dr_coming *coming = &m->view->fleet.coming[i];
        bool same = !found && coming->id.n == 0 && coming->attempt != NULL && dr_str_eq(coming->attempt->subnet, refused->subnet) &&
                    coming->attempt->market == refused->market;
        if (!same) {
            fleet.coming[fleet.coming_n++] = *coming;
            continue;
        }
        found = true;
        struct dr_zone *zone = dr_fleet_zone(&fleet, refused->zone);
        if (zone != NULL) {
            zone->planned--;
        }
    }
    return fleet;
}

/* The refused place is remembered, and the next attempt written with it: one write. */
static void next_attempt(struct dr_machine *m, const struct dr_step *step, struct dr_state *next) {
    struct dr_place refused = {
        .type = step->attempt.type, .zone = step->attempt.zone, .subnet = step->attempt.subnet, .market = step->attempt.market};
    (void)dr_avoid_put(m->arena, next, next, dr_place_stock_key(m->arena, &refused), m->now_epoch, m->view->cfg->stockout_ms);
    struct dr_place place;
    struct dr_str zone = zone_needed(m, next, step->index);
    struct dr_fleet fleet = fleet_without(m, &step->attempt);
    if (!choose_place(m, next, &fleet, zone, step->attempt.replaces.n > 0, &place)) {
        (void)dr_up_index_fail(m->arena, next, next, step->action_id, step->index, DR_STR("out of stock everywhere"));
        return;
    }
    struct dr_attempt attempt = attempt_at(m, &place, step->attempt.attempt + 1, step->attempt.replaces);
    (void)dr_up_attempt(m->arena, next, next, step->action_id, step->index, &attempt, m->now_epoch);
}

bool dr_settle_launch(struct dr_machine *m, const struct dr_step *step, const struct dr_result *result, const struct dr_state *in,
                      struct dr_state *out) {
    *out = *in;
    if (!dr_str_eq(in->up_action_id, step->action_id) || step->index >= in->attempts.n ||
        in->attempts.v[step->index].attempt != step->attempt.attempt || in->attempts.v[step->index].status != DR_ATTEMPT_OPEN) {
        return false;
    }
    switch (result->code) {
    case DR_OK:
        return dr_up_record(m->arena, in, out, step->action_id, step->index, result->instance_id, m->now_epoch);
    case DR_E_CAPACITY:
        next_attempt(m, step, out);
        return true;
    case DR_E_THROTTLED:
    case DR_E_TIMEOUT:
    case DR_E_UNAVAILABLE:
        return false;
    default:
        return dr_up_index_fail(m->arena, in, out, step->action_id, step->index, dr_str_of(dr_code_name(result->code)));
    }
}
