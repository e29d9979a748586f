#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Formats first and copies then, because callers pass the old text of the same error as an argument. */
static void set_text(struct dr_err *err, const char *text, size_t n) {
    if (n > sizeof err->text - 1) {
        n = dr_utf8_cut(text, sizeof err->text - 1);
    }
    memcpy(err->text, text, n);
    err->text[n] = '\0';
}

int dr_fail(struct dr_err *err, enum dr_code code, const char *fmt, ...) {
    DR_ASSERT(code != DR_OK);
    if (err != NULL) {
        char text[1024];
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(text, sizeof text, fmt, args);
        va_end(args);
        err->code = code;
        set_text(err, text, strlen(text));
    }
    return -1;
}

int dr_wrap(struct dr_err *err, const char *fmt, ...) {
    if (err != NULL) {
        char text[1024 + sizeof err->text];
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(text, 1024, fmt, args);
        va_end(args);
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n, ": %s", err->text);
        set_text(err, text, strlen(text));
    }
    return -1;
}

bool dr_code_unknown_outcome(enum dr_code code) { return code == DR_E_THROTTLED || code == DR_E_TIMEOUT || code == DR_E_UNAVAILABLE; }

const char *dr_code_name(enum dr_code code) {
    switch (code) {
    case DR_OK:
        return "ok";
    case DR_E_INVALID:
        return "invalid";
    case DR_E_LIMIT:
        return "limit";
    case DR_E_NOT_FOUND:
        return "not_found";
    case DR_E_CONFLICT:
        return "conflict";
    case DR_E_DENIED:
        return "denied";
    case DR_E_CAPACITY:
        return "capacity";
    case DR_E_QUOTA:
        return "quota";
    case DR_E_PROTECTED:
        return "protected";
    case DR_E_THROTTLED:
        return "throttled";
    case DR_E_TIMEOUT:
        return "timeout";
    case DR_E_UNAVAILABLE:
        return "unavailable";
    case DR_E_CORRUPT:
        return "corrupt";
    case DR_E_INTERNAL:
        return "internal";
    }
    return "unknown";
}

_Noreturn void dr_assert_failed(const char *cond, const char *file, int line) {
    (void)fprintf(stderr, "drover: %s:%d: assertion failed: %s\n", file, line, cond);
    abort();
}
