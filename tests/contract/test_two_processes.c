/* Two real processes, each with the same view of a fleet below its minimum, tick on one SQLite file: exactly one of them acts. */
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapter/sqlite/sqlite.h"
#include "base/time.h"
#include "engine/tick.h"
#include "harness/test.h"
#include "sim/world.h"

enum { BOTH = 2 };

/* Both have read the same revision before either goes on: otherwise the slower one would just find the work done. */
struct meeting {
    atomic_int arrived;
};

static void meet(struct meeting *meeting) {
    atomic_fetch_add(&meeting->arrived, 1);
    while (atomic_load(&meeting->arrived) < BOTH) {
        usleep(200);
    }
}

/* The SQLite store with one change: the first load waits for the other process. */
struct met_store {
    struct dr_store inner;
    struct dr_store_ops ops;
    struct meeting *meeting;
    bool met;
};

static struct met_store met; /* ops find the rest through here: each process has one */

static int load_and_meet(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, struct dr_state *ret,
                         struct dr_err *err) {
    int result = met.inner.ops->load(self, arena, pk, deadline_ms, ret, err);
    if (!met.met) {
        met.met = true;
        meet(met.meeting);
    }
    return result;
}

struct outcome {
    enum dr_tick_outcome outcome;
    int64_t effects;
    int64_t writes;
    int64_t launches;
};

static struct outcome tick_once(const char *path, struct meeting *meeting, int process) {
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_OK(dr_sqlite_open(path, DR_SQLITE_WRITE, &handle, &err), err);
    met.inner = dr_sqlite_store(handle);
    met.ops = *met.inner.ops;
    met.ops.load = load_and_meet;
    met.meeting = meeting;

    struct dr_world_options options;
    dr_world_options_init(&options, 1);
    options.cluster = DR_STR("cluster");
    options.check = false; /* the world looks at its own store, which is not used here */
    struct dr_world *world = dr_world_new(&options, &err);
    CHECK(world != NULL);
    struct dr_world_worker worker = {.age_ms = DR_HOUR_MS};
    dr_world_add_worker(world, &worker);
    struct dr_ports ports = dr_world_ports(world, 0);
    ports.store = (struct dr_store){&met.ops, met.inner.self};

    struct dr_config cfg;
    dr_config_init(&cfg, DR_PRESET_DEFAULT);
    struct dr_arena arena;
    struct dr_arena later;
    dr_arena_init(&arena, 0);
    dr_arena_init(&later, 0);
    char request[32];
    snprintf(request, sizeof(request), "process-%d", process);
    struct dr_tick_options tick = {.request_id = dr_str_of(request), .deadline_ms = dr_world_now(world) + DR_MINUTE_MS, .later = &later};
    struct dr_tick_report report;
    dr_tick(&ports, &cfg, &tick, &arena, &report);
    struct dr_snapshot after;
    dr_world_peek(world, &after);
    struct outcome outcome = {report.outcome, report.effects, report.writes, (int64_t)after.instance_n - 1};
    dr_arena_deinit(&arena);
    dr_arena_deinit(&later);
    dr_world_free(world);
    dr_sqlite_close(handle);
    return outcome;
}

static void check_file(const char *path, const struct outcome *results) {
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_OK(dr_sqlite_open(path, DR_SQLITE_READ, &handle, &err), err);
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_state state;
    CHECK_OK(store.ops->load(store.self, &arena, DR_STR("cluster"), 0, &state, &err), err);
    CHECK(state.scaling);
    const char *actor = results[0].launches > 0 ? "process-0" : "process-1";
    CHECK_CONTAINS(state.up_action_id, actor);
    CHECK_EQ_INT(state.up_instance_ids.n, 1); /* one worker was missing, one was launched */
    CHECK_EQ_INT(state.fence, 1);
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}

TEST_TIMEOUT(sqlite, two_processes_tick_on_one_file_and_exactly_one_acts, 60) {
    struct meeting *meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(meeting != MAP_FAILED);
    atomic_init(&meeting->arrived, 0);
    char path[600];
    snprintf(path, sizeof(path), "%s/state.db", dr_test_tmpdir());
    pid_t children[BOTH];
    int pipes[BOTH][2];
    struct outcome results[BOTH];
    fflush(NULL);
    for (int i = 0; i < BOTH; i++) {
        CHECK_EQ_INT(pipe(pipes[i]), 0);
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            struct outcome outcome = tick_once(path, meeting, i);
            _exit(write(pipes[i][1], &outcome, sizeof(outcome)) == (ssize_t)sizeof(outcome) ? 0 : 1);
        }
        close(pipes[i][1]); /* a child that fails ends the read below */
    }
    for (int i = 0; i < BOTH; i++) {
        int status = 0;
        CHECK_EQ_INT(read(pipes[i][0], &results[i], sizeof(results[i])), sizeof(results[i]));
        CHECK_EQ_INT(waitpid(children[i], &status, 0), children[i]);
        CHECK_EQ_INT(status, 0);
    }
    CHECK_EQ_INT(results[0].launches + results[1].launches, 1);
    const struct outcome *idle = results[0].launches > 0 ? &results[1] : &results[0];
    CHECK_EQ_INT(idle->effects, 0);
    CHECK_EQ_INT(idle->writes, 0);
    CHECK(idle->outcome == DR_TICK_LOST || idle->outcome == DR_TICK_LEASE);
    check_file(path, results);
}
