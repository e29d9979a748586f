#include "base/json_text.h"

#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

static int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The four digits behind "\u", or -1. */
static int32_t unit_at(const char *p, const char *end) {
    int32_t v = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u') {
        return -1;
    }
    for (int i = 2; i < 6; i++) {
        int digit = hex_value(p[i]);
        if (digit < 0) {
            return -1;
        }
        v = v << 4 | digit;
    }
    return v;
}

/* Length of the escape and its code point; 0 if it is not valid. A surrogate counts only as half of a pair. */
static size_t read_escape(const char *p, const char *end, uint32_t *ret_code) {
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (end - p < 2) {
        return 0;
    }
    if (p[1] != 'u') {
        const char *hit = memchr(names, p[1], sizeof names - 1);
        *ret_code = hit == NULL ? 0 : (uint32_t)values[hit - names];
        return hit == NULL ? 0 : 2;
    }
    int32_t high = unit_at(p, end);
    if (high < 0 || (high >= 0xDC00 && high <= 0xDFFF)) {
        return 0;
    }
    if (high < 0xD800 || high > 0xDFFF) {
        *ret_code = (uint32_t)high;
        return 6;
    }
    int32_t low = unit_at(p + 6, end);
    if (low < 0xDC00 || low > 0xDFFF) {
        return 0;
    }
    *ret_code = 0x10000 + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
    return 12;
}

size_t dr_json_escape_len(const char *p, const char *end) {
    uint32_t code = 0;
    return read_escape(p, end, &code);
}

size_t dr_json_decode(struct dr_str raw, char *out) {
    const char *p = raw.p;
    const char *end = p + raw.n;
    size_t n = 0;
    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((escape == NULL ? end : escape) - p);
        memcpy(out + n, p, plain);
        n += plain;
        p += plain;
        if (escape != NULL) {
            uint32_t code = 0;
            size_t len = read_escape(p, end, &code);
            DR_ASSERT(len > 0); /* the scan has checked it */
            n += dr_utf8_put(out + n, code);
            p += len;
        }
    }
    return n;
}

/* A key as a stream of decoded pieces, so that comparing needs no memory. */
struct cursor {
    const char *p;
    const char *end;
    bool escaped;
    char piece[4];
    size_t at;
    size_t n;
};

static int next_byte(struct cursor *c) {
    if (c->at < c->n) {
        return (unsigned char)c->piece[c->at++];
    }
    if (c->p == c->end) {
        return -1;
    }
    if (!c->escaped || *c->p != '\\') {
        return (unsigned char)*c->p++;
    }
    uint32_t code = 0;
    size_t len = read_escape(c->p, c->end, &code);
    DR_ASSERT(len > 0);
    c->p += len;
    c->n = dr_utf8_put(c->piece, code);
    c->at = 1;
    return (unsigned char)c->piece[0];
}

bool dr_json_keys_equal(const struct dr_json_key *a, const struct dr_json_key *b) {
    if (!a->escaped && !b->escaped) {
        return dr_str_eq(a->raw, b->raw);
    }
    struct cursor x = {.p = a->raw.p, .end = a->raw.p + a->raw.n, .escaped = a->escaped};
    struct cursor y = {.p = b->raw.p, .end = b->raw.p + b->raw.n, .escaped = b->escaped};
    for (;;) {
        int c = next_byte(&x);
        if (c != next_byte(&y)) {
            return false;
        }
        if (c < 0) {
            return true;
        }
    }
}
