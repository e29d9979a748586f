#include "base/time.h"
#include "core/plan.h"
#include "harness/test.h"

/* What the plan says as text and as JSON, in heap memory. */
static char *worded(const struct dr_plan *plan) {
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 20);
    struct dr_jsonw w;
    dr_jsonw_init(&w, &buf, 0);
    dr_plan_json(plan, &w);
    dr_plan_explain(plan, &buf);
    char *text = strndup(dr_buf_str(&buf).p, dr_buf_str(&buf).n);
    dr_buf_deinit(&buf);
    CHECK(text != NULL);
    return text;
}

/* Everything that a plan may refer to in an observation, made in `arena`. */
static void fill(struct dr_arena *arena, const struct dr_rule *rule, struct dr_plan *plan) {
    struct dr_pod *pod = DR_NEW(arena, struct dr_pod);
    *pod = (struct dr_pod){.ns = dr_str_fmt(arena, "shop"), .name = dr_str_fmt(arena, "web-1"), .node = dr_str_fmt(arena, "node-1")};
    struct dr_waiting *waiting = DR_NEW(arena, struct dr_waiting);
    *waiting = (struct dr_waiting){pod, INT64_C(1799999999000), true};
    struct dr_node *node = DR_NEW(arena, struct dr_node);
    *node = (struct dr_node){.name = dr_str_fmt(arena, "node-1")};
    struct dr_worker *workers = DR_NEW_N(arena, struct dr_worker, 2);
    workers[0] = (struct dr_worker){.id = dr_str_fmt(arena, "i-1"), .zone = dr_str_fmt(arena, "za"), .node = node, .pod_n = 3};
    workers[1] = (struct dr_worker){.id = dr_str_fmt(arena, "i-2"), .zone = dr_str_fmt(arena, "zb")};
    struct dr_candidate *all = DR_NEW_N(arena, struct dr_candidate, 2);
    all[0] = (struct dr_candidate){&workers[0], DR_VICTIM_CRITICAL_POD, pod};
    all[1] = (struct dr_candidate){&workers[1], DR_VICTIM_OK, NULL};
    struct dr_str *chosen = DR_NEW(arena, struct dr_str);
    *chosen = dr_str_fmt(arena, "i-2");
    struct dr_rule_result *up = DR_NEW(arena, struct dr_rule_result);
    *up = (struct dr_rule_result){.rule = rule, .truth = DR_UNKNOWN, .why = dr_str_fmt(arena, "connection refused")};
    struct dr_rule_result *down = DR_NEW(arena, struct dr_rule_result);
    *down = *up;
    down->why = dr_str_fmt(arena, "timeout");
    *plan = (struct dr_plan){
        .request_id = DR_STR("req-1"),
        .cluster = DR_STR("cluster"),
        .at_ms = INT64_C(1800000000000),
        .up = up,
        .up_n = 1,
        .down = down,
        .down_n = 1,
        .action_id = dr_str_fmt(arena, "1800000000-req-1"),
        .unknown = dr_str_fmt(arena, "nodes: timeout"),
        .pending = {.why = dr_str_fmt(arena, "pods: timeout"), .waiting = 1, .oldest = pod, .pods = waiting, .pod_n = 1},
    };
    plan->decision.verdict = DR_VERDICT_SCALE_DOWN;
    plan->decision.reason = DR_REASON_IDLE;
    plan->decision.delta = -1;
    plan->decision.detail = dr_str_fmt(arena, "idle for 12m");
    plan->decision.victims = (struct dr_victims){.all = all, .all_n = 2, .chosen = {chosen, 1}};
}

TEST(plan_keep, plan_says_the_same_after_its_observation_is_gone) {
    struct dr_config cfg;
    dr_config_init(&cfg, DR_PRESET_DEFAULT);
    struct dr_arena observation;
    struct dr_arena tick;
    dr_arena_init(&observation, 0);
    dr_arena_init(&tick, 0);
    struct dr_plan plan;
    fill(&observation, &cfg.up[DR_UP_CPU], &plan);
    char *before = worded(&plan);
    dr_plan_keep(&tick, &plan);
    dr_arena_reset(&observation);
    memset(dr_arena_alloc(&observation, 4096, 1), 'x', 4096);
    char *after = worded(&plan);
    CHECK_EQ_CSTR(after, before);
    CHECK_CONTAINS(dr_str_of(after), "connection refused");
    CHECK_CONTAINS(dr_str_of(after), "web-1");
    CHECK_CONTAINS(dr_str_of(after), "i-2");
    free(before);
    free(after);
    dr_arena_deinit(&observation);
    dr_arena_deinit(&tick);
}

TEST(plan_keep, kept_worker_refers_to_nothing_of_the_observation) {
    struct dr_config cfg;
    dr_config_init(&cfg, DR_PRESET_DEFAULT);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_plan plan;
    fill(&arena, &cfg.up[DR_UP_CPU], &plan);
    const struct dr_worker *before = plan.decision.victims.all[0].worker;
    dr_plan_keep(&arena, &plan);
    const struct dr_worker *kept = plan.decision.victims.all[0].worker;
    CHECK(kept != before && kept->node != before->node && kept->instance == NULL);
    CHECK_EQ_INT(kept->pod_n, 0);
    CHECK(plan.decision.victims.all[0].pod->spec == NULL);
    dr_arena_deinit(&arena);
}

TEST(plan_keep, empty_plan_stays_empty) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_plan plan = {.at_ms = 1};
    dr_plan_keep(&arena, &plan);
    CHECK_EQ_INT(plan.up_n, 0);
    CHECK_EQ_INT(plan.decision.victims.chosen.n, 0);
    CHECK(plan.pending.oldest == NULL);
    dr_arena_deinit(&arena);
}
