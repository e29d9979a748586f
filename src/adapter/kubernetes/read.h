#ifndef DR_ADAPTER_KUBERNETES_READ_H
#define DR_ADAPTER_KUBERNETES_READ_H

/*
 * From pages of lists, as the API server sends them, to the model: page by page, only the fields that are used, never a tree. Nothing here does I/O.
 *
 *     dr_kube_pool_init(&pool, arena);
 *     dr_kube_pods_init(&pods, &pool);
 *     dr_kube_pods_page(&pods, body, &page, err);       (for each page; page.next is the continue token of the next one)
 *     dr_kube_pods_finish(&pods, volumes, &ret, &n);
 *     dr_kube_pods_deinit(&pods); dr_kube_pool_deinit(&pool);
 *
 * A page is taken whole or not at all into account: after an error the list is of no use.
 */

#include "adapter/kubernetes/intern.h"
#include "adapter/kubernetes/walk.h"
#include "core/model.h"

#define DR_KUBE_MAX_PODS 1000000
#define DR_KUBE_MAX_NODES 50000
#define DR_KUBE_MAX_BUDGETS 100000
#define DR_KUBE_MAX_VOLUMES 500000

/* Of a page of a list. The texts live in the pool until the next page. */
struct dr_kube_page {
    struct dr_str next; /* continue token; empty: this was the last page */
    struct dr_str version;
    size_t item_n;
};

/* What the readers of one observation share: equal texts, label sets, affinities, tolerations and specs are kept once, in the tick's arena. */
struct dr_kube_pool {
    struct dr_arena *arena;  /* the tick's */
    struct dr_arena scratch; /* keys of the tables; freed with the pool */
    struct dr_arena page;    /* of the page being read */
    struct dr_intern strings;
    struct dr_intern labels; /* raw JSON -> struct dr_labels */
    struct dr_intern affinities;
    struct dr_intern tolerations;
    struct dr_intern ports;
    struct dr_intern volumes;
    struct dr_intern specs;
};
void dr_kube_pool_init(struct dr_kube_pool *pool, struct dr_arena *arena);
void dr_kube_pool_deinit(struct dr_kube_pool *pool);

/* Reads one page of a list whose kind must be `kind`; `item` reads one element (an object that is due). */
int dr_kube_page_read(struct dr_kube_pool *pool, struct dr_str body, const char *kind,
                      int (*item)(void *self, struct dr_kube_walk *w, struct dr_err *err), void *self, struct dr_kube_page *ret,
                      struct dr_err *err);

struct dr_kube_meta {
    struct dr_str name;
    struct dr_str ns;
    struct dr_str uid;
    struct dr_str version;
    int64_t created_ms;
    int64_t generation;
    bool deleting;
    int64_t deleted_ms;
    struct dr_str labels; /* raw JSON */
    enum dr_owner owner;
    struct dr_str owner_uid;
    struct dr_str cordon_owner;
    bool protected_;
};
/* `metadata`, whose value is due. Texts are views into the page. */
int dr_kube_meta_read(struct dr_kube_walk *w, struct dr_kube_meta *ret, struct dr_err *err);

/* Raw JSON to its number in the pool's table, worked out at the first time. */
int dr_kube_labels_id(struct dr_kube_pool *pool, struct dr_str raw, uint32_t *ret, struct dr_err *err);
int dr_kube_tolerations_id(struct dr_kube_pool *pool, struct dr_str raw, uint32_t *ret, struct dr_err *err);
int dr_kube_affinity_id(struct dr_kube_pool *pool, struct dr_str raw, uint32_t *ret, struct dr_err *err);
struct dr_labels dr_kube_labels_get(const struct dr_kube_pool *pool, uint32_t id);
/* A label map or a requirement list whose value is due, into the tick's arena. */
int dr_kube_labels_read(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_labels *ret, struct dr_err *err);
int dr_kube_requirements_read(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_list *ret, bool *odd, struct dr_err *err);

struct dr_kube_tolerations {
    const struct dr_toleration *v;
    size_t n;
};
struct dr_kube_affinity {
    const struct dr_term *terms;
    size_t term_n;
    bool unmodelled; /* pod affinity or anti-affinity, or an operator that we do not know */
};

/* Nodes. */
struct dr_kube_nodes {
    struct dr_kube_pool *pool;
    struct dr_node *v; /* heap until finish */
    size_t n;
    size_t cap;
};
void dr_kube_nodes_init(struct dr_kube_nodes *nodes, struct dr_kube_pool *pool);
void dr_kube_nodes_deinit(struct dr_kube_nodes *nodes);
int dr_kube_nodes_page(struct dr_kube_nodes *nodes, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err);
void dr_kube_nodes_finish(struct dr_kube_nodes *nodes, const struct dr_node **ret, size_t *ret_n);
/* One Node object that is due, into the tick's arena. */
int dr_kube_node_read(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_node *ret, struct dr_err *err);

/* Budgets. One without a selector selects nothing and is left out. */
struct dr_kube_budgets {
    struct dr_kube_pool *pool;
    struct dr_budget *v;
    size_t n;
    size_t cap;
};
void dr_kube_budgets_init(struct dr_kube_budgets *budgets, struct dr_kube_pool *pool);
void dr_kube_budgets_deinit(struct dr_kube_budgets *budgets);
int dr_kube_budgets_page(struct dr_kube_budgets *budgets, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err);
void dr_kube_budgets_finish(struct dr_kube_budgets *budgets, const struct dr_budget **ret, size_t *ret_n);

/* Claims, volumes and storage classes: where a pod's volumes allow it to run. */
struct dr_kube_claim {
    uint32_t volume; /* name in pool->strings; 0: not bound */
    uint32_t class_name;
};
struct dr_kube_volume {
    bool local;      /* lives on a machine */
    bool limited;    /* to `zones` */
    bool unmodelled; /* affinity of a shape that we do not know */
    struct dr_strs zones;
    struct dr_term term; /* other requirements on the node's labels */
};
struct dr_kube_class {
    bool waits; /* WaitForFirstConsumer: bound when the pod is placed */
    bool limited;
    struct dr_strs zones; /* of allowedTopologies */
};
struct dr_kube_volumes {
    struct dr_kube_pool *pool;
    bool known;              /* false: what pods with claims need is unknown */
    bool unbound;            /* some claim is not bound: storage classes matter */
    struct dr_intern claims; /* "namespace/name" -> struct dr_kube_claim */
    struct dr_intern volumes;
    struct dr_intern classes;
};
void dr_kube_volumes_init(struct dr_kube_volumes *volumes, struct dr_kube_pool *pool);
void dr_kube_volumes_deinit(struct dr_kube_volumes *volumes);
int dr_kube_claims_page(struct dr_kube_volumes *volumes, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err);
int dr_kube_volumes_page(struct dr_kube_volumes *volumes, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err);
int dr_kube_classes_page(struct dr_kube_volumes *volumes, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err);

/* What a spec is made of; equal keys are one spec. No padding: it is compared as bytes. */
struct dr_kube_spec_key {
    int64_t cpu_milli;
    int64_t mem_bytes;
    uint32_t selector;
    uint32_t affinity;
    uint32_t tolerations;
    uint32_t ports;
    uint32_t volume; /* in pool->volumes: what the claims add */
    uint32_t flags;
};
enum { DR_KUBE_UNMODELLED = 1, DR_KUBE_UNBOUND = 2 };
uint32_t dr_kube_spec_id(struct dr_kube_pool *pool, const struct dr_kube_spec_key *key);
const struct dr_pod_spec *dr_kube_spec_get(struct dr_kube_pool *pool, uint32_t id);
/* Adds the claims (names of one namespace) to a spec. `local` is set if one of the volumes lives on a machine. */
uint32_t dr_kube_spec_with_claims(struct dr_kube_volumes *volumes, uint32_t spec, struct dr_str ns, struct dr_strs claims, bool *local);

/* Pods. */
struct dr_kube_claims {
    struct dr_strs names; /* in scratch */
};
struct dr_kube_pod_row;
struct dr_kube_pods {
    struct dr_kube_pool *pool;
    struct dr_kube_pod_row *rows;
    size_t n;
    size_t cap;
    bool has_claims; /* some pod uses a claim: read claims and volumes before finish */
};
void dr_kube_pods_init(struct dr_kube_pods *pods, struct dr_kube_pool *pool);
void dr_kube_pods_deinit(struct dr_kube_pods *pods);
int dr_kube_pods_page(struct dr_kube_pods *pods, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err);
/* `volumes` NULL or not known: pods with claims have a rule that is not modelled. */
void dr_kube_pods_finish(struct dr_kube_pods *pods, struct dr_kube_volumes *volumes, const struct dr_pod **ret, size_t *ret_n);

/* What pod_spec.c hands to pod.c. */
struct dr_kube_pod_spec {
    struct dr_kube_spec_key key;
    struct dr_str node;
    bool critical;
    bool local_data;
    int64_t grace_s;
    struct dr_kube_list claims;  /* struct dr_str, in the page */
    struct dr_kube_list generic; /* names of generic ephemeral volumes: their claim is <pod>-<volume> */
    struct dr_str affinity;      /* raw; looked at only where a pod is not tied to its node */
};
int dr_kube_pod_spec_read(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_pod_spec *ret, struct dr_err *err);

#endif
