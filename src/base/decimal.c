#include "base/decimal.h"

struct decimal {
    bool negative;
    const char *digits; /* integer digits, perhaps a point, fraction digits; no zero in front */
    const char *end;
    int64_t whole_n; /* digits in front of the point of the unscaled value; negative: zeros behind it */
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static const char *take_digits(const char *p, const char *end) {
    while (p < end && is_digit(*p)) {
        p++;
    }
    return p;
}

/* Saturates far outside of what any exponent could bring back into range. */
static bool take_exponent(const char *p, const char *end, int64_t *ret) {
    bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    const char *from = p;
    int64_t v = 0;
    for (; p < end && is_digit(*p); p++) {
        v = v < INT64_C(1000000000000) ? v * 10 + (*p - '0') : v;
    }
    *ret = negative ? -v : v;
    return p > from && p == end;
}

static bool parse(struct dr_str text, struct decimal *d) {
    const char *p = text.p;
    const char *end = p == NULL ? p : p + text.n;
    d->negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    const char *whole = p;
    p = take_digits(p, end);
    const char *point = p;
    if (point == whole) {
        return false;
    }
    if (p < end && *p == '.') {
        p = take_digits(p + 1, end);
        if (p == point + 1) {
            return false;
        }
    }
    d->digits = whole;
    d->end = p;
    int64_t exponent = 0;
    if (p < end && (*p == 'e' || *p == 'E')) {
        if (!take_exponent(p + 1, end, &exponent)) {
            return false;
        }
    } else if (p != end) {
        return false;
    }
    d->whole_n = (point - whole) + exponent;
    while (d->digits < d->end && (*d->digits == '0' || *d->digits == '.')) {
        d->whole_n -= *d->digits == '0';
        d->digits++;
    }
    return true;
}

bool dr_decimal_scale(struct dr_str text, int power, enum dr_decimal_rest rest, int64_t *ret) {
    struct decimal d;
    if (!parse(text, &d)) {
        return false;
    }
    int64_t keep = d.whole_n + power; /* digits of the result */
    uint64_t limit = (uint64_t)INT64_MAX + (d.negative ? 1 : 0);
    uint64_t v = 0;
    if (d.digits == d.end) {
        keep = 0; /* zero, whatever the exponent */
    }
    const char *p = d.digits;
    for (; keep > 0; keep--) {
        p += p < d.end && *p == '.';
        unsigned digit = p < d.end ? (unsigned)(*p++ - '0') : 0;
        if (v > (limit - digit) / 10) {
            return false;
        }
        v = v * 10 + digit;
    }
    /* What is left is the part behind the point: 0.dddd, after -keep zeros. */
    p += p < d.end && *p == '.';
    if (rest == DR_DECIMAL_ROUND) {
        bool up = keep == 0 && p < d.end && *p >= '5';
        if (up && v == limit) {
            return false;
        }
        v += up;
    } else {
        for (; p < d.end; p++) {
            if (*p != '0' && *p != '.') {
                return false;
            }
        }
    }
    *ret = (int64_t)(d.negative ? 0 - v : v);
    return true;
}
