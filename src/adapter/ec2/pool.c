/* What the pool can launch: asked for when it is missing or old, kept, and put into the words of the port. */

#include <stdlib.h>
#include <string.h>

#include "adapter/ec2/handle.h"
#include "base/num.h"
#include "base/time.h"

/* Zones of subnets, sizes of types and the contents of a numbered template version never change; the rest is looked at again. */
#define KEEP_FIXED_MS (7 * DR_DAY_MS)
#define KEEP_TAGGED_SUBNETS_MS (10 * DR_MINUTE_MS)
#define KEEP_TEMPLATE_MS (5 * DR_MINUTE_MS)
#define DEFAULT_MEM_PPM 75000
#define DEFAULT_POD_LIMIT 110
#define MIB (INT64_C(1) << 20)

static const char *const actions[DR_EC2_PART_N] = {
    [DR_EC2_SUBNETS] = "DescribeSubnets",
    [DR_EC2_TEMPLATE] = "DescribeLaunchTemplateVersions",
    [DR_EC2_TYPES] = "DescribeInstanceTypes",
};

static struct dr_str wanted_version(const struct dr_ec2 *ec2) {
    return ec2->o.template_version.n > 0 ? ec2->o.template_version : DR_STR("$Default");
}

static bool version_is_fixed(const struct dr_ec2 *ec2) {
    int64_t number;
    return dr_str_to_i64(wanted_version(ec2), &number);
}

/* The names of the types in the order of preference; one for a template's own. */
static size_t wanted_n(const struct dr_ec2 *ec2) {
    return ec2->o.type_n > 0 ? ec2->o.type_n : ec2->known.template_ms > 0 && ec2->known.template_.type.n > 0 ? 1 : 0;
}

static struct dr_str wanted_type(const struct dr_ec2 *ec2, size_t i) {
    return ec2->o.type_n > 0 ? ec2->o.types[i].name : ec2->known.template_.type;
}

static const struct dr_ec2_type *type_find(const struct dr_ec2 *ec2, struct dr_str name) {
    for (size_t i = 0; i < ec2->known.type_n; i++) {
        if (dr_str_eq(ec2->known.types[i].name, name)) {
            return &ec2->known.types[i];
        }
    }
    return NULL;
}

/* A clock that was set back makes nothing younger than it is. */
static bool is_old(const struct dr_ec2 *ec2, int64_t at_ms, int64_t keep_ms) {
    int64_t age_ms = ec2->o.now_ms(ec2->o.self) - at_ms;
    return at_ms == 0 || age_ms < 0 || age_ms > keep_ms;
}

static bool types_missing(const struct dr_ec2 *ec2) {
    bool missing = is_old(ec2, ec2->known.types_ms, KEEP_FIXED_MS);
    for (size_t i = 0; i < wanted_n(ec2) && !missing; i++) {
        missing = type_find(ec2, wanted_type(ec2, i)) == NULL;
    }
    return missing && wanted_n(ec2) > 0;
}

static bool is_needed(const struct dr_ec2 *ec2, enum dr_ec2_part part) {
    switch (part) {
    case DR_EC2_SUBNETS:
        return is_old(ec2, ec2->known.subnets_ms, ec2->o.subnets.n > 0 ? KEEP_FIXED_MS : KEEP_TAGGED_SUBNETS_MS);
    case DR_EC2_TEMPLATE:
        return ec2->o.launch_template.n > 0 && (ec2->o.type_n == 0 || !version_is_fixed(ec2)) &&
               is_old(ec2, ec2->known.template_ms, version_is_fixed(ec2) ? KEEP_FIXED_MS : KEEP_TEMPLATE_MS);
    case DR_EC2_TYPES:
        return types_missing(ec2);
    case DR_EC2_PART_N:
        break;
    }
    return false;
}

static void put_params(const struct dr_ec2 *ec2, enum dr_ec2_part part, struct dr_ec2_params *params) {
    if (part == DR_EC2_SUBNETS) {
        for (size_t i = 0; i < ec2->o.subnets.n; i++) {
            dr_ec2_putf(params, ec2->o.subnets.v[i], "SubnetId.%zu", i + 1);
        }
        if (ec2->o.subnets.n == 0) {
            dr_ec2_put_tag_filters(params, ec2->o.subnet_tags, ec2->o.subnet_tag_n);
        }
    } else if (part == DR_EC2_TEMPLATE) {
        bool id = dr_str_starts(ec2->o.launch_template, "lt-");
        dr_ec2_put(params, id ? DR_STR("LaunchTemplateId") : DR_STR("LaunchTemplateName"), ec2->o.launch_template);
        dr_ec2_put(params, DR_STR("LaunchTemplateVersion.1"), wanted_version(ec2));
    } else {
        for (size_t i = 0; i < wanted_n(ec2); i++) {
            dr_ec2_putf(params, dr_str_dup(params->arena, wanted_type(ec2, i)), "InstanceType.%zu", i + 1);
        }
    }
}

static struct dr_aws_call *start(struct dr_ec2 *ec2, enum dr_ec2_part part, struct dr_str next_token, int64_t deadline_ms) {
    struct dr_ec2_params params = {.arena = &ec2->sent};
    put_params(ec2, part, &params);
    if (next_token.n > 0) {
        dr_ec2_put(&params, DR_STR("NextToken"), dr_str_dup(&ec2->sent, next_token));
    }
    struct dr_aws_request request = dr_ec2_request(actions[part], &params, deadline_ms);
    return dr_aws_start(ec2->o.aws, &request);
}

void dr_ec2_pool_request(struct dr_ec2 *ec2, int64_t deadline_ms) {
    for (int part = 0; part < DR_EC2_PART_N; part++) {
        DR_ASSERT(ec2->parts[part] == NULL);
        if (is_needed(ec2, (enum dr_ec2_part)part)) {
            ec2->parts[part] = start(ec2, (enum dr_ec2_part)part, DR_STR_NONE, deadline_ms);
        }
    }
}

/* What came, in a scratch arena. */
struct fresh {
    struct dr_ec2_subnets subnets;
    struct dr_ec2_types types;
    struct dr_ec2_template template_;
};

static int parse(enum dr_ec2_part part, struct dr_arena *arena, struct dr_str body, struct fresh *fresh, struct dr_str *ret_next,
                 struct dr_err *err) {
    int result = 0;
    *ret_next = DR_STR_NONE;
    if (part == DR_EC2_SUBNETS) {
        result = dr_ec2_parse_subnets(arena, body, &fresh->subnets, err);
        *ret_next = fresh->subnets.next_token;
    } else if (part == DR_EC2_TEMPLATE) {
        result = dr_ec2_parse_template(arena, body, &fresh->template_, err);
    } else {
        result = dr_ec2_parse_types(arena, body, &fresh->types, err);
        *ret_next = fresh->types.next_token;
    }
    return result;
}

/* All pages of the part, the first of which is under way. */
static int fetch(struct dr_ec2 *ec2, enum dr_ec2_part part, struct dr_arena *arena, int64_t deadline_ms, struct fresh *fresh,
                 struct dr_err *err) {
    int result = 0;
    for (int page = 0; result == 0 && ec2->parts[part] != NULL; page++) {
        struct dr_str body;
        struct dr_str next = DR_STR_NONE;
        result = dr_aws_wait(ec2->o.aws, ec2->parts[part], &body, err);
        if (result == 0) {
            result = parse(part, arena, body, fresh, &next, err);
        }
        dr_aws_call_free(ec2->parts[part]);
        ec2->parts[part] = NULL;
        if (result == 0 && next.n > 0) {
            if (page == DR_EC2_MAX_PAGES) {
                return dr_fail(err, DR_E_LIMIT, "ec2 %s: more than %d pages", actions[part], DR_EC2_MAX_PAGES);
            }
            ec2->parts[part] = start(ec2, part, next, deadline_ms);
        }
    }
    return result;
}

static int check_fresh(const struct dr_ec2 *ec2, enum dr_ec2_part part, const struct fresh *fresh, struct dr_err *err) {
    if (part == DR_EC2_SUBNETS && fresh->subnets.n == 0) {
        return dr_fail(err, DR_E_NOT_FOUND, "ec2 DescribeSubnets: no subnet has all of the tags that are asked for");
    }
    if (part == DR_EC2_TEMPLATE && fresh->template_.type.n == 0 && ec2->o.type_n == 0) {
        return dr_fail(err, DR_E_INVALID,
                       "ec2 DescribeLaunchTemplateVersions: the launch template names no instance type, nor does the configuration");
    }
    return 0;
}

static void copy_parts(struct dr_ec2_known *to, const struct dr_ec2_known *from) {
    struct dr_subnet *subnets = DR_NEW_N(&to->arena, struct dr_subnet, from->subnet_n);
    for (size_t i = 0; i < from->subnet_n; i++) {
        subnets[i] = (struct dr_subnet){dr_str_dup(&to->arena, from->subnets[i].id), dr_str_dup(&to->arena, from->subnets[i].zone)};
    }
    struct dr_ec2_type *types = DR_NEW_N(&to->arena, struct dr_ec2_type, from->type_n);
    for (size_t i = 0; i < from->type_n; i++) {
        types[i] = from->types[i]; /* the architecture is static */
        types[i].name = dr_str_dup(&to->arena, from->types[i].name);
    }
    to->subnets = subnets;
    to->types = types;
    to->template_.id = dr_str_dup(&to->arena, from->template_.id);
    to->template_.version = dr_str_dup(&to->arena, from->template_.version);
    to->template_.type = dr_str_dup(&to->arena, from->template_.type);
}

/* One part of what is known becomes what just came. Everything moves to a new arena, so that years of refreshing take no more memory than the first time. */
static void adopt(struct dr_ec2 *ec2, enum dr_ec2_part part, const struct fresh *fresh) {
    struct dr_ec2_known next = ec2->known;
    int64_t now_ms = ec2->o.now_ms(ec2->o.self);
    if (part == DR_EC2_SUBNETS) {
        next.subnets = fresh->subnets.v;
        next.subnet_n = fresh->subnets.n;
        next.subnets_ms = now_ms;
    } else if (part == DR_EC2_TEMPLATE) {
        next.template_ = fresh->template_;
        next.template_ms = now_ms;
    } else {
        next.types = fresh->types.v;
        next.type_n = fresh->types.n;
        next.types_ms = now_ms;
    }
    struct dr_ec2_known from = next;
    dr_arena_init(&next.arena, 0);
    copy_parts(&next, &from);
    dr_arena_deinit(&ec2->known.arena);
    ec2->known = next;
}

static bool collect_part(struct dr_ec2 *ec2, enum dr_ec2_part part, int64_t deadline_ms) {
    struct dr_arena scratch;
    struct fresh fresh = {.template_ = {.id = DR_STR_NONE}};
    struct dr_err err = {.code = DR_OK};
    if (ec2->parts[part] == NULL) {
        return false;
    }
    dr_arena_init(&scratch, 0);
    bool ok = fetch(ec2, part, &scratch, deadline_ms, &fresh, &err) == 0 && check_fresh(ec2, part, &fresh, &err) == 0;
    if (ok) {
        adopt(ec2, part, &fresh);
    } else if (ec2->pool_err.code == DR_OK) {
        ec2->pool_err = err;
    }
    dr_arena_deinit(&scratch);
    return ok;
}

void dr_ec2_pool_collect(struct dr_ec2 *ec2, int64_t deadline_ms) {
    ec2->pool_err = (struct dr_err){.code = DR_OK};
    bool changed = collect_part(ec2, DR_EC2_SUBNETS, deadline_ms);
    changed |= collect_part(ec2, DR_EC2_TEMPLATE, deadline_ms);
    bool asked = ec2->parts[DR_EC2_TYPES] != NULL;
    changed |= collect_part(ec2, DR_EC2_TYPES, deadline_ms);
    if (types_missing(ec2) && (!asked || ec2->pool_err.code == DR_OK)) { /* the template has just said which */
        ec2->parts[DR_EC2_TYPES] = start(ec2, DR_EC2_TYPES, DR_STR_NONE, deadline_ms);
        changed |= collect_part(ec2, DR_EC2_TYPES, deadline_ms);
    }
    if (changed) {
        dr_ec2_cache_write(ec2);
    }
}

static struct dr_labels labels_of(const struct dr_ec2 *ec2, const struct dr_ec2_type *type, struct dr_arena *arena) {
    struct dr_label *labels = DR_NEW_N(arena, struct dr_label, ec2->o.labels.n + 1);
    labels[0] = (struct dr_label){DR_STR("kubernetes.io/arch"), type->arch};
    for (size_t i = 0; i < ec2->o.labels.n; i++) {
        labels[i + 1] = ec2->o.labels.v[i];
    }
    return (struct dr_labels){labels, ec2->o.labels.n + 1};
}

static struct dr_worker_type view_of(const struct dr_ec2 *ec2, const struct dr_ec2_type *type, struct dr_arena *arena) {
    const struct dr_ec2_reserve *reserve = &ec2->o.reserve;
    int64_t mem_bytes = dr_sat_mul(type->mem_mib, MIB);
    mem_bytes -= dr_mul_div(mem_bytes, reserve->mem_ppm < 0 ? DEFAULT_MEM_PPM : reserve->mem_ppm, 1000000);
    return (struct dr_worker_type){
        .name = dr_str_dup(arena, type->name),
        .cpu_milli = dr_max_i64(type->vcpus * 1000 - reserve->cpu_milli, 0),
        .mem_bytes = dr_max_i64(mem_bytes - reserve->mem_bytes, 0),
        .pod_limit = reserve->pod_limit == 0 ? DEFAULT_POD_LIMIT : reserve->pod_limit,
        .labels = labels_of(ec2, type, arena),
        .taints = ec2->o.taints,
        .taint_n = ec2->o.taint_n,
    };
}

void dr_ec2_pool_view(const struct dr_ec2 *ec2, struct dr_arena *arena, struct dr_pool *ret) {
    *ret = (struct dr_pool){.template_version = DR_STR_NONE};
    if (ec2->o.launch_template.n > 0) {
        if (!version_is_fixed(ec2) && ec2->known.template_ms == 0) {
            return; /* which version would be launched is not known: nothing can be */
        }
        ret->template_version = dr_str_dup(arena, version_is_fixed(ec2) ? wanted_version(ec2) : ec2->known.template_.version);
    }
    struct dr_worker_type *types = DR_NEW_N(arena, struct dr_worker_type, wanted_n(ec2));
    for (size_t i = 0; i < wanted_n(ec2); i++) {
        const struct dr_ec2_type *type = type_find(ec2, wanted_type(ec2, i));
        if (type != NULL) {
            types[ret->type_n] = view_of(ec2, type, arena);
            types[ret->type_n++].on_demand_micro_usd = ec2->o.type_n > 0 ? ec2->o.types[i].on_demand_micro_usd : 0;
        }
    }
    struct dr_subnet *subnets = DR_NEW_N(arena, struct dr_subnet, ec2->known.subnet_n);
    for (size_t i = 0; i < ec2->known.subnet_n; i++) {
        subnets[i] = (struct dr_subnet){dr_str_dup(arena, ec2->known.subnets[i].id), dr_str_dup(arena, ec2->known.subnets[i].zone)};
    }
    ret->types = types;
    ret->subnets = subnets;
    ret->subnet_n = ec2->known.subnet_n;
}

bool dr_ec2_pool_ok(const struct dr_ec2 *ec2, struct dr_err *ret) {
    if (ec2->pool_err.code != DR_OK && ret != NULL) {
        *ret = ec2->pool_err;
    }
    return ec2->pool_err.code == DR_OK;
}

bool dr_ec2_template(const struct dr_ec2 *ec2, struct dr_ec2_template *ret) {
    if (ec2->known.template_ms > 0) {
        *ret = ec2->known.template_;
    }
    return ec2->known.template_ms > 0;
}
