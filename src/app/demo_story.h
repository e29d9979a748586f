#ifndef DR_APP_DEMO_STORY_H
#define DR_APP_DEMO_STORY_H

/* The story that `drover demo` plays: a shop's day on a cluster of spot and on-demand machines. */

#include "core/config.h"
#include "sim/world.h"

#define DR_DEMO_HOURS 24

/* World options and configuration of the story. Strings are static. */
void dr_demo_options(uint64_t seed, struct dr_world_options *options, struct dr_config *cfg);

/* Workers and workloads at the start, and everything that happens later. `tell` hears of each turn of the story when it happens. */
struct dr_demo_teller {
    void (*tell)(void *self, int64_t now_ms, const char *text);
    void *self;
};
int dr_demo_fill(struct dr_world *world, const struct dr_demo_teller *teller, struct dr_err *err);

#endif
