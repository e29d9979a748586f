#include "core/match.h"
#include "core/room.h"
#include "unit/small_world.h"

static struct dr_room room_of(struct small_world *w, const char *id) {
    struct dr_room room;
    const struct dr_worker *worker = sw_find(w, id);
    dr_fleet_index_pods(&w->arena, &w->fleet);
    dr_room_of_worker(&w->arena, &w->fleet, worker, &room);
    return room;
}

TEST(room, bound_pods_take_room_until_they_are_finished) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    sw_pod(w, node, 300, SW_GIB);
    sw_pod(w, node, 200, SW_GIB)->deleting = true;
    sw_pod(w, node, 100, SW_GIB)->phase = DR_PHASE_PENDING;
    sw_pod(w, node, 999, SW_GIB)->phase = DR_PHASE_SUCCEEDED;
    sw_pod(w, node, 999, SW_GIB)->phase = DR_PHASE_FAILED;
    struct dr_room room = room_of(w, "i-1");
    CHECK_EQ_INT(room.cpu_milli, 1400);
    CHECK_EQ_INT(room.mem_bytes, 5 * SW_GIB);
    CHECK_EQ_INT(room.pods, 17);
}

TEST(room, holds_as_many_as_the_scarcest_quantity_allows) {
    struct dr_room room = {.cpu_milli = 1000, .mem_bytes = 1000, .pods = 5};
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){.cpu_milli = 300, .mem_bytes = 1}, 10), 3);
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){.cpu_milli = 1, .mem_bytes = 500}, 10), 2);
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){.cpu_milli = 1, .mem_bytes = 1}, 10), 5);
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){.cpu_milli = 1, .mem_bytes = 1}, 4), 4);
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){.cpu_milli = 1000, .mem_bytes = 1000}, 1), 1);
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){.cpu_milli = 1001}, 1), 0);
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){.mem_bytes = 1001}, 1), 0);
}

TEST(room, request_of_zero_fits_on_an_overcommitted_machine_but_not_past_its_pod_limit) {
    struct dr_room room = {.cpu_milli = -5, .mem_bytes = -5, .pods = 1};
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){0}, 3), 1);
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){.cpu_milli = 1}, 3), 0);
    room.pods = -1;
    CHECK_EQ_INT(dr_room_holds(&room, &(struct dr_pod_spec){0}, 3), 0);
}

TEST(room, host_port_is_given_once_per_machine) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    const struct dr_host_port tcp80 = {80, 'T'};
    const struct dr_host_port tcp81 = {81, 'T'};
    struct dr_pod_spec a = {.cpu_milli = 1, .host_ports = &tcp80, .host_port_n = 1};
    struct dr_pod_spec b = {.cpu_milli = 1, .host_ports = &tcp81, .host_port_n = 1};
    struct dr_room room = {.cpu_milli = 1000, .pods = 10};
    CHECK_EQ_INT(dr_room_holds(&room, &a, 5), 1);
    dr_room_take(&arena, &room, &a, 1);
    CHECK_EQ_INT(dr_room_holds(&room, &a, 5), 0);
    CHECK_EQ_INT(dr_room_holds(&room, &b, 5), 1);
    dr_arena_deinit(&arena);
}

TEST(room, overhead_is_the_most_that_daemonsets_take_on_a_ready_worker) {
    struct small_world *w = sw_new();
    struct dr_node *a = sw_worker(w, "i-1", "za");
    struct dr_node *b = sw_worker(w, "i-2", "za");
    struct dr_node *down = sw_worker(w, "i-3", "za");
    down->ready = DR_READY_FALSE;
    const struct dr_host_port port = {80, 'T'};
    sw_pod(w, a, 100, 10)->owner = DR_OWNER_DAEMONSET;
    sw_pod(w, a, 50, 10)->owner = DR_OWNER_DAEMONSET;
    sw_pod(w, b, 120, 90)->owner = DR_OWNER_DAEMONSET;
    sw_pod(w, b, 500, 500);
    sw_pod(w, down, 900, 900)->owner = DR_OWNER_DAEMONSET;
    w->specs[2].host_ports = &port;
    w->specs[2].host_port_n = 1;
    sw_build(w);
    dr_fleet_index_pods(&w->arena, &w->fleet);
    struct dr_overhead overhead;
    dr_overhead_work_out(&w->arena, &w->fleet, &overhead);
    CHECK_EQ_INT(overhead.cpu_milli, 150);
    CHECK_EQ_INT(overhead.mem_bytes, 90);
    CHECK_EQ_INT(overhead.pods, 2);
    struct dr_room room;
    dr_room_of_type(&w->types[0], 1, &overhead, &room);
    CHECK_EQ_INT(room.cpu_milli, 1850);
    CHECK_EQ_INT(room.pods, 18);
    CHECK_EQ_INT(dr_room_holds(&room, &w->specs[2], 1), 0); /* the DaemonSet will hold the port there too */
}

TEST(room, groups_put_equal_pods_together_largest_first_in_any_order_of_pods) {
    struct small_world *w = sw_new();
    const int64_t cpu[] = {100, 300, 100, 200, 300, 100};
    const struct dr_pod *forward[6];
    const struct dr_pod *backward[6];
    for (size_t i = 0; i < 6; i++) {
        forward[i] = backward[5 - i] = sw_pending(w, cpu[i], 1);
    }
    struct dr_room measure = {.cpu_milli = 1000, .mem_bytes = 1000};
    struct dr_pod_groups a;
    struct dr_pod_groups b;
    dr_room_groups(&w->arena, forward, 6, &measure, &a);
    dr_room_groups(&w->arena, backward, 6, &measure, &b);
    CHECK_EQ_INT(a.n, 3);
    CHECK_EQ_INT(b.n, 3);
    const int64_t counts[] = {2, 1, 3};
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ_INT(a.v[i].spec->cpu_milli, 300 - 100 * (int64_t)i);
        CHECK_EQ_INT(a.v[i].count, counts[i]);
        CHECK(dr_pod_spec_eq(a.v[i].spec, b.v[i].spec) && a.v[i].count == b.v[i].count);
    }
}
