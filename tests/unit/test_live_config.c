/* Settings of the adapters: values, contradictions, secrets that are never repeated, and hazard 38. */
#include <dirent.h>
#include <stdio.h>

#include "app/config_file.h"
#include "harness/test.h"

struct loaded {
    struct dr_arena arena;
    struct dr_reports reports;
    struct dr_settings settings;
    struct dr_buf text;
    int result;
};

static void load(struct loaded *l, const char *yaml, const char *const *env) {
    dr_arena_init(&l->arena, 0);
    dr_buf_init(&l->text, 1 << 20);
    struct dr_str name = dr_str_fmt(&l->arena, "%s/f.yaml", dr_test_tmpdir());
    FILE *file = fopen(name.p, "wb");
    CHECK(file != NULL);
    CHECK_EQ_INT(fwrite(yaml, 1, strlen(yaml), file), strlen(yaml));
    fclose(file);
    struct dr_settings_source source = {name.p, NULL, env};
    dr_reports_init(&l->reports, &l->arena, name.p);
    l->result = dr_settings_load(&l->settings, &l->arena, &source, &l->reports);
    dr_reports_put(&l->reports, &l->text);
}

static void unload(struct loaded *l) {
    dr_buf_deinit(&l->text);
    dr_arena_deinit(&l->arena);
}

TEST(live_config, sections_lists_and_mappings_are_read) {
    struct loaded l;
    load(&l,
         "state: {table: s, logsTable: l}\n"
         "ec2:\n"
         "  launchTemplate: lt-1\n"
         "  subnets: [subnet-a, subnet-b]\n"
         "  tags:\n"
         "    drover.dev/cluster: shop\n"
         "    team: a b\n"
         "  types: t3.large\n"
         "prometheus: {url: 'http://p:9090/x', step: 30s}\n",
         NULL);
    CHECK_EQ_CSTR(l.text.p == NULL ? "" : l.text.p, "");
    const struct dr_live_config *live = &l.settings.live;
    CHECK_EQ_INT(live->subnets.n, 2);
    CHECK_EQ_STR(live->subnets.v[1], "subnet-b");
    CHECK_EQ_INT(live->pool_tags.n, 2);
    CHECK_EQ_STR(live->pool_tags.v[0], "drover.dev/cluster=shop");
    CHECK_EQ_STR(live->pool_tags.v[1], "team=a b");
    CHECK_EQ_INT(live->types.n, 1);
    CHECK_EQ_INT(live->prometheus_step_ms, 30000);
    CHECK_EQ_INT(dr_live_store(live), DR_STORE_DYNAMODB);
    unload(&l);
}

TEST(live_config, store_is_sqlite_unless_a_table_is_named) {
    struct loaded l;
    load(&l, "cluster: a\n", NULL);
    CHECK_EQ_INT(dr_live_store(&l.settings.live), DR_STORE_SQLITE);
    CHECK_EQ_STR(l.settings.live.state_file, "drover.db");
    unload(&l);
}

TEST(live_config, usual_variables_win_over_the_file) {
    static const char *const env[] = {"STATE_TABLE=from-env", "LOGS_TABLE=logs", "PROMETHEUS_URL=http://env:9090", NULL};
    struct loaded l;
    load(&l, "state: {table: from-file}\nprometheus: {url: 'http://file'}\n", env);
    CHECK_EQ_STR(l.settings.live.state_table, "from-env");
    CHECK_EQ_STR(l.settings.live.prometheus_url, "http://env:9090");
    unload(&l);
}

TEST(live_config, secret_in_the_place_of_its_place_is_refused_and_not_repeated) {
    struct loaded l;
    load(&l, "kubernetes: {endpoint: 'https://k', token: eyJhbGciOi}\nprometheus: {user: u, password: hunter2}\n", NULL);
    CHECK_EQ_INT(l.result, -1);
    CHECK_CONTAINS(dr_buf_str(&l.text),
                   "kubernetes.token: ***: must be where the secret is kept: file:PATH, ssm:NAME or secretsmanager:ID");
    CHECK_CONTAINS(dr_buf_str(&l.text), "prometheus.password: ***: ");
    CHECK(strstr(l.text.p, "eyJ") == NULL);
    CHECK(strstr(l.text.p, "hunter2") == NULL);
    unload(&l);
}

TEST(live_config, contradictions_and_gaps_name_the_key_and_the_line) {
    static const struct {
        const char *yaml;
        const char *expected;
    } cases[] = {
        {"state: {store: dynamodb, logsTable: l}\n", "state.table: : is needed with state.store dynamodb"},
        {"state: {table: s}\n", "state.logsTable: : is needed with state.store dynamodb"},
        {"ec2: {launchTemplate: a, image: ami-1}\n", ":1:33: ec2.image: ami-1: is given beside ec2.launchTemplate"},
        {"kubernetes: {endpoint: 'http://k', token: 'file:t'}\n", ":1:24: kubernetes.endpoint: http://k: must begin with https://"},
        {"kubernetes: {endpoint: 'https://k'}\n", "kubernetes.token: : is needed with kubernetes.endpoint"},
        {"kubernetes: {endpoint: 'https://k', token: 'file:t', kubeconfig: k}\n", "beside kubernetes.kubeconfig"},
        {"prometheus: {url: prometheus}\n", "prometheus.url: prometheus: must begin with http:// or https://"},
        {"prometheus: {user: u}\n", "prometheus.password: : is needed with prometheus.user"},
        {"prometheus: {user: u, password: 'file:p', token: 'file:t'}\n", "prometheus.token: file:t: is given beside prometheus.user"},
        {"health: {listen: '0.0.0.0:80'}\n", "health.listen: 0.0.0.0:80: must be on loopback"},
        {"ec2: {subnets: [a, a]}\n", "ec2.subnets: [a, a]: must be a list of up to 50 texts"},
        {"ec2: {tags: [no-equals]}\n", "ec2.tags: [no-equals]: must be a list of up to 20 texts such as name=value, or a mapping"},
        {"ec2: {subnts: [a]}\n", "ec2.subnts: unknown key; did you mean ec2.subnets?"},
        {"daemon: {batch: 1m}\n", "daemon.batch: 1m: must be a time"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct loaded l;
        load(&l, cases[i].yaml, NULL);
        CHECK_EQ_INT(l.result, -1);
        CHECK_CONTAINS(dr_buf_str(&l.text), cases[i].expected);
        unload(&l);
    }
}

/* ---- hazard 38 ---- */

static bool mentioned(const char *text, const char *member, const char *before) {
    size_t n = strlen(member);
    for (const char *p = strstr(text, member); p != NULL; p = strstr(p + 1, member)) {
        bool whole = !((p[n] >= 'a' && p[n] <= 'z') || (p[n] >= '0' && p[n] <= '9') || p[n] == '_');
        if (whole && p > text && strchr(before, p[-1]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Does a file of src/app other than the table itself read the member? */
static bool used(const char *member) {
    DIR *dir = opendir(dr_test_path("src/app"));
    CHECK(dir != NULL);
    bool found = false;
    for (struct dirent *entry = readdir(dir); entry != NULL && !found; entry = readdir(dir)) {
        struct dr_str name = dr_str_of(entry->d_name);
        if (!dr_str_ends(name, ".c") || dr_str_is(name, "live_config.c")) {
            continue;
        }
        char path[512];
        snprintf(path, sizeof(path), "src/app/%s", entry->d_name);
        char *text = dr_test_read_file(dr_test_path(path), &(size_t){0});
        found = mentioned(text, member, ">.");
        free(text);
    }
    closedir(dir);
    return found;
}

TEST(hazard_38, every_setting_of_the_adapters_has_a_key_and_is_used) {
    char *header = dr_test_read_file(dr_test_path("src/app/live_config.h"), &(size_t){0});
    char *table = dr_test_read_file(dr_test_path("src/app/live_config.c"), &(size_t){0});
    char *at = strstr(header, "struct dr_live_config {");
    CHECK(at != NULL);
    *strstr(at, "\n};") = '\0';
    size_t n = 0;
    for (char *line = strtok(strchr(at, '\n') + 1, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *semicolon = strchr(line, ';');
        if (semicolon == NULL) {
            continue;
        }
        *semicolon = '\0';
        const char *member = strrchr(line, ' ') + 1;
        if (!mentioned(table, member, "(")) {
            FAIL("no key sets %s", member);
        }
        /* The store is asked for by dr_live_store alone. */
        if (strcmp(member, "store") != 0 && !used(member)) {
            FAIL("%s is set but nothing in src/app reads it", member);
        }
        n++;
    }
    size_t keys;
    dr_live_keys(&keys);
    CHECK_EQ_INT(n, keys);
    free(header);
    free(table);
}
