#ifndef DR_APP_DEMO_VIEW_H
#define DR_APP_DEMO_VIEW_H

/* The live picture of the demo: rendered into a buffer from the world and the last decisions, so that tests can look at it. */

#include "core/config.h"
#include "core/plan.h"
#include "sim/world.h"

#define DR_DEMO_LINES 64
#define DR_DEMO_LINE_MAX 240

/* The last things that happened, oldest first. */
struct dr_demo_log {
    char lines[DR_DEMO_LINES][DR_DEMO_LINE_MAX];
    size_t next;
    size_t n;
};
void dr_demo_log_put(struct dr_demo_log *log, const char *line);

struct dr_demo_picture {
    struct dr_world *world;
    const struct dr_config *cfg;
    const struct dr_state *state; /* NULL: no item yet */
    const struct dr_demo_log *log;
    int64_t speed; /* virtual seconds per second */
    uint64_t seed;
    int width;
    int height;
    bool colour;
};

/* Exactly `height` lines of at most `width` columns, separated by newlines. */
void dr_demo_draw(const struct dr_demo_picture *picture, struct dr_buf *buf);

#endif
