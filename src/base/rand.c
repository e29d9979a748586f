#include "base/rand.h"

#include "base/err.h"

static uint64_t rotl(uint64_t x, unsigned k) { return x << k | x >> (64 - k); }

static uint64_t splitmix64(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

void dr_rand_init(struct dr_rand *r, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        r->s[i] = splitmix64(&seed);
    }
}

uint64_t dr_rand_next(struct dr_rand *r) {
    uint64_t *s = r->s;
    uint64_t result = rotl(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

uint64_t dr_rand_below(struct dr_rand *r, uint64_t n) {
    DR_ASSERT(n > 0);
    /* The first 2^64 mod n values would make small results more likely; they are drawn again. */
    uint64_t skip = (0 - n) % n;
    uint64_t v = dr_rand_next(r);
    while (v < skip) {
        v = dr_rand_next(r);
    }
    return v % n;
}

int64_t dr_rand_between(struct dr_rand *r, int64_t lo, int64_t hi) {
    DR_ASSERT(lo <= hi);
    uint64_t span = (uint64_t)hi - (uint64_t)lo;
    uint64_t offset = span == UINT64_MAX ? dr_rand_next(r) : dr_rand_below(r, span + 1);
    return (int64_t)((uint64_t)lo + offset);
}

struct dr_rand dr_rand_split(const struct dr_rand *r, uint64_t label) {
    uint64_t seed = label;
    for (int i = 0; i < 4; i++) {
        seed = splitmix64(&seed) ^ r->s[i];
    }
    struct dr_rand part;
    dr_rand_init(&part, splitmix64(&seed));
    return part;
}
