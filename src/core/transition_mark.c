/* Marks and what else is remembered about single instances: ended, refused, quarantined, avoided. */
#include "base/num.h"
#include "base/time.h"
#include "core/state_edit.h"
#include "core/transition.h"

#define AVOID_MAX_MS DR_DAY_MS /* doubling stops here: nothing is out of stock for ever */

bool dr_mark_add(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id) {
    *out = *in;
    DR_ASSERT(id.n > 0);
    if (dr_state_marked(out, id)) {
        return false;
    }
    /* Rule 16: not a victim again. Rule 13: what has ended does not come back by a stale Describe. */
    DR_ASSERT(!dr_strs_has(out->refused, id) && !dr_state_ended(out, id));
    out->marks = dr_strs_with(a, out->marks, id);
    return true;
}

/* The newest at the end; past the ceiling the oldest gives way, since the stalest Describe is the least likely. */
static void add_ended(struct dr_arena *a, struct dr_state *out, struct dr_str id, int64_t now_epoch) {
    size_t drop = out->ended.n == DR_STATE_MAX_LIST ? 1 : 0;
    struct dr_timed_id *v = dr_list_clone(a, out->ended.v + drop, out->ended.n - drop, 1, sizeof(*v));
    v[out->ended.n - drop] = (struct dr_timed_id){id, now_epoch};
    out->ended.v = v;
    out->ended.n += 1 - drop;
}

static bool drop_avoided_victim(struct dr_arena *a, struct dr_state *out, struct dr_str id) {
    if (out->avoid.n == 0) {
        return false;
    }
    struct dr_str key = dr_str_fmt(a, "victim/%.*s", DR_FMT(id));
    if (dr_state_avoid(out, key) == NULL) {
        return false;
    }
    struct dr_avoid *v = DR_CLONE(a, out->avoid, 0);
    size_t n = 0;
    for (size_t i = 0; i < out->avoid.n; i++) {
        if (!dr_str_eq(out->avoid.v[i].key, key)) {
            v[n++] = out->avoid.v[i];
        }
    }
    out->avoid.v = v;
    out->avoid.n = n;
    return true;
}

bool dr_mark_ended(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id, int64_t now_epoch) {
    *out = *in;
    DR_ASSERT(id.n > 0);
    bool changed = false;
    if (dr_state_marked(out, id)) {
        /* A marked target that is seen ended was terminated, whether or not its call's reply arrived. */
        if (dr_strs_has(out->down_targets, id)) {
            out->down_completed = dr_strs_with(a, out->down_completed, id);
        }
        out->marks = dr_strs_without(a, out->marks, id);
        changed = true;
    }
    if (dr_strs_has(out->refused, id)) {
        out->refused = dr_strs_without(a, out->refused, id);
        changed = true;
    }
    if (!dr_state_ended(out, id)) {
        add_ended(a, out, id, now_epoch);
        changed = true;
    }
    changed |= dr_quarantine_end(a, out, out, id);
    changed |= drop_avoided_victim(a, out, id);
    /* Rule 22: a debt outlives the machine that left it. */
    const struct dr_record *record = dr_state_record(out, id);
    if (record != NULL && dr_record_settled(record)) {
        changed |= dr_record_end(a, out, out, id);
    }
    return changed;
}

bool dr_mark_refused(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id) {
    *out = *in;
    if (!dr_state_marked(out, id)) {
        DR_ASSERT(dr_strs_has(out->refused, id));
        return false;
    }
    out->marks = dr_strs_without(a, out->marks, id);
    out->refused = dr_strs_with(a, out->refused, id);
    return true;
}

bool dr_quarantine_put(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id, int64_t until_epoch) {
    *out = *in;
    DR_ASSERT(id.n > 0);
    const struct dr_timed_id *known = dr_state_quarantined(out, id);
    if (known != NULL && known->epoch >= until_epoch) {
        return false;
    }
    size_t at = known == NULL ? out->quarantined.n : (size_t)(known - out->quarantined.v);
    size_t more = known == NULL ? 1 : 0;
    struct dr_timed_id *v = DR_CLONE(a, out->quarantined, more);
    v[at] = (struct dr_timed_id){id, until_epoch};
    out->quarantined.v = v;
    out->quarantined.n += more;
    return true;
}

bool dr_quarantine_end(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id) {
    *out = *in;
    if (dr_state_quarantined(out, id) == NULL) {
        return false;
    }
    struct dr_timed_id *v = DR_CLONE(a, out->quarantined, 0);
    size_t n = 0;
    for (size_t i = 0; i < out->quarantined.n; i++) {
        if (!dr_str_eq(out->quarantined.v[i].id, id)) {
            v[n++] = out->quarantined.v[i];
        }
    }
    out->quarantined.v = v;
    out->quarantined.n = n;
    return true;
}

/* Where a new entry goes: behind the others, or in the place of the one that ends first when the list is full. */
static size_t avoid_place(const struct dr_state *state) {
    size_t first = 0;
    if (state->avoid.n < DR_STATE_MAX_LIST) {
        return state->avoid.n;
    }
    for (size_t i = 1; i < state->avoid.n; i++) {
        if (state->avoid.v[i].until_epoch < state->avoid.v[first].until_epoch) {
            first = i;
        }
    }
    return first;
}

bool dr_avoid_put(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str key, int64_t now_epoch,
                  int64_t for_ms) {
    *out = *in;
    DR_ASSERT(key.n > 0);
    const struct dr_avoid *known = dr_state_avoid(out, key);
    if (for_ms <= 0 || (known != NULL && known->until_epoch > now_epoch)) {
        return false;
    }
    int64_t count = known == NULL ? 0 : known->count;
    size_t at = known == NULL ? avoid_place(out) : (size_t)(known - out->avoid.v);
    size_t more = at == out->avoid.n ? 1 : 0;
    struct dr_avoid *v = DR_CLONE(a, out->avoid, more);
    v[at] = (struct dr_avoid){key, dr_epoch_after(now_epoch, dr_doubled_ms(for_ms, count, dr_max_i64(for_ms, AVOID_MAX_MS))),
                              dr_sat_add(count, 1)};
    out->avoid.v = v;
    out->avoid.n += more;
    return true;
}
