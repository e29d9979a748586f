#ifndef DR_BASE_STR_H
#define DR_BASE_STR_H

/* Strings as pointer and length by value, and builders with a ceiling. A view never owns. */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct dr_str {
    const char *p;
    size_t n;
};

#define DR_STR(lit) ((struct dr_str){(lit), sizeof(lit) - 1})
#define DR_STR_NONE ((struct dr_str){NULL, 0})
/* For printf: printf("%.*s", DR_FMT(s)). Cuts at INT_MAX. */
#define DR_FMT(s) (int)((s).n), (s).p == NULL ? "" : (s).p

struct dr_str dr_str_of(const char *cstr); /* NULL gives the empty view */
bool dr_str_eq(struct dr_str a, struct dr_str b);
bool dr_str_is(struct dr_str a, const char *cstr);
int dr_str_cmp(struct dr_str a, struct dr_str b); /* bytewise total order, shorter first */
bool dr_str_starts(struct dr_str s, const char *prefix);
bool dr_str_ends(struct dr_str s, const char *suffix);
struct dr_str dr_str_sub(struct dr_str s, size_t from, size_t to); /* clamped to the view */
/* Index of the first `c`, or s.n. */
size_t dr_str_find(struct dr_str s, char c);
struct dr_str dr_str_trim(struct dr_str s); /* ASCII white space */
uint64_t dr_str_hash(struct dr_str s);      /* the same in every build (FNV-1a, 64 bit) */

/* Copies into the arena, with a NUL behind that the length does not count. */
struct dr_str dr_str_dup(struct dr_arena *arena, struct dr_str s);
__attribute__((format(printf, 2, 3))) struct dr_str dr_str_fmt(struct dr_arena *arena, const char *fmt, ...);

/* Whole view as a number, with an optional sign (+ or -); false on anything else (empty, sign alone, overflow, trailing bytes). */
bool dr_str_to_i64(struct dr_str s, int64_t *ret);
/* Decimal text ("0.75", "-3", "1e3" too) as millionths, rounded to nearest, ties away from zero; false on anything else or outside int64. "NaN" and "Inf" are false. */
bool dr_str_to_micro(struct dr_str s, int64_t *ret_micro);

/* Edit distance (Levenshtein) for "did you mean", capped: returns `cap` + 1 when larger. Texts past 127 bytes are equal or too far. */
unsigned dr_str_distance(struct dr_str a, struct dr_str b, unsigned cap);

struct dr_strs {
    const struct dr_str *v;
    size_t n;
};
bool dr_strs_has(struct dr_strs list, struct dr_str s);

/*
 * Builder: grows on the heap up to `max`, then `truncated` is set and further bytes are dropped (whole UTF-8 characters). Always NUL-terminated
 * once something was written.
 */
struct dr_buf {
    char *p;
    size_t n;
    size_t cap;
    size_t max;
    bool truncated;
};

/* `max` counts bytes without the NUL; 0 = 64 MiB. */
void dr_buf_init(struct dr_buf *buf, size_t max);
void dr_buf_deinit(struct dr_buf *buf);
void dr_buf_clear(struct dr_buf *buf);
void dr_buf_put(struct dr_buf *buf, const char *p, size_t n);
void dr_buf_puts(struct dr_buf *buf, const char *cstr);
void dr_buf_putc(struct dr_buf *buf, char c);
void dr_buf_put_str(struct dr_buf *buf, struct dr_str s);
void dr_buf_put_i64(struct dr_buf *buf, int64_t v);
/* Millionths as the shortest decimal text: 700000 -> 0.7, -1500000 -> -1.5. */
void dr_buf_put_micro(struct dr_buf *buf, int64_t micro);
__attribute__((format(printf, 2, 3))) void dr_buf_fmt(struct dr_buf *buf, const char *fmt, ...);
struct dr_str dr_buf_str(const struct dr_buf *buf);

#endif
