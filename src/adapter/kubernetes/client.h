#ifndef DR_ADAPTER_KUBERNETES_CLIENT_H
#define DR_ADAPTER_KUBERNETES_CLIENT_H

/* One call to the API server: address, credentials, and what an answer other than 2xx means. Inside of the adapter only. */

#include "adapter/kubernetes/kubernetes.h"
#include "adapter/kubernetes/lists.h"
#include "base/rand.h"

#define DR_KUBE_MAX_PAGE_BYTES ((size_t)64 << 20)
#define DR_KUBE_MAX_TOKEN_BYTES 65536

struct dr_kubernetes {
    struct dr_http *http;
    struct dr_clock clock;
    struct dr_arena arena; /* of the options */
    struct dr_str server;  /* without a slash at its end */
    struct dr_http_tls tls;
    bool secure;
    struct dr_str fixed_token;
    const char *token_file;
    char *token; /* "Bearer ..." on the heap; NULL: none */
    int64_t token_mtime_ns;
    int64_t token_size;
    uint64_t token_inode;
    struct dr_str user_agent;
    int64_t page_limit;
    struct dr_rand rand;
    struct dr_kube_lists lists;
    struct dr_err warning;
};

struct dr_kube_request {
    const char *method;
    struct dr_str path;       /* with the query, percent-encoded */
    const char *content_type; /* of the body; NULL: none */
    struct dr_str body;
    int64_t timeout_ms;
    bool repeatable;
    bool (*on_data)(void *self, struct dr_str piece);
    void *self;
};

int64_t dr_kube_now(const struct dr_kubernetes *kube);
/* Time left until the deadline, at least 1 and at most an hour. */
int64_t dr_kube_left(const struct dr_kubernetes *kube, int64_t deadline_ms);
/* Sends; the token file is looked at before. */
struct dr_http_call *dr_kube_start(struct dr_kubernetes *kube, const struct dr_kube_request *request);
/* Forgets the token that was read, after a 401. True if there is a file from which another may come. */
bool dr_kube_token_forget(struct dr_kubernetes *kube);
/* Start, wait, and once more with a fresh token after 401. The body is copied to the arena. */
int dr_kube_do(struct dr_kubernetes *kube, const struct dr_kube_request *request, struct dr_arena *arena, struct dr_http_response *ret,
               struct dr_err *err);

/* The error that a status and its body stand for; `what` is the call ("list pods"). The code decides, the server's message is quoted. Always -1. */
int dr_kube_refused(const char *what, int status, struct dr_str body, struct dr_err *err);

/* The same for a call that had no answer: puts the call before the text, and a remedy behind it where there is one. Always -1. */
int dr_kube_unreached(const char *what, struct dr_err *err);

/* Percent-encodes one piece of a path or query. */
void dr_kube_put_encoded(struct dr_buf *buf, struct dr_str s);

/* The verbs of the port. */
void dr_kube_request_lists(void *self, int64_t deadline_ms);
void dr_kube_observe(void *self, struct dr_arena *arena, int64_t deadline_ms, struct dr_snapshot *ret);
int dr_kube_cordon(void *self, const struct dr_node *node, struct dr_str owner, bool on, int64_t deadline_ms, struct dr_err *err);
void dr_kube_evict(void *self, struct dr_eviction *evictions, size_t n, int64_t deadline_ms);
int dr_kube_delete_node(void *self, struct dr_str name, struct dr_str uid, int64_t deadline_ms, struct dr_err *err);

#endif
