/*
 * The compute port on an EC2 endpoint: DROVER_TEST_AWS is the URL of the stack's emulator. Without the variable these tests are not there. Each test makes a network
 * and a launch template of its own, so the emulator may have served others before.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "adapter/ec2/ec2.h"
#include "harness/test.h"

#define ZONES 2

struct bench {
    char url[256];
    char cluster[64];
    char template_name[64];
    struct dr_arena arena;
    struct dr_err err;
    struct dr_http *http;
    struct dr_aws *aws;
    struct dr_str subnets[ZONES];
    struct dr_ec2 *ec2;
    struct dr_compute port;
    struct dr_snapshot snap;
    const char *environ_[4];
};

static const char *const zones[ZONES] = {"us-east-1a", "us-east-1b"};

static int64_t now_ms(void *self) {
    (void)self;
    struct timespec ts;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t soon(void) { return now_ms(NULL) + 10000; }

/* A call beside the adapter; the text of one element of its answer. */
static struct dr_str ask(struct bench *b, const char *action, const struct dr_aws_param *params, size_t n, const char *element) {
    static const struct dr_aws_service service = {"ec2", DR_AWS_QUERY, "2016-11-15", NULL};
    struct dr_aws_request request = {
        .service = &service, .action = action, .params = params, .param_n = n, .deadline_ms = soon(), .repeatable = true};
    struct dr_str body;
    CHECK_OK(dr_aws_do(b->aws, &request, &b->arena, &body, &b->err), b->err);
    if (element == NULL) {
        return body;
    }
    struct dr_str text = dr_str_dup(&b->arena, body);
    const char *at = strstr(text.p, dr_str_fmt(&b->arena, "<%s>", element).p);
    CHECK(at != NULL);
    at += strlen(element) + 2;
    return dr_str_sub(dr_str_of(at), 0, dr_str_find(dr_str_of(at), '<'));
}
#define ASK(b, action, element, ...)                                                                                                       \
    ask(b, action, (struct dr_aws_param[]){__VA_ARGS__}, sizeof((struct dr_aws_param[]){__VA_ARGS__}) / sizeof(struct dr_aws_param),       \
        element)
#define P(name, value)                                                                                                                     \
    { DR_STR(name), value }

static void make_account(struct bench *b) {
    struct dr_str vpc = ASK(b, "CreateVpc", "vpcId", P("CidrBlock", DR_STR("10.0.0.0/16")));
    for (int i = 0; i < ZONES; i++) {
        struct dr_str cidr = dr_str_fmt(&b->arena, "10.0.%d.0/24", i + 1);
        b->subnets[i] =
            ASK(b, "CreateSubnet", "subnetId", P("VpcId", vpc), P("CidrBlock", cidr), P("AvailabilityZone", dr_str_of(zones[i])));
        ASK(b, "CreateTags", NULL, P("ResourceId.1", b->subnets[i]), P("Tag.1.Key", DR_STR("pool")),
            P("Tag.1.Value", dr_str_of(b->cluster)));
    }
    struct dr_str image = ASK(b, "RegisterImage", "imageId", P("Name", dr_str_of(b->cluster)), P("RootDeviceName", DR_STR("/dev/xvda")),
                              P("Architecture", DR_STR("x86_64")), P("VirtualizationType", DR_STR("hvm")));
    ASK(b, "CreateLaunchTemplate", "launchTemplateId", P("LaunchTemplateName", dr_str_of(b->template_name)),
        P("LaunchTemplateData.ImageId", image), P("LaunchTemplateData.InstanceType", DR_STR("t3.medium")));
}

static void open_ec2(struct bench *b, const char *state_dir) {
    struct dr_ec2_options o = {.aws = b->aws,
                               .now_ms = now_ms,
                               .state_dir = state_dir,
                               .cluster = dr_str_of(b->cluster),
                               .launch_template = dr_str_of(b->template_name),
                               .template_version = DR_STR("$Latest"),
                               .subnets = {b->subnets, ZONES},
                               .reserve = {.mem_ppm = -1}};
    b->ec2 = dr_ec2_new(&o, &b->err);
    if (b->ec2 == NULL) {
        FAIL("%s", b->err.text);
    }
    b->port = dr_ec2_compute(b->ec2);
}

static void set_up(struct bench *b) {
    *b = (struct bench){.http = NULL};
    dr_arena_init(&b->arena, 0);
    snprintf(b->url, sizeof(b->url), "AWS_ENDPOINT_URL=%s", getenv("DROVER_TEST_AWS"));
    snprintf(b->cluster, sizeof(b->cluster), "test-%ld-%lld", (long)getpid(), (long long)now_ms(NULL));
    snprintf(b->template_name, sizeof(b->template_name), "%.50s-t", b->cluster);
    b->environ_[0] = b->url;
    b->environ_[1] = "AWS_ACCESS_KEY_ID=test";
    b->environ_[2] = "AWS_SECRET_ACCESS_KEY=test";
    b->http = dr_http_new(&b->err);
    CHECK(b->http != NULL);
    struct dr_aws_options options = {.http = b->http, .now_ms = now_ms, .seed = 1, .environ = b->environ_, .region = DR_STR("us-east-1")};
    b->aws = dr_aws_new(&options, &b->err);
    CHECK(b->aws != NULL);
    make_account(b);
    open_ec2(b, NULL);
}

static void tear_down(struct bench *b) {
    dr_ec2_free(b->ec2);
    dr_aws_free(b->aws);
    dr_http_free(b->http);
    dr_arena_deinit(&b->arena);
}

static const struct dr_snapshot *look(struct bench *b) {
    b->port.ops->request(b->port.self, soon());
    b->port.ops->observe(b->port.self, &b->arena, soon(), &b->snap);
    if (!b->snap.instances_part.known) {
        FAIL("%.*s", DR_FMT(b->snap.instances_part.why));
    }
    return &b->snap;
}

static struct dr_launch launch_of(struct bench *b, const char *token, int zone, enum dr_market market) {
    return (struct dr_launch){.token = dr_str_fmt(&b->arena, "%s-%s", b->cluster, token),
                              .action_id = DR_STR("1794773040-req"),
                              .index = 3,
                              .type = DR_STR("t3.medium"),
                              .zone = dr_str_of(zones[zone]),
                              .subnet = b->subnets[zone],
                              .market = market,
                              .template_version = DR_STR("1")};
}

static struct dr_str launch(struct bench *b, const struct dr_launch *l) {
    struct dr_str id = DR_STR_NONE;
    CHECK_OK(b->port.ops->launch(b->port.self, &b->arena, l, soon(), &id, &b->err), b->err);
    return id;
}

static const struct dr_instance *find(const struct dr_snapshot *snap, struct dr_str id) {
    for (size_t i = 0; i < snap->instance_n; i++) {
        if (dr_str_eq(snap->instances[i].id, id)) {
            return &snap->instances[i];
        }
    }
    return NULL;
}

static void run_pool_is_learned_from_template_subnets_and_types(void) {
    struct bench b;
    set_up(&b);
    const struct dr_snapshot *snap = look(&b);
    struct dr_err why = {.code = DR_OK};
    if (!dr_ec2_pool_ok(b.ec2, &why)) {
        FAIL("%s", why.text);
    }
    CHECK_EQ_INT(snap->instance_n, 0);
    CHECK_EQ_STR(snap->pool.template_version, "1");
    CHECK_EQ_INT(snap->pool.subnet_n, ZONES);
    CHECK_EQ_INT(snap->pool.type_n, 1);
    CHECK_EQ_STR(snap->pool.types[0].name, "t3.medium");
    CHECK_EQ_INT(snap->pool.types[0].cpu_milli, 2000);
    CHECK_EQ_INT(snap->pool.types[0].mem_bytes, INT64_C(3972844749)); /* 4 GiB less 7.5 % */
    CHECK_EQ_INT(snap->pool.types[0].pod_limit, 110);
    CHECK_EQ_STR(*dr_labels_get(snap->pool.types[0].labels, DR_STR("kubernetes.io/arch")), "amd64");
    tear_down(&b);
}

static void run_launched_instance_is_seen_with_its_tags(void) {
    struct bench b;
    set_up(&b);
    struct dr_launch l = launch_of(&b, "one", 1, DR_MARKET_SPOT);
    struct dr_str id = launch(&b, &l);
    const struct dr_instance *instance = find(look(&b), id);
    CHECK(instance != NULL);
    CHECK_EQ_STR(instance->action_id, "1794773040-req");
    CHECK_EQ_INT(instance->index, 3);
    CHECK_EQ_STR(instance->type, "t3.medium");
    CHECK_EQ_STR(instance->zone, zones[1]);
    CHECK(dr_str_eq(instance->subnet, b.subnets[1]));
    CHECK_EQ_INT(instance->market, DR_MARKET_SPOT);
    CHECK(instance->state == DR_INSTANCE_PENDING || instance->state == DR_INSTANCE_RUNNING);
    CHECK(instance->private_ip.n > 0);
    CHECK(instance->launched_ms > 0);
    tear_down(&b);
}

static void run_same_token_gives_the_same_instance_and_other_parameters_are_invalid(void) {
    struct bench b;
    set_up(&b);
    struct dr_launch l = launch_of(&b, "same", 0, DR_MARKET_ON_DEMAND);
    struct dr_str first = launch(&b, &l);
    struct dr_str second = launch(&b, &l);
    CHECK(dr_str_eq(first, second));
    CHECK_EQ_INT(look(&b)->instance_n, 1);
    l.index = 4; /* another tag is another request */
    struct dr_str id;
    CHECK_FAILS(b.port.ops->launch(b.port.self, &b.arena, &l, soon(), &id, &b.err), b.err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(b.err.text), "IdempotentParameterMismatch");
    tear_down(&b);
}

/* A rule of the emulator for launches into one of our own subnets. */
static void strike(struct bench *b, int zone, const char *fault) {
    struct dr_str body =
        dr_str_fmt(&b->arena, "{\"service\":\"ec2\",\"action\":\"RunInstances\",\"when\":{\"param\":{\"SubnetId\":\"%.*s\"}},%s}",
                   DR_FMT(b->subnets[zone]), fault);
    struct dr_http_header header = {DR_STR("Content-Type"), DR_STR("application/json")};
    struct dr_http_request request = {.method = "POST",
                                      .url = dr_str_fmt(&b->arena, "%s/drover/faults", getenv("DROVER_TEST_AWS")),
                                      .headers = &header,
                                      .header_n = 1,
                                      .body = body,
                                      .timeout_ms = 5000};
    struct dr_http_response response;
    CHECK_OK(dr_http_do(b->http, &request, &b->arena, &response, &b->err), b->err);
    CHECK_EQ_INT(response.status, 200);
}

static void run_launch_whose_reply_is_lost_is_one_instance(void) {
    struct bench b;
    set_up(&b);
    strike(&b, 0, "\"fault\":\"lost\",\"count\":1");
    struct dr_launch l = launch_of(&b, "lost", 0, DR_MARKET_SPOT);
    struct dr_str id = launch(&b, &l); /* sent again with the same token */
    const struct dr_snapshot *snap = look(&b);
    CHECK_EQ_INT(snap->instance_n, 1);
    CHECK(dr_str_eq(snap->instances[0].id, id));
    tear_down(&b);
}

static void run_launch_whose_reply_is_cut_is_of_unknown_outcome_and_then_one_instance(void) {
    struct bench b;
    set_up(&b);
    strike(&b, 0, "\"fault\":\"truncate\",\"bytes\":300,\"count\":1");
    struct dr_launch l = launch_of(&b, "cut", 0, DR_MARKET_SPOT);
    struct dr_str id = DR_STR_NONE;
    if (b.port.ops->launch(b.port.self, &b.arena, &l, soon(), &id, &b.err) < 0) {
        CHECK(dr_code_unknown_outcome(b.err.code));
        id = launch(&b, &l);
    }
    const struct dr_snapshot *snap = look(&b);
    CHECK_EQ_INT(snap->instance_n, 1);
    CHECK(dr_str_eq(snap->instances[0].id, id));
    tear_down(&b);
}

static void run_no_capacity_is_a_refusal_and_not_asked_for_again(void) {
    struct bench b;
    set_up(&b);
    strike(&b, 0, "\"fault\":\"error\",\"code\":\"InsufficientInstanceCapacity\",\"status\":500,\"count\":2");
    struct dr_launch l = launch_of(&b, "full", 0, DR_MARKET_SPOT);
    struct dr_str id;
    int64_t before = dr_http_stats(b.http).calls;
    CHECK_FAILS(b.port.ops->launch(b.port.self, &b.arena, &l, soon(), &id, &b.err), b.err, DR_E_CAPACITY);
    CHECK_EQ_INT(dr_http_stats(b.http).calls - before, 1);
    tear_down(&b);
}

static void run_terminated_instance_ends_and_its_token_is_not_found(void) {
    struct bench b;
    set_up(&b);
    struct dr_launch l = launch_of(&b, "end", 0, DR_MARKET_ON_DEMAND);
    struct dr_str id = launch(&b, &l);
    CHECK_OK(b.port.ops->terminate(b.port.self, id, soon(), &b.err), b.err);
    const struct dr_instance *instance = find(look(&b), id);
    CHECK(instance != NULL);
    CHECK(instance->state == DR_INSTANCE_SHUTTING_DOWN || instance->state == DR_INSTANCE_TERMINATED);
    CHECK_OK(b.port.ops->terminate(b.port.self, id, soon(), &b.err), b.err); /* again is no error */
    for (int i = 0; i < 40 && instance->state != DR_INSTANCE_TERMINATED; i++) {
        usleep(200000); /* the machine's own time */
        instance = find(look(&b), id);
        CHECK(instance != NULL);
    }
    CHECK_FAILS(b.port.ops->launch(b.port.self, &b.arena, &l, soon(), &id, &b.err), b.err, DR_E_NOT_FOUND);
    tear_down(&b);
}

static void run_unknown_instance_is_not_found_and_protected_one_is_protected(void) {
    struct bench b;
    set_up(&b);
    CHECK_FAILS(b.port.ops->terminate(b.port.self, DR_STR("i-0123456789abcdef0"), soon(), &b.err), b.err, DR_E_NOT_FOUND);
    struct dr_launch l = launch_of(&b, "protected", 0, DR_MARKET_ON_DEMAND);
    struct dr_str id = launch(&b, &l);
    ASK(&b, "ModifyInstanceAttribute", NULL, P("InstanceId", id), P("DisableApiTermination.Value", DR_STR("true")));
    CHECK_FAILS(b.port.ops->terminate(b.port.self, id, soon(), &b.err), b.err, DR_E_PROTECTED);
    tear_down(&b);
}

static void run_instances_of_another_cluster_are_not_seen(void) {
    struct bench b;
    set_up(&b);
    struct dr_launch l = launch_of(&b, "mine", 0, DR_MARKET_ON_DEMAND);
    struct dr_str id = launch(&b, &l);
    struct dr_label other = {DR_STR(DR_EC2_TAG_CLUSTER), DR_STR("someone-else")};
    CHECK_EQ_INT(look(&b)->instance_n, 1);
    CHECK_OK(dr_ec2_tag(b.ec2, id, &other, 1, soon(), &b.err), b.err);
    CHECK_EQ_INT(look(&b)->instance_n, 0);
    tear_down(&b);
}

static void run_wrong_subnet_and_wrong_template_version_are_invalid(void) {
    struct bench b;
    set_up(&b);
    struct dr_launch l = launch_of(&b, "subnet", 0, DR_MARKET_ON_DEMAND);
    struct dr_str id;
    l.subnet = DR_STR("subnet-0123456789abcdef0");
    CHECK_FAILS(b.port.ops->launch(b.port.self, &b.arena, &l, soon(), &id, &b.err), b.err, DR_E_INVALID);
    l.subnet = b.subnets[0];
    l.template_version = DR_STR("99");
    CHECK_FAILS(b.port.ops->launch(b.port.self, &b.arena, &l, soon(), &id, &b.err), b.err, DR_E_INVALID);
    tear_down(&b);
}

static void run_second_process_with_the_cache_file_asks_for_instances_alone(void) {
    struct bench b;
    set_up(&b);
    dr_ec2_free(b.ec2);
    const char *folder = dr_test_tmpdir();
    open_ec2(&b, folder);
    look(&b);
    dr_ec2_free(b.ec2);
    int64_t before = dr_http_stats(b.http).calls;
    open_ec2(&b, folder);
    const struct dr_snapshot *snap = look(&b);
    CHECK_EQ_INT(dr_http_stats(b.http).calls - before, 1);
    CHECK_EQ_INT(snap->pool.type_n, 1);
    CHECK_EQ_INT(snap->pool.subnet_n, ZONES);
    CHECK_EQ_STR(snap->pool.template_version, "1");
    tear_down(&b);
}

static void run_trying_changes_nothing(void) {
    struct bench b;
    set_up(&b);
    struct dr_launch l = launch_of(&b, "try", 0, DR_MARKET_ON_DEMAND);
    CHECK_OK(dr_ec2_try_launch(b.ec2, &l, soon(), &b.err), b.err);
    CHECK_EQ_INT(look(&b)->instance_n, 0);
    tear_down(&b);
}

static void run_spot_prices_come_in_order(void) {
    struct bench b;
    set_up(&b);
    const struct dr_spot_price *prices = NULL;
    size_t n = 0;
    struct dr_str type = DR_STR("t3.medium");
    CHECK_OK(dr_ec2_spot_prices(b.ec2, &b.arena, (struct dr_strs){&type, 1}, now_ms(NULL) - 86400000, soon(), &prices, &n, &b.err), b.err);
    CHECK(n > 0);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ_STR(prices[i].type, "t3.medium");
        CHECK(prices[i].micro_usd > 0 && prices[i].zone.n > 0);
        CHECK(i == 0 || prices[i].at_ms >= prices[i - 1].at_ms);
    }
    tear_down(&b);
}

#define EVERY_TEST(X)                                                                                                                      \
    X(pool_is_learned_from_template_subnets_and_types)                                                                                     \
    X(launched_instance_is_seen_with_its_tags)                                                                                             \
    X(same_token_gives_the_same_instance_and_other_parameters_are_invalid)                                                                 \
    X(launch_whose_reply_is_lost_is_one_instance)                                                                                          \
    X(launch_whose_reply_is_cut_is_of_unknown_outcome_and_then_one_instance)                                                               \
    X(no_capacity_is_a_refusal_and_not_asked_for_again)                                                                                    \
    X(terminated_instance_ends_and_its_token_is_not_found)                                                                                 \
    X(unknown_instance_is_not_found_and_protected_one_is_protected)                                                                        \
    X(instances_of_another_cluster_are_not_seen)                                                                                           \
    X(wrong_subnet_and_wrong_template_version_are_invalid)                                                                                 \
    X(second_process_with_the_cache_file_asks_for_instances_alone)                                                                         \
    X(trying_changes_nothing)                                                                                                              \
    X(spot_prices_come_in_order)

#define ENTRY(name) {"compute_ec2", #name, __FILE__, __LINE__, run_##name, 120, NULL},
static struct dr_test tests[] = {EVERY_TEST(ENTRY)};

__attribute__((constructor)) static void add(void) {
    for (size_t i = 0; getenv("DROVER_TEST_AWS") != NULL && i < sizeof(tests) / sizeof(tests[0]); i++) {
        dr_test_register(&tests[i]);
    }
}
