/* Spot prices. */

#include <stdlib.h>

#include "adapter/ec2/handle.h"
#include "base/time.h"

static int by_time(const void *left, const void *right) {
    const struct dr_spot_price *a = left;
    const struct dr_spot_price *b = right;
    if (a->at_ms != b->at_ms) {
        return a->at_ms < b->at_ms ? -1 : 1;
    }
    int order = dr_str_cmp(a->type, b->type);
    return order != 0 ? order : dr_str_cmp(a->zone, b->zone);
}

static struct dr_str time_text(struct dr_arena *arena, int64_t ms) {
    struct dr_buf buf;
    dr_buf_init(&buf, 64);
    dr_time_put(&buf, ms);
    struct dr_str text = dr_str_dup(arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

int dr_ec2_spot_prices(struct dr_ec2 *ec2, struct dr_arena *arena, struct dr_strs types, int64_t from_ms, int64_t deadline_ms,
                       const struct dr_spot_price **ret, size_t *ret_n, struct dr_err *err) {
    struct dr_ec2_prices list = {NULL, 0, 0, DR_STR_NONE};
    if (types.n > DR_EC2_MAX_TYPES) {
        return dr_fail(err, DR_E_INVALID, "ec2 DescribeSpotPriceHistory: %zu types, at most %d are allowed", types.n, DR_EC2_MAX_TYPES);
    }
    for (int page = 0; page == 0 || list.next_token.n > 0; page++) {
        if (page == DR_EC2_MAX_PAGES) {
            return dr_fail(err, DR_E_LIMIT, "ec2 DescribeSpotPriceHistory: more than %d pages", DR_EC2_MAX_PAGES);
        }
        struct dr_ec2_params params = {.arena = arena};
        for (size_t i = 0; i < types.n; i++) {
            dr_ec2_putf(&params, types.v[i], "InstanceType.%zu", i + 1);
        }
        dr_ec2_put(&params, DR_STR("ProductDescription.1"), DR_STR("Linux/UNIX"));
        dr_ec2_put(&params, DR_STR("StartTime"), time_text(arena, from_ms));
        if (page > 0) {
            dr_ec2_put(&params, DR_STR("NextToken"), list.next_token);
        }
        struct dr_aws_request request = dr_ec2_request("DescribeSpotPriceHistory", &params, deadline_ms);
        struct dr_str body;
        if (dr_aws_do(ec2->o.aws, &request, arena, &body, err) < 0 || dr_ec2_parse_prices(arena, body, &list, err) < 0) {
            return -1;
        }
    }
    if (list.n > 0) {
        qsort(list.v, list.n, sizeof(list.v[0]), by_time);
    }
    *ret = list.v;
    *ret_n = list.n;
    return 0;
}
