#include "base/str.h"

#include "base/rand.h"
#include "harness/test.h"

TEST(str, compare_is_a_total_order_by_bytes) {
    CHECK(dr_str_cmp(DR_STR("a"), DR_STR("b")) < 0);
    CHECK(dr_str_cmp(DR_STR("a"), DR_STR("aa")) < 0);
    CHECK(dr_str_cmp(DR_STR("\xff"), DR_STR("a")) > 0);
    CHECK_EQ_INT(dr_str_cmp(DR_STR_NONE, DR_STR("")), 0);
    CHECK(dr_str_cmp(DR_STR("a\0b"), DR_STR("a\0c")) < 0);
    CHECK(dr_str_eq(DR_STR_NONE, DR_STR("")));
    CHECK(!dr_str_eq(DR_STR("a"), DR_STR("ab")));
    CHECK(dr_str_is(DR_STR("abc"), "abc"));
    CHECK(dr_str_is(DR_STR_NONE, NULL));
}

TEST(str, prefixes_suffixes_and_parts) {
    struct dr_str s = DR_STR("i-0abc");
    CHECK(dr_str_starts(s, "i-") && dr_str_starts(s, "") && !dr_str_starts(s, "i-0abcd"));
    CHECK(dr_str_ends(s, "bc") && dr_str_ends(s, "") && !dr_str_ends(s, "xi-0abc"));
    CHECK(dr_str_starts(DR_STR_NONE, "") && !dr_str_starts(DR_STR_NONE, "a"));
    CHECK_EQ_STR(dr_str_sub(s, 2, 4), "0a");
    CHECK_EQ_STR(dr_str_sub(s, 4, 100), "bc");
    CHECK_EQ_STR(dr_str_sub(s, 100, 200), "");
    CHECK_EQ_STR(dr_str_sub(s, 4, 2), "");
    CHECK_EQ_STR(dr_str_sub(DR_STR_NONE, 0, 5), "");
    CHECK_EQ_INT(dr_str_find(s, '0'), 2);
    CHECK_EQ_INT(dr_str_find(s, 'z'), 6);
    CHECK_EQ_INT(dr_str_find(DR_STR_NONE, 'z'), 0);
    CHECK_EQ_STR(dr_str_trim(DR_STR(" \t\r\n x y \v\f")), "x y");
    CHECK_EQ_STR(dr_str_trim(DR_STR("  ")), "");
}

TEST(str, hash_is_fnv_1a) {
    CHECK_EQ_U64(dr_str_hash(DR_STR("")), UINT64_C(0xcbf29ce484222325));
    CHECK_EQ_U64(dr_str_hash(DR_STR("a")), UINT64_C(0xaf63dc4c8601ec8c));
    CHECK_EQ_U64(dr_str_hash(DR_STR("foobar")), UINT64_C(0x85944171f73967e8));
}

TEST(str, copies_and_formats_end_with_a_nul) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_str d = dr_str_dup(&arena, DR_STR("ab\0c"));
    CHECK_EQ_INT(d.n, 4);
    CHECK_EQ_INT(d.p[4], 0);
    CHECK_EQ_STR(dr_str_dup(&arena, DR_STR_NONE), "");
    CHECK_EQ_STR(dr_str_fmt(&arena, "%d-%s", 7, "x"), "7-x");
    for (int n = 250; n < 262; n++) {
        struct dr_str s = dr_str_fmt(&arena, "%0*d", n, 1);
        CHECK_EQ_INT(s.n, n);
        CHECK_EQ_INT(s.p[n - 1], '1');
        CHECK_EQ_INT(s.p[n], 0);
    }
    dr_arena_deinit(&arena);
}

TEST(str, whole_numbers_at_the_ends_of_the_range) {
    static const struct {
        const char *text;
        bool ok;
        int64_t v;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"+7", true, 7},
        {"007", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+", false, 0},
        {"1 ", false, 0},
        {" 1", false, 0},
        {"1.0", false, 0},
        {"0x1", false, 0},
        {"--1", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t v = 123;
        if (dr_str_to_i64(dr_str_of(cases[i].text), &v) != cases[i].ok) {
            FAIL("\"%s\": wrong verdict", cases[i].text);
        }
        CHECK_EQ_INT(v, cases[i].ok ? cases[i].v : 123);
    }
    int64_t v = 0;
    CHECK(!dr_str_to_i64(DR_STR("1\0"), &v));
    CHECK(!dr_str_to_i64(DR_STR_NONE, &v));
}

TEST(str, millionths_round_to_nearest_with_ties_away_from_zero) {
    static const struct {
        const char *text;
        bool ok;
        int64_t micro;
    } cases[] = {
        {"0", true, 0},
        {"0.75", true, 750000},
        {"-3", true, -3000000},
        {"1e3", true, 1000000000},
        {"1E+3", true, 1000000000},
        {"1.5e-3", true, 1500},
        {"0.0000005", true, 1},
        {"-0.0000005", true, -1},
        {"0.00000049999999", true, 0},
        {"0.0000014", true, 1},
        {"0.0000015", true, 2},
        {"5e-7", true, 1},
        {"4e-7", true, 0},
        {"5e-8", true, 0},
        {"12345e-10", true, 1},
        {"0e999999999999999999999", true, 0},
        {"0.000e99", true, 0},
        {"1e-999999999999999999999", true, 0},
        {"1e99", false, 0},
        {"9223372036854.775807", true, INT64_MAX},
        {"9223372036854.7758074", true, INT64_MAX},
        {"9223372036854.7758075", false, 0},
        {"9223372036854.775808", false, 0},
        {"-9223372036854.775808", true, INT64_MIN},
        {"-9223372036854.7758085", false, 0},
        {"00012.5", true, 12500000},
        {"+1.25", true, 1250000},
        {"0.1234567", true, 123457},
        {"100", true, 100000000},
        {"10.50", true, 10500000},
        {"NaN", false, 0},
        {"Inf", false, 0},
        {"+Inf", false, 0},
        {"", false, 0},
        {".5", false, 0},
        {"5.", false, 0},
        {"1e", false, 0},
        {"1e+", false, 0},
        {"1.2.3", false, 0},
        {"1 ", false, 0},
        {"0x10", false, 0},
        {"-", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t v = 123;
        if (dr_str_to_micro(dr_str_of(cases[i].text), &v) != cases[i].ok) {
            FAIL("\"%s\": wrong verdict", cases[i].text);
        }
        if (v != (cases[i].ok ? cases[i].micro : 123)) {
            FAIL("\"%s\": %" PRId64, cases[i].text, v);
        }
    }
}

TEST(str, millionths_written_and_read_again_are_the_same) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    struct dr_buf buf;
    dr_buf_init(&buf, 100);
    for (int i = 0; i < 20000; i++) {
        int64_t micro = (int64_t)(dr_rand_next(&r) >> dr_rand_below(&r, 64));
        micro = dr_rand_below(&r, 2) == 0 || micro == INT64_MIN ? micro : -micro;
        dr_buf_clear(&buf);
        dr_buf_put_micro(&buf, micro);
        int64_t back = 0;
        CHECK(dr_str_to_micro(dr_buf_str(&buf), &back));
        CHECK_EQ_INT(back, micro);
        dr_buf_clear(&buf);
        dr_buf_put_i64(&buf, micro);
        CHECK(dr_str_to_i64(dr_buf_str(&buf), &back));
        CHECK_EQ_INT(back, micro);
    }
    dr_buf_deinit(&buf);
}

TEST(str, distance_counts_edits_up_to_the_cap) {
    CHECK_EQ_INT(dr_str_distance(DR_STR("kitten"), DR_STR("sitting"), 5), 3);
    CHECK_EQ_INT(dr_str_distance(DR_STR("cooldwn"), DR_STR("cooldown"), 3), 1);
    CHECK_EQ_INT(dr_str_distance(DR_STR(""), DR_STR("abc"), 3), 3);
    CHECK_EQ_INT(dr_str_distance(DR_STR("same"), DR_STR("same"), 0), 0);
    CHECK_EQ_INT(dr_str_distance(DR_STR("abc"), DR_STR("xyz"), 2), 3);
    CHECK_EQ_INT(dr_str_distance(DR_STR("a"), DR_STR("abcdefgh"), 2), 3);
    char x[200];
    char y[200];
    memset(x, 'x', sizeof x);
    memset(y, 'x', sizeof y);
    CHECK_EQ_INT(dr_str_distance((struct dr_str){x, 200}, (struct dr_str){y, 200}, 2), 0);
    y[5] = 'y';
    CHECK_EQ_INT(dr_str_distance((struct dr_str){x, 200}, (struct dr_str){y, 200}, 2), 3);
    CHECK_EQ_INT(dr_str_distance((struct dr_str){x, 127}, (struct dr_str){y, 127}, 2), 1);
}

TEST(str, lists_are_searched_by_content) {
    const struct dr_str v[] = {DR_STR("a"), DR_STR("bc")};
    struct dr_strs list = {v, 2};
    CHECK(dr_strs_has(list, DR_STR("bc")));
    CHECK(!dr_strs_has(list, DR_STR("b")));
    CHECK(!dr_strs_has((struct dr_strs){NULL, 0}, DR_STR("")));
}
