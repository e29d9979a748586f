#ifndef DR_BASE_ARENA_H
#define DR_BASE_ARENA_H

/*
 * Arena: everything of one tick lives in one and is freed at once. Chunks grow up to a ceiling; a request past it ends the process through
 * DR_ASSERT after printing who asked, unless the caller uses the `try` form. Under AddressSanitizer the unused parts of a chunk are poisoned and allocations are
 * separated by red zones, so overruns inside an arena are seen.
 */

#include <stddef.h>

struct dr_arena_chunk;

struct dr_arena {
    struct dr_arena_chunk *head; /* newest first */
    size_t used_bytes;           /* handed out since the last reset */
    size_t max_bytes;            /* ceiling; 0 = none */
};

/* `max_bytes` is a promise to the machine, 0 = unlimited. Allocates nothing yet. */
void dr_arena_init(struct dr_arena *arena, size_t max_bytes);

/* Frees every chunk. */
void dr_arena_deinit(struct dr_arena *arena);

/* Forgets every allocation but keeps one chunk, so that a loop of ticks does not touch the heap. */
void dr_arena_reset(struct dr_arena *arena);

/* Zeroed memory for `count` things of `size`, aligned for anything. Never NULL; count 0 gives a valid pointer that must not be read. */
void *dr_arena_alloc(struct dr_arena *arena, size_t count, size_t size);

/* Like dr_arena_alloc, but NULL when the ceiling would be passed or count * size overflows. For sizes that come from outside. */
void *dr_arena_try(struct dr_arena *arena, size_t count, size_t size);

#define DR_NEW(arena, type) ((type *)dr_arena_alloc((arena), 1, sizeof(type)))
#define DR_NEW_N(arena, type, n) ((type *)dr_arena_alloc((arena), (n), sizeof(type)))

#endif
