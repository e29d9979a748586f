#ifndef DR_CORE_RULE_H
#define DR_CORE_RULE_H

/*
 * Rules over signals. `>` is exact: a value at the threshold does not hold; `>=`, `<`, `<=` likewise. A window holds if every sample in [now - for, now] satisfies the comparison, there are at least min_samples, no gap (also from the window's
 * start to the first sample and from the last sample to now) exceeds max_gap; a violated comparison is "no" even if data is missing elsewhere; otherwise a hole is unknown, never "held".
 */

#include "core/config.h"
#include "core/model.h"
#include "core/pending.h"
#include "core/state.h"

enum dr_truth { DR_NO, DR_YES, DR_UNKNOWN };
const char *dr_truth_name(enum dr_truth truth); /* "no", "yes", "unknown" */

struct dr_rule_result {
    const struct dr_rule *rule;
    enum dr_truth truth;
    bool spike; /* holds now, but not yet for long enough or in enough readings */
    bool has_value;
    int64_t value_micro; /* last sample, or the number of pods for `pending` */
    int64_t held_ms;     /* how long it has held as far as is known */
    int64_t streak;      /* consecutive readings including this one */
    struct dr_str why;   /* of an unknown */
};

bool dr_compare_holds(enum dr_compare compare, int64_t value, int64_t threshold);
const char *dr_compare_sign(enum dr_compare compare); /* ">", ">=", "<", "<=" */

/*
 * Evaluates one rule on this observation. A window looks at the samples of [now - for, now] only.
 *
 * Readings (`readings: N`) count ticks in which the rule's comparison (and its window, if it has one) held. The count goes on from the streak in the state, unless that was last raised more than 2.5 intervals ago
 * (hazard 8); ticks less than half an interval after the last one that counted do not count again, so that a burst of events is not "sustained". A "no" and an unknown end a streak.
 */
void dr_rule_evaluate(const struct dr_config *cfg, const struct dr_state *state, const struct dr_snapshot *snap,
                      const struct dr_pending *pending, const struct dr_rule *rule, struct dr_rule_result *ret);

/* The rule's streak in the state, or NULL. Its key there is the rule's name and direction: "cpu>" or "cpu<". */
const struct dr_streak *dr_rule_streak(const struct dr_state *state, const struct dr_rule *rule);

#endif
