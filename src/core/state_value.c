#include "core/state_value.h"
#include "base/json.h"

#define MAX_COUNT ((INT64_C(1) << 53) - 1) /* what every other reader can hold exactly */

static const struct {
    const char *tag;
    const char *name;
} type_names[] = {
    {"S", "a string"},  {"N", "a number"},      {"BOOL", "a boolean"},  {"L", "a list"},        {"M", "a map"},
    {"NULL", "a null"}, {"SS", "a string set"}, {"NS", "a number set"}, {"BS", "a binary set"}, {"B", "binary"},
};

static const char *type_name(struct dr_str tag) {
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (dr_str_is(tag, type_names[i].tag)) {
            return type_names[i].name;
        }
    }
    return NULL;
}

void dr_value_reader(struct dr_json *j, struct dr_str json) {
    dr_json_init(j, json, DR_STATE_MAX_BYTES);
    j->check_duplicates = true;
}

static int not_an_attribute(const struct dr_decoder *d) {
    return dr_fail(d->err, DR_E_INVALID, "attribute %.*s: must be an object with one type, like {\"S\":\"text\"}", DR_FMT(d->attribute));
}

int dr_value_open(const struct dr_decoder *d, struct dr_str json, struct dr_typed *ret) {
    struct dr_json j;
    struct dr_json_key key, second;
    enum dr_json_type type;
    dr_value_reader(&j, json);
    if (dr_json_peek(&j, &type, d->err) < 0) {
        return -1;
    }
    if (type != DR_JSON_OBJECT) {
        return not_an_attribute(d);
    }
    if (dr_json_enter(&j, DR_JSON_OBJECT, d->err) < 0) {
        return -1;
    }
    int r = dr_json_next_key(&j, &key, d->err);
    if (r < 0) {
        return -1;
    }
    if (r == 0) {
        return not_an_attribute(d);
    }
    ret->tag = dr_json_key_str(&key, d->arena);
    if (dr_json_raw(&j, &ret->json, d->err) < 0) {
        return -1;
    }
    r = dr_json_next_key(&j, &second, d->err);
    if (r < 0) {
        return -1;
    }
    return r > 0 || type_name(ret->tag) == NULL ? not_an_attribute(d) : DR_VALUE_READ;
}

/* Enters the JSON behind the type; it must be of `type`, as DynamoDB always has it. */
static int open_json(const struct dr_decoder *d, struct dr_typed value, enum dr_json_type type, struct dr_json *j) {
    enum dr_json_type seen;
    dr_value_reader(j, value.json);
    if (dr_json_peek(j, &seen, d->err) < 0) {
        return -1;
    }
    if (seen != type) {
        return dr_fail(d->err, DR_E_INVALID, "attribute %.*s: %.*s is not %s of DynamoDB's form", DR_FMT(d->attribute),
                       (int)(value.json.n < 40 ? value.json.n : 40), value.json.p, type_name(value.tag));
    }
    return DR_VALUE_READ;
}

static int wrong_type(const struct dr_decoder *d, struct dr_str tag, const char *wanted, struct dr_str *what) {
    *what = dr_str_fmt(d->arena, "is %s, must be %s", type_name(tag), wanted);
    return DR_VALUE_WRONG;
}

static int read_string(const struct dr_decoder *d, struct dr_typed value, size_t max, struct dr_str *ret, struct dr_str *what) {
    struct dr_json j;
    if (!dr_str_is(value.tag, "S")) {
        return wrong_type(d, value.tag, "a string", what);
    }
    if (open_json(d, value, DR_JSON_STRING, &j) < 0 || dr_json_str(&j, d->arena, ret, d->err) < 0) {
        return -1;
    }
    if (ret->n > max) {
        return dr_fail(d->err, DR_E_LIMIT, "attribute %.*s: a string of %zu bytes, at most %zu are allowed", DR_FMT(d->attribute), ret->n,
                       max);
    }
    return DR_VALUE_READ;
}

/* Other programs may store a time with its fraction; whole seconds are enough for every clock here. */
static bool parse_epoch(struct dr_str text, int64_t *ret) {
    int64_t micro;
    if (dr_str_to_i64(text, ret)) {
        return true;
    }
    if (!dr_str_to_micro(text, &micro)) {
        return false;
    }
    *ret = micro / 1000000;
    return true;
}

static int read_number(const struct dr_decoder *d, struct dr_typed value, bool epoch, int64_t *ret, struct dr_str *what) {
    struct dr_json j;
    struct dr_str text;
    int64_t v;
    if (!dr_str_is(value.tag, "N")) {
        return wrong_type(d, value.tag, "a number", what);
    }
    if (open_json(d, value, DR_JSON_STRING, &j) < 0 || dr_json_str(&j, d->arena, &text, d->err) < 0) {
        return -1;
    }
    int64_t max = epoch ? DR_STATE_MAX_EPOCH : MAX_COUNT;
    if (!(epoch ? parse_epoch(text, &v) : dr_str_to_i64(text, &v)) || v < 0 || v > max) {
        *what = dr_str_fmt(d->arena, "is %.*s, must be %s from 0 to %lld", text.n < 40 ? (int)text.n : 40, text.n == 0 ? "" : text.p,
                           epoch ? "a time in seconds" : "a whole number", (long long)max);
        return DR_VALUE_WRONG;
    }
    *ret = v;
    return DR_VALUE_READ;
}

static int read_bool(const struct dr_decoder *d, struct dr_typed value, bool *ret, struct dr_str *what) {
    struct dr_json j;
    if (!dr_str_is(value.tag, "BOOL")) {
        return wrong_type(d, value.tag, "a boolean", what);
    }
    if (open_json(d, value, DR_JSON_BOOL, &j) < 0) {
        return -1;
    }
    return dr_json_bool(&j, ret, d->err);
}

static int read_name(const struct dr_decoder *d, struct dr_typed value, const struct dr_field *field, int *ret, struct dr_str *what) {
    struct dr_str text;
    int r = read_string(d, value, DR_STATE_MAX_TEXT, &text, what);
    if (r != DR_VALUE_READ) {
        return r;
    }
    for (size_t i = 0; i < field->name_n; i++) {
        if (dr_str_is(text, field->names[i])) {
            *ret = (int)i;
            return DR_VALUE_READ;
        }
    }
    *what = dr_str_fmt(d->arena, "is \"%.*s\", must be %s", text.n < 40 ? (int)text.n : 40, text.n == 0 ? "" : text.p, field->names[0]);
    for (size_t i = 1; i < field->name_n; i++) {
        *what = dr_str_fmt(d->arena, "%.*s or %s", DR_FMT(*what), field->names[i]);
    }
    return DR_VALUE_WRONG;
}

static int read_id_element(struct dr_decoder *d, struct dr_str json, struct dr_str *ret, struct dr_str *what) {
    struct dr_typed value = {0};
    if (dr_value_open(d, json, &value) < 0) {
        return -1;
    }
    int r = read_string(d, value, DR_STATE_MAX_ID, ret, what);
    if (r == DR_VALUE_READ && ret->n == 0) {
        *what = DR_STR("is empty");
        return DR_VALUE_WRONG;
    }
    return r;
}

const struct dr_field *dr_value_field(const struct dr_schema *schema, const struct dr_json_key *key) {
    for (size_t i = 0; i < schema->field_n; i++) {
        if (dr_json_key_is(key, schema->fields[i].name)) {
            return &schema->fields[i];
        }
    }
    return NULL;
}

/* Keys of an element that we do not know are left out: the list is ours. */
static int read_map_element(struct dr_decoder *d, struct dr_str json, const struct dr_schema *schema, void *ret, struct dr_str *what) {
    struct dr_typed value = {0};
    struct dr_json j;
    struct dr_json_key key;
    struct dr_str raw;
    struct dr_str inner = DR_STR_NONE;
    uint64_t seen = 0;
    int r;
    if (dr_value_open(d, json, &value) < 0) {
        return -1;
    }
    if (!dr_str_is(value.tag, "M")) {
        return wrong_type(d, value.tag, "a map", what);
    }
    if (open_json(d, value, DR_JSON_OBJECT, &j) < 0 || dr_json_enter(&j, DR_JSON_OBJECT, d->err) < 0) {
        return -1;
    }
    while ((r = dr_json_next_key(&j, &key, d->err)) > 0) {
        const struct dr_field *field = dr_value_field(schema, &key);
        if (dr_json_raw(&j, &raw, d->err) < 0) {
            return -1;
        }
        if (field == NULL) {
            continue;
        }
        seen |= UINT64_C(1) << (field - schema->fields);
        r = dr_value_read(d, raw, field, ret, &inner);
        if (r < 0) {
            return -1;
        }
        if (r == DR_VALUE_WRONG) {
            *what = dr_str_fmt(d->arena, "%s %.*s", field->name, DR_FMT(inner));
            return DR_VALUE_WRONG;
        }
    }
    for (size_t i = 0; r == 0 && i < schema->field_n; i++) {
        if (schema->fields[i].required && (seen >> i & 1) == 0) {
            *what = dr_str_fmt(d->arena, "has no %s", schema->fields[i].name);
            return DR_VALUE_WRONG;
        }
    }
    return r;
}

/* How many elements, so that the array is allocated once; the ceiling is checked here. */
static int count_elements(const struct dr_decoder *d, struct dr_typed value, size_t *ret) {
    struct dr_json j;
    int r;
    size_t n = 0;
    if (open_json(d, value, DR_JSON_ARRAY, &j) < 0 || dr_json_enter(&j, DR_JSON_ARRAY, d->err) < 0) {
        return -1;
    }
    while ((r = dr_json_next_element(&j, d->err)) > 0) {
        if (++n > DR_STATE_MAX_LIST) {
            return dr_fail(d->err, DR_E_LIMIT, "attribute %.*s: more than %d elements", DR_FMT(d->attribute), DR_STATE_MAX_LIST);
        }
    }
    *ret = n;
    return r;
}

static int read_list(struct dr_decoder *d, struct dr_typed value, const struct dr_field *field, void *base, struct dr_str *what) {
    struct dr_json j;
    struct dr_str raw;
    struct dr_str inner = DR_STR_NONE;
    size_t n = 0;
    int r;
    if (!dr_str_is(value.tag, "L")) {
        return wrong_type(d, value.tag, "a list", what);
    }
    if (count_elements(d, value, &n) < 0) {
        return -1;
    }
    if (n == 0) {
        return DR_VALUE_READ;
    }
    size_t size = field->kind == DR_FIELD_IDS ? sizeof(struct dr_str) : field->element->size;
    char *v = dr_arena_alloc(d->arena, n, size);
    if (open_json(d, value, DR_JSON_ARRAY, &j) < 0 || dr_json_enter(&j, DR_JSON_ARRAY, d->err) < 0) {
        return -1;
    }
    for (size_t i = 0; (r = dr_json_next_element(&j, d->err)) > 0; i++) {
        if (dr_json_raw(&j, &raw, d->err) < 0) {
            return -1;
        }
        void *at = v + i * size;
        r = field->kind == DR_FIELD_IDS ? read_id_element(d, raw, at, &inner) : read_map_element(d, raw, field->element, at, &inner);
        if (r < 0) {
            return -1;
        }
        if (r == DR_VALUE_WRONG) {
            *what = dr_str_fmt(d->arena, "has an element %zu that %.*s", i, DR_FMT(inner));
            return DR_VALUE_WRONG;
        }
    }
    if (r == 0) {
        dr_field_set_list(field, base, (struct dr_any_list){v, n});
    }
    return r;
}

int dr_value_read(struct dr_decoder *d, struct dr_str json, const struct dr_field *field, void *base, struct dr_str *what) {
    struct dr_typed value = {0};
    void *at = dr_field_in(field, base);
    struct dr_str text;
    int name, r;
    if (dr_value_open(d, json, &value) < 0) {
        return -1;
    }
    switch (field->kind) {
    case DR_FIELD_BOOL:
        return read_bool(d, value, at, what);
    case DR_FIELD_EPOCH:
    case DR_FIELD_COUNT:
        return read_number(d, value, field->kind == DR_FIELD_EPOCH, at, what);
    case DR_FIELD_ID:
    case DR_FIELD_TEXT:
        r = read_string(d, value, field->kind == DR_FIELD_ID ? DR_STATE_MAX_ID : DR_STATE_MAX_TEXT, &text, what);
        if (r == DR_VALUE_READ && text.n == 0 && field->required) {
            *what = DR_STR("is empty");
            return DR_VALUE_WRONG;
        }
        if (r == DR_VALUE_READ) {
            *(struct dr_str *)at = text;
        }
        return r;
    case DR_FIELD_ENUM:
    case DR_FIELD_PHASE:
        r = read_name(d, value, field, &name, what);
        if (r == DR_VALUE_READ && field->kind == DR_FIELD_PHASE) {
            *(bool *)at = name == 1;
        } else if (r == DR_VALUE_READ) {
            dr_field_set_enum(field, base, name);
        }
        return r;
    case DR_FIELD_IDS:
    case DR_FIELD_MAPS:
        break;
    }
    return read_list(d, value, field, base, what);
}
