#ifndef DR_TEST_STEP_WORLD_H
#define DR_TEST_STEP_WORLD_H

/* The step machine on a small world built by hand: ask for the next step, take its write over, settle a result, let time pass. Signals read 50 % unless a test says otherwise. */

#include "base/time.h"
#include "core/step.h"
#include "core/transition.h"
#include "unit/small_world.h"

#define STW_SAMPLES 64

struct step_world {
    struct small_world *w;
    struct dr_turn turn;
    struct dr_plan plan;
    struct dr_view view;
    struct dr_machine m;
    struct dr_step step;
    struct dr_event events[8];
    struct dr_reading readings[3]; /* the third for a custom signal: unknown, and read only by a test that adds one */
    struct dr_sample samples[2][STW_SAMPLES];
};

/* Freed when the test's process ends. */
struct step_world *stw_new(void);

/* The same percentage in the whole window; negative: unknown. */
void stw_percent(struct step_world *s, size_t signal, int64_t percent);
void stw_event(struct step_world *s, const char *id, enum dr_event_kind kind, bool handled);

/* A worker whose Node can be patched. */
struct dr_node *stw_worker(struct step_world *s, const char *id, const char *zone);
/* "i-1", "i-2", ... in zones za, zb, zc in turn. */
void stw_workers(struct step_world *s, size_t n);
struct dr_node *stw_node(struct step_world *s, const char *id);
struct dr_instance *stw_instance(struct step_world *s, const char *id);
/* The target's drain has begun and its owners are stored; the Node is cordoned by the action. */
void stw_draining(struct step_world *s, const char *id, size_t owner_n, const char *const *owners);
void stw_mark(struct step_world *s, const char *id);
/* A launched instance of the active scale-up: tags in Describe, attempt in the item. */
struct dr_instance *stw_launched(struct step_world *s, struct dr_attempt *attempt, size_t index, const char *id, int64_t age_ms);

/* The next step on state and snapshot as they are now. */
const struct dr_step *stw_next(struct step_world *s);
/* Fails the test unless the next step is a write with this text; takes the write over as the item. */
void stw_writes(struct step_world *s, const char *what, int rule);
/* Fails the test unless the next step is of this kind. */
const struct dr_step *stw_expect(struct step_world *s, enum dr_step_kind kind);
/* Works a result of the last step into item and snapshot, as the engine does; true if the item changed. */
bool stw_settle(struct step_world *s, enum dr_code code, const char *instance_id);
/* The same for an eviction where every pod has this outcome. */
void stw_evicted(struct step_world *s, int outcome);
/* A later tick, or a later look of the same tick: time passes, everything is observed anew. */
void stw_pass(struct step_world *s, int64_t ms);
void stw_look(struct step_world *s, int64_t ms);

#endif
