#include "adapter/kubernetes/quantity.h"

__extension__ typedef unsigned __int128 u128;

/* Digits past this many no longer matter for a result of 64 bits; they only say whether something is left to round up. */
enum { MAX_DIGITS = 20, MAX_EXPONENT = 1000, MAX_POWER = 38 };

struct parts {
    u128 mantissa;
    bool rest;   /* digits other than 0 were dropped */
    int power;   /* of ten */
    int doubled; /* power of two */
};

/* Takes the number in front of the suffix; returns where the suffix begins, or NULL. */
static const char *take_number(const char *p, const char *end, struct parts *ret) {
    int kept = 0;
    bool any = false;
    bool point = false;
    for (; p < end; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        unsigned digit = (unsigned)(*p - '0');
        if (digit > 9) {
            break;
        }
        any = true;
        if (kept == MAX_DIGITS) {
            ret->rest = ret->rest || digit != 0;
            ret->power += point ? 0 : 1;
        } else {
            ret->mantissa = ret->mantissa * 10 + digit;
            ret->power -= point ? 1 : 0;
            kept += ret->mantissa != 0;
        }
        if (ret->power > MAX_EXPONENT || ret->power < -MAX_EXPONENT) {
            return NULL;
        }
    }
    return any ? p : NULL;
}

static bool take_exponent(struct dr_str text, struct parts *ret) {
    int64_t exponent;
    if (text.n == 0 || text.n > 5 || !dr_str_to_i64(text, &exponent) || exponent > MAX_EXPONENT || exponent < -MAX_EXPONENT) {
        return false;
    }
    ret->power += (int)exponent;
    return true;
}

static bool take_suffix(struct dr_str suffix, struct parts *ret) {
    static const char large[] = "kMGTPE";
    static const char binary[] = "KMGTPE";
    if (suffix.n == 0) {
        return true;
    }
    char c = suffix.p[0];
    if (suffix.n == 2 && suffix.p[1] == 'i') {
        for (int i = 0; binary[i] != '\0'; i++) {
            if (binary[i] == c) {
                ret->doubled = 10 * (i + 1);
                return true;
            }
        }
        return false;
    }
    if (suffix.n > 1) {
        return (c == 'e' || c == 'E') && take_exponent(dr_str_sub(suffix, 1, suffix.n), ret);
    }
    for (int i = 0; large[i] != '\0'; i++) {
        if (large[i] == c) {
            ret->power += 3 * (i + 1);
            return true;
        }
    }
    ret->power -= c == 'm' ? 3 : c == 'u' ? 6 : 9;
    return c == 'm' || c == 'u' || c == 'n';
}

static u128 power_of_ten(int n) {
    u128 v = 1;
    while (n-- > 0) {
        v *= 10;
    }
    return v;
}

static int64_t scale_up(const struct parts *parts, u128 value) {
    u128 product;
    if (value == 0) {
        return 0;
    }
    if (parts->power > MAX_POWER || __builtin_mul_overflow(value, power_of_ten(parts->power), &product) || product > INT64_MAX) {
        return INT64_MAX;
    }
    return (int64_t)product;
}

static int64_t scale_down(const struct parts *parts, u128 value) {
    if (-parts->power > MAX_POWER) {
        return value > 0 || parts->rest ? 1 : 0;
    }
    u128 divisor = power_of_ten(-parts->power);
    u128 whole = value / divisor + (value % divisor != 0 || parts->rest ? 1 : 0);
    return whole > INT64_MAX ? INT64_MAX : (int64_t)whole;
}

static bool parse(struct dr_str text, int power, int64_t *ret) {
    struct parts parts = {.power = power};
    const char *p = text.p;
    const char *end = p + text.n;
    if (text.n == 0 || text.n > 64) {
        return false;
    }
    p += *p == '+';
    p = take_number(p, end, &parts);
    if (p == NULL || !take_suffix((struct dr_str){p, (size_t)(end - p)}, &parts)) {
        return false;
    }
    u128 value = parts.mantissa << parts.doubled; /* 20 digits and 60 bits fit */
    *ret = parts.power >= 0 ? scale_up(&parts, value) : scale_down(&parts, value);
    return true;
}

bool dr_quantity_milli(struct dr_str text, int64_t *ret) { return parse(text, 3, ret); }
bool dr_quantity_units(struct dr_str text, int64_t *ret) { return parse(text, 0, ret); }
