#include "core/state_schema.h"

#include <string.h>

#define FIELD(type_, member_, name_, kind_, ...)                                                                                           \
    { .name = (name_), .offset = offsetof(struct type_, member_), .kind = (kind_), __VA_ARGS__ }
#define NAMES(array_) .names = (array_), .name_n = sizeof(array_) / sizeof((array_)[0])
#define SCHEMA(type_, fields_)                                                                                                             \
    { .fields = (fields_), .field_n = sizeof(fields_) / sizeof((fields_)[0]), .size = sizeof(struct type_) }
#define REQUIRED .required = true
#define BLOCKING .blocking = true

/* In the order of their enums. */
static const char *const status_names[] = {"open", "launched", "joined", "failed"};
static const char *const market_names[] = {"on-demand", "spot"};
static const char *const kind_names[] = {"warning", "rebalance"};
static const char *const phase_names[] = {"DRAINING", "TERMINATING"};

#define F(member_, name_, kind_, ...) FIELD(dr_attempt, member_, name_, DR_FIELD_##kind_, __VA_ARGS__)
static const struct dr_field attempt_fields[] = {
    F(status, "status", ENUM, REQUIRED, NAMES(status_names)),
    F(attempt, "attempt", COUNT, REQUIRED),
    F(type, "type", TEXT, ),
    F(zone, "zone", TEXT, ),
    F(subnet, "subnet", TEXT, ),
    F(market, "market", ENUM, REQUIRED, NAMES(market_names)),
    F(template_version, "template", TEXT, ),
    F(since_epoch, "sinceEpoch", EPOCH, ),
    F(instance_id, "instanceId", ID, ),
    F(launched_epoch, "launchedEpoch", EPOCH, ),
    F(replaces, "replaces", ID, ),
    F(why, "why", TEXT, ),
};
#undef F
static const struct dr_schema attempt_schema = SCHEMA(dr_attempt, attempt_fields);

#define F(member_, name_, kind_, ...) FIELD(dr_record, member_, name_, DR_FIELD_##kind_, __VA_ARGS__)
static const struct dr_field record_fields[] = {
    F(instance_id, "instanceId", ID, REQUIRED),
    F(kind, "kind", ENUM, REQUIRED, NAMES(kind_names)),
    F(noticed_epoch, "noticedEpoch", EPOCH, ),
    F(recorded_epoch, "recordedEpoch", EPOCH, ),
    F(market, "market", ENUM, REQUIRED, NAMES(market_names)),
    F(zone, "zone", TEXT, ),
    F(action_id, "actionId", ID, ),
    F(index, "index", COUNT, ),
    F(returned_id, "returnedId", ID, ),
};
#undef F
static const struct dr_schema record_schema = SCHEMA(dr_record, record_fields);

static const struct dr_field drain_fields[] = {
    FIELD(dr_drain, instance_id, "instanceId", DR_FIELD_ID, REQUIRED),
    FIELD(dr_drain, started_epoch, "startedEpoch", DR_FIELD_EPOCH, ),
    FIELD(dr_drain, owner_uids, "ownerUids", DR_FIELD_IDS, ),
};
static const struct dr_schema drain_schema = SCHEMA(dr_drain, drain_fields);

static const struct dr_field ended_fields[] = {
    FIELD(dr_timed_id, id, "id", DR_FIELD_ID, REQUIRED),
    FIELD(dr_timed_id, epoch, "epoch", DR_FIELD_EPOCH, ),
};
static const struct dr_schema ended_schema = SCHEMA(dr_timed_id, ended_fields);

static const struct dr_field quarantined_fields[] = {
    FIELD(dr_timed_id, id, "id", DR_FIELD_ID, REQUIRED),
    FIELD(dr_timed_id, epoch, "untilEpoch", DR_FIELD_EPOCH, ),
};
static const struct dr_schema quarantined_schema = SCHEMA(dr_timed_id, quarantined_fields);

static const struct dr_field avoid_fields[] = {
    FIELD(dr_avoid, key, "key", DR_FIELD_TEXT, REQUIRED),
    FIELD(dr_avoid, until_epoch, "untilEpoch", DR_FIELD_EPOCH, ),
    FIELD(dr_avoid, count, "count", DR_FIELD_COUNT, ),
};
static const struct dr_schema avoid_schema = SCHEMA(dr_avoid, avoid_fields);

static const struct dr_field streak_fields[] = {
    FIELD(dr_streak, rule, "rule", DR_FIELD_TEXT, REQUIRED),
    FIELD(dr_streak, count, "count", DR_FIELD_COUNT, ),
    FIELD(dr_streak, epoch, "epoch", DR_FIELD_EPOCH, ),
};
static const struct dr_schema streak_schema = SCHEMA(dr_streak, streak_fields);

#define F(member_, name_, kind_, ...) FIELD(dr_state, member_, name_, DR_FIELD_##kind_, __VA_ARGS__)
static const struct dr_field state_fields[] = {
    F(pk, "pk", TEXT, .write = DR_WRITE_ALWAYS, REQUIRED, BLOCKING),
    F(scaling, "scalingInProgress", BOOL, .write = DR_WRITE_ALWAYS, BLOCKING),
    F(last_scale_epoch, "lastScaleEpoch", EPOCH, .write = DR_WRITE_ALWAYS, BLOCKING),
    F(pending_since_epoch, "pendingSinceEpoch", EPOCH, .write = DR_WRITE_ALWAYS),
    F(idle_since_epoch, "idleSinceEpoch", EPOCH, .write = DR_WRITE_ALWAYS),
    F(worker_count, "workerCount", COUNT, .write = DR_WRITE_ALWAYS),

    F(up_action_id, "scaleUpActionId", ID, BLOCKING),
    F(up_started_epoch, "scaleUpStartedEpoch", EPOCH, .write = DR_WRITE_UP, BLOCKING),
    F(up_requested, "scaleUpRequested", COUNT, .write = DR_WRITE_UP, BLOCKING),
    F(up_instance_ids, "scaleUpInstanceIds", IDS, .write = DR_WRITE_UP, BLOCKING),
    F(attempts, "scaleUpAttempts", MAPS, .write = DR_WRITE_ATTEMPTS, BLOCKING, .element = &attempt_schema),

    F(down_action_id, "scaleDownActionId", ID, BLOCKING),
    F(down_started_epoch, "scaleDownStartedEpoch", EPOCH, .write = DR_WRITE_DOWN, BLOCKING),
    F(down_terminating, "scaleDownPhase", PHASE, .write = DR_WRITE_DOWN, BLOCKING, NAMES(phase_names)),
    F(down_targets, "scaleDownTargetInstanceIds", IDS, .write = DR_WRITE_DOWN, BLOCKING),
    F(down_completed, "scaleDownCompletedInstanceIds", IDS, .write = DR_WRITE_DOWN, BLOCKING),
    F(drains, "scaleDownDrains", MAPS, BLOCKING, .element = &drain_schema),
    F(down_reason, "scaleDownReason", TEXT, BLOCKING),

    F(revision, "revision", COUNT, BLOCKING),
    F(lease_owner, "leaseOwner", TEXT, BLOCKING),
    F(lease_until_epoch, "leaseUntilEpoch", EPOCH, BLOCKING),
    F(fence, "fence", COUNT, BLOCKING),

    F(last_scale_action, "lastScaleAction", TEXT, ),
    F(idle_seen_epoch, "idleSeenEpoch", EPOCH, ),
    F(marks, "terminatingInstanceIds", IDS, BLOCKING),
    F(refused, "refusedInstanceIds", IDS, BLOCKING),
    F(ended, "endedInstanceIds", MAPS, BLOCKING, .element = &ended_schema),
    F(quarantined, "quarantined", MAPS, BLOCKING, .element = &quarantined_schema),
    F(records, "interruptions", MAPS, BLOCKING, .element = &record_schema),
    F(avoid, "avoid", MAPS, .element = &avoid_schema),
    F(streaks, "ruleStreaks", MAPS, .element = &streak_schema),
    F(backoff_until_epoch, "backoffUntilEpoch", EPOCH, ),
    F(backoff_count, "backoffCount", COUNT, ),
    F(last_reason, "lastReason", TEXT, ),
    F(last_journal_epoch, "lastJournalEpoch", EPOCH, ),
};
#undef F
_Static_assert(sizeof(state_fields) / sizeof(state_fields[0]) <= 64, "decoding keeps one bit per field");
const struct dr_schema dr_state_schema = SCHEMA(dr_state, state_fields);

_Static_assert(sizeof(enum dr_attempt_status) == sizeof(int) && sizeof(enum dr_market) == sizeof(int) &&
                   sizeof(enum dr_event_kind) == sizeof(int),
               "enums are read and written as int");

struct dr_any_list dr_field_list(const struct dr_field *field, const void *base) {
    struct dr_any_list list;
    memcpy(&list, dr_field_at(field, base), sizeof(list));
    return list;
}

void dr_field_set_list(const struct dr_field *field, void *base, struct dr_any_list list) {
    memcpy(dr_field_in(field, base), &list, sizeof(list));
}

int dr_field_enum(const struct dr_field *field, const void *base) {
    int value;
    memcpy(&value, dr_field_at(field, base), sizeof(value));
    return value;
}

void dr_field_set_enum(const struct dr_field *field, void *base, int value) { memcpy(dr_field_in(field, base), &value, sizeof(value)); }
