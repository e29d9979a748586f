#include "core/plan.h"

#include <stdio.h>

#include "base/json.h"
#include "decision_world.h"
#include "harness/test.h"

static struct dr_str explained(struct world *w, const struct dr_plan *plan) {
    struct dr_buf buf;
    dr_buf_init(&buf, 65536);
    dr_plan_explain(plan, &buf);
    struct dr_str text = dr_str_dup(&w->arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

static struct dr_str as_json(struct world *w, const struct dr_plan *plan) {
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 20);
    struct dr_jsonw jw;
    dr_jsonw_init(&jw, &buf, 0);
    dr_plan_json(plan, &jw);
    struct dr_str text = dr_str_dup(&w->arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

static const char *cstr(struct dr_str s) { return s.p; }

TEST(plan_text, names_rules_with_their_numbers) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    world_percent(w, DR_SIGNAL_AT_CPU, 82);
    world_pending(w, 3, 250 * DR_SECOND_MS);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "scale_up +1: cpu 82% > 70% for 3m, 3 pods pending for 4m10s");
    world_free(w);
}

TEST(plan_text, urgent_step_names_the_spike_too) {
    struct world *w = world_new(DR_PRESET_LAYERED);
    world_workers(w, 2);
    world_percent(w, DR_SIGNAL_AT_CPU, 82);
    world_pending(w, 3, 0);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "scale_up +2: 3 pods pending, cpu 82% > 70% (1 of 2 readings)");
    world_free(w);
}

TEST(plan_text, clamp_is_said) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    w->cfg.min_workers = 6;
    world_workers(w, 1);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "scale_up +2 below_minimum: 1 planned, minimum 6; wanted 5, limited by batch");
    world_free(w);
}

TEST(plan_text, cooldown_in_seconds_with_what_is_held_back) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    world_percent(w, DR_SIGNAL_AT_CPU, 82);
    world_last_scale(w, "scale_up", 180);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop cooldown: 120s left; cpu 82% > 70% for 3m");
    world_free(w);
}

TEST(plan_text, value_that_rounding_would_put_on_the_threshold_is_written_out) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 3);
    world_signal(w, DR_SIGNAL_AT_CPU, 700040, DR_DAY_MS, 0);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "scale_up +1: cpu 70.004% > 70% for 3m");
    world_signal(w, DR_SIGNAL_AT_CPU, 824600, DR_DAY_MS, 0);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "scale_up +1: cpu 82.5% > 70% for 3m");
    world_free(w);
}

TEST(plan_text, each_reason_for_nothing_has_its_numbers) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 4);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop within_limits: cpu 50%, memory 60%, no pods pending");
    world_signal(w, DR_SIGNAL_AT_CPU, 900000, 45 * DR_SECOND_MS, 500000);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop spike: cpu 90% > 70% for 45s of 3m");
    world_percent(w, DR_SIGNAL_AT_CPU, WORLD_UNKNOWN);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop unknown: cpu unknown: connection refused");
    world_percent(w, DR_SIGNAL_AT_CPU, 10);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 20);
    world_idle(w, 240);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop not_idle_yet: idle for 4m of 10m");
    w->cfg.min_workers = 4;
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop at_minimum: 4 live, minimum 4");
    w->cfg.min_workers = 2;
    world_idle(w, 660);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "scale_down -1 idle: cpu 10% < 30%, memory 20% < 50%, no pods pending, idle for 11m");
    for (size_t i = 0; i < 4; i++) {
        w->nodes[i].protected_ = true;
    }
    world_decide(w);
    CHECK_CONTAINS(world_text(w), "noop no_victim: none of 4 workers can go: i-0000 protected, ");
    world_waiting(w, 64000, DR_HOUR_MS);
    world_percent(w, DR_SIGNAL_AT_CPU, 50);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop no_help: 1 pod pending that a new worker would not help");
    w->cfg.max_workers = 4;
    world_percent(w, DR_SIGNAL_AT_CPU, 90);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop max_reached: 4 held, maximum 4; cpu 90% > 70% for 3m");
    world_free(w);
}

TEST(plan_text, detail_given_by_the_caller_goes_before_operands) {
    struct dr_plan plan = {.decision = {.verdict = DR_VERDICT_ADVANCE, .reason = DR_REASON_ACTION_ACTIVE}, .action_id = DR_STR("17-x")};
    struct dr_buf buf;
    dr_buf_init(&buf, 256);
    dr_plan_text(&plan, &buf);
    CHECK_EQ_STR(dr_buf_str(&buf), "advance action_active: 17-x");
    dr_buf_clear(&buf);
    plan.decision.detail = DR_STR("waits for i-1 to join");
    dr_plan_text(&plan, &buf);
    CHECK_EQ_STR(dr_buf_str(&buf), "advance action_active: waits for i-1 to join");
    dr_buf_clear(&buf);
    plan = (struct dr_plan){.decision = {.verdict = DR_VERDICT_REFUSED, .reason = DR_REASON_LEASE_HELD}};
    dr_plan_text(&plan, &buf);
    CHECK_EQ_STR(dr_buf_str(&buf), "refused lease_held");
    dr_buf_deinit(&buf);
}

TEST(plan_names, are_all_there_and_all_different) {
    for (int i = 0; i < DR_REASON_N; i++) {
        CHECK(dr_reason_name((enum dr_reason)i) != NULL);
        for (int j = 0; j < i; j++) {
            CHECK(strcmp(dr_reason_name((enum dr_reason)i), dr_reason_name((enum dr_reason)j)) != 0);
        }
    }
    for (int i = 0; i < DR_VERDICT_N; i++) {
        CHECK(dr_verdict_name((enum dr_verdict)i) != NULL);
    }
}

TEST(plan_deeds, past_the_ceiling_the_last_one_counts_the_rest) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_plan plan = {0};
    for (int i = 0; i < 256; i++) {
        dr_plan_deed(&arena, &plan, i, 7, "launch", DR_STR("i-1"), DR_STR("ok"));
    }
    CHECK_EQ_INT(plan.deed_n, 256);
    CHECK_EQ_CSTR(plan.deeds[255].what, "launch");
    for (int i = 0; i < 44; i++) {
        dr_plan_deed(&arena, &plan, 300, 7, "launch", DR_STR("i-1"), DR_STR("ok"));
    }
    CHECK_EQ_INT(plan.deed_n, 256);
    CHECK_EQ_STR(plan.deeds[255].outcome, "45 further deeds"); /* 300 - 255 kept */
    dr_arena_deinit(&arena);
}

/* ---- stored form ---- */

static struct world *eventful(void) {
    struct world *w = world_new(DR_PRESET_LAYERED);
    world_workers(w, 4);
    world_percent(w, DR_SIGNAL_AT_CPU, 10);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 20);
    world_running(w, 0, 3000)->critical = true;
    w->nodes[1].protected_ = true;
    world_waiting(w, 64000, DR_HOUR_MS);
    w->cfg.max_batch_down = 3;
    world_decide(w);
    w->plan.request_id = DR_STR("req \"1\"");
    w->plan.action_id = DR_STR("1800000000-req");
    dr_plan_deed(&w->arena, &w->plan, WORLD_NOW_MS, 0, "begin scale-down", w->plan.action_id, DR_STR("ok"));
    dr_plan_deed(&w->arena, &w->plan, WORLD_NOW_MS + 250, 18, "cordon", DR_STR("node-2"), DR_STR("conflict: it changed"));
    return w;
}

TEST(plan_json, holds_what_explanations_need) {
    struct world *w = eventful();
    struct dr_str json = as_json(w, &w->plan);
    CHECK_CONTAINS(json, "\"verdict\":\"scale_down\",\"reason\":\"idle\",\"delta\":-");
    CHECK_CONTAINS(json, "\"workers\":{\"known\":true,\"count\":4,\"live\":4,\"planned\":4,\"held\":4,\"minimum\":2,\"maximum\":10}");
    CHECK_CONTAINS(json, "{\"rule\":\"cpu\",\"kind\":\"signal\",\"truth\":\"no\",\"compare\":\">\",\"threshold\":0.7,\"readings\":2,"
                         "\"ratio\":true,\"value\":0.1}");
    CHECK_CONTAINS(
        json,
        "{\"rule\":\"queue_depth\",\"kind\":\"signal\",\"truth\":\"unknown\",\"compare\":\">\",\"threshold\":100,\"why\":\"no series\"}");
    CHECK_CONTAINS(json, "\"waiting\":1,\"helpable\":0,\"remainder\":0");
    CHECK_CONTAINS(json, "\"verdict\":\"protected\"");
    CHECK_CONTAINS(json, "\"pod\":{\"namespace\":\"shop\",\"name\":\"web-0\"}");
    CHECK_CONTAINS(json,
                   "{\"at\":1800000000250,\"what\":\"cordon\",\"target\":\"node-2\",\"outcome\":\"conflict: it changed\",\"rule\":18}");
    world_free(w);
}

TEST(plan_json, read_back_it_reads_and_explains_the_same) {
    struct world *w = eventful();
    struct dr_str json = as_json(w, &w->plan);
    struct dr_plan back;
    struct dr_err err;
    CHECK_OK(dr_plan_read(&w->arena, json, &back, &err), err);
    CHECK_EQ_STR(as_json(w, &back), cstr(json));
    CHECK_EQ_STR(explained(w, &back), cstr(explained(w, &w->plan)));
    world_free(w);
}

TEST(plan_json, every_kind_of_decision_survives_the_way_back) {
    for (int reason = 0; reason < DR_REASON_N; reason++) {
        for (int verdict = 0; verdict < DR_VERDICT_N; verdict++) {
            struct world *w = eventful();
            w->plan.decision.reason = (enum dr_reason)reason;
            w->plan.decision.verdict = (enum dr_verdict)verdict;
            w->plan.decision.left_ms = 90500;
            w->plan.decision.clamped_by = "maximum";
            w->plan.unknown = DR_STR("nodes: timeout");
            struct dr_str json = as_json(w, &w->plan);
            struct dr_plan back;
            struct dr_err err;
            CHECK_OK(dr_plan_read(&w->arena, json, &back, &err), err);
            CHECK_EQ_STR(as_json(w, &back), cstr(json));
            world_free(w);
        }
    }
}

TEST(plan_read, passes_over_what_a_newer_program_wrote) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_plan plan;
    struct dr_err err;
    struct dr_str json = DR_STR("{\"at\":5,\"verdict\":\"dance\",\"reason\":\"whim\",\"forecast\":{\"x\":[1,2]},\"up\":[{\"rule\":\"cpu\","
                                "\"truth\":\"maybe\",\"mood\":1}]}");
    CHECK_OK(dr_plan_read(&arena, json, &plan, &err), err);
    CHECK_EQ_INT(plan.at_ms, 5);
    CHECK_EQ_INT(plan.decision.verdict, DR_VERDICT_NOOP);
    CHECK_EQ_INT(plan.up_n, 1);
    CHECK_EQ_INT(plan.up[0].truth, DR_UNKNOWN);
    dr_arena_deinit(&arena);
}

TEST(plan_read, wrong_types_and_broken_text_are_errors) {
    static const char *const broken[] = {"",
                                         "[]",
                                         "{\"at\":\"x\"}",
                                         "{\"up\":[1]}",
                                         "{\"deeds\":{}}",
                                         "{\"workers\":{\"live\":1.5}}",
                                         "{\"at\":5",
                                         "{\"reason\":1}",
                                         "{\"cluster\":1}",
                                         "{\"deeds\":[{\"what\":1}]}",
                                         "{\"victims\":{\"candidates\":[{\"id\":1}]}}",
                                         "{} x"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct dr_arena arena;
        dr_arena_init(&arena, 0);
        struct dr_plan plan;
        struct dr_err err = {0};
        if (dr_plan_read(&arena, dr_str_of(broken[i]), &plan, &err) == 0) {
            FAIL("%s was taken", broken[i]);
        }
        CHECK_CONTAINS(dr_str_of(err.text), "stored plan: ");
        dr_arena_deinit(&arena);
    }
}

TEST(plan_explain, says_all_of_it_in_lines) {
    struct world *w = eventful();
    struct dr_str text = explained(w, &w->plan);
    CHECK_CONTAINS(text, "2027-01-15T08:00:00Z cluster: scale_down ");
    CHECK_CONTAINS(text, "  workers: 4 (live 4, planned 4, held 4; minimum 2, maximum 10)\n");
    CHECK_CONTAINS(text, "    no      cpu 10% not > 70%\n");
    CHECK_CONTAINS(text, "    yes     memory 20% < 50%\n");
    CHECK_CONTAINS(text, "    unknown queue_depth unknown: no series\n");
    CHECK_CONTAINS(text, "  pods that wait: 1, of which a new worker would help 0");
    CHECK_CONTAINS(text, "    i-0001 (node-1): protected\n");
    CHECK_CONTAINS(text, "because of shop/web-0\n");
    CHECK_CONTAINS(text, ": chosen\n");
    CHECK_CONTAINS(text, " cordon node-2: conflict: it changed [rule 18]\n");
    world_free(w);
}

TEST(plan_explain, unknown_parts_are_said_and_not_counted) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    w->snap.instances_part = (struct dr_part){.known = false, .why = DR_STR("throttled")};
    w->snap.pods_part = (struct dr_part){.known = false, .why = DR_STR("timeout")};
    world_decide(w);
    struct dr_str text = explained(w, &w->plan);
    CHECK_CONTAINS(text, "refused workers_unknown: instances: throttled; pods: timeout\n");
    CHECK_CONTAINS(text, "  unknown: instances: throttled; pods: timeout\n");
    CHECK_CONTAINS(text, "  workers: unknown\n");
    CHECK_CONTAINS(text, "  pods that wait: unknown: ");
    world_free(w);
}

TEST(plan_explain, longest_wait_and_idle_time_are_named) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 2);
    world_pending(w, 2, 70 * DR_SECOND_MS);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop spike: 2 pods pending for 1m10s of 3m");
    CHECK_CONTAINS(explained(w, &w->plan), "    longest: shop/web-2, for 1m10s\n");
    w->plan.pending.successors = 3;
    CHECK_CONTAINS(explained(w, &w->plan), "    besides, 3 pods that a drain of ours moved\n");
    w->snap.pod_n = 0;
    world_percent(w, DR_SIGNAL_AT_CPU, 10);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 10);
    world_idle(w, 300);
    world_decide(w);
    CHECK_CONTAINS(explained(w, &w->plan), "    idle for 5m\n");
    world_free(w);
}

TEST(plan_text, pods_that_fit_on_what_is_there_are_told_apart) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 2);
    world_waiting(w, 100, DR_SECOND_MS);
    world_waiting(w, 64000, DR_SECOND_MS);
    world_decide(w);
    CHECK_EQ_STR(world_text(w), "noop no_help: 2 pods pending that a new worker would not help, 1 of them fit on what is there");
    world_free(w);
}

TEST(plan_text, unknown_pods_are_the_reason_where_no_rule_looks_at_them) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 2);
    w->cfg.up[DR_UP_PENDING].off = true;
    w->snap.pods_part = (struct dr_part){.known = false, .why = DR_STR("timeout")};
    world_decide(w);
    CHECK_CONTAINS(world_text(w), "noop unknown: pending unknown: ");
    world_free(w);
}

TEST(plan_text, many_that_cannot_go_are_counted) {
    struct world *w = world_new(DR_PRESET_DEFAULT);
    world_workers(w, 7);
    for (size_t i = 0; i < 7; i++) {
        w->nodes[i].protected_ = true;
    }
    world_percent(w, DR_SIGNAL_AT_CPU, 10);
    world_percent(w, DR_SIGNAL_AT_MEMORY, 10);
    world_idle(w, 900);
    world_decide(w);
    CHECK_CONTAINS(world_text(w), "none of 7 workers can go: i-0000 protected");
    CHECK_CONTAINS(world_text(w), " and 3 more");
    world_free(w);
}

TEST(plan_text, clamp_of_an_earlier_decision_does_not_stick_to_another_reason) {
    struct dr_plan plan = {
        .decision = {.verdict = DR_VERDICT_SCALE_DOWN, .reason = DR_REASON_NOT_READY, .delta = -1, .clamped_by = "maximum"}};
    struct dr_buf buf;
    dr_buf_init(&buf, 256);
    dr_plan_text(&plan, &buf);
    CHECK_EQ_STR(dr_buf_str(&buf), "scale_down -1 not_ready: a worker has not been ready for too long");
    dr_buf_deinit(&buf);
}

TEST(plan_read, long_lists_are_read_and_endless_ones_refused) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_plan plan = {0};
    for (int i = 0; i < 100; i++) {
        dr_plan_deed(&arena, &plan, i, 7, "launch", dr_str_fmt(&arena, "i-%d", i), DR_STR("ok"));
    }
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 20);
    struct dr_jsonw jw;
    dr_jsonw_init(&jw, &buf, 0);
    dr_plan_json(&plan, &jw);
    struct dr_plan back;
    struct dr_err err;
    CHECK_OK(dr_plan_read(&arena, dr_buf_str(&buf), &back, &err), err);
    CHECK_EQ_INT(back.deed_n, 100);
    CHECK_EQ_STR(back.deeds[99].target, "i-99");
    dr_buf_clear(&buf);
    dr_buf_puts(&buf, "{\"deeds\":[{}");
    for (int i = 0; i < 1000; i++) {
        dr_buf_puts(&buf, ",{}");
    }
    dr_buf_puts(&buf, "]}");
    CHECK_FAILS(dr_plan_read(&arena, dr_buf_str(&buf), &back, &err), &err, DR_E_LIMIT);
    dr_buf_deinit(&buf);
    dr_arena_deinit(&arena);
}
