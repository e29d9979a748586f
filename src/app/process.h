#ifndef DR_APP_PROCESS_H
#define DR_APP_PROCESS_H

/*
 * The process around real ports: the wall clock, signals, and a wait that is ended by either. Signals come through a file descriptor, so nothing runs inside of a
 * handler and there is no global state: SIGTERM and SIGINT ask to stop, SIGHUP asks to reload.
 *
 * Every look at the clock is a sign of life: it feeds the watchdog and the health answer, so that a pass that goes from call to call is alive and one that hangs is not.
 */

#include <stdatomic.h>

#include "adapter/http/http.h"
#include "app/sd_notify.h"
#include "port/clock.h"

struct dr_process {
    struct dr_http *http; /* driven while waiting; NULL: none */
    int signal_fd;        /* -1: signals are not caught */
    bool stopping;
    bool reload;
    int64_t grace_ms; /* after the wish to stop; 0: no limit */
    /* Called during a wait whenever something may have happened. True: the wait ends. May be NULL. */
    bool (*pump)(void *self);
    void *self;
    struct dr_sd sd;
    _Atomic int64_t beat_ms; /* monotonic time of the last sign of life */
};

/* Catches signals if asked to. Everything else of the structure may be filled afterwards. */
int dr_process_init(struct dr_process *process, bool catch_signals, struct dr_err *err);
/* Gives the signals back to their defaults. */
void dr_process_deinit(struct dr_process *process);

struct dr_clock dr_process_clock(struct dr_process *process);
int64_t dr_process_now_ms(void *process); /* since 1970 UTC; a sign of life */
int64_t dr_process_monotonic_ms(void);
void dr_process_look(struct dr_process *process); /* at the signals, without waiting */

/* Waits until then (monotonic), or until the process is asked to stop or reload, or pump says so. */
void dr_process_wait(struct dr_process *process, int64_t until_monotonic_ms);

#endif
