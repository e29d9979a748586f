#include "state_help.h"

static const struct dr_str i1 = {"i-1", 3}, i2 = {"i-2", 3};
static const struct dr_str uid_v[] = {{"uid-1", 5}, {"uid-2", 5}, {"uid-3", 5}};

static void drain_other(void *s) { dr_down_drain(help_arena(), s, s, DR_STR("other"), i1, (struct dr_strs){0}, NOW); }
static void drain_stranger(void *s) { dr_down_drain(help_arena(), s, s, DOWN, DR_STR("i-7"), (struct dr_strs){0}, NOW); }
static void commit_other(void *s) { dr_down_commit(help_arena(), s, s, DR_STR("other"), i1); }
static void commit_stranger(void *s) { dr_down_commit(help_arena(), s, s, DOWN, DR_STR("i-7")); }
static void commit_first(void *s) { dr_down_commit(help_arena(), s, s, DOWN, i1); }
static void done_other(void *s) { dr_down_mark_done(help_arena(), s, s, DR_STR("other"), i1); }
static void done_first(void *s) { dr_down_mark_done(help_arena(), s, s, DOWN, i1); }
static void drop_other(void *s) { dr_down_drop(help_arena(), s, s, DR_STR("other"), i1, NOW, 0); }
static void drop_first(void *s) { dr_down_drop(help_arena(), s, s, DOWN, i1, NOW, 0); }
static void complete_other(void *s) { dr_down_complete(help_arena(), s, s, DR_STR("other"), NOW); }
static void complete_this(void *s) { dr_down_complete(help_arena(), s, s, DOWN, NOW); }
static void fail_other(void *s) { dr_down_fail(help_arena(), s, s, DR_STR("other")); }

static void begin_for_nobody(void *s) { dr_down_begin(help_arena(), s, s, DOWN, NOW, (struct dr_strs){0}, DR_STR("idle")); }
static void begin_nameless(void *s) { dr_down_begin(help_arena(), s, s, DR_STR_NONE, NOW, (struct dr_strs){&i1, 1}, DR_STR("idle")); }

TEST(scale_down, begin_needs_a_name_and_a_target) {
    struct dr_state s = help_idle();
    CHECK(dr_test_dies(begin_for_nobody, &s));
    CHECK(dr_test_dies(begin_nameless, &s));
}

TEST(rule_2, begin_of_a_scale_down_is_written_once) {
    struct dr_state s = help_down(), again;
    static const struct dr_str others[] = {{"i-5", 3}};
    CHECK(s.scaling && !s.down_terminating);
    CHECK_EQ_STR(s.down_action_id, "1730000400-down");
    CHECK_EQ_INT(s.down_started_epoch, NOW);
    CHECK_EQ_STR(s.down_reason, "idle");
    CHECK_EQ_INT(s.down_targets.n, 2);
    CHECK_EQ_INT(s.drains.n, 2);
    CHECK_EQ_STR(s.drains.v[1].instance_id, "i-2");
    CHECK(!dr_down_begin(help_arena(), &s, &again, DOWN, NOW + 5, (struct dr_strs){others, 1}, DR_STR("surplus")));
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_2, steps_of_another_scale_down_are_refused) {
    struct dr_state s = help_down();
    CHECK(dr_test_dies(drain_other, &s));
    CHECK(dr_test_dies(commit_other, &s));
    CHECK(dr_test_dies(drop_other, &s));
    CHECK(dr_test_dies(complete_other, &s));
    CHECK(dr_test_dies(fail_other, &s));
    dr_down_commit(help_arena(), &s, &s, DOWN, i1);
    CHECK(dr_test_dies(done_other, &s));
}

TEST(scale_down, only_targets_are_drained_or_marked) {
    struct dr_state s = help_down();
    CHECK(dr_test_dies(drain_stranger, &s));
    CHECK(dr_test_dies(commit_stranger, &s));
    CHECK(!dr_test_dies(commit_first, &s));
}

TEST(rule_19, owners_are_stored_with_the_drain_and_grow) {
    struct dr_state s = help_down(), again;
    CHECK(dr_down_drain(help_arena(), &s, &s, DOWN, i2, (struct dr_strs){uid_v, 2}, NOW + 5));
    CHECK_EQ_INT(s.drains.v[0].started_epoch, 0);
    CHECK_EQ_INT(s.drains.v[1].started_epoch, NOW + 5);
    CHECK_EQ_INT(s.drains.v[1].owner_uids.n, 2);
    CHECK(!dr_down_drain(help_arena(), &s, &again, DOWN, i2, (struct dr_strs){uid_v, 2}, NOW + 9));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_down_drain(help_arena(), &s, &s, DOWN, i2, (struct dr_strs){uid_v + 1, 2}, NOW + 9));
    CHECK_EQ_INT(s.drains.v[1].started_epoch, NOW + 5);
    CHECK_EQ_INT(s.drains.v[1].owner_uids.n, 3);
    CHECK_EQ_STR(s.drains.v[1].owner_uids.v[2], "uid-3");
}

TEST(scale_down, drain_of_an_empty_worker_is_begun_all_the_same) {
    struct dr_state s = help_down();
    CHECK(dr_down_drain(help_arena(), &s, &s, DOWN, i1, (struct dr_strs){0}, NOW + 5));
    CHECK_EQ_INT(s.drains.v[0].started_epoch, NOW + 5);
    CHECK(!dr_down_drain(help_arena(), &s, &s, DOWN, i1, (struct dr_strs){0}, NOW + 6));
}

TEST(rule_13, commit_marks_the_target_once) {
    struct dr_state s = help_down(), again;
    CHECK(dr_down_commit(help_arena(), &s, &s, DOWN, i1));
    CHECK(dr_state_marked(&s, i1) && !dr_state_marked(&s, i2));
    CHECK(s.down_terminating);
    CHECK(!dr_down_commit(help_arena(), &s, &again, DOWN, i1));
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_13, target_that_was_marked_elsewhere_still_commits_the_phase) {
    struct dr_state s = help_down();
    dr_mark_add(help_arena(), &s, &s, i1);
    CHECK(dr_down_commit(help_arena(), &s, &s, DOWN, i1));
    CHECK(s.down_terminating);
    CHECK_EQ_INT(s.marks.n, 1);
}

TEST(rule_13, mark_outlives_its_termination_call_and_its_action) {
    struct dr_state s = help_down(), again, failed;
    dr_down_commit(help_arena(), &s, &s, DOWN, i1);
    CHECK(dr_down_fail(help_arena(), &s, &failed, DOWN));
    CHECK(dr_state_marked(&failed, i1));
    CHECK(dr_down_mark_done(help_arena(), &s, &s, DOWN, i1));
    CHECK(dr_state_marked(&s, i1));
    CHECK(!dr_down_mark_done(help_arena(), &s, &again, DOWN, i1));
    CHECK(dr_state_eq(&s, &again));
    CHECK(!dr_down_commit(help_arena(), &s, &again, DOWN, i1)); /* done already */
    CHECK(dr_down_drop(help_arena(), &s, &s, DOWN, i2, NOW, 0));
    CHECK(dr_down_complete(help_arena(), &s, &s, DOWN, NOW));
    CHECK(dr_state_marked(&s, i1));
}

TEST(rule_13, nothing_is_done_that_was_not_marked) {
    struct dr_state s = help_down();
    CHECK(dr_test_dies(done_first, &s));
    dr_down_commit(help_arena(), &s, &s, DOWN, i1);
    CHECK(!dr_test_dies(done_first, &s));
}

TEST(rule_13, marked_target_that_is_seen_ended_is_done) {
    struct dr_state s = help_down();
    dr_down_commit(help_arena(), &s, &s, DOWN, i1);
    dr_down_drop(help_arena(), &s, &s, DOWN, i2, NOW, 0);
    CHECK(dr_mark_ended(help_arena(), &s, &s, i1, NOW));
    CHECK(dr_test_dies(drop_first, &s)); /* its mark is gone, but it was done */
    CHECK(!dr_down_mark_done(help_arena(), &s, &s, DOWN, i1));
    CHECK(!dr_down_commit(help_arena(), &s, &s, DOWN, i1));
    CHECK(dr_down_complete(help_arena(), &s, &s, DOWN, NOW));
}

TEST(rule_13, unmarked_target_that_ended_by_itself_is_not_done_by_us) {
    struct dr_state s = help_down();
    CHECK(dr_mark_ended(help_arena(), &s, &s, i1, NOW));
    CHECK_EQ_INT(s.down_completed.n, 0);
    CHECK(dr_test_dies(commit_first, &s)); /* what has ended is not marked again */
    CHECK(dr_down_drop(help_arena(), &s, &s, DOWN, i1, NOW, 0));
}

TEST(rule_20, only_what_is_not_marked_can_be_given_back) {
    struct dr_state s = help_down();
    dr_down_commit(help_arena(), &s, &s, DOWN, i1);
    CHECK(dr_test_dies(drop_first, &s));
    dr_down_mark_done(help_arena(), &s, &s, DOWN, i1);
    CHECK(dr_test_dies(drop_first, &s));
}

TEST(rule_20, returned_target_is_no_target_and_has_no_drain) {
    struct dr_state s = help_down(), again;
    dr_down_drain(help_arena(), &s, &s, DOWN, i1, (struct dr_strs){uid_v, 1}, NOW);
    CHECK(dr_down_drop(help_arena(), &s, &s, DOWN, i1, NOW, 0));
    CHECK_EQ_INT(s.down_targets.n, 1);
    CHECK_EQ_STR(s.down_targets.v[0], "i-2");
    CHECK_EQ_INT(s.drains.n, 1);
    CHECK_EQ_STR(s.drains.v[0].instance_id, "i-2");
    CHECK_EQ_INT(s.avoid.n, 0);
    CHECK(!dr_down_drop(help_arena(), &s, &again, DOWN, i1, NOW, 60000));
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_19, returned_victim_is_avoided_twice_as_long_each_time) {
    struct dr_state s = help_idle();
    int64_t now = NOW, expected_s = 60;
    for (int i = 0; i < 3; i++) {
        CHECK(dr_down_begin(help_arena(), &s, &s, DOWN, now, (struct dr_strs){&i1, 1}, DR_STR("idle")));
        CHECK(dr_down_drop(help_arena(), &s, &s, DOWN, i1, now, 60000));
        CHECK_EQ_INT(dr_state_avoid(&s, DR_STR("victim/i-1"))->until_epoch, now + expected_s);
        CHECK(dr_down_fail(help_arena(), &s, &s, DOWN));
        now += expected_s;
        expected_s *= 2;
    }
}

TEST(scale_down, completion_starts_the_cooldown_once) {
    struct dr_state s = help_down(), done, again;
    CHECK(dr_test_dies(complete_this, &s)); /* nothing was terminated */
    dr_down_commit(help_arena(), &s, &s, DOWN, i1);
    dr_down_mark_done(help_arena(), &s, &s, DOWN, i1);
    CHECK(dr_test_dies(complete_this, &s)); /* i-2 is still open */
    dr_down_drop(help_arena(), &s, &s, DOWN, i2, NOW, 0);
    CHECK(dr_down_complete(help_arena(), &s, &done, DOWN, NOW + 70));
    CHECK(!done.scaling);
    CHECK_EQ_INT(done.last_scale_epoch, NOW + 70);
    CHECK_EQ_STR(done.last_scale_action, "scale_down");
    CHECK_EQ_INT(done.idle_since_epoch, 0);
    CHECK(!dr_down_complete(help_arena(), &done, &again, DOWN, NOW + 90));
    CHECK(dr_state_eq(&done, &again));
}

TEST(scale_down, completion_needs_a_terminated_target) {
    struct dr_state s = help_down();
    dr_down_drop(help_arena(), &s, &s, DOWN, i1, NOW, 0);
    dr_down_drop(help_arena(), &s, &s, DOWN, i2, NOW, 0);
    CHECK(dr_test_dies(complete_this, &s));
}

TEST(scale_down, failure_has_no_cooldown) {
    struct dr_state s = help_down(), again;
    int64_t last = s.last_scale_epoch;
    CHECK(dr_down_fail(help_arena(), &s, &s, DOWN));
    CHECK(!s.scaling && s.down_targets.n == 0 && s.drains.n == 0);
    CHECK_EQ_INT(s.last_scale_epoch, last);
    CHECK_EQ_STR(s.last_scale_action, "");
    CHECK(!dr_down_fail(help_arena(), &s, &again, DOWN));
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_16, refused_target_can_be_given_back) {
    struct dr_state s = help_down();
    dr_down_commit(help_arena(), &s, &s, DOWN, i1);
    CHECK(dr_mark_refused(help_arena(), &s, &s, i1));
    CHECK(dr_down_drop(help_arena(), &s, &s, DOWN, i1, NOW, 0));
    CHECK(dr_strs_has(s.refused, i1));
}
