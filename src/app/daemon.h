#ifndef DR_APP_DAEMON_H
#define DR_APP_DAEMON_H

/*
 * When passes run: at every interval, sooner while an action waits for something, and soon after an event. It knows neither adapters nor the clock of the machine, so
 * tests drive it in virtual time.
 *
 *     wait -> woken by a pod, a Node or a message -> gather for `batch_ms` -> pass -> when is the next due? -> wait
 *
 * Several processes may run: the lease decides who acts. One that finds it held is a standby and looks again after DR_DAEMON_FOLLOW_MS.
 */

#include "app/health.h"
#include "base/log.h"
#include "engine/tick.h"

#define DR_DAEMON_FOLLOW_MS (10 * INT64_C(1000)) /* from a pass that waits for something, or finds the lease held, to the next */
#define DR_DAEMON_RETRY_MS (5 * INT64_C(1000))   /* from a pass that failed to the next; doubles up to the interval */
#define DR_DAEMON_CALM_MS (2 * INT64_C(1000))    /* pods and Nodes wake no pass so soon after the last */

enum dr_wake {
    DR_WAKE_MESSAGE = 1, /* a row reached the inbox */
    DR_WAKE_POD = 2,     /* a pod cannot be scheduled */
    DR_WAKE_NODE = 4,    /* a Node changed */
    DR_WAKE_RELOAD = 8,
    DR_WAKE_STOP = 16,
};

struct dr_daemon;

struct dr_daemon_ops {
    int64_t (*monotonic_ms)(void *self);
    /* Waits until then or until something happens; gives what did (bits of enum dr_wake), 0 when the time is over. */
    unsigned (*wait)(void *self, int64_t until_ms);
    /* New configuration: may replace ports and cfg. -1: the old ones stay. Says itself what is wrong. */
    int (*reload)(void *self, struct dr_daemon *daemon);
};

struct dr_daemon {
    const struct dr_daemon_ops *ops;
    void *self;
    const struct dr_ports *ports;
    const struct dr_config *cfg;
    struct dr_log *log;       /* NULL: nothing is logged */
    struct dr_health *health; /* NULL: nobody asks */
    int64_t batch_ms;
    struct dr_str name;                                                  /* of this process: part of every request id */
    void (*after_tick)(void *self, const struct dr_tick_report *report); /* may be NULL */

    /* The daemon's own. */
    struct dr_arena arena;
    struct dr_arena later;
    uint64_t tick_n;
    int failures;         /* in a row */
    int64_t last_tick_ms; /* monotonic, end of the last pass */
    int64_t next_ms;      /* monotonic: the next pass is due */
    unsigned woken;       /* events since the last pass */
    int64_t woken_ms;     /* when the first of them came */
};

void dr_daemon_init(struct dr_daemon *daemon);
void dr_daemon_deinit(struct dr_daemon *daemon);

/* Until it is asked to stop. */
void dr_daemon_run(struct dr_daemon *daemon);

/* One pass now, logged; what `drover tick` does too. */
enum dr_tick_outcome dr_daemon_tick(struct dr_daemon *daemon, const char *woken_by, struct dr_tick_report *ret);

/* From the end of a pass to the next one that is due without any event. */
int64_t dr_daemon_pause_ms(const struct dr_config *cfg, const struct dr_tick_report *report, int failures, int64_t now_ms);

/* "done", "waiting", ... */
const char *dr_tick_outcome_name(enum dr_tick_outcome outcome);

#endif
