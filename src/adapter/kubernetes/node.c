#include <stdlib.h>

#include "adapter/kubernetes/quantity.h"
#include "adapter/kubernetes/read.h"
#include "base/time.h"

void dr_kube_nodes_init(struct dr_kube_nodes *nodes, struct dr_kube_pool *pool) { *nodes = (struct dr_kube_nodes){.pool = pool}; }

void dr_kube_nodes_deinit(struct dr_kube_nodes *nodes) {
    free(nodes->v);
    nodes->v = NULL;
}

static int read_taint(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_taint *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str name = DR_STR_NONE;
    struct dr_str value = DR_STR_NONE;
    struct dr_str effect = DR_STR_NONE;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "key")) {
            r = dr_kube_str(w, &name, err);
        } else if (DR_KEY_IS(&key, "value")) {
            r = dr_kube_str(w, &value, err);
        } else if (DR_KEY_IS(&key, "effect")) {
            r = dr_kube_str(w, &effect, err);
        }
        r = r < 0 ? -1 : 1;
    }
    ret->key = dr_intern_str(&pool->strings, name);
    ret->value = dr_intern_str(&pool->strings, value);
    /* An effect that we do not know keeps pods away: better than sending them there. */
    ret->effect = dr_str_is(effect, "PreferNoSchedule") ? DR_TAINT_PREFER_NO_SCHEDULE
                  : dr_str_is(effect, "NoExecute")      ? DR_TAINT_NO_EXECUTE
                                                        : DR_TAINT_NO_SCHEDULE;
    return r;
}

/*
 * The node controller repeats the Ready condition and spec.unschedulable as taints, some moments later: a machine that has just joined is Ready and still tainted. What these
 * taints say is known from its source, and in those moments they would make waiting pods ask for one machine more.
 */
static bool repeats_a_condition(struct dr_str key) {
    return dr_str_is(key, "node.kubernetes.io/not-ready") || dr_str_is(key, "node.kubernetes.io/unreachable") ||
           dr_str_is(key, "node.kubernetes.io/unschedulable");
}

static int read_taints(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_node *ret, struct dr_err *err) {
    struct dr_kube_list list = {.n = 0};
    w->field = "spec.taints";
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        struct dr_taint *at = dr_kube_list_add(&list, &pool->page, sizeof *at);
        if (at == NULL) {
            return dr_fail(err, DR_E_LIMIT, "more than %d taints", DR_KUBE_MAX_LIST);
        }
        r = read_taint(pool, w, at, err) < 0 ? -1 : 1;
        list.n -= repeats_a_condition(at->key);
    }
    ret->taints = dr_kube_list_copy(&list, pool->arena, sizeof(struct dr_taint));
    ret->taint_n = list.n;
    return r;
}

static int read_spec(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_node *ret, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "spec";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "unschedulable")) {
            w->field = "spec.unschedulable";
            r = dr_kube_bool(w, &ret->unschedulable, err);
        } else if (DR_KEY_IS(&key, "providerID")) {
            w->field = "spec.providerID";
            r = dr_kube_str(w, &ret->provider_id, err);
        } else if (DR_KEY_IS(&key, "taints")) {
            r = read_taints(pool, w, ret, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_allocatable(struct dr_kube_walk *w, struct dr_node *ret, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "status.allocatable";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        struct dr_str text = DR_STR_NONE;
        bool cpu = DR_KEY_IS(&key, "cpu");
        int64_t *to = cpu                         ? &ret->cpu_milli
                      : DR_KEY_IS(&key, "memory") ? &ret->mem_bytes
                      : DR_KEY_IS(&key, "pods")   ? &ret->pod_limit
                                                  : NULL;
        if (to == NULL) {
            continue;
        }
        if (dr_kube_quantity(w, &text, err) < 0) {
            return -1;
        }
        if (!(cpu ? dr_quantity_milli(text, to) : dr_quantity_units(text, to))) {
            int n = text.n > 40 ? 40 : (int)text.n;
            return dr_fail(err, DR_E_INVALID, "\"%.*s\" is not a quantity", n, text.p);
        }
    }
    return r;
}

/* The first InternalIP, but one of version 4 where there is one: that is what EC2 tells. */
static int read_address(struct dr_kube_walk *w, struct dr_node *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str type = DR_STR_NONE;
    struct dr_str address = DR_STR_NONE;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "type")) {
            r = dr_kube_str(w, &type, err);
        } else if (DR_KEY_IS(&key, "address")) {
            r = dr_kube_str(w, &address, err);
        }
        r = r < 0 ? -1 : 1;
    }
    bool v4 = dr_str_find(address, ':') == address.n;
    bool have_v6 = ret->internal_ip.n > 0 && dr_str_find(ret->internal_ip, ':') < ret->internal_ip.n;
    if (r == 0 && dr_str_is(type, "InternalIP") && (ret->internal_ip.n == 0 || (v4 && have_v6))) {
        ret->internal_ip = address;
    }
    return r;
}

static int read_condition(struct dr_kube_walk *w, struct dr_node *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str type = DR_STR_NONE;
    struct dr_str value = DR_STR_NONE;
    struct dr_str since = DR_STR_NONE;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "type")) {
            r = dr_kube_str(w, &type, err);
        } else if (DR_KEY_IS(&key, "status")) {
            r = dr_kube_str(w, &value, err);
        } else if (DR_KEY_IS(&key, "lastTransitionTime")) {
            r = dr_kube_str(w, &since, err);
        }
        r = r < 0 ? -1 : 1;
    }
    if (r < 0 || !dr_str_is(type, "Ready")) {
        return r;
    }
    ret->ready = dr_str_is(value, "True") ? DR_READY_TRUE : dr_str_is(value, "False") ? DR_READY_FALSE : DR_READY_UNKNOWN;
    if (since.n > 0 && !dr_time_parse(since, &ret->ready_changed_ms)) {
        return dr_fail(err, DR_E_INVALID, "lastTransitionTime is not a time");
    }
    return 0;
}

static int read_each(struct dr_kube_walk *w, const char *field, int (*one)(struct dr_kube_walk *, struct dr_node *, struct dr_err *),
                     struct dr_node *ret, struct dr_err *err) {
    w->field = field;
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        r = one(w, ret, err) < 0 ? -1 : 1;
    }
    return r;
}

static int read_status(struct dr_kube_walk *w, struct dr_node *ret, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "status";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "allocatable")) {
            r = read_allocatable(w, ret, err);
        } else if (DR_KEY_IS(&key, "addresses")) {
            r = read_each(w, "status.addresses", read_address, ret, err);
        } else if (DR_KEY_IS(&key, "conditions")) {
            r = read_each(w, "status.conditions", read_condition, ret, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static struct dr_str label_or(struct dr_labels labels, const char *key, struct dr_str other) {
    const struct dr_str *value = dr_labels_get(labels, dr_str_of(key));
    return value == NULL ? other : *value;
}

/* K3s marks its servers with these roles; agents have none. */
static bool is_server(struct dr_labels labels) {
    return dr_labels_get(labels, DR_STR("node-role.kubernetes.io/control-plane")) != NULL ||
           dr_labels_get(labels, DR_STR("node-role.kubernetes.io/master")) != NULL ||
           dr_labels_get(labels, DR_STR("node-role.kubernetes.io/etcd")) != NULL;
}

static int put_meta(struct dr_kube_pool *pool, struct dr_kube_walk *w, const struct dr_kube_meta *meta, struct dr_node *ret,
                    struct dr_err *err) {
    struct dr_intern *strings = &pool->strings;
    w->field = "metadata";
    if (meta->name.n == 0 || meta->uid.n == 0 || meta->version.n == 0) {
        return dr_fail(err, DR_E_INVALID, "no name, UID or resourceVersion");
    }
    w->field = "metadata.labels";
    if (meta->labels.n > 0) {
        /* Not by dr_kube_labels_id: nearly every node has a set of its own. */
        struct dr_kube_walk labels = {.arena = &pool->page, .field = ""};
        dr_json_init(&labels.j, meta->labels, 0);
        if (dr_kube_labels_read(pool, &labels, &ret->labels, err) < 0) {
            return -1;
        }
    }
    ret->name = dr_intern_str(strings, meta->name);
    ret->uid = dr_intern_str(strings, meta->uid);
    ret->resource_version = dr_intern_str(strings, meta->version);
    ret->provider_id = dr_intern_str(strings, ret->provider_id);
    ret->internal_ip = dr_intern_str(strings, ret->internal_ip);
    ret->cordon_owner = dr_intern_str(strings, meta->cordon_owner);
    ret->protected_ = meta->protected_;
    ret->created_ms = meta->created_ms;
    ret->instance_label = label_or(ret->labels, "drover.dev/instance-id", DR_STR_NONE);
    ret->zone =
        label_or(ret->labels, "topology.kubernetes.io/zone", label_or(ret->labels, "failure-domain.beta.kubernetes.io/zone", DR_STR_NONE));
    ret->server = is_server(ret->labels);
    return 0;
}

int dr_kube_node_read(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_node *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_kube_meta meta = {.owner = DR_OWNER_NONE};
    *ret = (struct dr_node){.ready = DR_READY_UNKNOWN};
    int r = dr_json_enter(&w->j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "metadata")) {
            r = dr_kube_meta_read(w, &meta, err);
        } else if (DR_KEY_IS(&key, "spec")) {
            r = read_spec(pool, w, ret, err);
        } else if (DR_KEY_IS(&key, "status")) {
            r = read_status(w, ret, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r < 0 ? -1 : put_meta(pool, w, &meta, ret, err);
}

static int add_node(void *self, struct dr_kube_walk *w, struct dr_err *err) {
    struct dr_kube_nodes *nodes = self;
    if (nodes->n == DR_KUBE_MAX_NODES) {
        return dr_fail(err, DR_E_LIMIT, "more than %d nodes", DR_KUBE_MAX_NODES);
    }
    if (nodes->n == nodes->cap) {
        nodes->cap = nodes->cap == 0 ? 64 : nodes->cap * 2;
        nodes->v = realloc(nodes->v, nodes->cap * sizeof *nodes->v);
        DR_ASSERT(nodes->v != NULL);
    }
    if (dr_kube_node_read(nodes->pool, w, &nodes->v[nodes->n], err) < 0) {
        return -1;
    }
    nodes->n++;
    return 0;
}

int dr_kube_nodes_page(struct dr_kube_nodes *nodes, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err) {
    return dr_kube_page_read(nodes->pool, body, "NodeList", add_node, nodes, ret, err);
}

void dr_kube_nodes_finish(struct dr_kube_nodes *nodes, const struct dr_node **ret, size_t *ret_n) {
    struct dr_node *v = DR_NEW_N(nodes->pool->arena, struct dr_node, nodes->n);
    if (nodes->n > 0) {
        memcpy(v, nodes->v, nodes->n * sizeof *v);
    }
    *ret = v;
    *ret_n = nodes->n;
    dr_kube_nodes_deinit(nodes);
    nodes->n = nodes->cap = 0;
}
