/* Scale-up on worlds built by hand: rules 7 to 12. */

#include "unit/step_world.h"

static const struct dr_attempt *attempt(const struct step_world *s, size_t i) {
    CHECK(i < s->w->state.attempts.n);
    return &s->w->state.attempts.v[i];
}

/* A scale-up of `requested` beside two Ready workers, nothing launched yet. */
static struct step_world *begun(int64_t requested) {
    struct step_world *s = stw_new();
    stw_workers(s, 2);
    (void)sw_scale_up(s->w, requested, 0);
    s->w->state.up_started_epoch = SW_NOW_EPOCH;
    return s;
}

/* ... and the first index is intended. */
static struct step_world *intended(int64_t requested) {
    struct step_world *s = begun(requested);
    stw_writes(s, "intend launch", 7);
    return s;
}

TEST(rule_7, attempt_is_in_the_item_before_the_call_and_the_call_is_what_it_says) {
    struct step_world *s = begun(1);
    const struct dr_step *step = stw_expect(s, DR_STEP_WRITE);
    CHECK_EQ_INT(step->next.attempts.n, 1);
    const struct dr_attempt *written = &step->next.attempts.v[0];
    CHECK_EQ_INT(written->status, DR_ATTEMPT_OPEN);
    CHECK_EQ_INT(written->attempt, 1);
    CHECK_EQ_STR(written->type, "medium");
    CHECK_EQ_STR(written->template_version, "7");
    CHECK(written->subnet.n > 0 && written->zone.n > 0);
    stw_writes(s, "intend launch", 7);
    step = stw_expect(s, DR_STEP_LAUNCH);
    CHECK_EQ_STR(step->action_id, "up-1");
    CHECK_EQ_INT(step->index, 0);
    CHECK_EQ_STR(step->token, "up-1-0-1");
    CHECK(dr_str_eq(step->attempt.subnet, attempt(s, 0)->subnet));
    CHECK_EQ_INT(step->attempt.market, attempt(s, 0)->market);
}

TEST(rule_7, token_fits_in_64_characters_and_differs_by_action_index_and_attempt) {
    struct small_world *w = sw_new();
    char id[DR_STATE_MAX_ID + 1];
    memset(id, 'x', DR_STATE_MAX_ID);
    id[DR_STATE_MAX_ID] = '\0';
    struct dr_str longest = dr_str_of(id);
    struct dr_str a = dr_step_token(&w->arena, longest, 0, 1);
    struct dr_str b = dr_step_token(&w->arena, longest, 1, 1);
    struct dr_str c = dr_step_token(&w->arena, longest, 0, 2);
    CHECK(a.n <= 64 && b.n <= 64 && c.n <= 64);
    CHECK(!dr_str_eq(a, b) && !dr_str_eq(a, c) && !dr_str_eq(b, c));
    CHECK(dr_str_eq(a, dr_step_token(&w->arena, longest, 0, 1)));
    id[0] = 'y';
    CHECK(!dr_str_eq(a, dr_step_token(&w->arena, longest, 0, 1)));
}

TEST(rule_8, unknown_outcome_repeats_the_same_attempt_verbatim) {
    static const enum dr_code codes[] = {DR_E_TIMEOUT, DR_E_THROTTLED, DR_E_UNAVAILABLE};
    for (size_t i = 0; i < 3; i++) {
        struct step_world *s = intended(1);
        struct dr_attempt before = *attempt(s, 0);
        (void)stw_expect(s, DR_STEP_LAUNCH);
        CHECK(!stw_settle(s, codes[i], NULL));
        CHECK_EQ_INT(attempt(s, 0)->status, DR_ATTEMPT_OPEN);
        (void)stw_expect(s, DR_STEP_WAIT);
        stw_look(s, 2000);
        const struct dr_step *again = stw_expect(s, DR_STEP_LAUNCH);
        CHECK_EQ_STR(again->token, "up-1-0-1");
        CHECK(dr_str_eq(again->attempt.subnet, before.subnet) && again->attempt.market == before.market);
    }
}

TEST(rule_8, out_of_capacity_goes_to_the_other_market_then_to_another_zone_then_gives_up) {
    struct step_world *s = intended(1);
    struct dr_str first_zone = attempt(s, 0)->zone;
    CHECK_EQ_INT(attempt(s, 0)->market, DR_MARKET_SPOT);
    (void)stw_expect(s, DR_STEP_LAUNCH);
    CHECK(stw_settle(s, DR_E_CAPACITY, NULL));
    CHECK_EQ_INT(attempt(s, 0)->attempt, 2);
    CHECK_EQ_INT(attempt(s, 0)->status, DR_ATTEMPT_OPEN);
    CHECK_EQ_INT(attempt(s, 0)->market, DR_MARKET_ON_DEMAND);
    CHECK(dr_str_eq(attempt(s, 0)->zone, first_zone));
    CHECK_EQ_STR(stw_expect(s, DR_STEP_LAUNCH)->token, "up-1-0-2");
    CHECK(stw_settle(s, DR_E_CAPACITY, NULL));
    CHECK_EQ_INT(attempt(s, 0)->attempt, 3);
    CHECK(!dr_str_eq(attempt(s, 0)->zone, first_zone));
    for (int i = 3; i <= 6; i++) {
        CHECK_EQ_INT(attempt(s, 0)->attempt, i);
        (void)stw_expect(s, DR_STEP_LAUNCH);
        CHECK(stw_settle(s, DR_E_CAPACITY, NULL));
    }
    CHECK_EQ_INT(attempt(s, 0)->status, DR_ATTEMPT_FAILED);
    CHECK_EQ_STR(attempt(s, 0)->why, "out of stock everywhere");
}

TEST(rule_8, what_is_out_of_stock_is_not_asked_for_the_next_index) {
    struct step_world *s = intended(2);
    struct dr_attempt refused = *attempt(s, 0);
    (void)stw_expect(s, DR_STEP_LAUNCH);
    CHECK(stw_settle(s, DR_E_CAPACITY, NULL));
    (void)stw_expect(s, DR_STEP_LAUNCH);
    CHECK(stw_settle(s, DR_OK, "i-new"));
    stw_writes(s, "intend launch", 7);
    CHECK(!dr_str_eq(attempt(s, 1)->subnet, refused.subnet) || attempt(s, 1)->market != refused.market);
}

TEST(rule_8, quota_denied_and_invalid_fail_the_index) {
    static const enum dr_code codes[] = {DR_E_QUOTA, DR_E_DENIED, DR_E_INVALID};
    for (size_t i = 0; i < 3; i++) {
        struct step_world *s = intended(1);
        (void)stw_expect(s, DR_STEP_LAUNCH);
        CHECK(stw_settle(s, codes[i], NULL));
        CHECK_EQ_INT(attempt(s, 0)->status, DR_ATTEMPT_FAILED);
        CHECK_EQ_STR(attempt(s, 0)->why, dr_code_name(codes[i]));
    }
}

TEST(rule_8, nowhere_to_launch_gives_the_index_up_without_a_call) {
    struct step_world *s = begun(1);
    static const char *const zones[] = {"zone/za", "zone/zb", "zone/zc"};
    for (size_t i = 0; i < 3; i++) {
        sw_avoid(s->w, zones[i], SW_NOW_EPOCH + 600);
    }
    stw_writes(s, "give up index", 8);
    CHECK_EQ_STR(attempt(s, 0)->why, "out of stock everywhere");
    stw_writes(s, "fail scale-up", 11);
}

TEST(rule_8, room_that_was_used_up_meanwhile_gives_the_index_up) {
    struct step_world *s = begun(1);
    s->w->cfg.max_workers = 2;
    stw_writes(s, "give up index", 8);
    CHECK_EQ_STR(attempt(s, 0)->why, "maximum reached");
}

TEST(rule_8, nothing_is_intended_while_the_workers_are_unknown) {
    struct step_world *s = begun(1);
    s->w->snap.instances_part = (struct dr_part){.why = DR_STR("timeout")};
    s->w->snap.instance_n = 0;
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(s->m.waiting);
}

/* Fails the call as often as one tick tries it. */
static void exhaust(struct step_world *s, enum dr_code code) {
    for (int i = 0; i < DR_TURN_TRIES; i++) {
        (void)stw_expect(s, DR_STEP_LAUNCH);
        CHECK(!stw_settle(s, code, NULL));
        stw_look(s, 10000);
    }
}

TEST(rule_9, open_attempt_that_describe_does_not_show_is_sent_again) {
    struct step_world *s = intended(1);
    stw_pass(s, 10 * DR_MINUTE_MS);
    CHECK_EQ_STR(stw_expect(s, DR_STEP_LAUNCH)->token, "up-1-0-1");
}

TEST(rule_9, open_attempt_is_not_dropped_before_the_limit_though_a_tick_got_no_answer) {
    struct step_world *s = intended(1);
    exhaust(s, DR_E_TIMEOUT);
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(s->m.waiting);
    CHECK_EQ_INT(attempt(s, 0)->status, DR_ATTEMPT_OPEN);
}

TEST(rule_9, open_attempt_past_the_limit_is_sent_once_more_and_only_then_given_up_and_its_zone_avoided) {
    struct step_world *s = intended(1);
    struct dr_str zone = attempt(s, 0)->zone;
    stw_pass(s, s->w->cfg.stuck_ms);
    exhaust(s, DR_E_UNAVAILABLE);
    CHECK(stw_next(s)->alert);
    stw_writes(s, "give up unanswered attempt", 9);
    CHECK_EQ_INT(attempt(s, 0)->status, DR_ATTEMPT_FAILED);
    const struct dr_avoid *avoid = dr_state_avoid(&s->w->state, dr_place_zone_key(&s->w->arena, zone));
    CHECK(avoid != NULL && avoid->until_epoch > s->w->snap.now_ms / 1000);
}

TEST(rule_9, action_with_an_open_attempt_is_not_ended_by_the_others) {
    struct step_world *s = begun(2);
    struct dr_attempt *v = sw_scale_up(s->w, 2, 2);
    (void)stw_launched(s, &v[0], 0, "i-new", 20 * DR_MINUTE_MS);
    v[1].since_epoch = SW_NOW_EPOCH;
    exhaust(s, DR_E_TIMEOUT);
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK_EQ_STR(s->w->state.up_action_id, "up-1");
}

TEST(rule_10, clearing_waits_for_the_youngest) {
    struct step_world *s = begun(2);
    s->w->cfg.min_workers = 1;
    struct dr_attempt *v = sw_scale_up(s->w, 2, 2);
    int64_t timeout_ms = s->w->cfg.join_timeout_ms;
    (void)stw_launched(s, &v[0], 0, "i-old", timeout_ms + DR_MINUTE_MS);
    (void)stw_launched(s, &v[1], 1, "i-young", timeout_ms - DR_MINUTE_MS);
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(s->m.waiting);
    stw_pass(s, DR_MINUTE_MS - 1000);
    (void)stw_expect(s, DR_STEP_DONE);
    stw_pass(s, 1000);
    stw_writes(s, "fail scale-up", 11);
}

TEST(rule_10, nothing_has_failed_to_join_while_nodes_or_instances_are_unknown) {
    for (int i = 0; i < 2; i++) {
        struct step_world *s = begun(1);
        struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
        (void)stw_launched(s, &v[0], 0, "i-new", s->w->cfg.join_timeout_ms + DR_MINUTE_MS);
        struct dr_part unknown = {.why = DR_STR("timeout")};
        if (i == 0) {
            s->w->snap.nodes_part = unknown;
            s->w->snap.node_n = 0;
        } else {
            s->w->snap.instances_part = unknown;
            s->w->snap.instance_n = 0;
        }
        (void)stw_expect(s, DR_STEP_DONE);
    }
}

TEST(rule_11, any_join_completes_with_cooldown_when_the_last_has_expired) {
    struct step_world *s = begun(2);
    struct dr_attempt *v = sw_scale_up(s->w, 2, 2);
    struct dr_instance *joined = stw_launched(s, &v[0], 0, "i-joined", s->w->cfg.join_timeout_ms);
    (void)stw_launched(s, &v[1], 1, "i-lost", s->w->cfg.join_timeout_ms);
    (void)sw_node(s->w, joined);
    stw_writes(s, "see joins", 11);
    CHECK_EQ_INT(attempt(s, 0)->status, DR_ATTEMPT_JOINED);
    CHECK_EQ_INT(attempt(s, 1)->status, DR_ATTEMPT_LAUNCHED);
    CHECK(stw_next(s)->finished);
    stw_writes(s, "complete scale-up", 11);
    CHECK_EQ_INT(s->w->state.last_scale_epoch, SW_NOW_EPOCH);
    CHECK_EQ_INT(s->w->state.backoff_until_epoch, 0);
    CHECK(!s->w->state.scaling);
}

TEST(rule_11, no_join_fails_with_back_off_and_without_cooldown) {
    struct step_world *s = begun(1);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    (void)stw_launched(s, &v[0], 0, "i-lost", s->w->cfg.join_timeout_ms);
    CHECK(stw_next(s)->alert);
    stw_writes(s, "fail scale-up", 11);
    CHECK_EQ_INT(s->w->state.last_scale_epoch, 0);
    CHECK(s->w->state.backoff_until_epoch > SW_NOW_EPOCH);
}

TEST(rule_11, node_that_is_not_ready_is_no_join) {
    struct step_world *s = begun(1);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    struct dr_node *node = sw_node(s->w, stw_launched(s, &v[0], 0, "i-new", 2 * DR_MINUTE_MS));
    node->ready = DR_READY_FALSE;
    node->ready_changed_ms = node->created_ms;
    (void)stw_expect(s, DR_STEP_DONE);
}

TEST(rule_11, node_that_was_ready_and_is_not_is_no_capacity_yet) {
    struct step_world *s = begun(1);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    struct dr_node *node = sw_node(s->w, stw_launched(s, &v[0], 0, "i-new", 5 * DR_MINUTE_MS));
    node->ready = DR_READY_FALSE;
    node->ready_changed_ms = node->created_ms + 2 * DR_MINUTE_MS;
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(dr_fleet_find(&s->view.fleet, DR_STR("i-new"))->joined);
    node->ready = DR_READY_TRUE;
    stw_writes(s, "see joins", 11);
}

TEST(rule_11, instance_that_ends_is_marked_or_warned_before_it_joins_fails_its_index) {
    static const char *const whys[] = {"ended before it joined", "ended before it joined", "marked", "interrupted before it joined"};
    for (size_t i = 0; i < 4; i++) {
        struct step_world *s = begun(1);
        struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
        struct dr_instance *instance = stw_launched(s, &v[0], 0, "i-new", DR_MINUTE_MS);
        if (i == 0) {
            instance->state = DR_INSTANCE_TERMINATED;
        } else if (i == 1) {
            sw_ended(s->w, "i-new");
        } else if (i == 2) {
            stw_mark(s, "i-new");
            s->turn.marked_seq = s->w->snap.seq;
        } else {
            sw_record(s->w, "i-new", DR_EVENT_WARNING);
            s->w->cfg.max_workers = 2;
        }
        /* Its mark and its record are served by other stages: what the scale-up itself learns is looked at. */
        (void)stw_next(s);
        struct dr_step step = {.kind = DR_STEP_DONE};
        CHECK(dr_stage_scale_up(&s->m, &step));
        CHECK_EQ_CSTR(step.what, "see joins");
        CHECK_EQ_INT(step.next.attempts.v[0].status, DR_ATTEMPT_FAILED);
        CHECK_EQ_STR(step.next.attempts.v[0].why, whys[i]);
    }
}

/* ---- rule 12 ---- */

TEST(rule_12, below_minimum_the_active_scale_up_is_extended_by_what_is_missing_in_planned) {
    struct step_world *s = stw_new();
    s->w->cfg.min_workers = 4;
    s->w->cfg.max_batch_up = 4;
    stw_workers(s, 1);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    (void)stw_launched(s, &v[0], 0, "i-new", DR_MINUTE_MS);
    s->w->snap.instance_n--; /* recorded, and not yet shown by Describe: planned, though not live */
    stw_writes(s, "extend scale-up for minimum", 12);
    CHECK_EQ_INT(s->w->state.up_requested, 3);
    stw_writes(s, "intend launch", 7);
}

TEST(rule_12, what_is_planned_is_not_asked_for_again) {
    struct step_world *s = stw_new();
    s->w->cfg.min_workers = 3;
    stw_workers(s, 1);
    struct dr_attempt *v = sw_scale_up(s->w, 2, 2);
    v[0].since_epoch = v[1].since_epoch = SW_NOW_EPOCH;
    v[0].status = DR_ATTEMPT_LAUNCHED;
    v[0].instance_id = DR_STR("i-not-shown");
    v[0].launched_epoch = SW_NOW_EPOCH;
    CHECK_EQ_INT(stw_expect(s, DR_STEP_LAUNCH)->index, 1);
}

TEST(rule_12, extension_stays_within_batch_and_maximum) {
    struct step_world *s = stw_new();
    s->w->cfg.min_workers = 6;
    stw_workers(s, 1);
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    (void)stw_launched(s, &v[0], 0, "i-new", DR_MINUTE_MS);
    stw_writes(s, "extend scale-up for minimum", 12);
    CHECK_EQ_INT(s->w->state.up_requested, 1 + s->w->cfg.max_batch_up);
    stw_writes(s, "intend launch", 7);

    struct step_world *t = stw_new();
    t->w->cfg.min_workers = 4;
    t->w->cfg.max_workers = 4;
    stw_workers(t, 3);
    stw_node(t, "i-1")->ready = DR_READY_FALSE;
    stw_node(t, "i-1")->ready_changed_ms = SW_NOW_MS - 10 * DR_MINUTE_MS;
    struct dr_attempt *u = sw_scale_up(t->w, 1, 1);
    (void)stw_launched(t, &u[0], 0, "i-new", DR_MINUTE_MS);
    (void)stw_expect(t, DR_STEP_DONE);
}

TEST(hazard_21, pool_that_never_joins_is_not_extended_to_its_maximum) {
    struct step_world *s = stw_new();
    s->w->cfg.min_workers = 3;
    stw_workers(s, 1);
    struct dr_attempt *v = sw_scale_up(s->w, 2, 2);
    (void)stw_launched(s, &v[0], 0, "i-lost", s->w->cfg.join_timeout_ms + 1000);
    (void)stw_launched(s, &v[1], 1, "i-young", DR_MINUTE_MS);
    (void)stw_expect(s, DR_STEP_DONE);
    v[0].status = DR_ATTEMPT_FAILED;
    (void)stw_expect(s, DR_STEP_DONE);
}

/* ---- what the others need of it ---- */

TEST(rule_22, replacement_goes_on_demand_where_that_is_wanted_and_to_spot_rather_than_nowhere) {
    struct step_world *s = begun(1);
    s->w->cfg.replace_market = DR_REPLACE_ON_DEMAND;
    sw_record(s->w, "i-1", DR_EVENT_WARNING);
    (void)dr_record_assign(&s->w->arena, &s->w->state, &s->w->state, DR_STR("i-1"), DR_STR("up-1"), 0);
    (void)stw_next(s);
    struct dr_step step = {.kind = DR_STEP_DONE};
    CHECK(dr_stage_scale_up(&s->m, &step));
    CHECK_EQ_INT(step.next.attempts.v[0].market, DR_MARKET_ON_DEMAND);
    CHECK_EQ_STR(step.next.attempts.v[0].replaces, "i-1");
    static const char *const keys[] = {"stock/medium/za/on-demand", "stock/medium/zb/on-demand", "stock/medium/zc/on-demand"};
    for (size_t i = 0; i < 3; i++) {
        sw_avoid(s->w, keys[i], SW_NOW_EPOCH + 600);
    }
    (void)stw_next(s);
    CHECK(dr_stage_scale_up(&s->m, &step));
    CHECK_EQ_INT(step.next.attempts.v[0].market, DR_MARKET_SPOT);
}

TEST(quarantine, machine_that_failed_to_join_is_kept_for_a_look_and_not_counted) {
    struct step_world *s = begun(1);
    s->w->cfg.join_failure = DR_JOIN_QUARANTINE;
    struct dr_attempt *v = sw_scale_up(s->w, 1, 1);
    (void)stw_launched(s, &v[0], 0, "i-lost", s->w->cfg.join_timeout_ms);
    stw_writes(s, "fail scale-up", 11);
    const struct dr_timed_id *kept = dr_state_quarantined(&s->w->state, DR_STR("i-lost"));
    CHECK(kept != NULL && kept->epoch == SW_NOW_EPOCH + s->w->cfg.quarantine_ms / 1000);
    CHECK_EQ_INT(s->w->state.marks.n, 0);
}

/* ---- rule 27: scale-ups of another system ---- */

static struct step_world *foreign(void) {
    struct step_world *s = stw_new();
    s->w->cfg.min_workers = 1;
    stw_workers(s, 2);
    s->w->state.scaling = true;
    s->w->state.up_action_id = DR_STR("1730000300-req-xyz");
    s->w->state.up_started_epoch = SW_NOW_EPOCH - 60;
    s->w->state.up_requested = 2;
    s->w->state.up_instance_ids = sw_strs(s->w, 2, (const char *const[]){"i-aaa", "i-bbb"});
    return s;
}

TEST(rule_27, scale_up_of_another_system_waits_for_its_ids_and_launches_nothing) {
    struct step_world *s = foreign();
    (void)stw_expect(s, DR_STEP_DONE);
    CHECK(s->m.waiting);
}

TEST(rule_27, scale_up_of_another_system_is_complete_when_all_its_ids_joined) {
    struct step_world *s = foreign();
    (void)stw_worker(s, "i-aaa", "za");
    (void)stw_expect(s, DR_STEP_DONE);
    (void)stw_worker(s, "i-bbb", "zb");
    stw_writes(s, "complete scale-up", 11);
    CHECK_EQ_INT(s->w->state.last_scale_epoch, SW_NOW_EPOCH);
}

TEST(rule_27, scale_up_of_another_system_ends_with_its_join_timeout_by_what_joined) {
    struct step_world *s = foreign();
    stw_pass(s, s->w->cfg.join_timeout_ms);
    stw_writes(s, "fail scale-up", 11);
    struct step_world *t = foreign();
    (void)stw_worker(t, "i-aaa", "za");
    stw_pass(t, t->w->cfg.join_timeout_ms);
    stw_writes(t, "complete scale-up", 11);
}

TEST(rule_27, scale_up_of_another_system_is_not_judged_while_nodes_are_unknown) {
    struct step_world *s = foreign();
    s->w->snap.nodes_part = (struct dr_part){.why = DR_STR("timeout")};
    s->w->snap.node_n = 0;
    stw_pass(s, s->w->cfg.join_timeout_ms);
    (void)stw_expect(s, DR_STEP_DONE);
}

/* ---- a late answer ---- */

TEST(rule_3, answer_to_a_launch_is_not_recorded_when_the_attempt_is_no_longer_the_open_one) {
    struct step_world *s = intended(1);
    (void)stw_expect(s, DR_STEP_LAUNCH);
    struct dr_attempt *v = DR_NEW(&s->w->arena, struct dr_attempt);
    *v = *attempt(s, 0);
    v->attempt = 2;
    s->w->state.attempts.v = v;
    CHECK(!stw_settle(s, DR_OK, "i-late"));
    v->attempt = 1;
    v->status = DR_ATTEMPT_FAILED;
    CHECK(!stw_settle(s, DR_OK, "i-late"));
    v->status = DR_ATTEMPT_OPEN;
    s->w->state.up_action_id = DR_STR("up-2");
    CHECK(!stw_settle(s, DR_OK, "i-late"));
    s->w->state.up_action_id = DR_STR("up-1");
    CHECK(stw_settle(s, DR_OK, "i-late"));
    CHECK_EQ_STR(attempt(s, 0)->instance_id, "i-late");
}
