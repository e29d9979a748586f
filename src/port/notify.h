#ifndef DR_PORT_NOTIFY_H
#define DR_PORT_NOTIFY_H

/* Tells people: alerts and finished actions. Never fails the tick. */

#include "core/plan.h"

enum dr_notice_level { DR_NOTICE_INFO, DR_NOTICE_WARN, DR_NOTICE_ALERT };

struct dr_notify_ops {
    void (*notify)(void *self, int64_t now_ms, enum dr_notice_level level, const char *event, struct dr_str text);
    /* The finished plan of a tick, whatever it did: for live views and telemetry. */
    void (*plan)(void *self, const struct dr_plan *plan);
};
struct dr_notify {
    const struct dr_notify_ops *ops; /* either function may be NULL */
    void *self;
};

#endif
