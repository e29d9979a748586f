#include "adapter/kubernetes/read.h"

static int read_annotations(struct dr_kube_walk *w, struct dr_kube_meta *ret, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "metadata.annotations";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "drover.dev/cordoned-by")) {
            r = dr_kube_str(w, &ret->cordon_owner, err);
        } else if (DR_KEY_IS(&key, "drover.dev/protected")) {
            struct dr_str value = DR_STR_NONE;
            r = dr_kube_str(w, &value, err);
            ret->protected_ = dr_str_is(value, "true");
        } else if (DR_KEY_IS(&key, "kubernetes.io/config.mirror")) {
            ret->owner = DR_OWNER_MIRROR;
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

/* Only the controller owns; other owners are for the garbage collector. */
static int read_owner(struct dr_kube_walk *w, struct dr_kube_meta *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str kind = DR_STR_NONE;
    struct dr_str uid = DR_STR_NONE;
    bool controller = false;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "kind")) {
            r = dr_kube_str(w, &kind, err);
        } else if (DR_KEY_IS(&key, "uid")) {
            r = dr_kube_str(w, &uid, err);
        } else if (DR_KEY_IS(&key, "controller")) {
            r = dr_kube_bool(w, &controller, err);
        }
        r = r < 0 ? -1 : 1;
    }
    if (r == 0 && controller) {
        ret->owner_uid = uid;
        if (ret->owner != DR_OWNER_MIRROR) {
            ret->owner = dr_str_is(kind, "DaemonSet") ? DR_OWNER_DAEMONSET
                         : dr_str_is(kind, "Node")    ? DR_OWNER_MIRROR
                                                      : DR_OWNER_CONTROLLER;
        }
    }
    return r;
}

static int read_owners(struct dr_kube_walk *w, struct dr_kube_meta *ret, struct dr_err *err) {
    w->field = "metadata.ownerReferences";
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        r = read_owner(w, ret, err) < 0 ? -1 : 1;
    }
    return r;
}

static int read_texts(struct dr_kube_walk *w, const struct dr_json_key *key, struct dr_kube_meta *ret, struct dr_err *err) {
    if (DR_KEY_IS(key, "name")) {
        w->field = "metadata.name";
        return dr_kube_str(w, &ret->name, err);
    }
    if (DR_KEY_IS(key, "namespace")) {
        w->field = "metadata.namespace";
        return dr_kube_str(w, &ret->ns, err);
    }
    if (DR_KEY_IS(key, "uid")) {
        w->field = "metadata.uid";
        return dr_kube_str(w, &ret->uid, err);
    }
    if (DR_KEY_IS(key, "resourceVersion")) {
        w->field = "metadata.resourceVersion";
        return dr_kube_str(w, &ret->version, err);
    }
    return 0;
}

int dr_kube_meta_read(struct dr_kube_walk *w, struct dr_kube_meta *ret, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "metadata";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "creationTimestamp")) {
            w->field = "metadata.creationTimestamp";
            r = dr_kube_time(w, &ret->created_ms, err);
        } else if (DR_KEY_IS(&key, "deletionTimestamp")) {
            w->field = "metadata.deletionTimestamp";
            r = dr_kube_time(w, &ret->deleted_ms, err);
            ret->deleting = r > 0;
        } else if (DR_KEY_IS(&key, "generation")) {
            w->field = "metadata.generation";
            r = dr_kube_i64(w, &ret->generation, err);
        } else if (DR_KEY_IS(&key, "labels")) {
            w->field = "metadata.labels";
            r = dr_kube_raw(w, &ret->labels, err);
        } else if (DR_KEY_IS(&key, "annotations")) {
            r = read_annotations(w, ret, err);
        } else if (DR_KEY_IS(&key, "ownerReferences")) {
            r = read_owners(w, ret, err);
        } else {
            r = read_texts(w, &key, ret, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}
