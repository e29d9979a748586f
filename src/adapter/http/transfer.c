/* One transfer: a request as libcurl options, what arrives, and libcurl's verdict as one of our codes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "adapter/http/call.h"
#include "base/num.h"
#include "base/time.h"

enum { DEFAULT_MAX_BODY = 16 << 20, MAX_HEAD = 128 << 10, MAX_URL = 1 << 20 };

/* libcurl's options are typed by macro; a refused one is our mistake or a build without the feature. */
#define SET(easy, option, value) DR_ASSERT(curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

static size_t on_body(char *p, size_t size, size_t n, void *self) {
    struct dr_http_call *call = self;
    size_t bytes = size * n;
    long status = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    bool stream = call->on_data != NULL && status >= 200 && status < 300;
    size_t have = stream ? call->streamed_n : call->body.n;
    if (bytes > call->max_body - have) {
        dr_fail(&call->failed, DR_E_LIMIT, "%s: the body is larger than %zu bytes", call->where, call->max_body);
        return CURL_WRITEFUNC_ERROR;
    }
    if (!stream) {
        dr_buf_put(&call->body, p, bytes);
        return bytes;
    }
    call->streamed_n += bytes;
    call->http->finished = true;
    if (!call->on_data(call->self, (struct dr_str){p, bytes})) {
        call->stopped = true;
        return CURL_WRITEFUNC_ERROR;
    }
    return bytes;
}

static size_t on_header(char *p, size_t size, size_t n, void *self) {
    struct dr_http_call *call = self;
    size_t bytes = size * n;
    struct dr_str line = {p, bytes};
    if (dr_str_starts(line, "HTTP/")) {
        dr_buf_clear(&call->head); /* an interim answer (1xx) came before */
        call->head_whole = false;
        return bytes;
    }
    call->head_whole = call->head_whole || dr_str_trim(line).n == 0;
    if (bytes > MAX_HEAD - call->head.n) {
        dr_fail(&call->failed, DR_E_LIMIT, "%s: the headers are larger than %d bytes", call->where, MAX_HEAD);
        return 0;
    }
    dr_buf_put(&call->head, p, bytes);
    return bytes;
}

static size_t on_send(char *p, size_t size, size_t n, void *self) {
    struct dr_http_call *call = self;
    size_t left = call->sent.n - call->sent_n;
    size_t bytes = size * n < left ? size * n : left;
    if (bytes > 0) {
        memcpy(p, call->sent.p + call->sent_n, bytes);
    }
    call->sent_n += bytes;
    return bytes;
}

/* libcurl rewinds in order to send again on a new connection; that is refused where the peer may have acted on the first copy. */
static int on_rewind(void *self, curl_off_t offset, int origin) {
    struct dr_http_call *call = self;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > call->sent.n || call->once) {
        return CURL_SEEKFUNC_FAIL;
    }
    call->sent_n = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* "https://host:port/path" -> "host:port"; false if it is no absolute http(s) URL or carries a user. */
static bool authority(struct dr_str url, struct dr_str *ret) {
    size_t skip = dr_str_starts(url, "https://") ? 8 : dr_str_starts(url, "http://") ? 7 : 0;
    struct dr_str rest = dr_str_sub(url, skip, url.n);
    size_t end = 0;
    while (end < rest.n && strchr("/?#", rest.p[end]) == NULL) {
        end++;
    }
    *ret = dr_str_sub(rest, 0, end);
    return skip > 0 && end > 0 && dr_str_find(*ret, '@') == ret->n;
}

static bool has_control(struct dr_str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7F) {
            return true;
        }
    }
    return false;
}

static void add_header(struct dr_http_call *call, const char *line) {
    struct curl_slist *longer = curl_slist_append(call->headers, line);
    DR_ASSERT(longer != NULL);
    call->headers = longer;
}

static int add_headers(struct dr_http_call *call, const struct dr_http_request *request, bool with_body) {
    struct dr_buf line;
    bool typed = false;
    dr_buf_init(&line, MAX_HEAD);
    for (size_t i = 0; i < request->header_n && call->failed.code == DR_OK; i++) {
        const struct dr_http_header *header = &request->headers[i];
        if (has_control(header->name) || has_control(header->value) || dr_str_find(header->name, ':') < header->name.n) {
            dr_fail(&call->failed, DR_E_INVALID, "%s: header %.*s holds a control character", call->where,
                    has_control(header->name) ? 1 : (int)header->name.n, has_control(header->name) ? "?" : header->name.p);
        }
        dr_buf_clear(&line);
        dr_buf_put_str(&line, header->name);
        dr_buf_puts(&line, header->value.n == 0 ? ";" : ": "); /* libcurl's way to say "empty" instead of "left out" */
        dr_buf_put_str(&line, header->value);
        if (line.truncated) {
            dr_fail(&call->failed, DR_E_LIMIT, "%s: header %.*s is too long", call->where, DR_FMT(header->name));
        }
        typed = typed || (header->name.n == 12 && strncasecmp(header->name.p, "content-type", 12) == 0);
        add_header(call, line.p);
    }
    dr_buf_deinit(&line);
    add_header(call, "Expect:");
    if (with_body && !typed) {
        add_header(call, "Content-Type:"); /* libcurl would say that it is a form */
    }
    SET(call->easy, CURLOPT_HTTPHEADER, call->headers);
    return call->failed.code == DR_OK ? 0 : -1;
}

static void set_blob(CURL *easy, CURLoption option, struct dr_str pem) {
    char *p = NULL;
    memcpy(&p, &pem.p, sizeof p); /* libcurl only reads it but wants it without const */
    struct curl_blob blob = {.data = p, .len = pem.n, .flags = CURL_BLOB_NOCOPY};
    SET(easy, option, &blob);
}

static void set_tls(CURL *easy, const struct dr_http_tls *tls) {
    SET(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(easy, CURLOPT_KEYPASSWD, ""); /* an encrypted key is an error, not a question on the terminal */
    if (tls == NULL) {
        return;
    }
    if (tls->ca_file != NULL || tls->ca_pem.n > 0) {
        SET(easy, CURLOPT_CAPATH, NULL); /* a given authority stands alone; libcurl would add the system's folder */
    }
    if (tls->ca_file != NULL) {
        SET(easy, CURLOPT_CAINFO, tls->ca_file);
    } else if (tls->ca_pem.n > 0) {
        set_blob(easy, CURLOPT_CAINFO_BLOB, tls->ca_pem);
    }
    if (tls->cert_pem.n > 0) {
        set_blob(easy, CURLOPT_SSLCERT_BLOB, tls->cert_pem);
        set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key_pem.n > 0 ? tls->key_pem : tls->cert_pem);
    }
}

static void set_method(struct dr_http_call *call, const struct dr_http_request *request, bool with_body) {
    bool safe = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    call->once = !safe && !request->repeatable;
    SET(call->easy, CURLOPT_CUSTOMREQUEST, request->method);
    if (strcmp(request->method, "HEAD") == 0) {
        SET(call->easy, CURLOPT_NOBODY, 1L);
    }
    if (with_body) {
        SET(call->easy, CURLOPT_POST, 1L);
        SET(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.n);
        SET(call->easy, CURLOPT_READFUNCTION, on_send);
        SET(call->easy, CURLOPT_READDATA, call);
        SET(call->easy, CURLOPT_SEEKFUNCTION, on_rewind);
        SET(call->easy, CURLOPT_SEEKDATA, call);
    }
    if (call->once && request->body.n == 0) {
        SET(call->easy, CURLOPT_FRESH_CONNECT,
            1L); /* nothing to rewind, so refusing that does not stop a second copy; only kept connections are retried */
    }
}

static void set_common(struct dr_http_call *call, const struct dr_http_request *request) {
    CURL *easy = call->easy;
    SET(easy, CURLOPT_PRIVATE, call);
    SET(easy, CURLOPT_SHARE, call->http->share);
    SET(easy, CURLOPT_ERRORBUFFER, call->error);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_QUICK_EXIT, 1L); /* a name server that hangs does not hold up the end of a call */
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    /* Rather share a connection that is being opened than open a second; without TLS there is no HTTP/2 to wait for. */
    SET(easy, CURLOPT_PIPEWAIT, dr_str_starts(request->url, "https:") ? 1L : 0L);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(easy, CURLOPT_USERAGENT, "drover");
    SET(easy, CURLOPT_WRITEFUNCTION, on_body);
    SET(easy, CURLOPT_WRITEDATA, call);
    SET(easy, CURLOPT_HEADERFUNCTION, on_header);
    SET(easy, CURLOPT_HEADERDATA, call);
    if (call->on_data == NULL) {
        SET(easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)call->max_body);
    }
    if (request->direct) {
        SET(easy, CURLOPT_NOPROXY, "*");
    }
}

static int set_url(struct dr_http_call *call, const struct dr_http_request *request) {
    struct dr_str host = DR_STR_NONE;
    bool plain = authority(request->url, &host) && !has_control(request->url) && request->url.n <= MAX_URL;
    (void)snprintf(call->where, sizeof call->where, "%s %.*s", request->method, plain ? (int)dr_min_i64((int64_t)host.n, 256) : 1,
                   plain ? host.p : "?");
    if (!plain) {
        return dr_fail(&call->failed, DR_E_INVALID,
                       "%s: the url must be http:// or https:// with a host, without user and control characters", request->method);
    }
    char *url = strndup(request->url.p, request->url.n);
    DR_ASSERT(url != NULL);
    SET(call->easy, CURLOPT_URL, url);
    free(url);
    return 0;
}

int dr_http_transfer_open(struct dr_http_call *call, const struct dr_http_request *request) {
    DR_ASSERT(request->method != NULL && strlen(request->method) < 16 && request->timeout_ms > 0);
    call->easy = curl_easy_init();
    DR_ASSERT(call->easy != NULL);
    call->sent = request->body;
    call->on_data = request->on_data;
    call->self = request->self;
    call->secret = request->secret;
    call->max_body = request->max_body != 0 ? request->max_body : request->on_data != NULL ? SIZE_MAX : DEFAULT_MAX_BODY;
    dr_buf_init(&call->body, call->max_body == SIZE_MAX ? DEFAULT_MAX_BODY : call->max_body);
    bool with_body = request->body.n > 0 || strcmp(request->method, "POST") == 0 || strcmp(request->method, "PUT") == 0;
    if (set_url(call, request) < 0 || add_headers(call, request, with_body) < 0) {
        return -1;
    }
    set_common(call, request);
    set_method(call, request, with_body);
    set_tls(call->easy, request->tls);
    return 0;
}

static enum dr_code code_of(CURLcode result) {
    switch (result) {
    case CURLE_OPERATION_TIMEDOUT:
        return DR_E_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
        return DR_E_DENIED;
    case CURLE_FILESIZE_EXCEEDED:
        return DR_E_LIMIT;
    case CURLE_URL_MALFORMAT:
        return DR_E_INVALID;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
    case CURLE_BAD_FUNCTION_ARGUMENT:
    case CURLE_NOT_BUILT_IN:
        return DR_E_INTERNAL;
    default:
        return DR_E_UNAVAILABLE;
    }
}

static int64_t http_date_ms(struct dr_str text) {
    char copy[64];
    if (text.n == 0 || text.n >= sizeof copy) {
        return 0;
    }
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    int64_t seconds = (int64_t)curl_getdate(copy, NULL);
    return seconds > 0 && seconds < INT64_MAX / DR_SECOND_MS ? seconds * DR_SECOND_MS : 0;
}

void dr_http_transfer_dates(struct dr_http_call *call) {
    struct dr_str after = dr_http_header(call, "retry-after");
    int64_t seconds = 0;
    call->response.date_ms = http_date_ms(dr_http_header(call, "date"));
    call->response.retry_after_ms = -1;
    if (dr_str_to_i64(after, &seconds) && seconds >= 0) {
        call->response.retry_after_ms = dr_min_i64(seconds, DR_DAY_MS / DR_SECOND_MS) * DR_SECOND_MS;
    } else if (call->response.date_ms > 0 && http_date_ms(after) > 0) {
        call->response.retry_after_ms = dr_clamp_i64(http_date_ms(after) - call->response.date_ms, 0, DR_DAY_MS);
    }
}

void dr_http_transfer_end(struct dr_http_call *call, CURLcode result) {
    long status = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    call->response.status = (int)status;
    if (result == CURLE_FILESIZE_EXCEEDED) {
        dr_fail(&call->failed, DR_E_LIMIT, "%s: the body is larger than %zu bytes", call->where, call->max_body);
    } else if (result != CURLE_OK && !call->stopped && call->failed.code == DR_OK) {
        dr_fail(&call->failed, code_of(result), "%s: %s", call->where, call->error[0] != '\0' ? call->error : curl_easy_strerror(result));
    } else if (result == CURLE_OK && !call->head_whole) { /* libcurl takes a cut header for the last one */
        dr_fail(&call->failed, DR_E_UNAVAILABLE, "%s: the headers of the answer break off", call->where);
    }
    dr_http_transfer_dates(call);
}
