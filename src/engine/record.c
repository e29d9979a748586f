/* The end of a tick: journal row, clocks, lease given back. */

#include "base/time.h"
#include "core/transition.h"
#include "engine/run.h"

#define JOURNAL_MAX ((size_t)256 << 10)
#define HOUR_S 3600
#define DR_NOTICE_MAX 2048

void dr_run_deed(struct dr_run *run, int rule, const char *what, struct dr_str target, struct dr_str outcome) {
    dr_plan_deed(run->arena, run->plan, dr_run_now(run), rule, what, dr_str_dup(run->arena, target), dr_str_dup(run->arena, outcome));
}

/* A tick that did or refused something is always recorded; a quiet one when its reason changes, else once an hour. */
static bool worth_recording(const struct dr_run *run, int64_t now_epoch) {
    if (run->plan->deed_n > 0 || run->report->outcome == DR_TICK_REFUSED) {
        return true;
    }
    return !dr_str_is(run->state.last_reason, dr_reason_name(run->plan->decision.reason)) ||
           now_epoch >= run->state.last_journal_epoch + HOUR_S;
}

static bool put_journal(struct dr_run *run) {
    struct dr_buf buf;
    dr_buf_init(&buf, JOURNAL_MAX);
    struct dr_jsonw w;
    dr_jsonw_init(&w, &buf, 0);
    dr_plan_json(run->plan, &w);
    struct dr_str json = dr_str_dup(run->obs, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    struct dr_journal_row row = {.at_ms = run->plan->at_ms, .request_id = run->options->request_id, .sequence = 0, .json = json};
    const struct dr_store *store = &run->ports->store;
    struct dr_err err = {.code = DR_OK};
    int64_t expire_ms = run->plan->at_ms + run->cfg->journal_days * DR_DAY_MS;
    return store->ops->journal_put(store->self, run->cfg->cluster, &row, expire_ms, dr_run_call_deadline(run), &err) == 0;
}

/* What is written at the end of a tick: clocks, and the lease given back by whoever had it. */
static bool final_state(struct dr_run *run, bool recorded, struct dr_state *next) {
    int64_t now_epoch = dr_run_now(run) / 1000;
    bool changed = dr_clocks_update(run->obs, &run->view, next);
    if (recorded) {
        next->last_reason = dr_str_of(dr_reason_name(run->plan->decision.reason));
        next->last_journal_epoch = now_epoch;
        changed = true;
    }
    if (run->leased) {
        changed |= dr_state_expire(run->obs, next, next, now_epoch);
        changed |= dr_lease_release(run->obs, next, next, run->options->request_id);
    }
    return changed;
}

/* Nothing depends on the outcome: a lost clock is written again by the next tick, a lost lease expires. */
static void write_final(struct dr_run *run, const struct dr_state *next) {
    const struct dr_store *store = &run->ports->store;
    enum dr_cas outcome;
    struct dr_err err = {.code = DR_OK};
    if (store->ops->cas(store->self, next, dr_run_call_deadline(run), &outcome, &err) == 0 && outcome == DR_CAS_OK) {
        run->report->writes++;
    }
}

/* Rule 6: without a lease of our own, only while nobody holds one. */
static bool may_write(const struct dr_run *run, int64_t now_epoch) {
    enum dr_tick_outcome outcome = run->report->outcome;
    if (run->options->dry_run || (outcome != DR_TICK_DONE && outcome != DR_TICK_WAITING)) {
        return false;
    }
    return run->leased || dr_lease_look(&run->state, run->options->request_id, now_epoch) == DR_LEASE_FREE;
}

/* What keeps the fleet from being right, told once when it begins. */
static bool worries(enum dr_reason reason) {
    return reason == DR_REASON_MAX_REACHED || reason == DR_REASON_NO_PLACE || reason == DR_REASON_DEBT ||
           reason == DR_REASON_WORKERS_UNKNOWN;
}

static void tell_people(struct dr_run *run) {
    const struct dr_notify *notify = &run->ports->notify;
    const char *reason = dr_reason_name(run->plan->decision.reason);
    if (notify->ops == NULL || notify->ops->notify == NULL || !worries(run->plan->decision.reason) ||
        dr_str_is(run->state.last_reason, reason)) {
        return;
    }
    struct dr_buf text;
    dr_buf_init(&text, DR_NOTICE_MAX);
    dr_plan_text(run->plan, &text);
    struct dr_str copy = dr_str_dup(run->obs, dr_buf_str(&text));
    dr_buf_deinit(&text);
    notify->ops->notify(notify->self, dr_run_now(run), DR_NOTICE_WARN, reason, copy);
}

void dr_run_finish(struct dr_run *run) {
    int64_t now_epoch = dr_run_now(run) / 1000;
    bool writes = may_write(run, now_epoch);
    bool recorded = false;
    bool lost = run->report->outcome == DR_TICK_LOST || run->report->outcome == DR_TICK_FAILED || run->report->outcome == DR_TICK_REFUSED;
    if ((writes || (lost && !run->options->dry_run)) && worth_recording(run, now_epoch)) {
        tell_people(run);
        recorded = put_journal(run);
    }
    if (writes) {
        dr_run_build_view(run);
        struct dr_state next;
        if (final_state(run, recorded, &next)) {
            write_final(run, &next);
        }
    }
    const struct dr_notify *notify = &run->ports->notify;
    if (notify->ops != NULL && notify->ops->plan != NULL) {
        notify->ops->plan(notify->self, run->plan);
    }
}
