/*
 * Recorder and replayer. An exchange is a file of named parts, each "name <bytes>\n<bytes>\n": request (first line: what it is matched by; then the body), headers,
 * status or failed, head, body. Plain enough to be read, and to be written by hand for a test.
 */
#include "adapter/http/record.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_EXCHANGES = 9999, MAX_FILE = 64 << 20 };

#define MASK "***"

struct exchange {
    char *text;
    struct dr_str request;
    struct dr_str failed;
    struct dr_str head;
    struct dr_str body;
    int64_t status;
    bool used;
};

struct dr_http_record {
    char *folder;
    bool replay;
    int written_n;
    struct exchange *exchanges;
    size_t exchange_n;
};

static bool names_secret(struct dr_str name) {
    static const char *const words[] = {"authorization", "token", "cookie", "secret", "password", "signature", "key"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strlen(words[i]);
        for (size_t at = 0; at + n <= name.n; at++) {
            if (strncasecmp(name.p + at, words[i], n) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void put_header(struct dr_buf *buf, struct dr_str name, struct dr_str value, bool secret) {
    dr_buf_fmt(buf, "%.*s: %.*s\r\n", DR_FMT(name), DR_FMT(secret || names_secret(name) ? DR_STR(MASK) : value));
}

static void put_part(struct dr_buf *buf, const char *name, struct dr_str part) {
    dr_buf_fmt(buf, "%s %zu\n", name, part.n);
    dr_buf_put_str(buf, part);
    dr_buf_putc(buf, '\n');
}

/* "POST /path?query DynamoDB_20120810.GetItem\n" and the body. The host is left out: a test's server has another port every time. */
static void put_request(struct dr_buf *buf, const struct dr_http_request *request) {
    struct dr_str target = DR_STR_NONE;
    for (size_t i = 0; i < request->header_n; i++) {
        if (request->headers[i].name.n == 12 && strncasecmp(request->headers[i].name.p, "x-amz-target", 12) == 0) {
            target = request->headers[i].value;
        }
    }
    size_t skip = dr_str_starts(request->url, "https://") ? 8 : 7;
    struct dr_str rest = dr_str_sub(request->url, skip, request->url.n);
    rest = dr_str_sub(rest, dr_str_find(rest, '/'), rest.n);
    dr_buf_fmt(buf, "%s %.*s %.*s\n", request->method, DR_FMT(rest.n == 0 ? DR_STR("/") : rest), DR_FMT(target));
    dr_buf_put_str(buf, request->secret ? DR_STR(MASK) : request->body);
}

static void answer(struct dr_http_call *call, struct exchange *found) {
    found->used = true;
    if (found->failed.n > 0) {
        size_t space = dr_str_find(found->failed, ' ');
        int64_t code = DR_E_UNAVAILABLE;
        (void)dr_str_to_i64(dr_str_sub(found->failed, 0, space), &code);
        dr_fail(&call->failed, (enum dr_code)code, "%.*s", DR_FMT(dr_str_sub(found->failed, space + 1, found->failed.n)));
        return;
    }
    call->response.status = (int)found->status;
    dr_buf_put_str(&call->head, found->head);
    dr_http_transfer_dates(call);
    bool stream = call->on_data != NULL && found->status >= 200 && found->status < 300;
    if (found->body.n > call->max_body) {
        dr_fail(&call->failed, DR_E_LIMIT, "%s: the body is larger than %zu bytes", call->where, call->max_body);
    } else if (stream) {
        (void)call->on_data(call->self, found->body);
    } else {
        dr_buf_put_str(&call->body, found->body);
    }
}

static struct exchange *find(struct dr_http_record *record, struct dr_str request) {
    struct exchange *near = NULL;
    struct dr_str line = dr_str_sub(request, 0, dr_str_find(request, '\n'));
    for (size_t i = 0; i < record->exchange_n; i++) {
        struct exchange *exchange = &record->exchanges[i];
        if (exchange->used) {
            continue;
        }
        if (dr_str_eq(exchange->request, request)) {
            return exchange;
        }
        struct dr_str other = dr_str_sub(exchange->request, 0, dr_str_find(exchange->request, '\n'));
        near = near == NULL && dr_str_eq(line, other) ? exchange : near;
    }
    return near;
}

bool dr_http_record_begin(struct dr_http_record *record, struct dr_http_call *call, const struct dr_http_request *request) {
    struct dr_buf key;
    dr_buf_init(&key, MAX_FILE);
    put_request(&key, request);
    if (record->replay) {
        struct exchange *found = find(record, dr_buf_str(&key));
        if (found != NULL) {
            answer(call, found);
        } else {
            dr_fail(&call->failed, DR_E_UNAVAILABLE, "%s: no recording of %.*s", call->where,
                    DR_FMT(dr_str_sub(dr_buf_str(&key), 0, dr_str_find(dr_buf_str(&key), '\n'))));
        }
    } else {
        struct dr_buf headers;
        dr_buf_init(&headers, 0);
        for (size_t i = 0; i < request->header_n; i++) {
            put_header(&headers, request->headers[i].name, request->headers[i].value, request->secret);
        }
        put_part(&call->recorded, "request", dr_buf_str(&key));
        put_part(&call->recorded, "headers", dr_buf_str(&headers));
        dr_buf_deinit(&headers);
    }
    dr_buf_deinit(&key);
    return record->replay;
}

static void put_head(struct dr_buf *buf, const struct dr_http_call *call) {
    struct dr_str rest = dr_buf_str(&call->head);
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, '\n');
        struct dr_str line = dr_str_sub(rest, 0, end);
        size_t colon = dr_str_find(line, ':');
        if (colon < line.n) {
            put_header(buf, dr_str_sub(line, 0, colon), dr_str_trim(dr_str_sub(line, colon + 1, line.n)), false);
        }
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
}

void dr_http_record_save(struct dr_http_record *record, const struct dr_http_call *call) {
    if (record->replay || record->written_n >= MAX_EXCHANGES) {
        return;
    }
    struct dr_buf file;
    struct dr_buf part;
    char path[4096];
    dr_buf_init(&file, 0);
    dr_buf_init(&part, 0);
    dr_buf_put_str(&file, dr_buf_str(&call->recorded));
    if (call->failed.code != DR_OK) {
        dr_buf_fmt(&part, "%d %s", (int)call->failed.code, call->failed.text);
        put_part(&file, "failed", dr_buf_str(&part));
    } else {
        dr_buf_put_i64(&part, call->response.status);
        put_part(&file, "status", dr_buf_str(&part));
        dr_buf_clear(&part);
        put_head(&part, call);
        put_part(&file, "head", dr_buf_str(&part));
        put_part(&file, "body", call->secret ? DR_STR(MASK) : call->response.body);
    }
    (void)snprintf(path, sizeof path, "%s/%04d.http", record->folder, ++record->written_n);
    FILE *out = fopen(path, "wbe");
    if (out != NULL) { /* a recording that cannot be written shows when it is replayed; the call itself went well */
        (void)fwrite(file.p, 1, file.n, out);
        (void)fclose(out);
    }
    dr_buf_deinit(&part);
    dr_buf_deinit(&file);
}

/* The next part of a file; false at its end or where it is not one. */
static bool next_part(struct dr_str *rest, struct dr_str *ret_name, struct dr_str *ret_part) {
    size_t end = dr_str_find(*rest, '\n');
    struct dr_str line = dr_str_sub(*rest, 0, end);
    size_t space = dr_str_find(line, ' ');
    int64_t n = 0;
    if (end == rest->n || !dr_str_to_i64(dr_str_sub(line, space + 1, line.n), &n) || n < 0 || (uint64_t)n > rest->n - end - 1) {
        return false;
    }
    *ret_name = dr_str_sub(line, 0, space);
    *ret_part = dr_str_sub(*rest, end + 1, end + 1 + (size_t)n);
    *rest = dr_str_sub(*rest, end + 1 + (size_t)n + 1, rest->n);
    return true;
}

static int load(struct dr_http_record *record, const char *name, struct dr_err *err) {
    char path[4096];
    struct stat info;
    (void)snprintf(path, sizeof path, "%s/%s", record->folder, name);
    FILE *in = fopen(path, "rbe");
    if (in == NULL || fstat(fileno(in), &info) < 0 || info.st_size > MAX_FILE) {
        if (in != NULL) {
            (void)fclose(in);
        }
        return dr_fail(err, DR_E_INVALID, "%s: cannot be read, or is larger than %d bytes", path, MAX_FILE);
    }
    struct exchange *exchange = &record->exchanges[record->exchange_n++];
    exchange->text = malloc((size_t)info.st_size + 1);
    DR_ASSERT(exchange->text != NULL);
    struct dr_str rest = {exchange->text, fread(exchange->text, 1, (size_t)info.st_size, in)};
    (void)fclose(in);
    struct dr_str part_name;
    for (struct dr_str part; next_part(&rest, &part_name, &part);) {
        if (dr_str_is(part_name, "request")) {
            exchange->request = part;
        } else if (dr_str_is(part_name, "status")) {
            (void)dr_str_to_i64(part, &exchange->status);
        } else if (dr_str_is(part_name, "failed")) {
            exchange->failed = part;
        } else if (dr_str_is(part_name, "head")) {
            exchange->head = part;
        } else if (dr_str_is(part_name, "body")) {
            exchange->body = part;
        }
    }
    bool whole = exchange->request.n > 0 && (exchange->failed.n > 0 || (exchange->status >= 100 && exchange->status <= 999));
    return whole ? 0 : dr_fail(err, DR_E_INVALID, "%s: not a recorded exchange", path);
}

static int is_exchange(const struct dirent *entry) { return dr_str_ends(dr_str_of(entry->d_name), ".http"); }

static int load_all(struct dr_http_record *record, struct dr_err *err) {
    struct dirent **names = NULL;
    int n = scandir(record->folder, &names, is_exchange, alphasort);
    if (n < 0) {
        return dr_fail(err, DR_E_NOT_FOUND, "%s: %s", record->folder, strerror(errno));
    }
    record->exchanges = calloc((size_t)n + 1, sizeof *record->exchanges);
    DR_ASSERT(record->exchanges != NULL);
    int r = 0;
    for (int i = 0; i < n; i++) {
        r = r == 0 ? load(record, names[i]->d_name, err) : r;
        free(names[i]);
    }
    free(names);
    return r;
}

static int attach(struct dr_http *http, const char *folder, bool replay, struct dr_err *err) {
    DR_ASSERT(http->record == NULL && http->first == NULL);
    struct dr_http_record *record = calloc(1, sizeof *record);
    DR_ASSERT(record != NULL);
    record->folder = strdup(folder);
    DR_ASSERT(record->folder != NULL);
    record->replay = replay;
    if (replay && load_all(record, err) < 0) {
        dr_http_record_close(record);
        return -1;
    }
    http->record = record;
    return 0;
}

int dr_http_record(struct dr_http *http, const char *folder, struct dr_err *err) { return attach(http, folder, false, err); }

int dr_http_replay(struct dr_http *http, const char *folder, struct dr_err *err) { return attach(http, folder, true, err); }

void dr_http_record_close(struct dr_http_record *record) {
    if (record == NULL) {
        return;
    }
    for (size_t i = 0; i < record->exchange_n; i++) {
        free(record->exchanges[i].text);
    }
    free(record->exchanges);
    free(record->folder);
    free(record);
}
