/* Writing the item (rules 1-4). */

#include "base/time.h"
#include "core/transition.h"
#include "engine/run.h"

#define RELOADS 3
#define RELOAD_PAUSE_MS 200

int64_t dr_run_call_deadline(const struct dr_run *run) {
    int64_t limit_ms = dr_run_now(run) + DR_EFFECT_MS;
    return limit_ms < run->options->deadline_ms ? limit_ms : run->options->deadline_ms;
}

static enum dr_write stop(struct dr_run *run, enum dr_tick_outcome outcome, const struct dr_err *err) {
    run->report->outcome = outcome;
    run->report->err = *err;
    run->leased = false;
    return DR_WRITE_STOP;
}

static int load(struct dr_run *run, struct dr_state *ret, struct dr_err *err) {
    const struct dr_store *store = &run->ports->store;
    return store->ops->load(store->self, run->arena, run->cfg->cluster, dr_run_call_deadline(run), ret, err);
}

static bool still_ours(const struct dr_run *run, const struct dr_state *now) {
    return run->leased && dr_str_eq(now->lease_owner, run->options->request_id) && now->fence == run->fence &&
           dr_str_eq(now->up_action_id, run->state.up_action_id) && dr_str_eq(now->down_action_id, run->state.down_action_id);
}

/* Is what we tried to write there? Then our reply was lost, and it is success (rule 2). The lease owner is this tick's own id, so nobody else can have written it. */
static bool is_written(const struct dr_state *now, const struct dr_state *next) {
    struct dr_state expected = *next;
    expected.exists = true;
    expected.revision = next->revision + 1;
    return now->revision == expected.revision && dr_state_eq(now, &expected);
}

static void adopt(struct dr_run *run, const struct dr_state *next) {
    struct dr_state written = *next;
    written.exists = true;
    written.revision = next->revision + 1;
    dr_state_copy(run->arena, &run->state, &written);
    run->view_stale = true;
    run->report->writes++;
}

/* After a lost race or reply: what is there now decides. */
static enum dr_write reload(struct dr_run *run, const struct dr_state *next, bool maybe_written, struct dr_err *err) {
    struct dr_state now;
    struct dr_err load_err = *err;
    for (int i = 0; i < RELOADS; i++) {
        if (load(run, &now, &load_err) == 0) {
            if (maybe_written && is_written(&now, next)) {
                adopt(run, next);
                return DR_WRITE_OK;
            }
            if (now.revision == next->revision && maybe_written) {
                return stop(run, DR_TICK_FAILED, err);
            }
            if (!still_ours(run, &now)) {
                (void)dr_fail(err, DR_E_CONFLICT, "the item was written by %.*s (fence %lld, ours %lld)", DR_FMT(now.lease_owner),
                              (long long)now.fence, (long long)run->fence);
                return stop(run, DR_TICK_LOST, err);
            }
            run->state = now;
            run->view_stale = true;
            return DR_WRITE_RELOADED;
        }
        run->ports->clock.ops->sleep_ms(run->ports->clock.self, RELOAD_PAUSE_MS);
    }
    return stop(run, DR_TICK_FAILED, &load_err);
}

static enum dr_write cas(struct dr_run *run, const struct dr_state *next) {
    const struct dr_store *store = &run->ports->store;
    struct dr_err err = {.code = DR_OK};
    enum dr_cas outcome = DR_CAS_LOST;
    DR_ASSERT(next->revision == run->state.revision);
    for (int i = 0; i < RELOADS; i++) {
        if (store->ops->cas(store->self, next, dr_run_call_deadline(run), &outcome, &err) == 0) {
            if (outcome == DR_CAS_OK) {
                adopt(run, next);
                return DR_WRITE_OK;
            }
            /* A repeated write meets its own first one as a lost race. */
            return reload(run, next, i > 0, &err);
        }
        run->ports->clock.ops->sleep_ms(run->ports->clock.self, RELOAD_PAUSE_MS << i);
    }
    return reload(run, next, true, &err);
}

enum dr_write dr_run_write(struct dr_run *run, const struct dr_state *next) {
    DR_ASSERT(run->leased);
    int64_t now_epoch = dr_run_now(run) / 1000;
    struct dr_state renewed;
    /* Every write renews the lease: it costs nothing more. */
    (void)dr_lease_renew(run->obs, next, &renewed, run->options->request_id, now_epoch);
    return cas(run, &renewed);
}

enum dr_write dr_run_take_lease(struct dr_run *run, const struct dr_state *next) {
    struct dr_state taken;
    (void)dr_lease_take(run->obs, next == NULL ? &run->state : next, &taken, run->options->request_id, dr_run_now(run) / 1000);
    run->fence = taken.fence;
    enum dr_write write = cas(run, &taken);
    if (write == DR_WRITE_OK) {
        run->leased = true;
    }
    return write;
}

enum dr_write dr_run_keep_lease(struct dr_run *run) {
    int64_t left_s = run->state.lease_until_epoch - dr_run_now(run) / 1000;
    if (left_s > DR_RENEW_BELOW_S) {
        return DR_WRITE_OK;
    }
    /* An expired lease may already be someone else's; the compare-and-set finds out. */
    return dr_run_write(run, &run->state);
}
