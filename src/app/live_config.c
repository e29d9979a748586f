/* The table of the adapters' keys. What stands here is read in live.c or in the daemon; a test compares (hazard 38). */
#include "app/live_config.h"

#include <stddef.h>

#include "base/time.h"

#define AT(member) .offset = offsetof(struct dr_live_config, member)
#define TEXT(limit) .type = DR_KEY_STR, .unit = "", .max = (limit)
#define LIST(limit) .type = DR_KEY_LIST, .unit = "", .max = (limit)
#define SECRET .type = DR_KEY_SECRET, .unit = "", .max = 1000
#define CHOICE(words) .type = DR_KEY_ENUM, .unit = "", .choices = (words)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct dr_key keys[] = {
    {.path = "state.store",
     CHOICE("auto|sqlite|dynamodb"),
     .help = "Where the state is kept; auto: DynamoDB where state.table is given, else an SQLite file.",
     AT(store)},
    {.path = "state.file", TEXT(1000), .env = "DROVER_STATE", .help = "SQLite file of the state.", AT(state_file)},
    {.path = "state.table", TEXT(255), .env = "STATE_TABLE", .help = "DynamoDB table of the state item.", AT(state_table)},
    {.path = "state.logsTable", TEXT(255), .env = "LOGS_TABLE", .help = "DynamoDB table of inbox and journal.", AT(logs_table)},
    {.path = "state.cache",
     TEXT(1000),
     .help = "Folder for what changes rarely (sizes of types, zones of subnets), so that a new process asks for less; empty: none.",
     AT(cache_dir)},

    {.path = "aws.region",
     TEXT(64),
     .choices = "A-Za-z0-9._-",
     .help = "Region; empty: from the environment, the profile or the machine.",
     AT(aws_region)},
    {.path = "aws.profile", TEXT(128), .help = "Profile of the shared files; empty: AWS_PROFILE or default.", AT(aws_profile)},

    {.path = "ec2.tags",
     LIST(20),
     .choices = "name=value",
     .help = "Tags that make an instance a worker of this pool; empty: drover.dev/cluster=<cluster> and drover.dev/role=worker.",
     AT(pool_tags)},
    {.path = "ec2.extraTags", LIST(20), .choices = "name=value", .help = "Further tags of new instances.", AT(extra_tags)},
    {.path = "ec2.name", TEXT(200), .help = "Name tag of new instances; empty: <cluster>-worker.", AT(instance_name)},
    {.path = "ec2.tagVolumes",
     .type = DR_KEY_BOOL,
     .unit = "",
     .help = "Whether volumes that are made with an instance get its tags too.",
     AT(tag_volumes)},
    {.path = "ec2.launchTemplate",
     TEXT(128),
     .help = "Launch template of workers, by id or name; empty: ec2.image and the keys after it.",
     AT(launch_template)},
    {.path = "ec2.templateVersion",
     TEXT(32),
     .help = "Version of the template: a number, $Latest or $Default; empty: $Default.",
     AT(template_version)},
    {.path = "ec2.image", TEXT(64), .help = "Image of workers where there is no launch template.", AT(image_id)},
    {.path = "ec2.keyName", TEXT(255), .help = "Key pair of workers where there is no launch template.", AT(key_name)},
    {.path = "ec2.instanceProfile",
     TEXT(255),
     .help = "Instance profile of workers, by name or ARN, where there is no launch template.",
     AT(instance_profile)},
    {.path = "ec2.userDataFile",
     TEXT(1000),
     .help = "File with the user data of workers where there is no launch template.",
     AT(user_data_file)},
    {.path = "ec2.securityGroups", LIST(16), .help = "Security groups of workers; empty: the template's.", AT(security_groups)},
    {.path = "ec2.publicIp",
     CHOICE("subnet|no|yes"),
     .help = "Whether workers get a public address; subnet: as the subnet says.",
     AT(public_ip)},
    {.path = "ec2.spotMaxPrice",
     TEXT(16),
     .help = "Most that a spot worker may cost, in USD per hour; empty: the on-demand price.",
     AT(spot_max_price)},
    {.path = "ec2.types", LIST(20), .help = "Instance types of workers, the preferred first; empty: the template's.", AT(types)},
    {.path = "ec2.subnets", LIST(50), .help = "Subnets of workers; empty: those with ec2.subnetTags.", AT(subnets)},
    {.path = "ec2.subnetTags",
     LIST(20),
     .choices = "name=value",
     .help = "Tags of the subnets of workers, where ec2.subnets names none.",
     AT(subnet_tags)},
    {.path = "ec2.labels",
     LIST(50),
     .choices = "name=value",
     .help = "Node labels that every new worker will have, so that pods which ask for them are known to fit.",
     AT(labels)},
    {.path = "ec2.taints", LIST(20), .choices = "name=value:NoSchedule", .help = "Taints that every new worker will have.", AT(taints)},
    {.path = "ec2.reserveCpu",
     .type = DR_KEY_INT,
     .unit = "thousandths of a core",
     .max = 100000,
     .help = "What the kubelet keeps of a new worker's cores.",
     AT(reserve_cpu_milli)},
    {.path = "ec2.reserveMemory",
     .type = DR_KEY_INT,
     .unit = "MiB",
     .max = 1000000,
     .help = "What the kubelet keeps of a new worker's memory, besides what kernel and firmware take.",
     AT(reserve_mem_mib)},

    {.path = "kubernetes.kubeconfig",
     TEXT(1000),
     .help = "Kubeconfig file; empty: kubernetes.endpoint, else the pod's service account, else KUBECONFIG, ~/.kube/config or K3s's own.",
     AT(kubeconfig)},
    {.path = "kubernetes.context", TEXT(255), .help = "Context of the kubeconfig; empty: its current one.", AT(context)},
    {.path = "kubernetes.endpoint",
     TEXT(1000),
     .help = "Address of the API server, https://host:6443; {server} in it stands for the address of a running server, found by its tags.",
     AT(kube_endpoint)},
    {.path = "kubernetes.serverTags",
     LIST(20),
     .choices = "name=value",
     .help = "Tags of the servers that {server} stands for; empty: drover.dev/cluster=<cluster> and drover.dev/role=server.",
     AT(server_tags)},
    {.path = "kubernetes.token", SECRET, .help = "Token for kubernetes.endpoint.", AT(kube_token)},
    {.path = "kubernetes.caFile",
     TEXT(1000),
     .help = "Certificate authority of kubernetes.endpoint (PEM); empty: the system's.",
     AT(kube_ca_file)},

    {.path = "prometheus.url",
     TEXT(1000),
     .env = "PROMETHEUS_URL",
     .help = "Address of Prometheus, with its path prefix if it has one; {server} in it as in kubernetes.endpoint.",
     AT(prometheus_url)},
    {.path = "prometheus.caFile",
     TEXT(1000),
     .help = "Certificate authority of prometheus.url (PEM); empty: the system's.",
     AT(prometheus_ca_file)},
    {.path = "prometheus.user", TEXT(255), .help = "User of basic authentication; empty: none.", AT(prometheus_user)},
    {.path = "prometheus.password", SECRET, .help = "Password of prometheus.user.", AT(prometheus_password)},
    {.path = "prometheus.token", SECRET, .help = "Bearer token for Prometheus.", AT(prometheus_token)},
    {.path = "prometheus.step",
     .type = DR_KEY_SPAN,
     .unit = "",
     .min = DR_SECOND_MS,
     .max = 5 * DR_MINUTE_MS,
     .help = "Distance of the samples of a window; not below the scrape interval.",
     AT(prometheus_step_ms)},
    {.path = "prometheus.servers",
     LIST(50),
     .help = "Hosts that are no workers, as in the label instance without its port; they are left out of cpu and memory.",
     AT(prometheus_servers)},

    {.path = "events.queueUrl",
     TEXT(1000),
     .env = "EVENTS_QUEUE_URL",
     .help = "SQS queue with EventBridge events of spot interruptions; empty: none is read.",
     AT(queue_url)},
    {.path = "events.visibility",
     .type = DR_KEY_SPAN,
     .unit = "",
     .min = DR_SECOND_MS,
     .max = 12 * DR_HOUR_MS,
     .help = "How long a message that was received is hidden; one that cannot be understood is dropped when it came for the fifth time.",
     AT(visibility_ms)},

    {.path = "daemon.batch",
     .type = DR_KEY_SPAN,
     .unit = "",
     .max = 10 * DR_SECOND_MS,
     .help = "How long drover run gathers events (waiting pods, messages) before they wake a pass.",
     AT(batch_ms)},
    {.path = "daemon.grace",
     .type = DR_KEY_SPAN,
     .unit = "",
     .min = DR_SECOND_MS,
     .max = 5 * DR_MINUTE_MS,
     .help = "How long drover run may take to end after SIGTERM; then it ends where it stands, and another process goes on.",
     AT(grace_ms)},
    {.path = "health.listen",
     TEXT(64),
     .help = "Address of /healthz and /readyz, on loopback, such as 127.0.0.1:9470; empty: none.",
     AT(health_listen)},
    {.path = "log.level", CHOICE("debug|info|warn|error"), .help = "Least level that drover run logs.", AT(log_level)},
    {.path = "log.format",
     CHOICE("auto|json|text"),
     .help = "One JSON object per line, or text; auto: text on a terminal.",
     AT(log_format)},
};

const struct dr_key *dr_live_keys(size_t *ret_n) {
    *ret_n = COUNT(keys);
    return keys;
}

void dr_live_config_init(struct dr_live_config *live) {
    *live = (struct dr_live_config){
        .state_file = DR_STR("drover.db"),
        .log_level = DR_LOG_CHOICE_INFO,
        .prometheus_step_ms = 15 * DR_SECOND_MS,
        .visibility_ms = DR_MINUTE_MS,
        .batch_ms = 500,
        .grace_ms = 25 * DR_SECOND_MS,
    };
}

enum dr_store_kind dr_live_store(const struct dr_live_config *live) {
    if (live->store != DR_STORE_AUTO) {
        return live->store;
    }
    return live->state_table.n > 0 ? DR_STORE_DYNAMODB : DR_STORE_SQLITE;
}

bool dr_live_names_server(struct dr_str url) {
    for (size_t i = 0; i < url.n; i++) {
        if (dr_str_starts(dr_str_sub(url, i, url.n), DR_LIVE_SERVER)) {
            return true;
        }
    }
    return false;
}

/* ---- contradictions ---- */

struct check {
    void (*report)(void *self, const char *key, const char *what);
    void *self;
    size_t found;
};

static void wrong_if(struct check *check, bool wrong, const char *key, const char *what) {
    if (wrong) {
        check->found++;
        check->report(check->self, key, what);
    }
}

/* An address that nobody else can reach: 127.x.x.x:port or [::1]:port. */
static bool is_loopback(struct dr_str address) {
    return dr_str_starts(address, "127.") || dr_str_starts(address, "[::1]:") || dr_str_starts(address, "localhost:");
}

static bool is_url(struct dr_str text) { return dr_str_starts(text, "http://") || dr_str_starts(text, "https://"); }

size_t dr_live_config_check(const struct dr_live_config *live, void (*report)(void *self, const char *key, const char *what), void *self) {
    struct check check = {.report = report, .self = self};
    bool dynamodb = dr_live_store(live) == DR_STORE_DYNAMODB;
    wrong_if(&check, dynamodb && live->state_table.n == 0, "state.table", "is needed with state.store dynamodb");
    wrong_if(&check, dynamodb && live->logs_table.n == 0, "state.logsTable", "is needed with state.store dynamodb");
    wrong_if(&check, !dynamodb && live->state_file.n == 0, "state.file", "is needed with state.store sqlite");
    wrong_if(&check, live->launch_template.n > 0 && live->image_id.n > 0, "ec2.image", "is given beside ec2.launchTemplate: one of them");
    wrong_if(&check, live->kubeconfig.n > 0 && live->kube_endpoint.n > 0, "kubernetes.endpoint",
             "is given beside kubernetes.kubeconfig: one of them");
    wrong_if(&check, live->kube_endpoint.n > 0 && !dr_str_starts(live->kube_endpoint, "https://"), "kubernetes.endpoint",
             "must begin with https://");
    wrong_if(&check, live->kube_endpoint.n > 0 && live->kube_token.n == 0, "kubernetes.token", "is needed with kubernetes.endpoint");
    wrong_if(&check, live->server_tags.n > 0 && !dr_live_names_server(live->kube_endpoint) && !dr_live_names_server(live->prometheus_url),
             "kubernetes.serverTags", "is given, but there is no {server} in kubernetes.endpoint or prometheus.url");
    wrong_if(&check, live->prometheus_url.n > 0 && !is_url(live->prometheus_url), "prometheus.url", "must begin with http:// or https://");
    wrong_if(&check, live->prometheus_token.n > 0 && live->prometheus_user.n > 0, "prometheus.token",
             "is given beside prometheus.user: one of them");
    wrong_if(&check, live->prometheus_user.n > 0 && live->prometheus_password.n == 0, "prometheus.password",
             "is needed with prometheus.user");
    wrong_if(&check, live->queue_url.n > 0 && !is_url(live->queue_url), "events.queueUrl", "must begin with http:// or https://");
    wrong_if(&check, live->health_listen.n > 0 && !is_loopback(live->health_listen), "health.listen",
             "must be on loopback: 127.0.0.1:PORT or [::1]:PORT");
    return check.found;
}
