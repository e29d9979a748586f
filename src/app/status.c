#include "app/status.h"

#include "base/time.h"

static void put_epoch(struct dr_buf *buf, int64_t epoch) { dr_time_put(buf, epoch * DR_SECOND_MS); }

static void put_list(struct dr_buf *buf, const char *title, struct dr_strs list) {
    if (list.n == 0) {
        return;
    }
    dr_buf_fmt(buf, "%s: ", title);
    for (size_t i = 0; i < list.n; i++) {
        dr_buf_fmt(buf, "%s%.*s", i == 0 ? "" : ", ", DR_FMT(list.v[i]));
    }
    dr_buf_putc(buf, '\n');
}

static const char *attempt_name(enum dr_attempt_status status) {
    switch (status) {
    case DR_ATTEMPT_OPEN:
        return "asked for, no answer yet";
    case DR_ATTEMPT_LAUNCHED:
        return "launched, not joined yet";
    case DR_ATTEMPT_JOINED:
        return "joined";
    case DR_ATTEMPT_FAILED:
        break;
    }
    return "given up";
}

static void put_attempts(const struct dr_state *state, struct dr_buf *buf) {
    for (size_t i = 0; i < state->attempts.n; i++) {
        const struct dr_attempt *attempt = &state->attempts.v[i];
        dr_buf_fmt(buf, "  %zu: %.*s %s in %.*s, %s", i, DR_FMT(attempt->type), dr_market_name(attempt->market), DR_FMT(attempt->zone),
                   attempt_name(attempt->status));
        if (attempt->instance_id.n > 0) {
            dr_buf_fmt(buf, " (%.*s)", DR_FMT(attempt->instance_id));
        }
        if (attempt->replaces.n > 0) {
            dr_buf_fmt(buf, ", replaces %.*s", DR_FMT(attempt->replaces));
        }
        if (attempt->why.n > 0) {
            dr_buf_fmt(buf, ": %.*s", DR_FMT(attempt->why));
        }
        dr_buf_putc(buf, '\n');
    }
}

static void put_targets(const struct dr_state *state, struct dr_buf *buf) {
    for (size_t i = 0; i < state->down_targets.n; i++) {
        struct dr_str id = state->down_targets.v[i];
        const struct dr_drain *drain = dr_state_drain(state, id);
        const char *how = dr_strs_has(state->down_completed, id)      ? "terminated"
                          : dr_state_marked(state, id)                ? "marked for termination"
                          : drain != NULL && drain->started_epoch > 0 ? "draining"
                                                                      : "not begun";
        dr_buf_fmt(buf, "  %.*s: %s\n", DR_FMT(id), how);
    }
}

void dr_status_action(const struct dr_state *state, struct dr_buf *buf) {
    if (state->up_action_id.n > 0) {
        dr_buf_fmt(buf, "scale-up %.*s since ", DR_FMT(state->up_action_id));
        put_epoch(buf, state->up_started_epoch);
        dr_buf_fmt(buf, ", %lld requested\n", (long long)state->up_requested);
        put_attempts(state, buf);
    }
    if (state->down_action_id.n > 0) {
        dr_buf_fmt(buf, "scale-down %.*s since ", DR_FMT(state->down_action_id));
        put_epoch(buf, state->down_started_epoch);
        dr_buf_fmt(buf, ", %s%s%.*s\n", state->down_terminating ? "terminating" : "draining",
                   state->down_reason.n > 0 ? ", because of " : "", DR_FMT(state->down_reason));
        put_targets(state, buf);
    }
}

static void put_records(const struct dr_state *state, struct dr_buf *buf) {
    for (size_t i = 0; i < state->records.n; i++) {
        const struct dr_record *record = &state->records.v[i];
        dr_buf_fmt(buf, "interruption: %.*s, %s of ", DR_FMT(record->instance_id), dr_event_kind_name(record->kind));
        put_epoch(buf, record->noticed_epoch);
        if (record->returned_id.n > 0) {
            dr_buf_fmt(buf, ", replaced by %.*s, which stays\n", DR_FMT(record->returned_id));
        } else if (record->action_id.n > 0) {
            dr_buf_fmt(buf, ", replacement is %lld of %.*s\n", (long long)record->index, DR_FMT(record->action_id));
        } else {
            dr_buf_puts(buf, ", a replacement is owed\n");
        }
    }
}

/* Entries outlive their time, because their count doubles the next one; what is over is not shown. */
static void put_limits(const struct dr_state *state, int64_t now_epoch, struct dr_buf *buf) {
    if (state->backoff_until_epoch > now_epoch) {
        dr_buf_puts(buf, "back-off: until ");
        put_epoch(buf, state->backoff_until_epoch);
        dr_buf_fmt(buf, " after %lld scale-ups in which nothing joined\n", (long long)state->backoff_count);
    }
    for (size_t i = 0; i < state->avoid.n; i++) {
        if (state->avoid.v[i].until_epoch <= now_epoch) {
            continue;
        }
        dr_buf_fmt(buf, "avoided: %.*s until ", DR_FMT(state->avoid.v[i].key));
        put_epoch(buf, state->avoid.v[i].until_epoch);
        dr_buf_putc(buf, '\n');
    }
    for (size_t i = 0; i < state->quarantined.n; i++) {
        dr_buf_fmt(buf, "quarantined: %.*s until ", DR_FMT(state->quarantined.v[i].id));
        put_epoch(buf, state->quarantined.v[i].epoch);
        dr_buf_putc(buf, '\n');
    }
}

static void put_clock(struct dr_buf *buf, const char *title, int64_t epoch) {
    if (epoch > 0) {
        dr_buf_fmt(buf, "%s: since ", title);
        put_epoch(buf, epoch);
        dr_buf_putc(buf, '\n');
    }
}

void dr_status_text(const struct dr_state *state, const struct dr_plan *last, struct dr_buf *buf) {
    if (!state->exists) {
        dr_buf_fmt(buf, "cluster %.*s: nothing is stored yet\n", DR_FMT(state->pk));
        return;
    }
    dr_buf_fmt(buf, "cluster %.*s: %lld workers", DR_FMT(state->pk), (long long)state->worker_count);
    if (last != NULL && last->workers_known) {
        dr_buf_fmt(buf, " (minimum %lld, maximum %lld)", (long long)last->min_workers, (long long)last->max_workers);
    }
    dr_buf_putc(buf, '\n');
    if (state->up_action_id.n == 0 && state->down_action_id.n == 0) {
        dr_buf_puts(buf, state->scaling ? "action: none, but scalingInProgress is set; the next pass clears it\n" : "action: none\n");
    } else {
        dr_buf_puts(buf, "action: ");
        dr_status_action(state, buf);
    }
    put_records(state, buf);
    put_list(buf, "marked for termination", state->marks);
    put_list(buf, "refused by termination protection", state->refused);
    put_limits(state, last == NULL ? 0 : last->at_ms / DR_SECOND_MS, buf);
    put_clock(buf, "pods wait", state->pending_since_epoch);
    put_clock(buf, "idle", state->idle_since_epoch);
    if (state->last_scale_epoch > 0) {
        dr_buf_fmt(buf, "last action: %.*s, completed ",
                   DR_FMT(state->last_scale_action.n > 0 ? state->last_scale_action : DR_STR("of unknown kind")));
        put_epoch(buf, state->last_scale_epoch);
        dr_buf_putc(buf, '\n');
    }
    if (state->lease_owner.n > 0) {
        dr_buf_fmt(buf, "lease: %.*s until ", DR_FMT(state->lease_owner));
        put_epoch(buf, state->lease_until_epoch);
        dr_buf_fmt(buf, ", fence %lld\n", (long long)state->fence);
    }
    if (last != NULL) {
        dr_buf_puts(buf, "last decision: ");
        dr_time_put(buf, last->at_ms);
        dr_buf_putc(buf, ' ');
        dr_plan_text(last, buf);
        dr_buf_putc(buf, '\n');
    }
    for (size_t i = 0; i < state->problems.n; i++) {
        const struct dr_problem *problem = &state->problems.v[i];
        dr_buf_fmt(buf, "problem: %.*s: %.*s%s\n", DR_FMT(problem->attribute), DR_FMT(problem->what),
                   problem->blocking ? " (nothing is done until it is right)" : "");
    }
}

/* ---- JSON ---- */

static void kv_list(struct dr_jsonw *w, const char *key, struct dr_strs list) {
    dr_jsonw_key(w, key);
    dr_jsonw_array(w);
    for (size_t i = 0; i < list.n; i++) {
        dr_jsonw_str(w, list.v[i]);
    }
    dr_jsonw_end(w);
}

static void put_problems(const struct dr_state *state, struct dr_jsonw *w) {
    dr_jsonw_key(w, "problems");
    dr_jsonw_array(w);
    for (size_t i = 0; i < state->problems.n; i++) {
        dr_jsonw_object(w);
        dr_jsonw_kv_str(w, "attribute", state->problems.v[i].attribute);
        dr_jsonw_kv_str(w, "what", state->problems.v[i].what);
        dr_jsonw_kv_bool(w, "blocking", state->problems.v[i].blocking);
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
}

static void put_action(const struct dr_state *state, struct dr_jsonw *w) {
    bool up = state->up_action_id.n > 0;
    dr_jsonw_key(w, "action");
    if (!up && state->down_action_id.n == 0) {
        dr_jsonw_null(w);
        return;
    }
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "kind", up ? "scale_up" : "scale_down");
    dr_jsonw_kv_str(w, "id", up ? state->up_action_id : state->down_action_id);
    dr_jsonw_kv_i64(w, "startedEpoch", up ? state->up_started_epoch : state->down_started_epoch);
    if (up) {
        dr_jsonw_kv_i64(w, "requested", state->up_requested);
        kv_list(w, "instanceIds", state->up_instance_ids);
    } else {
        dr_jsonw_kv_cstr(w, "phase", state->down_terminating ? "TERMINATING" : "DRAINING");
        kv_list(w, "targets", state->down_targets);
        kv_list(w, "completed", state->down_completed);
    }
    dr_jsonw_end(w);
}

static void put_interruptions(const struct dr_state *state, struct dr_jsonw *w) {
    dr_jsonw_key(w, "interruptions");
    dr_jsonw_array(w);
    for (size_t i = 0; i < state->records.n; i++) {
        const struct dr_record *record = &state->records.v[i];
        dr_jsonw_object(w);
        dr_jsonw_kv_str(w, "instanceId", record->instance_id);
        dr_jsonw_kv_cstr(w, "kind", dr_event_kind_name(record->kind));
        dr_jsonw_kv_i64(w, "noticedEpoch", record->noticed_epoch);
        dr_jsonw_kv_bool(w, "owed", record->action_id.n == 0 && record->returned_id.n == 0);
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
}

void dr_status_json(const struct dr_state *state, struct dr_str last_json, struct dr_jsonw *w) {
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "cluster", state->pk);
    dr_jsonw_kv_bool(w, "exists", state->exists);
    dr_jsonw_kv_i64(w, "revision", state->revision);
    dr_jsonw_kv_i64(w, "workerCount", state->worker_count);
    dr_jsonw_kv_bool(w, "scalingInProgress", state->scaling);
    put_action(state, w);
    put_interruptions(state, w);
    kv_list(w, "terminatingInstanceIds", state->marks);
    kv_list(w, "refusedInstanceIds", state->refused);
    dr_jsonw_kv_i64(w, "pendingSinceEpoch", state->pending_since_epoch);
    dr_jsonw_kv_i64(w, "idleSinceEpoch", state->idle_since_epoch);
    dr_jsonw_kv_i64(w, "lastScaleEpoch", state->last_scale_epoch);
    dr_jsonw_kv_str(w, "lastScaleAction", state->last_scale_action);
    dr_jsonw_kv_i64(w, "backoffUntilEpoch", state->backoff_until_epoch);
    dr_jsonw_kv_str(w, "leaseOwner", state->lease_owner);
    dr_jsonw_kv_i64(w, "leaseUntilEpoch", state->lease_until_epoch);
    dr_jsonw_kv_i64(w, "fence", state->fence);
    put_problems(state, w);
    dr_jsonw_key(w, "lastDecision");
    if (last_json.n > 0) {
        dr_jsonw_raw(w, last_json);
    } else {
        dr_jsonw_null(w);
    }
    dr_jsonw_end(w);
}
