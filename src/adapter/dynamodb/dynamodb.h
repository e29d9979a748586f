#ifndef DR_ADAPTER_DYNAMODB_H
#define DR_ADAPTER_DYNAMODB_H

/*
 * The store port on DynamoDB: what many machines and Lambdas share.
 *
 *     state table   pk = cluster                                          the item, attributes as in core/state.h
 *     logs table    pk = <cluster>#inbox, sk = <instance id>#<kind>       instanceId, kind, atMs, handled, ttl
 *                   pk = <cluster>, sk = <ms, 13 digits>#<request id>#<sequence, 6 digits>   payload (JSON text), ttl
 *
 * Every write is one conditional call and every read is consistent. DynamoDB removes expired rows when it finds time, so rows past their `ttl` (whole seconds) count
 * as gone here too: that is what `now_ms` is for.
 *
 * A compare-and-set is sent again when its outcome is unknown and time is left. If the second one fails its condition, the first may have been the reason: then the
 * item is read, and if it is what was to be written the answer is DR_CAS_OK.
 */

#include "adapter/aws/aws.h"
#include "port/store.h"

#define DR_DYNAMODB_MAX_PAYLOAD 399360 /* of a journal row, 390 KiB: DynamoDB's 400 less keys and names */
#define DR_DYNAMODB_MAX_SEQUENCE 999999

struct dr_dynamodb_options { /* strings must outlive the handle */
    struct dr_aws *aws;
    int64_t (*now_ms)(void *self);
    void (*sleep_ms)(void *self, int64_t ms); /* only while tables are made */
    void *self;
    struct dr_str state_table;
    struct dr_str logs_table;
};

struct dr_dynamodb;

/* Calls nothing. DR_E_INVALID: a name that is no table name. */
struct dr_dynamodb *dr_dynamodb_new(const struct dr_dynamodb_options *options, struct dr_err *err);
void dr_dynamodb_free(struct dr_dynamodb *db); /* NULL is fine */

/* The port; valid until the handle is freed. A table that is not there: DR_E_NOT_FOUND, with what makes it. */
struct dr_store dr_dynamodb_store(struct dr_dynamodb *db);

enum dr_dynamodb_which { DR_DYNAMODB_STATE, DR_DYNAMODB_LOGS };

struct dr_dynamodb_table {
    bool exists;
    bool active;  /* can be used now */
    bool keys_ok; /* its keys are ours; a table with others is of no use */
    bool on_demand;
    bool recovery; /* point-in-time recovery is on */
    bool ttl;      /* rows expire by our attribute; the state table needs none */
};
/* A table as it is. Recovery and ttl need permissions of their own; without them they are false and `ret_why` (may be NULL) says so. */
int dr_dynamodb_look(struct dr_dynamodb *db, enum dr_dynamodb_which which, int64_t deadline_ms, struct dr_dynamodb_table *ret,
                     struct dr_err *ret_why, struct dr_err *err);
/* Makes what is missing of it: the table itself (paid per request), recovery, and for the logs table expiry. What is there already is left as it is. A server
 * that knows neither recovery nor expiry is no reason to fail. */
int dr_dynamodb_create(struct dr_dynamodb *db, enum dr_dynamodb_which which, int64_t deadline_ms, struct dr_err *err);

#endif
