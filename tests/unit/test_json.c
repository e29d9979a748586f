#include "base/json.h"

#include <stdio.h>

#include "base/json_scan.h"
#include "base/rand.h"
#include "harness/test.h"

/* Reads everything by pulling, as an adapter would, and returns the number of values; -1 on error. */
static int64_t pull_all(struct dr_json *j, struct dr_arena *arena, struct dr_err *err) {
    enum dr_json_type type = DR_JSON_NULL;
    struct dr_json_key key;
    struct dr_str text;
    bool flag = false;
    int64_t count = 1;
    int r = dr_json_peek(j, &type, err);
    if (r < 0) {
        return -1;
    }
    switch (type) {
    case DR_JSON_NULL:
        return dr_json_null(j, err) < 0 ? -1 : 1;
    case DR_JSON_BOOL:
        return dr_json_bool(j, &flag, err) < 0 ? -1 : 1;
    case DR_JSON_NUMBER:
        return dr_json_number(j, &text, err) < 0 ? -1 : 1;
    case DR_JSON_STRING:
        return dr_json_str(j, arena, &text, err) < 0 ? -1 : 1;
    case DR_JSON_ARRAY:
    case DR_JSON_OBJECT:
        break;
    }
    if (dr_json_enter(j, type, err) < 0) {
        return -1;
    }
    while ((r = type == DR_JSON_OBJECT ? dr_json_next_key(j, &key, err) : dr_json_next_element(j, err)) > 0) {
        if (type == DR_JSON_OBJECT) {
            (void)dr_json_key_str(&key, arena);
        }
        int64_t inner = pull_all(j, arena, err);
        if (inner < 0) {
            return -1;
        }
        count += inner;
    }
    return r < 0 ? -1 : count;
}

/* The document by pulling, by skipping, and with the duplicate check must get the same verdict. */
static bool accepts(struct dr_str doc) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_json j;
    struct dr_err err;
    /* An exact copy on the heap, so that a read behind the end is seen. */
    char *copy = malloc(doc.n == 0 ? 1 : doc.n);
    CHECK(copy != NULL);
    memcpy(copy, doc.p, doc.n);
    struct dr_str view = {copy, doc.n};
    dr_json_init(&j, view, 0);
    bool pulled = pull_all(&j, &arena, &err) >= 0 && dr_json_end(&j, &err) == 0;
    dr_json_init(&j, view, 0);
    bool skipped = dr_json_skip(&j, &err) == 0 && dr_json_end(&j, &err) == 0;
    if (pulled != skipped) {
        FAIL("pull says %d and skip says %d on: %.*s", pulled, skipped, DR_FMT(doc));
    }
    if (!skipped) {
        CHECK(err.code == DR_E_INVALID || err.code == DR_E_LIMIT);
        CHECK(err.text[0] != '\0');
    }
    free(copy);
    dr_arena_deinit(&arena);
    return pulled;
}

#define DOC(text)                                                                                                                          \
    { text, sizeof(text) - 1 }

static const struct dr_str valid_docs[] = {
    DOC("0"),
    DOC("-0"),
    DOC("1"),
    DOC("-1"),
    DOC("123.456"),
    DOC("1e5"),
    DOC("1E5"),
    DOC("1e+5"),
    DOC("1e-5"),
    DOC("0.0e0"),
    DOC("-0.5E-07"),
    DOC("100000000000000000000000000000000000000000000000"),
    DOC("0e1"),
    DOC("true"),
    DOC("false"),
    DOC("null"),
    DOC("\"\""),
    DOC("[]"),
    DOC("{}"),
    DOC(" [ ] "),
    DOC("\t\n\r {} \r\n\t"),
    DOC("[[]]"),
    DOC("[{}]"),
    DOC("{\"\":0}"),
    DOC("{\"a\":{\"a\":{\"a\":[]}}}"),
    DOC("[1,2,3]"),
    DOC("[ 1 , 2 ]"),
    DOC("{ \"a\" : 1 , \"b\" : 2 }"),
    DOC("{\"a\":1,\"a\":2}"),
    DOC("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    DOC("\"\\u0000\""),
    DOC("\"\\u00e9\\u20AC\\uFFFF\""),
    DOC("\"\\ud83d\\uDE00\""),
    DOC("\"\\uDBFF\\uDFFF\""),
    DOC("\"\\uD800\\uDC00\""),
    DOC("\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x90\x84\""),
    DOC("\"\x7F\""),
    DOC("\"\xEF\xBB\xBF\""),
    DOC("\"\xEE\x80\x80\""),
    DOC("\"\xF4\x8F\xBF\xBF\""),
    DOC("\"\xED\x9F\xBF\""),
    DOC("\"\xC2\x80\""),
    DOC("\"\xE0\xA0\x80\""),
    DOC("\"0123456789abcde\""),
    DOC("\"0123456789abcdef\""),
    DOC("\"0123456789abcdefg\""),
    DOC("\"0123456789abcde\xC3\xA9\""),
    DOC("\"/\""),
    DOC("[\"a\",true,false,null,0.5,{},[]]"),
    DOC("{\"\\u0061\":1}"),
    DOC("[1\n]"),
    DOC("\"asd \""),
    DOC("[-1]"),
    DOC("{\"a\\\"b\":[]}"),
};

static const struct dr_str invalid_docs[] = {
    DOC(""),
    DOC(" "),
    DOC("\0"),
    DOC("{\"a\":1}\0"),
    DOC("\xEF\xBB\xBF{}"),
    DOC("tru"),
    DOC("truE"),
    DOC("True"),
    DOC("nul"),
    DOC("nullx"),
    DOC("fals"),
    DOC("truefalse"),
    DOC("+1"),
    DOC("01"),
    DOC("-01"),
    DOC("00"),
    DOC("-"),
    DOC("--1"),
    DOC("1."),
    DOC(".5"),
    DOC("1.e5"),
    DOC("1e"),
    DOC("1e+"),
    DOC("1eE2"),
    DOC("0x10"),
    DOC("1_000"),
    DOC("1 2"),
    DOC("NaN"),
    DOC("Infinity"),
    DOC("-Infinity"),
    DOC("-a"),
    DOC("1.2.3"),
    DOC("2.e3"),
    DOC("0e"),
    DOC("1a"),
    DOC("["),
    DOC("]"),
    DOC("[1"),
    DOC("[1,"),
    DOC("[1,]"),
    DOC("[,1]"),
    DOC("[,]"),
    DOC("[1,,2]"),
    DOC("[1 2]"),
    DOC("[1}"),
    DOC("[}"),
    DOC("{"),
    DOC("}"),
    DOC("{]"),
    DOC("{\"a\""),
    DOC("{\"a\":"),
    DOC("{\"a\":1"),
    DOC("{\"a\":1,"),
    DOC("{\"a\":1,}"),
    DOC("{,}"),
    DOC("{\"a\" 1}"),
    DOC("{\"a\",1}"),
    DOC("{\"a\"::1}"),
    DOC("{1:1}"),
    DOC("{a:1}"),
    DOC("{'a':1}"),
    DOC("{null:1}"),
    DOC("{\"a\":1 \"b\":2}"),
    DOC("{\"a\":1,,\"b\":2}"),
    DOC("{\"a\":1]"),
    DOC("{\"a\"}"),
    DOC("{\"a\":}"),
    DOC("{[]:1}"),
    DOC("[1]]"),
    DOC("{}}"),
    DOC("[][]"),
    DOC("{}{}"),
    DOC("[1]x"),
    DOC("\"a\"x"),
    DOC("\"a"),
    DOC("\""),
    DOC("'a'"),
    DOC("\"\\"),
    DOC("\"\\\""),
    DOC("\"\\x41\""),
    DOC("\"\\a\""),
    DOC("\"\\'\""),
    DOC("\"\\0\""),
    DOC("\"\\u\""),
    DOC("\"\\u12\""),
    DOC("\"\\u123\""),
    DOC("\"\\u123g\""),
    DOC("\"\\U1234\""),
    DOC("\"\\u 123\""),
    DOC("\"\\uD800\""),
    DOC("\"\\uDC00\""),
    DOC("\"\\uD800\\n\""),
    DOC("\"\\uD800\\uD800\""),
    DOC("\"\\uD800\\u0041\""),
    DOC("\"\\uD800x\""),
    DOC("\"\\uD83D\\uDE0\""),
    DOC("\"\\uDE00\\uD83D\""),
    DOC("\"\n\""),
    DOC("\"\t\""),
    DOC("\"\x1F\""),
    DOC("\"\0\""),
    DOC("\"0123456789abcdef\x01\""),
    DOC("\"\x80\""),
    DOC("\"\xC0\x80\""),
    DOC("\"\xC1\xBF\""),
    DOC("\"\xC3\""),
    DOC("\"\xC3(\""),
    DOC("\"\xE0\x80\x80\""),
    DOC("\"\xE0\x9F\xBF\""),
    DOC("\"\xE2\x82\""),
    DOC("\"\xE2(\xA1\""),
    DOC("\"\xED\xA0\x80\""),
    DOC("\"\xED\xBF\xBF\""),
    DOC("\"\xF0\x80\x80\x80\""),
    DOC("\"\xF0\x8F\xBF\xBF\""),
    DOC("\"\xF4\x90\x80\x80\""),
    DOC("\"\xF5\x80\x80\x80\""),
    DOC("\"\xF8\x88\x80\x80\x80\""),
    DOC("\"\xFF\""),
    DOC("\"\xFE\""),
    DOC("\"\xF0\x9F\x90\""),
    DOC("[\xC3\xA9]"),
    DOC("[1\x0C]"),
    DOC("\xC2\xA0[]"),
    DOC("[\v1]"),
    DOC("/* c */ 1"),
    DOC("1 // c"),
    DOC("[1]#"),
    DOC("{\"a\":1}//"),
    DOC("<a>"),
    DOC("*"),
    DOC("abc"),
    DOC("[a"),
    DOC("[\"a\""),
    DOC("[\"a"),
    DOC("{\"a\":\"a"),
    DOC("[{}"),
    DOC("[1,\n1\n,1"),
    DOC("{\"a\x01\":1}"),
    DOC("{\"\xFF\":1}"),
    DOC("{\"\\uD800\":1}"),
    DOC("\xFF\xFE[\0]\0"),
    DOC("\xE2\x81\xA0[]"),
    DOC("[\xE2\x80\xA8]"),
};

TEST(json, valid_documents_are_accepted) {
    for (size_t i = 0; i < sizeof valid_docs / sizeof valid_docs[0]; i++) {
        if (!accepts(valid_docs[i])) {
            FAIL("rejected: %.*s", DR_FMT(valid_docs[i]));
        }
    }
}

TEST(json, invalid_documents_are_rejected) {
    for (size_t i = 0; i < sizeof invalid_docs / sizeof invalid_docs[0]; i++) {
        if (accepts(invalid_docs[i])) {
            FAIL("accepted document %zu: %.*s", i, DR_FMT(invalid_docs[i]));
        }
    }
}

TEST(json, every_prefix_of_a_document_is_rejected) {
    struct dr_str doc = DR_STR("{\"items\":[{\"name\":\"a-\\u20ac\\ud83d\\ude00\",\"n\":-1.5e+3,\"t\":true,\"z\":null,\"\xC3\xA9\":[[],{}]}"
                               " ,\"0123456789abcdef\"]}");
    CHECK(accepts(doc));
    for (size_t n = 0; n < doc.n; n++) {
        if (accepts(dr_str_sub(doc, 0, n))) {
            FAIL("accepted a prefix of %zu bytes", n);
        }
    }
}

TEST(json, depth_has_a_ceiling) {
    char doc[2 * DR_JSON_MAX_DEPTH + 4];
    for (unsigned depth = DR_JSON_MAX_DEPTH - 1; depth <= DR_JSON_MAX_DEPTH + 1; depth++) {
        memset(doc, '[', depth);
        memset(doc + depth, ']', depth);
        CHECK_EQ_INT(accepts((struct dr_str){doc, (size_t)2 * depth}), depth <= DR_JSON_MAX_DEPTH);
    }
    struct dr_json j;
    struct dr_err err;
    dr_json_init(&j, (struct dr_str){doc, sizeof doc}, 0);
    CHECK_FAILS(dr_json_skip(&j, &err), err, DR_E_LIMIT);
    dr_json_init(&j, DR_STR("[[[0]]]"), 0);
    j.max_depth = 2;
    CHECK_FAILS(dr_json_skip(&j, &err), err, DR_E_LIMIT);
}

TEST(json, size_has_a_ceiling_that_the_first_call_reports) {
    struct dr_json j;
    struct dr_err err;
    dr_json_init(&j, DR_STR("[1,2]"), 5);
    CHECK_OK(dr_json_skip(&j, &err), err);
    dr_json_init(&j, DR_STR("[1,2]"), 4);
    CHECK_FAILS(dr_json_enter(&j, DR_JSON_ARRAY, &err), err, DR_E_LIMIT);
    CHECK_CONTAINS(dr_str_of(err.text), "5 bytes, at most 4");
}

TEST(json, walk_reads_what_it_wants_and_skips_the_rest) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_json j;
    struct dr_err err;
    struct dr_json_key key;
    dr_json_init(&j,
                 DR_STR(" {\"skip\":{\"x\":[1,{}]},\"name\":\"a\\tb\",\"on\":true,\"list\":[1,[2],3],\"n\":1e3,\"cpu\":0.25,\"none\":null,"
                        "\"raw\": [ 1, 2 ] } "),
                 0);
    CHECK_OK(dr_json_enter(&j, DR_JSON_OBJECT, &err), err);
    int seen = 0;
    int r = 0;
    while ((r = dr_json_next_key(&j, &key, &err)) > 0) {
        struct dr_str s;
        int64_t v = 0;
        bool b = false;
        if (dr_json_key_is(&key, "name")) {
            CHECK_OK(dr_json_str(&j, &arena, &s, &err), err);
            CHECK_EQ_STR(s, "a\tb");
        } else if (dr_json_key_is(&key, "on")) {
            CHECK_OK(dr_json_bool(&j, &b, &err), err);
            CHECK(b);
        } else if (dr_json_key_is(&key, "list")) {
            CHECK_OK(dr_json_enter(&j, DR_JSON_ARRAY, &err), err);
            CHECK_EQ_INT(dr_json_next_element(&j, &err), 1);
            CHECK_OK(dr_json_i64(&j, &v, &err), err);
            CHECK_EQ_INT(v, 1);
            CHECK_EQ_INT(dr_json_next_element(&j, &err), 1);
            CHECK_OK(dr_json_enter(&j, DR_JSON_ARRAY, &err), err);
            CHECK_OK(dr_json_leave(&j, &err), err);
            CHECK_EQ_INT(dr_json_next_element(&j, &err), 1); /* not read: the next call passes over it */
            CHECK_EQ_INT(dr_json_next_element(&j, &err), 0);
        } else if (dr_json_key_is(&key, "n")) {
            CHECK_OK(dr_json_i64(&j, &v, &err), err);
            CHECK_EQ_INT(v, 1000);
        } else if (dr_json_key_is(&key, "cpu")) {
            CHECK_OK(dr_json_micro(&j, &v, &err), err);
            CHECK_EQ_INT(v, 250000);
        } else if (dr_json_key_is(&key, "none")) {
            CHECK_OK(dr_json_null(&j, &err), err);
        } else if (dr_json_key_is(&key, "raw")) {
            CHECK_OK(dr_json_raw(&j, &s, &err), err);
            CHECK_EQ_STR(s, "[ 1, 2 ]");
        }
        seen++;
    }
    CHECK_OK(r, err);
    CHECK_OK(dr_json_end(&j, &err), err);
    CHECK_EQ_INT(seen, 8);
    dr_arena_deinit(&arena);
}

TEST(json, leave_passes_over_the_rest_at_any_point) {
    struct dr_str doc = DR_STR("[[1,{\"a\":[2]},3],[],[{\"b\":1,\"c\":{}}],9]");
    for (int taken = 0; taken <= 3; taken++) {
        struct dr_json j;
        struct dr_err err;
        int64_t v = 0;
        dr_json_init(&j, doc, 0);
        CHECK_OK(dr_json_enter(&j, DR_JSON_ARRAY, &err), err);
        CHECK_EQ_INT(dr_json_next_element(&j, &err), 1);
        CHECK_OK(dr_json_enter(&j, DR_JSON_ARRAY, &err), err);
        for (int i = 0; i < taken; i++) {
            CHECK_EQ_INT(dr_json_next_element(&j, &err), 1);
        }
        CHECK_OK(dr_json_leave(&j, &err), err);
        CHECK_EQ_INT(dr_json_next_element(&j, &err), 1);
        CHECK_OK(dr_json_enter(&j, DR_JSON_ARRAY, &err), err);
        CHECK_OK(dr_json_leave(&j, &err), err);
        CHECK_EQ_INT(dr_json_next_element(&j, &err), 1);
        CHECK_EQ_INT(dr_json_next_element(&j, &err), 1);
        CHECK_OK(dr_json_i64(&j, &v, &err), err);
        CHECK_EQ_INT(v, 9);
        CHECK_EQ_INT(dr_json_next_element(&j, &err), 0);
        CHECK_OK(dr_json_end(&j, &err), err);
    }
}

TEST(json, wrong_type_names_both_and_sticks) {
    struct dr_json j;
    struct dr_err err;
    int64_t v = 0;
    dr_json_init(&j, DR_STR("{\"n\":\"7\"}"), 0);
    struct dr_json_key key;
    CHECK_OK(dr_json_enter(&j, DR_JSON_OBJECT, &err), err);
    CHECK_EQ_INT(dr_json_next_key(&j, &key, &err), 1);
    CHECK_FAILS(dr_json_i64(&j, &v, &err), err, DR_E_INVALID);
    CHECK_EQ_CSTR(err.text, "JSON, byte 5: expected a number, found a string");
    struct dr_err again;
    CHECK_FAILS(dr_json_next_key(&j, &key, &again), again, DR_E_INVALID);
    CHECK_EQ_CSTR(again.text, err.text);
    CHECK_EQ_INT(dr_json_leave(&j, NULL), -1);
    CHECK_EQ_INT(dr_json_end(&j, NULL), -1);
    CHECK_EQ_INT(dr_json_skip(&j, NULL), -1);
}

TEST(json, whole_numbers_must_be_whole_and_fit) {
    static const struct {
        const char *text;
        bool ok;
        int64_t v;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"1e3", true, 1000},
        {"2.0", true, 2},
        {"1.5", false, 0},
        {"1.50e1", true, 15},
        {"15e-1", false, 0},
        {"10e-1", true, 1},
        {"1e19", false, 0},
        {"0.0000e-5", true, 0},
        {"1e-1000000000000000000000", false, 0},
        {"1e1000000000000000000000", false, 0},
        {"0.0001", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dr_json j;
        struct dr_err err;
        int64_t v = 0;
        dr_json_init(&j, dr_str_of(cases[i].text), 0);
        if ((dr_json_i64(&j, &v, &err) == 0) != cases[i].ok || (cases[i].ok && v != cases[i].v)) {
            FAIL("%s: wrong, got %" PRId64, cases[i].text, v);
        }
    }
    struct dr_json j;
    struct dr_err err;
    int64_t v = 0;
    dr_json_init(&j, DR_STR("1e300"), 0);
    CHECK_FAILS(dr_json_micro(&j, &v, &err), err, DR_E_INVALID);
}

TEST(json, strings_without_escapes_are_views_and_others_are_decoded) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_json j;
    struct dr_err err;
    struct dr_str s;
    struct dr_str doc = DR_STR("\"plain \xC3\xA9\"");
    dr_json_init(&j, doc, 0);
    CHECK_OK(dr_json_str(&j, NULL, &s, &err), err);
    CHECK(s.p == doc.p + 1);
    dr_json_init(&j, DR_STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00x\""), 0);
    CHECK_OK(dr_json_str(&j, &arena, &s, &err), err);
    CHECK_EQ_STR(s, "\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80x");
    dr_json_init(&j, DR_STR("\"a\\u0000b\""), 0);
    CHECK_OK(dr_json_str(&j, &arena, &s, &err), err);
    CHECK_EQ_INT(s.n, 3);
    CHECK_EQ_INT(s.p[1], 0);
    dr_arena_deinit(&arena);

    dr_arena_init(&arena, 4);
    dr_json_init(&j, DR_STR("\"12345\\n\""), 0);
    CHECK_FAILS(dr_json_str(&j, &arena, &s, &err), err, DR_E_LIMIT);
    dr_arena_deinit(&arena);
}

TEST(json, keys_are_compared_decoded) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_json j;
    struct dr_err err;
    struct dr_json_key key;
    dr_json_init(&j, DR_STR("{\"\\u006eam\\u0065\":1,\"a\\\\b\":2,\"\\ud83d\\ude00\":3}"), 0);
    CHECK_OK(dr_json_enter(&j, DR_JSON_OBJECT, &err), err);
    CHECK_EQ_INT(dr_json_next_key(&j, &key, &err), 1);
    CHECK(dr_json_key_is(&key, "name"));
    CHECK(!dr_json_key_is(&key, "nam") && !dr_json_key_is(&key, "names"));
    CHECK_EQ_STR(dr_json_key_str(&key, &arena), "name");
    CHECK_EQ_INT(dr_json_next_key(&j, &key, &err), 1);
    CHECK(dr_json_key_is(&key, "a\\b") && !dr_json_key_is(&key, "a\\\\b"));
    CHECK_EQ_INT(dr_json_next_key(&j, &key, &err), 1);
    CHECK(dr_json_key_is(&key, "\xF0\x9F\x98\x80"));
    CHECK_EQ_INT(dr_json_next_key(&j, &key, &err), 0);
    dr_arena_deinit(&arena);
}

static int check_duplicates(struct dr_str doc, struct dr_err *err) {
    struct dr_json j;
    dr_json_init(&j, doc, 0);
    j.check_duplicates = true;
    return dr_json_skip(&j, err) < 0 ? -1 : dr_json_end(&j, err);
}

TEST(json, duplicate_keys_are_reported_where_asked_for) {
    struct dr_err err;
    CHECK_OK(check_duplicates(DR_STR("{\"a\":1,\"b\":{\"a\":1},\"c\":[{\"a\":1},{\"a\":2}]}"), &err), err);
    CHECK_OK(check_duplicates(DR_STR(" { } "), &err), err);
    CHECK_OK(check_duplicates(DR_STR("[ [ ] , 1 , { } , \"x\" ]"), &err), err);
    CHECK_FAILS(check_duplicates(DR_STR("{\"a\":1,\"b\":2, \"a\" :3}"), &err), err, DR_E_INVALID);
    CHECK_EQ_CSTR(err.text, "JSON, byte 14: key \"a\" occurs twice in one object");
    CHECK_FAILS(check_duplicates(DR_STR("{\"x\":[0,{\"y\":{\"a\":1,\"\\u0061\":2}}]}"), &err), err, DR_E_INVALID);
    CHECK_FAILS(check_duplicates(DR_STR("{\"a\":1,"), &err), err, DR_E_INVALID);
}

TEST(json, duplicate_keys_are_found_in_objects_of_any_size) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    struct dr_buf buf;
    dr_buf_init(&buf, 0);
    for (int round = 0; round < 60; round++) {
        unsigned n = (unsigned)dr_rand_between(&r, 2, 300);
        unsigned twice = (unsigned)dr_rand_below(&r, n);
        unsigned at = (unsigned)dr_rand_between(&r, twice + 1, n);
        struct dr_err err;
        for (int planted = 0; planted < 2; planted++) {
            dr_buf_clear(&buf);
            dr_buf_putc(&buf, '{');
            for (unsigned i = 0; i <= n; i++) {
                dr_buf_fmt(&buf, "%s\"k%u\":[%u,{\"k1\":1}]", i == 0 ? "" : ", ", planted && i == at ? twice : i, i);
            }
            dr_buf_putc(&buf, '}');
            int verdict = check_duplicates(dr_buf_str(&buf), &err);
            if ((verdict < 0) != (planted == 1)) {
                FAIL("%u keys, key %u again at %u: verdict %d", n, twice, at, verdict);
            }
        }
    }
    dr_buf_deinit(&buf);
}

/* Random bytes that are likely to be near the special ones. */
static char random_byte(struct dr_rand *r) {
    static const char likely[] = "\"\\\x1F\x20\x21\x7F\x80\xFF\x00\n\r\t  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    return dr_rand_below(r, 4) == 0 ? (char)dr_rand_below(r, 256) : likely[dr_rand_below(r, sizeof likely - 1)];
}

TEST(json, portable_and_vector_scans_agree) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    for (int round = 0; round < 30000; round++) {
        char bytes[80];
        size_t n = (size_t)dr_rand_below(&r, sizeof bytes);
        bool spaces = dr_rand_below(&r, 2) == 0;
        for (size_t i = 0; i < n; i++) {
            bytes[i] = spaces && dr_rand_below(&r, 20) != 0 ? " \n\r\t"[dr_rand_below(&r, 4)] : random_byte(&r);
        }
        size_t from = n == 0 ? 0 : (size_t)dr_rand_below(&r, n);
        const char *p = bytes + from;
        const char *end = bytes + n;
        const char *plain = p;
        while (plain < end && dr_json_is_plain(*plain)) {
            plain++;
        }
        const char *space = p;
        while (space < end && dr_json_is_space(*space)) {
            space++;
        }
        CHECK(dr_json_plain_end_portable(p, end) == plain);
        CHECK(dr_json_space_end_portable(p, end) == space);
#ifdef DR_JSON_SSE2
        CHECK(dr_json_plain_end_sse2(p, end) == plain);
        CHECK(dr_json_space_end_sse2(p, end) == space);
#endif
    }
}

static void read_twice(void *arg) {
    (void)arg;
    struct dr_json j;
    int64_t v = 0;
    dr_json_init(&j, DR_STR("1"), 0);
    (void)dr_json_i64(&j, &v, NULL);
    (void)dr_json_i64(&j, &v, NULL);
}
static void key_in_array(void *arg) {
    (void)arg;
    struct dr_json j;
    struct dr_json_key key;
    dr_json_init(&j, DR_STR("[1]"), 0);
    (void)dr_json_enter(&j, DR_JSON_ARRAY, NULL);
    (void)dr_json_next_key(&j, &key, NULL);
}
static void leave_nothing(void *arg) {
    (void)arg;
    struct dr_json j;
    dr_json_init(&j, DR_STR("[1]"), 0);
    (void)dr_json_leave(&j, NULL);
}
TEST(json, calls_in_a_wrong_order_assert) {
    CHECK(dr_test_dies(read_twice, NULL));
    CHECK(dr_test_dies(key_in_array, NULL));
    CHECK(dr_test_dies(leave_nothing, NULL));
}
