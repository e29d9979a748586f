#include "adapter/ssm/parse.h"

#include <string.h>

#include "adapter/ssm/ssm.h"
#include "base/json.h"

/* Decoded copies of secrets go to an arena that is wiped: this finds its way around strings that hold escapes. */
struct scratch {
    struct dr_arena arena;
    struct dr_str copies[4];
    size_t n;
};

static int get_str(struct dr_json *j, struct scratch *scratch, struct dr_str *ret, struct dr_err *err) {
    if (dr_json_str(j, &scratch->arena, ret, err) < 0) {
        return -1;
    }
    if (scratch->n < sizeof(scratch->copies) / sizeof(scratch->copies[0])) {
        scratch->copies[scratch->n++] = *ret;
    }
    return 0;
}

/* Views of the body are among them; the body is the client's, which frees it with the call. */
static void wipe(struct scratch *scratch, struct dr_str body) {
    for (size_t i = 0; i < scratch->n; i++) {
        struct dr_str copy = scratch->copies[i];
        bool view = copy.n == 0 || (copy.p >= body.p && copy.p < body.p + body.n);
        if (!view) {
            char *p;
            memcpy(&p, &copy.p, sizeof(p)); /* the arena's memory is ours to write */
            explicit_bzero(p, copy.n);
        }
    }
    dr_arena_deinit(&scratch->arena);
}

/* Reader texts may quote what they met: only the place is told. */
static int odd(struct dr_err *err, const char *call, const char *field) {
    return dr_fail(err, DR_E_UNAVAILABLE, "%s: answer: no text at %s, or not JSON", call, field);
}

/* The string under `name` of the object that is due. */
static int find_str(struct dr_json *j, const char *name, struct scratch *scratch, struct dr_str *ret, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_json_enter(j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        r = dr_json_key_is(&key, name) ? get_str(j, scratch, ret, err) : dr_json_skip(j, err);
    }
    return r;
}

static int keep(struct dr_str value, const char *call, struct dr_secret *ret, struct dr_err *err) {
    if (value.n > DR_SECRETS_MAX_BYTES) {
        return dr_fail(err, DR_E_LIMIT, "%s: a value of %zu bytes, at most %d are allowed", call, value.n, DR_SECRETS_MAX_BYTES);
    }
    dr_secret_set(ret, value);
    return 0;
}

int dr_ssm_parse_parameter(struct dr_str body, struct dr_secret *ret, struct dr_err *err) {
    struct scratch scratch = {.n = 0};
    struct dr_json j;
    struct dr_json_key key;
    struct dr_str value = DR_STR_NONE;
    struct dr_err why;
    dr_arena_init(&scratch.arena, 0);
    dr_json_init(&j, body, 0);
    int r = dr_json_enter(&j, DR_JSON_OBJECT, &why);
    while (r >= 0 && (r = dr_json_next_key(&j, &key, &why)) > 0) {
        r = dr_json_key_is(&key, "Parameter") ? find_str(&j, "Value", &scratch, &value, &why) : dr_json_skip(&j, &why);
    }
    bool ok = r == 0 && dr_json_end(&j, &why) == 0 && value.p != NULL;
    r = ok ? keep(value, "ssm GetParameter", ret, err) : odd(err, "ssm GetParameter", "Parameter.Value");
    wipe(&scratch, body);
    return r;
}

static int keep_member(struct dr_str text, struct dr_str member, struct scratch *scratch, struct dr_secret *ret, struct dr_err *err) {
    static const char call[] = "secretsmanager GetSecretValue";
    struct dr_str name = dr_str_dup(&scratch->arena, member);
    struct dr_str value = DR_STR_NONE;
    struct dr_json j;
    struct dr_err why;
    dr_json_init(&j, text, 0);
    if (find_str(&j, name.p, scratch, &value, &why) < 0 || dr_json_end(&j, &why) < 0) {
        return dr_fail(err, DR_E_INVALID, "%s: SecretString: not a JSON object with texts", call);
    }
    if (value.p == NULL) {
        return dr_fail(err, DR_E_INVALID, "%s: SecretString: has no member \"%.*s\"", call, DR_FMT(member));
    }
    return keep(value, call, ret, err);
}

int dr_ssm_parse_secret(struct dr_str body, struct dr_str member, struct dr_secret *ret, struct dr_err *err) {
    struct scratch scratch = {.n = 0};
    struct dr_json j;
    struct dr_str text = DR_STR_NONE;
    struct dr_err why;
    dr_arena_init(&scratch.arena, 0);
    dr_json_init(&j, body, 0);
    int r = -1;
    if (find_str(&j, "SecretString", &scratch, &text, &why) < 0 || dr_json_end(&j, &why) < 0 || text.p == NULL) {
        r = odd(err, "secretsmanager GetSecretValue", "SecretString");
    } else if (member.n > 0) {
        r = keep_member(text, member, &scratch, ret, err);
    } else {
        r = keep(text, "secretsmanager GetSecretValue", ret, err);
    }
    wipe(&scratch, body);
    return r;
}
