#include "adapter/kubernetes/event.h"

#include "adapter/kubernetes/read.h"

static int read_condition(struct dr_kube_walk *w, struct dr_kube_event *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str type = DR_STR_NONE;
    struct dr_str status = DR_STR_NONE;
    struct dr_str reason = DR_STR_NONE;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "type")) {
            r = dr_kube_str(w, &type, err);
        } else if (DR_KEY_IS(&key, "status")) {
            r = dr_kube_str(w, &status, err);
        } else if (DR_KEY_IS(&key, "reason")) {
            r = dr_kube_str(w, &reason, err);
        }
        r = r < 0 ? -1 : 1;
    }
    if (dr_str_is(type, "PodScheduled") && dr_str_is(status, "False") && dr_str_is(reason, "Unschedulable")) {
        ret->unschedulable = true;
    }
    ret->ready = ret->ready || (dr_str_is(type, "Ready") && dr_str_is(status, "True"));
    return r;
}

/* `status` of an object has conditions; that of a Status object is a text. */
static int read_status(struct dr_kube_walk *w, struct dr_kube_event *ret, struct dr_err *err) {
    struct dr_json_key key;
    enum dr_json_type type;
    if (dr_json_peek(&w->j, &type, err) < 0) {
        return -1;
    }
    if (type != DR_JSON_OBJECT) {
        return dr_json_skip(&w->j, err);
    }
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "conditions")) {
            r = dr_kube_enter(w, DR_JSON_ARRAY, err);
            while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
                r = read_condition(w, ret, err) < 0 ? -1 : 1;
            }
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_node_spec(struct dr_kube_walk *w, struct dr_kube_event *ret, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        r = DR_KEY_IS(&key, "unschedulable") ? dr_kube_bool(w, &ret->unschedulable, err) : 0;
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int read_object(struct dr_kube_walk *w, bool of_nodes, struct dr_kube_event *ret, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_kube_meta meta = {.owner = DR_OWNER_NONE};
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "metadata")) {
            r = dr_kube_meta_read(w, &meta, err);
        } else if (DR_KEY_IS(&key, "status")) {
            r = read_status(w, ret, err);
        } else if (DR_KEY_IS(&key, "code")) {
            r = dr_kube_i64(w, &ret->code, err);
        } else if (of_nodes && DR_KEY_IS(&key, "spec")) {
            r = read_node_spec(w, ret, err);
        }
        r = r < 0 ? -1 : 1;
    }
    ret->version = meta.version;
    ret->name = meta.name;
    return r;
}

int dr_kube_event_read(struct dr_str line, struct dr_arena *arena, bool of_nodes, struct dr_kube_event *ret, struct dr_err *err) {
    struct dr_kube_walk w = {.arena = arena, .field = ""};
    struct dr_json_key key;
    *ret = (struct dr_kube_event){.code = 0};
    dr_json_init(&w.j, line, 0);
    int r = dr_json_enter(&w.j, DR_JSON_OBJECT, err) < 0 ? -1 : 1;
    while (r > 0 && (r = dr_json_next_key(&w.j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "type")) {
            r = dr_kube_str(&w, &ret->type, err);
        } else if (DR_KEY_IS(&key, "object")) {
            r = read_object(&w, of_nodes, ret, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r < 0 ? -1 : dr_json_end(&w.j, err);
}
