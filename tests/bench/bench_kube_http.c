/*
 * The cluster of bench_kube_list.c once more, now served as paged lists over HTTP and read by the whole adapter. The server is a process of its own: time of the
 * processor and peak memory are those of a process that only reads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "adapter/kubernetes/kubernetes.h"
#include "app/process.h"
#include "bench/cluster.h"
#include "harness/bench.h"

enum { DEADLINE_MS = 600000 };

static void prepare(void *self) { dr_bench_lists_make(self); }

static bool answer(void *self, struct dr_bench_serving *serving, const struct dr_bench_request *request, struct dr_bench_answer *ret) {
    (void)serving;
    return dr_bench_lists_answer(self, request->target, ret);
}

static struct dr_kubernetes *open_adapter(struct dr_http *http, struct dr_process *process, int port) {
    struct dr_kubernetes *kube = NULL;
    struct dr_err err;
    char url[64];
    int n = snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    struct dr_kubernetes_options options = {
        .http = http, .clock = dr_process_clock(process), .server = {url, (size_t)n}, .token = DR_STR("0123456789abcdef"), .seed = 1};
    DR_ASSERT(dr_kubernetes_open(&options, &kube, &err) == 0);
    return kube;
}

struct spent {
    double wall;
    double user;
    double system;
};

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

static struct spent so_far(void) {
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (struct spent){(double)dr_bench_now_ns() / 1e9, seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

static struct spent observe(struct dr_kubernetes *kube, struct dr_process *process, struct dr_arena *arena) {
    struct dr_cluster port = dr_kubernetes_cluster(kube);
    struct dr_snapshot snap = {.now_ms = dr_process_now_ms(process)};
    struct spent before = so_far();
    port.ops->observe(port.self, arena, snap.now_ms + DEADLINE_MS, &snap);
    struct spent after = so_far();
    const struct dr_part *parts[] = {&snap.nodes_part, &snap.pods_part, &snap.budgets_part};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!parts[i]->known) {
            fprintf(stderr, "bench_kube_http: %.*s\n", DR_FMT(parts[i]->why));
            exit(1);
        }
    }
    DR_ASSERT(snap.node_n == (size_t)dr_bench_large.nodes && snap.pod_n == (size_t)dr_bench_large.pods);
    return (struct spent){after.wall - before.wall, after.user - before.user, after.system - before.system};
}

static void put_figures(const struct spent *spent, const struct dr_http_stats *stats) {
    double mb = (double)stats->bytes_in / 1e6;
    dr_bench_put("kube.http_time", spent->wall * 1000, "ms", "");
    dr_bench_put("kube.http_speed", mb / spent->wall, "MB/s", "");
    dr_bench_put("kube.http_cpu", mb / (spent->user + spent->system), "MB/s", "");
    dr_bench_put("kube.http_cpu_user", mb / spent->user, "MB/s", ">= 800");
    dr_bench_put("kube.http_size", mb, "MB", "");
    dr_bench_put("kube.http_pages", (double)stats->calls, "calls", "");
    dr_bench_put("kube.http_connections", (double)stats->connections, "", "");
    dr_bench_put("kube.http_peak", (double)dr_bench_peak_bytes() / 1e6, "MB", "<= 64");
}

BENCH(kube_http) {
    struct dr_bench_lists lists = {.cluster = dr_bench_large};
    struct dr_bench_server server;
    struct dr_process process;
    struct dr_arena arena;
    struct dr_err err;
    dr_bench_server_start(&server, &(struct dr_bench_site){prepare, answer, &lists});
    dr_arena_init(&arena, 0);
    DR_ASSERT(dr_process_init(&process, false, &err) == 0);
    struct dr_http *http = dr_http_new(&err);
    DR_ASSERT(http != NULL);
    struct dr_kubernetes *kube = open_adapter(http, &process, server.port);
    struct spent spent = observe(kube, &process, &arena);
    struct dr_http_stats stats = dr_http_stats(http);
    put_figures(&spent, &stats);
    dr_kubernetes_close(kube);
    dr_http_free(http);
    dr_process_deinit(&process);
    dr_arena_deinit(&arena);
    dr_bench_server_stop(&server);
}
