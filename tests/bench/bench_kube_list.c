/*
 * A cluster of 5,000 nodes and 150,000 pods as the pages that an API server would send, made one at a time. Only reading is measured; peak memory is that of everything,
 * the page in hand included, as when it comes from the network.
 */
#include <time.h>

#include "adapter/kubernetes/read.h"
#include "bench/cluster.h"
#include "harness/bench.h"

enum { PAGE = 500 };

static void make_page(struct dr_buf *b, enum dr_bench_kind kind, int from) {
    bool nodes = kind == DR_BENCH_NODES;
    dr_buf_clear(b);
    dr_bench_put_page_head(b, kind, from + PAGE, nodes ? dr_bench_large.nodes : dr_bench_large.pods);
    for (int i = from; i < from + PAGE; i++) {
        dr_buf_puts(b, i > from ? "," : "");
        (nodes ? dr_bench_put_node : dr_bench_put_pod)(b, &dr_bench_large, i);
    }
    dr_buf_puts(b, DR_BENCH_PAGE_TAIL);
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
    for (int i = 0; i < dr_bench_large.nodes; i += PAGE) {
        make_page(b, DR_BENCH_NODES, i);
        int64_t start = cpu_ns();
        int r = dr_kube_nodes_page(&nodes, dr_buf_str(b), &page, &err);
        total->ns += cpu_ns() - start;
        total->bytes += (int64_t)b->n;
        DR_ASSERT(r == 0 && (page.next.n == 0) == (i + PAGE == dr_bench_large.nodes));
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
    for (int i = 0; i < dr_bench_large.pods; i += PAGE) {
        make_page(b, DR_BENCH_PODS, i);
        int64_t start = cpu_ns();
        int r = dr_kube_pods_page(&pods, dr_buf_str(b), &page, &err);
        total->ns += cpu_ns() - start;
        total->bytes += (int64_t)b->n;
        DR_ASSERT(r == 0 && (page.next.n == 0) == (i + PAGE == dr_bench_large.pods));
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
    DR_ASSERT(node_n == (size_t)dr_bench_large.nodes && pod_n == (size_t)dr_bench_large.pods);
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
