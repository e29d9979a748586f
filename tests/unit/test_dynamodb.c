/* The DynamoDB store against a scripted server: what is sent, what answers mean. The contract itself runs on real servers (tests/contract/test_dynamodb.c). */
#include <pthread.h>

#include "adapter/dynamodb/dynamodb.h"
#include "adapter/dynamodb/parse.h"
#include "unit/aws_help.h"

struct bench {
    struct aws_world w;
    struct dr_server_answer answers[8];
    struct dr_server_script script;
    struct dr_dynamodb *db;
    struct dr_store store;
    struct dr_buf seen; /* bodies of the requests, a line each */
};

static bool serve(void *self, const struct dr_server_request *request) {
    struct bench *b = self;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* reads that were requested come on two connections */
    pthread_mutex_lock(&lock);
    dr_buf_put_str(&b->seen, request->body);
    dr_buf_putc(&b->seen, '\n');
    pthread_mutex_unlock(&lock);
    return dr_server_script(&b->script, request);
}

static void set_up(struct bench *b) {
    memset(b, 0, sizeof(*b));
    dr_buf_init(&b->seen, 0);
    aws_world_ready(&b->w, serve, b);
    struct dr_dynamodb_options o = {
        .aws = b->w.aws, .now_ms = aws_world_now, .self = &b->w, .state_table = DR_STR("state"), .logs_table = DR_STR("logs")};
    b->db = dr_dynamodb_new(&o, &b->w.err);
    CHECK(b->db != NULL);
    b->store = dr_dynamodb_store(b->db);
    b->script = (struct dr_server_script){b->answers, 0};
}

static void tear_down(struct bench *b) {
    dr_dynamodb_free(b->db);
    aws_world_close(&b->w);
    dr_buf_deinit(&b->seen);
}

static void answer(struct bench *b, int status, const char *body) {
    b->answers[b->script.n++] = (struct dr_server_answer){status, NULL, body};
}

static int64_t soon(const struct bench *b) { return b->w.now_ms + 10000; }

#define REFUSED                                                                                                                            \
    "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException\",\"message\":\"The conditional request failed\"}"

/* ---- the item ---- */

static int load(struct bench *b, struct dr_state *ret) {
    return b->store.ops->load(b->store.self, &b->w.arena, DR_STR("shop"), soon(b), ret, &b->w.err);
}

static int cas(struct bench *b, int64_t revision, enum dr_cas *ret) {
    struct dr_state state;
    dr_state_init(&state, DR_STR("shop"));
    state.revision = revision;
    state.worker_count = 3;
    return b->store.ops->cas(b->store.self, &state, soon(b), ret, &b->w.err);
}

TEST(dynamodb, load_is_a_consistent_read) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{\"Item\":{\"pk\":{\"S\":\"shop\"},\"workerCount\":{\"N\":\"4\"},\"revision\":{\"N\":\"9\"}}}");
    answer(&b, 200, "{}");
    struct dr_state state;
    CHECK_OK(load(&b, &state), b.w.err);
    CHECK(state.exists);
    CHECK_EQ_INT(state.revision, 9);
    CHECK_EQ_INT(state.worker_count, 4);
    CHECK_EQ_STR(dr_buf_str(&b.seen), "{\"TableName\":\"state\",\"Key\":{\"pk\":{\"S\":\"shop\"}},\"ConsistentRead\":true}\n");
    CHECK_OK(load(&b, &state), b.w.err);
    CHECK(!state.exists);
    CHECK_EQ_STR(state.pk, "shop");
    tear_down(&b);
}

TEST(dynamodb, requested_reads_are_sent_once_and_collected) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{\"Items\":[],\"Item\":{\"pk\":{\"S\":\"shop\"},\"revision\":{\"N\":\"9\"}}}"); /* good for either */
    b.store.ops->request(b.store.self, DR_STR("shop"), soon(&b));
    const struct dr_event *events;
    size_t n = 1;
    struct dr_state state;
    CHECK_OK(b.store.ops->inbox(b.store.self, &b.w.arena, DR_STR("shop"), soon(&b), &events, &n, &b.w.err), b.w.err);
    CHECK_OK(load(&b, &state), b.w.err);
    CHECK_EQ_INT(state.revision, 9);
    CHECK_EQ_INT(n, 0);
    CHECK_EQ_INT(dr_server_requests(b.w.server), 2);
    CHECK_OK(load(&b, &state), b.w.err);
    CHECK_EQ_INT(dr_server_requests(b.w.server), 3);
    b.store.ops->request(b.store.self, DR_STR("shop"), soon(&b)); /* and nobody collects it */
    tear_down(&b);
}

TEST(dynamodb, answers_that_are_none_leave_the_item_unknown) {
    static const struct {
        int status;
        const char *body;
        enum dr_code code;
        const char *text;
    } cases[] = {
        {200, "", DR_E_UNAVAILABLE, "dynamodb GetItem: answer"},
        {200, "<html>", DR_E_UNAVAILABLE, "dynamodb GetItem: answer"},
        {200, "[]", DR_E_UNAVAILABLE, "dynamodb GetItem: answer"},
        {200, "{\"Item\":{\"pk\":{\"S\":\"shop\"}", DR_E_UNAVAILABLE, "dynamodb GetItem: answer"},
        {200, "{\"Item\":[]}", DR_E_UNAVAILABLE, "Item: not an object"},
        {200, "{\"Item\":{\"pk\":{\"S\":\"other\"}}}", DR_E_UNAVAILABLE, "Item.pk: \"other\" instead of \"shop\""},
        {200, "{\"Item\":{\"workerCount\":{\"N\":\"1\"}}}", DR_E_CORRUPT, "dynamodb table state: item shop"},
        {400, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException\",\"message\":\"Requested resource not found\"}",
         DR_E_NOT_FOUND, "drover check --create"},
        {400, "{\"__type\":\"com.amazon.coral.service#AccessDeniedException\",\"Message\":\"no\"}", DR_E_DENIED, "AccessDeniedException"},
        {400, "{\"__type\":\"com.amazon.coral.validate#ValidationException\",\"message\":\"no\"}", DR_E_INVALID, "ValidationException"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        set_up(&b);
        answer(&b, cases[i].status, cases[i].body);
        struct dr_state state;
        CHECK_FAILS(load(&b, &state), b.w.err, cases[i].code);
        CHECK_CONTAINS(dr_str_of(b.w.err.text), cases[i].text);
        tear_down(&b);
    }
}

TEST(dynamodb, first_write_asks_for_no_revision_and_later_ones_for_theirs) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{}");
    enum dr_cas outcome = DR_CAS_LOST;
    CHECK_OK(cas(&b, 0, &outcome), b.w.err);
    CHECK_EQ_INT(outcome, DR_CAS_OK);
    CHECK_CONTAINS(dr_buf_str(&b.seen),
                   "\"ConditionExpression\":\"attribute_not_exists(#r)\",\"ExpressionAttributeNames\":{\"#r\":\"revision\"}}");
    CHECK_CONTAINS(dr_buf_str(&b.seen), "\"revision\":{\"N\":\"1\"}");
    CHECK_OK(cas(&b, 7, &outcome), b.w.err);
    CHECK_CONTAINS(dr_buf_str(&b.seen),
                   "\"ConditionExpression\":\"#r = "
                   ":r\",\"ExpressionAttributeNames\":{\"#r\":\"revision\"},\"ExpressionAttributeValues\":{\":r\":{\"N\":\"7\"}}}");
    CHECK_CONTAINS(dr_buf_str(&b.seen), "\"revision\":{\"N\":\"8\"}");
    tear_down(&b);
}

TEST(dynamodb, refused_at_the_first_try_is_lost_without_another_look) {
    struct bench b;
    set_up(&b);
    answer(&b, 400, REFUSED);
    enum dr_cas outcome = DR_CAS_OK;
    CHECK_OK(cas(&b, 7, &outcome), b.w.err);
    CHECK_EQ_INT(outcome, DR_CAS_LOST);
    CHECK_EQ_INT(dr_server_requests(b.w.server), 1);
    tear_down(&b);
}

/* The first try was done and its answer lost; the second one fails its condition against it. */
TEST(dynamodb, write_that_lost_to_itself_has_won) {
    struct bench b;
    set_up(&b);
    struct dr_state written;
    struct dr_buf item;
    dr_state_init(&written, DR_STR("shop"));
    written.revision = 8;
    written.worker_count = 3;
    dr_buf_init(&item, 0);
    dr_buf_puts(&item, "{\"Item\":");
    dr_state_encode(&written, &item);
    dr_buf_putc(&item, '}');
    answer(&b, 500, "{\"__type\":\"InternalServerError\"}");
    answer(&b, 400, REFUSED);
    answer(&b, 200, item.p);
    enum dr_cas outcome = DR_CAS_LOST;
    CHECK_OK(cas(&b, 7, &outcome), b.w.err);
    CHECK_EQ_INT(outcome, DR_CAS_OK);
    CHECK_EQ_INT(dr_server_requests(b.w.server), 3);
    dr_buf_deinit(&item);
    tear_down(&b);
}

TEST(dynamodb, write_repeated_and_lost_to_another_is_lost) {
    struct bench b;
    set_up(&b);
    answer(&b, 0, NULL); /* closed without an answer */
    answer(&b, 400, REFUSED);
    answer(&b, 200, "{\"Item\":{\"pk\":{\"S\":\"shop\"},\"revision\":{\"N\":\"8\"},\"workerCount\":{\"N\":\"5\"}}}");
    enum dr_cas outcome = DR_CAS_OK;
    CHECK_OK(cas(&b, 7, &outcome), b.w.err);
    CHECK_EQ_INT(outcome, DR_CAS_LOST);
    tear_down(&b);
}

TEST(dynamodb, conflict_with_a_transaction_is_not_a_lost_race) {
    struct bench b;
    set_up(&b);
    answer(&b, 400, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#TransactionConflictException\",\"message\":\"busy\"}");
    enum dr_cas outcome;
    CHECK_FAILS(cas(&b, 7, &outcome), b.w.err, DR_E_THROTTLED);
    tear_down(&b);
}

TEST(dynamodb, throttled_write_is_tried_again) {
    struct bench b;
    set_up(&b);
    answer(&b, 400, "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException\",\"message\":\"slow\"}");
    answer(&b, 200, "{}");
    enum dr_cas outcome = DR_CAS_LOST;
    CHECK_OK(cas(&b, 7, &outcome), b.w.err);
    CHECK_EQ_INT(outcome, DR_CAS_OK);
    tear_down(&b);
}

/* A page of a proxy with status 200 must not pass for a write that was done. */
TEST(dynamodb, write_with_an_odd_answer_has_an_unknown_outcome) {
    static const char *const bodies[] = {"", "<html>welcome</html>", "[]", "{\"Attributes\":"};
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct bench b;
        set_up(&b);
        answer(&b, 200, bodies[i]);
        enum dr_cas outcome;
        CHECK_FAILS(cas(&b, 7, &outcome), b.w.err, DR_E_UNAVAILABLE);
        CHECK(dr_code_unknown_outcome(b.w.err.code));
        CHECK_CONTAINS(dr_str_of(b.w.err.text), "dynamodb PutItem: answer");
        tear_down(&b);
    }
}

/* ---- inbox and journal ---- */

TEST(dynamodb, inbox_row_has_its_keys_and_a_condition) {
    struct bench b;
    set_up(&b);
    answer(&b, 400, REFUSED);
    struct dr_event event = {DR_STR("i-1"), DR_EVENT_WARNING, 5, false};
    CHECK_OK(b.store.ops->inbox_put(b.store.self, DR_STR("shop"), &event, soon(&b), &b.w.err), b.w.err); /* there already: success */
    CHECK_EQ_STR(
        dr_buf_str(&b.seen),
        "{\"TableName\":\"logs\",\"Item\":{\"pk\":{\"S\":\"shop#inbox\"},\"sk\":{\"S\":\"i-1#warning\"},\"instanceId\":{\"S\":\"i-1\"},"
        "\"kind\":{\"S\":\"warning\"},"
        "\"atMs\":{\"N\":\"5\"},\"handled\":{\"BOOL\":false}},\"ConditionExpression\":\"attribute_not_exists(#p) OR #t <= :t\","
        "\"ExpressionAttributeNames\":{\"#t\":\"ttl\",\"#p\":\"pk\"},\"ExpressionAttributeValues\":{\":t\":{\"N\":\"1794773040\"}}}\n");
    tear_down(&b);
}

#define ROW(id, kind, at, handled)                                                                                                         \
    "{\"pk\":{\"S\":\"shop#inbox\"},\"sk\":{\"S\":\"" id "#" kind "\"},\"instanceId\":{\"S\":\"" id "\"},\"kind\":{\"S\":\"" kind          \
    "\"},\"atMs\":{\"N\":\"" at "\"},\"handled\":{\"BOOL\":" handled "}}"

TEST(dynamodb, inbox_follows_pages) {
    struct bench b;
    set_up(&b);
    answer(
        &b, 200,
        "{\"Items\":[" ROW("i-2", "warning", "7",
                           "false") "],\"Count\":1,\"LastEvaluatedKey\":{\"pk\":{\"S\":\"shop#inbox\"},\"sk\":{\"S\":\"i-2#warning\"}}}");
    answer(&b, 200, "{\"Items\":[" ROW("i-1", "rebalance", "6", "true") "],\"Count\":1}");
    const struct dr_event *events;
    size_t n;
    CHECK_OK(b.store.ops->inbox(b.store.self, &b.w.arena, DR_STR("shop"), soon(&b), &events, &n, &b.w.err), b.w.err);
    CHECK_EQ_INT(n, 2);
    CHECK_EQ_STR(events[0].instance_id, "i-1");
    CHECK_EQ_INT(events[0].kind, DR_EVENT_REBALANCE);
    CHECK(events[0].handled);
    CHECK_EQ_STR(events[1].instance_id, "i-2");
    CHECK_CONTAINS(dr_buf_str(&b.seen), "\"ExclusiveStartKey\":{\"pk\":{\"S\":\"shop#inbox\"},\"sk\":{\"S\":\"i-2#warning\"}}");
    tear_down(&b);
}

TEST(dynamodb, waiting_events_are_not_hidden_by_a_thousand_handled_ones) {
    struct bench b;
    set_up(&b);
    struct dr_buf body;
    dr_buf_init(&body, 0);
    dr_buf_puts(&body, "{\"Items\":[");
    for (int i = 0; i < 1001; i++) {
        dr_buf_fmt(
            &body,
            "%s{\"sk\":{\"S\":\"i-%04d#warning\"},\"instanceId\":{\"S\":\"i-%04d\"},\"kind\":{\"S\":\"warning\"},\"atMs\":{\"N\":\"%d\"},"
            "\"handled\":{\"BOOL\":%s}}",
            i == 0 ? "" : ",", i, i, i + 1, i < 1000 ? "true" : "false");
    }
    dr_buf_puts(&body, "]}");
    answer(&b, 200, body.p);
    const struct dr_event *events;
    size_t n;
    CHECK_OK(b.store.ops->inbox(b.store.self, &b.w.arena, DR_STR("shop"), soon(&b), &events, &n, &b.w.err), b.w.err);
    CHECK_EQ_INT(n, 1000);
    CHECK_EQ_STR(events[0].instance_id, "i-0000");
    CHECK_EQ_STR(events[999].instance_id, "i-1000");
    CHECK(!events[999].handled);
    dr_buf_deinit(&body);
    tear_down(&b);
}

TEST(dynamodb, rows_of_wrong_types_name_row_and_attribute) {
    static const struct {
        const char *body;
        enum dr_code code;
        const char *text;
    } cases[] = {
        {"{\"Items\":[{\"sk\":{\"S\":\"a\"},\"atMs\":{\"S\":\"5\"}}]}", DR_E_CORRUPT,
         "dynamodb Query: answer: Items[0]: atMs: has the type S, must have N"},
        {"{\"Items\":[{\"sk\":{\"S\":\"a\"}},{\"atMs\":{\"N\":\"1.5\"}}]}", DR_E_CORRUPT, "Items[1]: atMs: \"1.5\" is not a whole number"},
        {"{\"Items\":[{\"handled\":true}]}", DR_E_CORRUPT, "handled: not a typed value"},
        {"{\"Items\":[{\"sk\":{\"S\":\"a\"},\"kind\":{\"S\":\"surprise\"},\"instanceId\":{\"S\":\"i-1\"}}]}", DR_E_CORRUPT,
         "kind \"surprise\" is not one of ours"},
        {"{\"Items\":7}", DR_E_UNAVAILABLE, "dynamodb Query: answer"},
        {"{\"Count\":0}", DR_E_UNAVAILABLE, "no Items"},
        {"{\"Items\":[],\"LastEvaluatedKey\":\"x\"}", DR_E_UNAVAILABLE, "LastEvaluatedKey: not an object"},
        {"{\"Items\":[", DR_E_UNAVAILABLE, "dynamodb Query: answer"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b;
        set_up(&b);
        answer(&b, 200, cases[i].body);
        const struct dr_event *events;
        size_t n;
        CHECK_FAILS(b.store.ops->inbox(b.store.self, &b.w.arena, DR_STR("shop"), soon(&b), &events, &n, &b.w.err), b.w.err, cases[i].code);
        CHECK_CONTAINS(dr_str_of(b.w.err.text), cases[i].text);
        tear_down(&b);
    }
}

TEST(dynamodb, journal_key_is_fixed_in_width_and_rows_of_others_are_left_out) {
    struct bench b;
    set_up(&b);
    answer(&b, 200, "{}");
    struct dr_journal_row row = {1800000000000, DR_STR("req#1"), 12, DR_STR("{\"a\":\"b\"}")};
    CHECK_OK(b.store.ops->journal_put(b.store.self, DR_STR("shop"), &row, 1800000000001, soon(&b), &b.w.err), b.w.err);
    CHECK_CONTAINS(
        dr_buf_str(&b.seen),
        "\"sk\":{\"S\":\"1800000000000#req#1#000012\"},\"payload\":{\"S\":\"{\\\"a\\\":\\\"b\\\"}\"},\"ttl\":{\"N\":\"1800000001\"}");
    answer(&b, 200,
           "{\"Items\":[{\"sk\":{\"S\":\"1800000000000#req#1#000012\"},\"payload\":{\"S\":\"{}\"}},{\"sk\":{\"S\":\"decision-7\"},"
           "\"payload\":{\"S\":\"{}\"}},{\"sk\":{\"S\":\"1800000000000#r#000000\"}}]}");
    const struct dr_journal_row *rows;
    size_t n;
    struct dr_journal_query query = {.from_ms = 5, .to_ms = 1800000000009};
    CHECK_OK(b.store.ops->journal_read(b.store.self, &b.w.arena, DR_STR("shop"), &query, soon(&b), &rows, &n, &b.w.err), b.w.err);
    CHECK_EQ_INT(n, 1);
    CHECK_EQ_INT(rows[0].at_ms, 1800000000000);
    CHECK_EQ_STR(rows[0].request_id, "req#1");
    CHECK_EQ_INT(rows[0].sequence, 12);
    CHECK_CONTAINS(dr_buf_str(&b.seen), "\":a\":{\"S\":\"0000000000005\"},\":b\":{\"S\":\"1800000000009\"}");
    tear_down(&b);
}

TEST(dynamodb, what_does_not_fit_is_not_sent) {
    struct bench b;
    set_up(&b);
    static char large[DR_DYNAMODB_MAX_PAYLOAD + 1];
    memset(large, 'x', sizeof(large));
    struct dr_journal_row rows[] = {
        {1, DR_STR("r"), 0, {large, sizeof(large)}},
        {-1, DR_STR("r"), 0, DR_STR("{}")},
        {1, DR_STR("r"), DR_DYNAMODB_MAX_SEQUENCE + 1, DR_STR("{}")},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_FAILS(b.store.ops->journal_put(b.store.self, DR_STR("shop"), &rows[i], 1, soon(&b), &b.w.err), b.w.err, DR_E_LIMIT);
    }
    CHECK_EQ_INT(dr_server_requests(b.w.server), 0);
    tear_down(&b);
}

TEST(dynamodb, key_of_the_journal_is_read_back_or_refused) {
    static const char *const wrong[] = {"",
                                        "1800000000000",
                                        "1800000000000#r",
                                        "1800000000000#r#00012",
                                        "180000000000x#r#000012",
                                        "1800000000000#r#00001x",
                                        "-800000000000#r#000012"};
    int64_t at_ms;
    int64_t sequence;
    struct dr_str id;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK(!dr_dynamodb_parse_sk(dr_str_of(wrong[i]), &at_ms, &id, &sequence));
    }
    CHECK(dr_dynamodb_parse_sk(DR_STR("0000000000001##000000"), &at_ms, &id, &sequence));
    CHECK_EQ_INT(at_ms, 1);
    CHECK_EQ_INT(id.n, 0);
}

TEST(dynamodb, table_names_are_checked) {
    struct bench b;
    set_up(&b);
    struct dr_dynamodb_options o = {
        .aws = b.w.aws, .now_ms = aws_world_now, .self = &b.w, .state_table = DR_STR("a b"), .logs_table = DR_STR("logs")};
    CHECK(dr_dynamodb_new(&o, &b.w.err) == NULL);
    CHECK_EQ_INT(b.w.err.code, DR_E_INVALID);
    tear_down(&b);
}

TEST(dynamodb, table_with_other_keys_is_not_taken_over) {
    struct bench b;
    set_up(&b);
    answer(&b, 200,
           "{\"Table\":{\"TableStatus\":\"ACTIVE\",\"KeySchema\":[{\"AttributeName\":\"id\",\"KeyType\":\"HASH\"}],\"BillingModeSummary\":{"
           "\"BillingMode\":\"PAY_PER_REQUEST\"}}}");
    answer(&b, 200, "{\"ContinuousBackupsDescription\":{\"PointInTimeRecoveryDescription\":{\"PointInTimeRecoveryStatus\":\"ENABLED\"}}}");
    CHECK_FAILS(dr_dynamodb_create(b.db, DR_DYNAMODB_STATE, soon(&b), &b.w.err), b.w.err, DR_E_CONFLICT);
    CHECK_CONTAINS(dr_str_of(b.w.err.text), "table state is there with other keys");
    CHECK_EQ_INT(dr_server_requests(b.w.server), 2);
    tear_down(&b);
}
