/* Effects: one at a time, each after its intent and before the next (rules 4, 5). */

#include "base/time.h"
#include "engine/run.h"

static enum dr_code launch(struct dr_run *run, struct dr_result *result, struct dr_err *err) {
    const struct dr_step *step = &run->step;
    struct dr_launch request = {
        .token = step->token,
        .action_id = step->action_id,
        .index = (int64_t)step->index,
        .type = step->attempt.type,
        .zone = step->attempt.zone,
        .subnet = step->attempt.subnet,
        .market = step->attempt.market,
        .template_version = step->attempt.template_version,
    };
    const struct dr_compute *compute = &run->ports->compute;
    int r = compute->ops->launch(compute->self, run->obs, &request, dr_run_call_deadline(run), &result->instance_id, err);
    return r < 0 ? err->code : DR_OK;
}

/* Each pod that goes is named, so that it can be asked about later; those that a budget holds back are counted, because they are tried again and again. */
static void tell_evictions(struct dr_run *run, const struct dr_eviction *evictions, size_t blocked) {
    const struct dr_step *step = &run->step;
    for (size_t i = 0; i < step->pod_n; i++) {
        struct dr_str pod = dr_str_fmt(run->arena, "%.*s/%.*s", DR_FMT(evictions[i].ns), DR_FMT(evictions[i].name));
        if (evictions[i].outcome == DR_EVICT_ACCEPTED || evictions[i].outcome == DR_EVICT_GONE) {
            bool gone = evictions[i].outcome == DR_EVICT_GONE;
            dr_run_deed(run, step->rule, step->what, pod,
                        dr_str_fmt(run->arena, "%s %.*s", gone ? "gone from" : "accepted, leaves", DR_FMT(step->target)));
        } else if (evictions[i].outcome == DR_EVICT_ERROR) {
            dr_run_deed(run, step->rule, step->what, pod, dr_str_of(evictions[i].err.text));
        }
    }
    if (blocked > 0) {
        dr_run_deed(run, step->rule, step->what, step->target,
                    dr_str_fmt(run->arena, "%zu of %zu pods wait for their budget", blocked, step->pod_n));
    }
}

static enum dr_code evict(struct dr_run *run, struct dr_result *result, struct dr_err *err) {
    const struct dr_step *step = &run->step;
    struct dr_eviction *evictions = DR_NEW_N(run->obs, struct dr_eviction, step->pod_n);
    int *outcomes = DR_NEW_N(run->obs, int, step->pod_n);
    for (size_t i = 0; i < step->pod_n; i++) {
        const struct dr_pod *pod = step->pods[i];
        bool shorter = step->grace_ms >= 0 && step->grace_ms < pod->grace_ms;
        evictions[i] = (struct dr_eviction){
            .ns = pod->ns, .name = pod->name, .uid = pod->uid, .grace_ms = shorter ? step->grace_ms : -1, .outcome = DR_EVICT_ERROR};
    }
    const struct dr_cluster *cluster = &run->ports->cluster;
    cluster->ops->evict(cluster->self, evictions, step->pod_n, dr_run_call_deadline(run));
    enum dr_code worst = DR_OK;
    size_t blocked = 0;
    for (size_t i = 0; i < step->pod_n; i++) {
        outcomes[i] = (int)evictions[i].outcome;
        blocked += evictions[i].outcome == DR_EVICT_BLOCKED ? 1 : 0;
        if (evictions[i].outcome == DR_EVICT_ERROR) {
            *err = evictions[i].err;
            worst = evictions[i].err.code == DR_OK ? DR_E_UNAVAILABLE : evictions[i].err.code;
        }
    }
    result->evicted = outcomes;
    tell_evictions(run, evictions, blocked);
    return worst == DR_OK && blocked > 0 ? DR_E_CONFLICT : worst;
}

static enum dr_code perform(struct dr_run *run, struct dr_result *result, struct dr_err *err) {
    const struct dr_step *step = &run->step;
    const struct dr_ports *ports = run->ports;
    int64_t deadline_ms = dr_run_call_deadline(run);
    int r = 0;
    switch (step->kind) {
    case DR_STEP_LAUNCH:
        return launch(run, result, err);
    case DR_STEP_EVICT:
        return evict(run, result, err);
    case DR_STEP_TERMINATE:
        r = ports->compute.ops->terminate(ports->compute.self, step->instance_id, deadline_ms, err);
        break;
    case DR_STEP_CORDON:
        r = ports->cluster.ops->cordon(ports->cluster.self, step->node, step->cordon_owner, true, deadline_ms, err);
        break;
    case DR_STEP_UNCORDON:
        r = ports->cluster.ops->cordon(ports->cluster.self, step->node, step->node->cordon_owner, false, deadline_ms, err);
        break;
    case DR_STEP_DELETE_NODE:
        r = ports->cluster.ops->delete_node(ports->cluster.self, step->node->name, step->node->uid, deadline_ms, err);
        break;
    case DR_STEP_HANDLE_EVENT:
        r = ports->store.ops->inbox_handle(ports->store.self, run->cfg->cluster, step->event->instance_id, step->event->kind,
                                           dr_run_now(run) + DR_DAY_MS, deadline_ms, err);
        break;
    default:
        DR_ASSERT(false && "an effect");
    }
    return r < 0 ? err->code : DR_OK;
}

/* The thing whose retries are counted together. */
static struct dr_str retry_key(const struct dr_step *step) {
    switch (step->kind) {
    case DR_STEP_LAUNCH:
        return step->token;
    case DR_STEP_CORDON:
    case DR_STEP_UNCORDON:
    case DR_STEP_DELETE_NODE:
        return step->node->name;
    case DR_STEP_HANDLE_EVENT:
        return step->event->instance_id;
    default:
        return step->instance_id;
    }
}

static bool worth_an_alert(const struct dr_step *step, enum dr_code code) {
    return code == DR_E_PROTECTED || ((code == DR_E_DENIED || code == DR_E_QUOTA || code == DR_E_INVALID) && step->kind == DR_STEP_LAUNCH);
}

static struct dr_str outcome_text(struct dr_run *run, const struct dr_result *result, const struct dr_err *err) {
    if (result->code != DR_OK) {
        return dr_str_of(err->text);
    }
    if (run->step.kind == DR_STEP_CORDON) { /* the one place where the journal says which machine a node is */
        return dr_str_fmt(run->arena, DR_DEED_CORDONED "%.*s", DR_FMT(run->step.instance_id));
    }
    return run->step.kind == DR_STEP_LAUNCH ? result->instance_id : DR_STR("ok");
}

static void tell(struct dr_run *run, const struct dr_result *result, const struct dr_err *err) {
    const struct dr_step *step = &run->step;
    enum dr_code code = result->code;
    if (step->kind != DR_STEP_EVICT) {
        dr_run_deed(run, step->rule, step->what, step->target, outcome_text(run, result, err));
    }
    const struct dr_notify *notify = &run->ports->notify;
    if (worth_an_alert(step, code) && notify->ops != NULL && notify->ops->notify != NULL) {
        struct dr_str text = dr_str_fmt(run->arena, "%s %.*s: %s", step->what, DR_FMT(step->target), err->text);
        notify->ops->notify(notify->self, dr_run_now(run), DR_NOTICE_ALERT, step->what, text);
    }
}

/* The result is written before the next effect; after a lost race it is worked into the item as it is now (rule 3). */
static enum dr_write settle(struct dr_run *run, const struct dr_result *result) {
    struct dr_state next;
    run->machine.now_ms = dr_run_now(run);
    run->machine.now_epoch = run->machine.now_ms / 1000;
    while (dr_step_settle(&run->machine, &run->step, result, &run->state, &next)) {
        enum dr_write write = dr_run_write(run, &next);
        if (write != DR_WRITE_RELOADED) {
            return write;
        }
    }
    return DR_WRITE_OK;
}

enum dr_write dr_run_act(struct dr_run *run) {
    struct dr_err err = {.code = DR_OK};
    struct dr_result result = {.code = DR_OK};
    result.code = perform(run, &result, &err);
    run->report->effects++;
    tell(run, &result, &err);
    if (result.code != DR_OK) {
        dr_turn_failed(&run->turn, (int)run->step.kind, retry_key(&run->step), result.code, dr_run_now(run));
    }
    enum dr_write write = settle(run, &result);
    if (write == DR_WRITE_STOP) {
        return write;
    }
    dr_step_reflect(run->obs, &run->snap, &run->step, &result, dr_run_now(run));
    run->view_stale = true;
    return DR_WRITE_OK;
}
