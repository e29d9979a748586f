#ifndef DR_CORE_IDENTITY_H
#define DR_CORE_IDENTITY_H

/* What a Node says about the machine that it runs on, apart from what EC2 says. */

#include "core/model.h"

enum dr_identity {
    DR_IDENTITY_NONE,   /* neither provider id of EC2 nor label: the address must do */
    DR_IDENTITY_ID,     /* names an instance */
    DR_IDENTITY_BROKEN, /* provider id and label name different instances */
};

/* `ret_id` is set only for DR_IDENTITY_ID and points into the Node. */
enum dr_identity dr_identity_of(const struct dr_node *node, struct dr_str *ret_id);

/* Could this Node, which names the instance, be it? The addresses agree where both are known and the Node is not older than the launch. */
bool dr_identity_agrees(const struct dr_node *node, const struct dr_instance *instance);

/* Pending or running. */
bool dr_instance_works(const struct dr_instance *instance);

#endif
