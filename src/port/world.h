#ifndef DR_PORT_WORLD_H
#define DR_PORT_WORLD_H

/* All ports together: what an engine is given. */

#include "port/clock.h"
#include "port/cluster.h"
#include "port/compute.h"
#include "port/events.h"
#include "port/metrics.h"
#include "port/notify.h"
#include "port/store.h"

struct dr_ports {
    struct dr_clock clock;
    struct dr_metrics metrics;
    struct dr_cluster cluster;
    struct dr_compute compute;
    struct dr_store store;
    struct dr_events events;
    struct dr_notify notify;
};

#endif
