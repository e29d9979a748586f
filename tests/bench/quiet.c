#include "bench/quiet.h"

#include "base/decimal.h"
#include "base/err.h"

/*
 * Per pass of 30 s: a kubelet writes its Node's status every 5 minutes where nothing changes, a bookmark comes about every minute, and a stream ends after the
 * 4 to 5 minutes that it was asked for.
 */
enum { NODES_PER_PASS = 5, PASSES_PER_BOOKMARK = 2, PASSES_PER_STREAM = 9 };
enum { NODE_STREAM = 'n', POD_STREAM = 'p' };

const struct dr_bench_cluster dr_bench_quiet_cluster = {50, 500, 20};

/* ---- EC2 ---- */

static void put_instance(struct dr_buf *b, int i) {
    dr_buf_fmt(b,
               "<item><reservationId>r-%017x</reservationId><ownerId>123456789012</ownerId><groupSet/><instancesSet><item>"
               "<instanceId>i-%017x</instanceId><imageId>ami-0123456789abcdef0</imageId><instanceState><code>16</code><name>running</name>"
               "</instanceState><privateDnsName>ip-10-0-%d-%d.eu-west-1.compute.internal</privateDnsName><dnsName/><reason/>"
               "<keyName>workers</keyName><amiLaunchIndex>0</amiLaunchIndex><productCodes/><instanceType>m6i.large</instanceType>"
               "<launchTime>2026-11-15T08:59:30.000Z</launchTime><placement><availabilityZone>eu-west-1%c</availabilityZone><groupName/>"
               "<tenancy>default</tenancy></placement><monitoring><state>disabled</state></monitoring><subnetId>subnet-%d</subnetId>"
               "<vpcId>vpc-0123456789abcdef0</vpcId><privateIpAddress>10.0.%d.%d</privateIpAddress><sourceDestCheck>true</sourceDestCheck>",
               (unsigned)i, (unsigned)i, i / 250, i % 250, 'a' + i % 3, 1 + i % 3, i / 250, i % 250);
    dr_buf_fmt(b,
               "<groupSet><item><groupId>sg-0123456789abcdef0</groupId><groupName>workers</groupName></item></groupSet>"
               "<architecture>x86_64</architecture><rootDeviceType>ebs</rootDeviceType><rootDeviceName>/dev/xvda</rootDeviceName>"
               "<blockDeviceMapping><item><deviceName>/dev/xvda</deviceName><ebs><volumeId>vol-%017x</volumeId><status>attached</status>"
               "<attachTime>2026-11-15T08:59:31.000Z</attachTime><deleteOnTermination>true</deleteOnTermination></ebs></item>"
               "</blockDeviceMapping><virtualizationType>hvm</virtualizationType><clientToken>%016x</clientToken><tagSet>"
               "<item><key>Name</key><value>bench-worker</value></item><item><key>drover.dev/cluster</key><value>bench</value></item>"
               "<item><key>drover.dev/role</key><value>worker</value></item></tagSet><hypervisor>xen</hypervisor><ebsOptimized>false"
               "</ebsOptimized><enaSupport>true</enaSupport></item></instancesSet></item>",
               (unsigned)i, (unsigned)i);
}

static const char SUBNETS[] =
    "<DescribeSubnetsResponse><requestId>r</requestId><subnetSet>"
    "<item><subnetId>subnet-1</subnetId><state>available</state><availabilityZone>eu-west-1a</availabilityZone></item>"
    "<item><subnetId>subnet-2</subnetId><state>available</state><availabilityZone>eu-west-1b</availabilityZone></item>"
    "<item><subnetId>subnet-3</subnetId><state>available</state><availabilityZone>eu-west-1c</availabilityZone></item>"
    "</subnetSet></DescribeSubnetsResponse>";
static const char TEMPLATE[] =
    "<DescribeLaunchTemplateVersionsResponse><requestId>r</requestId><launchTemplateVersionSet><item><launchTemplateId>lt-1"
    "</launchTemplateId><versionNumber>7</versionNumber><defaultVersion>true</defaultVersion><launchTemplateData>"
    "<imageId>ami-0123456789abcdef0</imageId><instanceType>m6i.large</instanceType></launchTemplateData></item>"
    "</launchTemplateVersionSet></DescribeLaunchTemplateVersionsResponse>";
static const char TYPES[] =
    "<DescribeInstanceTypesResponse><requestId>r</requestId><instanceTypeSet><item><instanceType>m6i.large</instanceType>"
    "<vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>8192</sizeInMiB></memoryInfo><processorInfo>"
    "<supportedArchitectures><item>x86_64</item></supportedArchitectures></processorInfo></item></instanceTypeSet>"
    "</DescribeInstanceTypesResponse>";

static bool answer_ec2(const struct dr_bench_quiet *quiet, struct dr_str form, struct dr_bench_answer *ret) {
    struct dr_str action = dr_bench_param(form, "Action");
    struct dr_str text = dr_str_is(action, "DescribeInstances")                ? dr_buf_str(&quiet->instances)
                         : dr_str_is(action, "DescribeSubnets")                ? DR_STR(SUBNETS)
                         : dr_str_is(action, "DescribeLaunchTemplateVersions") ? DR_STR(TEMPLATE)
                         : dr_str_is(action, "DescribeInstanceTypes")          ? DR_STR(TYPES)
                                                                               : DR_STR_NONE;
    dr_buf_put_str(&ret->text, text);
    return text.n > 0;
}

/* ---- Prometheus ---- */

static int64_t millis(struct dr_str query, const char *name) {
    int64_t ms = 0;
    (void)dr_decimal_scale(dr_bench_param(query, name), 3, DR_DECIMAL_ROUND, &ms);
    return ms;
}

static void put_sample(struct dr_buf *b, int64_t ms) {
    /* Neither high enough to grow nor low enough to shrink, and never twice the same. */
    dr_buf_fmt(b, "[%lld.%03lld,\"0.5%06lld81470\"]", (long long)(ms / 1000), (long long)(ms % 1000),
               (long long)(ms / 1000 * 7919 % 999983));
}

static bool answer_prometheus(struct dr_str target, struct dr_bench_answer *ret) {
    bool range = dr_str_starts(target, "/api/v1/query_range?");
    dr_buf_fmt(&ret->text,
               "{\"status\":\"success\",\"data\":{\"resultType\":\"%s\",\"result\":[{\"metric\":{},\"%s\":", range ? "matrix" : "vector",
               range ? "values" : "value");
    if (range) {
        int64_t start_ms = millis(target, "start");
        int64_t end_ms = millis(target, "end");
        int64_t step_ms = millis(target, "step");
        DR_ASSERT(step_ms > 0);
        for (int64_t ms = start_ms; ms <= end_ms; ms += step_ms) {
            dr_buf_puts(&ret->text, ms == start_ms ? "[" : ",");
            put_sample(&ret->text, ms);
        }
        dr_buf_putc(&ret->text, ']');
    } else {
        put_sample(&ret->text, millis(target, "time"));
    }
    dr_buf_puts(&ret->text, "}]}}");
    return true;
}

/* ---- Kubernetes ---- */

static void put_node_event(struct dr_buf *b, const char *type, int i) {
    dr_buf_fmt(b, "{\"type\":\"%s\",\"object\":", type);
    dr_bench_put_node(b, &dr_bench_quiet_cluster, i);
    dr_buf_puts(b, "}\n");
}

static void put_bookmark(struct dr_buf *b, const char *kind) {
    dr_buf_fmt(b,
               "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"123456\"}}}\n",
               kind);
}

/* A stream without a version begins with what is there. */
static bool answer_watch(struct dr_str target, struct dr_bench_answer *ret) {
    bool nodes = dr_str_starts(target, "/api/v1/nodes?");
    ret->stream = nodes ? NODE_STREAM : POD_STREAM;
    bool from_now = dr_bench_param(target, "resourceVersion").n == 0;
    for (int i = 0; nodes && from_now && i < dr_bench_quiet_cluster.nodes; i++) {
        put_node_event(&ret->text, "ADDED", i);
    }
    put_bookmark(&ret->text, nodes ? "Node" : "Pod");
    return true;
}

static void push_events(struct dr_bench_quiet *quiet, struct dr_bench_serving *serving) {
    struct dr_buf events;
    dr_buf_init(&events, 0);
    for (int i = 0; i < NODES_PER_PASS; i++) {
        put_node_event(&events, "MODIFIED", (quiet->passes * NODES_PER_PASS + i) % dr_bench_quiet_cluster.nodes);
    }
    dr_bench_push(serving, NODE_STREAM, dr_buf_str(&events));
    if (quiet->passes % PASSES_PER_BOOKMARK == 0) {
        dr_buf_clear(&events);
        put_bookmark(&events, "Node");
        dr_bench_push(serving, NODE_STREAM, dr_buf_str(&events));
        dr_buf_clear(&events);
        put_bookmark(&events, "Pod");
        dr_bench_push(serving, POD_STREAM, dr_buf_str(&events));
    }
    dr_buf_deinit(&events);
    if (quiet->passes % PASSES_PER_STREAM == 0) {
        dr_bench_end_streams(serving);
    }
}

/* ---- all ---- */

static bool answer(void *self, struct dr_bench_serving *serving, const struct dr_bench_request *request, struct dr_bench_answer *ret) {
    struct dr_bench_quiet *quiet = self;
    if (dr_str_is(request->target, "/")) {
        return answer_ec2(quiet, request->body, ret);
    }
    if (dr_str_starts(request->target, "/api/v1/query")) {
        return answer_prometheus(request->target, ret);
    }
    if (dr_bench_param(request->target, "watch").n > 0) {
        return answer_watch(request->target, ret);
    }
    if (dr_str_starts(request->target, "/api/v1/nodes?")) {
        quiet->passes++;
        push_events(quiet, serving);
    }
    return dr_bench_lists_answer(&quiet->lists, request->target, ret);
}

static void prepare(void *self) {
    struct dr_bench_quiet *quiet = self;
    dr_bench_lists_make(&quiet->lists);
    dr_buf_init(&quiet->instances, 0);
    dr_buf_puts(&quiet->instances, "<DescribeInstancesResponse><requestId>r</requestId><reservationSet>");
    for (int i = 0; i < dr_bench_quiet_cluster.nodes; i++) {
        put_instance(&quiet->instances, i);
    }
    dr_buf_puts(&quiet->instances, "</reservationSet></DescribeInstancesResponse>");
}

struct dr_bench_site dr_bench_quiet_site(struct dr_bench_quiet *quiet) {
    *quiet = (struct dr_bench_quiet){.lists.cluster = dr_bench_quiet_cluster};
    return (struct dr_bench_site){prepare, answer, quiet};
}
