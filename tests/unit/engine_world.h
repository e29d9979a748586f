#ifndef DR_TEST_ENGINE_WORLD_H
#define DR_TEST_ENGINE_WORLD_H

/* The whole engine on a simulated world with short, exact times: for what needs time, lost replies, or a second process. Every run fails the test when a promise is broken. */

#include "app/runner.h"
#include "base/time.h"
#include "harness/test.h"

struct engine_world {
    struct dr_world *world;
    struct dr_runner runner;
    struct dr_arena arena; /* of what a test copies */
    int64_t calls[DR_CALL_NAME_N];
    int64_t notices;
    char last_notice[256];
    void (*on_call)(struct engine_world *e, const struct dr_call *call); /* before every port call; may be NULL */
    void (*on_interleave)(struct engine_world *e, const struct dr_call *call, bool after, int64_t arg); /* at DR_FAULT_INTERLEAVE_* */
    int64_t seen;                                                                                       /* the test's own */
    struct dr_str id;
};

/* Minimum 2, maximum 6, two zones, a machine is Ready 45 s after its launch, pods stop within 5 s. For changes before ew_open. */
void ew_defaults(struct dr_world_options *options, struct dr_config *cfg);
/* NULL: the defaults. Freed when the test's process ends. */
struct engine_world *ew_open(const struct dr_world_options *options, const struct dr_config *cfg);

void ew_workers(struct engine_world *e, size_t n); /* on demand and spot in turn, zones in turn, older ones first */
void ew_signals(struct engine_world *e, int64_t cpu_percent, int64_t memory_percent);
void ew_deploy(struct engine_world *e, const char *name, int64_t replicas, int64_t cpu_milli);
/* `n` quiet workers that have been idle long enough for a scale-down now. */
struct engine_world *ew_idle(const struct dr_world_options *options, const struct dr_config *cfg, size_t n);
/* Two workers whose cpu asks for one more now. */
struct engine_world *ew_hot(const struct dr_world_options *options, const struct dr_config *cfg);

struct dr_fault ew_fault(enum dr_fault_kind kind, enum dr_call_name name, uint64_t occurrence);
void ew_strike(struct engine_world *e, const struct dr_fault *fault); /* this one and no other; call counts start anew */
void ew_heal(struct engine_world *e);

/* One tick of a process now; false: it crashed. */
bool ew_tick(struct engine_world *e, int process);
const struct dr_tick_report *ew_report(const struct engine_world *e, int process);
void ew_run(struct engine_world *e, int64_t ms);
/* Runs on without faults and fails the test unless everything has come to rest. */
void ew_settle(struct engine_world *e, int64_t ms);

const struct dr_state *ew_item(const struct engine_world *e);
/* A copy to be changed, with the next revision, for dr_world_put_item. */
struct dr_state ew_copy(struct engine_world *e);
/* Calls that change something outside the store, since the last ew_forget. */
int64_t ew_effects(const struct engine_world *e);
void ew_forget(struct engine_world *e);
const struct dr_node *ew_node(struct engine_world *e, struct dr_str id);
bool ew_alive(struct engine_world *e, struct dr_str id);

#endif
