#include "adapter/kubernetes/read.h"

void dr_kube_pool_init(struct dr_kube_pool *pool, struct dr_arena *arena) {
    pool->arena = arena;
    dr_arena_init(&pool->scratch, 0);
    dr_arena_init(&pool->page, 0); /* a page has a ceiling of its own */
    dr_intern_init(&pool->strings, arena);
    struct dr_intern *keyed[] = {&pool->labels, &pool->affinities, &pool->tolerations, &pool->ports, &pool->volumes, &pool->specs};
    for (size_t i = 0; i < sizeof keyed / sizeof keyed[0]; i++) {
        dr_intern_init(keyed[i], &pool->scratch);
    }
}

void dr_kube_pool_deinit(struct dr_kube_pool *pool) {
    struct dr_intern *tables[] = {&pool->strings, &pool->labels,  &pool->affinities, &pool->tolerations,
                                  &pool->ports,   &pool->volumes, &pool->specs};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        dr_intern_deinit(tables[i]);
    }
    dr_arena_deinit(&pool->page);
    dr_arena_deinit(&pool->scratch);
}

static int list_meta(struct dr_kube_walk *w, struct dr_kube_page *ret, struct dr_err *err) {
    struct dr_json_key key;
    w->field = "metadata";
    int r = dr_kube_enter(w, DR_JSON_OBJECT, err);
    while (r > 0 && (r = dr_json_next_key(&w->j, &key, err)) > 0) {
        if (DR_KEY_IS(&key, "continue")) {
            r = dr_kube_str(w, &ret->next, err);
        } else if (DR_KEY_IS(&key, "resourceVersion")) {
            r = dr_kube_str(w, &ret->version, err);
        }
        r = r < 0 ? -1 : 1;
    }
    return r;
}

static int check_kind(struct dr_kube_walk *w, const char *kind, struct dr_err *err) {
    struct dr_str found = DR_STR_NONE;
    w->field = "kind";
    if (dr_kube_str(w, &found, err) < 0) {
        return -1;
    }
    if (!dr_str_is(found, kind)) {
        int n = found.n > 60 ? 60 : (int)found.n;
        return dr_fail(err, DR_E_INVALID, "expected %s, found \"%.*s\"", kind, n, found.p);
    }
    return 0;
}

struct items {
    struct dr_kube_pool *pool;
    int (*item)(void *self, struct dr_kube_walk *w, struct dr_err *err);
    void *self;
    bool reading;
};

static int read_items(struct dr_kube_walk *w, struct items *items, struct dr_kube_page *ret, struct dr_err *err) {
    w->field = "items";
    int r = dr_kube_enter(w, DR_JSON_ARRAY, err);
    items->reading = r > 0;
    while (r > 0 && (r = dr_json_next_element(&w->j, err)) > 0) {
        w->field = "";
        dr_arena_reset(&items->pool->page);
        r = items->item(items->self, w, err) < 0 ? -1 : 1;
        ret->item_n += r > 0;
    }
    items->reading = r < 0 && items->reading;
    return r;
}

static int read_document(struct dr_kube_walk *w, const char *kind, struct items *items, struct dr_kube_page *ret, struct dr_err *err) {
    struct dr_json_key key;
    bool has_kind = false;
    bool has_items = false;
    w->field = "document";
    if (dr_json_enter(&w->j, DR_JSON_OBJECT, err) < 0) {
        return -1;
    }
    int r;
    while ((r = dr_json_next_key(&w->j, &key, err)) > 0) {
        r = 0;
        if (DR_KEY_IS(&key, "kind")) {
            has_kind = true;
            r = check_kind(w, kind, err);
        } else if (DR_KEY_IS(&key, "metadata")) {
            w->arena = &items->pool->scratch; /* read before the items, used after them */
            r = list_meta(w, ret, err);
            w->arena = &items->pool->page;
        } else if (DR_KEY_IS(&key, "items")) {
            has_items = true;
            r = read_items(w, items, ret, err);
        }
        if (r < 0) {
            return -1;
        }
    }
    if (r < 0 || dr_json_end(&w->j, err) < 0) {
        return -1;
    }
    w->field = has_kind ? "items" : "kind";
    return has_kind && has_items ? 0 : dr_fail(err, DR_E_INVALID, "missing");
}

int dr_kube_page_read(struct dr_kube_pool *pool, struct dr_str body, const char *kind,
                      int (*item)(void *self, struct dr_kube_walk *w, struct dr_err *err), void *self, struct dr_kube_page *ret,
                      struct dr_err *err) {
    struct items items = {pool, item, self, false};
    struct dr_kube_walk w = {.arena = &pool->page, .field = ""};
    struct dr_err why = {.code = DR_OK};
    dr_arena_reset(&pool->page);
    dr_json_init(&w.j, body, 0);
    *ret = (struct dr_kube_page){.item_n = 0};
    if (read_document(&w, kind, &items, ret, &why) < 0) {
        if (items.reading) {
            return dr_fail(err, why.code, "%s: items[%zu]%s%s: %s", kind, ret->item_n, *w.field == '\0' ? "" : ".", w.field, why.text);
        }
        return dr_fail(err, why.code, "%s: %s: %s", kind, w.field, why.text);
    }
    ret->next = dr_str_dup(&pool->page, ret->next); /* the body goes before the next page is asked for */
    ret->version = dr_str_dup(&pool->page, ret->version);
    return 0;
}
