#include "base/num.h"
#include "base/time.h"
#include "core/decision.h"

static int64_t epoch_of(int64_t ms) { return ms / DR_SECOND_MS; }

static void update_pending(const struct dr_view *view, struct dr_state *out) {
    if (!view->pending.known) {
        return;
    }
    if (view->pending.helpable == 0) {
        out->pending_since_epoch = 0;
    } else if (view->pending.since_ms > 0) {
        out->pending_since_epoch = epoch_of(view->pending.since_ms);
    } else if (out->pending_since_epoch == 0) {
        out->pending_since_epoch = epoch_of(view->snap->now_ms);
    }
}

static void update_idle(const struct dr_view *view, struct dr_state *out) {
    int64_t now = epoch_of(view->snap->now_ms);
    if (view->idle != DR_YES) {
        out->idle_since_epoch = 0;
        out->idle_seen_epoch = 0;
        return;
    }
    if (view->idle_ms == 0) {
        out->idle_since_epoch = now;
    }
    int64_t seen_ago_ms = (now - out->idle_seen_epoch) * DR_SECOND_MS;
    if (view->idle_ms == 0 || seen_ago_ms < 0 || seen_ago_ms >= view->cfg->interval_ms / 2) {
        out->idle_seen_epoch = now;
    }
}

/* A rule of one reading needs no memory. */
static bool has_streak(const struct dr_rule_result *result) { return result->rule->readings > 1 && result->streak > 0; }

static bool streak_stands(const struct dr_view *view, const struct dr_rule_result *result) {
    const struct dr_streak *before = dr_rule_streak(view->state, result->rule);
    return before != NULL && before->count == result->streak &&
           view->snap->now_ms - before->epoch * DR_SECOND_MS < view->cfg->interval_ms / 2;
}

static struct dr_streak next_streak(struct dr_arena *arena, const struct dr_view *view, const struct dr_rule_result *result) {
    if (streak_stands(view, result)) {
        return *dr_rule_streak(view->state, result->rule);
    }
    const char *direction = result->rule->compare == DR_ABOVE || result->rule->compare == DR_AT_LEAST ? ">" : "<";
    return (struct dr_streak){.rule = dr_str_fmt(arena, "%.*s%s", DR_FMT(result->rule->name), direction),
                              .count = result->streak,
                              .epoch = epoch_of(view->snap->now_ms)};
}

/* Calls for each result of both directions. */
static const struct dr_rule_result *result_at(const struct dr_view *view, size_t i) {
    return i < view->up_n ? &view->up[i] : &view->down[i - view->up_n];
}

static bool update_streaks(struct dr_arena *arena, const struct dr_view *view, struct dr_state *out) {
    size_t result_n = view->up_n + view->down_n;
    size_t wanted = 0;
    size_t standing = 0;
    for (size_t i = 0; i < result_n; i++) {
        const struct dr_rule_result *result = result_at(view, i);
        if (has_streak(result)) {
            wanted++;
            standing += streak_stands(view, result);
        }
    }
    if (wanted == standing && wanted == view->state->streaks.n) {
        return false;
    }
    struct dr_streak *streaks = DR_NEW_N(arena, struct dr_streak, wanted);
    size_t n = 0;
    for (size_t i = 0; i < result_n; i++) {
        const struct dr_rule_result *result = result_at(view, i);
        if (has_streak(result)) {
            streaks[n++] = next_streak(arena, view, result);
        }
    }
    DR_ASSERT(n == wanted);
    out->streaks.v = streaks;
    out->streaks.n = n;
    return true;
}

bool dr_clocks_update(struct dr_arena *arena, const struct dr_view *view, struct dr_state *out) {
    const struct dr_state *in = view->state;
    *out = *in;
    update_pending(view, out);
    update_idle(view, out);
    if (view->fleet.workers_known) {
        out->worker_count = view->fleet.worker_count;
    }
    bool streaks_changed = update_streaks(arena, view, out);
    return streaks_changed || out->pending_since_epoch != in->pending_since_epoch || out->idle_since_epoch != in->idle_since_epoch ||
           out->idle_seen_epoch != in->idle_seen_epoch || out->worker_count != in->worker_count;
}
