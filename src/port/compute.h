#ifndef DR_PORT_COMPUTE_H
#define DR_PORT_COMPUTE_H

/* The EC2 side: instances of the pool, launch, terminate. */

#include "base/err.h"
#include "core/model.h"

#define DR_TOKEN_MAX 64

struct dr_launch {
    struct dr_str token; /* at most DR_TOKEN_MAX characters: the same token and parameters give the same instance */
    struct dr_str action_id;
    int64_t index;
    struct dr_str type;
    struct dr_str zone;
    struct dr_str subnet;
    enum dr_market market;
    struct dr_str template_version;
};

struct dr_compute_ops {
    void (*request)(void *self, int64_t deadline_ms); /* may be NULL */
    /* Fills the instances part (every state that Describe shows) and the pool. */
    void (*observe)(void *self, struct dr_arena *arena, int64_t deadline_ms, struct dr_snapshot *ret);
    /* One instance. Codes: CAPACITY, QUOTA, DENIED, INVALID are refusals; THROTTLED, TIMEOUT, UNAVAILABLE leave the outcome unknown. The id lives in the arena. */
    int (*launch)(void *self, struct dr_arena *arena, const struct dr_launch *launch, int64_t deadline_ms, struct dr_str *ret_id,
                  struct dr_err *err);
    /* One instance. NOT_FOUND and PROTECTED are outcomes that the caller handles (rule 16). */
    int (*terminate)(void *self, struct dr_str id, int64_t deadline_ms, struct dr_err *err);
};
struct dr_compute {
    const struct dr_compute_ops *ops;
    void *self;
};

#endif
