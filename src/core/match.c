#include "core/match.h"

static bool get_from_list(const void *self, struct dr_str key, struct dr_str *ret_value) {
    const struct dr_labels *labels = self;
    const struct dr_str *value = dr_labels_get(*labels, key);
    if (value == NULL) {
        return false;
    }
    *ret_value = *value;
    return true;
}

struct dr_label_source dr_label_source_of(const struct dr_labels *labels) {
    return (struct dr_label_source){get_from_list, labels};
}

bool dr_match_selector(struct dr_labels wanted, struct dr_label_source labels) {
    for (size_t i = 0; i < wanted.n; i++) {
        struct dr_str value;
        if (!labels.get(labels.self, wanted.v[i].key, &value) || !dr_str_eq(value, wanted.v[i].value)) {
            return false;
        }
    }
    return true;
}

static bool match_number(const struct dr_requirement *req, bool present, struct dr_str value) {
    int64_t have = 0;
    int64_t bound = 0;
    if (!present || req->values.n != 1 || !dr_str_to_i64(value, &have) || !dr_str_to_i64(req->values.v[0], &bound)) {
        return false;
    }
    return req->op == DR_OP_GT ? have > bound : have < bound;
}

static bool match_requirement(const struct dr_requirement *req, struct dr_label_source labels) {
    struct dr_str value = DR_STR_NONE;
    bool present = labels.get(labels.self, req->key, &value);
    switch (req->op) {
    case DR_OP_IN:
        return present && dr_strs_has(req->values, value);
    case DR_OP_NOT_IN:
        return !present || !dr_strs_has(req->values, value);
    case DR_OP_EXISTS:
        return present;
    case DR_OP_NOT_EXISTS:
        return !present;
    case DR_OP_GT:
    case DR_OP_LT:
        return match_number(req, present, value);
    }
    return false;
}

bool dr_match_term(const struct dr_term *term, struct dr_label_source labels) {
    for (size_t i = 0; i < term->requirement_n; i++) {
        if (!match_requirement(&term->requirements[i], labels)) {
            return false;
        }
    }
    return true;
}

bool dr_match_affinity(const struct dr_term *terms, size_t term_n, struct dr_label_source labels) {
    for (size_t i = 0; i < term_n; i++) {
        if (terms[i].requirement_n > 0 && dr_match_term(&terms[i], labels)) {
            return true;
        }
    }
    return term_n == 0;
}

static bool tolerates(const struct dr_toleration *t, const struct dr_taint *taint) {
    if (!t->any_effect && t->effect != taint->effect) {
        return false;
    }
    if (t->key.n == 0) {
        return t->exists;
    }
    return dr_str_eq(t->key, taint->key) && (t->exists || dr_str_eq(t->value, taint->value));
}

bool dr_match_taints(const struct dr_toleration *tolerations, size_t toleration_n, const struct dr_taint *taints, size_t taint_n) {
    for (size_t i = 0; i < taint_n; i++) {
        bool tolerated = taints[i].effect == DR_TAINT_PREFER_NO_SCHEDULE;
        for (size_t j = 0; j < toleration_n && !tolerated; j++) {
            tolerated = tolerates(&tolerations[j], &taints[i]);
        }
        if (!tolerated) {
            return false;
        }
    }
    return true;
}

bool dr_match_ports_clash(const struct dr_pod_spec *a, const struct dr_pod_spec *b) {
    for (size_t i = 0; i < a->host_port_n; i++) {
        for (size_t j = 0; j < b->host_port_n; j++) {
            if (a->host_ports[i].port == b->host_ports[j].port && a->host_ports[i].protocol == b->host_ports[j].protocol) {
                return true;
            }
        }
    }
    return false;
}

static int cmp_i64(int64_t a, int64_t b) { return (a > b) - (a < b); }
static int cmp_size(size_t a, size_t b) { return (a > b) - (a < b); }

static int cmp_strs(struct dr_strs a, struct dr_strs b) {
    int c = cmp_size(a.n, b.n);
    for (size_t i = 0; i < a.n && c == 0; i++) {
        c = dr_str_cmp(a.v[i], b.v[i]);
    }
    return c;
}

static int cmp_labels(struct dr_labels a, struct dr_labels b) {
    int c = cmp_size(a.n, b.n);
    for (size_t i = 0; i < a.n && c == 0; i++) {
        c = dr_str_cmp(a.v[i].key, b.v[i].key);
        c = c != 0 ? c : dr_str_cmp(a.v[i].value, b.v[i].value);
    }
    return c;
}

static int cmp_term(const struct dr_term *a, const struct dr_term *b) {
    int c = cmp_size(a->requirement_n, b->requirement_n);
    for (size_t i = 0; i < a->requirement_n && c == 0; i++) {
        const struct dr_requirement *x = &a->requirements[i];
        const struct dr_requirement *y = &b->requirements[i];
        c = dr_str_cmp(x->key, y->key);
        c = c != 0 ? c : cmp_i64((int64_t)x->op, (int64_t)y->op);
        c = c != 0 ? c : cmp_strs(x->values, y->values);
    }
    return c;
}

static int cmp_toleration(const struct dr_toleration *a, const struct dr_toleration *b) {
    int c = dr_str_cmp(a->key, b->key);
    c = c != 0 ? c : dr_str_cmp(a->value, b->value);
    c = c != 0 ? c : cmp_i64(a->exists, b->exists);
    c = c != 0 ? c : cmp_i64(a->any_effect, b->any_effect);
    return c != 0 || a->any_effect ? c : cmp_i64((int64_t)a->effect, (int64_t)b->effect);
}

/* The lists that pods seldom have, apart from the numbers that nearly always decide. */
static int cmp_lists(const struct dr_pod_spec *a, const struct dr_pod_spec *b) {
    int c = cmp_labels(a->selector, b->selector);
    c = c != 0 ? c : cmp_strs(a->volume_zones, b->volume_zones);
    c = c != 0 ? c : cmp_size(a->term_n, b->term_n);
    for (size_t i = 0; i < a->term_n && c == 0; i++) {
        c = cmp_term(&a->affinity[i], &b->affinity[i]);
    }
    c = c != 0 ? c : cmp_size(a->toleration_n, b->toleration_n);
    for (size_t i = 0; i < a->toleration_n && c == 0; i++) {
        c = cmp_toleration(&a->tolerations[i], &b->tolerations[i]);
    }
    c = c != 0 ? c : cmp_size(a->host_port_n, b->host_port_n);
    for (size_t i = 0; i < a->host_port_n && c == 0; i++) {
        c = cmp_i64(a->host_ports[i].port, b->host_ports[i].port);
        c = c != 0 ? c : cmp_i64(a->host_ports[i].protocol, b->host_ports[i].protocol);
    }
    return c;
}

int dr_pod_spec_cmp(const struct dr_pod_spec *a, const struct dr_pod_spec *b) {
    if (a == b) {
        return 0;
    }
    int c = cmp_i64(a->cpu_milli, b->cpu_milli);
    c = c != 0 ? c : cmp_i64(a->mem_bytes, b->mem_bytes);
    c = c != 0 ? c : cmp_i64(a->volume_unbound, b->volume_unbound);
    c = c != 0 ? c : cmp_i64(a->unmodelled, b->unmodelled);
    return c != 0 ? c : cmp_lists(a, b);
}

bool dr_pod_spec_eq(const struct dr_pod_spec *a, const struct dr_pod_spec *b) { return dr_pod_spec_cmp(a, b) == 0; }
