#ifndef DR_CORE_MATCH_H
#define DR_CORE_MATCH_H

/* Selectors, affinity terms, taints and host ports compared as the Kubernetes scheduler compares them. */

#include "core/model.h"

/* Where the labels come from: those of an object, or those that a machine would have if it existed. False: no such key. */
struct dr_label_source {
    bool (*get)(const void *self, struct dr_str key, struct dr_str *ret_value);
    const void *self;
};
struct dr_label_source dr_label_source_of(const struct dr_labels *labels);

/* All pairs are there with these values. */
bool dr_match_selector(struct dr_labels wanted, struct dr_label_source labels);
/* All requirements hold; none at all hold too. NotIn and DoesNotExist hold for an absent key; Gt and Lt need a number on both sides. */
bool dr_match_term(const struct dr_term *term, struct dr_label_source labels);
/* One term is enough; no terms: no demand. A term without requirements matches nothing, as in node affinity. */
bool dr_match_affinity(const struct dr_term *terms, size_t term_n, struct dr_label_source labels);
/* Every NoSchedule and NoExecute taint is tolerated. */
bool dr_match_taints(const struct dr_toleration *tolerations, size_t toleration_n, const struct dr_taint *taints, size_t taint_n);
/* Some port is wanted by both. Host addresses are not modelled: every port is taken to be bound on all of them. */
bool dr_match_ports_clash(const struct dr_pod_spec *a, const struct dr_pod_spec *b);

/* A total order over everything that the hard rules look at: 0 means that the scheduler cannot tell the two apart. */
int dr_pod_spec_cmp(const struct dr_pod_spec *a, const struct dr_pod_spec *b);
bool dr_pod_spec_eq(const struct dr_pod_spec *a, const struct dr_pod_spec *b);

#endif
