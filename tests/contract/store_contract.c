/* What every store must do; see store_contract.h. */
#include "contract/store_contract.h"

#include <stdio.h>

#include "base/json.h"
#include "base/time.h"
#include "core/transition.h"

#define NO_DEADLINE INT64_MAX

struct bench {
    const struct store_case *kind;
    void *self;
    struct dr_store a;
    struct dr_store b;
    struct dr_arena arena;
    struct dr_err err;
};

static void set_up(struct bench *t, const struct store_case *kind) {
    t->kind = kind;
    t->self = kind->open();
    t->a = kind->writer(t->self, 0);
    t->b = kind->writer(t->self, 1);
    dr_arena_init(&t->arena, 0);
    t->err = (struct dr_err){.code = DR_OK};
}

static void tear_down(struct bench *t) {
    t->kind->close(t->self);
    dr_arena_deinit(&t->arena);
}

static struct dr_state load_of(struct bench *t, struct dr_store store, const char *pk) {
    struct dr_state state;
    CHECK_OK(store.ops->load(store.self, &t->arena, dr_str_of(pk), NO_DEADLINE, &state, &t->err), t->err);
    return state;
}

static struct dr_state load(struct bench *t) { return load_of(t, t->a, "cluster"); }

static enum dr_cas cas(struct bench *t, struct dr_store store, const struct dr_state *state) {
    enum dr_cas outcome = DR_CAS_LOST;
    CHECK_OK(store.ops->cas(store.self, state, NO_DEADLINE, &outcome, &t->err), t->err);
    return outcome;
}

static struct dr_state fresh(const char *pk, int64_t workers) {
    struct dr_state state;
    dr_state_init(&state, dr_str_of(pk));
    state.worker_count = workers;
    return state;
}

/* ---- compare-and-set ---- */

void store_contract_absent_item_is_no_error(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state state = load(&t);
    CHECK(!state.exists);
    CHECK_EQ_INT(state.revision, 0);
    CHECK_EQ_STR(state.pk, "cluster");
    tear_down(&t);
}

void store_contract_first_write_gives_revision_1(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state state = fresh("cluster", 3);
    CHECK_EQ_INT(cas(&t, t.a, &state), DR_CAS_OK);
    CHECK_EQ_INT(state.revision, 0); /* the caller's own copy is not touched */
    state = load(&t);
    CHECK(state.exists);
    CHECK_EQ_INT(state.revision, 1);
    CHECK_EQ_INT(state.worker_count, 3);
    tear_down(&t);
}

void store_contract_every_write_raises_the_revision_by_1(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state state = fresh("cluster", 0);
    for (int64_t i = 0; i < 20; i++) {
        CHECK_EQ_INT(state.revision, i);
        state.worker_count = i;
        CHECK_EQ_INT(cas(&t, i % 2 == 0 ? t.a : t.b, &state), DR_CAS_OK);
        state = load(&t);
        CHECK_EQ_INT(state.worker_count, i);
    }
    tear_down(&t);
}

void store_contract_two_writers_on_one_revision_one_wins(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state first = fresh("cluster", 1);
    CHECK_EQ_INT(cas(&t, t.a, &first), DR_CAS_OK);
    struct dr_state of_a = load_of(&t, t.a, "cluster");
    struct dr_state of_b = load_of(&t, t.b, "cluster");
    of_a.worker_count = 10;
    of_b.worker_count = 20;
    CHECK_EQ_INT(cas(&t, t.b, &of_b), DR_CAS_OK);
    CHECK_EQ_INT(cas(&t, t.a, &of_a), DR_CAS_LOST);
    CHECK_EQ_INT(cas(&t, t.b, &of_b), DR_CAS_LOST); /* nor does the winner win twice */
    tear_down(&t);
}

void store_contract_lost_race_leaves_the_winners_item(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state both = fresh("cluster", 1);
    struct dr_state winner = fresh("cluster", 7);
    CHECK_EQ_INT(cas(&t, t.a, &winner), DR_CAS_OK);
    CHECK_EQ_INT(cas(&t, t.b, &both), DR_CAS_LOST);
    struct dr_state now = load_of(&t, t.b, "cluster");
    CHECK_EQ_INT(now.worker_count, 7);
    CHECK_EQ_INT(now.revision, 1);
    tear_down(&t);
}

void store_contract_revision_0_loses_against_an_item_of_ours(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state state = fresh("cluster", 1);
    CHECK_EQ_INT(cas(&t, t.a, &state), DR_CAS_OK);
    struct dr_state late = fresh("cluster", 2);
    CHECK_EQ_INT(cas(&t, t.b, &late), DR_CAS_LOST);
    tear_down(&t);
}

void store_contract_revision_ahead_of_the_store_loses(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state state = fresh("cluster", 1);
    CHECK_EQ_INT(cas(&t, t.a, &state), DR_CAS_OK);
    state.revision = 2;
    CHECK_EQ_INT(cas(&t, t.a, &state), DR_CAS_LOST);
    CHECK_EQ_INT(load(&t).revision, 1);
    tear_down(&t);
}

void store_contract_write_without_an_item_loses_unless_revision_is_0(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state state = fresh("cluster", 1);
    state.revision = 5; /* someone removed the item under us */
    CHECK_EQ_INT(cas(&t, t.a, &state), DR_CAS_LOST);
    CHECK(!load(&t).exists);
    tear_down(&t);
}

static const char foreign[] =
    "{\"pk\":{\"S\":\"cluster\"},\"scalingInProgress\":{\"BOOL\":false},\"workerCount\":{\"N\":\"4\"},"
    "\"owner\":{\"M\":{\"team\":{\"S\":\"a\\u00e9 \\\"b\\\"\"},\"tags\":{\"SS\":[\"x\",\"y\"]}}},\"note\":{\"NULL\":true}}";

void store_contract_foreign_item_is_taken_over_once(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    kind->put_foreign(t.self, foreign);
    struct dr_state of_a = load_of(&t, t.a, "cluster");
    struct dr_state of_b = load_of(&t, t.b, "cluster");
    CHECK(of_a.exists);
    CHECK_EQ_INT(of_a.revision, 0);
    CHECK_EQ_INT(of_a.worker_count, 4);
    CHECK_EQ_INT(cas(&t, t.a, &of_a), DR_CAS_OK);
    CHECK_EQ_INT(cas(&t, t.b, &of_b), DR_CAS_LOST);
    CHECK_EQ_INT(load(&t).revision, 1);
    tear_down(&t);
}

/* A store may write JSON its own way: order of members, white space and escapes are not part of the promise, values are. */
static struct dr_str extra_of(const struct dr_state *state, const char *name) {
    for (size_t i = 0; i < state->extra.n; i++) {
        if (dr_str_is(state->extra.v[i].name, name)) {
            return state->extra.v[i].json;
        }
    }
    FAIL("attribute %s is gone", name);
}

static void check_owner(struct dr_str json, struct dr_arena *arena) {
    struct dr_json j;
    struct dr_json_key key;
    struct dr_err err;
    struct dr_str text;
    int seen = 0;
    dr_json_init(&j, json, 0);
    CHECK_OK(dr_json_enter(&j, DR_JSON_OBJECT, &err), err);
    CHECK_EQ_INT(dr_json_next_key(&j, &key, &err), 1);
    CHECK(dr_json_key_is(&key, "M"));
    CHECK_OK(dr_json_enter(&j, DR_JSON_OBJECT, &err), err);
    while (dr_json_next_key(&j, &key, &err) > 0) {
        bool team = dr_json_key_is(&key, "team");
        CHECK_OK(dr_json_enter(&j, DR_JSON_OBJECT, &err), err);
        CHECK_EQ_INT(dr_json_next_key(&j, &key, &err), 1);
        CHECK(dr_json_key_is(&key, team ? "S" : "SS"));
        if (team) {
            CHECK_OK(dr_json_str(&j, arena, &text, &err), err);
            CHECK_EQ_STR(text, "a\xC3\xA9 \"b\"");
        } else {
            CHECK_OK(dr_json_enter(&j, DR_JSON_ARRAY, &err), err);
            while (dr_json_next_element(&j, &err) > 0) {
                CHECK_OK(dr_json_str(&j, arena, &text, &err), err);
                CHECK(dr_str_is(text, "x") || dr_str_is(text, "y"));
                seen += dr_str_is(text, "x") ? 1 : 10;
            }
        }
        CHECK_OK(dr_json_leave(&j, &err), err);
        seen += team ? 100 : 1000;
    }
    CHECK_EQ_INT(seen, 1111);
}

void store_contract_unknown_attributes_survive_writes(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    kind->put_foreign(t.self, foreign);
    for (int i = 0; i < 3; i++) {
        struct dr_state state = load(&t);
        state.worker_count++;
        CHECK_EQ_INT(cas(&t, t.a, &state), DR_CAS_OK);
    }
    struct dr_state state = load(&t);
    CHECK_EQ_INT(state.worker_count, 7);
    CHECK_EQ_INT(state.extra.n, 2);
    check_owner(extra_of(&state, "owner"), &t.arena);
    struct dr_json j;
    struct dr_json_key key;
    dr_json_init(&j, extra_of(&state, "note"), 0);
    CHECK_OK(dr_json_enter(&j, DR_JSON_OBJECT, &t.err), t.err);
    CHECK_EQ_INT(dr_json_next_key(&j, &key, &t.err), 1);
    CHECK(dr_json_key_is(&key, "NULL"));
    tear_down(&t);
}

void store_contract_whole_item_comes_back_equal(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_str action = DR_STR("1800000000-req");
    struct dr_attempt spec = {.attempt = 1,
                              .type = DR_STR("t3.medium"),
                              .zone = DR_STR("a"),
                              .subnet = DR_STR("subnet-1"),
                              .market = DR_MARKET_SPOT,
                              .template_version = DR_STR("3")};
    struct dr_record record = {.instance_id = DR_STR("i-9"),
                               .kind = DR_EVENT_WARNING,
                               .noticed_epoch = 1800000001,
                               .recorded_epoch = 1800000002,
                               .market = DR_MARKET_SPOT,
                               .zone = DR_STR("b")};
    struct dr_state state = fresh("cluster", 5);
    dr_up_begin(&t.arena, &state, &state, action, 1800000000, 2);
    dr_up_attempt(&t.arena, &state, &state, action, 0, &spec, 1800000000);
    dr_up_record(&t.arena, &state, &state, action, 0, DR_STR("i-1"), 1800000003);
    dr_up_attempt(&t.arena, &state, &state, action, 1, &spec, 1800000004);
    dr_record_put(&t.arena, &state, &state, &record);
    dr_mark_add(&t.arena, &state, &state, DR_STR("i-7"));
    dr_avoid_put(&t.arena, &state, &state, DR_STR("victim/i-3"), 1800000000, 600000);
    dr_lease_take(&t.arena, &state, &state, DR_STR("req"), 1800000000);
    CHECK_EQ_INT(cas(&t, t.a, &state), DR_CAS_OK);
    struct dr_state back = load_of(&t, t.b, "cluster");
    state.exists = true;
    state.revision = 1;
    state.up_instance_ids = back.up_instance_ids; /* worked out from the attempts when written */
    CHECK_EQ_INT(back.up_instance_ids.n, 1);
    CHECK_EQ_INT(back.attempts.n, 2);
    CHECK_EQ_INT(back.attempts.v[1].status, DR_ATTEMPT_OPEN);
    CHECK(dr_state_eq(&back, &state));
    tear_down(&t);
}

void store_contract_big_lists_come_back_whole(const struct store_case *kind) {
    enum { MANY = 900 };
    struct bench t;
    set_up(&t, kind);
    struct dr_str *ids = DR_NEW_N(&t.arena, struct dr_str, MANY);
    for (size_t i = 0; i < MANY; i++) {
        ids[i] = dr_str_fmt(&t.arena, "i-%017zu", i);
    }
    struct dr_state state = fresh("cluster", MANY);
    state.marks = (struct dr_strs){ids, MANY};
    CHECK_EQ_INT(cas(&t, t.a, &state), DR_CAS_OK);
    struct dr_state back = load_of(&t, t.b, "cluster");
    CHECK_EQ_INT(back.marks.n, MANY);
    for (size_t i = 0; i < MANY; i++) {
        CHECK(dr_str_eq(back.marks.v[i], ids[i]));
    }
    tear_down(&t);
}

void store_contract_clusters_are_apart(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state one = fresh("cluster", 1);
    struct dr_state two = fresh("cluster-2", 2);
    CHECK_EQ_INT(cas(&t, t.a, &one), DR_CAS_OK);
    CHECK_EQ_INT(cas(&t, t.a, &two), DR_CAS_OK);
    CHECK_EQ_INT(load_of(&t, t.b, "cluster").worker_count, 1);
    CHECK_EQ_INT(load_of(&t, t.b, "cluster-2").worker_count, 2);
    CHECK(!load_of(&t, t.b, "cluste").exists);
    tear_down(&t);
}

/* ---- lease ---- */

void store_contract_expired_lease_is_taken_over_and_the_old_holder_loses(const struct store_case *kind) {
    const int64_t now = STORE_START_MS / 1000;
    struct bench t;
    set_up(&t, kind);
    struct dr_state of_a = load_of(&t, t.a, "cluster");
    dr_lease_take(&t.arena, &of_a, &of_a, DR_STR("A"), now);
    CHECK_EQ_INT(cas(&t, t.a, &of_a), DR_CAS_OK);
    of_a = load_of(&t, t.a, "cluster"); /* A goes on from here, an hour late */

    struct dr_state of_b = load_of(&t, t.b, "cluster");
    CHECK_EQ_INT(dr_lease_look(&of_b, DR_STR("B"), now + DR_LEASE_S), DR_LEASE_OTHER);
    int64_t later = now + DR_LEASE_S + DR_LEASE_TAKEOVER_S + 1;
    CHECK_EQ_INT(dr_lease_look(&of_b, DR_STR("B"), later), DR_LEASE_FREE);
    dr_lease_take(&t.arena, &of_b, &of_b, DR_STR("B"), later);
    CHECK_EQ_INT(cas(&t, t.b, &of_b), DR_CAS_OK);

    of_a.worker_count = 99;
    CHECK_EQ_INT(cas(&t, t.a, &of_a), DR_CAS_LOST);
    struct dr_state now_state = load(&t);
    CHECK_EQ_STR(now_state.lease_owner, "B");
    CHECK_EQ_INT(now_state.worker_count, 0);
    CHECK_EQ_INT(dr_lease_look(&now_state, DR_STR("A"), later), DR_LEASE_OTHER);
    tear_down(&t);
}

void store_contract_fence_grows_with_every_holder(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    int64_t fence = 0;
    for (int64_t i = 0; i < 6; i++) {
        struct dr_str owner = dr_str_fmt(&t.arena, "process-%lld", (long long)i);
        struct dr_store store = i % 2 == 0 ? t.a : t.b;
        struct dr_state state = load_of(&t, store, "cluster");
        dr_lease_take(&t.arena, &state, &state, owner, STORE_START_MS / 1000 + 100 * i);
        CHECK_EQ_INT(cas(&t, store, &state), DR_CAS_OK);
        state = load_of(&t, store, "cluster");
        CHECK(state.fence > fence);
        fence = state.fence;
        dr_lease_renew(&t.arena, &state, &state, owner, STORE_START_MS / 1000 + 100 * i + 30);
        CHECK_EQ_INT(cas(&t, store, &state), DR_CAS_OK);
        state = load_of(&t, store, "cluster");
        CHECK_EQ_INT(state.fence, fence);
        dr_lease_release(&t.arena, &state, &state, owner);
        CHECK_EQ_INT(cas(&t, store, &state), DR_CAS_OK);
    }
    tear_down(&t);
}

/* ---- journal ---- */

static void put_row(struct bench *t, struct dr_store store, int64_t after_ms, const char *request, int64_t sequence, const char *json,
                    int64_t keep_ms) {
    struct dr_journal_row row = {STORE_START_MS + after_ms, dr_str_of(request), sequence, dr_str_of(json)};
    CHECK_OK(store.ops->journal_put(store.self, DR_STR("cluster"), &row, row.at_ms + keep_ms, NO_DEADLINE, &t->err), t->err);
}

/* The bodies in the order read, joined by spaces. */
static struct dr_str read_rows(struct bench *t, struct dr_store store, struct dr_journal_query query) {
    const struct dr_journal_row *rows = NULL;
    size_t n = 0;
    CHECK_OK(store.ops->journal_read(store.self, &t->arena, DR_STR("cluster"), &query, NO_DEADLINE, &rows, &n, &t->err), t->err);
    struct dr_str text = DR_STR("");
    for (size_t i = 0; i < n; i++) {
        text = dr_str_fmt(&t->arena, "%.*s%s%.*s", DR_FMT(text), i == 0 ? "" : " ", DR_FMT(rows[i].json));
    }
    return text;
}

void store_contract_journal_is_ordered_by_time_request_and_sequence(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    put_row(&t, t.a, 1000, "r2", 0, "4", DR_DAY_MS);
    put_row(&t, t.b, 1000, "r1", 10, "3", DR_DAY_MS);
    put_row(&t, t.a, 2000, "r0", 0, "5", DR_DAY_MS);
    put_row(&t, t.b, 0, "r9", 0, "1", DR_DAY_MS);
    put_row(&t, t.a, 1000, "r1", 9, "2", DR_DAY_MS);
    CHECK_EQ_STR(read_rows(&t, t.b, (struct dr_journal_query){0}), "1 2 3 4 5");
    CHECK_EQ_STR(read_rows(&t, t.a, (struct dr_journal_query){.newest_first = true}), "5 4 3 2 1");
    const struct dr_journal_row *rows = NULL;
    size_t n = 0;
    struct dr_journal_query query = {.limit = 3};
    CHECK_OK(t.a.ops->journal_read(t.a.self, &t.arena, DR_STR("cluster"), &query, NO_DEADLINE, &rows, &n, &t.err), t.err);
    CHECK_EQ_INT(n, 3);
    CHECK_EQ_INT(rows[2].at_ms, STORE_START_MS + 1000);
    CHECK_EQ_STR(rows[2].request_id, "r1");
    CHECK_EQ_INT(rows[2].sequence, 10);
    CHECK_OK(t.a.ops->journal_read(t.a.self, &t.arena, DR_STR("other"), &query, NO_DEADLINE, &rows, &n, &t.err), t.err);
    CHECK_EQ_INT(n, 0);
    tear_down(&t);
}

void store_contract_journal_query_bounds_are_inclusive_and_exclusive(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    for (int64_t i = 0; i < 5; i++) {
        put_row(&t, t.a, i * 10, "r", 0, dr_str_fmt(&t.arena, "%lld", (long long)i).p, DR_DAY_MS);
    }
    CHECK_EQ_STR(read_rows(&t, t.a, (struct dr_journal_query){.from_ms = STORE_START_MS + 10, .to_ms = STORE_START_MS + 30}), "1 2");
    CHECK_EQ_STR(read_rows(&t, t.a, (struct dr_journal_query){.from_ms = STORE_START_MS + 31}), "4");
    CHECK_EQ_STR(read_rows(&t, t.a, (struct dr_journal_query){.to_ms = STORE_START_MS + 1, .newest_first = true}), "0");
    CHECK_EQ_STR(read_rows(&t, t.a, (struct dr_journal_query){.from_ms = STORE_START_MS + 41}), "");
    tear_down(&t);
}

void store_contract_journal_limit_takes_from_the_asked_end(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    for (int64_t i = 0; i < 1005; i++) {
        put_row(&t, t.a, i, "r", i, "x", DR_DAY_MS);
    }
    put_row(&t, t.a, 2000, "r", 0, "last", DR_DAY_MS);
    CHECK_EQ_STR(read_rows(&t, t.a, (struct dr_journal_query){.limit = 2}), "x x");
    CHECK_EQ_STR(read_rows(&t, t.a, (struct dr_journal_query){.limit = 2, .newest_first = true}), "last x");
    const struct dr_journal_row *rows = NULL;
    size_t n = 0;
    struct dr_journal_query query = {0};
    CHECK_OK(t.a.ops->journal_read(t.a.self, &t.arena, DR_STR("cluster"), &query, NO_DEADLINE, &rows, &n, &t.err), t.err);
    CHECK_EQ_INT(n, 1000);
    query.limit = 5000;
    CHECK_OK(t.a.ops->journal_read(t.a.self, &t.arena, DR_STR("cluster"), &query, NO_DEADLINE, &rows, &n, &t.err), t.err);
    CHECK_EQ_INT(n, 1006);
    tear_down(&t);
}

void store_contract_journal_row_put_again_is_one_row(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    put_row(&t, t.a, 0, "r", 0, "{\"once\":1}", DR_DAY_MS);
    put_row(&t, t.a, 0, "r", 0, "{\"once\":1}", DR_DAY_MS);
    put_row(&t, t.b, 0, "r", 0, "{\"once\":1}", DR_DAY_MS);
    CHECK_EQ_STR(read_rows(&t, t.a, (struct dr_journal_query){0}), "{\"once\":1}");
    tear_down(&t);
}

void store_contract_journal_rows_expire(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    put_row(&t, t.a, 0, "r", 0, "short", 1000);
    put_row(&t, t.a, 0, "r", 1, "long", DR_DAY_MS);
    kind->pass_time(t.self, STORE_START_MS + 999);
    struct dr_journal_query query = {.to_ms = STORE_START_MS + 1};
    CHECK_EQ_STR(read_rows(&t, t.a, query), "short long");
    kind->pass_time(t.self, STORE_START_MS + 1001);
    CHECK_EQ_STR(read_rows(&t, t.a, query), "long");
    tear_down(&t);
}

/* ---- inbox ---- */

static void put_event(struct bench *t, struct dr_store store, const char *id, enum dr_event_kind kind, int64_t after_ms) {
    struct dr_event event = {dr_str_of(id), kind, STORE_START_MS + after_ms, false};
    CHECK_OK(store.ops->inbox_put(store.self, DR_STR("cluster"), &event, NO_DEADLINE, &t->err), t->err);
}

static void handle(struct bench *t, struct dr_store store, const char *id, enum dr_event_kind kind, int64_t keep_ms) {
    CHECK_OK(store.ops->inbox_handle(store.self, DR_STR("cluster"), dr_str_of(id), kind, STORE_START_MS + keep_ms, NO_DEADLINE, &t->err),
             t->err);
}

/* "i-1/warning@0 i-2/rebalance@5!" with ! for handled. */
static struct dr_str read_inbox(struct bench *t, struct dr_store store) {
    const struct dr_event *events = NULL;
    size_t n = 0;
    CHECK_OK(store.ops->inbox(store.self, &t->arena, DR_STR("cluster"), NO_DEADLINE, &events, &n, &t->err), t->err);
    struct dr_str text = DR_STR("");
    for (size_t i = 0; i < n; i++) {
        text = dr_str_fmt(&t->arena, "%.*s%s%.*s/%s@%lld%s", DR_FMT(text), i == 0 ? "" : " ", DR_FMT(events[i].instance_id),
                          dr_event_kind_name(events[i].kind), (long long)(events[i].at_ms - STORE_START_MS), events[i].handled ? "!" : "");
    }
    return text;
}

void store_contract_inbox_keeps_one_row_per_instance_and_kind(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    CHECK_EQ_STR(read_inbox(&t, t.a), "");
    put_event(&t, t.a, "i-1", DR_EVENT_WARNING, 5);
    put_event(&t, t.b, "i-1", DR_EVENT_WARNING, 9); /* a repetition, later */
    put_event(&t, t.b, "i-1", DR_EVENT_REBALANCE, 6);
    put_event(&t, t.a, "i-2", DR_EVENT_WARNING, 7);
    CHECK_EQ_STR(read_inbox(&t, t.b), "i-1/warning@5 i-1/rebalance@6 i-2/warning@7");
    const struct dr_event *events = NULL;
    size_t n = 1;
    CHECK_OK(t.a.ops->inbox(t.a.self, &t.arena, DR_STR("other"), NO_DEADLINE, &events, &n, &t.err), t.err);
    CHECK_EQ_INT(n, 0);
    tear_down(&t);
}

void store_contract_inbox_is_oldest_first(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    put_event(&t, t.a, "i-3", DR_EVENT_STATE_CHANGE, 1);
    put_event(&t, t.a, "i-2", DR_EVENT_WARNING, 3);
    put_event(&t, t.a, "i-1", DR_EVENT_WARNING, 2);
    handle(&t, t.a, "i-1", DR_EVENT_WARNING, DR_DAY_MS);
    CHECK_EQ_STR(read_inbox(&t, t.b), "i-3/state-change@1 i-1/warning@2! i-2/warning@3");
    tear_down(&t);
}

void store_contract_handled_event_stays_handled_when_repeated(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    put_event(&t, t.a, "i-1", DR_EVENT_WARNING, 0);
    handle(&t, t.b, "i-1", DR_EVENT_WARNING, DR_DAY_MS);
    put_event(&t, t.a, "i-1", DR_EVENT_WARNING, 60000);
    CHECK_EQ_STR(read_inbox(&t, t.a), "i-1/warning@0!");
    tear_down(&t);
}

void store_contract_handled_events_expire_and_others_do_not(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    put_event(&t, t.a, "i-1", DR_EVENT_WARNING, 0);
    put_event(&t, t.a, "i-2", DR_EVENT_WARNING, 0);
    handle(&t, t.a, "i-1", DR_EVENT_WARNING, DR_DAY_MS);
    kind->pass_time(t.self, STORE_START_MS + DR_DAY_MS - 1);
    CHECK_EQ_STR(read_inbox(&t, t.a), "i-1/warning@0! i-2/warning@0");
    kind->pass_time(t.self, STORE_START_MS + DR_DAY_MS + 1);
    CHECK_EQ_STR(read_inbox(&t, t.a), "i-2/warning@0");
    put_event(&t, t.a, "i-1", DR_EVENT_WARNING, DR_DAY_MS + 2); /* now it is new again */
    CHECK_EQ_STR(read_inbox(&t, t.a), dr_str_fmt(&t.arena, "i-2/warning@0 i-1/warning@%lld", (long long)DR_DAY_MS + 2).p);
    tear_down(&t);
}

void store_contract_handling_an_absent_event_is_no_error(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    handle(&t, t.a, "i-1", DR_EVENT_WARNING, DR_DAY_MS);
    CHECK_EQ_STR(read_inbox(&t, t.a), "");
    put_event(&t, t.a, "i-1", DR_EVENT_WARNING, 0);
    CHECK_EQ_STR(read_inbox(&t, t.a), "i-1/warning@0");
    tear_down(&t);
}

/* ---- requests ---- */

/* A request is for one load and one inbox of its key; whatever was requested, nothing older than the request comes back. */
void store_contract_reads_that_were_requested_are_as_fresh_as_any(const struct store_case *kind) {
    struct bench t;
    set_up(&t, kind);
    struct dr_state state = fresh("cluster", 1);
    CHECK_EQ_INT(cas(&t, t.b, &state), DR_CAS_OK);
    put_event(&t, t.b, "i-1", DR_EVENT_WARNING, 1);
    for (int i = 0; i < 2; i++) {
        if (t.a.ops->request != NULL) {
            t.a.ops->request(t.a.self, DR_STR("cluster"), NO_DEADLINE);
            t.a.ops->request(t.a.self, DR_STR("cluster"), NO_DEADLINE); /* the first is dropped */
        }
        CHECK_EQ_INT(load_of(&t, t.a, "other").revision, 0);
        CHECK_EQ_INT(load_of(&t, t.a, "cluster").revision, 1 + i);
        CHECK_EQ_STR(read_inbox(&t, t.a), i == 0 ? "i-1/warning@1" : "i-1/warning@1 i-2/warning@2");
        state = load_of(&t, t.b, "cluster");
        CHECK_EQ_INT(cas(&t, t.b, &state), DR_CAS_OK);
        CHECK_EQ_INT(load_of(&t, t.a, "cluster").revision, 2 + i); /* collected already: this one asks anew */
        put_event(&t, t.b, "i-2", DR_EVENT_WARNING, 2);
    }
    if (t.a.ops->request != NULL) {
        t.a.ops->request(t.a.self, DR_STR("cluster"), NO_DEADLINE); /* never collected */
    }
    tear_down(&t);
}
