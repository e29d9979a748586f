/* The harness tests itself: a check that cannot fail would make every other test worthless. */
#include "harness/test.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void check_false(void *arg) {
    (void)arg;
    CHECK(1 == 2);
}
static void check_int(void *arg) {
    (void)arg;
    CHECK_EQ_INT(1, 2);
}
static void check_str(void *arg) {
    (void)arg;
    CHECK_EQ_STR(DR_STR("abc"), "abd");
}
static void check_short_str(void *arg) {
    (void)arg;
    CHECK_EQ_STR(DR_STR("ab"), "abc");
}
static void check_contains(void *arg) {
    (void)arg;
    CHECK_CONTAINS(DR_STR("abc"), "bd");
}
static void check_ok(void *arg) {
    (void)arg;
    struct dr_err err = {.code = DR_E_INVALID};
    CHECK_OK(-1, err);
}
static void check_fails_with_other_code(void *arg) {
    (void)arg;
    struct dr_err err = {.code = DR_E_INVALID};
    CHECK_FAILS(-1, &err, DR_E_LIMIT);
}
static void check_fails_on_success(void *arg) {
    (void)arg;
    struct dr_err err = {.code = DR_OK};
    CHECK_FAILS(0, &err, DR_OK);
}
static void nothing(void *arg) { (void)arg; }
static void by_signal(void *arg) {
    (void)arg;
    raise(SIGKILL);
}

TEST(harness, failed_checks_end_the_test) {
    CHECK(dr_test_dies(check_false, NULL));
    CHECK(dr_test_dies(check_int, NULL));
    CHECK(dr_test_dies(check_str, NULL));
    CHECK(dr_test_dies(check_short_str, NULL));
    CHECK(dr_test_dies(check_contains, NULL));
    CHECK(dr_test_dies(check_ok, NULL));
    CHECK(dr_test_dies(check_fails_with_other_code, NULL));
    CHECK(dr_test_dies(check_fails_on_success, NULL));
    CHECK(dr_test_dies(by_signal, NULL));
    CHECK(!dr_test_dies(nothing, NULL));
}

TEST(harness, true_checks_pass) {
    struct dr_err err = {.code = DR_OK};
    CHECK_EQ_INT(-1, -1);
    CHECK_EQ_STR(DR_STR(""), "");
    CHECK_EQ_CSTR("x", "x");
    CHECK_CONTAINS(DR_STR("abc"), "bc");
    CHECK_OK(0, err);
    CHECK_OK(1, &err);
}

TEST(harness, temporary_folder_is_there_and_writable) {
    char path[512];
    snprintf(path, sizeof path, "%s/x", dr_test_tmpdir());
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    CHECK_EQ_INT(fputs("hello", f) >= 0, 1);
    CHECK_EQ_INT(fclose(f), 0);
    size_t n = 0;
    char *text = dr_test_read_file(path, &n);
    CHECK_EQ_INT(n, 5);
    CHECK_EQ_CSTR(text, "hello");
    free(text);
}

TEST(harness, source_tree_is_found) { CHECK_EQ_INT(access(dr_test_path("CMakeLists.txt"), R_OK), 0); }
