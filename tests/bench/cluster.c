#include "bench/cluster.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

const struct dr_bench_cluster dr_bench_large = {5000, 150000, 400};

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

void dr_bench_put_pod(struct dr_buf *b, const struct dr_bench_cluster *cluster, int i) {
    int app = i / (cluster->pods / cluster->apps);
    int node = i * 37 % cluster->nodes;
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

void dr_bench_put_node(struct dr_buf *b, const struct dr_bench_cluster *cluster, int i) {
    (void)cluster;
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

void dr_bench_put_budget(struct dr_buf *b, const struct dr_bench_cluster *cluster, int i) {
    int pods = cluster->pods / cluster->apps;
    dr_buf_fmt(
        b,
        "{\"metadata\":{\"name\":\"app-%03d\",\"namespace\":\"team-%d\",\"uid\":\"bbbbbbbb-0000-4000-8000-%012x\",\"resourceVersion\":"
        "\"%d\",\"generation\":1,\"creationTimestamp\":\"2026-11-15T10:00:00Z\",",
        i, i % 40, i, 9000 + i);
    dr_buf_put(b, MANAGED, sizeof MANAGED - 1);
    dr_buf_fmt(
        b,
        "},\"spec\":{\"minAvailable\":\"50%%\",\"selector\":{\"matchLabels\":{\"app\":\"app-%03d\"}}},\"status\":{\"observedGeneration\":"
        "1,\"disruptionsAllowed\":%d,\"currentHealthy\":%d,\"desiredHealthy\":%d,\"expectedPods\":%d}}",
        i, pods / 2, pods, pods - pods / 2, pods);
}

/* ---- lists ---- */

static const struct {
    const char *path;
    const char *kind;
    const char *version;
    void (*put)(struct dr_buf *b, const struct dr_bench_cluster *cluster, int i);
} KINDS[DR_BENCH_KIND_N] = {
    [DR_BENCH_NODES] = {"/api/v1/nodes?", "NodeList", "v1", dr_bench_put_node},
    [DR_BENCH_PODS] = {"/api/v1/pods?", "PodList", "v1", dr_bench_put_pod},
    [DR_BENCH_BUDGETS] = {"/apis/policy/v1/poddisruptionbudgets?", "PodDisruptionBudgetList", "policy/v1", dr_bench_put_budget},
};

/* The token of the next page ends with the number of its first object. */
void dr_bench_put_page_head(struct dr_buf *b, enum dr_bench_kind kind, int to, int total) {
    dr_buf_fmt(b, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{\"resourceVersion\":\"123456\"", KINDS[kind].kind,
               KINDS[kind].version);
    if (to < total) {
        dr_buf_fmt(b, ",\"continue\":\"eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIzNDU2fQ.%d\",\"remainingItemCount\":%d", to, total - to);
    }
    dr_buf_puts(b, "},\"items\":[");
}

static void write_all(int fd, struct dr_str text) {
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        DR_ASSERT(n > 0);
        text = dr_str_sub(text, (size_t)n, text.n);
    }
}

static off_t make_list(struct dr_bench_lists *lists, enum dr_bench_kind kind, int n, off_t at) {
    struct dr_buf object;
    dr_buf_init(&object, 0);
    lists->of[kind].n = n;
    lists->of[kind].at = calloc((size_t)n + 1, sizeof lists->of[kind].at[0]);
    DR_ASSERT(lists->of[kind].at != NULL);
    for (int i = 0; i < n; i++) {
        dr_buf_clear(&object);
        KINDS[kind].put(&object, &lists->cluster, i);
        dr_buf_putc(&object, ',');
        write_all(lists->fd, dr_buf_str(&object));
        lists->of[kind].at[i] = at;
        at += (off_t)object.n;
    }
    lists->of[kind].at[n] = at;
    dr_buf_deinit(&object);
    return at;
}

void dr_bench_lists_make(struct dr_bench_lists *lists) {
    lists->fd = memfd_create("drover-bench", MFD_CLOEXEC);
    DR_ASSERT(lists->fd >= 0);
    off_t at = make_list(lists, DR_BENCH_NODES, lists->cluster.nodes, 0);
    at = make_list(lists, DR_BENCH_PODS, lists->cluster.pods, at);
    (void)make_list(lists, DR_BENCH_BUDGETS, lists->cluster.apps, at);
}

static int number_behind(struct dr_str text, char mark) {
    int64_t n = 0;
    size_t at = dr_str_find(text, mark);
    (void)dr_str_to_i64(at < text.n ? dr_str_sub(text, at + 1, text.n) : text, &n);
    return (int)n;
}

static void answer_page(const struct dr_bench_lists *lists, enum dr_bench_kind kind, struct dr_str target, struct dr_bench_answer *ret) {
    int total = lists->of[kind].n;
    int from = number_behind(dr_bench_param(target, "continue"), '.');
    int limit = number_behind(dr_bench_param(target, "limit"), '.');
    int to = limit > 0 && limit < total - from ? from + limit : total;
    DR_ASSERT(from >= 0 && from < total);
    dr_bench_put_page_head(&ret->text, kind, to, total);
    ret->fd = lists->fd;
    ret->from = lists->of[kind].at[from];
    ret->n = (size_t)(lists->of[kind].at[to] - ret->from) - 1;
    ret->tail = DR_BENCH_PAGE_TAIL;
}

bool dr_bench_lists_answer(const struct dr_bench_lists *lists, struct dr_str target, struct dr_bench_answer *ret) {
    for (int kind = 0; kind < DR_BENCH_KIND_N; kind++) {
        if (dr_str_starts(target, KINDS[kind].path)) {
            answer_page(lists, (enum dr_bench_kind)kind, target, ret);
            return true;
        }
    }
    return false;
}
