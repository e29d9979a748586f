/* The real world behind the ports, opened with settings that are wrong: one line that says what to do, and nothing left open. */
#include <stdio.h>

#include "app/live.h"
#include "harness/server.h"
#include "harness/test.h"

struct opened {
    struct dr_arena arena;
    struct dr_settings settings;
    struct dr_process process;
    struct dr_live live;
    struct dr_err err;
    char endpoint[200];
    const char *env[5]; /* of those who ask AWS */
};

static const char *const no_env[] = {"HOME=/nonexistent", NULL};

static int open_parts_with(struct opened *o, const char *const *env, const char *yaml, unsigned parts) {
    dr_arena_init(&o->arena, 0);
    struct dr_reports *reports = DR_NEW(&o->arena, struct dr_reports);
    dr_reports_init(reports, &o->arena, "f.yaml");
    dr_settings_init(&o->settings, &o->arena, DR_PRESET_DEFAULT, DR_ORIGIN_DEFAULT);
    const struct dr_yaml *root = NULL;
    CHECK_EQ_INT(dr_yaml_parse(&o->arena, dr_str_of(yaml), reports, &root), 0);
    dr_settings_apply(&o->settings, &o->arena, root, reports);
    CHECK_EQ_INT(reports->n, 0);
    o->err = (struct dr_err){.code = DR_OK};
    CHECK_OK(dr_process_init(&o->process, false, &o->err), o->err);
    CHECK_OK(dr_live_init(&o->live, &o->settings, env, &o->process, &o->err), o->err);
    return dr_live_open(&o->live, parts, &o->err);
}

static int open_parts(struct opened *o, const char *yaml, unsigned parts) { return open_parts_with(o, no_env, yaml, parts); }

static void close_parts(struct opened *o) {
    dr_live_deinit(&o->live);
    dr_process_deinit(&o->process);
    dr_arena_deinit(&o->arena);
}

TEST(live, wrong_settings_are_one_line_that_names_the_key) {
    static const struct {
        const char *yaml;
        unsigned parts;
        const char *expected;
    } cases[] = {
        {"state: {file: /nonexistent/x.db}\n", DR_LIVE_STORE, "state.file: /nonexistent/x.db: "},
        {"cluster: a\n", DR_LIVE_COMPUTE, "ec2.launchTemplate: is not set: name the launch template"},
        {"ec2: {launchTemplate: lt-1}\n", DR_LIVE_COMPUTE, "ec2.subnets: is not set: name the subnets"},
        {"ec2: {launchTemplate: lt-1, subnets: [subnet-1], taints: ['a=b:Never']}\n", DR_LIVE_COMPUTE,
         "ec2.taints: a=b:Never: must be name=value:NoSchedule"},
        {"ec2: {image: ami-1, subnets: [subnet-1], userDataFile: /nonexistent/u}\n", DR_LIVE_COMPUTE,
         "ec2.userDataFile: /nonexistent/u: No such file"},
        {"cluster: a\n", DR_LIVE_CLUSTER, "kubernetes.kubeconfig: is not set, and there is no service account"},
        {"kubernetes: {kubeconfig: /nonexistent/k}\n", DR_LIVE_CLUSTER, "kubernetes.kubeconfig: "},
        {"kubernetes: {endpoint: 'https://k:6443', token: 'file:/nonexistent/t'}\n", DR_LIVE_CLUSTER,
         "kubernetes.token: /nonexistent/t: No such file"},
        {"prometheus: {url: 'http://p', token: 'file:/nonexistent/t'}\n", DR_LIVE_METRICS,
         "prometheus.token: /nonexistent/t: No such file"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct opened o;
        CHECK_EQ_INT(open_parts(&o, cases[i].yaml, cases[i].parts), -1);
        CHECK_CONTAINS(dr_str_of(o.err.text), cases[i].expected);
        CHECK(strchr(o.err.text, '\n') == NULL);
        close_parts(&o);
    }
}

TEST(live, empty_secret_file_is_refused) {
    char path[600];
    snprintf(path, sizeof(path), "%s/token", dr_test_tmpdir());
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    fputs(" \n", file);
    fclose(file);
    struct opened o;
    char yaml[800];
    snprintf(yaml, sizeof(yaml), "kubernetes: {endpoint: 'https://k:6443', token: 'file:%s'}\n", path);
    CHECK_EQ_INT(open_parts(&o, yaml, DR_LIVE_CLUSTER), -1);
    CHECK_CONTAINS(dr_str_of(o.err.text), "is empty");
    close_parts(&o);
}

TEST(live, good_settings_open_every_part_without_calling_anybody) {
    char yaml[2000];
    char token[600];
    snprintf(token, sizeof(token), "%s/token", dr_test_tmpdir());
    FILE *file = fopen(token, "wb");
    CHECK(file != NULL);
    fputs("abc\n", file);
    fclose(file);
    snprintf(yaml, sizeof(yaml),
             "state: {file: %s/state.db}\n"
             "aws: {region: eu-west-1}\n"
             "ec2: {launchTemplate: lt-1, subnets: [subnet-1], taints: ['a=b:NoSchedule'], labels: {x: y}}\n"
             "kubernetes: {endpoint: 'https://127.0.0.1:1', token: 'file:%s'}\n"
             "prometheus: {url: 'http://127.0.0.1:1'}\n"
             "events: {queueUrl: 'http://127.0.0.1:1/1/q'}\n",
             dr_test_tmpdir(), token);
    struct opened o;
    CHECK_OK(open_parts(&o, yaml, DR_LIVE_TICK | DR_LIVE_QUEUE), o.err);
    CHECK(o.live.ports.store.ops != NULL && o.live.ports.compute.ops != NULL);
    CHECK(o.live.ports.cluster.ops != NULL && o.live.ports.metrics.ops != NULL);
    CHECK_EQ_INT(dr_http_stats(o.live.http).calls, 0);
    close_parts(&o);
}

TEST(live, reader_of_a_state_that_is_not_there_sees_an_empty_one_and_makes_none) {
    char yaml[700];
    snprintf(yaml, sizeof(yaml), "state: {file: %s/none.db}\n", dr_test_tmpdir());
    struct opened o;
    CHECK_OK(open_parts(&o, yaml, DR_LIVE_STORE | DR_LIVE_READ_ONLY), o.err);
    struct dr_state state;
    const struct dr_store *store = &o.live.ports.store;
    CHECK_OK(store->ops->load(store->self, &o.arena, DR_STR("c"), 0, &state, &o.err), o.err);
    CHECK(!state.exists);
    snprintf(yaml, sizeof(yaml), "%s/none.db", dr_test_tmpdir());
    CHECK(fopen(yaml, "rb") == NULL);
    close_parts(&o);
}

TEST(live, without_prometheus_every_signal_is_unknown_with_the_reason) {
    struct opened o;
    CHECK_OK(open_parts(&o, "cluster: a\n", DR_LIVE_METRICS), o.err);
    struct dr_reading readings[2];
    const struct dr_metrics *metrics = &o.live.ports.metrics;
    metrics->ops->read(metrics->self, &o.arena, o.settings.cfg.signals, 2, 0, 0, readings);
    CHECK(!readings[0].known && !readings[1].known);
    CHECK_EQ_STR(readings[1].why, "prometheus.url is not set");
    close_parts(&o);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

TEST(live, secret_that_was_rotated_is_noticed_and_one_that_cannot_be_read_is_not) {
    char path[600];
    char yaml[800];
    snprintf(path, sizeof(path), "%s/password", dr_test_tmpdir());
    write_file(path, "one\n");
    snprintf(yaml, sizeof(yaml), "prometheus: {url: 'http://127.0.0.1:1', user: u, password: 'file:%s'}\n", path);
    struct opened o;
    CHECK_OK(open_parts(&o, yaml, DR_LIVE_METRICS), o.err);
    CHECK(!dr_live_outdated(&o.live, false));
    CHECK_EQ_INT(remove(path), 0);
    CHECK(!dr_live_outdated(&o.live, false));
    write_file(path, "two\n");
    CHECK(dr_live_outdated(&o.live, false));
    close_parts(&o);
}

/* ---- {server} ---- */

#define SERVER(id, ip)                                                                                                                     \
    "<item><instancesSet><item><instanceId>" id "</instanceId><instanceState><name>running</name></instanceState>"                         \
    "<instanceType>t3.medium</instanceType><launchTime>2026-11-15T20:00:00Z</launchTime><placement><availabilityZone>a</availabilityZone>" \
    "</placement><privateIpAddress>" ip "</privateIpAddress></item></instancesSet></item>"
#define SERVERS(inner) "<DescribeInstancesResponse><reservationSet>" inner "</reservationSet></DescribeInstancesResponse>"

static int open_by_tags(struct opened *o, const struct dr_server *server, const char *rest) {
    char token[600];
    char yaml[1600];
    static const char *const env[] = {"HOME=/nonexistent", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"};
    memcpy(o->env, env, sizeof(env));
    snprintf(o->endpoint, sizeof(o->endpoint), "AWS_ENDPOINT_URL=%s", dr_server_url(server, "").p);
    o->env[3] = o->endpoint;
    o->env[4] = NULL;
    snprintf(token, sizeof(token), "%s/token", dr_test_tmpdir());
    write_file(token, "abc\n");
    snprintf(yaml, sizeof(yaml),
             "cluster: shop\naws: {region: eu-west-1}\nprometheus: {url: 'http://{server}:30090/{server}'}\n"
             "kubernetes: {endpoint: 'https://{server}:6443', token: 'file:%s'%s}\n",
             token, rest);
    return open_parts_with(o, o->env, yaml, DR_LIVE_CLUSTER | DR_LIVE_METRICS);
}

TEST(live, server_is_found_by_its_tags_once_and_looked_for_again) {
    static const struct dr_server_answer answers[] = {
        {200, NULL, SERVERS(SERVER("i-1", "10.0.0.1"))},                           /* at the start */
        {200, NULL, SERVERS(SERVER("i-1", "10.0.0.1"))},                           /* unchanged, and nobody else to ask */
        {200, NULL, SERVERS(SERVER("i-1", "10.0.0.1") SERVER("i-2", "10.0.0.2"))}, /* another, but this one answers */
        {200, NULL, SERVERS(SERVER("i-1", "10.0.0.1") SERVER("i-2", "10.0.0.2"))}, /* another, and this one does not answer */
        {200, NULL, SERVERS("")},                                                  /* nobody: nothing better is known */
        {200, NULL, SERVERS(SERVER("i-2", "10.0.0.2"))},                           /* it is gone */
    };
    struct dr_server_script script = {answers, sizeof(answers) / sizeof(answers[0])};
    struct dr_server *server = dr_server_start(dr_server_script, &script);
    struct opened o;
    CHECK_OK(open_by_tags(&o, server, ""), o.err);
    CHECK_EQ_INT(dr_server_requests(server), 1);
    CHECK_EQ_STR(o.live.server, "10.0.0.1");
    CHECK_CONTAINS(o.live.cluster_from, "server 10.0.0.1 by its tags");
    CHECK(!dr_live_outdated(&o.live, true));
    CHECK(!dr_live_outdated(&o.live, false));
    CHECK(dr_live_outdated(&o.live, true));
    CHECK(!dr_live_outdated(&o.live, true));
    CHECK(dr_live_outdated(&o.live, false));
    close_parts(&o);
    dr_server_stop(server);
}

TEST(live, server_that_cannot_be_found_is_one_line_that_names_key_and_tags) {
    static const struct {
        struct dr_server_answer answer;
        const char *rest;
        const char *expected;
    } cases[] = {
        {{200, NULL, SERVERS("")}, "", "kubernetes.endpoint: no running instance has the tags of a server (drover.dev/cluster="},
        {{200, NULL, SERVERS("")}, ", serverTags: {k3s: server}", "has the tags of a server (kubernetes.serverTags)"},
        {{403, NULL, "<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors></Response>"},
         "",
         "kubernetes.endpoint: ec2 DescribeInstances: "},
        {{200, NULL, "<html>sign in</html>"}, "", "kubernetes.endpoint: ec2 DescribeInstances: "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dr_server_script script = {&cases[i].answer, 1};
        struct dr_server *server = dr_server_start(dr_server_script, &script);
        struct opened o;
        CHECK_EQ_INT(open_by_tags(&o, server, cases[i].rest), -1);
        CHECK_CONTAINS(dr_str_of(o.err.text), cases[i].expected);
        CHECK(strchr(o.err.text, '\n') == NULL);
        close_parts(&o);
        dr_server_stop(server);
    }
}
