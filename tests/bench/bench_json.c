/* The JSON reader on a pod list of 100 MB, walked as the Kubernetes adapter walks it: the fields that a decision needs are read, the rest is passed over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/rand.h"
#include "harness/bench.h"

enum { TARGET_BYTES = 100 * 1000 * 1000, ROUNDS = 5 };

/* One pod in the shape and size that an API server gives: managed fields, labels, annotations, volumes, conditions, container states. */
static void put_pod(struct dr_buf *b, struct dr_rand *r, unsigned i) {
    unsigned app = (unsigned)dr_rand_below(r, 40);
    unsigned long long id = dr_rand_next(r);
    unsigned long long inverse = ~id;
    unsigned long long id3 = id * 3;
    unsigned long long id5 = id * 5;
    dr_buf_fmt(b,
               "{\"metadata\":{\"name\":\"shop-%u-%08x-%05x\",\"generateName\":\"shop-%u-%08x-\",\"namespace\":\"team-%u\","
               "\"uid\":\"%08x-1c2d-4e5f-8a9b-%012llx\",\"resourceVersion\":\"%u\",\"creationTimestamp\":\"2026-11-15T20:%02u:%02uZ\","
               "\"labels\":{\"app.kubernetes.io/name\":\"shop-%u\",\"app.kubernetes.io/part-of\":\"store\",\"pod-template-hash\":\"%08x\"},"
               "\"annotations\":{\"prometheus.io/scrape\":\"true\",\"prometheus.io/port\":\"9090\",\"checksum/config\":\"%016llx%016llx\"},"
               "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":\"shop-%u-%08x\",\"uid\":\"%016llx\","
               "\"controller\":true,\"blockOwnerDeletion\":true}],",
               app, (unsigned)id, i & 0xFFFFF, app, (unsigned)id, app % 7, (unsigned)id, id & 0xFFFFFFFFFFFF, i + 100000, i % 60,
               (i / 60) % 60, app, (unsigned)id, id, inverse, app, (unsigned)id, id);
    dr_buf_fmt(b,
               "\"managedFields\":[{\"manager\":\"k3s\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":\"2026-11-15T20:00:00Z\","
               "\"fieldsType\":"
               "\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:generateName\":{},\"f:labels\":{\".\":{},\"f:app.kubernetes.io/"
               "name\":{},\"f:pod-template-"
               "hash\":{}},\"f:ownerReferences\":{\".\":{},\"k:{\\\"uid\\\":\\\"%016llx\\\"}\":{}}},\"f:spec\":{\"f:containers\":{\"k:{"
               "\\\"name\\\":\\\"web\\\"}\":"
               "{\".\":{},\"f:image\":{},\"f:imagePullPolicy\":{},\"f:name\":{},\"f:resources\":{\".\":{},\"f:requests\":{\".\":{},\"f:"
               "cpu\":{},\"f:memory\":"
               "{}}}}},\"f:dnsPolicy\":{},\"f:restartPolicy\":{}}}}]},",
               id);
    dr_buf_fmt(
        b,
        "\"spec\":{\"volumes\":[{\"name\":\"kube-api-access-%05x\",\"projected\":{\"sources\":[{\"serviceAccountToken\":{"
        "\"expirationSeconds\":3607,\"path\":"
        "\"token\"}},{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}}],\"defaultMode\":"
        "420}}],"
        "\"containers\":[{\"name\":\"web\",\"image\":\"registry.example.com/store/"
        "shop-%u:1.%u.3\",\"ports\":[{\"containerPort\":8080,\"protocol\":\"TCP\"}],"
        "\"env\":[{\"name\":\"GREETING\",\"value\":\"gr\xC3\xBC\xC3\x9F "
        "dich\"},{\"name\":\"LOG_FORMAT\",\"value\":\"{\\\"json\\\":true}\"}],"
        "\"resources\":{\"limits\":{\"memory\":\"512Mi\"},\"requests\":{\"cpu\":\"%um\",\"memory\":\"%uMi\"}},\"volumeMounts\":[{\"name\":"
        "\"kube-api-"
        "access-%05x\",\"readOnly\":true,\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\"}],\"terminationMessagePath\":"
        "\"/dev/"
        "termination-log\",\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Always\",\"terminationGracePeriodSeconds\":30,"
        "\"dnsPolicy\":"
        "\"ClusterFirst\",\"serviceAccountName\":\"default\",\"nodeName\":\"ip-10-0-%u-%u\",\"tolerations\":[{\"key\":\"node.kubernetes.io/"
        "not-ready\","
        "\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":300}],\"priority\":0},",
        i & 0xFFFFF, app, i % 50, 50 + app * 10, 64 + app * 8, i & 0xFFFFF, i % 250, i % 200);
    dr_buf_fmt(b,
               "\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastProbeTime\":null,"
               "\"lastTransitionTime\":"
               "\"2026-11-15T20:01:00Z\"},{\"type\":\"PodScheduled\",\"status\":\"%s\",\"lastProbeTime\":null,\"lastTransitionTime\":"
               "\"2026-11-15T20:00:00Z\"}],"
               "\"hostIP\":\"10.0.%u.%u\",\"podIP\":\"10.42.%u.%u\",\"startTime\":\"2026-11-15T20:00:01Z\",\"containerStatuses\":[{"
               "\"name\":\"web\",\"state\":"
               "{\"running\":{\"startedAt\":\"2026-11-15T20:00:30Z\"}},\"ready\":true,\"restartCount\":%u,\"imageID\":\"registry.example."
               "com/store/"
               "shop@sha256:%016llx%016llx%016llx%016llx\",\"started\":true}],\"qosClass\":\"Burstable\"}}",
               i % 50 == 0 ? "Pending" : "Running", i % 50 == 0 ? "False" : "True", i % 250, i % 200, i % 250, i % 200, i % 3, id, inverse,
               id3, id5);
}

static struct dr_buf make_pod_list(void) {
    struct dr_buf b;
    struct dr_rand r;
    dr_buf_init(&b, TARGET_BYTES + 65536);
    dr_rand_init(&r, 1);
    dr_buf_puts(&b, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"123\"},\"items\":[");
    for (unsigned i = 0; b.n < TARGET_BYTES; i++) {
        dr_buf_puts(&b, i == 0 ? "" : ",");
        put_pod(&b, &r, i);
    }
    dr_buf_puts(&b, "]}\n");
    return b;
}

struct seen {
    struct dr_arena arena; /* for the few strings that need decoding */
    int64_t pods;
    int64_t pending;
    int64_t requests;
    int64_t text_bytes;
};

static int text(struct dr_json *j, struct seen *seen, struct dr_str *ret) {
    if (dr_json_str(j, &seen->arena, ret, NULL) < 0) {
        return -1;
    }
    seen->text_bytes += (int64_t)ret->n;
    return 0;
}

static int read_metadata(struct dr_json *j, struct seen *seen) {
    struct dr_json_key key;
    struct dr_str s;
    int r = dr_json_enter(j, DR_JSON_OBJECT, NULL);
    while (r >= 0 && (r = dr_json_next_key(j, &key, NULL)) > 0) {
        if (dr_json_key_is(&key, "name") || dr_json_key_is(&key, "namespace") || dr_json_key_is(&key, "uid")) {
            r = text(j, seen, &s);
        }
    }
    return r;
}

static int read_resources(struct dr_json *j, struct seen *seen) {
    struct dr_json_key key;
    struct dr_str s;
    int r = dr_json_enter(j, DR_JSON_OBJECT, NULL);
    while (r >= 0 && (r = dr_json_next_key(j, &key, NULL)) > 0) {
        if (dr_json_key_is(&key, "requests")) {
            r = dr_json_enter(j, DR_JSON_OBJECT, NULL);
            while (r >= 0 && (r = dr_json_next_key(j, &key, NULL)) > 0) {
                seen->requests++;
                r = text(j, seen, &s);
            }
        }
    }
    return r;
}

static int read_spec(struct dr_json *j, struct seen *seen) {
    struct dr_json_key key;
    struct dr_str s;
    int r = dr_json_enter(j, DR_JSON_OBJECT, NULL);
    while (r >= 0 && (r = dr_json_next_key(j, &key, NULL)) > 0) {
        if (dr_json_key_is(&key, "nodeName")) {
            r = text(j, seen, &s);
        } else if (dr_json_key_is(&key, "containers")) {
            r = dr_json_enter(j, DR_JSON_ARRAY, NULL);
            while (r >= 0 && (r = dr_json_next_element(j, NULL)) > 0) {
                r = dr_json_enter(j, DR_JSON_OBJECT, NULL);
                while (r >= 0 && (r = dr_json_next_key(j, &key, NULL)) > 0) {
                    r = dr_json_key_is(&key, "resources") ? read_resources(j, seen) : r;
                }
            }
        }
    }
    return r;
}

static int read_status(struct dr_json *j, struct seen *seen) {
    struct dr_json_key key;
    struct dr_str s;
    int r = dr_json_enter(j, DR_JSON_OBJECT, NULL);
    while (r >= 0 && (r = dr_json_next_key(j, &key, NULL)) > 0) {
        if (dr_json_key_is(&key, "phase")) {
            r = text(j, seen, &s);
            seen->pending += r >= 0 && dr_str_is(s, "Pending");
        } else if (dr_json_key_is(&key, "conditions")) {
            r = dr_json_enter(j, DR_JSON_ARRAY, NULL);
            while (r >= 0 && (r = dr_json_next_element(j, NULL)) > 0) {
                r = dr_json_enter(j, DR_JSON_OBJECT, NULL);
                while (r >= 0 && (r = dr_json_next_key(j, &key, NULL)) > 0) {
                    if (dr_json_key_is(&key, "type") || dr_json_key_is(&key, "status") || dr_json_key_is(&key, "lastTransitionTime")) {
                        r = text(j, seen, &s);
                    }
                }
            }
        }
    }
    return r;
}

static int read_list(struct dr_str doc, struct seen *seen) {
    struct dr_json j;
    struct dr_json_key key;
    dr_json_init(&j, doc, 0);
    int r = dr_json_enter(&j, DR_JSON_OBJECT, NULL);
    while (r >= 0 && (r = dr_json_next_key(&j, &key, NULL)) > 0) {
        if (!dr_json_key_is(&key, "items")) {
            continue;
        }
        r = dr_json_enter(&j, DR_JSON_ARRAY, NULL);
        while (r >= 0 && (r = dr_json_next_element(&j, NULL)) > 0) {
            seen->pods++;
            r = dr_json_enter(&j, DR_JSON_OBJECT, NULL);
            while (r >= 0 && (r = dr_json_next_key(&j, &key, NULL)) > 0) {
                if (dr_json_key_is(&key, "metadata")) {
                    r = read_metadata(&j, seen);
                } else if (dr_json_key_is(&key, "spec")) {
                    r = read_spec(&j, seen);
                } else if (dr_json_key_is(&key, "status")) {
                    r = read_status(&j, seen);
                }
            }
        }
    }
    return r < 0 ? r : dr_json_end(&j, NULL);
}

BENCH(json_pod_list) {
    struct dr_buf b = make_pod_list();
    struct seen seen = {0};
    int64_t memory_before = dr_bench_peak_bytes();
    int64_t best_ns = INT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        seen = (struct seen){0};
        dr_arena_init(&seen.arena, 0);
        int64_t t = dr_bench_now_ns();
        if (read_list(dr_buf_str(&b), &seen) < 0 || seen.pending == 0 || seen.requests != 2 * seen.pods) {
            fputs("bench_json: the list was not read\n", stderr);
            exit(1);
        }
        t = dr_bench_now_ns() - t;
        best_ns = t < best_ns ? t : best_ns;
        dr_arena_deinit(&seen.arena);
    }
    int64_t memory = dr_bench_peak_bytes() - memory_before;
    dr_bench_put("json.pod_list.walk", (double)b.n / 1e6 / ((double)best_ns / 1e9), "MB/s", ">= 800");
    dr_bench_put("json.pod_list.pods", (double)seen.pods / ((double)best_ns / 1e9), "pods/s", "");
    dr_bench_put("json.pod_list.memory_beyond_buffer", (double)memory / 1e6, "MB", "<= 2");
    best_ns = INT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        struct dr_json j;
        dr_json_init(&j, dr_buf_str(&b), 0);
        int64_t t = dr_bench_now_ns();
        if (dr_json_end(&j, NULL) < 0) {
            exit(1);
        }
        t = dr_bench_now_ns() - t;
        best_ns = t < best_ns ? t : best_ns;
    }
    dr_bench_put("json.pod_list.check_only", (double)b.n / 1e6 / ((double)best_ns / 1e9), "MB/s", "");
    dr_buf_deinit(&b);
}
