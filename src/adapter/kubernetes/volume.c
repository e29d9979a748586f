/* Claims, volumes and storage classes. Read only if some pod has a claim. */

#include "adapter/kubernetes/read.h"

void dr_kube_volumes_init(struct dr_kube_volumes *volumes, struct dr_kube_pool *pool) {
    *volumes = (struct dr_kube_volumes){.pool = pool};
    dr_intern_init(&volumes->claims, &pool->scratch);
    dr_intern_init(&volumes->volumes, &pool->scratch);
    dr_intern_init(&volumes->classes, &pool->scratch);
}

void dr_kube_volumes_deinit(struct dr_kube_volumes *volumes) {
    dr_intern_deinit(&volumes->claims);
    dr_intern_deinit(&volumes->volumes);
    dr_intern_deinit(&volumes->classes);
}

/* Walks an object of metadata and one more part, which `part` reads. */
static int read_object(struct dr_kube_walk *w, struct dr_kube_meta *meta, const char *name,
                       int (*part)(void *self, struct dr_kube_walk *w, struct dr_err *err), void *self, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_json_enter(&w->j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "metadata")) {
            r = dr_kube_meta_read(w, meta, err);
        } else if (dr_json_key_is(&key, name)) {
            r = part(self, w, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int enough(const struct dr_intern *table, struct dr_err *err) {
    return table->item_n > DR_KUBE_MAX_VOLUMES ? dr_fail(err, DR_E_LIMIT, "more than %d", DR_KUBE_MAX_VOLUMES) : 0;
}

struct claim_reading {
    struct dr_str volume;
    struct dr_str class_name;
};

static int read_claim_spec(void *self, struct dr_kube_walk *w, struct dr_err *err) {
    struct claim_reading *ret = self;
    struct dr_json_key key;
    w->field = "spec";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "volumeName")) {
            r = dr_kube_str(w, &ret->volume, err);
        } else if (DR_KEY_IS(&key, "storageClassName")) {
            r = dr_kube_str(w, &ret->class_name, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_claim(void *self, struct dr_kube_walk *w, struct dr_err *err) {
    struct dr_kube_volumes *volumes = self;
    struct dr_kube_meta meta = {.owner = DR_OWNER_NONE};
    struct claim_reading rd = {.volume = DR_STR_NONE};
    if (read_object(w, &meta, "spec", read_claim_spec, &rd, err) < 0 || enough(&volumes->claims, err) < 0) {
        return -1;
    }
    struct dr_kube_claim *claim = DR_NEW(&volumes->pool->scratch, struct dr_kube_claim);
    claim->volume = dr_intern_id(&volumes->pool->strings, rd.volume);
    claim->class_name = dr_intern_id(&volumes->pool->strings, rd.class_name);
    volumes->unbound = volumes->unbound || claim->volume == 0;
    struct dr_str name = dr_str_fmt(&volumes->pool->page, "%.*s/%.*s", DR_FMT(meta.ns), DR_FMT(meta.name));
    volumes->claims.items[dr_intern_id(&volumes->claims, name)].value = claim;
    return 0;
}

static bool is_zone_key(struct dr_str key) {
    return dr_str_is(key, "topology.kubernetes.io/zone") || dr_str_is(key, "topology.ebs.csi.aws.com/zone") ||
           dr_str_is(key, "failure-domain.beta.kubernetes.io/zone");
}

/* One term of a volume's node affinity. Zones of several terms add up; other requirements are modelled only where there is one term. */
static int read_volume_term(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_list *zones, struct dr_kube_list *others,
                            bool *odd, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_kube_list all = {.n = 0};
    bool zoned = false;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "matchExpressions")) {
            r = dr_kube_requirements_read(pool, w, &all, odd, err);
        } else if (DR_KEY_IS(&key, "matchFields")) {
            *odd = true;
        }
        r = r < 0 ? -1 : 1;
    }
    const struct dr_requirement *requirements = all.v;
    for (size_t i = 0; i < all.n; i++) {
        bool zone = is_zone_key(requirements[i].key) && requirements[i].op == DR_OP_IN;
        if (!zone) {
            struct dr_requirement *at = dr_kube_list_add(others, &pool->page, sizeof *at);
            *odd = *odd || at == NULL;
            if (at != NULL) {
                *at = requirements[i];
            }
            continue;
        }
        for (size_t k = 0; !zoned && k < requirements[i].values.n; k++) { /* drivers name the same zone under several keys */
            struct dr_str *at = dr_kube_list_add(zones, &pool->page, sizeof *at);
            *odd = *odd || at == NULL;
            if (at != NULL) {
                *at = requirements[i].values.v[k];
            }
        }
        zoned = true;
    }
    *odd = *odd || all.n == 0;
    return r;
}

struct volume_reading {
    struct dr_kube_pool *pool;
    struct dr_kube_volume *ret;
};

static int read_volume_terms(struct dr_kube_walk *w, struct volume_reading *rd, struct dr_err *err) {
    struct dr_kube_list zones = {.n = 0};
    struct dr_kube_list others = {.n = 0};
    struct dr_kube_volume *ret = rd->ret;
    size_t n = 0;
    bool free_of_zones = false;
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        size_t before = zones.n;
        r = read_volume_term(rd->pool, w, &zones, &others, &ret->unmodelled, err) < 0 ? -1 : 1;
        free_of_zones = free_of_zones || zones.n == before;
        n++;
    }
    if (n > 1 && (others.n > 0 || free_of_zones)) {
        ret->unmodelled = true;
        return r;
    }
    ret->limited = zones.n > 0;
    ret->zones = (struct dr_strs){dr_kube_list_copy(&zones, rd->pool->arena, sizeof(struct dr_str)), zones.n};
    ret->term = (struct dr_term){dr_kube_list_copy(&others, rd->pool->arena, sizeof(struct dr_requirement)), others.n};
    return r;
}

static int read_volume_affinity(struct dr_kube_walk *w, struct volume_reading *rd, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_json_key inner;
    w->field = "spec.nodeAffinity";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "required")) {
            r = dr_kube_enter(w, DR_JSON_OBJECT, err);
            while (r > 0 && (r = dr_json_next_key(&w->j, &inner, err)) > 0) {
                r = DR_KEY_IS(&inner, "nodeSelectorTerms") ? read_volume_terms(w, rd, err) : 0;
                r = r < 0 ? -1 : 1;
            }
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_volume_spec(void *self, struct dr_kube_walk *w, struct dr_err *err) {
    struct volume_reading *rd = self;
    struct dr_json_key key;
    w->field = "spec";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "nodeAffinity")) {
            r = read_volume_affinity(w, rd, err);
        } else if (DR_KEY_IS(&key, "local") || DR_KEY_IS(&key, "hostPath")) {
            rd->ret->local = true;
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_volume(void *self, struct dr_kube_walk *w, struct dr_err *err) {
    struct dr_kube_volumes *volumes = self;
    struct dr_kube_meta meta = {.owner = DR_OWNER_NONE};
    struct volume_reading rd = {volumes->pool, DR_NEW(&volumes->pool->scratch, struct dr_kube_volume)};
    if (read_object(w, &meta, "spec", read_volume_spec, &rd, err) < 0 || enough(&volumes->volumes, err) < 0) {
        return -1;
    }
    volumes->volumes.items[dr_intern_id(&volumes->volumes, meta.name)].value = rd.ret;
    return 0;
}

static int add_topology_values(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_class *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_kube_list values = {.n = 0};
    struct dr_str name = DR_STR_NONE;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "key")) {
            r = dr_kube_str(w, &name, err);
        } else if (DR_KEY_IS(&key, "values")) {
            r = dr_kube_enter(w, DR_JSON_ARRAY, err);
            while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
                struct dr_str value = DR_STR_NONE;
                r = dr_kube_str(w, &value, err) < 0 ? -1 : 1;
                struct dr_str *at = dr_kube_list_add(&values, &pool->page, sizeof *at);
                if (at == NULL) {
                    return dr_fail(err, DR_E_LIMIT, "more than %d values", DR_KUBE_MAX_LIST);
                }
                *at = dr_intern_str(&pool->strings, value);
            }
        }
        r = r < 0 ? -1 : 1;
    }
    if (r == 0 && is_zone_key(name) && !ret->limited) {
        ret->limited = true;
        ret->zones = (struct dr_strs){dr_kube_list_copy(&values, pool->arena, sizeof(struct dr_str)), values.n};
    }
    return r;
}

/* allowedTopologies: one list of key and values is what drivers accept; of several the zones of the first count. */
static int read_topologies(struct dr_kube_pool *pool, struct dr_kube_walk *w, struct dr_kube_class *ret, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "allowedTopologies";
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        r = dr_kube_enter(w, DR_JSON_OBJECT, err);
        while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
            if (DR_KEY_IS(&key, "matchLabelExpressions")) {
                r = dr_kube_enter(w, DR_JSON_ARRAY, err);
                while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
                    r = add_topology_values(pool, w, ret, err) < 0 ? -1 : 1;
                }
            }
            r = r < 0 ? -1 : 1;
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_class(void *self, struct dr_kube_walk *w, struct dr_err *err) {
    struct dr_kube_volumes *volumes = self;
    struct dr_json_key key;
    struct dr_kube_meta meta = {.owner = DR_OWNER_NONE};
    struct dr_kube_class *class = DR_NEW(&volumes->pool->scratch, struct dr_kube_class);
    int r = dr_json_enter(&w->j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "metadata")) {
            r = dr_kube_meta_read(w, &meta, err);
        } else if (DR_KEY_IS(&key, "volumeBindingMode")) {
            struct dr_str mode = DR_STR_NONE;
            w->field = "volumeBindingMode";
            r = dr_kube_str(w, &mode, err);
            class->waits = dr_str_is(mode, "WaitForFirstConsumer");
        } else if (DR_KEY_IS(&key, "allowedTopologies")) {
            r = read_topologies(volumes->pool, w, class, err);
        }
        r = r < 0 ? -1 : 1;
    }
    if (r < 0 || enough(&volumes->classes, err) < 0) {
        return -1;
    }
    volumes->classes.items[dr_intern_id(&volumes->classes, meta.name)].value = class;
    return 0;
}

int dr_kube_claims_page(struct dr_kube_volumes *volumes, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err) {
    return dr_kube_page_read(volumes->pool, body, "PersistentVolumeClaimList", read_claim, volumes, ret, err);
}

int dr_kube_volumes_page(struct dr_kube_volumes *volumes, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err) {
    return dr_kube_page_read(volumes->pool, body, "PersistentVolumeList", read_volume, volumes, ret, err);
}

int dr_kube_classes_page(struct dr_kube_volumes *volumes, struct dr_str body, struct dr_kube_page *ret, struct dr_err *err) {
    return dr_kube_page_read(volumes->pool, body, "StorageClassList", read_class, volumes, ret, err);
}
