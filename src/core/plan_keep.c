#include <string.h>

#include "core/plan.h"

static const struct dr_pod *keep_pod(struct dr_arena *arena, const struct dr_pod *pod) {
    if (pod == NULL) {
        return NULL;
    }
    struct dr_pod *kept = DR_NEW(arena, struct dr_pod);
    *kept = *pod;
    kept->ns = dr_str_dup(arena, pod->ns);
    kept->name = dr_str_dup(arena, pod->name);
    kept->uid = dr_str_dup(arena, pod->uid);
    kept->owner_uid = dr_str_dup(arena, pod->owner_uid);
    kept->node = dr_str_dup(arena, pod->node);
    kept->labels = (struct dr_labels){NULL, 0};
    kept->spec = NULL;
    return kept;
}

static const struct dr_worker *keep_worker(struct dr_arena *arena, const struct dr_worker *worker) {
    struct dr_worker *kept = DR_NEW(arena, struct dr_worker);
    *kept = *worker;
    kept->id = dr_str_dup(arena, worker->id);
    kept->zone = dr_str_dup(arena, worker->zone);
    kept->instance = NULL;
    kept->pod_n = 0;
    if (worker->node != NULL) {
        struct dr_node *node = DR_NEW(arena, struct dr_node);
        memset(node, 0, sizeof(*node));
        node->name = dr_str_dup(arena, worker->node->name);
        node->zone = kept->zone;
        kept->node = node;
    }
    return kept;
}

static void keep_victims(struct dr_arena *arena, struct dr_victims *victims) {
    struct dr_candidate *all = DR_NEW_N(arena, struct dr_candidate, victims->all_n);
    for (size_t i = 0; i < victims->all_n; i++) {
        all[i] = victims->all[i];
        all[i].worker = keep_worker(arena, victims->all[i].worker);
        all[i].pod = keep_pod(arena, victims->all[i].pod);
    }
    victims->all = all;
    struct dr_str *chosen = DR_NEW_N(arena, struct dr_str, victims->chosen.n);
    for (size_t i = 0; i < victims->chosen.n; i++) {
        chosen[i] = dr_str_dup(arena, victims->chosen.v[i]);
    }
    victims->chosen.v = chosen;
}

static void keep_waiting(struct dr_arena *arena, struct dr_pending *pending) {
    struct dr_waiting *pods = DR_NEW_N(arena, struct dr_waiting, pending->pod_n);
    for (size_t i = 0; i < pending->pod_n; i++) {
        pods[i] = pending->pods[i];
        pods[i].pod = keep_pod(arena, pending->pods[i].pod);
    }
    pending->pods = pods;
}

static struct dr_rule_result *keep_rules(struct dr_arena *arena, const struct dr_rule_result *rules, size_t n) {
    struct dr_rule_result *kept = DR_NEW_N(arena, struct dr_rule_result, n);
    for (size_t i = 0; i < n; i++) {
        kept[i] = rules[i];
        kept[i].why = dr_str_dup(arena, rules[i].why);
    }
    return kept;
}

void dr_plan_keep(struct dr_arena *arena, struct dr_plan *plan) {
    plan->up = keep_rules(arena, plan->up, plan->up_n);
    plan->down = keep_rules(arena, plan->down, plan->down_n);
    plan->pending.oldest = keep_pod(arena, plan->pending.oldest);
    keep_waiting(arena, &plan->pending);
    plan->pending.why = dr_str_dup(arena, plan->pending.why);
    plan->action_id = dr_str_dup(arena, plan->action_id);
    plan->unknown = dr_str_dup(arena, plan->unknown);
    plan->decision.detail = dr_str_dup(arena, plan->decision.detail);
    keep_victims(arena, &plan->decision.victims);
}
