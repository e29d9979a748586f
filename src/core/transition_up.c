/*
 * Scale-up. The action:
 *
 *     none --begin--> active --complete (some index joined)--> none, cooldown
 *                       |  ^        fail (none joined)-------> none, back-off
 *                       +--+ extend, and per index:
 *
 *     (new) --attempt 1--> OPEN --record--> LAUNCHED --joined--> JOINED
 *                          |  ^                |  ^
 *              capacity:   |  | attempt n+1    |  | joined all the same, after its timeout
 *                          +--+                v  |
 *                          +------index_fail--> FAILED
 *
 * An index that is OPEN may have an instance that nobody saw: its attempt is repeated verbatim (rule 8), so an attempt that is written twice must be the same twice.
 */
#include "base/num.h"
#include "core/state_edit.h"
#include "core/transition.h"

bool dr_up_begin(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch,
                 int64_t requested) {
    (void)a;
    *out = *in;
    DR_ASSERT(action_id.n > 0 && action_id.n <= DR_STATE_MAX_ID && requested > 0);
    if (dr_str_eq(out->up_action_id, action_id)) {
        return false;
    }
    DR_ASSERT(!out->scaling && out->up_action_id.n == 0 && out->down_action_id.n == 0);
    dr_state_clear_up(out);
    out->scaling = true;
    out->up_action_id = action_id;
    out->up_started_epoch = now_epoch;
    out->up_requested = requested;
    out->up_has_attempts = true;
    return true;
}

/* Rule 27: a scale-up of another system has no attempts of ours, and must never get any. */
static void assert_ours(const struct dr_state *state, struct dr_str action_id) {
    DR_ASSERT(action_id.n > 0 && dr_str_eq(state->up_action_id, action_id));
    DR_ASSERT(state->up_has_attempts);
}

bool dr_up_extend(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t requested) {
    (void)a;
    *out = *in;
    assert_ours(out, action_id);
    if (requested <= out->up_requested) {
        return false;
    }
    out->up_requested = requested;
    return true;
}

static bool same_call(const struct dr_attempt *x, const struct dr_attempt *y) {
    return dr_str_eq(x->type, y->type) && dr_str_eq(x->zone, y->zone) && dr_str_eq(x->subnet, y->subnet) && x->market == y->market &&
           dr_str_eq(x->template_version, y->template_version) && dr_str_eq(x->replaces, y->replaces);
}

/* The attempts of `out`, about to be changed. */
static struct dr_attempt *edit_attempts(struct dr_arena *a, struct dr_state *out, size_t more) {
    struct dr_attempt *v = DR_CLONE(a, out->attempts, more);
    out->attempts.v = v;
    out->attempts.n += more;
    return v;
}

bool dr_up_attempt(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, size_t index,
                   const struct dr_attempt *spec, int64_t now_epoch) {
    *out = *in;
    assert_ours(out, action_id);
    DR_ASSERT(index <= out->attempts.n && (int64_t)index < out->up_requested);
    int64_t since_epoch = now_epoch;
    bool append = index == out->attempts.n;
    if (append) {
        DR_ASSERT(spec->attempt == 1);
    } else {
        const struct dr_attempt *now = &out->attempts.v[index];
        if (now->attempt == spec->attempt) {
            DR_ASSERT(same_call(now, spec));
            return false;
        }
        DR_ASSERT(now->status == DR_ATTEMPT_OPEN && spec->attempt == now->attempt + 1);
        since_epoch = now->since_epoch;
    }
    struct dr_attempt *v = edit_attempts(a, out, append ? 1 : 0);
    v[index] = (struct dr_attempt){
        .status = DR_ATTEMPT_OPEN,
        .attempt = spec->attempt,
        .type = spec->type,
        .zone = spec->zone,
        .subnet = spec->subnet,
        .market = spec->market,
        .template_version = spec->template_version,
        .since_epoch = since_epoch,
        .replaces = spec->replaces,
    };
    return true;
}

bool dr_up_record(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, size_t index,
                  struct dr_str instance_id, int64_t now_epoch) {
    *out = *in;
    assert_ours(out, action_id);
    DR_ASSERT(index < out->attempts.n && instance_id.n > 0);
    if (dr_str_eq(out->attempts.v[index].instance_id, instance_id)) {
        return false;
    }
    DR_ASSERT(out->attempts.v[index].status == DR_ATTEMPT_OPEN && !dr_strs_has(out->up_instance_ids, instance_id));
    struct dr_attempt *v = edit_attempts(a, out, 0);
    v[index].status = DR_ATTEMPT_LAUNCHED;
    v[index].instance_id = instance_id;
    v[index].launched_epoch = now_epoch;
    dr_state_derive_up_ids(a, out);
    return true;
}

bool dr_up_joined(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, size_t index) {
    *out = *in;
    assert_ours(out, action_id);
    DR_ASSERT(index < out->attempts.n && out->attempts.v[index].instance_id.n > 0);
    if (out->attempts.v[index].status == DR_ATTEMPT_JOINED) {
        return false;
    }
    struct dr_attempt *v = edit_attempts(a, out, 0);
    v[index].status = DR_ATTEMPT_JOINED;
    v[index].why = DR_STR_NONE;
    return true;
}

bool dr_up_index_fail(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, size_t index,
                      struct dr_str why) {
    *out = *in;
    assert_ours(out, action_id);
    DR_ASSERT(index < out->attempts.n && out->attempts.v[index].status != DR_ATTEMPT_JOINED);
    if (out->attempts.v[index].status == DR_ATTEMPT_FAILED) {
        return false;
    }
    struct dr_attempt *v = edit_attempts(a, out, 0);
    v[index].status = DR_ATTEMPT_FAILED;
    v[index].why = why;
    return true;
}

static bool some_joined(const struct dr_state *state) {
    for (size_t i = 0; i < state->attempts.n; i++) {
        if (state->attempts.v[i].status == DR_ATTEMPT_JOINED) {
            return true;
        }
    }
    return false;
}

/*
 * Rule 22: what becomes of the records that this action was to serve. Joined: settled, and over if the interrupted machine has ended already; otherwise it stays, or the machine would count as live
 * again for the rest of its two minutes. Not joined: the debt comes back.
 */
static void settle_records(struct dr_arena *a, struct dr_state *out) {
    if (out->records.n == 0) {
        return;
    }
    struct dr_record *v = DR_CLONE(a, out->records, 0);
    size_t n = 0;
    for (size_t i = 0; i < out->records.n; i++) {
        struct dr_record record = out->records.v[i];
        if (dr_str_eq(record.action_id, out->up_action_id) && !dr_record_settled(&record)) {
            const struct dr_attempt *attempt = (uint64_t)record.index < out->attempts.n ? &out->attempts.v[record.index] : NULL;
            if (attempt != NULL && attempt->status == DR_ATTEMPT_JOINED) {
                record.returned_id = attempt->instance_id;
                if (dr_state_ended(out, record.instance_id)) {
                    continue;
                }
            } else {
                record.action_id = DR_STR_NONE;
                record.index = 0;
            }
        }
        v[n++] = record;
    }
    out->records.v = v;
    out->records.n = n;
}

/* True if the action is there to be ended; false if it is over already. */
static bool may_end(const struct dr_state *state, struct dr_str action_id) {
    DR_ASSERT(action_id.n > 0 && (state->up_action_id.n == 0 || dr_str_eq(state->up_action_id, action_id)));
    return state->up_action_id.n > 0;
}

bool dr_up_complete(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch) {
    *out = *in;
    if (!may_end(out, action_id)) {
        return false;
    }
    DR_ASSERT(!out->up_has_attempts || some_joined(out));
    settle_records(a, out);
    dr_state_clear_up(out);
    out->scaling = false;
    out->last_scale_epoch = now_epoch;
    out->last_scale_action = DR_STR("scale_up");
    out->idle_since_epoch = 0;
    out->backoff_until_epoch = 0;
    out->backoff_count = 0;
    return true;
}

bool dr_up_fail(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch,
                int64_t backoff_ms, int64_t backoff_max_ms) {
    *out = *in;
    if (!may_end(out, action_id)) {
        return false;
    }
    DR_ASSERT(!some_joined(out));
    settle_records(a, out);
    dr_state_clear_up(out);
    out->scaling = false;
    out->backoff_until_epoch = dr_epoch_after(now_epoch, dr_doubled_ms(backoff_ms, out->backoff_count, backoff_max_ms));
    out->backoff_count = dr_sat_add(out->backoff_count, 1);
    return true;
}
