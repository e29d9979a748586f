/* The AWS side: tables, pool, permissions to launch and terminate, queue. */
#include <string.h>

#include "app/check.h"
#include "base/json.h"
#include "core/state.h"

#define MIB INT64_C(1048576)

/* What to do about an error of a call, by its code. */
static const char *remedy_of(const struct dr_err *err) {
    switch (err->code) {
    case DR_E_DENIED:
        return "give the role the policy of deploy/iam/policy.json with this account's names filled in";
    case DR_E_TIMEOUT:
    case DR_E_UNAVAILABLE:
        return "look at the network: security groups, routes, VPC endpoints, proxy variables, and whether the region is right";
    case DR_E_NOT_FOUND:
    case DR_E_INVALID:
        return "look at the name that is configured, and whether aws.region and the account are the right ones";
    case DR_E_THROTTLED:
        return "try again later: somebody in this account asks too often";
    default:
        return NULL;
    }
}

static void add_error(struct dr_check *check, enum dr_finding_level level, const char *area, const struct dr_err *err) {
    dr_check_add(check, level, area, remedy_of(err), "%s", err->text);
}

/* ---- store ---- */

static void make_table(struct dr_check *check, enum dr_dynamodb_which which, struct dr_str name) {
    struct dr_err err = {.code = DR_OK};
    int64_t deadline_ms = dr_process_now_ms(check->live->process) + 120000;
    if (dr_dynamodb_create(check->live->dynamodb, which, deadline_ms, &err) < 0) {
        dr_check_add(check, DR_FINDING_FAIL, "store",
                     err.code == DR_E_DENIED ? "run this with the permissions of deploy/iam/setup-policy.json, once" : remedy_of(&err),
                     "%s", err.text);
    } else {
        dr_check_add(check, DR_FINDING_OK, "store", NULL, "table %.*s: made what was missing", DR_FMT(name));
    }
}

/* `asked`: expiry and recovery could be asked for. */
static void judge_table(struct dr_check *check, enum dr_dynamodb_which which, struct dr_str name, const struct dr_dynamodb_table *table,
                        bool asked) {
    if (!table->exists) {
        dr_check_add(check, DR_FINDING_FAIL, "store", "drover check --create makes it", "table %.*s: there is none", DR_FMT(name));
        return;
    }
    if (!table->keys_ok) {
        dr_check_add(check, DR_FINDING_FAIL, "store", "name another table: drover check --create makes it with the right keys",
                     "table %.*s: its keys are not %s", DR_FMT(name), which == DR_DYNAMODB_STATE ? "pk (text)" : "pk and sk (text)");
        return;
    }
    if (!table->active) {
        dr_check_add(check, DR_FINDING_FAIL, "store", "wait until it is ACTIVE", "table %.*s: is not ready", DR_FMT(name));
        return;
    }
    bool ttl = table->ttl || which == DR_DYNAMODB_STATE || !asked;
    bool recovery = table->recovery || !asked;
    if (!ttl) {
        dr_check_add(check, DR_FINDING_WARN, "store", "drover check --create turns expiry on", "table %.*s: old rows do not expire",
                     DR_FMT(name));
    }
    if (!recovery) {
        dr_check_add(check, DR_FINDING_WARN, "store", "drover check --create turns it on", "table %.*s: point-in-time recovery is off",
                     DR_FMT(name));
    }
    if (ttl && recovery) {
        dr_check_add(check, DR_FINDING_OK, "store", NULL, "table %.*s: ready", DR_FMT(name));
    }
}

static void check_table(struct dr_check *check, enum dr_dynamodb_which which, struct dr_str name) {
    struct dr_dynamodb_table table;
    struct dr_err why = {.code = DR_OK};
    struct dr_err err = {.code = DR_OK};
    if (check->create) {
        make_table(check, which, name);
    }
    if (dr_dynamodb_look(check->live->dynamodb, which, dr_check_deadline(check), &table, &why, &err) < 0) {
        add_error(check, DR_FINDING_FAIL, "store", &err);
        return;
    }
    if (table.exists && why.code != DR_OK) {
        add_error(check, DR_FINDING_WARN, "store", &why);
    }
    judge_table(check, which, name, &table, why.code == DR_OK);
}

static void check_item(struct dr_check *check) {
    const struct dr_store *store = &check->live->ports.store;
    struct dr_str cluster = check->live->settings->cfg.cluster;
    struct dr_err err = {.code = DR_OK};
    struct dr_state state;
    if (store->ops->load(store->self, check->arena, cluster, dr_check_deadline(check), &state, &err) < 0) {
        add_error(check, DR_FINDING_FAIL, "store", &err);
        return;
    }
    if (!state.exists) {
        dr_check_add(check, DR_FINDING_OK, "store", NULL, "item %.*s: none yet; the first pass makes it", DR_FMT(cluster));
        return;
    }
    check->state = state;
    for (size_t i = 0; i < state.problems.n; i++) {
        const struct dr_problem *problem = &state.problems.v[i];
        dr_check_add(check, problem->blocking ? DR_FINDING_FAIL : DR_FINDING_WARN, "store",
                     problem->blocking ? "correct the attribute, or remove it together with scalingInProgress if no action is under way"
                                       : NULL,
                     "item %.*s: attribute %.*s %.*s", DR_FMT(cluster), DR_FMT(problem->attribute), DR_FMT(problem->what));
    }
    if (!dr_state_blocked(&state)) {
        dr_check_add(check, DR_FINDING_OK, "store", NULL, "item %.*s: revision %lld%s", DR_FMT(cluster), (long long)state.revision,
                     state.scaling ? ", an action is under way" : "");
    }
}

void dr_check_store(struct dr_check *check) {
    struct dr_live *live = check->live;
    struct dr_err err = {.code = DR_OK};
    if (dr_live_open(live, DR_LIVE_STORE | DR_LIVE_READ_ONLY, &err) < 0) {
        add_error(check, DR_FINDING_FAIL, "store", &err);
        return;
    }
    if (live->dynamodb != NULL) {
        check_table(check, DR_DYNAMODB_STATE, live->settings->live.state_table);
        check_table(check, DR_DYNAMODB_LOGS, live->settings->live.logs_table);
        if (check->failed > 0) {
            return;
        }
    } else {
        dr_check_add(check, DR_FINDING_OK, "store", NULL, "SQLite file %.*s%s", DR_FMT(live->settings->live.state_file),
                     live->sqlite == NULL ? ": there is none yet; the first pass makes it" : "");
    }
    check_item(check);
}

/* ---- pool ---- */

static void check_template(struct dr_check *check) {
    struct dr_ec2_template template;
    if (!dr_ec2_template(check->live->ec2, &template)) {
        return;
    }
    dr_check_add(check, DR_FINDING_OK, "ec2", NULL, "launch template %.*s: version %.*s, type %.*s", DR_FMT(template.id),
                 DR_FMT(template.version), DR_FMT(template.type.n == 0 ? DR_STR("not named") : template.type));
    if (template.has_market) {
        dr_check_add(check, DR_FINDING_WARN, "ec2", "take the market options out of the template: drover chooses the market",
                     "launch template %.*s: asks for spot by itself, so on-demand cannot be launched from it", DR_FMT(template.id));
    }
    if (template.has_network && check->live->settings->live.public_ip == DR_PUBLIC_IP_SUBNET) {
        dr_check_add(check, DR_FINDING_FAIL, "ec2", "take the network interfaces out of the template, or set ec2.publicIp to yes or no",
                     "launch template %.*s: has network interfaces, so a subnet cannot be given beside them", DR_FMT(template.id));
    }
}

static void check_pool(struct dr_check *check) {
    const struct dr_pool *pool = &check->snap.pool;
    for (size_t i = 0; i < pool->type_n; i++) {
        const struct dr_worker_type *type = &pool->types[i];
        dr_check_add(check, DR_FINDING_OK, "ec2", NULL, "type %.*s: %lld.%03lld cores and %lld MiB for pods, at most %lld pods",
                     DR_FMT(type->name), (long long)(type->cpu_milli / 1000), (long long)(type->cpu_milli % 1000),
                     (long long)(type->mem_bytes / MIB), (long long)type->pod_limit);
    }
    for (size_t i = 0; i < pool->subnet_n; i++) {
        dr_check_add(check, DR_FINDING_OK, "ec2", NULL, "subnet %.*s: zone %.*s", DR_FMT(pool->subnets[i].id),
                     DR_FMT(pool->subnets[i].zone));
    }
    if (pool->type_n == 0 || pool->subnet_n == 0) {
        dr_check_add(check, DR_FINDING_FAIL, "ec2", "name them in ec2.types and ec2.subnets", "the pool has no %s: nothing can be launched",
                     pool->type_n == 0 ? "type" : "subnet");
    }
}

static void try_launch(struct dr_check *check, enum dr_market market) {
    const struct dr_pool *pool = &check->snap.pool;
    if (pool->type_n == 0 || pool->subnet_n == 0) {
        return;
    }
    struct dr_launch launch = {
        .token = dr_str_fmt(check->arena, "check-%08x", (unsigned)check->live->seed),
        .action_id = DR_STR("check"),
        .type = pool->types[0].name,
        .zone = pool->subnets[0].zone,
        .subnet = pool->subnets[0].id,
        .market = market,
        .template_version = pool->template_version,
    };
    struct dr_err err = {.code = DR_OK};
    if (dr_ec2_try_launch(check->live->ec2, &launch, dr_check_deadline(check), &err) == 0) {
        dr_check_add(check, DR_FINDING_OK, "ec2", NULL, "launch, %s: allowed", dr_market_name(market));
    } else {
        add_error(check, DR_FINDING_FAIL, "ec2", &err);
    }
}

static void try_terminate(struct dr_check *check) {
    for (size_t i = 0; i < check->snap.instance_n; i++) {
        const struct dr_instance *instance = &check->snap.instances[i];
        struct dr_err err = {.code = DR_OK};
        if (instance->state != DR_INSTANCE_RUNNING) {
            continue;
        }
        if (dr_ec2_try_terminate(check->live->ec2, instance->id, dr_check_deadline(check), &err) == 0) {
            dr_check_add(check, DR_FINDING_OK, "ec2", NULL, "terminate %.*s: allowed", DR_FMT(instance->id));
        } else if (err.code == DR_E_PROTECTED) {
            dr_check_add(check, DR_FINDING_WARN, "ec2",
                         "turn termination protection off, or leave it: drover will never remove this worker",
                         "terminate %.*s: it is protected", DR_FMT(instance->id));
        } else {
            add_error(check, DR_FINDING_FAIL, "ec2", &err);
        }
        return;
    }
}

void dr_check_compute(struct dr_check *check) {
    struct dr_live *live = check->live;
    struct dr_err err = {.code = DR_OK};
    if (dr_live_open(live, DR_LIVE_COMPUTE, &err) < 0) {
        add_error(check, DR_FINDING_FAIL, "ec2", &err);
        return;
    }
    if (dr_aws_region(live->aws, &err).n == 0) {
        dr_check_add(check, DR_FINDING_FAIL, "aws", "set aws.region or AWS_REGION", "%s", err.text);
        return;
    }
    const struct dr_compute *compute = &live->ports.compute;
    if (compute->ops->request != NULL) {
        compute->ops->request(compute->self, dr_check_deadline(check));
    }
    compute->ops->observe(compute->self, check->arena, dr_check_deadline(check), &check->snap);
    if (!check->snap.instances_part.known) {
        dr_check_add(check, DR_FINDING_FAIL, "ec2", "look at credentials, region and deploy/iam/policy.json", "%.*s",
                     DR_FMT(check->snap.instances_part.why));
        return;
    }
    const char *source = dr_aws_source_name(live->aws);
    dr_check_add(check, DR_FINDING_OK, "aws", NULL, "region %.*s, credentials from %s", DR_FMT(dr_aws_region(live->aws, &err)),
                 source == NULL ? "nowhere yet" : source);
    dr_check_add(check, DR_FINDING_OK, "ec2", NULL, "%zu instances carry the tags of the pool", check->snap.instance_n);
    if (!dr_ec2_pool_ok(live->ec2, &err)) {
        add_error(check, DR_FINDING_FAIL, "ec2", &err);
    }
    check_template(check);
    check_pool(check);
    try_launch(check, DR_MARKET_ON_DEMAND);
    if (live->settings->cfg.spot_percent > 0) {
        try_launch(check, DR_MARKET_SPOT);
    }
    try_terminate(check);
}

/* ---- queue ---- */

static int queue_depth(struct dr_check *check, struct dr_str *ret, struct dr_err *err) {
    static const struct dr_aws_service service = {"sqs", DR_AWS_JSON_10, NULL, "AmazonSQS"};
    struct dr_buf body;
    dr_buf_init(&body, 4096);
    struct dr_jsonw w;
    dr_jsonw_init(&w, &body, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_str(&w, "QueueUrl", check->live->settings->live.queue_url);
    dr_jsonw_key(&w, "AttributeNames");
    dr_jsonw_array(&w);
    dr_jsonw_cstr(&w, "ApproximateNumberOfMessages");
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
    struct dr_aws_request request = {.service = &service,
                                     .action = "GetQueueAttributes",
                                     .body = dr_buf_str(&body),
                                     .deadline_ms = dr_check_deadline(check),
                                     .repeatable = true};
    struct dr_str reply;
    int result = dr_aws_do(check->live->aws, &request, check->arena, &reply, err);
    dr_buf_deinit(&body);
    if (result == 0) {
        static const char name[] = "\"ApproximateNumberOfMessages\"";
        const char *at = memmem(reply.p, reply.n, name, sizeof(name) - 1);
        size_t from = at == NULL ? reply.n : (size_t)(at - reply.p) + sizeof(name) - 1;
        while (from < reply.n && (reply.p[from] < '0' || reply.p[from] > '9')) {
            from++;
        }
        size_t to = from;
        while (to < reply.n && reply.p[to] >= '0' && reply.p[to] <= '9') {
            to++;
        }
        *ret = to > from ? dr_str_sub(reply, from, to) : DR_STR("an unknown number of");
    }
    return result;
}

void dr_check_queue(struct dr_check *check) {
    if (check->live->settings->live.queue_url.n == 0) {
        dr_check_add(check, DR_FINDING_WARN, "events", "set events.queueUrl to a queue that an EventBridge rule feeds (docs/operations.md)",
                     "no queue is configured: spot interruptions are noticed only when the machine is gone");
        return;
    }
    struct dr_err err = {.code = DR_OK};
    struct dr_str depth = DR_STR_NONE;
    if (dr_live_open(check->live, DR_LIVE_QUEUE, &err) < 0 || queue_depth(check, &depth, &err) < 0) {
        add_error(check, DR_FINDING_FAIL, "events", &err);
        return;
    }
    dr_check_add(check, DR_FINDING_OK, "events", NULL, "queue %.*s: %.*s messages wait", DR_FMT(check->live->settings->live.queue_url),
                 DR_FMT(depth));
}
