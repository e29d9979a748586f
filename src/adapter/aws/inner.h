#ifndef DR_ADAPTER_AWS_INNER_H
#define DR_ADAPTER_AWS_INNER_H

/* Inside of the AWS client. */

#include "adapter/aws/aws.h"
#include "adapter/aws/credentials.h"
#include "adapter/aws/errors.h"

struct dr_aws_count {
    const char *service;
    const char *action;
    int64_t n;
};

struct dr_aws_skew {
    const char *service;
    int64_t ms; /* add to our clock */
};

struct dr_aws {
    struct dr_http *http;
    int64_t (*now_ms)(void *self);
    void *self;
    struct dr_rand rand;
    struct dr_arena arena; /* as long as the client */
    const char *const *environ;
    struct dr_str region; /* empty: not yet known */
    int64_t region_again_ms;
    struct dr_err region_failed;
    struct dr_str profile; /* asked for by the options; empty: none */
    struct dr_str profile_endpoint;
    bool profile_endpoint_read;
    struct dr_http_tls tls;

    struct dr_aws_credentials credentials;
    const struct dr_aws_source *source; /* that had an answer; NULL: none yet */
    int64_t source_again_ms;            /* not asked before this time after a failure */
    struct dr_err source_failed;

    int64_t retry_tokens;
    struct dr_aws_skew *skews;
    size_t skew_n;
    struct dr_aws_count *counts;
    size_t count_n;
};

/* Value of a variable; empty if it is not set. NUL behind it. */
struct dr_str dr_aws_env(const struct dr_aws *aws, const char *name);

/* Base URL of a service: "https://ec2.eu-west-1.amazonaws.com", or what the environment or the profile say. Never ends with "/". */
int dr_aws_endpoint(struct dr_aws *aws, const char *service, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err);

/* Adds one to the calls of an action. */
void dr_aws_count_call(struct dr_aws *aws, const char *service, const char *action);

int64_t dr_aws_skew_ms(const struct dr_aws *aws, const char *service);
void dr_aws_set_skew(struct dr_aws *aws, const char *service, int64_t skew_ms);

/* Form body of the query protocol: Action, Version and the parameters, sorted by name. */
void dr_aws_form(const char *action, const char *version, const struct dr_aws_param *params, size_t n, struct dr_buf *ret);

#endif
