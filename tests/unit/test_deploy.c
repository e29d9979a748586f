/*
 * Hazard 36: a role that lacks a call the code makes, or allows what it never uses. The calls are read out of the sources of the adapters, the permissions out of the
 * files that we ship.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

#include "harness/test.h"

#define MAX_NAMES 64

struct names {
    char v[MAX_NAMES][96];
    size_t n;
};

static bool has(const struct names *names, const char *name) {
    for (size_t i = 0; i < names->n; i++) {
        if (strcmp(names->v[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void add(struct names *names, const char *prefix, const char *name, size_t n) {
    char text[96];
    snprintf(text, sizeof(text), "%s%.*s", prefix, (int)n, name);
    if (!has(names, text)) {
        CHECK(names->n < MAX_NAMES);
        memcpy(names->v[names->n++], text, sizeof(text));
    }
}

static void compare(const struct names *made, const struct names *allowed) {
    for (size_t i = 0; i < made->n; i++) {
        if (!has(allowed, made->v[i])) {
            FAIL("the code calls %s, which nothing that we ship allows", made->v[i]);
        }
    }
    for (size_t i = 0; i < allowed->n; i++) {
        if (!has(made, allowed->v[i])) {
            FAIL("%s is allowed, but the code never calls it", allowed->v[i]);
        }
    }
}

/* ---- AWS ---- */

/* Is the text the name of an action: a verb of AWS and a thing? */
static size_t action_length(const char *text) {
    static const char *const verbs[] = {"Describe", "Run",     "Terminate", "Create", "Get",      "Put",   "Update",
                                        "Query",    "Receive", "Delete",    "Batch",  "Transact", "Scan",  "Send",
                                        "Change",   "List",    "Tag",       "Modify", "Stop",     "Start", "Assume"};
    size_t n = 0;
    while (isalnum((unsigned char)text[n])) {
        n++;
    }
    bool verb = false;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]) && !verb; i++) {
        size_t v = strlen(verbs[i]);
        verb = strncmp(text, verbs[i], v) == 0 &&
               (n == v ? strcmp(verbs[i], "Query") == 0 || strcmp(verbs[i], "Scan") == 0 : isupper((unsigned char)text[v]) != 0);
    }
    return verb && text[n] == '"' ? n : 0;
}

/* How the adapters name the action of a call: these come right before its text. */
static bool names_a_call(const char *start, const char *quote) {
    static const char *const before[] = {".action = ",
                                         "dr_ec2_request(",
                                         "perform(ec2, ",
                                         "try_call(ec2, ",
                                         "dr_dynamodb_begin(&call, db, ",
                                         "dr_dynamodb_begin(call, db, ",
                                         "ask(db, &arena, ",
                                         ".action = parameter ? ",
                                         "\"GetParameter\" : ",
                                         "SUBNETS] = ",
                                         "TEMPLATE] = ",
                                         "TYPES] = "};
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        size_t n = strlen(before[i]);
        if ((size_t)(quote - start) >= n && strncmp(quote - n, before[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static void calls_of_file(const char *path, const char *service, struct names *ret) {
    char *text = dr_test_read_file(dr_test_path(path), &(size_t){0});
    for (const char *quote = strchr(text, '"'); quote != NULL; quote = strchr(quote + 1, '"')) {
        size_t n = action_length(quote + 1);
        if (n > 0 && names_a_call(text, quote)) {
            add(ret, service, quote + 1, n);
        }
    }
    free(text);
}

static void calls_of_folder(const char *folder, const char *service, struct names *ret) {
    DIR *dir = opendir(dr_test_path(folder));
    CHECK(dir != NULL);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (dr_str_ends(dr_str_of(entry->d_name), ".c")) {
            char path[512];
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            calls_of_file(path, service, ret);
        }
    }
    closedir(dir);
}

static void actions_of_policy(const char *path, struct names *ret) {
    static const char *const services[] = {"ec2:", "dynamodb:", "sqs:", "ssm:", "secretsmanager:", "iam:", "sts:", "sns:", "kms:"};
    char *text = dr_test_read_file(dr_test_path(path), &(size_t){0});
    for (const char *quote = strchr(text, '"'); quote != NULL; quote = strchr(quote + 1, '"')) {
        for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++) {
            size_t n = strlen(services[i]);
            size_t end = strcspn(quote + 1, "\"");
            /* Condition keys (ec2:CreateAction) are followed by a colon. */
            if (strncmp(quote + 1, services[i], n) == 0 && quote[end + 2] != ':') {
                add(ret, "", quote + 1, end);
            }
        }
    }
    free(text);
}

TEST(hazard_36, policy_lists_exactly_the_calls_that_the_code_makes) {
    struct names made = {.n = 0};
    struct names allowed = {.n = 0};
    calls_of_folder("src/adapter/ec2", "ec2:", &made);
    calls_of_folder("src/adapter/dynamodb", "dynamodb:", &made);
    calls_of_folder("src/adapter/sqs", "sqs:", &made);
    calls_of_file("src/app/check_cloud.c", "sqs:", &made);
    calls_of_file("src/adapter/ssm/ssm.c", "", &made);
    CHECK(has(&made, "ec2:RunInstances") && has(&made, "dynamodb:UpdateTimeToLive") && has(&made, "sqs:ReceiveMessage"));
    struct names expected = {.n = 0};
    for (size_t i = 0; i < made.n; i++) {
        const char *name = made.v[i];
        if (strcmp(name, "GetParameter") == 0 || strcmp(name, "GetParameters") == 0) {
            add(&expected, "ssm:", name, strlen(name));
        } else if (strcmp(name, "GetSecretValue") == 0) {
            add(&expected, "secretsmanager:", name, strlen(name));
        } else if (strcmp(name, "sqs:DeleteMessageBatch") == 0) {
            add(&expected, "", "sqs:DeleteMessage", 17);                /* IAM knows no actions for batches */
        } else if (strcmp(name, "ec2:DescribeSpotPriceHistory") != 0) { /* for the reports of costs that are to come: no command asks yet */
            add(&expected, "", name, strlen(name));
        }
    }
    add(&expected, "", "iam:PassRole", 12); /* a launch with an instance profile */
    actions_of_policy("deploy/iam/policy.json", &allowed);
    actions_of_policy("deploy/iam/setup-policy.json", &allowed);
    compare(&expected, &allowed);
}

TEST(hazard_36, policy_for_every_day_makes_no_tables) {
    struct names allowed = {.n = 0};
    actions_of_policy("deploy/iam/policy.json", &allowed);
    CHECK(!has(&allowed, "dynamodb:CreateTable") && !has(&allowed, "dynamodb:UpdateTimeToLive"));
    CHECK(!has(&allowed, "dynamodb:DeleteTable") && !has(&allowed, "dynamodb:DeleteItem"));
}

TEST(hazard_36, launches_and_terminations_are_bound_to_our_tag) {
    char *text = dr_test_read_file(dr_test_path("deploy/iam/policy.json"), &(size_t){0});
    const char *launch = strstr(text, "\"LaunchOnlyWithOurTag\"");
    const char *terminate = strstr(text, "\"TerminateOnlyOurOwn\"");
    CHECK(launch != NULL && terminate != NULL);
    const char *tag = strstr(launch, "aws:RequestTag/drover.dev/cluster");
    CHECK(tag != NULL && tag < strstr(launch, "\"Sid\""));
    tag = strstr(terminate, "aws:ResourceTag/drover.dev/cluster");
    CHECK(tag != NULL && tag < strstr(terminate, "\"Sid\""));
    free(text);
}

/* ---- Kubernetes ---- */

static void words_of_list(const char *line, struct names *ret) {
    ret->n = 0;
    for (const char *quote = strchr(line, '"'); quote != NULL && quote < strchr(line, ']'); quote = strchr(quote + 1, '"')) {
        size_t n = strcspn(quote + 1, "\"");
        add(ret, "", quote + 1, n);
        quote += n + 1;
    }
}

static void rules_of_role(struct names *ret) {
    char *text = dr_test_read_file(dr_test_path("deploy/kubernetes/rbac.yaml"), &(size_t){0});
    const char *at = text;
    while ((at = strstr(at, "apiGroups:")) != NULL) {
        const char *resources = strstr(at, "resources:");
        const char *verbs = strstr(at, "verbs:");
        if (resources == NULL || verbs == NULL) {
            break; /* the binding has a group too */
        }
        struct names r;
        struct names v;
        words_of_list(resources, &r);
        words_of_list(verbs, &v);
        for (size_t i = 0; i < r.n; i++) {
            for (size_t k = 0; k < v.n; k++) {
                char rule[200];
                snprintf(rule, sizeof(rule), "%s %s", v.v[k], r.v[i]);
                add(ret, "", rule, strlen(rule));
            }
        }
        at = verbs;
    }
    free(text);
}

/* The table of drover check: {"verb", "group", "resource", "subresource", needed}. */
static void rules_of_check(struct names *ret) {
    char *text = dr_test_read_file(dr_test_path("src/app/check_cluster.c"), &(size_t){0});
    const char *at = strstr(text, "permissions[] = {");
    CHECK(at != NULL);
    const char *end = strstr(at, "};");
    char verb[32];
    char resource[64];
    char sub[32];
    for (at = strstr(at, "{\""); at != NULL && at < end; at = strstr(at + 1, "{\"")) {
        sub[0] = '\0';
        const char *p = at + 2;
        snprintf(verb, sizeof(verb), "%.*s", (int)strcspn(p, "\""), p);
        p = strchr(strchr(p, '"') + 1, '"') + 1; /* group */
        p = strchr(p, '"') + 1;
        p = strchr(p, '"') + 1;
        snprintf(resource, sizeof(resource), "%.*s", (int)strcspn(p, "\""), p);
        p = strchr(strchr(p, '"') + 1, '"') + 1;
        snprintf(sub, sizeof(sub), "%.*s", (int)strcspn(p, "\""), p);
        char rule[200];
        snprintf(rule, sizeof(rule), "%s %s%s%s", verb, resource, sub[0] == '\0' ? "" : "/", sub);
        add(ret, "", rule, strlen(rule));
    }
    free(text);
}

/* Requests of the adapter by their paths and methods. */
static void rules_of_adapter(struct names *ret) {
    static const struct {
        const char *file, *evidence, *rule;
    } table[] = {
        {"lists.c", "\"/api/v1/nodes?\"", "list nodes"},
        {"lists.c", "\"/api/v1/pods?", "list pods"},
        {"lists.c", "\"/apis/policy/v1/poddisruptionbudgets?\"", "list poddisruptionbudgets"},
        {"lists.c", "\"/api/v1/persistentvolumeclaims?\"", "list persistentvolumeclaims"},
        {"lists.c", "\"/api/v1/persistentvolumes?\"", "list persistentvolumes"},
        {"lists.c", "\"/apis/storage.k8s.io/v1/storageclasses?\"", "list storageclasses"},
        {"watch.c", "\"/api/v1/nodes?watch=1\"", "watch nodes"},
        {"watch.c", "\"/api/v1/pods?watch=1", "watch pods"},
        {"effects.c", ".method = \"GET\", .path = node_path(", "get nodes"},
        {"effects.c", ".method = \"PATCH\"", "patch nodes"},
        {"effects.c", ".method = \"DELETE\"", "delete nodes"},
        {"effects.c", ".method = \"GET\", .path = pod_path(", "get pods"},
        {"effects.c", ".method = \"POST\"", "create pods/eviction"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char path[200];
        snprintf(path, sizeof(path), "src/adapter/kubernetes/%s", table[i].file);
        char *text = dr_test_read_file(dr_test_path(path), &(size_t){0});
        if (strstr(text, table[i].evidence) != NULL) {
            add(ret, "", table[i].rule, strlen(table[i].rule));
        }
        free(text);
    }
}

/* A path or a method that the table above does not know would slip past it. */
static size_t count(const char *folder, const char *what) {
    size_t found = 0;
    DIR *dir = opendir(dr_test_path(folder));
    CHECK(dir != NULL);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (!dr_str_ends(dr_str_of(entry->d_name), ".c")) {
            continue;
        }
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        char *text = dr_test_read_file(dr_test_path(path), &(size_t){0});
        for (const char *p = strstr(text, what); p != NULL; p = strstr(p + 1, what)) {
            found++;
        }
        free(text);
    }
    closedir(dir);
    return found;
}

TEST(hazard_36, role_lists_exactly_the_calls_that_the_code_makes) {
    struct names role = {.n = 0};
    struct names adapter = {.n = 0};
    struct names check = {.n = 0};
    rules_of_role(&role);
    rules_of_adapter(&adapter);
    rules_of_check(&check);
    compare(&adapter, &role);
    compare(&check, &role);
    CHECK_EQ_INT(count("src/adapter/kubernetes", "\"/api"), 11); /* six lists, two watches, node, pod, access review */
    CHECK_EQ_INT(count("src/adapter/kubernetes", ".method = \""), 9);
}

TEST(hazard_36, nothing_that_we_ship_carries_a_token_or_skips_verification) {
    static const char *const files[] = {"deploy/user-data/worker.sh", "deploy/kubernetes/deployment.yaml", "deploy/systemd/drover.service"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char *text = dr_test_read_file(dr_test_path(files[i]), &(size_t){0});
        CHECK(strstr(text, "insecure") == NULL);
        CHECK(strstr(text, "K10") == NULL); /* how K3s tokens begin */
        CHECK(strstr(text, "AKIA") == NULL);
        free(text);
    }
    char *worker = dr_test_read_file(dr_test_path("deploy/user-data/worker.sh"), &(size_t){0});
    CHECK(strstr(worker, "aws ssm get-parameter") != NULL);
    CHECK(strstr(worker, "provider-id=aws:///") != NULL);
    CHECK(strstr(worker, "drover.dev/instance-id=") != NULL);
    free(worker);
    CHECK_EQ_INT(count("src/adapter/http", "SSL_VERIFYPEER, 0") + count("src/adapter/http", "SSL_VERIFYHOST, 0"), 0);
}
