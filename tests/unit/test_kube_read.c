/* From pages of lists to the model: each rule of the scheduler that is read, and every way in which a page can be wrong. */
#include "adapter/kubernetes/read.h"
#include "harness/test.h"

struct world {
    struct dr_arena arena;
    struct dr_kube_pool pool;
    struct dr_kube_pods pods;
    struct dr_kube_volumes volumes;
    struct dr_kube_page page;
    struct dr_err err;
    const struct dr_pod *v;
    size_t n;
};

static void init(struct world *w) {
    dr_arena_init(&w->arena, 0);
    dr_kube_pool_init(&w->pool, &w->arena);
    dr_kube_pods_init(&w->pods, &w->pool);
    dr_kube_volumes_init(&w->volumes, &w->pool);
}

static void deinit(struct world *w) {
    dr_kube_volumes_deinit(&w->volumes);
    dr_kube_pods_deinit(&w->pods);
    dr_kube_pool_deinit(&w->pool);
    dr_arena_deinit(&w->arena);
}

static struct dr_str list_of(struct world *w, const char *kind, const char *items) {
    return dr_str_fmt(&w->arena, "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[%s]}", kind,
                      items);
}

/* A pod by the inside of its metadata (behind name and UID), of its spec and of its status. */
static const char *pod(struct world *w, const char *meta, const char *spec, const char *status) {
    return dr_str_fmt(&w->arena,
                      "{\"metadata\":{\"name\":\"web-1\",\"namespace\":\"default\",\"uid\":\"u-1\",\"creationTimestamp\":\"2026-11-15T10:"
                      "00:00Z\"%s},"
                      "\"spec\":{%s},\"status\":{%s}}",
                      meta, spec, status)
        .p;
}

static const struct dr_pod *read_pods(struct world *w, const char *items) {
    CHECK_OK(dr_kube_pods_page(&w->pods, list_of(w, "PodList", items), &w->page, &w->err), w->err);
    dr_kube_pods_finish(&w->pods, &w->volumes, &w->v, &w->n);
    return w->v;
}

static const struct dr_pod *read_pod(struct world *w, const char *meta, const char *spec, const char *status) {
    const struct dr_pod *v = read_pods(w, pod(w, meta, spec, status));
    CHECK_EQ_INT(w->n, 1);
    return v;
}

TEST(kube_read, requests_are_counted_as_the_scheduler_does) {
    static const struct {
        const char *spec;
        int64_t cpu;
        int64_t mem;
    } table[] = {
        {"\"containers\":[{},{}]", 0, 0},
        {"\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"1Ki\"}}},{\"resources\":{\"requests\":{\"cpu\":1}}}]",
         1100, 1024},
        /* The largest init container, where it is larger than all containers together. */
        {"\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"300m\"}}},{\"resources\":{\"requests\":{\"cpu\":\"200m\",\"memory\":"
         "\"5\"}}}],"
         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"250m\",\"memory\":\"3\"}}}]",
         300, 5},
        /* A sidecar runs beside the containers and beside the init containers behind it. */
        {"\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}},{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{"
         "\"cpu\":\"200m\"}}}],"
         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"700m\"}}}]",
         1000, 0},
        {"\"initContainers\":[{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"200m\"}}},{\"resources\":{\"requests\":{"
         "\"cpu\":\"1\"}}}],"
         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"700m\"}}}]",
         1200, 0},
        {"\"initContainers\":[{\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"200m\"}}}],"
         "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"700m\"}}}],\"overhead\":{\"cpu\":\"50m\",\"memory\":\"10\"}",
         950, 10},
        /* Requests of the pod as a whole replace the sum. */
        {"\"resources\":{\"requests\":{\"cpu\":\"2\"}},\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"700m\",\"memory\":\"9\"}}}],"
         "\"overhead\":{\"cpu\":\"50m\"}",
         2050, 9},
        /* Limits alone are no requests. */
        {"\"containers\":[{\"resources\":{\"limits\":{\"cpu\":\"4\"}}}]", 0, 0},
        {"\"containers\":[{\"resources\":null}],\"initContainers\":null", 0, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct world w;
        init(&w);
        const struct dr_pod *p = read_pod(&w, "", table[i].spec, "");
        CHECK_EQ_INT(p->spec->cpu_milli, table[i].cpu);
        CHECK_EQ_INT(p->spec->mem_bytes, table[i].mem);
        CHECK(!p->spec->unmodelled);
        deinit(&w);
    }
}

TEST(kube_read, hard_rules_that_fit_does_not_know_are_marked) {
    static const struct {
        const char *spec;
        bool unmodelled;
    } table[] = {
        {"\"containers\":[{\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"1\"}}}]", true},
        {"\"containers\":[{\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"0\"}}}]", false},
        {"\"containers\":[{\"resources\":{\"requests\":{\"hugepages-2Mi\":\"4Mi\"}}}]", true},
        {"\"containers\":[{\"resources\":{\"requests\":{\"ephemeral-storage\":\"50Mi\"}}}]", false},
        {"\"containers\":[{\"resources\":{\"requests\":{\"ephemeral-storage\":\"50Gi\"}}}]", true},
        {"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"whenUnsatisfiable\":\"DoNotSchedule\"}]", true},
        {"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"whenUnsatisfiable\":\"ScheduleAnyway\"}]", false},
        {"\"topologySpreadConstraints\":[{\"maxSkew\":1,\"whenUnsatisfiable\":\"ScheduleAnyway\"},{\"maxSkew\":1}]", true},
        {"\"resourceClaims\":[{\"name\":\"x\"}]", true},
        {"\"resourceClaims\":[]", false},
        {"\"affinity\":{\"podAntiAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"zone\"}]}}", true},
        {"\"affinity\":{\"podAntiAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":1}]}}", false},
        {"\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{}]}}", true},
        {"\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[]}}", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct world w;
        init(&w);
        const struct dr_pod *p = read_pod(&w, "", table[i].spec, "");
        if (p->spec->unmodelled != table[i].unmodelled) {
            FAIL("%s: unmodelled is %d", table[i].spec, p->spec->unmodelled);
        }
        deinit(&w);
    }
}

TEST(kube_read, selector_affinity_tolerations_and_host_ports_are_read) {
    struct world w;
    init(&w);
    const struct dr_pod *p =
        read_pod(&w, "",
                 "\"nodeSelector\":{\"disk\":\"s\\u0073d\"},\"tolerations\":[{\"operator\":\"Exists\"},{\"key\":\"a\",\"value\":\"b\","
                 "\"effect\":\"NoExecute\"},"
                 "{\"key\":\"n\",\"operator\":\"Gt\",\"value\":\"5\"}],\"affinity\":{\"nodeAffinity\":{"
                 "\"requiredDuringSchedulingIgnoredDuringExecution\":"
                 "{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":\"NotIn\",\"values\":[\"a\",\"b\"]},{"
                 "\"key\":\"n\",\"operator\":\"Gt\","
                 "\"values\":[\"4\"]}]},{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"node-1\"]}]}]}}},"
                 "\"containers\":[{\"ports\":[{\"containerPort\":80},{\"containerPort\":53,\"hostPort\":53,\"protocol\":\"UDP\"},{"
                 "\"hostPort\":8080}]}],"
                 "\"initContainers\":[{\"ports\":[{\"hostPort\":9}]},{\"restartPolicy\":\"Always\",\"ports\":[{\"hostPort\":10}]}]",
                 "");
    const struct dr_pod_spec *s = p->spec;
    CHECK(!s->unmodelled);
    CHECK_EQ_INT(s->selector.n, 1);
    CHECK_EQ_STR(s->selector.v[0].value, "ssd");
    CHECK_EQ_INT(s->toleration_n, 2); /* one that we do not understand tolerates nothing */
    CHECK(s->tolerations[0].exists && s->tolerations[0].any_effect && s->tolerations[0].key.n == 0);
    CHECK(!s->tolerations[1].exists && s->tolerations[1].effect == DR_TAINT_NO_EXECUTE);
    CHECK_EQ_INT(s->term_n, 2);
    CHECK_EQ_INT(s->affinity[0].requirement_n, 2);
    CHECK_EQ_INT(s->affinity[0].requirements[0].op, DR_OP_NOT_IN);
    CHECK_EQ_STR(s->affinity[0].requirements[0].values.v[1], "b");
    CHECK_EQ_STR(s->affinity[1].requirements[0].key, "metadata.name");
    CHECK_EQ_INT(s->host_port_n, 3);
    CHECK_EQ_INT(s->host_ports[0].port, 53);
    CHECK_EQ_INT(s->host_ports[0].protocol, 'U');
    CHECK_EQ_INT(s->host_ports[2].port, 10);
    deinit(&w);
}

TEST(kube_read, state_of_a_pod_is_read) {
    struct world w;
    init(&w);
    const struct dr_pod *p =
        read_pod(&w,
                 ",\"deletionTimestamp\":\"2026-11-15T11:00:00Z\",\"labels\":{\"app\":\"web\"},\"ownerReferences\":[{\"kind\":\"Other\","
                 "\"uid\":\"no\"},"
                 "{\"kind\":\"ReplicaSet\",\"uid\":\"rs-1\",\"controller\":true}]",
                 "\"nodeName\":null,\"priorityClassName\":\"system-cluster-critical\",\"terminationGracePeriodSeconds\":45,\"volumes\":[{"
                 "\"name\":\"a\",\"emptyDir\":"
                 "{\"medium\":\"Memory\"}},{\"name\":\"b\",\"emptyDir\":{}}]",
                 "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\","
                 "\"lastTransitionTime\":"
                 "\"2026-11-15T10:00:05Z\",\"message\":\"0/1 nodes are available\"},{\"type\":\"Ready\",\"status\":\"True\"}]");
    CHECK_EQ_STR(p->ns, "default");
    CHECK_EQ_STR(p->name, "web-1");
    CHECK_EQ_STR(p->uid, "u-1");
    CHECK_EQ_STR(p->owner_uid, "rs-1");
    CHECK_EQ_INT(p->owner, DR_OWNER_CONTROLLER);
    CHECK_EQ_INT(p->phase, DR_PHASE_PENDING);
    CHECK(p->node.n == 0 && p->ready && p->critical && p->local_data && p->unschedulable && p->deleting);
    CHECK_EQ_INT(p->unschedulable_since_ms, INT64_C(1794736805000));
    CHECK_EQ_INT(p->created_ms, INT64_C(1794736800000));
    CHECK_EQ_INT(p->delete_by_ms, INT64_C(1794740400000));
    CHECK_EQ_INT(p->grace_ms, 45000);
    CHECK_EQ_STR(p->labels.v[0].value, "web");
    deinit(&w);
}

TEST(kube_read, a_gated_or_pulling_pod_is_not_unschedulable) {
    struct world w;
    init(&w);
    const struct dr_pod *p =
        read_pod(&w, "", "",
                 "\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"SchedulingGated\"}],"
                 "\"containerStatuses\":[{\"state\":{\"waiting\":{\"reason\":\"ImagePullBackOff\"}}}]");
    CHECK(!p->unschedulable && !p->ready && !p->local_data && p->grace_ms == 30000);
    deinit(&w);
}

TEST(kube_read, unschedulable_without_a_time_counts_from_creation) {
    struct world w;
    init(&w);
    const struct dr_pod *p = read_pod(
        &w, "", "",
        "\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\",\"lastTransitionTime\":null}]");
    CHECK(p->unschedulable && p->unschedulable_since_ms == p->created_ms && p->created_ms > 0);
    deinit(&w);
}

TEST(kube_read, owners_tell_daemons_mirrors_and_bare_pods_apart) {
    static const struct {
        const char *meta;
        enum dr_owner owner;
    } table[] = {
        {"", DR_OWNER_NONE},
        {",\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"uid\":\"x\"}]", DR_OWNER_NONE},
        {",\"ownerReferences\":[{\"kind\":\"DaemonSet\",\"uid\":\"x\",\"controller\":true}]", DR_OWNER_DAEMONSET},
        {",\"ownerReferences\":[{\"kind\":\"Node\",\"uid\":\"x\",\"controller\":true}]", DR_OWNER_MIRROR},
        {",\"annotations\":{\"kubernetes.io/config.mirror\":\"1\"}", DR_OWNER_MIRROR},
        {",\"annotations\":{\"kubernetes.io/config.mirror\":\"1\"},\"ownerReferences\":[{\"kind\":\"Job\",\"controller\":true}]",
         DR_OWNER_MIRROR},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct world w;
        init(&w);
        CHECK_EQ_INT(read_pod(&w, table[i].meta, "", "")->owner, table[i].owner);
        deinit(&w);
    }
}

TEST(kube_read, equal_pods_share_spec_and_labels_also_across_pages) {
    struct world w;
    init(&w);
    const char *one =
        pod(&w, ",\"labels\":{\"app\":\"a\"}", "\"nodeName\":\"n1\",\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]", "");
    const char *two = pod(&w, ",\"labels\":{\"app\":\"a\"}", "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1000m\"}}}]", "");
    const char *other = pod(&w, "", "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1001m\"}}}]", "");
    CHECK_OK(dr_kube_pods_page(&w.pods, list_of(&w, "PodList", one), &w.page, &w.err), w.err);
    CHECK_OK(dr_kube_pods_page(&w.pods, list_of(&w, "PodList", two), &w.page, &w.err), w.err);
    const struct dr_pod *v = read_pods(&w, other);
    CHECK_EQ_INT(w.n, 3);
    CHECK(v[0].spec == v[1].spec && v[0].labels.v == v[1].labels.v && v[2].spec != v[0].spec);
    deinit(&w);
}

TEST(kube_read, daemon_pods_of_different_nodes_share_one_spec) {
    struct world w;
    init(&w);
    const char *meta = ",\"ownerReferences\":[{\"kind\":\"DaemonSet\",\"uid\":\"d\",\"controller\":true}]";
#define TIED(node)                                                                                                                         \
    "\"affinity\":{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":[{\"matchFields\":"         \
    "[{\"key\":\"metadata.name\",\"operator\":\"In\",\"values\":[\"" node "\"]}]}]}}}"
    struct dr_str both = dr_str_fmt(&w.arena, "%s,%s", pod(&w, meta, TIED("n1"), ""), pod(&w, meta, TIED("n2"), ""));
    const struct dr_pod *v = read_pods(&w, both.p);
    CHECK(v[0].spec == v[1].spec && v[0].spec->term_n == 0);
    deinit(&w);
}

static const char CLAIMED[] = "\"volumes\":[{\"name\":\"d\",\"persistentVolumeClaim\":{\"claimName\":\"c1\"}}]";

static void read_volumes(struct world *w, const char *claims, const char *volumes, const char *classes) {
    CHECK_OK(dr_kube_claims_page(&w->volumes, list_of(w, "PersistentVolumeClaimList", claims), &w->page, &w->err), w->err);
    CHECK_OK(dr_kube_volumes_page(&w->volumes, list_of(w, "PersistentVolumeList", volumes), &w->page, &w->err), w->err);
    CHECK_OK(dr_kube_classes_page(&w->volumes, list_of(w, "StorageClassList", classes), &w->page, &w->err), w->err);
    w->volumes.known = true;
}

#define CLAIM(name, rest) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"default\"},\"spec\":{" rest "}}"
#define AFFINITY(terms) "\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[" terms "]}}"
#define ZONE_TERM(zone) "{\"matchExpressions\":[{\"key\":\"topology.kubernetes.io/zone\",\"operator\":\"In\",\"values\":[\"" zone "\"]}]}"
#define VOLUME(name, rest) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" rest "}}"

TEST(kube_read, bound_volume_limits_its_pod_to_a_zone) {
    struct world w;
    init(&w);
    read_volumes(&w, CLAIM("c1", "\"volumeName\":\"pv1\""), VOLUME("pv1", AFFINITY(ZONE_TERM("eu-1a") "," ZONE_TERM("eu-1b"))), "");
    const struct dr_pod *p = read_pod(&w, "", CLAIMED, "");
    CHECK_EQ_INT(p->spec->volume_zones.n, 2);
    CHECK_EQ_STR(p->spec->volume_zones.v[0], "eu-1a");
    CHECK(!p->spec->volume_unbound && !p->spec->unmodelled && !p->local_data);
    deinit(&w);
}

TEST(kube_read, volumes_in_different_zones_leave_no_place) {
    struct world w;
    init(&w);
    read_volumes(&w, CLAIM("c1", "\"volumeName\":\"pv1\"") "," CLAIM("web-1-e", "\"volumeName\":\"pv2\""),
                 VOLUME("pv1", AFFINITY(ZONE_TERM("eu-1a"))) "," VOLUME("pv2", AFFINITY(ZONE_TERM("eu-1b"))), "");
    const struct dr_pod *p = read_pod(
        &w, "", "\"volumes\":[{\"name\":\"d\",\"persistentVolumeClaim\":{\"claimName\":\"c1\"}},{\"name\":\"e\",\"ephemeral\":{}}]", "");
    CHECK(p->spec->volume_unbound && p->spec->volume_zones.n == 0);
    deinit(&w);
}

TEST(kube_read, local_volume_ties_its_pod_to_the_machine) {
    struct world w;
    init(&w);
    read_volumes(
        &w, CLAIM("c1", "\"volumeName\":\"pv1\""),
        VOLUME("pv1", "\"hostPath\":{\"path\":\"/x\"}," AFFINITY(
                          "{\"matchExpressions\":[{\"key\":\"kubernetes.io/hostname\",\"operator\":\"In\",\"values\":[\"n1\"]}]}")),
        "");
    const struct dr_pod *p = read_pod(&w, "", CLAIMED, "");
    CHECK(p->local_data && !p->spec->unmodelled);
    CHECK_EQ_INT(p->spec->term_n, 1);
    CHECK_EQ_STR(p->spec->affinity[0].requirements[0].key, "kubernetes.io/hostname");
    deinit(&w);
}

TEST(kube_read, unbound_claim_helps_only_where_binding_waits_for_the_pod) {
    static const struct {
        const char *claims;
        const char *classes;
        bool unbound;
        size_t zones;
    } table[] = {
        {CLAIM("c1", "\"storageClassName\":\"fast\""), "{\"metadata\":{\"name\":\"fast\"},\"volumeBindingMode\":\"WaitForFirstConsumer\"}",
         false, 0},
        {CLAIM("c1", "\"storageClassName\":\"fast\""), "{\"metadata\":{\"name\":\"fast\"},\"volumeBindingMode\":\"Immediate\"}", true, 0},
        {CLAIM("c1", "\"storageClassName\":\"gone\""), "", true, 0},
        {CLAIM("c1", "\"volumeName\":\"gone\""), "", true, 0},
        {"", "", true, 0},
        {CLAIM("c1", "\"storageClassName\":\"fast\""),
         "{\"metadata\":{\"name\":\"fast\"},\"volumeBindingMode\":\"WaitForFirstConsumer\",\"allowedTopologies\":[{"
         "\"matchLabelExpressions\":[{\"key\":"
         "\"topology.kubernetes.io/zone\",\"values\":[\"a\",\"b\"]}]}]}",
         false, 2},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct world w;
        init(&w);
        read_volumes(&w, table[i].claims, "", table[i].classes);
        const struct dr_pod *p = read_pod(&w, "", CLAIMED, "");
        CHECK_EQ_INT(p->spec->volume_unbound, table[i].unbound);
        CHECK_EQ_INT(p->spec->volume_zones.n, table[i].zones);
        deinit(&w);
    }
}

TEST(kube_read, claims_that_could_not_be_read_are_a_rule_that_is_not_modelled) {
    struct world w;
    init(&w);
    const struct dr_pod *p = read_pod(&w, "", CLAIMED, "");
    CHECK(p->spec->unmodelled && !p->spec->volume_unbound);
    deinit(&w);
}

TEST(kube_read, node_is_read_with_identity_capacity_and_marks) {
    struct world w;
    struct dr_kube_nodes nodes;
    const struct dr_node *v;
    size_t n;
    init(&w);
    dr_kube_nodes_init(&nodes, &w.pool);
    const char *items = "{\"metadata\":{\"name\":\"ip-10-0-1-5.eu-west-1.compute.internal\",\"uid\":\"n-1\",\"resourceVersion\":\"42\","
                        "\"creationTimestamp\":\"2026-11-15T10:00:00Z\","
                        "\"labels\":{\"drover.dev/instance-id\":\"i-1\",\"topology.kubernetes.io/"
                        "zone\":\"eu-west-1a\"},\"annotations\":{\"drover.dev/cordoned-by\":\"17-x\","
                        "\"drover.dev/protected\":\"true\"}},\"spec\":{\"unschedulable\":true,\"providerID\":\"aws:///eu-west-1a/"
                        "i-1\",\"taints\":[{\"key\":\"k\",\"value\":\"v\","
                        "\"effect\":\"NoExecute\"}]},\"status\":{\"allocatable\":{\"cpu\":\"1930m\",\"memory\":\"7206252Ki\",\"pods\":"
                        "\"110\",\"ephemeral-storage\":\"odd\"},"
                        "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"fd00::1\"},{\"type\":\"InternalIP\",\"address\":\"10.0.1."
                        "5\"},{\"type\":\"Hostname\",\"address\":\"h\"}],"
                        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":\"2026-11-15T10:01:00Z\"}]}},"
                        "{\"metadata\":{\"name\":\"server\",\"uid\":\"n-2\",\"resourceVersion\":\"43\",\"labels\":{\"node-role.kubernetes."
                        "io/control-plane\":\"true\"}},"
                        "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"Unknown\"}]}}";
    CHECK_OK(dr_kube_nodes_page(&nodes, list_of(&w, "NodeList", items), &w.page, &w.err), w.err);
    dr_kube_nodes_finish(&nodes, &v, &n);
    CHECK_EQ_INT(n, 2);
    CHECK_EQ_STR(v[0].resource_version, "42");
    CHECK_EQ_STR(v[0].provider_id, "aws:///eu-west-1a/i-1");
    CHECK_EQ_STR(v[0].instance_label, "i-1");
    CHECK_EQ_STR(v[0].internal_ip, "10.0.1.5");
    CHECK_EQ_STR(v[0].zone, "eu-west-1a");
    CHECK_EQ_STR(v[0].cordon_owner, "17-x");
    CHECK(v[0].protected_ && v[0].unschedulable && !v[0].server && v[1].server);
    CHECK_EQ_INT(v[0].ready, DR_READY_FALSE);
    CHECK_EQ_INT(v[0].ready_changed_ms, INT64_C(1794736860000));
    CHECK_EQ_INT(v[0].cpu_milli, 1930);
    CHECK_EQ_INT(v[0].mem_bytes, INT64_C(7379202048));
    CHECK_EQ_INT(v[0].pod_limit, 110);
    CHECK_EQ_INT(v[0].taint_n, 1);
    CHECK_EQ_INT(v[1].ready, DR_READY_UNKNOWN);
    dr_kube_nodes_deinit(&nodes);
    deinit(&w);
}

TEST(kube_read, taints_that_repeat_conditions_are_left_out) {
    struct world w;
    struct dr_kube_nodes nodes;
    const struct dr_node *v;
    size_t n;
    init(&w);
    dr_kube_nodes_init(&nodes, &w.pool);
    const char *items = "{\"metadata\":{\"name\":\"a\",\"uid\":\"n-1\",\"resourceVersion\":\"42\"},\"spec\":{\"taints\":["
                        "{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":\"NoSchedule\"},{\"key\":\"dedicated\",\"value\":\"db\","
                        "\"effect\":\"NoSchedule\"},{\"key\":\"node.kubernetes.io/unreachable\",\"effect\":\"NoExecute\"},{\"key\":"
                        "\"node.kubernetes.io/unschedulable\",\"effect\":\"NoSchedule\"}]},\"status\":{\"conditions\":[{\"type\":\"Ready\","
                        "\"status\":\"True\"}]}}";
    CHECK_OK(dr_kube_nodes_page(&nodes, list_of(&w, "NodeList", items), &w.page, &w.err), w.err);
    dr_kube_nodes_finish(&nodes, &v, &n);
    CHECK_EQ_INT(n, 1);
    CHECK_EQ_INT(v[0].ready, DR_READY_TRUE);
    CHECK_EQ_INT(v[0].taint_n, 1);
    CHECK_EQ_STR(v[0].taints[0].key, "dedicated");
    dr_kube_nodes_deinit(&nodes);
    deinit(&w);
}

TEST(kube_read, budgets_in_numbers_and_percent_with_fresh_and_stale_status) {
    struct world w;
    struct dr_kube_budgets budgets;
    const struct dr_budget *v;
    size_t n;
    init(&w);
    dr_kube_budgets_init(&budgets, &w.pool);
    const char *items = "{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\",\"generation\":2},\"spec\":{\"minAvailable\":3,\"selector\":{"
                        "\"matchLabels\":{\"app\":\"web\"},"
                        "\"matchExpressions\":[{\"key\":\"tier\",\"operator\":\"Exists\"}]}},\"status\":{\"disruptionsAllowed\":1,"
                        "\"expectedPods\":4,\"observedGeneration\":2}},"
                        "{\"metadata\":{\"name\":\"b\",\"namespace\":\"x\",\"generation\":2},\"spec\":{\"maxUnavailable\":\"25%\","
                        "\"selector\":{}},\"status\":"
                        "{\"disruptionsAllowed\":1,\"observedGeneration\":1}},"
                        "{\"metadata\":{\"name\":\"none\",\"namespace\":\"x\"},\"spec\":{\"maxUnavailable\":1}}";
    CHECK_OK(dr_kube_budgets_page(&budgets, list_of(&w, "PodDisruptionBudgetList", items), &w.page, &w.err), w.err);
    dr_kube_budgets_finish(&budgets, &v, &n);
    CHECK_EQ_INT(n, 2); /* one without a selector selects nothing */
    CHECK(v[0].has_min_available && !v[0].percent && v[0].value == 3 && v[0].has_status);
    CHECK_EQ_INT(v[0].disruptions_allowed, 1);
    CHECK_EQ_INT(v[0].selector.requirement_n, 2);
    CHECK_EQ_INT(v[0].selector.requirements[1].op, DR_OP_EXISTS);
    CHECK(!v[1].has_min_available && v[1].percent && v[1].value == 25 && !v[1].has_status && v[1].selector.requirement_n == 0);
    dr_kube_budgets_deinit(&budgets);
    deinit(&w);
}

TEST(kube_read, page_tells_where_the_list_goes_on) {
    struct world w;
    init(&w);
    struct dr_str body = DR_STR("{\"kind\":\"PodList\",\"metadata\":{\"continue\":\"a\\/b\",\"resourceVersion\":\"9\"},\"items\":null}");
    CHECK_OK(dr_kube_pods_page(&w.pods, body, &w.page, &w.err), w.err);
    CHECK_EQ_STR(w.page.next, "a/b");
    CHECK_EQ_STR(w.page.version, "9");
    deinit(&w);
}

TEST(kube_read, wrong_pages_are_refused_with_the_field) {
    static const struct {
        const char *body;
        const char *says;
    } table[] = {
        {"", "PodList: document"},
        {"<html><body>502 Bad Gateway</body></html>", "PodList: document"},
        {"null", "PodList: document"},
        {"[]", "expected an object"},
        {"{\"kind\":\"Status\",\"items\":[]}", "expected PodList, found \"Status\""},
        {"{\"items\":[]}", "kind: missing"},
        {"{\"kind\":\"PodList\"}", "items: missing"},
        {"{\"kind\":\"PodList\",\"items\":{}}", "PodList: items: JSON"},
        {"{\"kind\":\"PodList\",\"items\":[]}x", "expected the end"},
        {"{\"kind\":\"PodList\",\"items\":[7]}", "PodList: items[0]: JSON"},
        {"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"uid\":\"x\"}}]}", "items[0].metadata.name"},
        {"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":7}}]}", "items[0].metadata.name: JSON"},
        {"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"a\",\"uid\":\"b\",\"labels\":{\"x\":1}}}]}",
         "items[0].metadata.labels"},
        {"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"creationTimestamp\":\"now\"}}]}", "creationTimestamp: \"now\" is not a time"},
        {"{\"kind\":\"PodList\",\"items\":[{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"much\"}}}]}}]}",
         "items[0].spec.containers.resources: \"much\" is not a quantity"},
        {"{\"kind\":\"PodList\",\"items\":[{\"spec\":{\"containers\":{}}}]}", "items[0].spec.containers"},
        {"{\"kind\":\"PodList\",\"items\":[{\"status\":{\"conditions\":[7]}}]}", "items[0].status.conditions"},
        {"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"a\",\"uid\":\"b\"},\"spec\":{\"affinity\":[]}}]}", "spec.affinity"},
        {"{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"\xFF\"}}]}", "UTF-8"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct world w;
        init(&w);
        CHECK(dr_kube_pods_page(&w.pods, dr_str_of(table[i].body), &w.page, &w.err) < 0);
        CHECK_EQ_INT(w.err.code, DR_E_INVALID);
        CHECK_CONTAINS(dr_str_of(w.err.text), table[i].says);
        deinit(&w);
    }
}

TEST(kube_read, a_page_cut_anywhere_is_an_error) {
    struct world w;
    init(&w);
    const char *one =
        pod(&w, ",\"labels\":{\"app\":\"a\"}",
            "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],\"tolerations\":[{\"key\":\"x\"}]", "\"phase\":\"Running\"");
    struct dr_str body = list_of(&w, "PodList", one);
    for (size_t n = 0; n < body.n; n++) {
        struct world cut;
        init(&cut);
        CHECK(dr_kube_pods_page(&cut.pods, (struct dr_str){body.p, n}, &cut.page, &cut.err) < 0);
        deinit(&cut);
    }
    CHECK_OK(dr_kube_pods_page(&w.pods, body, &w.page, &w.err), w.err);
    deinit(&w);
}
