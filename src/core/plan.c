#include "core/plan.h"

#include <string.h>

#define DEED_MAX 256

const char *dr_reason_name(enum dr_reason reason) {
    static const char *const names[] = {
        [DR_REASON_NONE] = "none",
        [DR_REASON_BELOW_MINIMUM] = "below_minimum",
        [DR_REASON_RULES] = "rules",
        [DR_REASON_REPLACEMENT] = "replacement",
        [DR_REASON_IDLE] = "idle",
        [DR_REASON_ABOVE_MAXIMUM] = "above_maximum",
        [DR_REASON_REBALANCE] = "rebalance",
        [DR_REASON_NOT_READY] = "not_ready",
        [DR_REASON_WITHIN_LIMITS] = "within_limits",
        [DR_REASON_MAX_REACHED] = "max_reached",
        [DR_REASON_COOLDOWN] = "cooldown",
        [DR_REASON_BACKOFF] = "backoff",
        [DR_REASON_SPIKE] = "spike",
        [DR_REASON_UNKNOWN] = "unknown",
        [DR_REASON_NOT_IDLE_YET] = "not_idle_yet",
        [DR_REASON_AT_MINIMUM] = "at_minimum",
        [DR_REASON_NO_VICTIM] = "no_victim",
        [DR_REASON_NO_PLACE] = "no_place",
        [DR_REASON_PENDING] = "pending",
        [DR_REASON_NO_HELP] = "no_help",
        [DR_REASON_ACTION_ACTIVE] = "action_active",
        [DR_REASON_DEBT] = "debt",
        [DR_REASON_LEASE_HELD] = "lease_held",
        [DR_REASON_MALFORMED] = "malformed",
        [DR_REASON_WORKERS_UNKNOWN] = "workers_unknown",
    };
    _Static_assert(sizeof names / sizeof names[0] == DR_REASON_N, "every reason has a name");
    return names[reason];
}

const char *dr_verdict_name(enum dr_verdict verdict) {
    static const char *const names[] = {[DR_VERDICT_NOOP] = "noop",
                                        [DR_VERDICT_SCALE_UP] = "scale_up",
                                        [DR_VERDICT_SCALE_DOWN] = "scale_down",
                                        [DR_VERDICT_ADVANCE] = "advance",
                                        [DR_VERDICT_REFUSED] = "refused"};
    _Static_assert(sizeof names / sizeof names[0] == DR_VERDICT_N, "every verdict has a name");
    return names[verdict];
}

static void make_room(struct dr_arena *arena, struct dr_plan *plan) {
    if (plan->deed_n < plan->deed_cap) {
        return;
    }
    size_t cap = plan->deed_cap == 0 ? 8 : plan->deed_cap * 2;
    struct dr_deed *deeds = DR_NEW_N(arena, struct dr_deed, cap);
    if (plan->deed_n > 0) {
        memcpy(deeds, plan->deeds, plan->deed_n * sizeof deeds[0]);
    }
    plan->deeds = deeds;
    plan->deed_cap = cap;
}

void dr_plan_deed(struct dr_arena *arena, struct dr_plan *plan, int64_t at_ms, int rule, const char *what, struct dr_str target,
                  struct dr_str outcome) {
    if (plan->deed_n == DEED_MAX) {
        struct dr_deed *last = &plan->deeds[DEED_MAX - 1];
        /* The first one past the ceiling takes the place of the last kept one, so two are left out. */
        plan->left_out = plan->left_out == 0 ? 2 : plan->left_out + 1;
        *last = (struct dr_deed){.at_ms = at_ms, .what = "left out", .outcome = dr_str_fmt(arena, "%d further deeds", (int)plan->left_out)};
        return;
    }
    make_room(arena, plan);
    plan->deeds[plan->deed_n++] = (struct dr_deed){.at_ms = at_ms, .what = what, .target = target, .outcome = outcome, .rule = rule};
}
