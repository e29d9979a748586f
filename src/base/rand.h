#ifndef DR_BASE_RAND_H
#define DR_BASE_RAND_H

/* Seeded random numbers (xoshiro256**, seeded by splitmix64): the same sequence in every build. Not for secrets. */

#include <stdint.h>

struct dr_rand {
    uint64_t s[4];
};

void dr_rand_init(struct dr_rand *r, uint64_t seed);
uint64_t dr_rand_next(struct dr_rand *r);
/* Uniform in [0, n), n > 0, without bias. */
uint64_t dr_rand_below(struct dr_rand *r, uint64_t n);
/* Uniform in [lo, hi], lo <= hi. */
int64_t dr_rand_between(struct dr_rand *r, int64_t lo, int64_t hi);
/* An independent generator for a named part, so that one part's draws do not shift another's. `r` does not move: the same label at the same point gives the
 * same generator. */
struct dr_rand dr_rand_split(const struct dr_rand *r, uint64_t label);

#endif
