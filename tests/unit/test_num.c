#include "base/num.h"

#include "base/rand.h"
#include "harness/test.h"

TEST(num, checked_arithmetic_says_when_it_overflows) {
    int64_t r = 0;
    CHECK(dr_add_i64(INT64_MAX - 1, 1, &r));
    CHECK_EQ_INT(r, INT64_MAX);
    CHECK(!dr_add_i64(INT64_MAX, 1, &r));
    CHECK(!dr_sub_i64(INT64_MIN, 1, &r));
    CHECK(dr_mul_i64(INT64_MIN, 1, &r));
    CHECK(!dr_mul_i64(INT64_MIN, -1, &r));
}

TEST(num, saturation_stops_at_the_right_end) {
    CHECK_EQ_INT(dr_sat_add(INT64_MAX, 1), INT64_MAX);
    CHECK_EQ_INT(dr_sat_add(INT64_MIN, -1), INT64_MIN);
    CHECK_EQ_INT(dr_sat_add(-5, 3), -2);
    CHECK_EQ_INT(dr_sat_mul(INT64_MAX, 2), INT64_MAX);
    CHECK_EQ_INT(dr_sat_mul(INT64_MAX, -2), INT64_MIN);
    CHECK_EQ_INT(dr_sat_mul(INT64_MIN, -1), INT64_MAX);
    CHECK_EQ_INT(dr_sat_mul(-3, 4), -12);
}

TEST(num, mul_div_keeps_the_middle_wide_and_rounds_towards_zero) {
    CHECK_EQ_INT(dr_mul_div(INT64_MAX, 1000000, 1000000), INT64_MAX);
    CHECK_EQ_INT(dr_mul_div(7, 1, 2), 3);
    CHECK_EQ_INT(dr_mul_div(-7, 1, 2), -3);
    CHECK_EQ_INT(dr_mul_div(7, 1, -2), -3);
    CHECK_EQ_INT(dr_mul_div(INT64_MAX, 2, 1), INT64_MAX);
    CHECK_EQ_INT(dr_mul_div(INT64_MIN, 2, 1), INT64_MIN);
    CHECK_EQ_INT(dr_mul_div(INT64_MIN, INT64_MIN, INT64_MIN), INT64_MIN);
    CHECK_EQ_INT(dr_mul_div(INT64_MIN, -1, 1), INT64_MAX);
    CHECK_EQ_INT(dr_mul_div(0, 5, -3), 0);
}

TEST(num, ceil_div_is_the_least_that_covers) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    for (int i = 0; i < 10000; i++) {
        int64_t a = dr_rand_between(&r, 0, 1000000);
        int64_t b = dr_rand_between(&r, 1, 1000);
        int64_t q = dr_ceil_div(a, b);
        CHECK(q * b >= a && (q - 1) * b < a);
    }
    CHECK_EQ_INT(dr_ceil_div(INT64_MAX, 1), INT64_MAX);
    CHECK_EQ_INT(dr_ceil_div(INT64_MAX, 2), INT64_MAX / 2 + 1);
    CHECK_EQ_INT(dr_ceil_div(0, 7), 0);
}

TEST(num, clamp_min_max) {
    CHECK_EQ_INT(dr_clamp_i64(5, 1, 3), 3);
    CHECK_EQ_INT(dr_clamp_i64(-5, 1, 3), 1);
    CHECK_EQ_INT(dr_clamp_i64(2, 1, 3), 2);
    CHECK_EQ_INT(dr_min_i64(-1, 1), -1);
    CHECK_EQ_INT(dr_max_i64(-1, 1), 1);
}

static void divide_by_zero(void *arg) {
    (void)arg;
    (void)dr_mul_div(1, 1, 0);
}
static void ceil_of_negative(void *arg) {
    (void)arg;
    (void)dr_ceil_div(-1, 1);
}
TEST(num, wrong_arguments_assert) {
    CHECK(dr_test_dies(divide_by_zero, NULL));
    CHECK(dr_test_dies(ceil_of_negative, NULL));
}
