/* The compute port against a scripted EC2: what is sent, what answers mean, what is kept. */
#include <pthread.h>

#include "adapter/ec2/ec2.h"
#include "unit/aws_help.h"

/* One body per action; the request bodies are kept. */
struct script {
    const char *action;
    int status;
    const char *body;
};
enum { MAX_SCRIPT = 16, MAX_SEEN = 32 };
struct fake {
    pthread_mutex_t lock;
    struct script answers[MAX_SCRIPT];
    size_t answer_n;
    struct dr_buf seen[MAX_SEEN];
    size_t seen_n;
};

/* Each answer is given once, in its order; the last of an action again and again. */
static const struct script *pick(struct fake *fake, struct dr_str body) {
    struct script *found = NULL;
    for (size_t i = 0; i < fake->answer_n; i++) {
        struct script *s = &fake->answers[i];
        char text[96];
        snprintf(text, sizeof(text), "Action=%s&", s->action == NULL ? "?" : s->action);
        if (s->action != NULL && dr_str_starts(body, text)) {
            if (found != NULL) { /* there is a later one: this one is used up */
                return found;
            }
            found = s;
        }
    }
    return found;
}

static bool serve(void *self, const struct dr_server_request *request) {
    struct fake *fake = self;
    pthread_mutex_lock(&fake->lock);
    CHECK(fake->seen_n < MAX_SEEN);
    struct dr_buf *seen = &fake->seen[fake->seen_n++];
    dr_buf_init(seen, 0);
    dr_buf_put_str(seen, request->body);
    const struct script *found = pick(fake, request->body);
    struct script answer =
        found == NULL ? (struct script){NULL, 400, "<Response><Errors><Error><Code>InvalidAction</Code></Error></Errors></Response>"}
                      : *found;
    size_t same = 0;
    for (size_t i = 0; found != NULL && i < fake->answer_n; i++) {
        same += fake->answers[i].action != NULL && strcmp(fake->answers[i].action, answer.action) == 0;
    }
    if (same > 1) {
        fake->answers[found - fake->answers].action = NULL;
    }
    pthread_mutex_unlock(&fake->lock);
    return dr_server_reply(request, answer.status, NULL, answer.body);
}

struct bench {
    struct fake fake;
    struct aws_world w;
    struct dr_ec2 *ec2;
    struct dr_compute port;
    struct dr_snapshot snap;
};

#define SUBNETS                                                                                                                            \
    "<DescribeSubnetsResponse><subnetSet><item><subnetId>subnet-1</subnetId><availabilityZone>eu-west-1a</availabilityZone></item></"      \
    "subnetSet></DescribeSubnetsResponse>"
#define TYPES                                                                                                                              \
    "<DescribeInstanceTypesResponse><instanceTypeSet><item><instanceType>t3.medium</instanceType><vCpuInfo><defaultVCpus>2</"              \
    "defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>4096</sizeInMiB>"                                                                      \
    "</memoryInfo><processorInfo><supportedArchitectures><item>i386</item><item>x86_64</item></supportedArchitectures></processorInfo></"  \
    "item></instanceTypeSet></DescribeInstanceTypesResponse>"
#define TEMPLATE(version)                                                                                                                  \
    "<DescribeLaunchTemplateVersionsResponse><launchTemplateVersionSet><item><launchTemplateId>lt-1</"                                     \
    "launchTemplateId><versionNumber>" version                                                                                             \
    "</versionNumber><launchTemplateData><instanceType>t3.medium</instanceType></launchTemplateData></item></launchTemplateVersionSet></"  \
    "DescribeLaunchTemplateVersionsResponse>"
#define ONE(id)                                                                                                                            \
    "<item><instancesSet><item><instanceId>" id                                                                                            \
    "</instanceId><instanceState><name>running</name></instanceState><instanceType>t3.medium</instanceType>"                               \
    "<launchTime>2026-11-15T20:00:00Z</launchTime><placement><availabilityZone>eu-west-1a</availabilityZone></placement></item></"         \
    "instancesSet></item>"
#define INSTANCES(inner) "<DescribeInstancesResponse><reservationSet>" inner "</reservationSet></DescribeInstancesResponse>"
#define PAGE(inner, token)                                                                                                                 \
    "<DescribeInstancesResponse><reservationSet>" inner "</reservationSet><nextToken>" token "</nextToken></DescribeInstancesResponse>"
#define ERROR(code)                                                                                                                        \
    "<Response><Errors><Error><Code>" code "</Code><Message>words</Message></Error></Errors><RequestID>r</RequestID></Response>"

static void answer(struct bench *b, const char *action, int status, const char *body) {
    pthread_mutex_lock(&b->fake.lock);
    CHECK(b->fake.answer_n < MAX_SCRIPT);
    b->fake.answers[b->fake.answer_n++] = (struct script){action, status, body};
    pthread_mutex_unlock(&b->fake.lock);
}

static const struct dr_str subnet_ids[] = {{"subnet-1", 8}};

static struct dr_ec2_options options_of(struct bench *b) {
    return (struct dr_ec2_options){.aws = b->w.aws,
                                   .now_ms = aws_world_now,
                                   .self = &b->w,
                                   .cluster = DR_STR("shop"),
                                   .launch_template = DR_STR("lt-1"),
                                   .subnets = {subnet_ids, 1},
                                   .reserve = {.mem_ppm = -1}};
}

static void open_ec2(struct bench *b, const struct dr_ec2_options *o) {
    dr_ec2_free(b->ec2);
    b->ec2 = dr_ec2_new(o, &b->w.err);
    if (b->ec2 == NULL) {
        FAIL("%s", b->w.err.text);
    }
    b->port = dr_ec2_compute(b->ec2);
}

static void set_up(struct bench *b) {
    memset(b, 0, sizeof(*b));
    pthread_mutex_init(&b->fake.lock, NULL);
    aws_world_ready(&b->w, serve, &b->fake);
    struct dr_ec2_options o = options_of(b);
    open_ec2(b, &o);
}

static void set_up_pool(struct bench *b) {
    set_up(b);
    answer(b, "DescribeSubnets", 200, SUBNETS);
    answer(b, "DescribeInstanceTypes", 200, TYPES);
    answer(b, "DescribeLaunchTemplateVersions", 200, TEMPLATE("5"));
}

static void tear_down(struct bench *b) {
    dr_ec2_free(b->ec2);
    aws_world_close(&b->w);
    for (size_t i = 0; i < b->fake.seen_n; i++) {
        dr_buf_deinit(&b->fake.seen[i]);
    }
}

static int64_t soon(const struct bench *b) { return b->w.now_ms + 10000; }

static void look(struct bench *b) {
    b->port.ops->request(b->port.self, soon(b));
    b->port.ops->observe(b->port.self, &b->w.arena, soon(b), &b->snap);
}

static size_t calls(struct bench *b, const char *action) {
    size_t n = 0;
    char text[96];
    snprintf(text, sizeof(text), "Action=%s&", action);
    for (size_t i = 0; i < b->fake.seen_n; i++) {
        n += dr_str_starts(dr_buf_str(&b->fake.seen[i]), text);
    }
    return n;
}

static struct dr_str last(struct bench *b, const char *action) {
    struct dr_str found = DR_STR_NONE;
    char text[96];
    snprintf(text, sizeof(text), "Action=%s&", action);
    for (size_t i = 0; i < b->fake.seen_n; i++) {
        struct dr_str body = dr_buf_str(&b->fake.seen[i]);
        found = dr_str_starts(body, text) ? body : found;
    }
    return found;
}

/* ---- observation ---- */

TEST(ec2, pages_are_followed_and_filtered_by_the_pool_tags) {
    struct bench b;
    set_up_pool(&b);
    answer(&b, "DescribeInstances", 200, PAGE(ONE("i-2"), "more"));
    answer(&b, "DescribeInstances", 200, INSTANCES(ONE("i-1")));
    look(&b);
    CHECK(b.snap.instances_part.known);
    CHECK_EQ_INT(b.snap.instance_n, 2);
    CHECK_EQ_STR(b.snap.instances[0].id, "i-1");
    CHECK_EQ_INT(calls(&b, "DescribeInstances"), 2);
    struct dr_str body = last(&b, "DescribeInstances");
    CHECK_CONTAINS(body, "Filter.1.Name=tag%3Adrover.dev%2Fcluster&Filter.1.Value.1=shop&");
    CHECK_CONTAINS(body, "Filter.2.Name=tag%3Adrover.dev%2Frole&Filter.2.Value.1=worker&");
    CHECK_CONTAINS(body, "NextToken=more");
    tear_down(&b);
}

#define SERVER(id, state, ip)                                                                                                              \
    "<item><instancesSet><item><instanceId>" id "</instanceId><instanceState><name>" state                                                 \
    "</name></instanceState><instanceType>t3.medium</instanceType><launchTime>2026-11-15T20:00:00Z</launchTime>"                           \
    "<placement><availabilityZone>eu-west-1a</availabilityZone></placement><privateIpAddress>" ip                                          \
    "</privateIpAddress></item></instancesSet></item>"

TEST(ec2, servers_are_the_addresses_of_those_that_run) {
    struct bench b;
    set_up_pool(&b);
    answer(&b, "DescribeInstances", 200, PAGE(SERVER("i-9", "running", "10.0.0.9") SERVER("i-8", "stopped", "10.0.0.8"), "more"));
    answer(&b, "DescribeInstances", 200, INSTANCES(SERVER("i-1", "running", "10.0.0.1") ONE("i-2")));
    const struct dr_label tag = {DR_STR("Name"), DR_STR("k3s server")};
    struct dr_strs servers;
    CHECK_OK(dr_ec2_servers(b.w.aws, &b.w.arena, &tag, 1, soon(&b), &servers, &b.w.err), b.w.err);
    CHECK_EQ_INT(servers.n, 2);
    CHECK_EQ_STR(servers.v[0], "10.0.0.1");
    CHECK_EQ_STR(servers.v[1], "10.0.0.9");
    CHECK_CONTAINS(last(&b, "DescribeInstances"), "Filter.1.Name=tag%3AName&Filter.1.Value.1=k3s%20server");
    tear_down(&b);
}

TEST(ec2, observation_without_a_request_asks_by_itself) {
    struct bench b;
    set_up_pool(&b);
    answer(&b, "DescribeInstances", 200, INSTANCES(""));
    b.port.ops->observe(b.port.self, &b.w.arena, soon(&b), &b.snap);
    CHECK(b.snap.instances_part.known);
    CHECK_EQ_INT(b.snap.instance_n, 0);
    tear_down(&b);
}

TEST(ec2, failed_page_makes_the_part_unknown_and_leaves_the_pool) {
    static const struct {
        int status;
        const char *body;
        const char *why;
    } cases[] = {
        {403, ERROR("UnauthorizedOperation"), "ec2 DescribeInstances: UnauthorizedOperation: words"},
        {200, "<html>", "an HTML page"},
        {200, "<DescribeInstancesResponse><reserv", "the answer is cut"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        set_up_pool(&b);
        answer(&b, "DescribeInstances", 200, PAGE(ONE("i-2"), "more"));
        answer(&b, "DescribeInstances", cases[i].status, cases[i].body);
        look(&b);
        CHECK(!b.snap.instances_part.known);
        CHECK_EQ_INT(b.snap.instance_n, 0);
        CHECK_CONTAINS(b.snap.instances_part.why, cases[i].why);
        CHECK_EQ_INT(b.snap.pool.type_n, 1);
        tear_down(&b);
    }
}

TEST(ec2, nothing_is_sent_past_the_deadline) {
    struct bench b;
    set_up_pool(&b);
    b.port.ops->request(b.port.self, AT - 1);
    b.port.ops->observe(b.port.self, &b.w.arena, AT - 1, &b.snap);
    CHECK(!b.snap.instances_part.known);
    CHECK_CONTAINS(b.snap.instances_part.why, "deadline");
    CHECK_EQ_INT(dr_server_requests(b.w.server), 0);
    tear_down(&b);
}

/* ---- the pool ---- */

TEST(ec2, pool_is_asked_for_once_and_the_template_again_when_it_is_old) {
    struct bench b;
    set_up_pool(&b);
    answer(&b, "DescribeInstances", 200, INSTANCES(""));
    look(&b);
    CHECK_EQ_STR(b.snap.pool.template_version, "5");
    CHECK_EQ_INT(b.snap.pool.type_n, 1);
    CHECK_EQ_INT(b.snap.pool.types[0].cpu_milli, 2000);
    look(&b);
    CHECK_EQ_INT(calls(&b, "DescribeSubnets"), 1);
    CHECK_EQ_INT(calls(&b, "DescribeLaunchTemplateVersions"), 1);
    answer(&b, "DescribeLaunchTemplateVersions", 200, TEMPLATE("6"));
    b.fake.answers[2].action = NULL; /* version 5 is history */
    b.w.now_ms += INT64_C(360000);
    look(&b);
    CHECK_EQ_STR(b.snap.pool.template_version, "6");
    CHECK_EQ_INT(calls(&b, "DescribeSubnets"), 1);
    CHECK_EQ_INT(calls(&b, "DescribeInstanceTypes"), 1);
    CHECK_EQ_INT(calls(&b, "DescribeLaunchTemplateVersions"), 2);
    tear_down(&b);
}

TEST(ec2, unknown_template_leaves_the_pool_empty_and_says_why) {
    struct bench b;
    set_up(&b);
    answer(&b, "DescribeSubnets", 200, SUBNETS);
    answer(&b, "DescribeInstances", 200, INSTANCES(""));
    answer(&b, "DescribeLaunchTemplateVersions", 400, ERROR("InvalidLaunchTemplateId.NotFound"));
    look(&b);
    CHECK(b.snap.instances_part.known);
    CHECK_EQ_INT(b.snap.pool.type_n, 0);
    CHECK_EQ_INT(b.snap.pool.template_version.n, 0);
    struct dr_err why;
    CHECK(!dr_ec2_pool_ok(b.ec2, &why));
    CHECK_CONTAINS(dr_str_of(why.text), "ec2 DescribeLaunchTemplateVersions: InvalidLaunchTemplateId.NotFound");
    tear_down(&b);
}

TEST(ec2, old_pool_serves_on_while_it_cannot_be_refreshed) {
    struct bench b;
    set_up_pool(&b);
    answer(&b, "DescribeInstances", 200, INSTANCES(""));
    look(&b);
    b.fake.answers[2] = (struct script){"DescribeLaunchTemplateVersions", 403, ERROR("UnauthorizedOperation")};
    b.w.now_ms += INT64_C(360000);
    look(&b);
    CHECK_EQ_STR(b.snap.pool.template_version, "5");
    CHECK_EQ_INT(b.snap.pool.type_n, 1);
    CHECK(!dr_ec2_pool_ok(b.ec2, NULL));
    tear_down(&b);
}

TEST(ec2, fixed_version_and_named_types_need_no_template_call) {
    struct bench b;
    set_up_pool(&b);
    answer(&b, "DescribeInstances", 200, INSTANCES(""));
    struct dr_ec2_type_option type = {DR_STR("t3.medium"), 41600};
    struct dr_label label = {DR_STR("team"), DR_STR("a")};
    struct dr_ec2_options o = options_of(&b);
    o.template_version = DR_STR("3");
    o.types = &type;
    o.type_n = 1;
    o.labels = (struct dr_labels){&label, 1};
    o.reserve = (struct dr_ec2_reserve){.cpu_milli = 100, .mem_bytes = 1 << 20, .mem_ppm = 0, .pod_limit = 50};
    open_ec2(&b, &o);
    look(&b);
    CHECK_EQ_INT(calls(&b, "DescribeLaunchTemplateVersions"), 0);
    CHECK_EQ_STR(b.snap.pool.template_version, "3");
    const struct dr_worker_type *t = &b.snap.pool.types[0];
    CHECK_EQ_INT(t->cpu_milli, 1900);
    CHECK_EQ_INT(t->mem_bytes, INT64_C(4095) << 20);
    CHECK_EQ_INT(t->pod_limit, 50);
    CHECK_EQ_INT(t->on_demand_micro_usd, 41600);
    CHECK_EQ_STR(*dr_labels_get(t->labels, DR_STR("kubernetes.io/arch")), "amd64");
    CHECK_EQ_STR(*dr_labels_get(t->labels, DR_STR("team")), "a");
    tear_down(&b);
}

TEST(ec2, cache_file_serves_the_next_process_and_a_damaged_one_is_asked_anew) {
    struct bench b;
    set_up_pool(&b);
    answer(&b, "DescribeInstances", 200, INSTANCES(""));
    struct dr_ec2_options o = options_of(&b);
    o.state_dir = dr_test_tmpdir();
    open_ec2(&b, &o);
    look(&b);
    open_ec2(&b, &o);
    look(&b);
    CHECK_EQ_INT(b.snap.pool.type_n, 1);
    CHECK_EQ_STR(b.snap.pool.template_version, "5");
    CHECK_EQ_INT(calls(&b, "DescribeSubnets"), 1);
    struct dr_str path = dr_str_fmt(&b.w.arena, "%s/ec2-%016llx.json", o.state_dir, (unsigned long long)dr_str_hash(o.cluster));
    static const char *const damaged[] = {"", "{", "[]", "{\"pool\":\"another\"}", "{\"types\":[{\"name\":\"t3.medium\",\"vcpus\":-1}]}"};
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        FILE *file = fopen(path.p, "w");
        CHECK(file != NULL);
        fputs(damaged[i], file);
        fclose(file);
        open_ec2(&b, &o);
        look(&b);
        CHECK_EQ_INT(b.snap.pool.type_n, 1);
        CHECK_EQ_INT(calls(&b, "DescribeSubnets"), i + 2);
    }
    o.template_version = DR_STR("$Latest"); /* another question: the old answer does not fit */
    open_ec2(&b, &o);
    look(&b);
    CHECK_CONTAINS(last(&b, "DescribeLaunchTemplateVersions"), "LaunchTemplateVersion.1=%24Latest");
    tear_down(&b);
}

/* ---- launch ---- */

static struct dr_launch launch_of(enum dr_market market) {
    return (struct dr_launch){.token = DR_STR("token-1"),
                              .action_id = DR_STR("1794773040-a"),
                              .index = 2,
                              .type = DR_STR("t3.medium"),
                              .zone = DR_STR("eu-west-1a"),
                              .subnet = DR_STR("subnet-1"),
                              .market = market,
                              .template_version = DR_STR("5")};
}

#define LAUNCHED "<RunInstancesResponse><instancesSet><item><instanceId>i-0abc</instanceId></item></instancesSet></RunInstancesResponse>"

TEST(ec2, spot_launch_from_a_template_sends_everything_and_nothing_else) {
    struct bench b;
    set_up(&b);
    answer(&b, "RunInstances", 200, LAUNCHED);
    struct dr_launch l = launch_of(DR_MARKET_SPOT);
    struct dr_str id;
    CHECK_OK(b.port.ops->launch(b.port.self, &b.w.arena, &l, soon(&b), &id, &b.w.err), b.w.err);
    CHECK_EQ_STR(id, "i-0abc");
    CHECK_EQ_STR(last(&b, "RunInstances"),
                 "Action=RunInstances&ClientToken=token-1&InstanceMarketOptions.MarketType=spot&InstanceMarketOptions.SpotOptions."
                 "InstanceInterruptionBehavior=terminate"
                 "&InstanceMarketOptions.SpotOptions.SpotInstanceType=one-time&InstanceType=t3.medium&LaunchTemplate.LaunchTemplateId=lt-1&"
                 "LaunchTemplate.Version=5"
                 "&MaxCount=1&MinCount=1&SubnetId=subnet-1&TagSpecification.1.ResourceType=instance"
                 "&TagSpecification.1.Tag.1.Key=drover.dev%2Fcluster&TagSpecification.1.Tag.1.Value=shop"
                 "&TagSpecification.1.Tag.2.Key=drover.dev%2Frole&TagSpecification.1.Tag.2.Value=worker"
                 "&TagSpecification.1.Tag.3.Key=drover.dev%2Faction&TagSpecification.1.Tag.3.Value=1794773040-a"
                 "&TagSpecification.1.Tag.4.Key=drover.dev%2Findex&TagSpecification.1.Tag.4.Value=2"
                 "&TagSpecification.1.Tag.5.Key=Name&TagSpecification.1.Tag.5.Value=shop-worker&Version=2016-11-15");
    tear_down(&b);
}

TEST(ec2, launch_without_a_template_sends_the_machine) {
    struct bench b;
    set_up(&b);
    answer(&b, "RunInstances", 200, LAUNCHED);
    struct dr_ec2_options o = options_of(&b);
    struct dr_ec2_type_option type = {DR_STR("t3.medium"), 0};
    struct dr_str group = DR_STR("sg-1");
    struct dr_aws_param extra = {DR_STR("EbsOptimized"), DR_STR("true")};
    o.launch_template = DR_STR_NONE;
    o.machine = (struct dr_ec2_machine){
        .image_id = DR_STR("ami-1"), .key_name = DR_STR("key"), .instance_profile = DR_STR("worker"), .user_data = DR_STR("#!/bin/sh\n")};
    o.types = &type;
    o.type_n = 1;
    o.security_groups = (struct dr_strs){&group, 1};
    o.public_ip = DR_EC2_PUBLIC_IP_NO;
    o.extra_params = &extra;
    o.extra_param_n = 1;
    o.tag_volumes = true;
    open_ec2(&b, &o);
    struct dr_launch l = launch_of(DR_MARKET_ON_DEMAND);
    struct dr_str id;
    CHECK_OK(b.port.ops->launch(b.port.self, &b.w.arena, &l, soon(&b), &id, &b.w.err), b.w.err);
    struct dr_str body = last(&b, "RunInstances");
    CHECK_CONTAINS(body, "&ImageId=ami-1&");
    CHECK_CONTAINS(body, "&KeyName=key&");
    CHECK_CONTAINS(body, "&IamInstanceProfile.Name=worker&");
    CHECK_CONTAINS(body, "&UserData=IyEvYmluL3NoCg%3D%3D&");
    CHECK_CONTAINS(body, "&MetadataOptions.HttpTokens=required&");
    CHECK_CONTAINS(body, "&NetworkInterface.1.AssociatePublicIpAddress=false&NetworkInterface.1.DeviceIndex=0&NetworkInterface.1."
                         "SecurityGroupId.1=sg-1&NetworkInterface.1.SubnetId=subnet-1&");
    CHECK_CONTAINS(body, "&EbsOptimized=true&");
    CHECK_CONTAINS(body, "&TagSpecification.2.ResourceType=volume&");
    CHECK(memmem(body.p, body.n, "&SubnetId=", 10) == NULL);
    CHECK(memmem(body.p, body.n, "MarketType", 10) == NULL);
    tear_down(&b);
}

TEST(ec2, launch_errors_are_refusals_or_unknown_outcomes) {
    static const struct {
        int status;
        const char *body;
        enum dr_code code;
    } cases[] = {
        {500, ERROR("InsufficientInstanceCapacity"), DR_E_CAPACITY},
        {400, ERROR("Unsupported"), DR_E_CAPACITY},
        {400, ERROR("InsufficientFreeAddressesInSubnet"), DR_E_CAPACITY},
        {400, ERROR("SpotMaxPriceTooLow"), DR_E_CAPACITY},
        {400, ERROR("VcpuLimitExceeded"), DR_E_QUOTA},
        {400, ERROR("MaxSpotInstanceCountExceeded"), DR_E_QUOTA},
        {400, ERROR("InstanceLimitExceeded"), DR_E_QUOTA},
        {403, ERROR("UnauthorizedOperation"), DR_E_DENIED},
        {400, ERROR("OperationNotPermitted"), DR_E_DENIED},
        {400, ERROR("IdempotentParameterMismatch"), DR_E_INVALID},
        {400, ERROR("IdempotentInstanceTerminated"), DR_E_NOT_FOUND},
        {400, ERROR("InvalidSubnetID.NotFound"), DR_E_INVALID},
        {400, ERROR("InvalidLaunchTemplateId.NotFound"), DR_E_INVALID},
        {400, ERROR("InvalidParameterValue"), DR_E_INVALID},
        {200, "", DR_E_UNAVAILABLE},
        {200, "<html>hello</html>", DR_E_UNAVAILABLE},
        {200, "<RunInstancesResponse><instancesSet><item><instanceId>i-0", DR_E_UNAVAILABLE},
        {200, "<RunInstancesResponse><instancesSet/></RunInstancesResponse>", DR_E_UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        set_up(&b);
        answer(&b, "RunInstances", cases[i].status, cases[i].body);
        struct dr_launch l = launch_of(DR_MARKET_SPOT);
        struct dr_str id;
        CHECK_FAILS(b.port.ops->launch(b.port.self, &b.w.arena, &l, soon(&b), &id, &b.w.err), b.w.err, cases[i].code);
        CHECK(dr_str_starts(dr_str_of(b.w.err.text), "ec2 RunInstances: "));
        CHECK_EQ_INT(calls(&b, "RunInstances"), 1); /* a refusal is not asked for again */
        tear_down(&b);
    }
}

TEST(ec2, throttled_launch_is_sent_again_verbatim) {
    struct bench b;
    set_up(&b);
    answer(&b, "RunInstances", 503, ERROR("RequestLimitExceeded"));
    answer(&b, "RunInstances", 200, LAUNCHED);
    struct dr_launch l = launch_of(DR_MARKET_SPOT);
    struct dr_str id;
    CHECK_OK(b.port.ops->launch(b.port.self, &b.w.arena, &l, soon(&b), &id, &b.w.err), b.w.err);
    CHECK_EQ_INT(b.fake.seen_n, 2);
    CHECK(dr_str_eq(dr_buf_str(&b.fake.seen[0]), dr_buf_str(&b.fake.seen[1])));
    tear_down(&b);
}

TEST(ec2, launch_that_cannot_be_right_is_not_sent) {
    struct bench b;
    set_up(&b);
    struct dr_launch l = launch_of(DR_MARKET_SPOT);
    struct dr_str id;
    l.token = DR_STR_NONE;
    CHECK_FAILS(b.port.ops->launch(b.port.self, &b.w.arena, &l, soon(&b), &id, &b.w.err), b.w.err, DR_E_INVALID);
    l.token = DR_STR("01234567890123456789012345678901234567890123456789012345678901234");
    CHECK_FAILS(b.port.ops->launch(b.port.self, &b.w.arena, &l, soon(&b), &id, &b.w.err), b.w.err, DR_E_INVALID);
    l = launch_of(DR_MARKET_SPOT);
    l.subnet = DR_STR_NONE;
    CHECK_FAILS(b.port.ops->launch(b.port.self, &b.w.arena, &l, soon(&b), &id, &b.w.err), b.w.err, DR_E_INVALID);
    CHECK_EQ_INT(dr_server_requests(b.w.server), 0);
    tear_down(&b);
}

/* ---- terminate ---- */

TEST(ec2, terminate_tells_not_found_and_protected_from_the_rest) {
    static const struct {
        int status;
        const char *body;
        enum dr_code code;
    } cases[] = {
        {200,
         "<TerminateInstancesResponse><instancesSet><item><instanceId>i-1</instanceId></item></instancesSet></TerminateInstancesResponse>",
         DR_OK},
        {200, "<TerminateInstancesResponse><instancesSet/></TerminateInstancesResponse>", DR_E_UNAVAILABLE},
        {200, "<Termin", DR_E_UNAVAILABLE},
        {400, ERROR("InvalidInstanceID.NotFound"), DR_E_NOT_FOUND},
        {404, "gone", DR_E_INVALID},
        {400, ERROR("OperationNotPermitted"), DR_E_PROTECTED},
        {403, ERROR("UnauthorizedOperation"), DR_E_DENIED},
        {400, ERROR("InvalidInstanceID.Malformed"), DR_E_INVALID},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        set_up(&b);
        answer(&b, "TerminateInstances", cases[i].status, cases[i].body);
        int r = b.port.ops->terminate(b.port.self, DR_STR("i-1"), soon(&b), &b.w.err);
        if (cases[i].code == DR_OK) {
            CHECK_OK(r, b.w.err);
        } else {
            CHECK_FAILS(r, b.w.err, cases[i].code);
        }
        CHECK_EQ_STR(last(&b, "TerminateInstances"), "Action=TerminateInstances&InstanceId.1=i-1&Version=2016-11-15");
        tear_down(&b);
    }
}

TEST(ec2, denied_end_of_a_machine_that_is_gone_is_not_found) {
    struct bench b;
    set_up(&b);
    answer(&b, "TerminateInstances", 403, ERROR("UnauthorizedOperation"));
    answer(&b, "DescribeInstances", 400, ERROR("InvalidInstanceID.NotFound"));
    CHECK_FAILS(b.port.ops->terminate(b.port.self, DR_STR("i-1"), soon(&b), &b.w.err), b.w.err, DR_E_NOT_FOUND);
    CHECK_EQ_STR(last(&b, "DescribeInstances"), "Action=DescribeInstances&InstanceId.1=i-1&Version=2016-11-15");
    tear_down(&b);
}

TEST(ec2, trying_says_what_would_be) {
    struct bench b;
    set_up(&b);
    answer(&b, "RunInstances", 412, ERROR("DryRunOperation"));
    answer(&b, "TerminateInstances", 403, ERROR("UnauthorizedOperation"));
    struct dr_launch l = launch_of(DR_MARKET_ON_DEMAND);
    CHECK_OK(dr_ec2_try_launch(b.ec2, &l, soon(&b), &b.w.err), b.w.err);
    CHECK_CONTAINS(last(&b, "RunInstances"), "&DryRun=true&");
    CHECK_FAILS(dr_ec2_try_terminate(b.ec2, DR_STR("i-1"), soon(&b), &b.w.err), b.w.err, DR_E_DENIED);
    tear_down(&b);
}

/* ---- options ---- */

TEST(ec2, options_that_cannot_work_are_named) {
    struct bench b;
    set_up(&b);
    struct dr_err err;
    struct dr_label bad = {DR_STR("aws:x"), DR_STR("y")};
    struct dr_ec2_options o = options_of(&b);
    o.subnets = (struct dr_strs){NULL, 0};
    CHECK(dr_ec2_new(&o, &err) == NULL);
    CHECK_CONTAINS(dr_str_of(err.text), "subnets");
    o = options_of(&b);
    o.launch_template = DR_STR_NONE;
    CHECK(dr_ec2_new(&o, &err) == NULL);
    CHECK_CONTAINS(dr_str_of(err.text), "neither a launch template nor an image");
    o = options_of(&b);
    o.template_version = DR_STR("newest");
    CHECK(dr_ec2_new(&o, &err) == NULL);
    CHECK_CONTAINS(dr_str_of(err.text), "\"newest\": a number, $Latest or $Default");
    o = options_of(&b);
    o.extra_tags = &bad;
    o.extra_tag_n = 1;
    CHECK(dr_ec2_new(&o, &err) == NULL);
    CHECK_CONTAINS(dr_str_of(err.text), "tag \"aws:x\"");
    tear_down(&b);
}
