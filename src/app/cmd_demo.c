/* drover demo: the whole autoscaler on an embedded world, live in the terminal or as one line per event. */

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "adapter/sqlite/sqlite.h"
#include "app/commands.h"
#include "app/demo_story.h"
#include "app/demo_view.h"
#include "app/runner.h"
#include "base/num.h"
#include "base/time.h"

#define FRAME_MS 80
#define DEFAULT_SPEED 900 /* a day in a minute and a half */
#define MAX_SPEED 100000

static const struct dr_option options[] = {
    {"speed", 0, "X", NULL, "virtual seconds per second, 1..100000 (default: 900 on a terminal, as fast as possible otherwise)"},
    {"seed", 0, "N", NULL, "another world: boot times, addresses (default 1)"},
    {"state", 's', "FILE", NULL, "keep state and journal in this SQLite file, for status, history and explain (default: in memory)"},
    DR_OPTION_END,
};

/* The one thing that a signal handler may touch. */
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signo) {
    (void)signo;
    interrupted = 1;
}

struct demo {
    struct dr_app *app;
    struct dr_world *world;
    struct dr_runner runner;
    struct dr_sqlite *file;
    struct dr_store inner; /* of the file; the world sees a copy of every item, because it checks the promises against it */
    struct dr_demo_log log;
    bool live;
    int64_t speed;
    uint64_t seed;
    int64_t tick_n;
};

static void say(struct demo *demo, int64_t now_ms, const char *text) {
    struct dr_buf line;
    dr_buf_init(&line, DR_DEMO_LINE_MAX);
    dr_time_put_clock(&line, now_ms / 1000 * 1000);
    dr_buf_putc(&line, ' ');
    dr_buf_puts(&line, text);
    dr_demo_log_put(&demo->log, line.p);
    if (!demo->live) {
        dr_app_print(demo->app, dr_buf_str(&line));
        fputc('\n', demo->app->out);
    }
    dr_buf_deinit(&line);
}

static void on_story(void *self, int64_t now_ms, const char *text) {
    struct dr_buf line;
    dr_buf_init(&line, DR_DEMO_LINE_MAX);
    dr_buf_fmt(&line, "* %s", text);
    say(self, now_ms, line.p);
    dr_buf_deinit(&line);
}

static void tell_deeds(struct demo *demo, const struct dr_plan *plan) {
    struct dr_buf line;
    dr_buf_init(&line, DR_DEMO_LINE_MAX);
    for (size_t i = 0; i < plan->deed_n; i++) {
        const struct dr_deed *deed = &plan->deeds[i];
        bool effect = !dr_str_is(deed->outcome, "written");
        bool ending = strstr(deed->what, "complete") != NULL || strstr(deed->what, "cancel") != NULL ||
                      strstr(deed->what, "fail") != NULL || strstr(deed->what, "give") != NULL || strstr(deed->what, "record") != NULL;
        if (!effect && !ending) {
            continue;
        }
        dr_buf_clear(&line);
        dr_buf_fmt(&line, "    %s %.*s", deed->what, DR_FMT(deed->target));
        if (effect && !dr_str_is(deed->outcome, "ok")) {
            dr_buf_fmt(&line, ": %.*s", DR_FMT(deed->outcome));
        }
        say(demo, deed->at_ms, line.p);
    }
    dr_buf_deinit(&line);
}

static void after_tick(struct dr_runner *runner, int process, const struct dr_tick_report *report) {
    (void)process;
    struct demo *demo = runner->self;
    const struct dr_plan *plan = &report->plan;
    demo->tick_n++;
    if (plan->decision.verdict == DR_VERDICT_SCALE_UP || plan->decision.verdict == DR_VERDICT_SCALE_DOWN) {
        struct dr_buf line;
        dr_buf_init(&line, DR_DEMO_LINE_MAX);
        dr_plan_text(plan, &line);
        say(demo, plan->at_ms, line.p);
        dr_buf_deinit(&line);
    }
    tell_deeds(demo, plan);
    runner->stop = interrupted != 0;
}

/* ---- the state file ---- */

static struct dr_store world_store(const struct demo *demo) { return demo->runner.processes[0].ports.store; }

static int file_load(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, struct dr_state *ret, struct dr_err *err) {
    struct demo *demo = self;
    return demo->inner.ops->load(demo->inner.self, arena, pk, deadline_ms, ret, err);
}

/* The world's own store gets the same writes in the same order: it checks the promises against them. */
static int file_cas(void *self, const struct dr_state *state, int64_t deadline_ms, enum dr_cas *ret, struct dr_err *err) {
    struct demo *demo = self;
    if (demo->inner.ops->cas(demo->inner.self, state, deadline_ms, ret, err) < 0) {
        return -1;
    }
    if (*ret == DR_CAS_LOST) {
        return 0;
    }
    struct dr_store store = world_store(demo);
    return store.ops->cas(store.self, state, deadline_ms, ret, err);
}

/* Events come from the world, so the inbox is the world's. */
static int world_inbox(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, const struct dr_event **ret,
                       size_t *ret_n, struct dr_err *err) {
    struct dr_store store = world_store(self);
    return store.ops->inbox(store.self, arena, pk, deadline_ms, ret, ret_n, err);
}

static int world_inbox_put(void *self, struct dr_str pk, const struct dr_event *event, int64_t deadline_ms, struct dr_err *err) {
    struct dr_store store = world_store(self);
    return store.ops->inbox_put(store.self, pk, event, deadline_ms, err);
}

static int world_inbox_handle(void *self, struct dr_str pk, struct dr_str instance_id, enum dr_event_kind kind, int64_t keep_until_ms,
                              int64_t deadline_ms, struct dr_err *err) {
    struct dr_store store = world_store(self);
    return store.ops->inbox_handle(store.self, pk, instance_id, kind, keep_until_ms, deadline_ms, err);
}

static int file_journal_put(void *self, struct dr_str pk, const struct dr_journal_row *row, int64_t expire_ms, int64_t deadline_ms,
                            struct dr_err *err) {
    struct demo *demo = self;
    return demo->inner.ops->journal_put(demo->inner.self, pk, row, expire_ms, deadline_ms, err);
}

static int file_journal_read(void *self, struct dr_arena *arena, struct dr_str pk, const struct dr_journal_query *query,
                             int64_t deadline_ms, const struct dr_journal_row **ret, size_t *ret_n, struct dr_err *err) {
    struct demo *demo = self;
    return demo->inner.ops->journal_read(demo->inner.self, arena, pk, query, deadline_ms, ret, ret_n, err);
}

static const struct dr_store_ops file_ops = {
    .load = file_load,
    .cas = file_cas,
    .inbox = world_inbox,
    .inbox_put = world_inbox_put,
    .inbox_handle = world_inbox_handle,
    .journal_put = file_journal_put,
    .journal_read = file_journal_read,
};

/* A story begins at its beginning: an item of an earlier run would describe machines that this world does not have. */
static int open_file(struct demo *demo, const char *path, struct dr_err *err) {
    if (dr_sqlite_open(path, DR_SQLITE_WRITE, &demo->file, err) < 0) {
        return -1;
    }
    demo->inner = dr_sqlite_store(demo->file);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_state state;
    int r = demo->inner.ops->load(demo->inner.self, &arena, demo->runner.cfg.cluster, INT64_MAX, &state, err);
    if (r == 0 && state.exists) {
        struct dr_state fresh;
        enum dr_cas outcome;
        dr_state_init(&fresh, demo->runner.cfg.cluster);
        fresh.revision = state.revision;
        r = demo->inner.ops->cas(demo->inner.self, &fresh, INT64_MAX, &outcome, err);
        fresh.revision++;
        dr_world_put_item(demo->world, &fresh);
    }
    dr_arena_deinit(&arena);
    demo->runner.store = (struct dr_store){&file_ops, demo};
    return r;
}

/* ---- running ---- */

static int64_t real_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void draw(struct demo *demo, struct dr_buf *frame) {
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    (void)ioctl(fileno(demo->app->out), TIOCGWINSZ, &size);
    struct dr_demo_picture picture = {
        .world = demo->world,
        .cfg = &demo->runner.cfg,
        .state = dr_world_item(demo->world),
        .log = &demo->log,
        .speed = demo->speed,
        .seed = demo->seed,
        .width = (int)dr_clamp_i64(size.ws_col == 0 ? 80 : size.ws_col, 1, 200),
        .height = (int)dr_clamp_i64(size.ws_row == 0 ? 24 : size.ws_row, 1, 60),
        .colour = demo->app->colour,
    };
    dr_buf_clear(frame);
    dr_demo_draw(&picture, frame);
    fputs("\x1b[H", demo->app->out);
    for (const char *p = frame->p; *p != '\0'; p++) {
        if (*p == '\n') {
            fputs("\x1b[K\r", demo->app->out);
        }
        fputc(*p, demo->app->out);
    }
    fputs("\x1b[K\x1b[J", demo->app->out);
    fflush(demo->app->out);
}

/* Virtual time follows real time at the given speed; the picture is drawn a dozen times a second. */
static bool run_paced(struct demo *demo, int64_t end_ms) {
    struct dr_buf frame;
    dr_buf_init(&frame, (size_t)256 << 10);
    bool held = true;
    int64_t begin_ms = dr_world_now(demo->world);
    int64_t begin_real_ms = real_ms();
    if (demo->live) {
        fputs("\x1b[?1049h\x1b[?25l", demo->app->out);
    }
    while (held && !interrupted && dr_world_now(demo->world) < end_ms) {
        int64_t target_ms = begin_ms + (real_ms() - begin_real_ms) * demo->speed;
        held = dr_runner_run(&demo->runner, dr_min_i64(target_ms, end_ms));
        if (demo->live) {
            draw(demo, &frame);
        }
        (void)usleep(FRAME_MS * 1000);
    }
    if (demo->live) {
        fputs("\x1b[?25h\x1b[?1049l", demo->app->out);
    }
    dr_buf_deinit(&frame);
    return held;
}

static void print_money(FILE *out, const char *label, int64_t micro_usd) {
    fprintf(out, "%s$%lld.%02lld", label, (long long)(micro_usd / 1000000), (long long)(micro_usd / 10000 % 100));
}

static void print_summary(struct demo *demo, int64_t begin_ms) {
    FILE *out = demo->app->out;
    struct dr_world_stats stats = dr_world_stats(demo->world);
    struct dr_buf span;
    dr_buf_init(&span, 128);
    dr_time_put_span(&span, dr_world_now(demo->world) - begin_ms);
    fprintf(out, "\n%s of virtual time, %lld ticks\n", span.p, (long long)demo->tick_n);
    fprintf(out, "  machines   %lld launched, %lld removed, %lld reclaimed by EC2, at most %lld at once\n", (long long)stats.launches,
            (long long)stats.terminations, (long long)stats.interruptions, (long long)stats.peak_workers);
    fprintf(out, "  pods       %lld moved, %lld lost, ", (long long)stats.evictions, (long long)stats.lost_pods);
    dr_buf_clear(&span);
    dr_time_put_span(&span, stats.pending_pod_ms);
    fprintf(out, "%s of waiting in all\n", span.p);
    int64_t cost = stats.cost_on_demand_micro_usd + stats.cost_spot_micro_usd;
    print_money(out, "  cost       ", cost);
    print_money(out, " (spot ", stats.cost_spot_micro_usd);
    print_money(out, "); a fixed fleet for the peak: ", stats.cost_fixed_micro_usd);
    int64_t saved = stats.cost_fixed_micro_usd > 0 ? (stats.cost_fixed_micro_usd - cost) * 100 / stats.cost_fixed_micro_usd : 0;
    fprintf(out, ", saved %lld %%\n", (long long)saved);
    const char *violation = dr_world_violation(demo->world);
    fprintf(out, "  promises   %s\n", violation == NULL ? "all held" : violation);
    dr_buf_deinit(&span);
}

/* 0 where the option is absent. -1: wrong. */
static int64_t positive(const char *text, int64_t max) {
    int64_t value = 0;
    if (text == NULL) {
        return 0;
    }
    return dr_str_to_i64(dr_str_of(text), &value) && value >= 1 && value <= max ? value : -1;
}

static int play(struct demo *demo, const char *path) {
    struct dr_err err;
    struct dr_demo_teller teller = {.tell = on_story, .self = demo};
    if (dr_demo_fill(demo->world, &teller, &err) < 0 || (path != NULL && open_file(demo, path, &err) < 0)) {
        return dr_app_fail(demo->app, DR_EXIT_FAILED, "%s", err.text);
    }
    struct sigaction action = {.sa_handler = on_interrupt};
    struct sigaction before;
    interrupted = 0;
    (void)sigaction(SIGINT, &action, &before);
    int64_t begin_ms = dr_world_now(demo->world);
    int64_t end_ms = begin_ms + DR_DEMO_HOURS * DR_HOUR_MS;
    bool held = demo->speed > 0 ? run_paced(demo, end_ms) : dr_runner_run(&demo->runner, end_ms);
    (void)sigaction(SIGINT, &before, NULL);
    print_summary(demo, begin_ms);
    if (path != NULL) {
        fprintf(demo->app->out, "  look       drover status, history, explain --state %s\n", path);
    }
    return held ? DR_EXIT_OK : DR_EXIT_FAILED;
}

static int run(struct dr_app *app, const struct dr_args *args) {
    int64_t speed = positive(dr_args_get(args, "speed"), MAX_SPEED);
    int64_t seed = positive(dr_args_get(args, "seed"), INT64_MAX);
    if (speed < 0 || seed < 0) {
        return dr_app_fail(app, DR_EXIT_USAGE, "--%s: %s: a whole number from 1%s is allowed", speed < 0 ? "speed" : "seed",
                           dr_args_get(args, speed < 0 ? "speed" : "seed"), speed < 0 ? " to 100000" : "");
    }
    struct demo *demo = DR_NEW(app->arena, struct demo);
    demo->app = app;
    demo->live = app->terminal;
    demo->speed = speed > 0 ? speed : app->terminal ? DEFAULT_SPEED : 0;
    demo->seed = seed > 0 ? (uint64_t)seed : 1;
    struct dr_world_options world_options;
    struct dr_config cfg;
    struct dr_err err;
    dr_demo_options(demo->seed, &world_options, &cfg);
    demo->world = dr_world_new(&world_options, &err);
    if (demo->world == NULL) {
        return dr_app_fail(app, DR_EXIT_FAILED, "%s", err.text);
    }
    dr_runner_init(&demo->runner, demo->world, &cfg);
    demo->runner.self = demo;
    demo->runner.after_tick = after_tick;
    int code = play(demo, dr_args_get(args, "state"));
    dr_runner_deinit(&demo->runner);
    dr_world_free(demo->world);
    dr_sqlite_close(demo->file);
    return code;
}

const struct dr_command dr_cmd_demo = {
    .name = "demo",
    .summary = "the whole autoscaler on an embedded world: a day with a flash sale, lost spot machines and a quiet night",
    .operands = "",
    .details = "Ctrl-C ends it and prints the summary. With --state FILE the decisions can be looked at while it runs:\n"
               "drover status, history and explain on the same file.\n",
    .options = options,
    .run = run,
};
