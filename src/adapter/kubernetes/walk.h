#ifndef DR_ADAPTER_KUBERNETES_WALK_H
#define DR_ADAPTER_KUBERNETES_WALK_H

/*
 * Walking the JSON of the API server. Every field may be absent or null, which is the same; a wrong type is an error that names the field. Used by the readers of this
 * folder only.
 *
 * Readers return 1 (there is a value), 0 (null) or -1.
 */

#include <string.h>

#include "base/json.h"

struct dr_kube_walk {
    struct dr_json j;
    struct dr_arena *arena; /* texts with escapes; freed with the page */
    const char *field;      /* being read, for the error */
};

static inline bool dr_kube_key_is(const struct dr_json_key *key, const char *name, size_t n) {
    return key->escaped ? dr_json_key_is(key, name) : key->raw.n == n && memcmp(key->raw.p, name, n) == 0;
}
#define DR_KEY_IS(key, literal) dr_kube_key_is((key), (literal), sizeof(literal) - 1)

int dr_kube_enter(struct dr_kube_walk *w, enum dr_json_type type, struct dr_err *err);
int dr_kube_str(struct dr_kube_walk *w, struct dr_str *ret, struct dr_err *err);
int dr_kube_i64(struct dr_kube_walk *w, int64_t *ret, struct dr_err *err);
int dr_kube_bool(struct dr_kube_walk *w, bool *ret, struct dr_err *err);
int dr_kube_time(struct dr_kube_walk *w, int64_t *ret_ms, struct dr_err *err);
/* The value as it stands; empty for null. */
int dr_kube_raw(struct dr_kube_walk *w, struct dr_str *ret, struct dr_err *err);
/* A quantity as text: it may be a string or a number. */
int dr_kube_quantity(struct dr_kube_walk *w, struct dr_str *ret, struct dr_err *err);

/* A list that grows in an arena, up to DR_KUBE_MAX_LIST. */
#define DR_KUBE_MAX_LIST 8192
struct dr_kube_list {
    void *v;
    size_t n;
    size_t cap;
};
/* Room for one more, zeroed; NULL past the ceiling. */
void *dr_kube_list_add(struct dr_kube_list *list, struct dr_arena *arena, size_t size);
/* A copy of exactly its size. */
void *dr_kube_list_copy(const struct dr_kube_list *list, struct dr_arena *arena, size_t size);

#endif
