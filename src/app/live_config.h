#ifndef DR_APP_LIVE_CONFIG_H
#define DR_APP_LIVE_CONFIG_H

/*
 * What the adapters need to know: where the state is kept, which cluster, which pool, which Prometheus, which queue. Same file, same form of table and same reader
 * as the keys of the core (core/config.h); kept apart because the core must not know that there are adapters.
 */

#include "core/config.h"

enum dr_store_kind { DR_STORE_AUTO, DR_STORE_SQLITE, DR_STORE_DYNAMODB };
enum dr_public_ip { DR_PUBLIC_IP_SUBNET, DR_PUBLIC_IP_NO, DR_PUBLIC_IP_YES };
enum dr_log_choice { DR_LOG_CHOICE_DEBUG, DR_LOG_CHOICE_INFO, DR_LOG_CHOICE_WARN, DR_LOG_CHOICE_ERROR }; /* as enum dr_level */
enum dr_log_format { DR_LOG_FORMAT_AUTO, DR_LOG_FORMAT_JSON, DR_LOG_FORMAT_TEXT };

struct dr_live_config {
    enum dr_store_kind store;
    struct dr_str state_file;
    struct dr_str state_table;
    struct dr_str logs_table;
    struct dr_str cache_dir;

    struct dr_str aws_region;
    struct dr_str aws_profile;

    struct dr_strs pool_tags; /* "name=value" */
    struct dr_strs extra_tags;
    struct dr_str instance_name;
    bool tag_volumes;
    struct dr_str launch_template;
    struct dr_str template_version;
    struct dr_str image_id;
    struct dr_str key_name;
    struct dr_str instance_profile;
    struct dr_str user_data_file;
    struct dr_strs security_groups;
    enum dr_public_ip public_ip;
    struct dr_str spot_max_price;
    struct dr_strs types;
    struct dr_strs subnets;
    struct dr_strs subnet_tags; /* "name=value" */
    struct dr_strs labels;      /* "name=value" */
    struct dr_strs taints;      /* "name=value:effect" */
    int64_t reserve_cpu_milli;
    int64_t reserve_mem_mib;

    struct dr_str kubeconfig;
    struct dr_str context;
    struct dr_str kube_endpoint;
    struct dr_str kube_token; /* where it is kept */
    struct dr_str kube_ca_file;
    struct dr_strs server_tags; /* "name=value" */

    struct dr_str prometheus_url;
    struct dr_str prometheus_ca_file;
    struct dr_str prometheus_user;
    struct dr_str prometheus_password; /* where it is kept */
    struct dr_str prometheus_token;    /* where it is kept */
    int64_t prometheus_step_ms;
    struct dr_strs prometheus_servers;

    struct dr_str queue_url;
    int64_t visibility_ms;
    struct dr_str health_listen;
    int64_t batch_ms;
    int64_t grace_ms;

    enum dr_log_choice log_level;
    enum dr_log_format log_format;
};

void dr_live_config_init(struct dr_live_config *live);
const struct dr_key *dr_live_keys(size_t *ret_n);

/* The store that is meant: `auto` is DynamoDB where a table is named, else SQLite. */
enum dr_store_kind dr_live_store(const struct dr_live_config *live);

/* In an address: a server of the control plane, found by its tags. */
#define DR_LIVE_SERVER "{server}"
bool dr_live_names_server(struct dr_str url);

/* Contradictions and what is missing for `drover run`, each with the key to change. Returns how many. */
size_t dr_live_config_check(const struct dr_live_config *live, void (*report)(void *self, const char *key, const char *what), void *self);

#endif
