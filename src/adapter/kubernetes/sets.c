/* Label sets, requirements, affinities and tolerations: parsed once per text that occurs. */

#include "adapter/kubernetes/read.h"

int dr_kube_labels_read(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_labels *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_kube_list list = {.n = 0};
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        struct dr_str value = DR_STR_NONE;
        struct dr_label *label = dr_kube_list_add(&list, &pool->page, sizeof *label);
        if (label == NULL) {
            return dr_fail(err, DR_E_LIMIT, "more than %d labels", DR_KUBE_MAX_LIST);
        }
        r = dr_kube_str(w, &value, err) < 0 ? -1 : 1;
        label->key = dr_intern_str(&pool->strings, dr_json_key_str(&key, &pool->page));
        label->value = dr_intern_str(&pool->strings, value);
    }
    *ret = (struct dr_labels){dr_kube_list_copy(&list, pool->arena, sizeof(struct dr_label)), list.n};
    return r;
}

static bool op_of(struct dr_str text, enum dr_match_op *ret) {
    static const struct {
        const char *name;
        enum dr_match_op op;
    } ops[] = {{"In", DR_OP_IN}, {"NotIn", DR_OP_NOT_IN}, {"Exists", DR_OP_EXISTS}, {"DoesNotExist", DR_OP_NOT_EXISTS},
               {"Gt", DR_OP_GT}, {"Lt", DR_OP_LT}};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (dr_str_is(text, ops[i].name)) {
            *ret = ops[i].op;
            return true;
        }
    }
    return false;
}

static int read_values(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_strs *ret, struct dr_err *err) {
    struct dr_kube_list list = {.n = 0};
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        struct dr_str value = DR_STR_NONE;
        struct dr_str *at = dr_kube_list_add(&list, &pool->page, sizeof *at);
        if (at == NULL) {
            return dr_fail(err, DR_E_LIMIT, "more than %d values", DR_KUBE_MAX_LIST);
        }
        r = dr_kube_str(w, &value, err) < 0 ? -1 : 1;
        *at = dr_intern_str(&pool->strings, value);
    }
    *ret = (struct dr_strs){dr_kube_list_copy(&list, pool->arena, sizeof(struct dr_str)), list.n};
    return r;
}

static int read_requirement(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_requirement *ret, bool *odd, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str op = DR_STR_NONE;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "key")) {
            struct dr_str name = DR_STR_NONE;
            r = dr_kube_str(w, &name, err);
            ret->key = dr_intern_str(&pool->strings, name);
        } else if (DR_KEY_IS(&key, "operator")) {
            r = dr_kube_str(w, &op, err);
        } else if (DR_KEY_IS(&key, "values")) {
            r = read_values(pool, w, &ret->values, err);
        }
        r = r < 0 ? -1 : 1;
    }
    *odd = !op_of(op, &ret->op) || *odd;
    return r;
}

int dr_kube_requirements_read(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_list *ret, bool *odd, struct dr_err *err) {
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        struct dr_requirement *at = dr_kube_list_add(ret, &pool->page, sizeof *at);
        if (at == NULL) {
            return dr_fail(err, DR_E_LIMIT, "more than %d requirements", DR_KUBE_MAX_LIST);
        }
        r = read_requirement(pool, w, at, odd, err) < 0 ? -1 : 1;
    }
    return r;
}

/*
 * matchFields knows one field, metadata.name. No node has a label of that name, so a pod that asks for a node by name finds none among workers to come, and
 * none to move to: both are true.
 */
static int read_term(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_term *ret, bool *odd, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_kube_list list = {.n = 0};
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "matchExpressions") || DR_KEY_IS(&key, "matchFields")) {
            r = dr_kube_requirements_read(pool, w, &list, odd, err);
        }
        r = r < 0 ? -1 : 1;
    }
    *ret = (struct dr_term){dr_kube_list_copy(&list, pool->arena, sizeof(struct dr_requirement)), list.n};
    return r;
}

static int read_terms(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_affinity *ret, struct dr_err *err) {
    struct dr_kube_list list = {.n = 0};
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        struct dr_term *at = dr_kube_list_add(&list, &pool->page, sizeof *at);
        if (at == NULL) {
            return dr_fail(err, DR_E_LIMIT, "more than %d node selector terms", DR_KUBE_MAX_LIST);
        }
        r = read_term(pool, w, at, &ret->unmodelled, err) < 0 ? -1 : 1;
    }
    ret->terms = dr_kube_list_copy(&list, pool->arena, sizeof(struct dr_term));
    ret->term_n = list.n;
    return r;
}

/* The value of nodeAffinity, podAffinity or podAntiAffinity: only what is required counts. */
static int read_required(struct dr_kube_pool *pool, struct dr_kube_walk *w, bool of_nodes, struct dr_kube_affinity *ret,
                         struct dr_err *err) {
    struct dr_json_key key;
    struct dr_json_key inner;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (!DR_KEY_IS(&key, "requiredDuringSchedulingIgnoredDuringExecution")) {
            continue;
        }
        if (!of_nodes) {
            r = dr_kube_enter(w, DR_JSON_ARRAY, err);
            if (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
                ret->unmodelled = true;
                r = dr_json_leave(&w->j, err);
            }
        } else {
            r = dr_kube_enter(w, DR_JSON_OBJECT, err);
            while (r > 0 && (r = dr_json_next_key(&w->j, &inner, err)) > 0) {
                r = DR_KEY_IS(&inner, "nodeSelectorTerms") ? read_terms(pool, w, ret, err) : 0;
                r = r < 0 ? -1 : 1;
            }
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_affinity(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_affinity *ret, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "nodeAffinity")) {
            r = read_required(pool, w, true, ret, err);
        } else if (DR_KEY_IS(&key, "podAffinity") || DR_KEY_IS(&key, "podAntiAffinity")) {
            r = read_required(pool, w, false, ret, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static bool effect_of(struct dr_str text, enum dr_taint_effect *ret) {
    *ret = dr_str_is(text, "NoSchedule")         ? DR_TAINT_NO_SCHEDULE
           : dr_str_is(text, "PreferNoSchedule") ? DR_TAINT_PREFER_NO_SCHEDULE
                                                 : DR_TAINT_NO_EXECUTE;
    return *ret != DR_TAINT_NO_EXECUTE || dr_str_is(text, "NoExecute");
}

/* True in `known` if it says something that we understand; one that we do not tolerates nothing. */
static int read_toleration(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_toleration *ret, bool *known, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str name = DR_STR_NONE;
    struct dr_str value = DR_STR_NONE;
    struct dr_str op = DR_STR_NONE;
    struct dr_str effect = DR_STR_NONE;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "key")) {
            r = dr_kube_str(w, &name, err);
        } else if (DR_KEY_IS(&key, "operator")) {
            r = dr_kube_str(w, &op, err);
        } else if (DR_KEY_IS(&key, "value")) {
            r = dr_kube_str(w, &value, err);
        } else if (DR_KEY_IS(&key, "effect")) {
            r = dr_kube_str(w, &effect, err);
        }
        r = r < 0 ? -1 : 1;
    }
    *ret = (struct dr_toleration){.key = dr_intern_str(&pool->strings, name),
                                  .value = dr_intern_str(&pool->strings, value),
                                  .exists = dr_str_is(op, "Exists"),
                                  .any_effect = effect.n == 0};
    *known = (effect.n == 0 || effect_of(effect, &ret->effect)) && (ret->exists || op.n == 0 || dr_str_is(op, "Equal"));
    return r;
}

static int read_tolerations(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_tolerations *ret, struct dr_err *err) {
    struct dr_kube_list list = {.n = 0};
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        bool known = false;
        struct dr_toleration *at = dr_kube_list_add(&list, &pool->page, sizeof *at);
        if (at == NULL) {
            return dr_fail(err, DR_E_LIMIT, "more than %d tolerations", DR_KUBE_MAX_LIST);
        }
        r = read_toleration(pool, w, at, &known, err) < 0 ? -1 : 1;
        list.n -= known ? 0 : 1;
    }
    *ret = (struct dr_kube_tolerations){dr_kube_list_copy(&list, pool->arena, sizeof(struct dr_toleration)), list.n};
    return r;
}

/* A walk over a part of the page that was checked before. */
static struct dr_kube_walk walk_over(struct dr_kube_pool *pool, struct dr_str raw) {
    struct dr_kube_walk w = {.arena = &pool->page, .field = ""};
    dr_json_init(&w.j, raw, 0);
    return w;
}

int dr_kube_labels_id(struct dr_kube_pool *pool, struct dr_str raw, uint32_t *ret, struct dr_err *err) {
    *ret = dr_intern_id(&pool->labels, raw);
    if (*ret == 0 || pool->labels.items[*ret].value != NULL) {
        return 0;
    }
    struct dr_kube_walk w = walk_over(pool, raw);
    struct dr_labels *labels = DR_NEW(pool->arena, struct dr_labels);
    pool->labels.items[*ret].value = labels;
    return dr_kube_labels_read(pool, &w, labels, err);
}

int dr_kube_tolerations_id(struct dr_kube_pool *pool, struct dr_str raw, uint32_t *ret, struct dr_err *err) {
    *ret = dr_intern_id(&pool->tolerations, raw);
    if (*ret == 0 || pool->tolerations.items[*ret].value != NULL) {
        return 0;
    }
    struct dr_kube_walk w = walk_over(pool, raw);
    struct dr_kube_tolerations *tolerations = DR_NEW(&pool->scratch, struct dr_kube_tolerations);
    pool->tolerations.items[*ret].value = tolerations;
    return read_tolerations(pool, &w, tolerations, err);
}

int dr_kube_affinity_id(struct dr_kube_pool *pool, struct dr_str raw, uint32_t *ret, struct dr_err *err) {
    *ret = dr_intern_id(&pool->affinities, raw);
    if (*ret == 0 || pool->affinities.items[*ret].value != NULL) {
        return 0;
    }
    struct dr_kube_walk w = walk_over(pool, raw);
    struct dr_kube_affinity *affinity = DR_NEW(&pool->scratch, struct dr_kube_affinity);
    pool->affinities.items[*ret].value = affinity;
    return read_affinity(pool, &w, affinity, err);
}

struct dr_labels dr_kube_labels_get(const struct dr_kube_pool *pool, uint32_t id) {
    DR_ASSERT(id < pool->labels.item_n);
    const struct dr_labels *labels = pool->labels.items[id].value;
    return labels == NULL ? (struct dr_labels){NULL, 0} : *labels;
}
