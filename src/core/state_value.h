#ifndef DR_CORE_STATE_VALUE_H
#define DR_CORE_STATE_VALUE_H

/* One attribute value of DynamoDB JSON into the place that the table gives it. Private to core/state*.c. */

#include "base/json.h"
#include "core/state_schema.h"

struct dr_decoder {
    struct dr_arena *arena;
    struct dr_err *err;
    struct dr_str attribute; /* for messages */
};

/* {"S":"text"}: the type and the JSON behind it. */
struct dr_typed {
    struct dr_str tag;
    struct dr_str json;
};

/* Besides -1 for an error: the value was read, or it is not what the field must hold and `what` says why. */
enum { DR_VALUE_READ = 0, DR_VALUE_WRONG = 1 };

/* A reader with the ceilings of an item. */
void dr_value_reader(struct dr_json *j, struct dr_str json);
/* Fails on what is not an object with exactly one type that DynamoDB has. */
int dr_value_open(const struct dr_decoder *d, struct dr_str json, struct dr_typed *ret);
/* Reads one value into its field of the structure at `base`. */
int dr_value_read(struct dr_decoder *d, struct dr_str json, const struct dr_field *field, void *base, struct dr_str *what);
/* The field of that name, or NULL. */
const struct dr_field *dr_value_field(const struct dr_schema *schema, const struct dr_json_key *key);

#endif
