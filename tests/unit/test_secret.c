#include "base/secret.h"
#include "harness/test.h"

TEST(secret, prints_as_stars_and_reveals_only_on_purpose) {
    struct dr_secret secret = {0};
    CHECK_EQ_CSTR(dr_secret_mask(&secret), "");
    CHECK_EQ_INT(dr_secret_reveal(&secret).n, 0);
    dr_secret_set(&secret, DR_STR("hunter2"));
    CHECK_EQ_CSTR(dr_secret_mask(&secret), "***");
    CHECK_EQ_STR(dr_secret_reveal(&secret), "hunter2");
    CHECK_EQ_CSTR(dr_secret_reveal(&secret).p, "hunter2");
    dr_secret_clear(&secret);
    CHECK_EQ_CSTR(dr_secret_mask(&secret), "");
    dr_secret_clear(&secret);
}

TEST(secret, may_be_set_from_a_part_of_itself) {
    struct dr_secret secret = {0};
    dr_secret_set(&secret, DR_STR("user:password"));
    dr_secret_set(&secret, dr_str_sub(dr_secret_reveal(&secret), 5, 13));
    CHECK_EQ_STR(dr_secret_reveal(&secret), "password");
    dr_secret_set(&secret, DR_STR_NONE);
    CHECK_EQ_CSTR(dr_secret_mask(&secret), "");
}
