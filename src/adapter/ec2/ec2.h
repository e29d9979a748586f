#ifndef DR_ADAPTER_EC2_H
#define DR_ADAPTER_EC2_H

/*
 * The compute port on EC2. The workers of a pool are known by tags alone: all tags of the pool must be on an instance for it to be seen, and all of them are put
 * on it at creation, together with the action and the index that it was launched for.
 *
 * What the pool can launch (zones of its subnets, sizes of its types, version of its launch template) changes rarely: it is asked for when it is not known or
 * getting old, together with the instances, and kept in a file of the state directory, so that a process that lives for one tick asks for the instances alone.
 *
 * Allocatable of a fresh worker is worked out from the type: all virtual CPUs less `reserve.cpu_milli`; memory less `reserve.mem_ppm` of it (what kernel and
 * firmware keep: 3 to 7 % on EC2) and less `reserve.mem_bytes` (the kubelet's own kube-reserved and system-reserved; K3s sets none).
 */

#include "adapter/aws/aws.h"
#include "port/compute.h"

#define DR_EC2_TAG_CLUSTER "drover.dev/cluster"
#define DR_EC2_TAG_ROLE "drover.dev/role"
#define DR_EC2_TAG_ACTION "drover.dev/action"
#define DR_EC2_TAG_INDEX "drover.dev/index"

/* Ceilings. */
#define DR_EC2_MAX_INSTANCES 20000
#define DR_EC2_MAX_PAGES 200
#define DR_EC2_MAX_TYPES 100
#define DR_EC2_MAX_SUBNETS 100
#define DR_EC2_MAX_TAGS 40 /* EC2 takes 50 on an instance; the rest are ours */

struct dr_ec2; /* one pool of one cluster */

struct dr_ec2_type_option {
    struct dr_str name;
    int64_t on_demand_micro_usd; /* per hour; 0: unknown */
};

/* A machine without a launch template. */
struct dr_ec2_machine {
    struct dr_str image_id;
    struct dr_str key_name;         /* empty: none */
    struct dr_str instance_profile; /* name or ARN; empty: none */
    struct dr_str user_data;        /* as the machine gets it; encoded here */
};

enum dr_ec2_public_ip { DR_EC2_PUBLIC_IP_SUBNET, DR_EC2_PUBLIC_IP_NO, DR_EC2_PUBLIC_IP_YES };

struct dr_ec2_reserve {
    int64_t cpu_milli;
    int64_t mem_bytes;
    int64_t mem_ppm;   /* parts per million of the type's memory; -1: 75,000 */
    int64_t pod_limit; /* 0: 110, the kubelet's own */
};

/* Everything that is pointed to must outlive the handle. */
struct dr_ec2_options {
    struct dr_aws *aws;
    int64_t (*now_ms)(void *self); /* ages of what is cached */
    void *self;
    const char *state_dir; /* for the file of what is cached; NULL: none */

    struct dr_str cluster;
    const struct dr_label *pool_tags; /* none: drover.dev/cluster=<cluster> and drover.dev/role=worker */
    size_t pool_tag_n;
    const struct dr_label *extra_tags; /* put on new instances besides; not needed to be seen */
    size_t extra_tag_n;
    bool tag_volumes;   /* the same tags on the volumes that are made with an instance */
    struct dr_str name; /* Name tag; empty: "<cluster>-worker" */

    struct dr_str launch_template; /* id (lt-...) or name; empty: `machine` */
    struct dr_str
        template_version; /* number, "$Latest" or "$Default"; empty: "$Default". Resolved to a number before anything is launched */
    struct dr_ec2_machine machine;
    struct dr_strs security_groups;          /* of the instance, or with public_ip of its interface; none: the template's */
    enum dr_ec2_public_ip public_ip;         /* YES and NO send a network interface of our own, in the place of the template's */
    const struct dr_aws_param *extra_params; /* of RunInstances, by their names in the query ("BlockDeviceMapping.1.DeviceName") */
    size_t extra_param_n;
    struct dr_str spot_max_price; /* USD per hour; empty: up to the on-demand price */

    const struct dr_ec2_type_option *types; /* none: the type that the template names */
    size_t type_n;
    struct dr_strs subnets;
    const struct dr_label *subnet_tags; /* where no subnets are named: those with all of these tags */
    size_t subnet_tag_n;
    struct dr_ec2_reserve reserve;
    struct dr_labels labels; /* of every fresh worker, besides those that its type gives */
    const struct dr_taint *taints;
    size_t taint_n;
};

/* Checks the options (DR_E_INVALID names the one that is wrong) and reads the cache file, if there is a good one. Calls nothing, except what it takes to learn the region. */
struct dr_ec2 *dr_ec2_new(const struct dr_ec2_options *options, struct dr_err *err);
void dr_ec2_free(struct dr_ec2 *ec2); /* NULL is fine */

/*
 * The port; valid until the handle is freed.
 *
 * Launch, beyond the port's contract: NOT_FOUND where the token's instance has ended meanwhile (known outcome: the index fails). INVALID also where the same token
 * was used with other parameters. An answer that says success but cannot be read is UNAVAILABLE: sent again, the token gives the same instance.
 */
struct dr_compute dr_ec2_compute(struct dr_ec2 *ec2);

/* What the last observation could not learn about the pool: false and why, "ec2 DescribeSubnets: ...". True before the first. */
bool dr_ec2_pool_ok(const struct dr_ec2 *ec2, struct dr_err *ret);
/* The template as it was last read; for checks. False: there is none, or it is not known. */
struct dr_ec2_template {
    struct dr_str id;
    struct dr_str version; /* number */
    struct dr_str type;    /* empty: it names none */
    bool has_market;       /* it asks for spot by itself: then on-demand cannot be launched from it */
    bool has_network;      /* it has network interfaces: then a subnet cannot be given beside them, and public_ip must be YES or NO */
};
bool dr_ec2_template(const struct dr_ec2 *ec2, struct dr_ec2_template *ret);

/* Asks EC2 whether it would be allowed, without doing it (DryRun). 0: it would; otherwise as the real call. */
int dr_ec2_try_launch(struct dr_ec2 *ec2, const struct dr_launch *launch, int64_t deadline_ms, struct dr_err *err);
int dr_ec2_try_terminate(struct dr_ec2 *ec2, struct dr_str id, int64_t deadline_ms, struct dr_err *err);

/* Sets tags of one instance; others of it stay. */
int dr_ec2_tag(struct dr_ec2 *ec2, struct dr_str id, const struct dr_label *tags, size_t n, int64_t deadline_ms, struct dr_err *err);

/* Private addresses of the running machines with all of these tags (at least one), in the order of their ids: servers of a control plane, which belong to no pool. */
int dr_ec2_servers(struct dr_aws *aws, struct dr_arena *arena, const struct dr_label *tags, size_t tag_n, int64_t deadline_ms,
                   struct dr_strs *ret, struct dr_err *err);

struct dr_spot_price {
    struct dr_str type;
    struct dr_str zone;
    int64_t at_ms; /* since when */
    int64_t micro_usd;
};
/* Prices of Linux spot machines of these types, in the order of time, type and zone; the one in force at `from_ms` included. */
int dr_ec2_spot_prices(struct dr_ec2 *ec2, struct dr_arena *arena, struct dr_strs types, int64_t from_ms, int64_t deadline_ms,
                       const struct dr_spot_price **ret, size_t *ret_n, struct dr_err *err);

#endif
