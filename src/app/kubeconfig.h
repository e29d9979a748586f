#ifndef DR_APP_KUBECONFIG_H
#define DR_APP_KUBECONFIG_H

/*
 * Where the API server is and how it is convinced, from a kubeconfig or from the service account of a pod. Only what can be honoured safely is accepted: plugins (exec,
 * auth-provider), user names with passwords, proxies of the file's own, other server names and skipped verification are refused with a message that says what to do.
 */

#include "adapter/kubernetes/kubernetes.h"

#define DR_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/*
 * Reads one file or several separated by ':' (as in KUBECONFIG; of entries with the same name the first counts; a file of several that is not there is passed over). `context` empty: the current
 * one. Fills server, authority, certificate, key and token of `ret`, in the arena; the rest stays as it is.
 */
int dr_kubeconfig_load(struct dr_arena *arena, const char *paths, struct dr_str context, struct dr_kubernetes_options *ret,
                       struct dr_err *err);

/* The same from a pod's service account: `dir` as mounted, `host` and `port` as in KUBERNETES_SERVICE_HOST and _PORT. DR_E_NOT_FOUND: this is not a pod. */
int dr_kubeconfig_in_cluster(struct dr_arena *arena, const char *dir, const char *host, const char *port, struct dr_kubernetes_options *ret,
                             struct dr_err *err);

#endif
