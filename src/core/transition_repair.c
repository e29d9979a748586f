/* What time and accidents leave behind: expiry, and the way out of an item that contradicts itself (rule 27). */
#include "core/state_edit.h"
#include "core/transition.h"

#define DAY_S INT64_C(86400)

static bool ended_expired(const struct dr_timed_id *ended, int64_t now_epoch) { return now_epoch - ended->epoch >= DAY_S; }
/* The count must outlive the entry's own time, or nothing would ever double. */
static bool avoid_expired(const struct dr_avoid *avoid, int64_t now_epoch) { return now_epoch - avoid->until_epoch >= DAY_S; }

static bool expire_ended(struct dr_arena *a, struct dr_state *out, int64_t now_epoch) {
    size_t n = 0;
    for (size_t i = 0; i < out->ended.n; i++) {
        n += ended_expired(&out->ended.v[i], now_epoch) ? 0 : 1;
    }
    if (n == out->ended.n) {
        return false;
    }
    struct dr_timed_id *v = DR_NEW_N(a, struct dr_timed_id, n);
    n = 0;
    for (size_t i = 0; i < out->ended.n; i++) {
        if (!ended_expired(&out->ended.v[i], now_epoch)) {
            v[n++] = out->ended.v[i];
        }
    }
    out->ended.v = v;
    out->ended.n = n;
    return true;
}

static bool expire_avoid(struct dr_arena *a, struct dr_state *out, int64_t now_epoch) {
    size_t n = 0;
    for (size_t i = 0; i < out->avoid.n; i++) {
        n += avoid_expired(&out->avoid.v[i], now_epoch) ? 0 : 1;
    }
    if (n == out->avoid.n) {
        return false;
    }
    struct dr_avoid *v = DR_NEW_N(a, struct dr_avoid, n);
    n = 0;
    for (size_t i = 0; i < out->avoid.n; i++) {
        if (!avoid_expired(&out->avoid.v[i], now_epoch)) {
            v[n++] = out->avoid.v[i];
        }
    }
    out->avoid.v = v;
    out->avoid.n = n;
    return true;
}

bool dr_state_expire(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, int64_t now_epoch) {
    *out = *in;
    bool changed = expire_ended(a, out, now_epoch);
    changed |= expire_avoid(a, out, now_epoch);
    return changed;
}

static bool up_leftovers(const struct dr_state *state) {
    return state->up_action_id.n == 0 && (state->up_started_epoch != 0 || state->up_requested != 0 || state->up_instance_ids.n > 0 ||
                                          state->up_has_attempts || state->attempts.n > 0);
}

static bool down_leftovers(const struct dr_state *state) {
    return state->down_action_id.n == 0 && (state->down_started_epoch != 0 || state->down_terminating || state->down_targets.n > 0 ||
                                            state->down_completed.n > 0 || state->drains.n > 0 || state->down_reason.n > 0);
}

/* Its replacement was to come from an action that is not there. */
static bool orphaned(const struct dr_state *state, const struct dr_record *record) {
    return record->action_id.n > 0 && !dr_record_settled(record) && !dr_str_eq(record->action_id, state->up_action_id);
}

static bool return_debts(struct dr_arena *a, struct dr_state *out) {
    struct dr_record *v = NULL;
    for (size_t i = 0; i < out->records.n; i++) {
        if (!orphaned(out, &out->records.v[i])) {
            continue;
        }
        if (v == NULL) {
            v = DR_CLONE(a, out->records, 0);
        }
        v[i].action_id = DR_STR_NONE;
        v[i].index = 0;
    }
    if (v != NULL) {
        out->records.v = v;
    }
    return v != NULL;
}

/*
 *     flag, no action          the flag goes
 *     scale-up, no flag        the flag comes back: an open attempt may have an instance, so the action must end in its own way (rule 9)
 *     scale-down, no flag      the scale-down goes: what is marked stays marked, what is not is uncordoned by the sweep (rule 26)
 *     both                     the scale-down goes, the scale-up goes on, for the same two reasons
 */
bool dr_state_repair(struct dr_arena *a, const struct dr_state *in, struct dr_state *out) {
    *out = *in;
    bool changed = false;
    if (dr_state_blocked(out)) {
        return false;
    }
    if (up_leftovers(out)) {
        dr_state_clear_up(out);
        changed = true;
    }
    if (down_leftovers(out) || (out->down_action_id.n > 0 && (!out->scaling || out->up_action_id.n > 0))) {
        dr_state_clear_down(out);
        changed = true;
    }
    bool active = out->up_action_id.n > 0 || out->down_action_id.n > 0;
    if (out->scaling != active) {
        out->scaling = active;
        changed = true;
    }
    if ((int64_t)out->attempts.n > out->up_requested) {
        out->up_requested = (int64_t)out->attempts.n;
        changed = true;
    }
    changed |= return_debts(a, out);
    return changed;
}
