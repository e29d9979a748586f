#include "base/num.h"
#include "base/time.h"
#include "core/decision.h"

static size_t evaluate(const struct dr_view *view, const struct dr_rule *rules, size_t rule_n, struct dr_rule_result *results) {
    size_t n = 0;
    for (size_t i = 0; i < rule_n; i++) {
        if (!rules[i].off) {
            dr_rule_evaluate(view->cfg, view->state, view->snap, &view->pending, &rules[i], &results[n++]);
        }
    }
    return n;
}

static size_t count(const struct dr_rule_result *results, size_t n, enum dr_truth truth) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        found += results[i].truth == truth;
    }
    return found;
}

static enum dr_truth any_of(const struct dr_rule_result *results, size_t n) {
    if (count(results, n, DR_YES) > 0) {
        return DR_YES;
    }
    return count(results, n, DR_UNKNOWN) > 0 ? DR_UNKNOWN : DR_NO;
}

static enum dr_truth all_of(const struct dr_rule_result *results, size_t n) {
    if (n == 0 || count(results, n, DR_NO) > 0) {
        return DR_NO;
    }
    return count(results, n, DR_UNKNOWN) > 0 ? DR_UNKNOWN : DR_YES;
}

static enum dr_truth judge_idle(const struct dr_view *view) {
    if (view->low == DR_NO || view->pressure == DR_YES) {
        return DR_NO;
    }
    if (view->pending.known && view->pending.helpable > 0) {
        return DR_NO;
    }
    return view->pending.known ? view->low : DR_UNKNOWN;
}

/* The idle clock holds only if no action completed since it started, and if it was seen running within the last 2.5 intervals: an outage is not idleness. */
static int64_t idle_ms(const struct dr_view *view) {
    const struct dr_state *state = view->state;
    int64_t now_ms = view->snap->now_ms;
    int64_t since_ms = state->idle_since_epoch * DR_SECOND_MS;
    if (view->idle != DR_YES || since_ms <= 0 || since_ms > now_ms || state->idle_since_epoch < state->last_scale_epoch) {
        return 0;
    }
    int64_t seen_ms = dr_max_i64(state->idle_seen_epoch, state->idle_since_epoch) * DR_SECOND_MS;
    return now_ms - seen_ms > view->cfg->interval_ms * 5 / 2 ? 0 : now_ms - since_ms;
}

void dr_view_build(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, const struct dr_snapshot *snap,
                   struct dr_view *ret) {
    /* Not cleared as a whole: the rule results are several kilobytes, of which an ordinary configuration uses a tenth. */
    ret->cfg = cfg;
    ret->state = state;
    ret->snap = snap;
    dr_fleet_build(arena, cfg, state, snap, &ret->fleet);
    dr_pending_work_out(arena, cfg, state, &ret->fleet, &ret->pending);
    ret->up_n = evaluate(ret, cfg->up, cfg->up_n, ret->up);
    ret->down_n = evaluate(ret, cfg->down, cfg->down_n, ret->down);
    ret->pressure = cfg->up_match == DR_MATCH_ANY ? any_of(ret->up, ret->up_n) : all_of(ret->up, ret->up_n);
    ret->low = all_of(ret->down, ret->down_n);
    ret->idle = judge_idle(ret);
    ret->idle_ms = idle_ms(ret);
}

/* ---- into the plan ---- */

static struct dr_rule_result *keep(struct dr_arena *arena, const struct dr_rule_result *results, size_t n) {
    struct dr_rule_result *copy = DR_NEW_N(arena, struct dr_rule_result, n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = results[i];
    }
    return copy;
}

static struct dr_str add_unknown(struct dr_arena *arena, struct dr_str text, const char *name, const struct dr_part *part) {
    if (part->known) {
        return text;
    }
    return dr_str_fmt(arena, "%.*s%s%s: %.*s", DR_FMT(text), text.n > 0 ? "; " : "", name, DR_FMT(part->why));
}

static struct dr_str unknown_parts(struct dr_arena *arena, const struct dr_snapshot *snap) {
    struct dr_str text = DR_STR_NONE;
    text = add_unknown(arena, text, "instances", &snap->instances_part);
    text = add_unknown(arena, text, "nodes", &snap->nodes_part);
    text = add_unknown(arena, text, "pods", &snap->pods_part);
    text = add_unknown(arena, text, "budgets", &snap->budgets_part);
    return add_unknown(arena, text, "events", &snap->events_part);
}

void dr_view_describe(struct dr_arena *arena, const struct dr_view *view, struct dr_plan *plan) {
    plan->cluster = view->cfg->cluster;
    plan->at_ms = view->snap->now_ms;
    plan->up = keep(arena, view->up, view->up_n);
    plan->up_n = view->up_n;
    plan->down = keep(arena, view->down, view->down_n);
    plan->down_n = view->down_n;
    plan->pending = view->pending;
    plan->min_workers = view->cfg->min_workers;
    plan->max_workers = view->cfg->max_workers;
    plan->workers_known = view->fleet.workers_known;
    plan->worker_count = view->fleet.worker_count;
    plan->live = view->fleet.live;
    plan->planned = view->fleet.planned;
    plan->held = view->fleet.held;
    plan->pressure = view->pressure;
    plan->idle = view->idle;
    plan->idle_ms = view->idle_ms;
    plan->unknown = unknown_parts(arena, view->snap);
    if (plan->action_id.n == 0) {
        plan->action_id = view->state->up_action_id.n > 0 ? view->state->up_action_id : view->state->down_action_id;
    }
}
