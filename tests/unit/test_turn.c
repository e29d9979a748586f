#include "core/turn.h"

#include "harness/test.h"

#define NOW_MS INT64_C(1800000000000)

static struct dr_turn turn_at(int64_t now_ms) {
    struct dr_turn turn;
    dr_turn_init(&turn, DR_STR("req-1"), now_ms);
    return turn;
}

TEST(turn, what_never_failed_may_be_tried) {
    struct dr_turn turn = turn_at(NOW_MS);
    int64_t wait_ms = 0;
    CHECK(dr_turn_may(&turn, 1, DR_STR("a"), NOW_MS, &wait_ms));
    CHECK_EQ_INT(wait_ms, 0);
    CHECK_EQ_INT(dr_turn_code(&turn, 1, DR_STR("a")), DR_OK);
}

TEST(turn, pauses_grow_and_the_fifth_try_is_left_to_a_later_tick) {
    struct dr_turn turn = turn_at(NOW_MS);
    static const int64_t pauses_ms[] = {2000, 4000, 8000};
    int64_t now_ms = NOW_MS;
    for (size_t i = 0; i < 3; i++) {
        dr_turn_failed(&turn, 1, DR_STR("a"), DR_E_THROTTLED, now_ms);
        int64_t wait_ms = 0;
        CHECK(!dr_turn_may(&turn, 1, DR_STR("a"), now_ms, &wait_ms));
        CHECK_EQ_INT(wait_ms, pauses_ms[i]);
        now_ms += pauses_ms[i];
        CHECK(!dr_turn_may(&turn, 1, DR_STR("a"), now_ms - 1, &wait_ms));
        CHECK(dr_turn_may(&turn, 1, DR_STR("a"), now_ms, &wait_ms));
    }
    dr_turn_failed(&turn, 1, DR_STR("a"), DR_E_TIMEOUT, now_ms);
    int64_t wait_ms = 0;
    CHECK(!dr_turn_may(&turn, 1, DR_STR("a"), now_ms + 3600000, &wait_ms));
    CHECK_EQ_INT(wait_ms, 0);
    CHECK_EQ_INT(dr_turn_code(&turn, 1, DR_STR("a")), DR_E_TIMEOUT);
}

TEST(turn, kinds_and_things_are_counted_apart) {
    struct dr_turn turn = turn_at(NOW_MS);
    int64_t wait_ms = 0;
    dr_turn_failed(&turn, 1, DR_STR("a"), DR_E_UNAVAILABLE, NOW_MS);
    CHECK(dr_turn_may(&turn, 2, DR_STR("a"), NOW_MS, &wait_ms));
    CHECK(dr_turn_may(&turn, 1, DR_STR("b"), NOW_MS, &wait_ms));
    CHECK_EQ_INT(dr_turn_code(&turn, 2, DR_STR("a")), DR_OK);
}

TEST(turn, the_shortest_wait_wins) {
    struct dr_turn turn = turn_at(NOW_MS);
    int64_t wait_ms = 500;
    dr_turn_failed(&turn, 1, DR_STR("a"), DR_E_UNAVAILABLE, NOW_MS);
    CHECK(!dr_turn_may(&turn, 1, DR_STR("a"), NOW_MS, &wait_ms));
    CHECK_EQ_INT(wait_ms, 500);
    CHECK(!dr_turn_may(&turn, 1, DR_STR("a"), NOW_MS + 1900, &wait_ms));
    CHECK_EQ_INT(wait_ms, 100);
}

TEST(turn, full_memory_forgets_the_oldest_note_alone) {
    struct dr_turn turn = turn_at(NOW_MS);
    for (int i = 0; i <= DR_TURN_NOTES; i++) {
        dr_turn_failed(&turn, i, DR_STR("a"), DR_E_UNAVAILABLE, NOW_MS);
    }
    int64_t wait_ms = 0;
    CHECK(dr_turn_may(&turn, 0, DR_STR("a"), NOW_MS, &wait_ms));
    CHECK(!dr_turn_may(&turn, 1, DR_STR("a"), NOW_MS, &wait_ms));
    CHECK(!dr_turn_may(&turn, DR_TURN_NOTES, DR_STR("a"), NOW_MS, &wait_ms));
}
