/* TLS: what is trusted, what is not, and what a person is told. The certificates are made by the openssl program when a test runs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "adapter/http/http.h"
#include "harness/server.h"
#include "harness/test.h"

enum { PATIENCE_MS = 30000 };

struct world {
    const char *folder;
    struct dr_http *http;
    struct dr_server *server;
    struct dr_arena arena;
    struct dr_http_tls tls;
    struct dr_http_response response;
    struct dr_err err;
    char *pem[4];
    size_t pem_n;
};

static const char *in(const struct world *w, const char *file) {
    static char kept[16][512];
    static unsigned next;
    char *path = kept[next++ % 16];
    (void)snprintf(path, sizeof kept[0], "%s/%s", w->folder, file);
    return path;
}

/* An authority <name>.pem/.key, or with `by` a certificate of that authority for the subject alternative name `san`. */
static void make_certificate(const struct world *w, const char *name, const char *by, const char *san) {
    char line[4096];
    const char *key = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    if (by == NULL) {
        (void)snprintf(line, sizeof line, "cd '%s' && %s -keyout %s.key -out %s.pem -subj /CN=%s 2>log", w->folder, key, name, name, name);
    } else {
        (void)snprintf(line, sizeof line,
                       "cd '%s' && printf 'subjectAltName=%s' >ext && openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                       "-keyout %s.key "
                       "-out %s.csr -subj /CN=%s 2>log && openssl x509 -req -in %s.csr -CA %s.pem -CAkey %s.key -CAcreateserial -days 2 "
                       "-extfile ext -out "
                       "%s.pem 2>log",
                       w->folder, san, name, name, name, name, by, by, name);
    }
    int status = system(line);
    if (status != 0) {
        FAIL("%s: %s", line, dr_test_read_file(in(w, "log"), NULL));
    }
}

static struct dr_str pem(struct world *w, const char *file) {
    struct dr_str s;
    CHECK(w->pem_n < 4);
    w->pem[w->pem_n] = dr_test_read_file(in(w, file), &s.n);
    s.p = w->pem[w->pem_n++];
    return s;
}

static bool serve_hello(void *self, const struct dr_server_request *request) {
    (void)self;
    return dr_server_reply(request, 200, NULL, "hello");
}

static void open_world(struct world *w, const char *server_name) {
    *w = (struct world){.folder = dr_test_tmpdir()};
    dr_arena_init(&w->arena, 0);
    w->http = dr_http_new(&w->err);
    CHECK(w->http != NULL);
    make_certificate(w, "ca", NULL, NULL);
    make_certificate(w, "server", "ca", server_name);
}

static void serve(struct world *w, dr_server_fn *fn, void *self, const char *client_ca) {
    w->server = dr_server_start_tls(fn, self, in(w, "server.pem"), in(w, "server.key"), client_ca);
}

static void close_world(struct world *w) {
    dr_http_free(w->http);
    dr_arena_deinit(&w->arena);
    dr_server_stop(w->server);
    for (size_t i = 0; i < w->pem_n; i++) {
        free(w->pem[i]);
    }
}

static int call(struct world *w) {
    struct dr_http_request request = {.method = "GET", .url = dr_server_url(w->server, "/"), .tls = &w->tls, .timeout_ms = PATIENCE_MS};
    return dr_http_do(w->http, &request, &w->arena, &w->response, &w->err);
}

TEST(http_tls, given_authority_is_trusted_from_a_file_or_inline) {
    struct world w;
    open_world(&w, "DNS:localhost");
    serve(&w, serve_hello, NULL, NULL);
    w.tls.ca_file = in(&w, "ca.pem");
    CHECK_OK(call(&w), w.err);
    CHECK_EQ_STR(w.response.body, "hello");
    w.tls = (struct dr_http_tls){.ca_pem = pem(&w, "ca.pem")};
    CHECK_OK(call(&w), w.err);
    close_world(&w);
}

TEST(http_tls, certificate_of_another_authority_is_denied) {
    struct world w;
    open_world(&w, "DNS:localhost");
    make_certificate(&w, "other", NULL, NULL);
    serve(&w, serve_hello, NULL, NULL);
    w.tls.ca_file = in(&w, "other.pem");
    CHECK_FAILS(call(&w), w.err, DR_E_DENIED);
    CHECK_CONTAINS(dr_str_of(w.err.text), "GET localhost:");
    w.tls = (struct dr_http_tls){.ca_pem = pem(&w, "other.pem")};
    CHECK_FAILS(call(&w), w.err, DR_E_DENIED);
    w.tls = (struct dr_http_tls){0}; /* the system's authorities do not know it either */
    CHECK_FAILS(call(&w), w.err, DR_E_DENIED);
    CHECK_EQ_INT(dr_server_requests(w.server), 0);
    close_world(&w);
}

TEST(http_tls, certificate_for_another_name_is_denied) {
    struct world w;
    open_world(&w, "DNS:elsewhere.example");
    serve(&w, serve_hello, NULL, NULL);
    w.tls.ca_file = in(&w, "ca.pem");
    CHECK_FAILS(call(&w), w.err, DR_E_DENIED);
    CHECK_EQ_INT(dr_server_requests(w.server), 0);
    close_world(&w);
}

TEST(http_tls, trust_of_one_call_is_not_lent_to_the_next_by_a_kept_connection) {
    struct world w;
    open_world(&w, "DNS:localhost");
    make_certificate(&w, "other", NULL, NULL);
    serve(&w, serve_hello, NULL, NULL);
    w.tls.ca_pem = pem(&w, "ca.pem");
    CHECK_OK(call(&w), w.err);
    w.tls.ca_pem = pem(&w, "other.pem");
    CHECK_FAILS(call(&w), w.err, DR_E_DENIED);
    close_world(&w);
}

TEST(http_tls, authority_file_that_is_missing_or_no_certificate_is_denied_and_named) {
    struct world w;
    open_world(&w, "DNS:localhost");
    serve(&w, serve_hello, NULL, NULL);
    w.tls.ca_file = in(&w, "missing.pem");
    CHECK_FAILS(call(&w), w.err, DR_E_DENIED);
    CHECK_CONTAINS(dr_str_of(w.err.text), "missing.pem");
    w.tls.ca_file = in(&w, "ext");
    CHECK_FAILS(call(&w), w.err, DR_E_DENIED);
    w.tls = (struct dr_http_tls){.ca_pem = DR_STR("not a certificate")};
    CHECK_FAILS(call(&w), w.err, DR_E_DENIED);
    close_world(&w);
}

TEST(http_tls, client_certificate_identifies_the_caller) {
    struct world w;
    open_world(&w, "DNS:localhost");
    make_certificate(&w, "client", "ca", "DNS:client");
    serve(&w, serve_hello, NULL, in(&w, "ca.pem"));
    w.tls.ca_pem = pem(&w, "ca.pem");
    CHECK_FAILS(call(&w), w.err, DR_E_UNAVAILABLE); /* none given: the server ends the connection */
    w.tls.cert_pem = pem(&w, "client.pem");
    w.tls.key_pem = pem(&w, "client.key");
    CHECK_OK(call(&w), w.err);
    close_world(&w);
}

TEST(http_tls, client_key_that_does_not_fit_its_certificate_is_denied) {
    struct world w;
    open_world(&w, "DNS:localhost");
    make_certificate(&w, "client", "ca", "DNS:client");
    serve(&w, serve_hello, NULL, in(&w, "ca.pem"));
    w.tls.ca_pem = pem(&w, "ca.pem");
    w.tls.cert_pem = pem(&w, "client.pem");
    w.tls.key_pem = pem(&w, "ca.key");
    CHECK_FAILS(call(&w), w.err, DR_E_DENIED);
    close_world(&w);
}

TEST(http_tls, server_that_speaks_no_tls_is_unavailable) {
    struct world w;
    open_world(&w, "DNS:localhost");
    w.server = dr_server_start(serve_hello, NULL);
    char url[64];
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/", dr_server_port(w.server));
    struct dr_http_request request = {.method = "GET", .url = dr_str_of(url), .timeout_ms = 2000};
    struct dr_http_call *c = dr_http_start(w.http, &request);
    CHECK(dr_http_wait(w.http, c, &w.response, &w.err) < 0);
    CHECK(w.err.code == DR_E_UNAVAILABLE || w.err.code == DR_E_TIMEOUT); /* the server waits for an end of line that never comes */
    dr_http_call_free(c);
    close_world(&w);
}

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t all;
    int here;
};

static bool serve_meeting(void *self, const struct dr_server_request *request) {
    struct meeting *meeting = self;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&meeting->lock);
    meeting->here++;
    pthread_cond_broadcast(&meeting->all);
    while (meeting->here < 4 && pthread_cond_timedwait(&meeting->all, &meeting->lock, &until) == 0) {}
    bool met = meeting->here >= 4;
    pthread_mutex_unlock(&meeting->lock);
    return dr_server_reply(request, met ? 200 : 500, NULL, "");
}

/* Calls wait for a connection that is being opened in the hope of HTTP/2; where there is none they must not go one after the other. */
TEST(http_tls, calls_to_a_server_without_http2_are_at_the_server_at_once) {
    struct meeting meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    struct world w;
    struct dr_http_call *calls[4];
    open_world(&w, "DNS:localhost");
    serve(&w, serve_meeting, &meeting, NULL);
    w.tls.ca_file = in(&w, "ca.pem");
    for (int i = 0; i < 4; i++) {
        struct dr_http_request request = {
            .method = "GET", .url = dr_server_url(w.server, "/"), .tls = &w.tls, .timeout_ms = INT64_C(2) * PATIENCE_MS};
        calls[i] = dr_http_start(w.http, &request);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_OK(dr_http_wait(w.http, calls[i], &w.response, &w.err), w.err);
        CHECK_EQ_INT(w.response.status, 200);
        dr_http_call_free(calls[i]);
    }
    close_world(&w);
}
