#include "app/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

/* A wait is cut into pieces, so that signs of life do not stop. */
#define PIECE_MS 5000

static sigset_t our_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    return set;
}

int dr_process_init(struct dr_process *process, bool catch_signals, struct dr_err *err) {
    memset(process, 0, sizeof(*process));
    process->signal_fd = -1;
    atomic_store(&process->beat_ms, dr_process_monotonic_ms());
    if (!catch_signals) {
        return 0;
    }
    sigset_t set = our_signals();
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) {
        return dr_fail(err, DR_E_INTERNAL, "signals: %s", strerror(errno));
    }
    process->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (process->signal_fd < 0) {
        (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
        return dr_fail(err, DR_E_INTERNAL, "signals: %s", strerror(errno));
    }
    return 0;
}

void dr_process_deinit(struct dr_process *process) {
    if (process->signal_fd >= 0) {
        close(process->signal_fd);
        process->signal_fd = -1;
        sigset_t set = our_signals();
        (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    }
}

int64_t dr_process_monotonic_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void beat(struct dr_process *process) {
    int64_t now_ms = dr_process_monotonic_ms();
    atomic_store_explicit(&process->beat_ms, now_ms, memory_order_relaxed);
    dr_sd_ping(&process->sd, now_ms);
}

int64_t dr_process_now_ms(void *process) {
    beat(process);
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whoever hangs past the grace period is ended by the alarm: what is durable is enough for the next process. */
static void ask_to_stop(struct dr_process *process) {
    if (!process->stopping && process->grace_ms > 0) {
        (void)alarm((unsigned)((process->grace_ms + 999) / 1000));
    }
    process->stopping = true;
}

void dr_process_look(struct dr_process *process) {
    struct signalfd_siginfo info;
    while (process->signal_fd >= 0 && read(process->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            process->reload = true;
        } else {
            ask_to_stop(process);
        }
    }
}

static void wait_piece(struct dr_process *process, int64_t ms) {
    if (process->http != NULL) {
        (void)dr_http_poll(process->http, ms, process->signal_fd);
        return;
    }
    struct pollfd fd = {process->signal_fd, POLLIN, 0};
    (void)poll(&fd, 1, (int)ms); /* a negative descriptor is passed over */
}

void dr_process_wait(struct dr_process *process, int64_t until_monotonic_ms) {
    for (;;) {
        dr_process_look(process);
        if (process->stopping || process->reload || (process->pump != NULL && process->pump(process->self))) {
            return;
        }
        beat(process);
        int64_t left_ms = until_monotonic_ms - dr_process_monotonic_ms();
        if (left_ms <= 0) {
            return;
        }
        wait_piece(process, left_ms < PIECE_MS ? left_ms : PIECE_MS);
    }
}

/* ---- the port ---- */

static void clock_sleep(void *self, int64_t ms) {
    struct dr_process *process = self;
    bool reload = process->reload; /* waits for the end of the pass */
    process->reload = false;
    dr_process_wait(process, dr_process_monotonic_ms() + ms);
    process->reload = process->reload || reload;
}

static bool clock_stopping(void *self) {
    dr_process_look(self);
    return ((struct dr_process *)self)->stopping;
}

static const struct dr_clock_ops clock_ops = {dr_process_now_ms, clock_sleep, clock_stopping};

struct dr_clock dr_process_clock(struct dr_process *process) {
    return (struct dr_clock){&clock_ops, process};
}
