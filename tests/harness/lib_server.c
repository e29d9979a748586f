/* A thread per connection, nothing clever: tests want to see through it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/server.h"
#include "harness/test.h"

enum { MAX_CONNECTIONS = 512, MAX_REQUEST = 64 << 20 };

struct connection {
    struct dr_server *server;
    pthread_t thread;
    int fd;
    int number;
};

struct dr_server {
    dr_server_fn *serve;
    void *self;
    int fd;
    int port;
    SSL_CTX *tls;
    pthread_t thread;
    pthread_mutex_t lock;
    struct connection connections[MAX_CONNECTIONS];
    int connection_n;
    int request_n;
};

struct dr_str dr_server_header(const struct dr_server_request *request, const char *name) {
    struct dr_str rest = request->head;
    size_t n = strlen(name);
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, '\n');
        if (end > n && rest.p[n] == ':' && strncasecmp(rest.p, name, n) == 0) {
            return dr_str_trim(dr_str_sub(rest, n + 1, end));
        }
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
    return DR_STR_NONE;
}

bool dr_server_send(const struct dr_server_request *request, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t sent = request->tls != NULL ? SSL_write(request->tls, bytes, (int)(n < INT32_MAX ? n : INT32_MAX))
                                            : send(request->fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false; /* the client went away, which some tests want */
        }
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool dr_server_reply(const struct dr_server_request *request, int status, const char *headers, const char *body) {
    struct dr_buf buf;
    dr_buf_init(&buf, 0);
    dr_buf_fmt(&buf, "HTTP/1.1 %d Status\r\nContent-Length: %zu\r\n%s\r\n", status, strlen(body), headers == NULL ? "" : headers);
    if (!dr_str_is(request->method, "HEAD")) {
        dr_buf_puts(&buf, body);
    }
    (void)dr_server_send(request, buf.p, buf.n);
    dr_buf_deinit(&buf);
    return true;
}

bool dr_server_script(void *self, const struct dr_server_request *request) {
    const struct dr_server_script *script = self;
    const struct dr_server_answer *answer = &script->answers[request->nth > script->n ? script->n - 1 : request->nth - 1];
    return answer->status != 0 && dr_server_reply(request, answer->status, answer->headers, answer->body == NULL ? "" : answer->body);
}

/* More bytes into the buffer; false when the client is gone. */
static bool receive(const struct dr_server_request *request, struct dr_buf *buf) {
    char piece[65536];
    ssize_t n = request->tls != NULL ? SSL_read(request->tls, piece, sizeof piece) : recv(request->fd, piece, sizeof piece, 0);
    if (n > 0) {
        dr_buf_put(buf, piece, (size_t)n);
    }
    return n > 0 && !buf->truncated;
}

/* One request from the connection into `buf`. False: it ended. */
static bool read_request(struct dr_buf *buf, struct dr_server_request *request) {
    const char *end = NULL;
    dr_buf_clear(buf);
    while (buf->n == 0 || (end = strstr(buf->p, "\r\n\r\n")) == NULL) {
        if (!receive(request, buf)) {
            return false;
        }
    }
    size_t head_n = (size_t)(end - buf->p) + 4;
    request->head = (struct dr_str){buf->p, head_n};
    int64_t body_n = 0;
    (void)dr_str_to_i64(dr_server_header(request, "content-length"), &body_n);
    while (buf->n < head_n + (size_t)body_n) {
        if (!receive(request, buf)) {
            return false;
        }
    }
    request->head = (struct dr_str){buf->p, head_n}; /* the buffer may have moved */
    request->body = (struct dr_str){buf->p + head_n, (size_t)body_n};
    size_t line = dr_str_find(request->head, '\r');
    size_t space = dr_str_find(request->head, ' ');
    request->method = dr_str_sub(request->head, 0, space);
    struct dr_str rest = dr_str_sub(request->head, space + 1, line);
    request->target = dr_str_sub(rest, 0, dr_str_find(rest, ' '));
    return true;
}

static void *run_connection(void *self) {
    struct connection *connection = self;
    struct dr_server *server = connection->server;
    struct dr_server_request request = {.fd = connection->fd, .connection = connection->number};
    struct dr_buf buf;
    dr_buf_init(&buf, MAX_REQUEST);
    bool open = true;
    if (server->tls != NULL) {
        request.tls = SSL_new(server->tls);
        open = request.tls != NULL && SSL_set_fd(request.tls, connection->fd) == 1 && SSL_accept(request.tls) == 1;
    }
    while (open && read_request(&buf, &request)) {
        pthread_mutex_lock(&server->lock);
        request.nth = ++server->request_n;
        pthread_mutex_unlock(&server->lock);
        open = server->serve(server->self, &request);
    }
    dr_buf_deinit(&buf);
    SSL_free(request.tls);
    pthread_mutex_lock(&server->lock);
    close(connection->fd);
    connection->fd = -1;
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

static void *run_server(void *self) {
    struct dr_server *server = self;
    for (int fd; (fd = accept(server->fd, NULL, NULL)) >= 0;) {
        pthread_mutex_lock(&server->lock);
        CHECK(server->connection_n < MAX_CONNECTIONS);
        struct connection *connection = &server->connections[server->connection_n++];
        *connection = (struct connection){.server = server, .fd = fd, .number = server->connection_n};
        CHECK(pthread_create(&connection->thread, NULL, run_connection, connection) == 0);
        pthread_mutex_unlock(&server->lock);
    }
    return NULL;
}

static struct dr_server *start(dr_server_fn *serve, void *self, SSL_CTX *tls) {
    struct dr_server *server = calloc(1, sizeof *server);
    CHECK(server != NULL);
    server->serve = serve;
    server->self = self;
    server->tls = tls;
    pthread_mutex_init(&server->lock, NULL);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(server->fd >= 0 && bind(server->fd, (struct sockaddr *)&address, n) == 0 && listen(server->fd, MAX_CONNECTIONS) == 0);
    CHECK(getsockname(server->fd, (struct sockaddr *)&address, &n) == 0);
    server->port = ntohs(address.sin_port);
    CHECK(pthread_create(&server->thread, NULL, run_server, server) == 0);
    return server;
}

struct dr_server *dr_server_start(dr_server_fn *serve, void *self) {
    return start(serve, self, NULL);
}

struct dr_server *dr_server_start_tls(dr_server_fn *serve, void *self, const char *cert_file, const char *key_file,
                                      const char *client_ca_file) {
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    CHECK(tls != NULL && SSL_CTX_use_certificate_chain_file(tls, cert_file) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(tls, key_file, SSL_FILETYPE_PEM) == 1);
    if (client_ca_file != NULL) {
        CHECK(SSL_CTX_load_verify_locations(tls, client_ca_file, NULL) == 1);
        SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    return start(serve, self, tls);
}

void dr_server_stop(struct dr_server *server) {
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    for (int i = 0; i < server->connection_n; i++) {
        pthread_mutex_lock(&server->lock);
        if (server->connections[i].fd >= 0) {
            shutdown(server->connections[i].fd, SHUT_RDWR);
        }
        pthread_mutex_unlock(&server->lock);
        pthread_join(server->connections[i].thread, NULL);
    }
    pthread_mutex_destroy(&server->lock);
    SSL_CTX_free(server->tls);
    free(server);
}

int dr_server_port(const struct dr_server *server) { return server->port; }

struct dr_str dr_server_url(const struct dr_server *server, const char *path) {
    static char kept[64][512];
    static unsigned next;
    char *url = kept[next++ % 64];
    int n = snprintf(url, sizeof kept[0], "%s:%d%s", server->tls != NULL ? "https://localhost" : "http://127.0.0.1", server->port, path);
    CHECK(n > 0 && (size_t)n < sizeof kept[0]);
    return (struct dr_str){url, (size_t)n};
}

int dr_server_requests(struct dr_server *server) {
    pthread_mutex_lock(&server->lock);
    int n = server->request_n;
    pthread_mutex_unlock(&server->lock);
    return n;
}
