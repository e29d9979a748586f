#include <string.h>

#include "base/json.h"
#include "core/state_edit.h"
#include "core/state_schema.h"

#define MAX_COUNT ((INT64_C(1) << 53) - 1) /* what every other reader can hold exactly */

/* Results of the functions below: -1 = error, 0 = read, 1 = not what the attribute must be; then `what` says so. */
enum { READ = 0, WRONG = 1 };

struct decoder {
    struct dr_arena *arena;
    struct dr_err *err;
    struct dr_str attribute; /* for messages */
};

/* One attribute value, {"S":"text"}: its type and what stands behind it. */
struct typed {
    struct dr_str tag;
    struct dr_str json;
};

static const struct {
    const char *tag;
    const char *name;
} type_names[] = {
    {"S", "a string"},  {"N", "a number"},      {"BOOL", "a boolean"},  {"L", "a list"},        {"M", "a map"},
    {"NULL", "a null"}, {"SS", "a string set"}, {"NS", "a number set"}, {"BS", "a binary set"}, {"B", "binary"},
};

static const char *type_name(struct dr_str tag) {
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++)
        if (dr_str_is(tag, type_names[i].tag))
            return type_names[i].name;
    return NULL;
}

static void reader(struct dr_json *j, struct dr_str json) {
    dr_json_init(j, json, DR_STATE_MAX_BYTES);
    j->check_duplicates = true;
}

static int not_an_attribute(const struct decoder *d) {
    return dr_fail(d->err, DR_E_INVALID, "attribute %.*s: must be an object with one type, like {\"S\":\"text\"}", DR_FMT(d->attribute));
}

static int open_typed(const struct decoder *d, struct dr_str json, struct typed *ret) {
    struct dr_json j;
    struct dr_json_key key, second;
    enum dr_json_type type;
    reader(&j, json);
    if (dr_json_peek(&j, &type, d->err) < 0)
        return -1;
    if (type != DR_JSON_OBJECT)
        return not_an_attribute(d);
    if (dr_json_enter(&j, DR_JSON_OBJECT, d->err) < 0)
        return -1;
    int r = dr_json_next_key(&j, &key, d->err);
    if (r < 0)
        return -1;
    if (r == 0)
        return not_an_attribute(d);
    ret->tag = dr_json_key_str(&key, d->arena);
    if (dr_json_raw(&j, &ret->json, d->err) < 0)
        return -1;
    r = dr_json_next_key(&j, &second, d->err);
    if (r < 0)
        return -1;
    return r > 0 || type_name(ret->tag) == NULL ? not_an_attribute(d) : READ;
}

/* Enters the JSON behind the type; it must be of `type`, as DynamoDB always has it. */
static int open_json(const struct decoder *d, struct typed value, enum dr_json_type type, struct dr_json *j) {
    enum dr_json_type seen;
    reader(j, value.json);
    if (dr_json_peek(j, &seen, d->err) < 0)
        return -1;
    if (seen != type)
        return dr_fail(d->err, DR_E_INVALID, "attribute %.*s: %.*s is not %s of DynamoDB's form", DR_FMT(d->attribute),
                       (int)(value.json.n < 40 ? value.json.n : 40), value.json.p, type_name(value.tag));
    return READ;
}

static int wrong_type(const struct decoder *d, struct dr_str tag, const char *wanted, struct dr_str *what) {
    *what = dr_str_fmt(d->arena, "is %s, must be %s", type_name(tag), wanted);
    return WRONG;
}

static int read_string(const struct decoder *d, struct typed value, size_t max, struct dr_str *ret, struct dr_str *what) {
    struct dr_json j;
    if (!dr_str_is(value.tag, "S"))
        return wrong_type(d, value.tag, "a string", what);
    if (open_json(d, value, DR_JSON_STRING, &j) < 0 || dr_json_str(&j, d->arena, ret, d->err) < 0)
        return -1;
    if (ret->n > max)
        return dr_fail(d->err, DR_E_LIMIT, "attribute %.*s: a string of %zu bytes, at most %zu are allowed", DR_FMT(d->attribute), ret->n,
                       max);
    return READ;
}

/* Other programs may store a time with its fraction; whole seconds are enough for every clock here. */
static bool parse_epoch(struct dr_str text, int64_t *ret) {
    int64_t micro;
    if (dr_str_to_i64(text, ret))
        return true;
    if (!dr_str_to_micro(text, &micro))
        return false;
    *ret = micro / 1000000;
    return true;
}

static int read_number(const struct decoder *d, struct typed value, bool epoch, int64_t *ret, struct dr_str *what) {
    struct dr_json j;
    struct dr_str text;
    int64_t v;
    if (!dr_str_is(value.tag, "N"))
        return wrong_type(d, value.tag, "a number", what);
    if (open_json(d, value, DR_JSON_STRING, &j) < 0 || dr_json_str(&j, d->arena, &text, d->err) < 0)
        return -1;
    int64_t max = epoch ? DR_STATE_MAX_EPOCH : MAX_COUNT;
    if (!(epoch ? parse_epoch(text, &v) : dr_str_to_i64(text, &v)) || v < 0 || v > max) {
        *what = dr_str_fmt(d->arena, "is %.*s, must be %s from 0 to %lld", text.n < 40 ? (int)text.n : 40, text.n == 0 ? "" : text.p,
                           epoch ? "a time in seconds" : "a whole number", (long long)max);
        return WRONG;
    }
    *ret = v;
    return READ;
}

static int read_bool(const struct decoder *d, struct typed value, bool *ret, struct dr_str *what) {
    struct dr_json j;
    if (!dr_str_is(value.tag, "BOOL"))
        return wrong_type(d, value.tag, "a boolean", what);
    if (open_json(d, value, DR_JSON_BOOL, &j) < 0)
        return -1;
    return dr_json_bool(&j, ret, d->err);
}

static int read_name(const struct decoder *d, struct typed value, const struct dr_field *field, int *ret, struct dr_str *what) {
    struct dr_str text;
    int r = read_string(d, value, DR_STATE_MAX_TEXT, &text, what);
    if (r != READ)
        return r;
    for (size_t i = 0; i < field->name_n; i++) {
        if (dr_str_is(text, field->names[i])) {
            *ret = (int)i;
            return READ;
        }
    }
    *what = dr_str_fmt(d->arena, "is \"%.*s\", must be %s", text.n < 40 ? (int)text.n : 40, text.n == 0 ? "" : text.p, field->names[0]);
    for (size_t i = 1; i < field->name_n; i++)
        *what = dr_str_fmt(d->arena, "%.*s or %s", DR_FMT(*what), field->names[i]);
    return WRONG;
}

static int read_field(struct decoder *d, struct dr_str json, const struct dr_field *field, void *base, struct dr_str *what);

static int read_id_element(struct decoder *d, struct dr_str json, struct dr_str *ret, struct dr_str *what) {
    struct typed value;
    if (open_typed(d, json, &value) < 0)
        return -1;
    int r = read_string(d, value, DR_STATE_MAX_ID, ret, what);
    if (r == READ && ret->n == 0) {
        *what = DR_STR("is empty");
        return WRONG;
    }
    return r;
}

static const struct dr_field *find_field(const struct dr_schema *schema, const struct dr_json_key *key) {
    for (size_t i = 0; i < schema->field_n; i++)
        if (dr_json_key_is(key, schema->fields[i].name))
            return &schema->fields[i];
    return NULL;
}

/* Keys of an element that we do not know are left out: the list is ours. */
static int read_map_element(struct decoder *d, struct dr_str json, const struct dr_schema *schema, void *ret, struct dr_str *what) {
    struct typed value;
    struct dr_json j;
    struct dr_json_key key;
    struct dr_str raw, inner;
    uint64_t seen = 0;
    int r;
    if (open_typed(d, json, &value) < 0)
        return -1;
    if (!dr_str_is(value.tag, "M"))
        return wrong_type(d, value.tag, "a map", what);
    if (open_json(d, value, DR_JSON_OBJECT, &j) < 0 || dr_json_enter(&j, DR_JSON_OBJECT, d->err) < 0)
        return -1;
    while ((r = dr_json_next_key(&j, &key, d->err)) > 0) {
        const struct dr_field *field = find_field(schema, &key);
        if (dr_json_raw(&j, &raw, d->err) < 0)
            return -1;
        if (field == NULL)
            continue;
        seen |= UINT64_C(1) << (field - schema->fields);
        r = read_field(d, raw, field, ret, &inner);
        if (r < 0)
            return -1;
        if (r == WRONG) {
            *what = dr_str_fmt(d->arena, "%s %.*s", field->name, DR_FMT(inner));
            return WRONG;
        }
    }
    for (size_t i = 0; r == 0 && i < schema->field_n; i++) {
        if (schema->fields[i].required && (seen >> i & 1) == 0) {
            *what = dr_str_fmt(d->arena, "has no %s", schema->fields[i].name);
            return WRONG;
        }
    }
    return r;
}

/* How many elements, so that the array is allocated once; the ceiling is checked here. */
static int count_elements(const struct decoder *d, struct typed value, size_t *ret) {
    struct dr_json j;
    int r;
    size_t n = 0;
    if (open_json(d, value, DR_JSON_ARRAY, &j) < 0 || dr_json_enter(&j, DR_JSON_ARRAY, d->err) < 0)
        return -1;
    while ((r = dr_json_next_element(&j, d->err)) > 0)
        if (++n > DR_STATE_MAX_LIST)
            return dr_fail(d->err, DR_E_LIMIT, "attribute %.*s: more than %d elements", DR_FMT(d->attribute), DR_STATE_MAX_LIST);
    *ret = n;
    return r;
}

static int read_list(struct decoder *d, struct typed value, const struct dr_field *field, void *base, struct dr_str *what) {
    struct dr_json j;
    struct dr_str raw, inner;
    size_t n = 0;
    int r;
    if (!dr_str_is(value.tag, "L"))
        return wrong_type(d, value.tag, "a list", what);
    if (count_elements(d, value, &n) < 0)
        return -1;
    if (n == 0)
        return READ;
    size_t size = field->kind == DR_FIELD_IDS ? sizeof(struct dr_str) : field->element->size;
    char *v = dr_arena_alloc(d->arena, n, size);
    if (open_json(d, value, DR_JSON_ARRAY, &j) < 0 || dr_json_enter(&j, DR_JSON_ARRAY, d->err) < 0)
        return -1;
    for (size_t i = 0; (r = dr_json_next_element(&j, d->err)) > 0; i++) {
        if (dr_json_raw(&j, &raw, d->err) < 0)
            return -1;
        void *at = v + i * size;
        r = field->kind == DR_FIELD_IDS ? read_id_element(d, raw, at, &inner) : read_map_element(d, raw, field->element, at, &inner);
        if (r < 0)
            return -1;
        if (r == WRONG) {
            *what = dr_str_fmt(d->arena, "has an element %zu that %.*s", i, DR_FMT(inner));
            return WRONG;
        }
    }
    if (r == 0)
        dr_field_set_list(field, base, (struct dr_any_list){v, n});
    return r;
}

static int read_field(struct decoder *d, struct dr_str json, const struct dr_field *field, void *base, struct dr_str *what) {
    struct typed value;
    void *at = dr_field_in(field, base);
    struct dr_str text;
    int name, r;
    if (open_typed(d, json, &value) < 0)
        return -1;
    switch (field->kind) {
    case DR_FIELD_BOOL:
        return read_bool(d, value, at, what);
    case DR_FIELD_EPOCH:
    case DR_FIELD_COUNT:
        return read_number(d, value, field->kind == DR_FIELD_EPOCH, at, what);
    case DR_FIELD_ID:
    case DR_FIELD_TEXT:
        r = read_string(d, value, field->kind == DR_FIELD_ID ? DR_STATE_MAX_ID : DR_STATE_MAX_TEXT, &text, what);
        if (r == READ && text.n == 0 && field->required) {
            *what = DR_STR("is empty");
            return WRONG;
        }
        if (r == READ)
            *(struct dr_str *)at = text;
        return r;
    case DR_FIELD_ENUM:
    case DR_FIELD_PHASE:
        r = read_name(d, value, field, &name, what);
        if (r == READ && field->kind == DR_FIELD_PHASE)
            *(bool *)at = name == 1;
        else if (r == READ)
            dr_field_set_enum(field, base, name);
        return r;
    case DR_FIELD_IDS:
    case DR_FIELD_MAPS:
        break;
    }
    return read_list(d, value, field, base, what);
}

static void add_problem(struct decoder *d, struct dr_state *state, const struct dr_field *field, struct dr_str what) {
    struct dr_problem *v = DR_NEW_N(d->arena, struct dr_problem, state->problems.n + 1);
    if (state->problems.n > 0)
        memcpy(v, state->problems.v, state->problems.n * sizeof(*v));
    v[state->problems.n] = (struct dr_problem){dr_str_of(field->name), what, field->blocking};
    state->problems.v = v;
    state->problems.n++;
}

struct extras {
    struct dr_extra *v;
    size_t n;
    size_t cap;
};

static int add_extra(struct decoder *d, struct extras *extras, struct dr_str json) {
    for (size_t i = 0; i < extras->n; i++)
        if (dr_str_eq(extras->v[i].name, d->attribute))
            return dr_fail(d->err, DR_E_INVALID, "attribute %.*s: is there twice", DR_FMT(d->attribute));
    if (extras->n == DR_STATE_MAX_LIST)
        return dr_fail(d->err, DR_E_LIMIT, "more than %d unknown attributes", DR_STATE_MAX_LIST);
    if (extras->n == extras->cap) {
        size_t cap = extras->cap == 0 ? 8 : extras->cap * 2;
        struct dr_extra *v = DR_NEW_N(d->arena, struct dr_extra, cap);
        if (extras->n > 0)
            memcpy(v, extras->v, extras->n * sizeof(*v));
        extras->v = v;
        extras->cap = cap;
    }
    extras->v[extras->n++] = (struct dr_extra){d->attribute, json};
    return 0;
}

/* One attribute of the item: known and right, known and wrong, or unknown. */
static int read_attribute(struct decoder *d, struct dr_json *j, const struct dr_json_key *key, struct dr_state *state,
                          struct extras *extras, uint64_t *seen) {
    const struct dr_field *field = find_field(&dr_state_schema, key);
    struct dr_str raw, what;
    struct typed value;
    d->attribute = dr_json_key_str(key, d->arena);
    if (dr_json_raw(j, &raw, d->err) < 0)
        return -1;
    if (field == NULL)
        return open_typed(d, raw, &value) < 0 ? -1 : add_extra(d, extras, raw);
    uint64_t bit = UINT64_C(1) << (field - dr_state_schema.fields);
    if (*seen & bit)
        return dr_fail(d->err, DR_E_INVALID, "attribute %.*s: is there twice", DR_FMT(d->attribute));
    *seen |= bit;
    int r = read_field(d, raw, field, state, &what);
    if (r == WRONG && field->required)
        return dr_fail(d->err, DR_E_INVALID, "attribute %s: %.*s", field->name, DR_FMT(what));
    if (r == READ && dr_str_is(d->attribute, "scaleUpAttempts"))
        state->up_has_attempts = true;
    if (r != WRONG)
        return r;
    add_problem(d, state, field, what);
    return field->blocking ? add_extra(d, extras, raw) : 0;
}

/* Instances of the attempts; one drain per target. */
static void derive(struct dr_arena *arena, struct dr_state *state) {
    if (state->up_has_attempts)
        dr_state_derive_up_ids(arena, state);
    if (state->down_targets.n == 0 && state->drains.n == 0)
        return;
    struct dr_drain *drains = DR_NEW_N(arena, struct dr_drain, state->down_targets.n);
    for (size_t i = 0; i < state->down_targets.n; i++) {
        const struct dr_drain *known = dr_state_drain(state, state->down_targets.v[i]);
        drains[i] = known != NULL ? *known : (struct dr_drain){.instance_id = state->down_targets.v[i]};
    }
    state->drains.v = drains;
    state->drains.n = state->down_targets.n;
}

static int read_item(struct decoder *d, struct dr_str json, struct dr_state *state) {
    struct dr_json j;
    struct dr_json_key key;
    struct extras extras = {0};
    uint64_t seen = 0;
    int r;
    reader(&j, json);
    if (dr_json_enter(&j, DR_JSON_OBJECT, d->err) < 0)
        return -1;
    while ((r = dr_json_next_key(&j, &key, d->err)) > 0)
        if (read_attribute(d, &j, &key, state, &extras, &seen) < 0)
            return -1;
    if (r < 0 || dr_json_end(&j, d->err) < 0)
        return -1;
    if (state->pk.n == 0)
        return dr_fail(d->err, DR_E_INVALID, "attribute pk: is missing");
    state->extra.v = extras.v;
    state->extra.n = extras.n;
    return 0;
}

int dr_state_decode(struct dr_arena *arena, struct dr_str json, struct dr_state *ret, struct dr_err *err) {
    struct dr_state state = {.exists = true};
    struct decoder d = {.arena = arena, .err = err};
    if (json.n > DR_STATE_MAX_BYTES)
        return dr_fail(err, DR_E_LIMIT, "state item: %zu bytes, at most %d are allowed", json.n, DR_STATE_MAX_BYTES);
    if (read_item(&d, dr_str_dup(arena, json), &state) < 0)
        return dr_wrap(err, "state item");
    derive(arena, &state);
    *ret = state;
    return 0;
}
