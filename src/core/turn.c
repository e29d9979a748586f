#include "core/turn.h"

#include <string.h>

/* 2, 4, 8, 10 s: with four tries an effect gets the better part of half a minute within one tick. */
#define FIRST_PAUSE_MS 2000
#define LAST_PAUSE_MS 10000

void dr_turn_init(struct dr_turn *turn, struct dr_str request_id, int64_t now_ms) {
    turn->request_id = request_id;
    turn->started_ms = now_ms;
    turn->decided = false;
    turn->marked_seq = 0;
    turn->note_n = 0;
}

/* Index of the note, or note_n. */
static size_t find(const struct dr_turn *turn, int kind, uint64_t key) {
    size_t i = 0;
    while (i < turn->note_n && (turn->notes[i].kind != kind || turn->notes[i].key != key)) {
        i++;
    }
    return i;
}

/* A full list forgets its oldest note: the price is one more try of something that failed long ago in this tick. */
static struct dr_turn_note *add(struct dr_turn *turn) {
    if (turn->note_n == DR_TURN_NOTES) {
        memmove(&turn->notes[0], &turn->notes[1], sizeof(turn->notes[0]) * (DR_TURN_NOTES - 1));
        turn->note_n--;
    }
    struct dr_turn_note *note = &turn->notes[turn->note_n++];
    memset(note, 0, sizeof(*note));
    return note;
}

void dr_turn_failed(struct dr_turn *turn, int kind, struct dr_str key, enum dr_code code, int64_t now_ms) {
    uint64_t hash = dr_str_hash(key);
    size_t at = find(turn, kind, hash);
    struct dr_turn_note *note = at < turn->note_n ? &turn->notes[at] : add(turn);
    note->kind = kind;
    note->key = hash;
    int64_t pause_ms = FIRST_PAUSE_MS;
    for (int i = 0; i < note->count && pause_ms < LAST_PAUSE_MS; i++) {
        pause_ms *= 2;
    }
    note->count++;
    note->code = code;
    note->retry_ms = now_ms + (pause_ms < LAST_PAUSE_MS ? pause_ms : LAST_PAUSE_MS);
}

bool dr_turn_may(const struct dr_turn *turn, int kind, struct dr_str key, int64_t now_ms, int64_t *wait_ms) {
    if (turn->note_n == 0) {
        return true;
    }
    size_t at = find(turn, kind, dr_str_hash(key));
    const struct dr_turn_note *note = &turn->notes[at];
    if (at == turn->note_n || (note->count < DR_TURN_TRIES && now_ms >= note->retry_ms)) {
        return true;
    }
    if (note->count < DR_TURN_TRIES) {
        int64_t left_ms = note->retry_ms - now_ms;
        *wait_ms = *wait_ms == 0 || left_ms < *wait_ms ? left_ms : *wait_ms;
    }
    return false;
}

enum dr_code dr_turn_code(const struct dr_turn *turn, int kind, struct dr_str key) {
    size_t at = find(turn, kind, dr_str_hash(key));
    return at == turn->note_n ? DR_OK : turn->notes[at].code;
}
