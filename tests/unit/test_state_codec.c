#include "state_help.h"

static struct dr_state fixture(const char *path) {
    size_t n;
    char *text = dr_test_read_file(dr_test_path(path), &n);
    struct dr_state s = help_decode((struct dr_str){text, n});
    memset(text, 'x', n); /* nothing may refer to the document */
    free(text);
    return s;
}

static void check_invalid(const char *json, const char *text) {
    struct dr_state s;
    struct dr_err err = {0};
    CHECK_FAILS(dr_state_decode(help_arena(), dr_str_of(json), &s, &err), err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(err.text), text);
}

static void check_limit(struct dr_str json, const char *text) {
    struct dr_state s;
    struct dr_err err = {0};
    CHECK_FAILS(dr_state_decode(help_arena(), json, &s, &err), err, DR_E_LIMIT);
    CHECK_CONTAINS(dr_str_of(err.text), text);
}

/* {"pk":..,<attribute>:<json>} with one problem of that text. */
static struct dr_state check_problem(const char *attribute, const char *json, bool blocking, const char *what) {
    struct dr_state s = help_decode(dr_str_fmt(help_arena(), "{\"pk\":{\"S\":\"c\"},\"%s\":%s}", attribute, json));
    if (s.problems.n != 1) {
        FAIL("%s %s: %zu problems", attribute, json, s.problems.n);
    }
    CHECK_EQ_STR(s.problems.v[0].attribute, attribute);
    CHECK_EQ_STR(s.problems.v[0].what, what);
    CHECK_EQ_INT(s.problems.v[0].blocking, blocking);
    CHECK_EQ_INT(dr_state_blocked(&s), blocking);
    return s;
}

TEST(state_codec, idle_item_of_another_system_is_read_and_written_back) {
    struct dr_state s = fixture("tests/fixtures/item-idle.json");
    CHECK(s.exists && !s.scaling);
    CHECK_EQ_STR(s.pk, "cluster");
    CHECK_EQ_INT(s.last_scale_epoch, 1730000000);
    CHECK_EQ_INT(s.pending_since_epoch, 0);
    CHECK_EQ_INT(s.idle_since_epoch, 1730000100);
    CHECK_EQ_INT(s.worker_count, 2);
    CHECK_EQ_INT(s.revision, 0);
    CHECK_EQ_INT(s.problems.n, 0);
    CHECK_EQ_STR(help_encode(&s),
                 "{\"pk\":{\"S\":\"cluster\"},\"scalingInProgress\":{\"BOOL\":false},\"lastScaleEpoch\":{\"N\":\"1730000000\"},"
                 "\"pendingSinceEpoch\":{\"N\":\"0\"},\"idleSinceEpoch\":{\"N\":\"1730000100\"},\"workerCount\":{\"N\":\"2\"}}");
}

TEST(rule_27, scale_up_of_another_system_keeps_its_instances_and_has_no_attempts) {
    struct dr_state s = fixture("tests/fixtures/item-scale-up.json");
    CHECK(s.scaling && !s.up_has_attempts);
    CHECK_EQ_STR(s.up_action_id, "1730000300-req-xyz");
    CHECK_EQ_INT(s.up_started_epoch, 1730000300);
    CHECK_EQ_INT(s.up_requested, 2);
    CHECK_EQ_INT(s.up_instance_ids.n, 2);
    CHECK_EQ_STR(s.up_instance_ids.v[1], "i-bbb");
    struct dr_str json = help_encode(&s);
    CHECK_CONTAINS(json, "\"scaleUpInstanceIds\":{\"L\":[{\"S\":\"i-aaa\"},{\"S\":\"i-bbb\"}]}");
    struct dr_state again = help_decode(json);
    CHECK(!again.up_has_attempts && dr_state_eq(&s, &again));
}

TEST(state_codec, scale_up_of_ours_without_an_attempt_is_still_ours_after_reading) {
    struct dr_state s = help_idle();
    dr_up_begin(help_arena(), &s, &s, UP, NOW, 2);
    struct dr_str json = help_encode(&s);
    CHECK_CONTAINS(json, "\"scaleUpInstanceIds\":{\"L\":[]},\"scaleUpAttempts\":{\"L\":[]}");
    struct dr_state again = help_decode(json);
    CHECK(again.up_has_attempts && dr_state_eq(&s, &again));
}

TEST(state_codec, instance_ids_are_those_of_the_attempts) {
    struct dr_state s = help_up();
    static const struct dr_str stale[] = {{"i-stale", 7}};
    s.up_instance_ids = (struct dr_strs){stale, 1};
    struct dr_str json = help_encode(&s);
    CHECK_CONTAINS(json, "\"scaleUpInstanceIds\":{\"L\":[{\"S\":\"i-0\"}]}");
    struct dr_state again = help_decode(json);
    CHECK_EQ_INT(again.up_instance_ids.n, 1);
    CHECK_EQ_STR(again.up_instance_ids.v[0], "i-0");
}

TEST(state_codec, scale_down_writes_its_whole_group_while_active) {
    struct dr_state s = help_down();
    struct dr_str json = help_encode(&s);
    CHECK_CONTAINS(json, "\"scaleDownActionId\":{\"S\":\"1730000400-down\"},\"scaleDownStartedEpoch\":{\"N\":\"1730001000\"},"
                         "\"scaleDownPhase\":{\"S\":\"DRAINING\"},\"scaleDownTargetInstanceIds\":{\"L\":[{\"S\":\"i-1\"},{\"S\":\"i-2\"}]},"
                         "\"scaleDownCompletedInstanceIds\":{\"L\":[]}");
    struct dr_state again = help_decode(json);
    CHECK(dr_state_eq(&s, &again));
}

TEST(state_codec, scale_down_of_another_system_gets_one_drain_per_target) {
    struct dr_state s =
        help_decode_cstr("{\"pk\":{\"S\":\"c\"},\"scalingInProgress\":{\"BOOL\":true},\"scaleDownActionId\":{\"S\":\"x\"},"
                         "\"scaleDownTargetInstanceIds\":{\"L\":[{\"S\":\"i-1\"},{\"S\":\"i-2\"}]},\"scaleDownDrains\":{\"L\":[{\"M\":"
                         "{\"instanceId\":{\"S\":\"i-2\"},\"startedEpoch\":{\"N\":\"5\"}}},{\"M\":{\"instanceId\":{\"S\":\"i-3\"}}}]}}");
    CHECK_EQ_INT(s.drains.n, 2);
    CHECK_EQ_STR(s.drains.v[0].instance_id, "i-1");
    CHECK_EQ_INT(s.drains.v[0].started_epoch, 0);
    CHECK_EQ_INT(s.drains.v[1].started_epoch, 5);
}

TEST(rule_1, unknown_attributes_survive_byte_for_byte) {
    static const char theirs[] = "{ \"M\" : { \"deep\" : {\"L\":[ {\"NULL\":true}, {\"N\":\"1.50\"} ]}, \"\\u00e9\":{\"S\":\"\\n\"} } }";
    struct dr_state s = help_decode(dr_str_fmt(help_arena(), "{\"zeta\":%s,\"pk\":{\"S\":\"c\"},\"ta\\u0067\":{\"SS\":[\"a\"]}}", theirs));
    CHECK_EQ_INT(s.extra.n, 2);
    CHECK_EQ_STR(s.extra.v[0].json, theirs);
    struct dr_state next;
    CHECK(dr_up_begin(help_arena(), &s, &next, UP, NOW, 1));
    CHECK(dr_up_fail(help_arena(), &next, &next, UP, NOW, 1000, 2000));
    struct dr_str json = help_encode(&next);
    CHECK_CONTAINS(json, theirs);
    CHECK_CONTAINS(json, "\"tag\":{\"SS\":[\"a\"]}");
    struct dr_state again = help_decode(json);
    CHECK(dr_state_eq(&next, &again));
}

TEST(state_codec, more_unknown_attributes_than_a_json_reader_compares_are_kept_and_checked_for_twins) {
    struct dr_buf buf;
    dr_buf_init(&buf, DR_STATE_MAX_BYTES);
    dr_buf_puts(&buf, "{\"pk\":{\"S\":\"c\"}");
    for (int i = 0; i < 200; i++) {
        dr_buf_fmt(&buf, ",\"their%d\":{\"N\":\"%d\"}", i, i);
    }
    struct dr_str open = dr_str_dup(help_arena(), dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    struct dr_state s = help_decode(dr_str_fmt(help_arena(), "%.*s}", DR_FMT(open)));
    CHECK_EQ_INT(s.extra.n, 200);
    struct dr_err err = {0};
    struct dr_str twice = dr_str_fmt(help_arena(), "%.*s,\"their150\":{\"N\":\"1\"}}", DR_FMT(open));
    CHECK_FAILS(dr_state_decode(help_arena(), twice, &s, &err), err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(err.text), "their150");
    twice = dr_str_fmt(help_arena(), "%.*s,\"pk\":{\"S\":\"d\"}}", DR_FMT(open));
    CHECK_FAILS(dr_state_decode(help_arena(), twice, &s, &err), err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(err.text), "pk");
}

TEST(state_codec, attribute_that_is_there_twice_is_an_error) {
    check_invalid("{\"pk\":{\"S\":\"c\"},\"fence\":{\"N\":\"1\"},\"fence\":{\"N\":\"2\"}}", "fence");
    check_invalid("{\"pk\":{\"S\":\"c\"},\"x\":{\"N\":\"1\"},\"x\":{\"N\":\"1\"}}", "x");
    check_invalid("{\"pk\":{\"S\":\"c\"},\"fence\":{\"N\":\"1\"},\"fenc\\u0065\":{\"N\":\"2\"}}", "twice");
}

TEST(state_codec, what_is_not_dynamodb_json_is_an_error) {
    check_invalid("", "state item");
    check_invalid("[]", "state item");
    check_invalid("{\"pk\":{\"S\":\"c\"}} x", "state item");
    check_invalid("{\"pk\":{\"S\":\"c\"}", "state item");
    check_invalid("{}", "pk: is missing");
    check_invalid("{\"pk\":{\"S\":\"\"}}", "pk: is empty");
    check_invalid("{\"pk\":{\"N\":\"1\"}}", "pk: is a number, must be a string");
    check_invalid("{\"pk\":\"cluster\"}", "pk: must be an object with one type");
    check_invalid("{\"pk\":{}}", "pk: must be an object with one type");
    check_invalid("{\"pk\":{\"S\":\"c\",\"N\":\"1\"}}", "pk: must be an object with one type");
    check_invalid("{\"pk\":{\"S\":\"c\"},\"other\":{\"WHAT\":1}}", "other: must be an object with one type");
    check_invalid("{\"pk\":{\"S\":\"c\"},\"fence\":{\"N\":5}}", "fence: 5 is not a number of DynamoDB's form");
    check_invalid("{\"pk\":{\"S\":\"c\"},\"scalingInProgress\":{\"BOOL\":\"true\"}}", "scalingInProgress: \"true\" is not a boolean");
    check_invalid("{\"pk\":{\"S\":\"c\"},\"terminatingInstanceIds\":{\"L\":{}}}", "terminatingInstanceIds: {} is not a list");
    check_invalid("{\"pk\":{\"S\":\"c\"},\"terminatingInstanceIds\":{\"L\":[\"i-1\"]}}", "terminatingInstanceIds: must be an object");
}

TEST(state_codec, ceilings_are_errors_that_name_the_attribute) {
    struct dr_arena *a = help_arena();
    struct dr_buf buf;
    dr_buf_init(&buf, 0x100000);
    for (int i = 0; i < DR_STATE_MAX_LIST; i++) {
        dr_buf_fmt(&buf, "%s{\"S\":\"i-%d\"}", i > 0 ? "," : "", i);
    }
    struct dr_str thousand = dr_str_dup(a, dr_buf_str(&buf));
    dr_buf_clear(&buf);
    for (int i = 0; i < DR_STATE_MAX_BYTES; i++) {
        dr_buf_putc(&buf, ' ');
    }
    struct dr_str spaces = dr_str_dup(a, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    struct dr_state s = help_decode(dr_str_fmt(a, "{\"pk\":{\"S\":\"c\"},\"terminatingInstanceIds\":{\"L\":[%.*s]}}", DR_FMT(thousand)));
    CHECK_EQ_INT(s.marks.n, 1000);
    check_limit(dr_str_fmt(a, "{\"pk\":{\"S\":\"c\"},\"terminatingInstanceIds\":{\"L\":[%.*s,{\"S\":\"i\"}]}}", DR_FMT(thousand)),
                "terminatingInstanceIds: more than 1000 elements");
    check_limit(dr_str_fmt(a, "{\"pk\":{\"S\":\"c\"}}%.*s", DR_FMT(spaces)), "bytes, at most 409600");

    struct dr_str id = dr_str_fmt(a, "%064d", 1);
    s = help_decode(dr_str_fmt(a, "{\"pk\":{\"S\":\"c\"},\"refusedInstanceIds\":{\"L\":[{\"S\":\"%.*s\"}]}}", DR_FMT(id)));
    CHECK_EQ_INT(s.refused.n, 1);
    check_limit(dr_str_fmt(a, "{\"pk\":{\"S\":\"c\"},\"refusedInstanceIds\":{\"L\":[{\"S\":\"%.*s0\"}]}}", DR_FMT(id)),
                "refusedInstanceIds: a string of 65 bytes, at most 64");
    check_limit(dr_str_fmt(a, "{\"pk\":{\"S\":\"c\"},\"scaleUpActionId\":{\"S\":\"%.*s0\"}}", DR_FMT(id)),
                "scaleUpActionId: a string of 65");
    check_limit(dr_str_fmt(a, "{\"pk\":{\"S\":\"c\"},\"lastReason\":{\"S\":\"%01025d\"}}", 1), "lastReason: a string of 1025");
}

TEST(state_codec, text_past_its_ceiling_is_cut_so_that_the_item_stays_readable) {
    struct dr_state s = help_idle();
    s.last_reason = dr_str_fmt(help_arena(), "%01023d\xc3\xa9 and more", 1);
    struct dr_state again = help_decode(help_encode(&s));
    CHECK_EQ_INT(again.last_reason.n, 1023); /* the letter of two bytes would have ended one too far */
}

TEST(rule_27, wrong_type_of_what_guards_safety_blocks_and_survives) {
    static const struct {
        const char *attribute, *json, *what;
    } cases[] = {
        {"scalingInProgress", "{\"S\":\"true\"}", "is a string, must be a boolean"},
        {"lastScaleEpoch", "{\"S\":\"1730000000\"}", "is a string, must be a number"},
        {"scaleUpActionId", "{\"N\":\"1\"}", "is a number, must be a string"},
        {"scaleUpStartedEpoch", "{\"S\":\"1\"}", "is a string, must be a number"},
        {"scaleUpRequested", "{\"NULL\":true}", "is a null, must be a number"},
        {"scaleUpInstanceIds", "{\"SS\":[\"i-1\"]}", "is a string set, must be a list"},
        {"scaleUpAttempts", "{\"M\":{}}", "is a map, must be a list"},
        {"scaleDownActionId", "{\"BOOL\":true}", "is a boolean, must be a string"},
        {"scaleDownStartedEpoch", "{\"N\":\"-1\"}", "is -1, must be a time in seconds from 0 to 253402300799"},
        {"scaleDownPhase", "{\"S\":\"SLEEPING\"}", "is \"SLEEPING\", must be DRAINING or TERMINATING"},
        {"scaleDownTargetInstanceIds", "{\"L\":[{\"S\":\"i-1\"},{\"N\":\"2\"}]}", "has an element 1 that is a number, must be a string"},
        {"scaleDownCompletedInstanceIds", "{\"B\":\"aQ==\"}", "is binary, must be a list"},
        {"scaleDownDrains", "{\"L\":[{\"M\":{}}]}", "has an element 0 that has no instanceId"},
        {"scaleDownReason", "{\"N\":\"1\"}", "is a number, must be a string"},
        {"revision", "{\"N\":\"1.5\"}", "is 1.5, must be a whole number from 0 to 9007199254740991"},
        {"leaseOwner", "{\"NS\":[\"1\"]}", "is a number set, must be a string"},
        {"leaseUntilEpoch", "{\"N\":\"1730000000000\"}", "is 1730000000000, must be a time in seconds from 0 to 253402300799"},
        {"fence", "{\"N\":\"9007199254740992\"}", "is 9007199254740992, must be a whole number from 0 to 9007199254740991"},
        {"terminatingInstanceIds", "{\"L\":[{\"S\":\"\"}]}", "has an element 0 that is empty"},
        {"refusedInstanceIds", "{\"S\":\"i-1\"}", "is a string, must be a list"},
        {"endedInstanceIds", "{\"L\":[{\"S\":\"i-1\"}]}", "has an element 0 that is a string, must be a map"},
        {"quarantined", "{\"L\":[{\"M\":{\"id\":{\"S\":\"\"}}}]}", "has an element 0 that id is empty"},
        {"interruptions", "{\"L\":[{\"M\":{\"instanceId\":{\"S\":\"i\"},\"kind\":{\"S\":\"state-change\"},\"market\":{\"S\":\"spot\"}}}]}",
         "has an element 0 that kind is \"state-change\", must be warning or rebalance"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dr_state s = check_problem(cases[i].attribute, cases[i].json, true, cases[i].what);
        struct dr_state repaired;
        CHECK(!dr_state_repair(help_arena(), &s, &repaired)); /* nothing is guessed */
        struct dr_str json = help_encode(&s);
        CHECK_CONTAINS(json, dr_str_fmt(help_arena(), "\"%s\":%s", cases[i].attribute, cases[i].json).p);
        struct dr_state again = help_decode(json);
        CHECK(dr_state_blocked(&again) && dr_state_eq(&s, &again));
    }
}

TEST(rule_27, wrong_type_of_a_clock_or_count_is_read_as_absent_and_written_anew) {
    static const struct {
        const char *attribute, *json, *what;
    } cases[] = {
        {"pendingSinceEpoch", "{\"S\":\"x\"}", "is a string, must be a number"},
        {"idleSinceEpoch", "{\"N\":\"soon\"}", "is soon, must be a time in seconds from 0 to 253402300799"},
        {"idleSeenEpoch", "{\"N\":\"\"}", "is , must be a time in seconds from 0 to 253402300799"},
        {"workerCount", "{\"N\":\"-3\"}", "is -3, must be a whole number from 0 to 9007199254740991"},
        {"lastScaleAction", "{\"N\":\"1\"}", "is a number, must be a string"},
        {"avoid", "{\"L\":[{\"M\":{\"key\":{\"N\":\"1\"}}}]}", "has an element 0 that key is a number, must be a string"},
        {"ruleStreaks", "{\"S\":\"x\"}", "is a string, must be a list"},
        {"backoffUntilEpoch", "{\"BS\":[]}", "is a binary set, must be a number"},
        {"backoffCount", "{\"BOOL\":true}", "is a boolean, must be a number"},
        {"lastReason", "{\"L\":[]}", "is a list, must be a string"},
        {"lastJournalEpoch", "{\"M\":{}}", "is a map, must be a number"},
    };
    struct dr_state empty = help_decode_cstr("{\"pk\":{\"S\":\"c\"}}");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dr_state s = check_problem(cases[i].attribute, cases[i].json, false, cases[i].what);
        CHECK(dr_state_eq(&s, &empty));
        struct dr_state again = help_decode(help_encode(&s));
        CHECK_EQ_INT(again.problems.n, 0);
    }
}

TEST(state_codec, time_with_a_fraction_loses_it) {
    struct dr_state s =
        help_decode_cstr("{\"pk\":{\"S\":\"c\"},\"lastScaleEpoch\":{\"N\":\"1730000000.75\"},\"idleSinceEpoch\":{\"N\":\"1.73E9\"}}");
    CHECK_EQ_INT(s.problems.n, 0);
    CHECK_EQ_INT(s.last_scale_epoch, 1730000000);
    CHECK_EQ_INT(s.idle_since_epoch, 1730000000);
}

TEST(state_codec, unknown_keys_inside_our_lists_are_left_out) {
    struct dr_state s =
        help_decode_cstr("{\"pk\":{\"S\":\"c\"},\"endedInstanceIds\":{\"L\":[{\"M\":{\"id\":{\"S\":\"i-1\"},\"new\":{\"N\":\"1\"}}}]}}");
    CHECK_EQ_INT(s.problems.n, 0);
    CHECK(dr_state_ended(&s, DR_STR("i-1")));
}

TEST(state_codec, full_builder_is_marked_truncated) {
    struct dr_state s = help_up();
    struct dr_buf buf;
    dr_buf_init(&buf, 50);
    dr_state_encode(&s, &buf);
    CHECK(buf.truncated);
    dr_buf_deinit(&buf);
}
