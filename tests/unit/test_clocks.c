#include "core/decision.h"

#include "decision_world.h"
#include "harness/test.h"

static bool update(struct world *w) {
    dr_view_build(&w->arena, &w->cfg, &w->state, &w->snap, &w->view);
    struct dr_state next;
    bool changed = dr_clocks_update(&w->arena, &w->view, &next);
    w->state = next;
    return changed;
}

/* Moves on and looks at the same signals again: their samples are those of the new time. */
static bool update_after(struct world *w, int64_t seconds, int64_t cpu) {
    w->snap.now_ms += seconds * DR_SECOND_MS;
    world_percent(w, DR_SIGNAL_AT_CPU, cpu);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 20);
    return update(w);
}

static int64_t now_epoch(const struct world *w) { return w->snap.now_ms / DR_SECOND_MS; }

static struct world *idle_world(enum dr_preset preset) {
    struct world *w = world_new(preset);
    world_workers(w, 4);
    world_percent(w, DR_SIGNAL_AT_CPU, 10);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 20);
    return w;
}

TEST(idle_clock, starts_runs_and_stops) {
    struct world *w = idle_world(DR_PRESET_DEFAULT);
    CHECK(update(w));
    CHECK_EQ_INT(w->state.idle_since_epoch, WORLD_NOW_EPOCH);
    CHECK_EQ_INT(w->view.idle_ms, 0);
    CHECK(update_after(w, 120, 10));
    CHECK_EQ_INT(w->state.idle_since_epoch, WORLD_NOW_EPOCH);
    CHECK_EQ_INT(w->state.idle_seen_epoch, WORLD_NOW_EPOCH + 120);
    CHECK_EQ_INT(w->view.idle_ms, 120000);
    CHECK(update_after(w, 120, 30));
    CHECK_EQ_INT(w->state.idle_since_epoch, 0);
    CHECK_EQ_INT(w->view.idle_ms, 0);
    world_free(w);
}

TEST(idle_clock, unknown_restarts_it) {
    struct world *w = idle_world(DR_PRESET_DEFAULT);
    update(w);
    update_after(w, 120, WORLD_UNKNOWN);
    CHECK_EQ_INT(w->state.idle_since_epoch, 0);
    update_after(w, 120, 10);
    CHECK_EQ_INT(w->state.idle_since_epoch, WORLD_NOW_EPOCH + 240);
    world_free(w);
}

TEST(idle_clock, outage_is_not_idleness) {
    struct world *w = idle_world(DR_PRESET_DEFAULT);
    update(w);
    update_after(w, 300, 10); /* 2.5 intervals are still no gap */
    CHECK_EQ_INT(w->state.idle_since_epoch, WORLD_NOW_EPOCH);
    update_after(w, 301, 10);
    CHECK_EQ_INT(w->state.idle_since_epoch, WORLD_NOW_EPOCH + 601);
    world_free(w);
}

TEST(idle_clock, completed_action_restarts_it) {
    struct world *w = idle_world(DR_PRESET_DEFAULT);
    update(w);
    update_after(w, 120, 10);
    w->state.last_scale_epoch = WORLD_NOW_EPOCH + 130;
    update_after(w, 120, 10);
    CHECK_EQ_INT(w->state.idle_since_epoch, WORLD_NOW_EPOCH + 240);
    update_after(w, 120, 10);
    CHECK_EQ_INT(w->state.idle_since_epoch, WORLD_NOW_EPOCH + 240);
    world_free(w);
}

TEST(idle_clock, does_not_run_while_a_custom_signal_asks_for_more) {
    struct world *w = idle_world(DR_PRESET_LAYERED);
    world_signal(w, DR_SIGNAL_AT_CUSTOM, 101 * INT64_C(1000000), DR_DAY_MS, 0);
    update(w);
    CHECK_EQ_INT(w->view.low, DR_YES);
    CHECK_EQ_INT(w->state.idle_since_epoch, 0);
    world_free(w);
}

TEST(idle_clock, clock_that_jumped_back_restarts_it) {
    struct world *w = idle_world(DR_PRESET_DEFAULT);
    update(w);
    update_after(w, -600, 10);
    CHECK_EQ_INT(w->state.idle_since_epoch, now_epoch(w));
    CHECK_EQ_INT(w->state.idle_seen_epoch, now_epoch(w));
    world_free(w);
}

TEST(clocks, burst_of_ticks_writes_nothing) {
    struct world *w = idle_world(DR_PRESET_DEFAULT);
    CHECK(update(w));
    CHECK(!update_after(w, 0, 10));
    CHECK(!update_after(w, 59, 10));
    CHECK_EQ_INT(w->view.idle_ms, 59000);
    CHECK(update_after(w, 1, 10));
    world_free(w);
}

TEST(clocks, quiet_world_that_is_not_idle_writes_nothing) {
    struct world *w = idle_world(DR_PRESET_DEFAULT);
    w->state.worker_count = 4;
    for (int i = 0; i < 5; i++) {
        CHECK(!update_after(w, 120, 50));
    }
    world_free(w);
}

TEST(clocks, worker_count_is_kept_while_workers_are_unknown) {
    struct world *w = idle_world(DR_PRESET_DEFAULT);
    update(w);
    CHECK_EQ_INT(w->state.worker_count, 4);
    w->snap.instances_part.known = false;
    w->snap.instance_n = 0;
    update(w);
    CHECK_EQ_INT(w->state.worker_count, 4);
    world_free(w);
}

TEST(pending_clock, follows_the_oldest_pod_and_clears) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 2);
    world_pending(w, 2, 90 * DR_SECOND_MS);
    update(w);
    CHECK_EQ_INT(w->state.pending_since_epoch, WORLD_NOW_EPOCH - 90);
    w->snap.pod_n = 0;
    update(w);
    CHECK_EQ_INT(w->state.pending_since_epoch, 0);
    world_free(w);
}

TEST(pending_clock, unknown_neither_starts_nor_clears_it) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 2);
    w->snap.pods_part = (struct dr_part){.known = false, .why = DR_STR("timeout")};
    update(w);
    CHECK_EQ_INT(w->state.pending_since_epoch, 0);
    w->state.pending_since_epoch = 1234;
    update(w);
    CHECK_EQ_INT(w->state.pending_since_epoch, 1234);
    world_free(w);
}

TEST(pending_clock, pod_that_nothing_helps_does_not_start_it) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 2);
    world_waiting(w, 64000, DR_HOUR_MS);
    update(w);
    CHECK_EQ_INT(w->state.pending_since_epoch, 0);
    world_free(w);
}

TEST(streaks, count_ticks_and_end_with_the_first_no) {
    struct world *w = idle_world(DR_PRESET_LAYERED);
    update_after(w, 0, 90);
    CHECK_EQ_INT(w->state.streaks.n, 1);
    CHECK_EQ_STR(w->state.streaks.v[0].rule, "cpu>");
    CHECK_EQ_INT(w->state.streaks.v[0].count, 1);
    CHECK_EQ_INT(w->state.streaks.v[0].epoch, WORLD_NOW_EPOCH);
    CHECK(!update_after(w, 30, 90)); /* too soon to count, nothing to write */
    CHECK(update_after(w, 90, 90));
    CHECK_EQ_INT(w->state.streaks.v[0].count, 2);
    CHECK_EQ_INT(w->state.streaks.v[0].epoch, WORLD_NOW_EPOCH + 120);
    CHECK(update_after(w, 120, 50));
    CHECK_EQ_INT(w->state.streaks.n, 0);
    world_free(w);
}

TEST(streaks, of_rules_that_no_longer_exist_go) {
    struct world *w = idle_world(DR_PRESET_DEFAULT);
    w->state.worker_count = 4;
    static const struct dr_streak old[] = {{.rule = {"gone>", 5}, .count = 7, .epoch = WORLD_NOW_EPOCH - 120}};
    w->state.streaks.v = old;
    w->state.streaks.n = 1;
    CHECK(update_after(w, 0, 50));
    CHECK_EQ_INT(w->state.streaks.n, 0);
    world_free(w);
}

TEST(streaks, one_that_stands_is_kept_while_another_moves) {
    struct world *w = idle_world(DR_PRESET_LAYERED);
    update_after(w, 0, 90);
    w->snap.now_ms += 30 * DR_SECOND_MS;
    world_percent(w, DR_SIGNAL_AT_CPU, 90);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 90);
    CHECK(update(w));
    CHECK_EQ_INT(w->state.streaks.n, 2);
    CHECK_EQ_INT(w->state.streaks.v[0].epoch, WORLD_NOW_EPOCH);
    CHECK_EQ_STR(w->state.streaks.v[1].rule, "memory>");
    CHECK_EQ_INT(w->state.streaks.v[1].epoch, WORLD_NOW_EPOCH + 30);
    world_free(w);
}

TEST(pending_clock, pod_without_a_time_starts_it_now_and_once) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 2);
    dr_view_build(&w->arena, &w->cfg, &w->state, &w->snap, &w->view);
    w->view.pending.helpable = 1;
    struct dr_state next;
    dr_clocks_update(&w->arena, &w->view, &next);
    CHECK_EQ_INT(next.pending_since_epoch, WORLD_NOW_EPOCH);
    w->state.pending_since_epoch = 77;
    dr_clocks_update(&w->arena, &w->view, &next);
    CHECK_EQ_INT(next.pending_since_epoch, 77);
    world_free(w);
}
