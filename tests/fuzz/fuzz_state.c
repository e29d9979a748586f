/*
 * Any bytes as a stored item: decoding fails with a reason, or gives a state that is the same after it was written and read again, keeps what it does not know, and never marks anything by being repaired.
 */
#include "core/state.h"
#include "core/transition.h"
#include "harness/fuzz.h"

static void check_repair(struct dr_arena *arena, const struct dr_state *state) {
    struct dr_state repaired;
    if (!dr_state_repair(arena, state, &repaired)) {
        return;
    }
    DR_ASSERT(!dr_state_blocked(state));
    DR_ASSERT(repaired.up_action_id.n == 0 || repaired.down_action_id.n == 0);
    DR_ASSERT(repaired.marks.n == state->marks.n);
    for (size_t i = 0; i < state->marks.n; i++) {
        DR_ASSERT(dr_str_eq(repaired.marks.v[i], state->marks.v[i]));
    }
    struct dr_state again;
    DR_ASSERT(!dr_state_repair(arena, &repaired, &again));
}

DR_FUZZ(state) {
    struct dr_arena arena;
    struct dr_err err = {.code = DR_OK};
    struct dr_state state;
    dr_arena_init(&arena, 0);
    if (dr_state_decode(&arena, (struct dr_str){(const char *)data, n}, &state, &err) < 0) {
        DR_ASSERT((err.code == DR_E_INVALID || err.code == DR_E_LIMIT) && err.text[0] != '\0');
    } else {
        struct dr_buf once;
        struct dr_buf twice;
        dr_buf_init(&once, DR_STATE_MAX_BYTES);
        dr_buf_init(&twice, DR_STATE_MAX_BYTES);
        dr_state_encode(&state, &once);
        struct dr_state back;
        /* What is rewritten may pass the ceiling although what was read did not: it is not stored then. */
        if (!once.truncated && dr_state_decode(&arena, dr_buf_str(&once), &back, &err) == 0) {
            DR_ASSERT(dr_state_blocked(&back) == dr_state_blocked(&state));
            dr_state_encode(&back, &twice);
            DR_ASSERT(dr_str_eq(dr_buf_str(&once), dr_buf_str(&twice)));
        } else {
            DR_ASSERT(once.truncated || err.code == DR_E_LIMIT);
        }
        check_repair(&arena, &state);
        dr_buf_deinit(&twice);
        dr_buf_deinit(&once);
    }
    dr_arena_deinit(&arena);
}
