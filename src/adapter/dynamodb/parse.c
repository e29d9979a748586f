#include "adapter/dynamodb/parse.h"

#include <string.h>

#include "base/json.h"

enum { MAX_ROWS = 200000 };

/* What is not JSON of the expected shape did not come from the service, or not whole. */
static int odd(struct dr_err *err, const char *call) {
    if (err != NULL && err->code == DR_E_INVALID) {
        err->code = DR_E_UNAVAILABLE;
    }
    return dr_wrap(err, "dynamodb %s: answer", call);
}

int dr_dynamodb_parse_item(struct dr_str body, struct dr_str *ret, struct dr_err *err) {
    struct dr_json j;
    struct dr_json_key key;
    dr_json_init(&j, body, 0);
    *ret = DR_STR_NONE;
    int r = dr_json_enter(&j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(&j, &key, err)) > 0) {
        enum dr_json_type type = DR_JSON_NULL;
        if (!dr_json_key_is(&key, "Item")) {
            r = dr_json_skip(&j, err);
        } else if ((r = dr_json_peek(&j, &type, err)) == 0 && type != DR_JSON_OBJECT) {
            r = dr_fail(err, DR_E_INVALID, "Item: not an object");
        } else if (r == 0) {
            r = dr_json_raw(&j, ret, err);
        }
    }
    return r < 0 || dr_json_end(&j, err) < 0 ? odd(err, "GetItem") : 0;
}

int dr_dynamodb_parse_done(const char *call, struct dr_str body, struct dr_err *err) {
    struct dr_json j;
    dr_json_init(&j, body, 0);
    if (dr_json_enter(&j, DR_JSON_OBJECT, err) < 0 || dr_json_leave(&j, err) < 0 || dr_json_end(&j, err) < 0) {
        return odd(err, call);
    }
    return 0;
}

/* ---- rows ---- */

struct attribute {
    const char *name;
    char type; /* 'S', 'N' or 'B' for BOOL */
    size_t offset;
};

#define AT(member) offsetof(struct dr_dynamodb_row, member)
static const struct attribute attributes[] = {
    {"sk", 'S', AT(sk)},     {"payload", 'S', AT(payload)}, {"instanceId", 'S', AT(instance_id)},
    {"kind", 'S', AT(kind)}, {"atMs", 'N', AT(at_ms)},      {"handled", 'B', AT(handled)},
    {"ttl", 'N', AT(ttl)},
};
#undef AT

static int copy_str(struct dr_arena *arena, struct dr_str view, struct dr_str *ret, struct dr_err *err) {
    char *copy = dr_arena_try(arena, view.n + 1, 1);
    if (copy == NULL) {
        return dr_fail(err, DR_E_LIMIT, "more than fits in the memory set aside for it");
    }
    if (view.n > 0) {
        memcpy(copy, view.p, view.n);
    }
    *ret = (struct dr_str){copy, view.n};
    return 0;
}

static int read_typed(struct dr_json *j, struct dr_arena *arena, char type, char *place, struct dr_err *err) {
    struct dr_str view;
    int64_t number = 0;
    bool flag = false;
    if (type == 'B') {
        int r = dr_json_bool(j, &flag, err);
        memcpy(place, &flag, sizeof(flag));
        return r;
    }
    if (dr_json_str(j, arena, &view, err) < 0) {
        return -1;
    }
    if (type == 'S') {
        struct dr_str copy;
        int r = copy_str(arena, view, &copy, err);
        if (r == 0) {
            memcpy(place, &copy, sizeof(copy));
        }
        return r;
    }
    if (!dr_str_to_i64(view, &number)) {
        return dr_fail(err, DR_E_CORRUPT, "\"%.*s\" is not a whole number", DR_FMT(dr_str_sub(view, 0, 40)));
    }
    memcpy(place, &number, sizeof(number));
    return 0;
}

/* {"S":"..."}: the one key says the type. */
static int read_value(struct dr_json *j, struct dr_arena *arena, const struct attribute *attribute, struct dr_dynamodb_row *row,
                      struct dr_err *err) {
    const char *type = attribute->type == 'S' ? "S" : attribute->type == 'N' ? "N" : "BOOL";
    struct dr_json_key key;
    if (dr_json_enter(j, DR_JSON_OBJECT, err) < 0 || dr_json_next_key(j, &key, err) < 1) {
        return dr_fail(err, DR_E_CORRUPT, "%s: not a typed value", attribute->name);
    }
    if (!dr_json_key_is(&key, type)) {
        return dr_fail(err, DR_E_CORRUPT, "%s: has the type %.*s, must have %s", attribute->name, DR_FMT(dr_str_sub(key.raw, 0, 8)), type);
    }
    if (read_typed(j, arena, attribute->type, (char *)row + attribute->offset, err) < 0) {
        return dr_wrap(err, "%s", attribute->name);
    }
    return dr_json_leave(j, err);
}

static int read_row(struct dr_json *j, struct dr_arena *arena, struct dr_dynamodb_row *row, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_json_enter(j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        const struct attribute *attribute = NULL;
        for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
            attribute = dr_json_key_is(&key, attributes[i].name) ? &attributes[i] : attribute;
        }
        r = attribute == NULL ? dr_json_skip(j, err) : read_value(j, arena, attribute, row, err);
    }
    return r;
}

static struct dr_dynamodb_row *append(struct dr_arena *arena, struct dr_dynamodb_rows *rows) {
    if (rows->n == rows->cap) {
        size_t cap = rows->cap == 0 ? 64 : rows->cap * 2;
        struct dr_dynamodb_row *v = rows->n >= MAX_ROWS ? NULL : dr_arena_try(arena, cap, sizeof(*v));
        if (v == NULL) {
            return NULL;
        }
        if (rows->n > 0) {
            memcpy(v, rows->v, rows->n * sizeof(*v));
        }
        rows->v = v;
        rows->cap = cap;
    }
    return &rows->v[rows->n++];
}

static int read_rows(struct dr_json *j, struct dr_arena *arena, struct dr_dynamodb_rows *rows, struct dr_err *err) {
    int r = dr_json_enter(j, DR_JSON_ARRAY, err);
    for (size_t i = 0; r >= 0 && (r = dr_json_next_element(j, err)) > 0; i++) {
        struct dr_dynamodb_row *row = append(arena, rows);
        if (row == NULL) {
            return dr_fail(err, DR_E_LIMIT, "Items: more than fits in the memory set aside for it");
        }
        r = read_row(j, arena, row, err);
        if (r < 0) {
            (void)dr_wrap(err, "Items[%zu]", i);
        }
    }
    return r;
}

static int read_next(struct dr_json *j, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    enum dr_json_type type = DR_JSON_NULL;
    struct dr_str raw;
    if (dr_json_peek(j, &type, err) < 0 || dr_json_raw(j, &raw, err) < 0) {
        return -1;
    }
    if (type == DR_JSON_NULL) {
        return 0;
    }
    return type == DR_JSON_OBJECT ? copy_str(arena, raw, ret, err) : dr_fail(err, DR_E_INVALID, "LastEvaluatedKey: not an object");
}

int dr_dynamodb_parse_rows(struct dr_arena *arena, struct dr_str body, struct dr_dynamodb_rows *rows, struct dr_err *err) {
    struct dr_json j;
    struct dr_json_key key;
    bool found = false;
    dr_json_init(&j, body, 0);
    rows->next = DR_STR_NONE;
    int r = dr_json_enter(&j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(&j, &key, err)) > 0) {
        if (dr_json_key_is(&key, "Items")) {
            found = true;
            r = read_rows(&j, arena, rows, err);
        } else {
            r = dr_json_key_is(&key, "LastEvaluatedKey") ? read_next(&j, arena, &rows->next, err) : dr_json_skip(&j, err);
        }
    }
    if (r < 0 || dr_json_end(&j, err) < 0) {
        return odd(err, "Query");
    }
    return found ? 0 : dr_fail(err, DR_E_UNAVAILABLE, "dynamodb Query: answer: no Items");
}

int dr_dynamodb_parse_row(struct dr_arena *arena, struct dr_str item, struct dr_dynamodb_row *ret, struct dr_err *err) {
    struct dr_json j;
    struct dr_dynamodb_row row = {.ttl = 0};
    dr_json_init(&j, item, 0);
    if (read_row(&j, arena, &row, err) < 0) {
        return odd(err, "GetItem");
    }
    *ret = row;
    return 0;
}

bool dr_dynamodb_parse_sk(struct dr_str sk, int64_t *ret_at_ms, struct dr_str *ret_request_id, int64_t *ret_sequence) {
    enum { MS_DIGITS = 13, SEQUENCE_DIGITS = 6 };
    if (sk.n < MS_DIGITS + 1 + 1 + SEQUENCE_DIGITS || sk.p[MS_DIGITS] != '#' || sk.p[sk.n - SEQUENCE_DIGITS - 1] != '#') {
        return false;
    }
    struct dr_str ms = dr_str_sub(sk, 0, MS_DIGITS);
    struct dr_str sequence = dr_str_sub(sk, sk.n - SEQUENCE_DIGITS, sk.n);
    *ret_request_id = dr_str_sub(sk, MS_DIGITS + 1, sk.n - SEQUENCE_DIGITS - 1);
    return ms.p[0] >= '0' && sequence.p[0] >= '0' && dr_str_to_i64(ms, ret_at_ms) && dr_str_to_i64(sequence, ret_sequence);
}

/* ---- tables ---- */

static int read_text(struct dr_json *j, struct dr_arena *arena, const char *path, struct dr_str *ret, struct dr_err *err) {
    size_t n = strcspn(path, ".");
    struct dr_json_key key;
    enum dr_json_type type = DR_JSON_NULL;
    bool flag = false;
    int r = dr_json_enter(j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        if (key.escaped || key.raw.n != n || memcmp(key.raw.p, path, n) != 0 || dr_json_peek(j, &type, err) < 0) {
            r = dr_json_skip(j, err);
        } else if (path[n] == '.') {
            r = read_text(j, arena, path + n + 1, ret, err);
        } else if (type == DR_JSON_BOOL) {
            r = dr_json_bool(j, &flag, err);
            *ret = flag ? DR_STR("true") : DR_STR("false");
        } else {
            r = dr_json_str(j, arena, ret, err);
        }
    }
    return r;
}

int dr_dynamodb_parse_text(const char *call, struct dr_arena *arena, struct dr_str body, const char *path, struct dr_str *ret,
                           struct dr_err *err) {
    struct dr_json j;
    struct dr_str found = DR_STR_NONE;
    dr_json_init(&j, body, 0);
    if (read_text(&j, arena, path, &found, err) < 0 || dr_json_end(&j, err) < 0) {
        (void)dr_wrap(err, "%s", path);
        return odd(err, call);
    }
    *ret = dr_str_dup(arena, found);
    return 0;
}

static int read_key_schema(struct dr_json *j, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_json_enter(j, DR_JSON_ARRAY, err);
    while (r >= 0 && (r = dr_json_next_element(j, err)) > 0) {
        struct dr_str name = DR_STR_NONE;
        struct dr_str type = DR_STR_NONE;
        r = dr_json_enter(j, DR_JSON_OBJECT, err);
        while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
            r = dr_json_key_is(&key, "AttributeName") ? dr_json_str(j, arena, &name, err)
                : dr_json_key_is(&key, "KeyType")     ? dr_json_str(j, arena, &type, err)
                                                      : dr_json_skip(j, err);
        }
        if (r >= 0) {
            *ret = dr_str_fmt(arena, "%.*s%s%.*s:%.*s", DR_FMT(*ret), ret->n > 0 ? " " : "", DR_FMT(name), DR_FMT(type));
        }
    }
    return r;
}

int dr_dynamodb_parse_keys(struct dr_arena *arena, struct dr_str body, struct dr_str *ret, struct dr_err *err) {
    struct dr_json j;
    struct dr_json_key key;
    dr_json_init(&j, body, 0);
    *ret = DR_STR_NONE;
    int r = dr_json_enter(&j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(&j, &key, err)) > 0) {
        if (!dr_json_key_is(&key, "Table")) {
            r = dr_json_skip(&j, err);
            continue;
        }
        r = dr_json_enter(&j, DR_JSON_OBJECT, err);
        while (r >= 0 && (r = dr_json_next_key(&j, &key, err)) > 0) {
            r = dr_json_key_is(&key, "KeySchema") ? read_key_schema(&j, arena, ret, err) : dr_json_skip(&j, err);
        }
    }
    return r < 0 ? odd(err, "DescribeTable") : 0;
}
