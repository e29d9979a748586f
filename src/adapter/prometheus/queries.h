#ifndef DR_ADAPTER_PROMETHEUS_QUERIES_H
#define DR_ADAPTER_PROMETHEUS_QUERIES_H

/* The built-in queries, restricted to workers. Nothing here does I/O. */

#include "core/config.h"

/*
 * The query of a signal as it is to be sent. The preset's queries for cpu and memory are rewritten so that servers do not count (hazard 10): node-exporter's `instance` is an
 * address or a name, with or without a port, and is compared with the addresses and names of the nodes that kube-state-metrics shows in a server role; where there is
 * no kube-state-metrics this takes nothing away. `servers` are hosts to leave out in any case.
 *
 * Idle time is divided by all time, not taken as it is: rate() of a series that began a minute ago is a fifth of what it should be over five minutes, so that a worker that has just joined would
 * look busy, and one join would bring the next. In the quotient both sides are short by the same factor.
 */
struct dr_str dr_prometheus_worker_query(struct dr_arena *arena, const struct dr_signal *signal, const struct dr_str *servers,
                                         size_t server_n);

#endif
