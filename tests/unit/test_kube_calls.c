/* The Kubernetes adapter against a server that answers what a test wants: paging, retries, tokens, effects and the watch. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "adapter/kubernetes/kubernetes.h"
#include "harness/server.h"
#include "harness/test.h"

enum { MAX_ROUTES = 24, MAX_LOG = 400 };

/* An answer for requests whose method and target begin so; used once each, in order, and the last of a prefix again and again. */
struct route {
    const char *method;
    const char *target;
    int status;
    const char *headers;
    const char *body;
    bool used;
};

struct api {
    struct dr_server *server;
    struct dr_http *http;
    struct dr_kubernetes *kube;
    struct dr_cluster port;
    struct dr_arena arena;
    struct dr_snapshot snap;
    struct dr_err err;
    pthread_mutex_t lock;
    struct route routes[MAX_ROUTES];
    int route_n;
    char log[MAX_LOG][2000]; /* method, target, authorization, body */
    int log_n;
};

static int64_t now_ms(void *self) {
    struct timespec t;
    (void)self;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static const struct dr_clock_ops CLOCK = {.now_ms = now_ms};

static struct route *choose(struct api *api, const struct dr_server_request *r) {
    struct route *last = NULL;
    for (int i = 0; i < api->route_n; i++) {
        struct route *route = &api->routes[i];
        if (dr_str_is(r->method, route->method) && dr_str_starts(r->target, route->target)) {
            last = route;
            if (!route->used) {
                route->used = true;
                return route;
            }
        }
    }
    return last;
}

static bool serve(void *self, const struct dr_server_request *r) {
    struct api *api = self;
    (void)pthread_mutex_lock(&api->lock);
    struct dr_str authorization = dr_server_header(r, "Authorization");
    if (api->log_n < MAX_LOG) {
        (void)snprintf(api->log[api->log_n++], sizeof api->log[0], "%.*s %.*s|%.*s|%.*s", DR_FMT(r->method), DR_FMT(r->target),
                       DR_FMT(authorization), DR_FMT(r->body));
    }
    struct route route = {.status = 404, .body = "{\"kind\":\"Status\",\"message\":\"no route\"}"};
    const struct route *found = choose(api, r);
    if (found != NULL) {
        route = *found;
    }
    (void)pthread_mutex_unlock(&api->lock);
    if (route.status == 0) {
        return false;
    }
    if (route.status < 0) { /* a stream: what is there is sent, and the connection stays open */
        static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        char size[32];
        (void)dr_server_send(r, head, sizeof head - 1);
        int n = snprintf(size, sizeof size, "%zx\r\n", strlen(route.body));
        (void)dr_server_send(r, size, (size_t)n);
        (void)dr_server_send(r, route.body, strlen(route.body));
        (void)dr_server_send(r, "\r\n", 2);
        return true;
    }
    return dr_server_reply(r, route.status, route.headers, route.body);
}

static void open_with(struct api *api, const struct dr_kubernetes_options *more) {
    memset(api, 0, sizeof *api);
    (void)pthread_mutex_init(&api->lock, NULL);
    dr_arena_init(&api->arena, 0);
    api->server = dr_server_start(serve, api);
    api->http = dr_http_new(&api->err);
    CHECK(api->http != NULL);
    struct dr_kubernetes_options options = *more;
    options.http = api->http;
    options.clock = (struct dr_clock){&CLOCK, NULL};
    options.server = dr_server_url(api->server, "/");
    options.seed = 7;
    CHECK_OK(dr_kubernetes_open(&options, &api->kube, &api->err), api->err);
    api->port = dr_kubernetes_cluster(api->kube);
}

static void open_api(struct api *api) { open_with(api, &(struct dr_kubernetes_options){.page_limit = 2}); }

static void close_api(struct api *api) {
    dr_kubernetes_close(api->kube);
    dr_http_free(api->http);
    dr_server_stop(api->server);
    dr_arena_deinit(&api->arena);
}

static void answer(struct api *api, const char *method, const char *target, int status, const char *body) {
    CHECK(api->route_n < MAX_ROUTES);
    (void)pthread_mutex_lock(&api->lock);
    api->routes[api->route_n++] = (struct route){method, target, status, NULL, body, false};
    (void)pthread_mutex_unlock(&api->lock);
}

static void observe_for(struct api *api, int64_t ms) {
    int64_t deadline_ms = now_ms(NULL) + ms;
    api->port.ops->request(api->port.self, deadline_ms);
    api->port.ops->observe(api->port.self, &api->arena, deadline_ms, &api->snap);
}

/* How many logged requests contain the text. */
static int asked(struct api *api, const char *text) {
    int n = 0;
    (void)pthread_mutex_lock(&api->lock);
    for (int i = 0; i < api->log_n; i++) {
        n += strstr(api->log[i], text) != NULL;
    }
    (void)pthread_mutex_unlock(&api->lock);
    return n;
}

#define LIST(kind, next, items)                                                                                                            \
    "{\"kind\":\"" kind "\",\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"" next "\"},\"items\":[" items "]}"
#define POD(name) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"d\",\"uid\":\"u-" name "\"},\"spec\":{},\"status\":{}}"
#define NODE(rest) "{\"metadata\":{\"name\":\"n1\",\"uid\":\"un1\",\"resourceVersion\":\"9\"" rest "}}"
#define STATUS(code, reason) "{\"kind\":\"Status\",\"code\":" code ",\"reason\":\"" reason "\",\"message\":\"because " reason "\"}"

static void answer_empty(struct api *api) {
    answer(api, "GET", "/api/v1/nodes", 200, LIST("NodeList", "", ""));
    answer(api, "GET", "/apis/policy/v1/poddisruptionbudgets", 200, LIST("PodDisruptionBudgetList", "", ""));
}

TEST(kube_calls, lists_are_read_page_by_page) {
    struct api api;
    open_api(&api);
    answer(&api, "GET", "/api/v1/nodes", 200, LIST("NodeList", "", NODE("")));
    answer(&api, "GET", "/apis/policy/v1/poddisruptionbudgets", 200, LIST("PodDisruptionBudgetList", "", ""));
    answer(&api, "GET", "/api/v1/pods", 200, LIST("PodList", "a+b", POD("p1") "," POD("p2")));
    answer(&api, "GET", "/api/v1/pods", 200, LIST("PodList", "c", POD("p3")));
    answer(&api, "GET", "/api/v1/pods", 200, LIST("PodList", "", POD("p4")));
    observe_for(&api, 5000);
    CHECK(api.snap.nodes_part.known && api.snap.pods_part.known && api.snap.budgets_part.known);
    CHECK_EQ_INT(api.snap.node_n, 1);
    CHECK_EQ_INT(api.snap.pod_n, 4);
    CHECK_EQ_STR(api.snap.pods[3].name, "p4");
    CHECK_EQ_INT(asked(&api, "/api/v1/pods?"), 3);
    CHECK_EQ_INT(asked(&api, "limit=2&continue=a%2Bb"), 1);
    CHECK_EQ_INT(asked(&api, "status.phase%21%3DSucceeded"), 3);
    CHECK_EQ_INT(asked(&api, "persistentvolume"), 0); /* no pod has a claim */
    close_api(&api);
}

TEST(kube_calls, expired_continue_token_starts_the_list_over_once) {
    struct api api;
    open_api(&api);
    answer_empty(&api);
    answer(&api, "GET", "/api/v1/pods", 200, LIST("PodList", "old", POD("p1")));
    answer(&api, "GET", "/api/v1/pods", 410, STATUS("410", "Expired"));
    answer(&api, "GET", "/api/v1/pods", 200, LIST("PodList", "", POD("p2")));
    observe_for(&api, 5000);
    CHECK(api.snap.pods_part.known);
    CHECK_EQ_INT(api.snap.pod_n, 1);
    CHECK_EQ_STR(api.snap.pods[0].name, "p2");
    close_api(&api);
}

TEST(kube_calls, token_that_expires_again_and_again_ends_in_unknown) {
    struct api api;
    open_api(&api);
    answer_empty(&api);
    answer(&api, "GET", "/api/v1/pods", 200, LIST("PodList", "old", POD("p1")));
    answer(&api, "GET", "/api/v1/pods", 410, STATUS("410", "Expired"));
    answer(&api, "GET", "/api/v1/pods", 200, LIST("PodList", "old", POD("p1")));
    answer(&api, "GET", "/api/v1/pods", 410, STATUS("410", "Expired"));
    observe_for(&api, 5000);
    CHECK(!api.snap.pods_part.known && api.snap.pods == NULL && api.snap.nodes_part.known);
    CHECK_CONTAINS(api.snap.pods_part.why, "list pods: 410: because Expired");
    CHECK_EQ_INT(asked(&api, "/api/v1/pods?"), 4);
    close_api(&api);
}

TEST(kube_calls, each_list_is_known_or_unknown_on_its_own) {
    struct api api;
    open_api(&api);
    answer(&api, "GET", "/api/v1/nodes", 403, STATUS("403", "Forbidden"));
    answer(&api, "GET", "/api/v1/pods", 200, LIST("PodList", "", POD("p1")));
    answer(&api, "GET", "/apis/policy", 200, "<html>proxy</html>");
    observe_for(&api, 5000);
    CHECK(!api.snap.nodes_part.known && api.snap.pods_part.known && !api.snap.budgets_part.known);
    CHECK_CONTAINS(api.snap.nodes_part.why, "list nodes: 403: because Forbidden; grant it in the role");
    CHECK_CONTAINS(api.snap.budgets_part.why, "kubernetes list poddisruptionbudgets: PodDisruptionBudgetList: document");
    CHECK_EQ_INT(asked(&api, "/api/v1/nodes"), 1); /* no storm */
    close_api(&api);
}

TEST(kube_calls, errors_that_may_pass_are_tried_again_but_not_for_ever) {
    struct api api;
    open_api(&api);
    answer(&api, "GET", "/api/v1/nodes", 503, "upstream");
    answer(&api, "GET", "/api/v1/nodes", 0, NULL);
    answer(&api, "GET", "/api/v1/nodes", 200, LIST("NodeList", "", ""));
    answer(&api, "GET", "/api/v1/pods", 500, STATUS("500", "InternalError"));
    answer(&api, "GET", "/apis/policy", 200, LIST("PodDisruptionBudgetList", "", ""));
    observe_for(&api, 10000);
    CHECK(api.snap.nodes_part.known && !api.snap.pods_part.known);
    CHECK_CONTAINS(api.snap.pods_part.why, "500: because InternalError");
    CHECK_EQ_INT(asked(&api, "/api/v1/pods?"), 3);
    close_api(&api);
}

static bool hang(void *self, const struct dr_server_request *r) {
    (void)self;
    (void)r;
    return true;
}

TEST(kube_calls, a_server_that_hangs_costs_no_more_than_the_deadline) {
    struct api api;
    open_api(&api);
    struct dr_server *silent = dr_server_start(hang, NULL);
    struct dr_kubernetes_options options = {.http = api.http, .clock = {&CLOCK, NULL}, .server = dr_server_url(silent, "")};
    struct dr_kubernetes *kube;
    CHECK_OK(dr_kubernetes_open(&options, &kube, &api.err), api.err);
    struct dr_cluster port = dr_kubernetes_cluster(kube);
    int64_t start = now_ms(NULL);
    port.ops->observe(port.self, &api.arena, start + 400, &api.snap);
    CHECK(now_ms(NULL) - start < 3000);
    CHECK(!api.snap.nodes_part.known && !api.snap.pods_part.known && !api.snap.budgets_part.known);
    CHECK(api.snap.pods_part.why.n > 0);
    dr_kubernetes_close(kube);
    dr_server_stop(silent);
    close_api(&api);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

TEST(kube_calls, token_file_is_read_again_when_it_changes_and_after_401) {
    struct api api;
    char path[300];
    (void)snprintf(path, sizeof path, "%s/token", dr_test_tmpdir());
    write_file(path, "first\n");
    open_with(&api, &(struct dr_kubernetes_options){.token_file = path});
    answer(&api, "GET", "/version", 200, "{}");
    struct dr_str body;
    CHECK_OK(dr_kubernetes_get(api.kube, "/version", &api.arena, now_ms(NULL) + 3000, &body, &api.err), api.err);
    CHECK_EQ_INT(asked(&api, "Bearer first"), 1);
    write_file(path, "second-one\n");
    CHECK_OK(dr_kubernetes_get(api.kube, "/version", &api.arena, now_ms(NULL) + 3000, &body, &api.err), api.err);
    CHECK_EQ_INT(asked(&api, "Bearer second-one"), 1);
    answer(&api, "GET", "/readyz", 401, STATUS("401", "Unauthorized"));
    answer(&api, "GET", "/readyz", 200, "ok");
    CHECK_OK(dr_kubernetes_get(api.kube, "/readyz", &api.arena, now_ms(NULL) + 3000, &body, &api.err), api.err);
    answer(&api, "GET", "/livez", 401, STATUS("401", "Unauthorized"));
    CHECK_FAILS(dr_kubernetes_get(api.kube, "/livez", &api.arena, now_ms(NULL) + 3000, &body, &api.err), api.err, DR_E_DENIED);
    CHECK_EQ_INT(asked(&api, "/livez"), 2);
    CHECK(strstr(api.err.text, "second") == NULL);
    close_api(&api);
}

TEST(kube_calls, volumes_are_read_only_for_pods_with_claims_and_at_once_the_next_time) {
    struct api api;
    open_api(&api);
    answer_empty(&api);
    answer(&api, "GET", "/api/v1/pods", 200,
           LIST("PodList", "",
                "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\"},\"spec\":{\"volumes\":[{\"name\":\"v\","
                "\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]}}"));
    answer(
        &api, "GET", "/api/v1/persistentvolumeclaims", 200,
        LIST("PersistentVolumeClaimList", "", "{\"metadata\":{\"name\":\"c\",\"namespace\":\"d\"},\"spec\":{\"storageClassName\":\"s\"}}"));
    answer(&api, "GET", "/api/v1/persistentvolumes", 200, LIST("PersistentVolumeList", "", ""));
    answer(&api, "GET", "/apis/storage.k8s.io/v1/storageclasses", 200,
           LIST("StorageClassList", "", "{\"metadata\":{\"name\":\"s\"},\"volumeBindingMode\":\"WaitForFirstConsumer\"}"));
    observe_for(&api, 5000);
    CHECK(api.snap.pods_part.known && !api.snap.pods[0].spec->volume_unbound && !api.snap.pods[0].spec->unmodelled);
    CHECK_EQ_INT(dr_kubernetes_warning(api.kube).n, 0);
    int before = api.log_n;
    api.port.ops->request(api.port.self, now_ms(NULL) + 3000);
    api.port.ops->observe(api.port.self, &api.arena, now_ms(NULL) + 3000, &api.snap);
    CHECK_EQ_INT(api.log_n - before, 6);
    CHECK_EQ_INT(asked(&api, "storageclasses"), 2);
    close_api(&api);
}

TEST(kube_calls, claims_that_may_not_be_listed_leave_the_pods_known_with_a_warning) {
    struct api api;
    open_api(&api);
    answer_empty(&api);
    answer(&api, "GET", "/api/v1/pods", 200,
           LIST("PodList", "",
                "{\"metadata\":{\"name\":\"p\",\"namespace\":\"d\",\"uid\":\"u\"},\"spec\":{\"volumes\":[{\"name\":\"v\","
                "\"persistentVolumeClaim\":{\"claimName\":\"c\"}}]}}"));
    answer(&api, "GET", "/api/v1/persistentvolume", 403, STATUS("403", "Forbidden"));
    observe_for(&api, 5000);
    CHECK(api.snap.pods_part.known && api.snap.pods[0].spec->unmodelled);
    CHECK_CONTAINS(dr_kubernetes_warning(api.kube), "403");
    close_api(&api);
}

static struct dr_node read_n1(void) {
    return (struct dr_node){.name = DR_STR("n1"), .uid = DR_STR("un1"), .resource_version = DR_STR("9")};
}

TEST(kube_calls, cordon_is_one_patch_on_the_version_that_was_read) {
    struct api api;
    open_api(&api);
    struct dr_node node = read_n1();
    answer(&api, "PATCH", "/api/v1/nodes/n1", 200, NODE(""));
    CHECK_OK(api.port.ops->cordon(api.port.self, &node, DR_STR("17-a"), true, now_ms(NULL) + 3000, &api.err), api.err);
    CHECK_OK(api.port.ops->cordon(api.port.self, &node, DR_STR("17-a"), false, now_ms(NULL) + 3000, &api.err), api.err);
    CHECK_EQ_INT(asked(&api, "{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":{\"drover.dev/"
                             "cordoned-by\":\"17-a\"}},\"spec\":{\"unschedulable\":true}}"),
                 1);
    CHECK_EQ_INT(asked(&api, "{\"metadata\":{\"resourceVersion\":\"9\",\"annotations\":{\"drover.dev/"
                             "cordoned-by\":null}},\"spec\":{\"unschedulable\":null}}"),
                 1);
    close_api(&api);
}

TEST(kube_calls, cordon_conflict_is_success_only_if_it_is_so_already_by_the_same_owner) {
    static const struct {
        bool on;
        int get_status;
        const char *node;
        enum dr_code code;
    } table[] = {
        {true, 200,
         "{\"metadata\":{\"name\":\"n1\",\"uid\":\"un1\",\"resourceVersion\":\"10\",\"annotations\":{\"drover.dev/"
         "cordoned-by\":\"17-a\"}},\"spec\":{\"unschedulable\":true}}",
         DR_OK},
        {true, 200,
         "{\"metadata\":{\"name\":\"n1\",\"uid\":\"un1\",\"resourceVersion\":\"10\",\"annotations\":{\"drover.dev/"
         "cordoned-by\":\"18-b\"}},\"spec\":{\"unschedulable\":true}}",
         DR_E_CONFLICT},
        {true, 200, "{\"metadata\":{\"name\":\"n1\",\"uid\":\"un1\",\"resourceVersion\":\"10\"},\"spec\":{\"unschedulable\":true}}",
         DR_E_CONFLICT},
        {true, 200, NODE(""), DR_E_CONFLICT},
        {false, 200, NODE(""), DR_OK},
        {false, 200, "{\"metadata\":{\"name\":\"n1\",\"uid\":\"un1\",\"resourceVersion\":\"10\"},\"spec\":{\"unschedulable\":true}}",
         DR_E_CONFLICT},
        {false, 200, "{\"metadata\":{\"name\":\"n1\",\"uid\":\"other\",\"resourceVersion\":\"10\"}}", DR_E_NOT_FOUND},
        {true, 404, STATUS("404", "NotFound"), DR_E_NOT_FOUND},
        {true, 500, "x", DR_E_CONFLICT},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct api api;
        open_api(&api);
        struct dr_node node = read_n1();
        answer(&api, "PATCH", "/api/v1/nodes/n1", 409, STATUS("409", "Conflict"));
        answer(&api, "GET", "/api/v1/nodes/n1", table[i].get_status, table[i].node);
        api.err.code = DR_OK;
        int r = api.port.ops->cordon(api.port.self, &node, DR_STR("17-a"), table[i].on, now_ms(NULL) + 3000, &api.err);
        if ((r == 0) != (table[i].code == DR_OK) || (r < 0 && api.err.code != table[i].code)) {
            FAIL("row %zu: %d, %s", i, r, api.err.text);
        }
        close_api(&api);
    }
}

TEST(kube_calls, cordon_of_a_node_that_is_gone_is_not_found) {
    struct api api;
    open_api(&api);
    struct dr_node node = read_n1();
    answer(&api, "PATCH", "/api/v1/nodes/n1", 404, STATUS("404", "NotFound"));
    CHECK_FAILS(api.port.ops->cordon(api.port.self, &node, DR_STR("x"), true, now_ms(NULL) + 3000, &api.err), api.err, DR_E_NOT_FOUND);
    close_api(&api);
}

TEST(kube_calls, every_eviction_gets_the_outcome_that_its_answer_stands_for) {
    struct api api;
    open_api(&api);
    struct dr_eviction e[] = {
        {.name = DR_STR("ok"), .grace_ms = -1},    {.name = DR_STR("gone"), .grace_ms = 5000}, {.name = DR_STR("blocked"), .grace_ms = 300},
        {.name = DR_STR("other"), .grace_ms = -1}, {.name = DR_STR("raced"), .grace_ms = -1},  {.name = DR_STR("broken"), .grace_ms = -1},
    };
    size_t n = sizeof e / sizeof e[0];
    for (size_t i = 0; i < n; i++) {
        e[i].ns = DR_STR("d");
        e[i].uid = DR_STR("u1");
    }
    answer(&api, "POST", "/api/v1/namespaces/d/pods/ok/eviction", 201, "{}");
    answer(&api, "POST", "/api/v1/namespaces/d/pods/gone/eviction", 404, STATUS("404", "NotFound"));
    answer(&api, "POST", "/api/v1/namespaces/d/pods/blocked/eviction", 429, STATUS("429", "TooManyRequests"));
    answer(&api, "POST", "/api/v1/namespaces/d/pods/other/eviction", 409, STATUS("409", "Conflict"));
    answer(&api, "GET", "/api/v1/namespaces/d/pods/other", 200, "{\"metadata\":{\"name\":\"other\",\"uid\":\"u2\"}}");
    answer(&api, "POST", "/api/v1/namespaces/d/pods/raced/eviction", 409, STATUS("409", "Conflict"));
    answer(&api, "GET", "/api/v1/namespaces/d/pods/raced", 200, "{\"metadata\":{\"name\":\"raced\",\"uid\":\"u1\"}}");
    answer(&api, "POST", "/api/v1/namespaces/d/pods/broken/eviction", 0, NULL);
    api.port.ops->evict(api.port.self, e, n, now_ms(NULL) + 5000);
    CHECK_EQ_INT(e[0].outcome, DR_EVICT_ACCEPTED);
    CHECK_EQ_INT(e[1].outcome, DR_EVICT_GONE);
    CHECK_EQ_INT(e[2].outcome, DR_EVICT_BLOCKED);
    CHECK_EQ_INT(e[3].outcome, DR_EVICT_GONE);
    CHECK_EQ_INT(e[4].outcome, DR_EVICT_ERROR);
    CHECK_EQ_INT(e[4].err.code, DR_E_CONFLICT);
    CHECK_EQ_INT(e[5].outcome, DR_EVICT_ERROR);
    CHECK_EQ_INT(e[5].err.code, DR_E_UNAVAILABLE);
    CHECK_EQ_INT(asked(&api, "POST /api/v1/namespaces/d/pods/broken"), 1); /* an effect leaves once */
    CHECK_EQ_INT(asked(&api, "\"deleteOptions\":{\"preconditions\":{\"uid\":\"u1\"},\"gracePeriodSeconds\":5}"), 1);
    CHECK_EQ_INT(asked(&api, "\"gracePeriodSeconds\":1}"), 1); /* 0 would kill without asking */
    CHECK_EQ_INT(asked(&api, "\"deleteOptions\":{\"preconditions\":{\"uid\":\"u1\"}}"), 4);
    close_api(&api);
}

TEST(kube_calls, node_is_deleted_by_its_uid) {
    struct api api;
    open_api(&api);
    answer(&api, "DELETE", "/api/v1/nodes/n1", 200, "{}");
    answer(&api, "DELETE", "/api/v1/nodes/n1", 404, STATUS("404", "NotFound"));
    answer(&api, "DELETE", "/api/v1/nodes/n1", 409, STATUS("409", "Conflict"));
    int64_t deadline_ms = now_ms(NULL) + 5000;
    CHECK_OK(api.port.ops->delete_node(api.port.self, DR_STR("n1"), DR_STR("un1"), deadline_ms, &api.err), api.err);
    CHECK_FAILS(api.port.ops->delete_node(api.port.self, DR_STR("n1"), DR_STR("un1"), deadline_ms, &api.err), api.err, DR_E_NOT_FOUND);
    CHECK_FAILS(api.port.ops->delete_node(api.port.self, DR_STR("n1"), DR_STR("un1"), deadline_ms, &api.err), api.err, DR_E_CONFLICT);
    CHECK_EQ_INT(asked(&api, "\"preconditions\":{\"uid\":\"un1\"}"), 3);
    close_api(&api);
}

TEST(kube_calls, options_that_cannot_work_are_refused) {
    struct api api;
    open_api(&api);
    static const struct {
        struct dr_kubernetes_options options;
        const char *says;
    } table[] = {
        {{.server = {"", 0}}, "no address"},
        {{.server = {"10.0.0.1:6443", 13}}, "not an address"},
        {{.server = {"http://10.0.0.1", 15}, .token = {"t", 1}}, "without TLS"},
        {{.server = {"https://10.0.0.1", 16}, .cert_pem = {"x", 1}}, "needs its key"},
        {{.server = {"https://10.0.0.1", 16}, .token = {"a\nb", 3}}, "line break"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct dr_kubernetes_options options = table[i].options;
        struct dr_kubernetes *kube = NULL;
        options.http = api.http;
        options.clock = (struct dr_clock){&CLOCK, NULL};
        CHECK_FAILS(dr_kubernetes_open(&options, &kube, &api.err), api.err, DR_E_INVALID);
        CHECK_CONTAINS(dr_str_of(api.err.text), table[i].says);
    }
    close_api(&api);
}

TEST(kube_calls, access_review_says_yes_or_no) {
    struct api api;
    open_api(&api);
    answer(&api, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 201, "{\"status\":{\"allowed\":true}}");
    answer(&api, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 201, "{\"status\":{\"allowed\":false}}");
    int64_t deadline_ms = now_ms(NULL) + 5000;
    CHECK_EQ_INT(dr_kubernetes_may(api.kube, "create", "", "pods", "eviction", deadline_ms, &api.err), 1);
    CHECK_EQ_INT(dr_kubernetes_may(api.kube, "delete", "", "nodes", "", deadline_ms, &api.err), 0);
    CHECK_EQ_INT(asked(&api, "\"subresource\":\"eviction\""), 1);
    close_api(&api);
}

/* ---- the watch ---- */

#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define WAITING                                                                                                                            \
    "{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"41\"},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"         \
    "\"False\",\"reason\":\"Unschedulable\"}]}}"
#define GATED                                                                                                                              \
    "{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"40\"},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"         \
    "\"False\",\"reason\":\"SchedulingGated\"}]}}"
#define READY(version)                                                                                                                     \
    "{\"metadata\":{\"name\":\"n\",\"resourceVersion\":\"" version                                                                         \
    "\"},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"

/* Turns until `want` pods requests were made or the time is over; gathers what was seen. */
static struct dr_kube_watch_seen watch_for(struct api *api, struct dr_kube_watch *watch, const char *want, int times, int64_t ms) {
    struct dr_kube_watch_seen all = {.unschedulable = false};
    int64_t end = now_ms(NULL) + ms;
    bool enough = false;
    while (now_ms(NULL) < end && !enough) {
        struct dr_kube_watch_seen seen;
        dr_kube_watch_turn(watch, &seen);
        all.unschedulable = all.unschedulable || seen.unschedulable;
        all.nodes = all.nodes || seen.nodes;
        all.connected = seen.connected;
        enough = want != NULL ? asked(api, want) >= times : all.unschedulable;
        (void)dr_http_poll(api->http, 20, -1);
    }
    return all;
}

TEST(kube_watch, an_unschedulable_pod_is_seen_and_a_gated_one_is_not) {
    struct api api;
    open_api(&api);
    answer(&api, "GET", "/api/v1/nodes?watch", -1, EVENT("ADDED", READY("1")));
    answer(&api, "GET", "/api/v1/pods?watch", -1, EVENT("ADDED", GATED));
    struct dr_kube_watch *watch = dr_kube_watch_new(api.kube);
    struct dr_kube_watch_seen seen = watch_for(&api, watch, NULL, 0, 300);
    CHECK(!seen.unschedulable && seen.nodes && seen.connected);
    dr_kube_watch_free(watch);
    api.route_n = 0;
    answer(&api, "GET", "/api/v1/nodes?watch", -1, "");
    answer(&api, "GET", "/api/v1/pods?watch", -1, EVENT("ADDED", GATED) EVENT("MODIFIED", WAITING));
    watch = dr_kube_watch_new(api.kube);
    CHECK(watch_for(&api, watch, NULL, 0, 3000).unschedulable);
    CHECK(asked(&api, "fieldSelector=spec.nodeName%3D%2Cstatus.phase%3DPending&allowWatchBookmarks=true") >= 1);
    dr_kube_watch_free(watch);
    close_api(&api);
}

TEST(kube_watch, stream_that_ends_goes_on_from_its_last_version) {
    struct api api;
    open_api(&api);
    answer(&api, "GET", "/api/v1/nodes?watch", -1, "");
    answer(&api, "GET", "/api/v1/pods?watch", 200,
           EVENT("ADDED", WAITING) EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"77\"}}"));
    answer(&api, "GET", "/api/v1/pods?watch", -1, "");
    struct dr_kube_watch *watch = dr_kube_watch_new(api.kube);
    struct dr_kube_watch_seen seen = watch_for(&api, watch, "resourceVersion=77", 1, 5000);
    CHECK(seen.unschedulable);
    CHECK_EQ_INT(asked(&api, "resourceVersion=77"), 1);
    dr_kube_watch_free(watch);
    close_api(&api);
}

TEST(kube_watch, gone_in_the_stream_or_as_status_starts_from_the_present) {
    static const struct {
        int status;
        const char *body;
    } table[] = {{200, EVENT("ERROR", STATUS("410", "Expired"))}, {410, STATUS("410", "Expired")}};
    for (size_t i = 0; i < 2; i++) {
        struct api api;
        open_api(&api);
        answer(&api, "GET", "/api/v1/nodes?watch", -1, "");
        answer(&api, "GET", "/api/v1/pods?watch", 200, EVENT("ADDED", WAITING));
        answer(&api, "GET", "/api/v1/pods?watch", table[i].status, table[i].body);
        answer(&api, "GET", "/api/v1/pods?watch", -1, "");
        struct dr_kube_watch *watch = dr_kube_watch_new(api.kube);
        (void)watch_for(&api, watch, "/api/v1/pods?watch", 3, 6000);
        CHECK_EQ_INT(asked(&api, "/api/v1/pods?watch"), 3);
        CHECK_EQ_INT(asked(&api, "resourceVersion=41"), 1);
        dr_kube_watch_free(watch);
        close_api(&api);
    }
}

TEST(kube_watch, heartbeats_of_a_node_wake_nobody) {
    struct api api;
    open_api(&api);
    answer(&api, "GET", "/api/v1/pods?watch", -1, "");
    answer(&api, "GET", "/api/v1/nodes?watch", 200, EVENT("ADDED", READY("1")));
    answer(&api, "GET", "/api/v1/nodes?watch", 200, EVENT("MODIFIED", READY("2")));
    answer(&api, "GET", "/api/v1/nodes?watch", -1, "");
    struct dr_kube_watch *watch = dr_kube_watch_new(api.kube);
    CHECK(watch_for(&api, watch, "resourceVersion=1", 1, 5000).nodes);
    CHECK(!watch_for(&api, watch, "resourceVersion=2", 1, 5000).nodes);
    dr_kube_watch_free(watch);
    close_api(&api);
}

TEST(kube_watch, a_node_that_goes_is_seen) {
    struct api api;
    open_api(&api);
    answer(&api, "GET", "/api/v1/pods?watch", -1, "");
    answer(&api, "GET", "/api/v1/nodes?watch", 200, EVENT("ADDED", READY("1")));
    answer(&api, "GET", "/api/v1/nodes?watch", -1, EVENT("DELETED", READY("3")));
    struct dr_kube_watch *watch = dr_kube_watch_new(api.kube);
    struct dr_kube_watch_seen seen = {.nodes = false};
    for (int64_t end = now_ms(NULL) + 3000; !seen.nodes && now_ms(NULL) < end;) {
        seen = watch_for(&api, watch, "/api/v1/nodes?watch", 0, 1000); /* one turn */
    }
    CHECK(seen.nodes);
    CHECK(watch_for(&api, watch, "never", 1, 1000).nodes);
    dr_kube_watch_free(watch);
    close_api(&api);
}

TEST(kube_watch, refusals_and_rubbish_are_said_and_not_hurried) {
    struct api api;
    open_api(&api);
    answer(&api, "GET", "/api/v1/pods?watch", 403, STATUS("403", "Forbidden"));
    answer(&api, "GET", "/api/v1/nodes?watch", 200, "<html>\n");
    struct dr_kube_watch *watch = dr_kube_watch_new(api.kube);
    struct dr_kube_watch_seen seen = watch_for(&api, watch, "never", 1, 1200);
    CHECK(!seen.unschedulable);
    CHECK_CONTAINS(dr_kube_watch_why(watch), "watch pods: 403: because Forbidden");
    CHECK(asked(&api, "/api/v1/pods?watch") <= 5 && asked(&api, "/api/v1/nodes?watch") <= 5);
    dr_kube_watch_free(watch);
    close_api(&api);
}
