#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
enum { RED_ZONE_BYTES = 16 };
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
enum { RED_ZONE_BYTES = 0 };
#endif

enum { ALIGN_BYTES = alignof(max_align_t), FIRST_CHUNK_BYTES = 32 << 10, MAX_GROWTH_BYTES = 4 << 20 };

/* No honest request is larger; an allocator is not asked for what no machine has. */
#define MAX_CHUNK_BYTES ((size_t)1 << 36)

struct dr_arena_chunk {
    struct dr_arena_chunk *next;
    size_t cap;
    size_t used;
    alignas(max_align_t) unsigned char data[];
};

void dr_arena_init(struct dr_arena *arena, size_t max_bytes) { *arena = (struct dr_arena){.max_bytes = max_bytes}; }

static void free_chunks(struct dr_arena_chunk *chunk) {
    while (chunk != NULL) {
        struct dr_arena_chunk *next = chunk->next;
        ASAN_UNPOISON_MEMORY_REGION(chunk->data, chunk->cap);
        free(chunk);
        chunk = next;
    }
}

void dr_arena_deinit(struct dr_arena *arena) {
    free_chunks(arena->head);
    arena->head = NULL;
    arena->used_bytes = 0;
}

void dr_arena_reset(struct dr_arena *arena) {
    arena->used_bytes = 0;
    struct dr_arena_chunk *keep = arena->head;
    if (keep == NULL) {
        return;
    }
    /* Chunks double, so the newest is the one that a loop of equal ticks will soon fit into. A huge one made for a single request would be kept for ever. */
    free_chunks(keep->next);
    keep->next = NULL;
    if (keep->cap > MAX_GROWTH_BYTES) {
        free_chunks(keep);
        arena->head = NULL;
        return;
    }
    keep->used = 0;
    ASAN_POISON_MEMORY_REGION(keep->data, keep->cap);
}

static struct dr_arena_chunk *add_chunk(struct dr_arena *arena, size_t need) {
    size_t cap = arena->head == NULL ? FIRST_CHUNK_BYTES : arena->head->cap * 2;
    cap = cap > MAX_GROWTH_BYTES ? MAX_GROWTH_BYTES : cap;
    cap = cap < need ? need : cap;
    if (cap > MAX_CHUNK_BYTES) {
        return NULL;
    }
    struct dr_arena_chunk *chunk = malloc(sizeof *chunk + cap);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->next = arena->head;
    chunk->cap = cap;
    chunk->used = 0;
    ASAN_POISON_MEMORY_REGION(chunk->data, cap);
    arena->head = chunk;
    return chunk;
}

void *dr_arena_try(struct dr_arena *arena, size_t count, size_t size) {
    size_t bytes = 0;
    size_t slot = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || __builtin_add_overflow(bytes, (size_t)ALIGN_BYTES + RED_ZONE_BYTES, &slot)) {
        return NULL;
    }
    /* An empty request gets a slot too: two of them have different addresses. */
    slot = ((bytes == 0 ? 1 : bytes) + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES + RED_ZONE_BYTES;
    if (arena->max_bytes != 0 && (bytes > arena->max_bytes || arena->used_bytes > arena->max_bytes - bytes)) {
        return NULL;
    }
    struct dr_arena_chunk *chunk = arena->head;
    if (chunk == NULL || chunk->cap - chunk->used < slot) {
        chunk = add_chunk(arena, slot);
        if (chunk == NULL) {
            return NULL;
        }
    }
    void *p = chunk->data + chunk->used;
    chunk->used += slot;
    arena->used_bytes += bytes;
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
    memset(p, 0, bytes);
    return p;
}

void *dr_arena_alloc(struct dr_arena *arena, size_t count, size_t size) {
    void *p = dr_arena_try(arena, count, size);
    if (p == NULL) {
        (void)fprintf(stderr, "drover: arena: %zu x %zu bytes asked by %p, %zu in use, ceiling %zu\n", count, size,
                      __builtin_return_address(0), arena->used_bytes, arena->max_bytes);
        DR_ASSERT(p != NULL);
    }
    return p;
}
