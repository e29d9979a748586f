#include "base/rand.h"

#include "harness/test.h"

/* Reference values computed apart from this code, from the published definitions of splitmix64 and xoshiro256**. */
TEST(rand, sequence_is_the_published_one) {
    struct dr_rand r;
    dr_rand_init(&r, 0);
    CHECK_EQ_U64(r.s[0], UINT64_C(0xe220a8397b1dcdaf));
    CHECK_EQ_U64(r.s[1], UINT64_C(0x6e789e6aa1b965f4));
    CHECK_EQ_U64(dr_rand_next(&r), UINT64_C(0x99ec5f36cb75f2b4));
    CHECK_EQ_U64(dr_rand_next(&r), UINT64_C(0xbf6e1f784956452a));
    CHECK_EQ_U64(dr_rand_next(&r), UINT64_C(0x1a5f849d4933e6e0));
}

TEST(rand, below_and_between_stay_inside_and_reach_the_ends) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    unsigned hits[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint64_t v = dr_rand_below(&r, 7);
        CHECK(v < 7);
        hits[v]++;
    }
    for (int i = 0; i < 7; i++) {
        CHECK(hits[i] > 9000 && hits[i] < 11000); /* more than 10 standard deviations */
    }
    bool low = false;
    bool high = false;
    for (int i = 0; i < 1000; i++) {
        int64_t v = dr_rand_between(&r, -2, 2);
        CHECK(v >= -2 && v <= 2);
        low = low || v == -2;
        high = high || v == 2;
        CHECK_EQ_INT(dr_rand_between(&r, 5, 5), 5);
        CHECK_EQ_INT(dr_rand_below(&r, 1), 0);
        CHECK(dr_rand_below(&r, UINT64_C(1) << 63 | 1) <= UINT64_C(1) << 63);
    }
    CHECK(low && high);
    bool negative = false;
    bool positive = false;
    for (int i = 0; i < 200; i++) {
        int64_t v = dr_rand_between(&r, INT64_MIN, INT64_MAX);
        negative = negative || v < 0;
        positive = positive || v > 0;
    }
    CHECK(negative && positive);
}

TEST(rand, split_parts_do_not_shift_each_other) {
    struct dr_rand a;
    struct dr_rand b;
    dr_rand_init(&a, 42);
    dr_rand_init(&b, 42);
    struct dr_rand boots = dr_rand_split(&a, 1);
    struct dr_rand pods = dr_rand_split(&a, 2);
    CHECK(dr_rand_next(&boots) != dr_rand_next(&pods));
    struct dr_rand again = dr_rand_split(&b, 2);
    (void)dr_rand_next(&again);
    CHECK_EQ_U64(dr_rand_next(&again), dr_rand_next(&pods));
    CHECK_EQ_U64(dr_rand_next(&a), dr_rand_next(&b));
    CHECK(dr_rand_next(&a) != dr_rand_next(&boots));
}

static void below_zero(void *arg) { (void)dr_rand_below(arg, 0); }
static void between_reversed(void *arg) { (void)dr_rand_between(arg, 1, 0); }
TEST(rand, empty_ranges_assert) {
    struct dr_rand r;
    dr_rand_init(&r, 1);
    CHECK(dr_test_dies(below_zero, &r));
    CHECK(dr_test_dies(between_reversed, &r));
}
