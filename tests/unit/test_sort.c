#include "base/rand.h"
#include "core/sort.h"
#include "harness/test.h"

struct item {
    uint64_t key;
    size_t position;
};

static int compare(const void *a, const void *b, const void *ctx) {
    uint64_t x = ((const struct item *)a)->key;
    uint64_t y = ((const struct item *)b)->key;
    size_t *calls = *(size_t *const *)ctx;
    (*calls)++;
    return (x > y) - (x < y);
}

TEST(sort, property_result_is_ordered_and_stable) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    for (size_t n = 0; n < 100; n++) {
        struct dr_arena arena;
        dr_arena_init(&arena, 0);
        struct item items[100];
        const void *v[100];
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++) {
            items[i] = (struct item){dr_rand_below(&r, n / 2 + 1), i};
            v[i] = &items[i];
            sum += i;
        }
        size_t calls = 0;
        size_t *ctx = &calls;
        dr_sort(&arena, v, n, compare, &ctx);
        for (size_t i = 0; i < n; i++) {
            sum -= ((const struct item *)v[i])->position;
        }
        CHECK_EQ_U64(sum, 0);
        for (size_t i = 1; i < n; i++) {
            const struct item *a = v[i - 1];
            const struct item *b = v[i];
            CHECK(a->key < b->key || (a->key == b->key && a->position < b->position));
        }
        dr_arena_deinit(&arena);
    }
}

TEST(sort, list_in_order_is_only_looked_through) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct item items[] = {{1, 0}, {1, 1}, {2, 2}, {3, 3}};
    const void *v[] = {&items[0], &items[1], &items[2], &items[3]};
    size_t calls = 0;
    size_t *ctx = &calls;
    dr_sort(&arena, v, 4, compare, &ctx);
    CHECK_EQ_INT(calls, 3);
    CHECK_EQ_INT(arena.used_bytes, 0);
    dr_arena_deinit(&arena);
}
