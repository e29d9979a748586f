#ifndef DR_APP_LIVE_H
#define DR_APP_LIVE_H

/*
 * The real world behind the ports: the only place that knows which adapter stands behind which port. Parts are opened one by one, so that `drover check` can say of each
 * what is wrong with it; opening calls nobody but where a secret must be fetched or the server found. Errors are one line that says what is wrong and what to do.
 */

#include "adapter/aws/aws.h"
#include "adapter/dynamodb/dynamodb.h"
#include "adapter/ec2/ec2.h"
#include "adapter/http/http.h"
#include "adapter/kubernetes/kubernetes.h"
#include "adapter/prometheus/prometheus.h"
#include "adapter/sqlite/sqlite.h"
#include "adapter/sqs/sqs.h"
#include "adapter/ssm/ssm.h"
#include "app/config_file.h"
#include "app/process.h"
#include "base/log.h"
#include "port/world.h"

enum dr_live_part {
    DR_LIVE_STORE = 1,
    DR_LIVE_COMPUTE = 2,
    DR_LIVE_CLUSTER = 4,
    DR_LIVE_METRICS = 8,
    DR_LIVE_QUEUE = 16,     /* where one is configured; needs STORE */
    DR_LIVE_WATCH = 32,     /* needs CLUSTER */
    DR_LIVE_READ_ONLY = 64, /* with STORE: nothing is created or written; a state that is not there yet is empty */
};
#define DR_LIVE_TICK (DR_LIVE_STORE | DR_LIVE_COMPUTE | DR_LIVE_CLUSTER | DR_LIVE_METRICS)

/* A secret that is in use, so that a new value can be noticed. */
struct dr_live_secret {
    const char *key;
    struct dr_str reference;
    struct dr_str value;
};
#define DR_LIVE_SECRETS_MAX 8

struct dr_live {
    const struct dr_settings *settings; /* must outlive this */
    const char *const *env;
    struct dr_process *process;
    struct dr_arena arena; /* strings that adapters point to */
    uint64_t seed;
    struct dr_log *log; /* for what happens outside of passes; may be NULL */

    struct dr_http *http;
    struct dr_aws *aws;
    struct dr_secrets *secrets;
    struct dr_sqlite *sqlite;
    struct dr_dynamodb *dynamodb;
    struct dr_ec2 *ec2;
    struct dr_kubernetes *kube;
    struct dr_kube_watch *watch;
    struct dr_prometheus *prometheus;
    struct dr_sqs *sqs;
    struct dr_live_secret used[DR_LIVE_SECRETS_MAX];
    size_t used_n;
    struct dr_http_tls prometheus_tls;
    struct dr_str server;       /* what {server} stands for; empty: nobody asked yet */
    struct dr_str cluster_from; /* where the connection to the API server came from, for people */

    struct dr_ports ports; /* of the parts that are open; the clock always */
};

/* Nothing is open yet. `settings`, `env` and `process` must outlive it; the process waits on this loop from now on. */
int dr_live_init(struct dr_live *live, const struct dr_settings *settings, const char *const *env, struct dr_process *process,
                 struct dr_err *err);
/* Opens the client of AWS, where it is not open. */
int dr_live_aws(struct dr_live *live, struct dr_err *err);
/* Opens parts (bits of enum dr_live_part); those that are open stay. */
int dr_live_open(struct dr_live *live, unsigned parts, struct dr_err *err);
/* Closes everything, in the right order. */
void dr_live_deinit(struct dr_live *live);

/* The secret that a reference (file:, ssm:, secretsmanager:) stands for, in the arena of the live world. Empty reference: empty. */
int dr_live_secret(struct dr_live *live, const char *key, struct dr_str reference, struct dr_str *ret, struct dr_err *err);

/*
 * Would opening everything anew give another world? A secret that is in use has another value (asks files, and SSM or Secrets Manager where their answer is old), or
 * the server that was found by its tags is gone, or `unreachable` and there is another. What cannot be asked counts as unchanged.
 */
bool dr_live_outdated(struct dr_live *live, bool unreachable);

/* live_pool.c: "name=value" texts as labels, of which the table has checked the form; the pool as EC2 wants it, from the settings. */
const struct dr_label *dr_live_labels(struct dr_arena *arena, struct dr_strs list);
int dr_live_pool_options(struct dr_live *live, struct dr_ec2_options *ret, struct dr_err *err);
/* live_server.c: an address with {server} in it replaced, which asks EC2 the first time; the server's part of dr_live_outdated. */
int dr_live_address(struct dr_live *live, const char *key, struct dr_str url, struct dr_str *ret, struct dr_err *err);
bool dr_live_server_outdated(struct dr_live *live, bool unreachable);
/* live_cluster.c: how to reach the API server, from the settings, the pod's service account or a kubeconfig. */
int dr_live_cluster_options(struct dr_live *live, struct dr_kubernetes_options *ret, struct dr_err *err);

/* A file as it is, at most `max` bytes; the error names the key. */
int dr_live_read_file(struct dr_live *live, const char *key, struct dr_str path, size_t max, struct dr_str *ret, struct dr_err *err);

/* A name for this process that no other has: part of request ids. */
struct dr_str dr_live_name(struct dr_live *live);

#endif
