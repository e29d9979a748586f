#include "base/rand.h"
#include "base/time.h"
#include "core/drain.h"
#include "core/victim.h"
#include "unit/small_world.h"

/* Four empty workers: two in za, one each in zb and zc; minimum 2, so that no zone floor is a rule. */
static struct small_world *four(void) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_worker(w, "i-2", "za");
    sw_worker(w, "i-3", "zb");
    sw_worker(w, "i-4", "zc");
    return w;
}

static struct dr_str choose(struct small_world *w, int64_t want, bool surplus) {
    struct dr_victims victims;
    dr_victims_choose(&w->arena, &w->cfg, &w->state, sw_build(w), want, surplus, &victims);
    CHECK_EQ_INT(victims.all_n, w->fleet.worker_n);
    struct dr_str text = DR_STR_NONE;
    for (size_t i = 0; i < victims.chosen.n; i++) {
        text = dr_str_fmt(&w->arena, "%.*s%s%.*s", DR_FMT(text), i > 0 ? " " : "", DR_FMT(victims.chosen.v[i]));
    }
    return text;
}

/* Why the worker is not chosen when everybody may be. */
static struct dr_candidate judge(struct small_world *w, const char *id) {
    struct dr_victims victims;
    dr_victims_choose(&w->arena, &w->cfg, &w->state, sw_build(w), 100, false, &victims);
    for (size_t i = 0; i < victims.all_n; i++) {
        if (dr_str_is(victims.all[i].worker->id, id)) {
            return victims.all[i];
        }
    }
    FAIL("no candidate %s", id);
}

/* The verdict about one worker by itself. */
static enum dr_victim_verdict check(struct small_world *w, const char *id, bool as_target) {
    const struct dr_worker *worker = sw_find(w, id);
    return dr_victim_check(&w->arena, &w->cfg, &w->state, &w->fleet, worker, as_target).verdict;
}

static void set_order(struct small_world *w, size_t n, const enum dr_order *order) {
    w->cfg.order_n = n;
    for (size_t i = 0; i < n; i++) {
        w->cfg.order[i] = order[i];
    }
}

TEST(victim, default_order_takes_the_fullest_zone_first) {
    struct small_world *w = four();
    sw_pod(w, &w->nodes[0], 100, 1); /* i-1 is busier */
    CHECK_EQ_STR(choose(w, 1, false), "i-2");
}

TEST(victim, zones_are_recounted_after_each_choice) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_worker(w, "i-2", "za");
    sw_worker(w, "i-3", "za");
    sw_worker(w, "i-4", "zb");
    sw_worker(w, "i-5", "zb");
    w->instances[3].launched_ms -= 1;
    set_order(w, 2, (const enum dr_order[]){DR_ORDER_ZONE, DR_ORDER_AGE});
    CHECK_EQ_STR(choose(w, 2, false), "i-1 i-4"); /* 3:2, then 2:2 and the older one */
}

TEST(victim, comparators_order_as_configured) {
    struct small_world *w = sw_new();
    struct dr_node *a = sw_worker(w, "i-1", "za");
    struct dr_node *b = sw_worker(w, "i-2", "za");
    struct dr_node *c = sw_worker(w, "i-3", "za");
    sw_pod(w, a, 600, 1); /* one large pod */
    sw_pod(w, b, 100, 1); /* two small ones */
    sw_pod(w, b, 100, 1);
    sw_pod(w, c, 200, 1); /* three middling ones on the oldest machine */
    sw_pod(w, c, 100, 1);
    sw_pod(w, c, 100, 1);
    w->instances[2].launched_ms -= DR_HOUR_MS;
    set_order(w, 1, (const enum dr_order[]){DR_ORDER_IDLE});
    CHECK_EQ_STR(choose(w, 1, false), "i-2");
    set_order(w, 1, (const enum dr_order[]){DR_ORDER_PODS});
    CHECK_EQ_STR(choose(w, 1, false), "i-1");
    set_order(w, 1, (const enum dr_order[]){DR_ORDER_AGE});
    CHECK_EQ_STR(choose(w, 1, false), "i-3");
    set_order(w, 0, NULL);
    CHECK_EQ_STR(choose(w, 1, false), "i-1");
}

TEST(victim, idle_is_a_share_of_the_machine_and_not_an_amount) {
    struct small_world *w = sw_new();
    struct dr_node *small = sw_worker(w, "i-1", "za");
    struct dr_node *large = sw_worker(w, "i-2", "za");
    sw_worker(w, "i-3", "za")->protected_ = true;
    large->cpu_milli = 16000;
    sw_pod(w, small, 400, 1);
    sw_pod(w, large, 800, 1);
    set_order(w, 1, (const enum dr_order[]){DR_ORDER_IDLE});
    CHECK_EQ_STR(choose(w, 1, false), "i-2");
}

TEST(victim, strict_preset_takes_the_oldest_of_the_fullest_zone) {
    struct small_world *w = four();
    dr_config_init(&w->cfg, DR_PRESET_STRICT);
    sw_pod(w, &w->nodes[0], 100, 1);
    w->instances[0].launched_ms -= DR_HOUR_MS;
    w->instances[3].launched_ms -= 2 * DR_HOUR_MS;
    CHECK_EQ_STR(choose(w, 1, false), "i-1");
}

TEST(victim, never_below_minimum_with_those_already_chosen_taken_off) {
    struct small_world *w = four();
    CHECK_EQ_STR(choose(w, 10, false), "i-1 i-2");
    CHECK_EQ_INT(judge(w, "i-3").verdict, DR_VICTIM_MINIMUM);
    w->cfg.min_workers = 4;
    CHECK_EQ_STR(choose(w, 1, false), "");
}

TEST(victim, minimum_counts_live_workers_only) {
    struct small_world *w = four();
    sw_record(w, "i-4", DR_EVENT_WARNING);
    CHECK_EQ_STR(choose(w, 10, false), "i-1");
}

TEST(victim, zone_is_not_emptied_where_that_is_a_rule) {
    struct small_world *w = four();
    w->cfg.min_workers = 3; /* as many as zones */
    w->nodes[0].protected_ = true;
    w->nodes[1].protected_ = true;
    CHECK_EQ_STR(choose(w, 1, false), "");
    CHECK_EQ_INT(judge(w, "i-3").verdict, DR_VICTIM_ZONE);
    CHECK_EQ_STR(choose(w, 1, true), ""); /* nor for a surplus */
}

TEST(victim, emptying_a_zone_comes_last_where_it_is_only_a_preference) {
    struct small_world *w = four();
    sw_pod(w, &w->nodes[0], 1500, 1);
    sw_pod(w, &w->nodes[1], 1500, 1);
    set_order(w, 1, (const enum dr_order[]){DR_ORDER_IDLE});
    CHECK_EQ_STR(choose(w, 1, false), "i-1"); /* i-3 and i-4 are idle but alone */
    w->nodes[0].protected_ = true;
    w->nodes[1].protected_ = true;
    CHECK_EQ_STR(choose(w, 1, false), "i-3");
}

TEST(hazard_25, critical_pod_keeps_a_worker_from_being_chosen_at_all) {
    struct small_world *w = four();
    struct dr_pod *pod = sw_pod(w, &w->nodes[0], 10, 1);
    pod->critical = true;
    struct dr_candidate candidate = judge(w, "i-1");
    CHECK_EQ_INT(candidate.verdict, DR_VICTIM_CRITICAL_POD);
    CHECK(candidate.pod == pod);
    pod->critical = false;
    pod->ns = DR_STR("kube-system");
    CHECK_EQ_INT(judge(w, "i-1").verdict, DR_VICTIM_CRITICAL_POD);
    CHECK_EQ_STR(choose(w, 1, false), "i-2");
}

TEST(hazard_29, daemonsets_of_kube_system_do_not_protect_every_node) {
    struct small_world *w = four();
    for (size_t i = 0; i < 4; i++) {
        struct dr_pod *pod = sw_pod(w, &w->nodes[i], 10, 1);
        pod->owner = DR_OWNER_DAEMONSET;
        pod->ns = DR_STR("kube-system");
        pod->critical = true;
    }
    CHECK_EQ_STR(choose(w, 1, false), "i-1");
}

TEST(hazard_25, victim_of_a_failed_drain_is_avoided_for_its_time) {
    struct small_world *w = four();
    sw_avoid(w, "victim/i-1", SW_NOW_EPOCH + 1);
    CHECK_EQ_INT(judge(w, "i-1").verdict, DR_VICTIM_AVOIDED);
    CHECK_EQ_STR(choose(w, 1, false), "i-2");
    w->state.avoid.n = 0;
    sw_avoid(w, "victim/i-1", SW_NOW_EPOCH);
    CHECK_EQ_STR(choose(w, 1, false), "i-1");
}

TEST(hazard_26, instance_that_never_joined_goes_first_and_needs_no_node) {
    struct small_world *w = four();
    sw_instance(w, "i-9", "zc");
    CHECK_EQ_STR(choose(w, 2, false), "i-9 i-1");
}

TEST(rule_17, minimum_and_zone_floor_do_not_protect_what_failed_to_join) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_worker(w, "i-2", "zb");
    sw_instance(w, "i-3", "zc");
    w->cfg.min_workers = 3;
    CHECK_EQ_STR(choose(w, 10, false), "i-3");
}

TEST(victim, joining_worker_is_chosen_only_for_a_surplus) {
    struct small_world *w = four();
    sw_instance(w, "i-9", "za")->launched_ms = SW_NOW_MS - DR_MINUTE_MS;
    CHECK_EQ_INT(judge(w, "i-9").verdict, DR_VICTIM_NOT_READY);
    CHECK_EQ_STR(choose(w, 1, false), "i-1");
    CHECK_EQ_STR(choose(w, 1, true), "i-9");
    w->cfg.min_workers = 5; /* it is live and may yet be needed */
    CHECK_EQ_STR(choose(w, 1, true), "");
}

TEST(victim, unjoined_is_not_certain_while_a_node_is_unknown) {
    struct small_world *w = four();
    sw_instance(w, "i-9", "za");
    sw_node(w, &w->instances[0])->provider_id = DR_STR("k3s://x");
    w->nodes[4].internal_ip = DR_STR("192.168.0.1");
    CHECK_EQ_INT(judge(w, "i-9").verdict, DR_VICTIM_UNKNOWN);
}

TEST(rule_18, node_that_was_cordoned_before_us_is_no_victim) {
    struct small_world *w = four();
    w->nodes[0].unschedulable = true;
    CHECK_EQ_INT(judge(w, "i-1").verdict, DR_VICTIM_CORDONED);
}

TEST(hazard_30, bare_pods_and_local_data_protect_unless_allowed) {
    struct small_world *w = four();
    sw_pod(w, &w->nodes[0], 10, 1)->owner = DR_OWNER_NONE;
    sw_pod(w, &w->nodes[1], 10, 1)->local_data = true;
    CHECK_EQ_INT(judge(w, "i-1").verdict, DR_VICTIM_BARE_POD);
    CHECK_EQ_INT(judge(w, "i-2").verdict, DR_VICTIM_LOCAL_DATA);
    w->cfg.allow_bare_pods = true;
    w->cfg.allow_local_data = true;
    CHECK_EQ_INT(check(w, "i-1", false), DR_VICTIM_OK);
    CHECK_EQ_INT(check(w, "i-2", false), DR_VICTIM_OK);
}

TEST(victim, what_is_leaving_protected_or_not_ready_is_no_victim) {
    struct small_world *w = four();
    w->state.marks = sw_strs(w, 1, (const char *const[]){"i-1"});
    w->state.refused = sw_strs(w, 1, (const char *const[]){"i-2"});
    sw_record(w, "i-3", DR_EVENT_WARNING);
    sw_scale_down(w, "i-4");
    for (size_t i = 0; i < 4; i++) {
        const char *const ids[] = {"i-1", "i-2", "i-3", "i-4"};
        CHECK_EQ_INT(judge(w, ids[i]).verdict, DR_VICTIM_NOT_A_CANDIDATE);
    }
    w = four();
    w->nodes[0].protected_ = true;
    w->nodes[1].ready = DR_READY_FALSE;
    w->nodes[1].ready_changed_ms = SW_NOW_MS - 1000;
    CHECK_EQ_INT(judge(w, "i-1").verdict, DR_VICTIM_PROTECTED);
    CHECK_EQ_INT(judge(w, "i-2").verdict, DR_VICTIM_NOT_READY);
}

TEST(victim, nobody_is_chosen_while_pods_budgets_or_nodes_are_unknown) {
    struct small_world *w = four();
    w->snap.pods_part.known = false;
    CHECK_EQ_INT(judge(w, "i-1").verdict, DR_VICTIM_UNKNOWN);
    w->snap.pods_part.known = true;
    w->snap.budgets_part.known = false;
    CHECK_EQ_INT(judge(w, "i-1").verdict, DR_VICTIM_UNKNOWN);
    w->snap.budgets_part.known = true;
    w->snap.nodes_part.known = false;
    CHECK_EQ_INT(judge(w, "i-1").verdict, DR_VICTIM_UNKNOWN);
}

TEST(victim, ready_node_without_instance_is_never_chosen) {
    struct small_world *w = four();
    w->snap.instance_n = 3;
    w->nodes[3].created_ms = SW_NOW_MS - 1000; /* fresh: Describe lags behind */
    CHECK_EQ_INT(judge(w, "i-4").verdict, DR_VICTIM_UNKNOWN);
}

TEST(victim, budget_that_allows_none_protects) {
    struct small_world *w = four();
    struct dr_pod *pod = sw_pod(w, &w->nodes[0], 10, 1);
    w->budgets[0] = (struct dr_budget){.ns = DR_STR("shop"), .value = 0};
    w->snap.budget_n = 1;
    struct dr_candidate candidate = judge(w, "i-1");
    CHECK_EQ_INT(candidate.verdict, DR_VICTIM_BUDGET);
    CHECK(candidate.pod == pod);
    w->budgets[0].value = 1;
    CHECK_EQ_INT(check(w, "i-1", false), DR_VICTIM_OK);
}

TEST(hazard_11, worker_whose_pods_fit_nowhere_else_is_no_victim) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_worker(w, "i-2", "za");
    sw_worker(w, "i-3", "za");
    for (size_t i = 0; i < 3; i++) {
        sw_pod(w, &w->nodes[i], 1100, 1);
    }
    CHECK_EQ_STR(choose(w, 1, false), "");
    struct dr_candidate candidate = judge(w, "i-2");
    CHECK_EQ_INT(candidate.verdict, DR_VICTIM_NO_ROOM);
    CHECK(candidate.pod == &w->pods[1]);
}

TEST(victim, second_victim_is_checked_against_the_room_that_the_first_leaves) {
    struct small_world *w = four();
    w->cfg.min_workers = 1;
    for (size_t i = 0; i < 3; i++) {
        sw_pod(w, &w->nodes[i], 900, 1);
    }
    sw_pod(w, &w->nodes[3], 1900, 1);
    CHECK_EQ_STR(choose(w, 3, false), "i-1"); /* its 900 fit beside another 900; the next 900 would find no place */
}

TEST(victim, check_as_target_forgives_our_own_cordon_and_budgets_that_wait) {
    struct small_world *w = four();
    struct dr_pod *pod = sw_pod(w, &w->nodes[0], 10, 1);
    sw_scale_down(w, "i-1");
    w->nodes[0].unschedulable = true;
    w->nodes[0].cordon_owner = DR_STR("down-1");
    w->budgets[0] = (struct dr_budget){.ns = DR_STR("shop"), .value = 0};
    w->snap.budget_n = 1;
    sw_avoid(w, "victim/i-1", SW_NOW_EPOCH + 100);
    CHECK_EQ_INT(check(w, "i-1", true), DR_VICTIM_OK);
    CHECK_EQ_INT(check(w, "i-1", false), DR_VICTIM_NOT_A_CANDIDATE);
    w->nodes[0].cordon_owner = DR_STR("down-0");
    CHECK_EQ_INT(check(w, "i-1", true), DR_VICTIM_CORDONED);
    w->nodes[0].cordon_owner = DR_STR("down-1");
    pod->critical = true;
    CHECK_EQ_INT(check(w, "i-1", true), DR_VICTIM_CRITICAL_POD);
}

TEST(rule_14, check_before_the_mark_looks_at_minimum_and_zone_again) {
    struct small_world *w = four();
    sw_scale_down(w, "i-1");
    CHECK_EQ_INT(check(w, "i-1", true), DR_VICTIM_OK);
    w->cfg.min_workers = 4;
    CHECK_EQ_INT(check(w, "i-1", true), DR_VICTIM_MINIMUM);
    w->cfg.min_workers = 3;
    w->instances[1].zone = DR_STR("zb"); /* i-1 is the last in za now */
    CHECK_EQ_INT(check(w, "i-1", true), DR_VICTIM_ZONE);
}

TEST(victim, unjoined_target_stays_a_target_before_its_timeout) {
    struct small_world *w = four();
    sw_instance(w, "i-9", "za")->launched_ms = SW_NOW_MS - DR_MINUTE_MS;
    sw_scale_down(w, "i-9");
    CHECK_EQ_INT(check(w, "i-9", true), DR_VICTIM_OK);
}

TEST(victim, targets_of_the_active_action_count_as_gone) {
    struct small_world *w = four();
    w->cfg.min_workers = 3;
    w->snap.pool.subnet_n = 0;
    CHECK_EQ_STR(choose(w, 1, false), "i-1");
    sw_scale_down(w, "i-4");
    CHECK_EQ_STR(choose(w, 1, false), "");
}

TEST(victim, verdicts_have_names) {
    for (int v = DR_VICTIM_OK; v <= DR_VICTIM_NOT_READY; v++) {
        CHECK(dr_victim_name((enum dr_victim_verdict)v) != NULL);
    }
    CHECK_EQ_CSTR(dr_victim_name((enum dr_victim_verdict)99), "unknown");
}

static void random_fleet(struct small_world *w, struct dr_rand *r) {
    static const char *const ids[] = {"i-1", "i-2", "i-3", "i-4", "i-5", "i-6", "i-7", "i-8"};
    static const char *const zones[] = {"za", "zb", "zc"};
    for (size_t i = 0; i < 8; i++) {
        struct dr_instance *instance = sw_instance(w, ids[i], zones[dr_rand_below(r, 3)]);
        instance->launched_ms -= dr_rand_between(r, 0, 3) * 1000;
        if (dr_rand_below(r, 8) > 0) {
            struct dr_node *node = sw_node(w, instance);
            node->ready = dr_rand_below(r, 8) > 0 ? DR_READY_TRUE : DR_READY_UNKNOWN;
            node->unschedulable = dr_rand_below(r, 8) == 0;
            node->protected_ = dr_rand_below(r, 8) == 0;
        }
    }
    for (uint64_t i = dr_rand_below(r, 30); i > 0 && w->snap.node_n > 0; i--) {
        struct dr_pod *pod = sw_pod(w, &w->nodes[dr_rand_below(r, w->snap.node_n)], dr_rand_between(r, 0, 8) * 100, 1);
        pod->critical = dr_rand_below(r, 20) == 0;
        pod->owner = dr_rand_below(r, 20) == 0 ? DR_OWNER_NONE : DR_OWNER_CONTROLLER;
    }
    w->cfg.min_workers = dr_rand_between(r, 0, 6);
}

TEST(victim, property_chosen_workers_keep_minimum_zones_and_pods_safe) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    size_t chosen = 0;
    for (int round = 0; round < 400; round++) {
        struct small_world *w = sw_new();
        random_fleet(w, &r);
        struct dr_victims victims;
        int64_t want = dr_rand_between(&r, 0, 4);
        dr_victims_choose(&w->arena, &w->cfg, &w->state, sw_build(w), want, dr_rand_below(&r, 2) == 0, &victims);
        CHECK((int64_t)victims.chosen.n <= want);
        int64_t live = w->fleet.live;
        for (size_t i = 0; i < victims.chosen.n; i++) {
            const struct dr_worker *worker = dr_fleet_find(&w->fleet, victims.chosen.v[i]);
            CHECK(!dr_strs_has((struct dr_strs){victims.chosen.v, i}, worker->id));
            CHECK(worker->node == NULL || (!worker->node->unschedulable && !worker->node->protected_ && worker->ready));
            for (size_t k = 0; k < worker->pod_n; k++) {
                CHECK(dr_pod_obstacle(&w->cfg, dr_fleet_pod(&w->fleet, worker, k)) == DR_POD_EVICT);
            }
            live -= worker->live;
            dr_fleet_zone(&w->fleet, worker->zone)->live -= worker->live;
            CHECK(!worker->live || live >= w->cfg.min_workers);
            bool rule = dr_config_zone_is_rule(&w->cfg, w->fleet.zone_n);
            CHECK(!worker->live || !rule || dr_fleet_zone(&w->fleet, worker->zone)->live >= 1);
        }
        chosen += victims.chosen.n;
        sw_free(w);
    }
    CHECK(chosen > 100);
}
