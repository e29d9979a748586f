#ifndef DR_TEST_FUZZ_H
#define DR_TEST_FUZZ_H

/*
 * A fuzz target is one file tests/fuzz/fuzz_<name>.c with
 *
 *     DR_FUZZ(json) { use data and n; DR_ASSERT what must hold }
 *
 * Built with clang by `make fuzz` it is a libFuzzer program; in the test program it replays tests/fuzz/corpus/<name> and seeded mutations of it.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#ifdef DR_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
#define DR_FUZZ(name_)                                                                                                                     \
    static void dr_fuzz_##name_(const uint8_t *data, size_t n);                                                                            \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {                                                                            \
        dr_fuzz_##name_(data, n);                                                                                                          \
        return 0;                                                                                                                          \
    }                                                                                                                                      \
    static void dr_fuzz_##name_(const uint8_t *data, size_t n)
#else
#include "harness/test.h"
#define DR_FUZZ(name_)                                                                                                                     \
    static void dr_fuzz_##name_(const uint8_t *data, size_t n);                                                                            \
    TEST(fuzz, name_) { dr_fuzz_replay(#name_, dr_fuzz_##name_); }                                                                         \
    static void dr_fuzz_##name_(const uint8_t *data, size_t n)
void dr_fuzz_replay(const char *name, void (*target)(const uint8_t *data, size_t n));
#endif

#endif
