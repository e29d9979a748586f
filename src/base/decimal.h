#ifndef DR_BASE_DECIMAL_H
#define DR_BASE_DECIMAL_H

/* Decimal text to integers without floating point: what is behind dr_str_to_micro and the numbers of the JSON reader. */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum dr_decimal_rest {
    DR_DECIMAL_ROUND, /* to nearest, ties away from zero */
    DR_DECIMAL_EXACT, /* anything after the point that is not 0 is refused */
};

/* text * 10^power. Takes [+-]digits[.digits][e[+-]digits]; false on anything else, outside int64, or (EXACT) when the result is not whole. */
bool dr_decimal_scale(struct dr_str text, int power, enum dr_decimal_rest rest, int64_t *ret);

#endif
