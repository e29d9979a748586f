#ifndef DR_APP_SCENARIO_SENTENCE_H
#define DR_APP_SCENARIO_SENTENCE_H

/*
 * One-line sentences of scenario files ("interrupt w3 notice 30s", "decide scale_up +2 reason rules"), read by patterns. A pattern is what the manual shows:
 *
 *     interrupt WORKER [notice SPAN]
 *
 * Words in capitals stand for values, the others for themselves; a|b is a choice; groups in brackets may be left out and come in any order at the end. What a value may be, its
 * names and "did you mean" come from one table of kinds, which the manual prints too.
 */

#include "app/reports.h"
#include "app/yaml.h"
#include "base/str.h"

#define DR_SENTENCE_ARGS 12
#define DR_SENTENCE_WORDS 48

struct dr_sentence_arg {
    bool given;
    int64_t n;          /* milliseconds, count, millionths, place in the names, mask: by kind */
    int64_t m;          /* LIMIT: how to compare, see dr_limit_holds */
    struct dr_str text; /* the word itself; TEXT: the rest of the line */
};

struct dr_sentence_form {
    const char *pattern;
    const char *help; /* one sentence for the manual */
};

struct dr_sentence {
    size_t form; /* place in the table of forms */
    int line;
    int column;
    struct dr_str text;
    /* In the order of the pattern: every word in capitals and every choice. */
    struct dr_sentence_arg args[DR_SENTENCE_ARGS];
};

/* What the words of this scenario may refer to. */
struct dr_lexicon {
    int64_t start_ms;
    int64_t end_ms;
    struct dr_strs zones;
    struct dr_strs types;
    struct dr_strs workloads;
    struct dr_strs budgets;
    struct dr_strs signals;
    struct dr_strs rules;
};

/* Reads one sentence by the table (ends with a NULL pattern). What is wrong is reported at its word under `section`; -1 then. */
int dr_sentence_read(struct dr_arena *arena, const struct dr_lexicon *lexicon, const struct dr_sentence_form *forms, const char *section,
                     const struct dr_yaml *node, struct dr_reports *reports, struct dr_sentence *ret);

/* A time of the run: HH:MM[:SS] (of the next day where it lies before the start), +SPAN after the start, a full time, "start", "end". */
bool dr_lexicon_time(const struct dr_lexicon *lexicon, struct dr_str word, int64_t *ret_ms);

/* LIMIT: "2" exactly, ">=2" at least, "<=2" at most. */
enum { DR_LIMIT_EXACT, DR_LIMIT_AT_LEAST, DR_LIMIT_AT_MOST };
bool dr_limit_holds(const struct dr_sentence_arg *limit, int64_t seen);

/* "1500m", "1.5": cores as milli; "512Mi", "2Gi", "100": bytes. */
bool dr_parse_cores(struct dr_str text, int64_t *ret_milli);
bool dr_parse_bytes(struct dr_str text, int64_t *ret_bytes);
/* "82%" or "0.82" or "1200" as millionths. */
bool dr_parse_value(struct dr_str text, int64_t *ret_micro);

/* The counters that expectations speak of. */
enum dr_counter {
    DR_COUNTER_WORKERS,
    DR_COUNTER_READY,
    DR_COUNTER_NODES,
    DR_COUNTER_GHOSTS,
    DR_COUNTER_CORDONED,
    DR_COUNTER_PODS,
    DR_COUNTER_RUNNING,
    DR_COUNTER_WAITING,
    DR_COUNTER_MARKS,
    DR_COUNTER_RECORDS,
    DR_COUNTER_REFUSED,
    DR_COUNTER_QUARANTINED,
    DR_COUNTER_LAUNCHES,
    DR_COUNTER_LAUNCH_REFUSALS,
    DR_COUNTER_TERMINATIONS,
    DR_COUNTER_INTERRUPTIONS,
    DR_COUNTER_EVICTIONS,
    DR_COUNTER_EVICTIONS_BLOCKED,
    DR_COUNTER_LOST_PODS,
    DR_COUNTER_CUT_SHORT,
    DR_COUNTER_ALERTS,
    DR_COUNTER_CRASHES,
    DR_COUNTER_STRIKES,
    DR_COUNTER_PENDING_SECONDS,
    DR_COUNTER_N,
};
const char *dr_counter_name(enum dr_counter counter);

/* What a worker can be in an expectation. */
enum dr_worker_state {
    DR_WORKER_ALIVE,
    DR_WORKER_GONE,
    DR_WORKER_READY,
    DR_WORKER_CORDONED,
    DR_WORKER_OPEN, /* not unschedulable */
    DR_WORKER_MARKED,
    DR_WORKER_STATE_N,
};
const char *dr_worker_state_name(enum dr_worker_state state);

/* Which action the item holds. */
enum dr_scenario_action { DR_SCENARIO_NO_ACTION, DR_SCENARIO_UP, DR_SCENARIO_DOWN };

/* For the manual: every kind of value with what it may be, as Markdown table rows. */
void dr_sentence_put_kinds(struct dr_buf *buf);

#endif
