#include <string.h>

#include "base/time.h"
#include "engine/run.h"

static struct dr_part unknown(struct dr_run *run, const struct dr_err *err) {
    return (struct dr_part){.known = false, .why = dr_str_dup(run->obs, dr_str_of(err->text))};
}

static void read_rows(struct dr_run *run, int64_t deadline_ms) {
    struct dr_err err = {.code = DR_OK};
    const struct dr_store *store = &run->ports->store;
    run->snap.events_part.known = true;
    if (store->ops->inbox(store->self, run->obs, run->cfg->cluster, deadline_ms, &run->snap.events, &run->snap.event_n, &err) < 0) {
        run->snap.events_part = unknown(run, &err);
        run->snap.events = NULL;
        run->snap.event_n = 0;
    }
}

/* What the queue had is in the inbox by now, but not in what was just read. A queue that does not answer hides nothing that is there. */
static void read_inbox(struct dr_run *run, int64_t deadline_ms) {
    const struct dr_events *events = &run->ports->events;
    struct dr_err err = {.code = DR_OK};
    size_t n = 0;
    read_rows(run, deadline_ms);
    if (events->ops == NULL) {
        return;
    }
    if (events->ops->collect(events->self, deadline_ms, &n, &err) < 0) {
        run->snap.events_part = unknown(run, &err);
    } else if (n > 0) {
        read_rows(run, deadline_ms);
    }
}

/* Requests go out first, answers are collected after: the reads of a tick take as long as the slowest. */
void dr_run_observe(struct dr_run *run) {
    const struct dr_ports *ports = run->ports;
    const struct dr_config *cfg = run->cfg;
    uint64_t seq = run->snap.seq + 1;
    memset(&run->snap, 0, sizeof(run->snap));
    int64_t now_ms = dr_run_now(run);
    run->snap.seq = seq;
    run->snap.now_ms = now_ms;
    int64_t deadline_ms = dr_run_call_deadline(run);
    if (ports->compute.ops->request != NULL) {
        ports->compute.ops->request(ports->compute.self, deadline_ms);
    }
    if (ports->cluster.ops->request != NULL) {
        ports->cluster.ops->request(ports->cluster.self, deadline_ms);
    }
    if (ports->metrics.ops->request != NULL) {
        ports->metrics.ops->request(ports->metrics.self, cfg->signals, cfg->signal_n, now_ms, deadline_ms);
    }
    if (ports->events.ops != NULL) {
        ports->events.ops->request(ports->events.self);
    }
    struct dr_reading *readings = DR_NEW_N(run->obs, struct dr_reading, cfg->signal_n);
    read_inbox(run, deadline_ms);
    ports->compute.ops->observe(ports->compute.self, run->obs, deadline_ms, &run->snap);
    ports->cluster.ops->observe(ports->cluster.self, run->obs, deadline_ms, &run->snap);
    ports->metrics.ops->read(ports->metrics.self, run->obs, cfg->signals, cfg->signal_n, now_ms, deadline_ms, readings);
    run->snap.readings = readings;
    run->snap.reading_n = cfg->signal_n;
    run->snap.touched = false;
    run->view_stale = true;
}
