/* Signals, waits, service manager and health: what a daemon shows to the machine around it. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/health.h"
#include "app/process.h"
#include "base/time.h"
#include "harness/test.h"

#define LONG_MS (30 * DR_SECOND_MS) /* more than the runner would wait: only an event ends it */

TEST(process, sigterm_ends_a_wait_and_asks_to_stop) {
    struct dr_process process;
    struct dr_err err;
    CHECK_OK(dr_process_init(&process, true, &err), err);
    struct dr_clock clock = dr_process_clock(&process);
    CHECK(!clock.ops->stopping(clock.self));
    CHECK_EQ_INT(kill(getpid(), SIGTERM), 0);
    clock.ops->sleep_ms(clock.self, LONG_MS);
    CHECK(clock.ops->stopping(clock.self));
    dr_process_deinit(&process);
}

TEST(process, sighup_ends_a_wait_between_passes_and_not_a_wait_inside_of_one) {
    struct dr_process process;
    struct dr_err err;
    CHECK_OK(dr_process_init(&process, true, &err), err);
    CHECK_EQ_INT(kill(getpid(), SIGHUP), 0);
    dr_process_wait(&process, dr_process_monotonic_ms() + LONG_MS);
    CHECK(process.reload && !process.stopping);
    struct dr_clock clock = dr_process_clock(&process);
    clock.ops->sleep_ms(clock.self, 1); /* the wish waits for the end of the pass */
    CHECK(process.reload);
    CHECK(!clock.ops->stopping(clock.self));
    dr_process_deinit(&process);
}

TEST(process, signals_end_a_wait_on_the_http_loop_too) {
    struct dr_process process;
    struct dr_err err;
    CHECK_OK(dr_process_init(&process, true, &err), err);
    process.http = dr_http_new(&err);
    CHECK(process.http != NULL);
    CHECK_EQ_INT(kill(getpid(), SIGINT), 0);
    dr_process_wait(&process, dr_process_monotonic_ms() + LONG_MS);
    CHECK(process.stopping);
    dr_http_free(process.http);
    dr_process_deinit(&process);
}

static bool once(void *self) {
    int *calls = self;
    return ++*calls == 2;
}

TEST(process, what_the_pump_reports_ends_the_wait) {
    struct dr_process process;
    struct dr_err err;
    int calls = 0;
    CHECK_OK(dr_process_init(&process, false, &err), err);
    process.pump = once;
    process.self = &calls;
    dr_process_wait(&process, dr_process_monotonic_ms() + 1);
    CHECK(calls >= 1);
    dr_process_wait(&process, dr_process_monotonic_ms() + 1);
    CHECK(calls >= 2);
    dr_process_deinit(&process);
}

static void hang_past_the_grace(void *arg) {
    (void)arg;
    struct dr_process process;
    struct dr_err err;
    if (dr_process_init(&process, true, &err) < 0) {
        _exit(0);
    }
    process.grace_ms = 1;
    kill(getpid(), SIGTERM);
    dr_process_look(&process);
    for (;;) {
        pause();
    }
}

TEST(process, hanging_past_the_grace_period_is_ended_by_the_alarm) { CHECK(dr_test_dies(hang_past_the_grace, NULL)); }

/* ---- service manager ---- */

static int bind_datagram(struct sockaddr_un *address) {
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    snprintf(address->sun_path, sizeof(address->sun_path), "%.80s/notify", dr_test_tmpdir());
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ_INT(bind(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
    return fd;
}

TEST(sd_notify, messages_reach_the_socket_and_the_watchdog_is_fed_at_half_its_time) {
    struct sockaddr_un address;
    int fd = bind_datagram(&address);
    char socket_variable[200];
    char pid_variable[40];
    snprintf(socket_variable, sizeof(socket_variable), "NOTIFY_SOCKET=%s", address.sun_path);
    snprintf(pid_variable, sizeof(pid_variable), "WATCHDOG_PID=%d", (int)getpid());
    const char *env[] = {socket_variable, "WATCHDOG_USEC=10000000", pid_variable, NULL};
    struct dr_sd sd = dr_sd_of(env);
    CHECK_EQ_INT(sd.watchdog_ms, 10000);
    dr_sd_send(&sd, "READY=1");
    char got[64];
    ssize_t n = recv(fd, got, sizeof(got), 0);
    CHECK_EQ_STR(((struct dr_str){got, (size_t)n}), "READY=1");
    sd.last_ping_ms = 100000;
    dr_sd_ping(&sd, 104999);
    CHECK_EQ_INT(recv(fd, got, sizeof(got), MSG_DONTWAIT), -1);
    dr_sd_ping(&sd, 105000);
    n = recv(fd, got, sizeof(got), MSG_DONTWAIT);
    CHECK_EQ_STR(((struct dr_str){got, n < 0 ? 0 : (size_t)n}), "WATCHDOG=1");
    close(fd);
}

TEST(sd_notify, without_a_socket_or_for_another_process_nothing_is_sent) {
    const char *none[] = {"WATCHDOG_USEC=1000000", NULL};
    CHECK(dr_sd_of(none).socket == NULL);
    CHECK_EQ_INT(dr_sd_of(none).watchdog_ms, 0);
    const char *other[] = {"NOTIFY_SOCKET=/nonexistent/s", "WATCHDOG_USEC=1000000", "WATCHDOG_PID=1", NULL};
    struct dr_sd sd = dr_sd_of(other);
    CHECK_EQ_INT(sd.watchdog_ms, 0);
    dr_sd_send(&sd, "READY=1"); /* nobody there: no failure */
}

/* ---- health ---- */

static int ask(int port, const char *request, char *body, size_t body_n) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    CHECK_EQ_INT(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    CHECK_EQ_INT(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    char answer[1024];
    size_t n = 0;
    ssize_t got;
    while (n < sizeof(answer) - 1 && (got = recv(fd, answer + n, sizeof(answer) - 1 - n, 0)) > 0) {
        n += (size_t)got;
    }
    answer[n] = '\0';
    close(fd);
    int status = 0;
    CHECK_EQ_INT(sscanf(answer, "HTTP/1.1 %d", &status), 1);
    const char *blank = strstr(answer, "\r\n\r\n");
    snprintf(body, body_n, "%s", blank == NULL ? "" : blank + 4);
    return status;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

TEST(health, readiness_follows_the_last_pass_and_life_the_last_sign) {
    _Atomic int64_t beat_ms = dr_process_monotonic_ms();
    struct dr_err err;
    struct dr_health *health = dr_health_start(DR_STR("127.0.0.1:0"), &beat_ms, LONG_MS, &err);
    if (health == NULL) {
        FAIL("%s", err.text);
    }
    char body[400];
    int port = dr_health_port(health);
    CHECK_EQ_INT(ask(port, GET("/healthz"), body, sizeof(body)), 200);
    CHECK_EQ_INT(ask(port, GET("/readyz"), body, sizeof(body)), 503);
    CHECK_EQ_CSTR(body, "no pass has ended yet\n");
    dr_health_set_ready(health, true, "ok");
    CHECK_EQ_INT(ask(port, GET("/readyz?verbose"), body, sizeof(body)), 200);
    dr_health_set_ready(health, false, "dynamodb GetItem: timeout");
    CHECK_EQ_INT(ask(port, GET("/readyz"), body, sizeof(body)), 503);
    CHECK_EQ_CSTR(body, "dynamodb GetItem: timeout\n");
    CHECK_EQ_INT(ask(port, GET("/"), body, sizeof(body)), 404);
    CHECK_EQ_INT(ask(port, "POST /healthz HTTP/1.1\r\n\r\n", body, sizeof(body)), 405);
    atomic_store(&beat_ms, dr_process_monotonic_ms() - 2 * LONG_MS);
    CHECK_EQ_INT(ask(port, GET("/healthz"), body, sizeof(body)), 503);
    dr_health_stop(health);
}

TEST(health, only_loopback_and_a_port_are_accepted) {
    static const char *const wrong[] = {"0.0.0.0:9470",    "10.0.0.1:9470", "127.0.0.1", "127.0.0.1:x",
                                        "127.0.0.1:70000", "[::]:9470",     ":1",        ""};
    _Atomic int64_t beat_ms = 0;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct dr_err err = {.code = DR_OK};
        CHECK(dr_health_start(dr_str_of(wrong[i]), &beat_ms, 1, &err) == NULL);
        CHECK_EQ_INT(err.code, DR_E_INVALID);
    }
}

TEST(health, port_in_use_is_said) {
    _Atomic int64_t beat_ms = 0;
    struct dr_err err;
    struct dr_health *first = dr_health_start(DR_STR("127.0.0.1:0"), &beat_ms, 1, &err);
    CHECK(first != NULL);
    char listen[40];
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", dr_health_port(first));
    CHECK(dr_health_start(dr_str_of(listen), &beat_ms, 1, &err) == NULL);
    CHECK_EQ_INT(err.code, DR_E_UNAVAILABLE);
    dr_health_stop(first);
}
