#include "base/json.h"

#include "base/decimal.h"
#include "base/json_check.h"
#include "base/json_text.h"

enum { DEFAULT_MAX_BYTES = 1 << 30 };

void dr_json_init(struct dr_json *j, struct dr_str doc, size_t max_bytes) {
    j->start = doc.p == NULL ? "" : doc.p;
    j->p = j->start;
    j->end = j->start + doc.n;
    j->depth = 0;
    j->max_depth = DR_JSON_MAX_DEPTH;
    j->object_bits = 0;
    j->need_value = true;
    j->first = false;
    j->check_duplicates = false;
    j->duplicates_checked = false;
    j->failed.code = DR_OK;
    j->failed.text[0] = '\0';
    max_bytes = max_bytes == 0 ? DEFAULT_MAX_BYTES : max_bytes;
    if (doc.n > max_bytes) {
        dr_fail(&j->failed, DR_E_LIMIT, "JSON: %zu bytes, at most %zu are allowed", doc.n, max_bytes);
    }
}

static int report(const struct dr_json *j, struct dr_err *err) {
    if (err != NULL) {
        *err = j->failed;
    }
    return -1;
}

static const char *type_name(enum dr_json_type type) {
    static const char *const names[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};
    return names[type];
}

/* The type that a first byte announces; false if no value begins so. */
static bool type_of(char c, enum dr_json_type *ret) {
    switch (c) {
    case '{':
        *ret = DR_JSON_OBJECT;
        return true;
    case '[':
        *ret = DR_JSON_ARRAY;
        return true;
    case '"':
        *ret = DR_JSON_STRING;
        return true;
    case 't':
    case 'f':
        *ret = DR_JSON_BOOL;
        return true;
    case 'n':
        *ret = DR_JSON_NULL;
        return true;
    default:
        *ret = DR_JSON_NUMBER;
        return c == '-' || (c >= '0' && c <= '9');
    }
}

/* Moves to the first byte of the value that is due. */
static int to_value(struct dr_json *j, enum dr_json_type *ret, struct dr_err *err) {
    if (__builtin_expect(j->failed.code != DR_OK, 0)) {
        return report(j, err);
    }
    DR_ASSERT(j->need_value);
    if (j->check_duplicates && !j->duplicates_checked) {
        j->duplicates_checked = true;
        if (dr_json_no_duplicates(j, j->p) == NULL) {
            return report(j, err);
        }
    }
    j->p = dr_json_space(j->p, j->end);
    if (j->p == j->end || !type_of(*j->p, ret)) {
        (void)dr_json_unexpected(j, j->p, "a value");
        return report(j, err);
    }
    return 0;
}

static int to_value_of(struct dr_json *j, enum dr_json_type type, struct dr_err *err) {
    enum dr_json_type found = DR_JSON_NULL;
    if (to_value(j, &found, err) < 0) {
        return -1;
    }
    if (found != type) {
        (void)dr_json_fail_at(j, j->p, DR_E_INVALID, "expected %s, found %s", type_name(type), type_name(found));
        return report(j, err);
    }
    return 0;
}

/* Ends a value at `p`, which is NULL where it was not valid. */
static int consumed(struct dr_json *j, const char *p, struct dr_err *err) {
    if (p == NULL) {
        return report(j, err);
    }
    j->p = p;
    j->need_value = false;
    return 0;
}

int dr_json_peek(struct dr_json *j, enum dr_json_type *ret, struct dr_err *err) { return to_value(j, ret, err); }

int dr_json_enter(struct dr_json *j, enum dr_json_type type, struct dr_err *err) {
    DR_ASSERT(type == DR_JSON_OBJECT || type == DR_JSON_ARRAY);
    if (to_value_of(j, type, err) < 0) {
        return -1;
    }
    if (j->depth == j->max_depth) {
        (void)dr_json_fail_at(j, j->p, DR_E_LIMIT, "nested deeper than %u levels", j->max_depth);
        return report(j, err);
    }
    j->depth++;
    j->object_bits = j->object_bits << 1 | (type == DR_JSON_OBJECT);
    j->first = true;
    return consumed(j, j->p + 1, err);
}

static int left(struct dr_json *j, const char *p, struct dr_err *err) {
    j->depth--;
    j->object_bits >>= 1;
    j->first = false;
    return consumed(j, p, err);
}

/* To the next key or element: 1, or 0 where the container ended and was left. */
static int to_next(struct dr_json *j, bool object, struct dr_err *err) {
    if (__builtin_expect(j->failed.code != DR_OK, 0)) {
        return report(j, err);
    }
    DR_ASSERT(j->depth > 0 && ((j->object_bits & 1) != 0) == object);
    if (j->need_value && dr_json_skip(j, err) < 0) {
        return -1;
    }
    const char *p = dr_json_space(j->p, j->end);
    if (p < j->end && *p == (object ? '}' : ']')) {
        return left(j, p + 1, err);
    }
    if (!j->first) {
        if (p == j->end || *p != ',') {
            (void)dr_json_unexpected(j, p, object ? "',' or '}'" : "',' or ']'");
            return report(j, err);
        }
        p = dr_json_space(p + 1, j->end);
    }
    j->first = false;
    j->need_value = true;
    j->p = p;
    return 1;
}

int dr_json_next_key(struct dr_json *j, struct dr_json_key *key, struct dr_err *err) {
    int r = to_next(j, true, err);
    if (r <= 0) {
        return r;
    }
    const char *p = j->p;
    if (p == j->end || *p != '"') {
        (void)dr_json_unexpected(j, p, "a key");
        return report(j, err);
    }
    key->escaped = false;
    const char *close = dr_json_string_body(j, p + 1, &key->escaped);
    if (close == NULL) {
        return report(j, err);
    }
    key->raw = (struct dr_str){p + 1, (size_t)(close - p - 1)};
    p = dr_json_space(close + 1, j->end);
    if (p == j->end || *p != ':') {
        (void)dr_json_unexpected(j, p, "':'");
        return report(j, err);
    }
    j->p = p + 1;
    return 1;
}

int dr_json_next_element(struct dr_json *j, struct dr_err *err) {
    int r = to_next(j, false, err);
    if (r == 1 && (j->p == j->end || *j->p == ']')) {
        (void)dr_json_unexpected(j, j->p, "a value"); /* "[1,]": said here, not when the element is read */
        return report(j, err);
    }
    return r;
}

int dr_json_leave(struct dr_json *j, struct dr_err *err) {
    if (j->failed.code != DR_OK) {
        return report(j, err);
    }
    DR_ASSERT(j->depth > 0);
    if (j->need_value && dr_json_skip(j, err) < 0) {
        return -1;
    }
    const char *p = dr_json_rest_of_container(j, j->p, j->first);
    return p == NULL ? report(j, err) : left(j, p, err);
}

int dr_json_skip(struct dr_json *j, struct dr_err *err) {
    enum dr_json_type type = DR_JSON_NULL;
    return to_value(j, &type, err) < 0 ? -1 : consumed(j, dr_json_value(j, j->p), err);
}

int dr_json_raw(struct dr_json *j, struct dr_str *ret, struct dr_err *err) {
    enum dr_json_type type = DR_JSON_NULL;
    if (to_value(j, &type, err) < 0) {
        return -1;
    }
    const char *from = j->p;
    if (consumed(j, dr_json_value(j, from), err) < 0) {
        return -1;
    }
    *ret = (struct dr_str){from, (size_t)(j->p - from)};
    return 0;
}

int dr_json_bool(struct dr_json *j, bool *ret, struct dr_err *err) {
    if (to_value_of(j, DR_JSON_BOOL, err) < 0) {
        return -1;
    }
    bool value = *j->p == 't';
    if (consumed(j, dr_json_scalar(j, j->p), err) < 0) {
        return -1;
    }
    *ret = value;
    return 0;
}

int dr_json_null(struct dr_json *j, struct dr_err *err) {
    return to_value_of(j, DR_JSON_NULL, err) < 0 ? -1 : consumed(j, dr_json_scalar(j, j->p), err);
}

int dr_json_number(struct dr_json *j, struct dr_str *ret, struct dr_err *err) {
    if (to_value_of(j, DR_JSON_NUMBER, err) < 0) {
        return -1;
    }
    const char *from = j->p;
    if (consumed(j, dr_json_scalar(j, from), err) < 0) {
        return -1;
    }
    *ret = (struct dr_str){from, (size_t)(j->p - from)};
    return 0;
}

static int scaled_number(struct dr_json *j, int power, enum dr_decimal_rest rest, const char *wanted, int64_t *ret, struct dr_err *err) {
    struct dr_str text;
    if (dr_json_number(j, &text, err) < 0) {
        return -1;
    }
    if (!dr_decimal_scale(text, power, rest, ret)) {
        int n = text.n > 40 ? 40 : (int)text.n;
        (void)dr_json_fail_at(j, text.p, DR_E_INVALID, "%.*s is not %s", n, text.p, wanted);
        return report(j, err);
    }
    return 0;
}

int dr_json_i64(struct dr_json *j, int64_t *ret, struct dr_err *err) {
    return scaled_number(j, 0, DR_DECIMAL_EXACT, "a whole number of 64 bits", ret, err);
}

int dr_json_micro(struct dr_json *j, int64_t *ret, struct dr_err *err) {
    return scaled_number(j, 6, DR_DECIMAL_ROUND, "a number whose millionths fit in 64 bits", ret, err);
}

int dr_json_str(struct dr_json *j, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    if (to_value_of(j, DR_JSON_STRING, err) < 0) {
        return -1;
    }
    const char *from = j->p + 1;
    bool escaped = false;
    const char *close = dr_json_string_body(j, from, &escaped);
    if (close == NULL) {
        return report(j, err);
    }
    struct dr_str raw = {from, (size_t)(close - from)};
    if (!escaped) {
        *ret = raw;
        return consumed(j, close + 1, err);
    }
    DR_ASSERT(arena != NULL);
    char *text = dr_arena_try(arena, raw.n + 1, 1);
    if (text == NULL) {
        (void)dr_json_fail_at(j, from, DR_E_LIMIT, "no room for a string of %zu bytes", raw.n);
        return report(j, err);
    }
    *ret = (struct dr_str){text, dr_json_decode(raw, text)};
    return consumed(j, close + 1, err);
}

int dr_json_end(struct dr_json *j, struct dr_err *err) {
    if (j->failed.code != DR_OK) {
        return report(j, err);
    }
    DR_ASSERT(j->depth == 0);
    if (j->need_value && dr_json_skip(j, err) < 0) {
        return -1;
    }
    j->p = dr_json_space(j->p, j->end);
    if (j->p != j->end) {
        (void)dr_json_unexpected(j, j->p, "the end");
        return report(j, err);
    }
    return 0;
}

bool dr_json_key_is(const struct dr_json_key *key, const char *name) {
    struct dr_json_key other = {.raw = dr_str_of(name)};
    return dr_json_keys_equal(key, &other);
}

struct dr_str dr_json_key_str(const struct dr_json_key *key, struct dr_arena *arena) {
    if (!key->escaped) {
        return key->raw;
    }
    DR_ASSERT(arena != NULL);
    char *text = dr_arena_alloc(arena, key->raw.n + 1, 1);
    return (struct dr_str){text, dr_json_decode(key->raw, text)};
}
