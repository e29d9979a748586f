#include "base/log.h"

#include "base/json.h"
#include "harness/test.h"

struct sink {
    struct dr_buf buf;
    size_t line_n;
};

static void take(void *self, const char *line, size_t n) {
    struct sink *sink = self;
    dr_buf_put(&sink->buf, line, n);
    sink->line_n++;
}

static const int64_t noon = INT64_C(1794773040000);

TEST(log, json_line_has_the_fixed_keys_and_the_fields) {
    struct sink sink = {0};
    dr_buf_init(&sink.buf, 0);
    struct dr_log log = {.min_level = DR_LOG_INFO, .write = take, .self = &sink, .tick = DR_STR("r-1")};
    struct dr_field fields[] = {DR_F_STR("zone", DR_STR("a\n")), DR_F_INT("n", -2), DR_F_BOOL("ok", true), DR_F_MICRO("cpu", 700000)};
    dr_log_put(&log, noon, DR_LOG_WARN, "scale_up", DR_STR("2 \"more\""), fields, 4);
    dr_log_put(&log, noon, DR_LOG_DEBUG, "quiet", DR_STR("not seen"), NULL, 0);
    dr_log_put(NULL, noon, DR_LOG_ERROR, "dropped", DR_STR("x"), NULL, 0);
    CHECK_EQ_INT(sink.line_n, 1);
    CHECK_EQ_STR(dr_buf_str(&sink.buf),
                 "{\"ts\":\"2026-11-15T20:04:00Z\",\"level\":\"warn\",\"event\":\"scale_up\",\"tick\":\"r-1\",\"msg\":\"2 \\\"more\\\"\","
                 "\"zone\":\"a\\n\",\"n\":-2,\"ok\":true,\"cpu\":0.7}\n");
    dr_buf_deinit(&sink.buf);
}

TEST(log, text_line_lets_no_control_character_through) {
    struct sink sink = {0};
    dr_buf_init(&sink.buf, 0);
    struct dr_log log = {.text = true, .write = take, .self = &sink};
    struct dr_field fields[] = {DR_F_STR("pod", DR_STR("x\033[2J\n\xC2\x9B\xFFy\xC3\xA9")), DR_F_INT("n", 3)};
    dr_log_put(&log, noon, DR_LOG_INFO, "evict", DR_STR("done"), fields, 2);
    CHECK_EQ_STR(dr_buf_str(&sink.buf), "2026-11-15T20:04:00Z info  evict: done pod=x?[2J???y\xC3\xA9 n=3\n");
    dr_buf_clear(&sink.buf);
    log.colour = true;
    dr_log_put(&log, noon, DR_LOG_ERROR, "e", DR_STR("m"), NULL, 0);
    CHECK_EQ_STR(dr_buf_str(&sink.buf), "2026-11-15T20:04:00Z \033[31merror\033[0m e: m\n");
    dr_buf_deinit(&sink.buf);
}

TEST(log, long_lines_are_cut_say_so_and_stay_json) {
    static char big[20000];
    memset(big, '\n', sizeof big); /* each becomes two bytes */
    struct dr_str long_text = {big, sizeof big};
    struct dr_field fields[] = {DR_F_STR("big", long_text), DR_F_INT("small", 1)};
    for (int with_msg = 0; with_msg < 2; with_msg++) {
        for (int text = 0; text < 2; text++) {
            struct sink sink = {0};
            dr_buf_init(&sink.buf, 0);
            struct dr_log log = {.text = text == 1, .write = take, .self = &sink, .tick = DR_STR("t")};
            dr_log_put(&log, noon, DR_LOG_INFO, "e", with_msg ? long_text : DR_STR("m"), fields, 2);
            CHECK(sink.buf.n <= 8192);
            CHECK_EQ_INT(sink.buf.p[sink.buf.n - 1], '\n');
            CHECK_CONTAINS(dr_buf_str(&sink.buf), text ? "[cut]" : "\"cut\":true");
            CHECK_CONTAINS(dr_buf_str(&sink.buf), "small");
            if (text == 0) {
                struct dr_json j;
                struct dr_err err;
                dr_json_init(&j, dr_buf_str(&sink.buf), 0);
                CHECK_OK(dr_json_end(&j, &err), err);
            }
            dr_buf_deinit(&sink.buf);
        }
    }
}
