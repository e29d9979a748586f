/* The store contract on every store that there is. */
#include <sqlite3.h>
#include <stdio.h>

#include "adapter/sqlite/sqlite.h"
#include "contract/store_contract.h"
#include "sim/world.h"

/* ---- SQLite: two handles on one file ---- */

struct sqlite_bench {
    char path[512];
    struct dr_sqlite *handles[2];
    int64_t sequence;
};

static void *sqlite_open_two(void) {
    struct sqlite_bench *bench = calloc(1, sizeof(*bench));
    struct dr_err err;
    CHECK(bench != NULL);
    snprintf(bench->path, sizeof(bench->path), "%s/state.db", dr_test_tmpdir());
    for (int i = 0; i < 2; i++) {
        CHECK_OK(dr_sqlite_open(bench->path, DR_SQLITE_WRITE, &bench->handles[i], &err), err);
    }
    return bench;
}

static struct dr_store sqlite_writer(void *self, int n) {
    struct sqlite_bench *bench = self;
    return dr_sqlite_store(bench->handles[n]);
}

static void sqlite_put_foreign(void *self, const char *json) {
    struct sqlite_bench *bench = self;
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    CHECK_EQ_INT(sqlite3_open(bench->path, &db), SQLITE_OK);
    CHECK_EQ_INT(sqlite3_prepare_v2(db, "INSERT INTO item VALUES ('cluster', 0, ?)", -1, &insert, NULL), SQLITE_OK);
    CHECK_EQ_INT(sqlite3_bind_text(insert, 1, json, -1, SQLITE_STATIC), SQLITE_OK);
    CHECK_EQ_INT(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_finalize(insert);
    sqlite3_close(db);
}

/* Time passes for this store when a row of the journal is written, of any cluster. */
static void sqlite_pass_time(void *self, int64_t now_ms) {
    struct sqlite_bench *bench = self;
    struct dr_store store = dr_sqlite_store(bench->handles[0]);
    struct dr_journal_row row = {now_ms, DR_STR("clock"), bench->sequence++, DR_STR("{}")};
    struct dr_err err;
    CHECK_OK(store.ops->journal_put(store.self, DR_STR("clock"), &row, INT64_MAX, INT64_MAX, &err), err);
}

static void sqlite_close_two(void *self) {
    struct sqlite_bench *bench = self;
    dr_sqlite_close(bench->handles[0]);
    dr_sqlite_close(bench->handles[1]);
    free(bench);
}

static const struct store_case on_sqlite = {sqlite_open_two, sqlite_writer, sqlite_put_foreign, sqlite_pass_time, sqlite_close_two};

#define ON_SQLITE(name)                                                                                                                    \
    TEST(store_sqlite, name) { store_contract_##name(&on_sqlite); }
STORE_CONTRACT_TESTS(ON_SQLITE)

/* ---- the simulator: two processes of one world ---- */

static void *sim_open(void) {
    struct dr_world_options options;
    dr_world_options_init(&options, dr_test_seed());
    options.start_ms = STORE_START_MS;
    options.cluster = DR_STR("cluster");
    options.check = false; /* items here are not those of a fleet */
    struct dr_err err;
    struct dr_world *world = dr_world_new(&options, &err);
    if (world == NULL) {
        FAIL("%s", err.text);
    }
    return world;
}

static struct dr_store sim_writer(void *self, int n) { return dr_world_ports(self, n).store; }

static void sim_put_foreign(void *self, const char *json) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_state state;
    struct dr_err err;
    CHECK_OK(dr_state_decode(&arena, dr_str_of(json), &state, &err), err);
    dr_world_put_item(self, &state);
    dr_arena_deinit(&arena);
}

static void sim_pass_time(void *self, int64_t now_ms) { CHECK(dr_world_advance(self, now_ms)); }

static void sim_close(void *self) { dr_world_free(self); }

static const struct store_case on_sim = {sim_open, sim_writer, sim_put_foreign, sim_pass_time, sim_close};

#define ON_SIM(name)                                                                                                                       \
    TEST(store_sim, name) { store_contract_##name(&on_sim); }
STORE_CONTRACT_TESTS(ON_SIM)
