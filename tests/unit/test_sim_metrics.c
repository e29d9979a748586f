/* Series of the simulated world. */

#include "sim_help.h"

static struct dr_reading read_signal(struct sim *s, const char *name, int64_t window_ms) {
    enum dr_signal_kind kind = strcmp(name, "cpu") == 0 ? DR_SIGNAL_CPU : strcmp(name, "memory") == 0 ? DR_SIGNAL_MEMORY : DR_SIGNAL_CUSTOM;
    struct dr_signal signal = {.name = dr_str_of(name), .kind = kind, .window_ms = window_ms};
    struct dr_reading r;
    s->p.metrics.ops->read(s->p.metrics.self, &s->arena, &signal, 1, s->p.clock.ops->now_ms(s->p.clock.self), 0, &r);
    return r;
}

TEST(sim_metrics, series_holds_its_value_until_the_next_point) {
    struct sim s = sim_plain();
    int64_t t = dr_world_now(s.w);
    dr_world_series(s.w, DR_STR("cpu"), t + 4 * DR_MINUTE_MS, 820000);
    dr_world_series(s.w, DR_STR("cpu"), t, 350000);
    sim_pass(&s, 5 * DR_MINUTE_MS);
    struct dr_reading r = read_signal(&s, "cpu", 3 * DR_MINUTE_MS);
    CHECK(r.known);
    CHECK_EQ_INT(r.sample_n, 13); /* both ends */
    CHECK_EQ_INT(r.samples[0].at_ms, t + 2 * DR_MINUTE_MS);
    CHECK_EQ_INT(r.samples[7].micro, 350000);
    CHECK_EQ_INT(r.samples[8].micro, 820000);
    CHECK_EQ_INT(r.samples[12].at_ms, t + 5 * DR_MINUTE_MS);
    CHECK_EQ_INT(read_signal(&s, "cpu", 0).sample_n, 1);
    sim_close(&s);
}

TEST(sim_metrics, series_is_linear_between_points_where_asked) {
    struct sim s = sim_plain();
    int64_t t = dr_world_now(s.w);
    dr_world_series_linear(s.w, DR_STR("queue"), true);
    dr_world_series(s.w, DR_STR("queue"), t, 0);
    dr_world_series(s.w, DR_STR("queue"), t + DR_MINUTE_MS, 4000000);
    sim_pass(&s, DR_MINUTE_MS);
    struct dr_reading r = read_signal(&s, "queue", DR_MINUTE_MS);
    CHECK_EQ_INT(r.sample_n, 5);
    CHECK_EQ_INT(r.samples[1].micro, 1000000);
    CHECK_EQ_INT(r.samples[3].micro, 3000000);
    sim_close(&s);
}

TEST(sim_metrics, nothing_is_made_up_before_the_first_point) {
    struct sim s = sim_plain();
    dr_world_series(s.w, DR_STR("queue"), dr_world_now(s.w) + DR_MINUTE_MS, 5);
    CHECK(!read_signal(&s, "queue", DR_MINUTE_MS).known);
    CHECK(!read_signal(&s, "other", 0).known);
    sim_close(&s);
}

TEST(sim_metrics, demand_is_shared_by_the_ready_workers_of_that_time) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    int64_t t = dr_world_now(s.w);
    dr_world_demand_cpu(s.w, t, 965); /* half of one worker */
    sim_pass(&s, 2 * DR_MINUTE_MS);
    (void)sim_worker(&s, "b");
    sim_pass(&s, 2 * DR_MINUTE_MS);
    struct dr_reading r = read_signal(&s, "cpu", 4 * DR_MINUTE_MS);
    CHECK_EQ_INT(r.sample_n, 17);
    CHECK_EQ_INT(r.samples[0].micro, 500000);
    CHECK_EQ_INT(r.samples[7].micro, 500000);
    CHECK_EQ_INT(r.samples[8].micro, 250000); /* from the second worker on */
    CHECK_EQ_INT(r.samples[16].micro, 250000);
    dr_world_demand_cpu(s.w, t + DR_HOUR_MS, 100000);
    sim_pass(&s, DR_HOUR_MS);
    CHECK_EQ_INT(read_signal(&s, "cpu", 0).samples[0].micro, 1000000); /* never above 100 % */
    sim_close(&s);
}

TEST(sim_metrics, history_before_the_run_looks_like_its_beginning) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    dr_world_demand_cpu(s.w, dr_world_now(s.w), 193);
    struct dr_reading r = read_signal(&s, "cpu", 10 * DR_MINUTE_MS);
    CHECK_EQ_INT(r.sample_n, 41);
    CHECK_EQ_INT(r.samples[0].micro, 100000);
    sim_close(&s);
}

TEST(sim_metrics, without_curves_running_pods_are_the_load) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    (void)sim_deploy(&s, "web", 1, 965);
    sim_pass(&s, DR_MINUTE_MS);
    CHECK_EQ_INT(read_signal(&s, "cpu", 0).samples[0].micro, 300000); /* 60 % of half a worker */
    bool known;
    CHECK_EQ_INT(dr_world_signal(s.w, DR_STR("cpu"), &known), 300000);
    CHECK(known);
    sim_close(&s);
}

TEST(sim_metrics, no_ready_worker_means_no_samples_not_zero) {
    struct sim s = sim_plain();
    sim_pass(&s, DR_MINUTE_MS);
    CHECK(!read_signal(&s, "cpu", DR_MINUTE_MS).known);
    sim_close(&s);
}

TEST(sim_metrics, outage_is_unknown_with_its_reason_and_gap_is_a_hole) {
    struct sim s = sim_plain();
    int64_t t = dr_world_now(s.w);
    dr_world_series(s.w, DR_STR("cpu"), t - DR_HOUR_MS, 100000);
    dr_world_series(s.w, DR_STR("memory"), t - DR_HOUR_MS, 100000);
    dr_world_outage(s.w, DR_STR("cpu"), DR_OUTAGE_UNKNOWN, t, t + DR_MINUTE_MS, DR_STR("prometheus is down"));
    dr_world_outage(s.w, DR_STR(""), DR_OUTAGE_GAP, t + DR_MINUTE_MS, t + 2 * DR_MINUTE_MS, DR_STR(""));
    CHECK_EQ_STR(read_signal(&s, "cpu", 0).why, "prometheus is down");
    CHECK(read_signal(&s, "memory", 0).known);
    sim_pass(&s, 3 * DR_MINUTE_MS);
    CHECK_EQ_INT(read_signal(&s, "cpu", 3 * DR_MINUTE_MS).sample_n, 13 - 4);
    sim_close(&s);
}

TEST(sim_metrics, hanging_source_costs_the_time_until_the_deadline_once) {
    struct sim s = sim_plain();
    int64_t t = dr_world_now(s.w);
    dr_world_outage(s.w, DR_STR(""), DR_OUTAGE_HANG, t, t + DR_MINUTE_MS, DR_STR(""));
    struct dr_signal signals[2] = {{.name = DR_STR("cpu")}, {.name = DR_STR("memory"), .kind = DR_SIGNAL_MEMORY}};
    struct dr_reading r[2];
    s.p.metrics.ops->read(s.p.metrics.self, &s.arena, signals, 2, t, t + 4000, r);
    CHECK(!r[0].known && !r[1].known);
    CHECK_EQ_INT(dr_world_now(s.w), t + 4000);
    sim_close(&s);
}
