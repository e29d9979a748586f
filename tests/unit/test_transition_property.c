/* Random walks through all transitions: whatever the order, the promises of an item hold after every step. */
#include "base/rand.h"
#include "state_help.h"

enum op {
    UP_BEGIN,
    UP_EXTEND,
    UP_ATTEMPT,
    UP_RECORD,
    UP_JOINED,
    UP_INDEX_FAIL,
    UP_COMPLETE,
    UP_FAIL,
    DOWN_BEGIN,
    DOWN_DRAIN,
    DOWN_COMMIT,
    DOWN_MARK_DONE,
    DOWN_DROP,
    DOWN_COMPLETE,
    DOWN_FAIL,
    MARK_ADD,
    MARK_ENDED,
    MARK_REFUSED,
    RECORD_PUT,
    RECORD_ASSIGN,
    RECORD_OWE,
    RECORD_RETURN,
    RECORD_END,
    LEASE_TAKE,
    LEASE_RENEW,
    LEASE_RELEASE,
    AVOID,
    QUARANTINE_PUT,
    QUARANTINE_END,
    EXPIRE,
    REPAIR,
    OP_N,
};

/* One call with all its arguments, so that it can be made again. */
struct step {
    enum op op;
    int64_t now_epoch;
    struct dr_str id, other, action, owner;
    struct dr_str targets[2];
    size_t index;
    struct dr_attempt spec;
    struct dr_record record;
};

static bool run_up(const struct step *m, struct dr_arena *a, const struct dr_state *in, struct dr_state *out) {
    switch (m->op) {
    case UP_BEGIN:
        return dr_up_begin(a, in, out, m->action, m->now_epoch, 2);
    case UP_EXTEND:
        return dr_up_extend(a, in, out, m->action, (int64_t)m->index + 2);
    case UP_ATTEMPT:
        return dr_up_attempt(a, in, out, m->action, m->index, &m->spec, m->now_epoch);
    case UP_RECORD:
        return dr_up_record(a, in, out, m->action, m->index, m->id, m->now_epoch);
    case UP_JOINED:
        return dr_up_joined(a, in, out, m->action, m->index);
    case UP_INDEX_FAIL:
        return dr_up_index_fail(a, in, out, m->action, m->index, DR_STR("quota"));
    case UP_COMPLETE:
        return dr_up_complete(a, in, out, m->action, m->now_epoch);
    default:
        return dr_up_fail(a, in, out, m->action, m->now_epoch, 30000, 600000);
    }
}

static bool run_down(const struct step *m, struct dr_arena *a, const struct dr_state *in, struct dr_state *out) {
    switch (m->op) {
    case DOWN_BEGIN:
        return dr_down_begin(a, in, out, m->action, m->now_epoch, (struct dr_strs){m->targets, 2}, DR_STR("idle"));
    case DOWN_DRAIN:
        return dr_down_drain(a, in, out, m->action, m->id, (struct dr_strs){&m->other, 1}, m->now_epoch);
    case DOWN_COMMIT:
        return dr_down_commit(a, in, out, m->action, m->id);
    case DOWN_MARK_DONE:
        return dr_down_mark_done(a, in, out, m->action, m->id);
    case DOWN_DROP:
        return dr_down_drop(a, in, out, m->action, m->id, m->now_epoch, 60000);
    case DOWN_COMPLETE:
        return dr_down_complete(a, in, out, m->action, m->now_epoch);
    default:
        return dr_down_fail(a, in, out, m->action);
    }
}

static bool run(const struct step *m, struct dr_arena *a, const struct dr_state *in, struct dr_state *out) {
    if (m->op <= UP_FAIL) {
        return run_up(m, a, in, out);
    }
    if (m->op <= DOWN_FAIL) {
        return run_down(m, a, in, out);
    }
    switch (m->op) {
    case MARK_ADD:
        return dr_mark_add(a, in, out, m->id);
    case MARK_ENDED:
        return dr_mark_ended(a, in, out, m->id, m->now_epoch);
    case MARK_REFUSED:
        return dr_mark_refused(a, in, out, m->id);
    case RECORD_PUT:
        return dr_record_put(a, in, out, &m->record);
    case RECORD_ASSIGN:
        return dr_record_assign(a, in, out, m->id, m->action, (int64_t)m->index);
    case RECORD_OWE:
        return dr_record_assign(a, in, out, m->id, DR_STR_NONE, 0);
    case RECORD_RETURN:
        return dr_record_return(a, in, out, m->id, m->other);
    case RECORD_END:
        return dr_record_end(a, in, out, m->id);
    case LEASE_TAKE:
        return dr_lease_take(a, in, out, m->owner, m->now_epoch);
    case LEASE_RENEW:
        return dr_lease_renew(a, in, out, m->owner, m->now_epoch);
    case LEASE_RELEASE:
        return dr_lease_release(a, in, out, m->owner);
    case AVOID:
        return dr_avoid_put(a, in, out, m->other, m->now_epoch, 60000);
    case QUARANTINE_PUT:
        return dr_quarantine_put(a, in, out, m->id, m->now_epoch + 300);
    case QUARANTINE_END:
        return dr_quarantine_end(a, in, out, m->id);
    case EXPIRE:
        return dr_state_expire(a, in, out, m->now_epoch);
    default:
        return dr_state_repair(a, in, out);
    }
}

static bool some_joined(const struct dr_state *s) {
    for (size_t i = 0; i < s->attempts.n; i++) {
        if (s->attempts.v[i].status == DR_ATTEMPT_JOINED) {
            return true;
        }
    }
    return false;
}

/* What a caller checks on the revision that it read, before a step of a scale-up. */
static bool may_up(const struct step *m, const struct dr_state *s) {
    const struct dr_attempt *attempt = m->index < s->attempts.n ? &s->attempts.v[m->index] : NULL;
    if (m->op == UP_BEGIN) {
        return !s->scaling;
    }
    if (s->up_action_id.n == 0) {
        return false;
    }
    switch (m->op) {
    case UP_EXTEND:
        return true;
    case UP_ATTEMPT:
        return (int64_t)m->index < s->up_requested && m->index <= s->attempts.n && (attempt == NULL || attempt->status == DR_ATTEMPT_OPEN);
    case UP_RECORD:
        return attempt != NULL && attempt->status == DR_ATTEMPT_OPEN && !dr_strs_has(s->up_instance_ids, m->id);
    case UP_JOINED:
        return attempt != NULL && attempt->instance_id.n > 0;
    case UP_INDEX_FAIL:
        return attempt != NULL && attempt->status != DR_ATTEMPT_JOINED;
    case UP_COMPLETE:
        return some_joined(s);
    default:
        return !some_joined(s);
    }
}

static bool may_down(const struct step *m, const struct dr_state *s) {
    bool marked = dr_state_marked(s, m->id), done = dr_strs_has(s->down_completed, m->id), target = dr_strs_has(s->down_targets, m->id);
    if (m->op == DOWN_BEGIN) {
        return !s->scaling && !dr_str_eq(m->targets[0], m->targets[1]);
    }
    if (s->down_action_id.n == 0) {
        return false;
    }
    switch (m->op) {
    case DOWN_DRAIN:
        return target;
    case DOWN_COMMIT:
        return target && (marked || (!dr_strs_has(s->refused, m->id) && !dr_state_ended(s, m->id)));
    case DOWN_MARK_DONE:
        return target && marked;
    case DOWN_DROP:
        return !marked && !done;
    case DOWN_COMPLETE:
        for (size_t i = 0; i < s->down_targets.n; i++) {
            if (!dr_strs_has(s->down_completed, s->down_targets.v[i])) {
                return false;
            }
        }
        return s->down_completed.n > 0;
    default:
        return true;
    }
}

static bool index_free(const struct dr_state *s, int64_t index) {
    for (size_t i = 0; i < s->records.n; i++) {
        if (s->records.v[i].index == index && dr_str_eq(s->records.v[i].action_id, s->up_action_id)) {
            return false;
        }
    }
    return true;
}

static bool may(const struct step *m, const struct dr_state *s) {
    const struct dr_record *record = dr_state_record(s, m->id);
    if (m->op <= UP_FAIL) {
        return may_up(m, s);
    }
    if (m->op <= DOWN_FAIL) {
        return may_down(m, s);
    }
    switch (m->op) {
    case MARK_ADD:
        return !dr_strs_has(s->refused, m->id) && !dr_state_ended(s, m->id);
    case MARK_REFUSED:
        return dr_state_marked(s, m->id);
    case RECORD_ASSIGN:
        return record != NULL && dr_record_owed(record) && s->up_action_id.n > 0 && (int64_t)m->index < s->up_requested &&
               index_free(s, (int64_t)m->index);
    case RECORD_OWE:
        return record != NULL;
    case RECORD_RETURN:
        return record != NULL && dr_record_owed(record);
    case LEASE_TAKE:
        return dr_lease_look(s, m->owner, m->now_epoch) != DR_LEASE_OTHER;
    case LEASE_RENEW:
        return dr_str_eq(s->lease_owner, m->owner);
    default:
        return true;
    }
}

static struct dr_str any_id(struct dr_rand *rand) { return dr_str_fmt(help_arena(), "i-%d", (int)dr_rand_below(rand, 12)); }

static struct step any_step(struct dr_rand *rand, const struct dr_state *s, int64_t now_epoch, int serial) {
    struct dr_arena *a = help_arena();
    struct step m = {.op = (enum op)dr_rand_below(rand, OP_N), .now_epoch = now_epoch, .id = any_id(rand), .other = any_id(rand)};
    m.index = (size_t)dr_rand_below(rand, 4);
    m.owner = dr_rand_below(rand, 2) ? DR_STR("me") : DR_STR("you");
    m.targets[0] = any_id(rand);
    m.targets[1] = any_id(rand);
    m.action = m.op == UP_BEGIN || m.op == DOWN_BEGIN     ? dr_str_fmt(a, "%d-x", serial)
               : m.op <= UP_FAIL || m.op == RECORD_ASSIGN ? s->up_action_id
                                                          : s->down_action_id;
    m.spec = help_spec(m.index < s->attempts.n ? s->attempts.v[m.index].attempt + 1 : 1);
    /* Without some direction a walk hardly ever brings an action to its good end. */
    if ((m.op == UP_FAIL || m.op == DOWN_FAIL || m.op == MARK_REFUSED) && dr_rand_below(rand, 4) > 0) {
        m.op = s->up_action_id.n > 0 ? UP_RECORD : DOWN_COMMIT;
    }
    if ((m.op == UP_RECORD || m.op == UP_JOINED) && s->attempts.n > 0) {
        m.action = s->up_action_id;
        m.index %= s->attempts.n;
    }
    if (m.op >= DOWN_DRAIN && m.op <= DOWN_DROP) {
        m.action = s->down_action_id;
        if (s->down_targets.n > 0) {
            m.id = s->down_targets.v[dr_rand_below(rand, s->down_targets.n)];
        }
    }
    if (m.op == UP_RECORD) {
        m.id = dr_str_fmt(a, "i-new%d", serial);
    }
    m.record = help_record("", dr_rand_below(rand, 2) ? DR_EVENT_WARNING : DR_EVENT_REBALANCE);
    m.record.instance_id = m.id;
    return m;
}

static void check_promises(const struct step *m, const struct dr_state *before, const struct dr_state *after) {
    CHECK(after->up_action_id.n == 0 || after->down_action_id.n == 0);
    CHECK_EQ_INT(after->scaling, after->up_action_id.n > 0 || after->down_action_id.n > 0);
    CHECK(after->fence >= before->fence && after->fence <= before->fence + 1);
    CHECK(after->fence == before->fence || !dr_str_eq(after->lease_owner, before->lease_owner));
    CHECK_EQ_INT(after->revision, before->revision);
    CHECK_EQ_INT(after->extra.n, 1);
    CHECK_EQ_STR(after->extra.v[0].json, "{ \"N\" : \"1.0\" }");
    CHECK_EQ_INT(after->drains.n, after->down_targets.n);
    for (size_t i = 0; i < before->marks.n; i++) {
        struct dr_str id = before->marks.v[i];
        bool gone = (m->op == MARK_ENDED || m->op == MARK_REFUSED) && dr_str_eq(m->id, id);
        if (dr_state_marked(after, id) == gone) {
            FAIL("op %d: mark %.*s", (int)m->op, DR_FMT(id));
        }
    }
    if (after->marks.n > before->marks.n) {
        CHECK(m->op == MARK_ADD || m->op == DOWN_COMMIT);
    }
    for (size_t i = 0; i < after->marks.n; i++) {
        CHECK(!dr_strs_has(after->refused, after->marks.v[i]) && !dr_state_ended(after, after->marks.v[i]));
    }
    /* A record never leaves with its debt, unless its end is what was asked for. */
    for (size_t i = 0; i < before->records.n; i++) {
        const struct dr_record *record = &before->records.v[i];
        if (dr_state_record(after, record->instance_id) != NULL || (m->op == RECORD_END && dr_str_eq(m->id, record->instance_id))) {
            continue;
        }
        if (m->op == MARK_ENDED) {
            CHECK(dr_record_settled(record));
        } else {
            CHECK(m->op == UP_COMPLETE && before->attempts.v[record->index].status == DR_ATTEMPT_JOINED);
        }
    }
    /* Cooldown starts with completion only. */
    if (after->last_scale_epoch != before->last_scale_epoch) {
        CHECK(m->op == UP_COMPLETE || m->op == DOWN_COMPLETE);
    }
}

static void walk(struct dr_rand *rand, int64_t *taken) {
    struct dr_arena *a = help_arena();
    struct dr_state s = help_decode_cstr("{\"pk\":{\"S\":\"c\"},\"revision\":{\"N\":\"3\"},\"theirs\":{ \"N\" : \"1.0\" }}");
    int64_t now_epoch = NOW;
    for (int i = 0; i < 400; i++) {
        now_epoch += (int64_t)dr_rand_below(rand, dr_rand_below(rand, 20) == 0 ? 40000 : 30);
        struct step m = any_step(rand, &s, now_epoch, i);
        if (!may(&m, &s)) {
            continue;
        }
        struct dr_str json = help_encode(&s);
        struct dr_state next, again, same = s;
        bool changed = run(&m, a, &s, &next);
        CHECK_EQ_STR(help_encode(&s), json.p); /* the source is a value */
        CHECK_EQ_INT(changed, !dr_state_eq(&s, &next));
        check_promises(&m, &s, &next);
        if (run(&m, a, &next, &again) || !dr_state_eq(&next, &again)) {
            FAIL("op %d is not repeatable", (int)m.op);
        }
        CHECK_EQ_INT(run(&m, a, &same, &same), changed);
        CHECK(dr_state_eq(&same, &next));
        CHECK(m.op == REPAIR || !dr_state_repair(a, &next, &again)); /* no transition leaves an item that needs repair */
        s = help_decode(help_encode(&next));
        CHECK_EQ_INT(s.problems.n, 0);
        CHECK(dr_state_eq(&s, &next));
        taken[m.op] += changed;
    }
}

TEST(rule_2, random_walks_keep_every_promise_of_the_item) {
    struct dr_rand rand;
    int64_t taken[OP_N] = {0};
    dr_rand_init(&rand, dr_test_seed());
    for (int i = 0; i < 40; i++) {
        walk(&rand, taken);
        dr_arena_reset(help_arena());
    }
    for (int op = 0; op < OP_N; op++) {
        if (taken[op] == 0 && op != REPAIR) {
            FAIL("op %d never changed anything: the walk does not reach it", op);
        }
    }
    CHECK_EQ_INT(taken[REPAIR], 0);
}
