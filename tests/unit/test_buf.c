#include "base/rand.h"
#include "base/str.h"
#include "base/utf8.h"
#include "harness/test.h"

TEST(buf, grows_up_to_the_ceiling_and_says_when_it_cut) {
    struct dr_buf buf;
    dr_buf_init(&buf, 10);
    dr_buf_puts(&buf, "0123456789");
    CHECK(!buf.truncated);
    CHECK_EQ_STR(dr_buf_str(&buf), "0123456789");
    dr_buf_putc(&buf, 'x');
    CHECK(buf.truncated);
    CHECK_EQ_STR(dr_buf_str(&buf), "0123456789");
    dr_buf_clear(&buf);
    CHECK(!buf.truncated && buf.n == 0 && buf.p[0] == '\0');
    dr_buf_puts(&buf, "01234");
    dr_buf_puts(&buf, "56789abc");
    CHECK(buf.truncated);
    CHECK_EQ_STR(dr_buf_str(&buf), "0123456789");
    CHECK_EQ_INT(buf.p[buf.n], 0);
    dr_buf_deinit(&buf);
    CHECK_EQ_STR(dr_buf_str(&buf), "");
    dr_buf_puts(&buf, "usable again");
    CHECK_EQ_STR(dr_buf_str(&buf), "usable aga");
    dr_buf_deinit(&buf);
}

TEST(buf, nothing_comes_behind_a_cut) {
    struct dr_buf buf;
    dr_buf_init(&buf, 4);
    dr_buf_puts(&buf, "abc");
    dr_buf_puts(&buf, "\xE2\x82\xAC");
    dr_buf_puts(&buf, "d"); /* would fit, but the reader would see "abcd" */
    CHECK(buf.truncated);
    CHECK_EQ_STR(dr_buf_str(&buf), "abc");
    dr_buf_deinit(&buf);
}

TEST(buf, a_cut_never_splits_a_character) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    static const char *const chars[] = {"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x90\x84"};
    for (size_t max = 1; max < 40; max++) {
        struct dr_buf buf;
        dr_buf_init(&buf, max);
        while (!buf.truncated) {
            const char *c = chars[dr_rand_below(&r, 4)];
            if (dr_rand_below(&r, 2) == 0) {
                dr_buf_puts(&buf, c);
            } else {
                for (; *c != '\0'; c++) {
                    dr_buf_putc(&buf, *c); /* byte by byte: the piece already there is taken back */
                }
            }
        }
        for (size_t i = 0; i < buf.n;) {
            size_t len = dr_utf8_len(buf.p + i, buf.p + buf.n);
            CHECK(len > 0);
            i += len;
        }
        CHECK(buf.n <= max && buf.n + 4 > max);
        dr_buf_deinit(&buf);
    }
}

TEST(buf, numbers_are_written_in_their_shortest_form) {
    struct dr_buf buf;
    dr_buf_init(&buf, 0);
    int64_t ints[] = {0, -1, 10, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 5; i++) {
        dr_buf_put_i64(&buf, ints[i]);
        dr_buf_putc(&buf, ' ');
    }
    CHECK_EQ_STR(dr_buf_str(&buf), "0 -1 10 9223372036854775807 -9223372036854775808 ");
    dr_buf_clear(&buf);
    int64_t micros[] = {0, 700000, -1500000, 1, -1, 1000000, 10000000, 12345678, INT64_MIN, INT64_MAX, 100};
    for (size_t i = 0; i < sizeof micros / sizeof micros[0]; i++) {
        dr_buf_put_micro(&buf, micros[i]);
        dr_buf_putc(&buf, ' ');
    }
    CHECK_EQ_STR(dr_buf_str(&buf), "0 0.7 -1.5 0.000001 -0.000001 1 10 12.345678 -9223372036854.775808 9223372036854.775807 0.0001 ");
    dr_buf_deinit(&buf);
}

TEST(buf, formatting_works_past_its_stack_buffer) {
    struct dr_buf buf;
    dr_buf_init(&buf, 0);
    for (int n = 505; n < 520; n++) {
        dr_buf_clear(&buf);
        dr_buf_fmt(&buf, "%0*d", n, 7);
        CHECK_EQ_INT(buf.n, n);
        CHECK_EQ_INT(buf.p[n - 1], '7');
    }
    dr_buf_deinit(&buf);
}

TEST(buf, empty_builder_gives_an_empty_view) {
    struct dr_buf buf;
    dr_buf_init(&buf, 5);
    CHECK_EQ_STR(dr_buf_str(&buf), "");
    dr_buf_put(&buf, NULL, 0);
    CHECK_EQ_STR(dr_buf_str(&buf), "");
    dr_buf_clear(&buf);
    dr_buf_deinit(&buf);
    dr_buf_deinit(&buf);
}
