#ifndef DR_PORT_STORE_H
#define DR_PORT_STORE_H

/* Durable memory: the state item, the inbox and the journal. One contract suite runs against every store. */

#include "base/err.h"
#include "core/model.h"
#include "core/state.h"

enum dr_cas { DR_CAS_OK, DR_CAS_LOST };

struct dr_journal_row {
    int64_t at_ms;
    struct dr_str request_id;
    int64_t sequence; /* within the request: (at_ms, request_id, sequence) is never the same twice */
    struct dr_str json;
};

struct dr_journal_query {
    int64_t from_ms; /* inclusive */
    int64_t to_ms;   /* exclusive; 0: no end */
    size_t limit;    /* 0: 1,000 */
    bool newest_first;
};

struct dr_store_ops {
    /*
     * Optional. Sends what the next load and the next inbox of this key ask for and waits for nothing, so that they go out beside other reads. Those then collect the
     * answers; what nobody collects is dropped by the next request. The key must stay valid until then.
     */
    void (*request)(void *self, struct dr_str pk, int64_t deadline_ms);
    /* Consistent read. No item: success, ret->exists false. A body that cannot be decoded: DR_E_CORRUPT, the item is left as it is. */
    int (*load)(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, struct dr_state *ret, struct dr_err *err);
    /*
     * Writes the whole item if the stored revision is still `state->revision` (0: there is no item, or one never written by us) and then has revision + 1.
     * DR_CAS_LOST in *ret: someone else wrote. An error leaves the outcome unknown.
     */
    int (*cas)(void *self, const struct dr_state *state, int64_t deadline_ms, enum dr_cas *ret, struct dr_err *err);

    /* Inbox rows of the cluster, at most 1,000, oldest first; handled ones included until they expire. */
    int (*inbox)(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, const struct dr_event **ret, size_t *ret_n,
                 struct dr_err *err);
    /* Put if absent: one row per instance and kind. A repeated event is success and changes nothing. */
    int (*inbox_put)(void *self, struct dr_str pk, const struct dr_event *event, int64_t deadline_ms, struct dr_err *err);
    /* Marks a row handled; it is kept until `keep_until_ms`. Absent row: success. */
    int (*inbox_handle)(void *self, struct dr_str pk, struct dr_str instance_id, enum dr_event_kind kind, int64_t keep_until_ms,
                        int64_t deadline_ms, struct dr_err *err);

    /* Appends a row (the same key again with the same body is success); it expires at `expire_ms`. */
    int (*journal_put)(void *self, struct dr_str pk, const struct dr_journal_row *row, int64_t expire_ms, int64_t deadline_ms,
                       struct dr_err *err);
    int (*journal_read)(void *self, struct dr_arena *arena, struct dr_str pk, const struct dr_journal_query *query, int64_t deadline_ms,
                        const struct dr_journal_row **ret, size_t *ret_n, struct dr_err *err);
};
struct dr_store {
    const struct dr_store_ops *ops;
    void *self;
};

#endif
