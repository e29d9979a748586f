/* Specs made from their parts, once per combination that occurs. */

#include "adapter/kubernetes/read.h"
#include "base/num.h"

/* What a pod's claims add to its spec. */
struct extra {
    bool limited;
    struct dr_strs zones;
    struct dr_kube_list terms; /* struct dr_term: requirements of each volume, all needed */
};

uint32_t dr_kube_spec_id(struct dr_kube_pool *pool, const struct dr_kube_spec_key *key) {
    return dr_intern_id(&pool->specs, (struct dr_str){(const char *)key, sizeof *key});
}

static void put_ports(struct dr_kube_pool *pool, uint32_t id, struct dr_pod_spec *ret) {
    struct dr_str text = dr_intern_get(&pool->ports, id);
    const size_t each = sizeof(int64_t) + 1;
    struct dr_host_port *ports = DR_NEW_N(pool->arena, struct dr_host_port, text.n / each);
    for (size_t i = 0; i < text.n / each; i++) {
        memcpy(&ports[i].port, text.p + i * each, sizeof(int64_t));
        ports[i].protocol = text.p[i * each + sizeof(int64_t)];
    }
    ret->host_ports = ports;
    ret->host_port_n = text.n / each;
}

/* One term that holds the requirements of `base` and of every volume. */
static struct dr_term joined(struct dr_arena *arena, const struct dr_term *base, const struct extra *extra) {
    const struct dr_term *more = extra->terms.v;
    size_t n = base == NULL ? 0 : base->requirement_n;
    for (size_t i = 0; i < extra->terms.n; i++) {
        n += more[i].requirement_n;
    }
    struct dr_requirement *v = DR_NEW_N(arena, struct dr_requirement, n);
    size_t at = 0;
    for (size_t k = 0; base != NULL && k < base->requirement_n; k++) {
        v[at++] = base->requirements[k];
    }
    for (size_t i = 0; i < extra->terms.n; i++) {
        for (size_t k = 0; k < more[i].requirement_n; k++) {
            v[at++] = more[i].requirements[k];
        }
    }
    return (struct dr_term){v, n};
}

static void put_extra(struct dr_kube_pool *pool, const struct extra *extra, struct dr_pod_spec *ret) {
    ret->volume_zones = extra->zones;
    if (extra->limited && extra->zones.n == 0) {
        ret->volume_unbound = true; /* its volumes have no zone in common */
    }
    if (extra->terms.n == 0) {
        return;
    }
    size_t n = ret->term_n == 0 ? 1 : ret->term_n;
    struct dr_term *terms = DR_NEW_N(pool->arena, struct dr_term, n);
    for (size_t i = 0; i < n; i++) {
        const struct dr_term *base = ret->term_n == 0 ? NULL : &ret->affinity[i];
        /* A term without requirements matches no node, and must not begin to. */
        terms[i] = base != NULL && base->requirement_n == 0 ? *base : joined(pool->arena, base, extra);
    }
    ret->affinity = terms;
    ret->term_n = n;
}

static struct dr_pod_spec *make_spec(struct dr_kube_pool *pool, const struct dr_kube_spec_key *key) {
    struct dr_pod_spec *spec = DR_NEW(pool->arena, struct dr_pod_spec);
    const struct dr_kube_affinity *affinity = pool->affinities.items[key->affinity].value;
    const struct dr_kube_tolerations *tolerations = pool->tolerations.items[key->tolerations].value;
    spec->cpu_milli = key->cpu_milli;
    spec->mem_bytes = key->mem_bytes;
    spec->selector = dr_kube_labels_get(pool, key->selector);
    spec->unmodelled = (key->flags & DR_KUBE_UNMODELLED) != 0;
    spec->volume_unbound = (key->flags & DR_KUBE_UNBOUND) != 0;
    if (affinity != NULL) {
        spec->affinity = affinity->terms;
        spec->term_n = affinity->term_n;
        spec->unmodelled = spec->unmodelled || affinity->unmodelled;
    }
    if (tolerations != NULL) {
        spec->tolerations = tolerations->v;
        spec->toleration_n = tolerations->n;
    }
    if (key->ports != 0) {
        put_ports(pool, key->ports, spec);
    }
    if (key->volume != 0) {
        put_extra(pool, pool->volumes.items[key->volume].value, spec);
    }
    return spec;
}

const struct dr_pod_spec *dr_kube_spec_get(struct dr_kube_pool *pool, uint32_t id) {
    DR_ASSERT(id > 0 && id < pool->specs.item_n);
    struct dr_intern_item *item = &pool->specs.items[id];
    if (item->value == NULL) {
        struct dr_kube_spec_key key;
        memcpy(&key, item->p, sizeof key);
        item->value = make_spec(pool, &key);
    }
    return item->value;
}

static void limit_zones(struct dr_kube_pool *pool, struct extra *extra, struct dr_strs zones) {
    struct dr_str *both = DR_NEW_N(pool->arena, struct dr_str, extra->limited ? extra->zones.n : zones.n);
    size_t n = 0;
    if (!extra->limited) {
        for (size_t i = 0; i < zones.n; i++) {
            both[n++] = zones.v[i];
        }
    } else {
        for (size_t i = 0; i < extra->zones.n; i++) {
            if (dr_strs_has(zones, extra->zones.v[i])) {
                both[n++] = extra->zones.v[i];
            }
        }
    }
    extra->limited = true;
    extra->zones = (struct dr_strs){both, n};
}

static void add_volume(struct dr_kube_pool *pool, const struct dr_kube_volume *volume, struct extra *extra, uint32_t *flags, bool *local) {
    *local = *local || volume->local;
    *flags |= volume->unmodelled ? DR_KUBE_UNMODELLED : 0;
    if (volume->limited) {
        limit_zones(pool, extra, volume->zones);
    }
    if (volume->term.requirement_n > 0) {
        struct dr_term *at = dr_kube_list_add(&extra->terms, &pool->scratch, sizeof *at);
        if (at == NULL) {
            *flags |= DR_KUBE_UNMODELLED;
        } else {
            *at = volume->term;
        }
    }
}

static uint32_t claim_id(struct dr_kube_volumes *volumes, struct dr_str ns, struct dr_str name) {
    char text[600];
    if (ns.n + name.n + 1 > sizeof text) {
        return 0; /* no such claim can be */
    }
    memcpy(text, ns.p, ns.n);
    text[ns.n] = '/';
    memcpy(text + ns.n + 1, name.p, name.n);
    return dr_intern_id(&volumes->claims, (struct dr_str){text, ns.n + 1 + name.n});
}

static void add_claim(struct dr_kube_volumes *volumes, uint32_t id, struct extra *extra, uint32_t *flags, bool *local) {
    struct dr_kube_pool *pool = volumes->pool;
    const struct dr_kube_claim *claim = volumes->claims.items[id].value;
    if (claim == NULL) {
        *flags |= DR_KUBE_UNBOUND; /* no such claim */
        return;
    }
    if (claim->volume != 0) {
        uint32_t at = dr_intern_id(&volumes->volumes, dr_intern_get(&pool->strings, claim->volume));
        const struct dr_kube_volume *volume = volumes->volumes.items[at].value;
        if (volume == NULL) {
            *flags |= DR_KUBE_UNBOUND; /* bound to a volume that is gone */
        } else {
            add_volume(pool, volume, extra, flags, local);
        }
        return;
    }
    uint32_t at = dr_intern_id(&volumes->classes, dr_intern_get(&pool->strings, claim->class_name));
    const struct dr_kube_class *class = volumes->classes.items[at].value;
    if (class == NULL || !class->waits) {
        *flags |= DR_KUBE_UNBOUND;
    } else if (class->limited) {
        limit_zones(pool, extra, class->zones);
    }
}

uint32_t dr_kube_spec_with_claims(struct dr_kube_volumes *volumes, uint32_t spec, struct dr_str ns, struct dr_strs claims, bool *local) {
    struct dr_kube_pool *pool = volumes->pool;
    struct dr_kube_spec_key key;
    memcpy(&key, pool->specs.items[spec].p, sizeof key);
    struct extra *extra = DR_NEW(&pool->scratch, struct extra);
    struct dr_kube_list ids = {.n = 0};
    for (size_t i = 0; i < claims.n; i++) {
        uint32_t *id = dr_kube_list_add(&ids, &pool->scratch, sizeof *id);
        if (id == NULL) {
            break;
        }
        *id = claim_id(volumes, ns, claims.v[i]);
        add_claim(volumes, *id, extra, &key.flags, local);
    }
    if (extra->limited || extra->terms.n > 0) {
        /* Equal claims, equal extra; different claims rarely share one, so there is nothing to gain from looking further. */
        key.volume = dr_intern_id(&pool->volumes, (struct dr_str){ids.v, ids.n * sizeof(uint32_t)});
        if (pool->volumes.items[key.volume].value == NULL) {
            pool->volumes.items[key.volume].value = extra;
        }
    }
    return dr_kube_spec_id(pool, &key);
}
