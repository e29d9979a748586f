#include <stdlib.h>

#include "adapter/kubernetes/client.h"
#include "base/json_write.h"
#include "base/time.h"

static const struct dr_cluster_ops OPS = {
    .request = dr_kube_request_lists,
    .observe = dr_kube_observe,
    .cordon = dr_kube_cordon,
    .evict = dr_kube_evict,
    .delete_node = dr_kube_delete_node,
};

static bool is_loopback(struct dr_str url) {
    struct dr_str host = dr_str_sub(url, sizeof "http://" - 1, url.n);
    return dr_str_starts(host, "127.") || dr_str_starts(host, "localhost:") || dr_str_starts(host, "localhost/") ||
           dr_str_is(host, "localhost") || dr_str_starts(host, "[::1]");
}

static int check(const struct dr_kubernetes_options *o, struct dr_err *err) {
    bool secret = o->token.n > 0 || o->token_file != NULL;
    if (o->server.n == 0) {
        return dr_fail(err, DR_E_INVALID, "kubernetes: no address of the API server was given");
    }
    if (!dr_str_starts(o->server, "https://") && !dr_str_starts(o->server, "http://")) {
        return dr_fail(err, DR_E_INVALID, "kubernetes: \"%.*s\" is not an address such as https://10.0.0.1:6443", DR_FMT(o->server));
    }
    if (secret && dr_str_starts(o->server, "http://") && !is_loopback(o->server)) {
        return dr_fail(err, DR_E_INVALID, "kubernetes: a token would go to %.*s without TLS; use https://", DR_FMT(o->server));
    }
    if ((o->cert_pem.n > 0) != (o->key_pem.n > 0)) {
        return dr_fail(err, DR_E_INVALID, "kubernetes: a client certificate needs its key, and a key its certificate");
    }
    for (size_t i = 0; i < o->token.n; i++) {
        if ((unsigned char)o->token.p[i] <= ' ' || o->token.p[i] == 0x7F) {
            return dr_fail(err, DR_E_INVALID, "kubernetes: the token has a space or line break in it");
        }
    }
    return 0;
}

static void copy_options(struct dr_kubernetes *kube, const struct dr_kubernetes_options *o) {
    struct dr_arena *arena = &kube->arena;
    kube->http = o->http;
    kube->clock = o->clock;
    kube->server = dr_str_dup(arena, o->server);
    while (kube->server.n > 0 && kube->server.p[kube->server.n - 1] == '/') {
        kube->server.n--;
    }
    kube->secure = dr_str_starts(kube->server, "https://");
    kube->tls = (struct dr_http_tls){.ca_file = o->ca_file == NULL ? NULL : dr_str_dup(arena, dr_str_of(o->ca_file)).p,
                                     .ca_pem = dr_str_dup(arena, o->ca_pem),
                                     .cert_pem = dr_str_dup(arena, o->cert_pem),
                                     .key_pem = dr_str_dup(arena, o->key_pem)};
    kube->token_file = o->token_file == NULL ? NULL : dr_str_dup(arena, dr_str_of(o->token_file)).p;
    kube->user_agent = o->user_agent.n == 0 ? DR_STR("drover") : dr_str_dup(arena, o->user_agent);
    kube->page_limit = o->page_limit <= 0 ? 500 : o->page_limit;
}

int dr_kubernetes_open(const struct dr_kubernetes_options *options, struct dr_kubernetes **ret, struct dr_err *err) {
    DR_ASSERT(options->http != NULL && options->clock.ops != NULL);
    if (check(options, err) < 0) {
        return -1;
    }
    struct dr_kubernetes *kube = calloc(1, sizeof *kube);
    if (kube == NULL) {
        return dr_fail(err, DR_E_INTERNAL, "kubernetes: no memory");
    }
    dr_arena_init(&kube->arena, 0);
    copy_options(kube, options);
    if (options->token.n > 0 && options->token_file == NULL) {
        struct dr_str text = dr_str_fmt(&kube->arena, "Bearer %.*s", DR_FMT(options->token));
        kube->token = strdup(text.p);
        DR_ASSERT(kube->token != NULL);
    }
    dr_rand_init(&kube->rand, options->seed != 0 ? options->seed : (uint64_t)dr_kube_now(kube));
    *ret = kube;
    return 0;
}

void dr_kubernetes_close(struct dr_kubernetes *kube) {
    if (kube == NULL) {
        return;
    }
    for (size_t i = 0; i < DR_KUBE_LIST_N; i++) {
        dr_http_call_free(kube->lists.of[i].call);
        free((void *)(uintptr_t)kube->lists.of[i].next.p);
    }
    if (kube->token != NULL) {
        explicit_bzero(kube->token, strlen(kube->token));
        free(kube->token);
    }
    dr_arena_deinit(&kube->arena);
    free(kube);
}

struct dr_cluster dr_kubernetes_cluster(struct dr_kubernetes *kube) {
    return (struct dr_cluster){&OPS, kube};
}

struct dr_str dr_kubernetes_warning(const struct dr_kubernetes *kube) {
    return dr_str_of(kube->warning.text);
}

int dr_kubernetes_get(struct dr_kubernetes *kube, const char *path, struct dr_arena *arena, int64_t deadline_ms, struct dr_str *ret,
                      struct dr_err *err) {
    struct dr_http_response response;
    struct dr_str what = dr_str_fmt(arena, "GET %s", path);
    struct dr_kube_request request = {.method = "GET", .path = dr_str_of(path), .timeout_ms = dr_kube_left(kube, deadline_ms)};
    if (dr_kube_do(kube, &request, arena, &response, err) < 0) {
        return dr_kube_unreached(what.p, err);
    }
    if (response.status != 200) {
        return dr_kube_refused(what.p, response.status, response.body, err);
    }
    *ret = response.body;
    return 0;
}

static void put_review(struct dr_buf *buf, const char *verb, const char *group, const char *resource, const char *subresource) {
    struct dr_jsonw w;
    dr_jsonw_init(&w, buf, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_cstr(&w, "apiVersion", "authorization.k8s.io/v1");
    dr_jsonw_kv_cstr(&w, "kind", "SelfSubjectAccessReview");
    dr_jsonw_key(&w, "spec");
    dr_jsonw_object(&w);
    dr_jsonw_key(&w, "resourceAttributes");
    dr_jsonw_object(&w);
    dr_jsonw_kv_cstr(&w, "verb", verb);
    dr_jsonw_kv_cstr(&w, "group", group);
    dr_jsonw_kv_cstr(&w, "resource", resource);
    if (*subresource != '\0') {
        dr_jsonw_kv_cstr(&w, "subresource", subresource);
    }
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
}

static int read_review(struct dr_str body, struct dr_arena *arena, struct dr_err *err) {
    struct dr_kube_walk w = {.arena = arena, .field = ""};
    struct dr_json_key key;
    bool allowed = false;
    dr_json_init(&w.j, body, 0);
    int r = dr_json_enter(&w.j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(&w.j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "status")) {
            r = dr_kube_enter(&w, DR_JSON_OBJECT, err);
            while (r > 0 && (r = dr_json_next_key(&w.j, &key, err)) > 0) {
                r = DR_KEY_IS(&key, "allowed") ? dr_kube_bool(&w, &allowed, err) : 0;
                r = r < 0 ? -1 : 1;
            }
        }
        r = r < 0 ? -1 : 1;
    }
    return r < 0 ? -1 : allowed;
}

int dr_kubernetes_may(struct dr_kubernetes *kube, const char *verb, const char *group, const char *resource, const char *subresource,
                      int64_t deadline_ms, struct dr_err *err) {
    struct dr_buf body;
    struct dr_arena arena;
    struct dr_http_response response;
    dr_arena_init(&arena, 0);
    dr_buf_init(&body, 0);
    put_review(&body, verb, group, resource, subresource);
    struct dr_kube_request request = {.method = "POST",
                                      .path = DR_STR("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
                                      .content_type = "application/json",
                                      .body = dr_buf_str(&body),
                                      .repeatable = true,
                                      .timeout_ms = dr_kube_left(kube, deadline_ms)};
    int r = dr_kube_do(kube, &request, &arena, &response, err);
    if (r < 0) {
        (void)dr_kube_unreached("SelfSubjectAccessReview", err);
    } else if (response.status / 100 != 2) {
        r = dr_kube_refused("SelfSubjectAccessReview", response.status, response.body, err);
    } else {
        r = read_review(response.body, &arena, err);
    }
    dr_buf_deinit(&body);
    dr_arena_deinit(&arena);
    return r;
}
