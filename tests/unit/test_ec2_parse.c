/* Bodies of EC2, good, cut and wrong. */
#include "adapter/ec2/parse.h"
#include "base/time.h"
#include "harness/test.h"

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define INSTANCES(inner)                                                                                                                   \
    HEAD "<DescribeInstancesResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>r</requestId><reservationSet><item>"    \
         "<reservationId>r-1</reservationId><instancesSet>" inner "</instancesSet></item></reservationSet></DescribeInstancesResponse>"
#define STATE(name) "<instanceState><code>16</code><name>" name "</name></instanceState>"
#define PLACE "<placement><availabilityZone>eu-west-1a</availabilityZone><tenancy>default</tenancy></placement>"
#define LAUNCHED "<launchTime>2026-11-15T20:04:00.000Z</launchTime>"
#define TAG(key, value) "<item><key>" key "</key><value>" value "</value></item>"

struct bench {
    struct dr_arena arena;
    struct dr_err err;
    struct dr_ec2_instances list;
};

static void set_up(struct bench *b) {
    *b = (struct bench){.err = {.code = DR_OK}};
    dr_arena_init(&b->arena, 0);
}

static void tear_down(struct bench *b) { dr_arena_deinit(&b->arena); }

static int parse(struct bench *b, const char *body) { return dr_ec2_parse_instances(&b->arena, dr_str_of(body), &b->list, &b->err); }

TEST(ec2_parse, instance_is_read_whole) {
    struct bench b;
    set_up(&b);
    CHECK_OK(parse(&b, INSTANCES("<item><instanceId>i-1</instanceId><imageId>ami-1</imageId>" STATE(
                           "running") "<instanceType>t3.medium</instanceType>" LAUNCHED PLACE
                                      "<subnetId>subnet-1</subnetId><privateIpAddress>10.0.1.5</privateIpAddress><instanceLifecycle>spot</"
                                      "instanceLifecycle>"
                                      "<networkInterfaceSet><item><subnetId>subnet-other</subnetId><privateIpAddress>10.9.9.9</"
                                      "privateIpAddress></item></networkInterfaceSet>"
                                      "<tagSet>" TAG("Name", "x &amp; y") TAG(DR_EC2_TAG_ACTION, "1794773040-a")
                                          TAG(DR_EC2_TAG_INDEX, "7") "</tagSet></item>")),
             b.err);
    CHECK_EQ_INT(b.list.n, 1);
    const struct dr_instance *i = &b.list.v[0];
    CHECK_EQ_STR(i->id, "i-1");
    CHECK_EQ_STR(i->type, "t3.medium");
    CHECK_EQ_STR(i->zone, "eu-west-1a");
    CHECK_EQ_STR(i->subnet, "subnet-1");
    CHECK_EQ_STR(i->private_ip, "10.0.1.5");
    CHECK_EQ_INT(i->market, DR_MARKET_SPOT);
    CHECK_EQ_INT(i->state, DR_INSTANCE_RUNNING);
    CHECK_EQ_INT(i->launched_ms, INT64_C(1794773040000));
    CHECK_EQ_STR(i->action_id, "1794773040-a");
    CHECK_EQ_INT(i->index, 7);
    CHECK_EQ_INT(b.list.next_token.n, 0);
    tear_down(&b);
}

TEST(ec2_parse, every_state_has_its_name_and_ended_ones_need_no_address) {
    static const struct {
        const char *name;
        enum dr_instance_state state;
    } states[] = {{"pending", DR_INSTANCE_PENDING},
                  {"running", DR_INSTANCE_RUNNING},
                  {"stopping", DR_INSTANCE_STOPPING},
                  {"stopped", DR_INSTANCE_STOPPED},
                  {"shutting-down", DR_INSTANCE_SHUTTING_DOWN},
                  {"terminated", DR_INSTANCE_TERMINATED}};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        struct bench b;
        set_up(&b);
        struct dr_str body = dr_str_fmt(
            &b.arena, INSTANCES("<item><instanceId>i-1</instanceId>" STATE("%s") "<instanceType>t</instanceType>" LAUNCHED PLACE "</item>"),
            states[i].name);
        CHECK_OK(parse(&b, body.p), b.err);
        CHECK_EQ_INT(b.list.v[0].state, states[i].state);
        CHECK_EQ_INT(b.list.v[0].private_ip.n, 0);
        CHECK_EQ_INT(b.list.v[0].market, DR_MARKET_ON_DEMAND);
        tear_down(&b);
    }
}

TEST(ec2_parse, no_instances_and_a_next_token_are_fine) {
    struct bench b;
    set_up(&b);
    CHECK_OK(parse(&b, HEAD "<DescribeInstancesResponse><reservationSet/><nextToken> abc== </nextToken></DescribeInstancesResponse>"),
             b.err);
    CHECK_EQ_INT(b.list.n, 0);
    CHECK_EQ_STR(b.list.next_token, "abc==");
    CHECK_OK(parse(&b, HEAD "<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>"), b.err);
    CHECK_EQ_INT(b.list.next_token.n, 0);
    tear_down(&b);
}

/* A person may change tags: without both of ours the instance is not of an action. */
TEST(ec2_parse, action_without_a_good_index_is_no_action) {
    static const char *const tags[] = {TAG(DR_EC2_TAG_ACTION, "a"),
                                       TAG(DR_EC2_TAG_ACTION, "a") TAG(DR_EC2_TAG_INDEX, "x"),
                                       TAG(DR_EC2_TAG_ACTION, "a") TAG(DR_EC2_TAG_INDEX, "-1"),
                                       TAG(DR_EC2_TAG_INDEX, "1"),
                                       "<item><key>" DR_EC2_TAG_ACTION "</key></item>" TAG(DR_EC2_TAG_INDEX, "1"),
                                       "<item/>"};
    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
        struct bench b;
        set_up(&b);
        struct dr_str body = dr_str_fmt(&b.arena,
                                        INSTANCES("<item><instanceId>i-1</instanceId>" STATE(
                                            "running") "<instanceType>t</instanceType>" LAUNCHED PLACE "<tagSet>%s</tagSet></item>"),
                                        tags[i]);
        CHECK_OK(parse(&b, body.p), b.err);
        CHECK_EQ_INT(b.list.v[0].action_id.n, 0);
        tear_down(&b);
    }
}

TEST(ec2_parse, instance_on_two_pages_is_there_once_and_further_on) {
    struct bench b;
    set_up(&b);
    CHECK_OK(parse(&b, INSTANCES("<item><instanceId>i-2</instanceId>" STATE("running") "<instanceType>t</instanceType>" LAUNCHED PLACE
                                                                                       "</item>")),
             b.err);
    CHECK_OK(parse(&b, INSTANCES("<item><instanceId>i-1</instanceId>" STATE(
                           "pending") "<instanceType>t</instanceType>" LAUNCHED PLACE "</item>"
                                      "<item><instanceId>i-2</instanceId>" STATE(
                                          "terminated") "<instanceType>t</instanceType>" LAUNCHED PLACE "</item>")),
             b.err);
    dr_ec2_sort_instances(&b.list);
    CHECK_EQ_INT(b.list.n, 2);
    CHECK_EQ_STR(b.list.v[0].id, "i-1");
    CHECK_EQ_STR(b.list.v[1].id, "i-2");
    CHECK_EQ_INT(b.list.v[1].state, DR_INSTANCE_TERMINATED);
    tear_down(&b);
}

TEST(ec2_parse, wrong_bodies_say_call_and_field) {
    static const struct {
        const char *body;
        enum dr_code code;
        const char *text;
    } cases[] = {
        {"", DR_E_INVALID, "ec2 DescribeInstances: an empty body"},
        {"  \n", DR_E_INVALID, "an empty body"},
        {"<!DOCTYPE html><html><body>502</body></html>", DR_E_INVALID, "an HTML page instead of an answer"},
        {"<html><body>502</body></html>", DR_E_INVALID, "an HTML page instead of an answer"},
        {"{\"message\":\"no\"}", DR_E_INVALID, "not XML"},
        {"\xff\xfe\xff", DR_E_INVALID, "ec2 DescribeInstances: line 1"},
        {"<DescribeInstancesResponse><reservationSet><item>", DR_E_INVALID, "the answer is cut"},
        {"<DescribeInstancesResponse><reservationSet></item></reservationSet></DescribeInstancesResponse>", DR_E_INVALID, "not XML"},
        {"<DescribeSubnetsResponse/>", DR_E_INVALID, "<DescribeSubnetsResponse> instead of <DescribeInstancesResponse>"},
        {"<Response><Errors/></Response>", DR_E_INVALID, "<Response> instead of"},
        {"<!DOCTYPE a [<!ENTITY x \"y\">]><DescribeInstancesResponse/>", DR_E_INVALID, "a document type"},
        {INSTANCES("<item>" STATE("running") "</item>"), DR_E_INVALID, "instancesSet/item: instance ? has no instanceId"},
        {INSTANCES("<item><instanceId>i-1</instanceId></item>"), DR_E_INVALID, "instance i-1 has no instanceState/name"},
        {INSTANCES("<item><instanceId>i-1</instanceId>" STATE("running") "</item>"), DR_E_INVALID, "instance i-1 has no launchTime"},
        {INSTANCES("<item><instanceId>i-1</instanceId>" STATE("running") LAUNCHED "<instanceType>t</instanceType></item>"), DR_E_INVALID,
         "no placement/availabilityZone"},
        {INSTANCES("<item><instanceId>i-1</instanceId>" STATE("zombie") "</item>"), DR_E_INVALID,
         "instanceState/name: \"zombie\" is not a state"},
        {INSTANCES("<item><launchTime>yesterday</launchTime></item>"), DR_E_INVALID, "launchTime: \"yesterday\" is not a time"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        set_up(&b);
        CHECK_FAILS(parse(&b, cases[i].body), b.err, cases[i].code);
        CHECK_CONTAINS(dr_str_of(b.err.text), "ec2 DescribeInstances: ");
        CHECK_CONTAINS(dr_str_of(b.err.text), cases[i].text);
        tear_down(&b);
    }
}

/* Cut after any byte: an error each time, and nothing worse. */
TEST(ec2_parse, body_cut_anywhere_is_an_error) {
    static const char body[] =
        INSTANCES("<item><instanceId>i-1</instanceId>" STATE("running") "<instanceType>t</instanceType>" LAUNCHED PLACE "</item>");
    for (size_t n = 0; n < sizeof(body) - 1; n++) {
        struct bench b;
        set_up(&b);
        CHECK_FAILS(dr_ec2_parse_instances(&b.arena, (struct dr_str){body, n}, &b.list, &b.err), b.err, DR_E_INVALID);
        tear_down(&b);
    }
}

TEST(ec2_parse, ceilings_of_depth_text_and_memory_hold) {
    struct bench b;
    set_up(&b);
    struct dr_buf buf;
    dr_buf_init(&buf, 0);
    dr_buf_puts(&buf, "<DescribeInstancesResponse>");
    for (int i = 0; i < 100; i++) {
        dr_buf_puts(&buf, "<a>");
    }
    CHECK_FAILS(parse(&b, buf.p), b.err, DR_E_LIMIT);
    dr_buf_clear(&buf);
    dr_buf_puts(&buf, "<DescribeInstancesResponse><nextToken>");
    for (int i = 0; i < 5000; i++) {
        dr_buf_putc(&buf, 'x');
    }
    dr_buf_puts(&buf, "</nextToken></DescribeInstancesResponse>");
    CHECK_FAILS(parse(&b, buf.p), b.err, DR_E_LIMIT);
    CHECK_CONTAINS(dr_str_of(b.err.text), "nextToken: longer than 4096 bytes");
    dr_buf_clear(&buf);
    dr_buf_puts(&buf, "<DescribeInstancesResponse><reservationSet><item><instancesSet>");
    for (int i = 0; i < 2000; i++) {
        dr_buf_fmt(&buf, "<item><instanceId>i-%d</instanceId>" STATE("running") "<instanceType>t</instanceType>" LAUNCHED PLACE "</item>",
                   i);
    }
    dr_buf_puts(&buf, "</instancesSet></item></reservationSet></DescribeInstancesResponse>");
    CHECK_OK(parse(&b, buf.p), b.err);
    CHECK_EQ_INT(b.list.n, 2000);
    CHECK(b.list.v[0].type.p == b.list.v[1999].type.p); /* one text for all of them */
    struct dr_arena small;
    struct dr_ec2_instances list = {NULL, 0, 0, DR_STR_NONE};
    dr_arena_init(&small, 20000);
    CHECK_FAILS(dr_ec2_parse_instances(&small, dr_buf_str(&buf), &list, &b.err), b.err, DR_E_LIMIT);
    dr_arena_deinit(&small);
    dr_buf_deinit(&buf);
    tear_down(&b);
}

TEST(ec2_parse, launch_must_speak_of_one_instance) {
    static const struct {
        const char *body;
        const char *text; /* NULL: good */
    } cases[] = {
        {"<RunInstancesResponse><instancesSet><item><instanceId>i-0abc</instanceId></item></instancesSet></RunInstancesResponse>", NULL},
        {"<RunInstancesResponse><instancesSet/></RunInstancesResponse>", "0 instances instead of 1"},
        {"<RunInstancesResponse><instancesSet><item><instanceId>i-1</instanceId></item><item><instanceId>i-2</instanceId></item></"
         "instancesSet></RunInstancesResponse>",
         "2 instances instead of 1"},
        {"<RunInstancesResponse><instancesSet><item><instanceId>x</instanceId></item></instancesSet></RunInstancesResponse>",
         "\"x\" is not an instance id"},
        {"<RunInstancesResponse><instancesSet><item><instan", "the answer is cut"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        struct dr_str id = DR_STR_NONE;
        set_up(&b);
        int r = dr_ec2_parse_launch(&b.arena, dr_str_of(cases[i].body), &id, &b.err);
        if (cases[i].text == NULL) {
            CHECK_OK(r, b.err);
            CHECK_EQ_STR(id, "i-0abc");
        } else {
            CHECK_FAILS(r, b.err, DR_E_INVALID);
            CHECK_CONTAINS(dr_str_of(b.err.text), cases[i].text);
        }
        tear_down(&b);
    }
}

TEST(ec2_parse, termination_must_speak_of_the_instance) {
    struct dr_err err;
    static const char body[] =
        "<TerminateInstancesResponse><instancesSet><item><instanceId>i-1</instanceId></item></instancesSet></TerminateInstancesResponse>";
    CHECK_OK(dr_ec2_parse_terminate(dr_str_of(body), DR_STR("i-1"), &err), err);
    CHECK_FAILS(dr_ec2_parse_terminate(dr_str_of(body), DR_STR("i-2"), &err), err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(err.text), "nothing about i-2");
}

/* ---- the pool ---- */

TEST(ec2_parse, subnets_types_and_template_are_read) {
    struct bench b;
    set_up(&b);
    struct dr_ec2_subnets subnets = {NULL, 0, 0, DR_STR_NONE};
    CHECK_OK(
        dr_ec2_parse_subnets(
            &b.arena,
            DR_STR(
                "<DescribeSubnetsResponse><subnetSet><item><subnetId>subnet-1</subnetId><availabilityZone>a</availabilityZone></item>"
                "<item><subnetId>subnet-2</subnetId><availabilityZone>b</availabilityZone></item></subnetSet></DescribeSubnetsResponse>"),
            &subnets, &b.err),
        b.err);
    CHECK_EQ_INT(subnets.n, 2);
    CHECK_EQ_STR(subnets.v[1].zone, "b");
    struct dr_ec2_types types = {NULL, 0, 0, DR_STR_NONE};
    CHECK_OK(
        dr_ec2_parse_types(&b.arena,
                           DR_STR("<DescribeInstanceTypesResponse><instanceTypeSet><item><instanceType>m6g.large</"
                                  "instanceType><vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo>"
                                  "<memoryInfo><sizeInMiB>8192</sizeInMiB></memoryInfo><processorInfo><supportedArchitectures><item>arm64</"
                                  "item></supportedArchitectures></processorInfo>"
                                  "</item></instanceTypeSet></DescribeInstanceTypesResponse>"),
                           &types, &b.err),
        b.err);
    CHECK_EQ_STR(types.v[0].name, "m6g.large");
    CHECK_EQ_INT(types.v[0].vcpus, 2);
    CHECK_EQ_INT(types.v[0].mem_mib, 8192);
    CHECK_EQ_STR(types.v[0].arch, "arm64");
    struct dr_ec2_template template_;
    CHECK_OK(dr_ec2_parse_template(&b.arena,
                                   DR_STR("<DescribeLaunchTemplateVersionsResponse><launchTemplateVersionSet><item><launchTemplateId>lt-1</"
                                          "launchTemplateId><versionNumber>4</versionNumber>"
                                          "<launchTemplateData><instanceType>t3.large</"
                                          "instanceType><instanceMarketOptions><marketType>spot</marketType></instanceMarketOptions>"
                                          "<networkInterfaceSet><item/></networkInterfaceSet></launchTemplateData></item></"
                                          "launchTemplateVersionSet></DescribeLaunchTemplateVersionsResponse>"),
                                   &template_, &b.err),
             b.err);
    CHECK_EQ_STR(template_.version, "4");
    CHECK_EQ_STR(template_.type, "t3.large");
    CHECK(template_.has_market && template_.has_network);
    tear_down(&b);
}

TEST(ec2_parse, wrong_pool_bodies_name_the_field) {
    struct bench b;
    set_up(&b);
    struct dr_ec2_subnets subnets = {NULL, 0, 0, DR_STR_NONE};
    struct dr_ec2_types types = {NULL, 0, 0, DR_STR_NONE};
    struct dr_ec2_template template_;
    struct dr_ec2_prices prices = {NULL, 0, 0, DR_STR_NONE};
    CHECK_FAILS(dr_ec2_parse_subnets(
                    &b.arena,
                    DR_STR("<DescribeSubnetsResponse><subnetSet><item><subnetId>s</subnetId></item></subnetSet></DescribeSubnetsResponse>"),
                    &subnets, &b.err),
                b.err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(b.err.text), "ec2 DescribeSubnets: subnetSet/item: no subnetId or no availabilityZone");
    CHECK_FAILS(dr_ec2_parse_types(&b.arena,
                                   DR_STR("<DescribeInstanceTypesResponse><instanceTypeSet><item><instanceType>t</"
                                          "instanceType><vCpuInfo><defaultVCpus>-2</defaultVCpus></vCpuInfo></item>"
                                          "</instanceTypeSet></DescribeInstanceTypesResponse>"),
                                   &types, &b.err),
                b.err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(b.err.text), "vCpuInfo/defaultVCpus: \"-2\" is not a number from 1");
    CHECK_FAILS(dr_ec2_parse_types(&b.arena,
                                   DR_STR("<DescribeInstanceTypesResponse><instanceTypeSet><item><instanceType>t</instanceType></item></"
                                          "instanceTypeSet></DescribeInstanceTypesResponse>"),
                                   &types, &b.err),
                b.err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(b.err.text), "type t has no vCpuInfo/defaultVCpus");
    CHECK_FAILS(dr_ec2_parse_template(
                    &b.arena,
                    DR_STR("<DescribeLaunchTemplateVersionsResponse><launchTemplateVersionSet/></DescribeLaunchTemplateVersionsResponse>"),
                    &template_, &b.err),
                b.err, DR_E_NOT_FOUND);
    CHECK_FAILS(dr_ec2_parse_template(&b.arena,
                                      DR_STR("<DescribeLaunchTemplateVersionsResponse><launchTemplateVersionSet><item><versionNumber>x</"
                                             "versionNumber></item></launchTemplateVersionSet>"
                                             "</DescribeLaunchTemplateVersionsResponse>"),
                                      &template_, &b.err),
                b.err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(b.err.text), "versionNumber: \"x\" is not a number");
    CHECK_FAILS(dr_ec2_parse_prices(&b.arena,
                                    DR_STR("<DescribeSpotPriceHistoryResponse><spotPriceHistorySet><item><instanceType>t</"
                                           "instanceType><spotPrice>free</spotPrice></item></spotPriceHistorySet>"
                                           "</DescribeSpotPriceHistoryResponse>"),
                                    &prices, &b.err),
                b.err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(b.err.text), "spotPrice: \"free\" is not a price");
    tear_down(&b);
}
