#ifndef DR_TEST_H
#define DR_TEST_H

/*
 * Test harness. A test is written as
 *
 *     TEST(cooldown, recent_scale_up_blocks_scale_down) { CHECK(...); }
 *
 * in any file under tests/unit or tests/contract; it registers itself. Each test runs in a process of its own, so it may end by abort, leak into no other
 * test and be stopped after a time limit. The first failed check ends its test.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

struct dr_test {
    const char *suite;
    const char *name;
    const char *file;
    int line;
    void (*run)(void);
    unsigned timeout_s; /* 0 = the default of the runner */
    struct dr_test *next;
};

void dr_test_register(struct dr_test *test);

/* The seed of this run: random unless --seed was given, and printed, so that a failure can be repeated. */
uint64_t dr_test_seed(void);

/* A path inside the source tree ("tests/scenarios/x.yaml"); the text lives as long as the process. */
const char *dr_test_path(const char *relative);

/* The built program, or NULL where it is not part of the build. */
const char *dr_test_program(void);

/* A new empty folder, removed when the test ends; the text lives as long as the process. */
const char *dr_test_tmpdir(void);

/* A whole file in heap memory with a NUL behind; fails the test when it cannot be read. The caller frees it. */
char *dr_test_read_file(const char *path, size_t *ret_n);

__attribute__((format(printf, 3, 4))) _Noreturn void dr_test_fail(const char *file, int line, const char *fmt, ...);

/* Runs `fn` in a child; true if the child ended by a signal or with a status other than 0, as DR_ASSERT does. Its output is dropped. */
bool dr_test_dies(void (*fn)(void *), void *arg);

#define TEST_TIMEOUT(suite_, name_, seconds_)                                                                                              \
    static void dr_test_run_##suite_##_##name_(void);                                                                                      \
    static struct dr_test dr_test_##suite_##_##name_ = {#suite_,    #name_, __FILE__, __LINE__, dr_test_run_##suite_##_##name_,            \
                                                        (seconds_), NULL};                                                                 \
    __attribute__((constructor)) static void dr_test_add_##suite_##_##name_(void) { dr_test_register(&dr_test_##suite_##_##name_); }       \
    static void dr_test_run_##suite_##_##name_(void)
#define TEST(suite_, name_) TEST_TIMEOUT(suite_, name_, 0)

#define FAIL(...) dr_test_fail(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(cond) ((cond) ? (void)0 : FAIL("%s", #cond))

/* Signed or unsigned integers of any width that fit in int64_t. */
#define CHECK_EQ_INT(actual, expected) dr_test_eq_int(__FILE__, __LINE__, #actual, (int64_t)(actual), (int64_t)(expected))
#define CHECK_EQ_U64(actual, expected) dr_test_eq_u64(__FILE__, __LINE__, #actual, (actual), (expected))
/* A struct dr_str against a C string. */
#define CHECK_EQ_STR(actual, expected) dr_test_eq_str(__FILE__, __LINE__, #actual, (actual), (expected))
#define CHECK_EQ_CSTR(actual, expected) dr_test_eq_cstr(__FILE__, __LINE__, #actual, (actual), (expected))
/* The text is somewhere in the view. */
#define CHECK_CONTAINS(actual, needle) dr_test_contains(__FILE__, __LINE__, #actual, (actual), (needle))

/* `expr` must not be negative; `err` (struct or pointer) says why it was. */
#define CHECK_OK(expr, err)                                                                                                                \
    do {                                                                                                                                   \
        int64_t dr_test_r = (int64_t)(expr);                                                                                               \
        dr_test_ok(__FILE__, __LINE__, #expr, dr_test_r, DR_TEST_ERR(err));                                                                \
    } while (0)
/* `expr` must be negative and the error must carry `code_`. */
#define CHECK_FAILS(expr, err, code_)                                                                                                      \
    do {                                                                                                                                   \
        int64_t dr_test_r = (int64_t)(expr);                                                                                               \
        dr_test_fails(__FILE__, __LINE__, #expr, dr_test_r, DR_TEST_ERR(err), (code_));                                                    \
    } while (0)

#define DR_TEST_ERR(e)                                                                                                                     \
    _Generic((e), struct dr_err * : dr_test_err_of_ptr, const struct dr_err * : dr_test_err_of_ptr, struct dr_err : dr_test_err_of_value)(e)
const struct dr_err *dr_test_err_of_ptr(const struct dr_err *err);
const struct dr_err *dr_test_err_of_value(struct dr_err err);

void dr_test_eq_int(const char *file, int line, const char *what, int64_t actual, int64_t expected);
void dr_test_eq_u64(const char *file, int line, const char *what, uint64_t actual, uint64_t expected);
void dr_test_eq_str(const char *file, int line, const char *what, struct dr_str actual, const char *expected);
void dr_test_eq_cstr(const char *file, int line, const char *what, const char *actual, const char *expected);
void dr_test_contains(const char *file, int line, const char *what, struct dr_str actual, const char *needle);
void dr_test_ok(const char *file, int line, const char *what, int64_t result, const struct dr_err *err);
void dr_test_fails(const char *file, int line, const char *what, int64_t result, const struct dr_err *err, enum dr_code code);

#endif
