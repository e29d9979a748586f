#ifndef DR_PORT_METRICS_H
#define DR_PORT_METRICS_H

/* Series of readings. `request` sends the queries without waiting (may be NULL), `read` waits for the answers: so the reads of one tick go out at once. */

#include "core/config.h"
#include "core/model.h"

struct dr_metrics_ops {
    void (*request)(void *self, const struct dr_signal *signals, size_t signal_n, int64_t now_ms, int64_t deadline_ms);
    /* Fills one reading per signal: samples in the arena, oldest first, or unknown with a reason. Does not fail as a whole. */
    void (*read)(void *self, struct dr_arena *arena, const struct dr_signal *signals, size_t signal_n, int64_t now_ms, int64_t deadline_ms,
                 struct dr_reading *ret);
};
struct dr_metrics {
    const struct dr_metrics_ops *ops;
    void *self;
};

#endif
