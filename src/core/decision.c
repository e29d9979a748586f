#include "core/decision.h"

#include "base/num.h"
#include "base/time.h"
#include "core/place.h"

/* ---- sizing ---- */

static bool cpu_is_high(const struct dr_view *view) {
    for (size_t i = 0; i < view->up_n; i++) {
        const struct dr_rule *rule = view->up[i].rule;
        bool cpu = rule->kind == DR_RULE_SIGNAL && view->cfg->signals[rule->signal].kind == DR_SIGNAL_CPU;
        if (cpu && (view->up[i].truth == DR_YES || view->up[i].spike)) {
            return true;
        }
    }
    return false;
}

/* An unknown number of pods is no reason for a larger step. */
static int64_t pods_that_ask(const struct dr_view *view) { return view->pending.known ? view->pending.remainder : 0; }

static bool is_urgent(const struct dr_view *view) {
    int64_t pods = pods_that_ask(view);
    return pods > view->cfg->urgent_pending || (pods > 0 && cpu_is_high(view));
}

int64_t dr_size_up(const struct dr_view *view, bool *ret_urgent) {
    bool urgent = is_urgent(view);
    if (ret_urgent != NULL) {
        *ret_urgent = urgent;
    }
    int64_t pods = pods_that_ask(view);
    if (pods > 0 && view->pending.unmodelled_only) {
        return 1;
    }
    int64_t wanted = 0;
    switch (view->cfg->sizing) {
    case DR_SIZING_RATIO:
        wanted = dr_ceil_div(pods, view->cfg->pods_per_node);
        break;
    case DR_SIZING_STEP:
        wanted = urgent ? 2 : 1;
        break;
    case DR_SIZING_FIT:
        wanted = pods > 0 ? view->pending.workers_needed : 0;
        break;
    }
    return dr_max_i64(1, wanted);
}

int64_t dr_size_clamp(const struct dr_view *view, int64_t wanted, int64_t batch, const char **ret_by) {
    int64_t room = dr_max_i64(0, view->cfg->max_workers - view->fleet.held);
    *ret_by = NULL;
    if (wanted > batch) {
        wanted = batch;
        *ret_by = "batch";
    }
    if (wanted > room) {
        wanted = room;
        *ret_by = "maximum";
    }
    return wanted;
}

/* ---- gates ---- */

static int64_t cooldown_left_ms(const struct dr_view *view, bool up) {
    const struct dr_state *state = view->state;
    if (state->last_scale_epoch <= 0) {
        return 0;
    }
    if (view->cfg->cooldown_by == DR_COOLDOWN_LAST) {
        /* An item that does not say what the last action was leaves the wanted direction's. */
        if (dr_str_is(state->last_scale_action, "scale_up")) {
            up = true;
        } else if (dr_str_is(state->last_scale_action, "scale_down")) {
            up = false;
        }
    }
    int64_t span_ms = up ? view->cfg->cooldown_up_ms : view->cfg->cooldown_down_ms;
    int64_t elapsed_ms = dr_max_i64(0, view->snap->now_ms - state->last_scale_epoch * DR_SECOND_MS);
    return dr_max_i64(0, span_ms - elapsed_ms);
}

static int64_t backoff_left_ms(const struct dr_view *view) {
    return dr_max_i64(0, view->state->backoff_until_epoch * DR_SECOND_MS - view->snap->now_ms);
}

static bool has_place(struct dr_arena *arena, const struct dr_view *view) {
    struct dr_place place;
    struct dr_place_wish wish = {0};
    return dr_place_next(arena, view->cfg, view->state, &view->fleet, &wish, view->snap->now_ms / DR_SECOND_MS, &place);
}

/* ---- outcomes ---- */

static void nothing(struct dr_decision *decision, enum dr_reason reason, int64_t left_ms) {
    decision->verdict = DR_VERDICT_NOOP;
    decision->reason = reason;
    decision->left_ms = left_ms;
    decision->delta = 0;
}

static void grow(struct dr_arena *arena, const struct dr_view *view, enum dr_reason reason, int64_t wanted, struct dr_decision *decision) {
    decision->wanted = wanted;
    int64_t n = dr_size_clamp(view, wanted, view->cfg->max_batch_up, &decision->clamped_by);
    if (n == 0) {
        nothing(decision, DR_REASON_MAX_REACHED, 0);
        return;
    }
    int64_t cooldown_ms = reason == DR_REASON_BELOW_MINIMUM ? 0 : cooldown_left_ms(view, true);
    int64_t backoff_ms = backoff_left_ms(view);
    if (cooldown_ms > 0) {
        nothing(decision, DR_REASON_COOLDOWN, cooldown_ms);
    } else if (backoff_ms > 0) {
        nothing(decision, DR_REASON_BACKOFF, backoff_ms);
    } else if (!has_place(arena, view)) {
        nothing(decision, DR_REASON_NO_PLACE, 0);
    } else {
        decision->verdict = DR_VERDICT_SCALE_UP;
        decision->reason = reason;
        decision->delta = n;
    }
}

static void shrink(struct dr_arena *arena, struct dr_view *view, enum dr_reason reason, int64_t n, struct dr_decision *decision) {
    DR_ASSERT(n > 0);
    dr_victims_choose(arena, view->cfg, view->state, &view->fleet, n, reason == DR_REASON_ABOVE_MAXIMUM, &decision->victims);
    int64_t chosen = (int64_t)decision->victims.chosen.n;
    DR_ASSERT(chosen <= n);
    if (chosen == 0) {
        nothing(decision, DR_REASON_NO_VICTIM, 0);
        return;
    }
    decision->verdict = DR_VERDICT_SCALE_DOWN;
    decision->reason = reason;
    decision->delta = -chosen;
}

static void shrink_surplus(struct dr_arena *arena, struct dr_view *view, struct dr_decision *decision) {
    decision->wanted = view->fleet.held - view->cfg->max_workers;
    int64_t n = dr_min_i64(decision->wanted, view->cfg->max_batch_down);
    decision->clamped_by = n < decision->wanted ? "batch" : NULL;
    shrink(arena, view, DR_REASON_ABOVE_MAXIMUM, n, decision);
}

/* Machines that failed to join and that no sweep removes, because we did not launch them: minimum does not protect them (rule 17). */
static int64_t failed_to_join(const struct dr_fleet *fleet) {
    int64_t n = 0;
    for (size_t i = 0; i < fleet->worker_n; i++) {
        const struct dr_worker *worker = &fleet->workers[i];
        n +=
            worker->unjoined && worker->join_expired && !worker->marked && !worker->refused && !worker->quarantined && !worker->interrupted;
    }
    return n;
}

static void shrink_idle(struct dr_arena *arena, struct dr_view *view, struct dr_decision *decision) {
    /* Live ones, not planned ones: a machine that still boots carries nobody's pods. */
    int64_t spare = dr_max_i64(0, view->fleet.live - view->cfg->min_workers) + failed_to_join(&view->fleet);
    int64_t cooldown_ms = cooldown_left_ms(view, false);
    if (spare <= 0) {
        nothing(decision, DR_REASON_AT_MINIMUM, 0);
    } else if (view->idle_ms < view->cfg->idle_for_ms) {
        nothing(decision, DR_REASON_NOT_IDLE_YET, view->cfg->idle_for_ms - view->idle_ms);
    } else if (cooldown_ms > 0) {
        nothing(decision, DR_REASON_COOLDOWN, cooldown_ms);
    } else {
        decision->wanted = view->cfg->max_batch_down;
        decision->clamped_by = spare < decision->wanted ? "minimum" : NULL;
        shrink(arena, view, DR_REASON_IDLE, dr_min_i64(spare, decision->wanted), decision);
    }
}

/* ---- why nothing ---- */

/* A custom signal may never have had a series; only where it holds up a scale-down it is the reason. */
static bool lacks_knowledge(const struct dr_view *view) {
    if (!view->pending.known || view->idle == DR_UNKNOWN) {
        return true;
    }
    for (size_t i = 0; i < view->up_n + view->down_n; i++) {
        const struct dr_rule_result *result = i < view->up_n ? &view->up[i] : &view->down[i - view->up_n];
        bool custom = result->rule->kind == DR_RULE_SIGNAL && view->cfg->signals[result->rule->signal].kind == DR_SIGNAL_CUSTOM;
        if (result->truth == DR_UNKNOWN && !custom) {
            return true;
        }
    }
    return false;
}

/* Would the up rules hold if what holds now went on holding? */
static bool is_spike(const struct dr_view *view) {
    size_t spikes = 0;
    size_t others = 0;
    for (size_t i = 0; i < view->up_n; i++) {
        spikes += view->up[i].spike;
        others += !view->up[i].spike && view->up[i].truth != DR_YES;
    }
    return spikes > 0 && (view->cfg->up_match == DR_MATCH_ANY || others == 0);
}

static enum dr_reason why_nothing(const struct dr_view *view) {
    if (lacks_knowledge(view)) {
        return DR_REASON_UNKNOWN;
    }
    if (is_spike(view)) {
        return DR_REASON_SPIKE;
    }
    if (view->low == DR_YES && view->pending.helpable > 0) {
        return DR_REASON_PENDING;
    }
    if (view->pending.waiting > 0 && view->pending.remainder == 0) {
        return DR_REASON_NO_HELP;
    }
    return DR_REASON_WITHIN_LIMITS;
}

static bool decide_before_counting(const struct dr_view *view, struct dr_decision *decision) {
    if (dr_state_blocked(view->state)) {
        decision->verdict = DR_VERDICT_REFUSED;
        decision->reason = DR_REASON_MALFORMED;
    } else if (view->state->scaling) {
        decision->verdict = DR_VERDICT_ADVANCE;
        decision->reason = DR_REASON_ACTION_ACTIVE;
    } else if (!view->fleet.workers_known) {
        decision->verdict = DR_VERDICT_REFUSED;
        decision->reason = DR_REASON_WORKERS_UNKNOWN;
    }
    return decision->reason != DR_REASON_NONE;
}

void dr_decide(struct dr_arena *arena, struct dr_view *view, struct dr_plan *plan) {
    dr_view_describe(arena, view, plan);
    struct dr_decision *decision = &plan->decision;
    *decision = (struct dr_decision){0};
    if (decide_before_counting(view, decision)) {
        return;
    }
    if (view->fleet.planned < view->cfg->min_workers) {
        grow(arena, view, DR_REASON_BELOW_MINIMUM, view->cfg->min_workers - view->fleet.planned, decision);
    } else if (view->fleet.held > view->cfg->max_workers) {
        shrink_surplus(arena, view, decision);
    } else if (view->pressure == DR_YES) {
        int64_t wanted = dr_size_up(view, &decision->urgent);
        grow(arena, view, DR_REASON_RULES, wanted, decision);
    } else if (view->idle == DR_YES) {
        shrink_idle(arena, view, decision);
    } else {
        nothing(decision, why_nothing(view), 0);
    }
    DR_ASSERT((decision->delta != 0) == (decision->verdict == DR_VERDICT_SCALE_UP || decision->verdict == DR_VERDICT_SCALE_DOWN));
}
