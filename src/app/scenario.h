#ifndef DR_APP_SCENARIO_H
#define DR_APP_SCENARIO_H

/*
 * Scenarios (docs/scenarios.md): a world, a configuration, a timeline and expectations in one YAML file, run in virtual time. `drover simulate` runs them, tests do.
 *
 * scenario_read.c reads the file, scenario_world.c its world, scenario_series.c load traces; scenario_verbs.c is the timeline, scenario_expect.c the expectations and scenario_count.c what they count; scenario_run.c runs one,
 * scenario_print.c says what came out. A new verb or expectation is one row of its table and one function.
 */

#include "app/config_file.h"
#include "app/runner.h"
#include "app/scenario_sentence.h"

#define DR_SCENARIO_MAX_FAULTS 60
#define DR_SCENARIO_MAX_WORKERS 1000
#define DR_SCENARIO_MAX_RUNS 5000 /* of one file with `each` */

/* One series or demand of the world: points by time. */
struct dr_scenario_curve {
    struct dr_str signal;
    bool demand; /* cores or bytes asked of the fleet, not the reading itself */
    const struct dr_sample *points;
    size_t n;
    int64_t step_ms; /* between rows of a trace; holes larger than 2.5 of them are holes in the series; 0: no trace */
};

struct dr_scenario_workers {
    struct dr_world_worker worker;
    int64_t count;
};

struct dr_scenario {
    const char *file;
    struct dr_str name;
    struct dr_str about;
    int64_t hazard; /* 0: none */
    int64_t rule;
    uint64_t seed;
    int64_t each; /* fault kind that strikes once at every call, one run per call; -1: none */
    struct dr_world_options options;
    struct dr_settings settings;
    struct dr_lexicon lexicon;
    const struct dr_scenario_workers *workers;
    size_t worker_n;
    const struct dr_world_workload *workloads;
    size_t workload_n;
    const struct dr_budget *budgets;
    size_t budget_n;
    const struct dr_scenario_curve *curves;
    size_t curve_n;
    struct dr_sentence *timeline; /* args[0] is the time */
    size_t timeline_n;
    struct dr_sentence *expects;
    size_t expect_n;
};

struct dr_scenario_source {
    const char *file;
    const char *const *series; /* of the command line: "NAME=FILE", wins over the file's; may be NULL */
    size_t series_n;
    const char *seed; /* of the command line; NULL: the file's */
};

/* Reads and checks a file; -1: something is wrong, see reports. Everything lives in the arena. */
int dr_scenario_read(struct dr_arena *arena, const struct dr_scenario_source *source, struct dr_reports *reports, struct dr_scenario *ret);

/* scenario_world.c */
struct dr_scenario_reader {
    struct dr_arena *arena;
    struct dr_reports *reports;
    const struct dr_scenario_source *source;
    struct dr_scenario *scenario;
};
void dr_scenario_read_world(struct dr_scenario_reader *reader, const struct dr_yaml *world);
/* scenario_series.c: the sections `series` and `demand`. */
void dr_scenario_read_curves(struct dr_scenario_reader *reader, const struct dr_yaml *series, const struct dr_yaml *demand);

/*
 * Reads a trace: CSV, an optional header line, time (Unix seconds or YYYY-MM-DD HH:MM:SS) and value; gaps, zeros and a missing final newline are fine. Values are multiplied by scale_micro / 10^6.
 * Times are kept as they are. -1: reported with the line of the trace. At most a million rows.
 */
int dr_trace_load(struct dr_arena *arena, const char *file, int64_t scale_micro, struct dr_reports *reports, struct dr_scenario_curve *ret);

/* What a mapping may hold: a table of fields, read into a structure. */
enum dr_field_kind {
    DR_FIELD_COUNT,
    DR_FIELD_SPAN,
    DR_FIELD_SPAN_RANGE, /* "20s" or "15s..30s" into two neighbours */
    DR_FIELD_PERCENT,    /* whole percent as a number */
    DR_FIELD_SHARE_PPM,
    DR_FIELD_BOOL,
    DR_FIELD_CORES,
    DR_FIELD_BYTES,
    DR_FIELD_USD,
    DR_FIELD_STR,
    DR_FIELD_CHOICE, /* enum: place in `choices` */
    DR_FIELD_STRS,
    DR_FIELD_LABELS,
    DR_FIELD_OTHER, /* known, read elsewhere */
};
struct dr_field {
    const char *name;
    enum dr_field_kind kind;
    size_t offset;
    const char *choices;
    const char *help;
};
/* Reads every key of a mapping by the table (ends with a NULL name); wrong values and unknown keys are reported under `path`. */
void dr_fields_read(struct dr_scenario_reader *reader, const char *path, const struct dr_yaml *mapping, const struct dr_field *fields,
                    void *base);
/* For the manual: the tables of keys of the world section as Markdown. */
void dr_scenario_put_fields(struct dr_buf *buf);
/* The whole reference: keys, verbs, expectations, values; the second half of docs/scenarios.md. */
void dr_scenario_put_reference(struct dr_buf *buf);

/* ---- running ---- */

struct dr_scenario_failure {
    int line;
    int column;
    struct dr_str expected;
    struct dr_str seen;
};

#define DR_SCENARIO_MAX_FAILURES 20

struct dr_scenario_result {
    bool held;
    struct dr_scenario_failure failures[DR_SCENARIO_MAX_FAILURES];
    size_t failure_n;
    size_t failures_left_out;
    const char *violation; /* a promise of docs/protocol.md that was broken; NULL: none */
    struct dr_str trace;   /* last lines of a run that failed */
    struct dr_world_stats stats;
    struct dr_world_counts counts;
    int64_t runs;        /* 1, or one per call with `each` */
    int64_t failed_call; /* with `each`: number of the call at which the fault struck in the run that failed */
    int64_t ticks;
    uint64_t trace_hash; /* of the (first) run */
};

struct dr_scenario_run_options {
    void *self;
    void (*trace)(void *self, const char *line); /* every line of the world's trace; may be NULL */
};

/* Runs it; everything in `ret` lives in the arena. */
void dr_scenario_run(struct dr_arena *arena, const struct dr_scenario *scenario, const struct dr_scenario_run_options *options,
                     struct dr_scenario_result *ret);

/* One decision, kept for the expectations. */
struct dr_scenario_rule {
    struct dr_str name;
    bool up;
    enum dr_truth truth;
};
struct dr_scenario_tick {
    int64_t at_ms;
    int process;
    enum dr_verdict verdict;
    enum dr_reason reason;
    int64_t delta;
    struct dr_str text; /* and rules: only where an expectation may ask for them */
    const struct dr_scenario_rule *rules;
    size_t rule_n;
};

/* One run in progress: shared by the parts that run. */
struct dr_scenario_run {
    struct dr_arena *arena;
    const struct dr_scenario *scenario;
    const struct dr_scenario_run_options *options;
    struct dr_world *world;
    struct dr_runner runner;
    struct dr_scenario_tick *ticks;
    size_t tick_n;
    size_t tick_cap;
    struct dr_scenario_result *result;
    bool *failed; /* one per expectation: said once is enough */
};

/* scenario_verbs.c */
extern const struct dr_sentence_form dr_scenario_verbs[];
/* What the words alone cannot say: processes, items, number of faults. */
void dr_scenario_check_timeline(struct dr_scenario_reader *reader);
void dr_scenario_schedule(struct dr_scenario_run *run);
/* Faults of the timeline, at most DR_SCENARIO_MAX_FAULTS. */
size_t dr_scenario_faults(const struct dr_scenario *scenario, struct dr_fault *ret);
/* The machine that a worker's name means now; empty: none. */
struct dr_str dr_scenario_worker(struct dr_scenario_run *run, struct dr_str name);

/* scenario_count.c */
int64_t dr_scenario_count(struct dr_scenario_run *run, enum dr_counter counter, const struct dr_sentence_arg *zone,
                          const struct dr_sentence_arg *market);
enum { DR_PODS_RUNNING, DR_PODS_WAITING, DR_PODS_STOPPING, DR_PODS_ALL };
/* Pods of one workload; `what` is one of the above. */
int64_t dr_scenario_count_pods(struct dr_scenario_run *run, struct dr_str workload, int64_t what);
bool dr_scenario_worker_is(struct dr_scenario_run *run, struct dr_str name, enum dr_worker_state state);

/* scenario_expect.c */
extern const struct dr_sentence_form dr_scenario_expectations[];
/* Sets up what has to be looked at while the run goes on. */
void dr_scenario_watch(struct dr_scenario_run *run);
/* A decision was made. */
void dr_scenario_note_tick(struct dr_scenario_run *run, int process, const struct dr_tick_report *report);
/* What is judged at the end. */
void dr_scenario_judge(struct dr_scenario_run *run);

/* ---- results in words ---- */
void dr_scenario_put_text(const struct dr_scenario *scenario, const struct dr_scenario_result *result, bool colour, struct dr_buf *buf);
void dr_scenario_put_json(const struct dr_scenario *scenario, const struct dr_scenario_result *result, struct dr_jsonw *w);

#endif
