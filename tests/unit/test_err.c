#include "base/err.h"

#include <string.h>

#include "base/utf8.h"
#include "harness/test.h"

TEST(err, fail_sets_code_and_text_and_returns_minus_one) {
    struct dr_err err;
    CHECK_EQ_INT(dr_fail(&err, DR_E_THROTTLED, "ec2 %s: %d", "RunInstances", 503), -1);
    CHECK_EQ_INT(err.code, DR_E_THROTTLED);
    CHECK_EQ_CSTR(err.text, "ec2 RunInstances: 503");
}

TEST(err, null_error_is_allowed) {
    CHECK_EQ_INT(dr_fail(NULL, DR_E_INVALID, "x"), -1);
    CHECK_EQ_INT(dr_wrap(NULL, "x"), -1);
}

TEST(err, own_text_may_be_an_argument) {
    struct dr_err err;
    dr_fail(&err, DR_E_INVALID, "inner");
    dr_fail(&err, DR_E_CORRUPT, "outer: %s", err.text);
    CHECK_EQ_CSTR(err.text, "outer: inner");
    CHECK_EQ_INT(err.code, DR_E_CORRUPT);
}

TEST(err, wrap_puts_context_in_front_and_keeps_the_code) {
    struct dr_err err;
    dr_fail(&err, DR_E_TIMEOUT, "no answer");
    CHECK_EQ_INT(dr_wrap(&err, "node %s", "a"), -1);
    CHECK_EQ_CSTR(err.text, "node a: no answer");
    CHECK_EQ_INT(err.code, DR_E_TIMEOUT);
}

TEST(err, long_text_is_cut_on_a_character) {
    struct dr_err err;
    char text[1000];
    for (size_t lead = 0; lead < 4; lead++) {
        memset(text, 'a', lead);
        for (size_t i = lead; i + 3 < sizeof text; i += 3) {
            memcpy(text + i, "\xE2\x82\xAC", 4);
        }
        dr_fail(&err, DR_E_INVALID, "%s", text);
        size_t n = strlen(err.text);
        CHECK(n <= sizeof err.text - 1 && n > sizeof err.text - 4);
        for (size_t i = 0; i < n;) {
            size_t len = dr_utf8_len(err.text + i, err.text + n);
            CHECK(len > 0);
            i += len;
        }
        dr_wrap(&err, "%s", text);
        CHECK(strlen(err.text) > sizeof err.text - 5);
    }
}

TEST(err, only_calls_that_may_have_arrived_have_an_unknown_outcome) {
    for (int code = DR_OK; code <= DR_E_INTERNAL; code++) {
        bool expected = code == DR_E_THROTTLED || code == DR_E_TIMEOUT || code == DR_E_UNAVAILABLE;
        CHECK_EQ_INT(dr_code_unknown_outcome((enum dr_code)code), expected);
        CHECK(strcmp(dr_code_name((enum dr_code)code), "unknown") != 0);
        for (int other = DR_OK; other < code; other++) {
            CHECK(strcmp(dr_code_name((enum dr_code)code), dr_code_name((enum dr_code)other)) != 0);
        }
    }
    CHECK_EQ_CSTR(dr_code_name((enum dr_code)999), "unknown");
}

static void break_a_promise(void *arg) {
    (void)arg;
    DR_ASSERT(1 + 1 == 3);
}
static void fail_without_an_error(void *arg) {
    (void)arg;
    dr_fail(NULL, DR_OK, "x");
}

TEST(err, assertions_end_the_process) {
    CHECK(dr_test_dies(break_a_promise, NULL));
    CHECK(dr_test_dies(fail_without_an_error, NULL));
}
