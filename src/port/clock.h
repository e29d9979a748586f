#ifndef DR_PORT_CLOCK_H
#define DR_PORT_CLOCK_H

/* Time as the engine knows it: real, or virtual in the simulator. */

#include <stdbool.h>
#include <stdint.h>

struct dr_clock_ops {
    int64_t (*now_ms)(void *self); /* since 1970 UTC */
    /* Waits; returns early when the process is asked to stop or something woke it. */
    void (*sleep_ms)(void *self, int64_t ms);
    /* The process was asked to stop: finish the current effect, write, leave. */
    bool (*stopping)(void *self);
};
struct dr_clock {
    const struct dr_clock_ops *ops;
    void *self;
};

#endif
