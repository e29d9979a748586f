#ifndef DR_ADAPTER_HTTP_H
#define DR_ADAPTER_HTTP_H

/*
 * HTTP client on libcurl's multi interface: one loop for everything, so that independent calls go out at once. Connections are reused, HTTP/2 is used where offered. TLS is always verified. Every body has a ceiling, every call a deadline.
 * Redirects are not followed. Proxies come from the usual variables. One loop belongs to one thread. A process with a loop ignores SIGPIPE.
 *
 *     call = dr_http_start(http, &request);      (several of them)
 *     dr_http_wait(http, call, &response, err);  (drives all of them until this one is finished)
 *     dr_http_call_free(call);
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct dr_http;
struct dr_http_call;

/* Trust and identity of one peer, shared by its calls. Strings must outlive the calls. */
struct dr_http_tls {
    const char *ca_file; /* PEM; NULL: see ca_pem; both NULL: the system's */
    struct dr_str ca_pem;
    struct dr_str cert_pem; /* client certificate and key; empty: none */
    struct dr_str key_pem;
};

struct dr_http_header {
    struct dr_str name;
    struct dr_str value;
};

struct dr_http_request {
    const char *method;
    struct dr_str url; /* absolute, percent-encoded */
    const struct dr_http_header *headers;
    size_t header_n;
    struct dr_str body;            /* must live until the call is finished */
    const struct dr_http_tls *tls; /* NULL: system trust, no client certificate */
    int64_t timeout_ms;            /* from the start of the call; > 0 */
    size_t max_body;               /* 0: 16 MiB, or without end for what goes to on_data */
    bool secret; /* headers or body carry secrets: the recorder masks all of them (authorization headers are masked always) */
    /*
     * What is not GET or HEAD leaves this machine once: a kept connection that breaks before an answer is UNAVAILABLE, outcome unknown. True: it may then be
     * sent again at once on a new connection (a read by POST, an effect with an idempotency token).
     */
    bool repeatable;
    bool direct; /* past any proxy: link-local and loopback services */
    /*
     * Pieces of the body as they arrive (watch streams); NULL: the whole body is collected. Only bodies of 2xx answers go here; others are collected, so that
     * an error can be read. Returning false ends the call, which is then finished with its status and no error. Must not call this module.
     */
    bool (*on_data)(void *self, struct dr_str piece);
    void *self;
};

struct dr_http_response {
    int status;
    struct dr_str body;     /* valid until the call is freed; NUL behind it; never NULL */
    int64_t date_ms;        /* of the Date header; 0: none */
    int64_t retry_after_ms; /* -1: none */
};

struct dr_http *dr_http_new(struct dr_err *err);
void dr_http_free(struct dr_http *http); /* all calls must be freed before */

/* Sends without waiting. Never NULL: what goes wrong at once is reported by wait. The request's strings are copied except the body; `tls` must outlive the call. */
struct dr_http_call *dr_http_start(struct dr_http *http, const struct dr_http_request *request);
/*
 * Drives the loop until this call is finished. 0: an answer of any status is in `ret`. -1: none; code TIMEOUT (deadline), UNAVAILABLE (refused, reset, name not found, TLS handshake cut), DENIED (certificate not trusted or wrong name),
 * LIMIT (body or headers over their ceiling), INVALID (url, or a line break in a header); the text names method, host and what happened, never a secret.
 */
int dr_http_wait(struct dr_http *http, struct dr_http_call *call, struct dr_http_response *ret, struct dr_err *err);
bool dr_http_done(const struct dr_http_call *call);
void dr_http_call_free(struct dr_http_call *call); /* ends it if it still runs; NULL is fine */

/* Header of a finished call, case-insensitive; empty: none. */
struct dr_str dr_http_header(const struct dr_http_call *call, const char *name);

/* Lets things happen for up to `timeout_ms`, or until some call finished, a piece of a stream came (on_data), a further file descriptor is readable, or dr_http_wake. Returns true if anything happened. */
bool dr_http_poll(struct dr_http *http, int64_t timeout_ms, int extra_fd);
/* Drives the loop for up to `timeout_ms`, less where something happened. Leaves finished calls and wake-ups for dr_http_poll to report. */
void dr_http_run(struct dr_http *http, int64_t timeout_ms);
void dr_http_wake(struct dr_http *http); /* from a signal handler or another thread */

/* Start and wait in one. The response's body is copied to the arena. */
int dr_http_do(struct dr_http *http, const struct dr_http_request *request, struct dr_arena *arena, struct dr_http_response *ret,
               struct dr_err *err);

/* Counters since the start, for benchmarks and telemetry. */
struct dr_http_stats {
    int64_t calls;
    int64_t connections;
    int64_t bytes_in;
    int64_t bytes_out;
};
struct dr_http_stats dr_http_stats(const struct dr_http *http);

/*
 * For tests; off unless one of these is called before the first call. Recording writes each exchange to a numbered file of the folder, with the values of headers
 * that carry secrets, and for a `secret` request all header values and both bodies, as ***. Replaying answers from such a folder and sends nothing: each call
 * gets the first unused exchange with the same method, path, query, X-Amz-Target and body, else the first with all of these but the body, else UNAVAILABLE.
 */
int dr_http_record(struct dr_http *http, const char *folder, struct dr_err *err);
int dr_http_replay(struct dr_http *http, const char *folder, struct dr_err *err);

/* Full-jitter back-off: a pause for try `attempt` (0, 1, ...), random in [0, min(cap, base << attempt)]. */
int64_t dr_http_backoff_ms(uint64_t random, int attempt, int64_t base_ms, int64_t cap_ms);

#endif
