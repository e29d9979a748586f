#ifndef DR_TEST_AWS_HELP_H
#define DR_TEST_AWS_HELP_H

/* A client with a clock of the test, an environment of the test and one server for everything: the services, STS, the container endpoint, instance metadata. */

#include <stdio.h>

#include "adapter/aws/inner.h"
#include "harness/server.h"
#include "harness/test.h"

#define AT INT64_C(1794773040000) /* 2026-11-15 20:04:00 */

struct aws_world {
    struct dr_server *server;
    struct dr_http *http;
    struct dr_aws *aws;
    struct dr_arena arena;
    struct dr_err err;
    struct dr_str body;
    int64_t now_ms;
    const char *environ[16];
    size_t environ_n;
};

static int64_t aws_world_now(void *self) { return ((struct aws_world *)self)->now_ms; }

/* "NAME=" and a value; %s in it is the server's URL. */
static inline void aws_world_set(struct aws_world *w, const char *name, const char *value) {
    CHECK(w->environ_n + 1 < sizeof w->environ / sizeof w->environ[0]);
    w->environ[w->environ_n++] = dr_str_fmt(&w->arena, "%s=%s", name, value).p;
}

static inline void aws_world_open(struct aws_world *w, dr_server_fn *serve, void *self) {
    *w = (struct aws_world){.now_ms = AT, .server = dr_server_start(serve, self)};
    dr_arena_init(&w->arena, 0);
    aws_world_set(w, "AWS_ENDPOINT_URL", dr_server_url(w->server, "").p);
    w->http = dr_http_new(&w->err);
    CHECK(w->http != NULL);
}

static inline void aws_world_start(struct aws_world *w, const char *region, const char *profile) {
    struct dr_aws_options options = {.http = w->http,
                                     .now_ms = aws_world_now,
                                     .self = w,
                                     .seed = 7,
                                     .environ = w->environ,
                                     .region = dr_str_of(region),
                                     .profile = dr_str_of(profile)};
    w->aws = dr_aws_new(&options, &w->err);
    CHECK(w->aws != NULL);
}

/* Open and started, with keys. */
static inline void aws_world_ready(struct aws_world *w, dr_server_fn *serve, void *self) {
    aws_world_open(w, serve, self);
    aws_world_set(w, "AWS_ACCESS_KEY_ID", "AKID");
    aws_world_set(w, "AWS_SECRET_ACCESS_KEY", "secret");
    aws_world_start(w, "eu-west-1", NULL);
}

static inline void aws_world_close(struct aws_world *w) {
    dr_aws_free(w->aws);
    dr_http_free(w->http);
    dr_server_stop(w->server);
    dr_arena_deinit(&w->arena);
}

#endif
