#ifndef DR_TEST_SERVER_H
#define DR_TEST_SERVER_H

/*
 * A small HTTP/1.1 server inside a test: a free port on loopback, a thread per connection, and a function of the test that answers. What it answers is sent as it
 * is, so that cut, wrong and odd answers are as easy as good ones.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct dr_server;

struct dr_server_request {
    struct dr_str method;
    struct dr_str target; /* path and query */
    struct dr_str head;   /* header lines */
    struct dr_str body;
    int connection; /* 1, 2, ... in the order in which they were opened */
    int nth;        /* 1, 2, ... over all connections */
    int fd;
    struct ssl_st *tls; /* NULL: plain */
};

/* Called in the connection's thread; false closes the connection. */
typedef bool dr_server_fn(void *self, const struct dr_server_request *request);

struct dr_server *dr_server_start(dr_server_fn *serve, void *self);
/* The same over TLS, with certificate and key in PEM files. With `client_ca_file` it asks for a client certificate of that authority; NULL: none. */
struct dr_server *dr_server_start_tls(dr_server_fn *serve, void *self, const char *cert_file, const char *key_file,
                                      const char *client_ca_file);
void dr_server_stop(struct dr_server *server); /* closes what is open and waits for its threads */
int dr_server_port(const struct dr_server *server);
/* "http://127.0.0.1:port" ("https://localhost:port" over TLS) and the path, in memory that lives as long as the process. */
struct dr_str dr_server_url(const struct dr_server *server, const char *path);
int dr_server_requests(struct dr_server *server); /* so far */

struct dr_str dr_server_header(const struct dr_server_request *request, const char *name); /* empty: none */
/* Answers with a length. `headers` are whole lines ("X: y\r\n"), NULL: none. Always true. */
bool dr_server_reply(const struct dr_server_request *request, int status, const char *headers, const char *body);
bool dr_server_send(const struct dr_server_request *request, const char *bytes, size_t n);

/* The answers of a script in their order, one per request, the last one again and again. For dr_server_start(dr_server_script, &script). */
struct dr_server_answer {
    int status; /* 0: close without an answer */
    const char *headers;
    const char *body;
};
struct dr_server_script {
    const struct dr_server_answer *answers;
    int n;
};
bool dr_server_script(void *self, const struct dr_server_request *request);

#endif
