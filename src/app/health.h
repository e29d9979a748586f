#ifndef DR_APP_HEALTH_H
#define DR_APP_HEALTH_H

/*
 * GET /healthz and /readyz on loopback. A thread of its own answers, because a pass may wait seconds for a slow peer, and a probe must not take that for death.
 *   /healthz  200 while the loop shows signs of life, else 503
 *   /readyz   200 if the last pass ended well (or another process holds the lease), else 503 with the reason
 */

#include <stdatomic.h>

#include "base/err.h"
#include "base/str.h"

struct dr_health;

/* `listen` is "127.0.0.1:9470" or "[::1]:9470"; port 0: a free one. `beat_ms` is the time of the last sign of life (monotonic) and must outlive the thread; older than `silent_ms` is dead. */
struct dr_health *dr_health_start(struct dr_str listen, const _Atomic int64_t *beat_ms, int64_t silent_ms, struct dr_err *err);
void dr_health_stop(struct dr_health *health); /* NULL is fine */
int dr_health_port(const struct dr_health *health);
/* Before the first call: not ready, "no pass has ended yet". NULL health is fine. */
void dr_health_set_ready(struct dr_health *health, bool ready, const char *why);

#endif
