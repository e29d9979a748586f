/* How to reach the API server: as configured, else as a pod, else as a person would. */
#include <string.h>
#include <unistd.h>

#include "app/kubeconfig.h"
#include "app/live.h"

#define TOKEN_MAX 65536
#define K3S_KUBECONFIG "/etc/rancher/k3s/k3s.yaml"

static const char *env_of(const struct dr_live *live, const char *name) {
    size_t n = strlen(name);
    for (const char *const *p = live->env; p != NULL && *p != NULL; p++) {
        if (strncmp(*p, name, n) == 0 && (*p)[n] == '=' && (*p)[n + 1] != '\0') {
            return *p + n + 1;
        }
    }
    return NULL;
}

/* A token in a file is read again by the adapter whenever it changes. */
static int from_endpoint(struct dr_live *live, struct dr_kubernetes_options *ret, struct dr_err *err) {
    const struct dr_live_config *cfg = &live->settings->live;
    if (dr_live_address(live, "kubernetes.endpoint", cfg->kube_endpoint, &ret->server, err) < 0) {
        return -1;
    }
    live->cluster_from = dr_live_names_server(cfg->kube_endpoint)
                             ? dr_str_fmt(&live->arena, "kubernetes.endpoint, server %.*s by its tags", DR_FMT(live->server))
                             : DR_STR("kubernetes.endpoint");
    ret->ca_file = cfg->kube_ca_file.n == 0 ? NULL : cfg->kube_ca_file.p;
    if (!dr_str_starts(cfg->kube_token, "file:")) {
        return dr_live_secret(live, "kubernetes.token", cfg->kube_token, &ret->token, err);
    }
    struct dr_str path = dr_str_sub(cfg->kube_token, 5, cfg->kube_token.n);
    struct dr_str now;
    if (dr_live_read_file(live, "kubernetes.token", path, TOKEN_MAX, &now, err) < 0) {
        return -1;
    }
    ret->token_file = path.p;
    return dr_str_trim(now).n > 0 ? 0 : dr_fail(err, DR_E_INVALID, "kubernetes.token: %.*s: is empty", DR_FMT(path));
}

static int from_file(struct dr_live *live, const char *paths, struct dr_kubernetes_options *ret, struct dr_err *err) {
    live->cluster_from = dr_str_fmt(&live->arena, "kubeconfig %s", paths);
    return dr_kubeconfig_load(&live->arena, paths, live->settings->live.context, ret, err);
}

/* Where kubectl looks, and where K3s puts its own. */
static int from_usual_places(struct dr_live *live, struct dr_kubernetes_options *ret, struct dr_err *err) {
    const char *paths = env_of(live, "KUBECONFIG");
    const char *home = env_of(live, "HOME");
    if (paths != NULL) {
        return from_file(live, paths, ret, err);
    }
    const char *own = home == NULL ? NULL : dr_str_fmt(&live->arena, "%s/.kube/config", home).p;
    if (own != NULL && access(own, F_OK) == 0) {
        return from_file(live, own, ret, err);
    }
    if (access(K3S_KUBECONFIG, F_OK) == 0) {
        return from_file(live, K3S_KUBECONFIG, ret, err);
    }
    return dr_fail(err, DR_E_INVALID,
                   "kubernetes.kubeconfig: is not set, and there is no service account, KUBECONFIG, ~/.kube/config or %s", K3S_KUBECONFIG);
}

int dr_live_cluster_options(struct dr_live *live, struct dr_kubernetes_options *ret, struct dr_err *err) {
    const struct dr_live_config *cfg = &live->settings->live;
    *ret = (struct dr_kubernetes_options){.http = live->http, .clock = live->ports.clock, .seed = live->seed};
    if (cfg->kube_endpoint.n > 0) {
        return from_endpoint(live, ret, err);
    }
    if (cfg->kubeconfig.n > 0) {
        return from_file(live, cfg->kubeconfig.p, ret, err) < 0 ? dr_wrap(err, "kubernetes.kubeconfig") : 0;
    }
    live->cluster_from = DR_STR("the pod's service account");
    struct dr_err why = {.code = DR_OK};
    if (dr_kubeconfig_in_cluster(&live->arena, DR_SERVICE_ACCOUNT_DIR, env_of(live, "KUBERNETES_SERVICE_HOST"),
                                 env_of(live, "KUBERNETES_SERVICE_PORT"), ret, &why) == 0) {
        return 0;
    }
    if (why.code != DR_E_NOT_FOUND) {
        *err = why;
        return -1;
    }
    return from_usual_places(live, ret, err);
}
