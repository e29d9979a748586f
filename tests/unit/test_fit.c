#include "base/rand.h"
#include "core/drain.h"
#include "core/fit.h"
#include "unit/small_world.h"

static enum dr_fit_verdict on_new(struct small_world *w, const struct dr_pod_spec *spec, const char *zone) {
    return dr_fit_new_worker(spec, &w->types[0], dr_str_of(zone), 100, SW_GIB, 2);
}

TEST(fit, new_worker_runs_what_fits_beside_its_daemonsets) {
    struct small_world *w = sw_new();
    struct dr_pod_spec spec = {.cpu_milli = 1900, .mem_bytes = 7 * SW_GIB};
    CHECK_EQ_INT(on_new(w, &spec, "za"), DR_FIT_YES);
    spec.cpu_milli++;
    CHECK_EQ_INT(on_new(w, &spec, "za"), DR_FIT_NO_ROOM);
    spec.cpu_milli--;
    spec.mem_bytes++;
    CHECK_EQ_INT(on_new(w, &spec, "za"), DR_FIT_NO_ROOM);
    w->types[0].pod_limit = 2;
    CHECK_EQ_INT(on_new(w, &(struct dr_pod_spec){0}, "za"), DR_FIT_NO_ROOM);
}

static enum dr_fit_verdict with_selector(struct small_world *w, const char *key, const char *value) {
    struct dr_label label = {dr_str_of(key), dr_str_of(value)};
    struct dr_pod_spec spec = {.selector = {&label, 1}};
    return on_new(w, &spec, "eu-west-1b");
}

TEST(fit, new_worker_has_the_labels_that_every_machine_gets) {
    struct small_world *w = sw_new();
    struct dr_label own = {DR_STR("kubernetes.io/arch"), DR_STR("arm64")};
    w->types[0].labels = (struct dr_labels){&own, 1};
    CHECK_EQ_INT(with_selector(w, "topology.kubernetes.io/zone", "eu-west-1b"), DR_FIT_YES);
    CHECK_EQ_INT(with_selector(w, "topology.kubernetes.io/zone", "eu-west-1a"), DR_FIT_NO_SELECTOR);
    CHECK_EQ_INT(with_selector(w, "topology.kubernetes.io/region", "eu-west-1"), DR_FIT_YES);
    CHECK_EQ_INT(with_selector(w, "node.kubernetes.io/instance-type", "medium"), DR_FIT_YES);
    CHECK_EQ_INT(with_selector(w, "kubernetes.io/os", "linux"), DR_FIT_YES);
    CHECK_EQ_INT(with_selector(w, "kubernetes.io/os", "windows"), DR_FIT_NO_SELECTOR);
    CHECK_EQ_INT(with_selector(w, "kubernetes.io/arch", "arm64"), DR_FIT_YES);
    CHECK_EQ_INT(with_selector(w, "kubernetes.io/arch", "amd64"), DR_FIT_NO_SELECTOR);
    CHECK_EQ_INT(with_selector(w, "kubernetes.io/hostname", "node-1"), DR_FIT_NO_SELECTOR);
}

TEST(fit, pod_that_must_not_run_on_a_named_host_may_run_on_a_new_one) {
    struct small_world *w = sw_new();
    struct dr_str host = DR_STR("node-1");
    struct dr_requirement requirement = {DR_STR("kubernetes.io/hostname"), DR_OP_NOT_IN, {&host, 1}};
    struct dr_term term = {&requirement, 1};
    struct dr_pod_spec spec = {.affinity = &term, .term_n = 1};
    CHECK_EQ_INT(on_new(w, &spec, "za"), DR_FIT_YES);
    requirement.op = DR_OP_EXISTS;
    CHECK_EQ_INT(on_new(w, &spec, "za"), DR_FIT_YES);
    requirement.op = DR_OP_IN;
    CHECK_EQ_INT(on_new(w, &spec, "za"), DR_FIT_NO_SELECTOR);
}

TEST(fit, taints_and_volumes_of_a_new_worker_are_looked_at) {
    struct small_world *w = sw_new();
    struct dr_taint taint = {DR_STR("gpu"), DR_STR(""), DR_TAINT_NO_EXECUTE};
    struct dr_str zone = DR_STR("zb");
    struct dr_pod_spec spec = {.volume_zones = {&zone, 1}};
    CHECK_EQ_INT(on_new(w, &spec, "za"), DR_FIT_NO_VOLUME);
    CHECK_EQ_INT(on_new(w, &spec, "zb"), DR_FIT_YES);
    w->types[0].taints = &taint;
    w->types[0].taint_n = 1;
    CHECK_EQ_INT(on_new(w, &spec, "zb"), DR_FIT_NO_TAINT);
    spec.volume_unbound = true;
    CHECK_EQ_INT(on_new(w, &spec, "zb"), DR_FIT_NO_VOLUME);
}

TEST(fit, rules_of_a_node_come_from_its_labels_taints_and_zone) {
    struct small_world *w = sw_new();
    struct dr_node *node = sw_worker(w, "i-1", "za");
    struct dr_label label = {DR_STR("topology.kubernetes.io/zone"), DR_STR("zb")};
    struct dr_str zone = DR_STR("zb");
    struct dr_pod_spec spec = {.volume_zones = {&zone, 1}};
    node->labels = (struct dr_labels){&label, 1};
    CHECK_EQ_INT(dr_fit_rules(&spec, node), DR_FIT_NO_VOLUME);
    node->zone = DR_STR_NONE; /* the label stands in */
    CHECK_EQ_INT(dr_fit_rules(&spec, node), DR_FIT_YES);
    spec.selector = (struct dr_labels){&label, 1};
    CHECK_EQ_INT(dr_fit_rules(&spec, node), DR_FIT_YES);
    struct dr_taint taint = {DR_STR("node.kubernetes.io/disk-pressure"), DR_STR(""), DR_TAINT_NO_SCHEDULE};
    node->taints = &taint;
    node->taint_n = 1;
    CHECK_EQ_INT(dr_fit_rules(&spec, node), DR_FIT_NO_TAINT);
}

TEST(fit, verdicts_have_names) {
    for (int v = DR_FIT_YES; v <= DR_FIT_NO_VOLUME; v++) {
        CHECK(strcmp(dr_fit_name((enum dr_fit_verdict)v), "unknown") != 0);
    }
}

static bool leaves(struct small_world *w, const char *id, const struct dr_pod **ret_blocker) {
    const struct dr_worker *worker = sw_find(w, id);
    return dr_fit_leaves(&w->arena, &w->fleet, worker, (struct dr_strs){NULL, 0}, ret_blocker);
}

TEST(hazard_11, pods_of_a_leaving_worker_need_requested_room_elsewhere) {
    struct small_world *w = sw_new();
    struct dr_node *a = sw_worker(w, "i-1", "za");
    struct dr_node *b = sw_worker(w, "i-2", "za");
    const struct dr_pod *blocker;
    sw_pod(w, a, 500, 1);
    struct dr_pod *moved = sw_pod(w, a, 501, 1);
    sw_pod(w, b, 1000, 1);
    CHECK(!leaves(w, "i-1", &blocker));
    CHECK(blocker == &w->pods[0]); /* the smaller one is left over: the larger is seated first */
    sw_spec(w, moved)->cpu_milli = 500;
    CHECK(leaves(w, "i-1", &blocker));
    CHECK(blocker == NULL);
}

TEST(fit, only_live_ready_schedulable_workers_that_stay_offer_room) {
    struct small_world *w = sw_new();
    struct dr_node *a = sw_worker(w, "i-1", "za");
    struct dr_node *b = sw_worker(w, "i-2", "za");
    const struct dr_pod *blocker;
    sw_pod(w, a, 500, 1);
    CHECK(leaves(w, "i-1", &blocker));
    b->unschedulable = true;
    CHECK(!leaves(w, "i-1", &blocker));
    b->unschedulable = false;
    b->ready = DR_READY_FALSE;
    CHECK(!leaves(w, "i-1", &blocker));
    b->ready = DR_READY_TRUE;
    sw_record(w, "i-2", DR_EVENT_WARNING);
    CHECK(!leaves(w, "i-1", &blocker));
    w->state.records.n = 0;
    w->state.marks = sw_strs(w, 1, (const char *const[]){"i-2"});
    CHECK(!leaves(w, "i-1", &blocker));
    w->state.marks.n = 0;
    sw_scale_down(w, "i-2");
    CHECK(!leaves(w, "i-1", &blocker));
}

TEST(fit, pods_that_stay_or_are_finished_need_no_room) {
    struct small_world *w = sw_new();
    struct dr_node *a = sw_worker(w, "i-1", "za");
    const struct dr_pod *blocker;
    sw_pod(w, a, 500, 1)->owner = DR_OWNER_DAEMONSET;
    sw_pod(w, a, 500, 1)->owner = DR_OWNER_MIRROR;
    sw_pod(w, a, 500, 1)->phase = DR_PHASE_SUCCEEDED;
    sw_pod(w, a, 500, 1)->deleting = true;
    CHECK(leaves(w, "i-1", &blocker));
    sw_pod(w, a, 1, 1);
    CHECK(!leaves(w, "i-1", &blocker));
}

TEST(fit, pods_that_are_not_bound_yet_are_seated_first) {
    struct small_world *w = sw_new();
    struct dr_node *a = sw_worker(w, "i-1", "za");
    sw_worker(w, "i-2", "za");
    const struct dr_pod *blocker;
    sw_pod(w, a, 1000, 1);
    struct dr_pod *unbound = sw_pod(w, NULL, 1001, 1);
    unbound->phase = DR_PHASE_PENDING;
    CHECK(!leaves(w, "i-1", &blocker));
    sw_spec(w, unbound)->cpu_milli = 2001; /* fits nowhere, so it takes nothing */
    CHECK(leaves(w, "i-1", &blocker));
}

TEST(fit, rule_that_is_not_modelled_cannot_be_promised_room) {
    struct small_world *w = sw_new();
    struct dr_node *a = sw_worker(w, "i-1", "za");
    sw_worker(w, "i-2", "za");
    const struct dr_pod *blocker;
    struct dr_pod *pod = sw_pod(w, a, 10, 1);
    sw_spec(w, pod)->unmodelled = true;
    CHECK(!leaves(w, "i-1", &blocker));
    CHECK(blocker == pod);
}

TEST(fit, workers_that_leave_together_need_room_together) {
    struct small_world *w = sw_new();
    struct dr_node *a = sw_worker(w, "i-1", "za");
    struct dr_node *b = sw_worker(w, "i-2", "za");
    sw_worker(w, "i-3", "za");
    sw_pod(w, a, 1100, 1);
    struct dr_pod *second = sw_pod(w, b, 1100, 1);
    const struct dr_pod *blocker;
    const struct dr_worker *worker = sw_find(w, "i-1");
    struct dr_strs both = sw_strs(w, 3, (const char *const[]){"i-2", "i-2", "i-1"});
    CHECK(!dr_fit_leaves(&w->arena, &w->fleet, worker, both, &blocker));
    sw_spec(w, second)->cpu_milli = 900;
    CHECK(dr_fit_leaves(&w->arena, &w->fleet, worker, both, &blocker));
}

TEST(fit, unknown_pods_promise_nothing) {
    struct small_world *w = sw_new();
    sw_worker(w, "i-1", "za");
    w->snap.pods_part.known = false;
    const struct dr_pod *blocker;
    CHECK(!leaves(w, "i-1", &blocker));
    CHECK(blocker == NULL);
}

/* The reference: tries every assignment of the pods from `i` on to workers 1.., without any of the code under test but the rules of one pod and one node. */
static bool brute_force(struct small_world *w, size_t i, int64_t cpu[], int64_t mem[], int64_t pods[]) {
    if (i == w->snap.pod_n) {
        return true;
    }
    const struct dr_pod *pod = &w->pods[i];
    if (!dr_str_eq(pod->node, w->nodes[0].name)) {
        return brute_force(w, i + 1, cpu, mem, pods);
    }
    for (size_t n = 1; n < w->snap.node_n; n++) {
        /* The scheduler does not look at a quantity that a pod does not request, however overcommitted the machine is. */
        bool cpu_fits = pod->spec->cpu_milli == 0 || cpu[n] >= pod->spec->cpu_milli;
        bool mem_fits = pod->spec->mem_bytes == 0 || mem[n] >= pod->spec->mem_bytes;
        bool room = cpu_fits && mem_fits && pods[n] > 0;
        if (!room || dr_fit_rules(pod->spec, &w->nodes[n]) != DR_FIT_YES) {
            continue;
        }
        cpu[n] -= pod->spec->cpu_milli;
        mem[n] -= pod->spec->mem_bytes;
        pods[n]--;
        bool found = brute_force(w, i + 1, cpu, mem, pods);
        cpu[n] += pod->spec->cpu_milli;
        mem[n] += pod->spec->mem_bytes;
        pods[n]++;
        if (found) {
            return true;
        }
    }
    return false;
}

static bool assignment_exists(struct small_world *w) {
    int64_t cpu[8];
    int64_t mem[8];
    int64_t pods[8];
    for (size_t n = 0; n < w->snap.node_n; n++) {
        cpu[n] = w->nodes[n].cpu_milli;
        mem[n] = w->nodes[n].mem_bytes;
        pods[n] = w->nodes[n].pod_limit;
    }
    for (size_t i = 0; i < w->snap.pod_n; i++) {
        for (size_t n = 1; n < w->snap.node_n; n++) {
            if (dr_str_eq(w->pods[i].node, w->nodes[n].name)) {
                cpu[n] -= w->pods[i].spec->cpu_milli;
                mem[n] -= w->pods[i].spec->mem_bytes;
                pods[n]--;
            }
        }
    }
    return brute_force(w, 0, cpu, mem, pods);
}

TEST(fit, property_promised_room_exists_by_brute_force) {
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    static const struct dr_str zones[] = {{"za", 2}, {"zb", 2}};
    int promised = 0;
    int refused = 0;
    for (int round = 0; round < 600; round++) {
        struct small_world *w = sw_new();
        const char *const ids[] = {"i-1", "i-2", "i-3", "i-4"};
        size_t node_n = (size_t)dr_rand_between(&r, 2, 4);
        for (size_t i = 0; i < node_n; i++) {
            struct dr_node *node = sw_worker(w, ids[i], dr_rand_below(&r, 2) == 0 ? "za" : "zb");
            node->cpu_milli = 1000;
            node->mem_bytes = 1000;
            node->pod_limit = dr_rand_between(&r, 1, 6);
        }
        for (int64_t i = dr_rand_between(&r, 0, 8); i > 0; i--) {
            size_t on = (size_t)dr_rand_below(&r, node_n);
            struct dr_pod *pod =
                sw_pod(w, &w->nodes[dr_rand_below(&r, 2) == 0 ? 0 : on], dr_rand_between(&r, 0, 5) * 100, dr_rand_between(&r, 0, 5) * 100);
            if (dr_rand_below(&r, 4) == 0) {
                sw_spec(w, pod)->volume_zones = (struct dr_strs){&zones[dr_rand_below(&r, 2)], 1};
            }
        }
        const struct dr_pod *blocker;
        if (leaves(w, "i-1", &blocker)) {
            CHECK(blocker == NULL);
            CHECK(assignment_exists(w));
            promised++;
        } else {
            CHECK(blocker != NULL && dr_str_eq(blocker->node, w->nodes[0].name));
            refused++;
        }
        sw_free(w);
    }
    CHECK(promised > 50 && refused > 50); /* both kinds of worlds were seen */
}
