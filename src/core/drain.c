#include "core/drain.h"

#include "base/num.h"
#include "core/match.h"

enum dr_pod_class dr_pod_classify(const struct dr_pod *pod) {
    if (pod->owner == DR_OWNER_DAEMONSET || pod->owner == DR_OWNER_MIRROR) {
        return DR_POD_STAYS;
    }
    if (pod->phase == DR_PHASE_SUCCEEDED || pod->phase == DR_PHASE_FAILED) {
        return DR_POD_FINISHED;
    }
    if (pod->deleting) {
        return DR_POD_LEAVING;
    }
    if (pod->critical || dr_str_is(pod->ns, "kube-system")) {
        return DR_POD_CRITICAL;
    }
    if (pod->owner == DR_OWNER_NONE) {
        return DR_POD_BARE;
    }
    return pod->local_data ? DR_POD_LOCAL : DR_POD_EVICT;
}

bool dr_pod_must_leave(const struct dr_pod *pod) { return dr_pod_classify(pod) >= DR_POD_CRITICAL; }

enum dr_pod_class dr_pod_obstacle(const struct dr_config *cfg, const struct dr_pod *pod) {
    enum dr_pod_class class = dr_pod_classify(pod);
    if (class < DR_POD_CRITICAL) {
        return DR_POD_EVICT;
    }
    if (class == DR_POD_CRITICAL || (class == DR_POD_BARE && !cfg->allow_bare_pods)) {
        return class;
    }
    return pod->local_data && !cfg->allow_local_data ? DR_POD_LOCAL : DR_POD_EVICT;
}

static struct dr_strs collect_owners(struct dr_arena *arena, const struct dr_pod **pods, size_t n) {
    struct dr_str *v = DR_NEW_N(arena, struct dr_str, n);
    struct dr_strs owners = {v, 0};
    for (size_t i = 0; i < n; i++) {
        if (pods[i]->owner_uid.n > 0 && !dr_strs_has(owners, pods[i]->owner_uid)) {
            v[owners.n++] = pods[i]->owner_uid;
        }
    }
    return owners;
}

void dr_drain_work_out(struct dr_arena *arena, const struct dr_config *cfg, struct dr_fleet *fleet, const struct dr_worker *worker,
                       bool forced, struct dr_drain_plan *ret) {
    dr_fleet_index_pods(arena, fleet);
    *ret = (struct dr_drain_plan){.evict = DR_NEW_N(arena, const struct dr_pod *, worker->pod_n)};
    for (size_t i = 0; i < worker->pod_n; i++) {
        const struct dr_pod *pod = dr_fleet_pod(fleet, worker, i);
        enum dr_pod_class class = dr_pod_classify(pod);
        if (class == DR_POD_STAYS || class == DR_POD_FINISHED) {
            continue;
        }
        ret->remaining++;
        if (class == DR_POD_LEAVING) {
            continue;
        }
        if (forced || dr_pod_obstacle(cfg, pod) == DR_POD_EVICT) {
            ret->evict[ret->evict_n++] = pod;
        } else if (ret->blocker == NULL) {
            ret->blocker = pod;
        }
    }
    ret->owner_uids = collect_owners(arena, ret->evict, ret->evict_n);
}

bool dr_budget_selects(const struct dr_budget *budget, const struct dr_pod *pod) {
    return dr_str_eq(budget->ns, pod->ns) && dr_match_term(&budget->selector, dr_label_source_of(&pod->labels));
}

static int64_t scaled(const struct dr_budget *budget, int64_t expected) {
    return budget->percent ? dr_ceil_div(dr_sat_mul(dr_max_i64(budget->value, 0), expected), 100) : budget->value;
}

int64_t dr_budget_allows(const struct dr_budget *budget, const struct dr_snapshot *snap) {
    if (budget->has_status) {
        return dr_max_i64(budget->disruptions_allowed, 0);
    }
    int64_t there = 0;
    int64_t healthy = 0;
    for (size_t i = 0; i < snap->pod_n; i++) {
        const struct dr_pod *pod = &snap->pods[i];
        if (pod->phase != DR_PHASE_SUCCEEDED && pod->phase != DR_PHASE_FAILED && dr_budget_selects(budget, pod)) {
            there++;
            healthy += pod->ready && !pod->deleting;
        }
    }
    int64_t expected = budget->expected_pods > 0 ? budget->expected_pods : there;
    int64_t value = scaled(budget, expected);
    int64_t desired = budget->has_min_available ? value : dr_max_i64(expected - value, 0);
    return expected > 0 ? dr_max_i64(healthy - desired, 0) : 0;
}

const struct dr_pod *dr_budget_blocks(const struct dr_snapshot *snap, struct dr_fleet *fleet, const struct dr_worker *worker) {
    DR_ASSERT(fleet->pods_indexed || !snap->pods_part.known);
    for (size_t i = 0; i < worker->pod_n; i++) {
        const struct dr_pod *pod = dr_fleet_pod(fleet, worker, i);
        if (!dr_pod_must_leave(pod)) {
            continue;
        }
        size_t selecting = 0;
        for (size_t k = 0; k < snap->budget_n; k++) {
            if (!dr_budget_selects(&snap->budgets[k], pod)) {
                continue;
            }
            selecting++;
            if (selecting > 1 || dr_budget_allows(&snap->budgets[k], snap) < 1) {
                return pod;
            }
        }
    }
    return NULL;
}
