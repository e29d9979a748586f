/* The builder half of str.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"

enum { DEFAULT_MAX_BYTES = 64 << 20, FIRST_BYTES = 256 };

void dr_buf_init(struct dr_buf *buf, size_t max) { *buf = (struct dr_buf){.max = max == 0 ? DEFAULT_MAX_BYTES : max}; }

void dr_buf_deinit(struct dr_buf *buf) {
    free(buf->p);
    *buf = (struct dr_buf){.max = buf->max};
}

void dr_buf_clear(struct dr_buf *buf) {
    buf->n = 0;
    buf->truncated = false;
    if (buf->p != NULL) {
        buf->p[0] = '\0';
    }
}

/* Room for `n` more bytes and the NUL; n fits under the ceiling. */
static void reserve(struct dr_buf *buf, size_t n) {
    size_t need = buf->n + n + 1;
    if (need <= buf->cap) {
        return;
    }
    size_t cap = buf->cap < FIRST_BYTES ? FIRST_BYTES : buf->cap * 2;
    cap = cap < need ? need : cap;
    char *p = realloc(buf->p, cap);
    if (p == NULL) {
        (void)fprintf(stderr, "drover: builder: no memory for %zu bytes\n", cap);
        DR_ASSERT(p != NULL);
    }
    buf->p = p;
    buf->cap = cap;
}

static void append(struct dr_buf *buf, const char *p, size_t n) {
    reserve(buf, n);
    if (n > 0) {
        memcpy(buf->p + buf->n, p, n);
        buf->n += n;
    }
    buf->p[buf->n] = '\0';
}

/* Takes what fits, in whole characters, and nothing after that. */
static void append_cut(struct dr_buf *buf, const char *p) {
    append(buf, p, buf->max - buf->n);
    buf->n = dr_utf8_cut(buf->p, buf->n);
    buf->p[buf->n] = '\0';
    buf->truncated = true;
}

void dr_buf_put(struct dr_buf *buf, const char *p, size_t n) {
    DR_ASSERT(buf->max > 0);
    if (buf->truncated) {
        return;
    }
    if (n > buf->max - buf->n) {
        append_cut(buf, p);
        return;
    }
    append(buf, p, n);
}

void dr_buf_puts(struct dr_buf *buf, const char *cstr) { dr_buf_put(buf, cstr, strlen(cstr)); }

void dr_buf_putc(struct dr_buf *buf, char c) {
    if (!buf->truncated && buf->n < buf->max && buf->n + 1 < buf->cap) {
        buf->p[buf->n++] = c;
        buf->p[buf->n] = '\0';
        return;
    }
    dr_buf_put(buf, &c, 1);
}

void dr_buf_put_str(struct dr_buf *buf, struct dr_str s) { dr_buf_put(buf, s.p, s.n); }

/* Digits of v, right aligned in `end`; returns the first. */
static char *format_u64(char *end, uint64_t v) {
    do {
        *--end = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    return end;
}

void dr_buf_put_i64(struct dr_buf *buf, int64_t v) {
    char text[24];
    char *end = text + sizeof text;
    char *p = format_u64(end, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
    if (v < 0) {
        *--p = '-';
    }
    dr_buf_put(buf, p, (size_t)(end - p));
}

void dr_buf_put_micro(struct dr_buf *buf, int64_t micro) {
    uint64_t magnitude = micro < 0 ? 0 - (uint64_t)micro : (uint64_t)micro;
    char text[32];
    char *end = text + sizeof text;
    uint64_t fraction = magnitude % 1000000;
    char *p = end;
    if (fraction != 0) {
        /* A leading one keeps the zeros of the fraction; it becomes the point. */
        p = format_u64(end, fraction + 1000000);
        *p = '.';
        while (end[-1] == '0') {
            end--;
        }
    }
    p = format_u64(p, magnitude / 1000000);
    if (micro < 0) {
        *--p = '-';
    }
    dr_buf_put(buf, p, (size_t)(end - p));
}

void dr_buf_fmt(struct dr_buf *buf, const char *fmt, ...) {
    char small[512];
    va_list args;
    va_list again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    DR_ASSERT(n >= 0);
    if ((size_t)n < sizeof small) {
        dr_buf_put(buf, small, (size_t)n);
    } else {
        char *large = malloc((size_t)n + 1);
        DR_ASSERT(large != NULL);
        (void)vsnprintf(large, (size_t)n + 1, fmt, again);
        dr_buf_put(buf, large, (size_t)n);
        free(large);
    }
    va_end(again);
}

struct dr_str dr_buf_str(const struct dr_buf *buf) {
    return (struct dr_str){buf->p, buf->n};
}
