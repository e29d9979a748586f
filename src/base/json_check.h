#ifndef DR_BASE_JSON_CHECK_H
#define DR_BASE_JSON_CHECK_H

/* The checking walk under the JSON reader: moves over values without handing anything out. Every function returns the place behind what it took, or NULL after
 * setting j->failed. Used by the reader only. */

#include "base/json.h"
#include "base/json_scan.h"

/* Sets the sticky error, with the byte offset of `p`, and returns NULL. */
__attribute__((format(printf, 4, 5), cold)) const char *dr_json_fail_at(struct dr_json *j, const char *p, enum dr_code code,
                                                                        const char *fmt, ...);
/* "expected X, found Y" */
__attribute__((cold)) const char *dr_json_unexpected(struct dr_json *j, const char *p, const char *expected);

static inline const char *dr_json_space(const char *p, const char *end) {
    if (p < end && (unsigned char)*p > ' ') {
        return p; /* the usual case of machine-made documents */
    }
    return dr_json_space_end(p, end);
}

/* The rest of a string that holds escapes or characters past ASCII, from `p` on. Sets *escaped where there is an escape. */
const char *dr_json_string_rest(struct dr_json *j, const char *p, bool *escaped);

/* `p` is behind the opening quote; returns the place of the closing one. */
static inline const char *dr_json_string_body(struct dr_json *j, const char *p, bool *escaped) {
    const char *q = dr_json_plain_end(p, j->end);
    if (__builtin_expect(q < j->end && *q == '"', 1)) {
        return q;
    }
    return dr_json_string_rest(j, q, escaped);
}

/* A number, true, false or null at `p`. */
const char *dr_json_scalar(struct dr_json *j, const char *p);

/* One whole value at `p`, white space in front allowed. */
const char *dr_json_value(struct dr_json *j, const char *p);

/* From inside the innermost container to behind its end; `first` = nothing of it was read yet. */
const char *dr_json_rest_of_container(struct dr_json *j, const char *p, bool first);

/* Fails where an object in the value at `p` has a key twice. */
const char *dr_json_no_duplicates(struct dr_json *j, const char *p);

#endif
