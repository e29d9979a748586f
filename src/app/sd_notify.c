#include "app/sd_notify.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"

static const char *env_get(const char *const *env, const char *name) {
    size_t n = strlen(name);
    for (; env != NULL && *env != NULL; env++) {
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=') {
            return *env + n + 1;
        }
    }
    return NULL;
}

struct dr_sd dr_sd_of(const char *const *env) {
    struct dr_sd sd = {.socket = env_get(env, "NOTIFY_SOCKET")};
    if (sd.socket != NULL && sd.socket[0] != '/' && sd.socket[0] != '@') {
        sd.socket = NULL;
    }
    int64_t usec = 0;
    int64_t pid = 0;
    const char *watchdog_pid = env_get(env, "WATCHDOG_PID");
    bool ours = watchdog_pid == NULL || (dr_str_to_i64(dr_str_of(watchdog_pid), &pid) && pid == getpid());
    const char *watchdog = env_get(env, "WATCHDOG_USEC");
    if (sd.socket != NULL && ours && watchdog != NULL && dr_str_to_i64(dr_str_of(watchdog), &usec) && usec > 0) {
        sd.watchdog_ms = usec / 1000;
    }
    return sd;
}

void dr_sd_send(const struct dr_sd *sd, const char *text) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = sd->socket == NULL ? 0 : strlen(sd->socket);
    if (n == 0 || n >= sizeof(address.sun_path)) {
        return;
    }
    memcpy(address.sun_path, sd->socket, n);
    if (address.sun_path[0] == '@') {
        address.sun_path[0] = '\0'; /* abstract */
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    close(fd);
}

void dr_sd_ping(struct dr_sd *sd, int64_t monotonic_ms) {
    if (sd->watchdog_ms > 0 && monotonic_ms - sd->last_ping_ms >= sd->watchdog_ms / 2) {
        sd->last_ping_ms = monotonic_ms;
        dr_sd_send(sd, "WATCHDOG=1");
    }
}
