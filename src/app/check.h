#ifndef DR_APP_CHECK_H
#define DR_APP_CHECK_H

/* The doctor: every connection, permission and assumption that a pass rests on, each with what to do where it is wrong. Changes nothing but with `create`. */

#include "app/live.h"

enum dr_finding_level {
    DR_FINDING_OK,
    DR_FINDING_WARN, /* a pass would go on without it */
    DR_FINDING_FAIL, /* would stop a pass, or an effect that it must be able to do */
};

struct dr_finding {
    enum dr_finding_level level;
    const char *area; /* "store", "ec2", "kubernetes", ... */
    struct dr_str what;
    struct dr_str remedy; /* empty: nothing to do */
    struct dr_finding *next;
};

struct dr_check {
    struct dr_live *live;
    struct dr_arena *arena;
    bool create; /* make what is missing of the tables */
    struct dr_finding *first;
    struct dr_finding **end;
    size_t failed;
    size_t warned;
    struct dr_snapshot snap; /* what was seen, for the identities */
    struct dr_state state;
    void (*told)(void *self, const struct dr_finding *finding); /* each as it is found; may be NULL */
    void *self;
};

void dr_check_init(struct dr_check *check, struct dr_live *live, struct dr_arena *arena);
/* Everything, in the order in which one thing rests on the other. */
void dr_check_run(struct dr_check *check);

const char *dr_finding_level_name(enum dr_finding_level level); /* "ok", "warning", "failure" */

/* For the parts. `remedy` may be NULL. */
__attribute__((format(printf, 5, 6))) void dr_check_add(struct dr_check *check, enum dr_finding_level level, const char *area,
                                                        const char *remedy, const char *fmt, ...);
int64_t dr_check_deadline(const struct dr_check *check); /* of a call that starts now */

/* check_cloud.c */
void dr_check_store(struct dr_check *check);
void dr_check_compute(struct dr_check *check);
void dr_check_queue(struct dr_check *check);
/* check_cluster.c */
void dr_check_cluster(struct dr_check *check);
void dr_check_identities(struct dr_check *check);
void dr_check_metrics(struct dr_check *check);
void dr_check_clocks(struct dr_check *check);

#endif
