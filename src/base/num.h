#ifndef DR_BASE_NUM_H
#define DR_BASE_NUM_H

/* Integer arithmetic that says when it overflows, and small helpers that every layer needs. */

#include <stdbool.h>
#include <stdint.h>

static inline bool dr_add_i64(int64_t a, int64_t b, int64_t *ret) { return !__builtin_add_overflow(a, b, ret); }
static inline bool dr_sub_i64(int64_t a, int64_t b, int64_t *ret) { return !__builtin_sub_overflow(a, b, ret); }
static inline bool dr_mul_i64(int64_t a, int64_t b, int64_t *ret) { return !__builtin_mul_overflow(a, b, ret); }

/* Saturating forms, for quantities where "very many" is answer enough. */
int64_t dr_sat_add(int64_t a, int64_t b);
int64_t dr_sat_mul(int64_t a, int64_t b);

/* a * b / c without overflow in the middle, rounded towards zero, saturated; c must not be 0. */
int64_t dr_mul_div(int64_t a, int64_t b, int64_t c);

/* ceil(a / b) for a >= 0, b > 0. */
int64_t dr_ceil_div(int64_t a, int64_t b);

static inline int64_t dr_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dr_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t dr_clamp_i64(int64_t v, int64_t lo, int64_t hi) { return v < lo ? lo : v > hi ? hi : v; }

#endif
