/* What was recorded answers again, without a server and without secrets. */
#include <stdio.h>
#include <unistd.h>

#include "adapter/http/http.h"
#include "harness/server.h"
#include "harness/test.h"

static bool serve_count(void *self, const struct dr_server_request *request) {
    char body[64];
    (void)self;
    (void)snprintf(body, sizeof body, "answer %d", request->nth);
    return dr_server_reply(request, request->nth == 3 ? 404 : 200,
                           "Set-Cookie: session=hunter2\r\nX-Kept: yes\r\nDate: Sun, 15 Nov 2026 20:04:00 GMT\r\n", body);
}

static struct dr_http_request post(struct dr_str url, const char *body) {
    static struct dr_http_header headers[4]; /* the request keeps pointing at them */
    headers[0] = (struct dr_http_header){DR_STR("Authorization"), DR_STR("Bearer hunter2")};
    headers[1] = (struct dr_http_header){DR_STR("X-Amz-Security-Token"), DR_STR("hunter2")};
    headers[2] = (struct dr_http_header){DR_STR("X-Amz-Target"), DR_STR("Store.Get")};
    headers[3] = (struct dr_http_header){DR_STR("X-Plain"), DR_STR("seen")};
    return (struct dr_http_request){
        .method = "POST", .url = url, .headers = headers, .header_n = 4, .body = dr_str_of(body), .timeout_ms = 30000};
}

static void record(const char *folder) {
    struct dr_err err;
    struct dr_arena arena;
    struct dr_http_response response;
    struct dr_server *server = dr_server_start(serve_count, NULL);
    struct dr_http *http = dr_http_new(&err);
    dr_arena_init(&arena, 0);
    CHECK_OK(dr_http_record(http, folder, &err), err);
    const char *const bodies[] = {"a", "b", "a"};
    for (int i = 0; i < 3; i++) {
        struct dr_http_request request = post(dr_server_url(server, "/x?y=1"), bodies[i]);
        CHECK_OK(dr_http_do(http, &request, &arena, &response, &err), err);
    }
    struct dr_http_request secret = post(dr_server_url(server, "/secret"), "password=hunter2");
    secret.secret = true;
    CHECK_OK(dr_http_do(http, &secret, &arena, &response, &err), err);
    dr_http_free(http);
    dr_server_stop(server);
    dr_arena_deinit(&arena);
}

TEST(http_record, recorded_exchanges_are_replayed_by_request_and_in_order) {
    const char *folder = dr_test_tmpdir();
    struct dr_err err;
    struct dr_arena arena;
    struct dr_http_response response;
    record(folder);
    struct dr_http *http = dr_http_new(&err);
    dr_arena_init(&arena, 0);
    CHECK_OK(dr_http_replay(http, folder, &err), err);
    static const struct {
        const char *body;
        const char *answer;
        int status;
    } steps[] = {{"b", "answer 2", 200}, {"a", "answer 1", 200}, {"other", "answer 3", 404}};
    for (size_t i = 0; i < 3; i++) {
        struct dr_http_request request = post(DR_STR("http://elsewhere.invalid/x?y=1"), steps[i].body);
        struct dr_http_call *call = dr_http_start(http, &request);
        CHECK_OK(dr_http_wait(http, call, &response, &err), err);
        CHECK_EQ_STR(response.body, steps[i].answer);
        CHECK_EQ_INT(response.status, steps[i].status);
        CHECK_EQ_INT(response.date_ms, INT64_C(1794773040000));
        CHECK_EQ_STR(dr_http_header(call, "x-kept"), "yes");
        dr_http_call_free(call);
    }
    struct dr_http_request request = post(DR_STR("http://elsewhere.invalid/x?y=1"), "a");
    CHECK_FAILS(dr_http_do(http, &request, &arena, &response, &err), err, DR_E_UNAVAILABLE);
    CHECK_CONTAINS(dr_str_of(err.text), "no recording of POST /x?y=1 Store.Get");
    dr_http_free(http);
    dr_arena_deinit(&arena);
}

TEST(http_record, no_secret_is_written) {
    const char *folder = dr_test_tmpdir();
    record(folder);
    for (int i = 1; i <= 4; i++) {
        char path[512];
        size_t n = 0;
        (void)snprintf(path, sizeof path, "%s/%04d.http", folder, i);
        char *text = dr_test_read_file(path, &n);
        CHECK(strstr(text, "hunter2") == NULL);
        CHECK_CONTAINS(dr_str_of(text), "***");
        if (i < 4) {
            CHECK_CONTAINS(dr_str_of(text), "X-Plain: seen");
        } else {
            CHECK(strstr(text, "seen") == NULL && strstr(text, "answer 4") == NULL);
        }
        free(text);
    }
}

TEST(http_record, folder_that_is_missing_or_broken_is_refused) {
    const char *folder = dr_test_tmpdir();
    struct dr_err err;
    struct dr_http *http = dr_http_new(&err);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/none", folder);
    CHECK_FAILS(dr_http_replay(http, path, &err), err, DR_E_NOT_FOUND);
    (void)snprintf(path, sizeof path, "%s/0001.http", folder);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("request 999999\nPOST", file) >= 0 && fclose(file) == 0);
    CHECK_FAILS(dr_http_replay(http, folder, &err), err, DR_E_INVALID);
    CHECK_CONTAINS(dr_str_of(err.text), "0001.http");
    dr_http_free(http);
}
