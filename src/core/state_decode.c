#include <string.h>

#include "core/state_edit.h"
#include "core/state_value.h"

static void add_problem(struct dr_decoder *d, struct dr_state *state, const struct dr_field *field, struct dr_str what) {
    struct dr_problem *v = DR_NEW_N(d->arena, struct dr_problem, state->problems.n + 1);
    if (state->problems.n > 0) {
        memcpy(v, state->problems.v, state->problems.n * sizeof(*v));
    }
    v[state->problems.n] = (struct dr_problem){dr_str_of(field->name), what, field->blocking};
    state->problems.v = v;
    state->problems.n++;
}

struct extras {
    struct dr_extra *v;
    size_t n;
    size_t cap;
};

static int add_extra(struct dr_decoder *d, struct extras *extras, struct dr_str json) {
    for (size_t i = 0; i < extras->n; i++) {
        if (dr_str_eq(extras->v[i].name, d->attribute)) {
            return dr_fail(d->err, DR_E_INVALID, "attribute %.*s: is there twice", DR_FMT(d->attribute));
        }
    }
    if (extras->n == DR_STATE_MAX_LIST) {
        return dr_fail(d->err, DR_E_LIMIT, "more than %d unknown attributes", DR_STATE_MAX_LIST);
    }
    if (extras->n == extras->cap) {
        size_t cap = extras->cap == 0 ? 8 : extras->cap * 2;
        struct dr_extra *v = DR_NEW_N(d->arena, struct dr_extra, cap);
        if (extras->n > 0) {
            memcpy(v, extras->v, extras->n * sizeof(*v));
        }
        extras->v = v;
        extras->cap = cap;
    }
    extras->v[extras->n++] = (struct dr_extra){d->attribute, json};
    return 0;
}

/* One attribute of the item: known and right, known and wrong, or unknown. */
static int read_attribute(struct dr_decoder *d, struct dr_json *j, const struct dr_json_key *key, struct dr_state *state,
                          struct extras *extras, uint64_t *seen) {
    const struct dr_field *field = dr_value_field(&dr_state_schema, key);
    struct dr_str raw;
    struct dr_str what = DR_STR_NONE;
    struct dr_typed value;
    d->attribute = dr_json_key_str(key, d->arena);
    if (dr_json_raw(j, &raw, d->err) < 0) {
        return -1;
    }
    if (field == NULL) {
        return dr_value_open(d, raw, &value) < 0 ? -1 : add_extra(d, extras, raw);
    }
    uint64_t bit = UINT64_C(1) << (field - dr_state_schema.fields);
    if (*seen & bit) {
        return dr_fail(d->err, DR_E_INVALID, "attribute %.*s: is there twice", DR_FMT(d->attribute));
    }
    *seen |= bit;
    int r = dr_value_read(d, raw, field, state, &what);
    if (r == DR_VALUE_WRONG && field->required) {
        return dr_fail(d->err, DR_E_INVALID, "attribute %s: %.*s", field->name, DR_FMT(what));
    }
    if (r == DR_VALUE_READ && dr_str_is(d->attribute, "scaleUpAttempts")) {
        state->up_has_attempts = true;
    }
    if (r != DR_VALUE_WRONG) {
        return r;
    }
    add_problem(d, state, field, what);
    return field->blocking ? add_extra(d, extras, raw) : 0;
}

/* Instances of the attempts; one drain per target. */
static void derive(struct dr_arena *arena, struct dr_state *state) {
    if (state->up_has_attempts) {
        dr_state_derive_up_ids(arena, state);
    }
    if (state->down_targets.n == 0 && state->drains.n == 0) {
        return;
    }
    struct dr_drain *drains = DR_NEW_N(arena, struct dr_drain, state->down_targets.n);
    for (size_t i = 0; i < state->down_targets.n; i++) {
        const struct dr_drain *known = dr_state_drain(state, state->down_targets.v[i]);
        drains[i] = known != NULL ? *known : (struct dr_drain){.instance_id = state->down_targets.v[i]};
    }
    state->drains.v = drains;
    state->drains.n = state->down_targets.n;
}

static int read_item(struct dr_decoder *d, struct dr_str json, struct dr_state *state) {
    struct dr_json j;
    struct dr_json_key key;
    struct extras extras = {0};
    uint64_t seen = 0;
    int r;
    dr_value_reader(&j, json);
    if (dr_json_enter(&j, DR_JSON_OBJECT, d->err) < 0) {
        return -1;
    }
    while ((r = dr_json_next_key(&j, &key, d->err)) > 0) {
        if (read_attribute(d, &j, &key, state, &extras, &seen) < 0) {
            return -1;
        }
    }
    if (r < 0 || dr_json_end(&j, d->err) < 0) {
        return -1;
    }
    if (state->pk.n == 0) {
        return dr_fail(d->err, DR_E_INVALID, "attribute pk: is missing");
    }
    state->extra.v = extras.v;
    state->extra.n = extras.n;
    return 0;
}

int dr_state_decode(struct dr_arena *arena, struct dr_str json, struct dr_state *ret, struct dr_err *err) {
    struct dr_state state = {.exists = true};
    struct dr_decoder d = {.arena = arena, .err = err};
    if (json.n > DR_STATE_MAX_BYTES) {
        return dr_fail(err, DR_E_LIMIT, "state item: %zu bytes, at most %d are allowed", json.n, DR_STATE_MAX_BYTES);
    }
    if (read_item(&d, dr_str_dup(arena, json), &state) < 0) {
        return dr_wrap(err, "state item");
    }
    derive(arena, &state);
    *ret = state;
    return 0;
}
