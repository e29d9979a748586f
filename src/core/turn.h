#ifndef DR_CORE_TURN_H
#define DR_CORE_TURN_H

/* What one tick remembers of itself: nothing here outlives it. Failed effects are retried a few times with growing pauses and then left to the next tick. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define DR_TURN_NOTES 64
#define DR_TURN_TRIES 4

struct dr_turn_note {
    int kind; /* enum dr_step_kind */
    uint64_t key;
    int count;
    enum dr_code code;
    int64_t retry_ms;
};

struct dr_turn {
    struct dr_str request_id;
    int64_t started_ms;
    bool decided;        /* one decision begins at most one action per tick */
    uint64_t marked_seq; /* observation during which the last mark was written (rule 15 asks for a later one) */
    struct dr_turn_note notes[DR_TURN_NOTES];
    size_t note_n;
};

void dr_turn_init(struct dr_turn *turn, struct dr_str request_id, int64_t now_ms);

/* An effect of this kind on this thing failed, or has to be tried again later. */
void dr_turn_failed(struct dr_turn *turn, int kind, struct dr_str key, enum dr_code code, int64_t now_ms);

/* May it be tried (again) now? With false, *wait_ms is lowered to the time until it may, or left alone when only a later tick may. A `wait_ms` of 0 stands for "none yet". */
bool dr_turn_may(const struct dr_turn *turn, int kind, struct dr_str key, int64_t now_ms, int64_t *wait_ms);

/* How the last try of this tick ended; DR_OK: none failed. */
enum dr_code dr_turn_code(const struct dr_turn *turn, int kind, struct dr_str key);

#endif
