/* The state item in words. */
#include "app/status.h"
#include "base/json.h"
#include "base/time.h"
#include "core/transition.h"
#include "harness/test.h"

#define NOW INT64_C(1800000000) /* 2027-01-15T08:00:00Z */

struct bench {
    struct dr_arena arena;
    struct dr_state state;
    struct dr_plan last;
    struct dr_buf text;
};

static void set_up(struct bench *t) {
    dr_arena_init(&t->arena, 0);
    dr_state_init(&t->state, DR_STR("shop"));
    t->state.exists = true;
    t->state.worker_count = 4;
    t->last = (struct dr_plan){.at_ms = NOW * DR_SECOND_MS, .workers_known = true, .min_workers = 2, .max_workers = 10};
    dr_buf_init(&t->text, 1 << 16);
}

static void tear_down(struct bench *t) {
    dr_buf_deinit(&t->text);
    dr_arena_deinit(&t->arena);
}

static struct dr_str text_of(struct bench *t) {
    dr_buf_clear(&t->text);
    dr_status_text(&t->state, &t->last, &t->text);
    return dr_buf_str(&t->text);
}

TEST(status, scale_up_shows_every_index) {
    struct bench t;
    set_up(&t);
    struct dr_str id = DR_STR("1800000000-r");
    struct dr_attempt spec = {.attempt = 1,
                              .type = DR_STR("t3.medium"),
                              .zone = DR_STR("a"),
                              .subnet = DR_STR("subnet-1"),
                              .market = DR_MARKET_SPOT,
                              .template_version = DR_STR("3")};
    dr_up_begin(&t.arena, &t.state, &t.state, id, NOW, 3);
    for (size_t i = 0; i < 3; i++) {
        dr_up_attempt(&t.arena, &t.state, &t.state, id, i, &spec, NOW);
    }
    dr_up_record(&t.arena, &t.state, &t.state, id, 0, DR_STR("i-1"), NOW);
    dr_up_index_fail(&t.arena, &t.state, &t.state, id, 2, DR_STR("quota"));
    struct dr_str out = text_of(&t);
    CHECK_CONTAINS(out, "cluster shop: 4 workers (minimum 2, maximum 10)\n");
    CHECK_CONTAINS(out, "action: scale-up 1800000000-r since 2027-01-15T08:00:00Z, 3 requested\n"
                        "  0: t3.medium spot in a, launched, not joined yet (i-1)\n"
                        "  1: t3.medium spot in a, asked for, no answer yet\n"
                        "  2: t3.medium spot in a, given up: quota\n");
    tear_down(&t);
}

TEST(status, scale_down_shows_every_target) {
    struct bench t;
    set_up(&t);
    struct dr_str id = DR_STR("1800000000-r");
    const struct dr_str targets[] = {DR_STR("i-1"), DR_STR("i-2"), DR_STR("i-3")};
    dr_down_begin(&t.arena, &t.state, &t.state, id, NOW, (struct dr_strs){targets, 3}, DR_STR("idle"));
    dr_down_drain(&t.arena, &t.state, &t.state, id, targets[0], (struct dr_strs){NULL, 0}, NOW);
    dr_down_commit(&t.arena, &t.state, &t.state, id, targets[0]);
    dr_down_drain(&t.arena, &t.state, &t.state, id, targets[1], (struct dr_strs){NULL, 0}, NOW);
    CHECK_CONTAINS(text_of(&t), "action: scale-down 1800000000-r since 2027-01-15T08:00:00Z, terminating, because of idle\n"
                                "  i-1: marked for termination\n"
                                "  i-2: draining\n"
                                "  i-3: not begun\n"
                                "marked for termination: i-1\n");
    tear_down(&t);
}

TEST(status, interruption_says_whether_a_replacement_is_owed) {
    struct bench t;
    set_up(&t);
    struct dr_record record = {
        .instance_id = DR_STR("i-9"), .kind = DR_EVENT_WARNING, .noticed_epoch = NOW, .recorded_epoch = NOW, .zone = DR_STR("b")};
    dr_record_put(&t.arena, &t.state, &t.state, &record);
    CHECK_CONTAINS(text_of(&t), "interruption: i-9, warning of 2027-01-15T08:00:00Z, a replacement is owed\n");
    dr_up_begin(&t.arena, &t.state, &t.state, DR_STR("1800000000-r"), NOW, 1);
    dr_record_assign(&t.arena, &t.state, &t.state, DR_STR("i-9"), DR_STR("1800000000-r"), 0);
    CHECK_CONTAINS(text_of(&t), "interruption: i-9, warning of 2027-01-15T08:00:00Z, replacement is 0 of 1800000000-r\n");
    tear_down(&t);
}

TEST(status, what_is_avoided_is_shown_until_its_time_is_over) {
    struct bench t;
    set_up(&t);
    dr_avoid_put(&t.arena, &t.state, &t.state, DR_STR("victim/i-3"), NOW, 600 * DR_SECOND_MS);
    t.state.backoff_until_epoch = NOW + 60;
    t.state.backoff_count = 2;
    struct dr_str out = text_of(&t);
    CHECK_CONTAINS(out, "avoided: victim/i-3 until 2027-01-15T08:10:00Z\n");
    CHECK_CONTAINS(out, "back-off: until 2027-01-15T08:01:00Z after 2 scale-ups in which nothing joined\n");
    t.last.at_ms += 600 * DR_SECOND_MS;
    out = text_of(&t);
    CHECK(strstr(out.p, "avoided") == NULL);
    CHECK(strstr(out.p, "back-off") == NULL);
    tear_down(&t);
}

TEST(status, flag_without_an_action_is_said) {
    struct bench t;
    set_up(&t);
    t.state.scaling = true;
    CHECK_CONTAINS(text_of(&t), "action: none, but scalingInProgress is set; the next pass clears it\n");
    t.state.scaling = false;
    CHECK_CONTAINS(text_of(&t), "action: none\n");
    tear_down(&t);
}

TEST(status, json_of_every_state_is_json) {
    struct bench t;
    set_up(&t);
    struct dr_problem problem = {DR_STR("leaseOwner"), DR_STR("is a number, must be a string"), true};
    t.state.problems.v = &problem;
    t.state.problems.n = 1;
    for (int i = 0; i < 2; i++) {
        struct dr_jsonw w;
        dr_buf_clear(&t.text);
        dr_jsonw_init(&w, &t.text, 0);
        dr_status_json(&t.state, i == 0 ? DR_STR_NONE : DR_STR("{\"at\":1}"), &w);
        struct dr_json json;
        struct dr_err err;
        dr_json_init(&json, dr_buf_str(&t.text), 0);
        CHECK_OK(dr_json_skip(&json, &err), err);
        CHECK_OK(dr_json_end(&json, &err), err);
        CHECK_CONTAINS(dr_buf_str(&t.text), i == 0 ? "\"lastDecision\":null" : "\"lastDecision\":{\"at\":1}");
        CHECK_CONTAINS(dr_buf_str(&t.text), "\"attribute\":\"leaseOwner\"");
    }
    tear_down(&t);
}
