#include <string.h>

#include "base/json_write.h"
#include "core/state_schema.h"

/* {"N":"42"}: DynamoDB carries numbers as text. */
static void put_number(struct dr_jsonw *w, int64_t v) {
    char text[24];
    size_t at = sizeof(text);
    DR_ASSERT(v >= 0);
    text[--at] = '"';
    do {
        text[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    text[--at] = '"';
    dr_jsonw_key(w, "N");
    dr_jsonw_raw(w, (struct dr_str){text + at, sizeof(text) - at});
}

static void put_id(struct dr_jsonw *w, struct dr_str id) {
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "S", id);
    dr_jsonw_end(w);
}

static void put_ids(struct dr_jsonw *w, struct dr_strs ids) {
    dr_jsonw_key(w, "L");
    dr_jsonw_array(w);
    for (size_t i = 0; i < ids.n; i++) {
        put_id(w, ids.v[i]);
    }
    dr_jsonw_end(w);
}

/* A text past the ceiling would make the item unreadable; it is cut, on a character. */
static struct dr_str cut_text(struct dr_str s) {
    if (s.n <= DR_STATE_MAX_TEXT) {
        return s;
    }
    size_t n = DR_STATE_MAX_TEXT;
    while (n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80) {
        n--;
    }
    return dr_str_sub(s, 0, n);
}

static bool is_filled(const struct dr_field *field, const void *base) {
    const void *at = dr_field_at(field, base);
    switch (field->kind) {
    case DR_FIELD_BOOL:
    case DR_FIELD_PHASE:
        return *(const bool *)at;
    case DR_FIELD_EPOCH:
    case DR_FIELD_COUNT:
        return *(const int64_t *)at != 0;
    case DR_FIELD_ID:
    case DR_FIELD_TEXT:
        return ((const struct dr_str *)at)->n > 0;
    case DR_FIELD_ENUM:
        return true;
    case DR_FIELD_IDS:
    case DR_FIELD_MAPS:
        break;
    }
    return dr_field_list(field, base).n > 0;
}

static void put_field(struct dr_jsonw *w, const struct dr_field *field, const void *base);

static void put_maps(struct dr_jsonw *w, const struct dr_schema *schema, struct dr_any_list list) {
    dr_jsonw_key(w, "L");
    dr_jsonw_array(w);
    for (size_t i = 0; i < list.n; i++) {
        const char *element = (const char *)list.v + i * schema->size;
        dr_jsonw_object(w);
        dr_jsonw_key(w, "M");
        dr_jsonw_object(w);
        for (size_t k = 0; k < schema->field_n; k++) {
            if (schema->fields[k].required || is_filled(&schema->fields[k], element)) {
                put_field(w, &schema->fields[k], element);
            }
        }
        dr_jsonw_end(w);
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
}

static void put_name(struct dr_jsonw *w, const struct dr_field *field, size_t i) {
    DR_ASSERT(i < field->name_n);
    dr_jsonw_kv_cstr(w, "S", field->names[i]);
}

static void put_field(struct dr_jsonw *w, const struct dr_field *field, const void *base) {
    const void *at = dr_field_at(field, base);
    struct dr_any_list list;
    dr_jsonw_key(w, field->name);
    dr_jsonw_object(w);
    switch (field->kind) {
    case DR_FIELD_BOOL:
        dr_jsonw_kv_bool(w, "BOOL", *(const bool *)at);
        break;
    case DR_FIELD_EPOCH:
    case DR_FIELD_COUNT:
        put_number(w, *(const int64_t *)at);
        break;
    case DR_FIELD_ID:
    case DR_FIELD_TEXT:
        dr_jsonw_kv_str(w, "S", cut_text(*(const struct dr_str *)at));
        break;
    case DR_FIELD_ENUM:
        put_name(w, field, (size_t)dr_field_enum(field, base));
        break;
    case DR_FIELD_PHASE:
        put_name(w, field, *(const bool *)at ? 1 : 0);
        break;
    case DR_FIELD_IDS:
        list = dr_field_list(field, base);
        put_ids(w, (struct dr_strs){list.v, list.n});
        break;
    case DR_FIELD_MAPS:
        put_maps(w, field->element, dr_field_list(field, base));
        break;
    }
    dr_jsonw_end(w);
}

/* The list that other programs read says what the attempts say. */
static void put_attempt_ids(struct dr_jsonw *w, const struct dr_field *field, const struct dr_state *state) {
    dr_jsonw_key(w, field->name);
    dr_jsonw_object(w);
    dr_jsonw_key(w, "L");
    dr_jsonw_array(w);
    for (size_t i = 0; i < state->attempts.n; i++) {
        if (state->attempts.v[i].instance_id.n > 0) {
            put_id(w, state->attempts.v[i].instance_id);
        }
    }
    dr_jsonw_end(w);
    dr_jsonw_end(w);
}

static bool is_written(const struct dr_state *state, const struct dr_field *field) {
    switch (field->write) {
    case DR_WRITE_ALWAYS:
        return true;
    case DR_WRITE_UP:
        return state->up_action_id.n > 0 || is_filled(field, state);
    case DR_WRITE_ATTEMPTS:
        return (state->up_action_id.n > 0 && state->up_has_attempts) || is_filled(field, state);
    case DR_WRITE_DOWN:
        return state->down_action_id.n > 0 || is_filled(field, state);
    case DR_WRITE_FILLED:
        break;
    }
    return is_filled(field, state);
}

/* A value that could not be understood and stops everything stands in `extra` under the name of a field of ours. */
static bool stands_in_extra(const struct dr_state *state, const char *name) {
    if (state->problems.n == 0) {
        return false;
    }
    for (size_t i = 0; i < state->extra.n; i++) {
        if (dr_str_is(state->extra.v[i].name, name)) {
            return true;
        }
    }
    return false;
}

void dr_state_encode(const struct dr_state *state, struct dr_buf *buf) {
    struct dr_jsonw w;
    dr_jsonw_init(&w, buf, 0);
    dr_jsonw_object(&w);
    for (size_t i = 0; i < dr_state_schema.field_n; i++) {
        const struct dr_field *field = &dr_state_schema.fields[i];
        if (!is_written(state, field) || stands_in_extra(state, field->name)) {
            continue;
        }
        if (state->up_has_attempts && field->offset == offsetof(struct dr_state, up_instance_ids)) {
            put_attempt_ids(&w, field, state);
        } else {
            put_field(&w, field, state);
        }
    }
    for (size_t i = 0; i < state->extra.n; i++) {
        dr_jsonw_key_str(&w, state->extra.v[i].name);
        dr_jsonw_raw(&w, state->extra.v[i].json);
    }
    dr_jsonw_end(&w);
}
