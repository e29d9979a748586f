#include "bench/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"

enum { MAX_CONNECTIONS = 64, MAX_REQUEST = 1 << 20 };

struct connection {
    int fd;
    char stream;
    struct dr_buf request;
};

struct dr_bench_serving {
    struct dr_bench_site site;
    int listen_fd;
    struct connection connections[MAX_CONNECTIONS];
    size_t n;
};

struct dr_str dr_bench_param(struct dr_str query, const char *name) {
    size_t name_n = strlen(name);
    size_t from = dr_str_find(query, '?');
    struct dr_str rest = from < query.n ? dr_str_sub(query, from + 1, query.n) : query;
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, '&');
        if (dr_str_starts(rest, name) && name_n < end && rest.p[name_n] == '=') {
            return dr_str_sub(rest, name_n + 1, end);
        }
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
    return DR_STR_NONE;
}

/* ---- sending: blocking, since whoever asks always reads ---- */

static bool send_text(int fd, struct dr_str text, bool more) {
    while (text.n > 0) {
        ssize_t sent = send(fd, text.p, text.n, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
        if (sent <= 0) {
            return false;
        }
        text = dr_str_sub(text, (size_t)sent, text.n);
    }
    return true;
}

static bool send_piece(int fd, const struct dr_bench_answer *answer) {
    off_t at = answer->from;
    off_t end = at + (off_t)answer->n;
    while (at < end) {
        if (sendfile(fd, answer->fd, &at, (size_t)(end - at)) <= 0) {
            return false;
        }
    }
    return true;
}

static bool send_answer(int fd, const struct dr_bench_answer *answer, bool found) {
    char head[160];
    struct dr_str text = found ? dr_buf_str(&answer->text) : DR_STR_NONE;
    struct dr_str tail = found ? dr_str_of(answer->tail) : DR_STR_NONE;
    size_t n = text.n + tail.n + (found ? answer->n : 0);
    (void)snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   found ? "200 OK" : "404 Not Found", n);
    return send_text(fd, dr_str_of(head), n > 0) && send_text(fd, text, found && answer->n + tail.n > 0) &&
           (!found || send_piece(fd, answer)) && send_text(fd, tail, false);
}

static bool send_chunk(int fd, struct dr_str text) {
    char size[32];
    (void)snprintf(size, sizeof size, "%zx\r\n", text.n);
    return send_text(fd, dr_str_of(size), true) && send_text(fd, text, true) && send_text(fd, DR_STR("\r\n"), false);
}

static bool open_stream(struct connection *connection, const struct dr_bench_answer *answer) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    connection->stream = answer->stream;
    return send_text(connection->fd, DR_STR(head), answer->text.n > 0) &&
           (answer->text.n == 0 || send_chunk(connection->fd, dr_buf_str(&answer->text)));
}

void dr_bench_push(struct dr_bench_serving *serving, char stream, struct dr_str text) {
    for (size_t i = 0; i < serving->n; i++) {
        if (serving->connections[i].stream == stream) {
            (void)send_chunk(serving->connections[i].fd, text);
        }
    }
}

void dr_bench_end_streams(struct dr_bench_serving *serving) {
    for (size_t i = 0; i < serving->n; i++) {
        if (serving->connections[i].stream != 0) {
            (void)send_chunk(serving->connections[i].fd, DR_STR_NONE);
            serving->connections[i].stream = 0;
        }
    }
}

/* ---- receiving ---- */

/* Length of the body by the header lines; none: 0. */
static size_t body_bytes(const char *head) {
    const char *line = strcasestr(head, "\r\nContent-Length:");
    return line == NULL ? 0 : (size_t)strtoul(line + sizeof "\r\nContent-Length:" - 1, NULL, 10);
}

/* True if all of a request is there. */
static bool split(const struct dr_buf *buf, struct dr_bench_request *ret) {
    const char *end = buf->n == 0 ? NULL : strstr(buf->p, "\r\n\r\n");
    if (end == NULL) {
        return false;
    }
    size_t head_n = (size_t)(end - buf->p) + 4;
    struct dr_str all = dr_buf_str(buf);
    struct dr_str line = dr_str_sub(all, dr_str_find(all, ' ') + 1, dr_str_find(all, '\r'));
    ret->target = dr_str_sub(line, 0, dr_str_find(line, ' '));
    ret->body = dr_str_sub(all, head_n, all.n);
    return ret->body.n >= body_bytes(buf->p);
}

static bool serve(struct dr_bench_serving *serving, struct connection *connection, const struct dr_bench_request *request) {
    struct dr_bench_answer answer = {.fd = -1};
    dr_buf_init(&answer.text, 0);
    bool found = serving->site.answer(serving->site.self, serving, request, &answer);
    bool sent = found && answer.stream != 0 ? open_stream(connection, &answer) : send_answer(connection->fd, &answer, found);
    dr_buf_deinit(&answer.text);
    return sent;
}

/* What has come on a connection; false when it is over. */
static bool turn(struct dr_bench_serving *serving, struct connection *connection) {
    char piece[16384];
    struct dr_bench_request request;
    ssize_t n = recv(connection->fd, piece, sizeof piece, 0);
    if (n <= 0) {
        return false;
    }
    dr_buf_put(&connection->request, piece, (size_t)n);
    if (!split(&connection->request, &request)) {
        return true;
    }
    bool open = serve(serving, connection, &request);
    dr_buf_clear(&connection->request);
    return open;
}

static void let_in(struct dr_bench_serving *serving) {
    int fd = accept(serving->listen_fd, NULL, NULL);
    int one = 1;
    DR_ASSERT(fd >= 0 && serving->n < MAX_CONNECTIONS);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct connection *connection = &serving->connections[serving->n++];
    *connection = (struct connection){.fd = fd};
    dr_buf_init(&connection->request, MAX_REQUEST);
}

static void let_go(struct dr_bench_serving *serving, size_t i) {
    (void)close(serving->connections[i].fd);
    dr_buf_deinit(&serving->connections[i].request);
    serving->connections[i] = serving->connections[--serving->n];
}

static void run(struct dr_bench_serving *serving) {
    for (;;) {
        struct pollfd fds[MAX_CONNECTIONS + 1];
        size_t n = serving->n;
        for (size_t i = 0; i < n; i++) {
            fds[i] = (struct pollfd){serving->connections[i].fd, POLLIN, 0};
        }
        fds[n] = (struct pollfd){serving->listen_fd, POLLIN, 0};
        (void)poll(fds, n + 1, -1);
        for (size_t i = n; i-- > 0;) { /* backwards: the last takes the place of one that goes */
            if (fds[i].revents != 0 && !turn(serving, &serving->connections[i])) {
                let_go(serving, i);
            }
        }
        if (fds[n].revents != 0) {
            let_in(serving);
        }
    }
}

/* ---- start and end ---- */

static int listen_somewhere(int *ret_port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    DR_ASSERT(fd >= 0 && bind(fd, (struct sockaddr *)&address, n) == 0 && listen(fd, MAX_CONNECTIONS) == 0);
    DR_ASSERT(getsockname(fd, (struct sockaddr *)&address, &n) == 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

void dr_bench_server_start(struct dr_bench_server *server, const struct dr_bench_site *site) {
    static struct dr_bench_serving serving;
    int ready[2];
    char byte = 0;
    serving = (struct dr_bench_serving){.site = *site, .listen_fd = listen_somewhere(&server->port)};
    DR_ASSERT(pipe(ready) == 0);
    server->pid = fork();
    DR_ASSERT(server->pid >= 0);
    if (server->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(ready[0]);
        site->prepare(site->self);
        DR_ASSERT(write(ready[1], &byte, 1) == 1);
        run(&serving);
    }
    (void)close(ready[1]);
    (void)close(serving.listen_fd);
    DR_ASSERT(read(ready[0], &byte, 1) == 1);
    (void)close(ready[0]);
}

void dr_bench_server_stop(struct dr_bench_server *server) {
    (void)kill(server->pid, SIGKILL);
    (void)waitpid(server->pid, NULL, 0);
}
