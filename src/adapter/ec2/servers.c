/* The machines of the control plane, found by their tags. */

#include "adapter/ec2/handle.h"

/* The order is by id, so that everybody sees the same list. */
static struct dr_strs addresses_of(struct dr_arena *arena, const struct dr_ec2_instances *list) {
    struct dr_str *addresses = DR_NEW_N(arena, struct dr_str, list->n);
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (list->v[i].state == DR_INSTANCE_RUNNING && list->v[i].private_ip.n > 0) {
            addresses[n++] = list->v[i].private_ip;
        }
    }
    return (struct dr_strs){addresses, n};
}

int dr_ec2_servers(struct dr_aws *aws, struct dr_arena *arena, const struct dr_label *tags, size_t tag_n, int64_t deadline_ms,
                   struct dr_strs *ret, struct dr_err *err) {
    DR_ASSERT(tag_n > 0);
    struct dr_ec2_instances list = {NULL, 0, 0, DR_STR_NONE};
    for (int page = 0; page == 0 || list.next_token.n > 0; page++) {
        if (page == DR_EC2_MAX_PAGES) {
            return dr_fail(err, DR_E_LIMIT, "ec2 DescribeInstances: more than %d pages", DR_EC2_MAX_PAGES);
        }
        struct dr_ec2_params params = {.arena = arena};
        dr_ec2_put_tag_filters(&params, tags, tag_n);
        if (page > 0) {
            dr_ec2_put(&params, DR_STR("NextToken"), list.next_token);
        }
        struct dr_aws_request request = dr_ec2_request("DescribeInstances", &params, deadline_ms);
        struct dr_str body;
        if (dr_aws_do(aws, &request, arena, &body, err) < 0 || dr_ec2_parse_instances(arena, body, &list, err) < 0) {
            return -1;
        }
    }
    dr_ec2_sort_instances(&list);
    *ret = addresses_of(arena, &list);
    return 0;
}
