#include <stdlib.h>

#include "adapter/kubernetes/read.h"

void dr_kube_budgets_init(struct dr_kube_budgets *budgets, struct dr_kube_pool *pool) { *budgets = (struct dr_kube_budgets){.pool = pool}; }

void dr_kube_budgets_deinit(struct dr_kube_budgets *budgets) {
    free(budgets->v);
    budgets->v = NULL;
}

struct reading {
    struct dr_kube_pool *pool;
    struct dr_budget *ret;
    struct dr_kube_list requirements;
    bool has_selector;
    bool odd; /* an operator that we do not know */
    bool has_allowed;
    int64_t observed;
};

/* A number, or a text such as "25%". */
static int read_bound(struct dr_kube_walk *w, bool min_available, struct dr_budget *ret, struct dr_err *err) {
    enum dr_json_type type;
    struct dr_str text;
    if (dr_json_peek(&w->j, &type, err) < 0) {
        return -1;
    }
    if (type == DR_JSON_NULL) {
        return dr_json_null(&w->j, err);
    }
    ret->has_min_available = min_available;
    ret->percent = type == DR_JSON_STRING;
    if (!ret->percent) {
        return dr_json_i64(&w->j, &ret->value, err);
    }
    if (dr_json_str(&w->j, w->arena, &text, err) < 0) {
        return -1;
    }
    if (!dr_str_ends(text, "%") || !dr_str_to_i64(dr_str_sub(text, 0, text.n - 1), &ret->value) || ret->value < 0) {
        return dr_fail(err, DR_E_INVALID, "\"%.*s\" is neither a number nor a percentage", (int)(text.n > 40 ? 40 : text.n), text.p);
    }
    return 0;
}

static int add_labels(struct dr_kube_walk *w, struct reading *rd, struct dr_err *err) {
    struct dr_labels labels = {NULL, 0};
    if (dr_kube_labels_read(rd->pool, w, &labels, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < labels.n; i++) {
        struct dr_requirement *at = dr_kube_list_add(&rd->requirements, &rd->pool->page, sizeof *at);
        if (at == NULL) {
            return dr_fail(err, DR_E_LIMIT, "more than %d requirements", DR_KUBE_MAX_LIST);
        }
        *at = (struct dr_requirement){labels.v[i].key, DR_OP_IN, {&labels.v[i].value, 1}};
    }
    return 0;
}

static int read_selector(struct dr_kube_walk *w, struct reading *rd, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "spec.selector";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    rd->has_selector = r > 0;
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "matchLabels")) {
            r = add_labels(w, rd, err);
        } else if (DR_KEY_IS(&key, "matchExpressions")) {
            r = dr_kube_requirements_read(rd->pool, w, &rd->requirements, &rd->odd, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_spec(struct dr_kube_walk *w, struct reading *rd, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "spec";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "minAvailable")) {
            w->field = "spec.minAvailable";
            r = read_bound(w, true, rd->ret, err);
        } else if (DR_KEY_IS(&key, "maxUnavailable")) {
            w->field = "spec.maxUnavailable";
            r = read_bound(w, false, rd->ret, err);
        } else if (DR_KEY_IS(&key, "selector")) {
            r = read_selector(w, rd, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_status(struct dr_kube_walk *w, struct reading *rd, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "status";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "disruptionsAllowed")) {
            w->field = "status.disruptionsAllowed";
            r = dr_kube_i64(w, &rd->ret->disruptions_allowed, err);
            rd->has_allowed = r > 0;
        } else if (DR_KEY_IS(&key, "expectedPods")) {
            w->field = "status.expectedPods";
            r = dr_kube_i64(w, &rd->ret->expected_pods, err);
        } else if (DR_KEY_IS(&key, "observedGeneration")) {
            w->field = "status.observedGeneration";
            r = dr_kube_i64(w, &rd->observed, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static struct dr_budget *new_budget(struct dr_kube_budgets *budgets, struct dr_err *err) {
    if (budgets->n == DR_KUBE_MAX_BUDGETS) {
        (void)dr_fail(err, DR_E_LIMIT, "more than %d budgets", DR_KUBE_MAX_BUDGETS);
        return NULL;
    }
    if (budgets->n == budgets->cap) {
        budgets->cap = budgets->cap == 0 ? 64 : budgets->cap * 2;
        budgets->v = realloc(budgets->v, budgets->cap * sizeof *budgets->v);
        DR_ASSERT(budgets->v != NULL);
    }
    struct dr_budget *budget = &budgets->v[budgets->n];
    *budget = (struct dr_budget){.value = 0};
    return budget;
}

static int read_budget(void *self, struct dr_kube_walk *w, struct dr_err *err) {
    struct dr_kube_budgets *budgets = self;
    struct dr_json_key key;
    struct dr_kube_meta meta = {.owner = DR_OWNER_NONE};
    struct dr_budget *budget = new_budget(budgets, err);
    struct reading rd = {.pool = budgets->pool, .ret = budget};
    if (budget == NULL) {
        return -1;
    }
    int r = dr_json_enter(&w->j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "metadata")) {
            r = dr_kube_meta_read(w, &meta, err);
        } else if (DR_KEY_IS(&key, "spec")) {
            r = read_spec(w, &rd, err);
        } else if (DR_KEY_IS(&key, "status")) {
            r = read_status(w, &rd, err);
        }
        r = r < 0 ? -1 : 1;
    }
    if (r < 0) {
        return -1;
    }
    w->field = "spec.selector";
    if (rd.odd) {
        return dr_fail(err, DR_E_INVALID, "an operator other than In, NotIn, Exists and DoesNotExist");
    }
    if (!rd.has_selector) {
        return 0;
    }
    budget->ns = dr_intern_str(&budgets->pool->strings, meta.ns);
    budget->name = dr_intern_str(&budgets->pool->strings, meta.name);
    budget->selector.requirements = dr_kube_list_copy(&rd.requirements, budgets->pool->arena, sizeof(struct dr_requirement));
    budget->selector.requirement_n = rd.requirements.n;
    /* A status of an older spec says nothing. */
    budget->has_status = rd.has_allowed && rd.observed >= meta.generation;
    budgets->n++;
    return 0;
}

int dr_kube_budgets_page(struct dr_kube_budgets *budgets, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err) {
    return dr_kube_page_read(budgets->pool, body, "PodDisruptionBudgetList", read_budget, budgets, ret, err);
}

void dr_kube_budgets_finish(struct dr_kube_budgets *budgets, const struct dr_budget **ret, size_t *ret_n) {
    struct dr_budget *v = DR_NEW_N(budgets->pool->arena, struct dr_budget, budgets->n);
    if (budgets->n > 0) {
        memcpy(v, budgets->v, budgets->n * sizeof *v);
    }
    *ret = v;
    *ret_n = budgets->n;
    dr_kube_budgets_deinit(budgets);
    budgets->n = budgets->cap = 0;
}
