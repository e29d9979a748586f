/* Deep copies of what the runner hands in: the world keeps nothing of the caller's. */

#include "sim/inner.h"

struct dr_str sim_str(struct dr_world *w, struct dr_str s) {
    return s.n == 0 ? DR_STR_NONE : dr_str_dup(&w->arena, s);
}

static struct dr_strs copy_strs(struct dr_world *w, struct dr_strs from) {
    struct dr_str *v = DR_NEW_N(&w->arena, struct dr_str, from.n);
    for (size_t i = 0; i < from.n; i++) {
        v[i] = sim_str(w, from.v[i]);
    }
    return (struct dr_strs){v, from.n};
}

struct dr_labels sim_labels(struct dr_world *w, struct dr_labels from) {
    struct dr_label *v = DR_NEW_N(&w->arena, struct dr_label, from.n);
    for (size_t i = 0; i < from.n; i++) {
        v[i] = (struct dr_label){sim_str(w, from.v[i].key), sim_str(w, from.v[i].value)};
    }
    return (struct dr_labels){v, from.n};
}

struct dr_taint *sim_taints(struct dr_world *w, const struct dr_taint *v, size_t n, size_t room) {
    struct dr_taint *to = DR_NEW_N(&w->arena, struct dr_taint, n + room);
    for (size_t i = 0; i < n; i++) {
        to[i] = (struct dr_taint){sim_str(w, v[i].key), sim_str(w, v[i].value), v[i].effect};
    }
    return to;
}

struct dr_term sim_term(struct dr_world *w, struct dr_term from) {
    struct dr_requirement *v = DR_NEW_N(&w->arena, struct dr_requirement, from.requirement_n);
    for (size_t i = 0; i < from.requirement_n; i++) {
        const struct dr_requirement *r = &from.requirements[i];
        v[i] = (struct dr_requirement){sim_str(w, r->key), r->op, copy_strs(w, r->values)};
    }
    return (struct dr_term){v, from.requirement_n};
}

void sim_spec(struct dr_world *w, struct dr_pod_spec *to, const struct dr_pod_spec *from) {
    *to = *from;
    to->selector = sim_labels(w, from->selector);
    struct dr_term *terms = DR_NEW_N(&w->arena, struct dr_term, from->term_n);
    for (size_t i = 0; i < from->term_n; i++) {
        terms[i] = sim_term(w, from->affinity[i]);
    }
    to->affinity = terms;
    struct dr_toleration *tolerations = DR_NEW_N(&w->arena, struct dr_toleration, from->toleration_n);
    for (size_t i = 0; i < from->toleration_n; i++) {
        tolerations[i] = from->tolerations[i];
        tolerations[i].key = sim_str(w, from->tolerations[i].key);
        tolerations[i].value = sim_str(w, from->tolerations[i].value);
    }
    to->tolerations = tolerations;
    struct dr_host_port *ports = DR_NEW_N(&w->arena, struct dr_host_port, from->host_port_n);
    for (size_t i = 0; i < from->host_port_n; i++) {
        ports[i] = from->host_ports[i];
    }
    to->host_ports = ports;
    to->volume_zones = copy_strs(w, from->volume_zones);
}
