/* The spec of a pod: requests as the scheduler counts them, and its hard rules. */

#include "adapter/kubernetes/quantity.h"
#include "adapter/kubernetes/read.h"
#include "base/num.h"

/* Any machine has this much scratch space to give; a pod that asks for more has a rule that fit does not know. */
#define SMALL_EPHEMERAL_BYTES (INT64_C(1) << 30)

struct amount {
    int64_t cpu_milli;
    int64_t mem_bytes;
    bool has_cpu;
    bool has_mem;
    bool unmodelled; /* an extended resource, huge pages, or much scratch space */
};

struct sums {
    struct amount containers;
    struct amount sidecars; /* init containers that go on running */
    struct amount init;     /* the most that is needed while init containers run */
};

static void add(struct amount *to, const struct amount *a) {
    to->cpu_milli = dr_sat_add(to->cpu_milli, a->cpu_milli);
    to->mem_bytes = dr_sat_add(to->mem_bytes, a->mem_bytes);
    to->unmodelled = to->unmodelled || a->unmodelled;
}

static void raise(struct amount *to, const struct amount *a) {
    to->cpu_milli = dr_max_i64(to->cpu_milli, a->cpu_milli);
    to->mem_bytes = dr_max_i64(to->mem_bytes, a->mem_bytes);
    to->unmodelled = to->unmodelled || a->unmodelled;
}

static int bad_quantity(struct dr_str text, struct dr_err *err) {
    int n = text.n > 40 ? 40 : (int)text.n;
    return dr_fail(err, DR_E_INVALID, "\"%.*s\" is not a quantity", n, text.p);
}

static int read_amount(struct dr_kube_walk *w, struct amount *ret, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        struct dr_str text = DR_STR_NONE;
        int64_t other = 0;
        if (dr_kube_quantity(w, &text, err) < 0) {
            return -1;
        }
        bool ok = true;
        if (DR_KEY_IS(&key, "cpu")) {
            ret->has_cpu = true;
            ok = dr_quantity_milli(text, &ret->cpu_milli);
        } else if (DR_KEY_IS(&key, "memory")) {
            ret->has_mem = true;
            ok = dr_quantity_units(text, &ret->mem_bytes);
        } else {
            ok = dr_quantity_units(text, &other);
            ret->unmodelled = ret->unmodelled || other > (DR_KEY_IS(&key, "ephemeral-storage") ? SMALL_EPHEMERAL_BYTES : 0);
        }
        if (!ok) {
            return bad_quantity(text, err);
        }
    }
    return r;
}

/* `resources`: what is claimed from a device class (DRA) is a rule that fit does not know. */
static int read_resources(struct dr_kube_walk *w, struct amount *ret, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        r = DR_KEY_IS(&key, "requests") ? read_amount(w, ret, err) : 0;
        r = r < 0 ? -1 : 1;
    }
    return r;
}

struct ports {
    struct dr_host_port v[64];
    size_t n;
};

static int read_port(struct dr_kube_walk *w, struct ports *ports, struct dr_err *err) {
    struct dr_json_key key;
    int64_t port = 0;
    struct dr_str protocol = DR_STR("TCP");
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "hostPort")) {
            r = dr_kube_i64(w, &port, err);
        } else if (DR_KEY_IS(&key, "protocol")) {
            r = dr_kube_str(w, &protocol, err);
        }
        r = r < 0 ? -1 : 1;
    }
    if (r < 0 || port == 0) {
        return r;
    }
    if (ports->n == sizeof ports->v / sizeof ports->v[0]) {
        return dr_fail(err, DR_E_LIMIT, "more than %zu host ports", ports->n);
    }
    char p = dr_str_is(protocol, "UDP") ? 'U' : dr_str_is(protocol, "SCTP") ? 'S' : 'T';
    ports->v[ports->n++] = (struct dr_host_port){.port = port, .protocol = p};
    return 0;
}

static int read_ports(struct dr_kube_walk *w, struct ports *ports, struct dr_err *err) {
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        r = read_port(w, ports, err) < 0 ? -1 : 1;
    }
    return r;
}

static int read_container(struct dr_kube_walk *w, const char *field, struct amount *ret, bool *always, struct ports *ports,
                          struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "resources")) {
            w->field = field;
            r = read_resources(w, ret, err);
        } else if (DR_KEY_IS(&key, "ports")) {
            w->field = "spec.containers.ports";
            r = read_ports(w, ports, err);
        } else if (DR_KEY_IS(&key, "restartPolicy")) {
            struct dr_str policy = DR_STR_NONE;
            r = dr_kube_str(w, &policy, err);
            *always = dr_str_is(policy, "Always");
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_containers(struct dr_kube_walk *w, struct sums *sums, struct ports *ports, struct dr_err *err) {
    w->field = "spec.containers";
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        struct amount amount = {.cpu_milli = 0};
        bool always = false;
        r = read_container(w, "spec.containers.resources", &amount, &always, ports, err) < 0 ? -1 : 1;
        add(&sums->containers, &amount);
    }
    return r;
}

/* Init containers run one after the other, each beside the sidecars that started before it. */
static int read_init_containers(struct dr_kube_walk *w, struct sums *sums, struct ports *ports, struct dr_err *err) {
    w->field = "spec.initContainers";
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        struct amount amount = {.cpu_milli = 0};
        bool always = false;
        size_t port_n = ports->n;
        r = read_container(w, "spec.initContainers.resources", &amount, &always, ports, err) < 0 ? -1 : 1;
        if (always) {
            add(&sums->sidecars, &amount);
            amount = sums->sidecars;
        } else {
            ports->n = port_n; /* gone before the pod runs: the scheduler does not count them */
            add(&amount, &sums->sidecars);
        }
        raise(&sums->init, &amount);
    }
    return r;
}

static struct amount total_of(const struct sums *sums, const struct amount *whole_pod, const struct amount *overhead) {
    struct amount total = sums->containers;
    add(&total, &sums->sidecars);
    raise(&total, &sums->init);
    if (whole_pod->has_cpu) {
        total.cpu_milli = whole_pod->cpu_milli;
    }
    if (whole_pod->has_mem) {
        total.mem_bytes = whole_pod->mem_bytes;
    }
    total.unmodelled = total.unmodelled || whole_pod->unmodelled;
    add(&total, overhead);
    return total;
}

/* A spread that is not only a wish. */
static int read_spread(struct dr_kube_walk *w, bool *hard, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "spec.topologySpreadConstraints";
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        struct dr_str when = DR_STR_NONE;
        r = dr_kube_enter(w, DR_JSON_OBJECT, err);
        while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
            r = DR_KEY_IS(&key, "whenUnsatisfiable") ? dr_kube_str(w, &when, err) : 0;
            r = r < 0 ? -1 : 1;
        }
        *hard = *hard || !dr_str_is(when, "ScheduleAnyway");
        r = r < 0 ? -1 : 1;
    }
    return r;
}

/* The text under `name` of an object whose value is due. */
static int read_inner_text(struct dr_kube_walk *w, const char *name, struct dr_str *ret, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        r = dr_json_key_is(&key, name) ? dr_kube_str(w, ret, err) : 0;
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_volume(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_pod_spec *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str name = DR_STR_NONE;
    struct dr_str claim = DR_STR_NONE;
    bool generic = false;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "name")) {
            r = dr_kube_str(w, &name, err);
        } else if (DR_KEY_IS(&key, "emptyDir")) {
            struct dr_str medium = DR_STR_NONE;
            r = read_inner_text(w, "medium", &medium, err);
            ret->local_data = ret->local_data || !dr_str_is(medium, "Memory");
        } else if (DR_KEY_IS(&key, "hostPath")) {
            ret->local_data = true;
        } else if (DR_KEY_IS(&key, "persistentVolumeClaim")) {
            r = read_inner_text(w, "claimName", &claim, err);
        } else if (DR_KEY_IS(&key, "ephemeral")) {
            generic = true;
        }
        r = r < 0 ? -1 : 1;
    }
    if (r == 0 && (claim.n > 0 || (generic && name.n > 0))) {
        struct dr_str *at = dr_kube_list_add(claim.n > 0 ? &ret->claims : &ret->generic, &pool->page, sizeof *at);
        if (at == NULL) {
            return dr_fail(err, DR_E_LIMIT, "more than %d volumes", DR_KUBE_MAX_LIST);
        }
        *at = claim.n > 0 ? claim : name;
    }
    return r;
}

static int read_volumes(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_pod_spec *ret, struct dr_err *err) {
    w->field = "spec.volumes";
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        r = read_volume(pool, w, ret, err) < 0 ? -1 : 1;
    }
    return r;
}

static int has_elements(struct dr_kube_walk *w, bool *ret, struct dr_err *err) {
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    if (r <= 0) {
        return r;
    }
    r = dr_json_next_element(&w->j, err);
    if (r <= 0) {
        return r;
    }
    *ret = true;
    return dr_json_leave(&w->j, err);
}

struct reading {
    struct dr_kube_pool *pool;
    struct dr_kube_pod_spec *ret;
    struct sums sums;
    struct amount whole_pod;
    struct amount overhead;
    struct ports ports;
    struct dr_str selector;
    struct dr_str tolerations;
    bool unmodelled;
};

static int read_scalars(struct dr_kube_walk *w, const struct dr_json_key *key, struct reading *rd, struct dr_err *err) {
    if (DR_KEY_IS(key, "nodeName")) {
        w->field = "spec.nodeName";
        return dr_kube_str(w, &rd->ret->node, err);
    }
    if (DR_KEY_IS(key, "priorityClassName")) {
        struct dr_str name = DR_STR_NONE;
        w->field = "spec.priorityClassName";
        int r = dr_kube_str(w, &name, err);
        rd->ret->critical = dr_str_is(name, "system-node-critical") || dr_str_is(name, "system-cluster-critical");
        return r;
    }
    if (DR_KEY_IS(key, "terminationGracePeriodSeconds")) {
        w->field = "spec.terminationGracePeriodSeconds";
        return dr_kube_i64(w, &rd->ret->grace_s, err);
    }
    return 0;
}

static int read_rules(struct dr_kube_walk *w, const struct dr_json_key *key, struct reading *rd, struct dr_err *err) {
    if (DR_KEY_IS(key, "nodeSelector")) {
        w->field = "spec.nodeSelector";
        return dr_kube_raw(w, &rd->selector, err);
    }
    if (DR_KEY_IS(key, "tolerations")) {
        w->field = "spec.tolerations";
        return dr_kube_raw(w, &rd->tolerations, err);
    }
    if (DR_KEY_IS(key, "affinity")) {
        w->field = "spec.affinity";
        return dr_kube_raw(w, &rd->ret->affinity, err);
    }
    if (DR_KEY_IS(key, "topologySpreadConstraints")) {
        return read_spread(w, &rd->unmodelled, err);
    }
    if (DR_KEY_IS(key, "resourceClaims")) {
        w->field = "spec.resourceClaims";
        return has_elements(w, &rd->unmodelled, err);
    }
    return read_scalars(w, key, rd, err);
}

static int read_key(struct dr_kube_walk *w, const struct dr_json_key *key, struct reading *rd, struct dr_err *err) {
    if (DR_KEY_IS(key, "containers")) {
        return read_containers(w, &rd->sums, &rd->ports, err);
    }
    if (DR_KEY_IS(key, "initContainers")) {
        return read_init_containers(w, &rd->sums, &rd->ports, err);
    }
    if (DR_KEY_IS(key, "volumes")) {
        return read_volumes(rd->pool, w, rd->ret, err);
    }
    if (DR_KEY_IS(key, "resources")) {
        w->field = "spec.resources";
        return read_resources(w, &rd->whole_pod, err);
    }
    if (DR_KEY_IS(key, "overhead")) {
        w->field = "spec.overhead";
        return read_amount(w, &rd->overhead, err);
    }
    return read_rules(w, key, rd, err);
}

static int make_key(struct dr_kube_walk *w, struct reading *rd, struct dr_err *err) {
    struct dr_kube_spec_key *key = &rd->ret->key;
    struct amount total = total_of(&rd->sums, &rd->whole_pod, &rd->overhead);
    key->cpu_milli = total.cpu_milli;
    key->mem_bytes = total.mem_bytes;
    key->flags = total.unmodelled || rd->unmodelled ? DR_KUBE_UNMODELLED : 0;
    w->field = "spec.nodeSelector";
    if (dr_kube_labels_id(rd->pool, rd->selector, &key->selector, err) < 0) {
        return -1;
    }
    w->field = "spec.tolerations";
    if (dr_kube_tolerations_id(rd->pool, rd->tolerations, &key->tolerations, err) < 0) {
        return -1;
    }
    if (rd->ports.n > 0) {
        /* As text, because the structure has padding. */
        char text[64 * 24];
        size_t n = 0;
        for (size_t i = 0; i < rd->ports.n; i++) {
            memcpy(text + n, &rd->ports.v[i].port, sizeof(int64_t));
            text[n + sizeof(int64_t)] = rd->ports.v[i].protocol;
            n += sizeof(int64_t) + 1;
        }
        key->ports = dr_intern_id(&rd->pool->ports, (struct dr_str){text, n});
    }
    return 0;
}

int dr_kube_pod_spec_read(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_pod_spec *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct reading rd = {.pool = pool, .ret = ret};
    *ret = (struct dr_kube_pod_spec){.grace_s = 30};
    w->field = "spec";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        r = read_key(w, &key, &rd, err) < 0 ? -1 : 1;
    }
    return r < 0 ? -1 : make_key(w, &rd, err);
}
