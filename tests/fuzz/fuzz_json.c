/*
 * Any bytes: pulling and skipping agree on whether they are JSON; what was pulled and written again is JSON, and pulling that gives the same text; asking for
 * duplicate keys refuses nothing but duplicates.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_write.h"
#include "harness/fuzz.h"

/* Copies one value through reader and writer. */
static int copy_value(struct dr_json *j, struct dr_jsonw *w, struct dr_arena *arena, struct dr_err *err) {
    enum dr_json_type type = DR_JSON_NULL;
    struct dr_json_key key;
    struct dr_str s;
    bool flag = false;
    int r = dr_json_peek(j, &type, err);
    if (r < 0) {
        return -1;
    }
    switch (type) {
    case DR_JSON_NULL:
        r = dr_json_null(j, err);
        dr_jsonw_null(w);
        return r;
    case DR_JSON_BOOL:
        r = dr_json_bool(j, &flag, err);
        dr_jsonw_bool(w, flag);
        return r;
    case DR_JSON_NUMBER:
        r = dr_json_number(j, &s, err);
        dr_jsonw_raw(w, r < 0 ? DR_STR("0") : s);
        return r;
    case DR_JSON_STRING:
        r = dr_json_str(j, arena, &s, err);
        dr_jsonw_str(w, r < 0 ? DR_STR("") : s);
        return r;
    case DR_JSON_ARRAY:
        r = dr_json_enter(j, type, err);
        if (r == 0) {
            dr_jsonw_array(w);
        }
        while (r >= 0 && (r = dr_json_next_element(j, err)) > 0) {
            r = copy_value(j, w, arena, err);
        }
        break;
    case DR_JSON_OBJECT:
        r = dr_json_enter(j, type, err);
        if (r == 0) {
            dr_jsonw_object(w);
        }
        while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
            dr_jsonw_key_str(w, dr_json_key_str(&key, arena));
            r = copy_value(j, w, arena, err);
        }
        break;
    }
    if (r == 0) {
        dr_jsonw_end(w);
    }
    return r;
}

static bool copy_document(struct dr_str doc, struct dr_buf *out, struct dr_arena *arena) {
    struct dr_json j;
    struct dr_jsonw w;
    struct dr_err err;
    dr_json_init(&j, doc, 0);
    dr_jsonw_init(&w, out, 0);
    return copy_value(&j, &w, arena, &err) >= 0 && dr_json_end(&j, &err) == 0;
}

DR_FUZZ(json) {
    struct dr_str doc = {(const char *)data, n};
    struct dr_arena arena;
    struct dr_buf once;
    struct dr_buf twice;
    struct dr_json j;
    struct dr_err err;
    dr_arena_init(&arena, 0);
    dr_buf_init(&once, 0);
    dr_buf_init(&twice, 0);
    bool pulled = copy_document(doc, &once, &arena);
    dr_json_init(&j, doc, 0);
    bool skipped = dr_json_skip(&j, &err) == 0 && dr_json_end(&j, &err) == 0;
    DR_ASSERT(pulled == skipped);
    DR_ASSERT(skipped || err.text[0] != '\0');
    if (pulled) {
        DR_ASSERT(copy_document(dr_buf_str(&once), &twice, &arena));
        DR_ASSERT(dr_str_eq(dr_buf_str(&once), dr_buf_str(&twice)));
    }
    dr_json_init(&j, doc, 0);
    j.check_duplicates = true;
    if (dr_json_skip(&j, &err) < 0 && skipped) {
        DR_ASSERT(strstr(err.text, "occurs twice") != NULL);
    }
    dr_buf_deinit(&twice);
    dr_buf_deinit(&once);
    dr_arena_deinit(&arena);
}
