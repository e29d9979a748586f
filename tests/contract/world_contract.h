#ifndef DR_TEST_WORLD_CONTRACT_H
#define DR_TEST_WORLD_CONTRACT_H

/*
 * The contract of the compute, cluster, metrics and events ports as tests that any world must pass: the simulated one and the real services. A world joins by filling a
 * `struct world_case`; every line of WORLD_CONTRACT_TESTS becomes a test of its suite. What a test needs besides the ports (a worker that somebody else started, pods, a
 * budget) it asks of the world by a verb; a verb returns when the world shows what was asked for.
 */

#include "harness/test.h"
#include "port/world.h"

#define WORLD_ID_MAX 64

/* The signal that the verb `series` sets. */
#define WORLD_SIGNAL "depth"
#define WORLD_ABSENT "absent"

struct world_case {
    void *(*open)(void); /* empty: no worker, no pod */
    struct dr_ports (*ports)(void *self);
    void (*close)(void *self);
    void (*pass)(void *self, int64_t ms); /* lets time go by */

    void (*worker)(void *self, size_t zone, char ret_id[WORLD_ID_MAX]); /* joined and Ready */
    void (*deployment)(void *self, const char *name, int replicas, int cpu_milli);
    void (*budget)(void *self, const char *name, int max_unavailable); /* of the deployment of that name; its status is worked out */
    void (*no_capacity)(void *self, size_t zone);
    void (*protect)(void *self, const char *id);               /* against termination */
    void (*touch)(void *self, const char *id, bool protected); /* changes the annotations of its Node */
    void (*series)(void *self, int value);                     /* of the signal WORLD_SIGNAL, long enough for a window of 3 s */
    void (*interrupt)(void *self, const char *id);             /* a warning, brought to the inbox */
};

#define WORLD_CONTRACT_TESTS(X)                                                                                                            \
    X(pool_has_subnets_with_zones_and_types_with_sizes)                                                                                    \
    X(launched_instance_is_seen_with_place_market_and_tags)                                                                                \
    X(same_token_gives_the_same_instance)                                                                                                  \
    X(same_token_with_other_parameters_is_invalid)                                                                                         \
    X(launch_without_capacity_says_so)                                                                                                     \
    X(ended_instance_is_seen_ended_and_may_be_ended_again)                                                                                 \
    X(ending_an_unknown_instance_is_not_found)                                                                                             \
    X(protected_instance_is_not_ended)                                                                                                     \
    X(joined_worker_is_a_ready_node_of_its_instance)                                                                                       \
    X(cordon_and_uncordon_are_seen_with_their_owner)                                                                                       \
    X(cordon_again_by_the_same_owner_is_success)                                                                                           \
    X(cordon_of_a_node_that_changed_is_a_conflict)                                                                                         \
    X(cordon_of_no_node_is_not_found)                                                                                                      \
    X(running_and_waiting_pods_are_told_apart)                                                                                             \
    X(evicted_pod_goes_and_a_successor_comes)                                                                                              \
    X(eviction_of_another_uid_is_gone_and_touches_nothing)                                                                                 \
    X(budget_blocks_eviction_and_shows_what_it_allows)                                                                                     \
    X(node_is_deleted_by_uid_only)                                                                                                         \
    X(series_is_read_oldest_first)                                                                                                         \
    X(absent_series_is_unknown_with_a_reason)                                                                                              \
    X(interruption_is_one_row_of_the_inbox)

#define WORLD_CONTRACT_DECLARE(name) void world_contract_##name(const struct world_case *world);
WORLD_CONTRACT_TESTS(WORLD_CONTRACT_DECLARE)
#undef WORLD_CONTRACT_DECLARE

#endif
