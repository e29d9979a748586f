/*
 * The store contract on a DynamoDB server: DROVER_TEST_DYNAMODB is its URL ("http://127.0.0.1:8000"). Without the variable these tests are not there: they need a
 * server, which the end-to-end tests start. Each test makes tables of its own and removes them.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "adapter/dynamodb/dynamodb.h"
#include "contract/store_contract.h"

struct dynamodb_bench {
    int64_t now_ms; /* virtual, for expiry alone: requests are signed with the time that it is */
    char url[256];
    char state_table[64];
    char logs_table[64];
    struct dr_http *http;
    struct dr_aws *aws;
    struct dr_dynamodb *handles[2];
};

static int64_t real_now_ms(void *self) {
    (void)self;
    return (int64_t)time(NULL) * 1000;
}

static int64_t virtual_now_ms(void *self) {
    const struct dynamodb_bench *bench = self;
    return bench->now_ms;
}

static void sleep_for(void *self, int64_t ms) {
    (void)self;
    usleep((useconds_t)(ms * 1000));
}

static void *dynamodb_open(void) {
    struct dynamodb_bench *bench = calloc(1, sizeof(*bench));
    struct dr_err err;
    CHECK(bench != NULL);
    bench->now_ms = STORE_START_MS;
    snprintf(bench->url, sizeof(bench->url), "AWS_ENDPOINT_URL_DYNAMODB=%s", getenv("DROVER_TEST_DYNAMODB"));
    snprintf(bench->state_table, sizeof(bench->state_table), "contract-state-%ld", (long)getpid());
    snprintf(bench->logs_table, sizeof(bench->logs_table), "contract-logs-%ld", (long)getpid());
    static const char *environ_[4] = {NULL, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", NULL};
    environ_[0] = bench->url;
    bench->http = dr_http_new(&err);
    CHECK(bench->http != NULL);
    struct dr_aws_options options = {
        .http = bench->http, .now_ms = real_now_ms, .seed = 1, .environ = environ_, .region = DR_STR("us-east-1")};
    bench->aws = dr_aws_new(&options, &err);
    CHECK(bench->aws != NULL);
    for (int i = 0; i < 2; i++) {
        struct dr_dynamodb_options o = {.aws = bench->aws,
                                        .now_ms = virtual_now_ms,
                                        .sleep_ms = sleep_for,
                                        .self = bench,
                                        .state_table = dr_str_of(bench->state_table),
                                        .logs_table = dr_str_of(bench->logs_table)};
        bench->handles[i] = dr_dynamodb_new(&o, &err);
        CHECK(bench->handles[i] != NULL);
    }
    CHECK_OK(dr_dynamodb_create(bench->handles[0], DR_DYNAMODB_STATE, INT64_MAX, &err), err);
    CHECK_OK(dr_dynamodb_create(bench->handles[0], DR_DYNAMODB_LOGS, INT64_MAX, &err), err);
    return bench;
}

static struct dr_store dynamodb_writer(void *self, int n) {
    struct dynamodb_bench *bench = self;
    return dr_dynamodb_store(bench->handles[n]);
}

/* A call beside the adapter. */
static void call(struct dynamodb_bench *bench, const char *action, struct dr_str body) {
    static const struct dr_aws_service service = {"dynamodb", DR_AWS_JSON_10, NULL, "DynamoDB_20120810"};
    struct dr_aws_request request = {
        .service = &service, .action = action, .body = body, .deadline_ms = real_now_ms(NULL) + 20000, .repeatable = true};
    struct dr_arena arena;
    struct dr_str reply;
    struct dr_err err;
    dr_arena_init(&arena, 0);
    CHECK_OK(dr_aws_do(bench->aws, &request, &arena, &reply, &err), err);
    dr_arena_deinit(&arena);
}

static void dynamodb_put_foreign(void *self, const char *json) {
    struct dynamodb_bench *bench = self;
    struct dr_buf body;
    dr_buf_init(&body, 0);
    dr_buf_fmt(&body, "{\"TableName\":\"%s\",\"Item\":%s}", bench->state_table, json);
    call(bench, "PutItem", dr_buf_str(&body));
    dr_buf_deinit(&body);
}

static void dynamodb_pass_time(void *self, int64_t now_ms) {
    struct dynamodb_bench *bench = self;
    bench->now_ms = now_ms;
}

static void dynamodb_close(void *self) {
    struct dynamodb_bench *bench = self;
    const char *tables[] = {bench->state_table, bench->logs_table};
    for (int i = 0; i < 2; i++) {
        struct dr_buf body;
        dr_buf_init(&body, 0);
        dr_buf_fmt(&body, "{\"TableName\":\"%s\"}", tables[i]);
        call(bench, "DeleteTable", dr_buf_str(&body));
        dr_buf_deinit(&body);
        dr_dynamodb_free(bench->handles[i]);
    }
    dr_aws_free(bench->aws);
    dr_http_free(bench->http);
    free(bench);
}

static const struct store_case on_dynamodb = {dynamodb_open, dynamodb_writer, dynamodb_put_foreign, dynamodb_pass_time, dynamodb_close};

#define RUN_ON_DYNAMODB(name)                                                                                                              \
    static void run_##name(void) { store_contract_##name(&on_dynamodb); }
STORE_CONTRACT_TESTS(RUN_ON_DYNAMODB)

/* ---- beside the contract ---- */

static void run_create_again_changes_nothing(void) {
    struct dynamodb_bench *bench = dynamodb_open();
    struct dr_dynamodb_table table;
    struct dr_err why;
    struct dr_err err;
    CHECK_OK(dr_dynamodb_create(bench->handles[0], DR_DYNAMODB_LOGS, INT64_MAX, &err), err);
    CHECK_OK(dr_dynamodb_look(bench->handles[0], DR_DYNAMODB_LOGS, INT64_MAX, &table, &why, &err), err);
    CHECK(table.exists && table.active && table.keys_ok && table.on_demand && table.ttl);
    CHECK_OK(dr_dynamodb_look(bench->handles[0], DR_DYNAMODB_STATE, INT64_MAX, &table, &why, &err), err);
    CHECK(table.exists && table.active && table.keys_ok && table.on_demand);
    dynamodb_close(bench);
}

static void run_missing_table_is_not_found_with_a_remedy(void) {
    struct dynamodb_bench *bench = dynamodb_open();
    struct dr_dynamodb_options o = {.aws = bench->aws,
                                    .now_ms = virtual_now_ms,
                                    .self = bench,
                                    .state_table = DR_STR("no-such-table"),
                                    .logs_table = DR_STR("no-such-logs")};
    struct dr_err err;
    struct dr_dynamodb *db = dr_dynamodb_new(&o, &err);
    struct dr_store store = dr_dynamodb_store(db);
    struct dr_arena arena;
    struct dr_state state;
    dr_arena_init(&arena, 0);
    CHECK_FAILS(store.ops->load(store.self, &arena, DR_STR("cluster"), INT64_MAX, &state, &err), err, DR_E_NOT_FOUND);
    CHECK_CONTAINS(dr_str_of(err.text), "drover check --create");
    struct dr_dynamodb_table table;
    CHECK_OK(dr_dynamodb_look(db, DR_DYNAMODB_STATE, INT64_MAX, &table, NULL, &err), err);
    CHECK(!table.exists);
    dr_arena_deinit(&arena);
    dr_dynamodb_free(db);
    dynamodb_close(bench);
}

static void run_journal_key_with_another_body_is_a_conflict(void) {
    struct dynamodb_bench *bench = dynamodb_open();
    struct dr_store store = dr_dynamodb_store(bench->handles[0]);
    struct dr_journal_row row = {STORE_START_MS, DR_STR("r"), 0, DR_STR("{\"a\":1}")};
    struct dr_err err;
    CHECK_OK(store.ops->journal_put(store.self, DR_STR("cluster"), &row, STORE_START_MS + 1000, INT64_MAX, &err), err);
    row.json = DR_STR("{\"a\":2}");
    CHECK_FAILS(store.ops->journal_put(store.self, DR_STR("cluster"), &row, STORE_START_MS + 1000, INT64_MAX, &err), err, DR_E_CONFLICT);
    dynamodb_close(bench);
}

#define EVERY_TEST(X)                                                                                                                      \
    STORE_CONTRACT_TESTS(X)                                                                                                                \
    X(create_again_changes_nothing) X(missing_table_is_not_found_with_a_remedy) X(journal_key_with_another_body_is_a_conflict)

#define ENTRY(name) {"store_dynamodb", #name, __FILE__, __LINE__, run_##name, 120, NULL},
static struct dr_test tests[] = {EVERY_TEST(ENTRY)};

__attribute__((constructor)) static void add(void) {
    for (size_t i = 0; getenv("DROVER_TEST_DYNAMODB") != NULL && i < sizeof(tests) / sizeof(tests[0]); i++) {
        dr_test_register(&tests[i]);
    }
}
