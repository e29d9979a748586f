#ifndef DR_TEST_STORE_CONTRACT_H
#define DR_TEST_STORE_CONTRACT_H

/*
 * The contract of the store port as tests that any store must pass. A store joins by filling a `struct store_case` and writing STORE_CONTRACT(suite, case) in
 * one file; every line of STORE_CONTRACT_TESTS becomes a test of that suite.
 */

#include "harness/test.h"
#include "port/store.h"

/* Everything in these tests happens at or after this time. */
#define STORE_START_MS INT64_C(1800000000000)

struct store_case {
    void *(*open)(void);                               /* a new, empty store */
    struct dr_store (*writer)(void *self, int n);      /* the n-th independent writer on it, 0 or 1 */
    void (*put_foreign)(void *self, const char *json); /* an item of key "cluster" as another system would put it: no revision */
    void (*pass_time)(void *self, int64_t now_ms);     /* it is now that late, and the store has had occasion to expire rows */
    void (*close)(void *self);
};

#define STORE_CONTRACT_TESTS(X)                                                                                                            \
    X(absent_item_is_no_error)                                                                                                             \
    X(first_write_gives_revision_1)                                                                                                        \
    X(every_write_raises_the_revision_by_1)                                                                                                \
    X(two_writers_on_one_revision_one_wins)                                                                                                \
    X(lost_race_leaves_the_winners_item)                                                                                                   \
    X(revision_0_loses_against_an_item_of_ours)                                                                                            \
    X(revision_ahead_of_the_store_loses)                                                                                                   \
    X(write_without_an_item_loses_unless_revision_is_0)                                                                                    \
    X(foreign_item_is_taken_over_once)                                                                                                     \
    X(unknown_attributes_survive_writes)                                                                                                   \
    X(whole_item_comes_back_equal)                                                                                                         \
    X(big_lists_come_back_whole)                                                                                                           \
    X(clusters_are_apart)                                                                                                                  \
    X(expired_lease_is_taken_over_and_the_old_holder_loses)                                                                                \
    X(fence_grows_with_every_holder)                                                                                                       \
    X(journal_is_ordered_by_time_request_and_sequence)                                                                                     \
    X(journal_query_bounds_are_inclusive_and_exclusive)                                                                                    \
    X(journal_limit_takes_from_the_asked_end)                                                                                              \
    X(journal_row_put_again_is_one_row)                                                                                                    \
    X(journal_rows_expire)                                                                                                                 \
    X(inbox_keeps_one_row_per_instance_and_kind)                                                                                           \
    X(inbox_is_oldest_first)                                                                                                               \
    X(handled_event_stays_handled_when_repeated)                                                                                           \
    X(handled_events_expire_and_others_do_not)                                                                                             \
    X(handling_an_absent_event_is_no_error)                                                                                                \
    X(reads_that_were_requested_are_as_fresh_as_any)

#define STORE_CONTRACT_DECLARE(name) void store_contract_##name(const struct store_case *store);
STORE_CONTRACT_TESTS(STORE_CONTRACT_DECLARE)
#undef STORE_CONTRACT_DECLARE

#endif
