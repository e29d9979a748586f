/*
 * Interruption records (rules 21-23). A record of a warning or a rebalance hint:
 *
 *     owed --assign--> under way (action, index) --the action ends, joined--> settled --dr_mark_ended--> gone
 *      ^ |                        |
 *      | +------return------------|-----------------------------------------> settled (the returned victim)
 *      +--------------------------+ assign of no action; the action ends, not joined
 */
#include "core/state_edit.h"
#include "core/transition.h"

static struct dr_record *edit_record(struct dr_arena *a, struct dr_state *out, const struct dr_record *record) {
    struct dr_record *v = DR_CLONE(a, out->records, 0);
    size_t at = (size_t)(record - out->records.v);
    out->records.v = v;
    return &v[at];
}

bool dr_record_put(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, const struct dr_record *record) {
    *out = *in;
    DR_ASSERT(record->instance_id.n > 0 && (record->kind == DR_EVENT_WARNING || record->kind == DR_EVENT_REBALANCE));
    const struct dr_record *known = dr_state_record(out, record->instance_id);
    if (known != NULL) {
        if (known->kind == record->kind || record->kind == DR_EVENT_REBALANCE) {
            return false;
        }
        struct dr_record *now = edit_record(a, out, known);
        now->kind = DR_EVENT_WARNING;
        now->noticed_epoch = record->noticed_epoch;
        return true;
    }
    struct dr_record *v = DR_CLONE(a, out->records, 1);
    v[out->records.n] = *record;
    out->records.v = v;
    out->records.n++;
    return true;
}

/* Its index may still bring an instance: it is open, running up, joined, or about to be written. */
static bool under_way(const struct dr_state *state, const struct dr_record *record) {
    if (record->action_id.n == 0 || !dr_str_eq(record->action_id, state->up_action_id)) {
        return false;
    }
    return (uint64_t)record->index >= state->attempts.n || state->attempts.v[record->index].status != DR_ATTEMPT_FAILED;
}

/* The instance of its own index: the replacement that was under way is the one that stands in. */
static bool own_instance(const struct dr_state *state, const struct dr_record *record, struct dr_str id) {
    return (uint64_t)record->index < state->attempts.n && dr_str_eq(state->attempts.v[record->index].instance_id, id);
}

static bool index_taken(const struct dr_state *state, struct dr_str action_id, int64_t index) {
    for (size_t i = 0; i < state->records.n; i++) {
        if (state->records.v[i].index == index && dr_str_eq(state->records.v[i].action_id, action_id)) {
            return true;
        }
    }
    return false;
}

bool dr_record_assign(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str instance_id,
                      struct dr_str action_id, int64_t index) {
    *out = *in;
    const struct dr_record *known = dr_state_record(out, instance_id);
    DR_ASSERT(known != NULL && index >= 0);
    if (action_id.n == 0) {
        if (dr_record_owed(known)) {
            return false;
        }
        struct dr_record *now = edit_record(a, out, known);
        now->action_id = DR_STR_NONE;
        now->index = 0;
        now->returned_id = DR_STR_NONE;
        return true;
    }
    if (dr_str_eq(known->action_id, action_id) && known->index == index) {
        return false;
    }
    /* One replacement per interrupted instance, one interrupted instance per index. */
    DR_ASSERT(dr_str_eq(out->up_action_id, action_id) && out->up_has_attempts);
    DR_ASSERT(!dr_record_settled(known) && !under_way(out, known) && !index_taken(out, action_id, index));
    struct dr_record *now = edit_record(a, out, known);
    now->action_id = action_id;
    now->index = index;
    return true;
}

bool dr_record_return(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str instance_id,
                      struct dr_str returned_id) {
    *out = *in;
    const struct dr_record *known = dr_state_record(out, instance_id);
    DR_ASSERT(known != NULL && returned_id.n > 0);
    if (dr_str_eq(known->returned_id, returned_id)) {
        return false;
    }
    DR_ASSERT(!dr_record_settled(known) && (!under_way(out, known) || own_instance(out, known, returned_id)));
    struct dr_record *now = edit_record(a, out, known);
    now->action_id = DR_STR_NONE;
    now->index = 0;
    now->returned_id = returned_id;
    return true;
}

bool dr_record_end(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str instance_id) {
    *out = *in;
    if (dr_state_record(out, instance_id) == NULL) {
        return false;
    }
    struct dr_record *v = DR_CLONE(a, out->records, 0);
    size_t n = 0;
    for (size_t i = 0; i < out->records.n; i++) {
        if (!dr_str_eq(out->records.v[i].instance_id, instance_id)) {
            v[n++] = out->records.v[i];
        }
    }
    out->records.v = v;
    out->records.n = n;
    return true;
}
