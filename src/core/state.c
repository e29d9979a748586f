#include "core/state.h"

#include <string.h>

#include "core/state_schema.h"

void dr_state_init(struct dr_state *state, struct dr_str pk) { *state = (struct dr_state){.pk = pk}; }

static void own_str(struct dr_arena *arena, struct dr_str *s) {
    if (s->n > 0)
        *s = dr_str_dup(arena, *s);
}

static struct dr_any_list own_ids(struct dr_arena *arena, struct dr_any_list list) {
    struct dr_str *copy = DR_NEW_N(arena, struct dr_str, list.n);
    memcpy(copy, list.v, list.n * sizeof(*copy));
    for (size_t i = 0; i < list.n; i++)
        own_str(arena, &copy[i]);
    return (struct dr_any_list){copy, list.n};
}

/* Replaces everything that the structure refers to by copies in the arena. Numbers are there already: the caller copied the structure. */
static void own_fields(struct dr_arena *arena, const struct dr_schema *schema, void *base) {
    for (const struct dr_field *field = schema->fields; field < schema->fields + schema->field_n; field++) {
        if (field->kind == DR_FIELD_ID || field->kind == DR_FIELD_TEXT) {
            own_str(arena, dr_field_in(field, base));
        } else if (field->kind == DR_FIELD_IDS || field->kind == DR_FIELD_MAPS) {
            struct dr_any_list list = dr_field_list(field, base);
            if (list.n == 0)
                continue;
            if (field->kind == DR_FIELD_IDS) {
                dr_field_set_list(field, base, own_ids(arena, list));
                continue;
            }
            char *copy = dr_arena_alloc(arena, list.n, field->element->size);
            memcpy(copy, list.v, list.n * field->element->size);
            for (size_t i = 0; i < list.n; i++)
                own_fields(arena, field->element, copy + i * field->element->size);
            dr_field_set_list(field, base, (struct dr_any_list){copy, list.n});
        }
    }
}

static void own_extra(struct dr_arena *arena, struct dr_state *state) {
    struct dr_extra *copy = DR_NEW_N(arena, struct dr_extra, state->extra.n);
    for (size_t i = 0; i < state->extra.n; i++) {
        copy[i] = state->extra.v[i];
        own_str(arena, &copy[i].name);
        own_str(arena, &copy[i].json);
    }
    state->extra.v = copy;
}

static void own_problems(struct dr_arena *arena, struct dr_state *state) {
    struct dr_problem *copy = DR_NEW_N(arena, struct dr_problem, state->problems.n);
    for (size_t i = 0; i < state->problems.n; i++) {
        copy[i] = state->problems.v[i];
        own_str(arena, &copy[i].attribute);
        own_str(arena, &copy[i].what);
    }
    state->problems.v = copy;
}

void dr_state_copy(struct dr_arena *arena, struct dr_state *to, const struct dr_state *from) {
    struct dr_state copy = *from;
    own_fields(arena, &dr_state_schema, &copy);
    if (copy.extra.n > 0)
        own_extra(arena, &copy);
    if (copy.problems.n > 0)
        own_problems(arena, &copy);
    *to = copy;
}

static bool eq_fields(const struct dr_schema *schema, const void *a, const void *b);

static bool eq_list(const struct dr_field *field, const void *a, const void *b) {
    struct dr_any_list x = dr_field_list(field, a), y = dr_field_list(field, b);
    if (x.n != y.n)
        return false;
    if (x.v == y.v) /* a transition shares the lists that it does not touch */
        return true;
    for (size_t i = 0; i < x.n; i++) {
        if (field->kind == DR_FIELD_IDS) {
            const struct dr_str *s = x.v, *t = y.v;
            if (!dr_str_eq(s[i], t[i]))
                return false;
        } else if (!eq_fields(field->element, (const char *)x.v + i * field->element->size, (const char *)y.v + i * field->element->size)) {
            return false;
        }
    }
    return true;
}

static bool eq_str(const struct dr_str *a, const struct dr_str *b) { return a->n == b->n && (a->p == b->p || dr_str_eq(*a, *b)); }

static bool eq_field(const struct dr_field *field, const void *a, const void *b) {
    const void *x = dr_field_at(field, a), *y = dr_field_at(field, b);
    switch (field->kind) {
    case DR_FIELD_BOOL:
    case DR_FIELD_PHASE:
        return *(const bool *)x == *(const bool *)y;
    case DR_FIELD_EPOCH:
    case DR_FIELD_COUNT:
        return *(const int64_t *)x == *(const int64_t *)y;
    case DR_FIELD_ID:
    case DR_FIELD_TEXT:
        return eq_str(x, y);
    case DR_FIELD_ENUM:
        return dr_field_enum(field, a) == dr_field_enum(field, b);
    case DR_FIELD_IDS:
    case DR_FIELD_MAPS:
        break;
    }
    return eq_list(field, a, b);
}

static bool eq_fields(const struct dr_schema *schema, const void *a, const void *b) {
    for (size_t i = 0; i < schema->field_n; i++)
        if (!eq_field(&schema->fields[i], a, b))
            return false;
    return true;
}

bool dr_state_eq(const struct dr_state *a, const struct dr_state *b) {
    /* Bytewise the same, pointers included, is the usual case of a tick that changed nothing; differing padding only costs the walk below. */
    if (memcmp(a, b, sizeof(*a)) == 0)
        return true;
    if (!eq_fields(&dr_state_schema, a, b) || a->up_has_attempts != b->up_has_attempts || a->extra.n != b->extra.n)
        return false;
    for (size_t i = 0; i < a->extra.n; i++)
        if (!dr_str_eq(a->extra.v[i].name, b->extra.v[i].name) || !dr_str_eq(a->extra.v[i].json, b->extra.v[i].json))
            return false;
    return true;
}

bool dr_state_blocked(const struct dr_state *state) {
    for (size_t i = 0; i < state->problems.n; i++)
        if (state->problems.v[i].blocking)
            return true;
    return false;
}

bool dr_state_marked(const struct dr_state *state, struct dr_str id) { return dr_strs_has(state->marks, id); }

bool dr_state_ended(const struct dr_state *state, struct dr_str id) {
    for (size_t i = 0; i < state->ended.n; i++)
        if (dr_str_eq(state->ended.v[i].id, id))
            return true;
    return false;
}

const struct dr_record *dr_state_record(const struct dr_state *state, struct dr_str instance_id) {
    for (size_t i = 0; i < state->records.n; i++)
        if (dr_str_eq(state->records.v[i].instance_id, instance_id))
            return &state->records.v[i];
    return NULL;
}

const struct dr_avoid *dr_state_avoid(const struct dr_state *state, struct dr_str key) {
    for (size_t i = 0; i < state->avoid.n; i++)
        if (dr_str_eq(state->avoid.v[i].key, key))
            return &state->avoid.v[i];
    return NULL;
}

const struct dr_timed_id *dr_state_quarantined(const struct dr_state *state, struct dr_str id) {
    for (size_t i = 0; i < state->quarantined.n; i++)
        if (dr_str_eq(state->quarantined.v[i].id, id))
            return &state->quarantined.v[i];
    return NULL;
}

const struct dr_drain *dr_state_drain(const struct dr_state *state, struct dr_str instance_id) {
    for (size_t i = 0; i < state->drains.n; i++)
        if (dr_str_eq(state->drains.v[i].instance_id, instance_id))
            return &state->drains.v[i];
    return NULL;
}
