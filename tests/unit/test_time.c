#include "base/time.h"

#include <time.h>

#include "base/rand.h"
#include "harness/test.h"

static const char *put(void (*fn)(struct dr_buf *, int64_t), int64_t ms) {
    static char text[64];
    struct dr_buf buf;
    dr_buf_init(&buf, 0);
    fn(&buf, ms);
    CHECK(buf.n < sizeof text);
    memcpy(text, buf.p, buf.n + 1);
    dr_buf_deinit(&buf);
    return text;
}

TEST(time, moments_are_written_as_rfc_3339) {
    CHECK_EQ_CSTR(put(dr_time_put, 0), "1970-01-01T00:00:00Z");
    CHECK_EQ_CSTR(put(dr_time_put, 1), "1970-01-01T00:00:00.001Z");
    CHECK_EQ_CSTR(put(dr_time_put, -1), "1969-12-31T23:59:59.999Z");
    CHECK_EQ_CSTR(put(dr_time_put, INT64_C(1794773040250)), "2026-11-15T20:04:00.250Z");
    CHECK_EQ_CSTR(put(dr_time_put, INT64_C(951782400000)), "2000-02-29T00:00:00Z");
    CHECK_EQ_CSTR(put(dr_time_put, INT64_C(253402300799999)), "9999-12-31T23:59:59.999Z");
    CHECK_EQ_CSTR(put(dr_time_put, INT64_C(253402300800000)), "10000-01-01T00:00:00Z");
    (void)put(dr_time_put, INT64_MIN); /* no overflow, which the sanitizer would see */
    (void)put(dr_time_put, INT64_MAX);
}

TEST(time, clock_shows_seconds_only_where_there_are_some) {
    CHECK_EQ_CSTR(put(dr_time_put_clock, INT64_C(1794773040000)), "20:04");
    CHECK_EQ_CSTR(put(dr_time_put_clock, INT64_C(1794773070999)), "20:04:30");
    CHECK_EQ_CSTR(put(dr_time_put_clock, -1000), "23:59:59");
}

TEST(time, spans_show_the_two_largest_units) {
    CHECK_EQ_CSTR(put(dr_time_put_span, 0), "0s");
    CHECK_EQ_CSTR(put(dr_time_put_span, 250), "250ms");
    CHECK_EQ_CSTR(put(dr_time_put_span, 45000), "45s");
    CHECK_EQ_CSTR(put(dr_time_put_span, 1500), "1s500ms");
    CHECK_EQ_CSTR(put(dr_time_put_span, 90000), "1m30s");
    CHECK_EQ_CSTR(put(dr_time_put_span, 600000), "10m");
    CHECK_EQ_CSTR(put(dr_time_put_span, 3 * DR_DAY_MS + 4 * DR_HOUR_MS + 5 * DR_MINUTE_MS), "3d4h");
    CHECK_EQ_CSTR(put(dr_time_put_span, DR_DAY_MS + 5 * DR_MINUTE_MS), "1d");
    CHECK_EQ_CSTR(put(dr_time_put_span, -90000), "-1m30s");
    (void)put(dr_time_put_span, INT64_MIN);
}

TEST(time, moments_are_read_in_three_forms) {
    static const struct {
        const char *text;
        bool ok;
        int64_t ms;
    } cases[] = {
        {"2026-11-15T20:04:00Z", true, INT64_C(1794773040000)},
        {"2026-11-15t20:04:00z", true, INT64_C(1794773040000)},
        {"2026-11-15T20:04:00.25Z", true, INT64_C(1794773040250)},
        {"2026-11-15T20:04:00.123456789Z", true, INT64_C(1794773040123)},
        {"2026-11-15T21:04:00+01:00", true, INT64_C(1794773040000)},
        {"2026-11-15T14:34:00-05:30", true, INT64_C(1794773040000)},
        {"2026-11-15 20:04", true, INT64_C(1794773040000)},
        {"2026-11-15 20:04:01", true, INT64_C(1794773041000)},
        {"1794773040", true, INT64_C(1794773040000)},
        {"-1", true, -1000},
        {"2016-12-31T23:59:60Z", true, INT64_C(1483228800000)},
        {"0000-01-01T00:00:00Z", true, INT64_C(-62167219200000)},
        {"2024-02-29T00:00:00Z", true, INT64_C(1709164800000)},
        {"2023-02-29T00:00:00Z", false, 0},
        {"1900-02-29T00:00:00Z", false, 0},
        {"2026-13-01T00:00:00Z", false, 0},
        {"2026-00-01T00:00:00Z", false, 0},
        {"2026-04-31T00:00:00Z", false, 0},
        {"2026-04-00T00:00:00Z", false, 0},
        {"2026-11-15T24:00:00Z", false, 0},
        {"2026-11-15T20:60:00Z", false, 0},
        {"2026-11-15T20:04:61Z", false, 0},
        {"2026-11-15T20:04Z", false, 0},
        {"2026-11-15T20:04:00", false, 0},
        {"2026-11-15T20:04:00.Z", false, 0},
        {"2026-11-15T20:04:00+0100", false, 0},
        {"2026-11-15T20:04:00+24:00", false, 0},
        {"2026-11-15T20:04:00Zx", false, 0},
        {"2026-11-15", false, 0},
        {"2026-11-15 20:04:00Z", false, 0},
        {"20:04", false, 0},
        {"", false, 0},
        {"9223372036854775807", false, 0},
        {"1.5", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = 7;
        if (dr_time_parse(dr_str_of(cases[i].text), &ms) != cases[i].ok) {
            FAIL("\"%s\": wrong verdict", cases[i].text);
        }
        if (cases[i].ok && ms != cases[i].ms) {
            FAIL("\"%s\": %" PRId64 ", expected %" PRId64, cases[i].text, ms, cases[i].ms);
        }
    }
}

TEST(time, random_moments_agree_with_the_c_library_and_read_back) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    for (int i = 0; i < 20000; i++) {
        int64_t ms = dr_rand_between(&r, INT64_C(-62167219200000), INT64_C(253402300799999));
        int64_t floor_s = ms / 1000 - (ms % 1000 < 0);
        time_t t = (time_t)floor_s;
        struct tm tm;
        CHECK(gmtime_r(&t, &tm) != NULL);
        char expected[64];
        size_t n = strftime(expected, sizeof expected, "-%m-%dT%H:%M:%S", &tm);
        CHECK(n > 0);
        const char *text = put(dr_time_put, ms);
        if (strncmp(text + 4, expected, n) != 0 || atoi(text) != tm.tm_year + 1900) {
            FAIL("%s, expected %s of %d", text, expected, tm.tm_year + 1900);
        }
        int64_t back = 0;
        CHECK(dr_time_parse(dr_str_of(text), &back));
        CHECK_EQ_INT(back, ms);
    }
}

TEST(time, spans_are_read_largest_unit_first) {
    static const struct {
        const char *text;
        bool ok;
        int64_t ms;
    } cases[] = {
        {"250ms", true, 250},
        {"45s", true, 45000},
        {"3m", true, 180000},
        {"1h30m", true, 5400000},
        {"2d", true, 172800000},
        {"1d2h3m4s5ms", true, 93784005},
        {"300", true, 300000},
        {"0", true, 0},
        {"0s", true, 0},
        {"", false, 0},
        {"m", false, 0},
        {"1h30", false, 0},
        {"30m1h", false, 0},
        {"5s5s", false, 0},
        {"-5s", false, 0},
        {"1.5h", false, 0},
        {"1w", false, 0},
        {"5 s", false, 0},
        {"5s ", false, 0},
        {"9223372036854775807", false, 0},
        {"106751991167d7h12m55s808ms", false, 0},
        {"106751991167d7h12m55s807ms", true, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = 7;
        if (dr_time_parse_span(dr_str_of(cases[i].text), &ms) != cases[i].ok) {
            FAIL("\"%s\": wrong verdict", cases[i].text);
        }
        CHECK_EQ_INT(ms, cases[i].ok ? cases[i].ms : 7);
    }
}

TEST(time, clock_is_read_within_one_day) {
    int64_t ms = 0;
    CHECK(dr_time_parse_clock(DR_STR("20:04"), &ms));
    CHECK_EQ_INT(ms, 20 * DR_HOUR_MS + 4 * DR_MINUTE_MS);
    CHECK(dr_time_parse_clock(DR_STR("23:59:59"), &ms));
    CHECK_EQ_INT(ms, DR_DAY_MS - DR_SECOND_MS);
    CHECK(!dr_time_parse_clock(DR_STR("24:00"), &ms));
    CHECK(!dr_time_parse_clock(DR_STR("9:00"), &ms));
    CHECK(!dr_time_parse_clock(DR_STR("09:00:60"), &ms));
    CHECK(!dr_time_parse_clock(DR_STR("09:00:00.5"), &ms));
    CHECK(!dr_time_parse_clock(DR_STR("09:00 "), &ms));
}
