/*
 * The lists of an observation. Each is a chain of pages; all chains run at the same time. What can happen to a page:
 *
 *     200 -> read -> the next page, or done
 *     410 on a continue token -> the list from its beginning, once
 *     401 with a token file -> the same page with a fresh token, once
 *     429, 5xx, connection lost -> the same page again, twice at most, after a pause
 *     larger than its ceiling -> the same page with fewer objects
 *     anything else, the deadline -> the list is unknown, with the reason
 */

#include <stdlib.h>

#include "adapter/kubernetes/client.h"
#include "base/num.h"

enum { MAX_ATTEMPTS = 3, BACKOFF_BASE_MS = 100, BACKOFF_CAP_MS = 2000, MIN_LIMIT = 20, POLL_MS = 1000 };

static const struct {
    const char *name; /* for messages */
    const char *path;
} LISTS[DR_KUBE_LIST_N] = {
    [DR_KUBE_NODES] = {"list nodes", "/api/v1/nodes?"},
    /* Pods that have ended hold nothing. */
    [DR_KUBE_PODS] = {"list pods", "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&"},
    [DR_KUBE_BUDGETS] = {"list poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets?"},
    [DR_KUBE_CLAIMS] = {"list persistentvolumeclaims", "/api/v1/persistentvolumeclaims?"},
    [DR_KUBE_VOLUMES] = {"list persistentvolumes", "/api/v1/persistentvolumes?"},
    [DR_KUBE_CLASSES] = {"list storageclasses", "/apis/storage.k8s.io/v1/storageclasses?"},
};

struct reading {
    struct dr_kubernetes *kube;
    int64_t deadline_ms;
    struct dr_kube_pool pool;
    struct dr_kube_nodes nodes;
    struct dr_kube_pods pods;
    struct dr_kube_budgets budgets;
    struct dr_kube_volumes volumes;
};

static void set_next(struct dr_kube_paged *list, struct dr_str next) {
    free((void *)(uintptr_t)list->next.p);
    list->next = DR_STR_NONE;
    if (next.n > 0) {
        list->next = (struct dr_str){strndup(next.p, next.n), next.n};
        DR_ASSERT(list->next.p != NULL);
    }
}

static void forget(struct dr_kube_paged *list) {
    dr_http_call_free(list->call);
    set_next(list, DR_STR_NONE);
    *list = (struct dr_kube_paged){.call = NULL};
}

static void start_page(struct dr_kubernetes *kube, enum dr_kube_list_kind kind, int64_t deadline_ms) {
    struct dr_kube_paged *list = &kube->lists.of[kind];
    struct dr_buf path;
    dr_buf_init(&path, 0);
    dr_buf_fmt(&path, "%slimit=%lld", LISTS[kind].path, (long long)list->limit);
    if (list->next.n > 0) {
        dr_buf_puts(&path, "&continue=");
        dr_kube_put_encoded(&path, list->next);
    }
    DR_ASSERT(list->call == NULL);
    list->resume_ms = 0;
    list->attempts++;
    list->call = dr_kube_start(
        kube, &(struct dr_kube_request){.method = "GET", .path = dr_buf_str(&path), .timeout_ms = dr_kube_left(kube, deadline_ms)});
    dr_buf_deinit(&path);
}

static void begin(struct dr_kubernetes *kube, enum dr_kube_list_kind kind, int64_t deadline_ms) {
    struct dr_kube_paged *list = &kube->lists.of[kind];
    forget(list);
    list->wanted = true;
    list->limit = kube->page_limit;
    start_page(kube, kind, deadline_ms);
}

void dr_kube_request_lists(void *self, int64_t deadline_ms) {
    struct dr_kubernetes *kube = self;
    for (size_t i = 0; i < DR_KUBE_LIST_N; i++) {
        forget(&kube->lists.of[i]);
    }
    begin(kube, DR_KUBE_NODES, deadline_ms);
    begin(kube, DR_KUBE_PODS, deadline_ms);
    begin(kube, DR_KUBE_BUDGETS, deadline_ms);
    if (kube->lists.volumes_wanted) {
        begin(kube, DR_KUBE_CLAIMS, deadline_ms);
        begin(kube, DR_KUBE_VOLUMES, deadline_ms);
    }
    if (kube->lists.classes_wanted) {
        begin(kube, DR_KUBE_CLASSES, deadline_ms);
    }
    kube->lists.asked = true;
}

static int read_page(struct reading *rd, enum dr_kube_list_kind kind, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err) {
    switch (kind) {
    case DR_KUBE_NODES:
        return dr_kube_nodes_page(&rd->nodes, body, ret, err);
    case DR_KUBE_PODS:
        return dr_kube_pods_page(&rd->pods, body, ret, err);
    case DR_KUBE_BUDGETS:
        return dr_kube_budgets_page(&rd->budgets, body, ret, err);
    case DR_KUBE_CLAIMS:
        return dr_kube_claims_page(&rd->volumes, body, ret, err);
    case DR_KUBE_VOLUMES:
        return dr_kube_volumes_page(&rd->volumes, body, ret, err);
    default:
        return dr_kube_classes_page(&rd->volumes, body, ret, err);
    }
}

/* Forgets what was read of a list; what its texts took in the arena stays taken. */
static void read_anew(struct reading *rd, enum dr_kube_list_kind kind) {
    if (kind == DR_KUBE_NODES) {
        dr_kube_nodes_deinit(&rd->nodes);
        dr_kube_nodes_init(&rd->nodes, &rd->pool);
    } else if (kind == DR_KUBE_PODS) {
        dr_kube_pods_deinit(&rd->pods);
        dr_kube_pods_init(&rd->pods, &rd->pool);
    } else if (kind == DR_KUBE_BUDGETS) {
        dr_kube_budgets_deinit(&rd->budgets);
        dr_kube_budgets_init(&rd->budgets, &rd->pool);
    }
}

static void give_up(struct dr_kube_paged *list) {
    list->done = true;
    list->failed = true;
}

static void later(struct reading *rd, struct dr_kube_paged *list, int64_t asked_ms) {
    struct dr_kubernetes *kube = rd->kube;
    int64_t pause = dr_http_backoff_ms(dr_rand_next(&kube->rand), list->attempts, BACKOFF_BASE_MS, BACKOFF_CAP_MS);
    int64_t at_ms = dr_kube_now(kube) + dr_max_i64(pause, asked_ms);
    if (list->attempts >= MAX_ATTEMPTS || at_ms >= rd->deadline_ms) {
        give_up(list);
        return;
    }
    list->resume_ms = dr_max_i64(at_ms, 1);
}

static void take_answer(struct reading *rd, enum dr_kube_list_kind kind, const struct dr_http_response *response) {
    struct dr_kube_paged *list = &rd->kube->lists.of[kind];
    struct dr_kube_page page;
    if (response->status == 200) {
        if (read_page(rd, kind, response->body, &page, &list->err) < 0) {
            (void)dr_wrap(&list->err, "kubernetes %s", LISTS[kind].name);
            give_up(list);
            return;
        }
        set_next(list, page.next);
        list->attempts = 0;
        list->done = page.next.n == 0;
        return;
    }
    (void)dr_kube_refused(LISTS[kind].name, response->status, response->body, &list->err);
    if (response->status == 410 && list->next.n > 0 && !list->restarted) {
        list->restarted = true;
        list->attempts = 0;
        set_next(list, DR_STR_NONE);
        read_anew(rd, kind);
    } else if (response->status == 401 && !list->renewed && dr_kube_token_forget(rd->kube)) {
        list->renewed = true;
    } else if (response->status == 429 || response->status >= 500) {
        later(rd, list, response->retry_after_ms);
    } else {
        give_up(list);
    }
}

static void take_failure(struct reading *rd, enum dr_kube_list_kind kind, const struct dr_err *err) {
    struct dr_kube_paged *list = &rd->kube->lists.of[kind];
    list->err = *err;
    (void)dr_kube_unreached(LISTS[kind].name, &list->err);
    if (err->code == DR_E_UNAVAILABLE) {
        later(rd, list, 0);
    } else if (err->code == DR_E_LIMIT && list->limit > MIN_LIMIT) {
        list->limit = dr_max_i64(list->limit / 5, MIN_LIMIT);
        list->attempts = 0;
    } else {
        give_up(list);
    }
}

/* Takes what arrived for one list and sends what is next. */
static void turn(struct reading *rd, enum dr_kube_list_kind kind) {
    struct dr_kubernetes *kube = rd->kube;
    struct dr_kube_paged *list = &kube->lists.of[kind];
    if (list->call != NULL) {
        if (!dr_http_done(list->call)) {
            return;
        }
        struct dr_http_response response;
        struct dr_err err = {.code = DR_OK};
        if (dr_http_wait(kube->http, list->call, &response, &err) < 0) {
            take_failure(rd, kind, &err);
        } else {
            take_answer(rd, kind, &response);
        }
        dr_http_call_free(list->call); /* its page goes before the next one comes */
        list->call = NULL;
    }
    if (!list->done && list->resume_ms <= dr_kube_now(kube)) {
        start_page(kube, kind, rd->deadline_ms);
    }
}

static bool volumes_done(const struct dr_kube_lists *lists) { return lists->of[DR_KUBE_CLAIMS].done && lists->of[DR_KUBE_VOLUMES].done; }

/* Lists that are wanted because of what others said. */
static void want_more(struct reading *rd) {
    struct dr_kubernetes *kube = rd->kube;
    struct dr_kube_lists *lists = &kube->lists;
    if (lists->of[DR_KUBE_PODS].done && !lists->of[DR_KUBE_PODS].failed) {
        lists->volumes_wanted = rd->pods.has_claims;
        if (rd->pods.has_claims && !lists->of[DR_KUBE_CLAIMS].wanted) {
            begin(kube, DR_KUBE_CLAIMS, rd->deadline_ms);
            begin(kube, DR_KUBE_VOLUMES, rd->deadline_ms);
        }
    }
    if (lists->of[DR_KUBE_CLAIMS].done) {
        lists->classes_wanted = rd->volumes.unbound;
        if (rd->volumes.unbound && !lists->of[DR_KUBE_CLASSES].wanted) {
            begin(kube, DR_KUBE_CLASSES, rd->deadline_ms);
        }
    }
}

/* False when all is there. */
static bool still_open(const struct reading *rd, int64_t *ret_wait_ms) {
    int64_t now_ms = dr_kube_now(rd->kube);
    bool open = false;
    *ret_wait_ms = dr_clamp_i64(rd->deadline_ms - now_ms, 0, POLL_MS);
    for (size_t i = 0; i < DR_KUBE_LIST_N; i++) {
        const struct dr_kube_paged *list = &rd->kube->lists.of[i];
        open = open || (list->wanted && !list->done);
        if (list->resume_ms > 0 && !list->done) {
            *ret_wait_ms = dr_clamp_i64(list->resume_ms - now_ms, 0, *ret_wait_ms);
        }
    }
    return open;
}

static void out_of_time(struct reading *rd) {
    for (size_t i = 0; i < DR_KUBE_LIST_N; i++) {
        struct dr_kube_paged *list = &rd->kube->lists.of[i];
        if (list->wanted && !list->done) {
            (void)dr_fail(&list->err, DR_E_TIMEOUT, "kubernetes %s: not finished at the deadline", LISTS[i].name);
            give_up(list);
        }
    }
}

static void run(struct reading *rd) {
    for (;;) {
        int64_t wait_ms;
        for (size_t i = 0; i < DR_KUBE_LIST_N; i++) {
            if (rd->kube->lists.of[i].wanted && !rd->kube->lists.of[i].done) {
                turn(rd, (enum dr_kube_list_kind)i);
            }
        }
        want_more(rd);
        if (!still_open(rd, &wait_ms)) {
            return;
        }
        if (dr_kube_now(rd->kube) >= rd->deadline_ms) {
            out_of_time(rd);
            return;
        }
        (void)dr_http_poll(rd->kube->http, wait_ms, -1);
    }
}

static struct dr_part part_of(struct dr_arena *arena, const struct dr_kube_paged *list) {
    if (!list->failed) {
        return (struct dr_part){.known = true};
    }
    return (struct dr_part){.known = false, .why = dr_str_dup(arena, dr_str_of(list->err.text))};
}

static void judge_volumes(struct reading *rd) {
    struct dr_kube_lists *lists = &rd->kube->lists;
    rd->kube->warning = (struct dr_err){.code = DR_OK};
    rd->volumes.known = volumes_done(lists);
    for (size_t i = DR_KUBE_CLAIMS; i < DR_KUBE_LIST_N; i++) {
        bool needed = rd->pods.has_claims && (i != DR_KUBE_CLASSES || rd->volumes.unbound);
        if (needed && lists->of[i].failed) {
            rd->volumes.known = false;
            rd->kube->warning = lists->of[i].err;
        }
    }
}

static void put_parts(struct reading *rd, struct dr_arena *arena, struct dr_snapshot *ret) {
    const struct dr_kube_paged *of = rd->kube->lists.of;
    ret->nodes_part = part_of(arena, &of[DR_KUBE_NODES]);
    ret->pods_part = part_of(arena, &of[DR_KUBE_PODS]);
    ret->budgets_part = part_of(arena, &of[DR_KUBE_BUDGETS]);
    ret->node_n = ret->pod_n = ret->budget_n = 0;
    ret->nodes = NULL;
    ret->pods = NULL;
    ret->budgets = NULL;
    if (ret->nodes_part.known) {
        dr_kube_nodes_finish(&rd->nodes, &ret->nodes, &ret->node_n);
    }
    if (ret->pods_part.known) {
        judge_volumes(rd);
        dr_kube_pods_finish(&rd->pods, &rd->volumes, &ret->pods, &ret->pod_n);
    }
    if (ret->budgets_part.known) {
        dr_kube_budgets_finish(&rd->budgets, &ret->budgets, &ret->budget_n);
    }
}

void dr_kube_observe(void *self, struct dr_arena *arena, int64_t deadline_ms, struct dr_snapshot *ret) {
    struct dr_kubernetes *kube = self;
    struct reading rd = {.kube = kube, .deadline_ms = deadline_ms};
    if (!kube->lists.asked) {
        dr_kube_request_lists(kube, deadline_ms);
    }
    kube->lists.asked = false;
    dr_kube_pool_init(&rd.pool, arena);
    dr_kube_nodes_init(&rd.nodes, &rd.pool);
    dr_kube_pods_init(&rd.pods, &rd.pool);
    dr_kube_budgets_init(&rd.budgets, &rd.pool);
    dr_kube_volumes_init(&rd.volumes, &rd.pool);
    run(&rd);
    put_parts(&rd, arena, ret);
    for (size_t i = 0; i < DR_KUBE_LIST_N; i++) {
        forget(&kube->lists.of[i]);
    }
    dr_kube_volumes_deinit(&rd.volumes);
    dr_kube_budgets_deinit(&rd.budgets);
    dr_kube_pods_deinit(&rd.pods);
    dr_kube_nodes_deinit(&rd.nodes);
    dr_kube_pool_deinit(&rd.pool);
}
