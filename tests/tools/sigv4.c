/*
 * Signs requests for tests in another language: one JSON object per line on standard input ({"method", "path", "query", "headers": [[name, value], ...], "body", "time",
 * "access_key", "secret_key", "region", "service"}, time in milliseconds), one per line on standard output ({"canonical", "authorization"}). Part of the tests, not of the program.
 */
#include <stdio.h>
#include <stdlib.h>

#include "adapter/aws/sigv4.h"
#include "base/json.h"
#include "base/json_write.h"

enum { MAX_HEADERS = 256 };

struct line {
    struct dr_str method;
    struct dr_str access_key;
    struct dr_str secret_key;
    struct dr_str region;
    struct dr_str service;
    struct dr_str path;
    struct dr_str query;
    struct dr_str body;
    int64_t time_ms;
    struct dr_http_header headers[MAX_HEADERS];
    size_t header_n;
};

static int read_headers(struct dr_json *j, struct line *line, struct dr_arena *arena, struct dr_err *err) {
    int r = dr_json_enter(j, DR_JSON_ARRAY, err);
    while (r >= 0 && (r = dr_json_next_element(j, err)) > 0) {
        struct dr_http_header *header = &line->headers[line->header_n++];
        if (line->header_n == MAX_HEADERS || dr_json_enter(j, DR_JSON_ARRAY, err) < 0 || dr_json_next_element(j, err) < 1 ||
            dr_json_str(j, arena, &header->name, err) < 0 || dr_json_next_element(j, err) < 1 ||
            dr_json_str(j, arena, &header->value, err) < 0) {
            return -1;
        }
        r = dr_json_leave(j, err);
    }
    return r;
}

static int read_line(struct dr_str text, struct line *line, struct dr_arena *arena, struct dr_err *err) {
    struct {
        const char *name;
        struct dr_str *to;
    } fields[] = {
        {"method", &line->method},         {"path", &line->path},     {"query", &line->query},     {"body", &line->body},
        {"access_key", &line->access_key}, {"region", &line->region}, {"service", &line->service}, {"secret_key", &line->secret_key}};
    struct dr_json j;
    struct dr_json_key key;
    int r = 0;
    dr_json_init(&j, text, 0);
    if (dr_json_enter(&j, DR_JSON_OBJECT, err) < 0) {
        return -1;
    }
    while (r >= 0 && (r = dr_json_next_key(&j, &key, err)) > 0) {
        if (dr_json_key_is(&key, "time")) {
            r = dr_json_i64(&j, &line->time_ms, err);
        } else if (dr_json_key_is(&key, "headers")) {
            r = read_headers(&j, line, arena, err);
        }
        for (size_t i = 0; i < sizeof fields / sizeof fields[0] && r >= 0; i++) {
            if (dr_json_key_is(&key, fields[i].name)) {
                r = dr_json_str(&j, arena, fields[i].to, err);
            }
        }
    }
    return r;
}

static void answer(const struct line *line, struct dr_arena *arena) {
    struct dr_buf canonical;
    struct dr_buf authorization;
    struct dr_buf out;
    struct dr_jsonw w;
    struct dr_secret secret = {0};
    dr_buf_init(&canonical, 0);
    dr_buf_init(&authorization, 0);
    dr_buf_init(&out, 0);
    dr_secret_set(&secret, line->secret_key);
    struct dr_sigv4_key key = {line->access_key, &secret, line->region, line->service};
    struct dr_sigv4_request request = {.method = dr_str_dup(arena, line->method).p,
                                       .path = line->path,
                                       .query = line->query,
                                       .headers = line->headers,
                                       .header_n = line->header_n,
                                       .body = line->body};
    dr_sigv4_canonical(&request, &canonical);
    dr_sigv4_sign(&key, &request, line->time_ms, &authorization);
    dr_jsonw_init(&w, &out, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_str(&w, "canonical", dr_buf_str(&canonical));
    dr_jsonw_kv_str(&w, "authorization", dr_buf_str(&authorization));
    dr_jsonw_end(&w);
    (void)puts(out.p);
    dr_secret_clear(&secret);
    dr_buf_deinit(&out);
    dr_buf_deinit(&authorization);
    dr_buf_deinit(&canonical);
}

int main(void) {
    char *text = NULL;
    size_t size = 0;
    int status = 0;
    for (ssize_t n; status == 0 && (n = getline(&text, &size, stdin)) > 0;) {
        struct line line = {0};
        struct dr_arena arena;
        struct dr_err err = {0};
        dr_arena_init(&arena, 0);
        if (read_line((struct dr_str){text, (size_t)n}, &line, &arena, &err) < 0) {
            (void)fprintf(stderr, "sigv4: %s\n", err.text);
            status = 1;
        } else {
            answer(&line, &arena);
        }
        dr_arena_deinit(&arena);
    }
    free(text);
    return status;
}
