#include "core/step.h"

#include <string.h>

#include "core/drain.h"
#include "core/transition.h"

#define POLL_MS 5000

void dr_machine_wait(struct dr_machine *m, int64_t wait_ms) {
    m->waiting = true;
    if (wait_ms > 0 && (m->wait_ms == 0 || wait_ms < m->wait_ms)) {
        m->wait_ms = wait_ms;
    }
}

bool dr_machine_may(struct dr_machine *m, enum dr_step_kind kind, struct dr_str key) {
    if (dr_turn_may(m->turn, (int)kind, key, m->now_ms, &m->wait_ms)) {
        return true;
    }
    m->waiting = true;
    return false;
}

bool dr_step_write(struct dr_step *ret, int rule, const char *what, struct dr_str target, const struct dr_state *next) {
    ret->kind = DR_STEP_WRITE;
    ret->rule = rule;
    ret->what = what;
    ret->target = target;
    ret->next = *next;
    return true;
}

struct dr_str dr_machine_action_id(struct dr_machine *m) {
    return dr_str_fmt(m->arena, "%lld-%.*s", (long long)m->now_epoch, DR_FMT(m->turn->request_id));
}

struct dr_str dr_interruption_owner(struct dr_arena *arena, struct dr_str instance_id) {
    return dr_str_fmt(arena, "interruption-%.*s", DR_FMT(instance_id));
}

/* Readable where it fits: the request id of a Lambda is 36 characters, so the usual token is about 56. Longer action ids are hashed, twice with different salt for 128 bits. */
struct dr_str dr_step_token(struct dr_arena *arena, struct dr_str action_id, size_t index, int64_t attempt) {
    struct dr_str token = dr_str_fmt(arena, "%.*s-%zu-%lld", DR_FMT(action_id), index, (long long)attempt);
    if (token.n <= 64) {
        return token;
    }
    struct dr_str salted = dr_str_fmt(arena, "drover/%.*s", DR_FMT(token));
    return dr_str_fmt(arena, "drover-%016llx%016llx", (unsigned long long)dr_str_hash(token), (unsigned long long)dr_str_hash(salted));
}

static bool cordoned_by(const struct dr_node *node, struct dr_str owner) {
    return node->unschedulable && dr_str_eq(node->cordon_owner, owner);
}

/* A drain that nothing may refuse leaves a stranger's cordon as it is; a voluntary one never gets here with one (rule 18). */
static bool needs_cordon(const struct dr_node *node, struct dr_str owner, bool forced) {
    if (cordoned_by(node, owner)) {
        return false;
    }
    return !(forced && node->unschedulable && node->cordon_owner.n == 0);
}

bool dr_machine_drain(struct dr_machine *m, struct dr_step *ret, const struct dr_worker *worker, struct dr_str owner, bool forced,
                      int64_t grace_ms, bool *ret_drained) {
    *ret_drained = false;
    ret->node = worker->node;
    ret->instance_id = worker->id;
    ret->target = worker->node->name;
    if (needs_cordon(worker->node, owner, forced)) {
        if (!dr_machine_may(m, DR_STEP_CORDON, worker->node->name)) {
            return false;
        }
        if (worker->node->resource_version.n == 0) {
            ret->kind = DR_STEP_REFRESH;
            return true;
        }
        ret->kind = DR_STEP_CORDON;
        ret->rule = 18;
        ret->what = "cordon";
        ret->cordon_owner = owner;
        return true;
    }
    struct dr_drain_plan drain;
    dr_drain_work_out(m->arena, m->view->cfg, &m->view->fleet, worker, forced, &drain);
    if (drain.evict_n > 0 && dr_machine_may(m, DR_STEP_EVICT, worker->id)) {
        ret->kind = DR_STEP_EVICT;
        ret->what = "evict";
        ret->pods = drain.evict;
        ret->pod_n = drain.evict_n;
        ret->grace_ms = grace_ms;
        return true;
    }
    if (drain.remaining > 0) {
        dr_machine_wait(m, POLL_MS);
        return false;
    }
    *ret_drained = true;
    return false;
}

bool dr_stage_repair(struct dr_machine *m, struct dr_step *ret) {
    struct dr_state next;
    if (!dr_state_repair(m->arena, m->view->state, &next)) {
        return false;
    }
    ret->alert = true;
    return dr_step_write(ret, 27, "repair item", m->view->state->pk, &next);
}

void dr_step_next(struct dr_machine *m, struct dr_step *ret) {
    static bool (*const stages[])(struct dr_machine *, struct dr_step *) = {
        dr_stage_repair,   dr_stage_inbox,      dr_stage_interruptions, dr_stage_marks,
        dr_stage_scale_up, dr_stage_scale_down, dr_stage_sweeps,        dr_stage_decide,
    };
    m->wait_ms = 0;
    m->waiting = false;
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        memset(ret, 0, offsetof(struct dr_step, next));
        ret->grace_ms = -1;
        if (stages[i](m, ret)) {
            return;
        }
    }
    memset(ret, 0, offsetof(struct dr_step, next));
    ret->kind = m->wait_ms > 0 ? DR_STEP_WAIT : DR_STEP_DONE;
    ret->wait_ms = m->wait_ms;
}
