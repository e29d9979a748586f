/* Any bytes as an answer of EC2: every parser ends with a list that is whole or an error that names service and call, within the arena's ceiling. */
#include <string.h>

#include "adapter/ec2/parse.h"
#include "harness/fuzz.h"

static void check(int result, const struct dr_err *err, const char *call) {
    if (result == 0) {
        return;
    }
    DR_ASSERT(result == -1 && err->code != DR_OK);
    DR_ASSERT(strncmp(err->text, "ec2 ", 4) == 0 && strncmp(err->text + 4, call, strlen(call)) == 0);
}

static void check_instances(struct dr_ec2_instances *list) {
    dr_ec2_sort_instances(list);
    for (size_t i = 0; i < list->n; i++) {
        const struct dr_instance *instance = &list->v[i];
        DR_ASSERT(instance->id.n > 0 && instance->type.n > 0 && instance->zone.n > 0);
        DR_ASSERT(i == 0 || dr_str_cmp(list->v[i - 1].id, instance->id) < 0);
        DR_ASSERT(instance->index >= 0);
    }
}

DR_FUZZ(ec2_xml) {
    struct dr_str body = {(const char *)data, n};
    struct dr_arena arena;
    struct dr_err err = {.code = DR_OK};
    struct dr_ec2_instances instances = {NULL, 0, 0, {NULL, 0}};
    struct dr_ec2_subnets subnets = {NULL, 0, 0, {NULL, 0}};
    struct dr_ec2_types types = {NULL, 0, 0, {NULL, 0}};
    struct dr_ec2_prices prices = {NULL, 0, 0, {NULL, 0}};
    struct dr_ec2_template template_;
    struct dr_str id;
    dr_arena_init(&arena, 1 << 20);
    int result = dr_ec2_parse_instances(&arena, body, &instances, &err);
    check(result, &err, "DescribeInstances");
    if (result == 0) {
        check_instances(&instances);
    }
    check(dr_ec2_parse_subnets(&arena, body, &subnets, &err), &err, "DescribeSubnets");
    check(dr_ec2_parse_types(&arena, body, &types, &err), &err, "DescribeInstanceTypes");
    check(dr_ec2_parse_prices(&arena, body, &prices, &err), &err, "DescribeSpotPriceHistory");
    check(dr_ec2_parse_template(&arena, body, &template_, &err), &err, "DescribeLaunchTemplateVersions");
    check(dr_ec2_parse_launch(&arena, body, &id, &err), &err, "RunInstances");
    check(dr_ec2_parse_terminate(body, DR_STR("i-1"), &err), &err, "TerminateInstances");
    dr_arena_deinit(&arena);
}
