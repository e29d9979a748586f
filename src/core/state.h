#ifndef DR_CORE_STATE_H
#define DR_CORE_STATE_H

/*
 * The one durable item of a cluster. Attribute names and types of the first group are fixed (other programs read them); the rest are ours and optional for a reader.
 * Times are whole seconds since 1970 as they stand in the item. A state is a value: transitions (core/transition.h) take one and give another; lists are never changed in place.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model.h"

/* Ceilings of an item. Reading fails beyond them, so that nothing may be written beyond them either: a builder for dr_state_encode gets DR_STATE_MAX_BYTES and a truncated one is not stored. */
#define DR_STATE_MAX_BYTES 409600 /* 400 KiB, DynamoDB's own limit */
#define DR_STATE_MAX_LIST 1000
#define DR_STATE_MAX_ID 64                       /* bytes of an instance, action or owner id */
#define DR_STATE_MAX_TEXT 1024                   /* bytes of any other string */
#define DR_STATE_MAX_EPOCH INT64_C(253402300799) /* end of the year 9999: a time in milliseconds is beyond it and is noticed */

enum dr_attempt_status {
    DR_ATTEMPT_OPEN,     /* written; the call's outcome is not known */
    DR_ATTEMPT_LAUNCHED, /* has an instance */
    DR_ATTEMPT_JOINED,   /* its instance was seen joined and Ready */
    DR_ATTEMPT_FAILED,   /* the index is given up; `why` says so */
};

/* One launch index of a scale-up (rule 7): `scaleUpAttempts`, position in the list = index. */
struct dr_attempt {
    enum dr_attempt_status status;
    int64_t attempt; /* 1, 2, ...: a new one only after a refusal for capacity */
    struct dr_str type;
    struct dr_str zone;
    struct dr_str subnet;
    enum dr_market market;
    struct dr_str template_version;
    int64_t since_epoch;       /* when this index was first written */
    struct dr_str instance_id; /* empty: none yet */
    int64_t launched_epoch;    /* when the instance was recorded */
    struct dr_str replaces;    /* interrupted instance that this index replaces; empty: none */
    struct dr_str why;         /* of a failure */
};

/* What is known about one interrupted instance (rules 21-23): `interruptions`. */
struct dr_record {
    struct dr_str instance_id;
    enum dr_event_kind kind; /* warning or rebalance */
    int64_t noticed_epoch;   /* the event's time: a warned machine ends 120 s later */
    int64_t recorded_epoch;  /* when it was written here: `next_tick` replaces later than that */
    enum dr_market market;   /* of the interrupted instance */
    struct dr_str zone;
    struct dr_str action_id; /* action that launches (or launched) its replacement; empty: none was begun */
    int64_t index;
    /*
     * The worker that stands in for it; empty: none yet. Either a victim given back instead of a launch (rule 23), or, from the moment the scale-up of `action_id` ends, the joined instance of
     * `index`. A record that has one is settled: it owes nothing, tells the drain after a rebalance hint that the replacement is there, and lives on only because the interrupted machine does
     * (it must stay not live and cordoned, and be marked 10 min after its notice). It leaves with dr_mark_ended.
     */
    struct dr_str returned_id;
};
/* A replacement is owed and nobody is getting it: neither an index nor a stand-in. */
static inline bool dr_record_owed(const struct dr_record *record) { return record->action_id.n == 0 && record->returned_id.n == 0; }
static inline bool dr_record_settled(const struct dr_record *record) { return record->returned_id.n > 0; }

/* A scale-down target and its drain: `scaleDownDrains`, one per target in the order of `scaleDownTargetInstanceIds` (decoding fills in what another system left out). */
struct dr_drain {
    struct dr_str instance_id;
    int64_t started_epoch;     /* cordon intended; 0: not begun */
    struct dr_strs owner_uids; /* owners of the pods that are or were evicted (rule 19) */
};

struct dr_timed_id {
    struct dr_str id;
    int64_t epoch;
};

/* Something to keep away from for a while: "victim/<id>", "stock/<type>/<zone>/<market>", "zone/<zone>". `count` doubles the next time. */
struct dr_avoid {
    struct dr_str key;
    int64_t until_epoch;
    int64_t count;
};

/* How many consecutive ticks a rule has held: `ruleStreaks`. */
struct dr_streak {
    struct dr_str rule;
    int64_t count;
    int64_t epoch; /* of the last tick that counted */
};

struct dr_extra {
    struct dr_str name;
    struct dr_str json; /* DynamoDB JSON value as it stood */
};

struct dr_problem {
    struct dr_str attribute;
    struct dr_str what; /* "is a string, must be a number" */
    bool blocking;      /* it describes an action, a mark or the lease: nothing may be done until a person looks */
};

#define DR_LIST(type)                                                                                                                      \
    struct {                                                                                                                               \
        const struct type *v;                                                                                                              \
        size_t n;                                                                                                                          \
    }

struct dr_state {
    bool exists; /* false: there is no item yet */
    struct dr_str pk;
    int64_t revision; /* 0: never written by us */

    bool scaling;
    int64_t last_scale_epoch;
    int64_t pending_since_epoch;
    int64_t idle_since_epoch;
    int64_t worker_count;

    struct dr_str up_action_id;
    int64_t up_started_epoch;
    int64_t up_requested;
    struct dr_strs up_instance_ids; /* instances of the attempts in their order; as read where there are no attempts */
    bool up_has_attempts;           /* false with an action: written by another system (rule 27), never launched again */
    DR_LIST(dr_attempt) attempts;

    struct dr_str down_action_id;
    int64_t down_started_epoch;
    bool down_terminating; /* scaleDownPhase */
    struct dr_strs down_targets;
    struct dr_strs down_completed;
    DR_LIST(dr_drain) drains;
    struct dr_str down_reason; /* why it was begun: idle, surplus, rebalance, not-ready */

    struct dr_str lease_owner;
    int64_t lease_until_epoch;
    int64_t fence;

    struct dr_str last_scale_action; /* "scale_up", "scale_down", empty */
    int64_t idle_seen_epoch;
    struct dr_strs marks;             /* terminatingInstanceIds */
    struct dr_strs refused;           /* termination protection said no (rule 16) */
    DR_LIST(dr_timed_id) ended;       /* id, when it was seen ended; kept a day (rule 13) */
    DR_LIST(dr_timed_id) quarantined; /* id, until */
    DR_LIST(dr_record) records;
    DR_LIST(dr_avoid) avoid;
    DR_LIST(dr_streak) streaks;
    int64_t backoff_until_epoch;
    int64_t backoff_count;
    struct dr_str last_reason; /* of the last journal row, so that a NOOP is journalled when the reason changes */
    int64_t last_journal_epoch;

    DR_LIST(dr_extra) extra;      /* attributes that we do not know: they survive every write */
    DR_LIST(dr_problem) problems; /* wrong types found while reading; never written */
};

/* An empty state for a cluster that has no item yet. */
void dr_state_init(struct dr_state *state, struct dr_str pk);

/* Copy that shares nothing with the source but static strings. */
void dr_state_copy(struct dr_arena *arena, struct dr_state *to, const struct dr_state *from);
/* Same item: everything that is written. `exists` and `problems` are not. */
bool dr_state_eq(const struct dr_state *a, const struct dr_state *b);

/*
 * DynamoDB JSON ({"pk":{"S":"cluster"},"scalingInProgress":{"BOOL":false},...}) to a state and back. Nothing of `json` is referred to afterwards.
 * Decoding fails (DR_E_INVALID, DR_E_LIMIT) only on what is not JSON of that form at all, names an attribute twice, has no `pk`, or passes a ceiling. An attribute of ours with the wrong type or an
 * impossible value becomes a problem in the list and counts as absent. A blocking one is kept in `extra` under its own name, so that encoding gives it back as it stood; the others (clocks,
 * counts, streaks, avoid list, back-off, last reason) are simply written anew. `lastScaleEpoch` is blocking: read as 0 it would mean "no cooldown" and let a scale-down through.
 * Times with a fraction of a second are taken without it. Negative numbers are problems.
 * Encoding leaves out what is empty or 0, but always writes the shared group (scalingInProgress, lastScaleEpoch, pendingSinceEpoch, idleSinceEpoch, workerCount), and the whole group of an action
 * while it is active.
 */
int dr_state_decode(struct dr_arena *arena, struct dr_str json, struct dr_state *ret, struct dr_err *err);
void dr_state_encode(const struct dr_state *state, struct dr_buf *buf);

bool dr_state_blocked(const struct dr_state *state); /* some problem is blocking */

/* Look-ups; NULL or -1 where there is none. */
bool dr_state_marked(const struct dr_state *state, struct dr_str id);
bool dr_state_ended(const struct dr_state *state, struct dr_str id);
const struct dr_record *dr_state_record(const struct dr_state *state, struct dr_str instance_id);
const struct dr_avoid *dr_state_avoid(const struct dr_state *state, struct dr_str key);
const struct dr_timed_id *dr_state_quarantined(const struct dr_state *state, struct dr_str id);
const struct dr_drain *dr_state_drain(const struct dr_state *state, struct dr_str instance_id);

#endif
