#ifndef DECISION_WORLD_H
#define DECISION_WORLD_H

/* A small observation for tests of rules, decisions and plans: workers of one type in two zones, signals, pods that wait. Everything is known and quiet until a test says otherwise. */

#include "base/time.h"
#include "core/decision.h"

#define WORLD_NOW_EPOCH INT64_C(1800000000)
#define WORLD_NOW_MS (WORLD_NOW_EPOCH * DR_SECOND_MS)
#define WORLD_MAX 64
#define WORLD_PODS 256
#define WORLD_SAMPLES 64
#define WORLD_UNKNOWN (-1)

struct world {
    struct dr_arena arena;
    struct dr_config cfg;
    struct dr_state state;
    struct dr_snapshot snap;
    struct dr_instance instances[WORLD_MAX];
    struct dr_node nodes[WORLD_MAX];
    struct dr_pod pods[WORLD_PODS];
    struct dr_reading readings[DR_MAX_SIGNALS];
    struct dr_sample samples[DR_MAX_SIGNALS][WORLD_SAMPLES];
    struct dr_view view;
    struct dr_plan plan;
};

/* No workers yet; cpu 50 %, memory 60 %, no pods, no item. The caller frees it. */
struct world *world_new(enum dr_preset preset);
void world_free(struct world *w);

/* `n` Ready workers (4 cores, 16 GiB), launched a day ago, zones a and b in turn. */
void world_workers(struct world *w, size_t n);
/* Readings every 15 s up to now: `micro` for `held_ms`, `before_micro` in the 10 minutes before that. */
void world_signal(struct world *w, size_t signal, int64_t micro, int64_t held_ms, int64_t before_micro);
/* The same value all the time, in percent; WORLD_UNKNOWN for none. */
void world_percent(struct world *w, size_t signal, int64_t percent);
void world_unknown(struct world *w, size_t signal, const char *why);

/* A pod that waits; `cpu_milli` of a worker's 4000. */
struct dr_pod *world_waiting(struct world *w, int64_t cpu_milli, int64_t age_ms);
/* A pod on worker `i`. */
struct dr_pod *world_running(struct world *w, size_t i, int64_t cpu_milli);
/* `n` pods of one core that wait because every worker is full: four fit on a new one. */
void world_pending(struct world *w, size_t n, int64_t age_ms);

/* A scale of this kind ("scale_up", "scale_down") completed so long ago. */
void world_last_scale(struct world *w, const char *action, int64_t ago_s);
/* The idle clock has been running for so long and was seen one interval ago. */
void world_idle(struct world *w, int64_t for_s);

/* Builds the view and decides. */
const struct dr_decision *world_decide(struct world *w);
/* dr_plan_text of the plan, in the arena. */
struct dr_str world_text(struct world *w);

#endif
