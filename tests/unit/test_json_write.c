#include "base/json_write.h"

#include "base/json.h"
#include "base/rand.h"
#include "harness/test.h"

TEST(json_write, commas_and_nesting_are_right) {
    struct dr_buf buf;
    struct dr_jsonw w;
    dr_buf_init(&buf, 0);
    dr_jsonw_init(&w, &buf, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_cstr(&w, "name", "x");
    dr_jsonw_key(&w, "list");
    dr_jsonw_array(&w);
    dr_jsonw_i64(&w, -1);
    dr_jsonw_micro(&w, 250000);
    dr_jsonw_bool(&w, true);
    dr_jsonw_null(&w);
    dr_jsonw_array(&w);
    dr_jsonw_end(&w);
    dr_jsonw_object(&w);
    dr_jsonw_end(&w);
    dr_jsonw_raw(&w, DR_STR("{\"r\":1}"));
    dr_jsonw_end(&w);
    dr_jsonw_kv_i64(&w, "i", INT64_MIN);
    dr_jsonw_kv_micro(&w, "m", -500000);
    dr_jsonw_kv_bool(&w, "b", false);
    dr_jsonw_kv_str(&w, "s", DR_STR_NONE);
    dr_jsonw_end(&w);
    CHECK_EQ_STR(
        dr_buf_str(&buf),
        "{\"name\":\"x\",\"list\":[-1,0.25,true,null,[],{},{\"r\":1}],\"i\":-9223372036854775808,\"m\":-0.5,\"b\":false,\"s\":\"\"}");
    dr_buf_deinit(&buf);
}

TEST(json_write, indented_form_has_one_item_per_line) {
    struct dr_buf buf;
    struct dr_jsonw w;
    dr_buf_init(&buf, 0);
    dr_jsonw_init(&w, &buf, 2);
    dr_jsonw_object(&w);
    dr_jsonw_kv_i64(&w, "a", 1);
    dr_jsonw_key(&w, "b");
    dr_jsonw_array(&w);
    dr_jsonw_i64(&w, 1);
    dr_jsonw_i64(&w, 2);
    dr_jsonw_end(&w);
    dr_jsonw_key(&w, "c");
    dr_jsonw_object(&w);
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
    CHECK_EQ_STR(dr_buf_str(&buf), "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}");
    dr_buf_deinit(&buf);
}

static void write_string(struct dr_buf *buf, struct dr_str s) {
    struct dr_jsonw w;
    dr_buf_clear(buf);
    dr_jsonw_init(&w, buf, 0);
    dr_jsonw_str(&w, s);
}

TEST(json_write, controls_are_escaped_and_broken_utf8_is_replaced) {
    struct dr_buf buf;
    dr_buf_init(&buf, 0);
    write_string(&buf, DR_STR("\"\\/\b\f\n\r\t\v\x01\x7F\0z"));
    CHECK_EQ_STR(dr_buf_str(&buf), "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u000b\\u0001\\u007f\\u0000z\"");
    write_string(&buf, DR_STR("\xC3\xA9\xFF\xE2\x82x\xED\xA0\x80"));
    CHECK_EQ_STR(dr_buf_str(&buf), "\"\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDx\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    dr_buf_deinit(&buf);
}

TEST(json_write, any_bytes_give_a_string_that_the_reader_takes) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    struct dr_buf buf;
    struct dr_arena arena;
    dr_buf_init(&buf, 0);
    dr_arena_init(&arena, 0);
    for (int round = 0; round < 5000; round++) {
        char bytes[64];
        size_t n = (size_t)dr_rand_below(&r, sizeof bytes);
        bool ascii = dr_rand_below(&r, 2) == 0;
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (char)dr_rand_below(&r, ascii ? 128 : 256);
        }
        write_string(&buf, (struct dr_str){bytes, n});
        struct dr_json j;
        struct dr_err err;
        struct dr_str back;
        dr_json_init(&j, dr_buf_str(&buf), 0);
        CHECK_OK(dr_json_str(&j, &arena, &back, &err), err);
        CHECK_OK(dr_json_end(&j, &err), err);
        CHECK(!ascii || dr_str_eq(back, (struct dr_str){bytes, n}));
        dr_arena_reset(&arena);
    }
    dr_arena_deinit(&arena);
    dr_buf_deinit(&buf);
}

enum mistake { VALUE_WITHOUT_KEY, KEY_IN_ARRAY, END_TOO_OFTEN, END_AFTER_KEY, TWO_DOCUMENTS, TWO_KEYS };
static void make_mistake(void *arg) {
    enum mistake mistake = *(const enum mistake *)arg;
    struct dr_buf buf;
    struct dr_jsonw w;
    dr_buf_init(&buf, 0);
    dr_jsonw_init(&w, &buf, 0);
    if (mistake == KEY_IN_ARRAY) {
        dr_jsonw_array(&w);
        dr_jsonw_key(&w, "k");
    } else if (mistake == END_TOO_OFTEN) {
        dr_jsonw_end(&w);
    } else if (mistake == TWO_DOCUMENTS) {
        dr_jsonw_null(&w);
        dr_jsonw_null(&w);
    } else {
        dr_jsonw_object(&w);
        if (mistake == VALUE_WITHOUT_KEY) {
            dr_jsonw_null(&w);
        }
        dr_jsonw_key(&w, "k");
        if (mistake == END_AFTER_KEY) {
            dr_jsonw_end(&w);
        }
        dr_jsonw_key(&w, "k");
    }
}
TEST(json_write, calls_in_a_wrong_order_assert) {
    for (enum mistake m = VALUE_WITHOUT_KEY; m <= TWO_KEYS; m++) {
        CHECK(dr_test_dies(make_mistake, &m));
    }
}
