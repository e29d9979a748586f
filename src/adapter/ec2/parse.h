#ifndef DR_ADAPTER_EC2_PARSE_H
#define DR_ADAPTER_EC2_PARSE_H

/*
 * The answers of EC2 into compact arrays. Each function takes a whole body, appends to its list and sets the token of the next page (empty: that was the last). Lists
 * start zeroed. Strings live in the arena. Errors (DR_E_INVALID, DR_E_LIMIT) name service, call and field; what was appended before is then not to be used.
 */

#include "adapter/ec2/ec2.h"

struct dr_ec2_instances {
    struct dr_instance *v;
    size_t n, cap;
    struct dr_str next_token;
};
int dr_ec2_parse_instances(struct dr_arena *arena, struct dr_str body, struct dr_ec2_instances *list, struct dr_err *err);
/* Order by id; an instance that came on two pages is there once (the state that is further on). */
void dr_ec2_sort_instances(struct dr_ec2_instances *list);

struct dr_ec2_subnets {
    struct dr_subnet *v;
    size_t n, cap;
    struct dr_str next_token;
};
int dr_ec2_parse_subnets(struct dr_arena *arena, struct dr_str body, struct dr_ec2_subnets *list, struct dr_err *err);

struct dr_ec2_type {
    struct dr_str name;
    int64_t vcpus;
    int64_t mem_mib;
    struct dr_str arch; /* "amd64", "arm64" */
};
struct dr_ec2_types {
    struct dr_ec2_type *v;
    size_t n, cap;
    struct dr_str next_token;
};
int dr_ec2_parse_types(struct dr_arena *arena, struct dr_str body, struct dr_ec2_types *list, struct dr_err *err);

/* The one version that was asked for. */
int dr_ec2_parse_template(struct dr_arena *arena, struct dr_str body, struct dr_ec2_template *ret, struct dr_err *err);

struct dr_ec2_prices {
    struct dr_spot_price *v;
    size_t n, cap;
    struct dr_str next_token;
};
int dr_ec2_parse_prices(struct dr_arena *arena, struct dr_str body, struct dr_ec2_prices *list, struct dr_err *err);

/* The one instance that RunInstances made, or made before for the same token. */
int dr_ec2_parse_launch(struct dr_arena *arena, struct dr_str body, struct dr_str *ret_id, struct dr_err *err);
/* Whether TerminateInstances speaks of this instance. */
int dr_ec2_parse_terminate(struct dr_str body, struct dr_str id, struct dr_err *err);

/* One more element of a list in the arena, zeroed; NULL: past `max` or the arena is full. `v` points to the list's own pointer. */
void *dr_ec2_append(struct dr_arena *arena, void *v, size_t *n, size_t *cap, size_t size, size_t max);

#endif
