#ifndef DR_ADAPTER_DYNAMODB_PARSE_H
#define DR_ADAPTER_DYNAMODB_PARSE_H

/*
 * The answers of DynamoDB. Each function takes a whole body; strings are copied to the arena. Errors name service, call and field: DR_E_UNAVAILABLE where the answer
 * is not what the service sends (cut, HTML, another shape: for a write its outcome is unknown), DR_E_CORRUPT where a row of ours has the wrong types, DR_E_LIMIT.
 */

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* `Item` of a GetItem as it stands in the body (a view of it); empty: there is none. */
int dr_dynamodb_parse_item(struct dr_str body, struct dr_str *ret, struct dr_err *err);

/* The answer of a write: an object, whatever is in it. */
int dr_dynamodb_parse_done(const char *call, struct dr_str body, struct dr_err *err);

/* One row of the logs table; what it does not have is empty or 0. */
struct dr_dynamodb_row {
    struct dr_str sk;
    struct dr_str payload;
    struct dr_str instance_id;
    struct dr_str kind;
    int64_t at_ms;
    bool handled;
    int64_t ttl; /* seconds; 0: none */
};
struct dr_dynamodb_rows {
    struct dr_dynamodb_row *v;
    size_t n, cap;
    struct dr_str next; /* LastEvaluatedKey as it stood, in the arena; empty: that was the last page */
};
/* Appends the rows of a Query. */
int dr_dynamodb_parse_rows(struct dr_arena *arena, struct dr_str body, struct dr_dynamodb_rows *rows, struct dr_err *err);
/* The one row of a GetItem on the logs table, given as parse_item gave it. */
int dr_dynamodb_parse_row(struct dr_arena *arena, struct dr_str item, struct dr_dynamodb_row *ret, struct dr_err *err);

/* A sort key of the journal; false: it is not one. `ret_request_id` is a view. */
bool dr_dynamodb_parse_sk(struct dr_str sk, int64_t *ret_at_ms, struct dr_str *ret_request_id, int64_t *ret_sequence);

/* A string or true/false at a path of objects ("Table.TableStatus") as text; empty: there is nothing. */
int dr_dynamodb_parse_text(const char *call, struct dr_arena *arena, struct dr_str body, const char *path, struct dr_str *ret,
                           struct dr_err *err);
/* Table.KeySchema as "pk:HASH sk:RANGE". */
int dr_dynamodb_parse_keys(struct dr_arena *arena, struct dr_str body, struct dr_str *ret, struct dr_err *err);

#endif
