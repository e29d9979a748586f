/* Observing with parts unknown: an unknown part is never read as empty. */

#include "unit/engine_world.h"

static struct dr_fault failing(enum dr_call_name name) { return ew_fault(DR_FAULT_ERROR, name, 0); }

TEST(observe, inbox_that_cannot_be_read_is_unknown_and_the_tick_goes_on) {
    struct engine_world *e = ew_hot(NULL, NULL);
    struct dr_fault fault = failing(DR_CALL_STORE_INBOX);
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_CONTAINS(ew_report(e, 0)->plan.unknown, "events: store.inbox");
    CHECK(dr_world_stats(e->world).launches > 0);
}

TEST(hazard_6, instances_that_cannot_be_listed_are_not_zero_workers) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    struct dr_fault fault = failing(DR_CALL_COMPUTE_OBSERVE);
    ew_strike(e, &fault);
    ew_run(e, 30 * DR_MINUTE_MS);
    CHECK_EQ_INT(ew_report(e, 0)->plan.decision.reason, DR_REASON_WORKERS_UNKNOWN);
    CHECK_CONTAINS(ew_report(e, 0)->plan.unknown, "instances: compute.observe");
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK(e->notices > 0);
}

TEST(observe, nodes_that_cannot_be_listed_make_nobody_unjoined_or_a_ghost) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    (void)dr_world_kill(e->world, dr_world_pick(e->world, -1, DR_STR_NONE, 0));
    struct dr_fault fault = failing(DR_CALL_CLUSTER_OBSERVE);
    ew_strike(e, &fault);
    ew_run(e, 40 * DR_MINUTE_MS);
    CHECK_CONTAINS(ew_report(e, 0)->plan.unknown, "nodes: cluster.observe");
    CHECK_EQ_INT(ew_effects(e), 0);
    ew_settle(e, 10 * DR_MINUTE_MS);
    CHECK_EQ_INT(dr_world_counts(e->world).ghosts, 0);
}

TEST(observe, signals_that_cannot_be_read_start_nothing) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    struct dr_fault fault = failing(DR_CALL_METRICS_READ);
    ew_strike(e, &fault);
    ew_run(e, 30 * DR_MINUTE_MS);
    CHECK_EQ_INT(ew_report(e, 0)->plan.decision.reason, DR_REASON_UNKNOWN);
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK_EQ_INT(ew_item(e)->idle_since_epoch, 0);
}

TEST(observe, pods_that_cannot_be_listed_hold_a_scale_down_up) {
    struct engine_world *e = ew_idle(NULL, NULL, 4);
    struct dr_fault fault = failing(DR_CALL_CLUSTER_OBSERVE);
    fault.parts = DR_FAULT_PODS;
    ew_strike(e, &fault);
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(ew_effects(e), 0);
    CHECK_CONTAINS(ew_report(e, 0)->plan.unknown, "pods: ");
}

/* ---- ports that answer later ---- */

struct asked {
    struct dr_ports inner;
    int compute, cluster, metrics; /* requests sent before any answer was asked for */
    bool answered;
};
static struct asked asked;

static void ask_compute(void *self, int64_t deadline_ms) {
    (void)self, (void)deadline_ms;
    asked.compute += asked.answered ? 0 : 1;
}
static void ask_cluster(void *self, int64_t deadline_ms) {
    (void)self, (void)deadline_ms;
    asked.cluster += asked.answered ? 0 : 1;
}
static void ask_metrics(void *self, const struct dr_signal *signals, size_t signal_n, int64_t now_ms, int64_t deadline_ms) {
    (void)self, (void)signals, (void)now_ms, (void)deadline_ms;
    asked.metrics += asked.answered || signal_n == 0 ? 0 : 1;
}
static void answer_compute(void *self, struct dr_arena *arena, int64_t deadline_ms, struct dr_snapshot *ret) {
    asked.answered = true;
    asked.inner.compute.ops->observe(self, arena, deadline_ms, ret);
}

TEST(observe, every_request_is_sent_before_the_first_answer_is_waited_for) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 2);
    struct dr_runner_process *p = &e->runner.processes[0];
    asked = (struct asked){.inner = p->ports};
    struct dr_compute_ops compute = *p->ports.compute.ops;
    struct dr_cluster_ops cluster = *p->ports.cluster.ops;
    struct dr_metrics_ops metrics = *p->ports.metrics.ops;
    compute.request = ask_compute;
    compute.observe = answer_compute;
    cluster.request = ask_cluster;
    metrics.request = ask_metrics;
    p->ports.compute.ops = &compute;
    p->ports.cluster.ops = &cluster;
    p->ports.metrics.ops = &metrics;
    CHECK(ew_tick(e, 0));
    CHECK_EQ_INT(asked.compute, 1);
    CHECK_EQ_INT(asked.cluster, 1);
    CHECK_EQ_INT(asked.metrics, 1);
}

/* ---- a queue ---- */

static struct queue {
    struct dr_store store;
    struct dr_str pk;
    int64_t now_ms;
    struct dr_str id; /* of the machine that a warning comes for; empty: the queue does not answer */
    int asked, told;
} queue;

static void queue_request(void *self) { ((struct queue *)self)->asked++; }

static int queue_collect(void *self, int64_t deadline_ms, size_t *ret_n, struct dr_err *err) {
    struct queue *q = self;
    struct dr_event event = {q->id, DR_EVENT_WARNING, q->now_ms, false};
    if (q->id.n == 0) {
        return dr_fail(err, DR_E_UNAVAILABLE, "queue: no answer");
    }
    *ret_n = q->told++ == 0 ? 1 : 0;
    return *ret_n == 0 ? 0 : q->store.ops->inbox_put(q->store.self, q->pk, &event, deadline_ms, err);
}

static const struct dr_events_ops queue_ops = {queue_request, queue_collect};

static struct engine_world *with_queue(void) {
    struct engine_world *e = ew_open(NULL, NULL);
    ew_workers(e, 3);
    struct dr_ports *ports = &e->runner.processes[0].ports;
    queue = (struct queue){.store = ports->store, .pk = e->runner.cfg.cluster, .now_ms = dr_world_now(e->world)};
    ports->events = (struct dr_events){&queue_ops, &queue};
    return e;
}

TEST(observe, message_that_comes_while_a_tick_looks_is_served_by_it) {
    struct engine_world *e = with_queue();
    queue.id = dr_world_pick(e->world, DR_MARKET_SPOT, DR_STR_NONE, 0);
    CHECK(ew_tick(e, 0));
    CHECK(queue.asked > 0);
    CHECK(dr_state_record(ew_item(e), queue.id) != NULL);
    CHECK(dr_world_stats(e->world).launches > 0);
}

TEST(observe, queue_that_does_not_answer_is_told_and_the_tick_goes_on) {
    struct engine_world *e = with_queue();
    CHECK(ew_tick(e, 0));
    CHECK_CONTAINS(ew_report(e, 0)->plan.unknown, "events: queue: no answer");
    CHECK_EQ_INT(ew_report(e, 0)->outcome, DR_TICK_DONE);
}
