/* PodDisruptionBudgets as the disruption controller reckons them. */

#include "base/num.h"
#include "sim/inner.h"

static const struct dr_str *get(struct dr_labels labels, struct dr_str key) {
    for (size_t i = 0; i < labels.n; i++) {
        if (dr_str_eq(labels.v[i].key, key)) {
            return &labels.v[i].value;
        }
    }
    return NULL;
}

static bool in(struct dr_strs values, struct dr_str s) {
    for (size_t i = 0; i < values.n; i++) {
        if (dr_str_eq(values.v[i], s)) {
            return true;
        }
    }
    return false;
}

bool sim_budget_selects(const struct dr_budget *b, struct dr_str ns, struct dr_labels labels) {
    if (!dr_str_eq(b->ns, ns)) {
        return false;
    }
    for (size_t i = 0; i < b->selector.requirement_n; i++) {
        const struct dr_requirement *r = &b->selector.requirements[i];
        const struct dr_str *have = get(labels, r->key);
        bool held = r->op == DR_OP_IN           ? have != NULL && in(r->values, *have)
                    : r->op == DR_OP_NOT_IN     ? have == NULL || !in(r->values, *have)
                    : r->op == DR_OP_EXISTS     ? have != NULL
                    : r->op == DR_OP_NOT_EXISTS ? have == NULL
                                                : false;
        if (!held) {
            return false;
        }
    }
    return true;
}

/* Percent of the pods that the controllers want, rounded up in both forms, as Kubernetes does. */
static int64_t desired(const struct dr_budget *b, int64_t expected) {
    int64_t n = b->percent ? dr_ceil_div(expected * b->value, 100) : b->value;
    return b->has_min_available ? n : dr_max_i64(0, expected - n);
}

struct sim_budget_status sim_budget_status(const struct dr_world *w, const struct dr_budget *b) {
    struct sim_budget_status s = {0, 0, 0};
    for (size_t i = 0; i < w->workload_n; i++) {
        const struct sim_workload *l = &w->workloads[i];
        if (l->w.kind == DR_WORKLOAD_DEPLOYMENT && sim_budget_selects(b, l->w.ns, l->w.labels)) {
            s.expected += l->w.replicas;
        }
    }
    for (size_t i = 0; i < w->pod_n; i++) {
        const struct sim_pod *p = &w->pods[i];
        if (!p->used || !p->ready || p->deleting) {
            continue;
        }
        const struct sim_workload *l = &w->workloads[p->workload];
        s.healthy += sim_budget_selects(b, l->w.ns, l->w.labels);
    }
    s.desired = desired(b, s.expected);
    return s;
}

int dr_world_add_budget(struct dr_world *world, const struct dr_budget *budget, struct dr_err *err) {
    if (budget->value < 0 || (budget->percent && budget->value > 100)) {
        return dr_fail(err, DR_E_INVALID, "budget %.*s: value %lld: 0 or more, at most 100 %%", DR_FMT(budget->name),
                       (long long)budget->value);
    }
    if (world->budget_n == SIM_MAX_BUDGETS) {
        return dr_fail(err, DR_E_LIMIT, "budget %.*s: more than %d budgets", DR_FMT(budget->name), SIM_MAX_BUDGETS);
    }
    struct sim_budget *b = &world->budgets[world->budget_n++];
    *b = (struct sim_budget){*budget};
    b->b.ns = budget->ns.n == 0 ? DR_STR("default") : sim_str(world, budget->ns);
    b->b.name = sim_str(world, budget->name);
    b->b.selector = sim_term(world, budget->selector);
    sim_dirty(world, SIM_BUDGETS);
    return 0;
}

bool dr_world_remove_budget(struct dr_world *world, struct dr_str name) {
    for (size_t i = 0; i < world->budget_n; i++) {
        if (dr_str_eq(world->budgets[i].b.name, name)) {
            world->budgets[i] = world->budgets[--world->budget_n];
            sim_dirty(world, SIM_BUDGETS);
            return true;
        }
    }
    return false;
}
