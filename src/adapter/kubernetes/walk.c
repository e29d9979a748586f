#include "adapter/kubernetes/walk.h"

#include "base/time.h"

/* The usual case without a second look: the value begins here, and is not null. What it is instead is the next call's to find out. */
static inline bool certain(const struct dr_kube_walk *w) {
    return w->j.need_value && w->j.p < w->j.end && *w->j.p != 'n' && (unsigned char)*w->j.p > ' ' && w->j.failed.code == DR_OK;
}

/* 1: a value other than null is due. 0: it was null and is consumed. */
static int due(struct dr_kube_walk *w, enum dr_json_type *ret, struct dr_err *err) {
    if (dr_json_peek(&w->j, ret, err) < 0) {
        return -1;
    }
    if (*ret != DR_JSON_NULL) {
        return 1;
    }
    return dr_json_null(&w->j, err);
}

int dr_kube_enter(struct dr_kube_walk *w, enum dr_json_type type, struct dr_err *err) {
    enum dr_json_type found;
    int r = certain(w) ? 1 : due(w, &found, err);
    return r <= 0 ? r : dr_json_enter(&w->j, type, err) < 0 ? -1 : 1;
}

int dr_kube_str(struct dr_kube_walk *w, struct dr_str *ret, struct dr_err *err) {
    enum dr_json_type found;
    int r = certain(w) ? 1 : due(w, &found, err);
    return r <= 0 ? r : dr_json_str(&w->j, w->arena, ret, err) < 0 ? -1 : 1;
}

int dr_kube_i64(struct dr_kube_walk *w, int64_t *ret, struct dr_err *err) {
    enum dr_json_type found;
    int r = due(w, &found, err);
    return r <= 0 ? r : dr_json_i64(&w->j, ret, err) < 0 ? -1 : 1;
}

int dr_kube_bool(struct dr_kube_walk *w, bool *ret, struct dr_err *err) {
    enum dr_json_type found;
    int r = due(w, &found, err);
    return r <= 0 ? r : dr_json_bool(&w->j, ret, err) < 0 ? -1 : 1;
}

int dr_kube_time(struct dr_kube_walk *w, int64_t *ret_ms, struct dr_err *err) {
    struct dr_str text;
    int r = dr_kube_str(w, &text, err);
    if (r <= 0) {
        return r;
    }
    if (!dr_time_parse(text, ret_ms)) {
        int n = text.n > 40 ? 40 : (int)text.n;
        return dr_fail(err, DR_E_INVALID, "\"%.*s\" is not a time", n, text.p);
    }
    return 1;
}

int dr_kube_raw(struct dr_kube_walk *w, struct dr_str *ret, struct dr_err *err) {
    enum dr_json_type found;
    int r = certain(w) ? 1 : due(w, &found, err);
    return r <= 0 ? r : dr_json_raw(&w->j, ret, err) < 0 ? -1 : 1;
}

int dr_kube_quantity(struct dr_kube_walk *w, struct dr_str *ret, struct dr_err *err) {
    enum dr_json_type found;
    int r = due(w, &found, err);
    if (r <= 0) {
        return r;
    }
    r = found == DR_JSON_NUMBER ? dr_json_number(&w->j, ret, err) : dr_json_str(&w->j, w->arena, ret, err);
    return r < 0 ? -1 : 1;
}

void *dr_kube_list_add(struct dr_kube_list *list, struct dr_arena *arena, size_t size) {
    if (list->n == DR_KUBE_MAX_LIST) {
        return NULL;
    }
    if (list->n == list->cap) {
        size_t cap = list->cap == 0 ? 8 : list->cap * 2;
        void *v = dr_arena_alloc(arena, cap, size);
        if (list->n > 0) {
            memcpy(v, list->v, list->n * size);
        }
        list->v = v;
        list->cap = cap;
    }
    return (char *)list->v + list->n++ * size;
}

void *dr_kube_list_copy(const struct dr_kube_list *list, struct dr_arena *arena, size_t size) {
    if (list->n == 0) {
        return NULL;
    }
    void *v = dr_arena_alloc(arena, list->n, size);
    memcpy(v, list->v, list->n * size);
    return v;
}
