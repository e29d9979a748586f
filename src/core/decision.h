#ifndef DR_CORE_DECISION_H
#define DR_CORE_DECISION_H

/*
 * The decision, in fixed order; the first that applies wins, every rule is evaluated and recorded all the same (docs/architecture.md has the table). Interruptions and an active action come before it and are the step machine's business (core/step.h);
 * here:
 *
 *   workers unknown     refused: a count that is not known is not zero (hazard 6)
 *   planned < minimum   scale up by the difference, whatever the cooldown says (hazard 15)        gates: batch and maximum, back-off, a place to launch
 *   held > maximum      scale down by the surplus, whatever idle and cooldown say                 gates: batch, a victim
 *   up rules hold       scale up by the sizing                                                    gates: batch and maximum, cooldown, back-off, a place
 *   down rules hold     scale down                                                                gates: minimum, idle time, cooldown, batch, a victim
 *   otherwise           nothing, with the reason
 *
 * A closed gate is the reason of a NOOP. A clamp that leaves nothing is a closed gate, never an action of "+0" (hazard 18).
 *
 * Back-off follows a scale-up in which nothing joined. It holds for minimum enforcement too: a broken template would otherwise launch machines on every tick.
 * Pods that wait hold up a scale-down only if a new worker could run them. What nothing helps (an impossible selector, an unbound volume) would otherwise keep the fleet large for ever (hazard 3).
 * While the up rules ask for more nothing shrinks, also where a gate keeps the fleet from growing.
 * An unknown rule is neither a yes nor a no: under `match: any` another rule may still scale up; every down rule must be known, and no more rules than those listed there can hold a scale-down up
 * (a custom signal without `below` cannot).
 */

#include "core/plan.h"

/* Everything that is looked at, evaluated once per observation and shared by decision, cancel checks and commit checks. */
struct dr_view {
    const struct dr_config *cfg;
    const struct dr_state *state;
    const struct dr_snapshot *snap;
    struct dr_fleet fleet;
    struct dr_pending pending;
    struct dr_rule_result up[DR_MAX_RULES]; /* rules that are not off */
    size_t up_n;
    struct dr_rule_result down[DR_MAX_RULES];
    size_t down_n;
    enum dr_truth pressure; /* do the up rules, by `match`, ask for more? regardless of cooldown, back-off, maximum */
    enum dr_truth low;      /* do the down rules all hold? Without any rule: no */
    enum dr_truth idle;     /* low, nothing waits that a worker could help, and nothing asks for more */
    int64_t idle_ms;        /* how long it has been idle, this observation included; 0 where idle is not yes */
};

void dr_view_build(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, const struct dr_snapshot *snap,
                   struct dr_view *ret);

/* Fills plan->decision, rules and counts. With an action active or a malformed item it only says so (ADVANCE, REFUSED). */
void dr_decide(struct dr_arena *arena, struct dr_view *view, struct dr_plan *plan);
/* Fills rules and counts only (an action is active, or nothing may be done). */
void dr_view_describe(struct dr_arena *arena, const struct dr_view *view, struct dr_plan *plan);

/*
 * Sizing before the clamp, at least 1: ratio, step or fit by the configuration. Only pods that neither fit on what is there nor on what is joining count. If every one of them has a hard rule that is not modelled, one worker.
 * `urgent` (may be NULL): more than urgent_pending pods wait, or pods wait and cpu is above its threshold at this moment.
 */
int64_t dr_size_up(const struct dr_view *view, bool *ret_urgent);
/* The one clamp: batch, then maximum against held. `ret_by`: "batch", "maximum", or NULL where nothing was cut. */
int64_t dr_size_clamp(const struct dr_view *view, int64_t wanted, int64_t batch, const char **ret_by);

/*
 * Clocks (rule 6): `out` becomes the view's state with pendingSinceEpoch, idleSinceEpoch, idleSeenEpoch, workerCount and the rules' streaks as they should stand after this observation. True if anything differs.
 * Unknown neither starts nor clears pendingSince; it restarts the idle clock, as do a completed action and a gap of more than 2.5 intervals. idleSeen and the streaks move at most once per half interval, so that a burst of ticks writes nothing.
 */
bool dr_clocks_update(struct dr_arena *arena, const struct dr_view *view, struct dr_state *out);

#endif
