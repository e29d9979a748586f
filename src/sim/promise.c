/*
 * The promises at the end of docs/protocol.md, judged on the world's own truth: at the write that commits to something (mark, attempt) and at the call that does it.
 *
 * A process is judged by what it could know. A machine that died, or was warned, after the process last looked counts as it was then: nothing can be fenced against the last second. And because a mark only rolls forward, minimum and zone are judged
 * when the mark is written, not when the call that follows from it arrives.
 */

#include "base/time.h"
#include "sim/inner.h"

#define NOT_LIVE_AFTER_MS (5 * DR_MINUTE_MS)
#define HINT_OLD_MS (60 * DR_MINUTE_MS)

static bool has(struct dr_strs list, struct dr_str id) {
    for (size_t i = 0; i < list.n; i++) {
        if (dr_str_eq(list.v[i], id)) {
            return true;
        }
    }
    return false;
}

static bool quarantined(const struct dr_state *s, struct dr_str id) {
    for (size_t i = 0; i < s->quarantined.n; i++) {
        if (dr_str_eq(s->quarantined.v[i].id, id)) {
            return true;
        }
    }
    return false;
}

static bool warned_known(const struct sim_process *p, const struct sim_machine *m) {
    return m->warned && m->notice_stamp != 0 && m->notice_stamp <= p->inbox_stamp;
}

static bool there_when_seen(const struct sim_process *p, const struct sim_machine *m) {
    return sim_machine_alive(m) || (m->used && m->lost_stamp > p->instances_stamp);
}

/* Live in the protocol's sense, as the process could know it. */
static bool live(const struct sim_process *p, const struct sim_machine *m, const struct dr_state *s) {
    const struct dr_world *w = p->world;
    if (!there_when_seen(p, m) || warned_known(p, m) || has(s->marks, m->id) || has(s->refused, m->id) || quarantined(s, m->id)) {
        return false;
    }
    if (m->node == SIM_NONE) {
        return p->nodes_ms - m->launched_ms <= w->o.join_timeout_ms;
    }
    const struct sim_node *n = &w->nodes[m->node];
    return n->ready == DR_READY_TRUE || p->nodes_ms - n->ready_changed_ms <= NOT_LIVE_AFTER_MS;
}

static bool open_index(const struct dr_attempt *a) { return a->status == DR_ATTEMPT_OPEN && a->instance_id.n == 0; }

/* Taking a running, joined, Ready worker that nobody takes from us: a voluntary act. */
static bool voluntary(const struct sim_process *p, const struct sim_machine *m) {
    const struct dr_world *w = p->world;
    if (m->state != DR_INSTANCE_RUNNING || m->node == SIM_NONE || m->joined_stamp > p->nodes_stamp || m->warned) {
        return false;
    }
    return w->nodes[m->node].ready == DR_READY_TRUE && m->kubelet_up;
}

static void check_mark(struct sim_process *p, const struct sim_machine *victim, const struct dr_state *s) {
    struct dr_world *w = p->world;
    if (!voluntary(p, victim)) {
        return;
    }
    int64_t rest = 0, in_zone = 0;
    for (size_t i = 0; i < w->machine_n; i++) {
        const struct sim_machine *m = &w->machines[i];
        if (m != victim && live(p, m, s)) {
            rest++;
            in_zone += m->zone == victim->zone;
        }
    }
    for (size_t i = 0; i < s->attempts.n; i++) {
        if (open_index(&s->attempts.v[i])) {
            rest++;
            in_zone += dr_str_eq(s->attempts.v[i].zone, w->zones[victim->zone]);
        }
    }
    if (rest < w->o.min_workers) {
        sim_break(w, "mark of %.*s leaves %lld live workers, minimum is %lld", DR_FMT(victim->id), (long long)rest,
                  (long long)w->o.min_workers);
    } else if (w->o.zone_is_rule && in_zone == 0) {
        sim_break(w, "mark of %.*s empties zone %.*s", DR_FMT(victim->id), DR_FMT(w->zones[victim->zone]));
    }
}

/* New marks are judged; a mark may only leave when its machine is seen ending, or was refused. */
static void check_marks(struct sim_process *p, const struct dr_state *old, const struct dr_state *s) {
    struct dr_world *w = p->world;
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct sim_machine *m = old != NULL && has(old->marks, s->marks.v[i]) ? NULL : sim_machine_find(w, s->marks.v[i]);
        if (m != NULL) {
            check_mark(p, m, s);
        }
    }
    for (size_t i = 0; old != NULL && i < old->marks.n; i++) {
        struct dr_str id = old->marks.v[i];
        const struct sim_machine *m = has(s->marks, id) || has(s->refused, id) ? NULL : sim_machine_find(w, id);
        if (m != NULL && sim_machine_alive(m)) {
            sim_break(w, "the mark of %.*s was taken back while it runs", DR_FMT(id));
        }
    }
}

static bool recorded(const struct dr_state *s, struct dr_str id) {
    for (size_t i = 0; i < s->attempts.n; i++) {
        if (dr_str_eq(s->attempts.v[i].instance_id, id)) {
            return true;
        }
    }
    return false;
}

static bool index_has_machine(const struct sim_process *p, const struct dr_state *s, int64_t index) {
    const struct dr_world *w = p->world;
    for (size_t i = 0; i < w->machine_n; i++) {
        const struct sim_machine *m = &w->machines[i];
        if (sim_machine_alive(m) && m->visible && m->visible_stamp <= p->instances_stamp && m->index == index &&
            dr_str_eq(m->action_id, s->up_action_id)) {
            return true;
        }
    }
    return false;
}

/* Held as the process could know it, with what it now intends. */
static void check_maximum(struct sim_process *p, const struct dr_state *s) {
    struct dr_world *w = p->world;
    int64_t held = 0;
    for (size_t i = 0; i < w->machine_n; i++) {
        const struct sim_machine *m = &w->machines[i];
        bool seen = (m->visible && m->visible_stamp <= p->instances_stamp) || recorded(s, m->id);
        held += sim_machine_alive(m) && seen && !m->warned && !has(s->marks, m->id);
    }
    for (size_t i = 0; i < s->attempts.n; i++) {
        held += open_index(&s->attempts.v[i]) && !index_has_machine(p, s, (int64_t)i);
    }
    if (held > w->o.max_workers) {
        sim_break(w, "intends %lld workers, maximum is %lld", (long long)held, (long long)w->o.max_workers);
    }
}

/* Somebody who already stands in for the interrupted one: joined and Ready, or still on its way. */
static bool stands_in(const struct dr_world *w, const struct sim_machine *y, const struct dr_state *s) {
    if (!sim_machine_alive(y) || y->warned || has(s->marks, y->id)) {
        return false;
    }
    if (y->node != SIM_NONE && w->nodes[y->node].ready == DR_READY_TRUE) {
        return true;
    }
    return !y->never_join && w->now_ms - y->launched_ms < w->o.join_timeout_ms;
}

/* The debt came back: rightly so if nobody stands in, and then the next one is no second replacement. */
static void check_debts(struct dr_world *w, const struct dr_state *s) {
    for (size_t i = 0; i < s->records.n; i++) {
        const struct dr_record *r = &s->records.v[i];
        struct sim_machine *x = r->action_id.n == 0 && r->returned_id.n == 0 ? sim_machine_find(w, r->instance_id) : NULL;
        if (x == NULL || x->replaced_by.n == 0) {
            continue;
        }
        const struct sim_machine *y = sim_machine_find(w, x->replaced_by);
        if (y == NULL || !stands_in(w, y, s)) {
            x->replaced_by = DR_STR_NONE;
        }
    }
}

static void check_replacement(struct dr_world *w, const struct dr_state *s, size_t index) {
    const struct dr_attempt *a = &s->attempts.v[index];
    for (size_t i = 0; i < index; i++) {
        const struct dr_attempt *b = &s->attempts.v[i];
        if (b->status != DR_ATTEMPT_FAILED && dr_str_eq(b->replaces, a->replaces)) {
            sim_break(w, "two indices replace %.*s", DR_FMT(a->replaces));
            return;
        }
    }
    const struct sim_machine *x = sim_machine_find(w, a->replaces);
    if (x == NULL || x->replaced_by.n == 0 || dr_str_eq(x->replaced_by, a->instance_id)) {
        return;
    }
    /* A hint is no interruption: long after it, its replacement is a worker like any other and a real warning needs one of its own. */
    if (!x->replaced_warned && w->now_ms - x->replaced_ms > HINT_OLD_MS) {
        return;
    }
    const struct sim_machine *y = sim_machine_find(w, x->replaced_by);
    if (y != NULL && stands_in(w, y, s)) {
        sim_break(w, "%.*s is replaced a second time; %.*s stands in for it", DR_FMT(x->id), DR_FMT(y->id));
    }
}

static uint64_t intent_of(struct dr_str action, int64_t index, struct dr_str type, struct dr_str subnet, enum dr_market market) {
    uint64_t h = dr_str_hash(action) * 31 + (uint64_t)index;
    return ((h * 31 + dr_str_hash(type)) * 31 + dr_str_hash(subnet)) * 31 + (uint64_t)market;
}

static bool intended(const struct dr_world *w, uint64_t intent) {
    for (size_t i = w->intent_n; i > 0; i--) {
        if (w->intents[i - 1] == intent) {
            return true;
        }
    }
    return false;
}

static void note_attempt(struct dr_world *w, const struct dr_state *s, size_t index) {
    const struct dr_attempt *a = &s->attempts.v[index];
    uint64_t intent = intent_of(s->up_action_id, (int64_t)index, a->type, a->subnet, a->market);
    if (!intended(w, intent)) {
        w->intents[w->intent_seq++ % SIM_MAX_INTENTS] = intent;
        w->intent_n = w->intent_n < SIM_MAX_INTENTS ? w->intent_n + 1 : SIM_MAX_INTENTS;
    }
    struct sim_machine *x = a->replaces.n == 0 || a->instance_id.n == 0 ? NULL : sim_machine_find(w, a->replaces);
    if (x != NULL && !dr_str_eq(x->replaced_by, a->instance_id)) {
        x->replaced_by = sim_str(w, a->instance_id);
        x->replaced_ms = w->now_ms;
        x->replaced_warned = x->warned;
    }
}

static void check_attempts(struct sim_process *p, const struct dr_state *old, const struct dr_state *s) {
    bool same = old != NULL && old->up_action_id.n > 0 && dr_str_eq(old->up_action_id, s->up_action_id);
    size_t known = same ? old->attempts.n : 0;
    for (size_t i = 0; i < s->attempts.n; i++) {
        bool fresh = i >= known;
        if (fresh && s->attempts.v[i].replaces.n > 0) {
            check_replacement(p->world, s, i);
        }
        note_attempt(p->world, s, i);
    }
    if (s->attempts.n > known) {
        check_maximum(p, s);
    }
}

static void trace_action(struct dr_world *w, const char *what, struct dr_str old, struct dr_str now) {
    if (dr_str_eq(old, now)) {
        return;
    }
    if (old.n > 0) {
        sim_trace(w, "%s %.*s ends", what, DR_FMT(old));
    }
    if (now.n > 0) {
        sim_trace(w, "%s %.*s begins", what, DR_FMT(now));
    }
}

/* What the item says that it did not say before: without it the calls that follow cannot be understood. */
static void trace_write(struct dr_world *w, const struct dr_state *old, const struct dr_state *s) {
    trace_action(w, "scale-up", old == NULL ? DR_STR_NONE : old->up_action_id, s->up_action_id);
    trace_action(w, "scale-down", old == NULL ? DR_STR_NONE : old->down_action_id, s->down_action_id);
    for (size_t i = 0; i < s->marks.n; i++) {
        if (old == NULL || !has(old->marks, s->marks.v[i])) {
            sim_trace(w, "instance %.*s marked", DR_FMT(s->marks.v[i]));
        }
    }
}

void sim_promise_write(struct sim_process *p, const struct dr_state *old, const struct dr_state *new_) {
    struct dr_world *w = p->world;
    trace_write(w, old, new_);
    if (!w->o.check) {
        return;
    }
    bool malformed = old != NULL && old->up_action_id.n > 0 && old->down_action_id.n > 0;
    if (!malformed && new_->up_action_id.n > 0 && new_->down_action_id.n > 0) {
        sim_break(w, "two actions at once: %.*s and %.*s", DR_FMT(new_->up_action_id), DR_FMT(new_->down_action_id));
    }
    if (old != NULL && new_->fence < old->fence) {
        sim_break(w, "the fence went back from %lld to %lld", (long long)old->fence, (long long)new_->fence);
    }
    check_marks(p, old, new_);
    check_debts(w, new_);
    check_attempts(p, old, new_);
}

void sim_promise_launch(struct sim_process *p, const struct dr_launch *launch) {
    struct dr_world *w = p->world;
    if (w->o.check && !intended(w, intent_of(launch->action_id, launch->index, launch->type, launch->subnet, launch->market))) {
        sim_break(w, "launch without intent: action %.*s index %lld in %.*s", DR_FMT(launch->action_id), (long long)launch->index,
                  DR_FMT(launch->subnet));
    }
}

/* Running pods that nobody moved away first. */
static const struct sim_pod *left_behind(const struct dr_world *w, const struct sim_machine *m) {
    for (int i = w->nodes[m->node].pod_head; i != SIM_NONE; i = w->pods[i].next) {
        const struct sim_pod *p = &w->pods[i];
        if (sim_pod_evictable(w, p) && p->phase == DR_PHASE_RUNNING && !p->deleting) {
            return p;
        }
    }
    return NULL;
}

void sim_promise_terminate(struct sim_process *p, const struct sim_machine *m) {
    struct dr_world *w = p->world;
    if (!w->o.check) {
        return;
    }
    const struct dr_state *s = dr_world_item(w);
    if (s == NULL || !has(s->marks, m->id)) {
        sim_break(w, "%.*s terminated without mark", DR_FMT(m->id));
        return;
    }
    const struct sim_pod *pod = voluntary(p, m) ? left_behind(w, m) : NULL;
    if (pod != NULL) {
        sim_break(w, "%.*s terminated with pod %.*s running on it", DR_FMT(m->id), DR_FMT(pod->name));
    }
}

void sim_promise_delete_node(struct sim_process *p, const struct sim_node *n) {
    struct dr_world *w = p->world;
    if (w->o.check && (n->server || (n->machine != SIM_NONE && sim_machine_alive(&w->machines[n->machine])))) {
        sim_break(w, "Node %.*s of a machine that lives was deleted", DR_FMT(n->name));
    }
}

void sim_promise_uncordon(struct sim_process *p, const struct sim_node *n) {
    struct dr_world *w = p->world;
    if (!w->o.check) {
        return;
    }
    if (n->by_person) {
        sim_break(w, "node %.*s uncordoned that a person had cordoned", DR_FMT(n->name));
        return;
    }
    const struct sim_machine *m = n->machine == SIM_NONE ? NULL : &w->machines[n->machine];
    const struct dr_state *s = dr_world_item(w);
    if (m == NULL || !sim_machine_alive(m) || s == NULL) {
        return;
    }
    if (has(s->marks, m->id) || warned_known(p, m)) {
        sim_break(w, "node %.*s uncordoned while marked or interrupted", DR_FMT(n->name));
    }
}
