/* Cordon, eviction and removal of Nodes. Every effect carries what it was decided on (resourceVersion or UID), so that the API server refuses what is no longer so. */

#include <stdlib.h>

#include "adapter/kubernetes/client.h"
#include "base/json_write.h"
#include "base/num.h"

enum { EVICTIONS_AT_ONCE = 50 };

static struct dr_str node_path(struct dr_arena *arena, struct dr_str name) {
    struct dr_buf path;
    dr_buf_init(&path, 0);
    dr_buf_puts(&path, "/api/v1/nodes/");
    dr_kube_put_encoded(&path, name);
    struct dr_str copy = dr_str_dup(arena, dr_buf_str(&path));
    dr_buf_deinit(&path);
    return copy;
}

/* A merge patch: null takes a field away, and a resourceVersion makes the whole conditional. */
static struct dr_str cordon_patch(struct dr_arena *arena, const struct dr_node *node, struct dr_str owner, bool on) {
    struct dr_buf body;
    struct dr_jsonw w;
    dr_buf_init(&body, 0);
    dr_jsonw_init(&w, &body, 0);
    dr_jsonw_object(&w);
    dr_jsonw_key(&w, "metadata");
    dr_jsonw_object(&w);
    dr_jsonw_kv_str(&w, "resourceVersion", node->resource_version);
    dr_jsonw_key(&w, "annotations");
    dr_jsonw_object(&w);
    dr_jsonw_key(&w, "drover.dev/cordoned-by");
    if (on) {
        dr_jsonw_str(&w, owner);
    } else {
        dr_jsonw_null(&w);
    }
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
    dr_jsonw_key(&w, "spec");
    dr_jsonw_object(&w);
    dr_jsonw_key(&w, "unschedulable");
    if (on) {
        dr_jsonw_bool(&w, true);
    } else {
        dr_jsonw_null(&w);
    }
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
    struct dr_str copy = dr_str_dup(arena, dr_buf_str(&body));
    dr_buf_deinit(&body);
    return copy;
}

static int read_node(struct dr_kubernetes *kube, struct dr_arena *arena, struct dr_str name, int64_t deadline_ms, struct dr_node *ret,
                     struct dr_err *err) {
    struct dr_http_response response;
    struct dr_kube_request request = {.method = "GET", .path = node_path(arena, name), .timeout_ms = dr_kube_left(kube, deadline_ms)};
    if (dr_kube_do(kube, &request, arena, &response, err) < 0) {
        return -1;
    }
    if (response.status != 200) {
        return dr_kube_refused("get node", response.status, response.body, err);
    }
    struct dr_kube_pool pool;
    struct dr_kube_walk w = {.arena = &pool.page, .field = ""};
    dr_kube_pool_init(&pool, arena);
    dr_json_init(&w.j, response.body, 0);
    int r = dr_kube_node_read(&pool, &w, ret, err);
    if (r < 0) {
        (void)dr_wrap(err, "kubernetes get node: %s", w.field);
    }
    dr_kube_pool_deinit(&pool);
    return r;
}

/* After a conflict: it may be that what we want is so already, because our reply was lost. */
static int settled(struct dr_kubernetes *kube, struct dr_arena *arena, const struct dr_node *node, struct dr_str owner, bool on,
                   int64_t deadline_ms, struct dr_err *err) {
    struct dr_node now = {.ready = DR_READY_UNKNOWN};
    struct dr_err conflict = *err;
    if (read_node(kube, arena, node->name, deadline_ms, &now, err) < 0) {
        if (err->code != DR_E_NOT_FOUND) {
            *err = conflict;
        }
        return -1;
    }
    if (!dr_str_eq(now.uid, node->uid)) {
        return dr_fail(err, DR_E_NOT_FOUND, "kubernetes patch node: %.*s is another node now", DR_FMT(node->name));
    }
    bool so = on ? now.unschedulable && owner.n > 0 && dr_str_eq(now.cordon_owner, owner) : !now.unschedulable && now.cordon_owner.n == 0;
    if (so) {
        return 0;
    }
    *err = conflict;
    return -1;
}

int dr_kube_cordon(void *self, const struct dr_node *node, struct dr_str owner, bool on, int64_t deadline_ms, struct dr_err *err) {
    struct dr_kubernetes *kube = self;
    struct dr_arena arena;
    struct dr_http_response response;
    dr_arena_init(&arena, 0);
    struct dr_kube_request request = {.method = "PATCH",
                                      .path = node_path(&arena, node->name),
                                      .content_type = "application/merge-patch+json",
                                      .body = cordon_patch(&arena, node, owner, on),
                                      .timeout_ms = dr_kube_left(kube, deadline_ms)};
    int r = dr_kube_do(kube, &request, &arena, &response, err);
    if (r < 0) {
        (void)dr_kube_unreached("patch node", err);
    } else if (response.status != 200) {
        r = dr_kube_refused("patch node", response.status, response.body, err);
        if (response.status == 409) {
            r = settled(kube, &arena, node, owner, on, deadline_ms, err);
        }
    }
    dr_arena_deinit(&arena);
    return r;
}

/* ---- eviction ---- */

static struct dr_str pod_path(struct dr_arena *arena, const struct dr_eviction *e, const char *tail) {
    struct dr_buf path;
    dr_buf_init(&path, 0);
    dr_buf_puts(&path, "/api/v1/namespaces/");
    dr_kube_put_encoded(&path, e->ns);
    dr_buf_puts(&path, "/pods/");
    dr_kube_put_encoded(&path, e->name);
    dr_buf_puts(&path, tail);
    struct dr_str copy = dr_str_dup(arena, dr_buf_str(&path));
    dr_buf_deinit(&path);
    return copy;
}

static void put_preconditions(struct dr_jsonw *w, struct dr_str uid) {
    dr_jsonw_key(w, "preconditions");
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "uid", uid);
    dr_jsonw_end(w);
}

static struct dr_str eviction_body(struct dr_arena *arena, const struct dr_eviction *e) {
    struct dr_buf body;
    struct dr_jsonw w;
    dr_buf_init(&body, 0);
    dr_jsonw_init(&w, &body, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_cstr(&w, "apiVersion", "policy/v1");
    dr_jsonw_kv_cstr(&w, "kind", "Eviction");
    dr_jsonw_key(&w, "metadata");
    dr_jsonw_object(&w);
    dr_jsonw_kv_str(&w, "name", e->name);
    dr_jsonw_kv_str(&w, "namespace", e->ns);
    dr_jsonw_end(&w);
    dr_jsonw_key(&w, "deleteOptions");
    dr_jsonw_object(&w);
    put_preconditions(&w, e->uid);
    if (e->grace_ms >= 0) {
        /* Never 0: that removes the object without waiting for the kubelet. */
        dr_jsonw_kv_i64(&w, "gracePeriodSeconds", dr_max_i64(e->grace_ms / 1000, 1));
    }
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
    struct dr_str copy = dr_str_dup(arena, dr_buf_str(&body));
    dr_buf_deinit(&body);
    return copy;
}

/* 409 stands for another UID and for a write that lost a race; a look at the pod tells which. */
static enum dr_evict_outcome look(struct dr_kubernetes *kube, struct dr_arena *arena, const struct dr_eviction *e, int64_t deadline_ms) {
    struct dr_http_response response;
    struct dr_err ignored;
    struct dr_kube_meta meta = {.owner = DR_OWNER_NONE};
    struct dr_kube_request request = {.method = "GET", .path = pod_path(arena, e, ""), .timeout_ms = dr_kube_left(kube, deadline_ms)};
    if (dr_kube_do(kube, &request, arena, &response, &ignored) < 0) {
        return DR_EVICT_ERROR;
    }
    if (response.status != 200) {
        return response.status == 404 ? DR_EVICT_GONE : DR_EVICT_ERROR;
    }
    struct dr_kube_walk w = {.arena = arena, .field = ""};
    struct dr_json_key key;
    dr_json_init(&w.j, response.body, 0);
    int r = dr_json_enter(&w.j, DR_JSON_OBJECT, &ignored) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(&w.j, &key, &ignored)) > 0) {
        r = DR_KEY_IS(&key, "metadata") ? dr_kube_meta_read(&w, &meta, &ignored) : 0;
        r = r < 0 ? -1 : 1;
    }
    return r == 0 && meta.uid.n > 0 && !dr_str_eq(meta.uid, e->uid) ? DR_EVICT_GONE : DR_EVICT_ERROR;
}

static void take_answer(struct dr_kubernetes *kube, struct dr_arena *arena, struct dr_eviction *e, const struct dr_http_response *response,
                        int64_t deadline_ms) {
    switch (response->status) {
    case 200:
    case 201:
        e->outcome = DR_EVICT_ACCEPTED;
        return;
    case 404:
        e->outcome = DR_EVICT_GONE;
        return;
    case 429:
        e->outcome = DR_EVICT_BLOCKED;
        return;
    default:
        (void)dr_kube_refused("evict pod", response->status, response->body, &e->err);
        e->outcome = response->status == 409 ? look(kube, arena, e, deadline_ms) : DR_EVICT_ERROR;
    }
}

static void evict_some(struct dr_kubernetes *kube, struct dr_eviction *evictions, size_t n, int64_t deadline_ms) {
    struct dr_arena arena;
    struct dr_http_call *calls[EVICTIONS_AT_ONCE];
    DR_ASSERT(n <= EVICTIONS_AT_ONCE);
    dr_arena_init(&arena, 0);
    for (size_t i = 0; i < n; i++) {
        calls[i] = dr_kube_start(kube, &(struct dr_kube_request){.method = "POST",
                                                                 .path = pod_path(&arena, &evictions[i], "/eviction"),
                                                                 .content_type = "application/json",
                                                                 .body = eviction_body(&arena, &evictions[i]),
                                                                 .timeout_ms = dr_kube_left(kube, deadline_ms)});
    }
    for (size_t i = 0; i < n; i++) {
        struct dr_http_response response;
        evictions[i].err = (struct dr_err){.code = DR_OK};
        if (dr_http_wait(kube->http, calls[i], &response, &evictions[i].err) < 0) {
            evictions[i].outcome = DR_EVICT_ERROR;
            (void)dr_kube_unreached("evict pod", &evictions[i].err);
        } else {
            take_answer(kube, &arena, &evictions[i], &response, deadline_ms);
            if (response.status == 401) {
                (void)dr_kube_token_forget(kube); /* evictions come again; the next ones carry what is in the file then */
            }
        }
        dr_http_call_free(calls[i]);
    }
    dr_arena_deinit(&arena);
}

void dr_kube_evict(void *self, struct dr_eviction *evictions, size_t n, int64_t deadline_ms) {
    for (size_t i = 0; i < n; i += EVICTIONS_AT_ONCE) {
        evict_some(self, evictions + i, n - i < EVICTIONS_AT_ONCE ? n - i : EVICTIONS_AT_ONCE, deadline_ms);
    }
}

/* ---- removal ---- */

int dr_kube_delete_node(void *self, struct dr_str name, struct dr_str uid, int64_t deadline_ms, struct dr_err *err) {
    struct dr_kubernetes *kube = self;
    struct dr_arena arena;
    struct dr_buf body;
    struct dr_jsonw w;
    struct dr_http_response response;
    dr_arena_init(&arena, 0);
    dr_buf_init(&body, 0);
    dr_jsonw_init(&w, &body, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_cstr(&w, "apiVersion", "v1");
    dr_jsonw_kv_cstr(&w, "kind", "DeleteOptions");
    put_preconditions(&w, uid);
    dr_jsonw_end(&w);
    struct dr_kube_request request = {.method = "DELETE",
                                      .path = node_path(&arena, name),
                                      .content_type = "application/json",
                                      .body = dr_buf_str(&body),
                                      .timeout_ms = dr_kube_left(kube, deadline_ms)};
    int r = dr_kube_do(kube, &request, &arena, &response, err);
    if (r < 0) {
        (void)dr_kube_unreached("delete node", err);
    } else if (response.status / 100 != 2) {
        r = dr_kube_refused("delete node", response.status, response.body, err);
    }
    dr_buf_deinit(&body);
    dr_arena_deinit(&arena);
    return r;
}
