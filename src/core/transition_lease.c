/* The lease saves work; safety rests on compare-and-set, the fence and repeatable effects (rule 4). */
#include "base/num.h"
#include "core/transition.h"

enum dr_lease dr_lease_look(const struct dr_state *state, struct dr_str owner, int64_t now_epoch) {
    DR_ASSERT(owner.n > 0);
    if (state->lease_owner.n == 0) {
        return DR_LEASE_FREE;
    }
    if (dr_str_eq(state->lease_owner, owner)) {
        return DR_LEASE_OURS;
    }
    return now_epoch > dr_sat_add(state->lease_until_epoch, DR_LEASE_TAKEOVER_S) ? DR_LEASE_FREE : DR_LEASE_OTHER;
}

bool dr_lease_renew(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str owner, int64_t now_epoch) {
    (void)a;
    *out = *in;
    DR_ASSERT(owner.n > 0 && dr_str_eq(out->lease_owner, owner));
    int64_t until_epoch = dr_sat_add(now_epoch, DR_LEASE_S);
    if (until_epoch <= out->lease_until_epoch) {
        return false;
    }
    out->lease_until_epoch = until_epoch;
    return true;
}

bool dr_lease_take(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str owner, int64_t now_epoch) {
    *out = *in;
    enum dr_lease lease = dr_lease_look(out, owner, now_epoch);
    DR_ASSERT(lease != DR_LEASE_OTHER);
    if (lease == DR_LEASE_OURS) {
        return dr_lease_renew(a, out, out, owner, now_epoch);
    }
    out->lease_owner = owner;
    out->lease_until_epoch = dr_sat_add(now_epoch, DR_LEASE_S);
    out->fence++;
    return true;
}

bool dr_lease_release(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str owner) {
    (void)a;
    *out = *in;
    if (owner.n == 0 || !dr_str_eq(out->lease_owner, owner)) {
        return false;
    }
    out->lease_owner = DR_STR_NONE;
    out->lease_until_epoch = 0;
    return true;
}
