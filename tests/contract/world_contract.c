/* See world_contract.h. */
#include "contract/world_contract.h"

#include <stdio.h>

#include "base/time.h"

#define PATIENCE_MS (20 * DR_SECOND_MS)
#define STEP_MS 200
#define CALL_MS (10 * DR_SECOND_MS)
#define TOKEN "contract-token-1"

/* A world while it is looked at. */
struct look {
    const struct world_case *world;
    void *self;
    struct dr_ports ports;
    struct dr_arena arena;
    struct dr_snapshot snap;
};

static int64_t now_ms(struct look *look) { return look->ports.clock.ops->now_ms(look->ports.clock.self); }
static int64_t deadline(struct look *look) { return now_ms(look) + CALL_MS; }

static void observe(struct look *look) {
    dr_arena_reset(&look->arena);
    memset(&look->snap, 0, sizeof(look->snap));
    look->snap.now_ms = now_ms(look);
    const struct dr_compute *compute = &look->ports.compute;
    const struct dr_cluster *cluster = &look->ports.cluster;
    if (compute->ops->request != NULL) {
        compute->ops->request(compute->self, deadline(look));
    }
    if (cluster->ops->request != NULL) {
        cluster->ops->request(cluster->self, deadline(look));
    }
    compute->ops->observe(compute->self, &look->arena, deadline(look), &look->snap);
    cluster->ops->observe(cluster->self, &look->arena, deadline(look), &look->snap);
    if (!look->snap.instances_part.known || !look->snap.nodes_part.known || !look->snap.pods_part.known || !look->snap.budgets_part.known) {
        FAIL("a part is unknown: instances \"%.*s\", nodes \"%.*s\", pods \"%.*s\", budgets \"%.*s\"",
             DR_FMT(look->snap.instances_part.why), DR_FMT(look->snap.nodes_part.why), DR_FMT(look->snap.pods_part.why),
             DR_FMT(look->snap.budgets_part.why));
    }
}

static struct look begin(const struct world_case *world) {
    struct look look = {.world = world, .self = world->open()};
    look.ports = world->ports(look.self);
    dr_arena_init(&look.arena, 0);
    return look;
}

static void end(struct look *look) {
    dr_arena_deinit(&look->arena);
    look->world->close(look->self);
}

/* Looks again until `good` says so. */
static void until(struct look *look, bool (*good)(struct look *look, const char *arg), const char *arg, const char *what) {
    int64_t give_up_ms = now_ms(look) + PATIENCE_MS;
    for (;;) {
        observe(look);
        if (good(look, arg)) {
            return;
        }
        if (now_ms(look) >= give_up_ms) {
            FAIL("waited for %s", what);
        }
        look->world->pass(look->self, STEP_MS);
    }
}

static const struct dr_instance *instance_of(struct look *look, const char *id) {
    for (size_t i = 0; i < look->snap.instance_n; i++) {
        if (dr_str_is(look->snap.instances[i].id, id)) {
            return &look->snap.instances[i];
        }
    }
    return NULL;
}

static const struct dr_node *node_of(struct look *look, const char *id) {
    for (size_t i = 0; i < look->snap.node_n; i++) {
        const struct dr_node *node = &look->snap.nodes[i];
        if (dr_str_is(node->instance_label, id) || dr_str_ends(node->provider_id, id)) {
            return node;
        }
    }
    return NULL;
}

static const struct dr_pod *pod_of(struct look *look, const char *prefix, bool waiting) {
    for (size_t i = 0; i < look->snap.pod_n; i++) {
        const struct dr_pod *pod = &look->snap.pods[i];
        bool as_asked = waiting ? pod->unschedulable : pod->phase == DR_PHASE_RUNNING && pod->node.n > 0;
        if (dr_str_starts(pod->name, prefix) && as_asked && !pod->deleting) {
            return pod;
        }
    }
    return NULL;
}

static bool is_shown(struct look *look, const char *id) { return instance_of(look, id) != NULL; }
static bool runs(struct look *look, const char *id) {
    const struct dr_instance *instance = instance_of(look, id);
    return instance != NULL && instance->state == DR_INSTANCE_RUNNING;
}
static bool has_ended(struct look *look, const char *id) {
    const struct dr_instance *instance = instance_of(look, id);
    return instance != NULL && (instance->state == DR_INSTANCE_SHUTTING_DOWN || instance->state == DR_INSTANCE_TERMINATED);
}
static bool pod_runs(struct look *look, const char *prefix) { return pod_of(look, prefix, false) != NULL; }
static bool pod_waits(struct look *look, const char *prefix) { return pod_of(look, prefix, true) != NULL; }
static bool node_is_gone(struct look *look, const char *id) { return node_of(look, id) == NULL; }

/* A launch in the first subnet; `index` and market make it differ. */
static struct dr_launch launch_of(struct look *look, const char *token, int64_t index, enum dr_market market) {
    if (look->snap.pool.subnet_n == 0) {
        observe(look);
    }
    const struct dr_pool *pool = &look->snap.pool;
    CHECK(pool->subnet_n > 0 && pool->type_n > 0);
    return (struct dr_launch){
        .token = dr_str_of(token),
        .action_id = DR_STR("1800000000-contract"),
        .index = index,
        .type = pool->types[0].name,
        .zone = pool->subnets[0].zone,
        .subnet = pool->subnets[0].id,
        .market = market,
        .template_version = pool->template_version,
    };
}

static int launch(struct look *look, const struct dr_launch *wanted, char ret_id[WORLD_ID_MAX], struct dr_err *err) {
    struct dr_str id = DR_STR_NONE;
    int r = look->ports.compute.ops->launch(look->ports.compute.self, &look->arena, wanted, deadline(look), &id, err);
    if (r >= 0) {
        snprintf(ret_id, WORLD_ID_MAX, "%.*s", DR_FMT(id));
    }
    return r;
}

static int terminate(struct look *look, const char *id, struct dr_err *err) {
    return look->ports.compute.ops->terminate(look->ports.compute.self, dr_str_of(id), deadline(look), err);
}

static int cordon(struct look *look, const struct dr_node *node, const char *owner, bool on, struct dr_err *err) {
    return look->ports.cluster.ops->cordon(look->ports.cluster.self, node, dr_str_of(owner), on, deadline(look), err);
}

/* ---- compute ---- */

void world_contract_pool_has_subnets_with_zones_and_types_with_sizes(const struct world_case *world) {
    struct look look = begin(world);
    observe(&look);
    const struct dr_pool *pool = &look.snap.pool;
    CHECK(pool->subnet_n >= 2 && pool->type_n >= 1);
    for (size_t i = 0; i < pool->subnet_n; i++) {
        CHECK(pool->subnets[i].id.n > 0 && pool->subnets[i].zone.n > 0);
    }
    CHECK(pool->types[0].name.n > 0);
    CHECK(pool->types[0].cpu_milli >= 1000 && pool->types[0].cpu_milli <= 2000);
    CHECK(pool->types[0].mem_bytes > (INT64_C(2) << 30) && pool->types[0].mem_bytes <= (INT64_C(4) << 30));
    CHECK(pool->types[0].pod_limit > 0);
    CHECK_EQ_INT(look.snap.instance_n, 0);
    end(&look);
}

void world_contract_launched_instance_is_seen_with_place_market_and_tags(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    struct dr_err err;
    struct dr_launch wanted = launch_of(&look, TOKEN, 3, DR_MARKET_SPOT);
    CHECK_OK(launch(&look, &wanted, id, &err), err);
    until(&look, is_shown, id, "the instance");
    const struct dr_instance *instance = instance_of(&look, id);
    CHECK(dr_str_eq(instance->zone, look.snap.pool.subnets[0].zone));
    CHECK(dr_str_eq(instance->subnet, look.snap.pool.subnets[0].id));
    CHECK(dr_str_eq(instance->type, look.snap.pool.types[0].name));
    CHECK_EQ_INT(instance->market, DR_MARKET_SPOT);
    CHECK_EQ_STR(instance->action_id, "1800000000-contract");
    CHECK_EQ_INT(instance->index, 3);
    CHECK(instance->launched_ms > now_ms(&look) - DR_MINUTE_MS && instance->launched_ms < now_ms(&look) + DR_MINUTE_MS);
    until(&look, runs, id, "the instance to run");
    CHECK(instance_of(&look, id)->private_ip.n > 0);
    end(&look);
}

void world_contract_same_token_gives_the_same_instance(const struct world_case *world) {
    struct look look = begin(world);
    char first[WORLD_ID_MAX], second[WORLD_ID_MAX];
    struct dr_err err;
    struct dr_launch wanted = launch_of(&look, TOKEN, 0, DR_MARKET_ON_DEMAND);
    CHECK_OK(launch(&look, &wanted, first, &err), err);
    CHECK_OK(launch(&look, &wanted, second, &err), err);
    CHECK_EQ_CSTR(second, first);
    until(&look, is_shown, first, "the instance");
    CHECK_EQ_INT(look.snap.instance_n, 1);
    end(&look);
}

void world_contract_same_token_with_other_parameters_is_invalid(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    struct dr_err err;
    struct dr_launch wanted = launch_of(&look, TOKEN, 0, DR_MARKET_ON_DEMAND);
    CHECK_OK(launch(&look, &wanted, id, &err), err);
    wanted.market = DR_MARKET_SPOT;
    CHECK_FAILS(launch(&look, &wanted, id, &err), err, DR_E_INVALID);
    end(&look);
}

void world_contract_launch_without_capacity_says_so(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    struct dr_err err;
    world->no_capacity(look.self, 0);
    struct dr_launch wanted = launch_of(&look, TOKEN, 0, DR_MARKET_ON_DEMAND);
    CHECK_FAILS(launch(&look, &wanted, id, &err), err, DR_E_CAPACITY);
    wanted.zone = look.snap.pool.subnets[1].zone;
    wanted.subnet = look.snap.pool.subnets[1].id;
    CHECK_OK(launch(&look, &wanted, id, &err), err);
    end(&look);
}

void world_contract_ended_instance_is_seen_ended_and_may_be_ended_again(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    struct dr_err err;
    world->worker(look.self, 0, id);
    until(&look, runs, id, "the worker");
    CHECK_OK(terminate(&look, id, &err), err);
    until(&look, has_ended, id, "its end");
    CHECK_OK(terminate(&look, id, &err), err);
    end(&look);
}

void world_contract_ending_an_unknown_instance_is_not_found(const struct world_case *world) {
    struct look look = begin(world);
    struct dr_err err;
    CHECK_FAILS(terminate(&look, "i-0123456789abcdef0", &err), err, DR_E_NOT_FOUND);
    end(&look);
}

void world_contract_protected_instance_is_not_ended(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    struct dr_err err;
    world->worker(look.self, 0, id);
    world->protect(look.self, id);
    CHECK_FAILS(terminate(&look, id, &err), err, DR_E_PROTECTED);
    observe(&look);
    CHECK(runs(&look, id));
    end(&look);
}

/* ---- cluster ---- */

void world_contract_joined_worker_is_a_ready_node_of_its_instance(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    world->worker(look.self, 1, id);
    observe(&look);
    const struct dr_node *node = node_of(&look, id);
    CHECK(node != NULL);
    CHECK(node->name.n > 0 && node->uid.n > 0 && node->resource_version.n > 0);
    CHECK_EQ_INT(node->ready, DR_READY_TRUE);
    CHECK(dr_str_eq(node->internal_ip, instance_of(&look, id)->private_ip));
    CHECK(dr_str_eq(node->zone, look.snap.pool.subnets[1].zone));
    CHECK(!node->unschedulable && node->cordon_owner.n == 0 && !node->server && !node->protected_);
    CHECK(node->cpu_milli > 0 && node->mem_bytes > 0 && node->pod_limit > 0);
    CHECK(node->created_ms > 0);
    end(&look);
}

/* As a tick does it: others write to a node too (a controller taints what is cordoned), and after a conflict it is read again. */
static void cordon_at_last(struct look *look, const char *id, const char *owner, bool on) {
    struct dr_err err = {.code = DR_OK};
    for (int i = 0; i < 20; i++) {
        observe(look);
        if (cordon(look, node_of(look, id), owner, on, &err) == 0) {
            return;
        }
        CHECK_EQ_INT(err.code, DR_E_CONFLICT);
    }
    FAIL("cordon: %s", err.text);
}

void world_contract_cordon_and_uncordon_are_seen_with_their_owner(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    world->worker(look.self, 0, id);
    cordon_at_last(&look, id, "1800000000-a", true);
    observe(&look);
    CHECK(node_of(&look, id)->unschedulable);
    CHECK_EQ_STR(node_of(&look, id)->cordon_owner, "1800000000-a");
    cordon_at_last(&look, id, "1800000000-a", false);
    observe(&look);
    CHECK(!node_of(&look, id)->unschedulable);
    CHECK_EQ_INT(node_of(&look, id)->cordon_owner.n, 0);
    end(&look);
}

void world_contract_cordon_again_by_the_same_owner_is_success(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    struct dr_err err;
    world->worker(look.self, 0, id);
    /* The second call has the picture of before the first, as after a lost reply. */
    cordon_at_last(&look, id, "1800000000-a", true);
    CHECK_OK(cordon(&look, node_of(&look, id), "1800000000-a", true, &err), err);
    end(&look);
}

void world_contract_cordon_of_a_node_that_changed_is_a_conflict(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    struct dr_err err;
    world->worker(look.self, 0, id);
    observe(&look);
    world->touch(look.self, id, true);
    CHECK_FAILS(cordon(&look, node_of(&look, id), "1800000000-a", true, &err), err, DR_E_CONFLICT);
    observe(&look);
    CHECK(node_of(&look, id)->protected_);
    CHECK(!node_of(&look, id)->unschedulable);
    end(&look);
}

void world_contract_cordon_of_no_node_is_not_found(const struct world_case *world) {
    struct look look = begin(world);
    struct dr_err err;
    struct dr_node node = {
        .name = DR_STR("nobody"), .uid = DR_STR("00000000-0000-0000-0000-000000000000"), .resource_version = DR_STR("1")};
    observe(&look);
    CHECK_FAILS(cordon(&look, &node, "1800000000-a", true, &err), err, DR_E_NOT_FOUND);
    end(&look);
}

void world_contract_running_and_waiting_pods_are_told_apart(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    world->worker(look.self, 0, id);
    world->deployment(look.self, "small", 1, 100);
    world->deployment(look.self, "large", 1, 64000);
    until(&look, pod_runs, "small", "the small pod to run");
    until(&look, pod_waits, "large", "the large pod to wait");
    const struct dr_pod *small = pod_of(&look, "small", false), *large = pod_of(&look, "large", true);
    CHECK(dr_str_eq(small->node, node_of(&look, id)->name));
    CHECK(!small->unschedulable && !small->critical && !small->local_data);
    CHECK_EQ_INT(small->spec->cpu_milli, 100);
    CHECK_EQ_INT(small->owner, DR_OWNER_CONTROLLER);
    CHECK(small->owner_uid.n > 0);
    CHECK_EQ_INT(large->spec->cpu_milli, 64000);
    CHECK_EQ_INT(large->node.n, 0);
    CHECK(large->unschedulable_since_ms > 0 && large->unschedulable_since_ms <= now_ms(&look) + DR_SECOND_MS);
    end(&look);
}

static struct dr_eviction eviction_of(const struct dr_pod *pod) {
    return (struct dr_eviction){.ns = pod->ns, .name = pod->name, .uid = pod->uid, .grace_ms = -1};
}

static void evict(struct look *look, struct dr_eviction *eviction) {
    look->ports.cluster.ops->evict(look->ports.cluster.self, eviction, 1, deadline(look));
    if (eviction->outcome == DR_EVICT_ERROR) {
        FAIL("evict: %s", eviction->err.text);
    }
}

static bool another_runs(struct look *look, const char *uid) {
    const struct dr_pod *pod = pod_of(look, "web", false);
    return pod != NULL && !dr_str_is(pod->uid, uid);
}

void world_contract_evicted_pod_goes_and_a_successor_comes(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX], uid[WORLD_ID_MAX];
    world->worker(look.self, 0, id);
    world->deployment(look.self, "web", 1, 100);
    until(&look, pod_runs, "web", "the pod");
    struct dr_eviction eviction = eviction_of(pod_of(&look, "web", false));
    snprintf(uid, sizeof(uid), "%.*s", DR_FMT(eviction.uid));
    evict(&look, &eviction);
    CHECK_EQ_INT(eviction.outcome, DR_EVICT_ACCEPTED);
    until(&look, another_runs, uid, "a successor");
    end(&look);
}

void world_contract_eviction_of_another_uid_is_gone_and_touches_nothing(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    world->worker(look.self, 0, id);
    world->deployment(look.self, "web", 1, 100);
    until(&look, pod_runs, "web", "the pod");
    struct dr_eviction eviction = eviction_of(pod_of(&look, "web", false));
    struct dr_str uid = eviction.uid;
    eviction.uid = DR_STR("00000000-0000-0000-0000-000000000000");
    evict(&look, &eviction);
    CHECK_EQ_INT(eviction.outcome, DR_EVICT_GONE);
    char kept[WORLD_ID_MAX];
    snprintf(kept, sizeof(kept), "%.*s", DR_FMT(uid));
    observe(&look);
    CHECK_EQ_STR(pod_of(&look, "web", false)->uid, kept);
    end(&look);
}

void world_contract_budget_blocks_eviction_and_shows_what_it_allows(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    world->worker(look.self, 0, id);
    world->deployment(look.self, "web", 2, 100);
    until(&look, pod_runs, "web", "the pods");
    world->budget(look.self, "web", 0);
    observe(&look);
    CHECK_EQ_INT(look.snap.budget_n, 1);
    CHECK(look.snap.budgets[0].has_status);
    CHECK_EQ_INT(look.snap.budgets[0].disruptions_allowed, 0);
    CHECK(!look.snap.budgets[0].has_min_available && !look.snap.budgets[0].percent);
    CHECK_EQ_INT(look.snap.budgets[0].value, 0);
    struct dr_eviction eviction = eviction_of(pod_of(&look, "web", false));
    evict(&look, &eviction);
    CHECK_EQ_INT(eviction.outcome, DR_EVICT_BLOCKED);
    end(&look);
}

void world_contract_node_is_deleted_by_uid_only(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    struct dr_err err;
    const struct dr_cluster *cluster = &look.ports.cluster;
    world->worker(look.self, 0, id);
    observe(&look);
    CHECK_OK(terminate(&look, id, &err), err);
    until(&look, has_ended, id, "its end");
    const struct dr_node *node = node_of(&look, id);
    CHECK(node != NULL);
    struct dr_str other = DR_STR("00000000-0000-0000-0000-000000000000");
    CHECK_FAILS(cluster->ops->delete_node(cluster->self, node->name, other, deadline(&look), &err), err, DR_E_CONFLICT);
    CHECK_OK(cluster->ops->delete_node(cluster->self, node->name, node->uid, deadline(&look), &err), err);
    until(&look, node_is_gone, id, "no Node");
    end(&look);
}

/* ---- metrics ---- */

static struct dr_reading read_signal(struct look *look, const char *name) {
    struct dr_signal signal = {.name = dr_str_of(name), .kind = DR_SIGNAL_CUSTOM, .query = dr_str_of(name), .window_ms = 3 * DR_SECOND_MS};
    struct dr_reading reading;
    const struct dr_metrics *metrics = &look->ports.metrics;
    int64_t now = now_ms(look);
    if (metrics->ops->request != NULL) {
        metrics->ops->request(metrics->self, &signal, 1, now, deadline(look));
    }
    metrics->ops->read(metrics->self, &look->arena, &signal, 1, now, deadline(look), &reading);
    return reading;
}

void world_contract_series_is_read_oldest_first(const struct world_case *world) {
    struct look look = begin(world);
    world->series(look.self, 42);
    struct dr_reading reading = read_signal(&look, WORLD_SIGNAL);
    if (!reading.known) {
        FAIL("unknown: %.*s", DR_FMT(reading.why));
    }
    CHECK(reading.sample_n >= 2);
    for (size_t i = 0; i < reading.sample_n; i++) {
        CHECK_EQ_INT(reading.samples[i].micro, 42000000);
        CHECK(i == 0 || reading.samples[i].at_ms > reading.samples[i - 1].at_ms);
        CHECK(reading.samples[i].at_ms <= now_ms(&look));
    }
    end(&look);
}

void world_contract_absent_series_is_unknown_with_a_reason(const struct world_case *world) {
    struct look look = begin(world);
    struct dr_reading reading = read_signal(&look, WORLD_ABSENT);
    CHECK(!reading.known || reading.sample_n == 0);
    CHECK(reading.known || reading.why.n > 0);
    end(&look);
}

/* ---- events ---- */

void world_contract_interruption_is_one_row_of_the_inbox(const struct world_case *world) {
    struct look look = begin(world);
    char id[WORLD_ID_MAX];
    struct dr_err err;
    world->worker(look.self, 0, id);
    world->interrupt(look.self, id);
    world->interrupt(look.self, id);
    const struct dr_event *rows = NULL;
    size_t n = 0;
    const struct dr_store *store = &look.ports.store;
    CHECK_OK(store->ops->inbox(store->self, &look.arena, DR_STR("drover"), deadline(&look), &rows, &n, &err), err);
    CHECK_EQ_INT(n, 1);
    CHECK_EQ_STR(rows[0].instance_id, id);
    CHECK_EQ_INT(rows[0].kind, DR_EVENT_WARNING);
    CHECK(!rows[0].handled);
    CHECK(rows[0].at_ms > now_ms(&look) - DR_MINUTE_MS && rows[0].at_ms <= now_ms(&look) + DR_SECOND_MS);
    end(&look);
}
