#ifndef DR_ADAPTER_DYNAMODB_HANDLE_H
#define DR_ADAPTER_DYNAMODB_HANDLE_H

/* Shared by the files of this adapter only. */

#include "adapter/dynamodb/dynamodb.h"
#include "adapter/dynamodb/parse.h"
#include "base/json_write.h"

/* One call: the body is written between begin and send. */
struct dr_dynamodb_call {
    struct dr_dynamodb *db;
    const char *action;
    struct dr_str table;
    bool counted; /* set before send: every sending counts in dr_aws_tries */
    struct dr_buf body;
    struct dr_jsonw w;
    struct dr_aws_call *sent; /* after send; NULL: the body is too large */
    struct dr_str reply;      /* after a successful wait, until end */
};

enum dr_dynamodb_ahead { DR_DYNAMODB_ITEM, DR_DYNAMODB_INBOX, DR_DYNAMODB_AHEAD_N };

struct dr_dynamodb {
    struct dr_dynamodb_options o;
    struct dr_str ahead_pk; /* the key that reads were sent for ahead of their time */
    struct dr_dynamodb_call ahead[DR_DYNAMODB_AHEAD_N];
};

/* Opens the body's object and names the table. */
void dr_dynamodb_begin(struct dr_dynamodb_call *call, struct dr_dynamodb *db, const char *action, struct dr_str table);
/* Closes the object and sends it; dr_dynamodb_wait tells what came of it. */
void dr_dynamodb_send(struct dr_dynamodb_call *call, int64_t deadline_ms);
/*
 * All our calls may be repeated. CONFLICT only for a condition that failed; a conflict with a transaction is THROTTLED, as it
 * passes. NOT_FOUND: there is no such table.
 */
int dr_dynamodb_wait(struct dr_dynamodb_call *call, struct dr_err *err);
int dr_dynamodb_run(struct dr_dynamodb_call *call, int64_t deadline_ms, struct dr_err *err); /* both */
void dr_dynamodb_end(struct dr_dynamodb_call *call);
/* run and end for a write of which only the success matters. `ret_refused` (may be NULL): its condition failed, which then is no error. */
int dr_dynamodb_write(struct dr_dynamodb_call *call, int64_t deadline_ms, bool *ret_refused, struct dr_err *err);

/* "name":{"S":value}, and so on, into an object that is open. */
void dr_dynamodb_put_s(struct dr_jsonw *w, const char *name, struct dr_str value);
void dr_dynamodb_put_n(struct dr_jsonw *w, const char *name, int64_t value);
void dr_dynamodb_put_bool(struct dr_jsonw *w, const char *name, bool value);

/* Rows of one partition of the logs table, in key order between two sort keys (both empty: all), as many pages as it takes for `limit` of them. Expired ones are left out. */
struct dr_dynamodb_range {
    struct dr_str pk;
    struct dr_str from;
    struct dr_str to;
    bool newest_first;
    size_t limit;
};
/* Sends the first page ahead of its time. */
void dr_dynamodb_query_send(struct dr_dynamodb *db, const struct dr_dynamodb_range *range, struct dr_dynamodb_call *call,
                            int64_t deadline_ms);
/* `ahead`: the first page where it was sent already, ended here; NULL: it was not. */
int dr_dynamodb_query(struct dr_dynamodb *db, struct dr_arena *arena, const struct dr_dynamodb_range *range, struct dr_dynamodb_call *ahead,
                      int64_t deadline_ms, struct dr_dynamodb_rows *ret, struct dr_err *err);

/* The journal's half of the port. */
int dr_dynamodb_journal_put(void *self, struct dr_str pk, const struct dr_journal_row *row, int64_t expire_ms, int64_t deadline_ms,
                            struct dr_err *err);
int dr_dynamodb_journal_read(void *self, struct dr_arena *arena, struct dr_str pk, const struct dr_journal_query *query,
                             int64_t deadline_ms, const struct dr_journal_row **ret, size_t *ret_n, struct dr_err *err);

/* Whole seconds, rounded up: a row is never gone before its time. */
static inline int64_t dr_dynamodb_ttl(int64_t expire_ms) { return expire_ms / 1000 + (expire_ms % 1000 > 0); }

#endif
