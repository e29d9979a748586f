#include "core/state_edit.h"

#include <string.h>

#include "base/num.h"

void *dr_list_clone(struct dr_arena *arena, const void *v, size_t n, size_t more, size_t size) {
    DR_ASSERT(n + more <= DR_STATE_MAX_LIST);
    void *copy = dr_arena_alloc(arena, n + more, size);
    if (n > 0) {
        memcpy(copy, v, n * size);
    }
    return copy;
}

struct dr_strs dr_strs_with(struct dr_arena *arena, struct dr_strs list, struct dr_str s) {
    if (dr_strs_has(list, s)) {
        return list;
    }
    struct dr_str *v = DR_CLONE(arena, list, 1);
    v[list.n] = s;
    return (struct dr_strs){v, list.n + 1};
}

struct dr_strs dr_strs_without(struct dr_arena *arena, struct dr_strs list, struct dr_str s) {
    if (!dr_strs_has(list, s)) {
        return list;
    }
    struct dr_str *v = DR_CLONE(arena, list, 0);
    size_t n = 0;
    for (size_t i = 0; i < list.n; i++) {
        if (!dr_str_eq(list.v[i], s)) {
            v[n++] = list.v[i];
        }
    }
    return n == 0 ? (struct dr_strs){0} : (struct dr_strs){v, n};
}

int64_t dr_doubled_ms(int64_t base_ms, int64_t times, int64_t max_ms) {
    int64_t ms = base_ms;
    for (int64_t i = 0; i < times && ms < max_ms && ms > 0; i++) {
        ms = dr_sat_mul(ms, 2);
    }
    return dr_min_i64(ms, max_ms);
}

int64_t dr_epoch_after(int64_t now_epoch, int64_t ms) {
    return dr_min_i64(dr_sat_add(now_epoch, dr_ceil_div(dr_max_i64(ms, 0), 1000)), DR_STATE_MAX_EPOCH);
}

void dr_state_derive_up_ids(struct dr_arena *arena, struct dr_state *state) {
    size_t n = 0;
    struct dr_str *ids = DR_NEW_N(arena, struct dr_str, state->attempts.n);
    for (size_t i = 0; i < state->attempts.n; i++) {
        if (state->attempts.v[i].instance_id.n > 0) {
            ids[n++] = state->attempts.v[i].instance_id;
        }
    }
    state->up_instance_ids = n == 0 ? (struct dr_strs){0} : (struct dr_strs){ids, n};
}

void dr_state_clear_up(struct dr_state *state) {
    state->up_action_id = DR_STR_NONE;
    state->up_started_epoch = 0;
    state->up_requested = 0;
    state->up_instance_ids = (struct dr_strs){0};
    state->up_has_attempts = false;
    state->attempts.v = NULL;
    state->attempts.n = 0;
}

void dr_state_clear_down(struct dr_state *state) {
    state->down_action_id = DR_STR_NONE;
    state->down_started_epoch = 0;
    state->down_terminating = false;
    state->down_targets = (struct dr_strs){0};
    state->down_completed = (struct dr_strs){0};
    state->drains.v = NULL;
    state->drains.n = 0;
    state->down_reason = DR_STR_NONE;
}
