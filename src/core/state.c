#include "core/state.h"

#include <string.h>

#include "core/state_schema.h"

void dr_state_init(struct dr_state *state, struct dr_str pk) { *state = (struct dr_state){.pk = pk}; }

static void own_str(struct dr_arena *arena, struct dr_str *s) {
    if (s->n > 0) {
        *s = dr_str_dup(arena, *s);
    }
}

static struct dr_any_list own_ids(struct dr_arena *arena, struct dr_any_list list) {
    struct dr_str *copy = DR_NEW_N(arena, struct dr_str, list.n);
    memcpy(copy, list.v, list.n * sizeof(*copy));
    for (size_t i = 0; i < list.n; i++) {
        own_str(arena, &copy[i]);
    }
    return (struct dr_any_list){copy, list.n};
}

static void own_lists(struct dr_arena *arena, const struct dr_schema *schema, void *base);

static struct dr_any_list own_maps(struct dr_arena *arena, const struct dr_schema *schema, struct dr_any_list list) {
    char *copy = dr_arena_alloc(arena, list.n, schema->size);
    memcpy(copy, list.v, list.n * schema->size);
    for (size_t i = 0; i < list.n; i++) {
        void *element = copy + i * schema->size;
        for (size_t k = 0; k < schema->field_n; k++) {
            if (schema->fields[k].kind == DR_FIELD_ID || schema->fields[k].kind == DR_FIELD_TEXT) {
                own_str(arena, dr_field_in(&schema->fields[k], element));
            }
        }
        own_lists(arena, schema, element);
    }
    return (struct dr_any_list){copy, list.n};
}

/* Replaces every list of the structure by a copy in the arena. */
static void own_lists(struct dr_arena *arena, const struct dr_schema *schema, void *base) {
    for (size_t i = 0; i < schema->field_n; i++) {
        const struct dr_field *field = &schema->fields[i];
        if (field->kind != DR_FIELD_IDS && field->kind != DR_FIELD_MAPS) {
            continue;
        }
        struct dr_any_list list = dr_field_list(field, base);
        if (list.n > 0) {
            dr_field_set_list(field, base, field->kind == DR_FIELD_IDS ? own_ids(arena, list) : own_maps(arena, field->element, list));
        }
    }
}

/*
 * An idle item is copied and compared in every tick, a million times per second in a simulation. So its numbers, strings and the question whether any list has an element
 * are spelled out here; only lists walk the table. A test changes every attribute and requires that it is noticed.
 */
/* clang-format off */
#define STRINGS(X) X(pk) X(up_action_id) X(down_action_id) X(down_reason) X(lease_owner) X(last_scale_action) X(last_reason)
#define NUMBERS(X)                                                                                                                         \
    X(revision) X(last_scale_epoch) X(pending_since_epoch) X(idle_since_epoch) X(worker_count) X(up_started_epoch) X(up_requested)         \
    X(down_started_epoch) X(lease_until_epoch) X(fence) X(idle_seen_epoch) X(backoff_until_epoch) X(backoff_count) X(last_journal_epoch)
#define LISTS(X)                                                                                                                           \
    X(up_instance_ids) X(attempts) X(down_targets) X(down_completed) X(drains) X(marks) X(refused) X(ended) X(quarantined) X(records)      \
    X(avoid) X(streaks)
/* clang-format on */

static bool has_lists(const struct dr_state *state) {
    size_t any = 0;
#define X(list_) any |= state->list_.n;
    LISTS(X)
#undef X
    return any > 0;
}

static char *own_bytes(char *at, struct dr_str *s) {
    if (s->n == 0) {
        return at;
    }
    memcpy(at, s->p, s->n);
    s->p = at;
    return at + s->n + 1;
}

/* All strings in one piece of memory, each with a NUL behind. */
static void own_strings(struct dr_arena *arena, struct dr_state *state) {
    size_t bytes = 0;
#define X(string_) bytes += state->string_.n + 1;
    STRINGS(X)
#undef X
    char *at = dr_arena_alloc(arena, bytes, 1);
#define X(string_) at = own_bytes(at, &state->string_);
    STRINGS(X)
#undef X
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
    *to = *from;
    own_strings(arena, to);
    if (has_lists(to)) {
        own_lists(arena, &dr_state_schema, to);
    }
    if (to->extra.n > 0) {
        own_extra(arena, to);
    }
    if (to->problems.n > 0) {
        own_problems(arena, to);
    }
}

static bool eq_fields(const struct dr_schema *schema, const void *a, const void *b);

static bool eq_list(const struct dr_field *field, const void *a, const void *b) {
    struct dr_any_list x = dr_field_list(field, a), y = dr_field_list(field, b);
    if (x.n != y.n) {
        return false;
    }
    if (x.v == y.v) { /* a transition shares the lists that it does not touch */
        return true;
    }
    for (size_t i = 0; i < x.n; i++) {
        if (field->kind == DR_FIELD_IDS) {
            const struct dr_str *s = x.v, *t = y.v;
            if (!dr_str_eq(s[i], t[i])) {
                return false;
            }
        } else if (!eq_fields(field->element, (const char *)x.v + i * field->element->size, (const char *)y.v + i * field->element->size)) {
            return false;
        }
    }
    return true;
}

static bool eq_str(const struct dr_str *a, const struct dr_str *b) {
    return a->n == b->n && (a->n == 0 || a->p == b->p || memcmp(a->p, b->p, a->n) == 0);
}

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
    for (size_t i = 0; i < schema->field_n; i++) {
        if (!eq_field(&schema->fields[i], a, b)) {
            return false;
        }
    }
    return true;
}

static bool eq_numbers(const struct dr_state *a, const struct dr_state *b) {
    uint64_t differs = (uint64_t)(a->scaling != b->scaling) | (uint64_t)(a->up_has_attempts != b->up_has_attempts) |
                       (uint64_t)(a->down_terminating != b->down_terminating);
#define X(number_) differs |= (uint64_t)a->number_ ^ (uint64_t)b->number_;
    NUMBERS(X)
#undef X
#define X(list_) differs |= a->list_.n ^ b->list_.n;
    LISTS(X)
#undef X
    return differs == 0;
}

static bool eq_strings(const struct dr_state *a, const struct dr_state *b) {
#define X(string_)                                                                                                                         \
    if (!eq_str(&a->string_, &b->string_))                                                                                                 \
        return false;
    STRINGS(X)
#undef X
    return true;
}

static bool eq_lists(const struct dr_state *a, const struct dr_state *b) {
    for (size_t i = 0; i < dr_state_schema.field_n; i++) {
        const struct dr_field *field = &dr_state_schema.fields[i];
        if ((field->kind == DR_FIELD_IDS || field->kind == DR_FIELD_MAPS) && !eq_list(field, a, b)) {
            return false;
        }
    }
    return true;
}

bool dr_state_eq(const struct dr_state *a, const struct dr_state *b) {
    if (!eq_numbers(a, b) || !eq_strings(a, b) || a->extra.n != b->extra.n || (has_lists(a) && !eq_lists(a, b))) {
        return false;
    }
    for (size_t i = 0; i < a->extra.n; i++) {
        if (!eq_str(&a->extra.v[i].name, &b->extra.v[i].name) || !eq_str(&a->extra.v[i].json, &b->extra.v[i].json)) {
            return false;
        }
    }
    return true;
}

bool dr_state_blocked(const struct dr_state *state) {
    for (size_t i = 0; i < state->problems.n; i++) {
        if (state->problems.v[i].blocking) {
            return true;
        }
    }
    return false;
}

bool dr_state_marked(const struct dr_state *state, struct dr_str id) { return dr_strs_has(state->marks, id); }

bool dr_state_ended(const struct dr_state *state, struct dr_str id) {
    for (size_t i = 0; i < state->ended.n; i++) {
        if (dr_str_eq(state->ended.v[i].id, id)) {
            return true;
        }
    }
    return false;
}

const struct dr_record *dr_state_record(const struct dr_state *state, struct dr_str instance_id) {
    for (size_t i = 0; i < state->records.n; i++) {
        if (dr_str_eq(state->records.v[i].instance_id, instance_id)) {
            return &state->records.v[i];
        }
    }
    return NULL;
}

const struct dr_avoid *dr_state_avoid(const struct dr_state *state, struct dr_str key) {
    for (size_t i = 0; i < state->avoid.n; i++) {
        if (dr_str_eq(state->avoid.v[i].key, key)) {
            return &state->avoid.v[i];
        }
    }
    return NULL;
}

const struct dr_timed_id *dr_state_quarantined(const struct dr_state *state, struct dr_str id) {
    for (size_t i = 0; i < state->quarantined.n; i++) {
        if (dr_str_eq(state->quarantined.v[i].id, id)) {
            return &state->quarantined.v[i];
        }
    }
    return NULL;
}

const struct dr_drain *dr_state_drain(const struct dr_state *state, struct dr_str instance_id) {
    for (size_t i = 0; i < state->drains.n; i++) {
        if (dr_str_eq(state->drains.v[i].instance_id, instance_id)) {
            return &state->drains.v[i];
        }
    }
    return NULL;
}
