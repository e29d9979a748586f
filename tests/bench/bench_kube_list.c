/*
 * A cluster of 5,000 nodes and 150,000 pods as the pages that an API server would send, made one at a time. Only reading is measured; peak memory is that of everything,
 * the page in hand included, as when it comes from the network.
 */
#include <time.h>

#include "adapter/kubernetes/read.h"
#include "harness/bench.h"

enum { NODES = 5000, PODS = 150000, PAGE = 500, APPS = 400 };

static const char MANAGED[] =
    "\"managedFields\":[{\"manager\":\"kube-controller-manager\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026-11-15T10:"
    "00:00Z\","
    "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:generateName\":{},\"f:labels\":{\".\":{},\"f:app\":{},\"f:pod-template-"
    "hash\":{}},"
    "\"f:ownerReferences\":{\".\":{},\"k:{\\\"uid\\\":\\\"0c6a2c3e\\\"}\":{}}},\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":"
    "\\\"main\\\"}\":{\".\":{},"
    "\"f:env\":{\".\":{},\"k:{\\\"name\\\":\\\"PORT\\\"}\":{\".\":{},\"f:name\":{},\"f:value\":{}}},\"f:image\":{},\"f:imagePullPolicy\":{}"
    ",\"f:name\":{},"
    "\"f:resources\":{\".\":{},\"f:requests\":{\".\":{},\"f:cpu\":{},\"f:memory\":{}}},\"f:terminationMessagePath\":{},\"f:"
    "terminationMessagePolicy\":{}}},"
    "\"f:dnsPolicy\":{},\"f:enableServiceLinks\":{},\"f:restartPolicy\":{},\"f:schedulerName\":{},\"f:securityContext\":{},"
    "\"f:terminationGracePeriodSeconds\":{}}}},{\"manager\":\"kubelet\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026-11-"
    "15T10:00:09Z\","
    "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:status\":{\"f:conditions\":{\"k:{\\\"type\\\":\\\"Ready\\\"}\":{\".\":{},\"f:"
    "lastProbeTime\":{},"
    "\"f:lastTransitionTime\":{},\"f:status\":{},\"f:type\":{}}},\"f:containerStatuses\":{},\"f:hostIP\":{},\"f:phase\":{},\"f:podIP\":{},"
    "\"f:startTime\":{}}},"
    "\"subresource\":\"status\"}]";

static void put_pod(struct dr_buf *b, int i) {
    int app = i / (PODS / APPS); /* lists are in the order of namespace and name: pods of one owner stand together */
    int node = i * 37 % NODES;
    dr_buf_fmt(b,
               "{\"metadata\":{\"name\":\"app-%03d-7d4b9c6f5-%05x\",\"generateName\":\"app-%03d-7d4b9c6f5-\",\"namespace\":\"team-%d\","
               "\"uid\":\"%08x-0000-4000-8000-%012x\",\"resourceVersion\":\"%d\",\"generation\":1,\"creationTimestamp\":\"2026-11-15T10:%"
               "02d:%02dZ\","
               "\"labels\":{\"app\":\"app-%03d\",\"pod-template-hash\":\"7d4b9c6f5\",\"team\":\"team-%d\"},\"annotations\":{\"prometheus."
               "io/scrape\":\"true\"},"
               "\"ownerReferences\":[{\"apiVersion\":\"apps/"
               "v1\",\"kind\":\"ReplicaSet\",\"name\":\"app-%03d-7d4b9c6f5\",\"uid\":\"aaaaaaaa-0000-4000-8000-%012x\","
               "\"controller\":true,\"blockOwnerDeletion\":true}],",
               app, i, app, app % 40, i, i * 7, 1000000 + i, i % 60, i % 59, app, app % 40, app, app);
    dr_buf_put(b, MANAGED, sizeof MANAGED - 1);
    dr_buf_fmt(b,
               "},\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-%05x\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
               "\"expirationSeconds\":3607,"
               "\"path\":\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}},{"
               "\"downwardAPI\":"
               "{\"items\":[{\"path\":\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}],"
               "\"defaultMode\":420}}],"
               "\"containers\":[{\"name\":\"main\",\"image\":\"registry.example.com/team/"
               "app-%03d:1.2.3\",\"ports\":[{\"name\":\"http\",\"containerPort\":8080,"
               "\"protocol\":\"TCP\"}],\"env\":[{\"name\":\"PORT\",\"value\":\"8080\"},{\"name\":\"POD\",\"valueFrom\":{\"fieldRef\":{"
               "\"apiVersion\":\"v1\","
               "\"fieldPath\":\"metadata.name\"}}}],\"resources\":{\"limits\":{\"memory\":\"%dMi\"},\"requests\":{\"cpu\":\"%dm\","
               "\"memory\":\"%dMi\"}},"
               "\"volumeMounts\":[{\"name\":\"kube-api-access-%05x\",\"readOnly\":true,\"mountPath\":\"/var/run/secrets/kubernetes.io/"
               "serviceaccount\"}],"
               "\"livenessProbe\":{\"httpGet\":{\"path\":\"/"
               "healthz\",\"port\":8080,\"scheme\":\"HTTP\"},\"timeoutSeconds\":1,\"periodSeconds\":10,"
               "\"successThreshold\":1,\"failureThreshold\":3},\"terminationMessagePath\":\"/dev/"
               "termination-log\",\"terminationMessagePolicy\":\"File\","
               "\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,\"dnsPolicy\":"
               "\"ClusterFirst\","
               "\"serviceAccountName\":\"default\",\"serviceAccount\":\"default\",\"nodeName\":\"ip-10-%d-%d-%d.eu-west-1.compute."
               "internal\",\"securityContext\":{},"
               "\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":\"node.kubernetes.io/"
               "not-ready\",\"operator\":\"Exists\",\"effect\":\"NoExecute\","
               "\"tolerationSeconds\":300},{\"key\":\"node.kubernetes.io/"
               "unreachable\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}],"
               "\"priority\":0,\"enableServiceLinks\":true,\"preemptionPolicy\":\"PreemptLowerPriority\"},",
               i, app, 128 + app % 8 * 64, 50 + app % 10 * 25, 128 + app % 8 * 64, i, node % 7, node / 250, node % 250);
    dr_buf_fmt(
        b,
        "\"status\":{\"observedGeneration\":1,\"phase\":\"Running\",\"conditions\":[{\"type\":\"PodReadyToStartContainers\",\"status\":"
        "\"True\","
        "\"lastProbeTime\":null,\"lastTransitionTime\":\"2026-11-15T10:00:05Z\"},{\"type\":\"Initialized\",\"status\":\"True\","
        "\"lastProbeTime\":null,"
        "\"lastTransitionTime\":\"2026-11-15T10:00:01Z\"},{\"type\":\"Ready\",\"status\":\"True\",\"lastProbeTime\":null,"
        "\"lastTransitionTime\":\"2026-11-15T10:00:09Z\"},{\"type\":\"ContainersReady\",\"status\":\"True\",\"lastProbeTime\":null,"
        "\"lastTransitionTime\":\"2026-11-15T10:00:09Z\"},{\"type\":\"PodScheduled\",\"status\":\"True\",\"lastProbeTime\":null,"
        "\"lastTransitionTime\":\"2026-11-15T10:00:01Z\"}],\"hostIP\":\"10.0.%d.%d\",\"hostIPs\":[{\"ip\":\"10.0.%d.%d\"}],\"podIP\":\"10."
        "42.%d.%d\","
        "\"startTime\":\"2026-11-15T10:00:01Z\",\"containerStatuses\":[{\"name\":\"main\",\"state\":{\"running\":{\"startedAt\":"
        "\"2026-11-15T10:00:08Z\"}},\"lastState\":{},\"ready\":true,\"restartCount\":0,\"image\":\"registry.example.com/team/"
        "app-%03d:1.2.3\","
        "\"imageID\":\"registry.example.com/team/"
        "app@sha256:0000000000000000000000000000000000000000000000000000000000000000\",\"containerID\":"
        "\"containerd://1111111111111111111111111111111111111111111111111111111111111111\",\"started\":true}],\"qosClass\":\"Burstable\"}}",
        node / 250, node % 250, node / 250, node % 250, node / 250, i % 250, app);
}

static void put_node(struct dr_buf *b, int i) {
    dr_buf_fmt(
        b,
        "{\"metadata\":{\"name\":\"ip-10-%d-%d-%d.eu-west-1.compute.internal\",\"uid\":\"nnnnnnnn-0000-4000-8000-%012x\","
        "\"resourceVersion\":\"%d\","
        "\"creationTimestamp\":\"2026-11-15T09:00:00Z\",\"labels\":{\"beta.kubernetes.io/arch\":\"amd64\",\"beta.kubernetes.io/"
        "instance-type\":"
        "\"m6i.large\",\"beta.kubernetes.io/os\":\"linux\",\"drover.dev/instance-id\":\"i-%017x\",\"failure-domain.beta.kubernetes.io/"
        "region\":"
        "\"eu-west-1\",\"failure-domain.beta.kubernetes.io/zone\":\"eu-west-1%c\",\"kubernetes.io/arch\":\"amd64\",\"kubernetes.io/"
        "hostname\":"
        "\"ip-10-%d-%d-%d.eu-west-1.compute.internal\",\"kubernetes.io/os\":\"linux\",\"node.kubernetes.io/instance-type\":\"m6i.large\","
        "\"topology.kubernetes.io/region\":\"eu-west-1\",\"topology.kubernetes.io/zone\":\"eu-west-1%c\"},\"annotations\":{\"k3s.io/"
        "hostname\":\"x\","
        "\"k3s.io/node-args\":\"[\\\"agent\\\",\\\"--server\\\",\\\"https://server:6443\\\"]\",\"volumes.kubernetes.io/"
        "controller-managed-attach-detach\":"
        "\"true\"},",
        i % 7, i / 250, i % 250, i, 5000 + i, (unsigned)i, 'a' + i % 3, i % 7, i / 250, i % 250, 'a' + i % 3);
    dr_buf_put(b, MANAGED, sizeof MANAGED - 1);
    dr_buf_fmt(
        b,
        "},\"spec\":{\"podCIDR\":\"10.42.%d.0/24\",\"providerID\":\"aws:///eu-west-1%c/i-%017x\"},\"status\":{\"capacity\":{\"cpu\":\"2\","
        "\"ephemeral-storage\":\"20134592Ki\",\"memory\":\"7896428Ki\",\"pods\":\"110\"},\"allocatable\":{\"cpu\":\"1930m\",\"ephemeral-"
        "storage\":"
        "\"18242267924\",\"hugepages-1Gi\":\"0\",\"memory\":\"7206252Ki\",\"pods\":\"110\"},\"conditions\":[{\"type\":\"MemoryPressure\","
        "\"status\":"
        "\"False\",\"lastHeartbeatTime\":\"2026-11-15T10:00:00Z\",\"lastTransitionTime\":\"2026-11-15T09:00:00Z\",\"reason\":"
        "\"KubeletHasSufficientMemory\","
        "\"message\":\"kubelet has sufficient memory "
        "available\"},{\"type\":\"Ready\",\"status\":\"True\",\"lastHeartbeatTime\":\"2026-11-15T10:00:00Z\","
        "\"lastTransitionTime\":\"2026-11-15T09:00:30Z\",\"reason\":\"KubeletReady\",\"message\":\"kubelet is posting ready "
        "status\"}],\"addresses\":"
        "[{\"type\":\"InternalIP\",\"address\":\"10.0.%d.%d\"},{\"type\":\"Hostname\",\"address\":\"ip-10-%d\"}],\"images\":[",
        i % 250, 'a' + i % 3, (unsigned)i, i / 250, i % 250, i);
    for (int k = 0; k < 30; k++) {
        dr_buf_fmt(
            b,
            "%s{\"names\":[\"registry.example.com/team/app-%03d@sha256:2222222222222222222222222222222222222222222222222222222222222222\","
            "\"registry.example.com/team/app-%03d:1.2.3\"],\"sizeBytes\":%d}",
            k == 0 ? "" : ",", k, k, 1000000 * k + 77);
    }
    dr_buf_puts(b, "]}}");
}

static void make_page(struct dr_buf *b, const char *kind, void (*put)(struct dr_buf *, int), int from, int to, int total) {
    dr_buf_clear(b);
    dr_buf_fmt(b, "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"123456\"%s},\"items\":[", kind,
               to < total ? ",\"continue\":\"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIzNDU2fQ\"" : "");
    for (int i = from; i < to; i++) {
        if (i > from) {
            dr_buf_putc(b, ',');
        }
        put(b, i);
    }
    dr_buf_puts(b, "]}\n");
}

/* Time of the processor: the pages are read in pieces, between which other processes may run. */
static int64_t cpu_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct total {
    int64_t ns;
    int64_t bytes;
};

static void read_nodes(struct dr_kube_pool *pool, struct dr_buf *b, struct total *total, const struct dr_node **ret, size_t *ret_n) {
    struct dr_kube_nodes nodes;
    struct dr_kube_page page;
    struct dr_err err;
    dr_kube_nodes_init(&nodes, pool);
    for (int i = 0; i < NODES; i += PAGE) {
        make_page(b, "NodeList", put_node, i, i + PAGE, NODES);
        int64_t start = cpu_ns();
        int r = dr_kube_nodes_page(&nodes, dr_buf_str(b), &page, &err);
        total->ns += cpu_ns() - start;
        total->bytes += (int64_t)b->n;
        DR_ASSERT(r == 0 && (page.next.n == 0) == (i + PAGE == NODES));
    }
    int64_t start = cpu_ns();
    dr_kube_nodes_finish(&nodes, ret, ret_n);
    total->ns += cpu_ns() - start;
}

static void read_pods(struct dr_kube_pool *pool, struct dr_buf *b, struct total *total, const struct dr_pod **ret, size_t *ret_n) {
    struct dr_kube_pods pods;
    struct dr_kube_page page;
    struct dr_err err;
    dr_kube_pods_init(&pods, pool);
    for (int i = 0; i < PODS; i += PAGE) {
        make_page(b, "PodList", put_pod, i, i + PAGE, PODS);
        int64_t start = cpu_ns();
        int r = dr_kube_pods_page(&pods, dr_buf_str(b), &page, &err);
        total->ns += cpu_ns() - start;
        total->bytes += (int64_t)b->n;
        DR_ASSERT(r == 0 && (page.next.n == 0) == (i + PAGE == PODS));
    }
    int64_t start = cpu_ns();
    dr_kube_pods_finish(&pods, NULL, ret, ret_n);
    total->ns += cpu_ns() - start;
}

BENCH(kube_list) {
    struct dr_arena arena;
    struct dr_kube_pool pool;
    struct dr_buf b;
    struct total of_nodes = {0, 0};
    struct total of_pods = {0, 0};
    const struct dr_node *nodes;
    const struct dr_pod *pods;
    size_t node_n;
    size_t pod_n;
    dr_arena_init(&arena, 0);
    dr_buf_init(&b, 0);
    dr_kube_pool_init(&pool, &arena);
    read_nodes(&pool, &b, &of_nodes, &nodes, &node_n);
    read_pods(&pool, &b, &of_pods, &pods, &pod_n);
    DR_ASSERT(node_n == NODES && pod_n == PODS);
    dr_kube_pool_deinit(&pool);
    double bytes = (double)(of_nodes.bytes + of_pods.bytes);
    double ns = (double)(of_nodes.ns + of_pods.ns);
    dr_bench_put("kube.list_speed", bytes / ns * 1000, "MB/s", ">= 800");
    dr_bench_put("kube.list_nodes", (double)of_nodes.bytes / (double)of_nodes.ns * 1000, "MB/s", "");
    dr_bench_put("kube.list_pods", (double)of_pods.bytes / (double)of_pods.ns * 1000, "MB/s", "");
    dr_bench_put("kube.list_time", ns / 1e6, "ms", "");
    dr_bench_put("kube.list_size", bytes / 1e6, "MB", "");
    dr_bench_put("kube.list_peak", (double)dr_bench_peak_bytes() / 1e6, "MB", "<= 64");
    dr_buf_deinit(&b);
    dr_arena_deinit(&arena);
}
