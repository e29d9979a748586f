#include "state_help.h"

/* Every kind of list and string, so that copying and comparing have something to miss. */
static const char full_item[] =
    "{\"pk\":{\"S\":\"cluster\"},\"scalingInProgress\":{\"BOOL\":true},\"lastScaleEpoch\":{\"N\":\"5\"},\"pendingSinceEpoch\":{\"N\":\"6\"}"
    ","
    "\"idleSinceEpoch\":{\"N\":\"7\"},\"workerCount\":{\"N\":\"8\"},\"scaleUpActionId\":{\"S\":\"u\"},\"scaleUpStartedEpoch\":{\"N\":\"9\"}"
    ","
    "\"scaleUpRequested\":{\"N\":\"2\"},\"scaleUpInstanceIds\":{\"L\":[{\"S\":\"i-0\"}]},\"scaleUpAttempts\":{\"L\":[{\"M\":{\"status\":{"
    "\"S\":"
    "\"failed\"},\"attempt\":{\"N\":\"2\"},\"type\":{\"S\":\"t\"},\"zone\":{\"S\":\"a\"},\"subnet\":{\"S\":\"s\"},\"market\":{\"S\":"
    "\"spot\"},"
    "\"template\":{\"S\":\"3\"},\"sinceEpoch\":{\"N\":\"10\"},\"instanceId\":{\"S\":\"i-0\"},\"launchedEpoch\":{\"N\":\"11\"},\"replaces\":"
    "{\"S\":"
    "\"i-9\"},\"why\":{\"S\":\"join timeout\"}}}]},\"scaleDownActionId\":{\"S\":\"d\"},\"scaleDownStartedEpoch\":{\"N\":\"12\"},"
    "\"scaleDownPhase\":{\"S\":\"TERMINATING\"},\"scaleDownTargetInstanceIds\":{\"L\":[{\"S\":\"i-1\"}]},\"scaleDownCompletedInstanceIds\":"
    "{\"L\":"
    "[{\"S\":\"i-1\"}]},\"scaleDownDrains\":{\"L\":[{\"M\":{\"instanceId\":{\"S\":\"i-1\"},\"startedEpoch\":{\"N\":\"13\"},\"ownerUids\":{"
    "\"L\":[{"
    "\"S\":\"uid-1\"}]}}}]},\"scaleDownReason\":{\"S\":\"idle\"},\"revision\":{\"N\":\"14\"},\"leaseOwner\":{\"S\":\"me\"},"
    "\"leaseUntilEpoch\":{"
    "\"N\":\"15\"},\"fence\":{\"N\":\"16\"},\"lastScaleAction\":{\"S\":\"scale_up\"},\"idleSeenEpoch\":{\"N\":\"17\"},"
    "\"terminatingInstanceIds\":{"
    "\"L\":[{\"S\":\"i-1\"},{\"S\":\"i-2\"}]},\"refusedInstanceIds\":{\"L\":[{\"S\":\"i-3\"}]},\"endedInstanceIds\":{\"L\":[{\"M\":{\"id\":"
    "{\"S\":"
    "\"i-4\"},\"epoch\":{\"N\":\"18\"}}}]},\"quarantined\":{\"L\":[{\"M\":{\"id\":{\"S\":\"i-5\"},\"untilEpoch\":{\"N\":\"19\"}}}]},"
    "\"interruptions\":{\"L\":[{\"M\":{\"instanceId\":{\"S\":\"i-9\"},\"kind\":{\"S\":\"rebalance\"},\"noticedEpoch\":{\"N\":\"20\"},"
    "\"recordedEpoch\":{\"N\":\"21\"},\"market\":{\"S\":\"spot\"},\"zone\":{\"S\":\"a\"},\"actionId\":{\"S\":\"u\"},\"index\":{\"N\":\"1\"}"
    ","
    "\"returnedId\":{\"S\":\"i-8\"}}}]},\"avoid\":{\"L\":[{\"M\":{\"key\":{\"S\":\"zone/"
    "a\"},\"untilEpoch\":{\"N\":\"22\"},\"count\":{\"N\":\"2\"}}}]},"
    "\"ruleStreaks\":{\"L\":[{\"M\":{\"rule\":{\"S\":\"cpu\"},\"count\":{\"N\":\"3\"},\"epoch\":{\"N\":\"23\"}}}]},\"backoffUntilEpoch\":{"
    "\"N\":"
    "\"24\"},\"backoffCount\":{\"N\":\"4\"},\"lastReason\":{\"S\":\"cooldown\"},\"lastJournalEpoch\":{\"N\":\"25\"},\"theirs\":{\"SS\":["
    "\"x\"]}}";

TEST(state, full_item_is_written_byte_for_byte_as_it_was_read) {
    struct dr_state s = help_decode_cstr(full_item);
    CHECK_EQ_INT(s.problems.n, 0);
    CHECK_EQ_STR(help_encode(&s), full_item);
}

TEST(state, copy_is_equal_and_independent_of_its_source) {
    struct dr_arena source;
    struct dr_state s, copy;
    struct dr_err err = {0};
    dr_arena_init(&source, 0);
    CHECK_OK(dr_state_decode(&source, dr_str_of(full_item), &s, &err), err);
    dr_state_copy(help_arena(), &copy, &s);
    CHECK(dr_state_eq(&s, &copy));
    dr_arena_deinit(&source); /* under AddressSanitizer a shared byte is now an error */
    CHECK_EQ_STR(help_encode(&copy), full_item);
}

TEST(state, copy_onto_itself_is_possible) {
    struct dr_state s = help_decode_cstr(full_item);
    dr_state_copy(help_arena(), &s, &s);
    CHECK_EQ_STR(help_encode(&s), full_item);
}

TEST(state, copy_of_problems_is_independent) {
    struct dr_arena source;
    struct dr_state s, copy;
    struct dr_err err = {0};
    dr_arena_init(&source, 0);
    CHECK_OK(dr_state_decode(&source, DR_STR("{\"pk\":{\"S\":\"c\"},\"fence\":{\"S\":\"1\"}}"), &s, &err), err);
    dr_state_copy(help_arena(), &copy, &s);
    dr_arena_deinit(&source);
    CHECK(dr_state_blocked(&copy));
    CHECK_EQ_STR(copy.problems.v[0].attribute, "fence");
    CHECK_EQ_STR(copy.problems.v[0].what, "is a string, must be a number");
}

/* Changes one byte of a value at a time: digits, letters, true; each must be noticed. */
TEST(state, every_attribute_makes_a_difference) {
    struct dr_state whole = help_decode_cstr(full_item);
    static const char *const changes[][2] = {
        {"\"pk\":{\"S\":\"cluster\"}", "\"pk\":{\"S\":\"clusteR\"}"},
        {"\"BOOL\":true", "\"BOOL\":false"},
        {"\"N\":\"5\"", "\"N\":\"55\""},
        {"\"N\":\"6\"", "\"N\":\"66\""},
        {"\"N\":\"7\"", "\"N\":\"77\""},
        {"\"N\":\"8\"", "\"N\":\"88\""},
        {"\"S\":\"u\"}", "\"S\":\"U\"}"},
        {"\"N\":\"9\"", "\"N\":\"99\""},
        {"scaleUpRequested\":{\"N\":\"2\"", "scaleUpRequested\":{\"N\":\"3\""},
        {"\"failed\"", "\"joined\""},
        {"\"attempt\":{\"N\":\"2\"", "\"attempt\":{\"N\":\"1\""},
        {"\"type\":{\"S\":\"t\"", "\"type\":{\"S\":\"T\""},
        {"\"zone\":{\"S\":\"a\"", "\"zone\":{\"S\":\"A\""},
        {"\"subnet\":{\"S\":\"s\"", "\"subnet\":{\"S\":\"S\""},
        {"\"market\":{\"S\":\"spot\"", "\"market\":{\"S\":\"on-demand\""},
        {"\"template\":{\"S\":\"3\"", "\"template\":{\"S\":\"4\""},
        {"\"N\":\"10\"", "\"N\":\"100\""},
        {"\"instanceId\":{\"S\":\"i-0\"", "\"instanceId\":{\"S\":\"i-00\""},
        {"\"N\":\"11\"", "\"N\":\"110\""},
        {"\"replaces\":{\"S\":\"i-9\"", "\"replaces\":{\"S\":\"i-99\""},
        {"join timeout", "join timeouT"},
        {"\"S\":\"d\"", "\"S\":\"D\""},
        {"\"N\":\"12\"", "\"N\":\"120\""},
        {"TERMINATING", "DRAINING"},
        {"TargetInstanceIds\":{\"L\":[{\"S\":\"i-1\"", "TargetInstanceIds\":{\"L\":[{\"S\":\"i-11\""},
        {"CompletedInstanceIds\":{\"L\":[{\"S\":\"i-1\"", "CompletedInstanceIds\":{\"L\":[{\"S\":\"i-11\""},
        {"\"N\":\"13\"", "\"N\":\"130\""},
        {"uid-1", "uid-2"},
        {"\"S\":\"idle\"", "\"S\":\"surplus\""},
        {"\"N\":\"14\"", "\"N\":\"140\""},
        {"\"S\":\"me\"", "\"S\":\"you\""},
        {"\"N\":\"15\"", "\"N\":\"150\""},
        {"\"N\":\"16\"", "\"N\":\"160\""},
        {"\"scale_up\"", "\"scale_down\""},
        {"\"N\":\"17\"", "\"N\":\"170\""},
        {"{\"S\":\"i-2\"}", "{\"S\":\"i-22\"}"},
        {",{\"S\":\"i-2\"}", ""},
        {"{\"S\":\"i-3\"}", "{\"S\":\"i-33\"}"},
        {"{\"S\":\"i-4\"}", "{\"S\":\"i-44\"}"},
        {"\"N\":\"18\"", "\"N\":\"180\""},
        {"{\"S\":\"i-5\"}", "{\"S\":\"i-55\"}"},
        {"\"N\":\"19\"", "\"N\":\"190\""},
        {"\"instanceId\":{\"S\":\"i-9\"", "\"instanceId\":{\"S\":\"i-99\""},
        {"\"rebalance\"", "\"warning\""},
        {"\"N\":\"20\"", "\"N\":\"200\""},
        {"\"N\":\"21\"", "\"N\":\"210\""},
        {"\"actionId\":{\"S\":\"u\"", "\"actionId\":{\"S\":\"v\""},
        {"\"index\":{\"N\":\"1\"", "\"index\":{\"N\":\"0\""},
        {"\"i-8\"", "\"i-88\""},
        {"zone/a", "zone/b"},
        {"\"N\":\"22\"", "\"N\":\"220\""},
        {"\"count\":{\"N\":\"2\"", "\"count\":{\"N\":\"1\""},
        {"\"S\":\"cpu\"", "\"S\":\"memory\""},
        {"\"count\":{\"N\":\"3\"", "\"count\":{\"N\":\"1\""},
        {"\"N\":\"23\"", "\"N\":\"230\""},
        {"\"N\":\"24\"", "\"N\":\"240\""},
        {"\"N\":\"4\"", "\"N\":\"5\""},
        {"\"cooldown\"", "\"backoff\""},
        {"\"N\":\"25\"", "\"N\":\"250\""},
        {"theirs", "others"},
        {"[\"x\"]", "[\"y\"]"},
        {",\"theirs\":{\"SS\":[\"x\"]}", ""},
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const char *at = strstr(full_item, changes[i][0]);
        CHECK(at != NULL);
        struct dr_str changed =
            dr_str_fmt(help_arena(), "%.*s%s%s", (int)(at - full_item), full_item, changes[i][1], at + strlen(changes[i][0]));
        struct dr_state other = help_decode(changed);
        if (dr_state_eq(&whole, &other) || dr_state_eq(&other, &whole)) {
            FAIL("%s to %s was not noticed", changes[i][0], changes[i][1]);
        }
    }
}

TEST(state, whose_scale_up_it_is_makes_a_difference) {
    struct dr_state s = help_up(), other = s;
    other.up_has_attempts = false;
    CHECK(!dr_state_eq(&s, &other));
}

TEST(state, look_ups_find_what_is_there_and_nothing_else) {
    struct dr_state s = help_decode_cstr(full_item);
    CHECK(dr_state_marked(&s, DR_STR("i-2")));
    CHECK(!dr_state_marked(&s, DR_STR("i-3")));
    CHECK(dr_state_ended(&s, DR_STR("i-4")));
    CHECK(!dr_state_ended(&s, DR_STR("i-2")));
    CHECK_EQ_INT(dr_state_record(&s, DR_STR("i-9"))->index, 1);
    CHECK(dr_state_record(&s, DR_STR("i-8")) == NULL);
    CHECK_EQ_INT(dr_state_avoid(&s, DR_STR("zone/a"))->count, 2);
    CHECK(dr_state_avoid(&s, DR_STR("zone/b")) == NULL);
    CHECK_EQ_INT(dr_state_quarantined(&s, DR_STR("i-5"))->epoch, 19);
    CHECK(dr_state_quarantined(&s, DR_STR("i-4")) == NULL);
    CHECK_EQ_INT(dr_state_drain(&s, DR_STR("i-1"))->started_epoch, 13);
    CHECK(dr_state_drain(&s, DR_STR("i-2")) == NULL);
}

TEST(state, new_state_is_empty_and_not_there) {
    struct dr_state s;
    dr_state_init(&s, DR_STR("cluster"));
    CHECK(!s.exists && !s.scaling && s.revision == 0);
    CHECK_EQ_STR(help_encode(&s), "{\"pk\":{\"S\":\"cluster\"},\"scalingInProgress\":{\"BOOL\":false},\"lastScaleEpoch\":{\"N\":\"0\"},"
                                  "\"pendingSinceEpoch\":{\"N\":\"0\"},\"idleSinceEpoch\":{\"N\":\"0\"},\"workerCount\":{\"N\":\"0\"}}");
}
