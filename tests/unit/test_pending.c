#include "base/rand.h"
#include "base/time.h"
#include "core/pending.h"
#include "unit/small_world.h"

static struct dr_pending work_out(struct small_world *w) {
    struct dr_pending pending;
    sw_build(w);
    dr_pending_work_out(&w->arena, &w->cfg, &w->state, &w->fleet, &pending);
    return pending;
}

TEST(pending, nothing_waits_in_a_quiet_world) {
    struct small_world *w = sw_new();
    sw_pod(w, sw_worker(w, "i-1", "za"), 100, 1);
    struct dr_pending pending = work_out(w);
    CHECK(pending.known && pending.oldest == NULL);
    CHECK_EQ_INT(pending.waiting, 0);
    CHECK(!w->fleet.pods_indexed); /* a quiet tick does not even group the pods */
}

TEST(pending, unknown_pods_are_unknown_and_not_zero) {
    struct small_world *w = sw_new();
    w->snap.pods_part = (struct dr_part){.why = DR_STR("timeout")};
    struct dr_pending pending = work_out(w);
    CHECK(!pending.known);
    CHECK_EQ_STR(pending.why, "timeout");
}

TEST(pending, waiting_pods_with_unknown_nodes_or_workers_are_unknown) {
    struct small_world *w = sw_new();
    sw_pending(w, 100, 1);
    w->snap.nodes_part = (struct dr_part){.why = DR_STR("refused")};
    struct dr_pending pending = work_out(w);
    CHECK(!pending.known);
    CHECK_EQ_STR(pending.why, "refused");
    CHECK_EQ_INT(pending.waiting, 1);
    w->snap.nodes_part.known = true;
    w->snap.instances_part = (struct dr_part){.why = DR_STR("throttled")};
    pending = work_out(w);
    CHECK(!pending.known);
    CHECK_EQ_STR(pending.why, "throttled");
    w->snap.instances_part.known = true;
    w->snap.pool.type_n = 0;
    pending = work_out(w);
    CHECK(!pending.known && pending.why.n > 0);
}

TEST(hazard_4, pods_ask_for_workers_by_requests_whatever_the_cpu_says) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    sw_pod(w, node, 1900, 1); /* requested, hardly used */
    for (int i = 0; i < 40; i++) {
        sw_pending(w, 500, 1);
    }
    w->cfg.max_workers = 50;
    struct dr_pending pending = work_out(w);
    CHECK(pending.known && !pending.unmodelled_only);
    CHECK_EQ_INT(pending.waiting, 40);
    CHECK_EQ_INT(pending.helpable, 40);
    CHECK_EQ_INT(pending.remainder, 40);
    CHECK_EQ_INT(pending.workers_needed, 10); /* four of 500 on 2000 */
    CHECK_EQ_INT(pending.since_ms, SW_NOW_MS - 300 * DR_SECOND_MS);
    CHECK_EQ_STR(pending.needs[9].type, "medium");
    CHECK_EQ_STR(pending.needs[9].zone, "");
}

TEST(hazard_3, pods_that_no_worker_helps_ask_for_none) {
    struct small_world *w = sw_new();
    struct dr_label label = {DR_STR("disk"), DR_STR("optical")};
    sw_spec(w, sw_pending(w, 10, 1))->selector = (struct dr_labels){&label, 1};
    sw_spec(w, sw_pending(w, 10, 1))->volume_unbound = true;
    sw_pending(w, 2001, 1);
    sw_pending(w, 1, 8 * SW_GIB + 1);
    sw_pending(w, 10, 1)->owner = DR_OWNER_DAEMONSET;
    struct dr_pod *back_off = sw_pod(w, sw_worker(w, "i-1", "za"), 10, 1); /* bound, its image cannot be pulled */
    back_off->phase = DR_PHASE_PENDING;
    back_off->ready = false;
    sw_pending(w, 10, 1)->deleting = true;
    struct dr_pending pending = work_out(w);
    CHECK(pending.known);
    CHECK_EQ_INT(pending.waiting, 4);
    CHECK_EQ_INT(pending.helpable, 0);
    CHECK_EQ_INT(pending.remainder, 0);
    CHECK_EQ_INT(pending.workers_needed, 0);
    CHECK_EQ_INT(pending.since_ms, 0);
    CHECK(pending.oldest == &w->pods[0]); /* for the reason */
}

TEST(hazard_3, request_that_fits_only_without_the_daemonsets_is_too_large) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    sw_pod(w, node, 100, 1)->owner = DR_OWNER_DAEMONSET;
    sw_pending(w, 1901, 1);
    CHECK_EQ_INT(work_out(w).helpable, 0);
    w->specs[1].cpu_milli = 1900;
    CHECK_EQ_INT(work_out(w).helpable, 1);
}

TEST(hazard_3, host_port_that_a_daemonset_holds_everywhere_is_not_helped) {
    struct small_world *w = sw_new();
    const struct dr_host_port port = {80, 'T'};
    struct dr_pod *daemon = sw_pod(w, sw_worker(w, "i-1", "za"), 100, 1);
    daemon->owner = DR_OWNER_DAEMONSET;
    sw_spec(w, daemon)->host_ports = &port;
    sw_spec(w, daemon)->host_port_n = 1;
    struct dr_pod *pod = sw_pending(w, 10, 1);
    sw_spec(w, pod)->host_ports = &port;
    sw_spec(w, pod)->host_port_n = 1;
    CHECK_EQ_INT(work_out(w).helpable, 0);
}

TEST(pending, room_on_ready_workers_is_filled_first) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    for (int i = 0; i < 5; i++) {
        sw_pending(w, 500, 1);
    }
    struct dr_pending pending = work_out(w);
    CHECK_EQ_INT(pending.helpable, 5);
    CHECK_EQ_INT(pending.remainder, 1);
    CHECK_EQ_INT(pending.workers_needed, 1);
}

TEST(pending, workers_that_leave_or_cannot_be_used_offer_no_room) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    sw_pending(w, 500, 1);
    CHECK_EQ_INT(work_out(w).remainder, 0);
    node->unschedulable = true;
    CHECK_EQ_INT(work_out(w).remainder, 1);
    node->unschedulable = false;
    node->ready = DR_READY_UNKNOWN;
    node->ready_changed_ms = SW_NOW_MS - 1000;
    CHECK_EQ_INT(work_out(w).remainder, 1);
    node->ready = DR_READY_TRUE;
    sw_record(w, "i-1", DR_EVENT_WARNING);
    CHECK_EQ_INT(work_out(w).remainder, 1);
    w->state.records.n = 0;
    w->state.marks = sw_strs(w, 1, (const char *const[]){"i-1"});
    CHECK_EQ_INT(work_out(w).remainder, 1);
    w->state.marks.n = 0;
    sw_scale_down(w, "i-1");
    CHECK_EQ_INT(work_out(w).remainder, 1);
}

TEST(pending, joining_and_coming_machines_are_empty_workers_of_their_type) {
    struct small_world *w = sw_new();
    for (int i = 0; i < 12; i++) {
        sw_pending(w, 500, 1);
    }
    CHECK_EQ_INT(work_out(w).workers_needed, 3);
    sw_instance(w, "i-1", "za")->launched_ms = SW_NOW_MS - DR_MINUTE_MS; /* boots */
    CHECK_EQ_INT(work_out(w).workers_needed, 2);
    sw_scale_up(w, 2, 1); /* one attempt is open, one index has none yet */
    struct dr_pending pending = work_out(w);
    CHECK_EQ_INT(pending.remainder, 0);
    CHECK_EQ_INT(pending.workers_needed, 0);
    CHECK_EQ_INT(pending.helpable, 12);
}

TEST(pending, registered_but_never_ready_worker_still_counts_as_joining) {
    struct small_world *w = sw_new();
    struct dr_instance *instance = sw_instance(w, "i-1", "za");
    instance->launched_ms = SW_NOW_MS - 2 * DR_MINUTE_MS;
    struct dr_node *node = sw_node(w, instance);
    node->ready = DR_READY_FALSE;
    node->created_ms = node->ready_changed_ms = SW_NOW_MS - DR_MINUTE_MS;
    sw_pending(w, 500, 1);
    CHECK_EQ_INT(work_out(w).remainder, 0);
}

TEST(hazard_21, machine_that_failed_to_join_offers_no_room) {
    struct small_world *w = sw_new();
    sw_instance(w, "i-1", "za");
    sw_pending(w, 500, 1);
    CHECK_EQ_INT(work_out(w).remainder, 1);
}

TEST(rule_19, successors_of_our_own_evictions_are_no_pressure) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    sw_scale_down(w, "i-1");
    struct dr_drain drain = {.instance_id = DR_STR("i-1"), .owner_uids = sw_strs(w, 1, (const char *const[]){"rs-1"})};
    w->state.drains.v = &drain;
    sw_pending(w, 500, 1)->owner_uid = DR_STR("rs-1");
    sw_pending(w, 500, 1)->owner_uid = DR_STR("rs-1");
    w->pods[1].unschedulable_since_ms -= 1000;
    struct dr_pending pending = work_out(w);
    CHECK_EQ_INT(pending.waiting, 0);
    CHECK_EQ_INT(pending.successors, 2);
    CHECK_EQ_INT(pending.successor_since_ms, SW_NOW_MS - 301 * DR_SECOND_MS);
    w->pods[0].owner_uid = DR_STR("rs-2");
    pending = work_out(w);
    CHECK_EQ_INT(pending.waiting, 1);
    CHECK_EQ_INT(pending.remainder, 1);
}

TEST(pending, oldest_helpable_pod_gives_the_time) {
    struct small_world *w = sw_new();
    sw_pending(w, 500, 1);
    sw_pending(w, 600, 1)->unschedulable_since_ms = SW_NOW_MS - 400 * DR_SECOND_MS;
    sw_pending(w, 9999, 1)->unschedulable_since_ms = SW_NOW_MS - 900 * DR_SECOND_MS; /* not helpable */
    struct dr_pending pending = work_out(w);
    CHECK(pending.oldest == &w->pods[1]);
    CHECK_EQ_INT(pending.since_ms, SW_NOW_MS - 400 * DR_SECOND_MS);
}

TEST(pending, those_that_wait_are_listed_up_to_a_ceiling) {
    struct small_world *w = sw_new();
    sw_pending(w, 64000, 1);
    for (int i = 0; i < 120; i++) {
        sw_pending(w, 100, 1);
    }
    struct dr_pending pending = work_out(w);
    CHECK_EQ_INT(pending.waiting, 121);
    CHECK_EQ_INT(pending.pod_n, DR_WAITING_LISTED);
    CHECK(!pending.pods[0].helpable && pending.pods[1].helpable);
    CHECK_EQ_INT(pending.pods[1].since_ms, pending.pods[1].pod->unschedulable_since_ms);
}

TEST(pending, pod_tied_to_a_zone_asks_for_a_worker_there) {
    struct small_world *w = sw_new();
    struct dr_str zone = DR_STR("zb");
    sw_worker(w, "i-1", "za");
    sw_spec(w, sw_pending(w, 500, 1))->volume_zones = (struct dr_strs){&zone, 1};
    struct dr_pending pending = work_out(w);
    CHECK_EQ_INT(pending.remainder, 1); /* there is room on i-1, in the wrong zone */
    CHECK_EQ_INT(pending.workers_needed, 1);
    CHECK_EQ_STR(pending.needs[0].zone, "zb");
    sw_instance(w, "i-2", "zb")->launched_ms = SW_NOW_MS;
    CHECK_EQ_INT(work_out(w).remainder, 0);
    w->instances[1].zone = DR_STR("zc");
    CHECK_EQ_INT(work_out(w).remainder, 1);
}

TEST(pending, pods_of_two_zones_do_not_share_a_new_worker) {
    struct small_world *w = sw_new();
    struct dr_str zones[] = {DR_STR("za"), DR_STR("zb")};
    sw_spec(w, sw_pending(w, 100, 1))->volume_zones = (struct dr_strs){&zones[0], 1};
    sw_spec(w, sw_pending(w, 100, 1))->volume_zones = (struct dr_strs){&zones[1], 1};
    sw_pending(w, 100, 1);
    CHECK_EQ_INT(work_out(w).workers_needed, 2);
}

TEST(pending, pods_with_one_host_port_need_a_worker_each) {
    struct small_world *w = sw_new();
    const struct dr_host_port port = {80, 'T'};
    for (int i = 0; i < 3; i++) {
        struct dr_pod *pod = sw_pending(w, 10, 1);
        sw_spec(w, pod)->host_ports = &port;
        sw_spec(w, pod)->host_port_n = 1;
    }
    CHECK_EQ_INT(work_out(w).workers_needed, 3);
}

TEST(pending, second_type_is_asked_for_where_the_first_is_too_small) {
    struct small_world *w = sw_new();
    w->types[1] = (struct dr_worker_type){.name = DR_STR("large"), .cpu_milli = 8000, .mem_bytes = 32 * SW_GIB, .pod_limit = 20};
    w->snap.pool.type_n = 2;
    sw_pending(w, 4000, 1);
    struct dr_pending pending = work_out(w);
    CHECK_EQ_INT(pending.workers_needed, 1);
    CHECK_EQ_STR(pending.needs[0].type, "large");
}

TEST(pending, need_is_not_counted_far_past_the_maximum) {
    struct small_world *w = sw_new();
    for (int i = 0; i < 30; i++) {
        sw_pending(w, 2000, 1);
    }
    struct dr_pending pending = work_out(w);
    CHECK_EQ_INT(pending.remainder, 30);
    CHECK_EQ_INT(pending.workers_needed, w->cfg.max_workers + 1);
}

static struct dr_pod *add_unmodelled(struct small_world *w) {
    struct dr_pod *pod = sw_pending(w, 100, 1);
    sw_spec(w, pod)->unmodelled = true;
    return pod;
}

TEST(pending, rules_that_are_not_modelled_justify_one_worker) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    for (int i = 0; i < 40; i++) {
        add_unmodelled(w);
    }
    struct dr_pending pending = work_out(w);
    CHECK(pending.unmodelled_only);
    CHECK_EQ_INT(pending.helpable, 40);
    CHECK_EQ_INT(pending.remainder, 1);
    CHECK_EQ_INT(pending.workers_needed, 1);
}

TEST(pending, rules_that_are_not_modelled_ask_for_none_while_a_worker_joins_or_has_just_joined) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    add_unmodelled(w);
    CHECK_EQ_INT(work_out(w).workers_needed, 1);
    sw_scale_up(w, 1, 0);
    CHECK_EQ_INT(work_out(w).workers_needed, 0);
    w->state.up_action_id = DR_STR_NONE;
    node->created_ms = SW_NOW_MS - DR_NEWLY_JOINED_MS + 1;
    w->pods[0].unschedulable_since_ms = SW_NOW_MS - 10 * DR_SECOND_MS;
    CHECK_EQ_INT(work_out(w).workers_needed, 0);
    node->created_ms--;
    CHECK_EQ_INT(work_out(w).workers_needed, 1);
}

TEST(pending, worker_that_joined_and_did_not_help_was_the_one) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    struct dr_pod *pod = add_unmodelled(w);
    pod->unschedulable_since_ms = node->created_ms - 1;
    struct dr_pending pending = work_out(w);
    CHECK_EQ_INT(pending.workers_needed, 0);
    CHECK_EQ_INT(pending.remainder, 0);
    CHECK_EQ_INT(pending.helpable, 1);
    pod->unschedulable_since_ms = node->created_ms;
    CHECK_EQ_INT(work_out(w).workers_needed, 1);
}

TEST(pending, worker_that_others_need_serves_unmodelled_rules_too) {
    struct small_world *w = sw_new();
    add_unmodelled(w);
    for (int i = 0; i < 4; i++) {
        sw_pending(w, 1000, 1);
    }
    struct dr_pending pending = work_out(w);
    CHECK(!pending.unmodelled_only);
    CHECK_EQ_INT(pending.workers_needed, 2);
    CHECK_EQ_INT(pending.remainder, 5);
}

/* The lower bound that no packing can beat, and the upper one that first fit decreasing cannot miss. */
TEST(pending, property_packing_neither_exceeds_allocatable_nor_wastes_workers) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    for (int round = 0; round < 300; round++) {
        struct small_world *w = sw_new();
        int64_t cpu = 0;
        int64_t n = dr_rand_between(&r, 1, 60);
        w->cfg.max_workers = 100;
        for (int64_t i = 0; i < n; i++) {
            int64_t request = dr_rand_between(&r, 1, 20) * 100;
            cpu += request;
            sw_pending(w, request, dr_rand_between(&r, 0, 1024));
        }
        struct dr_pending pending = work_out(w);
        int64_t needed = pending.workers_needed;
        CHECK_EQ_INT(pending.remainder, n);
        CHECK(needed * 2000 >= cpu && needed * 20 >= n);
        CHECK(needed <= n && (needed <= 1 || (needed - 1) * 1000 < cpu || (needed - 1) * 20 < n));
        sw_free(w);
    }
}
