/* The simulator's scheduler against cases worked out by hand. */

#include "sim_help.h"

static struct dr_world_workload web(int64_t replicas, int64_t cpu_milli) {
    return dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", replicas, cpu_milli, 10 * SIM_MIB);
}

/* One worker with room for 1930 milli-cores and the pods that are not placed. */
static int64_t waiting(struct sim *s) {
    sim_pass(s, DR_MINUTE_MS);
    return dr_world_counts(s->w).waiting;
}

TEST(sim_sched, requests_fill_a_node_exactly_and_one_more_waits) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    int h = sim_deploy(&s, "web", 2, 965); /* 2 x 965 = 1930 */
    CHECK_EQ_INT(waiting(&s), 0);
    dr_world_set_replicas(s.w, h, 3);
    CHECK_EQ_INT(waiting(&s), 1);
    CHECK_EQ_INT(dr_world_counts(s.w).running, 2);
    sim_close(&s);
}

TEST(sim_sched, memory_counts_as_well_as_cpu) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", 2, 10, 1751 * SIM_MIB); /* 3502 of 3500 */
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 1);
    sim_close(&s);
}

TEST(sim_sched, pod_count_is_a_limit_of_its_own) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    struct dr_worker_type t = o.types[0];
    t.pod_limit = 3;
    o.types = &t;
    struct sim s = sim_open(&o);
    (void)sim_worker(&s, "a");
    (void)sim_deploy(&s, "web", 4, 1);
    CHECK_EQ_INT(waiting(&s), 1);
    sim_close(&s);
}

TEST(sim_sched, emptiest_node_is_chosen) {
    struct sim s = sim_plain();
    struct dr_str a = sim_worker(&s, "a");
    (void)sim_deploy(&s, "first", 1, 500);
    sim_pass(&s, DR_MINUTE_MS);
    struct dr_str b = sim_worker(&s, "b");
    (void)sim_deploy(&s, "second", 1, 500);
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(dr_str_eq(sim_pod(&s, "first")->node, sim_node(&s, a)->name));
    CHECK(dr_str_eq(sim_pod(&s, "second")->node, sim_node(&s, b)->name));
    sim_close(&s);
}

TEST(sim_sched, node_selector_needs_every_label) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_label zone_b = {DR_STR("topology.kubernetes.io/zone"), DR_STR("b")};
    struct dr_world_workload l = web(1, 100);
    l.spec.selector = (struct dr_labels){&zone_b, 1};
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 1);
    (void)sim_worker(&s, "b");
    CHECK_EQ_INT(waiting(&s), 0);
    sim_close(&s);
}

static int64_t waits_with(enum dr_match_op op, const char *key, struct dr_strs values) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_requirement r = {dr_str_of(key), op, values};
    struct dr_term term = {&r, 1};
    struct dr_world_workload l = web(1, 100);
    l.spec.affinity = &term;
    l.spec.term_n = 1;
    (void)sim_add(&s, &l);
    int64_t n = waiting(&s);
    sim_close(&s);
    return n;
}

TEST(sim_sched, affinity_operators_match_as_in_kubernetes) {
    const struct dr_str ab[] = {DR_STR("a"), DR_STR("z")};
    const struct dr_str z[] = {DR_STR("z")};
    const char *zone = "topology.kubernetes.io/zone";
    CHECK_EQ_INT(waits_with(DR_OP_IN, zone, (struct dr_strs){ab, 2}), 0);
    CHECK_EQ_INT(waits_with(DR_OP_IN, zone, (struct dr_strs){z, 1}), 1);
    CHECK_EQ_INT(waits_with(DR_OP_NOT_IN, zone, (struct dr_strs){ab, 2}), 1);
    CHECK_EQ_INT(waits_with(DR_OP_NOT_IN, "absent", (struct dr_strs){z, 1}), 0);
    CHECK_EQ_INT(waits_with(DR_OP_EXISTS, zone, (struct dr_strs){NULL, 0}), 0);
    CHECK_EQ_INT(waits_with(DR_OP_EXISTS, "absent", (struct dr_strs){NULL, 0}), 1);
    CHECK_EQ_INT(waits_with(DR_OP_NOT_EXISTS, zone, (struct dr_strs){NULL, 0}), 1);
    CHECK_EQ_INT(waits_with(DR_OP_GT, zone, (struct dr_strs){z, 1}), 1); /* no number */
}

TEST(sim_sched, numbers_in_labels_compare_as_numbers) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    struct dr_label cores = {DR_STR("cores"), DR_STR("10")};
    struct dr_worker_type t = o.types[0];
    t.labels = (struct dr_labels){&cores, 1};
    o.types = &t;
    struct sim s = sim_open(&o);
    (void)sim_worker(&s, "a");
    struct dr_str nine = DR_STR("9");
    struct dr_requirement r = {DR_STR("cores"), DR_OP_GT, {&nine, 1}};
    struct dr_term term = {&r, 1};
    struct dr_world_workload l = web(1, 100);
    l.spec.affinity = &term;
    l.spec.term_n = 1;
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 0); /* as text "10" < "9" */
    sim_close(&s);
}

TEST(sim_sched, term_without_requirements_matches_nothing) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_term none = {NULL, 0};
    struct dr_world_workload l = web(1, 100);
    l.spec.affinity = &none;
    l.spec.term_n = 1;
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 1);
    sim_close(&s);
}

TEST(sim_sched, taint_keeps_out_what_does_not_tolerate_it) {
    struct sim s = sim_plain();
    struct dr_str id = sim_worker(&s, "a");
    CHECK(dr_world_node_taint(s.w, id, &(struct dr_taint){DR_STR("gpu"), DR_STR("yes"), DR_TAINT_NO_SCHEDULE}));
    struct dr_world_workload l = web(1, 100);
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 1);
    struct dr_toleration wrong = {.key = DR_STR("gpu"), .value = DR_STR("no"), .effect = DR_TAINT_NO_SCHEDULE};
    struct dr_toleration right = {.key = DR_STR("gpu"), .value = DR_STR("yes"), .effect = DR_TAINT_NO_SCHEDULE};
    struct dr_toleration all = {.exists = true, .any_effect = true};
    l.name = DR_STR("wrong");
    l.spec.tolerations = &wrong;
    l.spec.toleration_n = 1;
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 2);
    l.name = DR_STR("right");
    l.spec.tolerations = &right;
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 2);
    l.name = DR_STR("all");
    l.spec.tolerations = &all;
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 2);
    sim_close(&s);
}

TEST(sim_sched, preference_taint_keeps_nobody_out) {
    struct sim s = sim_plain();
    struct dr_str id = sim_worker(&s, "a");
    CHECK(dr_world_node_taint(s.w, id, &(struct dr_taint){DR_STR("old"), DR_STR(""), DR_TAINT_PREFER_NO_SCHEDULE}));
    (void)sim_deploy(&s, "web", 1, 100);
    CHECK_EQ_INT(waiting(&s), 0);
    sim_close(&s);
}

TEST(sim_sched, host_port_is_taken_once_per_node_and_protocol) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_host_port tcp = {8080, 'T'}, udp = {8080, 'U'};
    struct dr_world_workload l = web(2, 100);
    l.spec.host_ports = &tcp;
    l.spec.host_port_n = 1;
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 1);
    l.name = DR_STR("other");
    l.replicas = 1;
    l.spec.host_ports = &udp;
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 1);
    sim_close(&s);
}

TEST(sim_sched, volume_ties_a_pod_to_its_zone) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_str b = DR_STR("b");
    struct dr_world_workload l = web(1, 100);
    l.spec.volume_zones = (struct dr_strs){&b, 1};
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 1);
    (void)sim_worker(&s, "b");
    CHECK_EQ_INT(waiting(&s), 0);
    sim_close(&s);
}

TEST(sim_sched, unbound_volume_waits_until_it_is_bound) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    struct dr_world_workload l = web(1, 100);
    l.spec.volume_unbound = true;
    int h = sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 1);
    dr_world_set_volume(s.w, h, false);
    CHECK_EQ_INT(waiting(&s), 0);
    sim_close(&s);
}

TEST(sim_sched, cordoned_and_silent_nodes_get_nothing_new) {
    struct sim s = sim_plain();
    struct dr_str id = sim_worker(&s, "a");
    CHECK(dr_world_node_cordon(s.w, id, true));
    (void)sim_deploy(&s, "web", 1, 100);
    CHECK_EQ_INT(waiting(&s), 1);
    CHECK(dr_world_kubelet(s.w, id, false));
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(dr_world_node_cordon(s.w, id, false));
    CHECK_EQ_INT(waiting(&s), 1);
    CHECK(dr_world_kubelet(s.w, id, true));
    CHECK_EQ_INT(waiting(&s), 0);
    sim_close(&s);
}

TEST(sim_sched, higher_priority_goes_first_where_there_is_room_for_one) {
    struct sim s = sim_plain();
    (void)sim_deploy(&s, "low", 1, 1500);
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "high", 1, 1500, SIM_MIB);
    l.priority = 10;
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 2);
    (void)sim_worker(&s, "a");
    CHECK_EQ_INT(waiting(&s), 1);
    CHECK(sim_pod(&s, "high")->node.n > 0);
    CHECK(sim_pod(&s, "low")->unschedulable);
    sim_close(&s);
}

TEST(sim_sched, daemonset_lands_on_every_node_even_a_cordoned_one) {
    struct sim s = sim_plain();
    struct dr_str id = sim_worker(&s, "a");
    CHECK(dr_world_node_cordon(s.w, id, true));
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DAEMONSET, "exporter", 0, 50, SIM_MIB);
    (void)sim_add(&s, &l);
    CHECK_EQ_INT(waiting(&s), 0);
    CHECK_EQ_INT(dr_world_counts(s.w).running, 1);
    (void)sim_worker(&s, "b");
    sim_pass(&s, DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(s.w).running, 2); /* not on the tainted server */
    sim_close(&s);
}

TEST(sim_sched, waiting_time_of_pods_is_summed) {
    struct sim s = sim_plain();
    int h = sim_deploy(&s, "web", 3, 100);
    sim_pass(&s, 10 * DR_SECOND_MS);
    CHECK_EQ_INT(dr_world_stats(s.w).pending_pod_ms, 30 * DR_SECOND_MS);
    dr_world_set_replicas(s.w, h, 1);
    sim_pass(&s, 10 * DR_SECOND_MS);
    CHECK_EQ_INT(dr_world_stats(s.w).pending_pod_ms, 40 * DR_SECOND_MS);
    sim_close(&s);
}
