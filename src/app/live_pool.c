/* The pool as EC2 wants it. */
#include "app/live.h"

#define USER_DATA_MAX 16384 /* what EC2 takes, before encoding */

const struct dr_label *dr_live_labels(struct dr_arena *arena, struct dr_strs list) {
    struct dr_label *labels = DR_NEW_N(arena, struct dr_label, list.n);
    for (size_t i = 0; i < list.n; i++) {
        size_t equals = dr_str_find(list.v[i], '=');
        labels[i].key = dr_str_sub(list.v[i], 0, equals);
        labels[i].value = dr_str_sub(list.v[i], equals + 1, list.v[i].n);
    }
    return labels;
}

static int taint_of(struct dr_str text, struct dr_taint *ret, struct dr_err *err) {
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"}; /* as enum dr_taint_effect */
    size_t equals = dr_str_find(text, '=');
    size_t colon = text.n;
    while (colon > equals && text.p[colon - 1] != ':') {
        colon--;
    }
    for (size_t i = 0; i < 3 && colon > equals; i++) {
        if (dr_str_is(dr_str_sub(text, colon, text.n), effects[i])) {
            *ret = (struct dr_taint){dr_str_sub(text, 0, equals), dr_str_sub(text, equals + 1, colon - 1), (enum dr_taint_effect)i};
            return 0;
        }
    }
    return dr_fail(err, DR_E_INVALID, "ec2.taints: %.*s: must be name=value:NoSchedule, PreferNoSchedule or NoExecute", DR_FMT(text));
}

static int put_taints(struct dr_live *live, struct dr_ec2_options *ret, struct dr_err *err) {
    struct dr_strs list = live->settings->live.taints;
    struct dr_taint *taints = DR_NEW_N(&live->arena, struct dr_taint, list.n);
    for (size_t i = 0; i < list.n; i++) {
        if (taint_of(list.v[i], &taints[i], err) < 0) {
            return -1;
        }
    }
    ret->taints = taints;
    ret->taint_n = list.n;
    return 0;
}

static void put_types(struct dr_live *live, struct dr_ec2_options *ret) {
    struct dr_strs list = live->settings->live.types;
    struct dr_ec2_type_option *types = DR_NEW_N(&live->arena, struct dr_ec2_type_option, list.n);
    for (size_t i = 0; i < list.n; i++) {
        types[i].name = list.v[i];
    }
    ret->types = types;
    ret->type_n = list.n;
}

int dr_live_pool_options(struct dr_live *live, struct dr_ec2_options *ret, struct dr_err *err) {
    const struct dr_live_config *cfg = &live->settings->live;
    *ret = (struct dr_ec2_options){
        .aws = live->aws,
        .now_ms = dr_process_now_ms,
        .self = live->process,
        .state_dir = cfg->cache_dir.n == 0 ? NULL : cfg->cache_dir.p,
        .cluster = live->settings->cfg.cluster,
        .pool_tags = dr_live_labels(&live->arena, cfg->pool_tags),
        .pool_tag_n = cfg->pool_tags.n,
        .extra_tags = dr_live_labels(&live->arena, cfg->extra_tags),
        .extra_tag_n = cfg->extra_tags.n,
        .tag_volumes = cfg->tag_volumes,
        .name = cfg->instance_name,
        .launch_template = cfg->launch_template,
        .template_version = cfg->template_version,
        .machine = {.image_id = cfg->image_id, .key_name = cfg->key_name, .instance_profile = cfg->instance_profile},
        .security_groups = cfg->security_groups,
        .public_ip = cfg->public_ip == DR_PUBLIC_IP_YES  ? DR_EC2_PUBLIC_IP_YES
                     : cfg->public_ip == DR_PUBLIC_IP_NO ? DR_EC2_PUBLIC_IP_NO
                                                         : DR_EC2_PUBLIC_IP_SUBNET,
        .spot_max_price = cfg->spot_max_price,
        .subnets = cfg->subnets,
        .subnet_tags = dr_live_labels(&live->arena, cfg->subnet_tags),
        .subnet_tag_n = cfg->subnet_tags.n,
        .reserve = {.cpu_milli = cfg->reserve_cpu_milli, .mem_bytes = cfg->reserve_mem_mib * 1024 * 1024, .mem_ppm = -1},
        .labels = {dr_live_labels(&live->arena, cfg->labels), cfg->labels.n},
    };
    put_types(live, ret);
    if (cfg->launch_template.n == 0 && cfg->image_id.n == 0) {
        return dr_fail(err, DR_E_INVALID, "ec2.launchTemplate: is not set: name the launch template of workers (or ec2.image)");
    }
    if (cfg->subnets.n == 0 && cfg->subnet_tags.n == 0) {
        return dr_fail(err, DR_E_INVALID, "ec2.subnets: is not set: name the subnets of workers (or their tags in ec2.subnetTags)");
    }
    if (cfg->user_data_file.n > 0 &&
        dr_live_read_file(live, "ec2.userDataFile", cfg->user_data_file, USER_DATA_MAX, &ret->machine.user_data, err) < 0) {
        return -1;
    }
    return put_taints(live, ret, err);
}
