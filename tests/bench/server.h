#ifndef DR_BENCH_SERVER_H
#define DR_BENCH_SERVER_H

/*
 * An HTTP/1.1 server in a process of its own, so that neither its time nor its memory is in the figures of whoever asks it. Connections are kept, bodies have their
 * length, and streams are pushed in chunks.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/str.h"

struct dr_bench_request {
    struct dr_str target; /* path and query */
    struct dr_str body;
};

/* What is sent with status 200: `text`, a piece of a file, `tail`. */
struct dr_bench_answer {
    struct dr_buf text;
    int fd;
    off_t from;
    size_t n; /* 0: no piece */
    const char *tail;
    char stream; /* not 0: no end yet, more comes by dr_bench_push to streams of this letter */
};

struct dr_bench_serving; /* the server as its own process sees it */

struct dr_bench_site {
    void (*prepare)(void *self); /* once, in the server's process */
    /* False: 404. */
    bool (*answer)(void *self, struct dr_bench_serving *serving, const struct dr_bench_request *request, struct dr_bench_answer *ret);
    void *self; /* as it was at the start; changes stay in the server's process */
};

struct dr_bench_server {
    pid_t pid;
    int port;
};

/* Returns when the server is prepared. */
void dr_bench_server_start(struct dr_bench_server *server, const struct dr_bench_site *site);
void dr_bench_server_stop(struct dr_bench_server *server);

/* From inside of `answer`. */
void dr_bench_push(struct dr_bench_serving *serving, char stream, struct dr_str text);
void dr_bench_end_streams(struct dr_bench_serving *serving);

/* Value of a parameter in "a=1&b=2" or "/path?a=1&b=2", as it stands there; empty: none. */
struct dr_str dr_bench_param(struct dr_str query, const char *name);

#endif
