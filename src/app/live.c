#include "app/live.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_MAX 65536
#define SECRET_MS 10000 /* longest wait for one that must be fetched */

int dr_live_init(struct dr_live *live, const struct dr_settings *settings, const char *const *env, struct dr_process *process,
                 struct dr_err *err) {
    memset(live, 0, sizeof(*live));
    live->settings = settings;
    live->env = env;
    live->process = process;
    dr_arena_init(&live->arena, 0);
    if (getrandom(&live->seed, sizeof(live->seed), 0) != (ssize_t)sizeof(live->seed)) {
        return dr_fail(err, DR_E_INTERNAL, "random numbers: %s", strerror(errno));
    }
    live->http = dr_http_new(err);
    if (live->http == NULL) {
        return -1;
    }
    process->http = live->http;
    live->ports.clock = dr_process_clock(process);
    return 0;
}

void dr_live_deinit(struct dr_live *live) {
    dr_sqs_free(live->sqs);
    dr_kube_watch_free(live->watch);
    dr_kubernetes_close(live->kube);
    dr_prometheus_close(live->prometheus);
    dr_ec2_free(live->ec2);
    dr_dynamodb_free(live->dynamodb);
    dr_sqlite_close(live->sqlite);
    dr_secrets_free(live->secrets);
    dr_aws_free(live->aws);
    if (live->process != NULL && live->process->http == live->http) {
        live->process->http = NULL;
    }
    dr_http_free(live->http);
    dr_arena_deinit(&live->arena);
    memset(live, 0, sizeof(*live));
}

struct dr_str dr_live_name(struct dr_live *live) {
    return dr_str_fmt(&live->arena, "%08x", (unsigned)(live->seed >> 32));
}

/* ---- files and secrets ---- */

int dr_live_read_file(struct dr_live *live, const char *key, struct dr_str path, size_t max, struct dr_str *ret, struct dr_err *err) {
    struct dr_str name = dr_str_dup(&live->arena, path);
    int fd = open(name.p, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0 || fstat(fd, &about) < 0 || !S_ISREG(about.st_mode)) {
        const char *why = fd < 0 ? strerror(errno) : "is not a file";
        if (fd >= 0) {
            close(fd);
        }
        return dr_fail(err, DR_E_INVALID, "%s: %.*s: %s", key, DR_FMT(path), why);
    }
    char *bytes = DR_NEW_N(&live->arena, char, max + 2);
    size_t n = 0;
    ssize_t got;
    while (n <= max && (got = read(fd, bytes + n, max + 1 - n)) > 0) {
        n += (size_t)got;
    }
    close(fd);
    if (n > max) {
        return dr_fail(err, DR_E_LIMIT, "%s: %.*s: has more than %zu bytes", key, DR_FMT(path), max);
    }
    *ret = (struct dr_str){bytes, n};
    return 0;
}

int dr_live_aws(struct dr_live *live, struct dr_err *err) {
    if (live->aws != NULL) {
        return 0;
    }
    struct dr_aws_options options = {
        .http = live->http,
        .now_ms = dr_process_now_ms,
        .self = live->process,
        .seed = live->seed,
        .environ = live->env,
        .region = live->settings->live.aws_region,
        .profile = live->settings->live.aws_profile,
    };
    live->aws = dr_aws_new(&options, err);
    return live->aws == NULL ? -1 : 0;
}

static int fetch_secret(struct dr_live *live, struct dr_str reference, struct dr_str *ret, struct dr_err *err) {
    if (dr_live_aws(live, err) < 0) {
        return -1;
    }
    if (live->secrets == NULL) {
        struct dr_secrets_options options = {.aws = live->aws, .now_ms = dr_process_now_ms, .self = live->process};
        live->secrets = dr_secrets_new(&options, err);
        if (live->secrets == NULL) {
            return -1;
        }
    }
    const struct dr_secret *value;
    if (dr_secrets_get(live->secrets, reference, dr_process_now_ms(live->process) + SECRET_MS, &value, err) < 0) {
        return -1;
    }
    *ret = dr_str_dup(&live->arena, dr_secret_reveal(value));
    return 0;
}

static int read_secret(struct dr_live *live, const char *key, struct dr_str reference, struct dr_str *ret, struct dr_err *err) {
    if (dr_str_starts(reference, "file:")) {
        if (dr_live_read_file(live, key, dr_str_sub(reference, 5, reference.n), SECRET_MAX, ret, err) < 0) {
            return -1;
        }
    } else if (fetch_secret(live, reference, ret, err) < 0) {
        return dr_wrap(err, "%s", key);
    }
    *ret = dr_str_trim(*ret);
    return ret->n > 0 ? 0 : dr_fail(err, DR_E_INVALID, "%s: %.*s: is empty", key, DR_FMT(reference));
}

int dr_live_secret(struct dr_live *live, const char *key, struct dr_str reference, struct dr_str *ret, struct dr_err *err) {
    *ret = DR_STR_NONE;
    if (reference.n == 0) {
        return 0;
    }
    if (read_secret(live, key, reference, ret, err) < 0) {
        return -1;
    }
    DR_ASSERT(live->used_n < DR_LIVE_SECRETS_MAX);
    live->used[live->used_n++] = (struct dr_live_secret){key, reference, *ret};
    return 0;
}

bool dr_live_outdated(struct dr_live *live, bool unreachable) {
    bool changed = false;
    struct dr_arena own = live->arena; /* what is read to be compared goes at once */
    dr_arena_init(&live->arena, 0);
    for (size_t i = 0; i < live->used_n && !changed; i++) {
        struct dr_str now;
        struct dr_err err;
        changed = read_secret(live, live->used[i].key, live->used[i].reference, &now, &err) == 0 && !dr_str_eq(now, live->used[i].value);
    }
    changed = changed || dr_live_server_outdated(live, unreachable);
    dr_arena_deinit(&live->arena);
    live->arena = own;
    return changed;
}

/* ---- store ---- */

static int empty_load(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, struct dr_state *ret, struct dr_err *err) {
    (void)self, (void)arena, (void)deadline_ms, (void)err;
    dr_state_init(ret, pk);
    ret->exists = false;
    return 0;
}

static int empty_inbox(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, const struct dr_event **ret,
                       size_t *ret_n, struct dr_err *err) {
    (void)self, (void)arena, (void)pk, (void)deadline_ms, (void)err;
    *ret = NULL;
    *ret_n = 0;
    return 0;
}

static int empty_journal(void *self, struct dr_arena *arena, struct dr_str pk, const struct dr_journal_query *query, int64_t deadline_ms,
                         const struct dr_journal_row **ret, size_t *ret_n, struct dr_err *err) {
    (void)self, (void)arena, (void)pk, (void)query, (void)deadline_ms, (void)err;
    *ret = NULL;
    *ret_n = 0;
    return 0;
}

/* A state file that is not there yet, for who only reads. */
static const struct dr_store_ops empty_store = {.load = empty_load, .inbox = empty_inbox, .journal_read = empty_journal};

static int open_sqlite(struct dr_live *live, bool read_only, struct dr_err *err) {
    struct dr_err why = {.code = DR_OK};
    if (dr_sqlite_open(live->settings->live.state_file.p, read_only ? DR_SQLITE_READ : DR_SQLITE_WRITE, &live->sqlite, &why) == 0) {
        live->ports.store = dr_sqlite_store(live->sqlite);
        return 0;
    }
    if (read_only && why.code == DR_E_NOT_FOUND) {
        live->ports.store = (struct dr_store){&empty_store, NULL};
        return 0;
    }
    return dr_fail(err, why.code, "state.file: %s", why.text);
}

static void sleep_for_tables(void *self, int64_t ms) {
    struct dr_clock clock = dr_process_clock(self);
    clock.ops->sleep_ms(clock.self, ms);
}

static int open_store(struct dr_live *live, bool read_only, struct dr_err *err) {
    if (dr_live_store(&live->settings->live) == DR_STORE_SQLITE) {
        return open_sqlite(live, read_only, err);
    }
    if (dr_live_aws(live, err) < 0) {
        return -1;
    }
    struct dr_dynamodb_options options = {
        .aws = live->aws,
        .now_ms = dr_process_now_ms,
        .sleep_ms = sleep_for_tables,
        .self = live->process,
        .state_table = live->settings->live.state_table,
        .logs_table = live->settings->live.logs_table,
    };
    live->dynamodb = dr_dynamodb_new(&options, err);
    if (live->dynamodb == NULL) {
        return -1;
    }
    live->ports.store = dr_dynamodb_store(live->dynamodb);
    return 0;
}

/* ---- compute, cluster, metrics, events ---- */

static int open_compute(struct dr_live *live, struct dr_err *err) {
    struct dr_ec2_options options;
    if (dr_live_aws(live, err) < 0 || dr_live_pool_options(live, &options, err) < 0) {
        return -1;
    }
    live->ec2 = dr_ec2_new(&options, err);
    if (live->ec2 == NULL) {
        return -1;
    }
    live->ports.compute = dr_ec2_compute(live->ec2);
    return 0;
}

static int open_cluster(struct dr_live *live, struct dr_err *err) {
    struct dr_kubernetes_options options;
    if (dr_live_cluster_options(live, &options, err) < 0 || dr_kubernetes_open(&options, &live->kube, err) < 0) {
        return -1;
    }
    live->ports.cluster = dr_kubernetes_cluster(live->kube);
    return 0;
}

/* Without a Prometheus every signal is unknown: waiting pods and the minimum still bring workers. */
static void no_readings(void *self, struct dr_arena *arena, const struct dr_signal *signals, size_t signal_n, int64_t now_ms,
                        int64_t deadline_ms, struct dr_reading *ret) {
    (void)self, (void)arena, (void)signals, (void)now_ms, (void)deadline_ms;
    for (size_t i = 0; i < signal_n; i++) {
        ret[i] = (struct dr_reading){.why = DR_STR("prometheus.url is not set")};
    }
}

static const struct dr_metrics_ops no_metrics = {.read = no_readings};

static int open_metrics(struct dr_live *live, struct dr_err *err) {
    const struct dr_live_config *cfg = &live->settings->live;
    if (cfg->prometheus_url.n == 0) {
        live->ports.metrics = (struct dr_metrics){&no_metrics, NULL};
        return 0;
    }
    struct dr_prometheus_options options = {
        .http = live->http,
        .clock = live->ports.clock,
        .user = cfg->prometheus_user,
        .tls = &live->prometheus_tls,
        .step_ms = cfg->prometheus_step_ms,
        .servers = cfg->prometheus_servers.v,
        .server_n = cfg->prometheus_servers.n,
    };
    live->prometheus_tls.ca_file = cfg->prometheus_ca_file.n == 0 ? NULL : cfg->prometheus_ca_file.p;
    if (dr_live_address(live, "prometheus.url", cfg->prometheus_url, &options.url, err) < 0 ||
        dr_live_secret(live, "prometheus.password", cfg->prometheus_password, &options.password, err) < 0 ||
        dr_live_secret(live, "prometheus.token", cfg->prometheus_token, &options.token, err) < 0 ||
        dr_prometheus_open(&options, &live->prometheus, err) < 0) {
        return -1;
    }
    live->ports.metrics = dr_prometheus_metrics(live->prometheus);
    return 0;
}

static void queue_log(void *self, const char *event, struct dr_str text) {
    struct dr_live *live = self;
    if (live->log != NULL) {
        dr_log_put(live->log, dr_process_now_ms(live->process), DR_LOG_WARN, event, text, NULL, 0);
    }
}

static int open_queue(struct dr_live *live, struct dr_err *err) {
    if (live->settings->live.queue_url.n == 0) {
        return 0;
    }
    if (dr_live_aws(live, err) < 0) {
        return -1;
    }
    struct dr_sqs_options options = {
        .aws = live->aws,
        .now_ms = dr_process_now_ms,
        .self = live->process,
        .queue_url = live->settings->live.queue_url,
        .store = live->ports.store,
        .cluster = live->settings->cfg.cluster,
        .visibility_s = live->settings->live.visibility_ms / 1000,
        .log = queue_log,
        .log_self = live,
    };
    live->sqs = dr_sqs_new(&options, err);
    return live->sqs == NULL ? -1 : 0;
}

/* ---- all ---- */

int dr_live_open(struct dr_live *live, unsigned parts, struct dr_err *err) {
    bool read_only = (parts & DR_LIVE_READ_ONLY) != 0;
    if ((parts & DR_LIVE_STORE) != 0 && live->ports.store.ops == NULL && open_store(live, read_only, err) < 0) {
        return -1;
    }
    if ((parts & DR_LIVE_COMPUTE) != 0 && live->ec2 == NULL && open_compute(live, err) < 0) {
        return -1;
    }
    if ((parts & DR_LIVE_CLUSTER) != 0 && live->kube == NULL && open_cluster(live, err) < 0) {
        return -1;
    }
    if ((parts & DR_LIVE_METRICS) != 0 && live->ports.metrics.ops == NULL && open_metrics(live, err) < 0) {
        return -1;
    }
    if ((parts & DR_LIVE_QUEUE) != 0 && live->sqs == NULL && open_queue(live, err) < 0) {
        return -1;
    }
    if ((parts & DR_LIVE_WATCH) != 0 && live->watch == NULL) {
        live->watch = dr_kube_watch_new(live->kube);
    }
    return 0;
}
