#ifndef DR_CORE_STATE_EDIT_H
#define DR_CORE_STATE_EDIT_H

/* How transitions change the lists of a state: never in place, always into the arena. Private to core/state*.c and core/transition*.c. */

#include "core/state.h"

/* A copy of `n` elements with room for `more`, to be changed and put in the list's place. Asserts the ceiling of a list: an item past it could not be read again. */
void *dr_list_clone(struct dr_arena *arena, const void *v, size_t n, size_t more, size_t size);
#define DR_CLONE(arena, list, more) dr_list_clone((arena), (list).v, (list).n, (more), sizeof(*(list).v))

struct dr_strs dr_strs_with(struct dr_arena *arena, struct dr_strs list, struct dr_str s);    /* appended unless it is there */
struct dr_strs dr_strs_without(struct dr_arena *arena, struct dr_strs list, struct dr_str s); /* every occurrence */

/* base_ms doubled `times` times, at most max_ms. */
int64_t dr_doubled_ms(int64_t base_ms, int64_t times, int64_t max_ms);
/* Seconds that cover `ms`: an interval in the item is never shorter than asked for. */
int64_t dr_epoch_after(int64_t now_epoch, int64_t ms);

/* up_instance_ids from the attempts. */
void dr_state_derive_up_ids(struct dr_arena *arena, struct dr_state *state);
/* The fields of an action, gone: what completion, failure and repair have in common. `scaling` and records are the caller's. */
void dr_state_clear_up(struct dr_state *state);
void dr_state_clear_down(struct dr_state *state);

#endif
