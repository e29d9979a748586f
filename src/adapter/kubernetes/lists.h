#ifndef DR_ADAPTER_KUBERNETES_LISTS_H
#define DR_ADAPTER_KUBERNETES_LISTS_H

/* The lists of one observation while they are being read. Inside of the adapter only. */

#include "adapter/http/http.h"
#include "adapter/kubernetes/read.h"

enum dr_kube_list_kind { DR_KUBE_NODES, DR_KUBE_PODS, DR_KUBE_BUDGETS, DR_KUBE_CLAIMS, DR_KUBE_VOLUMES, DR_KUBE_CLASSES, DR_KUBE_LIST_N };

struct dr_kube_paged {
    struct dr_http_call *call; /* of the page that is under way */
    struct dr_str next;        /* continue token, heap */
    int64_t limit;
    int64_t resume_ms; /* a repetition waits until then; 0: none */
    int attempts;      /* of this page */
    bool wanted;
    bool done;
    bool restarted; /* after 410 */
    bool renewed;   /* after 401 */
    bool failed;
    struct dr_err err;
};

struct dr_kube_lists {
    struct dr_kube_paged of[DR_KUBE_LIST_N];
    bool asked;          /* request was called, observe not yet */
    bool volumes_wanted; /* the last observation needed claims and volumes: ask for them at once */
    bool classes_wanted;
};

#endif
