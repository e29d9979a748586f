/* A plan in several lines for people: the decision, every rule with its verdict, the counts, who was looked at for removal, and what was done. */
#include "base/time.h"
#include "core/plan.h"

static void put_decision(const struct dr_plan *plan, struct dr_buf *buf) {
    dr_time_put(buf, plan->at_ms);
    if (plan->cluster.n > 0) {
        dr_buf_fmt(buf, " %.*s", DR_FMT(plan->cluster));
    }
    dr_buf_puts(buf, ": ");
    dr_plan_text(plan, buf);
    dr_buf_putc(buf, '\n');
    if (plan->action_id.n > 0) {
        dr_buf_fmt(buf, "  action: %.*s\n", DR_FMT(plan->action_id));
    }
    if (plan->unknown.n > 0) {
        dr_buf_fmt(buf, "  unknown: %.*s\n", DR_FMT(plan->unknown));
    }
}

static void put_workers(const struct dr_plan *plan, struct dr_buf *buf) {
    if (!plan->workers_known) {
        dr_buf_puts(buf, "  workers: unknown\n");
        return;
    }
    dr_buf_fmt(buf, "  workers: %lld (live %lld, planned %lld, held %lld; minimum %lld, maximum %lld)\n", (long long)plan->worker_count,
               (long long)plan->live, (long long)plan->planned, (long long)plan->held, (long long)plan->min_workers,
               (long long)plan->max_workers);
}

static void put_rules(const char *title, const struct dr_rule_result *results, size_t n, enum dr_truth sum, struct dr_buf *buf) {
    dr_buf_fmt(buf, "  %s: %s\n", title, dr_truth_name(sum));
    for (size_t i = 0; i < n; i++) {
        dr_buf_fmt(buf, "    %-7s ", dr_truth_name(results[i].truth));
        dr_rule_result_text(&results[i], buf);
        dr_buf_putc(buf, '\n');
    }
}

static void put_pending(const struct dr_plan *plan, struct dr_buf *buf) {
    const struct dr_pending *pending = &plan->pending;
    if (!pending->known) {
        dr_buf_fmt(buf, "  pods that wait: unknown: %.*s\n", DR_FMT(pending->why));
        return;
    }
    dr_buf_fmt(buf, "  pods that wait: %lld, of which a new worker would help %lld; not fitting on what is there or joining: %lld\n",
               (long long)pending->waiting, (long long)pending->helpable, (long long)pending->remainder);
    if (pending->oldest != NULL && pending->since_ms > 0) {
        dr_buf_fmt(buf, "    longest: %.*s/%.*s, for ", DR_FMT(pending->oldest->ns), DR_FMT(pending->oldest->name));
        dr_time_put_span(buf, plan->at_ms - pending->since_ms);
        dr_buf_putc(buf, '\n');
    }
    if (pending->successors > 0) {
        dr_buf_fmt(buf, "    besides, %lld pods that a drain of ours moved\n", (long long)pending->successors);
    }
}

static void put_victims(const struct dr_victims *victims, struct dr_buf *buf) {
    if (victims->all_n == 0) {
        return;
    }
    dr_buf_puts(buf, "  candidates for removal:\n");
    for (size_t i = 0; i < victims->all_n; i++) {
        const struct dr_candidate *candidate = &victims->all[i];
        bool chosen = dr_strs_has(victims->chosen, candidate->worker->id);
        dr_buf_fmt(buf, "    %.*s", DR_FMT(candidate->worker->id));
        if (candidate->worker->node != NULL) {
            dr_buf_fmt(buf, " (%.*s)", DR_FMT(candidate->worker->node->name));
        }
        dr_buf_fmt(buf, ": %s", chosen ? "chosen" : dr_victim_name(candidate->verdict));
        if (candidate->pod != NULL) {
            dr_buf_fmt(buf, " because of %.*s/%.*s", DR_FMT(candidate->pod->ns), DR_FMT(candidate->pod->name));
        }
        dr_buf_putc(buf, '\n');
    }
}

static void put_deeds(const struct dr_plan *plan, struct dr_buf *buf) {
    if (plan->deed_n == 0) {
        return;
    }
    dr_buf_puts(buf, "  done:\n");
    for (size_t i = 0; i < plan->deed_n; i++) {
        const struct dr_deed *deed = &plan->deeds[i];
        dr_buf_puts(buf, "    ");
        dr_time_put_clock(buf, deed->at_ms);
        dr_buf_fmt(buf, " %s", deed->what);
        if (deed->target.n > 0) {
            dr_buf_fmt(buf, " %.*s", DR_FMT(deed->target));
        }
        if (deed->outcome.n > 0) {
            dr_buf_fmt(buf, ": %.*s", DR_FMT(deed->outcome));
        }
        if (deed->rule > 0) {
            dr_buf_fmt(buf, " [rule %d]", deed->rule);
        }
        dr_buf_putc(buf, '\n');
    }
}

void dr_plan_explain(const struct dr_plan *plan, struct dr_buf *buf) {
    put_decision(plan, buf);
    put_workers(plan, buf);
    put_rules("asks for more", plan->up, plan->up_n, plan->pressure, buf);
    put_rules("idle", plan->down, plan->down_n, plan->idle, buf);
    if (plan->idle_ms > 0) {
        dr_buf_puts(buf, "    idle for ");
        dr_time_put_span(buf, plan->idle_ms);
        dr_buf_putc(buf, '\n');
    }
    put_pending(plan, buf);
    put_victims(&plan->decision.victims, buf);
    put_deeds(plan, buf);
}
