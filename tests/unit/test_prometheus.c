/* Every answer of Prometheus becomes samples or an unknown with a reason; and the calls that ask for them. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "adapter/prometheus/answer.h"
#include "adapter/prometheus/prometheus.h"
#include "harness/server.h"
#include "harness/test.h"

TEST(prometheus, a_series_becomes_samples_in_order_of_time) {
    struct dr_arena arena;
    struct dr_reading r;
    dr_arena_init(&arena, 0);
    dr_prometheus_answer(
        &arena, 200,
        DR_STR("{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{},\"values\":[[1794736800,\"0.5\"],"
               "[1794736815.25,\"7.25e-1\"],[1794736830,\"NaN\"],[1794736845,\"1\"]]}]}}"),
        &r);
    CHECK(r.known);
    CHECK_EQ_INT(r.sample_n, 3); /* what is not finite is a hole */
    CHECK_EQ_INT(r.samples[0].at_ms, INT64_C(1794736800000));
    CHECK_EQ_INT(r.samples[0].micro, 500000);
    CHECK_EQ_INT(r.samples[1].at_ms, INT64_C(1794736815250));
    CHECK_EQ_INT(r.samples[1].micro, 725000);
    CHECK_EQ_INT(r.samples[2].micro, 1000000);
    dr_arena_deinit(&arena);
}

TEST(prometheus, vectors_and_scalars_are_one_sample) {
    static const char *const bodies[] = {
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{\"a\":\"b\"},\"value\":[10.5,\"3\"]}]}}",
        "{\"status\":\"success\",\"data\":{\"result\":[10.5,\"3\"],\"resultType\":\"scalar\"},\"warnings\":null}",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[10.5,\"3\"]},\"warnings\":[\"PromQL info: metric might "
        "not be a counter\"],"
        "\"infos\":[\"x\"]}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct dr_arena arena;
        struct dr_reading r;
        dr_arena_init(&arena, 0);
        dr_prometheus_answer(&arena, 200, dr_str_of(bodies[i]), &r);
        CHECK(r.known && r.sample_n == 1);
        CHECK_EQ_INT(r.samples[0].at_ms, 10500);
        CHECK_EQ_INT(r.samples[0].micro, 3000000);
        dr_arena_deinit(&arena);
    }
}

#define RESULT(result) "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":" result "}}"

TEST(prometheus, everything_else_is_unknown_with_a_reason) {
    static const struct {
        int status;
        const char *body;
        const char *says;
    } table[] = {
        {200, RESULT("[]"), "no data"},
        {200, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"values\":[]}]}}", "no data"},
        {200, "{\"status\":\"success\"}", "no data"},
        {200, RESULT("[{\"value\":[1,\"1\"]},{\"value\":[1,\"2\"]}]"), "2 series where one is wanted"},
        {200, RESULT("[{\"value\":[1,\"NaN\"]}]"), "the value is NaN"},
        {200, RESULT("[{\"value\":[1,\"+Inf\"]}]"), "the value is +Inf"},
        {200, RESULT("[{\"value\":[1,\"-Inf\"]}]"), "the value is -Inf"},
        {200, RESULT("[{\"value\":[1,\"1e300\"]}]"), "the value is 1e300"},
        {200, RESULT("[{\"value\":[1]}]"), "not one of Prometheus"},
        {200, RESULT("[{\"value\":[\"x\",\"1\"]}]"), "not one of Prometheus"},
        {200, RESULT("[{\"value\":[1,1]}]"), "not one of Prometheus"},
        {200, RESULT("[{\"value\":7}]"), "not one of Prometheus"},
        {200, RESULT("[7]"), "not one of Prometheus"},
        {200, RESULT("{}"), "not one of Prometheus"},
        {200, RESULT("[{\"histogram\":[1,{}]}]"), "histogram"},
        {200, "{\"status\":\"success\",\"data\":{\"result\":[{\"values\":[[2,\"1\"],[1,\"1\"]]}]}}", "order of their time"},
        {200, "{\"status\":\"success\",\"warnings\":[\"No StoreAPIs matched\"],\"data\":{\"result\":[{\"value\":[1,\"1\"]}]}}",
         "incomplete answer: No StoreAPIs matched"},
        {200, "{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"query timed out\"}", "timeout: query timed out"},
        {400, "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse error\\nat char 3\"}", "bad_data: parse error at char 3"},
        {422, "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"many-to-many\"}", "many-to-many"},
        {503, "{\"status\":\"error\",\"errorType\":\"unavailable\",\"error\":\"starting\"}", "starting"},
        {401, "Unauthorized", "access denied"},
        {404, "404 page not found", "check url and path prefix"},
        {302, "", "redirect"},
        {502, "<html>Bad Gateway</html>", "status 502"},
        {200, "<html>log in</html>", "not one of Prometheus"},
        {200, "", "not one of Prometheus"},
        {200, "{}", "it has no status"},
        {200, "[]", "not one of Prometheus"},
        {200, "{\"status\":\"success\",\"data\":{\"result\":[{\"value\":[1,\"1\"]}]}", "not one of Prometheus"},
        {200, "{\"status\":\"success\",\"data\":{\"result\":[{\"value\":[1,\"\xFF\"]}]}}", "UTF-8"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct dr_arena arena;
        struct dr_reading r;
        dr_arena_init(&arena, 0);
        dr_prometheus_answer(&arena, table[i].status, dr_str_of(table[i].body), &r);
        if (r.known) {
            FAIL("known: %s", table[i].body);
        }
        CHECK(r.sample_n == 0);
        CHECK_CONTAINS(r.why, table[i].says);
        dr_arena_deinit(&arena);
    }
}

/* ---- the calls ---- */

static int64_t now_ms(void *self) {
    struct timespec t;
    (void)self;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static const struct dr_clock_ops CLOCK = {.now_ms = now_ms};

struct seen {
    pthread_mutex_t lock;
    char log[16][9000];
    int n;
};

static bool serve(void *self, const struct dr_server_request *r) {
    struct seen *seen = self;
    (void)pthread_mutex_lock(&seen->lock);
    if (seen->n < 16) {
        (void)snprintf(seen->log[seen->n++], sizeof seen->log[0], "%.*s %.*s|%.*s|%.*s", DR_FMT(r->method), DR_FMT(r->target),
                       DR_FMT(dr_server_header(r, "Authorization")), DR_FMT(r->body));
    }
    (void)pthread_mutex_unlock(&seen->lock);
    if (strstr(r->target.p, "hang") != NULL) {
        return true; /* no answer */
    }
    return dr_server_reply(r, 200, NULL, RESULT("[{\"value\":[1794736800,\"0.25\"]}]"));
}

struct rig {
    struct seen seen;
    struct dr_server *server;
    struct dr_http *http;
    struct dr_prometheus *prometheus;
    struct dr_metrics port;
    struct dr_arena arena;
    struct dr_err err;
};

static void open_rig(struct rig *g, const char *path, struct dr_prometheus_options options) {
    memset(g, 0, sizeof *g);
    (void)pthread_mutex_init(&g->seen.lock, NULL);
    dr_arena_init(&g->arena, 0);
    g->server = dr_server_start(serve, &g->seen);
    g->http = dr_http_new(&g->err);
    options.http = g->http;
    options.clock = (struct dr_clock){&CLOCK, NULL};
    options.url = dr_server_url(g->server, path);
    CHECK_OK(dr_prometheus_open(&options, &g->prometheus, &g->err), g->err);
    g->port = dr_prometheus_metrics(g->prometheus);
}

static void close_rig(struct rig *g) {
    dr_prometheus_close(g->prometheus);
    dr_http_free(g->http);
    dr_server_stop(g->server);
    dr_arena_deinit(&g->arena);
}

static const char *logged(struct rig *g, const char *text) {
    for (int i = 0; i < g->seen.n; i++) {
        if (strstr(g->seen.log[i], text) != NULL) {
            return g->seen.log[i];
        }
    }
    return NULL;
}

static struct dr_signal signal_of(const char *query, int64_t window_ms) {
    return (struct dr_signal){.name = DR_STR("x"), .kind = DR_SIGNAL_CUSTOM, .query = dr_str_of(query), .window_ms = window_ms};
}

TEST(prometheus, windows_are_ranges_that_end_now_and_the_rest_are_instants) {
    struct rig g;
    struct dr_reading r[2];
    open_rig(&g, "/prefix/", (struct dr_prometheus_options){.user = DR_STR("me"), .password = DR_STR("pa:ss")});
    struct dr_signal signals[] = {signal_of("sum(a{b=\"c\"})", 100000), signal_of("d", 0)};
    int64_t at_ms = INT64_C(1794736800123);
    g.port.ops->request(g.port.self, signals, 2, at_ms, now_ms(NULL) + 5000);
    g.port.ops->read(g.port.self, &g.arena, signals, 2, at_ms, now_ms(NULL) + 5000, r);
    CHECK(r[0].known && r[1].known && r[1].samples[0].micro == 250000);
    CHECK_EQ_INT(g.seen.n, 2);
    const char *range = logged(
        &g,
        "GET /prefix/api/v1/query_range?query=sum%28a%7Bb%3D%22c%22%7D%29&start=1794736695.123&end=1794736800.123&step=15.000&timeout=");
    CHECK(range != NULL && strstr(range, "|Basic bWU6cGE6c3M=|") != NULL);
    CHECK(logged(&g, "GET /prefix/api/v1/query?query=d&time=1794736800.123&timeout=") != NULL);
    close_rig(&g);
}

TEST(prometheus, a_query_that_hangs_is_unknown_and_holds_up_nothing_else) {
    struct rig g;
    struct dr_reading r[3];
    open_rig(&g, "", (struct dr_prometheus_options){.token = DR_STR("t0k")});
    struct dr_signal signals[] = {signal_of("hang", 0), signal_of("a", 0), signal_of("hang2", 0)};
    int64_t start = now_ms(NULL);
    g.port.ops->read(g.port.self, &g.arena, signals, 3, start, start + 500, r);
    CHECK(now_ms(NULL) - start < 3000);
    CHECK(!r[0].known && r[1].known && !r[2].known);
    CHECK_CONTAINS(r[0].why, "prometheus: ");
    CHECK(logged(&g, "|Bearer t0k|") != NULL);
    close_rig(&g);
}

TEST(prometheus, built_in_queries_go_by_get) {
    struct rig g;
    struct dr_reading r[2];
    struct dr_config cfg;
    open_rig(&g, "", (struct dr_prometheus_options){.step_ms = 0});
    dr_config_init(&cfg, DR_PRESET_DEFAULT);
    g.port.ops->read(g.port.self, &g.arena, cfg.signals, 2, now_ms(NULL), now_ms(NULL) + 5000, r);
    CHECK(r[0].known && r[1].known && logged(&g, "POST") == NULL);
    close_rig(&g);
}

TEST(prometheus, long_queries_go_by_post) {
    struct rig g;
    struct dr_reading r[1];
    char query[6501];
    memset(query, 'a', sizeof query);
    query[6500] = '\0';
    open_rig(&g, "", (struct dr_prometheus_options){.step_ms = 1000});
    struct dr_signal signals[] = {signal_of(query, 3000)};
    g.port.ops->read(g.port.self, &g.arena, signals, 1, now_ms(NULL), now_ms(NULL) + 5000, r);
    CHECK(r[0].known && logged(&g, "POST /api/v1/query_range|") != NULL && logged(&g, "&step=1.000") != NULL);
    close_rig(&g);
}

TEST(prometheus, built_in_queries_leave_servers_out_and_others_stay_as_they_are) {
    struct rig g;
    struct dr_config cfg;
    struct dr_str servers[] = {DR_STR("10.0.0.1"), DR_STR("server-1")};
    open_rig(&g, "", (struct dr_prometheus_options){.servers = servers, .server_n = 2});
    dr_config_init(&cfg, DR_PRESET_DEFAULT);
    struct dr_str cpu = dr_prometheus_query(g.prometheus, &g.arena, &cfg.signals[DR_SIGNAL_AT_CPU]);
    CHECK_CONTAINS(
        cpu,
        "1 - sum((label_replace(rate(node_cpu_seconds_total{mode=\"idle\",instance!~\"(10\\\\.0\\\\.0\\\\.1|server-1)(:[0-9]+)?\"}[5m])");
    CHECK_CONTAINS(cpu, "kube_node_role");
    CHECK(strstr(cpu.p, "mode!=") == NULL); /* hazard 1 */
    struct dr_str memory = dr_prometheus_query(g.prometheus, &g.arena, &cfg.signals[DR_SIGNAL_AT_MEMORY]);
    CHECK_CONTAINS(memory, "node_memory_MemAvailable_bytes{instance!~");
    struct dr_signal own = {.kind = DR_SIGNAL_CPU, .query = DR_STR("my_cpu")};
    CHECK_EQ_STR(dr_prometheus_query(g.prometheus, &g.arena, &own), "my_cpu");
    close_rig(&g);
}

TEST(prometheus, options_that_cannot_work_are_refused) {
    static const struct {
        struct dr_prometheus_options options;
        const char *says;
    } table[] = {
        {{.url = {"prometheus:9090", 15}}, "not an address"},
        {{.url = {"http://a?b", 10}}, "no user, query"},
        {{.url = {"http://a", 8}, .user = {"u", 1}, .token = {"t", 1}}, "not both"},
        {{.url = {"http://a", 8}, .user = {"u:v", 3}}, "colon"},
    };
    struct dr_err err;
    struct dr_http *http = dr_http_new(&err);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct dr_prometheus_options options = table[i].options;
        struct dr_prometheus *p = NULL;
        options.http = http;
        options.clock = (struct dr_clock){&CLOCK, NULL};
        CHECK_FAILS(dr_prometheus_open(&options, &p, &err), err, DR_E_INVALID);
        CHECK_CONTAINS(dr_str_of(err.text), table[i].says);
    }
    dr_http_free(http);
}
