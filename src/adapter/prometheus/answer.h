#ifndef DR_ADAPTER_PROMETHEUS_ANSWER_H
#define DR_ADAPTER_PROMETHEUS_ANSWER_H

/* Reading what Prometheus answers. Nothing here does I/O. */

#include "base/arena.h"
#include "core/model.h"

#define DR_PROMETHEUS_MAX_SAMPLES 20000

/*
 * A body and its status to a reading. One series is wanted: none, several, no finite number, an error, a warning (an answer that is not complete) and a page of something else are unknown,
 * with the reason. Samples that are not finite are left out, so they are holes.
 */
void dr_prometheus_answer(struct dr_arena *arena, int status, struct dr_str body, struct dr_reading *ret);

/* An unknown reading. */
__attribute__((format(printf, 3, 4))) void dr_prometheus_unknown(struct dr_arena *arena, struct dr_reading *ret, const char *fmt, ...);

#endif
