/*
 * Scale-down. The action:
 *
 *     none --begin--> DRAINING --commit of the first target--> TERMINATING
 *                        |                                          |
 *                        +--complete (all targets done, at least one)--> none, cooldown
 *                        +--fail (cancelled, stuck)--------------------> none; marks stay
 *
 * and per target:
 *
 *     target --drain--> draining --commit--> marked --mark_done--> completed
 *        \________________/ |                  ^  only forward from here (rule 13)
 *               drop <------+
 */
#include "base/num.h"
#include "base/time.h"
#include "core/state_edit.h"
#include "core/transition.h"

static void set_drains(struct dr_state *out, const struct dr_drain *v, size_t n) {
    out->drains.v = n == 0 ? NULL : v;
    out->drains.n = n;
}

bool dr_down_begin(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch,
                   struct dr_strs targets, struct dr_str reason) {
    *out = *in;
    DR_ASSERT(action_id.n > 0 && action_id.n <= DR_STATE_MAX_ID && targets.n > 0 && targets.n <= DR_STATE_MAX_LIST);
    if (dr_str_eq(out->down_action_id, action_id)) {
        return false;
    }
    DR_ASSERT(!out->scaling && out->up_action_id.n == 0 && out->down_action_id.n == 0);
    dr_state_clear_down(out);
    struct dr_drain *drains = DR_NEW_N(a, struct dr_drain, targets.n);
    for (size_t i = 0; i < targets.n; i++) {
        drains[i].instance_id = targets.v[i];
    }
    out->scaling = true;
    out->down_action_id = action_id;
    out->down_started_epoch = now_epoch;
    out->down_targets = (struct dr_strs){dr_list_clone(a, targets.v, targets.n, 0, sizeof(*targets.v)), targets.n};
    out->down_reason = reason;
    set_drains(out, drains, targets.n);
    return true;
}

static void assert_target(const struct dr_state *state, struct dr_str action_id, struct dr_str id) {
    DR_ASSERT(action_id.n > 0 && dr_str_eq(state->down_action_id, action_id));
    DR_ASSERT(dr_strs_has(state->down_targets, id));
}

bool dr_down_drain(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, struct dr_str id,
                   struct dr_strs owner_uids, int64_t now_epoch) {
    *out = *in;
    assert_target(out, action_id, id);
    const struct dr_drain *known = dr_state_drain(out, id);
    DR_ASSERT(known != NULL && now_epoch > 0);
    struct dr_drain drain = *known;
    if (drain.started_epoch == 0) {
        drain.started_epoch = now_epoch;
    }
    for (size_t i = 0; i < owner_uids.n; i++) {
        drain.owner_uids = dr_strs_with(a, drain.owner_uids, owner_uids.v[i]);
    }
    if (drain.started_epoch == known->started_epoch && drain.owner_uids.n == known->owner_uids.n) {
        return false;
    }
    struct dr_drain *v = DR_CLONE(a, out->drains, 0);
    v[known - out->drains.v] = drain;
    set_drains(out, v, out->drains.n);
    return true;
}

bool dr_down_commit(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, struct dr_str id) {
    *out = *in;
    assert_target(out, action_id, id);
    if (dr_strs_has(out->down_completed, id) || (dr_state_marked(out, id) && out->down_terminating)) {
        return false;
    }
    dr_mark_add(a, out, out, id);
    out->down_terminating = true;
    return true;
}

bool dr_down_mark_done(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, struct dr_str id) {
    *out = *in;
    assert_target(out, action_id, id);
    if (dr_strs_has(out->down_completed, id)) {
        return false;
    }
    DR_ASSERT(dr_state_marked(out, id) || dr_state_ended(out, id));
    out->down_completed = dr_strs_with(a, out->down_completed, id);
    return true;
}

bool dr_down_drop(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, struct dr_str id,
                  int64_t now_epoch, int64_t avoid_ms) {
    *out = *in;
    DR_ASSERT(action_id.n > 0 && dr_str_eq(out->down_action_id, action_id));
    if (!dr_strs_has(out->down_targets, id)) {
        return false;
    }
    DR_ASSERT(!dr_state_marked(out, id) && !dr_strs_has(out->down_completed, id));
    out->down_targets = dr_strs_without(a, out->down_targets, id);
    struct dr_drain *v = DR_CLONE(a, out->drains, 0);
    size_t n = 0;
    for (size_t i = 0; i < out->drains.n; i++) {
        if (!dr_str_eq(out->drains.v[i].instance_id, id)) {
            v[n++] = out->drains.v[i];
        }
    }
    set_drains(out, v, n);
    if (avoid_ms > 0) {
        dr_avoid_put(a, out, out, dr_str_fmt(a, "victim/%.*s", DR_FMT(id)), now_epoch, avoid_ms);
    }
    return true;
}

static bool all_completed(const struct dr_state *state) {
    for (size_t i = 0; i < state->down_targets.n; i++) {
        if (!dr_strs_has(state->down_completed, state->down_targets.v[i])) {
            return false;
        }
    }
    return state->down_completed.n > 0;
}

/* True if the action is there to be ended; false if it is over already. */
static bool may_end(const struct dr_state *state, struct dr_str action_id) {
    DR_ASSERT(action_id.n > 0 && (state->down_action_id.n == 0 || dr_str_eq(state->down_action_id, action_id)));
    return state->down_action_id.n > 0;
}

bool dr_down_complete(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch) {
    (void)a;
    *out = *in;
    if (!may_end(out, action_id)) {
        return false;
    }
    DR_ASSERT(all_completed(out));
    dr_state_clear_down(out);
    out->scaling = false;
    out->last_scale_epoch = now_epoch;
    out->last_scale_action = DR_STR("scale_down");
    out->idle_since_epoch = 0;
    return true;
}

bool dr_down_fail(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id) {
    (void)a;
    *out = *in;
    if (!may_end(out, action_id)) {
        return false;
    }
    dr_state_clear_down(out);
    out->scaling = false;
    return true;
}
