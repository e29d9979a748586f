#include "app/daemon.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>

#include "base/num.h"
#include "base/time.h"

#define TICK_ARENA_MAX ((size_t)512 * 1024 * 1024)
#define TEXT_MAX 2048

void dr_daemon_init(struct dr_daemon *daemon) {
    memset(daemon, 0, sizeof(*daemon));
    dr_arena_init(&daemon->arena, TICK_ARENA_MAX);
    dr_arena_init(&daemon->later, TICK_ARENA_MAX);
}

void dr_daemon_deinit(struct dr_daemon *daemon) {
    dr_arena_deinit(&daemon->arena);
    dr_arena_deinit(&daemon->later);
}

const char *dr_tick_outcome_name(enum dr_tick_outcome outcome) {
    static const char *const names[] = {"done", "waiting", "standby", "lost", "refused", "failed"};
    return names[outcome];
}

/* ---- one pass ---- */

static enum dr_level level_of(const struct dr_tick_report *report) {
    switch (report->outcome) {
    case DR_TICK_FAILED:
    case DR_TICK_REFUSED:
        return DR_LOG_ERROR;
    case DR_TICK_LOST:
        return DR_LOG_WARN;
    default:
        return report->plan.unknown.n > 0 ? DR_LOG_WARN : DR_LOG_INFO;
    }
}

/* Once per pass: what was decided and why, and how it ended. */
static void log_tick(struct dr_daemon *daemon, const char *woken_by, const struct dr_tick_report *report, int64_t took_ms) {
    struct dr_buf text;
    dr_buf_init(&text, TEXT_MAX);
    dr_plan_text(&report->plan, &text);
    const struct dr_plan *plan = &report->plan;
    struct dr_field fields[14];
    size_t n = 0;
    fields[n++] = DR_F_STR("outcome", dr_str_of(dr_tick_outcome_name(report->outcome)));
    fields[n++] = DR_F_STR("verdict", dr_str_of(dr_verdict_name(plan->decision.verdict)));
    fields[n++] = DR_F_STR("reason", dr_str_of(dr_reason_name(plan->decision.reason)));
    fields[n++] = DR_F_STR("woken", dr_str_of(woken_by));
    fields[n++] = DR_F_INT("ms", took_ms);
    if (plan->workers_known) {
        fields[n++] = DR_F_INT("workers", plan->worker_count);
        fields[n++] = DR_F_INT("live", plan->live);
    }
    if (report->effects > 0 || report->writes > 0) {
        fields[n++] = DR_F_INT("effects", report->effects);
        fields[n++] = DR_F_INT("writes", report->writes);
    }
    if (plan->action_id.n > 0) {
        fields[n++] = DR_F_STR("action", plan->action_id);
    }
    if (plan->unknown.n > 0) {
        fields[n++] = DR_F_STR("unknown", plan->unknown);
    }
    if (report->err.code != DR_OK) {
        fields[n++] = DR_F_STR("error", dr_str_of(report->err.text));
    }
    daemon->log->tick = plan->request_id;
    dr_log_put(daemon->log, plan->at_ms + took_ms, level_of(report), "tick", dr_buf_str(&text), fields, n);
    daemon->log->tick = DR_STR_NONE;
    dr_buf_deinit(&text);
}

static void tell_health(struct dr_daemon *daemon, const struct dr_tick_report *report) {
    bool ready = report->outcome != DR_TICK_FAILED && report->outcome != DR_TICK_REFUSED;
    dr_health_set_ready(daemon->health, ready, ready ? "ok" : report->err.text);
}

enum dr_tick_outcome dr_daemon_tick(struct dr_daemon *daemon, const char *woken_by, struct dr_tick_report *ret) {
    const struct dr_clock *clock = &daemon->ports->clock;
    dr_arena_reset(&daemon->arena);
    dr_arena_reset(&daemon->later);
    int64_t begun_ms = clock->ops->now_ms(clock->self);
    struct dr_tick_options options = {
        .request_id = dr_str_fmt(&daemon->arena, "%.*s-%06llu", DR_FMT(daemon->name), (unsigned long long)++daemon->tick_n),
        .deadline_ms = begun_ms + daemon->cfg->tick_limit_ms,
        .later = &daemon->later,
    };
    enum dr_tick_outcome outcome = dr_tick(daemon->ports, daemon->cfg, &options, &daemon->arena, ret);
    if (daemon->log != NULL) {
        log_tick(daemon, woken_by, ret, clock->ops->now_ms(clock->self) - begun_ms);
    }
    tell_health(daemon, ret);
    if (daemon->after_tick != NULL) {
        daemon->after_tick(daemon->self, ret);
    }
    return outcome;
}

/* ---- when the next is due ---- */

/* A pod that waits makes its rule hold at a moment that is known: a pass then, not at the next interval. */
static int64_t until_pending_holds(const struct dr_config *cfg, const struct dr_plan *plan, int64_t now_ms) {
    const struct dr_rule *rule = &cfg->up[DR_UP_PENDING];
    int64_t holds_ms = dr_sat_add(plan->pending.since_ms, rule->for_ms);
    bool waits = !rule->off && plan->pending.known && plan->pending.remainder > 0 && plan->pending.since_ms > 0;
    return waits && holds_ms >= now_ms ? holds_ms - now_ms + 1 : INT64_MAX;
}

/* What holds a decision back (cooldown, back-off, idle time) ends at a moment that is known too. */
static int64_t until_free(const struct dr_plan *plan) {
    const struct dr_decision *decision = &plan->decision;
    bool held =
        decision->verdict == DR_VERDICT_NOOP && decision->left_ms > 0 &&
        (decision->reason == DR_REASON_COOLDOWN || decision->reason == DR_REASON_BACKOFF || decision->reason == DR_REASON_NOT_IDLE_YET);
    return held ? dr_max_i64(decision->left_ms, DR_SECOND_MS) : INT64_MAX;
}

int64_t dr_daemon_pause_ms(const struct dr_config *cfg, const struct dr_tick_report *report, int failures, int64_t now_ms) {
    int64_t pause_ms = cfg->interval_ms;
    switch (report->outcome) {
    case DR_TICK_DONE:
        break;
    case DR_TICK_WAITING:
    case DR_TICK_LEASE:
    case DR_TICK_LOST:
        pause_ms = dr_min_i64(pause_ms, DR_DAEMON_FOLLOW_MS);
        break;
    case DR_TICK_REFUSED:
        break;
    case DR_TICK_FAILED: {
        int doubled = failures < 1 ? 0 : failures > 10 ? 9 : failures - 1;
        pause_ms = dr_min_i64(pause_ms, DR_DAEMON_RETRY_MS << doubled);
        break;
    }
    }
    pause_ms = dr_min_i64(pause_ms, until_free(&report->plan));
    return dr_min_i64(pause_ms, until_pending_holds(cfg, &report->plan, now_ms));
}

/* ---- the loop ---- */

static const char *woken_by(unsigned woken) {
    if ((woken & DR_WAKE_MESSAGE) != 0) {
        return "message";
    }
    if ((woken & DR_WAKE_POD) != 0) {
        return "pod";
    }
    return (woken & DR_WAKE_NODE) != 0 ? "node" : "timer";
}

/* What a pass took goes back to the system while nothing happens: without this the heap keeps the largest pass, in pieces that grow over days. */
static void give_back_memory(void) {
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

static void pass(struct dr_daemon *daemon) {
    struct dr_tick_report report;
    unsigned woken = daemon->woken;
    daemon->woken = 0;
    enum dr_tick_outcome outcome = dr_daemon_tick(daemon, woken_by(woken), &report);
    give_back_memory();
    daemon->failures = outcome == DR_TICK_FAILED ? daemon->failures + 1 : 0;
    const struct dr_clock *clock = &daemon->ports->clock;
    int64_t now_ms = clock->ops->now_ms(clock->self);
    daemon->last_tick_ms = daemon->ops->monotonic_ms(daemon->self);
    daemon->next_ms = daemon->last_tick_ms + dr_daemon_pause_ms(daemon->cfg, &report, daemon->failures, now_ms);
}

/* When to stop waiting: the next pass is due, or the events that came are gathered. */
static int64_t due_ms(const struct dr_daemon *daemon) {
    if (daemon->woken == 0) {
        return daemon->next_ms;
    }
    int64_t gathered_ms = daemon->woken_ms + daemon->batch_ms;
    if ((daemon->woken & DR_WAKE_MESSAGE) == 0) {
        gathered_ms = dr_max_i64(gathered_ms, daemon->last_tick_ms + DR_DAEMON_CALM_MS);
    }
    return dr_min_i64(gathered_ms, daemon->next_ms);
}

static void reload(struct dr_daemon *daemon) {
    if (daemon->ops->reload(daemon->self, daemon) == 0) {
        daemon->next_ms = daemon->ops->monotonic_ms(daemon->self); /* by the new rules, now */
    }
}

void dr_daemon_run(struct dr_daemon *daemon) {
    daemon->next_ms = daemon->ops->monotonic_ms(daemon->self);
    daemon->last_tick_ms = daemon->next_ms - DR_DAEMON_CALM_MS;
    for (;;) {
        unsigned seen = daemon->ops->wait(daemon->self, due_ms(daemon));
        if ((seen & DR_WAKE_STOP) != 0) {
            return;
        }
        if ((seen & DR_WAKE_RELOAD) != 0) {
            reload(daemon);
        }
        int64_t now_ms = daemon->ops->monotonic_ms(daemon->self);
        unsigned events = seen & (DR_WAKE_MESSAGE | DR_WAKE_POD | DR_WAKE_NODE);
        if (events != 0 && daemon->woken == 0) {
            daemon->woken_ms = now_ms;
        }
        daemon->woken |= events;
        if (now_ms >= due_ms(daemon)) {
            pass(daemon);
        }
    }
}
