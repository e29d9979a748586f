#ifndef DR_APP_SD_NOTIFY_H
#define DR_APP_SD_NOTIFY_H

/* What systemd wants to hear from a service of Type=notify: one datagram per message. Written out, because libsystemd is a large thing for it. */

#include <stdint.h>

struct dr_sd {
    const char *socket;   /* NOTIFY_SOCKET; NULL: nobody listens */
    int64_t watchdog_ms;  /* 0: no watchdog */
    int64_t last_ping_ms; /* monotonic */
};

/* From the service manager's variables; a watchdog for another process (WATCHDOG_PID) is not ours. */
struct dr_sd dr_sd_of(const char *const *env);
/* "READY=1", "STOPPING=1", "STATUS=..."; failures are not looked at: a manager that went away must not stop the service. */
void dr_sd_send(const struct dr_sd *sd, const char *text);
/* Pings the watchdog if half of its time has passed. */
void dr_sd_ping(struct dr_sd *sd, int64_t monotonic_ms);

#endif
