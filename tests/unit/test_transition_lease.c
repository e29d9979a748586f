#include "state_help.h"

static const struct dr_str me = {"me", 2}, you = {"you", 3};

static void take_now(void *s) { dr_lease_take(help_arena(), s, s, me, NOW); }
static void renew_now(void *s) { dr_lease_renew(help_arena(), s, s, me, NOW); }

TEST(rule_4, free_lease_is_taken_with_a_new_fence_once) {
    struct dr_state s = help_idle(), again;
    s.fence = 4;
    CHECK_EQ_INT(dr_lease_look(&s, me, NOW), DR_LEASE_FREE);
    CHECK(dr_lease_take(help_arena(), &s, &s, me, NOW));
    CHECK_EQ_STR(s.lease_owner, "me");
    CHECK_EQ_INT(s.lease_until_epoch, NOW + 60);
    CHECK_EQ_INT(s.fence, 5);
    CHECK_EQ_INT(dr_lease_look(&s, me, NOW), DR_LEASE_OURS);
    CHECK_EQ_INT(dr_lease_look(&s, you, NOW), DR_LEASE_OTHER);
    CHECK(!dr_lease_take(help_arena(), &s, &again, me, NOW));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_lease_take(help_arena(), &s, &s, me, NOW + 5));
    CHECK_EQ_INT(s.lease_until_epoch, NOW + 65);
    CHECK_EQ_INT(s.fence, 5);
}

TEST(rule_4, held_lease_is_taken_over_only_ten_seconds_after_its_end) {
    struct dr_state s = help_idle();
    dr_lease_take(help_arena(), &s, &s, you, NOW - 70); /* ended 10 s ago */
    CHECK_EQ_INT(dr_lease_look(&s, me, NOW), DR_LEASE_OTHER);
    CHECK(dr_test_dies(take_now, &s));
    s.lease_until_epoch--;
    CHECK_EQ_INT(dr_lease_look(&s, me, NOW), DR_LEASE_FREE);
    CHECK(dr_lease_take(help_arena(), &s, &s, me, NOW));
    CHECK_EQ_STR(s.lease_owner, "me");
    CHECK_EQ_INT(s.fence, 2);
}

TEST(rule_4, renewal_only_prolongs_and_only_ours) {
    struct dr_state s = help_idle(), again;
    CHECK(dr_test_dies(renew_now, &s));
    dr_lease_take(help_arena(), &s, &s, me, NOW);
    CHECK(dr_lease_renew(help_arena(), &s, &s, me, NOW + 20));
    CHECK_EQ_INT(s.lease_until_epoch, NOW + 80);
    CHECK_EQ_INT(s.fence, 1);
    CHECK(!dr_lease_renew(help_arena(), &s, &again, me, NOW + 20));
    CHECK(!dr_lease_renew(help_arena(), &s, &again, me, NOW + 10));
    CHECK(dr_state_eq(&s, &again));
    s.lease_owner = you;
    CHECK(dr_test_dies(renew_now, &s));
}

TEST(rule_4, release_frees_only_our_own_lease_and_keeps_the_fence) {
    struct dr_state s = help_idle(), again;
    dr_lease_take(help_arena(), &s, &s, you, NOW);
    CHECK(!dr_lease_release(help_arena(), &s, &again, me));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_lease_release(help_arena(), &s, &s, you));
    CHECK_EQ_STR(s.lease_owner, "");
    CHECK_EQ_INT(s.lease_until_epoch, 0);
    CHECK_EQ_INT(s.fence, 1);
    CHECK(!dr_lease_release(help_arena(), &s, &s, you));
}
