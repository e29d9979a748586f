#ifndef DR_ADAPTER_HTTP_CALL_H
#define DR_ADAPTER_HTTP_CALL_H

/* Inside of the HTTP client: the loop (http.c) and one transfer of it (transfer.c). */

#include <curl/curl.h>

#include "adapter/http/http.h"

struct dr_http_record;

struct dr_http {
    CURLM *multi;
    CURLSH *share; /* TLS sessions, so that a new connection to a known peer is short */
    int wake_fd;
    struct dr_http_call *first; /* all calls that are not freed */
    bool driving;               /* inside libcurl: a callback may not come back here */
    bool finished;              /* some call finished, or a piece of a stream came, since dr_http_poll last said so */
    struct dr_http_stats stats;
    struct dr_http_record *record; /* NULL: neither recording nor replaying */
};

struct dr_http_call {
    struct dr_http *http;
    struct dr_http_call *prev;
    struct dr_http_call *next;
    CURL *easy; /* NULL once finished */
    struct curl_slist *headers;
    char where[320]; /* "GET example.org:443" */
    struct dr_str sent;
    size_t sent_n;
    bool once;
    int64_t timeout_ms;
    int64_t deadline_ms; /* monotonic */
    size_t max_body;
    bool (*on_data)(void *self, struct dr_str piece);
    void *self;
    bool stopped; /* by on_data */
    bool done;
    bool head_whole;    /* the empty line behind the headers was seen */
    struct dr_buf head; /* header lines of the final answer */
    struct dr_buf body;
    struct dr_buf recorded; /* the request as the recorder writes it; empty: not recording */
    bool secret;
    size_t streamed_n;
    struct dr_http_response response;
    struct dr_err failed; /* code OK: none */
    char error[CURL_ERROR_SIZE];
};

/* Makes the libcurl handle of a request; -1 leaves the reason in call->failed. */
int dr_http_transfer_open(struct dr_http_call *call, const struct dr_http_request *request);
/* Takes libcurl's verdict into response or failed. The handle stays. */
void dr_http_transfer_end(struct dr_http_call *call, CURLcode result);
/* Dates of an answer from its header lines. */
void dr_http_transfer_dates(struct dr_http_call *call);

#endif
