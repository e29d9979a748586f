#ifndef DR_ADAPTER_AWS_H
#define DR_ADAPTER_AWS_H

/*
 * What every AWS service needs: credentials, region, endpoint, signing, the two protocols, error classes, retries and clock skew. Services (ec2, dynamodb, sqs, ssm, ...) build on this.
 */

#include "adapter/http/http.h"
#include "base/rand.h"

struct dr_aws; /* one per process: credentials cache, region, skew per service, HTTP loop */

struct dr_aws_options {
    struct dr_http *http;
    int64_t (*now_ms)(void *self); /* wall clock */
    void *self;
    uint64_t seed;              /* of the retry jitter */
    const char *const *environ; /* NULL-terminated "NAME=value" list, normally the process's own */
    struct dr_str region;       /* empty: environment, profile, instance metadata */
    struct dr_str profile;      /* empty: AWS_PROFILE or "default" */
};

struct dr_aws *dr_aws_new(const struct dr_aws_options *options, struct dr_err *err);
void dr_aws_free(struct dr_aws *aws);
struct dr_str dr_aws_region(struct dr_aws *aws, struct dr_err *err); /* empty with an error that says where it was looked for */
/* Lines for people about what is in force: which source gave the credentials ("profile"), NULL before the first call. */
const char *dr_aws_source_name(const struct dr_aws *aws);

enum dr_aws_protocol { DR_AWS_QUERY, DR_AWS_JSON_10, DR_AWS_JSON_11 };

struct dr_aws_service {
    const char *name; /* "ec2", "dynamodb": signing name, endpoint prefix, AWS_ENDPOINT_URL_<NAME> */
    enum dr_aws_protocol protocol;
    const char *version; /* query: "2016-11-15" */
    const char *target;  /* JSON: "DynamoDB_20120810" */
};

struct dr_aws_param {
    struct dr_str name;
    struct dr_str value;
};

/* One call of one action: built, then started, then waited for. */
struct dr_aws_call;
struct dr_aws_request {
    const struct dr_aws_service *service;
    const char *action;
    const struct dr_aws_param *params; /* query */
    size_t param_n;
    struct dr_str body;  /* JSON */
    int64_t deadline_ms; /* absolute */
    bool repeatable;     /* a read, or an effect with an idempotency token: may be retried when the outcome is unknown */
    size_t max_body;     /* 0: 16 MiB */
    bool secret;
    bool counted; /* nothing below sends it again unseen, so that dr_aws_tries is exact */
};

/* Signs and sends. The first call looks for region and credentials and may wait for them. Never NULL; the request's strings are copied. */
struct dr_aws_call *dr_aws_start(struct dr_aws *aws, const struct dr_aws_request *request);
/*
 * The successful body (XML or JSON), valid until the call is freed. Retries by class with full jitter within the deadline; corrects clock skew once; refreshes expired credentials once.
 * Error codes: THROTTLED, CAPACITY, QUOTA, DENIED, NOT_FOUND, CONFLICT (conditional check failed, transaction conflict, idempotent parameter mismatch), PROTECTED (OperationNotPermitted), UNAVAILABLE, TIMEOUT, INVALID.
 * The text is "ec2 RunInstances: InsufficientInstanceCapacity: ..." with the service's own message, cut. A code that asks for a decision of its own (IdempotentInstanceTerminated,
 * DryRunOperation, ...) is asked for by dr_aws_error_code.
 */
int dr_aws_wait(struct dr_aws *aws, struct dr_aws_call *call, struct dr_str *ret_body, struct dr_err *err);
/* True: dr_aws_wait would return without waiting for an answer of this try. For long polls that share the loop (dr_http_poll) with other work. */
bool dr_aws_done(const struct dr_aws_call *call);
/* How often the request was sent so far (by us; libcurl may have opened a second connection for a repeatable one). A conditional write that failed its condition at the second try may have been done by the first. */
int dr_aws_tries(const struct dr_aws_call *call);
/* The service's own error code of a failed call ("InsufficientInstanceCapacity"), empty if there was none. */
struct dr_str dr_aws_error_code(const struct dr_aws_call *call);
void dr_aws_call_free(struct dr_aws_call *call);

/* Start and wait; the body is copied to the arena. */
int dr_aws_do(struct dr_aws *aws, const struct dr_aws_request *request, struct dr_arena *arena, struct dr_str *ret_body,
              struct dr_err *err);

/* Calls by service and action since the start, for benchmarks ("ec2 DescribeInstances" -> 3). */
void dr_aws_calls(const struct dr_aws *aws, void (*each)(void *self, const char *service, const char *action, int64_t n), void *self);

#endif
