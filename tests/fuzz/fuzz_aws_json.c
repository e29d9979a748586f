/* Any bytes as an answer of DynamoDB, SQS, SSM or Secrets Manager, and as a message: a value that is whole, or an error with a text. */
#include <string.h>

#include "adapter/dynamodb/parse.h"
#include "adapter/sqs/parse.h"
#include "adapter/ssm/parse.h"
#include "harness/fuzz.h"

static void check(int result, const struct dr_err *err, const char *prefix) {
    DR_ASSERT(result == 0 || (result == -1 && err->code != DR_OK && strncmp(err->text, prefix, strlen(prefix)) == 0));
}

static void check_event(struct dr_arena *arena, struct dr_str body) {
    struct dr_event event;
    struct dr_err err = {.code = DR_OK};
    int result = dr_sqs_parse_event(arena, body, &event, &err);
    if (result > 0) {
        DR_ASSERT(dr_str_starts(event.instance_id, "i-") && event.instance_id.n <= 64);
    } else {
        check(result, &err, "event");
    }
}

DR_FUZZ(aws_json) {
    struct dr_str body = {(const char *)data, n};
    struct dr_arena arena;
    struct dr_err err = {.code = DR_OK};
    struct dr_dynamodb_rows rows = {NULL, 0, 0, {NULL, 0}};
    struct dr_dynamodb_row row;
    struct dr_secret secret = {NULL, 0};
    const struct dr_sqs_message *messages;
    struct dr_str text;
    size_t count;
    dr_arena_init(&arena, 8 << 20);
    int result = dr_dynamodb_parse_item(body, &text, &err);
    check(result, &err, "dynamodb GetItem: ");
    if (result == 0 && text.n > 0) {
        DR_ASSERT(text.p > body.p && text.p + text.n < body.p + body.n);
        check(dr_dynamodb_parse_row(&arena, text, &row, &err), &err, "dynamodb GetItem: ");
    }
    check(dr_dynamodb_parse_rows(&arena, body, &rows, &err), &err, "dynamodb Query: ");
    check(dr_dynamodb_parse_done("PutItem", body, &err), &err, "dynamodb PutItem: ");
    check(dr_dynamodb_parse_text("DescribeTable", &arena, body, "Table.TableStatus", &text, &err), &err, "dynamodb DescribeTable: ");
    check(dr_dynamodb_parse_keys(&arena, body, &text, &err), &err, "dynamodb DescribeTable: ");
    check(dr_sqs_parse_messages(&arena, body, &messages, &count, &err), &err, "sqs ReceiveMessage: ");
    check(dr_sqs_parse_deleted(&arena, body, &count, &text, &err), &err, "sqs DeleteMessageBatch: ");
    check(dr_ssm_parse_parameter(body, &secret, &err), &err, "ssm GetParameter: ");
    check(dr_ssm_parse_secret(body, DR_STR("token"), &secret, &err), &err, "secretsmanager GetSecretValue: ");
    check_event(&arena, body);
    dr_secret_clear(&secret);
    dr_arena_deinit(&arena);
}
