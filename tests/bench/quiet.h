#ifndef DR_BENCH_QUIET_H
#define DR_BENCH_QUIET_H

/* A quiet cluster of 50 workers and 500 pods behind one address: the APIs of EC2, Kubernetes (lists and watches) and Prometheus, as a daemon asks for them. */

#include "bench/cluster.h"

struct dr_bench_quiet {
    struct dr_bench_lists lists;
    struct dr_buf instances;
    int passes; /* seen so far, by the lists of Nodes */
};

/* Fills `quiet`, which must outlive the start of the server. */
struct dr_bench_site dr_bench_quiet_site(struct dr_bench_quiet *quiet);
extern const struct dr_bench_cluster dr_bench_quiet_cluster;

#endif
