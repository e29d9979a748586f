#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/rand.h"
#include "harness/test.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

TEST(arena, memory_is_zeroed_and_aligned_also_after_reset) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size < 300; size += 7) {
            unsigned char *p = dr_arena_alloc(&arena, 1, size);
            CHECK_EQ_INT((uintptr_t)p % alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++) {
                CHECK_EQ_INT(p[i], 0);
            }
            memset(p, 0xA5, size);
        }
        dr_arena_reset(&arena);
    }
    dr_arena_deinit(&arena);
}

TEST(arena, allocations_never_overlap) {
    enum { N = 400 };
    static struct {
        unsigned char *p;
        size_t n;
    } seen[N];
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    for (size_t i = 0; i < N; i++) {
        seen[i].n = (size_t)dr_rand_below(&r, i % 50 == 0 ? 100000 : 400) + 1;
        seen[i].p = dr_arena_alloc(&arena, seen[i].n, 1);
        memset(seen[i].p, (int)(i % 251), seen[i].n);
    }
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < seen[i].n; k++) {
            CHECK_EQ_INT(seen[i].p[k], i % 251);
        }
    }
    dr_arena_deinit(&arena);
}

TEST(arena, empty_requests_have_addresses_of_their_own) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    void *a = dr_arena_alloc(&arena, 0, 16);
    void *b = dr_arena_alloc(&arena, 5, 0);
    CHECK(a != NULL && b != NULL && a != b);
    CHECK_EQ_INT(arena.used_bytes, 0);
    dr_arena_deinit(&arena);
}

TEST(arena, try_refuses_past_the_ceiling_and_on_overflow) {
    struct dr_arena arena;
    dr_arena_init(&arena, 1000);
    CHECK(dr_arena_try(&arena, 600, 1) != NULL);
    CHECK(dr_arena_try(&arena, 401, 1) == NULL);
    CHECK(dr_arena_try(&arena, 400, 1) != NULL);
    CHECK(dr_arena_try(&arena, 1, 1) == NULL);
    CHECK_EQ_INT(arena.used_bytes, 1000);
    CHECK(dr_arena_try(&arena, SIZE_MAX / 2, 3) == NULL);
    dr_arena_reset(&arena);
    CHECK(dr_arena_try(&arena, 1000, 1) != NULL);
    dr_arena_deinit(&arena);

    dr_arena_init(&arena, 0);
    CHECK(dr_arena_try(&arena, SIZE_MAX, 1) == NULL);
    CHECK(dr_arena_try(&arena, SIZE_MAX / 2, 2) == NULL);
    CHECK(dr_arena_try(&arena, SIZE_MAX - 64, 1) == NULL);
    dr_arena_deinit(&arena);
}

TEST(arena, a_loop_of_equal_ticks_stops_touching_the_heap) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    const struct dr_arena_chunk *kept = NULL;
    for (int tick = 0; tick < 20; tick++) {
        for (int i = 0; i < 1000; i++) {
            (void)dr_arena_alloc(&arena, 1, 200);
        }
        if (tick > 10) {
            CHECK(arena.head == kept);
        }
        kept = arena.head;
        dr_arena_reset(&arena);
        CHECK_EQ_INT(arena.used_bytes, 0);
    }
    dr_arena_deinit(&arena);
    dr_arena_reset(&arena); /* after deinit: nothing to do */
    dr_arena_deinit(&arena);
}

static void ask_too_much(void *arg) {
    (void)arg;
    struct dr_arena arena;
    dr_arena_init(&arena, 100);
    (void)dr_arena_alloc(&arena, 101, 1);
}
TEST(arena, alloc_past_the_ceiling_ends_the_process) { CHECK(dr_test_dies(ask_too_much, NULL)); }

#ifdef WITH_ASAN
static void overrun(void *arg) {
    (void)arg;
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    volatile char *p = dr_arena_alloc(&arena, 16, 1);
    (void)dr_arena_alloc(&arena, 16, 1);
    p[16] = 1;
}
static void use_after_reset(void *arg) {
    (void)arg;
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    volatile char *p = dr_arena_alloc(&arena, 16, 1);
    dr_arena_reset(&arena);
    p[0] = 1;
}
TEST(arena, sanitizer_sees_overruns_and_use_after_reset) {
    CHECK(dr_test_dies(overrun, NULL));
    CHECK(dr_test_dies(use_after_reset, NULL));
}
#endif
