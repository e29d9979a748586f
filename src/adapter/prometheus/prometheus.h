#ifndef DR_ADAPTER_PROMETHEUS_H
#define DR_ADAPTER_PROMETHEUS_H

/*
 * Prometheus (or anything that speaks its HTTP API) behind the metrics port. A signal with a window is asked by query_range, one without by query; all go out at once, each
 * with 10 s at most. Whatever comes back becomes samples or an unknown with a reason: never a made-up number.
 *
 * The two built-in queries (cpu and memory, as the presets have them) are sent in a form that leaves out the servers of the cluster: by kube-state-metrics where it is
 * scraped, and by the hosts that were given. Any other query is sent as it stands.
 */

#include "adapter/http/http.h"
#include "base/err.h"
#include "port/clock.h"
#include "port/metrics.h"

#define DR_PROMETHEUS_TIMEOUT_MS 10000

/* Strings are copied. */
struct dr_prometheus_options {
    struct dr_http *http; /* must outlive the adapter */
    struct dr_clock clock;
    struct dr_str url;  /* "http://prometheus:9090", a path prefix behind it is kept */
    struct dr_str user; /* basic authentication */
    struct dr_str password;
    struct dr_str token; /* bearer; or from a file, read again for every round of queries */
    const char *token_file;
    const struct dr_http_tls *tls; /* must outlive the adapter; NULL: system trust */
    int64_t step_ms;               /* distance of samples; 0: 15 s */
    const struct dr_str
        *servers; /* hosts (addresses, names) that are no workers, as they appear in the label `instance`, the port left away */
    size_t server_n;
};

struct dr_prometheus;

/* Fails on options that cannot work. Calls nothing. */
int dr_prometheus_open(const struct dr_prometheus_options *options, struct dr_prometheus **ret, struct dr_err *err);
void dr_prometheus_close(struct dr_prometheus *prometheus); /* NULL is fine */
/* The port; valid until closed. */
struct dr_metrics dr_prometheus_metrics(struct dr_prometheus *prometheus);

/* The text that is really sent for a signal, in the arena: `drover check` shows it. */
struct dr_str dr_prometheus_query(const struct dr_prometheus *prometheus, struct dr_arena *arena, const struct dr_signal *signal);

#endif
