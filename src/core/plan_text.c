/* A plan in words. Everything comes from its operands; numbers are written from integers. */
#include "base/num.h"
#include "base/time.h"
#include "core/plan.h"

#define DETAIL_MAX 4096

/* ---- numbers ---- */

static int64_t rounded(int64_t value, int64_t to) { return (value + (value < 0 ? -to / 2 : to / 2)) / to * to; }

/* Percent with one decimal, other values with three; more where rounding would make a value look equal to a threshold that it is not equal to. */
static void put_value(struct dr_buf *buf, const struct dr_rule *rule, int64_t micro) {
    int64_t shown = rounded(micro, 1000);
    if (micro != rule->threshold_micro && shown == rounded(rule->threshold_micro, 1000)) {
        shown = micro;
    }
    dr_buf_put_micro(buf, rule->ratio ? dr_sat_mul(shown, 100) : shown);
    if (rule->ratio) {
        dr_buf_putc(buf, '%');
    }
}

static void put_seconds_left(struct dr_buf *buf, int64_t ms) { dr_buf_fmt(buf, "%llds left", (long long)dr_ceil_div(ms, DR_SECOND_MS)); }

static void put_pods(struct dr_buf *buf, int64_t n, const char *what) {
    if (n == 0) {
        dr_buf_puts(buf, "no pods");
    } else {
        dr_buf_fmt(buf, "%lld pod%s", (long long)n, n == 1 ? "" : "s");
    }
    dr_buf_fmt(buf, " %s", what);
}

/* ---- rules ---- */

/* Spans in whole seconds: a wait of 70.25 s is "1m10s". */
static void put_span(struct dr_buf *buf, int64_t ms) { dr_time_put_span(buf, ms < DR_SECOND_MS ? ms : ms - ms % DR_SECOND_MS); }

static void put_persistence(struct dr_buf *buf, const struct dr_rule_result *result) {
    const struct dr_rule *rule = result->rule;
    if (result->truth == DR_YES && rule->for_ms > 0) {
        dr_buf_puts(buf, " for ");
        put_span(buf, rule->for_ms);
    } else if (result->spike && rule->for_ms > 0) {
        dr_buf_puts(buf, " for ");
        put_span(buf, result->held_ms);
        dr_buf_puts(buf, " of ");
        put_span(buf, rule->for_ms);
    }
    if (rule->readings > 1 && result->streak > 0) {
        dr_buf_fmt(buf, " (%lld of %lld readings)", (long long)dr_min_i64(result->streak, rule->readings), (long long)rule->readings);
    }
}

static void put_pending_rule(struct dr_buf *buf, const struct dr_rule_result *result) {
    put_pods(buf, result->value_micro / 1000000, "pending");
    if (result->truth == DR_YES && result->held_ms > 0) {
        dr_buf_puts(buf, " for ");
        put_span(buf, result->held_ms);
    } else if (result->spike) {
        dr_buf_puts(buf, " for ");
        put_span(buf, result->held_ms);
        dr_buf_puts(buf, " of ");
        put_span(buf, result->rule->for_ms);
    }
}

static void put_unknown_rule(struct dr_buf *buf, const struct dr_rule_result *result) {
    dr_buf_fmt(buf, "%.*s unknown", DR_FMT(result->rule->name));
    if (result->why.n > 0) {
        dr_buf_fmt(buf, ": %.*s", DR_FMT(result->why));
    }
}

void dr_rule_result_text(const struct dr_rule_result *result, struct dr_buf *buf) {
    const struct dr_rule *rule = result->rule;
    if (result->truth == DR_UNKNOWN) {
        put_unknown_rule(buf, result);
        return;
    }
    if (rule->kind == DR_RULE_PENDING) {
        put_pending_rule(buf, result);
        return;
    }
    dr_buf_fmt(buf, "%.*s ", DR_FMT(rule->name));
    put_value(buf, rule, result->value_micro);
    bool holds_now = result->truth == DR_YES || result->spike;
    dr_buf_fmt(buf, " %s%s ", holds_now ? "" : "not ", dr_compare_sign(rule->compare));
    put_value(buf, rule, rule->threshold_micro);
    put_persistence(buf, result);
}

static void put_comma(struct dr_buf *buf, size_t *n) {
    if ((*n)++ > 0) {
        dr_buf_puts(buf, ", ");
    }
}

enum choice { HOLDING, SPIKES, UNKNOWNS };

static bool is_chosen(const struct dr_rule_result *result, enum choice choice) {
    switch (choice) {
    case HOLDING:
        return result->truth == DR_YES;
    case SPIKES:
        return result->spike && result->truth == DR_NO;
    case UNKNOWNS:
        return result->truth == DR_UNKNOWN;
    }
    return false;
}

static void put_rules(struct dr_buf *buf, const struct dr_rule_result *results, size_t result_n, enum choice choice, size_t *n) {
    for (size_t i = 0; i < result_n; i++) {
        if (is_chosen(&results[i], choice)) {
            put_comma(buf, n);
            dr_rule_result_text(&results[i], buf);
        }
    }
}

/* Values only: "cpu 65%, memory 40%, no pods pending". Each signal once. */
static void put_values(struct dr_buf *buf, const struct dr_plan *plan) {
    size_t n = 0;
    for (size_t i = 0; i < plan->up_n + plan->down_n; i++) {
        const struct dr_rule_result *result = i < plan->up_n ? &plan->up[i] : &plan->down[i - plan->up_n];
        bool again = false;
        for (size_t j = 0; j < plan->up_n && i >= plan->up_n; j++) {
            again = again || dr_str_eq(plan->up[j].rule->name, result->rule->name);
        }
        if (again || !result->has_value || result->rule->kind == DR_RULE_PENDING) {
            continue;
        }
        put_comma(buf, &n);
        dr_buf_fmt(buf, "%.*s ", DR_FMT(result->rule->name));
        put_value(buf, result->rule, result->value_micro);
    }
    if (plan->pending.known) {
        put_comma(buf, &n);
        put_pods(buf, plan->pending.waiting, "pending");
    }
}

/* ---- the reason ---- */

static void put_clamp(struct dr_buf *buf, const struct dr_decision *decision) {
    /* Whoever sets another reason over a decision that was clamped leaves these operands behind. */
    bool sized = decision->reason == DR_REASON_BELOW_MINIMUM || decision->reason == DR_REASON_RULES || decision->reason == DR_REASON_IDLE ||
                 decision->reason == DR_REASON_ABOVE_MAXIMUM;
    if (sized && decision->clamped_by != NULL) {
        dr_buf_fmt(buf, "; wanted %lld, limited by %s", (long long)decision->wanted, decision->clamped_by);
    }
}

static void put_up_rules(struct dr_buf *buf, const struct dr_plan *plan) {
    size_t n = 0;
    put_rules(buf, plan->up, plan->up_n, HOLDING, &n);
    if (plan->decision.urgent) {
        put_rules(buf, plan->up, plan->up_n, SPIKES, &n);
    }
}

static void put_idle(struct dr_buf *buf, const struct dr_plan *plan) {
    size_t n = 0;
    put_rules(buf, plan->down, plan->down_n, HOLDING, &n);
    put_comma(buf, &n);
    put_pods(buf, 0, "pending");
    if (plan->idle_ms > 0) {
        dr_buf_puts(buf, ", idle for ");
        put_span(buf, plan->idle_ms);
    }
}

static void put_unknowns(struct dr_buf *buf, const struct dr_plan *plan) {
    size_t n = 0;
    put_rules(buf, plan->up, plan->up_n, UNKNOWNS, &n);
    for (size_t i = 0; i < plan->down_n; i++) {
        bool again = false;
        for (size_t j = 0; j < plan->up_n; j++) {
            again = again || (plan->up[j].truth == DR_UNKNOWN && dr_str_eq(plan->up[j].rule->name, plan->down[i].rule->name));
        }
        if (!again) {
            put_rules(buf, &plan->down[i], 1, UNKNOWNS, &n);
        }
    }
    if (!plan->pending.known && n == 0) {
        put_comma(buf, &n);
        dr_buf_fmt(buf, "pending unknown: %.*s", DR_FMT(plan->pending.why));
    }
}

static void put_candidate(struct dr_buf *buf, const struct dr_candidate *candidate) {
    dr_buf_fmt(buf, "%.*s %s", DR_FMT(candidate->worker->id), dr_victim_name(candidate->verdict));
    if (candidate->pod != NULL) {
        dr_buf_fmt(buf, " (%.*s/%.*s)", DR_FMT(candidate->pod->ns), DR_FMT(candidate->pod->name));
    }
}

static void put_no_victim(struct dr_buf *buf, const struct dr_victims *victims) {
    enum { SHOWN = 4 };
    dr_buf_fmt(buf, "none of %zu workers can go", victims->all_n);
    for (size_t i = 0; i < victims->all_n && i < SHOWN; i++) {
        dr_buf_puts(buf, i == 0 ? ": " : ", ");
        put_candidate(buf, &victims->all[i]);
    }
    if (victims->all_n > SHOWN) {
        dr_buf_fmt(buf, " and %zu more", victims->all_n - SHOWN);
    }
}

static void put_nothing_reason(struct dr_buf *buf, const struct dr_plan *plan) {
    size_t n = 0;
    switch (plan->decision.reason) {
    case DR_REASON_MAX_REACHED:
        dr_buf_fmt(buf, "%lld held, maximum %lld", (long long)plan->held, (long long)plan->max_workers);
        if (plan->pressure == DR_YES) {
            dr_buf_puts(buf, "; ");
            put_up_rules(buf, plan);
        }
        break;
    case DR_REASON_COOLDOWN:
    case DR_REASON_BACKOFF:
        put_seconds_left(buf, plan->decision.left_ms);
        if (plan->pressure == DR_YES) {
            dr_buf_puts(buf, "; ");
            put_up_rules(buf, plan);
        }
        break;
    case DR_REASON_SPIKE:
        put_rules(buf, plan->up, plan->up_n, SPIKES, &n);
        break;
    case DR_REASON_UNKNOWN:
        put_unknowns(buf, plan);
        break;
    case DR_REASON_NOT_IDLE_YET:
        dr_buf_puts(buf, "idle for ");
        put_span(buf, plan->idle_ms);
        dr_buf_puts(buf, " of ");
        put_span(buf, dr_sat_add(plan->idle_ms, plan->decision.left_ms));
        break;
    case DR_REASON_AT_MINIMUM:
        dr_buf_fmt(buf, "%lld live, minimum %lld", (long long)plan->live, (long long)plan->min_workers);
        break;
    case DR_REASON_NO_VICTIM:
        put_no_victim(buf, &plan->decision.victims);
        break;
    case DR_REASON_NO_PLACE:
        dr_buf_puts(buf, "every zone and market is out of stock or avoided");
        break;
    case DR_REASON_PENDING:
        put_pods(buf, plan->pending.helpable, "pending");
        break;
    case DR_REASON_NO_HELP:
        put_pods(buf, plan->pending.waiting, "pending that a new worker would not help");
        if (plan->pending.helpable > 0) {
            dr_buf_fmt(buf, ", %lld of them fit on what is there", (long long)plan->pending.helpable);
        }
        break;
    case DR_REASON_DEBT:
        dr_buf_fmt(buf, "replacements are owed, %lld held, maximum %lld", (long long)plan->held, (long long)plan->max_workers);
        break;
    default:
        put_values(buf, plan);
        break;
    }
}

static void put_action_reason(struct dr_buf *buf, const struct dr_plan *plan) {
    switch (plan->decision.reason) {
    case DR_REASON_BELOW_MINIMUM:
        dr_buf_fmt(buf, "%lld planned, minimum %lld", (long long)plan->planned, (long long)plan->min_workers);
        break;
    case DR_REASON_RULES:
        put_up_rules(buf, plan);
        break;
    case DR_REASON_REPLACEMENT:
        dr_buf_puts(buf, "interrupted workers are replaced");
        break;
    case DR_REASON_IDLE:
        put_idle(buf, plan);
        break;
    case DR_REASON_ABOVE_MAXIMUM:
        dr_buf_fmt(buf, "%lld held, maximum %lld", (long long)plan->held, (long long)plan->max_workers);
        break;
    case DR_REASON_REBALANCE:
        dr_buf_puts(buf, "a worker with a rebalance hint has its replacement");
        break;
    case DR_REASON_NOT_READY:
        dr_buf_puts(buf, "a worker has not been ready for too long");
        break;
    default:
        put_values(buf, plan);
        break;
    }
    put_clamp(buf, &plan->decision);
}

static void put_other_reason(struct dr_buf *buf, const struct dr_plan *plan) {
    if (plan->decision.reason == DR_REASON_ACTION_ACTIVE) {
        dr_buf_put_str(buf, plan->action_id);
    } else if (plan->decision.reason == DR_REASON_MALFORMED) {
        dr_buf_puts(buf, "the state item has attributes of the wrong type");
    } else {
        dr_buf_put_str(buf, plan->unknown);
    }
}

void dr_decision_detail(const struct dr_plan *plan, struct dr_buf *buf) {
    const struct dr_decision *decision = &plan->decision;
    if (decision->detail.n > 0) {
        dr_buf_put_str(buf, decision->detail);
    } else if (decision->verdict == DR_VERDICT_NOOP) {
        put_nothing_reason(buf, plan);
    } else if (decision->verdict == DR_VERDICT_SCALE_UP || decision->verdict == DR_VERDICT_SCALE_DOWN) {
        put_action_reason(buf, plan);
    } else {
        put_other_reason(buf, plan);
    }
}

void dr_plan_text(const struct dr_plan *plan, struct dr_buf *buf) {
    const struct dr_decision *decision = &plan->decision;
    dr_buf_puts(buf, dr_verdict_name(decision->verdict));
    if (decision->delta != 0) {
        dr_buf_fmt(buf, " %+lld", (long long)decision->delta);
    }
    if (decision->reason != DR_REASON_RULES) {
        dr_buf_fmt(buf, " %s", dr_reason_name(decision->reason));
    }
    struct dr_buf detail;
    dr_buf_init(&detail, DETAIL_MAX);
    dr_decision_detail(plan, &detail);
    if (detail.n > 0) {
        dr_buf_fmt(buf, ": %.*s", DR_FMT(dr_buf_str(&detail)));
    }
    dr_buf_deinit(&detail);
}
