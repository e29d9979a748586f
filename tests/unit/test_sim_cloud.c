/* Launches, joins, interruptions and the end of simulated machines. */

#include "sim_help.h"

TEST(sim_cloud, same_token_and_parameters_give_the_same_instance) {
    struct sim s = sim_plain();
    struct dr_launch l = sim_intend(&s, "act", 0, "a", "tok", DR_STR_NONE);
    struct dr_str one, two;
    struct dr_err err;
    CHECK_OK(sim_launch(&s, &l, &one, &err), err);
    CHECK_OK(sim_launch(&s, &l, &two, &err), err);
    CHECK(dr_str_eq(one, two));
    CHECK_EQ_INT(dr_world_stats(s.w).launches, 1);
    CHECK(dr_world_kill(s.w, one));
    CHECK_OK(sim_launch(&s, &l, &two, &err), err); /* even when it has ended */
    CHECK(dr_str_eq(one, two));
    sim_close(&s);
}

TEST(sim_cloud, token_with_other_parameters_is_invalid_in_its_zone_and_new_in_another) {
    struct sim s = sim_plain();
    struct dr_launch l = sim_intend(&s, "act", 0, "a", "tok", DR_STR_NONE);
    struct dr_str one, two;
    struct dr_err err;
    CHECK_OK(sim_launch(&s, &l, &one, &err), err);
    struct dr_launch other = l;
    other.market = DR_MARKET_SPOT;
    CHECK_FAILS(sim_launch(&s, &other, &two, &err), err, DR_E_INVALID);
    other = sim_intend(&s, "act", 0, "b", "tok", DR_STR_NONE);
    CHECK_OK(sim_launch(&s, &other, &two, &err), err);
    CHECK(!dr_str_eq(one, two));
    sim_close(&s);
}

TEST(sim_cloud, refusals_carry_their_code) {
    struct sim s = sim_plain();
    struct dr_launch l = sim_intend(&s, "act", 0, "a", "tok", DR_STR_NONE);
    struct dr_str id;
    struct dr_err err;
    dr_world_set_capacity(s.w, DR_STR(""), DR_STR("a"), DR_MARKET_ON_DEMAND, 0);
    CHECK_FAILS(sim_launch(&s, &l, &id, &err), err, DR_E_CAPACITY);
    dr_world_set_capacity(s.w, DR_STR(""), DR_STR("a"), -1, 1);
    dr_world_set_quota(s.w, 0);
    CHECK_FAILS(sim_launch(&s, &l, &id, &err), err, DR_E_QUOTA);
    dr_world_set_quota(s.w, -1);
    struct dr_launch wrong = l;
    wrong.type = DR_STR("z9.huge");
    CHECK_FAILS(sim_launch(&s, &wrong, &id, &err), err, DR_E_INVALID);
    wrong = l;
    wrong.zone = DR_STR("b");
    CHECK_FAILS(sim_launch(&s, &wrong, &id, &err), err, DR_E_INVALID);
    CHECK_OK(sim_launch(&s, &l, &id, &err), err);
    l = sim_intend(&s, "act", 1, "a", "tok-2", DR_STR_NONE);
    CHECK_FAILS(sim_launch(&s, &l, &id, &err), err, DR_E_CAPACITY); /* the one that was left is gone */
    CHECK_EQ_INT(dr_world_stats(s.w).launch_refusals, 5);
    sim_close(&s);
}

static struct dr_str launch_one(struct sim *s) {
    struct dr_launch l = sim_intend(s, "act", 0, "a", "tok", DR_STR_NONE);
    struct dr_str id;
    struct dr_err err;
    CHECK_OK(sim_launch(s, &l, &id, &err), err);
    return id;
}

TEST(sim_cloud, machine_boots_joins_and_becomes_ready_in_its_time) {
    struct sim s = sim_plain();
    dr_world_set_boot(s.w, 20 * DR_SECOND_MS, 30 * DR_SECOND_MS, 10 * DR_SECOND_MS);
    struct dr_str id = launch_one(&s);
    CHECK(sim_instance(&s, id)->state == DR_INSTANCE_PENDING);
    CHECK_EQ_STR(sim_instance(&s, id)->action_id, "act");
    sim_pass(&s, 20 * DR_SECOND_MS);
    CHECK(sim_instance(&s, id)->state == DR_INSTANCE_RUNNING && sim_node(&s, id) == NULL);
    sim_pass(&s, 30 * DR_SECOND_MS);
    const struct dr_node *n = sim_node(&s, id);
    CHECK(n != NULL && n->ready == DR_READY_FALSE);
    CHECK(dr_str_eq(n->internal_ip, sim_instance(&s, id)->private_ip));
    CHECK_CONTAINS(n->provider_id, "aws:///a/i-");
    sim_pass(&s, 10 * DR_SECOND_MS);
    CHECK(sim_node(&s, id)->ready == DR_READY_TRUE);
    CHECK_EQ_INT(dr_world_zone_ready(s.w, DR_STR("a")), 1);
    sim_close(&s);
}

TEST(sim_cloud, some_machines_never_join) {
    struct sim s = sim_plain();
    dr_world_never_join_next(s.w, 1);
    struct dr_str first = dr_world_add_worker(s.w, &(struct dr_world_worker){.booting = true});
    struct dr_str second = dr_world_add_worker(s.w, &(struct dr_world_worker){.booting = true});
    dr_world_zone_broken(s.w, DR_STR("b"), true);
    struct dr_str broken = dr_world_add_worker(s.w, &(struct dr_world_worker){.booting = true, .zone = DR_STR("b")});
    sim_pass(&s, DR_HOUR_MS);
    CHECK(sim_node(&s, first) == NULL && sim_node(&s, broken) == NULL && sim_node(&s, second) != NULL);
    sim_close(&s);
}

TEST(sim_cloud, describe_shows_a_fresh_machine_only_after_the_lag) {
    struct sim s = sim_plain();
    dr_world_set_describe_lag(s.w, 20 * DR_SECOND_MS);
    struct dr_str id = launch_one(&s);
    struct dr_err err;
    CHECK(sim_instance(&s, id) == NULL);
    CHECK_EQ_INT(sim_peek(&s).instance_n, 1);
    CHECK_FAILS(sim_terminate(&s, id, &err), err, DR_E_NOT_FOUND);
    sim_pass(&s, 20 * DR_SECOND_MS);
    CHECK(sim_instance(&s, id) != NULL);
    sim_close(&s);
}

TEST(sim_cloud, terminated_machine_is_shown_for_an_hour) {
    struct sim s = sim_plain();
    struct dr_str id = dr_world_add_worker(s.w, &(struct dr_world_worker){.never_join = true, .action_id = DR_STR("old")});
    sim_mark(&s, id);
    struct dr_err err;
    CHECK_OK(sim_terminate(&s, id, &err), err);
    CHECK_OK(sim_terminate(&s, id, &err), err); /* again: already so */
    CHECK(sim_instance(&s, id)->state == DR_INSTANCE_SHUTTING_DOWN);
    sim_pass(&s, 30 * DR_SECOND_MS);
    CHECK(sim_instance(&s, id)->state == DR_INSTANCE_TERMINATED);
    sim_pass(&s, DR_HOUR_MS - 1);
    CHECK(sim_instance(&s, id) != NULL);
    sim_pass(&s, 1);
    CHECK(sim_instance(&s, id) == NULL);
    CHECK_FAILS(sim_terminate(&s, id, &err), err, DR_E_NOT_FOUND);
    CHECK_EQ_INT(dr_world_stats(s.w).terminations, 1);
    sim_close(&s);
}

TEST(sim_cloud, termination_protection_refuses) {
    struct sim s = sim_plain();
    struct dr_str id = dr_world_add_worker(s.w, &(struct dr_world_worker){.never_join = true});
    CHECK(dr_world_protect(s.w, id, true));
    sim_mark(&s, id);
    struct dr_err err;
    CHECK_FAILS(sim_terminate(&s, id, &err), err, DR_E_PROTECTED);
    CHECK(dr_world_protect(s.w, id, false));
    CHECK_OK(sim_terminate(&s, id, &err), err);
    sim_close(&s);
}

static size_t inbox(struct sim *s, const struct dr_event **rows) {
    size_t n;
    struct dr_err err;
    CHECK_OK(s->p.store.ops->inbox(s->p.store.self, &s->arena, DR_STR("cluster"), 0, rows, &n, &err), err);
    return n;
}

TEST(sim_cloud, interruption_warns_and_ends_after_two_minutes) {
    struct sim s = sim_plain();
    struct dr_str id = dr_world_add_worker(s.w, &(struct dr_world_worker){.market = DR_MARKET_SPOT});
    int64_t at = dr_world_now(s.w);
    CHECK(dr_world_interrupt(s.w, id, 5 * DR_SECOND_MS));
    const struct dr_event *rows;
    CHECK_EQ_INT(inbox(&s, &rows), 0);
    sim_pass(&s, 5 * DR_SECOND_MS);
    CHECK_EQ_INT(inbox(&s, &rows), 1);
    CHECK(rows[0].kind == DR_EVENT_WARNING && rows[0].at_ms == at && dr_str_eq(rows[0].instance_id, id));
    dr_world_event(s.w, id, DR_EVENT_WARNING, at + 1); /* a duplicate changes nothing */
    CHECK_EQ_INT(inbox(&s, &rows), 1);
    CHECK_EQ_INT(rows[0].at_ms, at);
    sim_pass(&s, 114 * DR_SECOND_MS);
    CHECK(sim_instance(&s, id)->state == DR_INSTANCE_RUNNING);
    sim_pass(&s, DR_SECOND_MS);
    CHECK(sim_instance(&s, id)->state == DR_INSTANCE_SHUTTING_DOWN);
    CHECK(!dr_world_interrupt(s.w, id, 0));
    sim_close(&s);
}

TEST(sim_cloud, rebalance_hint_ends_nothing) {
    struct sim s = sim_plain();
    struct dr_str id = dr_world_add_worker(s.w, &(struct dr_world_worker){.market = DR_MARKET_SPOT});
    CHECK(dr_world_rebalance(s.w, id, 0));
    sim_pass(&s, DR_HOUR_MS);
    const struct dr_event *rows;
    CHECK_EQ_INT(inbox(&s, &rows), 1);
    CHECK(rows[0].kind == DR_EVENT_REBALANCE);
    CHECK(sim_instance(&s, id)->state == DR_INSTANCE_RUNNING);
    sim_close(&s);
}

TEST(sim_cloud, reused_name_is_refused_until_the_ghost_is_gone) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    o.reuse_addresses = true;
    struct sim s = sim_open(&o);
    struct dr_str old = sim_worker(&s, "a");
    struct dr_str name = sim_node(&s, old)->name;
    CHECK(dr_world_kill(s.w, old));
    struct dr_str fresh = dr_world_add_worker(s.w, &(struct dr_world_worker){.booting = true, .zone = DR_STR("a")});
    sim_pass(&s, 10 * DR_MINUTE_MS);
    CHECK(sim_node(&s, fresh) == NULL);
    CHECK(dr_world_node_delete(s.w, old));
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(sim_node(&s, fresh) != NULL && dr_str_eq(sim_node(&s, fresh)->name, name));
    sim_close(&s);
}

TEST(sim_cloud, cost_follows_time_market_and_price) {
    struct sim s = sim_plain(); /* 41,600 micro-USD per hour; spot 35 % */
    (void)dr_world_add_worker(s.w, &(struct dr_world_worker){.market = DR_MARKET_ON_DEMAND});
    struct dr_str spot = dr_world_add_worker(s.w, &(struct dr_world_worker){.market = DR_MARKET_SPOT});
    sim_pass(&s, DR_HOUR_MS);
    struct dr_world_stats st = dr_world_stats(s.w);
    CHECK_EQ_INT(st.cost_on_demand_micro_usd, 41600);
    CHECK_EQ_INT(st.cost_spot_micro_usd, 14560);
    CHECK_EQ_INT(st.cost_fixed_micro_usd, 416000);
    CHECK_EQ_INT(st.node_ms, 2 * DR_HOUR_MS);
    dr_world_set_price(s.w, DR_STR(""), DR_STR(""), DR_MARKET_SPOT, 20000); /* the past stays as it was paid */
    sim_pass(&s, DR_HOUR_MS);
    CHECK(dr_world_kill(s.w, spot));
    sim_pass(&s, DR_HOUR_MS);
    CHECK_EQ_INT(dr_world_stats(s.w).cost_spot_micro_usd, 34560);
    sim_close(&s);
}

TEST(sim_cloud, workers_are_picked_in_order_of_launch) {
    struct sim s = sim_plain();
    struct dr_str one = sim_worker(&s, "a");
    struct dr_str two = dr_world_add_worker(s.w, &(struct dr_world_worker){.market = DR_MARKET_SPOT, .zone = DR_STR("b")});
    CHECK(dr_str_eq(dr_world_pick(s.w, -1, DR_STR(""), 0), one));
    CHECK(dr_str_eq(dr_world_pick(s.w, -1, DR_STR(""), 1), two));
    CHECK(dr_str_eq(dr_world_pick(s.w, DR_MARKET_SPOT, DR_STR(""), 0), two));
    CHECK(dr_str_eq(dr_world_pick(s.w, -1, DR_STR("b"), 0), two));
    CHECK_EQ_INT(dr_world_pick(s.w, -1, DR_STR("b"), 1).n, 0);
    sim_close(&s);
}

TEST(sim_cloud, pool_is_reclaimed_by_share) {
    struct sim s = sim_plain();
    for (int i = 0; i < 20; i++) {
        (void)dr_world_add_worker(s.w, &(struct dr_world_worker){.market = i < 15 ? DR_MARKET_SPOT : DR_MARKET_ON_DEMAND,
                                                                 .zone = i % 3 ? DR_STR("a") : DR_STR("b")});
    }
    CHECK_EQ_INT(dr_world_reclaim(s.w, DR_STR(""), DR_STR("a"), 0, 0), 0);
    CHECK_EQ_INT(dr_world_reclaim(s.w, DR_STR(""), DR_STR("b"), 100, 0), 5);
    size_t some = dr_world_reclaim(s.w, DR_STR("t3.medium"), DR_STR("a"), 50, 0);
    CHECK(some > 0 && some < 10);
    CHECK_EQ_INT(dr_world_reclaim(s.w, DR_STR("other"), DR_STR(""), 100, 0), 0);
    sim_pass(&s, 3 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(s.w).machines, 15 - (int64_t)some);
    sim_close(&s);
}
