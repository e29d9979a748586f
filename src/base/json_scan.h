#ifndef DR_BASE_JSON_SCAN_H
#define DR_BASE_JSON_SCAN_H

/*
 * The two loops where the JSON reader spends its time: the run of plain characters of a string, and white space. Each exists twice, in portable C (8 bytes at a
 * time) and with SSE2 (16); tests hold one against the other. They read nothing at or behind `end`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#define DR_JSON_SSE2 1
#endif

/* A byte that may stand in a string and needs no second look: ASCII, no control, no quote, no backslash. */
static inline bool dr_json_is_plain(char c) { return (signed char)c >= 0x20 && c != '"' && c != '\\'; }

static inline bool dr_json_is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* The first byte of [p, end) that is not plain, or end. */
static inline const char *dr_json_plain_end_portable(const char *p, const char *end) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t high = UINT64_C(0x8080808080808080);
    while (end - p >= 8) {
        uint64_t v;
        memcpy(&v, p, 8);
        /* x - ones borrows into the high bit where a byte of x was 0; the borrow may spill upwards, never hide a hit. */
        uint64_t quote = v ^ (ones * '"');
        uint64_t backslash = v ^ (ones * '\\');
        uint64_t hit = v | (v - ones * 0x20) | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash);
        if ((hit & high) != 0) {
            break;
        }
        p += 8;
    }
    while (p < end && dr_json_is_plain(*p)) {
        p++;
    }
    return p;
}

/* The first byte of [p, end) that is not white space, or end. */
static inline const char *dr_json_space_end_portable(const char *p, const char *end) {
    while (p < end && dr_json_is_space(*p)) {
        p++;
    }
    return p;
}

#ifdef DR_JSON_SSE2
static inline const char *dr_json_plain_end_sse2(const char *p, const char *end) {
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(0x20);
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        /* Signed: bytes from 0x80 are below 0x20 too. */
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash)), _mm_cmplt_epi8(v, space));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask != 0) {
            return p + __builtin_ctz(mask);
        }
        p += 16;
    }
    return dr_json_plain_end_portable(p, end);
}

static inline const char *dr_json_space_end_sse2(const char *p, const char *end) {
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i blank = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\n')));
        __m128i other = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\r')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\t')));
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(blank, other)) ^ 0xFFFFu;
        if (mask != 0) {
            return p + __builtin_ctz(mask);
        }
        p += 16;
    }
    return dr_json_space_end_portable(p, end);
}

#define dr_json_plain_end dr_json_plain_end_sse2
#define dr_json_space_end dr_json_space_end_sse2
#else
#define dr_json_plain_end dr_json_plain_end_portable
#define dr_json_space_end dr_json_space_end_portable
#endif

#endif
