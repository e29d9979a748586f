#ifndef DR_ADAPTER_SQS_H
#define DR_ADAPTER_SQS_H

/*
 * Events of EC2 (through EventBridge, with or without SNS) from a queue into the inbox of the store. A message is deleted only after its event is in the inbox, where the
 * same event twice is one row; so a crash in between, or a deletion that fails, costs a repetition and nothing more.
 *
 * A daemon keeps one long poll under way beside its other work and lets the HTTP loop tell it when something came:
 *
 *     for (;;) {
 *         dr_sqs_start(sqs);                                 (does nothing while one is under way)
 *         dr_http_poll(http, dr_sqs_wait_ms(sqs), fd);       (or less, for its own timer)
 *         if (dr_sqs_ready(sqs)) { dr_sqs_take(sqs, deadline, &n, &err); if (n > 0) tick; }
 *     }
 * A process of one tick gives the port to its engine instead: what is there is asked for beside the other reads.
 *
 * A message that cannot be understood stays in the queue until it was received `max_receives` times, in case a newer program knows better; then it is told to `log` and
 * deleted. One that is none of our business (other sources, other kinds) is deleted at once.
 */

#include "adapter/aws/aws.h"
#include "port/events.h"
#include "port/store.h"

struct dr_sqs;

struct dr_sqs_options { /* strings must outlive the handle */
    struct dr_aws *aws;
    int64_t (*now_ms)(void *self);
    void *self;
    struct dr_str queue_url;
    struct dr_store store;
    struct dr_str cluster; /* key of the inbox */
    int64_t wait_s;        /* of a long poll, 1 to 20; 0: 20 */
    int64_t visibility_s;  /* for which a received message is hidden from others, 1 to 43200; 0: 60 */
    int64_t max_receives;  /* 1 to 1000; 0: 5 */
    /* Something to tell people: event "poison_dropped", "poison_seen", "queue_failed", "delete_failed". NULL: nobody listens. */
    void (*log)(void *log_self, const char *event, struct dr_str text);
    void *log_self;
};

/* Calls nothing. DR_E_INVALID names the option that is wrong. */
struct dr_sqs *dr_sqs_new(const struct dr_sqs_options *options, struct dr_err *err);
void dr_sqs_free(struct dr_sqs *sqs); /* NULL is fine */

/* Sends a poll if none is under way and no back-off holds. The first one, and the first after a failure, does not wait at the queue. */
void dr_sqs_start(struct dr_sqs *sqs);
/* The poll under way has its answer. */
bool dr_sqs_ready(const struct dr_sqs *sqs);
/* How long until dr_sqs_start has something to do: 0 now, the rest of a back-off, or -1 while a poll is under way. */
int64_t dr_sqs_wait_ms(const struct dr_sqs *sqs);
/*
 * Works up what the poll brought: inbox, then deletion. `ret_n`: events that are worth a tick. Must be called only when ready. A failure (queue or store) is logged once,
 * starts a back-off (1 s doubling to 60 s) and loses nothing: what was not deleted comes again.
 */
int dr_sqs_take(struct dr_sqs *sqs, int64_t deadline_ms, size_t *ret_n, struct dr_err *err);

/* Everything that is in the queue now, at most 1,000 messages, without waiting for more. */
struct dr_events dr_sqs_events(struct dr_sqs *sqs);
int dr_sqs_drain(struct dr_sqs *sqs, int64_t deadline_ms, size_t *ret_n, struct dr_err *err);

struct dr_sqs_stats {
    int64_t received;
    int64_t stored;  /* events put into the inbox, repetitions included */
    int64_t ignored; /* none of our business */
    int64_t poison;  /* receptions of what cannot be understood */
    int64_t dropped; /* poison that was deleted */
    int64_t failures;
};
struct dr_sqs_stats dr_sqs_stats(const struct dr_sqs *sqs);

#endif
