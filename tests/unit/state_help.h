#ifndef DR_TESTS_STATE_HELP_H
#define DR_TESTS_STATE_HELP_H

/* What the tests of the state item and its transitions share: an arena, a state in which every attribute is filled, and codec calls that fail the test. */

#include "core/transition.h"
#include "harness/test.h"

#define NOW INT64_C(1730001000)
#define UP DR_STR("1730000300-up")
#define DOWN DR_STR("1730000400-down")

static inline struct dr_arena *help_arena(void) {
    static struct dr_arena arena; /* a test is a process of its own and ends with it */
    if (arena.head == NULL) {
        dr_arena_init(&arena, 0);
    }
    return &arena;
}

static inline struct dr_state help_idle(void) {
    struct dr_state s;
    dr_state_init(&s, DR_STR("cluster"));
    s.exists = true;
    s.revision = 7;
    s.last_scale_epoch = NOW - 5000;
    s.idle_since_epoch = NOW - 100;
    s.worker_count = 3;
    return s;
}

static inline struct dr_str help_encode(const struct dr_state *s) {
    struct dr_buf buf;
    dr_buf_init(&buf, DR_STATE_MAX_BYTES);
    dr_state_encode(s, &buf);
    CHECK(!buf.truncated);
    struct dr_str json = dr_str_dup(help_arena(), dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return json;
}

static inline struct dr_state help_decode(struct dr_str json) {
    struct dr_state s;
    struct dr_err err = {0};
    CHECK_OK(dr_state_decode(help_arena(), json, &s, &err), err);
    return s;
}

static inline struct dr_state help_decode_cstr(const char *json) { return help_decode(dr_str_of(json)); }

static inline struct dr_attempt help_spec(int64_t attempt) {
    return (struct dr_attempt){.attempt = attempt,
                               .type = DR_STR("t3.large"),
                               .zone = attempt == 1 ? DR_STR("a") : DR_STR("b"),
                               .subnet = attempt == 1 ? DR_STR("subnet-a") : DR_STR("subnet-b"),
                               .market = attempt == 1 ? DR_MARKET_SPOT : DR_MARKET_ON_DEMAND,
                               .template_version = DR_STR("7")};
}

/* A scale-up of two: index 0 has i-0, index 1 is open. */
static inline struct dr_state help_up(void) {
    struct dr_arena *a = help_arena();
    struct dr_state s = help_idle();
    struct dr_attempt spec = help_spec(1);
    CHECK(dr_up_begin(a, &s, &s, UP, NOW, 2));
    CHECK(dr_up_attempt(a, &s, &s, UP, 0, &spec, NOW));
    CHECK(dr_up_attempt(a, &s, &s, UP, 1, &spec, NOW + 1));
    CHECK(dr_up_record(a, &s, &s, UP, 0, DR_STR("i-0"), NOW + 2));
    return s;
}

/* A scale-down of i-1 and i-2, nothing begun. */
static inline struct dr_state help_down(void) {
    static const struct dr_str targets[] = {{"i-1", 3}, {"i-2", 3}};
    struct dr_state s = help_idle();
    CHECK(dr_down_begin(help_arena(), &s, &s, DOWN, NOW, (struct dr_strs){targets, 2}, DR_STR("idle")));
    return s;
}

static inline struct dr_record help_record(const char *id, enum dr_event_kind kind) {
    return (struct dr_record){.instance_id = dr_str_of(id),
                              .kind = kind,
                              .noticed_epoch = NOW - 10,
                              .recorded_epoch = NOW - 5,
                              .market = DR_MARKET_SPOT,
                              .zone = DR_STR("a")};
}

static inline struct dr_state help_interrupted(const struct dr_state *from, const char *id, enum dr_event_kind kind) {
    struct dr_state s;
    struct dr_record record = help_record(id, kind);
    CHECK(dr_record_put(help_arena(), from, &s, &record));
    return s;
}

#endif
