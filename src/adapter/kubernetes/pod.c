#include <stdlib.h>

#include "adapter/kubernetes/read.h"
#include "base/time.h"

/* A pod while its list is being read: half of what it takes in the model, so that both forms of a large list fit in memory at once. */
struct dr_kube_pod_row {
    const char *name; /* its bytes, and behind them those of the UID */
    const struct dr_kube_claims *claims;
    uint32_t ns; /* in pool->strings */
    uint32_t owner_uid;
    uint32_t node;
    uint32_t labels;
    uint32_t spec;
    uint32_t created_s;
    uint32_t since_s;
    uint32_t delete_by_s;
    uint32_t grace_s;
    uint8_t name_n;
    uint8_t uid_n;
    uint8_t owner : 4;
    uint8_t phase : 4;
    uint8_t ready : 1;
    uint8_t critical : 1;
    uint8_t local_data : 1;
    uint8_t unschedulable : 1;
    uint8_t deleting : 1;
};

struct status {
    struct dr_str phase;
    bool ready;
    bool unschedulable;
    int64_t since_ms;
};

void dr_kube_pods_init(struct dr_kube_pods *pods, struct dr_kube_pool *pool) { *pods = (struct dr_kube_pods){.pool = pool}; }

void dr_kube_pods_deinit(struct dr_kube_pods *pods) {
    free(pods->rows);
    pods->rows = NULL;
}

static int read_condition(struct dr_kube_walk *w, struct status *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str type = DR_STR_NONE;
    struct dr_str value = DR_STR_NONE;
    struct dr_str reason = DR_STR_NONE;
    struct dr_str since = DR_STR_NONE;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "type")) {
            r = dr_kube_str(w, &type, err);
        } else if (DR_KEY_IS(&key, "status")) {
            r = dr_kube_str(w, &value, err);
        } else if (DR_KEY_IS(&key, "reason")) {
            r = dr_kube_str(w, &reason, err);
        } else if (DR_KEY_IS(&key, "lastTransitionTime")) {
            r = dr_kube_str(w, &since, err);
        }
        r = r < 0 ? -1 : 1;
    }
    if (r < 0) {
        return -1;
    }
    if (dr_str_is(type, "Ready")) {
        ret->ready = dr_str_is(value, "True");
    } else if (dr_str_is(type, "PodScheduled") && dr_str_is(value, "False") && dr_str_is(reason, "Unschedulable")) {
        ret->unschedulable = true;
        if (since.n > 0 && !dr_time_parse(since, &ret->since_ms)) {
            return dr_fail(err, DR_E_INVALID, "lastTransitionTime is not a time");
        }
    }
    return 0;
}

static int read_status(struct dr_kube_walk *w, struct status *ret, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "status";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "phase")) {
            w->field = "status.phase";
            r = dr_kube_str(w, &ret->phase, err);
        } else if (DR_KEY_IS(&key, "conditions")) {
            w->field = "status.conditions";
            r = dr_kube_enter(w, DR_JSON_ARRAY, err);
            while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
                r = read_condition(w, ret, err) < 0 ? -1 : 1;
            }
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static enum dr_phase phase_of(struct dr_str text) {
    return dr_str_is(text, "Running")                  ? DR_PHASE_RUNNING
           : dr_str_is(text, "Pending") || text.n == 0 ? DR_PHASE_PENDING
           : dr_str_is(text, "Succeeded")              ? DR_PHASE_SUCCEEDED
           : dr_str_is(text, "Failed")                 ? DR_PHASE_FAILED
                                                       : DR_PHASE_UNKNOWN;
}

static uint32_t seconds(int64_t ms) { return ms <= 0 ? 0 : ms / 1000 > UINT32_MAX ? UINT32_MAX : (uint32_t)(ms / 1000); }

static struct dr_kube_pod_row *new_row(struct dr_kube_pods *pods, struct dr_err *err) {
    if (pods->n == DR_KUBE_MAX_PODS) {
        (void)dr_fail(err, DR_E_LIMIT, "more than %d pods", DR_KUBE_MAX_PODS);
        return NULL;
    }
    if (pods->n == pods->cap) {
        pods->cap = pods->cap == 0 ? 512 : pods->cap * 2;
        pods->rows = realloc(pods->rows, pods->cap * sizeof *pods->rows);
        DR_ASSERT(pods->rows != NULL);
    }
    struct dr_kube_pod_row *row = &pods->rows[pods->n++];
    memset(row, 0, sizeof *row);
    return row;
}

/* The claim of a generic ephemeral volume is named after pod and volume. */
static const struct dr_kube_claims *keep_claims(struct dr_kube_pool *pool, const struct dr_kube_pod_spec *spec, struct dr_str pod) {
    if (spec->claims.n + spec->generic.n == 0) {
        return NULL;
    }
    struct dr_kube_claims *claims = DR_NEW(&pool->scratch, struct dr_kube_claims);
    struct dr_str *names = DR_NEW_N(&pool->scratch, struct dr_str, spec->claims.n + spec->generic.n);
    const struct dr_str *named = spec->claims.v;
    const struct dr_str *generic = spec->generic.v;
    for (size_t i = 0; i < spec->claims.n; i++) {
        names[claims->names.n++] = dr_str_dup(&pool->scratch, named[i]);
    }
    for (size_t i = 0; i < spec->generic.n; i++) {
        names[claims->names.n++] = dr_str_fmt(&pool->scratch, "%.*s-%.*s", DR_FMT(pod), DR_FMT(generic[i]));
    }
    claims->names.v = names;
    return claims;
}

/* The number of a text that is probably the same as in the row before. */
static uint32_t id_like(struct dr_kube_pool *pool, uint32_t before, struct dr_str s) {
    return dr_str_eq(dr_intern_get(&pool->strings, before), s) ? before : dr_intern_id(&pool->strings, s);
}

static void put_row(struct dr_kube_pods *pods, struct dr_kube_pod_row *row, const struct dr_kube_meta *meta,
                    const struct dr_kube_pod_spec *spec, const struct status *status) {
    struct dr_kube_pool *pool = pods->pool;
    char *name = dr_intern_pack(&pool->strings, meta->name.n + meta->uid.n);
    memcpy(name, meta->name.p, meta->name.n);
    if (meta->uid.n > 0) {
        memcpy(name + meta->name.n, meta->uid.p, meta->uid.n);
    }
    row->name = name;
    row->name_n = (uint8_t)meta->name.n;
    row->uid_n = (uint8_t)meta->uid.n;
    row->claims = keep_claims(pool, spec, meta->name);
    pods->has_claims = pods->has_claims || row->claims != NULL;
    const struct dr_kube_pod_row *before = pods->n > 1 ? row - 1 : row; /* a new row is all zero, and 0 is the empty text */
    row->ns = id_like(pool, before->ns, meta->ns);
    row->owner_uid = id_like(pool, before->owner_uid, meta->owner_uid);
    row->node = dr_intern_id(&pool->strings, spec->node);
    row->spec = dr_kube_spec_id(pool, &spec->key);
    row->created_s = seconds(meta->created_ms);
    row->since_s = seconds(status->since_ms > 0 || !status->unschedulable ? status->since_ms : meta->created_ms);
    row->delete_by_s = seconds(meta->deleted_ms);
    row->grace_s = spec->grace_s < 0 ? 0 : spec->grace_s > UINT32_MAX ? UINT32_MAX : (uint32_t)spec->grace_s;
    row->owner = (uint8_t)((unsigned)meta->owner & 15U);
    row->phase = (uint8_t)((unsigned)phase_of(status->phase) & 15U);
    row->ready = status->ready;
    row->critical = spec->critical;
    row->local_data = spec->local_data;
    row->unschedulable = status->unschedulable;
    row->deleting = meta->deleting;
}

static int keep_pod(struct dr_kube_pods *pods, struct dr_kube_walk *w, const struct dr_kube_meta *meta, struct dr_kube_pod_spec *spec,
                    const struct status *status, struct dr_err *err) {
    w->field = "metadata.name";
    if (meta->name.n == 0 || meta->name.n > 253 || meta->uid.n > 255 || meta->uid.n == 0) {
        return dr_fail(err, DR_E_INVALID, "no name or UID, or one that is too long");
    }
    uint32_t labels;
    w->field = "metadata.labels";
    if (dr_kube_labels_id(pods->pool, meta->labels, &labels, err) < 0) {
        return -1;
    }
    /* Each pod of a DaemonSet names its own node; that is said by the owner already, and would make as many specs as nodes. */
    bool tied = meta->owner == DR_OWNER_DAEMONSET || meta->owner == DR_OWNER_MIRROR;
    w->field = "spec.affinity";
    if (!tied && dr_kube_affinity_id(pods->pool, spec->affinity, &spec->key.affinity, err) < 0) {
        return -1;
    }
    struct dr_kube_pod_row *row = new_row(pods, err);
    if (row == NULL) {
        return -1;
    }
    row->labels = labels;
    put_row(pods, row, meta, spec, status);
    return 0;
}

static int read_pod(void *self, struct dr_kube_walk *w, struct dr_err *err) {
    struct dr_kube_pods *pods = self;
    struct dr_json_key key;
    struct dr_kube_meta meta = {.owner = DR_OWNER_NONE};
    struct dr_kube_pod_spec spec = {.grace_s = 30};
    struct status status = {.ready = false};
    int r = dr_json_enter(&w->j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "metadata")) {
            r = dr_kube_meta_read(w, &meta, err);
        } else if (DR_KEY_IS(&key, "spec")) {
            r = dr_kube_pod_spec_read(pods->pool, w, &spec, err);
        } else if (DR_KEY_IS(&key, "status")) {
            r = read_status(w, &status, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r < 0 ? -1 : keep_pod(pods, w, &meta, &spec, &status, err);
}

int dr_kube_pods_page(struct dr_kube_pods *pods, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err) {
    return dr_kube_page_read(pods->pool, body, "PodList", read_pod, pods, ret, err);
}

static void resolve_claims(struct dr_kube_pods *pods, struct dr_kube_volumes *volumes, struct dr_kube_pod_row *row) {
    struct dr_kube_pool *pool = pods->pool;
    if (volumes == NULL || !volumes->known) {
        struct dr_kube_spec_key key;
        memcpy(&key, pool->specs.items[row->spec].p, sizeof key);
        key.flags |= DR_KUBE_UNMODELLED;
        row->spec = dr_kube_spec_id(pool, &key);
        return;
    }
    bool local = false;
    row->spec = dr_kube_spec_with_claims(volumes, row->spec, dr_intern_get(&pool->strings, row->ns), row->claims->names, &local);
    row->local_data = row->local_data || local;
}

static void put_pod(struct dr_kube_pool *pool, const struct dr_kube_pod_row *row, struct dr_pod *ret) {
    *ret = (struct dr_pod){
        .ns = dr_intern_get(&pool->strings, row->ns),
        .name = {row->name, row->name_n},
        .uid = {row->name + row->name_n, row->uid_n},
        .owner_uid = dr_intern_get(&pool->strings, row->owner_uid),
        .owner = (enum dr_owner)row->owner,
        .phase = (enum dr_phase)row->phase,
        .node = dr_intern_get(&pool->strings, row->node),
        .ready = row->ready,
        .critical = row->critical,
        .local_data = row->local_data,
        .unschedulable = row->unschedulable,
        .unschedulable_since_ms = (int64_t)row->since_s * 1000,
        .created_ms = (int64_t)row->created_s * 1000,
        .deleting = row->deleting,
        .delete_by_ms = (int64_t)row->delete_by_s * 1000,
        .grace_ms = (int64_t)row->grace_s * 1000,
        .labels = dr_kube_labels_get(pool, row->labels),
        .spec = dr_kube_spec_get(pool, row->spec),
    };
}

void dr_kube_pods_finish(struct dr_kube_pods *pods, struct dr_kube_volumes *volumes, const struct dr_pod **ret, size_t *ret_n) {
    struct dr_pod *v = DR_NEW_N(pods->pool->arena, struct dr_pod, pods->n);
    for (size_t i = 0; i < pods->n; i++) {
        if (pods->rows[i].claims != NULL) {
            resolve_claims(pods, volumes, &pods->rows[i]);
        }
        put_pod(pods->pool, &pods->rows[i], &v[i]);
    }
    *ret = v;
    *ret_n = pods->n;
    dr_kube_pods_deinit(pods);
    pods->n = pods->cap = 0;
}
