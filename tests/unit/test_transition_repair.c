#include "base/rand.h"
#include "state_help.h"

TEST(rule_27, sound_items_need_no_repair) {
    struct dr_state idle = help_idle(), up = help_up(), down = help_down(), out;
    CHECK(!dr_state_repair(help_arena(), &idle, &out) && dr_state_eq(&idle, &out));
    CHECK(!dr_state_repair(help_arena(), &up, &out) && dr_state_eq(&up, &out));
    CHECK(!dr_state_repair(help_arena(), &down, &out) && dr_state_eq(&down, &out));
}

TEST(rule_27, flag_without_an_action_goes) {
    struct dr_state s = help_idle(), again;
    s.scaling = true;
    s.up_started_epoch = 5;
    s.up_requested = 2;
    s.down_terminating = true;
    dr_mark_add(help_arena(), &s, &s, DR_STR("i-1"));
    CHECK(dr_state_repair(help_arena(), &s, &s));
    CHECK(!s.scaling && s.up_started_epoch == 0 && s.up_requested == 0 && !s.down_terminating);
    CHECK_EQ_INT(s.marks.n, 1);
    CHECK(!dr_state_repair(help_arena(), &s, &again));
}

TEST(rule_27, nothing_is_repaired_while_a_wrong_type_blocks) {
    struct dr_state s = help_decode_cstr("{\"pk\":{\"S\":\"c\"},\"scalingInProgress\":{\"BOOL\":true},\"scaleUpActionId\":{\"N\":\"1\"}}"),
                    out;
    CHECK(!dr_state_repair(help_arena(), &s, &out));
    CHECK(out.scaling);
}

TEST(rule_27, fields_without_an_action_go) {
    struct dr_state up = help_up(), down = help_down();
    up.up_action_id = DR_STR_NONE;
    down.down_action_id = DR_STR_NONE;
    CHECK(dr_state_repair(help_arena(), &up, &up));
    CHECK(!up.scaling && up.attempts.n == 0 && !up.up_has_attempts);
    CHECK(dr_state_repair(help_arena(), &down, &down));
    CHECK(!down.scaling && down.down_targets.n == 0 && down.drains.n == 0);
}

TEST(rule_27, scale_up_without_its_flag_gets_it_back_because_an_open_attempt_is_never_dropped) {
    struct dr_state s = help_up();
    s.scaling = false;
    CHECK(dr_state_repair(help_arena(), &s, &s));
    CHECK(s.scaling);
    CHECK_EQ_INT(s.attempts.n, 2);
}

TEST(rule_27, scale_down_without_its_flag_goes_and_its_marks_stay) {
    struct dr_state s = help_down();
    dr_down_commit(help_arena(), &s, &s, DOWN, DR_STR("i-1"));
    s.scaling = false;
    CHECK(dr_state_repair(help_arena(), &s, &s));
    CHECK(!s.scaling && s.down_action_id.n == 0 && s.down_targets.n == 0);
    CHECK_EQ_INT(s.marks.n, 1);
    CHECK_EQ_STR(s.marks.v[0], "i-1");
}

TEST(rule_27, of_two_actions_the_scale_up_goes_on_and_marks_stay) {
    struct dr_state s = help_up(), down = help_down();
    dr_down_commit(help_arena(), &down, &down, DOWN, DR_STR("i-1"));
    s.down_action_id = down.down_action_id;
    s.down_targets = down.down_targets;
    s.drains.v = down.drains.v;
    s.drains.n = down.drains.n;
    s.down_terminating = true;
    s.marks = down.marks;
    CHECK(dr_state_repair(help_arena(), &s, &s));
    CHECK(s.scaling && s.up_action_id.n > 0 && s.down_action_id.n == 0 && s.down_targets.n == 0);
    CHECK_EQ_INT(s.attempts.n, 2);
    CHECK_EQ_INT(s.marks.n, 1);
}

TEST(rule_27, repair_gives_back_the_debt_of_a_record_whose_action_is_gone) {
    struct dr_state s = help_up();
    s = help_interrupted(&s, "i-8", DR_EVENT_WARNING);
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    dr_record_assign(help_arena(), &s, &s, DR_STR("i-9"), UP, 1);
    dr_record_return(help_arena(), &s, &s, DR_STR("i-8"), DR_STR("i-3"));
    CHECK(!dr_state_repair(help_arena(), &s, &s));
    s.up_action_id = DR_STR_NONE;
    CHECK(dr_state_repair(help_arena(), &s, &s));
    CHECK(dr_record_owed(dr_state_record(&s, DR_STR("i-9"))));
    CHECK(dr_record_settled(dr_state_record(&s, DR_STR("i-8"))));
}

TEST(rule_27, more_attempts_than_requested_are_not_forgotten) {
    struct dr_state s = help_up();
    s.up_requested = 1;
    CHECK(dr_state_repair(help_arena(), &s, &s));
    CHECK_EQ_INT(s.up_requested, 2);
    CHECK_EQ_INT(s.attempts.n, 2);
}

/* Any item at all, as another program or an accident may leave it. */
TEST(rule_27, repair_of_any_item_marks_nothing_and_leaves_at_most_one_action) {
    struct dr_rand rand;
    dr_rand_init(&rand, dr_test_seed());
    for (int round = 0; round < 2000; round++) {
        struct dr_state up = help_up(), down = help_down(), s = help_idle();
        if (dr_rand_below(&rand, 2)) {
            s = up;
        }
        if (dr_rand_below(&rand, 2)) {
            s.down_targets = down.down_targets;
            s.drains.v = down.drains.v;
            s.drains.n = down.drains.n;
        }
        if (dr_rand_below(&rand, 2)) {
            s.down_action_id = DOWN;
        }
        if (dr_rand_below(&rand, 3) == 0) {
            s.up_action_id = DR_STR_NONE;
        }
        if (dr_rand_below(&rand, 3) == 0) {
            s.up_has_attempts = false;
        }
        s.scaling = dr_rand_below(&rand, 2) == 1;
        s = help_decode(help_encode(&s));
        struct dr_state fixed, again;
        dr_state_repair(help_arena(), &s, &fixed);
        CHECK_EQ_INT(fixed.marks.n, 0);
        CHECK(fixed.up_action_id.n == 0 || fixed.down_action_id.n == 0);
        CHECK_EQ_INT(fixed.scaling, fixed.up_action_id.n > 0 || fixed.down_action_id.n > 0);
        CHECK(!dr_state_repair(help_arena(), &fixed, &again));
        dr_arena_reset(help_arena());
    }
}
