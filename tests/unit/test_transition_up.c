#include "state_help.h"

/* Calls that must end the process: a transition that is not allowed is our own mistake. */
static void begin_other_up(void *s) { dr_up_begin(help_arena(), s, s, DR_STR("other"), NOW, 1); }
static void begin_other_down(void *s) {
    static const struct dr_str targets[] = {{"i-7", 3}};
    dr_down_begin(help_arena(), s, s, DR_STR("other"), NOW, (struct dr_strs){targets, 1}, DR_STR("idle"));
}
static void extend_other(void *s) { dr_up_extend(help_arena(), s, s, DR_STR("other"), 9); }
static void extend_this(void *s) { dr_up_extend(help_arena(), s, s, ((struct dr_state *)s)->up_action_id, 9); }
static void attempt_other(void *s) {
    struct dr_attempt spec = help_spec(1);
    dr_up_attempt(help_arena(), s, s, DR_STR("other"), 0, &spec, NOW);
}
static void attempt_this(void *s) {
    struct dr_attempt spec = help_spec(1);
    dr_up_attempt(help_arena(), s, s, ((struct dr_state *)s)->up_action_id, 0, &spec, NOW);
}
static void attempt_past_requested(void *s) {
    struct dr_attempt spec = help_spec(1);
    dr_up_attempt(help_arena(), s, s, UP, 2, &spec, NOW);
}
static void attempt_skipping_one(void *s) {
    struct dr_attempt spec = help_spec(3);
    dr_up_attempt(help_arena(), s, s, UP, 1, &spec, NOW);
}
static void attempt_beyond_a_launched_one(void *s) {
    struct dr_attempt spec = help_spec(2);
    dr_up_attempt(help_arena(), s, s, UP, 0, &spec, NOW);
}
static void attempt_changed(void *s) {
    struct dr_attempt spec = help_spec(1);
    spec.zone = DR_STR("c");
    dr_up_attempt(help_arena(), s, s, UP, 1, &spec, NOW);
}
static void record_other(void *s) { dr_up_record(help_arena(), s, s, DR_STR("other"), 1, DR_STR("i-1"), NOW); }
static void record_second_instance(void *s) { dr_up_record(help_arena(), s, s, UP, 0, DR_STR("i-1"), NOW); }
static void record_known_instance(void *s) { dr_up_record(help_arena(), s, s, UP, 1, DR_STR("i-0"), NOW); }
static void join_other(void *s) { dr_up_joined(help_arena(), s, s, DR_STR("other"), 0); }
static void join_without_instance(void *s) { dr_up_joined(help_arena(), s, s, UP, 1); }
static void index_fail_other(void *s) { dr_up_index_fail(help_arena(), s, s, DR_STR("other"), 0, DR_STR("x")); }
static void index_fail_this(void *s) { dr_up_index_fail(help_arena(), s, s, UP, 0, DR_STR("x")); }
static void complete_other(void *s) { dr_up_complete(help_arena(), s, s, DR_STR("other"), NOW); }
static void complete_this(void *s) { dr_up_complete(help_arena(), s, s, UP, NOW); }
static void fail_other(void *s) { dr_up_fail(help_arena(), s, s, DR_STR("other"), NOW, 1, 1); }
static void fail_this(void *s) { dr_up_fail(help_arena(), s, s, UP, NOW, 1, 1); }

static void begin_nameless(void *s) { dr_up_begin(help_arena(), s, s, DR_STR_NONE, NOW, 1); }
static void begin_long_name(void *s) { dr_up_begin(help_arena(), s, s, dr_str_fmt(help_arena(), "%065d", 1), NOW, 1); }
static void begin_for_nothing(void *s) { dr_up_begin(help_arena(), s, s, DR_STR("other"), NOW, 0); }
static void attempt_with_a_hole(void *s) {
    struct dr_attempt spec = help_spec(1);
    dr_up_attempt(help_arena(), s, s, UP, 3, &spec, NOW);
}
static void attempt_starting_at_two(void *s) {
    struct dr_attempt spec = help_spec(2);
    dr_up_attempt(help_arena(), s, s, UP, 2, &spec, NOW);
}
static void record_nobody(void *s) { dr_up_record(help_arena(), s, s, UP, 1, DR_STR_NONE, NOW); }
static void record_nowhere(void *s) { dr_up_record(help_arena(), s, s, UP, 2, DR_STR("i-1"), NOW); }
static void join_nowhere(void *s) { dr_up_joined(help_arena(), s, s, UP, 2); }
static void index_fail_nowhere(void *s) { dr_up_index_fail(help_arena(), s, s, UP, 2, DR_STR("x")); }

TEST(scale_up, arguments_that_would_make_an_unreadable_item_are_refused) {
    struct dr_state idle = help_idle(), up = help_up();
    CHECK(dr_test_dies(begin_nameless, &idle));
    CHECK(dr_test_dies(begin_long_name, &idle));
    CHECK(dr_test_dies(begin_for_nothing, &idle));
    dr_up_extend(help_arena(), &up, &up, UP, 9);
    CHECK(dr_test_dies(attempt_with_a_hole, &up));
    CHECK(dr_test_dies(attempt_starting_at_two, &up));
    CHECK(dr_test_dies(record_nobody, &up));
    CHECK(dr_test_dies(record_nowhere, &up));
    CHECK(dr_test_dies(join_nowhere, &up));
    CHECK(dr_test_dies(index_fail_nowhere, &up));
}

TEST(rule_2, begin_of_a_scale_up_is_written_once) {
    struct dr_state idle = help_idle(), s, again;
    CHECK(dr_up_begin(help_arena(), &idle, &s, UP, NOW, 2));
    CHECK(!idle.scaling); /* the source is untouched */
    CHECK(s.scaling && s.up_has_attempts);
    CHECK_EQ_STR(s.up_action_id, "1730000300-up");
    CHECK_EQ_INT(s.up_started_epoch, NOW);
    CHECK_EQ_INT(s.up_requested, 2);
    CHECK(!dr_up_begin(help_arena(), &s, &again, UP, NOW + 60, 3));
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_2, begin_while_something_is_scaling_is_refused) {
    struct dr_state up = help_up(), down = help_down(), flag = help_idle(), action = help_up(), down_action = help_down();
    flag.scaling = true;
    action.scaling = false;
    down_action.scaling = false;
    CHECK(dr_test_dies(begin_other_up, &up));
    CHECK(dr_test_dies(begin_other_up, &down));
    CHECK(dr_test_dies(begin_other_up, &flag));
    CHECK(dr_test_dies(begin_other_up, &action));
    CHECK(dr_test_dies(begin_other_up, &down_action));
    CHECK(dr_test_dies(begin_other_down, &action));
    CHECK(dr_test_dies(begin_other_down, &down_action));
    CHECK(dr_test_dies(begin_other_down, &up));
    CHECK(dr_test_dies(begin_other_down, &down));
    CHECK(dr_test_dies(begin_other_down, &flag));
    struct dr_state idle = help_idle();
    CHECK(!dr_test_dies(begin_other_up, &idle) && !dr_test_dies(begin_other_down, &idle));
}

TEST(rule_2, steps_of_another_scale_up_are_refused) {
    struct dr_state s = help_up();
    CHECK(dr_test_dies(extend_other, &s));
    CHECK(dr_test_dies(attempt_other, &s));
    CHECK(dr_test_dies(record_other, &s));
    CHECK(dr_test_dies(join_other, &s));
    CHECK(dr_test_dies(index_fail_other, &s));
    CHECK(dr_test_dies(complete_other, &s));
    CHECK(dr_test_dies(fail_other, &s));
}

TEST(rule_7, attempt_is_written_before_its_call_and_only_once) {
    struct dr_state s = help_idle(), again;
    struct dr_attempt spec = help_spec(1);
    spec.replaces = DR_STR("i-9");
    dr_up_begin(help_arena(), &s, &s, UP, NOW, 2);
    CHECK(dr_up_attempt(help_arena(), &s, &s, UP, 0, &spec, NOW + 3));
    const struct dr_attempt *first = &s.attempts.v[0];
    CHECK_EQ_INT(s.attempts.n, 1);
    CHECK_EQ_INT(first->status, DR_ATTEMPT_OPEN);
    CHECK_EQ_INT(first->attempt, 1);
    CHECK_EQ_STR(first->type, "t3.large");
    CHECK_EQ_STR(first->zone, "a");
    CHECK_EQ_STR(first->subnet, "subnet-a");
    CHECK_EQ_INT(first->market, DR_MARKET_SPOT);
    CHECK_EQ_STR(first->template_version, "7");
    CHECK_EQ_STR(first->replaces, "i-9");
    CHECK_EQ_INT(first->since_epoch, NOW + 3);
    CHECK(!dr_up_attempt(help_arena(), &s, &again, UP, 0, &spec, NOW + 9));
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_8, next_attempt_keeps_the_age_of_its_index) {
    struct dr_state s = help_up();
    struct dr_attempt second = help_spec(2);
    CHECK(dr_up_attempt(help_arena(), &s, &s, UP, 1, &second, NOW + 50));
    CHECK_EQ_INT(s.attempts.n, 2);
    CHECK_EQ_INT(s.attempts.v[1].attempt, 2);
    CHECK_EQ_STR(s.attempts.v[1].zone, "b");
    CHECK_EQ_INT(s.attempts.v[1].since_epoch, NOW + 1);
    CHECK_EQ_STR(s.attempts.v[0].instance_id, "i-0");
}

TEST(rule_8, attempt_that_is_repeated_must_be_the_same_call) {
    struct dr_state s = help_up();
    CHECK(dr_test_dies(attempt_changed, &s));
    CHECK(dr_test_dies(attempt_skipping_one, &s));
    CHECK(dr_test_dies(attempt_beyond_a_launched_one, &s));
    CHECK(dr_test_dies(attempt_past_requested, &s));
}

TEST(scale_up, recorded_instance_is_listed_and_recorded_once) {
    struct dr_state s = help_up(), again;
    CHECK_EQ_INT(s.attempts.v[0].status, DR_ATTEMPT_LAUNCHED);
    CHECK_EQ_INT(s.attempts.v[0].launched_epoch, NOW + 2);
    CHECK_EQ_INT(s.up_instance_ids.n, 1);
    CHECK(!dr_up_record(help_arena(), &s, &again, UP, 0, DR_STR("i-0"), NOW + 9));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_up_record(help_arena(), &s, &s, UP, 1, DR_STR("i-5"), NOW + 9));
    CHECK_EQ_INT(s.up_instance_ids.n, 2);
    CHECK_EQ_STR(s.up_instance_ids.v[1], "i-5");
}

TEST(rule_24, second_instance_of_an_index_is_never_recorded) {
    struct dr_state s = help_up();
    CHECK(dr_test_dies(record_second_instance, &s));
    CHECK(dr_test_dies(record_known_instance, &s));
}

TEST(scale_up, join_is_written_once_and_needs_an_instance) {
    struct dr_state s = help_up(), again;
    CHECK(dr_up_joined(help_arena(), &s, &s, UP, 0));
    CHECK_EQ_INT(s.attempts.v[0].status, DR_ATTEMPT_JOINED);
    CHECK(!dr_up_joined(help_arena(), &s, &again, UP, 0));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_test_dies(join_without_instance, &s));
    CHECK(dr_test_dies(index_fail_this, &s)); /* joined is final */
}

TEST(scale_up, failed_index_keeps_its_reason_and_its_instance) {
    struct dr_state s = help_up(), again;
    CHECK(dr_up_index_fail(help_arena(), &s, &s, UP, 0, DR_STR("join timeout")));
    CHECK_EQ_INT(s.attempts.v[0].status, DR_ATTEMPT_FAILED);
    CHECK_EQ_STR(s.attempts.v[0].why, "join timeout");
    CHECK_EQ_STR(s.attempts.v[0].instance_id, "i-0");
    CHECK(!dr_up_index_fail(help_arena(), &s, &again, UP, 0, DR_STR("something else")));
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_11, instance_that_joins_after_its_timeout_still_counts_as_joined) {
    struct dr_state s = help_up();
    dr_up_index_fail(help_arena(), &s, &s, UP, 0, DR_STR("join timeout"));
    CHECK(dr_up_joined(help_arena(), &s, &s, UP, 0));
    CHECK_EQ_STR(s.attempts.v[0].why, "");
    CHECK(dr_up_complete(help_arena(), &s, &s, UP, NOW + 700));
}

TEST(rule_11, completion_starts_the_cooldown_once_and_ends_the_back_off) {
    struct dr_state s = help_up(), done, again;
    s.backoff_count = 2;
    s.backoff_until_epoch = NOW + 9;
    dr_up_joined(help_arena(), &s, &s, UP, 0);
    CHECK(dr_up_complete(help_arena(), &s, &done, UP, NOW + 100));
    CHECK(!done.scaling);
    CHECK_EQ_INT(done.last_scale_epoch, NOW + 100);
    CHECK_EQ_STR(done.last_scale_action, "scale_up");
    CHECK_EQ_INT(done.backoff_count, 0);
    CHECK_EQ_INT(done.backoff_until_epoch, 0);
    CHECK_EQ_INT(done.idle_since_epoch, 0);
    CHECK(!dr_up_complete(help_arena(), &done, &again, UP, NOW + 200));
    CHECK(dr_state_eq(&done, &again));
}

TEST(rule_11, action_ends_by_what_joined) {
    struct dr_state none = help_up(), some = help_up();
    dr_up_joined(help_arena(), &some, &some, UP, 0);
    CHECK(dr_test_dies(complete_this, &none));
    CHECK(dr_test_dies(fail_this, &some));
    CHECK(!dr_test_dies(complete_this, &some));
    CHECK(!dr_test_dies(fail_this, &none));
}

TEST(scale_up, ended_action_leaves_no_field_in_the_item) {
    struct dr_state s = help_up();
    dr_up_fail(help_arena(), &s, &s, UP, NOW, 0, 0);
    struct dr_str json = help_encode(&s);
    CHECK(strstr(json.p, "scaleUp") == NULL);
    s = help_down();
    dr_down_fail(help_arena(), &s, &s, DOWN);
    json = help_encode(&s);
    CHECK(strstr(json.p, "scaleDown") == NULL);
}

TEST(rule_11, failure_has_no_cooldown_and_doubles_the_back_off_to_its_ceiling) {
    static const int64_t expected_s[] = {60, 120, 240, 300, 300};
    struct dr_state s = help_idle();
    int64_t last = s.last_scale_epoch;
    for (size_t i = 0; i < 5; i++) {
        CHECK(dr_up_begin(help_arena(), &s, &s, UP, NOW, 1));
        CHECK(dr_up_fail(help_arena(), &s, &s, UP, NOW, 60000, 300000));
        CHECK(!s.scaling);
        CHECK_EQ_INT(s.backoff_until_epoch, NOW + expected_s[i]);
        CHECK_EQ_INT(s.backoff_count, (int64_t)i + 1);
        CHECK(!dr_up_fail(help_arena(), &s, &s, UP, NOW, 60000, 300000)); /* a lost reply does not double it */
    }
    CHECK_EQ_INT(s.last_scale_epoch, last);
}

TEST(scale_up, back_off_of_a_part_of_a_second_is_not_shortened) {
    struct dr_state s = help_idle();
    dr_up_begin(help_arena(), &s, &s, UP, NOW, 1);
    dr_up_fail(help_arena(), &s, &s, UP, NOW, 1001, 5000);
    CHECK_EQ_INT(s.backoff_until_epoch, NOW + 2);
}

TEST(scale_up, back_off_of_an_absurd_count_does_not_overflow) {
    struct dr_state s = help_idle();
    s.backoff_count = (INT64_C(1) << 53) - 1;
    dr_up_begin(help_arena(), &s, &s, UP, NOW, 1);
    dr_up_fail(help_arena(), &s, &s, UP, NOW, 1000, INT64_MAX);
    CHECK_EQ_INT(s.backoff_until_epoch, DR_STATE_MAX_EPOCH);
}

TEST(rule_12, extension_only_raises_what_is_requested) {
    struct dr_state s = help_up(), again;
    CHECK(dr_up_extend(help_arena(), &s, &s, UP, 4));
    CHECK_EQ_INT(s.up_requested, 4);
    CHECK(!dr_up_extend(help_arena(), &s, &again, UP, 4));
    CHECK(!dr_up_extend(help_arena(), &s, &again, UP, 3));
    CHECK_EQ_INT(again.up_requested, 4);
}

TEST(rule_27, scale_up_of_another_system_is_never_launched_again) {
    struct dr_state s =
        help_decode_cstr("{\"pk\":{\"S\":\"c\"},\"scalingInProgress\":{\"BOOL\":true},\"scaleUpActionId\":{\"S\":\"theirs\"},"
                         "\"scaleUpRequested\":{\"N\":\"2\"},\"scaleUpInstanceIds\":{\"L\":[{\"S\":\"i-a\"}]}}");
    CHECK(dr_test_dies(attempt_this, &s));
    CHECK(dr_test_dies(extend_this, &s));
    struct dr_state done, failed;
    CHECK(dr_up_complete(help_arena(), &s, &done, DR_STR("theirs"), NOW));
    CHECK(!done.scaling && done.up_instance_ids.n == 0);
    CHECK(dr_up_fail(help_arena(), &s, &failed, DR_STR("theirs"), NOW, 1000, 1000));
    CHECK_EQ_INT(failed.backoff_until_epoch, NOW + 1);
}

/* A scale-up of two whose index 0 replaces i-8 and index 1 replaces i-9. */
static struct dr_state replacing(enum dr_event_kind kind) {
    struct dr_state s = help_up();
    s = help_interrupted(&s, "i-8", kind);
    s = help_interrupted(&s, "i-9", kind);
    CHECK(dr_record_assign(help_arena(), &s, &s, DR_STR("i-8"), UP, 0));
    CHECK(dr_record_assign(help_arena(), &s, &s, DR_STR("i-9"), UP, 1));
    return s;
}

TEST(rule_22, debt_comes_back_for_the_index_that_did_not_join) {
    struct dr_state s = replacing(DR_EVENT_WARNING);
    dr_up_joined(help_arena(), &s, &s, UP, 0);
    CHECK(dr_up_complete(help_arena(), &s, &s, UP, NOW));
    CHECK(dr_record_owed(dr_state_record(&s, DR_STR("i-9"))));
    CHECK(!dr_record_owed(dr_state_record(&s, DR_STR("i-8"))));
}

TEST(rule_22, debts_come_back_when_the_action_fails) {
    struct dr_state s = replacing(DR_EVENT_WARNING);
    CHECK(dr_up_fail(help_arena(), &s, &s, UP, NOW, 1000, 1000));
    CHECK(dr_record_owed(dr_state_record(&s, DR_STR("i-8"))));
    CHECK(dr_record_owed(dr_state_record(&s, DR_STR("i-9"))));
}

TEST(rule_22, debt_comes_back_for_an_index_that_was_never_written) {
    struct dr_state s = help_up();
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    dr_up_extend(help_arena(), &s, &s, UP, 3);
    dr_record_assign(help_arena(), &s, &s, DR_STR("i-9"), UP, 2);
    CHECK(dr_up_fail(help_arena(), &s, &s, UP, NOW, 1000, 1000));
    CHECK(dr_record_owed(dr_state_record(&s, DR_STR("i-9"))));
}

TEST(rule_22, record_of_a_replaced_machine_lives_until_that_machine_has_ended) {
    static const enum dr_event_kind kinds[] = {DR_EVENT_WARNING, DR_EVENT_REBALANCE};
    for (size_t i = 0; i < 2; i++) {
        struct dr_state s = replacing(kinds[i]);
        dr_up_joined(help_arena(), &s, &s, UP, 0);
        dr_up_complete(help_arena(), &s, &s, UP, NOW);
        const struct dr_record *record = dr_state_record(&s, DR_STR("i-8"));
        CHECK(record != NULL && dr_record_settled(record));
        CHECK_EQ_STR(record->returned_id, "i-0");
        CHECK_EQ_STR(record->action_id, "1730000300-up");
        CHECK_EQ_INT(record->index, 0);
        CHECK(dr_mark_ended(help_arena(), &s, &s, DR_STR("i-8"), NOW + 60));
        CHECK(dr_state_record(&s, DR_STR("i-8")) == NULL);
    }
}

TEST(rule_22, record_of_a_machine_that_ended_before_its_replacement_joined_ends_with_the_action) {
    struct dr_state s = replacing(DR_EVENT_WARNING);
    CHECK(dr_mark_ended(help_arena(), &s, &s, DR_STR("i-8"), NOW));
    CHECK(dr_state_record(&s, DR_STR("i-8")) != NULL);
    dr_up_joined(help_arena(), &s, &s, UP, 0);
    dr_up_complete(help_arena(), &s, &s, UP, NOW);
    CHECK_EQ_INT(s.records.n, 1);
    CHECK_EQ_STR(s.records.v[0].instance_id, "i-9");
}

TEST(rule_22, records_of_other_actions_and_settled_ones_are_left_alone) {
    struct dr_state s = help_up();
    s = help_interrupted(&s, "i-7", DR_EVENT_WARNING);
    CHECK(dr_record_return(help_arena(), &s, &s, DR_STR("i-7"), DR_STR("i-3")));
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    CHECK(dr_up_fail(help_arena(), &s, &s, UP, NOW, 1000, 1000));
    CHECK_EQ_STR(dr_state_record(&s, DR_STR("i-7"))->returned_id, "i-3");
    CHECK(dr_record_owed(dr_state_record(&s, DR_STR("i-9"))));
}
