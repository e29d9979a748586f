/* The stored form of a plan; the keys are documented in plan.h and read back by plan_read.c. */
#include "core/plan.h"

#define DETAIL_MAX 4096

static void put_str(struct dr_jsonw *w, const char *key, struct dr_str s) {
    if (s.n > 0) {
        dr_jsonw_kv_str(w, key, s);
    }
}

static void put_i64(struct dr_jsonw *w, const char *key, int64_t v) {
    if (v != 0) {
        dr_jsonw_kv_i64(w, key, v);
    }
}

static void put_true(struct dr_jsonw *w, const char *key, bool v) {
    if (v) {
        dr_jsonw_kv_bool(w, key, v);
    }
}

static void put_pod(struct dr_jsonw *w, const char *key, const struct dr_pod *pod) {
    if (pod == NULL) {
        return;
    }
    dr_jsonw_key(w, key);
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "namespace", pod->ns);
    dr_jsonw_kv_str(w, "name", pod->name);
    dr_jsonw_end(w);
}

static void put_decision(struct dr_jsonw *w, const struct dr_plan *plan) {
    const struct dr_decision *decision = &plan->decision;
    dr_jsonw_kv_cstr(w, "verdict", dr_verdict_name(decision->verdict));
    dr_jsonw_kv_cstr(w, "reason", dr_reason_name(decision->reason));
    dr_jsonw_kv_i64(w, "delta", decision->delta);
    struct dr_buf detail;
    dr_buf_init(&detail, DETAIL_MAX);
    dr_decision_detail(plan, &detail);
    dr_jsonw_kv_str(w, "detail", dr_buf_str(&detail));
    dr_buf_deinit(&detail);
    put_true(w, "urgent", decision->urgent);
    put_i64(w, "wanted", decision->wanted);
    if (decision->clamped_by != NULL) {
        dr_jsonw_kv_cstr(w, "clampedBy", decision->clamped_by);
    }
    put_i64(w, "leftMs", decision->left_ms);
    dr_jsonw_kv_cstr(w, "pressure", dr_truth_name(plan->pressure));
    dr_jsonw_kv_cstr(w, "idle", dr_truth_name(plan->idle));
    put_i64(w, "idleMs", plan->idle_ms);
}

static void put_workers(struct dr_jsonw *w, const struct dr_plan *plan) {
    dr_jsonw_key(w, "workers");
    dr_jsonw_object(w);
    dr_jsonw_kv_bool(w, "known", plan->workers_known);
    dr_jsonw_kv_i64(w, "count", plan->worker_count);
    dr_jsonw_kv_i64(w, "live", plan->live);
    dr_jsonw_kv_i64(w, "planned", plan->planned);
    dr_jsonw_kv_i64(w, "held", plan->held);
    dr_jsonw_kv_i64(w, "minimum", plan->min_workers);
    dr_jsonw_kv_i64(w, "maximum", plan->max_workers);
    dr_jsonw_end(w);
}

static void put_rule(struct dr_jsonw *w, const struct dr_rule_result *result) {
    const struct dr_rule *rule = result->rule;
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "rule", rule->name);
    dr_jsonw_kv_cstr(w, "kind", rule->kind == DR_RULE_PENDING ? "pending" : "signal");
    dr_jsonw_kv_cstr(w, "truth", dr_truth_name(result->truth));
    put_true(w, "spike", result->spike);
    dr_jsonw_kv_cstr(w, "compare", dr_compare_sign(rule->compare));
    dr_jsonw_kv_micro(w, "threshold", rule->threshold_micro);
    put_i64(w, "forMs", rule->for_ms);
    if (rule->readings > 1) {
        dr_jsonw_kv_i64(w, "readings", rule->readings);
    }
    put_true(w, "ratio", rule->ratio);
    if (result->has_value) {
        dr_jsonw_kv_micro(w, "value", result->value_micro);
    }
    put_i64(w, "heldMs", result->held_ms);
    put_i64(w, "streak", result->streak);
    put_str(w, "why", result->why);
    dr_jsonw_end(w);
}

static void put_rules(struct dr_jsonw *w, const char *key, const struct dr_rule_result *results, size_t n) {
    dr_jsonw_key(w, key);
    dr_jsonw_array(w);
    for (size_t i = 0; i < n; i++) {
        put_rule(w, &results[i]);
    }
    dr_jsonw_end(w);
}

static void put_waiting(struct dr_jsonw *w, const struct dr_pending *pending) {
    if (pending->pod_n == 0) {
        return;
    }
    dr_jsonw_key(w, "pods");
    dr_jsonw_array(w);
    for (size_t i = 0; i < pending->pod_n; i++) {
        const struct dr_waiting *waiting = &pending->pods[i];
        dr_jsonw_object(w);
        dr_jsonw_kv_str(w, "namespace", waiting->pod->ns);
        dr_jsonw_kv_str(w, "name", waiting->pod->name);
        put_i64(w, "sinceMs", waiting->since_ms);
        put_true(w, "helpable", waiting->helpable);
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
}

static void put_pending(struct dr_jsonw *w, const struct dr_pending *pending) {
    dr_jsonw_key(w, "pending");
    dr_jsonw_object(w);
    dr_jsonw_kv_bool(w, "known", pending->known);
    put_str(w, "why", pending->why);
    dr_jsonw_kv_i64(w, "waiting", pending->waiting);
    dr_jsonw_kv_i64(w, "helpable", pending->helpable);
    dr_jsonw_kv_i64(w, "remainder", pending->remainder);
    put_i64(w, "successors", pending->successors);
    put_i64(w, "sinceMs", pending->since_ms);
    put_i64(w, "workersNeeded", pending->workers_needed);
    put_true(w, "unmodelledOnly", pending->unmodelled_only);
    put_pod(w, "oldest", pending->oldest);
    put_waiting(w, pending);
    dr_jsonw_end(w);
}

static void put_candidate(struct dr_jsonw *w, const struct dr_candidate *candidate) {
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "id", candidate->worker->id);
    if (candidate->worker->node != NULL) {
        dr_jsonw_kv_str(w, "node", candidate->worker->node->name);
    }
    dr_jsonw_kv_str(w, "zone", candidate->worker->zone);
    dr_jsonw_kv_cstr(w, "verdict", dr_victim_name(candidate->verdict));
    put_pod(w, "pod", candidate->pod);
    dr_jsonw_end(w);
}

static void put_victims(struct dr_jsonw *w, const struct dr_victims *victims) {
    if (victims->all_n == 0 && victims->chosen.n == 0) {
        return;
    }
    dr_jsonw_key(w, "victims");
    dr_jsonw_object(w);
    dr_jsonw_key(w, "chosen");
    dr_jsonw_array(w);
    for (size_t i = 0; i < victims->chosen.n; i++) {
        dr_jsonw_str(w, victims->chosen.v[i]);
    }
    dr_jsonw_end(w);
    dr_jsonw_key(w, "candidates");
    dr_jsonw_array(w);
    for (size_t i = 0; i < victims->all_n; i++) {
        put_candidate(w, &victims->all[i]);
    }
    dr_jsonw_end(w);
    dr_jsonw_end(w);
}

static void put_deeds(struct dr_jsonw *w, const struct dr_plan *plan) {
    if (plan->deed_n == 0) {
        return;
    }
    dr_jsonw_key(w, "deeds");
    dr_jsonw_array(w);
    for (size_t i = 0; i < plan->deed_n; i++) {
        const struct dr_deed *deed = &plan->deeds[i];
        dr_jsonw_object(w);
        dr_jsonw_kv_i64(w, "at", deed->at_ms);
        dr_jsonw_kv_cstr(w, "what", deed->what);
        put_str(w, "target", deed->target);
        put_str(w, "outcome", deed->outcome);
        put_i64(w, "rule", deed->rule);
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
}

void dr_plan_json(const struct dr_plan *plan, struct dr_jsonw *w) {
    dr_jsonw_object(w);
    dr_jsonw_kv_i64(w, "at", plan->at_ms);
    dr_jsonw_kv_str(w, "cluster", plan->cluster);
    put_str(w, "requestId", plan->request_id);
    put_str(w, "actionId", plan->action_id);
    put_decision(w, plan);
    put_workers(w, plan);
    put_rules(w, "up", plan->up, plan->up_n);
    put_rules(w, "down", plan->down, plan->down_n);
    put_pending(w, &plan->pending);
    put_victims(w, &plan->decision.victims);
    put_deeds(w, plan);
    put_str(w, "unknown", plan->unknown);
    dr_jsonw_end(w);
}
