#include "app/kubeconfig.h"

#include <stdio.h>

#include "harness/test.h"

struct rig {
    struct dr_arena arena;
    struct dr_err err;
    struct dr_kubernetes_options options;
    const char *dir;
};

static void init(struct rig *g) {
    memset(g, 0, sizeof *g);
    dr_arena_init(&g->arena, 0);
    g->dir = dr_test_tmpdir();
}

static const char *put(struct rig *g, const char *name, const char *text) {
    const char *path = dr_str_fmt(&g->arena, "%s/%s", g->dir, name).p;
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

static const char TWO[] =
    "apiVersion: v1\nkind: Config\ncurrent-context: first\nclusters:\n- name: c1\n  cluster:\n    server: https://10.0.0.1:6443\n"
    "    certificate-authority-data: LS0tLS1CRUdJTiBYLS0tLS0K\n- name: c2\n  cluster: {server: https://two:6443, certificate-authority: "
    "ca.pem}\n"
    "contexts:\n- {name: first, context: {cluster: c1, user: u1}}\n- {name: second, context: {cluster: c2, user: u2, namespace: x}}\n"
    "users:\n- name: u1\n  user: {token: abc}\n- name: u2\n  user:\n    client-certificate-data: LS0tLS1CRUdJTiBZLS0tLS0K\n    client-key: "
    "key.pem\n"
    "    tokenFile: tok\n";

TEST(kubeconfig, current_context_is_taken_unless_one_is_named) {
    struct rig g;
    init(&g);
    put(&g, "ca.pem", "-----BEGIN A-----\n");
    put(&g, "key.pem", "-----BEGIN K-----\n");
    const char *path = put(&g, "config", TWO);
    CHECK_OK(dr_kubeconfig_load(&g.arena, path, DR_STR_NONE, &g.options, &g.err), g.err);
    CHECK_EQ_STR(g.options.server, "https://10.0.0.1:6443");
    CHECK_EQ_STR(g.options.ca_pem, "-----BEGIN X-----\n");
    CHECK_EQ_STR(g.options.token, "abc");
    CHECK(g.options.cert_pem.n == 0 && g.options.token_file == NULL);
    memset(&g.options, 0, sizeof g.options);
    CHECK_OK(dr_kubeconfig_load(&g.arena, path, DR_STR("second"), &g.options, &g.err), g.err);
    CHECK_EQ_STR(g.options.server, "https://two:6443");
    CHECK_EQ_STR(g.options.ca_pem, "-----BEGIN A-----\n"); /* beside the file, wherever we stand */
    CHECK_EQ_STR(g.options.cert_pem, "-----BEGIN Y-----\n");
    CHECK_EQ_STR(g.options.key_pem, "-----BEGIN K-----\n");
    CHECK_CONTAINS(dr_str_of(g.options.token_file), "/tok");
    dr_arena_deinit(&g.arena);
}

TEST(kubeconfig, of_several_files_the_first_entry_of_a_name_counts) {
    struct rig g;
    init(&g);
    const char *a = put(&g, "a", "current-context: x\nclusters: [{name: c, cluster: {server: https://a}}]\n");
    const char *b = put(
        &g, "b",
        "current-context: y\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: https://b}}]\n"
        "users: [{name: u, user: {token: t}}]\n");
    const char *both = dr_str_fmt(&g.arena, "%s:%s/none:%s", a, g.dir, b).p;
    CHECK_OK(dr_kubeconfig_load(&g.arena, both, DR_STR_NONE, &g.options, &g.err), g.err);
    CHECK_EQ_STR(g.options.server, "https://a");
    CHECK_EQ_STR(g.options.token, "t");
    dr_arena_deinit(&g.arena);
}

#define WITH(cluster, user)                                                                                                                \
    "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters:\n- name: c\n  cluster: {" cluster                \
    "}\nusers:\n- name: u\n  user: {" user "}\n"

TEST(kubeconfig, what_cannot_be_honoured_is_refused_with_what_to_do) {
    static const struct {
        const char *text;
        const char *says;
    } table[] = {
        {WITH("server: https://a", "exec: {command: aws}"), "exec is not supported: plugins are not run"},
        {WITH("server: https://a", "auth-provider: {name: gcp}"), "auth-provider is not supported"},
        {WITH("server: https://a", "username: admin, password: x"), "username is not supported"},
        {WITH("server: https://a, insecure-skip-tls-verify: true", "token: t"), "insecure-skip-tls-verify is refused"},
        {WITH("server: https://a, proxy-url: http://p", "token: t"), "set HTTPS_PROXY instead"},
        {WITH("server: https://a, tls-server-name: b", "token: t"), "tls-server-name is not supported"},
        {WITH("server: https://a, certificate-authority-data: '*'", "token: t"), "certificate-authority-data is not base64"},
        {WITH("server: https://a, certificate-authority-data: QUJD", "token: t"), "not in PEM form"},
        {WITH("server: https://a, certificate-authority: /nonexistent", "token: t"), "/nonexistent"},
        {WITH("server: https://a", "client-certificate-data: LS0tLS1CRUdJTiBZLS0tLS0K"), "belong together"},
        {WITH("namespace: a", "token: t"), "has no server"},
        {"current-context: x\n", "no context \"x\""},
        {"contexts: []\n", "no current-context"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n", "no cluster \"c\""},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: https://a}}]\n",
         "no user \"u\""},
        {"a: [", "config:"},
        {"contexts: 7\ncurrent-context: x\n", "no context"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct rig g;
        init(&g);
        const char *path = put(&g, "config", table[i].text);
        CHECK(dr_kubeconfig_load(&g.arena, path, DR_STR_NONE, &g.options, &g.err) < 0);
        CHECK_CONTAINS(dr_str_of(g.err.text), table[i].says);
        dr_arena_deinit(&g.arena);
    }
}

TEST(kubeconfig, missing_file_is_not_found) {
    struct rig g;
    init(&g);
    CHECK_FAILS(dr_kubeconfig_load(&g.arena, "/nonexistent/config", DR_STR_NONE, &g.options, &g.err), g.err, DR_E_NOT_FOUND);
    CHECK_FAILS(dr_kubeconfig_load(&g.arena, "/nonexistent/a:/nonexistent/b", DR_STR_NONE, &g.options, &g.err), g.err, DR_E_NOT_FOUND);
    dr_arena_deinit(&g.arena);
}

TEST(kubeconfig, service_account_of_a_pod) {
    struct rig g;
    init(&g);
    put(&g, "token", "t");
    put(&g, "ca.crt", "-----BEGIN C-----\n");
    CHECK_OK(dr_kubeconfig_in_cluster(&g.arena, g.dir, "fd00::1", "443", &g.options, &g.err), g.err);
    CHECK_EQ_STR(g.options.server, "https://[fd00::1]:443");
    CHECK_EQ_STR(g.options.ca_pem, "-----BEGIN C-----\n");
    CHECK_CONTAINS(dr_str_of(g.options.token_file), "/token");
    CHECK_FAILS(dr_kubeconfig_in_cluster(&g.arena, g.dir, NULL, "443", &g.options, &g.err), g.err, DR_E_NOT_FOUND);
    CHECK_FAILS(dr_kubeconfig_in_cluster(&g.arena, "/nonexistent", "a", "443", &g.options, &g.err), g.err, DR_E_NOT_FOUND);
    dr_arena_deinit(&g.arena);
}
