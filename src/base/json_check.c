#include "base/json_check.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/json_text.h"
#include "base/utf8.h"

const char *dr_json_fail_at(struct dr_json *j, const char *p, enum dr_code code, const char *fmt, ...) {
    char what[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    dr_fail(&j->failed, code, "JSON, byte %zu: %s", (size_t)(p - j->start), what);
    return NULL;
}

const char *dr_json_unexpected(struct dr_json *j, const char *p, const char *expected) {
    if (p >= j->end) {
        return dr_json_fail_at(j, j->end, DR_E_INVALID, "expected %s, found the end", expected);
    }
    unsigned char c = (unsigned char)*p;
    if (c > ' ' && c < 0x7F) {
        return dr_json_fail_at(j, p, DR_E_INVALID, "expected %s, found '%c'", expected, c);
    }
    return dr_json_fail_at(j, p, DR_E_INVALID, "expected %s, found byte 0x%02x", expected, c);
}

const char *dr_json_string_rest(struct dr_json *j, const char *p, bool *escaped) {
    const char *end = j->end;
    for (;;) {
        p = dr_json_plain_end(p, end);
        if (p == end) {
            return dr_json_fail_at(j, p, DR_E_INVALID, "expected '\"', found the end inside a string");
        }
        unsigned char c = (unsigned char)*p;
        if (c == '"') {
            return p;
        }
        size_t len = 0;
        if (c == '\\') {
            *escaped = true;
            len = dr_json_escape_len(p, end);
            if (len == 0) {
                return dr_json_fail_at(j, p, DR_E_INVALID, "invalid escape or half of a surrogate pair");
            }
        } else if (c < 0x20) {
            return dr_json_fail_at(j, p, DR_E_INVALID, "control character 0x%02x inside a string", c);
        } else {
            len = dr_utf8_len(p, end);
            if (len == 0) {
                return dr_json_fail_at(j, p, DR_E_INVALID, "invalid UTF-8 byte 0x%02x", c);
            }
        }
        p += len;
    }
}

static const char *digits(const char *p, const char *end) {
    while (p < end && (unsigned char)(*p - '0') <= 9) {
        p++;
    }
    return p;
}

static const char *number(struct dr_json *j, const char *p) {
    const char *end = j->end;
    p += p < end && *p == '-';
    const char *q = digits(p, end);
    if (q == p) {
        return dr_json_unexpected(j, p, "a digit");
    }
    if (*p == '0' && q - p > 1) {
        return dr_json_fail_at(j, p, DR_E_INVALID, "a number with a leading zero");
    }
    p = q;
    if (p < end && *p == '.') {
        q = digits(p + 1, end);
        if (q == p + 1) {
            return dr_json_unexpected(j, q, "a digit behind the point");
        }
        p = q;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        p += p < end && (*p == '+' || *p == '-');
        q = digits(p, end);
        if (q == p) {
            return dr_json_unexpected(j, q, "a digit of the exponent");
        }
        p = q;
    }
    return p;
}

static const char *literal(struct dr_json *j, const char *p, const char *word, size_t n) {
    if ((size_t)(j->end - p) < n || memcmp(p, word, n) != 0) {
        return dr_json_unexpected(j, p, "a value");
    }
    return p + n;
}

const char *dr_json_scalar(struct dr_json *j, const char *p) {
    switch (*p) {
    case 't':
        return literal(j, p, "true", 4);
    case 'f':
        return literal(j, p, "false", 5);
    case 'n':
        return literal(j, p, "null", 4);
    default:
        return *p == '-' || (*p >= '0' && *p <= '9') ? number(j, p) : dr_json_unexpected(j, p, "a value");
    }
}

/* Takes a key and its colon. */
static inline const char *key_and_colon(struct dr_json *j, const char *p, struct dr_json_key *ret) {
    if (p == j->end || *p != '"') {
        return dr_json_unexpected(j, p, "a key");
    }
    ret->escaped = false;
    const char *close = dr_json_string_body(j, p + 1, &ret->escaped);
    if (close == NULL) {
        return NULL;
    }
    ret->raw = (struct dr_str){p + 1, (size_t)(close - p - 1)};
    p = dr_json_space(close + 1, j->end);
    if (p == j->end || *p != ':') {
        return dr_json_unexpected(j, p, "':'");
    }
    return p + 1;
}

enum place { AT_VALUE, AT_FIRST, AFTER_VALUE };

/*
 * The one loop over nested values, without recursion: `bits` has one bit per open level. It stops when the level `base` is reached again.
 *
 *            '{' or '[' -> first --(end)-----+
 *              ^             |               v
 *    value ----+             +-> [key ':'] value -> after --(',')--> [key ':'] value ...
 *              +-- string, number, word ----------^   +---(end)--> after, one level up
 */
static const char *walk(struct dr_json *j, const char *p, enum place place, unsigned depth, uint64_t bits, unsigned base) {
    const char *end = j->end;
    struct dr_json_key key;
    for (;;) {
        if (place != AFTER_VALUE) {
            p = dr_json_space(p, end);
            if (p == end) {
                return dr_json_unexpected(j, p, "a value");
            }
        }
        if (place == AT_FIRST) {
            if (*p == ((bits & 1) != 0 ? '}' : ']')) {
                place = AFTER_VALUE;
                continue; /* closed below */
            }
            if ((bits & 1) != 0 && (p = key_and_colon(j, p, &key)) == NULL) {
                return NULL;
            }
            place = AT_VALUE;
            continue;
        }
        if (place == AT_VALUE) {
            if (*p == '"') {
                bool escaped = false;
                p = dr_json_string_body(j, p + 1, &escaped);
                if (p == NULL) {
                    return NULL;
                }
                p++;
            } else if (*p == '{' || *p == '[') {
                if (depth == j->max_depth) {
                    return dr_json_fail_at(j, p, DR_E_LIMIT, "nested deeper than %u levels", j->max_depth);
                }
                bits = bits << 1 | (*p == '{');
                depth++;
                p++;
                place = AT_FIRST;
                continue;
            } else if ((p = dr_json_scalar(j, p)) == NULL) {
                return NULL;
            }
        }
        /* Behind a value: as many ends as there are, then a comma. */
        for (;;) {
            if (depth == base) {
                return p;
            }
            p = dr_json_space(p, end);
            char close = (bits & 1) != 0 ? '}' : ']';
            if (p == end || *p != close) {
                break;
            }
            p++;
            depth--;
            bits >>= 1;
        }
        if (p == end || *p != ',') {
            return dr_json_unexpected(j, p, (bits & 1) != 0 ? "',' or '}'" : "',' or ']'");
        }
        p = dr_json_space(p + 1, end);
        if ((bits & 1) != 0 && (p = key_and_colon(j, p, &key)) == NULL) {
            return NULL;
        }
        place = AT_VALUE;
    }
}

const char *dr_json_value(struct dr_json *j, const char *p) { return walk(j, p, AT_VALUE, j->depth, j->object_bits, j->depth); }

const char *dr_json_rest_of_container(struct dr_json *j, const char *p, bool first) {
    return walk(j, p, first ? AT_FIRST : AFTER_VALUE, j->depth, j->object_bits, j->depth - 1);
}

/*
 * Keys are compared in rounds of KEYS_AT_ONCE, each round against all that follow, so that an object of any size is checked without memory of its own. Only the
 * first round looks into the values. `p` is behind the '{' of an object that is known to be well formed.
 */
enum { KEYS_AT_ONCE = 64 };

static const char *check_values_in(struct dr_json *j, const char *p);

static const char *check_round(struct dr_json *j, const char *p, size_t skip_n, bool *more) {
    struct dr_json_key kept[KEYS_AT_ONCE];
    size_t kept_n = 0;
    *more = false;
    p = dr_json_space(p, j->end);
    for (size_t i = 0; *p != '}'; i++) {
        struct dr_json_key key = {.escaped = false};
        const char *at = p;
        p = key_and_colon(j, p, &key);
        DR_ASSERT(p != NULL); /* the document was walked before */
        for (size_t k = 0; k < kept_n; k++) {
            if (dr_json_keys_equal(&kept[k], &key)) {
                int n = key.raw.n > 80 ? 80 : (int)key.raw.n;
                return dr_json_fail_at(j, at, DR_E_INVALID, "key \"%.*s\" occurs twice in one object", n, key.raw.p);
            }
        }
        if (i >= skip_n && kept_n < KEYS_AT_ONCE) {
            kept[kept_n++] = key;
        } else if (i >= skip_n) {
            *more = true;
        }
        p = skip_n == 0 ? check_values_in(j, p) : dr_json_value(j, p);
        if (p == NULL) {
            return NULL;
        }
        p = dr_json_space(p, j->end);
        p = *p == ',' ? dr_json_space(p + 1, j->end) : p;
    }
    return p + 1;
}

static const char *check_object(struct dr_json *j, const char *p) {
    bool more = true;
    const char *behind = p;
    for (size_t skip_n = 0; more; skip_n += KEYS_AT_ONCE) {
        behind = check_round(j, p, skip_n, &more);
        if (behind == NULL) {
            return NULL;
        }
    }
    return behind;
}

/* Recursion is bounded: the document was walked before, with its ceiling on depth. */
static const char *check_values_in(struct dr_json *j, const char *p) {
    p = dr_json_space(p, j->end);
    if (*p == '{') {
        return check_object(j, p + 1);
    }
    if (*p != '[') {
        return dr_json_value(j, p);
    }
    p = dr_json_space(p + 1, j->end);
    while (*p != ']') {
        p = check_values_in(j, p);
        if (p == NULL) {
            return NULL;
        }
        p = dr_json_space(p, j->end);
        p = *p == ',' ? dr_json_space(p + 1, j->end) : p;
    }
    return p + 1;
}

const char *dr_json_no_duplicates(struct dr_json *j, const char *p) { return dr_json_value(j, p) == NULL ? NULL : check_values_in(j, p); }
