#ifndef DR_ADAPTER_EC2_HANDLE_H
#define DR_ADAPTER_EC2_HANDLE_H

/* Shared by the files of this adapter only: the handle, parameters of calls, and what is known about the pool. */

#include "adapter/ec2/ec2.h"
#include "adapter/ec2/parse.h"

/* Parameters of one call, in an arena. */
struct dr_ec2_params {
    struct dr_arena *arena;
    struct dr_aws_param *v;
    size_t n, cap;
};
void dr_ec2_put(struct dr_ec2_params *params, struct dr_str name, struct dr_str value);
/* The name from a format, as in "Filter.%zu.Name". */
__attribute__((format(printf, 3, 4))) void dr_ec2_putf(struct dr_ec2_params *params, struct dr_str value, const char *fmt, ...);
/* Filter.<n>.Name=tag:<key>, Filter.<n>.Value.1=<value> for all of them. */
void dr_ec2_put_tag_filters(struct dr_ec2_params *params, const struct dr_label *tags, size_t n);

/* RunInstances as it is sent for this launch: the same launch and options always give the same parameters. */
void dr_ec2_launch_params(const struct dr_ec2 *ec2, const struct dr_launch *launch, struct dr_ec2_params *params);

/* The parts of a pool, each with the time at which it was learned (0: never). */
struct dr_ec2_known {
    struct dr_arena arena;
    const struct dr_subnet *subnets;
    size_t subnet_n;
    int64_t subnets_ms;
    const struct dr_ec2_type *types;
    size_t type_n;
    int64_t types_ms;
    struct dr_ec2_template template_;
    int64_t template_ms;
};

enum dr_ec2_part { DR_EC2_SUBNETS, DR_EC2_TEMPLATE, DR_EC2_TYPES, DR_EC2_PART_N };

struct dr_ec2 {
    struct dr_ec2_options o;
    struct dr_label default_tags[2]; /* where the options name none */
    struct dr_str name;
    struct dr_arena own; /* lives as long as the handle */

    struct dr_arena sent; /* parameters of the calls below */
    struct dr_aws_call *instances;
    struct dr_aws_call *parts[DR_EC2_PART_N];

    struct dr_ec2_known known;
    struct dr_err pool_err; /* DR_OK: all is known */
    char *cache_path;       /* NULL: none */
};

/* The call, ready to start. `repeatable`: a read, or an effect with a token or without a difference. */
struct dr_aws_request dr_ec2_request(const char *action, const struct dr_ec2_params *params, int64_t deadline_ms);

/* The code of a failed call in the words of the port, from EC2's own error code; `err->code` as the client classed it where that has nothing to add. */
enum dr_code dr_ec2_launch_code(struct dr_str error_code, enum dr_code code);
enum dr_code dr_ec2_terminate_code(struct dr_str error_code, enum dr_code code);

/* Pool: starts the calls for what is missing or old; collects them; gives the port's view of what is known, in `arena`. */
void dr_ec2_pool_request(struct dr_ec2 *ec2, int64_t deadline_ms);
void dr_ec2_pool_collect(struct dr_ec2 *ec2, int64_t deadline_ms);
void dr_ec2_pool_view(const struct dr_ec2 *ec2, struct dr_arena *arena, struct dr_pool *ret);

/* The cache file. A file that cannot be read, is damaged or is of another pool is as good as none; one that cannot be written is not written. */
void dr_ec2_cache_read(struct dr_ec2 *ec2);
void dr_ec2_cache_write(const struct dr_ec2 *ec2);

#endif
