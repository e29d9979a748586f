#include "base/secret.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void dr_secret_set(struct dr_secret *secret, struct dr_str value) {
    char *copy = NULL;
    if (value.n > 0) {
        copy = malloc(value.n + 1);
        DR_ASSERT(copy != NULL);
        memcpy(copy, value.p, value.n);
        copy[value.n] = '\0';
    }
    dr_secret_clear(secret); /* last: the value may be a part of the old one */
    *secret = (struct dr_secret){.hidden = copy, .hidden_n = value.n};
}

void dr_secret_clear(struct dr_secret *secret) {
    if (secret->hidden != NULL) {
        explicit_bzero(secret->hidden, secret->hidden_n);
        free(secret->hidden);
    }
    *secret = (struct dr_secret){0};
}

struct dr_str dr_secret_reveal(const struct dr_secret *secret) {
    return (struct dr_str){secret->hidden, secret->hidden_n};
}

const char *dr_secret_mask(const struct dr_secret *secret) { return secret->hidden_n > 0 ? "***" : ""; }
