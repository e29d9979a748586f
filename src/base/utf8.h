#ifndef DR_BASE_UTF8_H
#define DR_BASE_UTF8_H

/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */

#include <stddef.h>
#include <stdint.h>

/* Length in bytes (1 to 4) of the character at `p`, 0 if there is none that is valid before `end`. */
static inline size_t dr_utf8_len(const char *p, const char *end) {
    size_t left = (size_t)(end - p);
    const unsigned char *u = (const unsigned char *)p;
    if (left == 0) {
        return 0;
    }
    if (u[0] < 0x80) {
        return 1;
    }
    if (u[0] < 0xC2 || u[0] > 0xF4 || left < 2 || (u[1] & 0xC0) != 0x80) {
        return 0;
    }
    if (u[0] < 0xE0) {
        return 2;
    }
    if (left < 3 || (u[2] & 0xC0) != 0x80) {
        return 0;
    }
    if (u[0] < 0xF0) {
        return (u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xED && u[1] > 0x9F) ? 0 : 3;
    }
    if (left < 4 || (u[3] & 0xC0) != 0x80) {
        return 0;
    }
    return (u[0] == 0xF0 && u[1] < 0x90) || (u[0] == 0xF4 && u[1] > 0x8F) ? 0 : 4;
}

/* The largest length <= n at which `p` does not end inside a character. Bytes that are no UTF-8 are left alone. */
static inline size_t dr_utf8_cut(const char *p, size_t n) {
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)p[n - back];
        if ((c & 0xC0) == 0x80) {
            continue;
        }
        size_t want = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
        return want > back ? n - back : n;
    }
    return n;
}

/* Writes the code point (<= U+10FFFF, no surrogate) and returns its length. */
static inline size_t dr_utf8_put(char out[4], uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

#endif
