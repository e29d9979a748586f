#include "state_help.h"

static const struct dr_str i1 = {"i-1", 3};

static void add_first(void *s) { dr_mark_add(help_arena(), s, s, i1); }
static void refuse_first(void *s) { dr_mark_refused(help_arena(), s, s, i1); }

TEST(rule_13, mark_is_added_once) {
    struct dr_state s = help_idle(), again;
    CHECK(dr_mark_add(help_arena(), &s, &s, i1));
    CHECK(!dr_mark_add(help_arena(), &s, &again, i1));
    CHECK(dr_state_eq(&s, &again));
    CHECK_EQ_INT(s.marks.n, 1);
}

TEST(rule_13, mark_leaves_when_the_instance_ends_and_is_remembered_for_a_day) {
    struct dr_state s = help_idle(), again;
    dr_mark_add(help_arena(), &s, &s, DR_STR("i-0"));
    dr_mark_add(help_arena(), &s, &s, i1);
    CHECK(dr_mark_ended(help_arena(), &s, &s, i1, NOW));
    CHECK(!dr_state_marked(&s, i1) && dr_state_marked(&s, DR_STR("i-0")));
    CHECK(dr_state_ended(&s, i1));
    CHECK(!dr_mark_ended(help_arena(), &s, &again, i1, NOW + 5));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_test_dies(add_first, &s)); /* a stale Describe does not bring it back */
    CHECK(!dr_state_expire(help_arena(), &s, &again, NOW + 86399));
    CHECK(dr_state_ended(&again, i1));
    CHECK(dr_state_expire(help_arena(), &s, &s, NOW + 86400));
    CHECK(!dr_state_ended(&s, i1));
    CHECK(dr_state_marked(&s, DR_STR("i-0"))); /* a mark has no age */
}

TEST(rule_13, every_other_trace_of_an_ended_instance_leaves) {
    struct dr_state s = help_idle();
    dr_mark_add(help_arena(), &s, &s, i1);
    dr_mark_refused(help_arena(), &s, &s, i1);
    dr_quarantine_put(help_arena(), &s, &s, i1, NOW + 50);
    dr_quarantine_put(help_arena(), &s, &s, DR_STR("i-2"), NOW + 50);
    dr_avoid_put(help_arena(), &s, &s, DR_STR("victim/i-1"), NOW, 60000);
    dr_avoid_put(help_arena(), &s, &s, DR_STR("victim/i-2"), NOW, 60000);
    CHECK(dr_mark_ended(help_arena(), &s, &s, i1, NOW));
    CHECK_EQ_INT(s.refused.n, 0);
    CHECK(dr_state_quarantined(&s, i1) == NULL && dr_state_quarantined(&s, DR_STR("i-2")) != NULL);
    CHECK(dr_state_avoid(&s, DR_STR("victim/i-1")) == NULL && dr_state_avoid(&s, DR_STR("victim/i-2")) != NULL);
}

TEST(rule_13, thousand_and_first_ended_id_takes_the_place_of_the_oldest) {
    struct dr_state s = help_idle();
    for (int i = 0; i <= DR_STATE_MAX_LIST; i++) {
        CHECK(dr_mark_ended(help_arena(), &s, &s, dr_str_fmt(help_arena(), "i-%d", i), NOW + i));
    }
    CHECK_EQ_INT(s.ended.n, DR_STATE_MAX_LIST);
    CHECK(!dr_state_ended(&s, DR_STR("i-0")) && dr_state_ended(&s, i1) && dr_state_ended(&s, DR_STR("i-1000")));
    help_decode(help_encode(&s));
}

TEST(rule_16, refused_mark_becomes_refused_and_is_not_marked_again) {
    struct dr_state s = help_idle(), again;
    CHECK(dr_test_dies(refuse_first, &s)); /* there is no mark */
    dr_mark_add(help_arena(), &s, &s, i1);
    CHECK(dr_mark_refused(help_arena(), &s, &s, i1));
    CHECK(!dr_state_marked(&s, i1) && dr_strs_has(s.refused, i1));
    CHECK(!dr_mark_refused(help_arena(), &s, &again, i1));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_test_dies(add_first, &s));
}

TEST(quarantine, is_put_once_prolonged_and_ended_once) {
    struct dr_state s = help_idle(), again;
    CHECK(dr_quarantine_put(help_arena(), &s, &s, i1, NOW + 50));
    CHECK(!dr_quarantine_put(help_arena(), &s, &again, i1, NOW + 50));
    CHECK(!dr_quarantine_put(help_arena(), &s, &again, i1, NOW + 40));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_quarantine_put(help_arena(), &s, &s, i1, NOW + 60));
    CHECK_EQ_INT(s.quarantined.n, 1);
    CHECK_EQ_INT(dr_state_quarantined(&s, i1)->epoch, NOW + 60);
    CHECK(dr_quarantine_end(help_arena(), &s, &s, i1));
    CHECK_EQ_INT(s.quarantined.n, 0);
    CHECK(!dr_quarantine_end(help_arena(), &s, &s, i1));
}

TEST(avoid, repetition_after_its_end_doubles_up_to_a_day) {
    struct dr_state s = help_idle();
    struct dr_str key = DR_STR("stock/t3.large/a/spot");
    int64_t now = NOW, expected_s = 3600;
    for (int i = 1; i <= 7; i++) {
        CHECK(dr_avoid_put(help_arena(), &s, &s, key, now, 3600000));
        CHECK_EQ_INT(dr_state_avoid(&s, key)->until_epoch, now + expected_s);
        CHECK_EQ_INT(dr_state_avoid(&s, key)->count, i);
        now += expected_s;
        expected_s = expected_s * 2 > 86400 ? 86400 : expected_s * 2;
    }
    CHECK_EQ_INT(s.avoid.n, 1);
}

TEST(avoid, repetition_before_its_end_is_already_so) {
    struct dr_state s = help_idle(), again;
    CHECK(dr_avoid_put(help_arena(), &s, &s, DR_STR("zone/a"), NOW, 60000));
    CHECK(!dr_avoid_put(help_arena(), &s, &again, DR_STR("zone/a"), NOW, 60000));
    CHECK(!dr_avoid_put(help_arena(), &s, &again, DR_STR("zone/a"), NOW + 59, 60000));
    CHECK(dr_state_eq(&s, &again));
    CHECK(!dr_avoid_put(help_arena(), &s, &again, DR_STR("zone/b"), NOW, 0));
}

TEST(avoid, count_lives_a_day_longer_than_its_entry) {
    struct dr_state s = help_idle(), again;
    dr_avoid_put(help_arena(), &s, &s, DR_STR("zone/a"), NOW, 60000);
    dr_avoid_put(help_arena(), &s, &s, DR_STR("zone/b"), NOW, 90000);
    CHECK(!dr_state_expire(help_arena(), &s, &again, NOW + 60 + 86399));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_state_expire(help_arena(), &s, &s, NOW + 60 + 86400));
    CHECK(dr_state_avoid(&s, DR_STR("zone/a")) == NULL && dr_state_avoid(&s, DR_STR("zone/b")) != NULL);
}

TEST(avoid, full_list_gives_up_what_ends_first) {
    struct dr_state s = help_idle();
    for (int i = 0; i < DR_STATE_MAX_LIST; i++) {
        CHECK(dr_avoid_put(help_arena(), &s, &s, dr_str_fmt(help_arena(), "zone/%d", i), NOW, i == 500 ? 1000 : 60000));
    }
    CHECK(dr_avoid_put(help_arena(), &s, &s, DR_STR("zone/new"), NOW, 60000));
    CHECK_EQ_INT(s.avoid.n, DR_STATE_MAX_LIST);
    CHECK(dr_state_avoid(&s, DR_STR("zone/500")) == NULL && dr_state_avoid(&s, DR_STR("zone/new")) != NULL);
}
