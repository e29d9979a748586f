#include "core/drain.h"
#include "unit/small_world.h"

TEST(hazard_29, daemonset_pods_stay_even_if_critical_or_in_kube_system) {
    struct dr_pod pod = {.owner = DR_OWNER_DAEMONSET, .ns = DR_STR("kube-system"), .critical = true, .phase = DR_PHASE_RUNNING};
    CHECK_EQ_INT(dr_pod_classify(&pod), DR_POD_STAYS);
    pod.owner = DR_OWNER_MIRROR;
    CHECK_EQ_INT(dr_pod_classify(&pod), DR_POD_STAYS);
    pod.owner = DR_OWNER_CONTROLLER;
    CHECK_EQ_INT(dr_pod_classify(&pod), DR_POD_CRITICAL);
    pod.critical = false;
    CHECK_EQ_INT(dr_pod_classify(&pod), DR_POD_CRITICAL);
    pod.ns = DR_STR("shop");
    CHECK_EQ_INT(dr_pod_classify(&pod), DR_POD_EVICT);
    pod.critical = true;
    CHECK_EQ_INT(dr_pod_classify(&pod), DR_POD_CRITICAL);
}

TEST(drain, finished_and_deleted_pods_come_before_what_they_are) {
    struct dr_pod pod = {.owner = DR_OWNER_NONE, .phase = DR_PHASE_SUCCEEDED, .critical = true};
    CHECK_EQ_INT(dr_pod_classify(&pod), DR_POD_FINISHED);
    pod.phase = DR_PHASE_FAILED;
    CHECK_EQ_INT(dr_pod_classify(&pod), DR_POD_FINISHED);
    pod.phase = DR_PHASE_RUNNING;
    pod.deleting = true;
    CHECK_EQ_INT(dr_pod_classify(&pod), DR_POD_LEAVING);
}

TEST(hazard_30, bare_pods_and_local_data_forbid_eviction_unless_both_are_allowed) {
    struct dr_config cfg = {0};
    struct dr_pod pod = {.owner = DR_OWNER_NONE, .phase = DR_PHASE_RUNNING, .local_data = true};
    CHECK_EQ_INT(dr_pod_obstacle(&cfg, &pod), DR_POD_BARE);
    cfg.allow_bare_pods = true;
    CHECK_EQ_INT(dr_pod_obstacle(&cfg, &pod), DR_POD_LOCAL);
    cfg.allow_local_data = true;
    CHECK_EQ_INT(dr_pod_obstacle(&cfg, &pod), DR_POD_EVICT);
    cfg.allow_bare_pods = false;
    CHECK_EQ_INT(dr_pod_obstacle(&cfg, &pod), DR_POD_BARE);
    pod.owner = DR_OWNER_CONTROLLER;
    CHECK_EQ_INT(dr_pod_obstacle(&cfg, &pod), DR_POD_EVICT);
    pod.critical = true; /* never allowed by configuration */
    CHECK_EQ_INT(dr_pod_obstacle(&cfg, &pod), DR_POD_CRITICAL);
}

/* One pod of every class on one worker. */
static struct small_world *mixed_world(void) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    sw_pod(w, node, 1, 1)->owner = DR_OWNER_DAEMONSET;
    sw_pod(w, node, 1, 1)->phase = DR_PHASE_SUCCEEDED;
    sw_pod(w, node, 1, 1)->deleting = true;
    sw_pod(w, node, 1, 1)->critical = true;
    sw_pod(w, node, 1, 1)->owner = DR_OWNER_NONE;
    w->pods[4].owner_uid = DR_STR_NONE;
    sw_pod(w, node, 1, 1)->local_data = true;
    sw_pod(w, node, 1, 1)->owner_uid = DR_STR("rs");
    sw_pod(w, node, 1, 1)->owner_uid = DR_STR("rs");
    return w;
}

TEST(drain, voluntary_plan_evicts_ordinary_pods_and_names_the_first_blocker) {
    struct small_world *w = mixed_world();
    struct dr_drain_plan plan;
    const struct dr_worker *worker = sw_find(w, "i-1");
    dr_drain_work_out(&w->arena, &w->cfg, &w->fleet, worker, false, &plan);
    CHECK_EQ_INT(plan.evict_n, 2);
    CHECK(plan.evict[0] == &w->pods[6] && plan.evict[1] == &w->pods[7]);
    CHECK(plan.blocker == &w->pods[3]);
    CHECK_EQ_INT(plan.remaining, 6); /* evictable, being deleted, blocking: the machine may not go while any is there */
    CHECK_EQ_INT(plan.owner_uids.n, 1);
    CHECK_EQ_STR(plan.owner_uids.v[0], "rs");
}

TEST(hazard_34, interruption_evicts_critical_bare_and_local_pods_too) {
    struct small_world *w = mixed_world();
    struct dr_drain_plan plan;
    const struct dr_worker *worker = sw_find(w, "i-1");
    dr_drain_work_out(&w->arena, &w->cfg, &w->fleet, worker, true, &plan);
    CHECK_EQ_INT(plan.evict_n, 5);
    CHECK(plan.blocker == NULL);
    CHECK_EQ_INT(plan.remaining, 6);
    CHECK_EQ_INT(plan.owner_uids.n, 3);
}

TEST(drain, worker_without_node_has_nothing_to_evict) {
    struct small_world *w = sw_new();
    sw_instance(w, "i-1", "za");
    struct dr_drain_plan plan;
    const struct dr_worker *worker = sw_find(w, "i-1");
    dr_drain_work_out(&w->arena, &w->cfg, &w->fleet, worker, false, &plan);
    CHECK_EQ_INT(plan.evict_n, 0);
    CHECK_EQ_INT(plan.remaining, 0);
}

/* `n` pods of an application under one budget, on one worker. */
static struct small_world *budget_world(size_t n) {
    static const struct dr_label app = {{"app", 3}, {"web", 3}};
    static const struct dr_str web = {"web", 3};
    static const struct dr_requirement is_web = {{"app", 3}, DR_OP_IN, {&web, 1}};
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    for (size_t i = 0; i < n; i++) {
        sw_pod(w, node, 1, 1)->labels = (struct dr_labels){&app, 1};
    }
    w->budgets[0] = (struct dr_budget){.ns = DR_STR("shop"), .selector = {&is_web, 1}};
    w->snap.budget_n = 1;
    return w;
}

static int64_t allowed(struct small_world *w, bool min_available, bool percent, int64_t value) {
    w->budgets[0].has_min_available = min_available;
    w->budgets[0].percent = percent;
    w->budgets[0].value = value;
    return dr_budget_allows(&w->budgets[0], &w->snap);
}

TEST(hazard_29, budgets_in_percent_round_up_both_ways) {
    struct small_world *w = budget_world(3);
    CHECK_EQ_INT(allowed(w, true, true, 50), 1); /* ceil(1.5) = 2 must stay */
    CHECK_EQ_INT(allowed(w, true, true, 67), 0); /* ceil(2.01) = 3 must stay */
    CHECK_EQ_INT(allowed(w, true, true, 66), 1); /* ceil(1.98) = 2 must stay */
    CHECK_EQ_INT(allowed(w, true, true, 100), 0);
    CHECK_EQ_INT(allowed(w, false, true, 1), 1);  /* ceil(0.03) = 1 may go */
    CHECK_EQ_INT(allowed(w, false, true, 34), 2); /* ceil(1.02) = 2 may go */
    CHECK_EQ_INT(allowed(w, false, true, 0), 0);
    CHECK_EQ_INT(allowed(w, false, true, 200), 3);
}

TEST(hazard_29, budgets_in_numbers_count_healthy_pods) {
    struct small_world *w = budget_world(3);
    CHECK_EQ_INT(allowed(w, true, false, 2), 1);
    CHECK_EQ_INT(allowed(w, true, false, 3), 0);
    CHECK_EQ_INT(allowed(w, true, false, 5), 0);
    CHECK_EQ_INT(allowed(w, false, false, 1), 1);
    CHECK_EQ_INT(allowed(w, false, false, 0), 0);
    w->pods[0].ready = false;
    CHECK_EQ_INT(allowed(w, true, false, 2), 0);
    CHECK_EQ_INT(allowed(w, false, false, 1), 0);
    CHECK_EQ_INT(allowed(w, false, false, 2), 1);
    w->pods[0].ready = true;
    w->pods[0].deleting = true;
    CHECK_EQ_INT(allowed(w, false, false, 1), 0);
    w->pods[0].deleting = false;
    w->pods[0].phase = DR_PHASE_SUCCEEDED; /* not expected any more */
    CHECK_EQ_INT(allowed(w, false, false, 1), 1);
}

TEST(drain, budget_without_pods_allows_none) {
    struct small_world *w = budget_world(0);
    CHECK_EQ_INT(allowed(w, false, false, 1), 0);
    CHECK_EQ_INT(allowed(w, true, false, 0), 0);
}

TEST(drain, number_of_the_api_server_wins_over_our_own) {
    struct small_world *w = budget_world(3);
    w->budgets[0].has_status = true;
    w->budgets[0].disruptions_allowed = 0;
    CHECK_EQ_INT(allowed(w, false, false, 3), 0);
    w->budgets[0].disruptions_allowed = 2;
    CHECK_EQ_INT(allowed(w, true, false, 3), 2);
    w->budgets[0].disruptions_allowed = -1;
    CHECK_EQ_INT(allowed(w, true, false, 3), 0);
    w->budgets[0].has_status = false;
    w->budgets[0].expected_pods = 5; /* two have not come up yet */
    CHECK_EQ_INT(allowed(w, false, false, 2), 0);
    CHECK_EQ_INT(allowed(w, false, false, 3), 1);
}

TEST(drain, budget_selects_in_its_namespace_only_and_an_empty_selector_selects_all_there) {
    struct small_world *w = budget_world(1);
    CHECK(dr_budget_selects(&w->budgets[0], &w->pods[0]));
    w->pods[0].ns = DR_STR("other");
    CHECK(!dr_budget_selects(&w->budgets[0], &w->pods[0]));
    w->pods[0].ns = DR_STR("shop");
    w->pods[0].labels.n = 0;
    CHECK(!dr_budget_selects(&w->budgets[0], &w->pods[0]));
    w->budgets[0].selector.requirement_n = 0;
    CHECK(dr_budget_selects(&w->budgets[0], &w->pods[0]));
}

static const struct dr_pod *blocked(struct small_world *w) {
    const struct dr_worker *worker = sw_find(w, "i-1");
    dr_fleet_index_pods(&w->arena, &w->fleet);
    return dr_budget_blocks(&w->snap, &w->fleet, worker);
}

TEST(drain, budget_that_allows_none_blocks_and_one_that_allows_one_does_not) {
    struct small_world *w = budget_world(2);
    allowed(w, false, false, 1);
    CHECK(blocked(w) == NULL);
    allowed(w, true, true, 100);
    CHECK(blocked(w) == &w->pods[0]);
    w->pods[0].owner = DR_OWNER_DAEMONSET; /* stays, so nobody asks the budget about it */
    CHECK(blocked(w) == &w->pods[1]);
}

TEST(drain, pod_under_two_budgets_can_never_be_evicted) {
    struct small_world *w = budget_world(2);
    allowed(w, false, false, 2);
    w->budgets[1] = w->budgets[0];
    w->snap.budget_n = 2;
    CHECK(blocked(w) == &w->pods[0]);
}

static void ask_without_index(void *arg) {
    struct small_world *w = arg;
    const struct dr_worker *worker = sw_find(w, "i-1");
    dr_budget_blocks(&w->snap, &w->fleet, worker);
}

TEST(drain, asking_budgets_before_the_pods_are_indexed_is_our_own_mistake) { CHECK(dr_test_dies(ask_without_index, budget_world(1))); }
