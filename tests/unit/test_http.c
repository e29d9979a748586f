/* The HTTP client against a server in the same process that answers well, badly, late or not at all. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adapter/http/http.h"
#include "harness/server.h"
#include "harness/test.h"

enum { PATIENCE_MS = 30000, PARALLEL = 24 };

struct world {
    struct dr_http *http;
    struct dr_server *server;
    struct dr_arena arena;
    struct dr_http_response response;
    struct dr_err err;
};

static void open_world(struct world *w, dr_server_fn *serve, void *self) {
    *w = (struct world){.server = serve == NULL ? NULL : dr_server_start(serve, self)};
    dr_arena_init(&w->arena, 0);
    w->http = dr_http_new(&w->err);
    CHECK(w->http != NULL);
}

static void close_world(struct world *w) {
    dr_http_free(w->http);
    dr_arena_deinit(&w->arena);
    if (w->server != NULL) {
        dr_server_stop(w->server);
    }
}

static struct dr_http_request get(const struct world *w, const char *path) {
    return (struct dr_http_request){.method = "GET", .url = dr_server_url(w->server, path), .timeout_ms = PATIENCE_MS};
}

static int call(struct world *w, const struct dr_http_request *request) {
    return dr_http_do(w->http, request, &w->arena, &w->response, &w->err);
}

static bool serve_echo(void *self, const struct dr_server_request *request) {
    struct dr_buf buf;
    (void)self;
    dr_buf_init(&buf, 0);
    dr_buf_fmt(&buf, "%.*s %.*s\n%.*s%.*s", DR_FMT(request->method), DR_FMT(request->target), DR_FMT(request->head), DR_FMT(request->body));
    bool open = dr_server_reply(request, 200, "Date: Sun, 15 Nov 2026 20:04:00 GMT\r\nX-Odd:   two words \r\nx-empty:\r\n", buf.p);
    dr_buf_deinit(&buf);
    return open;
}

TEST(http, request_arrives_as_it_was_given) {
    struct world w;
    open_world(&w, serve_echo, NULL);
    struct dr_http_header headers[] = {
        {DR_STR("X-One"), DR_STR("1")}, {DR_STR("X-None"), DR_STR("")}, {DR_STR("Content-Type"), DR_STR("application/json")}};
    struct dr_http_request request = get(&w, "/a%20b?x=%2F&y=");
    request.method = "PATCH";
    request.headers = headers;
    request.header_n = 3;
    request.body = DR_STR("{\"a\":1}");
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(w.response.status, 200);
    CHECK(dr_str_starts(w.response.body, "PATCH /a%20b?x=%2F&y=\n"));
    CHECK_CONTAINS(w.response.body, "X-One: 1\r\n");
    CHECK_CONTAINS(w.response.body, "X-None:\r\n");
    CHECK_CONTAINS(w.response.body, "Content-Type: application/json\r\n");
    CHECK_CONTAINS(w.response.body, "Content-Length: 7\r\n");
    CHECK(dr_str_ends(w.response.body, "\r\n\r\n{\"a\":1}"));
    CHECK(strstr(w.response.body.p, "Expect") == NULL);
    close_world(&w);
}

TEST(http, body_without_a_type_is_not_called_a_form) {
    struct world w;
    open_world(&w, serve_echo, NULL);
    struct dr_http_request request = get(&w, "/");
    request.method = "POST";
    request.body = DR_STR("x");
    CHECK_OK(call(&w, &request), w.err);
    CHECK(strstr(w.response.body.p, "Content-Type") == NULL);
    request.method = "PUT";
    request.body = DR_STR_NONE;
    CHECK_OK(call(&w, &request), w.err);
    CHECK_CONTAINS(w.response.body, "Content-Length: 0\r\n");
    request.method = "HEAD";
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(w.response.body.n, 0);
    close_world(&w);
}

TEST(http, headers_of_the_answer_are_found_in_any_case) {
    struct world w;
    open_world(&w, serve_echo, NULL);
    struct dr_http_request request = get(&w, "/");
    struct dr_http_call *c = dr_http_start(w.http, &request);
    CHECK_OK(dr_http_wait(w.http, c, &w.response, &w.err), w.err);
    CHECK_EQ_STR(dr_http_header(c, "x-odd"), "two words");
    CHECK_EQ_STR(dr_http_header(c, "X-ODD"), "two words");
    CHECK_EQ_STR(dr_http_header(c, "x-empty"), "");
    CHECK_EQ_STR(dr_http_header(c, "x-od"), "");
    CHECK_EQ_STR(dr_http_header(c, "http/1.1 200 status"), "");
    CHECK_EQ_INT(w.response.date_ms, INT64_C(1794773040000));
    CHECK_EQ_INT(w.response.retry_after_ms, -1);
    dr_http_call_free(c);
    close_world(&w);
}

TEST(http, retry_after_is_seconds_or_a_date_against_the_servers_clock) {
    static const struct {
        const char *headers;
        int64_t after_ms;
        int64_t date_ms;
    } cases[] = {
        {"Retry-After: 7\r\n", 7000, 0},
        {"Retry-After: 0\r\n", 0, 0},
        {"Retry-After: -1\r\n", -1, 0},
        {"Retry-After: soon\r\n", -1, 0},
        {"Retry-After: 99999999999999999999\r\n", -1, 0},
        {"Retry-After: 999999999\r\n", 86400000, 0},
        {"Retry-After: Sun, 15 Nov 2026 20:04:09 GMT\r\n", -1, 0},
        {"Date: Sun, 15 Nov 2026 20:04:00 GMT\r\nRetry-After: Sun, 15 Nov 2026 20:04:09 GMT\r\n", 9000, INT64_C(1794773040000)},
        {"Date: Sun, 15 Nov 2026 20:04:00 GMT\r\nRetry-After: Sun, 15 Nov 2026 20:03:00 GMT\r\n", 0, INT64_C(1794773040000)},
        {"Date: yesterday\r\n", -1, 0},
        {"Date:\r\n", -1, 0},
    };
    struct dr_server_answer answers[sizeof cases / sizeof cases[0]];
    int n = (int)(sizeof cases / sizeof cases[0]);
    for (int i = 0; i < n; i++) {
        answers[i] = (struct dr_server_answer){503, cases[i].headers, "busy"};
    }
    struct dr_server_script script = {answers, n};
    struct world w;
    open_world(&w, dr_server_script, &script);
    for (int i = 0; i < n; i++) {
        struct dr_http_request request = get(&w, "/");
        CHECK_OK(call(&w, &request), w.err);
        CHECK_EQ_INT(w.response.status, 503);
        CHECK_EQ_STR(w.response.body, "busy");
        CHECK_EQ_INT(w.response.retry_after_ms, cases[i].after_ms);
        CHECK_EQ_INT(w.response.date_ms, cases[i].date_ms);
    }
    close_world(&w);
}

TEST(http, connection_is_kept_for_the_next_call) {
    struct world w;
    open_world(&w, serve_echo, NULL);
    for (int i = 0; i < 20; i++) {
        struct dr_http_request request = get(&w, "/");
        CHECK_OK(call(&w, &request), w.err);
    }
    struct dr_http_stats stats = dr_http_stats(w.http);
    CHECK_EQ_INT(stats.calls, 20);
    CHECK_EQ_INT(stats.connections, 1);
    CHECK(stats.bytes_in > 2000 && stats.bytes_out > 600);
    close_world(&w);
}

/* A meeting of requests: each is answered once all are there. */
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
    while (meeting->here < PARALLEL && pthread_cond_timedwait(&meeting->all, &meeting->lock, &until) == 0) {}
    bool met = meeting->here >= PARALLEL;
    pthread_mutex_unlock(&meeting->lock);
    return dr_server_reply(request, met ? 200 : 500, NULL, "");
}

TEST(http, calls_that_were_started_are_all_at_the_server_at_once) {
    struct meeting meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    struct world w;
    open_world(&w, serve_meeting, &meeting);
    struct dr_http_call *calls[PARALLEL];
    for (int i = 0; i < PARALLEL; i++) {
        struct dr_http_request request = get(&w, "/");
        request.timeout_ms = INT64_C(2) * PATIENCE_MS;
        calls[i] = dr_http_start(w.http, &request);
    }
    for (int i = 0; i < PARALLEL; i++) {
        CHECK_OK(dr_http_wait(w.http, calls[i], &w.response, &w.err), w.err);
        CHECK_EQ_INT(w.response.status, 200);
        dr_http_call_free(calls[i]);
    }
    close_world(&w);
}

/* Says nothing until the client goes away. */
static bool serve_silence(void *self, const struct dr_server_request *request) {
    char c;
    (void)self;
    return recv(request->fd, &c, 1, 0) > 0;
}

TEST(http, deadline_ends_a_call_without_an_answer) {
    struct world w;
    open_world(&w, serve_silence, NULL);
    struct dr_http_request request = get(&w, "/secret?token=abc");
    request.timeout_ms = 50;
    CHECK_FAILS(call(&w, &request), w.err, DR_E_TIMEOUT);
    CHECK_CONTAINS(dr_str_of(w.err.text), "GET 127.0.0.1:");
    CHECK_CONTAINS(dr_str_of(w.err.text), "no answer within 50 ms");
    CHECK(strstr(w.err.text, "abc") == NULL);
    close_world(&w);
}

static bool serve_half_then_silence(void *self, const struct dr_server_request *request) {
    static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc";
    return dr_server_send(request, half, sizeof half - 1) && serve_silence(self, request);
}

TEST(http, deadline_holds_in_the_middle_of_a_body) {
    struct world w;
    open_world(&w, serve_half_then_silence, NULL);
    struct dr_http_request request = get(&w, "/");
    request.timeout_ms = 100;
    CHECK_FAILS(call(&w, &request), w.err, DR_E_TIMEOUT);
    close_world(&w);
}

TEST(http, deadline_of_one_call_leaves_the_others_alone) {
    struct world w;
    open_world(&w, serve_echo, NULL);
    struct world slow;
    open_world(&slow, serve_silence, NULL);
    struct dr_http_request late = get(&slow, "/");
    late.timeout_ms = 50;
    struct dr_http_request good = get(&w, "/");
    struct dr_http_call *a = dr_http_start(w.http, &late);
    struct dr_http_call *b = dr_http_start(w.http, &good);
    CHECK_FAILS(dr_http_wait(w.http, a, &w.response, &w.err), w.err, DR_E_TIMEOUT);
    CHECK_OK(dr_http_wait(w.http, b, &w.response, &w.err), w.err);
    dr_http_call_free(a);
    dr_http_call_free(b);
    close_world(&slow);
    close_world(&w);
}

struct raw {
    const char *bytes;
    bool reset;
};

static bool serve_raw(void *self, const struct dr_server_request *request) {
    const struct raw *raw = self;
    (void)dr_server_send(request, raw->bytes, strlen(raw->bytes));
    if (raw->reset) {
        struct linger hard = {.l_onoff = 1};
        setsockopt(request->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    return false;
}

TEST(http, answer_that_breaks_off_is_unavailable) {
    static const struct raw cases[] = {
        {"", false},
        {"", true},
        {"HTTP/1.1 200 OK\r\nContent-Le", false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", false},
        {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", true},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab", false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", false},
        {"SSH-2.0-OpenSSH_9.2\r\n", false},
        {"HTTP/9.9 200 OK\r\n\r\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct raw raw = cases[i];
        struct world w;
        open_world(&w, serve_raw, &raw);
        struct dr_http_request request = get(&w, "/");
        if (call(&w, &request) == 0) {
            FAIL("case %zu was an answer: %d", i, w.response.status);
        }
        CHECK_EQ_INT(w.err.code, DR_E_UNAVAILABLE);
        CHECK_CONTAINS(dr_str_of(w.err.text), "GET 127.0.0.1:");
        close_world(&w);
    }
}

TEST(http, port_where_nobody_listens_is_unavailable) {
    struct world w;
    open_world(&w, serve_echo, NULL);
    struct dr_http_request request = get(&w, "/");
    dr_server_stop(w.server);
    w.server = NULL;
    CHECK_FAILS(call(&w, &request), w.err, DR_E_UNAVAILABLE);
    close_world(&w);
}

TEST(http, wrong_urls_and_headers_are_invalid_and_send_nothing) {
    static const char *const urls[] = {"",          "/path",          "ftp://x/",        "file:///etc/passwd", "http://",
                                       "http:///x", "http://u:p@h/x", "http://h/a\r\nb", "http://[::1/x",      "http://h:99999/"};
    struct world w;
    open_world(&w, serve_echo, NULL);
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        struct dr_http_request request = {.method = "GET", .url = dr_str_of(urls[i]), .timeout_ms = PATIENCE_MS};
        CHECK_FAILS(call(&w, &request), w.err, DR_E_INVALID);
        CHECK(strstr(w.err.text, "u:p") == NULL);
    }
    struct dr_http_header header = {DR_STR("Authorization"), DR_STR("Bearer abc\n")};
    struct dr_http_request request = get(&w, "/");
    request.headers = &header;
    request.header_n = 1;
    CHECK_FAILS(call(&w, &request), w.err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(w.err.text), "Authorization");
    CHECK(strstr(w.err.text, "abc") == NULL);
    CHECK_EQ_INT(dr_server_requests(w.server), 0);
    close_world(&w);
}

/* As many bytes as the path says, with a length or in chunks ("/c123"). */
static bool serve_size(void *self, const struct dr_server_request *request) {
    bool chunked = request->target.p[1] == 'c';
    int64_t n = 0;
    char head[128];
    (void)self;
    CHECK(dr_str_to_i64(dr_str_sub(request->target, chunked ? 2 : 1, request->target.n), &n));
    char *body = malloc((size_t)n + 1);
    CHECK(body != NULL);
    for (int64_t i = 0; i < n; i++) {
        body[i] = (char)('a' + i % 23);
    }
    int head_n = chunked
                     ? snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%llx\r\n", (unsigned long long)n)
                     : snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %lld\r\n\r\n", (long long)n);
    bool open = dr_server_send(request, head, (size_t)head_n) && dr_server_send(request, body, (size_t)n) &&
                (!chunked || dr_server_send(request, "\r\n0\r\n\r\n", 7));
    free(body);
    return open;
}

TEST(http, body_up_to_its_ceiling_and_not_one_byte_more) {
    struct world w;
    open_world(&w, serve_size, NULL);
    const char *const exact[] = {"/1000", "/c1000"};
    const char *const more[] = {"/1001", "/c1001", "/c9000000"};
    for (size_t i = 0; i < 2; i++) {
        struct dr_http_request request = get(&w, exact[i]);
        request.max_body = 1000;
        CHECK_OK(call(&w, &request), w.err);
        CHECK_EQ_INT(w.response.body.n, 1000);
        CHECK_EQ_INT(w.response.body.p[1000], '\0');
    }
    for (size_t i = 0; i < 3; i++) {
        struct dr_http_request request = get(&w, more[i]);
        request.max_body = 1000;
        CHECK_FAILS(call(&w, &request), w.err, DR_E_LIMIT);
        CHECK_CONTAINS(dr_str_of(w.err.text), "larger than 1000 bytes");
    }
    struct dr_http_request request = get(&w, "/c16777217");
    CHECK_FAILS(call(&w, &request), w.err, DR_E_LIMIT);
    close_world(&w);
}

TEST(http, big_bodies_arrive_whole_in_both_directions) {
    enum { BIG = 12 << 20 };
    struct world w;
    open_world(&w, serve_size, NULL);
    struct dr_http_request request = get(&w, "/12582912");
    char *big = malloc(BIG);
    CHECK(big != NULL);
    memset(big, 'x', BIG);
    request.method = "POST";
    request.body = (struct dr_str){big, BIG};
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(w.response.body.n, BIG);
    for (size_t i = 0; i < BIG; i += 4099) {
        CHECK_EQ_INT(w.response.body.p[i], 'a' + (int)(i % 23));
    }
    CHECK(dr_http_stats(w.http).bytes_out > BIG);
    free(big);
    close_world(&w);
}

static bool serve_huge_head(void *self, const struct dr_server_request *request) {
    struct dr_buf buf;
    (void)self;
    dr_buf_init(&buf, 0);
    dr_buf_puts(&buf, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
    for (int i = 0; i < 20000; i++) {
        dr_buf_fmt(&buf, "X-%d: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", i);
    }
    dr_buf_puts(&buf, "\r\n");
    bool open = dr_server_send(request, buf.p, buf.n);
    dr_buf_deinit(&buf);
    return open;
}

TEST(http, headers_have_a_ceiling) {
    struct world w;
    open_world(&w, serve_huge_head, NULL);
    struct dr_http_request request = get(&w, "/");
    CHECK_FAILS(call(&w, &request), w.err, DR_E_LIMIT);
    close_world(&w);
}

static bool serve_redirect(void *self, const struct dr_server_request *request) {
    (void)self;
    return dr_server_reply(request, 302, "Location: http://127.0.0.1:1/elsewhere\r\n", "over there");
}

TEST(http, redirect_is_an_answer_and_is_not_followed) {
    struct world w;
    open_world(&w, serve_redirect, NULL);
    struct dr_http_request request = get(&w, "/");
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(w.response.status, 302);
    CHECK_EQ_INT(dr_server_requests(w.server), 1);
    close_world(&w);
}

static bool serve_interim(void *self, const struct dr_server_request *request) {
    static const char both[] =
        "HTTP/1.1 103 Early Hints\r\nX-Which: interim\r\n\r\nHTTP/1.1 200 OK\r\nX-Which: final\r\nContent-Length: 2\r\n\r\nok";
    (void)self;
    return dr_server_send(request, both, sizeof both - 1);
}

TEST(http, headers_of_an_interim_answer_are_dropped) {
    struct world w;
    open_world(&w, serve_interim, NULL);
    struct dr_http_request request = get(&w, "/");
    struct dr_http_call *c = dr_http_start(w.http, &request);
    CHECK_OK(dr_http_wait(w.http, c, &w.response, &w.err), w.err);
    CHECK_EQ_INT(w.response.status, 200);
    CHECK_EQ_STR(dr_http_header(c, "x-which"), "final");
    dr_http_call_free(c);
    close_world(&w);
}

/* The first request of the first connection is answered; everything after it on that connection is read and the connection closed: the reply is lost. */
static bool serve_then_lose(void *self, const struct dr_server_request *request) {
    (void)self;
    if (request->connection == 1 && request->nth > 1) {
        return false;
    }
    return dr_server_reply(request, 200, NULL, "done");
}

static int effects_seen(const char *method, struct dr_str body, bool repeatable, enum dr_code expected) {
    struct world w;
    open_world(&w, serve_then_lose, NULL);
    struct dr_http_request request = get(&w, "/");
    CHECK_OK(call(&w, &request), w.err);
    request.method = method;
    request.body = body;
    request.repeatable = repeatable;
    if (expected == DR_OK) {
        CHECK_OK(call(&w, &request), w.err);
    } else {
        CHECK_FAILS(call(&w, &request), w.err, expected);
    }
    int seen = dr_server_requests(w.server) - 1;
    close_world(&w);
    return seen;
}

TEST(http, effect_whose_reply_is_lost_is_sent_once) {
    CHECK_EQ_INT(effects_seen("POST", DR_STR("launch"), false, DR_E_UNAVAILABLE), 1);
    CHECK_EQ_INT(effects_seen("DELETE", DR_STR("{}"), false, DR_E_UNAVAILABLE), 1);
    CHECK_EQ_INT(effects_seen("DELETE", DR_STR_NONE, false, DR_OK), 1); /* on a connection of its own, which is not lost */
    CHECK_EQ_INT(effects_seen("POST", DR_STR_NONE, false, DR_OK), 1);
}

TEST(http, read_or_repeatable_effect_is_sent_again_on_a_new_connection) {
    CHECK_EQ_INT(effects_seen("GET", DR_STR_NONE, false, DR_OK), 2);
    CHECK_EQ_INT(effects_seen("POST", DR_STR("token=1"), true, DR_OK), 2);
}

/* Chunks as they are asked for, the first two lines, then silence. */
static bool serve_stream(void *self, const struct dr_server_request *request) {
    static const char start[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\none\ntw\r\n";
    static const char more[] = "2\r\no\n\r\n";
    return dr_server_send(request, start, sizeof start - 1) && dr_server_send(request, more, sizeof more - 1) &&
           serve_silence(self, request);
}

struct lines {
    struct dr_buf seen;
    const char *stop_at;
};

static bool take_piece(void *self, struct dr_str piece) {
    struct lines *lines = self;
    dr_buf_put_str(&lines->seen, piece);
    return lines->stop_at == NULL || strstr(lines->seen.p, lines->stop_at) == NULL;
}

TEST(http, stream_hands_out_pieces_before_it_ends) {
    struct lines lines = {.stop_at = "two\n"};
    struct world w;
    open_world(&w, serve_stream, NULL);
    dr_buf_init(&lines.seen, 0);
    struct dr_http_request request = get(&w, "/watch");
    request.on_data = take_piece;
    request.self = &lines;
    struct dr_http_call *c = dr_http_start(w.http, &request);
    CHECK(!dr_http_done(c));
    CHECK_OK(dr_http_wait(w.http, c, &w.response, &w.err), w.err);
    CHECK_EQ_INT(w.response.status, 200);
    CHECK_EQ_INT(w.response.body.n, 0);
    CHECK_EQ_STR(dr_buf_str(&lines.seen), "one\ntwo\n");
    dr_http_call_free(c);
    dr_buf_deinit(&lines.seen);
    close_world(&w);
}

TEST(http, stream_that_is_refused_gives_its_error_body) {
    static const struct dr_server_answer gone = {410, NULL, "too old"};
    struct dr_server_script script = {&gone, 1};
    struct lines lines = {0};
    struct world w;
    open_world(&w, dr_server_script, &script);
    dr_buf_init(&lines.seen, 0);
    struct dr_http_request request = get(&w, "/watch");
    request.on_data = take_piece;
    request.self = &lines;
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(w.response.status, 410);
    CHECK_EQ_STR(w.response.body, "too old");
    CHECK_EQ_INT(lines.seen.n, 0);
    close_world(&w);
}

TEST(http, running_call_may_be_given_up) {
    struct world w;
    open_world(&w, serve_silence, NULL);
    struct dr_http_request request = get(&w, "/");
    dr_http_call_free(dr_http_start(w.http, &request));
    dr_http_call_free(NULL);
    close_world(&w);
}

TEST(http, poll_ends_by_time_by_file_by_wake_or_by_a_finished_call) {
    struct world w;
    int pipe_fds[2];
    open_world(&w, serve_echo, NULL);
    CHECK(pipe(pipe_fds) == 0);
    CHECK(!dr_http_poll(w.http, 1, -1));
    CHECK(!dr_http_poll(w.http, 0, pipe_fds[0]));
    CHECK(write(pipe_fds[1], "x", 1) == 1);
    CHECK(dr_http_poll(w.http, PATIENCE_MS, pipe_fds[0]));
    dr_http_wake(w.http);
    dr_http_wake(w.http);
    CHECK(dr_http_poll(w.http, PATIENCE_MS, -1));
    CHECK(!dr_http_poll(w.http, 0, -1)); /* both wake-ups were one */
    struct dr_http_request request = get(&w, "/");
    struct dr_http_call *c = dr_http_start(w.http, &request);
    CHECK(dr_http_poll(w.http, PATIENCE_MS, -1));
    CHECK(dr_http_done(c));
    dr_http_call_free(c);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    close_world(&w);
}

TEST(http, wake_while_waiting_for_a_call_is_kept_for_the_next_poll) {
    struct world w;
    open_world(&w, serve_echo, NULL);
    dr_http_wake(w.http);
    struct dr_http_request request = get(&w, "/");
    CHECK_OK(call(&w, &request), w.err);
    (void)dr_http_poll(w.http, 0, -1);
    dr_http_wake(w.http);
    CHECK_OK(call(&w, &request), w.err);
    CHECK(dr_http_poll(w.http, PATIENCE_MS, -1)); /* the finished call */
    CHECK(dr_http_poll(w.http, PATIENCE_MS, -1)); /* the wake-up */
    CHECK(!dr_http_poll(w.http, 0, -1));
    close_world(&w);
}

TEST(http, proxy_of_the_environment_is_used_unless_the_call_is_direct) {
    struct world proxy;
    struct world w;
    open_world(&proxy, serve_echo, NULL);
    open_world(&w, serve_echo, NULL);
    char url[64];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", dr_server_port(proxy.server));
    setenv("http_proxy", url, 1);
    struct dr_http_request request = get(&w, "/x");
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(dr_server_requests(proxy.server), 1);
    CHECK_EQ_INT(dr_server_requests(w.server), 0);
    request.direct = true;
    CHECK_OK(call(&w, &request), w.err);
    CHECK_EQ_INT(dr_server_requests(proxy.server), 1);
    CHECK_EQ_INT(dr_server_requests(w.server), 1);
    unsetenv("http_proxy");
    close_world(&w);
    close_world(&proxy);
}

TEST(http, backoff_is_within_a_bound_that_doubles_up_to_the_cap) {
    CHECK_EQ_INT(dr_http_backoff_ms(0, 0, 100, 5000), 0);
    CHECK_EQ_INT(dr_http_backoff_ms(100, 0, 100, 5000), 100);
    CHECK_EQ_INT(dr_http_backoff_ms(101, 0, 100, 5000), 0);
    CHECK_EQ_INT(dr_http_backoff_ms(400, 2, 100, 5000), 400);
    CHECK_EQ_INT(dr_http_backoff_ms(401, 2, 100, 5000), 0);
    CHECK_EQ_INT(dr_http_backoff_ms(5000, 20, 100, 5000), 5000);
    CHECK_EQ_INT(dr_http_backoff_ms(5001, 1000, 100, 5000), 0);
    CHECK_EQ_INT(dr_http_backoff_ms(UINT64_MAX, 3, 0, 0), 0);
}
