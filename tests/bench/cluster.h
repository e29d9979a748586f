#ifndef DR_BENCH_CLUSTER_H
#define DR_BENCH_CLUSTER_H

/* A cluster as its API server would tell it: Nodes, pods and budgets in the shape and size that K3s gives them, and lists of them in pages. */

#include "bench/server.h"

struct dr_bench_cluster {
    int nodes;
    int pods;
    int apps; /* pods of one app stand together, as lists are in the order of namespace and name */
};

extern const struct dr_bench_cluster dr_bench_large; /* 5,000 nodes, 150,000 pods */

void dr_bench_put_node(struct dr_buf *b, const struct dr_bench_cluster *cluster, int i);
void dr_bench_put_pod(struct dr_buf *b, const struct dr_bench_cluster *cluster, int i);
/* The budget of app `i`. */
void dr_bench_put_budget(struct dr_buf *b, const struct dr_bench_cluster *cluster, int i);

enum dr_bench_kind { DR_BENCH_NODES, DR_BENCH_PODS, DR_BENCH_BUDGETS, DR_BENCH_KIND_N };

/* Everything before the first object of a page that ends before object `to`. */
void dr_bench_put_page_head(struct dr_buf *b, enum dr_bench_kind kind, int to, int total);
#define DR_BENCH_PAGE_TAIL "]}\n"

/* All objects in a file without a name, so that a page is a piece of it. */
struct dr_bench_lists {
    struct dr_bench_cluster cluster;
    int fd;
    struct {
        int n;
        off_t *at; /* of each object, and of the end behind the last; a comma stands behind each */
    } of[DR_BENCH_KIND_N];
};

void dr_bench_lists_make(struct dr_bench_lists *lists);
/* The page that a path with `limit` and `continue` asks for. False: it asks for something else. */
bool dr_bench_lists_answer(const struct dr_bench_lists *lists, struct dr_str target, struct dr_bench_answer *ret);

#endif
