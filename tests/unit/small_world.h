#ifndef DR_TEST_SMALL_WORLD_H
#define DR_TEST_SMALL_WORLD_H

/* A snapshot, a state and a configuration built by hand, for tests of the core: a pool of one type (2000 milli-cores, 8 GiB, 20 pods) in zones za, zb, zc, everything known, nothing in it. */

#include "core/fleet.h"
#include "harness/test.h"

#define SW_NOW_MS INT64_C(1800000000000)
#define SW_NOW_EPOCH (SW_NOW_MS / 1000)
#define SW_GIB (INT64_C(1) << 30)
#define SW_MAX 256

struct small_world {
    struct small_world *next;
    struct dr_arena arena;
    struct dr_config cfg;
    struct dr_state state;
    struct dr_snapshot snap;
    struct dr_fleet fleet;
    struct dr_instance instances[SW_MAX];
    struct dr_node nodes[SW_MAX];
    struct dr_pod pods[SW_MAX];
    struct dr_pod_spec specs[SW_MAX];
    struct dr_budget budgets[8];
    struct dr_worker_type types[4];
    struct dr_subnet subnets[4];
};

/* In heap memory: it is large for a stack. Freed by sw_free or when the test's process ends. */
struct small_world *sw_new(void);
void sw_free(struct small_world *w);

/* A running instance without Node, launched an hour ago; its address is 10.0.0.<position>. */
struct dr_instance *sw_instance(struct small_world *w, const char *id, const char *zone);
/* A Ready Node "node-<id>" of the instance, a minute younger than it, with provider id and address. */
struct dr_node *sw_node(struct small_world *w, const struct dr_instance *instance);
/* Both. */
struct dr_node *sw_worker(struct small_world *w, const char *id, const char *zone);

/* A running, ready pod of a controller on the Node (NULL: not bound) with its own spec, which sw_spec gives for changes. */
struct dr_pod *sw_pod(struct small_world *w, const struct dr_node *node, int64_t cpu_milli, int64_t mem_bytes);
struct dr_pod_spec *sw_spec(struct small_world *w, const struct dr_pod *pod);
/* A pod that is Unschedulable for five minutes. */
struct dr_pod *sw_pending(struct small_world *w, int64_t cpu_milli, int64_t mem_bytes);

/* Copies into the world's arena. */
struct dr_strs sw_strs(struct small_world *w, size_t n, const char *const *v);
struct dr_str sw_fmt(struct small_world *w, const char *prefix, size_t i);
void sw_ended(struct small_world *w, const char *id);
void sw_record(struct small_world *w, const char *id, enum dr_event_kind kind);
void sw_avoid(struct small_world *w, const char *key, int64_t until_epoch);
/* Begins a scale-up "up-1" of `requested` with these attempts. */
struct dr_attempt *sw_scale_up(struct small_world *w, int64_t requested, size_t attempt_n);
/* Begins a scale-down "down-1" of one target. */
void sw_scale_down(struct small_world *w, const char *id);

/* (Re)builds w->fleet and gives the worker with this id, failing the test if there is none. */
struct dr_fleet *sw_build(struct small_world *w);
const struct dr_worker *sw_find(struct small_world *w, const char *id);

#endif
