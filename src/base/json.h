#ifndef DR_BASE_JSON_H
#define DR_BASE_JSON_H

/*
 * JSON pull reader over a complete buffer, RFC 8259 exactly. It never allocates and never changes the buffer; strings come as raw views and are decoded into a
 * caller's arena only when asked for. Numbers stay text until asked for as int64 or millionths. Depth and size have ceilings. Errors carry byte offset and what was expected.
 *
 * The usual walk:
 *     dr_json_init(&j, doc, 0);
 *     if (dr_json_enter(&j, DR_JSON_OBJECT, err) < 0) return -1;
 *     struct dr_json_key key;
 *     while ((r = dr_json_next_key(&j, &key, err)) > 0) {
 *         if (dr_json_key_is(&key, "items")) { ... consume the value ... }
 *         else if (dr_json_skip(&j, err) < 0) return -1;
 *     }
 * A value must be consumed (entered, read or skipped) before the next key or element is asked for; dr_json_next_* skips an unread value itself.
 * Errors are sticky: after the first one every call returns -1 with it. A wrong type is an error like any other; peek first where several are allowed.
 * Asking for a value when none is due, or for a key outside of an object, is our own mistake and asserts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum dr_json_type { DR_JSON_NULL, DR_JSON_BOOL, DR_JSON_NUMBER, DR_JSON_STRING, DR_JSON_ARRAY, DR_JSON_OBJECT };

#define DR_JSON_MAX_DEPTH 64

struct dr_json {
    const char *start;
    const char *p;
    const char *end;
    unsigned depth;
    unsigned max_depth;
    uint64_t object_bits; /* bit per level, innermost lowest: 1 = object */
    bool need_value;      /* a value is due: the document's, that of a key handed out, or an element */
    bool first;           /* nothing read yet at this level */
    bool check_duplicates;
    bool duplicates_checked;
    struct dr_err failed; /* sticky */
};

struct dr_json_key {
    struct dr_str raw; /* between the quotes, escapes still in it */
    bool escaped;
};

/* `max_bytes` 0 = 1 GiB. A larger document fails at the first call. Set `check_duplicates` afterwards (state and configuration readers do) to have a key that
 * occurs twice in an object, anywhere in the document, reported by the first call; it costs a second pass over the document. */
void dr_json_init(struct dr_json *j, struct dr_str doc, size_t max_bytes);

/* Type of the value that is due, without consuming it. -1 on error. */
int dr_json_peek(struct dr_json *j, enum dr_json_type *ret, struct dr_err *err);

/* Consumes '{' or '['. DR_E_INVALID with both types named if it is something else. */
int dr_json_enter(struct dr_json *j, enum dr_json_type type, struct dr_err *err);
/* 1 = a key was read, 0 = the object ended (and is left), -1 = error. */
int dr_json_next_key(struct dr_json *j, struct dr_json_key *key, struct dr_err *err);
/* 1 = an element is due, 0 = the array ended (and is left), -1 = error. */
int dr_json_next_element(struct dr_json *j, struct dr_err *err);
/* Leaves the innermost object or array, whatever is left in it. */
int dr_json_leave(struct dr_json *j, struct dr_err *err);

int dr_json_skip(struct dr_json *j, struct dr_err *err);                    /* one value of any kind, checked like the rest */
int dr_json_raw(struct dr_json *j, struct dr_str *ret, struct dr_err *err); /* one value, as it stands in the document */
int dr_json_bool(struct dr_json *j, bool *ret, struct dr_err *err);
int dr_json_null(struct dr_json *j, struct dr_err *err);
int dr_json_i64(struct dr_json *j, int64_t *ret, struct dr_err *err);   /* must be whole and fit: 1e3 is 1000, 2.0 is 2, 1.5 is an error */
int dr_json_micro(struct dr_json *j, int64_t *ret, struct dr_err *err); /* millionths */
int dr_json_number(struct dr_json *j, struct dr_str *ret, struct dr_err *err); /* the text */
/* Decoded string: a view into the document where it has no escapes, else a copy in the arena (which may then not be NULL). It may hold NUL bytes. */
int dr_json_str(struct dr_json *j, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err);
/* After the last value: only white space may follow. */
int dr_json_end(struct dr_json *j, struct dr_err *err);

bool dr_json_key_is(const struct dr_json_key *key, const char *name); /* compares the decoded key */
/* Decoded key as a string, as dr_json_str does. */
struct dr_str dr_json_key_str(const struct dr_json_key *key, struct dr_arena *arena);

#endif
