#include "base/num.h"

#include "base/err.h"

__extension__ typedef __int128 dr_i128;

int64_t dr_sat_add(int64_t a, int64_t b) {
    int64_t r = 0;
    if (dr_add_i64(a, b, &r)) {
        return r;
    }
    return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t dr_sat_mul(int64_t a, int64_t b) {
    int64_t r = 0;
    if (dr_mul_i64(a, b, &r)) {
        return r;
    }
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

int64_t dr_mul_div(int64_t a, int64_t b, int64_t c) {
    DR_ASSERT(c != 0);
    dr_i128 r = (dr_i128)a * b / c;
    return r > INT64_MAX ? INT64_MAX : r < INT64_MIN ? INT64_MIN : (int64_t)r;
}

int64_t dr_ceil_div(int64_t a, int64_t b) {
    DR_ASSERT(a >= 0 && b > 0);
    return a / b + (a % b != 0);
}
