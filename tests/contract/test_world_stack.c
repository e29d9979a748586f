/*
 * The contract of the ports on the real services of tests/stack, with the adapters as the program wires them. Started by tests/e2e, which says in the environment where the
 * configuration is (DROVER_TEST_CONFIG) and on which port of loopback verbs are taken (DROVER_TEST_WORLD): one line "verb arguments" in, "ok answer" or what went wrong out.
 * Without these variables there are no such tests.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/live.h"
#include "base/time.h"
#include "contract/world_contract.h"

struct stack_world {
    struct dr_arena arena;
    struct dr_settings settings;
    struct dr_process process;
    struct dr_live live;
};

/* ---- verbs ---- */

static int connect_to(const char *port) {
    if (port == NULL) {
        FAIL("DROVER_TEST_WORLD is not set");
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0);
    CHECK(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    return fd;
}

__attribute__((format(printf, 2, 3))) static void verb(char ret[WORLD_ID_MAX], const char *fmt, ...) {
    char line[256], answer[2048];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    CHECK(n > 0 && (size_t)n < sizeof(line));
    int fd = connect_to(getenv("DROVER_TEST_WORLD"));
    CHECK_EQ_INT(write(fd, line, (size_t)n), n);
    CHECK_EQ_INT(write(fd, "\n", 1), 1);
    size_t got = 0;
    ssize_t r;
    while (got + 1 < sizeof(answer) && (r = read(fd, answer + got, sizeof(answer) - 1 - got)) > 0) {
        got += (size_t)r;
    }
    close(fd);
    answer[got] = '\0';
    if (strncmp(answer, "ok", 2) != 0) {
        FAIL("%s: %s", line, answer);
    }
    if (ret != NULL) {
        CHECK(got >= 3 && got - 3 < WORLD_ID_MAX);
        memcpy(ret, answer + 3, got - 3 + 1);
    }
}

/* ---- the world ---- */

static void *stack_open(void) {
    struct stack_world *world = calloc(1, sizeof(*world));
    struct dr_err err;
    CHECK(world != NULL);
    verb(NULL, "reset");
    dr_arena_init(&world->arena, 0);
    struct dr_settings_source source = {.file = getenv("DROVER_TEST_CONFIG"), .env = (const char *const *)environ};
    struct dr_reports reports;
    dr_reports_init(&reports, &world->arena, source.file);
    if (dr_settings_load(&world->settings, &world->arena, &source, &reports) < 0) {
        FAIL("the configuration of the stack is wrong");
    }
    CHECK_OK(dr_process_init(&world->process, false, &err), err);
    CHECK_OK(dr_live_init(&world->live, &world->settings, source.env, &world->process, &err), err);
    CHECK_OK(dr_live_open(&world->live, DR_LIVE_TICK | DR_LIVE_QUEUE, &err), err);
    return world;
}

static struct dr_ports stack_ports(void *self) {
    struct stack_world *world = self;
    return world->live.ports;
}

static void stack_close(void *self) {
    struct stack_world *world = self;
    dr_live_deinit(&world->live);
    dr_process_deinit(&world->process);
    dr_arena_deinit(&world->arena);
    free(world);
}

static void stack_pass(void *self, int64_t ms) {
    (void)self;
    usleep((useconds_t)(ms * 1000));
}

static void stack_worker(void *self, size_t zone, char ret_id[WORLD_ID_MAX]) {
    (void)self;
    verb(ret_id, "worker %zu", zone);
}

static void stack_deployment(void *self, const char *name, int replicas, int cpu_milli) {
    (void)self;
    verb(NULL, "deployment %s %d %d", name, replicas, cpu_milli);
}

static void stack_budget(void *self, const char *name, int max_unavailable) {
    (void)self;
    verb(NULL, "budget %s %d", name, max_unavailable);
}

static void stack_no_capacity(void *self, size_t zone) {
    (void)self;
    verb(NULL, "no-capacity %zu", zone);
}

static void stack_protect(void *self, const char *id) {
    (void)self;
    verb(NULL, "protect %s", id);
}

static void stack_touch(void *self, const char *id, bool protected) {
    (void)self;
    verb(NULL, "touch %s %s", id, protected ? "true" : "false");
}

static void stack_series(void *self, int value) {
    (void)self;
    verb(NULL, "series %d", value);
}

static void stack_interrupt(void *self, const char *id) {
    struct stack_world *world = self;
    struct dr_err err;
    size_t n = 0;
    verb(NULL, "interrupt %s", id);
    CHECK_OK(dr_sqs_drain(world->live.sqs, dr_process_now_ms(&world->process) + 10 * DR_SECOND_MS, &n, &err), err);
}

static const struct world_case on_stack = {
    .open = stack_open,
    .ports = stack_ports,
    .close = stack_close,
    .pass = stack_pass,
    .worker = stack_worker,
    .deployment = stack_deployment,
    .budget = stack_budget,
    .no_capacity = stack_no_capacity,
    .protect = stack_protect,
    .touch = stack_touch,
    .series = stack_series,
    .interrupt = stack_interrupt,
};

/* As TEST, but only where there is a stack. */
#define ON_STACK(name_)                                                                                                                    \
    static void run_##name_(void) { world_contract_##name_(&on_stack); }                                                                   \
    static struct dr_test test_##name_ = {"world_stack", #name_, __FILE__, __LINE__, run_##name_, 60, NULL};                               \
    __attribute__((constructor)) static void add_##name_(void) {                                                                           \
        if (getenv("DROVER_TEST_WORLD") != NULL) {                                                                                         \
            dr_test_register(&test_##name_);                                                                                               \
        }                                                                                                                                  \
    }
WORLD_CONTRACT_TESTS(ON_STACK)
