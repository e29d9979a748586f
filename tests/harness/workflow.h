#ifndef DR_TESTS_WORKFLOW_H
#define DR_TESTS_WORKFLOW_H

/* The canonical workflows, each as a world at the moment before it begins: for campaigns that strike at every call. */

#include "app/runner.h"

struct dr_workflow {
    const char *name;
    void (*configure)(struct dr_world_options *options, struct dr_config *cfg);
    void (*fill)(struct dr_world *world); /* workers, workloads, what happens when */
    int64_t run_ms;                       /* faults strike within this time */
    uint64_t crash_cas;                   /* part of the workflow: the process dies after this many writes, and another takes over; 0: no */
};

extern const struct dr_workflow dr_workflows[];
extern const size_t dr_workflow_n;

/* A world and a runner for a workflow, with faults (may be none) already set. */
struct dr_trial {
    struct dr_world *world;
    struct dr_runner runner;
};
void dr_trial_open(struct dr_trial *trial, const struct dr_workflow *workflow, uint64_t seed, const struct dr_fault *faults,
                   size_t fault_n);
void dr_trial_close(struct dr_trial *trial);
/* Faults end, an hour and a half passes. NULL: all promises held and the world has settled; otherwise what is wrong, with the last lines of the trace, in `buf`. */
const char *dr_trial_heal(struct dr_trial *trial, struct dr_buf *buf);

/* From now on the store can be asked beside other reads, as DynamoDB is: a tick looks at the world before it has the item. */
void dr_runner_read_at_once(struct dr_runner *runner);

#endif
