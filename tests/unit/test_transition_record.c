#include "state_help.h"

static const struct dr_str i9 = {"i-9", 3};

static void assign_nobody(void *s) { dr_record_assign(help_arena(), s, s, DR_STR("i-7"), UP, 1); }
static void assign_other_action(void *s) { dr_record_assign(help_arena(), s, s, i9, DR_STR("other"), 1); }
static void assign_first(void *s) { dr_record_assign(help_arena(), s, s, i9, UP, 0); }
static void assign_second(void *s) { dr_record_assign(help_arena(), s, s, i9, UP, 1); }
static void return_victim(void *s) { dr_record_return(help_arena(), s, s, i9, DR_STR("i-3")); }
static void put_state_change(void *s) {
    struct dr_record record = help_record("i-9", DR_EVENT_STATE_CHANGE);
    dr_record_put(help_arena(), s, s, &record);
}

static void assign_theirs(void *s) { dr_record_assign(help_arena(), s, s, i9, DR_STR("theirs"), 0); }

TEST(rule_27, scale_up_of_another_system_replaces_nobody) {
    struct dr_state s =
        help_decode_cstr("{\"pk\":{\"S\":\"c\"},\"scalingInProgress\":{\"BOOL\":true},\"scaleUpActionId\":{\"S\":\"theirs\"},"
                         "\"scaleUpRequested\":{\"N\":\"2\"}}");
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    CHECK(dr_test_dies(assign_theirs, &s));
}

TEST(rule_21, record_is_added_once) {
    struct dr_state s = help_idle(), again;
    struct dr_record record = help_record("i-9", DR_EVENT_WARNING);
    CHECK(dr_record_put(help_arena(), &s, &s, &record));
    CHECK(dr_record_owed(dr_state_record(&s, i9)));
    record.noticed_epoch += 5;
    CHECK(!dr_record_put(help_arena(), &s, &again, &record));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_test_dies(put_state_change, &s));
}

TEST(rule_21, warning_after_a_hint_keeps_the_replacement) {
    struct dr_state s = help_up(), again;
    s = help_interrupted(&s, "i-9", DR_EVENT_REBALANCE);
    dr_record_assign(help_arena(), &s, &s, i9, UP, 1);
    struct dr_record warning = help_record("i-9", DR_EVENT_WARNING), hint = help_record("i-9", DR_EVENT_REBALANCE);
    warning.noticed_epoch = NOW + 30;
    CHECK(dr_record_put(help_arena(), &s, &s, &warning));
    const struct dr_record *record = dr_state_record(&s, i9);
    CHECK_EQ_INT(s.records.n, 1);
    CHECK_EQ_INT(record->kind, DR_EVENT_WARNING);
    CHECK_EQ_INT(record->noticed_epoch, NOW + 30);
    CHECK_EQ_STR(record->action_id, "1730000300-up");
    CHECK_EQ_INT(record->index, 1);
    CHECK(!dr_record_put(help_arena(), &s, &again, &hint)); /* and a late hint changes nothing */
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_22, record_names_its_index_once) {
    struct dr_state s = help_up(), again;
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    CHECK(dr_record_assign(help_arena(), &s, &s, i9, UP, 1));
    CHECK_EQ_INT(dr_state_record(&s, i9)->index, 1);
    CHECK(!dr_record_assign(help_arena(), &s, &again, i9, UP, 1));
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_22, one_replacement_per_interrupted_instance) {
    struct dr_state s = help_up();
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    CHECK(dr_test_dies(assign_nobody, &s));
    CHECK(dr_test_dies(assign_other_action, &s));
    CHECK(!dr_test_dies(assign_first, &s));
    dr_record_assign(help_arena(), &s, &s, i9, UP, 1);
    CHECK(dr_test_dies(assign_first, &s)); /* index 1 is still open */
    CHECK(dr_test_dies(return_victim, &s));
    dr_up_index_fail(help_arena(), &s, &s, UP, 1, DR_STR("quota"));
    CHECK(!dr_test_dies(assign_first, &s));
}

TEST(rule_22, one_interrupted_instance_per_index) {
    struct dr_state s = help_up();
    s = help_interrupted(&s, "i-8", DR_EVENT_WARNING);
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    dr_record_assign(help_arena(), &s, &s, DR_STR("i-8"), UP, 1);
    CHECK(dr_test_dies(assign_second, &s));
    CHECK(!dr_test_dies(assign_first, &s));
}

TEST(rule_22, debt_is_brought_back_once) {
    struct dr_state s = help_up(), again;
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    CHECK(!dr_record_assign(help_arena(), &s, &s, i9, DR_STR_NONE, 0));
    dr_record_assign(help_arena(), &s, &s, i9, UP, 1);
    CHECK(dr_record_assign(help_arena(), &s, &s, i9, DR_STR_NONE, 0));
    CHECK(dr_record_owed(dr_state_record(&s, i9)));
    CHECK(!dr_record_assign(help_arena(), &s, &again, i9, DR_STR_NONE, 0));
    CHECK(dr_state_eq(&s, &again));
}

TEST(rule_22, debt_outlives_the_machine_that_left_it) {
    struct dr_state s = help_up(), under_way;
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    dr_record_assign(help_arena(), &s, &under_way, i9, UP, 1);
    CHECK(dr_mark_ended(help_arena(), &s, &s, i9, NOW));
    CHECK(dr_state_record(&s, i9) != NULL);
    CHECK(dr_mark_ended(help_arena(), &under_way, &under_way, i9, NOW));
    CHECK(dr_state_record(&under_way, i9) != NULL);
}

TEST(rule_23, returned_victim_settles_the_record_once) {
    struct dr_state s = help_down(), again;
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    CHECK(dr_record_return(help_arena(), &s, &s, i9, DR_STR("i-3")));
    CHECK(dr_record_settled(dr_state_record(&s, i9)) && !dr_record_owed(dr_state_record(&s, i9)));
    CHECK(!dr_record_return(help_arena(), &s, &again, i9, DR_STR("i-3")));
    CHECK(dr_state_eq(&s, &again));
    CHECK(dr_mark_ended(help_arena(), &s, &s, i9, NOW));
    CHECK(dr_state_record(&s, i9) == NULL);
}

TEST(rule_22, replacement_with_a_warning_of_its_own_settles_the_record) {
    struct dr_state s = help_up();
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    dr_record_assign(help_arena(), &s, &s, i9, UP, 0);
    s = help_interrupted(&s, "i-0", DR_EVENT_WARNING);
    CHECK(dr_test_dies(return_victim, &s)); /* i-3 is not the instance of index 0 */
    CHECK(dr_record_return(help_arena(), &s, &s, i9, DR_STR("i-0")));
    CHECK(dr_record_settled(dr_state_record(&s, i9)));
    CHECK(dr_record_owed(dr_state_record(&s, DR_STR("i-0"))));
}

TEST(rule_23, settled_record_gets_no_second_replacement) {
    struct dr_state s = help_up();
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    dr_record_return(help_arena(), &s, &s, i9, DR_STR("i-4"));
    CHECK(dr_test_dies(assign_second, &s));
    CHECK(dr_test_dies(return_victim, &s));
    CHECK(dr_record_assign(help_arena(), &s, &s, i9, DR_STR_NONE, 0)); /* its stand-in is lost */
    CHECK(dr_record_owed(dr_state_record(&s, i9)));
    CHECK(!dr_test_dies(assign_second, &s));
}

TEST(interruption, record_ends_once_and_alone) {
    struct dr_state s = help_idle(), again;
    s = help_interrupted(&s, "i-8", DR_EVENT_WARNING);
    s = help_interrupted(&s, "i-9", DR_EVENT_WARNING);
    CHECK(dr_record_end(help_arena(), &s, &s, i9));
    CHECK(dr_state_record(&s, i9) == NULL && dr_state_record(&s, DR_STR("i-8")) != NULL);
    CHECK(!dr_record_end(help_arena(), &s, &again, i9));
    CHECK(dr_state_eq(&s, &again));
}
