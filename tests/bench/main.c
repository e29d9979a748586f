/* Runs the benchmarks and prints a table: drover_bench [--json FILE] [NAME...] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/bench.h"

enum { MAX_RESULTS = 256, MAX_BENCHES = 64 };

struct result {
    char metric[64];
    char unit[24];
    char aim[32];
    double value;
};

/* Shared with the children, which write their lines into it. */
struct results {
    size_t n;
    struct result v[MAX_RESULTS];
};

static struct dr_bench *registered;
static struct results *results;

void dr_bench_register(struct dr_bench *bench) {
    bench->next = registered;
    registered = bench;
}

void dr_bench_put(const char *metric, double value, const char *unit, const char *aim) {
    if (results->n < MAX_RESULTS) {
        struct result *r = &results->v[results->n++];
        snprintf(r->metric, sizeof r->metric, "%s", metric);
        snprintf(r->unit, sizeof r->unit, "%s", unit);
        snprintf(r->aim, sizeof r->aim, "%s", aim);
        r->value = value;
    }
}

int64_t dr_bench_now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t dr_bench_peak_bytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)usage.ru_maxrss * 1024;
}

static int compare(const void *a, const void *b) {
    const struct dr_bench *const *x = a;
    const struct dr_bench *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int run(const struct dr_bench *bench) {
    size_t from = results->n;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        bench->run();
        fflush(NULL);
        _exit(0);
    }
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        printf("%-38s failed\n", bench->name);
        return 1;
    }
    for (size_t i = from; i < results->n; i++) {
        const struct result *r = &results->v[i];
        printf("%-38s %16.*f %-10s %s%s\n", r->metric, r->value < 100 ? 2 : 0, r->value, r->unit, r->aim[0] != '\0' ? "aim " : "", r->aim);
    }
    fflush(stdout);
    return 0;
}

static int write_json(const char *path) {
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        perror(path);
        return 1;
    }
    fputs("[\n", f);
    for (size_t i = 0; i < results->n; i++) {
        const struct result *r = &results->v[i];
        fprintf(f, "  {\"metric\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"aim\": \"%s\"}%s\n", r->metric, r->value, r->unit, r->aim,
                i + 1 < results->n ? "," : "");
    }
    fputs("]\n", f);
    return fclose(f) == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    const char *json = NULL;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--json") == 0) {
        json = argv[2];
        first = 3;
    }
    results = mmap(NULL, sizeof *results, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED) {
        perror("drover_bench");
        return 1;
    }
    const struct dr_bench *sorted[MAX_BENCHES];
    size_t n = 0;
    for (const struct dr_bench *b = registered; b != NULL && n < MAX_BENCHES; b = b->next) {
        sorted[n++] = b;
    }
    qsort(sorted, n, sizeof(struct dr_bench *), compare);
    int failed = 0;
    for (size_t i = 0; i < n; i++) {
        int wanted = first == argc;
        for (int k = first; k < argc; k++) {
            wanted |= strstr(sorted[i]->name, argv[k]) != NULL;
        }
        failed |= wanted ? run(sorted[i]) : 0;
    }
    return json != NULL ? failed | write_json(json) : failed;
}
