#ifndef DR_BASE_JSON_TEXT_H
#define DR_BASE_JSON_TEXT_H

/* Inside of JSON strings: checking and decoding escapes. Used by the reader only. */

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

/* Length of the escape at `p` (a backslash) including both halves of a surrogate pair, 0 if it is not valid. */
size_t dr_json_escape_len(const char *p, const char *end);

/* Decodes a checked raw string into `out`, which has room for raw.n bytes (decoding never grows). Returns the length. */
size_t dr_json_decode(struct dr_str raw, char *out);

/* Whether two checked keys are equal once decoded. */
bool dr_json_keys_equal(const struct dr_json_key *a, const struct dr_json_key *b);

#endif
