/* The loop: calls enter it at once, leave it when they are finished, and a deadline takes them out. */
#include "adapter/http/http.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "adapter/http/call.h"
#include "adapter/http/record.h"
#include "base/num.h"
#include "base/time.h"

enum { MAX_CONNECTIONS = 128, KEPT_CONNECTIONS = 64 };

static int64_t now_ms(void) {
    struct timespec ts;
    DR_ASSERT(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
    return (int64_t)ts.tv_sec * DR_SECOND_MS + ts.tv_nsec / 1000000;
}

/* libcurl's writes to a closed peer must be errors, not the end of the process; its own protection changes the handler around every call. */
static void ignore_broken_pipe(void) {
    struct sigaction old;
    if (sigaction(SIGPIPE, NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
        (void)signal(SIGPIPE, SIG_IGN);
    }
}

struct dr_http *dr_http_new(struct dr_err *err) {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        dr_fail(err, DR_E_INTERNAL, "libcurl does not start");
        return NULL;
    }
    ignore_broken_pipe();
    struct dr_http *http = calloc(1, sizeof *http);
    DR_ASSERT(http != NULL);
    http->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    http->multi = curl_multi_init();
    http->share = curl_share_init();
    if (http->wake_fd < 0 || http->multi == NULL || http->share == NULL) {
        dr_fail(err, DR_E_INTERNAL, "http loop: %s", strerror(errno));
        dr_http_free(http);
        return NULL;
    }
    curl_multi_setopt(http->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)MAX_CONNECTIONS);
    curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)KEPT_CONNECTIONS);
    curl_share_setopt(http->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    return http;
}

void dr_http_free(struct dr_http *http) {
    if (http == NULL) {
        return;
    }
    DR_ASSERT(http->first == NULL);
    dr_http_record_close(http->record);
    curl_multi_cleanup(http->multi);
    curl_share_cleanup(http->share);
    if (http->wake_fd >= 0) {
        close(http->wake_fd);
    }
    curl_global_cleanup();
    free(http);
}

static void count(struct dr_http *http, CURL *easy) {
    long n = 0;
    curl_off_t bytes = 0;
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &n);
    http->stats.connections += n;
    curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &bytes);
    http->stats.bytes_in += bytes;
    curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &n);
    http->stats.bytes_in += n;
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &bytes);
    http->stats.bytes_out += bytes;
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &n);
    http->stats.bytes_out += n;
}

/* Takes the handle out of the loop; an open connection in the middle of an answer is closed by libcurl. */
static void close_handle(struct dr_http_call *call) {
    if (call->easy != NULL) {
        curl_multi_remove_handle(call->http->multi, call->easy);
        count(call->http, call->easy);
        curl_easy_cleanup(call->easy);
        call->easy = NULL;
    }
    curl_slist_free_all(call->headers);
    call->headers = NULL;
}

static void finish(struct dr_http_call *call) {
    close_handle(call);
    call->response.body = call->body.n == 0 ? DR_STR("") : dr_buf_str(&call->body);
    call->done = true;
    call->http->finished = true;
    if (call->http->record != NULL && call->recorded.n > 0) {
        dr_http_record_save(call->http->record, call);
    }
}

static void reap(struct dr_http *http) {
    int left = 0;
    for (CURLMsg *msg; (msg = curl_multi_info_read(http->multi, &left)) != NULL;) {
        if (msg->msg == CURLMSG_DONE) {
            char *self = NULL;
            CURLcode result = msg->data.result; /* the message dies with the handle */
            curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &self);
            struct dr_http_call *call = (struct dr_http_call *)(void *)self;
            dr_http_transfer_end(call, result);
            finish(call);
        }
    }
}

/* Deadlines are ours alone: libcurl's do not count while a call waits for a free connection. */
static void expire(struct dr_http *http) {
    int64_t now = now_ms();
    for (struct dr_http_call *call = http->first; call != NULL; call = call->next) {
        if (!call->done && now >= call->deadline_ms) {
            dr_fail(&call->failed, DR_E_TIMEOUT, "%s: no answer within %lld ms", call->where, (long long)call->timeout_ms);
            finish(call);
        }
    }
}

static void pump(struct dr_http *http) {
    int running = 0;
    DR_ASSERT(!http->driving);
    http->driving = true;
    CURLMcode result = curl_multi_perform(http->multi, &running);
    http->driving = false;
    DR_ASSERT(result == CURLM_OK);
    reap(http);
    expire(http);
}

/* Sleeps until something is due. True if `extra_fd` is readable or, with `wakeable`, somebody called dr_http_wake. */
static bool nap(struct dr_http *http, int64_t timeout_ms, int extra_fd, bool wakeable) {
    int64_t now = now_ms();
    int64_t until = now + dr_clamp_i64(timeout_ms, 0, DR_MINUTE_MS);
    for (const struct dr_http_call *call = http->first; call != NULL; call = call->next) {
        if (!call->done) {
            until = dr_min_i64(until, call->deadline_ms);
        }
    }
    struct curl_waitfd fds[2];
    unsigned n = 0;
    if (wakeable) {
        fds[n++] = (struct curl_waitfd){.fd = http->wake_fd, .events = CURL_WAIT_POLLIN};
    }
    if (extra_fd >= 0) {
        fds[n++] = (struct curl_waitfd){.fd = extra_fd, .events = CURL_WAIT_POLLIN};
    }
    int ready = 0;
    CURLMcode result = curl_multi_poll(http->multi, fds, n, (int)dr_max_i64(until - now, 0), &ready);
    DR_ASSERT(result == CURLM_OK || errno == EINTR);
    uint64_t wakes = 0;
    bool woken = wakeable && read(http->wake_fd, &wakes, sizeof wakes) > 0;
    return woken || (extra_fd >= 0 && fds[n - 1].revents != 0);
}

struct dr_http_call *dr_http_start(struct dr_http *http, const struct dr_http_request *request) {
    DR_ASSERT(!http->driving);
    struct dr_http_call *call = calloc(1, sizeof *call);
    DR_ASSERT(call != NULL);
    call->http = http;
    call->next = http->first;
    if (http->first != NULL) {
        http->first->prev = call;
    }
    http->first = call;
    http->stats.calls++;
    call->timeout_ms = request->timeout_ms;
    call->deadline_ms = dr_sat_add(now_ms(), request->timeout_ms);
    call->response.retry_after_ms = -1;
    dr_buf_init(&call->head, 0);
    dr_buf_init(&call->recorded, 0);
    if (dr_http_transfer_open(call, request) < 0) {
        finish(call);
    } else if (http->record != NULL && dr_http_record_begin(http->record, call, request)) {
        finish(call);
    } else {
        DR_ASSERT(curl_multi_add_handle(http->multi, call->easy) == CURLM_OK);
        pump(http);
    }
    return call;
}

int dr_http_wait(struct dr_http *http, struct dr_http_call *call, struct dr_http_response *ret, struct dr_err *err) {
    DR_ASSERT(call->http == http);
    while (!call->done) {
        pump(http);
        if (!call->done) {
            nap(http, DR_MINUTE_MS, -1, false);
        }
    }
    if (call->failed.code != DR_OK) {
        return dr_fail(err, call->failed.code, "%s", call->failed.text);
    }
    *ret = call->response;
    return 0;
}

bool dr_http_done(const struct dr_http_call *call) { return call->done; }

void dr_http_call_free(struct dr_http_call *call) {
    if (call == NULL) {
        return;
    }
    struct dr_http *http = call->http;
    DR_ASSERT(!http->driving);
    close_handle(call);
    if (call->prev != NULL) {
        call->prev->next = call->next;
    } else {
        http->first = call->next;
    }
    if (call->next != NULL) {
        call->next->prev = call->prev;
    }
    dr_buf_deinit(&call->head);
    dr_buf_deinit(&call->body);
    dr_buf_deinit(&call->recorded);
    free(call);
}

struct dr_str dr_http_header(const struct dr_http_call *call, const char *name) {
    struct dr_str rest = dr_buf_str(&call->head);
    size_t name_n = strlen(name);
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, '\n');
        struct dr_str line = dr_str_sub(rest, 0, end);
        rest = dr_str_sub(rest, end + 1, rest.n);
        if (line.n > name_n && line.p[name_n] == ':' && strncasecmp(line.p, name, name_n) == 0) {
            return dr_str_trim(dr_str_sub(line, name_n + 1, line.n));
        }
    }
    return DR_STR_NONE;
}

bool dr_http_poll(struct dr_http *http, int64_t timeout_ms, int extra_fd) {
    int64_t until = dr_sat_add(now_ms(), timeout_ms);
    bool happened = false;
    for (bool slept = false;; slept = true) {
        pump(http);
        if (happened || http->finished) {
            http->finished = false;
            return true;
        }
        int64_t left = until - now_ms();
        if (slept && left <= 0) {
            return false;
        }
        happened = nap(http, left, extra_fd, true);
    }
}

void dr_http_run(struct dr_http *http, int64_t timeout_ms) {
    bool before = http->finished;
    http->finished = false;
    pump(http);
    if (!http->finished) {
        nap(http, timeout_ms, -1, false);
        pump(http);
    }
    http->finished = http->finished || before;
}

void dr_http_wake(struct dr_http *http) {
    int saved = errno; /* a signal handler may not change it */
    uint64_t one = 1;
    (void)!write(http->wake_fd, &one, sizeof one);
    errno = saved;
}

int dr_http_do(struct dr_http *http, const struct dr_http_request *request, struct dr_arena *arena, struct dr_http_response *ret,
               struct dr_err *err) {
    struct dr_http_call *call = dr_http_start(http, request);
    int r = dr_http_wait(http, call, ret, err);
    if (r == 0) {
        char *copy = dr_arena_try(arena, ret->body.n + 1, 1);
        if (copy == NULL) {
            r = dr_fail(err, DR_E_LIMIT, "%s: no room for a body of %zu bytes", call->where, ret->body.n);
        } else {
            memcpy(copy, ret->body.p, ret->body.n);
            ret->body.p = copy;
        }
    }
    dr_http_call_free(call);
    return r;
}

struct dr_http_stats dr_http_stats(const struct dr_http *http) {
    return http->stats;
}

int64_t dr_http_backoff_ms(uint64_t random, int attempt, int64_t base_ms, int64_t cap_ms) {
    DR_ASSERT(attempt >= 0 && base_ms >= 0 && cap_ms >= 0);
    int64_t most = attempt >= 32 ? cap_ms : dr_min_i64(cap_ms, dr_sat_mul(base_ms, INT64_C(1) << attempt));
    return (int64_t)(random % ((uint64_t)most + 1));
}
