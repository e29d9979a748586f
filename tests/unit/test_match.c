#include "core/match.h"
#include "harness/test.h"

static const struct dr_label labels_v[] = {{{"disk", 4}, {"ssd", 3}}, {{"gen", 3}, {"5", 1}}, {{"odd", 3}, {"x5", 2}}};
static const struct dr_labels labels = {labels_v, 3};

static bool holds(const char *key, enum dr_match_op op, const char *a, const char *b) {
    struct dr_str values[2] = {dr_str_of(a), dr_str_of(b)};
    struct dr_requirement requirement = {dr_str_of(key), op, {values, (size_t)(a != NULL) + (size_t)(b != NULL)}};
    struct dr_term term = {&requirement, 1};
    bool as_affinity = dr_match_affinity(&term, 1, dr_label_source_of(&labels));
    CHECK(as_affinity == dr_match_term(&term, dr_label_source_of(&labels)));
    return as_affinity;
}

TEST(match, operators_hold_as_in_kubernetes) {
    CHECK(holds("disk", DR_OP_IN, "hdd", "ssd"));
    CHECK(!holds("disk", DR_OP_IN, "hdd", NULL));
    CHECK(!holds("absent", DR_OP_IN, "ssd", NULL));
    CHECK(!holds("disk", DR_OP_NOT_IN, "hdd", "ssd"));
    CHECK(holds("disk", DR_OP_NOT_IN, "hdd", NULL));
    CHECK(holds("absent", DR_OP_NOT_IN, "ssd", NULL));
    CHECK(holds("disk", DR_OP_EXISTS, NULL, NULL));
    CHECK(!holds("absent", DR_OP_EXISTS, NULL, NULL));
    CHECK(!holds("disk", DR_OP_NOT_EXISTS, NULL, NULL));
    CHECK(holds("absent", DR_OP_NOT_EXISTS, NULL, NULL));
    CHECK(holds("gen", DR_OP_GT, "4", NULL));
    CHECK(!holds("gen", DR_OP_GT, "5", NULL));
    CHECK(holds("gen", DR_OP_LT, "6", NULL));
    CHECK(!holds("gen", DR_OP_LT, "5", NULL));
    CHECK(!holds("odd", DR_OP_GT, "4", NULL));
    CHECK(!holds("absent", DR_OP_LT, "4", NULL));
    CHECK(!holds("gen", DR_OP_GT, "four", NULL));
    CHECK(!holds("gen", DR_OP_GT, NULL, NULL));
}

TEST(match, requirements_of_a_term_are_all_needed_and_one_term_is_enough) {
    struct dr_str ssd = DR_STR("ssd");
    struct dr_requirement both[] = {{DR_STR("disk"), DR_OP_IN, {&ssd, 1}}, {DR_STR("absent"), DR_OP_EXISTS, {NULL, 0}}};
    struct dr_term terms[] = {{both, 2}, {both, 1}};
    CHECK(!dr_match_affinity(terms, 1, dr_label_source_of(&labels)));
    CHECK(dr_match_affinity(terms, 2, dr_label_source_of(&labels)));
}

TEST(match, no_affinity_demands_nothing_but_an_empty_term_matches_nothing) {
    struct dr_term empty = {NULL, 0};
    CHECK(dr_match_affinity(NULL, 0, dr_label_source_of(&labels)));
    CHECK(!dr_match_affinity(&empty, 1, dr_label_source_of(&labels)));
    CHECK(dr_match_term(&empty, dr_label_source_of(&labels))); /* a label selector, on the other hand, selects all */
}

TEST(match, selector_needs_every_pair) {
    const struct dr_label wanted[] = {{DR_STR("disk"), DR_STR("ssd")}, {DR_STR("gen"), DR_STR("6")}};
    CHECK(dr_match_selector((struct dr_labels){wanted, 1}, dr_label_source_of(&labels)));
    CHECK(!dr_match_selector((struct dr_labels){wanted, 2}, dr_label_source_of(&labels)));
}

TEST(match, taints_are_tolerated_by_key_value_effect_or_wholesale) {
    const struct dr_taint taint = {DR_STR("gpu"), DR_STR("yes"), DR_TAINT_NO_SCHEDULE};
    const struct {
        struct dr_toleration toleration;
        bool tolerated;
    } cases[] = {
        {{.key = DR_STR("gpu"), .value = DR_STR("yes"), .any_effect = true}, true},
        {{.key = DR_STR("gpu"), .value = DR_STR("yes"), .effect = DR_TAINT_NO_SCHEDULE}, true},
        {{.key = DR_STR("gpu"), .value = DR_STR("yes"), .effect = DR_TAINT_NO_EXECUTE}, false},
        {{.key = DR_STR("gpu"), .value = DR_STR("no"), .any_effect = true}, false},
        {{.key = DR_STR("gpu"), .exists = true, .any_effect = true}, true},
        {{.key = DR_STR("fpga"), .exists = true, .any_effect = true}, false},
        {{.exists = true, .any_effect = true}, true},
        {{.exists = true, .effect = DR_TAINT_NO_EXECUTE}, false},
        {{.any_effect = true}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_EQ_INT(dr_match_taints(&cases[i].toleration, 1, &taint, 1), cases[i].tolerated);
    }
    CHECK(!dr_match_taints(NULL, 0, &taint, 1));
    const struct dr_taint soft = {DR_STR("gpu"), DR_STR("yes"), DR_TAINT_PREFER_NO_SCHEDULE};
    CHECK(dr_match_taints(NULL, 0, &soft, 1));
}

TEST(match, host_ports_clash_by_port_and_protocol) {
    const struct dr_host_port tcp80 = {80, 'T'};
    const struct dr_host_port udp80 = {80, 'U'};
    struct dr_pod_spec a = {.host_ports = &tcp80, .host_port_n = 1};
    struct dr_pod_spec b = {.host_ports = &udp80, .host_port_n = 1};
    struct dr_pod_spec none = {0};
    CHECK(dr_match_ports_clash(&a, &a));
    CHECK(!dr_match_ports_clash(&a, &b));
    CHECK(!dr_match_ports_clash(&a, &none));
}

TEST(match, specs_are_equal_by_content_and_differ_in_any_field) {
    const struct dr_label selector = {DR_STR("disk"), DR_STR("ssd")};
    const struct dr_label other_selector = {DR_STR("disk"), DR_STR("hdd")};
    const struct dr_str zone = DR_STR("za");
    const struct dr_host_port port = {80, 'T'};
    const struct dr_host_port other_port = {80, 'U'};
    const struct dr_toleration toleration = {.key = DR_STR("gpu"), .exists = true};
    const struct dr_toleration other_toleration = {.key = DR_STR("gpu"), .exists = true, .effect = DR_TAINT_NO_EXECUTE};
    const struct dr_requirement requirement = {DR_STR("gen"), DR_OP_EXISTS, {NULL, 0}};
    const struct dr_requirement other_requirement = {DR_STR("gen"), DR_OP_NOT_EXISTS, {NULL, 0}};
    const struct dr_term term = {&requirement, 1};
    const struct dr_term other_term = {&other_requirement, 1};
    const struct dr_pod_spec base = {.cpu_milli = 1,
                                     .mem_bytes = 2,
                                     .selector = {&selector, 1},
                                     .affinity = &term,
                                     .term_n = 1,
                                     .tolerations = &toleration,
                                     .toleration_n = 1,
                                     .host_ports = &port,
                                     .host_port_n = 1,
                                     .volume_zones = {&zone, 1}};
    struct dr_pod_spec v[11];
    for (size_t i = 0; i < 11; i++) {
        v[i] = base;
    }
    v[1].cpu_milli++;
    v[2].mem_bytes++;
    v[3].selector.v = &other_selector;
    v[4].affinity = &other_term;
    v[5].tolerations = &other_toleration;
    v[6].host_ports = &other_port;
    v[7].volume_zones.n = 0;
    v[8].volume_unbound = true;
    v[9].unmodelled = true;
    v[10].term_n = 0;
    CHECK(dr_pod_spec_eq(&v[0], &base));
    for (size_t i = 0; i < 11; i++) {
        for (size_t k = 0; k < 11; k++) {
            int c = dr_pod_spec_cmp(&v[i], &v[k]);
            CHECK((c == 0) == (i == k));
            CHECK((c < 0) == (dr_pod_spec_cmp(&v[k], &v[i]) > 0));
        }
    }
}
