/* Any bytes as a page of any list: an error with a text, or a list whose every part can be looked at. */
#include "adapter/kubernetes/read.h"
#include "core/match.h"
#include "harness/fuzz.h"

static void look_at_pods(const struct dr_pod *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        DR_ASSERT(v[i].name.n > 0 && v[i].uid.n > 0 && v[i].spec != NULL);
        DR_ASSERT(v[i].spec->cpu_milli >= 0 && v[i].spec->mem_bytes >= 0 && v[i].grace_ms >= 0);
        int there = dr_pod_spec_cmp(v[i].spec, v[0].spec);
        int back = dr_pod_spec_cmp(v[0].spec, v[i].spec);
        DR_ASSERT((there < 0) == (back > 0) && (there > 0) == (back < 0));
        for (size_t k = 0; k < v[i].labels.n; k++) {
            DR_ASSERT(dr_labels_get(v[i].labels, v[i].labels.v[k].key) != NULL);
        }
    }
}

static void try_pods(struct dr_arena *arena, struct dr_str body, bool with_volumes) {
    struct dr_kube_pool pool;
    struct dr_kube_pods pods;
    struct dr_kube_volumes volumes;
    struct dr_kube_page page;
    struct dr_err err = {.code = DR_OK};
    const struct dr_pod *v;
    size_t n;
    dr_kube_pool_init(&pool, arena);
    dr_kube_pods_init(&pods, &pool);
    dr_kube_volumes_init(&volumes, &pool);
    volumes.known = with_volumes;
    if (dr_kube_pods_page(&pods, body, &page, &err) == 0) {
        dr_kube_pods_finish(&pods, &volumes, &v, &n);
        DR_ASSERT(n == page.item_n);
        look_at_pods(v, n);
    } else {
        DR_ASSERT(err.code != DR_OK && err.text[0] != '\0');
    }
    dr_kube_volumes_deinit(&volumes);
    dr_kube_pods_deinit(&pods);
    dr_kube_pool_deinit(&pool);
}

static void try_others(struct dr_arena *arena, struct dr_str body) {
    struct dr_kube_pool pool;
    struct dr_kube_nodes nodes;
    struct dr_kube_budgets budgets;
    struct dr_kube_volumes volumes;
    struct dr_kube_page page;
    struct dr_err err = {.code = DR_OK};
    const struct dr_node *node;
    const struct dr_budget *budget;
    size_t n;
    dr_kube_pool_init(&pool, arena);
    dr_kube_nodes_init(&nodes, &pool);
    dr_kube_budgets_init(&budgets, &pool);
    dr_kube_volumes_init(&volumes, &pool);
    if (dr_kube_nodes_page(&nodes, body, &page, &err) == 0) {
        dr_kube_nodes_finish(&nodes, &node, &n);
        for (size_t i = 0; i < n; i++) {
            DR_ASSERT(node[i].name.n > 0 && node[i].resource_version.n > 0 && node[i].cpu_milli >= 0);
        }
    }
    if (dr_kube_budgets_page(&budgets, body, &page, &err) == 0) {
        dr_kube_budgets_finish(&budgets, &budget, &n);
        DR_ASSERT(n <= page.item_n);
    }
    (void)dr_kube_claims_page(&volumes, body, &page, &err);
    (void)dr_kube_volumes_page(&volumes, body, &page, &err);
    (void)dr_kube_classes_page(&volumes, body, &page, &err);
    dr_kube_volumes_deinit(&volumes);
    dr_kube_budgets_deinit(&budgets);
    dr_kube_nodes_deinit(&nodes);
    dr_kube_pool_deinit(&pool);
}

DR_FUZZ(kube_lists) {
    struct dr_arena arena;
    struct dr_str body = {(const char *)data, n};
    dr_arena_init(&arena, 0);
    try_pods(&arena, body, false);
    try_pods(&arena, body, true);
    try_others(&arena, body);
    dr_arena_deinit(&arena);
}
