#include "base/rand.h"
#include "base/time.h"
#include "unit/small_world.h"

static void check_counts(const struct dr_fleet *fleet, int64_t worker_count, int64_t live, int64_t planned, int64_t held) {
    CHECK_EQ_INT(fleet->worker_count, worker_count);
    CHECK_EQ_INT(fleet->live, live);
    CHECK_EQ_INT(fleet->planned, planned);
    CHECK_EQ_INT(fleet->held, held);
}

TEST(fleet, empty_world_has_no_workers) {
    struct small_world *w = sw_new();
    check_counts(sw_build(w), 0, 0, 0, 0);
    CHECK(w->fleet.workers_known && w->fleet.nodes_known && w->fleet.all_mapped);
    CHECK_EQ_INT(w->fleet.zone_n, 3);
}

TEST(fleet, pending_and_running_instances_are_workers_others_are_not) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_instance(w, "i-2", "za")->state = DR_INSTANCE_PENDING;
    w->instances[1].launched_ms = SW_NOW_MS - 1000;
    sw_instance(w, "i-3", "za")->state = DR_INSTANCE_STOPPING;
    sw_instance(w, "i-4", "za")->state = DR_INSTANCE_STOPPED;
    sw_instance(w, "i-5", "za")->state = DR_INSTANCE_SHUTTING_DOWN;
    sw_instance(w, "i-6", "za")->state = DR_INSTANCE_TERMINATED;
    check_counts(sw_build(w), 2, 2, 2, 2);
    CHECK(dr_fleet_instance(&w->fleet, DR_STR("i-6")) == &w->instances[5]);
    CHECK(dr_fleet_find(&w->fleet, DR_STR("i-6")) == NULL);
    CHECK(dr_fleet_instance(&w->fleet, DR_STR("i-7")) == NULL);
}

TEST(fleet, unsorted_instances_are_sorted_by_id_and_found) {
    struct small_world *w = sw_new();
    const char *ids[] = {"i-5", "i-1", "i-4", "i-2", "i-3", "i-1"};
    for (size_t i = 0; i < 6; i++) {
        sw_instance(w, ids[i], "za");
    }
    sw_node(w, &w->instances[0]);
    sw_build(w);
    CHECK_EQ_INT(w->fleet.worker_n, 5);
    for (size_t i = 1; i < w->fleet.worker_n; i++) {
        CHECK(dr_str_cmp(w->fleet.workers[i - 1].id, w->fleet.workers[i].id) < 0);
    }
    CHECK(sw_find(w, "i-5")->node == &w->nodes[0]);
    CHECK(dr_fleet_instance(&w->fleet, DR_STR("i-4")) == &w->instances[2]);
}

TEST(fleet, label_alone_identifies_where_k3s_overwrote_the_provider_id) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    node->provider_id = DR_STR("k3s://node-1");
    node->instance_label = DR_STR("i-1");
    CHECK(sw_find(w, "i-1")->node == node);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_WORKER);
}

TEST(fleet, address_alone_identifies_a_node_without_other_identity) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    node->provider_id = DR_STR_NONE;
    CHECK(sw_find(w, "i-1")->node == node);
}

TEST(fleet, name_never_identifies) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    node->name = DR_STR("i-1");
    node->provider_id = DR_STR("k3s://i-1");
    node->internal_ip = DR_STR_NONE;
    CHECK(sw_find(w, "i-1")->node == NULL);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
}

TEST(fleet, provider_id_that_contradicts_the_label_is_unknown) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za")->instance_label = DR_STR("i-2");
    CHECK(sw_find(w, "i-1")->node == NULL);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
    CHECK(!w->fleet.all_mapped);
}

TEST(fleet, address_that_contradicts_ec2_is_unknown) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za")->internal_ip = DR_STR("10.9.9.9");
    CHECK(sw_find(w, "i-1")->node == NULL);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
}

TEST(fleet, unknown_provider_format_falls_back_to_the_address) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    node->provider_id = DR_STR("aws:///za/other");
    CHECK(sw_find(w, "i-1")->node == node);
    node->provider_id = DR_STR("aws://");
    CHECK(sw_find(w, "i-1")->node == node);
}

TEST(fleet, two_nodes_that_claim_one_instance_are_both_unknown) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_node(w, &w->instances[0])->name = DR_STR("other");
    const struct dr_worker *worker = sw_find(w, "i-1");
    CHECK(worker->node == NULL && worker->contested && !worker->unjoined && !worker->join_expired && worker->live);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
    CHECK_EQ_INT(w->fleet.node_kind[1], DR_NODE_UNKNOWN);
}

TEST(fleet, address_of_two_instances_identifies_none) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za")->provider_id = DR_STR_NONE;
    sw_instance(w, "i-2", "za")->private_ip = w->instances[0].private_ip;
    sw_build(w);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
}

TEST(hazard_22, address_reused_by_a_new_instance_is_not_joined) {
    struct small_world *w = sw_new();
    struct dr_instance *instance = sw_instance(w, "i-new", "za");
    struct dr_node *stale = sw_node(w, instance);
    stale->provider_id = DR_STR_NONE;
    stale->created_ms = instance->launched_ms - DR_LAUNCH_SKEW_MS - 1;
    const struct dr_worker *worker = sw_find(w, "i-new");
    CHECK(worker->node == NULL && !worker->joined && !worker->unjoined);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
    stale->created_ms = instance->launched_ms - DR_LAUNCH_SKEW_MS;
    CHECK(sw_find(w, "i-new")->joined);
}

TEST(hazard_22, node_of_an_earlier_machine_with_the_same_identity_is_not_joined) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    node->created_ms = w->instances[0].launched_ms - DR_MINUTE_MS;
    CHECK(!sw_find(w, "i-1")->joined);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
}

TEST(hazard_10, server_is_never_a_worker_even_with_the_tags_of_the_pool) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_worker(w, "i-2", "za")->server = true;
    sw_worker(w, "i-3", "za");
    check_counts(sw_build(w), 2, 2, 2, 2);
    CHECK_EQ_INT(w->fleet.node_kind[1], DR_NODE_SERVER);
    CHECK(w->fleet.all_mapped && dr_fleet_find(&w->fleet, DR_STR("i-2")) == NULL);
    CHECK(sw_find(w, "i-3")->node == &w->nodes[2]);
}

TEST(fleet, new_node_that_is_not_ready_yet_is_mapped_but_not_joined) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    node->ready = DR_READY_FALSE;
    node->created_ms = node->ready_changed_ms = SW_NOW_MS - DR_MINUTE_MS;
    const struct dr_worker *worker = sw_find(w, "i-1");
    CHECK(worker->node == node && !worker->joined && !worker->ready && !worker->unjoined && worker->live);
    CHECK_EQ_INT(worker->not_ready_ms, DR_MINUTE_MS);
    node->ready = DR_READY_UNKNOWN; /* its kubelet fell silent before it was ever Ready */
    node->ready_changed_ms = node->created_ms + 50 * DR_SECOND_MS;
    CHECK(!sw_find(w, "i-1")->joined);
    node->ready_changed_ms = node->created_ms + DR_NEVER_READY_MS + 1;
    CHECK(sw_find(w, "i-1")->joined);
}

TEST(fleet, not_ready_for_more_than_five_minutes_is_not_live_but_held) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    node->ready = DR_READY_UNKNOWN;
    node->ready_changed_ms = SW_NOW_MS - 5 * DR_MINUTE_MS;
    check_counts(sw_build(w), 1, 1, 1, 1);
    node->ready_changed_ms--;
    check_counts(sw_build(w), 1, 0, 0, 1);
    CHECK(w->fleet.workers[0].joined);
    CHECK_EQ_INT(w->fleet.zones[0].live, 0);
}

TEST(fleet, without_node_past_join_timeout_is_unjoined_expired_and_not_live) {
    struct small_world *w = sw_new();
    struct dr_instance *instance = sw_instance(w, "i-1", "za");
    instance->launched_ms = SW_NOW_MS - w->cfg.join_timeout_ms + 1;
    const struct dr_worker *worker = sw_find(w, "i-1");
    CHECK(worker->unjoined && !worker->join_expired && worker->live);
    instance->launched_ms--;
    worker = sw_find(w, "i-1");
    CHECK(worker->unjoined && worker->join_expired && !worker->live);
    check_counts(&w->fleet, 1, 0, 0, 1);
}

TEST(fleet, nothing_is_unjoined_while_a_node_is_not_mapped) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_instance(w, "i-2", "za");
    CHECK(sw_find(w, "i-2")->unjoined);
    struct dr_node *foreign = sw_node(w, &w->instances[0]);
    foreign->name = DR_STR("foreign");
    foreign->provider_id = DR_STR_NONE;
    foreign->internal_ip = DR_STR("192.168.1.1");
    CHECK(!sw_find(w, "i-2")->unjoined);
    CHECK(sw_find(w, "i-1")->joined);
}

TEST(fleet, unknown_node_list_means_ec2_alone) {
    struct small_world *w = sw_new();
    sw_instance(w, "i-1", "za");
    w->snap.nodes_part = (struct dr_part){.why = DR_STR("timeout")};
    const struct dr_worker *worker = sw_find(w, "i-1");
    CHECK(worker->live && !worker->unjoined && !worker->join_expired && !worker->joined);
    CHECK(!w->fleet.nodes_known && !w->fleet.all_mapped);
}

TEST(hazard_6, unknown_instances_are_not_zero_workers) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    w->snap.instance_n = 0;
    w->snap.instances_part = (struct dr_part){.why = DR_STR("throttled")};
    sw_build(w);
    CHECK(!w->fleet.workers_known && !w->fleet.all_mapped);
    CHECK_EQ_INT(w->fleet.worker_n, 0);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
}

TEST(fleet, ready_node_whose_instance_describe_does_not_show_counts_as_live) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-2", "za");
    sw_worker(w, "i-1", "zb")->created_ms = SW_NOW_MS - DR_GHOST_AGE_MS;
    w->snap.instance_n = 1;
    check_counts(sw_build(w), 1, 2, 2, 2);
    const struct dr_worker *worker = sw_find(w, "i-1");
    CHECK(worker->instance == NULL && worker->node == &w->nodes[1] && worker->joined && worker->live);
    CHECK(worker == &w->fleet.workers[0]);
    CHECK_EQ_INT(w->fleet.node_kind[1], DR_NODE_ABSENT);
    CHECK_EQ_INT(dr_fleet_zone(&w->fleet, DR_STR("zb"))->live, 1);
}

TEST(fleet, old_node_whose_instance_describe_does_not_show_is_somebody_elses) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-2", "za");
    sw_worker(w, "i-1", "zb")->created_ms = SW_NOW_MS - DR_GHOST_AGE_MS - 1;
    w->snap.instance_n = 1;
    check_counts(sw_build(w), 1, 1, 1, 1);
    CHECK(dr_fleet_find(&w->fleet, DR_STR("i-1")) == NULL);
    CHECK_EQ_INT(w->fleet.node_kind[1], DR_NODE_ABSENT);
    /* The item knows it: one of our own that Describe forgets for a moment. */
    struct dr_str known = DR_STR("i-1");
    w->state.down_targets = (struct dr_strs){&known, 1};
    check_counts(sw_build(w), 1, 2, 2, 2);
}

TEST(fleet, two_ready_nodes_of_one_absent_instance_count_once) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "zb")->created_ms = SW_NOW_MS - 1000;
    struct dr_node *other = sw_node(w, &w->instances[0]);
    other->name = DR_STR("other");
    other->created_ms = SW_NOW_MS - 1000;
    w->snap.instance_n = 0;
    check_counts(sw_build(w), 0, 1, 1, 1);
    CHECK(!w->fleet.all_mapped && w->fleet.workers[0].node != NULL);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
    CHECK_EQ_INT(w->fleet.node_kind[1], DR_NODE_UNKNOWN);
}

TEST(hazard_17, node_whose_machine_is_gone_does_not_count) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    w->snap.instance_n = 0;
    node->ready = DR_READY_UNKNOWN;
    check_counts(sw_build(w), 0, 0, 0, 0);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_GHOST);
}

TEST(rule_26, ghost_needs_a_terminated_instance_or_an_old_not_ready_node) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    w->instances[0].state = DR_INSTANCE_SHUTTING_DOWN;
    sw_build(w);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_ABSENT);
    CHECK_EQ_INT(w->fleet.live, 0);
    w->instances[0].state = DR_INSTANCE_TERMINATED;
    sw_build(w);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_GHOST);
    w->snap.instance_n = 0; /* unknown to EC2 */
    node->ready = DR_READY_FALSE;
    node->created_ms = SW_NOW_MS - DR_GHOST_AGE_MS;
    sw_build(w);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_ABSENT);
    CHECK_EQ_INT(w->fleet.live, 0);
    node->created_ms--;
    sw_build(w);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_GHOST);
}

TEST(rule_26, node_older_than_the_terminated_instance_that_it_names_is_no_ghost) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    w->instances[0].state = DR_INSTANCE_TERMINATED;
    node->created_ms = w->instances[0].launched_ms - DR_MINUTE_MS;
    sw_build(w);
    CHECK_EQ_INT(w->fleet.node_kind[0], DR_NODE_UNKNOWN);
}

TEST(rule_13, ended_id_is_no_worker_whatever_a_stale_describe_says) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za")->created_ms = SW_NOW_MS - 1000;
    sw_worker(w, "i-2", "za")->created_ms = SW_NOW_MS - 1000;
    sw_ended(w, "i-1");
    check_counts(sw_build(w), 1, 1, 1, 1);
    w->snap.instance_n = 0; /* nor while its Node is still Ready and Describe shows nothing */
    check_counts(sw_build(w), 0, 1, 1, 1);
    CHECK(dr_fleet_find(&w->fleet, DR_STR("i-1")) == NULL);
}

TEST(fleet, interrupted_and_marked_are_neither_live_nor_held) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_worker(w, "i-2", "za");
    sw_worker(w, "i-3", "za");
    sw_record(w, "i-1", DR_EVENT_WARNING);
    w->state.marks = sw_strs(w, 1, (const char *const[]){"i-2"});
    check_counts(sw_build(w), 3, 1, 1, 1);
    CHECK(w->fleet.workers[0].interrupted && w->fleet.workers[1].marked);
}

TEST(fleet, rebalance_hint_leaves_a_worker_live) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_record(w, "i-1", DR_EVENT_REBALANCE);
    check_counts(sw_build(w), 1, 1, 1, 1);
    CHECK(w->fleet.workers[0].hinted && !w->fleet.workers[0].interrupted);
}

TEST(rule_16, refused_worker_is_held_but_not_live) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    w->state.refused = sw_strs(w, 1, (const char *const[]){"i-1"});
    check_counts(sw_build(w), 1, 0, 0, 1);
}

TEST(fleet, quarantine_takes_a_worker_out_until_its_time_has_passed) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    struct dr_timed_id quarantined = {DR_STR("i-1"), SW_NOW_EPOCH + 1};
    w->state.quarantined.v = &quarantined;
    w->state.quarantined.n = 1;
    check_counts(sw_build(w), 1, 0, 0, 1);
    quarantined.epoch = SW_NOW_EPOCH;
    check_counts(sw_build(w), 1, 1, 1, 1);
}

TEST(fleet, target_of_a_scale_down_is_live_until_marked) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_scale_down(w, "i-1");
    check_counts(sw_build(w), 1, 1, 1, 1);
    CHECK(w->fleet.workers[0].target);
    w->state.down_completed = w->state.down_targets;
    CHECK(!sw_find(w, "i-1")->target);
}

TEST(rule_12, planned_counts_open_indices_and_indices_without_attempt) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_scale_up(w, 3, 1)[0].zone = DR_STR("zb");
    check_counts(sw_build(w), 1, 1, 4, 4);
    CHECK_EQ_INT(dr_fleet_zone(&w->fleet, DR_STR("zb"))->planned, 1);
    CHECK_EQ_INT(dr_fleet_zone(&w->fleet, DR_STR("zb"))->live, 0);
    CHECK_EQ_INT(w->fleet.coming_n, 3);
    CHECK(w->fleet.coming[0].attempt != NULL && w->fleet.coming[1].attempt == NULL);
}

TEST(fleet, failed_and_joined_indices_are_not_coming) {
    struct small_world *w = sw_new();
    struct dr_attempt *attempts = sw_scale_up(w, 2, 2);
    attempts[0].status = DR_ATTEMPT_FAILED;
    attempts[1].status = DR_ATTEMPT_JOINED;
    attempts[1].instance_id = DR_STR("i-1");
    sw_worker(w, "i-1", "za");
    check_counts(sw_build(w), 1, 1, 1, 1);
}

TEST(rule_9, recorded_instance_that_describe_does_not_show_yet_is_planned) {
    struct small_world *w = sw_new();
    struct dr_attempt *attempts = sw_scale_up(w, 1, 1);
    attempts[0].status = DR_ATTEMPT_LAUNCHED;
    attempts[0].instance_id = DR_STR("i-1");
    check_counts(sw_build(w), 0, 0, 1, 1);
    CHECK_EQ_INT(w->fleet.zones[0].planned, 1);
    sw_instance(w, "i-1", "za")->launched_ms = SW_NOW_MS;
    check_counts(sw_build(w), 1, 1, 1, 1);
    CHECK_EQ_INT(w->fleet.zones[0].planned, 1);
    w->instances[0].state = DR_INSTANCE_TERMINATED;
    check_counts(sw_build(w), 0, 0, 0, 0);
    w->snap.instance_n = 0;
    sw_ended(w, "i-1");
    check_counts(sw_build(w), 0, 0, 0, 0);
}

TEST(fleet, recorded_instance_that_is_marked_or_interrupted_is_not_planned) {
    struct small_world *w = sw_new();
    struct dr_attempt *attempts = sw_scale_up(w, 1, 1);
    attempts[0].status = DR_ATTEMPT_LAUNCHED;
    attempts[0].instance_id = DR_STR("i-1");
    sw_record(w, "i-1", DR_EVENT_WARNING);
    check_counts(sw_build(w), 0, 0, 0, 0);
    w->state.records.n = 0;
    w->state.marks = sw_strs(w, 1, (const char *const[]){"i-1"});
    check_counts(sw_build(w), 0, 0, 0, 0);
}

TEST(hazard_20, open_index_whose_instance_is_seen_by_its_tags_counts_once) {
    struct small_world *w = sw_new();
    sw_scale_up(w, 2, 2);
    struct dr_instance *instance = sw_instance(w, "i-1", "za");
    instance->launched_ms = SW_NOW_MS;
    instance->action_id = DR_STR("up-1");
    instance->index = 1;
    check_counts(sw_build(w), 1, 1, 2, 2);
    instance->action_id = DR_STR("up-0");
    check_counts(sw_build(w), 1, 1, 3, 3);
}

TEST(rule_27, legacy_scale_up_counts_recorded_ids_only) {
    struct small_world *w = sw_new();
    sw_instance(w, "i-1", "za")->launched_ms = SW_NOW_MS;
    w->state.up_action_id = DR_STR("up-1");
    w->state.up_requested = 3;
    w->state.up_instance_ids = sw_strs(w, 2, (const char *const[]){"i-1", "i-2"});
    check_counts(sw_build(w), 1, 1, 2, 2);
}

TEST(fleet, recorded_instance_seen_only_as_ready_node_counts_once) {
    struct small_world *w = sw_new();
    struct dr_attempt *attempts = sw_scale_up(w, 1, 1);
    attempts[0].status = DR_ATTEMPT_LAUNCHED;
    attempts[0].instance_id = DR_STR("i-1");
    sw_worker(w, "i-1", "za");
    w->snap.instance_n = 0;
    check_counts(sw_build(w), 0, 1, 1, 1);
}

TEST(fleet, absurd_request_is_bounded) {
    struct small_world *w = sw_new();
    sw_scale_up(w, INT64_MAX, 0);
    CHECK_EQ_INT(sw_build(w)->coming_n, 1000);
    w->state.up_requested = -5;
    CHECK_EQ_INT(sw_build(w)->coming_n, 0);
}

TEST(fleet, zones_come_from_subnets_and_workers_sorted) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "zz");
    sw_worker(w, "i-2", "aa");
    sw_worker(w, "i-3", "zb");
    sw_build(w);
    const char *names[] = {"aa", "za", "zb", "zc", "zz"};
    CHECK_EQ_INT(w->fleet.zone_n, 5);
    for (size_t i = 0; i < 5; i++) {
        CHECK_EQ_STR(w->fleet.zones[i].name, names[i]);
    }
    CHECK(dr_fleet_zone(&w->fleet, DR_STR("nowhere")) == NULL);
}

TEST(fleet, pods_are_grouped_by_worker) {
    struct small_world *w = sw_new();
    struct dr_node *b = sw_worker(w, "i-1", "za");
    struct dr_node *a = sw_worker(w, "i-2", "za");
    b->name = DR_STR("zzz");
    sw_pod(w, a, 1, 1);
    sw_pod(w, b, 1, 1);
    sw_pod(w, NULL, 1, 1);
    sw_pod(w, a, 1, 1)->node = DR_STR("elsewhere");
    sw_pod(w, a, 1, 1);
    sw_build(w);
    dr_fleet_index_pods(&w->arena, &w->fleet);
    dr_fleet_index_pods(&w->arena, &w->fleet); /* once is enough */
    const struct dr_worker *worker = dr_fleet_find(&w->fleet, DR_STR("i-2"));
    CHECK_EQ_INT(worker->pod_n, 2);
    CHECK(dr_fleet_pod(&w->fleet, worker, 0) == &w->pods[0] && dr_fleet_pod(&w->fleet, worker, 1) == &w->pods[4]);
    CHECK_EQ_INT(dr_fleet_find(&w->fleet, DR_STR("i-1"))->pod_n, 1);
}

TEST(fleet, unknown_pods_are_not_indexed) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    w->snap.pods_part.known = false;
    dr_fleet_index_pods(&w->arena, sw_build(w));
    CHECK(!w->fleet.pods_indexed);
}

static struct dr_str random_id(struct small_world *w, struct dr_rand *r, uint64_t n) { return sw_fmt(w, "i-", dr_rand_below(r, n)); }

static void random_world(struct small_world *w, struct dr_rand *r) {
    for (uint64_t i = dr_rand_below(r, 12); i > 0; i--) {
        struct dr_instance *instance = sw_instance(w, "", dr_rand_below(r, 2) == 0 ? "za" : "zb");
        instance->id = random_id(w, r, 10);
        instance->state = (enum dr_instance_state)dr_rand_below(r, 6);
        instance->private_ip = sw_fmt(w, "10.0.0.", dr_rand_below(r, 6));
        instance->launched_ms = SW_NOW_MS - dr_rand_between(r, 0, DR_HOUR_MS);
    }
    for (uint64_t i = dr_rand_below(r, 12); i > 0; i--) {
        struct dr_instance named = {.id = random_id(w, r, 12), .private_ip = sw_fmt(w, "10.0.0.", dr_rand_below(r, 6))};
        struct dr_node *node = sw_node(w, &named);
        node->provider_id = dr_rand_below(r, 3) == 0 ? DR_STR_NONE : node->provider_id;
        node->instance_label = dr_rand_below(r, 4) == 0 ? random_id(w, r, 12) : DR_STR_NONE;
        node->internal_ip = dr_rand_below(r, 3) == 0 ? node->internal_ip : DR_STR_NONE;
        node->created_ms = SW_NOW_MS - dr_rand_between(r, 0, DR_HOUR_MS);
        node->ready = (enum dr_ready)dr_rand_below(r, 3);
        node->server = dr_rand_below(r, 8) == 0;
    }
}

static void check_one_to_one(const struct small_world *w) {
    const struct dr_fleet *fleet = &w->fleet;
    int64_t live = 0;
    for (size_t i = 0; i < fleet->worker_n; i++) {
        const struct dr_worker *a = &fleet->workers[i];
        CHECK(i == 0 || dr_str_cmp(fleet->workers[i - 1].id, a->id) < 0);
        CHECK(a->instance != NULL || a->node != NULL);
        CHECK(!(a->unjoined && a->node != NULL) && !(a->joined && a->node == NULL));
        live += a->live;
        for (size_t k = 0; k < i; k++) {
            CHECK(a->node == NULL || a->node != fleet->workers[k].node);
        }
        if (a->node != NULL && a->instance != NULL) {
            CHECK_EQ_INT(fleet->node_kind[a->node - w->nodes], DR_NODE_WORKER);
            CHECK(a->node->created_ms >= a->instance->launched_ms - DR_LAUNCH_SKEW_MS && !a->node->server);
        }
    }
    size_t mapped = 0;
    for (size_t i = 0; i < w->snap.node_n; i++) {
        mapped += fleet->node_kind[i] == DR_NODE_WORKER;
    }
    for (size_t i = 0; i < fleet->worker_n; i++) {
        mapped -= fleet->workers[i].node != NULL && fleet->workers[i].instance != NULL;
    }
    CHECK_EQ_INT(mapped, 0);
    CHECK_EQ_INT(fleet->live, live);
    CHECK(fleet->live <= fleet->planned && fleet->planned <= fleet->held);
}

TEST(fleet, property_mapping_is_one_to_one_in_random_worlds) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    for (int round = 0; round < 500; round++) {
        struct small_world *w = sw_new();
        random_world(w, &r);
        sw_build(w);
        check_one_to_one(w);
        sw_free(w);
    }
}
