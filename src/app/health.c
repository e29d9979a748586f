#include "app/health.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/process.h"

#define REQUEST_MAX 2048
#define PEER_MS 2000 /* a peer that is slower is cut off: it holds the only thread */

struct dr_health {
    int listen_fd;
    int stop_pipe[2];
    pthread_t thread;
    const _Atomic int64_t *beat_ms;
    int64_t silent_ms;
    pthread_mutex_t lock; /* of what follows */
    bool ready;
    char why[256];
};

/* ---- one answer ---- */

static int answer_of(struct dr_health *health, const char *path, char *body, size_t body_n) {
    if (strcmp(path, "/healthz") == 0) {
        int64_t silent_ms = dr_process_monotonic_ms() - atomic_load(health->beat_ms);
        bool alive = silent_ms <= health->silent_ms;
        snprintf(body, body_n, alive ? "ok\n" : "no sign of life for %lld ms\n", (long long)silent_ms);
        return alive ? 200 : 503;
    }
    if (strcmp(path, "/readyz") == 0) {
        pthread_mutex_lock(&health->lock);
        bool ready = health->ready;
        snprintf(body, body_n, "%s\n", ready ? "ok" : health->why);
        pthread_mutex_unlock(&health->lock);
        return ready ? 200 : 503;
    }
    snprintf(body, body_n, "/healthz and /readyz are here\n");
    return 404;
}

static const char *reason_phrase(int status) {
    switch (status) {
    case 200:
        return "OK";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    default:
        return "Service Unavailable";
    }
}

static bool read_request(int fd, char *request) {
    size_t n = 0;
    int64_t until_ms = dr_process_monotonic_ms() + PEER_MS;
    while (n < REQUEST_MAX - 1) {
        int64_t left_ms = until_ms - dr_process_monotonic_ms();
        struct pollfd in = {fd, POLLIN, 0};
        if (left_ms <= 0 || poll(&in, 1, (int)left_ms) <= 0) {
            return false;
        }
        ssize_t got = recv(fd, request + n, REQUEST_MAX - 1 - n, 0);
        if (got <= 0) {
            return false;
        }
        n += (size_t)got;
        request[n] = '\0';
        if (strstr(request, "\r\n\r\n") != NULL || strstr(request, "\n\n") != NULL) {
            return true;
        }
    }
    return false;
}

static void serve(struct dr_health *health, int fd) {
    char request[REQUEST_MAX];
    char method[8];
    char path[64];
    char body[320] = "GET only\n";
    if (!read_request(fd, request) || sscanf(request, "%7s %63s", method, path) != 2) {
        return;
    }
    int status = 405;
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) {
        path[strcspn(path, "?")] = '\0';
        status = answer_of(health, path, body, sizeof(body));
    }
    char answer[640];
    int n =
        snprintf(answer, sizeof(answer), "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                 status, reason_phrase(status), strlen(body), strcmp(method, "HEAD") == 0 ? "" : body);
    if (n > 0) {
        (void)send(fd, answer, (size_t)n < sizeof(answer) ? (size_t)n : sizeof(answer) - 1, MSG_NOSIGNAL);
    }
}

static void *loop(void *self) {
    struct dr_health *health = self;
    for (;;) {
        struct pollfd fds[2] = {{health->listen_fd, POLLIN, 0}, {health->stop_pipe[0], POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            return NULL;
        }
        if (fds[1].revents != 0) {
            return NULL;
        }
        int fd = fds[0].revents == 0 ? -1 : accept4(health->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0) {
            serve(health, fd);
            close(fd);
        }
    }
}

/* ---- start and stop ---- */

struct address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } u;
    socklen_t n;
};

static int parse_listen(struct dr_str listen, struct address *ret, struct dr_err *err) {
    char host[64];
    size_t colon = listen.n;
    while (colon > 0 && listen.p[colon - 1] != ':') {
        colon--;
    }
    int64_t port = 0;
    struct dr_str name = dr_str_sub(listen, 0, colon == 0 ? 0 : colon - 1);
    bool v6 = dr_str_starts(name, "[") && dr_str_ends(name, "]");
    name = v6 ? dr_str_sub(name, 1, name.n - 1) : dr_str_is(name, "localhost") ? DR_STR("127.0.0.1") : name;
    memset(ret, 0, sizeof(*ret));
    if (colon == 0 || name.n >= sizeof(host) || !dr_str_to_i64(dr_str_sub(listen, colon, listen.n), &port) || port < 0 || port > 65535) {
        return dr_fail(err, DR_E_INVALID, "health.listen: %.*s: must be an address on loopback with a port, such as 127.0.0.1:9470",
                       DR_FMT(listen));
    }
    snprintf(host, sizeof(host), "%.*s", DR_FMT(name));
    bool good;
    if (v6) {
        ret->u.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        ret->n = sizeof(ret->u.v6);
        good = inet_pton(AF_INET6, host, &ret->u.v6.sin6_addr) == 1 && IN6_IS_ADDR_LOOPBACK(&ret->u.v6.sin6_addr);
    } else {
        ret->u.v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        ret->n = sizeof(ret->u.v4);
        good = inet_pton(AF_INET, host, &ret->u.v4.sin_addr) == 1 && (ntohl(ret->u.v4.sin_addr.s_addr) >> 24) == 127;
    }
    return good ? 0 : dr_fail(err, DR_E_INVALID, "health.listen: %.*s: is not on loopback", DR_FMT(listen));
}

static int open_socket(struct dr_str listen_at, int *ret, struct dr_err *err) {
    struct address address;
    if (parse_listen(listen_at, &address, err) < 0) {
        return -1;
    }
    int fd = socket(address.u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 || bind(fd, &address.u.any, address.n) < 0 ||
        listen(fd, 16) < 0) {
        int error = errno;
        if (fd >= 0) {
            close(fd);
        }
        return dr_fail(err, DR_E_UNAVAILABLE, "health.listen: %.*s: %s", DR_FMT(listen_at), strerror(error));
    }
    *ret = fd;
    return 0;
}

struct dr_health *dr_health_start(struct dr_str listen_at, const _Atomic int64_t *beat_ms, int64_t silent_ms, struct dr_err *err) {
    int fd = -1;
    if (open_socket(listen_at, &fd, err) < 0) {
        return NULL;
    }
    struct dr_health *health = calloc(1, sizeof(*health));
    DR_ASSERT(health != NULL);
    health->listen_fd = fd;
    health->beat_ms = beat_ms;
    health->silent_ms = silent_ms;
    snprintf(health->why, sizeof(health->why), "no pass has ended yet");
    DR_ASSERT(pthread_mutex_init(&health->lock, NULL) == 0);
    int failed = pipe(health->stop_pipe) < 0 ? errno : pthread_create(&health->thread, NULL, loop, health);
    if (failed != 0) {
        (void)dr_fail(err, DR_E_INTERNAL, "health: %s", strerror(failed));
        close(fd);
        free(health);
        return NULL;
    }
    return health;
}

void dr_health_stop(struct dr_health *health) {
    if (health == NULL) {
        return;
    }
    close(health->stop_pipe[1]); /* the other end becomes readable */
    (void)pthread_join(health->thread, NULL);
    close(health->stop_pipe[0]);
    close(health->listen_fd);
    (void)pthread_mutex_destroy(&health->lock);
    free(health);
}

int dr_health_port(const struct dr_health *health) {
    struct address address = {.n = sizeof(address.u)};
    if (getsockname(health->listen_fd, &address.u.any, &address.n) < 0) {
        return -1;
    }
    return ntohs(address.u.any.sa_family == AF_INET6 ? address.u.v6.sin6_port : address.u.v4.sin_port);
}

void dr_health_set_ready(struct dr_health *health, bool ready, const char *why) {
    if (health != NULL) {
        pthread_mutex_lock(&health->lock);
        health->ready = ready;
        snprintf(health->why, sizeof(health->why), "%s", why);
        pthread_mutex_unlock(&health->lock);
    }
}
