/* Pods, evictions and budgets of the simulated cluster. */

#include "sim_help.h"

static void add_budget(struct sim *s, const char *app, bool min_available, bool percent, int64_t value) {
    struct dr_str name = dr_str_of(app);
    struct dr_requirement r = {DR_STR("app"), DR_OP_IN, {&name, 1}};
    struct dr_budget b = {.name = name, .selector = {&r, 1}, .has_min_available = min_available, .percent = percent, .value = value};
    struct dr_err err;
    CHECK_OK(dr_world_add_budget(s->w, &b, &err), err);
}

static int64_t allowed(struct sim *s) { return sim_peek(s).budgets[0].disruptions_allowed; }

/* A world with `n` running pods of "web" on two nodes and one budget. */
static struct sim with_budget(int64_t n, bool min_available, bool percent, int64_t value) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    (void)sim_worker(&s, "b");
    (void)sim_deploy(&s, "web", n, 100);
    add_budget(&s, "web", min_available, percent, value);
    sim_pass(&s, DR_MINUTE_MS);
    return s;
}

TEST(sim_pods, eviction_makes_a_successor_with_another_uid) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    (void)sim_deploy(&s, "web", 1, 100);
    sim_pass(&s, DR_MINUTE_MS);
    struct dr_pod old = *sim_pod(&s, "web");
    CHECK(old.phase == DR_PHASE_RUNNING && old.ready);
    CHECK_EQ_INT(sim_evict(&s, &old), DR_EVICT_ACCEPTED);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 2); /* the old one terminates, the new one starts */
    sim_pass(&s, DR_MINUTE_MS);
    struct dr_pod now = *sim_pod(&s, "web");
    CHECK(!dr_str_eq(old.uid, now.uid) && dr_str_eq(old.owner_uid, now.owner_uid));
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 1);
    CHECK_EQ_INT(sim_evict(&s, &old), DR_EVICT_GONE);
    CHECK_EQ_INT(dr_world_stats(s.w).evictions, 1);
    sim_close(&s);
}

TEST(sim_pods, uid_precondition_protects_a_pod_of_the_same_name) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    (void)sim_deploy(&s, "web", 1, 100);
    sim_pass(&s, DR_MINUTE_MS);
    struct dr_pod pod = *sim_pod(&s, "web");
    pod.uid = DR_STR("another");
    CHECK_EQ_INT(sim_evict(&s, &pod), DR_EVICT_GONE);
    CHECK_EQ_INT(dr_world_stats(s.w).evictions, 0);
    sim_close(&s);
}

TEST(sim_pods, budget_lets_one_go_and_the_next_when_its_successor_is_ready) {
    struct sim s = with_budget(3, true, false, 2);
    CHECK_EQ_INT(allowed(&s), 1);
    struct dr_snapshot snap = sim_observe(&s);
    CHECK_EQ_INT(sim_evict(&s, &snap.pods[0]), DR_EVICT_ACCEPTED);
    CHECK_EQ_INT(sim_evict(&s, &snap.pods[1]), DR_EVICT_BLOCKED);
    CHECK_EQ_INT(dr_world_stats(s.w).evictions_blocked, 1);
    sim_pass(&s, 10 * DR_SECOND_MS);
    CHECK_EQ_INT(sim_evict(&s, &snap.pods[1]), DR_EVICT_ACCEPTED);
    sim_close(&s);
}

TEST(sim_pods, percent_rounds_up_in_both_forms) {
    struct sim s = with_budget(7, true, true, 50); /* ceil(3.5) = 4 must stay */
    CHECK_EQ_INT(allowed(&s), 3);
    sim_close(&s);
    s = with_budget(7, false, true, 50); /* ceil(3.5) = 4 may go */
    CHECK_EQ_INT(allowed(&s), 4);
    sim_close(&s);
    s = with_budget(3, true, true, 100);
    CHECK_EQ_INT(allowed(&s), 0);
    sim_close(&s);
    s = with_budget(3, false, false, 1);
    CHECK_EQ_INT(allowed(&s), 1);
    sim_close(&s);
}

TEST(sim_pods, pods_that_wait_count_against_max_unavailable) {
    struct sim s = with_budget(3, false, false, 1);
    dr_world_set_replicas(s.w, dr_world_find_workload(s.w, DR_STR("web")), 60); /* more than fit */
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(dr_world_counts(s.w).waiting > 0);
    CHECK_EQ_INT(allowed(&s), 0);
    sim_close(&s);
}

TEST(sim_pods, two_budgets_for_one_pod_are_an_error) {
    struct sim s = with_budget(3, false, false, 1);
    add_budget(&s, "web", true, false, 1);
    CHECK_EQ_INT(sim_evict(&s, sim_pod(&s, "web")), DR_EVICT_ERROR);
    CHECK(dr_world_remove_budget(s.w, DR_STR("web")));
    CHECK_EQ_INT(sim_evict(&s, sim_pod(&s, "web")), DR_EVICT_ACCEPTED);
    sim_close(&s);
}

TEST(sim_pods, pod_that_does_not_run_needs_no_budget) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", 1, 100, SIM_MIB);
    l.image_broken = true;
    int h = sim_add(&s, &l);
    add_budget(&s, "web", true, false, 1);
    sim_pass(&s, DR_MINUTE_MS);
    const struct dr_pod *pod = sim_pod(&s, "web");
    CHECK(pod->phase == DR_PHASE_PENDING && pod->node.n > 0 && !pod->unschedulable);
    CHECK_EQ_INT(sim_evict(&s, pod), DR_EVICT_ACCEPTED);
    dr_world_fix(s.w, h);
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(sim_pod(&s, "web")->ready);
    sim_close(&s);
}

TEST(sim_pods, bare_pod_does_not_come_back) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_BARE, "job", 1, 100, SIM_MIB);
    (void)sim_add(&s, &l);
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(sim_pod(&s, "job")->owner == DR_OWNER_NONE && sim_pod(&s, "job")->owner_uid.n == 0);
    CHECK_EQ_INT(sim_evict(&s, sim_pod(&s, "job")), DR_EVICT_ACCEPTED);
    sim_pass(&s, DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 0);
    sim_close(&s);
}

TEST(sim_pods, evicted_daemonset_pod_comes_back_to_its_node) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DAEMONSET, "logs", 0, 10, SIM_MIB);
    (void)sim_add(&s, &l);
    sim_pass(&s, DR_MINUTE_MS);
    struct dr_pod pod = *sim_pod(&s, "logs");
    CHECK_EQ_INT(sim_evict(&s, &pod), DR_EVICT_ACCEPTED);
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(dr_str_eq(sim_pod(&s, "logs")->node, pod.node) && !dr_str_eq(sim_pod(&s, "logs")->uid, pod.uid));
    sim_close(&s);
}

TEST(sim_pods, stuck_termination_lasts_until_it_is_fixed) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", 1, 100, SIM_MIB);
    l.stuck_stop = true;
    int h = sim_add(&s, &l);
    sim_pass(&s, DR_MINUTE_MS);
    CHECK_EQ_INT(sim_evict(&s, sim_pod(&s, "web")), DR_EVICT_ACCEPTED);
    sim_pass(&s, DR_HOUR_MS);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 2);
    dr_world_fix(s.w, h);
    sim_pass(&s, DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 1);
    sim_close(&s);
}

TEST(sim_pods, grace_given_with_the_eviction_shortens_the_end) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", 1, 100, SIM_MIB);
    l.stop_ms = 25 * DR_SECOND_MS;
    (void)sim_add(&s, &l);
    sim_pass(&s, DR_MINUTE_MS);
    const struct dr_pod *pod = sim_pod(&s, "web");
    struct dr_eviction e = {.ns = pod->ns, .name = pod->name, .uid = pod->uid, .grace_ms = 2000};
    s.p.cluster.ops->evict(s.p.cluster.self, &e, 1, 0);
    struct dr_snapshot snap = sim_peek(&s);
    CHECK(snap.pods[0].deleting);
    CHECK_EQ_INT(snap.pods[0].delete_by_ms, dr_world_now(s.w) + 2000);
    sim_pass(&s, 1999);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 2);
    sim_pass(&s, 1);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 1);
    sim_close(&s);
}

TEST(sim_pods, silent_node_is_noticed_after_40_s_and_emptied_after_5_min) {
    struct sim s = sim_plain();
    struct dr_str id = sim_worker(&s, "a");
    (void)sim_deploy(&s, "web", 1, 100);
    sim_pass(&s, DR_MINUTE_MS);
    (void)sim_worker(&s, "b");
    CHECK(dr_world_kubelet(s.w, id, false));
    sim_pass(&s, 39 * DR_SECOND_MS);
    CHECK(sim_node(&s, id)->ready == DR_READY_TRUE);
    sim_pass(&s, DR_SECOND_MS);
    CHECK(sim_node(&s, id)->ready == DR_READY_UNKNOWN && !sim_pod(&s, "web")->ready);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 1);
    sim_pass(&s, 5 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 2); /* the old one terminates for ever, the new one is elsewhere */
    CHECK(!dr_str_eq(sim_pod(&s, "web")->node, sim_node(&s, id)->name));
    CHECK(dr_world_kubelet(s.w, id, true));
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(sim_node(&s, id)->ready == DR_READY_TRUE);
    CHECK_EQ_INT(dr_world_counts(s.w).pods, 1);
    sim_close(&s);
}

TEST(sim_pods, short_silence_changes_nothing) {
    struct sim s = sim_plain();
    struct dr_str id = sim_worker(&s, "a");
    CHECK(dr_world_kubelet(s.w, id, false));
    sim_pass(&s, 30 * DR_SECOND_MS);
    CHECK(dr_world_kubelet(s.w, id, true));
    sim_pass(&s, 30 * DR_SECOND_MS);
    CHECK(dr_world_kubelet(s.w, id, false)); /* the first silence's alarm must not strike the second */
    sim_pass(&s, 39 * DR_SECOND_MS);
    CHECK(sim_node(&s, id)->ready == DR_READY_TRUE);
    sim_close(&s);
}

TEST(sim_pods, machine_that_dies_loses_its_pods_and_leaves_a_ghost) {
    struct sim s = sim_plain();
    struct dr_str id = sim_worker(&s, "a");
    (void)sim_deploy(&s, "web", 2, 100);
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(dr_world_kill(s.w, id));
    CHECK_EQ_INT(dr_world_stats(s.w).lost_pods, 2);
    sim_pass(&s, 2 * DR_HOUR_MS);
    CHECK_EQ_INT(dr_world_counts(s.w).ghosts, 1); /* as with K3s */
    CHECK(sim_instance(&s, id) == NULL);
    const struct dr_node *node = sim_node(&s, id);
    struct dr_err err;
    CHECK_FAILS(s.p.cluster.ops->delete_node(s.p.cluster.self, node->name, DR_STR("other"), 0, &err), err, DR_E_CONFLICT);
    CHECK_OK(s.p.cluster.ops->delete_node(s.p.cluster.self, node->name, node->uid, 0, &err), err);
    CHECK_FAILS(s.p.cluster.ops->delete_node(s.p.cluster.self, node->name, node->uid, 0, &err), err, DR_E_NOT_FOUND);
    struct dr_world_counts c = dr_world_counts(s.w);
    CHECK_EQ_INT(c.ghosts, 0);
    CHECK_EQ_INT(c.pods, 2);
    CHECK_EQ_INT(c.waiting, 2);
    sim_close(&s);
}

TEST(sim_pods, scaling_down_a_workload_takes_waiting_pods_first) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    int h = sim_deploy(&s, "web", 2, 1000); /* one fits */
    sim_pass(&s, DR_MINUTE_MS);
    dr_world_set_replicas(s.w, h, 1);
    sim_pass(&s, DR_MINUTE_MS);
    struct dr_world_counts c = dr_world_counts(s.w);
    CHECK_EQ_INT(c.running, 1);
    CHECK_EQ_INT(c.waiting, 0);
    sim_close(&s);
}

TEST(sim_pods, cordon_is_conditional_on_what_was_read) {
    struct sim s = sim_plain();
    struct dr_str id = sim_worker(&s, "a");
    struct dr_node read = *sim_node(&s, id);
    struct dr_err err;
    CHECK_OK(s.p.cluster.ops->cordon(s.p.cluster.self, &read, DR_STR("act-1"), true, 0, &err), err);
    CHECK_OK(s.p.cluster.ops->cordon(s.p.cluster.self, &read, DR_STR("act-1"), true, 0, &err), err); /* our reply was lost */
    CHECK_FAILS(s.p.cluster.ops->cordon(s.p.cluster.self, &read, DR_STR("act-2"), true, 0, &err), err, DR_E_CONFLICT);
    CHECK_EQ_STR(sim_node(&s, id)->cordon_owner, "act-1");
    CHECK_FAILS(s.p.cluster.ops->cordon(s.p.cluster.self, &read, DR_STR("act-1"), false, 0, &err), err, DR_E_CONFLICT);
    read = *sim_node(&s, id);
    CHECK_OK(s.p.cluster.ops->cordon(s.p.cluster.self, &read, DR_STR("act-1"), false, 0, &err), err);
    CHECK(!sim_node(&s, id)->unschedulable && sim_node(&s, id)->cordon_owner.n == 0);
    read.name = DR_STR("nobody");
    CHECK_FAILS(s.p.cluster.ops->cordon(s.p.cluster.self, &read, DR_STR("act-1"), true, 0, &err), err, DR_E_NOT_FOUND);
    sim_close(&s);
}
