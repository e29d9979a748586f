#ifndef DR_ADAPTER_AWS_SIGV4_H
#define DR_ADAPTER_AWS_SIGV4_H

/* AWS Signature Version 4 of one request, by header. Pure: the time comes from the caller. */

#include <stdint.h>

#include "adapter/http/http.h"
#include "base/secret.h"

struct dr_sigv4_key {
    struct dr_str access_key;
    const struct dr_secret *secret_key;
    struct dr_str region;
    struct dr_str service;
};

struct dr_sigv4_request {
    const char *method;
    struct dr_str path;  /* as it stands in the URL, escapes in it; empty means "/" */
    struct dr_str query; /* behind the "?", as it stands in the URL; bytes that should have been escaped are */
    /* All of these are signed: host and x-amz-date must be among them, and x-amz-security-token where there is one. */
    const struct dr_http_header *headers;
    size_t header_n;
    struct dr_str body;
};

#define DR_SIGV4_DATE_SIZE 17
/* "20150830T123600Z", the value of x-amz-date; years 0 to 9999, others are clamped. */
void dr_sigv4_date(int64_t now_ms, char out[DR_SIGV4_DATE_SIZE]);

/* Appends the value of the authorization header. `now_ms` is the time of x-amz-date. */
void dr_sigv4_sign(const struct dr_sigv4_key *key, const struct dr_sigv4_request *request, int64_t now_ms, struct dr_buf *ret);

/* The steps on the way, for tests against published vectors. */
void dr_sigv4_canonical(const struct dr_sigv4_request *request, struct dr_buf *ret);

/* Appends `s` percent-encoded, everything but A-Z a-z 0-9 - _ . ~ */
void dr_sigv4_escape(struct dr_buf *buf, struct dr_str s);

#endif
