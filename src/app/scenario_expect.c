/* The expectations: what must come out. One row per form; each is judged at its time, all along, or at the end. */

#include <stdio.h>

#include "app/scenario.h"
#include "base/num.h"
#include "base/time.h"

#define MAX_SAMPLES 200000

enum expect {
    AT_DECIDE,
    NEVER_DECIDE,
    DECIDED,
    AT_RULE,
    AT_SAYS,
    AT_COUNTER,
    BY_COUNTER,
    END_COUNTER,
    NEVER_COUNTER,
    AT_WORKLOAD,
    NEVER_WORKLOAD,
    AT_WORKER,
    NEVER_WORKER,
    AT_ACTION,
    SETTLED,
    EXPECT_N,
};

const struct dr_sentence_form dr_scenario_expectations[] = {
    [AT_DECIDE] = {"at TIME decide VERDICT [DELTA] [reason REASON]",
                   "The pass of the first process that begins at this time decides this."},
    [NEVER_DECIDE] = {"never decide VERDICT [DELTA] [reason REASON] [from TIME] [to TIME]", "No pass (of any process) decides this."},
    [DECIDED] = {"decided VERDICT LIMIT [reason REASON] [from TIME] [to TIME]", "So many passes decide this."},
    [AT_RULE] = {"at TIME up|down rule RULE TRUTH", "The rule, as the pass at this time saw it: holds, does not, or is unknown."},
    [AT_SAYS] = {"at TIME says TEXT", "The decision in words, as the journal has it, contains this text."},
    [AT_COUNTER] = {"at TIME COUNTER LIMIT [zone ZONE] [market MARKET]",
                    "The count when the clock reaches this time, before the pass of that moment; `end` is after the last pass. Zone and "
                    "market: of workers and ready."},
    [BY_COUNTER] = {"by TIME COUNTER LIMIT [zone ZONE] [market MARKET]", "The same, but a bare number means at least."},
    [END_COUNTER] = {"COUNTER LIMIT [zone ZONE] [market MARKET]", "Short for `at end`."},
    [NEVER_COUNTER] = {"never below|above COUNT COUNTER [zone ZONE] [market MARKET] [from TIME] [to TIME]",
                       "Looked at every second of the run."},
    [AT_WORKLOAD] = {"at TIME workload WORKLOAD running|waiting|stopping|pods LIMIT",
                     "Pods of one workload: running (and not ending), unschedulable, ending, or all."},
    [NEVER_WORKLOAD] = {"never workload WORKLOAD running|waiting|stopping|pods below|above COUNT [from TIME] [to TIME]",
                        "The same, looked at every second."},
    [AT_WORKER] = {"at TIME worker WORKER STATE", "What has become of one worker. `cordoned`: unschedulable by us; `open`: schedulable."},
    [NEVER_WORKER] = {"never worker WORKER STATE [from TIME] [to TIME]", "The same, looked at every second."},
    [AT_ACTION] = {"at TIME action ACTION", "Which action the stored item holds."},
    [SETTLED] = {"settled",
                 "At the end: no action, cordon, ghost, debt or mark is left, every machine is a worker or ended, and what fits runs."},
    [EXPECT_N] = {NULL, NULL},
};

__attribute__((format(printf, 3, 4))) static void fail(struct dr_scenario_run *run, size_t i, const char *fmt, ...) {
    struct dr_scenario_result *result = run->result;
    if (run->failed[i]) {
        return;
    }
    run->failed[i] = true;
    result->held = false;
    if (result->failure_n == DR_SCENARIO_MAX_FAILURES) {
        result->failures_left_out++;
        return;
    }
    char text[1024];
    va_list args;
    va_start(args, fmt);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int n = vsnprintf(text, sizeof text, fmt, args);
#pragma GCC diagnostic pop
    va_end(args);
    DR_ASSERT(n >= 0);
    const struct dr_sentence *s = &run->scenario->expects[i];
    result->failures[result->failure_n++] =
        (struct dr_scenario_failure){s->line, s->column, s->text, dr_str_dup(run->arena, dr_str_of(text))};
}

static struct dr_str clock_of(struct dr_scenario_run *run, int64_t at_ms) {
    struct dr_buf buf;
    dr_buf_init(&buf, 64);
    dr_time_put_clock(&buf, at_ms);
    struct dr_str text = dr_str_dup(run->arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

/* ---- at a time ---- */

static void judge_counter(struct dr_scenario_run *run, size_t i, size_t first) {
    const struct dr_sentence *s = &run->scenario->expects[i];
    const struct dr_sentence_arg *a = &s->args[first];
    struct dr_sentence_arg limit = a[1];
    if (s->form == BY_COUNTER && limit.m == DR_LIMIT_EXACT) {
        limit.m = DR_LIMIT_AT_LEAST;
    }
    int64_t seen = dr_scenario_count(run, (enum dr_counter)a[0].n, &a[2], &a[3]);
    if (!dr_limit_holds(&limit, seen)) {
        fail(run, i, "%s %lld", dr_counter_name((enum dr_counter)a[0].n), (long long)seen);
    }
}

static void judge_worker(struct dr_scenario_run *run, size_t i) {
    const struct dr_sentence_arg *a = run->scenario->expects[i].args;
    if (dr_scenario_worker_is(run, a[1].text, (enum dr_worker_state)a[2].n)) {
        return;
    }
    struct dr_buf buf;
    dr_buf_init(&buf, 256);
    for (int state = 0; state < DR_WORKER_STATE_N; state++) {
        if (dr_scenario_worker_is(run, a[1].text, (enum dr_worker_state)state)) {
            dr_buf_fmt(&buf, "%s%s", buf.n == 0 ? "" : ", ", dr_worker_state_name((enum dr_worker_state)state));
        }
    }
    fail(run, i, "%.*s is %.*s", DR_FMT(a[1].text), DR_FMT(dr_buf_str(&buf)));
    dr_buf_deinit(&buf);
}

static void judge_action(struct dr_scenario_run *run, size_t i) {
    static const char *const names[] = {"none", "scale_up", "scale_down"};
    const struct dr_state *item = dr_world_item(run->world);
    enum dr_scenario_action seen = item == NULL             ? DR_SCENARIO_NO_ACTION
                                   : item->up_action_id.n   ? DR_SCENARIO_UP
                                   : item->down_action_id.n ? DR_SCENARIO_DOWN
                                                            : DR_SCENARIO_NO_ACTION;
    if ((int64_t)seen != run->scenario->expects[i].args[1].n) {
        fail(run, i, "action %s", names[seen]);
    }
}

static void judge_now(struct dr_scenario_run *run, size_t i) {
    const struct dr_sentence *s = &run->scenario->expects[i];
    switch ((enum expect)s->form) {
    case AT_COUNTER:
    case BY_COUNTER:
        judge_counter(run, i, 1);
        break;
    case AT_WORKLOAD: {
        int64_t seen = dr_scenario_count_pods(run, s->args[1].text, s->args[2].n);
        if (!dr_limit_holds(&s->args[3], seen)) {
            fail(run, i, "%.*s %lld", DR_FMT(s->args[2].text), (long long)seen);
        }
        break;
    }
    case AT_WORKER:
        judge_worker(run, i);
        break;
    case AT_ACTION:
        judge_action(run, i);
        break;
    default:
        DR_ASSERT(s->form == AT_COUNTER);
    }
}

/* ---- all along ---- */

static bool within(const struct dr_sentence_arg *from, const struct dr_sentence_arg *to, int64_t now_ms) {
    return (!from->given || now_ms >= from->n) && (!to->given || now_ms <= to->n);
}

static void look_once(struct dr_scenario_run *run, size_t i) {
    const struct dr_sentence *s = &run->scenario->expects[i];
    const struct dr_sentence_arg *a = s->args;
    int64_t now_ms = dr_world_now(run->world);
    if (s->form == NEVER_COUNTER && within(&a[5], &a[6], now_ms)) {
        int64_t seen = dr_scenario_count(run, (enum dr_counter)a[2].n, &a[3], &a[4]);
        if (a[0].n == 0 ? seen < a[1].n : seen > a[1].n) {
            fail(run, i, "%s %lld at %.*s", dr_counter_name((enum dr_counter)a[2].n), (long long)seen, DR_FMT(clock_of(run, now_ms)));
        }
    } else if (s->form == NEVER_WORKLOAD && within(&a[4], &a[5], now_ms)) {
        int64_t seen = dr_scenario_count_pods(run, a[0].text, a[1].n);
        if (a[2].n == 0 ? seen < a[3].n : seen > a[3].n) {
            fail(run, i, "%.*s %lld at %.*s", DR_FMT(a[1].text), (long long)seen, DR_FMT(clock_of(run, now_ms)));
        }
    } else if (s->form == NEVER_WORKER && within(&a[2], &a[3], now_ms)) {
        if (dr_scenario_worker_is(run, a[0].text, (enum dr_worker_state)a[1].n)) {
            fail(run, i, "%.*s is %.*s at %.*s", DR_FMT(a[0].text), DR_FMT(a[1].text), DR_FMT(clock_of(run, now_ms)));
        }
    }
}

static bool all_along(const struct dr_sentence *s) {
    return s->form == NEVER_COUNTER || s->form == NEVER_WORKLOAD || s->form == NEVER_WORKER;
}

struct watch {
    struct dr_scenario_run *run;
    size_t expect;
    int64_t step_ms;
};

static void watch_again(struct dr_world *world, void *arg) {
    const struct watch *w = arg;
    for (size_t i = 0; i < w->run->scenario->expect_n; i++) {
        if (!w->run->failed[i] && all_along(&w->run->scenario->expects[i])) {
            look_once(w->run, i);
        }
    }
    int64_t next_ms = dr_world_now(world) + w->step_ms;
    if (next_ms <= w->run->scenario->lexicon.end_ms) {
        dr_world_at(world, next_ms, watch_again, arg);
    }
}

static void watch_moment(struct dr_world *world, void *arg) {
    (void)world;
    const struct watch *w = arg;
    judge_now(w->run, w->expect);
}

static bool at_moment(const struct dr_sentence *s) {
    return s->form == AT_COUNTER || s->form == BY_COUNTER || s->form == AT_WORKLOAD || s->form == AT_WORKER || s->form == AT_ACTION;
}

void dr_scenario_watch(struct dr_scenario_run *run) {
    const struct dr_scenario *scenario = run->scenario;
    bool along = false;
    for (size_t i = 0; i < scenario->expect_n; i++) {
        const struct dr_sentence *s = &scenario->expects[i];
        along = along || all_along(s);
        if (at_moment(s) && s->args[0].n < scenario->lexicon.end_ms) {
            struct watch *w = DR_NEW(run->arena, struct watch);
            *w = (struct watch){run, i, 0};
            dr_world_at(run->world, s->args[0].n, watch_moment, w);
        }
    }
    if (along) {
        int64_t span_ms = scenario->lexicon.end_ms - scenario->lexicon.start_ms;
        struct watch *w = DR_NEW(run->arena, struct watch);
        *w = (struct watch){run, 0, dr_ceil_div(dr_ceil_div(span_ms, MAX_SAMPLES), DR_SECOND_MS) * DR_SECOND_MS};
        dr_world_at(run->world, scenario->lexicon.start_ms, watch_again, w);
    }
}

/* ---- decisions ---- */

/* Does an expectation ask for the words or the rules of this pass? */
static bool asked_for(const struct dr_scenario *scenario, int64_t at_ms) {
    for (size_t i = 0; i < scenario->expect_n; i++) {
        const struct dr_sentence *s = &scenario->expects[i];
        if ((s->form == AT_DECIDE || s->form == AT_RULE || s->form == AT_SAYS) && s->args[0].n == at_ms) {
            return true;
        }
    }
    return false;
}

static void keep_rules(struct dr_scenario_run *run, const struct dr_plan *plan, struct dr_scenario_tick *tick) {
    struct dr_scenario_rule *rules = DR_NEW_N(run->arena, struct dr_scenario_rule, plan->up_n + plan->down_n);
    for (size_t i = 0; i < plan->up_n + plan->down_n; i++) {
        const struct dr_rule_result *r = i < plan->up_n ? &plan->up[i] : &plan->down[i - plan->up_n];
        rules[i] = (struct dr_scenario_rule){dr_str_dup(run->arena, r->rule->name), i < plan->up_n, r->truth};
    }
    tick->rules = rules;
    tick->rule_n = plan->up_n + plan->down_n;
}

void dr_scenario_note_tick(struct dr_scenario_run *run, int process, const struct dr_tick_report *report) {
    const struct dr_plan *plan = &report->plan;
    if (run->tick_n == run->tick_cap) {
        size_t cap = run->tick_cap == 0 ? 256 : run->tick_cap * 2;
        struct dr_scenario_tick *v = DR_NEW_N(run->arena, struct dr_scenario_tick, cap);
        for (size_t i = 0; i < run->tick_n; i++) {
            v[i] = run->ticks[i];
        }
        run->ticks = v;
        run->tick_cap = cap;
    }
    struct dr_scenario_tick *tick = &run->ticks[run->tick_n++];
    *tick = (struct dr_scenario_tick){.at_ms = plan->at_ms,
                                      .process = process,
                                      .verdict = plan->decision.verdict,
                                      .reason = plan->decision.reason,
                                      .delta = plan->decision.delta};
    struct dr_buf buf;
    dr_buf_init(&buf, 4096);
    dr_plan_text(plan, &buf);
    dr_world_trace(run->world, "decide %.*s", DR_FMT(dr_str_sub(dr_buf_str(&buf), 0, 160)));
    if (tick->verdict != DR_VERDICT_NOOP || asked_for(run->scenario, tick->at_ms)) {
        tick->text = dr_str_dup(run->arena, dr_buf_str(&buf));
        keep_rules(run, plan, tick);
    }
    dr_buf_deinit(&buf);
}

static bool decides(const struct dr_scenario_tick *tick, const struct dr_sentence_arg *verdict, const struct dr_sentence_arg *delta,
                    const struct dr_sentence_arg *reason) {
    bool same = (verdict->n >> tick->verdict & 1) != 0 && (delta == NULL || !delta->given || delta->n == tick->delta);
    return same && (!reason->given || (reason->n >> tick->reason & 1) != 0);
}

static bool says(struct dr_str text, struct dr_str part) {
    for (size_t i = 0; i + part.n <= text.n; i++) {
        if (dr_str_eq(dr_str_sub(text, i, i + part.n), part)) {
            return true;
        }
    }
    return false;
}

/* What the tick says about an expectation of that time; NULL: it holds. */
static struct dr_str tick_differs(const struct dr_sentence *s, const struct dr_scenario_tick *tick) {
    const struct dr_sentence_arg *a = s->args;
    if (s->form == AT_DECIDE) {
        return decides(tick, &a[1], &a[2], &a[3]) ? DR_STR_NONE : tick->text;
    }
    if (s->form == AT_SAYS) {
        return says(tick->text, a[1].text) ? DR_STR_NONE : tick->text;
    }
    for (size_t i = 0; i < tick->rule_n; i++) {
        const struct dr_scenario_rule *r = &tick->rules[i];
        if (r->up == (a[1].n == 0) && dr_str_eq(r->name, a[2].text)) {
            return (int64_t)r->truth == a[3].n ? DR_STR_NONE : dr_str_of(dr_truth_name(r->truth));
        }
    }
    return DR_STR("the rule was not evaluated");
}

static void judge_tick(struct dr_scenario_run *run, size_t i) {
    const struct dr_sentence *s = &run->scenario->expects[i];
    struct dr_str seen = DR_STR_NONE;
    for (size_t k = 0; k < run->tick_n; k++) {
        if (run->ticks[k].process != 0 || run->ticks[k].at_ms != s->args[0].n) {
            continue;
        }
        seen = tick_differs(s, &run->ticks[k]);
        if (seen.n == 0) {
            return;
        }
    }
    if (seen.n == 0) {
        fail(run, i, "no pass began at that time");
    } else {
        fail(run, i, "%.*s", DR_FMT(seen));
    }
}

static void judge_never(struct dr_scenario_run *run, size_t i) {
    const struct dr_sentence_arg *a = run->scenario->expects[i].args;
    for (size_t k = 0; k < run->tick_n; k++) {
        const struct dr_scenario_tick *tick = &run->ticks[k];
        if (within(&a[3], &a[4], tick->at_ms) && decides(tick, &a[0], &a[1], &a[2])) {
            fail(run, i, "at %.*s %.*s", DR_FMT(clock_of(run, tick->at_ms)),
                 DR_FMT(tick->text.n > 0 ? tick->text : dr_str_of(dr_reason_name(tick->reason))));
        }
    }
}

static void judge_decided(struct dr_scenario_run *run, size_t i) {
    const struct dr_sentence_arg *a = run->scenario->expects[i].args;
    int64_t n = 0;
    for (size_t k = 0; k < run->tick_n; k++) {
        n += within(&a[3], &a[4], run->ticks[k].at_ms) && decides(&run->ticks[k], &a[0], NULL, &a[2]);
    }
    if (!dr_limit_holds(&a[1], n)) {
        fail(run, i, "%lld times", (long long)n);
    }
}

static void judge_settled(struct dr_scenario_run *run, size_t i) {
    struct dr_buf buf;
    dr_buf_init(&buf, 2048);
    if (!dr_world_check_settled(run->world, DR_SETTLED_PODS, &buf)) {
        while (buf.n > 0 && buf.p[buf.n - 1] == '\n') {
            buf.p[--buf.n] = '\0';
        }
        for (size_t k = 0; k < buf.n; k++) {
            buf.p[k] = buf.p[k] == '\n' ? ';' : buf.p[k];
        }
        fail(run, i, "%.*s", DR_FMT(dr_buf_str(&buf)));
    }
    dr_buf_deinit(&buf);
}

void dr_scenario_judge(struct dr_scenario_run *run) {
    const struct dr_scenario *scenario = run->scenario;
    for (size_t i = 0; i < scenario->expect_n; i++) {
        const struct dr_sentence *s = &scenario->expects[i];
        switch ((enum expect)s->form) {
        case AT_DECIDE:
        case AT_RULE:
        case AT_SAYS:
            judge_tick(run, i);
            break;
        case NEVER_DECIDE:
            judge_never(run, i);
            break;
        case DECIDED:
            judge_decided(run, i);
            break;
        case END_COUNTER:
            judge_counter(run, i, 0);
            break;
        case SETTLED:
            judge_settled(run, i);
            break;
        default:
            if (all_along(s)) {
                look_once(run, i);
            } else if (s->args[0].n >= scenario->lexicon.end_ms) {
                judge_now(run, i);
            }
        }
    }
}
