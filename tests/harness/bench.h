#ifndef DR_BENCH_H
#define DR_BENCH_H

/*
 * Benchmarks: in any file under tests/bench,
 *
 *     BENCH(json_pod_list) { ... dr_bench_put("json.pod_list", 1234.5, "MB/s", ">= 800"); }
 *
 * Each runs in a process of its own, so that peak memory is its own. Figures are reported, never asserted: a time says something about the machine too.
 */

#include <stdint.h>

struct dr_bench {
    const char *name;
    void (*run)(void);
    struct dr_bench *next;
};

void dr_bench_register(struct dr_bench *bench);

/* One line of the table. `aim` is what we want to see, "" where there is no aim. */
void dr_bench_put(const char *metric, double value, const char *unit, const char *aim);

/* Monotonic time. */
int64_t dr_bench_now_ns(void);

/* Peak resident memory of this process so far. */
int64_t dr_bench_peak_bytes(void);

#define BENCH(name_)                                                                                                                       \
    static void dr_bench_run_##name_(void);                                                                                                \
    static struct dr_bench dr_bench_##name_ = {#name_, dr_bench_run_##name_, 0};                                                           \
    __attribute__((constructor)) static void dr_bench_add_##name_(void) { dr_bench_register(&dr_bench_##name_); }                          \
    static void dr_bench_run_##name_(void)

#endif
