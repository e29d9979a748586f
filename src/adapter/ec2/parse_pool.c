/* What a pool can launch: DescribeSubnets, DescribeInstanceTypes, DescribeLaunchTemplateVersions, DescribeSpotPriceHistory. */

#include <string.h>

#include "adapter/ec2/parse.h"
#include "adapter/ec2/xml.h"
#include "base/time.h"

#define RULE_N(rules) (sizeof(rules) / sizeof((rules)[0]))

static int take(struct dr_arena *arena, struct dr_str text, struct dr_str *ret, struct dr_err *err) {
    char *copy = dr_arena_try(arena, text.n + 1, 1);
    if (copy == NULL) {
        return dr_fail(err, DR_E_LIMIT, "more than fits in the memory set aside for it");
    }
    if (text.n > 0) {
        memcpy(copy, text.p, text.n);
    }
    *ret = (struct dr_str){copy, text.n};
    return 0;
}

static int whole(struct dr_str text, int64_t max, int64_t *ret, struct dr_err *err) {
    if (!dr_str_to_i64(text, ret) || *ret < 1 || *ret > max) {
        return dr_fail(err, DR_E_INVALID, "\"%.*s\" is not a number from 1 to %lld", DR_FMT(dr_str_sub(text, 0, 40)), (long long)max);
    }
    return 0;
}

/* ---- subnets ---- */

enum { NEXT_TOKEN, ITEM, FIRST, SECOND, THIRD, FOURTH };

struct reader {
    struct dr_arena *arena;
    union {
        struct dr_ec2_subnets *subnets;
        struct dr_ec2_types *types;
        struct dr_ec2_prices *prices;
    } list;
    union {
        struct dr_subnet *subnet;
        struct dr_ec2_type *type;
        struct dr_spot_price *price;
    } now;
};

static int subnet_begin(void *self, int field, struct dr_err *err) {
    struct reader *r = self;
    if (field != ITEM) {
        return 0;
    }
    struct dr_ec2_subnets *list = r->list.subnets;
    r->now.subnet = dr_ec2_append(r->arena, &list->v, &list->n, &list->cap, sizeof(*list->v), DR_EC2_MAX_SUBNETS);
    return r->now.subnet != NULL ? 0 : dr_fail(err, DR_E_LIMIT, "more than %d subnets", DR_EC2_MAX_SUBNETS);
}

static int subnet_end(void *self, int field, struct dr_str text, struct dr_err *err) {
    struct reader *r = self;
    switch (field) {
    case NEXT_TOKEN:
        return take(r->arena, text, &r->list.subnets->next_token, err);
    case FIRST:
        return take(r->arena, text, &r->now.subnet->id, err);
    case SECOND:
        return take(r->arena, text, &r->now.subnet->zone, err);
    default:
        return r->now.subnet->id.n > 0 && r->now.subnet->zone.n > 0 ? 0 : dr_fail(err, DR_E_INVALID, "no subnetId or no availabilityZone");
    }
}

int dr_ec2_parse_subnets(struct dr_arena *arena, struct dr_str body, struct dr_ec2_subnets *list, struct dr_err *err) {
    static const struct dr_xml_rule rules[] = {
        {"nextToken", NEXT_TOKEN},
        {"subnetSet/item", ITEM},
        {"subnetSet/item/subnetId", FIRST},
        {"subnetSet/item/availabilityZone", SECOND},
    };
    struct reader r = {.arena = arena, .list.subnets = list};
    const struct dr_xml_spec spec = {"DescribeSubnets", rules, RULE_N(rules), subnet_begin, subnet_end};
    list->next_token = DR_STR_NONE;
    return dr_xml_walk(body, &spec, &r, err);
}

/* ---- types ---- */

static int type_begin(void *self, int field, struct dr_err *err) {
    struct reader *r = self;
    if (field != ITEM) {
        return 0;
    }
    struct dr_ec2_types *list = r->list.types;
    r->now.type = dr_ec2_append(r->arena, &list->v, &list->n, &list->cap, sizeof(*list->v), DR_EC2_MAX_TYPES);
    return r->now.type != NULL ? 0 : dr_fail(err, DR_E_LIMIT, "more than %d types", DR_EC2_MAX_TYPES);
}

/* A type may list i386 beside x86_64. */
static void set_arch(struct dr_ec2_type *type, struct dr_str text) {
    if (dr_str_is(text, "arm64")) {
        type->arch = DR_STR("arm64");
    } else if (dr_str_is(text, "x86_64")) {
        type->arch = DR_STR("amd64");
    }
}

static int type_end(void *self, int field, struct dr_str text, struct dr_err *err) {
    struct reader *r = self;
    struct dr_ec2_type *type = r->now.type;
    switch (field) {
    case NEXT_TOKEN:
        return take(r->arena, text, &r->list.types->next_token, err);
    case FIRST:
        return take(r->arena, text, &type->name, err);
    case SECOND:
        return whole(text, 100000, &type->vcpus, err);
    case THIRD:
        return whole(text, INT64_C(1) << 32, &type->mem_mib, err);
    case FOURTH:
        set_arch(type, text);
        return 0;
    default:
        break;
    }
    const char *missing = type->name.n == 0    ? "instanceType"
                          : type->vcpus == 0   ? "vCpuInfo/defaultVCpus"
                          : type->mem_mib == 0 ? "memoryInfo/sizeInMiB"
                          : type->arch.n == 0  ? "processorInfo/supportedArchitectures with x86_64 or arm64"
                                               : NULL;
    return missing == NULL ? 0 : dr_fail(err, DR_E_INVALID, "type %.*s has no %s", DR_FMT(type->name), missing);
}

int dr_ec2_parse_types(struct dr_arena *arena, struct dr_str body, struct dr_ec2_types *list, struct dr_err *err) {
    static const struct dr_xml_rule rules[] = {
        {"nextToken", NEXT_TOKEN},
        {"instanceTypeSet/item", ITEM},
        {"instanceTypeSet/item/instanceType", FIRST},
        {"instanceTypeSet/item/vCpuInfo/defaultVCpus", SECOND},
        {"instanceTypeSet/item/memoryInfo/sizeInMiB", THIRD},
        {"instanceTypeSet/item/processorInfo/supportedArchitectures/item", FOURTH},
    };
    struct reader r = {.arena = arena, .list.types = list};
    const struct dr_xml_spec spec = {"DescribeInstanceTypes", rules, RULE_N(rules), type_begin, type_end};
    list->next_token = DR_STR_NONE;
    return dr_xml_walk(body, &spec, &r, err);
}

/* ---- launch template ---- */

enum { T_VERSION, T_ID, T_NUMBER, T_TYPE, T_MARKET, T_NETWORK };

struct template_reader {
    struct dr_arena *arena;
    struct dr_ec2_template *ret;
    size_t n;
};

static int template_begin(void *self, int field, struct dr_err *err) {
    struct template_reader *r = self;
    if (field == T_VERSION && ++r->n > 1) {
        return dr_fail(err, DR_E_INVALID, "several versions where one was asked for");
    }
    if (field == T_NETWORK) {
        r->ret->has_network = true;
    }
    return 0;
}

static int template_end(void *self, int field, struct dr_str text, struct dr_err *err) {
    struct template_reader *r = self;
    int64_t number = 0;
    switch (field) {
    case T_ID:
        return take(r->arena, text, &r->ret->id, err);
    case T_NUMBER:
        return whole(text, INT64_MAX, &number, err) < 0 ? -1 : take(r->arena, text, &r->ret->version, err);
    case T_TYPE:
        return take(r->arena, text, &r->ret->type, err);
    case T_MARKET:
        r->ret->has_market = text.n > 0;
        return 0;
    case T_VERSION:
        return r->ret->version.n > 0 && r->ret->id.n > 0 ? 0 : dr_fail(err, DR_E_INVALID, "no launchTemplateId or no versionNumber");
    default:
        return 0;
    }
}

int dr_ec2_parse_template(struct dr_arena *arena, struct dr_str body, struct dr_ec2_template *ret, struct dr_err *err) {
#define VERSION "launchTemplateVersionSet/item"
    static const struct dr_xml_rule rules[] = {
        {VERSION, T_VERSION},
        {VERSION "/launchTemplateId", T_ID},
        {VERSION "/versionNumber", T_NUMBER},
        {VERSION "/launchTemplateData/instanceType", T_TYPE},
        {VERSION "/launchTemplateData/instanceMarketOptions/marketType", T_MARKET},
        {VERSION "/launchTemplateData/networkInterfaceSet/item", T_NETWORK},
    };
#undef VERSION
    struct dr_ec2_template found = {.id = DR_STR_NONE};
    struct template_reader r = {arena, &found, 0};
    const struct dr_xml_spec spec = {"DescribeLaunchTemplateVersions", rules, RULE_N(rules), template_begin, template_end};
    if (dr_xml_walk(body, &spec, &r, err) < 0) {
        return -1;
    }
    if (r.n == 0) {
        return dr_fail(err, DR_E_NOT_FOUND, "ec2 DescribeLaunchTemplateVersions: no such version of the launch template");
    }
    *ret = found;
    return 0;
}

/* ---- spot prices ---- */

enum { MAX_PRICES = 100000 };

static int price_begin(void *self, int field, struct dr_err *err) {
    struct reader *r = self;
    if (field != ITEM) {
        return 0;
    }
    struct dr_ec2_prices *list = r->list.prices;
    r->now.price = dr_ec2_append(r->arena, &list->v, &list->n, &list->cap, sizeof(*list->v), MAX_PRICES);
    return r->now.price != NULL ? 0 : dr_fail(err, DR_E_LIMIT, "more than %d prices", MAX_PRICES);
}

static int price_end(void *self, int field, struct dr_str text, struct dr_err *err) {
    struct reader *r = self;
    struct dr_spot_price *price = r->now.price;
    switch (field) {
    case NEXT_TOKEN:
        return take(r->arena, text, &r->list.prices->next_token, err);
    case FIRST:
        return take(r->arena, text, &price->type, err);
    case SECOND:
        return take(r->arena, text, &price->zone, err);
    case THIRD:
        if (!dr_str_to_micro(text, &price->micro_usd) || price->micro_usd <= 0) {
            return dr_fail(err, DR_E_INVALID, "\"%.*s\" is not a price", DR_FMT(dr_str_sub(text, 0, 40)));
        }
        return 0;
    case FOURTH:
        return dr_time_parse(text, &price->at_ms) ? 0
                                                  : dr_fail(err, DR_E_INVALID, "\"%.*s\" is not a time", DR_FMT(dr_str_sub(text, 0, 40)));
    default:
        break;
    }
    const char *missing = price->type.n == 0      ? "instanceType"
                          : price->zone.n == 0    ? "availabilityZone"
                          : price->micro_usd == 0 ? "spotPrice"
                          : price->at_ms == 0     ? "timestamp"
                                                  : NULL;
    return missing == NULL ? 0 : dr_fail(err, DR_E_INVALID, "a price has no %s", missing);
}

int dr_ec2_parse_prices(struct dr_arena *arena, struct dr_str body, struct dr_ec2_prices *list, struct dr_err *err) {
#define PRICE "spotPriceHistorySet/item"
    static const struct dr_xml_rule rules[] = {
        {"nextToken", NEXT_TOKEN},      {PRICE, ITEM},
        {PRICE "/instanceType", FIRST}, {PRICE "/availabilityZone", SECOND},
        {PRICE "/spotPrice", THIRD},    {PRICE "/timestamp", FOURTH},
    };
#undef PRICE
    struct reader r = {.arena = arena, .list.prices = list};
    const struct dr_xml_spec spec = {"DescribeSpotPriceHistory", rules, RULE_N(rules), price_begin, price_end};
    list->next_token = DR_STR_NONE;
    return dr_xml_walk(body, &spec, &r, err);
}
