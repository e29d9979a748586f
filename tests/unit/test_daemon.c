/* When passes run: the daemon on a simulated world, in virtual time. */
#include "app/daemon.h"
#include "sim_help.h"

#define MAX_PASSES 64

struct rig {
    struct sim sim;
    struct dr_config cfg;
    struct dr_config next_cfg; /* what a reload brings */
    bool bad_reload;
    struct dr_daemon daemon;
    int64_t began_ms;
    int64_t stop_ms;           /* of the world */
    int64_t at_ms[MAX_PASSES]; /* when passes ended, since the begin */
    enum dr_tick_outcome outcomes[MAX_PASSES];
    size_t passes;
    struct {
        int64_t at_ms;
        unsigned bits;
    } wakes[8];
    size_t wake_n;
    size_t wake_at;
};

static int64_t rig_now(void *self) {
    const struct rig *rig = self;
    return dr_world_now(rig->sim.w);
}

/* Up to the next thing that is planned; then what it is. */
static unsigned rig_wait(void *self, int64_t until_ms) {
    struct rig *rig = self;
    if (rig->wake_at < rig->wake_n && rig->began_ms + rig->wakes[rig->wake_at].at_ms <= until_ms) {
        (void)dr_world_advance(rig->sim.w, rig->began_ms + rig->wakes[rig->wake_at].at_ms);
        return rig->wakes[rig->wake_at++].bits;
    }
    if (until_ms > rig->stop_ms) {
        (void)dr_world_advance(rig->sim.w, rig->stop_ms);
        return DR_WAKE_STOP;
    }
    (void)dr_world_advance(rig->sim.w, until_ms);
    return 0;
}

static int rig_reload(void *self, struct dr_daemon *daemon) {
    struct rig *rig = self;
    if (rig->bad_reload) {
        return -1;
    }
    daemon->cfg = &rig->next_cfg;
    return 0;
}

static void rig_after(void *self, const struct dr_tick_report *report) {
    struct rig *rig = self;
    CHECK(rig->passes < MAX_PASSES);
    rig->at_ms[rig->passes] = dr_world_now(rig->sim.w) - rig->began_ms;
    rig->outcomes[rig->passes++] = report->outcome;
}

static const struct dr_daemon_ops rig_ops = {rig_now, rig_wait, rig_reload};

static void rig_init(struct rig *rig, int workers) {
    memset(rig, 0, sizeof(*rig));
    rig->sim = sim_plain();
    dr_config_init(&rig->cfg, DR_PRESET_DEFAULT);
    rig->cfg.interval_ms = 2 * DR_MINUTE_MS;
    rig->next_cfg = rig->cfg;
    for (int i = 0; i < workers; i++) {
        (void)sim_worker(&rig->sim, i % 2 == 0 ? "a" : "b");
    }
    dr_daemon_init(&rig->daemon);
    rig->daemon.ops = &rig_ops;
    rig->daemon.self = rig;
    rig->daemon.ports = &rig->sim.p;
    rig->daemon.cfg = &rig->cfg;
    rig->daemon.batch_ms = 500;
    rig->daemon.name = DR_STR("p");
    rig->daemon.after_tick = rig_after;
    rig->began_ms = dr_world_now(rig->sim.w);
}

static void rig_run(struct rig *rig, int64_t for_ms) {
    rig->stop_ms = rig->began_ms + for_ms;
    dr_daemon_run(&rig->daemon);
}

static void rig_deinit(struct rig *rig) {
    dr_daemon_deinit(&rig->daemon);
    sim_close(&rig->sim);
}

static void wake(struct rig *rig, int64_t at_ms, unsigned bits) {
    rig->wakes[rig->wake_n].at_ms = at_ms;
    rig->wakes[rig->wake_n++].bits = bits;
}

TEST(daemon, quiet_fleet_gets_one_pass_per_interval) {
    struct rig rig;
    rig_init(&rig, 2);
    rig_run(&rig, 5 * DR_MINUTE_MS);
    CHECK_EQ_INT(rig.passes, 3);
    CHECK_EQ_INT(rig.outcomes[2], DR_TICK_DONE);
    CHECK(rig.at_ms[1] - rig.at_ms[0] >= 2 * DR_MINUTE_MS && rig.at_ms[1] - rig.at_ms[0] < 3 * DR_MINUTE_MS);
    rig_deinit(&rig);
}

TEST(daemon, message_wakes_a_pass_after_the_gathering_time) {
    struct rig rig;
    rig_init(&rig, 2);
    wake(&rig, 30000, DR_WAKE_MESSAGE);
    wake(&rig, 30200, DR_WAKE_MESSAGE);
    rig_run(&rig, DR_MINUTE_MS);
    CHECK_EQ_INT(rig.passes, 2);
    CHECK(rig.at_ms[1] >= 30500 && rig.at_ms[1] < 31000);
    rig_deinit(&rig);
}

TEST(daemon, storm_of_node_events_wakes_no_pass_right_after_the_last) {
    struct rig rig;
    rig_init(&rig, 2);
    for (int i = 0; i < 8; i++) {
        wake(&rig, 1000 + 10 * i, DR_WAKE_NODE);
    }
    rig_run(&rig, 10000);
    CHECK_EQ_INT(rig.passes, 2);
    CHECK(rig.at_ms[1] >= DR_DAEMON_CALM_MS);
    rig_deinit(&rig);
}

TEST(daemon, action_under_way_is_followed_faster_than_the_interval) {
    struct rig rig;
    rig_init(&rig, 1); /* below minimum: launches, then waits for the join */
    rig_run(&rig, DR_MINUTE_MS);
    CHECK_EQ_INT(rig.outcomes[0], DR_TICK_WAITING);
    CHECK(rig.passes >= 3);
    CHECK(rig.at_ms[1] - rig.at_ms[0] <= DR_DAEMON_FOLLOW_MS + 1000);
    rig_deinit(&rig);
}

TEST(daemon, waiting_pod_is_served_when_its_rule_holds_not_at_the_next_interval) {
    struct rig rig;
    rig_init(&rig, 2);
    rig.cfg.up[DR_UP_PENDING].for_ms = 40 * DR_SECOND_MS;
    rig.cfg.interval_ms = 10 * DR_MINUTE_MS;
    dr_config_windows(&rig.cfg);
    (void)sim_deploy(&rig.sim, "web", 20, 900);
    rig_run(&rig, 5 * DR_MINUTE_MS);
    CHECK(rig.passes >= 2);
    CHECK(rig.at_ms[1] >= 40 * DR_SECOND_MS && rig.at_ms[1] < DR_MINUTE_MS);
    CHECK_EQ_INT(rig.outcomes[1], DR_TICK_WAITING); /* launched */
    rig_deinit(&rig);
}

TEST(daemon, stop_ends_it_before_another_pass) {
    struct rig rig;
    rig_init(&rig, 2);
    wake(&rig, 5000, DR_WAKE_STOP | DR_WAKE_MESSAGE);
    rig_run(&rig, DR_HOUR_MS);
    CHECK_EQ_INT(rig.passes, 1);
    CHECK(dr_world_now(rig.sim.w) - rig.began_ms < 6000);
    rig_deinit(&rig);
}

TEST(daemon, reload_takes_the_new_configuration_at_once) {
    struct rig rig;
    rig_init(&rig, 2);
    rig.next_cfg.min_workers = 3;
    rig.next_cfg.interval_ms = DR_HOUR_MS;
    wake(&rig, 5000, DR_WAKE_RELOAD);
    rig_run(&rig, 8000);
    CHECK_EQ_INT(rig.passes, 2);
    CHECK_EQ_INT(rig.outcomes[1], DR_TICK_WAITING); /* launches the third */
    rig_deinit(&rig);
}

TEST(daemon, refused_reload_keeps_the_old_configuration) {
    struct rig rig;
    rig_init(&rig, 2);
    rig.next_cfg.min_workers = 3;
    rig.bad_reload = true;
    wake(&rig, 5000, DR_WAKE_RELOAD);
    rig_run(&rig, 3 * DR_MINUTE_MS);
    CHECK_EQ_INT(rig.passes, 2);
    CHECK_EQ_INT(rig.outcomes[1], DR_TICK_DONE);
    CHECK(rig.daemon.cfg == &rig.cfg);
    rig_deinit(&rig);
}

TEST(daemon, failures_are_retried_with_a_pause_that_doubles_up_to_the_interval) {
    struct dr_config cfg;
    dr_config_init(&cfg, DR_PRESET_DEFAULT);
    cfg.interval_ms = DR_MINUTE_MS;
    struct dr_tick_report report = {.outcome = DR_TICK_FAILED};
    CHECK_EQ_INT(dr_daemon_pause_ms(&cfg, &report, 1, 0), 5000);
    CHECK_EQ_INT(dr_daemon_pause_ms(&cfg, &report, 2, 0), 10000);
    CHECK_EQ_INT(dr_daemon_pause_ms(&cfg, &report, 4, 0), 40000);
    CHECK_EQ_INT(dr_daemon_pause_ms(&cfg, &report, 1000, 0), DR_MINUTE_MS);
    report.outcome = DR_TICK_LEASE;
    CHECK_EQ_INT(dr_daemon_pause_ms(&cfg, &report, 0, 0), DR_DAEMON_FOLLOW_MS);
    report.outcome = DR_TICK_REFUSED;
    CHECK_EQ_INT(dr_daemon_pause_ms(&cfg, &report, 0, 0), DR_MINUTE_MS);
}

TEST(daemon, end_of_a_cooldown_is_not_slept_through) {
    struct dr_config cfg;
    dr_config_init(&cfg, DR_PRESET_DEFAULT);
    cfg.interval_ms = 10 * DR_MINUTE_MS;
    struct dr_tick_report report = {.outcome = DR_TICK_DONE};
    report.plan.decision = (struct dr_decision){.verdict = DR_VERDICT_NOOP, .reason = DR_REASON_COOLDOWN, .left_ms = 42000};
    CHECK_EQ_INT(dr_daemon_pause_ms(&cfg, &report, 0, 0), 42000);
    report.plan.decision.left_ms = 1;
    CHECK_EQ_INT(dr_daemon_pause_ms(&cfg, &report, 0, 0), DR_SECOND_MS);
    report.plan.decision.reason = DR_REASON_WITHIN_LIMITS;
    CHECK_EQ_INT(dr_daemon_pause_ms(&cfg, &report, 0, 0), 10 * DR_MINUTE_MS);
}

struct lines {
    struct dr_buf text;
    size_t n;
};

static void keep_line(void *self, const char *line, size_t n) {
    struct lines *lines = self;
    dr_buf_put(&lines->text, line, n);
    lines->n++;
}

TEST(daemon, each_pass_logs_one_line) {
    struct rig rig;
    rig_init(&rig, 2);
    struct lines lines = {.n = 0};
    dr_buf_init(&lines.text, 1 << 16);
    struct dr_log log = {.min_level = DR_LOG_INFO, .write = keep_line, .self = &lines};
    rig.daemon.log = &log;
    rig_run(&rig, 3 * DR_MINUTE_MS);
    CHECK_EQ_INT(rig.passes, 2);
    CHECK_EQ_INT(lines.n, 2);
    CHECK_CONTAINS(dr_buf_str(&lines.text), "\"event\":\"tick\"");
    CHECK_CONTAINS(dr_buf_str(&lines.text), "\"tick\":\"p-000002\"");
    CHECK_CONTAINS(dr_buf_str(&lines.text), "\"outcome\":\"done\"");
    dr_buf_deinit(&lines.text);
    rig_deinit(&rig);
}
