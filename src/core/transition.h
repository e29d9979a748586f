#ifndef DR_CORE_TRANSITION_H
#define DR_CORE_TRANSITION_H

/*
 * Transitions of the state item (rules 2-4, 7-13, 16, 19, 21-23, 27): pure functions from one state to the next. `out` may be the same object as `in`. New lists live in the arena; untouched ones are shared.
 * Strings that are given are kept as views: they must live as long as the arena.
 * Preconditions: begin only if nothing is scaling; everything else of an action only if the action id matches; asserted, because the caller has just checked them on the very revision it read.
 * Each returns true if it changed something; false means that it is already so (our earlier reply was lost), which is success.
 * An action that is over is "already so" for its complete and fail; a different action of the same direction in its place is a mistake.
 * `revision` and `exists` are not touched here: the store's write raises the one and sets the other.
 */

#include "core/state.h"

/* scale-up */
bool dr_up_begin(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch,
                 int64_t requested);
/* Rule 12: raises scaleUpRequested of the active scale-up. */
bool dr_up_extend(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t requested);
/* Rule 7: intent of attempt `spec->attempt` at `index`; appends the index or goes to its next attempt (OPEN). Takes type, zone, subnet, market, template and replaces from `spec`. */
bool dr_up_attempt(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, size_t index,
                   const struct dr_attempt *spec, int64_t now_epoch);
/* The open attempt's call answered with an instance. */
bool dr_up_record(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, size_t index,
                  struct dr_str instance_id, int64_t now_epoch);
bool dr_up_joined(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, size_t index);
bool dr_up_index_fail(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, size_t index,
                      struct dr_str why);
/* Rule 11: some index joined. Cooldown starts, back-off ends. Records whose replacement did not join get their debt back (rule 22). */
bool dr_up_complete(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch);
/* None joined: no cooldown; back-off of backoff_ms doubled per consecutive failure up to backoff_max_ms. */
bool dr_up_fail(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch,
                int64_t backoff_ms, int64_t backoff_max_ms);

/* scale-down */
bool dr_down_begin(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch,
                   struct dr_strs targets, struct dr_str reason);
/* The drain of a target begins: the owners of what will be evicted are stored before it (rule 19). Called again it adds owners. */
bool dr_down_drain(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, struct dr_str id,
                   struct dr_strs owner_uids, int64_t now_epoch);
/* The commit point: marks a target. scaleDownPhase becomes TERMINATING. */
bool dr_down_commit(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, struct dr_str id);
/* TerminateInstances was accepted for a marked target. The mark stays. */
bool dr_down_mark_done(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, struct dr_str id);
/* Gives an unmarked target back: no longer a target, avoided as "victim/<id>" for avoid_ms doubled per repetition (0: not avoided). */
bool dr_down_drop(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, struct dr_str id,
                  int64_t now_epoch, int64_t avoid_ms);
/* At least one target was terminated and none is left open: cooldown starts. */
bool dr_down_complete(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id, int64_t now_epoch);
/* Ends it without cooldown: cancelled, failed, or stuck. Marks stay. */
bool dr_down_fail(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str action_id);

/* marks (rules 13, 16) */
/* Not of a refused or an ended instance: asserted. */
bool dr_mark_add(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id);
/* Seen shutting down or terminated: the mark and every other trace leave; remembered as ended for a day. */
bool dr_mark_ended(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id, int64_t now_epoch);
bool dr_mark_refused(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id);

/* interruption records */
/* Adds a record, or turns a rebalance record into a warning (replacement kept). */
bool dr_record_put(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, const struct dr_record *record);
/* Which index replaces it; an empty action id brings the debt back. */
bool dr_record_assign(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str instance_id,
                      struct dr_str action_id, int64_t index);
/* Settles it: a victim given back instead of a launch (rule 23), or the instance of its own index, when that has a warning of its own and its own record carries the debt on (rule 22). */
bool dr_record_return(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str instance_id,
                      struct dr_str returned_id);
bool dr_record_end(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str instance_id);

/* lease (rule 4) */
enum dr_lease { DR_LEASE_FREE, DR_LEASE_OURS, DR_LEASE_OTHER };
#define DR_LEASE_S 60
#define DR_LEASE_TAKEOVER_S 10
enum dr_lease dr_lease_look(const struct dr_state *state, struct dr_str owner,
                            int64_t now_epoch); /* FREE also when expired for over 10 s */
bool dr_lease_take(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str owner,
                   int64_t now_epoch); /* fence + 1 unless already ours */
bool dr_lease_renew(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str owner, int64_t now_epoch);
bool dr_lease_release(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str owner);

/* the rest */
/* `for_ms`, doubled per repetition up to a day. While the entry has not ended it is already so. */
bool dr_avoid_put(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str key, int64_t now_epoch,
                  int64_t for_ms);
bool dr_quarantine_put(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id, int64_t until_epoch);
bool dr_quarantine_end(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, struct dr_str id);
/* Drops what has expired: avoid entries a while after they end (the count must live to double), ended ids after a day, streaks of rules that no longer exist are left to their writer. */
bool dr_state_expire(struct dr_arena *a, const struct dr_state *in, struct dr_state *out, int64_t now_epoch);
/* Rule 27: flag without action, action without flag, two actions at once: the defined way out. Marks nothing, keeps marks, gives record debts back. */
bool dr_state_repair(struct dr_arena *a, const struct dr_state *in, struct dr_state *out);

#endif
