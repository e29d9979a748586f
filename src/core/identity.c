#include "core/identity.h"

#include "core/fleet.h"

/* aws:///eu-west-1a/i-0abc or aws://eu-west-1a/i-0abc; K3s's own k3s://name says nothing about the machine. */
static struct dr_str id_in_provider(struct dr_str provider_id) {
    if (!dr_str_starts(provider_id, "aws://")) {
        return DR_STR_NONE;
    }
    size_t from = provider_id.n;
    while (provider_id.p[from - 1] != '/') {
        from--;
    }
    struct dr_str id = {provider_id.p + from, provider_id.n - from};
    return dr_str_starts(id, "i-") ? id : DR_STR_NONE;
}

enum dr_identity dr_identity_of(const struct dr_node *node, struct dr_str *ret_id) {
    struct dr_str id = id_in_provider(node->provider_id);
    if (node->instance_label.n > 0) {
        if (id.n > 0 && !dr_str_eq(id, node->instance_label)) {
            return DR_IDENTITY_BROKEN;
        }
        id = node->instance_label;
    }
    if (id.n == 0) {
        return DR_IDENTITY_NONE;
    }
    *ret_id = id;
    return DR_IDENTITY_ID;
}

bool dr_identity_agrees(const struct dr_node *node, const struct dr_instance *instance) {
    if (node->internal_ip.n > 0 && instance->private_ip.n > 0 && !dr_str_eq(node->internal_ip, instance->private_ip)) {
        return false;
    }
    return node->created_ms >= instance->launched_ms - DR_LAUNCH_SKEW_MS;
}

bool dr_instance_works(const struct dr_instance *instance) {
    return instance->state == DR_INSTANCE_PENDING || instance->state == DR_INSTANCE_RUNNING;
}
