/* The world as a whole: determinism, virtual time, snapshots that hold still, the store, bad options. */

#include "sim_help.h"

struct trace {
    struct dr_buf buf;
};
static void keep(void *self, int64_t now_ms, const char *line) {
    (void)now_ms;
    struct trace *t = self;
    dr_buf_puts(&t->buf, line);
    dr_buf_putc(&t->buf, '\n');
}

static void burst(struct dr_world *w, void *arg) {
    (void)arg;
    dr_world_set_replicas(w, 0, 25);
    (void)dr_world_interrupt(w, dr_world_pick(w, DR_MARKET_SPOT, DR_STR(""), 0), 2000);
}

/* A busy day without an engine. */
static uint64_t day(uint64_t seed, struct trace *trace) {
    struct dr_world_options o;
    dr_world_options_init(&o, seed);
    o.never_join_ppm = 200000;
    dr_buf_init(&trace->buf, 1 << 22);
    o.hooks.self = trace;
    o.hooks.trace = keep;
    struct sim s = sim_open(&o);
    (void)sim_deploy(&s, "web", 10, 300);
    for (int i = 0; i < 6; i++) {
        (void)dr_world_add_worker(s.w, &(struct dr_world_worker){.booting = true, .market = i % 2 ? DR_MARKET_SPOT : DR_MARKET_ON_DEMAND});
    }
    dr_world_at(s.w, o.start_ms + DR_HOUR_MS, burst, NULL);
    sim_pass(&s, DR_DAY_MS);
    uint64_t hash = dr_world_trace_hash(s.w);
    sim_close(&s);
    return hash;
}

TEST(sim_world, same_seed_gives_the_same_trace_and_another_seed_another) {
    struct trace one, two, three;
    uint64_t a = day(11, &one), b = day(11, &two), c = day(12, &three);
    CHECK_EQ_U64(a, b);
    CHECK(one.buf.n > 1000 && one.buf.n == two.buf.n && memcmp(one.buf.p, two.buf.p, one.buf.n) == 0);
    CHECK(a != c);
    dr_buf_deinit(&one.buf);
    dr_buf_deinit(&two.buf);
    dr_buf_deinit(&three.buf);
}

TEST(sim_world, trace_is_the_same_in_every_build) {
    struct trace t;
    CHECK_EQ_U64(day(11, &t), UINT64_C(9734115842425411029));
    dr_buf_deinit(&t.buf);
}

TEST(sim_world, trace_speaks_of_nodes_as_people_do) {
    struct sim s = sim_plain();
    (void)dr_world_add_worker(s.w, &(struct dr_world_worker){.market = DR_MARKET_SPOT, .zone = DR_STR("a")});
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 16);
    dr_world_trace_tail(s.w, &buf);
    CHECK_CONTAINS(dr_buf_str(&buf), "10:00:00 node ip-10-0-1-4 ready (i-0000000000000001, zone a, spot)\n");
    dr_buf_deinit(&buf);
    sim_close(&s);
}

static void count(struct dr_world *w, void *arg) {
    int64_t *v = arg;
    *v = *v * 10 + (dr_world_now(w) / 1000) % 10;
}

TEST(sim_world, scheduled_functions_run_in_order_of_time_then_of_scheduling) {
    struct sim s = sim_plain();
    int64_t t = dr_world_now(s.w), seen = 0;
    dr_world_at(s.w, t + 3000, count, &seen);
    dr_world_at(s.w, t + 1000, count, &seen);
    dr_world_at(s.w, t + 2000, count, &seen);
    CHECK_EQ_INT(dr_world_next(s.w), t + 1000);
    s.p.clock.ops->sleep_ms(s.p.clock.self, 2000); /* a process's sleep moves the world */
    CHECK_EQ_INT(seen, 12);
    sim_pass(&s, 5000);
    CHECK_EQ_INT(seen, 123);
    CHECK_EQ_INT(dr_world_next(s.w), INT64_MAX);
    CHECK_EQ_INT(dr_world_now(s.w), t + 7000);
    sim_close(&s);
}

static void nap(struct dr_world *w, void *arg) {
    *(int64_t *)arg = dr_world_now(w);
    (void)dr_world_advance(w, dr_world_now(w) + 10000);
}

TEST(sim_world, time_may_be_advanced_from_inside_and_never_goes_back) {
    struct sim s = sim_plain();
    int64_t t = dr_world_now(s.w), a = 0, b = 0;
    dr_world_at(s.w, t + 1000, nap, &a);
    dr_world_at(s.w, t + 2000, nap, &b);
    CHECK(dr_world_advance(s.w, t + 3000));
    CHECK_EQ_INT(a, t + 1000);
    CHECK_EQ_INT(b, t + 2000);
    CHECK_EQ_INT(dr_world_now(s.w), t + 12000);
    sim_close(&s);
}

TEST(sim_world, lent_snapshot_holds_still_while_the_world_moves) {
    struct sim s = sim_plain();
    struct dr_str id = sim_worker(&s, "a");
    (void)sim_deploy(&s, "web", 3, 100);
    struct dr_snapshot before = sim_observe(&s);
    struct dr_node node = before.nodes[1];
    struct dr_pod pod = before.pods[0];
    struct dr_arena own;
    dr_arena_init(&own, 0);
    struct dr_str version = dr_str_dup(&own, node.resource_version);
    struct dr_ports other = dr_world_ports(s.w, 1);
    for (int i = 0; i < 20; i++) { /* another process looks again and again */
        CHECK(dr_world_node_cordon(s.w, id, i % 2 == 0));
        sim_pass(&s, DR_MINUTE_MS);
        struct dr_snapshot theirs = {0};
        other.cluster.ops->observe(other.cluster.self, &s.arena, 0, &theirs);
        CHECK_EQ_INT(theirs.nodes[1].unschedulable, i % 2 == 0);
    }
    CHECK(dr_world_kill(s.w, id));
    const struct dr_node *n = &before.nodes[1];
    CHECK(dr_str_eq(n->uid, node.uid) && n->unschedulable == node.unschedulable && n->ready == node.ready);
    CHECK(n->resource_version.p == node.resource_version.p && dr_str_eq(n->resource_version, version));
    const struct dr_pod *p = &before.pods[0];
    CHECK(dr_str_eq(p->uid, pod.uid) && dr_str_eq(p->node, pod.node) && p->phase == pod.phase && p->deleting == pod.deleting);
    dr_arena_deinit(&own);
    sim_close(&s);
}

TEST(sim_world, quiet_world_hands_out_the_same_arrays) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    sim_pass(&s, DR_MINUTE_MS);
    struct dr_snapshot one = sim_observe(&s);
    sim_pass(&s, DR_DAY_MS);
    struct dr_snapshot two = sim_observe(&s);
    CHECK(one.nodes == two.nodes && one.pods == two.pods && one.instances == two.instances);
    sim_close(&s);
}

TEST(sim_world, servers_are_nodes_but_not_instances) {
    struct sim s = sim_plain();
    struct dr_snapshot snap = sim_observe(&s);
    CHECK_EQ_INT(snap.node_n, 1);
    CHECK(snap.nodes[0].server && snap.nodes[0].ready == DR_READY_TRUE);
    CHECK_EQ_INT(snap.instance_n, 0);
    CHECK_EQ_INT(snap.pool.subnet_n, 2);
    sim_close(&s);
}

TEST(sim_world, identity_can_be_told_in_several_ways_or_not_at_all) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    o.identity = DR_IDENTITY_PROVIDER_ID;
    struct sim s = sim_open(&o);
    struct dr_str id = sim_worker(&s, "a");
    struct dr_snapshot snap = sim_observe(&s);
    CHECK_CONTAINS(snap.nodes[1].provider_id, "aws:///a/i-");
    CHECK_EQ_INT(snap.nodes[1].instance_label.n, 0);
    CHECK(dr_world_node_break_identity(s.w, id));
    snap = sim_observe(&s);
    CHECK_CONTAINS(snap.nodes[1].provider_id, "k3s://");
    CHECK_EQ_STR(snap.nodes[1].internal_ip, "192.0.2.1");
    sim_close(&s);
}

TEST(sim_world, contradicting_options_are_refused) {
    struct dr_world_options o;
    struct dr_err err;
    dr_world_options_init(&o, 1);
    o.min_workers = 11;
    CHECK(dr_world_new(&o, &err) == NULL && err.code == DR_E_INVALID);
    dr_world_options_init(&o, 1);
    o.type_n = 0;
    CHECK(dr_world_new(&o, &err) == NULL && err.code == DR_E_INVALID);
    dr_world_options_init(&o, 1);
    o.join_max_ms = 1;
    CHECK(dr_world_new(&o, &err) == NULL && err.code == DR_E_INVALID);
    dr_world_free(NULL);
}

TEST(sim_world, ceiling_of_pods_holds) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    o.max_pods = 5;
    struct sim s = sim_open(&o);
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", 6, 1, 1);
    struct dr_err err;
    CHECK_FAILS(dr_world_add_workload(s.w, &l, &err), err, DR_E_LIMIT);
    l.replicas = 5;
    CHECK_OK(dr_world_add_workload(s.w, &l, &err), err);
    dr_world_set_replicas(s.w, 0, 50);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 5);
    sim_close(&s);
}

/* ---- store ---- */

TEST(sim_world, stored_item_is_a_copy_of_its_own) {
    struct sim s = sim_plain();
    char name[] = "scale_up";
    struct dr_state state = sim_load(&s);
    CHECK(!state.exists && state.revision == 0);
    state.last_scale_action = dr_str_of(name);
    CHECK_EQ_INT(sim_cas(&s, &state), DR_CAS_OK);
    memset(name, 'x', sizeof name - 1);
    struct dr_state back = sim_load(&s);
    CHECK(back.exists && back.revision == 1);
    CHECK_EQ_STR(back.last_scale_action, "scale_up");
    CHECK_EQ_INT(sim_cas(&s, &state), DR_CAS_LOST);
    back.worker_count = 4;
    CHECK_EQ_INT(sim_cas(&s, &back), DR_CAS_OK);
    CHECK_EQ_INT(dr_world_item(s.w)->revision, 2);
    CHECK_EQ_INT(dr_world_item(s.w)->worker_count, 4);
    sim_close(&s);
}

TEST(sim_world, handled_event_is_kept_for_its_time_and_then_may_come_again) {
    struct sim s = sim_plain();
    const struct dr_store_ops *ops = s.p.store.ops;
    struct dr_event e = {DR_STR("i-1"), DR_EVENT_WARNING, dr_world_now(s.w), false};
    struct dr_err err;
    const struct dr_event *rows;
    size_t n;
    CHECK_OK(ops->inbox_put(s.p.store.self, DR_STR("cluster"), &e, 0, &err), err);
    CHECK_OK(ops->inbox_put(s.p.store.self, DR_STR("cluster"), &e, 0, &err), err);
    CHECK_OK(ops->inbox_handle(s.p.store.self, DR_STR("cluster"), e.instance_id, e.kind, e.at_ms + DR_DAY_MS, 0, &err), err);
    CHECK_OK(ops->inbox_put(s.p.store.self, DR_STR("cluster"), &e, 0, &err), err);
    CHECK_OK(ops->inbox(s.p.store.self, &s.arena, DR_STR("cluster"), 0, &rows, &n, &err), err);
    CHECK(n == 1 && rows[0].handled);
    CHECK_OK(ops->inbox(s.p.store.self, &s.arena, DR_STR("other"), 0, &rows, &n, &err), err);
    CHECK_EQ_INT(n, 0);
    sim_pass(&s, DR_DAY_MS);
    CHECK_OK(ops->inbox(s.p.store.self, &s.arena, DR_STR("cluster"), 0, &rows, &n, &err), err);
    CHECK_EQ_INT(n, 0);
    sim_close(&s);
}

TEST(sim_world, journal_is_ordered_limited_and_expires) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    o.journal_rows = 8;
    struct sim s = sim_open(&o);
    const struct dr_store_ops *ops = s.p.store.ops;
    int64_t t = dr_world_now(s.w);
    struct dr_err err;
    const struct dr_journal_row *rows;
    size_t n;
    for (int64_t i = 5; i > 0; i--) { /* out of order */
        struct dr_journal_row row = {t + i, DR_STR("r"), 0, DR_STR("{}")};
        CHECK_OK(ops->journal_put(s.p.store.self, DR_STR("cluster"), &row, t + DR_HOUR_MS, 0, &err), err);
        CHECK_OK(ops->journal_put(s.p.store.self, DR_STR("cluster"), &row, t + DR_HOUR_MS, 0, &err), err);
        row.json = DR_STR("{\"other\":1}");
        CHECK_FAILS(ops->journal_put(s.p.store.self, DR_STR("cluster"), &row, t + DR_HOUR_MS, 0, &err), err, DR_E_CONFLICT);
    }
    struct dr_journal_query q = {.from_ms = t + 2, .to_ms = t + 5};
    CHECK_OK(ops->journal_read(s.p.store.self, &s.arena, DR_STR("cluster"), &q, 0, &rows, &n, &err), err);
    CHECK(n == 3 && rows[0].at_ms == t + 2 && rows[2].at_ms == t + 4);
    q = (struct dr_journal_query){.newest_first = true, .limit = 2};
    CHECK_OK(ops->journal_read(s.p.store.self, &s.arena, DR_STR("cluster"), &q, 0, &rows, &n, &err), err);
    CHECK(n == 2 && rows[0].at_ms == t + 5 && rows[1].at_ms == t + 4);
    for (int64_t i = 10; i < 40; i++) {
        struct dr_journal_row row = {t + i, DR_STR("r"), 0, DR_STR("{}")};
        CHECK_OK(ops->journal_put(s.p.store.self, DR_STR("cluster"), &row, t + DR_HOUR_MS, 0, &err), err);
    }
    q = (struct dr_journal_query){.newest_first = true};
    CHECK_OK(ops->journal_read(s.p.store.self, &s.arena, DR_STR("cluster"), &q, 0, &rows, &n, &err), err);
    CHECK(n > 0 && n <= 8 && rows[0].at_ms == t + 39);
    sim_pass(&s, DR_HOUR_MS);
    CHECK_OK(ops->journal_read(s.p.store.self, &s.arena, DR_STR("cluster"), &q, 0, &rows, &n, &err), err);
    CHECK_EQ_INT(n, 0);
    sim_close(&s);
}
