#ifndef DR_BASE_SECRET_H
#define DR_BASE_SECRET_H

/*
 * A value that must not be seen: keys, tokens, passwords. It is no struct dr_str, so that a format with %.*s does not compile; what prints it prints ***. Its memory is
 * wiped when it is given back. All zero bytes is an empty secret.
 */

#include "base/str.h"

struct dr_secret {
    char *hidden;
    size_t hidden_n;
};

/* Replaces the value by a copy. */
void dr_secret_set(struct dr_secret *secret, struct dr_str value);
/* Wipes and frees; the secret is empty afterwards. */
void dr_secret_clear(struct dr_secret *secret);
/* The value itself, NUL behind it, valid until it is set or cleared. Only for what sends it. */
struct dr_str dr_secret_reveal(const struct dr_secret *secret);
/* What may be printed: "***", or "" where there is nothing to hide. */
const char *dr_secret_mask(const struct dr_secret *secret);

#endif
