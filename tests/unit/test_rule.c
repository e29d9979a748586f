#include "core/rule.h"

#include "decision_world.h"
#include "harness/test.h"

#define SAMPLES_MAX 64

/* One rule on one signal with hand-made samples. Ages are in seconds. */
struct bench {
    struct dr_config cfg;
    struct dr_state state;
    struct dr_snapshot snap;
    struct dr_reading reading;
    struct dr_sample samples[SAMPLES_MAX];
    struct dr_streak streak;
    struct dr_pending pending;
    struct dr_rule rule;
    struct dr_rule_result result;
};

static void bench_init(struct bench *b, int64_t for_s) {
    *b = (struct bench){0};
    dr_config_init(&b->cfg, DR_PRESET_DEFAULT);
    b->rule = b->cfg.up[DR_UP_CPU];
    b->rule.for_ms = for_s * DR_SECOND_MS;
    b->reading.known = true;
    b->reading.samples = b->samples;
    b->snap.now_ms = WORLD_NOW_MS;
    b->snap.readings = &b->reading;
    b->snap.reading_n = 1;
    b->pending.known = true;
}

/* Samples must be added oldest first. */
static void add(struct bench *b, int64_t age_s, int64_t percent) {
    CHECK(b->reading.sample_n < SAMPLES_MAX);
    b->samples[b->reading.sample_n++] = (struct dr_sample){.at_ms = WORLD_NOW_MS - age_s * DR_SECOND_MS, .micro = percent * 10000};
}

static void add_every(struct bench *b, int64_t from_s, int64_t to_s, int64_t step_s, int64_t percent) {
    for (int64_t age = from_s; age >= to_s; age -= step_s) {
        add(b, age, percent);
    }
}

static enum dr_truth evaluate(struct bench *b) {
    dr_rule_evaluate(&b->cfg, &b->state, &b->snap, &b->pending, &b->rule, &b->result);
    return b->result.truth;
}

static void set_streak(struct bench *b, int64_t count, int64_t age_s) {
    b->streak = (struct dr_streak){.rule = DR_STR("cpu>"), .count = count, .epoch = WORLD_NOW_EPOCH - age_s};
    b->state.streaks.v = &b->streak;
    b->state.streaks.n = 1;
}

TEST(compare, is_exact_at_the_threshold) {
    CHECK(!dr_compare_holds(DR_ABOVE, 700000, 700000));
    CHECK(dr_compare_holds(DR_ABOVE, 700001, 700000));
    CHECK(dr_compare_holds(DR_AT_LEAST, 700000, 700000));
    CHECK(!dr_compare_holds(DR_AT_LEAST, 699999, 700000));
    CHECK(!dr_compare_holds(DR_BELOW, 300000, 300000));
    CHECK(dr_compare_holds(DR_BELOW, 299999, 300000));
    CHECK(dr_compare_holds(DR_AT_MOST, 300000, 300000));
    CHECK(!dr_compare_holds(DR_AT_MOST, 300001, 300000));
}

TEST(rule, last_value_decides_without_a_window) {
    struct bench b;
    bench_init(&b, 0);
    add(&b, 30, 99);
    add(&b, 5, 71);
    CHECK_EQ_INT(evaluate(&b), DR_YES);
    CHECK_EQ_INT(b.result.value_micro, 710000);
    CHECK(!b.result.spike);
    add(&b, 0, 70);
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    CHECK(!b.result.spike);
}

TEST(rule, old_last_value_is_unknown) {
    struct bench b;
    bench_init(&b, 0);
    add(&b, 61, 99);
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
    CHECK(b.result.has_value);
    CHECK_EQ_STR(b.result.why, "the last sample is too old");
    b.reading.sample_n = 0;
    add(&b, 60, 99);
    CHECK_EQ_INT(evaluate(&b), DR_YES);
}

TEST(rule, sample_ahead_of_our_clock_is_one_of_now) {
    struct bench b;
    bench_init(&b, 180);
    add_every(&b, 180, 0, 30, 80);
    add(&b, -3, 80);
    CHECK_EQ_INT(evaluate(&b), DR_YES);
}

TEST(rule, window_holds_when_every_sample_does) {
    struct bench b;
    bench_init(&b, 180);
    add(&b, 181, 10); /* outside */
    add_every(&b, 180, 0, 30, 71);
    CHECK_EQ_INT(evaluate(&b), DR_YES);
    CHECK_EQ_INT(b.result.held_ms, 180000);
}

TEST(rule, one_violation_in_the_window_is_no_and_a_spike) {
    struct bench b;
    bench_init(&b, 180);
    add(&b, 180, 70);
    add_every(&b, 150, 0, 30, 71);
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    CHECK(b.result.spike);
    CHECK_EQ_INT(b.result.held_ms, 150000);
}

TEST(rule, violation_behind_a_hole_is_still_no) {
    struct bench b;
    bench_init(&b, 180);
    add(&b, 170, 10);
    add_every(&b, 60, 0, 15, 90);
    CHECK_EQ_INT(evaluate(&b), DR_NO);
}

TEST(rule, window_with_too_few_samples_is_unknown) {
    struct bench b;
    bench_init(&b, 60);
    add(&b, 50, 90);
    add(&b, 5, 90);
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
    CHECK_EQ_STR(b.result.why, "too few samples in the window");
    b.cfg.min_samples = 2;
    CHECK_EQ_INT(evaluate(&b), DR_YES);
}

TEST(rule, down_rule_at_threshold) {
    struct bench b;
    bench_init(&b, 0);
    b.rule = b.cfg.down[DR_DOWN_CPU];
    add(&b, 0, 30);
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    b.rule.compare = DR_AT_MOST;
    CHECK_EQ_INT(evaluate(&b), DR_YES);
}

TEST(rule, signal_that_was_not_read_is_unknown) {
    struct bench b;
    bench_init(&b, 0);
    b.rule.signal = 1;
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
    CHECK(!b.result.has_value);
}

/* ---- hazards ---- */

TEST(hazard_2, ever_above_is_not_always_above) {
    struct bench b;
    bench_init(&b, 180);
    add_every(&b, 180, 15, 15, 90);
    add(&b, 0, 50);
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    CHECK(!b.result.spike);
}

TEST(hazard_2, series_that_began_half_a_minute_ago_did_not_hold_three_minutes) {
    struct bench b;
    bench_init(&b, 180);
    add_every(&b, 30, 0, 5, 90);
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
    CHECK_EQ_STR(b.result.why, "the samples do not reach back over the whole window");
    CHECK_EQ_INT(b.result.held_ms, 30000);
    /* The gap to the start of the window is bounded like any other. */
    b.reading.sample_n = 0;
    add_every(&b, 120, 0, 15, 90);
    CHECK_EQ_INT(evaluate(&b), DR_YES);
    b.reading.sample_n = 0;
    add_every(&b, 119, 0, 15, 90);
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
}

TEST(hazard_2, hole_in_the_window_is_unknown) {
    struct bench b;
    bench_init(&b, 180);
    add_every(&b, 180, 120, 15, 90);
    add_every(&b, 59, 0, 15, 90);
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
    CHECK_EQ_STR(b.result.why, "a hole in the samples");
    CHECK_EQ_INT(b.result.held_ms, 59000);
}

TEST(hazard_5, missing_series_is_not_zero) {
    struct bench b;
    bench_init(&b, 0);
    b.rule = b.cfg.down[DR_DOWN_CPU];
    b.reading = (struct dr_reading){.known = false, .why = DR_STR("no data for this query")};
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
    CHECK_EQ_STR(b.result.why, "no data for this query");
    b.reading = (struct dr_reading){.known = true, .samples = b.samples};
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
    CHECK_EQ_STR(b.result.why, "no samples");
}

TEST(hazard_5, exporter_that_died_is_unknown_within_a_minute) {
    struct bench b;
    bench_init(&b, 0);
    b.rule = b.cfg.down[DR_DOWN_CPU];
    add_every(&b, 300, 75, 15, 5);
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
    b.rule.for_ms = 300000;
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
}

TEST(hazard_8, readings_hours_apart_are_not_consecutive) {
    struct bench b;
    bench_init(&b, 0);
    b.rule.readings = 2;
    add(&b, 0, 90);
    set_streak(&b, 1, 10800);
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    CHECK(b.result.spike);
    CHECK_EQ_INT(b.result.streak, 1);
    set_streak(&b, 1, 301); /* 2.5 intervals are 300 s */
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    set_streak(&b, 1, 300);
    CHECK_EQ_INT(evaluate(&b), DR_YES);
    CHECK_EQ_INT(b.result.streak, 2);
}

TEST(readings, burst_of_ticks_counts_once) {
    struct bench b;
    bench_init(&b, 0);
    b.rule.readings = 2;
    add(&b, 0, 90);
    set_streak(&b, 1, 59);
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    CHECK_EQ_INT(b.result.streak, 1);
    set_streak(&b, 1, 60);
    CHECK_EQ_INT(evaluate(&b), DR_YES);
}

TEST(readings, streak_of_the_other_direction_does_not_count) {
    struct bench b;
    bench_init(&b, 0);
    b.rule.readings = 2;
    add(&b, 0, 90);
    set_streak(&b, 5, 120);
    b.streak.rule = DR_STR("cpu<");
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    CHECK_EQ_INT(b.result.streak, 1);
}

TEST(readings, clock_that_jumped_back_starts_over) {
    struct bench b;
    bench_init(&b, 0);
    b.rule.readings = 2;
    add(&b, 0, 90);
    set_streak(&b, 1, -600);
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    CHECK_EQ_INT(b.result.streak, 1);
}

TEST(pending_rule, counts_from_the_oldest_pod) {
    struct bench b;
    bench_init(&b, 0);
    b.rule = b.cfg.up[DR_UP_PENDING];
    b.pending.remainder = 3;
    b.pending.since_ms = WORLD_NOW_MS - 179999;
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    CHECK(b.result.spike);
    b.pending.since_ms = WORLD_NOW_MS - 180000;
    CHECK_EQ_INT(evaluate(&b), DR_YES);
    CHECK_EQ_INT(b.result.value_micro, 3000000);
    CHECK_EQ_INT(b.result.held_ms, 180000);
}

TEST(pending_rule, pods_that_fit_on_what_is_there_do_not_ask) {
    struct bench b;
    bench_init(&b, 0);
    b.rule = b.cfg.up[DR_UP_PENDING];
    b.pending.waiting = 5;
    b.pending.helpable = 5;
    b.pending.since_ms = WORLD_NOW_MS - DR_HOUR_MS;
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    CHECK(!b.result.spike);
}

TEST(pending_rule, pod_without_a_time_takes_the_clock_of_the_item) {
    struct bench b;
    bench_init(&b, 0);
    b.rule = b.cfg.up[DR_UP_PENDING];
    b.pending.remainder = 1;
    CHECK_EQ_INT(evaluate(&b), DR_NO);
    b.state.pending_since_epoch = WORLD_NOW_EPOCH - 200;
    CHECK_EQ_INT(evaluate(&b), DR_YES);
}

TEST(pending_rule, unknown_pods_are_unknown) {
    struct bench b;
    bench_init(&b, 0);
    b.rule = b.cfg.up[DR_UP_PENDING];
    b.pending.known = false;
    b.pending.why = DR_STR("pods: timeout");
    CHECK_EQ_INT(evaluate(&b), DR_UNKNOWN);
    CHECK_EQ_STR(b.result.why, "pods: timeout");
}

/* Whatever the samples: YES means that no sample of the window violates and that there is no hole; NO means that one does. Against a second, plain statement of the rule. */
TEST(rule, windows_agree_with_their_definition) {
    uint64_t seed = dr_test_seed();
    for (int round = 0; round < 20000; round++) {
        struct bench b;
        bench_init(&b, 180);
        int64_t n = (int64_t)(seed >> 33) % 12;
        int64_t age = 200;
        bool violated = false, hole = false;
        int64_t inside = 0, last_age = 180;
        for (int64_t i = 0; i < n && age >= 0; i++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            int64_t percent = (seed >> 40) % 10 == 0 ? 70 : 71;
            add(&b, age, percent);
            if (age <= 180) {
                violated = violated || percent == 70;
                hole = hole || last_age - age > 60;
                last_age = age;
                inside++;
            }
            age -= (int64_t)((seed >> 50) % 70);
        }
        hole = hole || last_age > 60;
        enum dr_truth expected = n == 0 ? DR_UNKNOWN : violated ? DR_NO : hole || inside < 3 ? DR_UNKNOWN : DR_YES;
        enum dr_truth seen = evaluate(&b);
        if (seen != expected) {
            FAIL("round %d: %s, expected %s", round, dr_truth_name(seen), dr_truth_name(expected));
        }
        seed = seed * 6364136223846793005U + 1442695040888963407U;
    }
}
