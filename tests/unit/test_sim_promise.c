/* Canaries: every promise that the world checks is broken on purpose here, and must be caught. */

#include "sim_help.h"

/* Three Ready workers, two in zone a and one in zone b; minimum 2. */
struct fleet {
    struct sim s;
    struct dr_str a1, a2, b;
};

static struct fleet fleet_open(void) {
    struct fleet f = {.s = sim_plain()};
    f.a1 = sim_worker(&f.s, "a");
    f.a2 = sim_worker(&f.s, "a");
    f.b = sim_worker(&f.s, "b");
    sim_pass(&f.s, DR_MINUTE_MS);
    return f;
}

#define HELD(f)                                                                                                                            \
    do {                                                                                                                                   \
        if (dr_world_violation((f).s.w) != NULL) {                                                                                         \
            FAIL("%s", dr_world_violation((f).s.w));                                                                                       \
        }                                                                                                                                  \
    } while (0)
#define BROKEN(f, text)                                                                                                                    \
    do {                                                                                                                                   \
        CHECK(dr_world_violation((f).s.w) != NULL);                                                                                        \
        CHECK_CONTAINS(dr_str_of(dr_world_violation((f).s.w)), text);                                                                      \
    } while (0)

TEST(sim_promise, termination_without_mark_is_caught) {
    struct fleet f = fleet_open();
    struct dr_err err;
    (void)sim_terminate(&f.s, f.a1, &err);
    BROKEN(f, "without mark");
    sim_close(&f.s);
}

TEST(sim_promise, marked_and_empty_worker_may_go) {
    struct fleet f = fleet_open();
    struct dr_err err;
    sim_mark(&f.s, f.a1);
    CHECK_OK(sim_terminate(&f.s, f.a1, &err), err);
    HELD(f);
    sim_close(&f.s);
}

TEST(sim_promise, broken_world_stands_still_and_keeps_its_trace) {
    struct fleet f = fleet_open();
    struct dr_err err;
    CHECK_FAILS(sim_terminate(&f.s, f.a1, &err), err, DR_E_UNAVAILABLE);
    int64_t t = dr_world_now(f.s.w);
    CHECK(!dr_world_advance(f.s.w, t + DR_HOUR_MS));
    CHECK_EQ_INT(dr_world_now(f.s.w), t);
    CHECK(!sim_observe(&f.s).nodes_part.known);
    CHECK_EQ_INT(dr_world_stats(f.s.w).violations, 1);
    CHECK_EQ_INT(dr_world_counts(f.s.w).machines, 3); /* nothing was made worse */
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 20);
    dr_world_trace_tail(f.s.w, &buf);
    CHECK_CONTAINS(dr_buf_str(&buf), "ready");
    CHECK_CONTAINS(dr_buf_str(&buf), "VIOLATION");
    dr_buf_deinit(&buf);
    sim_close(&f.s);
}

TEST(sim_promise, mark_that_goes_below_minimum_is_caught) {
    struct fleet f = fleet_open();
    sim_mark(&f.s, f.a1);
    HELD(f);
    sim_mark(&f.s, f.a2);
    BROKEN(f, "leaves 1 live workers, minimum is 2");
    sim_close(&f.s);
}

TEST(sim_promise, worker_lost_after_the_last_look_is_not_held_against_the_process) {
    struct fleet f = fleet_open();
    (void)sim_observe(&f.s);
    struct dr_state state = sim_load(&f.s);
    state.marks = (struct dr_strs){&f.a1, 1};
    CHECK(dr_world_kill(f.s.w, f.b));
    CHECK_EQ_INT(sim_cas(&f.s, &state), DR_CAS_OK);
    HELD(f);
    sim_close(&f.s);
}

TEST(sim_promise, worker_lost_before_the_last_look_is) {
    struct fleet f = fleet_open();
    CHECK(dr_world_kill(f.s.w, f.b));
    sim_mark(&f.s, f.a1);
    BROKEN(f, "minimum");
    sim_close(&f.s);
}

TEST(sim_promise, emptied_zone_is_caught) {
    struct fleet f = fleet_open();
    sim_mark(&f.s, f.b);
    BROKEN(f, "empties zone b");
    sim_close(&f.s);
}

TEST(sim_promise, unjoined_machine_may_be_marked_at_minimum) {
    struct sim s = sim_plain();
    (void)sim_worker(&s, "a");
    (void)sim_worker(&s, "b");
    struct dr_str id = dr_world_add_worker(s.w, &(struct dr_world_worker){.never_join = true, .action_id = DR_STR("x")});
    sim_mark(&s, id);
    struct dr_err err;
    CHECK_OK(sim_terminate(&s, id, &err), err);
    CHECK(dr_world_violation(s.w) == NULL);
    sim_close(&s);
}

TEST(sim_promise, running_pod_left_behind_is_caught) {
    struct fleet f = fleet_open();
    (void)sim_deploy(&f.s, "web", 6, 100);
    sim_pass(&f.s, DR_MINUTE_MS);
    sim_mark(&f.s, f.a1);
    struct dr_err err;
    (void)sim_terminate(&f.s, f.a1, &err);
    BROKEN(f, "running on it");
    sim_close(&f.s);
}

TEST(sim_promise, daemonset_pods_may_stay) {
    struct fleet f = fleet_open();
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DAEMONSET, "logs", 0, 10, SIM_MIB);
    (void)sim_add(&f.s, &l);
    sim_pass(&f.s, DR_MINUTE_MS);
    sim_mark(&f.s, f.a1);
    struct dr_err err;
    CHECK_OK(sim_terminate(&f.s, f.a1, &err), err);
    HELD(f);
    sim_close(&f.s);
}

TEST(sim_promise, pods_of_an_interrupted_worker_are_lost_by_the_cloud) {
    struct fleet f = fleet_open();
    (void)sim_deploy(&f.s, "web", 6, 100);
    sim_pass(&f.s, DR_MINUTE_MS);
    CHECK(dr_world_interrupt(f.s.w, f.a1, 0));
    sim_pass(&f.s, 3 * DR_MINUTE_MS);
    HELD(f);
    CHECK(dr_world_stats(f.s.w).lost_pods > 0);
    sim_close(&f.s);
}

TEST(sim_promise, mark_taken_back_is_caught) {
    struct fleet f = fleet_open();
    sim_mark(&f.s, f.a1);
    struct dr_state state = sim_load(&f.s);
    state.marks = (struct dr_strs){NULL, 0};
    (void)sim_cas(&f.s, &state);
    BROKEN(f, "taken back");
    sim_close(&f.s);
}

TEST(sim_promise, launch_without_intent_is_caught) {
    struct fleet f = fleet_open();
    struct dr_launch l = sim_intend(&f.s, "act", 0, "a", "tok", DR_STR_NONE);
    struct dr_str id;
    struct dr_err err;
    l.index = 1;
    (void)sim_launch(&f.s, &l, &id, &err);
    BROKEN(f, "without intent");
    sim_close(&f.s);
}

TEST(sim_promise, intent_above_maximum_is_caught) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    o.max_workers = 3;
    struct sim s = sim_open(&o);
    (void)sim_worker(&s, "a");
    (void)sim_worker(&s, "b");
    (void)sim_observe(&s);
    (void)sim_intend(&s, "act", 0, "a", "one", DR_STR_NONE);
    CHECK(dr_world_violation(s.w) == NULL);
    (void)sim_intend(&s, "act", 1, "a", "two", DR_STR_NONE);
    CHECK(dr_world_violation(s.w) != NULL);
    CHECK_CONTAINS(dr_str_of(dr_world_violation(s.w)), "intends 4 workers, maximum is 3");
    sim_close(&s);
}

TEST(sim_promise, interrupted_worker_does_not_count_against_maximum) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    o.max_workers = 2;
    struct sim s = sim_open(&o);
    (void)sim_worker(&s, "a");
    struct dr_str b = sim_worker(&s, "b");
    CHECK(dr_world_interrupt(s.w, b, 0));
    sim_pass(&s, 1000);
    (void)sim_observe(&s);
    (void)sim_intend(&s, "act", 0, "b", "one", b);
    CHECK(dr_world_violation(s.w) == NULL);
    sim_close(&s);
}

TEST(sim_promise, two_actions_at_once_are_caught) {
    struct fleet f = fleet_open();
    struct dr_state state = sim_load(&f.s);
    state.up_action_id = DR_STR("up");
    state.down_action_id = DR_STR("down");
    state.scaling = true;
    (void)sim_cas(&f.s, &state);
    BROKEN(f, "two actions");
    sim_close(&f.s);
}

TEST(sim_promise, two_indices_for_one_interrupted_worker_are_caught) {
    struct fleet f = fleet_open();
    CHECK(dr_world_interrupt(f.s.w, f.a1, 0));
    sim_pass(&f.s, 1000);
    (void)sim_observe(&f.s);
    (void)sim_intend(&f.s, "act", 0, "a", "one", f.a1);
    HELD(f);
    (void)sim_intend(&f.s, "act", 1, "a", "two", f.a1);
    BROKEN(f, "two indices replace");
    sim_close(&f.s);
}

/* Launches index 0 of `action` for the interrupted worker and records the instance. */
static struct dr_str replace(struct fleet *f, const char *action, const char *token) {
    struct dr_launch l = sim_intend(&f->s, action, 0, "a", token, f->a1);
    struct dr_str id;
    struct dr_err err;
    CHECK_OK(sim_launch(&f->s, &l, &id, &err), err);
    struct dr_state state = sim_load(&f->s);
    struct dr_attempt a = state.attempts.v[0];
    a.status = DR_ATTEMPT_LAUNCHED;
    a.instance_id = id;
    a.launched_epoch = dr_world_now(f->s.w) / 1000;
    state.attempts.v = &a;
    state.up_instance_ids = (struct dr_strs){&id, 1};
    CHECK_EQ_INT(sim_cas(&f->s, &state), DR_CAS_OK);
    return id;
}

TEST(sim_promise, second_replacement_is_caught_while_the_first_stands_in) {
    struct fleet f = fleet_open();
    CHECK(dr_world_interrupt(f.s.w, f.a1, 0));
    sim_pass(&f.s, 1000);
    (void)replace(&f, "one", "tok-1");
    HELD(f);
    sim_pass(&f.s, 3 * DR_MINUTE_MS);
    (void)sim_observe(&f.s);
    (void)sim_intend(&f.s, "two", 0, "a", "tok-2", f.a1);
    BROKEN(f, "a second time");
    sim_close(&f.s);
}

TEST(sim_promise, second_replacement_is_right_when_the_first_was_lost) {
    struct fleet f = fleet_open();
    CHECK(dr_world_interrupt(f.s.w, f.a1, 0));
    sim_pass(&f.s, 1000);
    CHECK(dr_world_kill(f.s.w, replace(&f, "one", "tok-1")));
    sim_pass(&f.s, DR_MINUTE_MS);
    (void)sim_observe(&f.s);
    (void)sim_intend(&f.s, "two", 0, "a", "tok-2", f.a1);
    HELD(f);
    sim_close(&f.s);
}

TEST(sim_promise, fence_that_goes_back_is_caught) {
    struct fleet f = fleet_open();
    struct dr_state state = sim_load(&f.s);
    state.fence = 5;
    CHECK_EQ_INT(sim_cas(&f.s, &state), DR_CAS_OK);
    HELD(f);
    state = sim_load(&f.s);
    state.fence = 4;
    (void)sim_cas(&f.s, &state);
    BROKEN(f, "fence");
    sim_close(&f.s);
}

TEST(sim_promise, deleted_node_of_a_living_machine_is_caught) {
    struct fleet f = fleet_open();
    const struct dr_node *n = sim_node(&f.s, f.a1);
    struct dr_err err;
    (void)f.s.p.cluster.ops->delete_node(f.s.p.cluster.self, n->name, n->uid, 0, &err);
    BROKEN(f, "of a machine that lives");
    sim_close(&f.s);
}

static void set_cordon(struct sim *s, struct dr_str id, const char *owner, bool on) {
    struct dr_node n = *sim_node(s, id);
    struct dr_err err;
    (void)s->p.cluster.ops->cordon(s->p.cluster.self, &n, dr_str_of(owner), on, 0, &err);
}

TEST(sim_promise, uncordoned_marked_node_is_caught) {
    struct fleet f = fleet_open();
    set_cordon(&f.s, f.a1, "act", true);
    sim_mark(&f.s, f.a1);
    set_cordon(&f.s, f.a1, "act", false);
    BROKEN(f, "uncordoned while marked");
    sim_close(&f.s);
}

TEST(sim_promise, cordon_of_a_person_is_not_ours_to_undo) {
    struct fleet f = fleet_open();
    CHECK(dr_world_node_cordon(f.s.w, f.a1, true));
    set_cordon(&f.s, f.a1, "act", true);
    set_cordon(&f.s, f.a1, "act", false);
    BROKEN(f, "that a person had cordoned");
    sim_close(&f.s);
}

TEST(sim_promise, checks_can_be_turned_off) {
    struct dr_world_options o;
    dr_world_options_init(&o, 1);
    o.check = false;
    struct sim s = sim_open(&o);
    struct dr_str id = sim_worker(&s, "a");
    struct dr_err err;
    CHECK_OK(sim_terminate(&s, id, &err), err);
    CHECK(dr_world_violation(s.w) == NULL);
    sim_close(&s);
}

/* ---- at rest ---- */

static void expect_open(struct sim *s, unsigned flags, const char *text) {
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 16);
    CHECK(!dr_world_check_settled(s->w, flags, &buf));
    CHECK_CONTAINS(dr_buf_str(&buf), text);
    dr_buf_deinit(&buf);
}

TEST(sim_promise, quiet_world_is_settled) {
    struct fleet f = fleet_open();
    (void)sim_deploy(&f.s, "web", 6, 100);
    sim_pass(&f.s, DR_MINUTE_MS);
    CHECK(dr_world_check_settled(f.s.w, DR_SETTLED_PODS, NULL));
    sim_close(&f.s);
}

TEST(sim_promise, ghost_and_cordon_are_not_settled) {
    struct fleet f = fleet_open();
    CHECK(dr_world_kill(f.s.w, f.a1));
    expect_open(&f.s, 0, "Node without a machine");
    CHECK(dr_world_node_delete(f.s.w, f.a1));
    CHECK(dr_world_check_settled(f.s.w, 0, NULL));
    set_cordon(&f.s, f.a2, "act", true);
    expect_open(&f.s, 0, "still cordoned by us");
    sim_close(&f.s);
}

TEST(sim_promise, action_debt_and_mark_are_not_settled) {
    struct fleet f = fleet_open();
    (void)sim_observe(&f.s);
    (void)sim_intend(&f.s, "act", 0, "a", "tok", DR_STR_NONE);
    expect_open(&f.s, 0, "scale-up is still active");
    sim_close(&f.s);
    f = fleet_open();
    sim_mark(&f.s, f.a1);
    expect_open(&f.s, 0, "marked and still running");
    struct dr_state state = sim_load(&f.s);
    struct dr_record r = {.instance_id = f.a2, .kind = DR_EVENT_WARNING, .zone = DR_STR("a"), .noticed_epoch = 1, .recorded_epoch = 1};
    state.records.v = &r;
    state.records.n = 1;
    CHECK_EQ_INT(sim_cas(&f.s, &state), DR_CAS_OK);
    expect_open(&f.s, 0, "interruption record");
    sim_close(&f.s);
}

TEST(sim_promise, forgotten_machine_is_not_settled_unless_it_is_nobodys) {
    struct sim s = sim_plain();
    (void)dr_world_add_worker(s.w, &(struct dr_world_worker){.never_join = true});
    CHECK(dr_world_check_settled(s.w, 0, NULL));
    (void)dr_world_add_worker(s.w, &(struct dr_world_worker){.never_join = true, .action_id = DR_STR("old")});
    expect_open(&s, 0, "neither a worker nor ended");
    sim_close(&s);
}

TEST(sim_promise, waiting_pod_that_a_worker_would_run_is_not_settled) {
    struct sim s = sim_plain();
    (void)sim_deploy(&s, "huge", 1, 5000); /* larger than any type */
    CHECK(dr_world_check_settled(s.w, DR_SETTLED_PODS, NULL));
    (void)sim_deploy(&s, "web", 1, 1000);
    CHECK(dr_world_check_settled(s.w, 0, NULL));
    expect_open(&s, DR_SETTLED_PODS, "a new worker would run it");
    struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DAEMONSET, "heavy", 0, 1000, SIM_MIB);
    (void)sim_add(&s, &l); /* leaves 930 on a new worker */
    CHECK(dr_world_check_settled(s.w, DR_SETTLED_PODS, NULL));
    sim_close(&s);
}
