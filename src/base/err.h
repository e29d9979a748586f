#ifndef DR_BASE_ERR_H
#define DR_BASE_ERR_H

/* Errors: a code that callers act on and a text that people read. The caller owns the object; there is no heap in it. */

#include <stdbool.h>
#include <stddef.h>

/* Retry and fall-back look at the code, never at the text. */
enum dr_code {
    DR_OK = 0,
    DR_E_INVALID,     /* input from outside is wrong: which field, which value, what is allowed is in the text */
    DR_E_LIMIT,       /* a ceiling of ours was reached */
    DR_E_NOT_FOUND,   /* the thing is not there */
    DR_E_CONFLICT,    /* it changed since it was read */
    DR_E_DENIED,      /* not allowed */
    DR_E_CAPACITY,    /* the cloud is out of this type, zone or market */
    DR_E_QUOTA,       /* an account limit */
    DR_E_PROTECTED,   /* termination protection */
    DR_E_THROTTLED,   /* asked too often: outcome unknown for an effect */
    DR_E_TIMEOUT,     /* no answer in time: outcome unknown for an effect */
    DR_E_UNAVAILABLE, /* connection lost or 5xx: outcome unknown for an effect */
    DR_E_CORRUPT,     /* stored data is not what we wrote */
    DR_E_INTERNAL,    /* our own mistake, or the system refused something basic */
};

struct dr_err {
    enum dr_code code;
    char text[384];
};

/* Fills `err` (may be NULL) and returns -1, so that a function can end with `return dr_fail(...)`. The text is cut at the buffer, on a character. */
__attribute__((format(printf, 3, 4))) int dr_fail(struct dr_err *err, enum dr_code code, const char *fmt, ...);

/* Puts "context: " before the text already there, keeps the code, returns -1. */
__attribute__((format(printf, 2, 3))) int dr_wrap(struct dr_err *err, const char *fmt, ...);

/* True if an effect that ended with this code may have happened all the same. */
bool dr_code_unknown_outcome(enum dr_code code);

/* "throttled", "timeout", ...; never NULL. */
const char *dr_code_name(enum dr_code code);

/* Our own mistakes end the process at once, in every build. Never used on data from outside. */
#define DR_ASSERT(cond) ((cond) ? (void)0 : dr_assert_failed(#cond, __FILE__, __LINE__))
_Noreturn void dr_assert_failed(const char *cond, const char *file, int line);

#endif
