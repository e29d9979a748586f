#include "adapter/kubernetes/client.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/num.h"
#include "base/time.h"

int64_t dr_kube_now(const struct dr_kubernetes *kube) { return kube->clock.ops->now_ms(kube->clock.self); }

int64_t dr_kube_left(const struct dr_kubernetes *kube, int64_t deadline_ms) {
    return dr_clamp_i64(deadline_ms - dr_kube_now(kube), 1, DR_HOUR_MS);
}

void dr_kube_put_encoded(struct dr_buf *buf, struct dr_str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        if (plain) {
            dr_buf_putc(buf, c);
        } else {
            dr_buf_fmt(buf, "%%%02X", (unsigned)(unsigned char)c);
        }
    }
}

static void set_token(struct dr_kubernetes *kube, struct dr_str token) {
    if (kube->token != NULL) {
        explicit_bzero(kube->token, strlen(kube->token));
        free(kube->token);
        kube->token = NULL;
    }
    if (token.n == 0) {
        return;
    }
    static const char bearer[] = "Bearer ";
    kube->token = malloc(sizeof bearer + token.n);
    DR_ASSERT(kube->token != NULL);
    memcpy(kube->token, bearer, sizeof bearer - 1);
    memcpy(kube->token + sizeof bearer - 1, token.p, token.n);
    kube->token[sizeof bearer - 1 + token.n] = '\0';
}

static void read_token(struct dr_kubernetes *kube, int fd) {
    char *text = malloc(DR_KUBE_MAX_TOKEN_BYTES);
    DR_ASSERT(text != NULL);
    size_t n = 0;
    ssize_t got;
    while (n < DR_KUBE_MAX_TOKEN_BYTES && (got = read(fd, text + n, DR_KUBE_MAX_TOKEN_BYTES - n)) > 0) {
        n += (size_t)got;
    }
    struct dr_str token = dr_str_trim((struct dr_str){text, n});
    /* A file that is being replaced may be empty for a moment: the old token is better than none. */
    if (token.n > 0 && n < DR_KUBE_MAX_TOKEN_BYTES) {
        set_token(kube, token);
    }
    explicit_bzero(text, DR_KUBE_MAX_TOKEN_BYTES);
    free(text);
}

/* The file of a service account is replaced about every hour; looking at it costs less than remembering when. */
static void refresh_token(struct dr_kubernetes *kube) {
    if (kube->token_file == NULL) {
        return;
    }
    int fd = open(kube->token_file, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &st) == 0) {
        int64_t mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        if (kube->token == NULL || mtime_ns != kube->token_mtime_ns || st.st_size != kube->token_size || st.st_ino != kube->token_inode) {
            read_token(kube, fd);
            kube->token_mtime_ns = mtime_ns;
            kube->token_size = st.st_size;
            kube->token_inode = st.st_ino;
        }
    }
    (void)close(fd);
}

bool dr_kube_token_forget(struct dr_kubernetes *kube) {
    if (kube->token_file == NULL) {
        return false;
    }
    set_token(kube, DR_STR_NONE);
    return true;
}

struct dr_http_call *dr_kube_start(struct dr_kubernetes *kube, const struct dr_kube_request *request) {
    struct dr_http_header headers[4];
    size_t n = 0;
    struct dr_buf url;
    refresh_token(kube);
    headers[n++] = (struct dr_http_header){DR_STR("Accept"), DR_STR("application/json")};
    headers[n++] = (struct dr_http_header){DR_STR("User-Agent"), kube->user_agent};
    if (kube->token != NULL) {
        headers[n++] = (struct dr_http_header){DR_STR("Authorization"), dr_str_of(kube->token)};
    }
    if (request->content_type != NULL) {
        headers[n++] = (struct dr_http_header){DR_STR("Content-Type"), dr_str_of(request->content_type)};
    }
    dr_buf_init(&url, 0);
    dr_buf_put_str(&url, kube->server);
    dr_buf_put_str(&url, request->path);
    struct dr_http_call *call =
        dr_http_start(kube->http, &(struct dr_http_request){.method = request->method,
                                                            .url = dr_buf_str(&url),
                                                            .headers = headers,
                                                            .header_n = n,
                                                            .body = request->body,
                                                            .tls = kube->secure ? &kube->tls : NULL,
                                                            .timeout_ms = request->timeout_ms,
                                                            .max_body = request->on_data == NULL ? DR_KUBE_MAX_PAGE_BYTES : 0,
                                                            .repeatable = request->repeatable,
                                                            .on_data = request->on_data,
                                                            .self = request->self});
    dr_buf_deinit(&url);
    return call;
}

int dr_kube_do(struct dr_kubernetes *kube, const struct dr_kube_request *request, struct dr_arena *arena, struct dr_http_response *ret,
               struct dr_err *err) {
    for (int attempt = 0;; attempt++) {
        struct dr_http_call *call = dr_kube_start(kube, request);
        int r = dr_http_wait(kube->http, call, ret, err);
        if (r == 0 && ret->status == 401 && attempt == 0 && dr_kube_token_forget(kube)) {
            dr_http_call_free(call);
            continue;
        }
        if (r == 0) {
            ret->body = dr_str_dup(arena, ret->body);
        }
        dr_http_call_free(call);
        return r;
    }
}

static enum dr_code code_of(int status) {
    switch (status) {
    case 401:
    case 403:
        return DR_E_DENIED;
    case 404:
        return DR_E_NOT_FOUND;
    case 409:
    case 410:
        return DR_E_CONFLICT;
    case 429:
        return DR_E_THROTTLED;
    default:
        return status >= 500 ? DR_E_UNAVAILABLE : DR_E_INVALID;
    }
}

/* The message of a Status object; false if the body is none. */
static bool message_of(struct dr_str body, char *ret, size_t size) {
    struct dr_json j;
    struct dr_json_key key;
    struct dr_err ignored;
    struct dr_arena arena;
    struct dr_str message = DR_STR_NONE;
    bool status = false;
    dr_arena_init(&arena, 1 << 20);
    dr_json_init(&j, body, 1 << 20);
    int r = body.n > 0 && body.p[0] == '{' ? dr_json_enter(&j, DR_JSON_OBJECT, &ignored) : -1;
    while (r >= 0 && (r = dr_json_next_key(&j, &key, &ignored)) > 0) {
        enum dr_json_type type;
        if (dr_json_peek(&j, &type, &ignored) < 0) {
            break;
        }
        if (dr_json_key_is(&key, "message") && type == DR_JSON_STRING) {
            r = dr_json_str(&j, &arena, &message, &ignored);
        } else if (dr_json_key_is(&key, "kind") && type == DR_JSON_STRING) {
            struct dr_str kind;
            r = dr_json_str(&j, &arena, &kind, &ignored);
            status = r == 0 && dr_str_is(kind, "Status");
        }
    }
    size_t n = 0;
    for (size_t i = 0; status && i < message.n && n + 1 < size; i++) {
        ret[n++] = (unsigned char)message.p[i] < ' ' || message.p[i] == 0x7F ? ' ' : message.p[i];
    }
    ret[n] = '\0';
    dr_arena_deinit(&arena);
    return status;
}

int dr_kube_refused(const char *what, int status, struct dr_str body, struct dr_err *err) {
    char message[240];
    enum dr_code code = code_of(status);
    const char *remedy = status == 401                   ? "; is the token or certificate expired?"
                         : status == 403                 ? "; grant it in the role"
                         : status >= 300 && status < 400 ? "; a redirect is not followed: is the server's address right?"
                                                         : "";
    if (message_of(body, message, sizeof message)) {
        return dr_fail(err, code, "kubernetes %s: %d: %s%s", what, status, message, remedy);
    }
    return dr_fail(err, code, "kubernetes %s: %d, and the answer is not from an API server%s", what, status, remedy);
}

int dr_kube_unreached(const char *what, struct dr_err *err) {
    if (err->code == DR_E_DENIED) {
        struct dr_err plain = *err;
        return dr_fail(err, plain.code, "kubernetes %s: %s; is the authority that was given the one of this cluster?", what, plain.text);
    }
    return dr_wrap(err, "kubernetes %s", what);
}
