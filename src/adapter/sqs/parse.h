#ifndef DR_ADAPTER_SQS_PARSE_H
#define DR_ADAPTER_SQS_PARSE_H

/* Answers of SQS and the messages in them. Strings live in the arena. Errors name service, call and field. */

#include "base/arena.h"
#include "base/err.h"
#include "core/model.h"

struct dr_sqs_message {
    struct dr_str id;
    struct dr_str receipt;
    struct dr_str body;
    int64_t receives; /* how often it was received, this time included; 0: not told */
};

/* ReceiveMessage. No messages: success, none. DR_E_UNAVAILABLE: not what the service sends. */
int dr_sqs_parse_messages(struct dr_arena *arena, struct dr_str body, const struct dr_sqs_message **ret, size_t *ret_n, struct dr_err *err);
/* DeleteMessageBatch: how many could not be deleted, and the first reason in `ret_why`. */
int dr_sqs_parse_deleted(struct dr_arena *arena, struct dr_str body, size_t *ret_failed, struct dr_str *ret_why, struct dr_err *err);

/* An event as EventBridge sends it, also inside an SNS notification. 1: one for us; 0: a good event that is none of our business; -1 (DR_E_INVALID): what is wrong with it. */
int dr_sqs_parse_event(struct dr_arena *arena, struct dr_str body, struct dr_event *ret, struct dr_err *err);

#endif
