/*
 * A daemon with nothing to do: the passes of `drover run` on the real adapters, against a quiet cluster in another process. The wall clock moves by the pause between passes,
 * so that 10,000 of them are three and a half days with all that comes hourly; connections and watches stay open as they would.
 */
#include <malloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/daemon.h"
#include "app/live.h"
#include "app/session.h"
#include "base/time.h"
#include "bench/clock.h"
#include "bench/quiet.h"
#include "harness/bench.h"

enum { TICKS = 10000, WARM = 100 };     /* at both the watches are equally old */
enum { PIECES = 6 };                    /* a wait of 30 s ends this often for a moment (src/app/process.c) */
#define BEGIN_MS INT64_C(1794787200000) /* 2026-11-16: the cluster's objects are older, whatever this machine's clock says */
#define OUTDATED_MS DR_MINUTE_MS        /* as in src/app/cmd_run.c */

struct sample {
    double cpu_s;
    double resident_kib;
    /* In use by what malloc says, which counts what it keeps at hand for the thread; exact with GLIBC_TUNABLES=glibc.malloc.tcache_count=0. */
    double heap_kib;
    double sqlite_kib; /* of it by SQLite, which keeps pages of the journal */
    int64_t calls;
};

struct idle {
    char dir[64];
    struct dr_arena arena;
    struct dr_settings settings;
    struct dr_process process;
    struct dr_live live;
    struct dr_daemon daemon;
    struct dr_log log;
    char endpoint[64];
    const char *env[5];
    int64_t now_ms; /* the daemon's monotonic time */
    int64_t outdated_ms;
    int64_t writes;
    int64_t lines;
    struct sample warm;
    struct sample end;
};

static _Noreturn void give_up(const char *what, struct dr_str why) {
    fprintf(stderr, "bench_daemon: %s: %.*s\n", what, DR_FMT(why));
    exit(1);
}

/* ---- measuring ---- */

static struct sample take_sample(const struct idle *idle) {
    struct rusage usage;
    unsigned long size = 0;
    unsigned long resident = 0;
    double page_kib = (double)sysconf(_SC_PAGESIZE) / 1024;
    struct mallinfo2 heap = mallinfo2();
    FILE *file = fopen("/proc/self/statm", "re");
    DR_ASSERT(file != NULL && fscanf(file, "%lu %lu", &size, &resident) == 2);
    (void)fclose(file);
    (void)getrusage(RUSAGE_SELF, &usage);
    return (struct sample){
        .cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
        .resident_kib = (double)resident * page_kib,
        .heap_kib = (double)(heap.uordblks + heap.hblkhd) / 1024,
        .sqlite_kib = (double)sqlite3_memory_used() / 1024,
        .calls = dr_http_stats(idle->live.http).calls,
    };
}

/* Anything but a pass that saw everything and wanted nothing would be another measurement. */
static void after_tick(void *self, const struct dr_tick_report *report) {
    struct idle *idle = self;
    const struct dr_plan *plan = &report->plan;
    bool quiet = report->outcome == DR_TICK_DONE && plan->decision.verdict == DR_VERDICT_NOOP &&
                 plan->decision.reason == DR_REASON_WITHIN_LIMITS && plan->unknown.n == 0 && report->effects == 0 &&
                 plan->live == dr_bench_quiet_cluster.nodes;
    if (!quiet) {
        struct dr_buf text;
        dr_buf_init(&text, 0);
        dr_buf_fmt(&text, "pass %llu ended with %s: %s: ", (unsigned long long)idle->daemon.tick_n, dr_tick_outcome_name(report->outcome),
                   report->err.text);
        dr_plan_explain(plan, &text);
        give_up("not idle", dr_buf_str(&text));
    }
    idle->writes += report->writes;
}

static void put_figures(const struct idle *idle) {
    double ticks = TICKS - WARM;
    double cpu_s = (idle->end.cpu_s - idle->warm.cpu_s) / ticks;
    double per_hour = (double)DR_HOUR_MS / (double)idle->settings.cfg.interval_ms;
    dr_bench_put("daemon.ticks", TICKS, "noops", "");
    dr_bench_put("daemon.cpu_per_tick", cpu_s * 1000, "ms", "");
    dr_bench_put("daemon.cpu_per_hour", cpu_s * per_hour, "s", "");
    dr_bench_put("daemon.calls_per_tick", (double)(idle->end.calls - idle->warm.calls) / ticks, "calls", "");
    dr_bench_put("daemon.writes_per_hour", (double)idle->writes / TICKS * per_hour, "writes", "");
    dr_bench_put("daemon.connections", (double)dr_http_stats(idle->live.http).connections, "in total", "");
    dr_bench_put("daemon.memory_after_100", idle->warm.resident_kib, "KiB", "");
    dr_bench_put("daemon.memory_after_10000", idle->end.resident_kib, "KiB", "");
    dr_bench_put("daemon.memory_growth", idle->end.resident_kib - idle->warm.resident_kib, "KiB", "0");
    dr_bench_put("daemon.heap_growth", idle->end.heap_kib - idle->warm.heap_kib, "KiB", "");
    dr_bench_put("daemon.heap_growth_sqlite", idle->end.sqlite_kib - idle->warm.sqlite_kib, "KiB", "");
}

/* ---- the daemon's surroundings ---- */

static int64_t monotonic_ms(void *self) { return ((struct idle *)self)->now_ms; }

static unsigned look_at_watch(struct idle *idle) {
    struct dr_kube_watch_seen seen;
    dr_kube_watch_turn(idle->live.watch, &seen);
    return (seen.unschedulable ? DR_WAKE_POD : 0u) | (seen.nodes ? DR_WAKE_NODE : 0u);
}

/* Instead of waiting the clock is moved; what happens while one waits happens all the same. */
static unsigned wait_for_it(void *self, int64_t until_ms) {
    struct idle *idle = self;
    unsigned seen = 0;
    if (idle->daemon.tick_n == WARM && idle->warm.resident_kib == 0) {
        idle->warm = take_sample(idle);
    }
    if (idle->daemon.tick_n == TICKS) {
        return DR_WAKE_STOP;
    }
    if (until_ms > idle->now_ms) {
        dr_bench_clock_move(until_ms - idle->now_ms);
        idle->now_ms = until_ms;
    }
    for (int i = 0; i < PIECES; i++) {
        (void)dr_http_poll(idle->live.http, 0, -1);
        seen |= look_at_watch(idle);
    }
    if (idle->now_ms >= idle->outdated_ms) {
        idle->outdated_ms = idle->now_ms + OUTDATED_MS;
        if (dr_live_outdated(&idle->live, false)) {
            give_up("not idle", DR_STR("a secret or a server changed"));
        }
    }
    return seen;
}

static int never_reload(void *self, struct dr_daemon *daemon) {
    (void)self, (void)daemon;
    return -1;
}

static const struct dr_daemon_ops ops = {monotonic_ms, wait_for_it, never_reload};

static void count_line(void *self, const char *line, size_t n) {
    (void)line, (void)n;
    ((struct idle *)self)->lines++;
}

/* ---- start and end ---- */

static struct dr_str write_file(struct idle *idle, const char *name, struct dr_str text) {
    struct dr_str path = dr_str_fmt(&idle->arena, "%s/%s", idle->dir, name);
    FILE *file = fopen(path.p, "we");
    DR_ASSERT(file != NULL && fwrite(text.p, 1, text.n, file) == text.n && fclose(file) == 0);
    return path;
}

static struct dr_str write_kubeconfig(struct idle *idle, int port, struct dr_str token) {
    return write_file(idle, "kubeconfig",
                      dr_str_fmt(&idle->arena,
                                 "apiVersion: v1\n"
                                 "kind: Config\n"
                                 "current-context: c\n"
                                 "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                                 "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:%d'}}]\n"
                                 "users: [{name: u, user: {tokenFile: '%s'}}]\n",
                                 port, token.p));
}

static void load_settings(struct idle *idle, int port) {
    struct dr_str token = write_file(idle, "token", DR_STR("0123456789abcdef\n"));
    struct dr_str kubeconfig = write_kubeconfig(idle, port, token);
    struct dr_str yaml = dr_str_fmt(&idle->arena,
                                    "cluster: bench\n"
                                    "interval: 30s\n"
                                    "minWorkers: 10\n"
                                    "maxWorkers: 100\n"
                                    "state: {file: '%s/state.db'}\n"
                                    "aws: {region: eu-west-1}\n"
                                    "ec2: {launchTemplate: lt-1, subnets: [subnet-1, subnet-2, subnet-3]}\n"
                                    "kubernetes: {kubeconfig: '%s'}\n"
                                    "prometheus: {url: 'http://127.0.0.1:%d', token: 'file:%s'}\n",
                                    idle->dir, kubeconfig.p, port, token.p);
    struct dr_str file = write_file(idle, "drover.yaml", yaml);
    struct dr_reports *reports = DR_NEW(&idle->arena, struct dr_reports);
    dr_reports_init(reports, &idle->arena, file.p);
    if (dr_settings_load(&idle->settings, &idle->arena, &(struct dr_settings_source){file.p, NULL, idle->env}, reports) < 0) {
        struct dr_buf text;
        dr_buf_init(&text, 0);
        dr_reports_put(reports, &text);
        give_up("settings", dr_buf_str(&text));
    }
}

static void open_world(struct idle *idle, int port) {
    struct dr_err err = {.code = DR_OK};
    (void)snprintf(idle->endpoint, sizeof idle->endpoint, "AWS_ENDPOINT_URL=http://127.0.0.1:%d", port);
    idle->env[0] = "HOME=/nonexistent";
    idle->env[1] = "AWS_ACCESS_KEY_ID=a";
    idle->env[2] = "AWS_SECRET_ACCESS_KEY=b";
    idle->env[3] = idle->endpoint;
    load_settings(idle, port);
    if (dr_process_init(&idle->process, false, &err) < 0 ||
        dr_live_init(&idle->live, &idle->settings, idle->env, &idle->process, &err) < 0 ||
        dr_live_open(&idle->live, DR_LIVE_TICK | DR_LIVE_WATCH, &err) < 0) {
        give_up("start", dr_str_of(err.text));
    }
    idle->live.ports.notify = dr_session_notify(&idle->log);
}

static void set_daemon(struct idle *idle) {
    idle->log = (struct dr_log){.min_level = DR_LOG_INFO, .write = count_line, .self = idle};
    dr_daemon_init(&idle->daemon);
    idle->daemon.ops = &ops;
    idle->daemon.self = idle;
    idle->daemon.ports = &idle->live.ports;
    idle->daemon.cfg = &idle->settings.cfg;
    idle->daemon.log = &idle->log;
    idle->daemon.batch_ms = idle->settings.live.batch_ms;
    idle->daemon.name = dr_live_name(&idle->live);
    idle->daemon.after_tick = after_tick;
}

static void close_world(struct idle *idle) {
    static const char *const names[] = {"token", "kubeconfig", "drover.yaml", "state.db", "state.db-wal", "state.db-shm"};
    dr_live_deinit(&idle->live);
    dr_process_deinit(&idle->process);
    dr_daemon_deinit(&idle->daemon);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)unlink(dr_str_fmt(&idle->arena, "%s/%s", idle->dir, names[i]).p);
    }
    (void)rmdir(idle->dir);
    dr_arena_deinit(&idle->arena);
}

BENCH(daemon) {
    static struct dr_bench_quiet quiet;
    static struct idle idle = {.dir = "/tmp/drover-bench-XXXXXX"};
    struct dr_bench_site site = dr_bench_quiet_site(&quiet);
    struct dr_bench_server server;
    dr_bench_server_start(&server, &site);
    dr_arena_init(&idle.arena, 0);
    DR_ASSERT(mkdtemp(idle.dir) != NULL);
    dr_bench_clock_set(BEGIN_MS);
    open_world(&idle, server.port);
    set_daemon(&idle);
    dr_daemon_run(&idle.daemon);
    idle.end = take_sample(&idle);
    DR_ASSERT(idle.lines >= TICKS);
    if (dr_kube_watch_why(idle.live.watch).n > 0) {
        give_up("watch", dr_kube_watch_why(idle.live.watch));
    }
    put_figures(&idle);
    close_world(&idle);
    dr_bench_server_stop(&server);
}
