#ifndef DR_CORE_STATE_SCHEMA_H
#define DR_CORE_STATE_SCHEMA_H

/*
 * The attributes of the state item as one table: name, type, place in the structure, what a wrong type means and when it is written. Decoding, encoding, copying and
 * comparing all walk it, so an attribute that is added here is complete. Private to core/state*.c.
 */

#include "core/state.h"

enum dr_field_kind {
    DR_FIELD_BOOL,
    DR_FIELD_EPOCH, /* N: seconds since 1970 */
    DR_FIELD_COUNT, /* N: whole, not negative */
    DR_FIELD_ID,    /* S: up to DR_STATE_MAX_ID */
    DR_FIELD_TEXT,  /* S: up to DR_STATE_MAX_TEXT */
    DR_FIELD_ENUM,  /* S: one of `names`, an enum in memory */
    DR_FIELD_PHASE, /* S: one of two `names`, a bool in memory */
    DR_FIELD_IDS,   /* L of S */
    DR_FIELD_MAPS,  /* L of M: `element` says of what */
};

enum dr_field_write {
    DR_WRITE_FILLED, /* unless empty or 0 */
    DR_WRITE_ALWAYS,
    DR_WRITE_UP,       /* also empty while a scale-up is active */
    DR_WRITE_ATTEMPTS, /* also empty while a scale-up of ours is active: its presence says that it is ours (rule 27) */
    DR_WRITE_DOWN,     /* also empty while a scale-down is active */
};

struct dr_schema;

struct dr_field {
    const char *name;
    size_t offset;
    enum dr_field_kind kind;
    enum dr_field_write write;
    bool blocking; /* of the item: a wrong type stops everything */
    bool required; /* may not be missing or empty */
    const char *const *names;
    size_t name_n;
    const struct dr_schema *element;
};

struct dr_schema {
    const struct dr_field *fields;
    size_t field_n;
    size_t size; /* of one structure */
};

/* The item itself; at most 64 fields. */
extern const struct dr_schema dr_state_schema;

/* Any list member of a structure, seen without its element type. */
struct dr_any_list {
    const void *v;
    size_t n;
};
struct dr_any_list dr_field_list(const struct dr_field *field, const void *base);
void dr_field_set_list(const struct dr_field *field, void *base, struct dr_any_list list);
int dr_field_enum(const struct dr_field *field, const void *base);
void dr_field_set_enum(const struct dr_field *field, void *base, int value);

/* Typed places of a field. */
static inline const void *dr_field_at(const struct dr_field *field, const void *base) { return (const char *)base + field->offset; }
static inline void *dr_field_in(const struct dr_field *field, void *base) { return (char *)base + field->offset; }

#endif
