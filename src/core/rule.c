#include "core/rule.h"

#include <string.h>

#include "base/num.h"
#include "base/time.h"

const char *dr_truth_name(enum dr_truth truth) {
    static const char *const names[] = {[DR_NO] = "no", [DR_YES] = "yes", [DR_UNKNOWN] = "unknown"};
    return names[truth];
}

bool dr_compare_holds(enum dr_compare compare, int64_t value, int64_t threshold) {
    switch (compare) {
    case DR_ABOVE:
        return value > threshold;
    case DR_AT_LEAST:
        return value >= threshold;
    case DR_BELOW:
        return value < threshold;
    case DR_AT_MOST:
        break;
    }
    return value <= threshold;
}

const char *dr_compare_sign(enum dr_compare compare) {
    static const char *const signs[] = {[DR_ABOVE] = ">", [DR_AT_LEAST] = ">=", [DR_BELOW] = "<", [DR_AT_MOST] = "<="};
    return signs[compare];
}

static bool holds(const struct dr_rule *rule, const struct dr_sample *sample) {
    return dr_compare_holds(rule->compare, sample->micro, rule->threshold_micro);
}

/* A sample from a clock that runs a little ahead of ours is one of now. */
static int64_t age_ms(int64_t now_ms, const struct dr_sample *sample) { return dr_max_i64(0, now_ms - sample->at_ms); }

static enum dr_truth unknown(struct dr_rule_result *ret, struct dr_str why) {
    ret->why = why;
    return DR_UNKNOWN;
}

/* Walks back from now. The whole window is looked at even behind a hole: one sample that violates the comparison settles it (hazards 2 and 5). */
static enum dr_truth judge_window(const struct dr_config *cfg, int64_t now_ms, const struct dr_reading *reading,
                                  struct dr_rule_result *ret) {
    const struct dr_rule *rule = ret->rule;
    int64_t later_ms = 0; /* age of the sample looked at before */
    int64_t count = 0;
    bool hole = false;
    for (size_t i = reading->sample_n; i > 0; i--) {
        const struct dr_sample *sample = &reading->samples[i - 1];
        int64_t age = age_ms(now_ms, sample);
        if (age > rule->for_ms) {
            break;
        }
        if (!holds(rule, sample)) {
            return DR_NO;
        }
        hole = hole || age - later_ms > cfg->max_gap_ms;
        if (!hole) {
            ret->held_ms = age;
        }
        later_ms = age;
        count++;
    }
    if (count == 0) {
        return unknown(ret, DR_STR("no sample in the window"));
    }
    if (hole) {
        return unknown(ret, DR_STR("a hole in the samples"));
    }
    if (rule->for_ms - later_ms > cfg->max_gap_ms) {
        return unknown(ret, DR_STR("the samples do not reach back over the whole window"));
    }
    if (count < cfg->min_samples) {
        return unknown(ret, DR_STR("too few samples in the window"));
    }
    return DR_YES;
}

static enum dr_truth judge_signal(const struct dr_config *cfg, const struct dr_snapshot *snap, struct dr_rule_result *ret) {
    const struct dr_rule *rule = ret->rule;
    if (rule->signal >= snap->reading_n) {
        return unknown(ret, DR_STR("not read"));
    }
    const struct dr_reading *reading = &snap->readings[rule->signal];
    if (!reading->known) {
        return unknown(ret, reading->why.n > 0 ? reading->why : DR_STR("not read"));
    }
    if (reading->sample_n == 0) {
        return unknown(ret, DR_STR("no samples"));
    }
    const struct dr_sample *last = &reading->samples[reading->sample_n - 1];
    bool fresh = age_ms(snap->now_ms, last) <= cfg->max_gap_ms;
    ret->has_value = true;
    ret->value_micro = last->micro;
    ret->spike = fresh && holds(rule, last);
    if (rule->for_ms > 0) {
        return judge_window(cfg, snap->now_ms, reading, ret);
    }
    if (!fresh) {
        return unknown(ret, DR_STR("the last sample is too old"));
    }
    return ret->spike ? DR_YES : DR_NO;
}

static enum dr_truth judge_pending(const struct dr_state *state, const struct dr_snapshot *snap, const struct dr_pending *pending,
                                   struct dr_rule_result *ret) {
    const struct dr_rule *rule = ret->rule;
    if (!pending->known) {
        return unknown(ret, pending->why.n > 0 ? pending->why : DR_STR("pods are not known"));
    }
    ret->has_value = true;
    ret->value_micro = dr_sat_mul(pending->remainder, 1000000);
    if (!dr_compare_holds(rule->compare, ret->value_micro, rule->threshold_micro)) {
        return DR_NO;
    }
    /* The oldest pod's own transition; the clock in the item only where a pod does not say. */
    int64_t since_ms = pending->since_ms > 0 ? pending->since_ms : state->pending_since_epoch * DR_SECOND_MS;
    ret->held_ms = since_ms > 0 ? dr_max_i64(0, snap->now_ms - since_ms) : 0;
    ret->spike = true;
    return ret->held_ms >= rule->for_ms ? DR_YES : DR_NO;
}

const struct dr_streak *dr_rule_streak(const struct dr_state *state, const struct dr_rule *rule) {
    char direction = dr_compare_sign(rule->compare)[0];
    for (size_t i = 0; i < state->streaks.n; i++) {
        struct dr_str key = state->streaks.v[i].rule;
        if (key.n == rule->name.n + 1 && key.p[rule->name.n] == direction && memcmp(key.p, rule->name.p, rule->name.n) == 0) {
            return &state->streaks.v[i];
        }
    }
    return NULL;
}

static int64_t streak_with_this_tick(const struct dr_config *cfg, const struct dr_state *state, const struct dr_rule *rule,
                                     int64_t now_ms) {
    const struct dr_streak *before = dr_rule_streak(state, rule);
    if (before == NULL || before->count < 1) {
        return 1;
    }
    int64_t age = now_ms - before->epoch * DR_SECOND_MS;
    if (age > cfg->interval_ms * 5 / 2 || age < -cfg->interval_ms) {
        return 1;
    }
    return age < cfg->interval_ms / 2 ? before->count : dr_sat_add(before->count, 1);
}

void dr_rule_evaluate(const struct dr_config *cfg, const struct dr_state *state, const struct dr_snapshot *snap,
                      const struct dr_pending *pending, const struct dr_rule *rule, struct dr_rule_result *ret) {
    *ret = (struct dr_rule_result){.rule = rule};
    ret->truth = rule->kind == DR_RULE_PENDING ? judge_pending(state, snap, pending, ret) : judge_signal(cfg, snap, ret);
    if (ret->truth == DR_YES) {
        ret->streak = rule->readings > 1 ? streak_with_this_tick(cfg, state, rule, snap->now_ms) : 1;
        if (ret->streak < rule->readings) {
            ret->truth = DR_NO;
        }
    }
    ret->spike = ret->spike && ret->truth != DR_YES;
    DR_ASSERT(ret->truth != DR_YES || ret->has_value);
}
