/* The Kubernetes side and Prometheus: permissions, identity of every node, the value of every query, clocks. */
#include <string.h>

#include "app/check.h"
#include "base/json.h"
#include "base/time.h"
#include "core/fleet.h"
#include "core/identity.h"

#define SKEW_MS DR_LAUNCH_SKEW_MS

/* ---- connection and permissions ---- */

/* Every call of adapter/kubernetes, as deploy/kubernetes/rbac.yaml has them. */
static const struct {
    const char *verb, *group, *resource, *subresource;
    bool needed; /* without it a pass stops or an effect fails; otherwise something is seen less well */
} permissions[] = {
    {"list", "", "nodes", "", true},
    {"watch", "", "nodes", "", false},
    {"get", "", "nodes", "", true},
    {"patch", "", "nodes", "", true},
    {"delete", "", "nodes", "", true},
    {"list", "", "pods", "", true},
    {"watch", "", "pods", "", false},
    {"get", "", "pods", "", true},
    {"create", "", "pods", "eviction", true},
    {"list", "policy", "poddisruptionbudgets", "", true},
    {"list", "", "persistentvolumeclaims", "", false},
    {"list", "", "persistentvolumes", "", false},
    {"list", "storage.k8s.io", "storageclasses", "", false},
};

static void check_permissions(struct dr_check *check) {
    size_t n = sizeof(permissions) / sizeof(permissions[0]);
    size_t allowed = 0;
    for (size_t i = 0; i < n; i++) {
        struct dr_err err = {.code = DR_OK};
        int may = dr_kubernetes_may(check->live->kube, permissions[i].verb, permissions[i].group, permissions[i].resource,
                                    permissions[i].subresource, dr_check_deadline(check), &err);
        allowed += may == 1;
        if (may < 0) {
            dr_check_add(check, DR_FINDING_WARN, "kubernetes", NULL, "permissions could not be asked for: %s", err.text);
            return;
        }
        if (may == 0) {
            dr_check_add(check, permissions[i].needed ? DR_FINDING_FAIL : DR_FINDING_WARN, "kubernetes",
                         "apply deploy/kubernetes/rbac.yaml and bind its role to this identity", "may not %s %s%s%s", permissions[i].verb,
                         permissions[i].resource, permissions[i].subresource[0] == '\0' ? "" : "/", permissions[i].subresource);
        }
    }
    if (allowed == n) {
        dr_check_add(check, DR_FINDING_OK, "kubernetes", NULL, "all %zu permissions are there", n);
    }
}

static const char *remedy_of(const struct dr_err *err) {
    switch (err->code) {
    case DR_E_DENIED:
        return "look at the token or certificate of this identity, and at the CA: verification is never skipped";
    case DR_E_TIMEOUT:
    case DR_E_UNAVAILABLE:
        return "look at the address of the API server and at the network to it";
    default:
        return NULL;
    }
}

static struct dr_str version_of(struct dr_str json) {
    static const char name[] = "\"gitVersion\"";
    const char *at = memmem(json.p, json.n, name, sizeof(name) - 1);
    if (at == NULL) {
        return DR_STR("of an unknown version");
    }
    struct dr_str rest = dr_str_sub(json, (size_t)(at - json.p) + sizeof(name) - 1, json.n);
    rest = dr_str_sub(rest, dr_str_find(rest, '"') + 1, rest.n);
    return dr_str_sub(rest, 0, dr_str_find(rest, '"'));
}

static void check_part(struct dr_check *check, const char *name, const struct dr_part *part, size_t n, bool needed) {
    if (part->known) {
        dr_check_add(check, DR_FINDING_OK, "kubernetes", NULL, "%zu %s", n, name);
    } else {
        dr_check_add(check, needed ? DR_FINDING_FAIL : DR_FINDING_WARN, "kubernetes", "apply deploy/kubernetes/rbac.yaml", "%s: %.*s", name,
                     DR_FMT(part->why));
    }
}

void dr_check_cluster(struct dr_check *check) {
    struct dr_err err = {.code = DR_OK};
    struct dr_str body;
    if (dr_live_open(check->live, DR_LIVE_CLUSTER, &err) < 0 ||
        dr_kubernetes_get(check->live->kube, "/version", check->arena, dr_check_deadline(check), &body, &err) < 0) {
        dr_check_add(check, DR_FINDING_FAIL, "kubernetes", remedy_of(&err), "%s", err.text);
        return;
    }
    dr_check_add(check, DR_FINDING_OK, "kubernetes", NULL, "API server %.*s, by %.*s", DR_FMT(version_of(body)),
                 DR_FMT(check->live->cluster_from));
    check_permissions(check);
    const struct dr_cluster *cluster = &check->live->ports.cluster;
    if (cluster->ops->request != NULL) {
        cluster->ops->request(cluster->self, dr_check_deadline(check));
    }
    cluster->ops->observe(cluster->self, check->arena, dr_check_deadline(check), &check->snap);
    check_part(check, "nodes", &check->snap.nodes_part, check->snap.node_n, true);
    check_part(check, "pods", &check->snap.pods_part, check->snap.pod_n, true);
    check_part(check, "disruption budgets", &check->snap.budgets_part, check->snap.budget_n, true);
    struct dr_str warning = dr_kubernetes_warning(check->live->kube);
    if (warning.n > 0) {
        dr_check_add(check, DR_FINDING_WARN, "kubernetes", "apply deploy/kubernetes/rbac.yaml", "%.*s", DR_FMT(warning));
    }
}

/* ---- identity ---- */

static const char *how_known(const struct dr_node *node) {
    if (dr_str_starts(node->provider_id, "aws://")) {
        return node->instance_label.n > 0 ? "provider id and label" : "provider id";
    }
    return node->instance_label.n > 0 ? "label drover.dev/instance-id" : "internal address";
}

static void check_node(struct dr_check *check, const struct dr_fleet *fleet, size_t i) {
    const struct dr_node *node = &check->snap.nodes[i];
    struct dr_str id = DR_STR_NONE;
    switch (fleet->node_kind[i]) {
    case DR_NODE_SERVER:
        dr_check_add(check, DR_FINDING_OK, "identity", NULL, "node %.*s: a server", DR_FMT(node->name));
        return;
    case DR_NODE_WORKER:
        for (size_t k = 0; k < fleet->worker_n; k++) {
            id = fleet->workers[k].node == node ? fleet->workers[k].id : id;
        }
        dr_check_add(check, DR_FINDING_OK, "identity", NULL, "node %.*s: instance %.*s, by %s", DR_FMT(node->name), DR_FMT(id),
                     how_known(node));
        return;
    case DR_NODE_GHOST:
        dr_check_add(check, DR_FINDING_OK, "identity", NULL, "node %.*s: its machine is gone; a pass removes it", DR_FMT(node->name));
        return;
    case DR_NODE_ABSENT:
        (void)dr_identity_of(node, &id);
        dr_check_add(check, DR_FINDING_WARN, "identity", "if it is a worker, give its instance the tags of the pool; else it is left alone",
                     "node %.*s: names instance %.*s, which is not in the pool", DR_FMT(node->name), DR_FMT(id));
        return;
    case DR_NODE_UNKNOWN:
        break;
    }
    dr_check_add(check, DR_FINDING_WARN, "identity",
                 "set the provider id (aws:///ZONE/ID) or the label drover.dev/instance-id, as deploy/user-data does; until then no worker "
                 "counts as unjoined",
                 "node %.*s: which machine it is cannot be told (provider id \"%.*s\", label \"%.*s\", address %.*s)", DR_FMT(node->name),
                 DR_FMT(node->provider_id), DR_FMT(node->instance_label), DR_FMT(node->internal_ip));
}

void dr_check_identities(struct dr_check *check) {
    if (!check->snap.nodes_part.known || !check->snap.instances_part.known) {
        return;
    }
    struct dr_fleet fleet;
    dr_fleet_build(check->arena, &check->live->settings->cfg, &check->state, &check->snap, &fleet);
    for (size_t i = 0; i < check->snap.node_n; i++) {
        check_node(check, &fleet, i);
    }
    for (size_t i = 0; i < fleet.worker_n; i++) {
        const struct dr_worker *worker = &fleet.workers[i];
        if (worker->node == NULL) {
            dr_check_add(check, worker->join_expired ? DR_FINDING_WARN : DR_FINDING_OK, "identity",
                         worker->join_expired ? "look at its console output: user data, token, network" : NULL, "instance %.*s: %s",
                         DR_FMT(worker->id), worker->join_expired ? "has no node and its join timeout is over" : "has no node yet");
        }
    }
}

/* ---- metrics ---- */

void dr_check_metrics(struct dr_check *check) {
    const struct dr_settings *settings = check->live->settings;
    struct dr_err err = {.code = DR_OK};
    if (dr_live_open(check->live, DR_LIVE_METRICS, &err) < 0) {
        dr_check_add(check, DR_FINDING_FAIL, "prometheus", NULL, "%s", err.text);
        return;
    }
    const struct dr_metrics *metrics = &check->live->ports.metrics;
    int64_t now_ms = dr_process_now_ms(check->live->process);
    int64_t deadline_ms = dr_check_deadline(check);
    size_t n = settings->cfg.signal_n;
    struct dr_reading *readings = DR_NEW_N(check->arena, struct dr_reading, n);
    if (metrics->ops->request != NULL) {
        metrics->ops->request(metrics->self, settings->cfg.signals, n, now_ms, deadline_ms);
    }
    metrics->ops->read(metrics->self, check->arena, settings->cfg.signals, n, now_ms, deadline_ms, readings);
    for (size_t i = 0; i < n; i++) {
        const struct dr_signal *signal = &settings->cfg.signals[i];
        if (readings[i].known && readings[i].sample_n > 0) {
            struct dr_buf value;
            dr_buf_init(&value, 64);
            dr_buf_put_micro(&value, readings[i].samples[readings[i].sample_n - 1].micro);
            dr_check_add(check, DR_FINDING_OK, "prometheus", NULL, "%.*s is %.*s: %.*s", DR_FMT(signal->name), DR_FMT(dr_buf_str(&value)),
                         DR_FMT(signal->query));
            dr_buf_deinit(&value);
        } else {
            /* As it is really sent, for asking by hand. */
            struct dr_str query =
                check->live->prometheus == NULL ? signal->query : dr_prometheus_query(check->live->prometheus, check->arena, signal);
            dr_check_add(check, DR_FINDING_WARN, "prometheus",
                         "ask Prometheus this query by hand; rules on it neither add nor remove workers", "%.*s is unknown: %.*s: %.*s",
                         DR_FMT(signal->name), DR_FMT(readings[i].why.n > 0 ? readings[i].why : DR_STR("no samples")), DR_FMT(query));
        }
    }
}

/* ---- clocks ---- */

static void judge_clock(struct dr_check *check, const char *whose, int64_t theirs_ms, int64_t ours_ms) {
    int64_t off_ms = theirs_ms - ours_ms;
    int64_t size_ms = off_ms < 0 ? -off_ms : off_ms;
    if (size_ms > SKEW_MS) {
        dr_check_add(check, DR_FINDING_WARN, "clock", "run a time service (chrony) on both machines", "the clock of %s is %lld s %s ours",
                     whose, (long long)(size_ms / 1000), off_ms < 0 ? "behind" : "ahead of");
    } else {
        dr_check_add(check, DR_FINDING_OK, "clock", NULL, "the clock of %s agrees with ours", whose);
    }
}

/* Any answer will do, also a refusal: its Date counts. */
static void check_clock(struct dr_check *check, const char *whose, struct dr_str url, const struct dr_http_tls *tls) {
    struct dr_http_request request = {.method = "GET", .url = url, .tls = tls, .timeout_ms = 10000, .max_body = 1 << 20};
    struct dr_http_response response;
    struct dr_err err;
    int64_t before_ms = dr_process_now_ms(check->live->process);
    if (dr_http_do(check->live->http, &request, check->arena, &response, &err) == 0 && response.date_ms > 0) {
        /* The header has whole seconds: half of one more on average. */
        judge_clock(check, whose, response.date_ms + 500, (before_ms + dr_process_now_ms(check->live->process)) / 2);
    }
}

void dr_check_clocks(struct dr_check *check) {
    struct dr_kubernetes_options options;
    struct dr_err err;
    if (dr_live_cluster_options(check->live, &options, &err) == 0) {
        struct dr_http_tls tls = {.ca_file = options.ca_file, .ca_pem = options.ca_pem};
        check_clock(check, "the API server", dr_str_fmt(check->arena, "%.*s/version", DR_FMT(options.server)), &tls);
    }
    struct dr_str url = check->live->settings->live.prometheus_url;
    if (url.n > 0) {
        struct dr_str root = dr_str_ends(url, "/") ? dr_str_sub(url, 0, url.n - 1) : url;
        check_clock(check, "Prometheus", dr_str_fmt(check->arena, "%.*s/-/ready", DR_FMT(root)), &check->live->prometheus_tls);
    }
}
