#ifndef DR_CORE_VICTIM_H
#define DR_CORE_VICTIM_H

/*
 * Victims of a voluntary scale-down. Unjoined workers first; then only workers that pass every filter, in the order of the configured comparators. Everything is decided before anything is cordoned.
 */

#include "core/fit.h"
#include "core/fleet.h"

enum dr_victim_verdict {
    DR_VICTIM_OK,
    DR_VICTIM_NOT_A_CANDIDATE, /* marked, refused, interrupted, quarantined, already a target */
    DR_VICTIM_UNKNOWN,         /* no clear identity, or its pods or the budgets are unknown */
    DR_VICTIM_CORDONED,        /* was unschedulable before us (rule 18) */
    DR_VICTIM_PROTECTED,
    DR_VICTIM_AVOIDED,
    DR_VICTIM_CRITICAL_POD,
    DR_VICTIM_BARE_POD,
    DR_VICTIM_LOCAL_DATA,
    DR_VICTIM_BUDGET,
    DR_VICTIM_NO_ROOM,
    DR_VICTIM_ZONE,      /* would empty its zone where that is a rule */
    DR_VICTIM_MINIMUM,   /* would fall below minimum */
    DR_VICTIM_NOT_READY, /* still joining, or handled by rule 25, not here */
};
const char *dr_victim_name(enum dr_victim_verdict verdict);

struct dr_candidate {
    const struct dr_worker *worker;
    enum dr_victim_verdict verdict;
    const struct dr_pod *pod; /* that speaks against it, or NULL */
};

struct dr_victims {
    struct dr_candidate *all; /* every worker with its verdict, for the plan, in the fleet's order */
    size_t all_n;
    struct dr_strs chosen; /* at most `want`, in order */
};

/*
 * Chooses up to `want` workers, one after the other, each against what the ones before leave behind. `surplus`: above maximum; idle and cooldown do not matter.
 * Unjoined workers come first, but only those past their join timeout or, with `surplus`, any. Minimum and zone floor are compared with live, targets and those already chosen taken off; a worker that is not live (it failed to join) cannot
 * be protected by them (rule 17). Where emptying a zone is no rule, workers that would do so come last.
 * Comparators: zone = most live workers in its zone first (recounted after each choice), idle = smallest share of its cpu requested first, pods = fewest pods to evict first, age = oldest launch first; then by id.
 * Verdicts about room, zone and minimum are worked out for those only that are reached before `want` is satisfied.
 */
void dr_victims_choose(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, struct dr_fleet *fleet,
                       int64_t want, bool surplus, struct dr_victims *ret);

/*
 * One worker by the same filters. `as_target`: it is already a target of the active scale-down, so being a target, our own cordon (the action's id in the annotation), the avoid list and a budget that has to wait (the Eviction
 * API is asked itself now) do not speak against it, and an unjoined one need not be past its timeout. Other targets count as gone.
 */
struct dr_candidate dr_victim_check(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state,
                                    struct dr_fleet *fleet, const struct dr_worker *worker, bool as_target);

#endif
