/* Parameters of EC2 calls. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "adapter/ec2/handle.h"

enum { MAX_PARAMS = 4096 };

void dr_ec2_put(struct dr_ec2_params *params, struct dr_str name, struct dr_str value) {
    struct dr_aws_param *param = dr_ec2_append(params->arena, &params->v, &params->n, &params->cap, sizeof(*param), MAX_PARAMS);
    DR_ASSERT(param != NULL); /* all counts are bounded by checks of the options */
    *param = (struct dr_aws_param){name, value};
}

void dr_ec2_putf(struct dr_ec2_params *params, struct dr_str value, const char *fmt, ...) {
    char name[128];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(name, sizeof(name), fmt, args);
    va_end(args);
    DR_ASSERT(n > 0 && (size_t)n < sizeof(name));
    dr_ec2_put(params, dr_str_dup(params->arena, dr_str_of(name)), value);
}

void dr_ec2_put_tag_filters(struct dr_ec2_params *params, const struct dr_label *tags, size_t n) {
    for (size_t i = 0; i < n; i++) {
        dr_ec2_putf(params, dr_str_fmt(params->arena, "tag:%.*s", DR_FMT(tags[i].key)), "Filter.%zu.Name", i + 1);
        dr_ec2_putf(params, tags[i].value, "Filter.%zu.Value.1", i + 1);
    }
}

static struct dr_str base64(struct dr_arena *arena, struct dr_str s) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = (s.n + 2) / 3 * 4;
    char *out = dr_arena_alloc(arena, n + 1, 1);
    for (size_t i = 0, o = 0; i < s.n; i += 3, o += 4) {
        uint32_t v = (uint32_t)(unsigned char)s.p[i] << 16;
        v |= i + 1 < s.n ? (uint32_t)(unsigned char)s.p[i + 1] << 8 : 0;
        v |= i + 2 < s.n ? (uint32_t)(unsigned char)s.p[i + 2] : 0;
        out[o] = digits[v >> 18];
        out[o + 1] = digits[v >> 12 & 63];
        out[o + 2] = i + 1 < s.n ? digits[v >> 6 & 63] : '=';
        out[o + 3] = i + 2 < s.n ? digits[v & 63] : '=';
    }
    return (struct dr_str){out, n};
}

static void put_tag(struct dr_ec2_params *params, size_t spec, size_t *n, struct dr_str key, struct dr_str value) {
    ++*n;
    dr_ec2_putf(params, key, "TagSpecification.%zu.Tag.%zu.Key", spec, *n);
    dr_ec2_putf(params, value, "TagSpecification.%zu.Tag.%zu.Value", spec, *n);
}

static void put_tags(const struct dr_ec2 *ec2, const struct dr_launch *launch, struct dr_ec2_params *params, size_t spec,
                     const char *resource) {
    size_t n = 0;
    dr_ec2_putf(params, dr_str_of(resource), "TagSpecification.%zu.ResourceType", spec);
    for (size_t i = 0; i < ec2->o.pool_tag_n; i++) {
        put_tag(params, spec, &n, ec2->o.pool_tags[i].key, ec2->o.pool_tags[i].value);
    }
    for (size_t i = 0; i < ec2->o.extra_tag_n; i++) {
        put_tag(params, spec, &n, ec2->o.extra_tags[i].key, ec2->o.extra_tags[i].value);
    }
    put_tag(params, spec, &n, DR_STR(DR_EC2_TAG_ACTION), launch->action_id);
    put_tag(params, spec, &n, DR_STR(DR_EC2_TAG_INDEX), dr_str_fmt(params->arena, "%lld", (long long)launch->index));
    put_tag(params, spec, &n, DR_STR("Name"), ec2->name);
}

static void put_machine(const struct dr_ec2 *ec2, struct dr_ec2_params *params) {
    const struct dr_ec2_machine *machine = &ec2->o.machine;
    dr_ec2_put(params, DR_STR("ImageId"), machine->image_id);
    if (machine->key_name.n > 0) {
        dr_ec2_put(params, DR_STR("KeyName"), machine->key_name);
    }
    if (machine->instance_profile.n > 0) {
        bool arn = dr_str_starts(machine->instance_profile, "arn:");
        dr_ec2_put(params, arn ? DR_STR("IamInstanceProfile.Arn") : DR_STR("IamInstanceProfile.Name"), machine->instance_profile);
    }
    if (machine->user_data.n > 0) {
        dr_ec2_put(params, DR_STR("UserData"), base64(params->arena, machine->user_data));
    }
    /* A machine whose metadata anyone in it may read with one request is a way to its role. */
    dr_ec2_put(params, DR_STR("MetadataOptions.HttpTokens"), DR_STR("required"));
}

/* EC2 refuses a subnet beside network interfaces, so it is one or the other. */
static void put_network(const struct dr_ec2 *ec2, struct dr_str subnet, struct dr_ec2_params *params) {
    bool own = ec2->o.public_ip != DR_EC2_PUBLIC_IP_SUBNET;
    if (own) {
        dr_ec2_put(params, DR_STR("NetworkInterface.1.DeviceIndex"), DR_STR("0"));
        dr_ec2_put(params, DR_STR("NetworkInterface.1.SubnetId"), subnet);
        dr_ec2_put(params, DR_STR("NetworkInterface.1.AssociatePublicIpAddress"),
                   ec2->o.public_ip == DR_EC2_PUBLIC_IP_YES ? DR_STR("true") : DR_STR("false"));
    } else {
        dr_ec2_put(params, DR_STR("SubnetId"), subnet);
    }
    for (size_t i = 0; i < ec2->o.security_groups.n; i++) {
        struct dr_str name = dr_str_fmt(params->arena, "%sSecurityGroupId.%zu", own ? "NetworkInterface.1." : "", i + 1);
        dr_ec2_put(params, name, ec2->o.security_groups.v[i]);
    }
}

static void put_market(const struct dr_ec2 *ec2, struct dr_ec2_params *params) {
    dr_ec2_put(params, DR_STR("InstanceMarketOptions.MarketType"), DR_STR("spot"));
    dr_ec2_put(params, DR_STR("InstanceMarketOptions.SpotOptions.SpotInstanceType"), DR_STR("one-time"));
    dr_ec2_put(params, DR_STR("InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior"), DR_STR("terminate"));
    if (ec2->o.spot_max_price.n > 0) {
        dr_ec2_put(params, DR_STR("InstanceMarketOptions.SpotOptions.MaxPrice"), ec2->o.spot_max_price);
    }
}

void dr_ec2_launch_params(const struct dr_ec2 *ec2, const struct dr_launch *launch, struct dr_ec2_params *params) {
    const struct dr_ec2_options *o = &ec2->o;
    if (o->launch_template.n > 0) {
        bool id = dr_str_starts(o->launch_template, "lt-");
        dr_ec2_put(params, id ? DR_STR("LaunchTemplate.LaunchTemplateId") : DR_STR("LaunchTemplate.LaunchTemplateName"),
                   o->launch_template);
        dr_ec2_put(params, DR_STR("LaunchTemplate.Version"), launch->template_version);
    } else {
        put_machine(ec2, params);
    }
    dr_ec2_put(params, DR_STR("InstanceType"), launch->type);
    put_network(ec2, launch->subnet, params);
    if (launch->market == DR_MARKET_SPOT) {
        put_market(ec2, params);
    }
    dr_ec2_put(params, DR_STR("MinCount"), DR_STR("1"));
    dr_ec2_put(params, DR_STR("MaxCount"), DR_STR("1"));
    dr_ec2_put(params, DR_STR("ClientToken"), launch->token);
    put_tags(ec2, launch, params, 1, "instance");
    if (o->tag_volumes) {
        put_tags(ec2, launch, params, 2, "volume");
    }
    for (size_t i = 0; i < o->extra_param_n; i++) {
        dr_ec2_put(params, o->extra_params[i].name, o->extra_params[i].value);
    }
}
