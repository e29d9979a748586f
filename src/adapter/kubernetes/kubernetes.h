#ifndef DR_ADAPTER_KUBERNETES_H
#define DR_ADAPTER_KUBERNETES_H

/*
 * The Kubernetes API behind the cluster port, over HTTP. Nodes, pods and budgets are read in pages, all lists at the same time; claims, volumes and storage classes only
 * where some pod has a claim. Reads are repeated after an error that may pass (at most twice, with jitter, within the deadline); effects are sent once.
 *
 * Calls that are made, for RBAC: list nodes, pods, persistentvolumeclaims, persistentvolumes (core), poddisruptionbudgets (policy/v1), storageclasses (storage.k8s.io/v1); watch nodes, pods; get and patch nodes; delete nodes;
 * get pods; create pods/eviction.
 */

#include "adapter/http/http.h"
#include "base/err.h"
#include "port/clock.h"
#include "port/cluster.h"

/* How to reach and convince the API server. Strings are copied. */
struct dr_kubernetes_options {
    struct dr_http *http; /* must outlive the adapter */
    struct dr_clock clock;
    struct dr_str server; /* "https://10.0.0.1:6443", a path behind it is kept */
    struct dr_str ca_pem; /* empty: see ca_file; both empty: the system's authorities */
    const char *ca_file;
    struct dr_str cert_pem; /* client certificate and key, or a token */
    struct dr_str key_pem;
    struct dr_str token;
    const char *token_file;   /* re-read when it changes, and after a 401; wins over `token` */
    struct dr_str user_agent; /* empty: "drover" */
    int64_t page_limit;       /* objects per page; 0: 500 */
    uint64_t seed;            /* of the jitter; 0: from the clock */
};

struct dr_kubernetes;

/* Fails on options that cannot work (no server, not a URL, certificate without key, http with a secret to a host that is not loopback). Calls nothing. */
int dr_kubernetes_open(const struct dr_kubernetes_options *options, struct dr_kubernetes **ret, struct dr_err *err);
void dr_kubernetes_close(struct dr_kubernetes *kube); /* NULL is fine */
/* The port; valid until closed. */
struct dr_cluster dr_kubernetes_cluster(struct dr_kubernetes *kube);

/* What the last observation could not see although all its parts are known (volumes that may not be listed); empty: nothing. Valid until the next one. */
struct dr_str dr_kubernetes_warning(const struct dr_kubernetes *kube);

/* GET of a path ("/version", "/readyz"), for checks. 0 with the body in the arena if the answer was 200; otherwise -1 with the reason. */
int dr_kubernetes_get(struct dr_kubernetes *kube, const char *path, struct dr_arena *arena, int64_t deadline_ms, struct dr_str *ret,
                      struct dr_err *err);
/* SelfSubjectAccessReview: may we do this? 1, 0, or -1 if that could not be found out. `subresource` may be empty. */
int dr_kubernetes_may(struct dr_kubernetes *kube, const char *verb, const char *group, const char *resource, const char *subresource,
                      int64_t deadline_ms, struct dr_err *err);

/*
 * A watch of the pods that wait for a node and of the Nodes. It lives in the HTTP loop: whoever drives that (dr_http_poll) looks here afterwards. Connections that end are
 * opened again from where they were; after 410 Gone from the present state; after errors with a pause that doubles up to 30 s.
 */
struct dr_kube_watch;
struct dr_kube_watch_seen {
    bool unschedulable; /* a pod became, or was found, unschedulable */
    bool nodes;         /* a Node came, went, became Ready or NotReady, or was (un)cordoned */
    bool connected;     /* both streams are open */
    int64_t next_ms;    /* look again by then, at the latest */
};
struct dr_kube_watch *dr_kube_watch_new(struct dr_kubernetes *kube);
void dr_kube_watch_free(struct dr_kube_watch *watch); /* before dr_kubernetes_close; NULL is fine */
/* Opens what is not open, and tells what was seen since the last call. */
void dr_kube_watch_turn(struct dr_kube_watch *watch, struct dr_kube_watch_seen *ret);
/* Why a stream is not open; empty: both are. */
struct dr_str dr_kube_watch_why(const struct dr_kube_watch *watch);

#endif
