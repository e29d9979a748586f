#include "base/str.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "base/err.h"

struct dr_str dr_str_of(const char *cstr) {
    return cstr == NULL ? DR_STR_NONE : (struct dr_str){cstr, strlen(cstr)};
}

bool dr_str_eq(struct dr_str a, struct dr_str b) { return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0); }

bool dr_str_is(struct dr_str a, const char *cstr) { return dr_str_eq(a, dr_str_of(cstr)); }

int dr_str_cmp(struct dr_str a, struct dr_str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n == 0 ? 0 : memcmp(a.p, b.p, n);
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

bool dr_str_starts(struct dr_str s, const char *prefix) {
    size_t n = strlen(prefix);
    return s.n >= n && (n == 0 || memcmp(s.p, prefix, n) == 0);
}

bool dr_str_ends(struct dr_str s, const char *suffix) {
    size_t n = strlen(suffix);
    return s.n >= n && (n == 0 || memcmp(s.p + (s.n - n), suffix, n) == 0);
}

struct dr_str dr_str_sub(struct dr_str s, size_t from, size_t to) {
    to = to > s.n ? s.n : to;
    from = from > to ? to : from;
    return s.p == NULL ? s : (struct dr_str){s.p + from, to - from};
}

size_t dr_str_find(struct dr_str s, char c) {
    const char *hit = s.n == 0 ? NULL : memchr(s.p, c, s.n);
    return hit == NULL ? s.n : (size_t)(hit - s.p);
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct dr_str dr_str_trim(struct dr_str s) {
    while (s.n > 0 && is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && is_space(s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

uint64_t dr_str_hash(struct dr_str s) {
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < s.n; i++) {
        h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001B3);
    }
    return h;
}

struct dr_str dr_str_dup(struct dr_arena *arena, struct dr_str s) {
    DR_ASSERT(s.n < SIZE_MAX);
    char *p = dr_arena_alloc(arena, s.n + 1, 1);
    if (s.n > 0) {
        memcpy(p, s.p, s.n);
    }
    return (struct dr_str){p, s.n};
}

struct dr_str dr_str_fmt(struct dr_arena *arena, const char *fmt, ...) {
    char small[256];
    va_list args;
    va_list again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    DR_ASSERT(n >= 0);
    char *p = dr_arena_alloc(arena, (size_t)n + 1, 1);
    if ((size_t)n < sizeof small) {
        memcpy(p, small, (size_t)n);
    } else {
        (void)vsnprintf(p, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    return (struct dr_str){p, (size_t)n};
}

bool dr_str_to_i64(struct dr_str s, int64_t *ret) {
    bool negative = s.n > 0 && s.p[0] == '-';
    size_t i = s.n > 0 && (s.p[0] == '-' || s.p[0] == '+') ? 1 : 0;
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t v = 0;
    if (i == s.n) {
        return false;
    }
    for (; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
        unsigned digit = (unsigned)(s.p[i] - '0');
        if (v > (limit - digit) / 10) {
            return false;
        }
        v = v * 10 + digit;
    }
    *ret = (int64_t)(negative ? 0 - v : v);
    return true;
}

bool dr_str_to_micro(struct dr_str s, int64_t *ret_micro) { return dr_decimal_scale(s, 6, DR_DECIMAL_ROUND, ret_micro); }

unsigned dr_str_distance(struct dr_str a, struct dr_str b, unsigned cap) {
    enum { LONGEST = 127 };
    size_t gap = a.n > b.n ? a.n - b.n : b.n - a.n;
    if (gap > cap || a.n > LONGEST || b.n > LONGEST) {
        return dr_str_eq(a, b) ? 0 : cap + 1;
    }
    unsigned row[LONGEST + 1];
    for (unsigned j = 0; j <= b.n; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            unsigned best = diagonal + (a.p[i - 1] != b.p[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
        }
    }
    return row[b.n] > cap ? cap + 1 : row[b.n];
}

bool dr_strs_has(struct dr_strs list, struct dr_str s) {
    for (size_t i = 0; i < list.n; i++) {
        if (dr_str_eq(list.v[i], s)) {
            return true;
        }
    }
    return false;
}
