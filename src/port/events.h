#ifndef DR_PORT_EVENTS_H
#define DR_PORT_EVENTS_H

/* What brings events into the inbox of the store while a tick looks: a queue. Optional; a daemon that listens all the time has none. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct dr_events_ops {
    /* Asks for what is there and waits for nothing. */
    void (*request)(void *self);
    /* Puts what came into the inbox; `ret_n`: so much of it is worth a look. On an error nothing is lost: it comes again. */
    int (*collect)(void *self, int64_t deadline_ms, size_t *ret_n, struct dr_err *err);
};
struct dr_events {
    const struct dr_events_ops *ops; /* NULL: none */
    void *self;
};

#endif
