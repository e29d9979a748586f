/* Scenario files: what they may say, what is said about mistakes, and that every file of tests/scenarios holds. */
#include <dirent.h>
#include <stdio.h>

#include "app/command.h"
#include "app/scenario.h"
#include "base/time.h"
#include "harness/test.h"

struct read {
    struct dr_arena arena;
    struct dr_reports reports;
    struct dr_scenario scenario;
    struct dr_buf text; /* of the reports */
    int result;
};

/* One folder for all files of a test. */
static const char *folder_of_test(void) {
    static const char *folder;
    folder = folder == NULL ? dr_test_tmpdir() : folder;
    return folder;
}

static const char *put_file(const char *name, const char *text) {
    static char paths[8][600];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder_of_test(), name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_EQ_INT(fwrite(text, 1, strlen(text), file), strlen(text));
    fclose(file);
    return path;
}

static void read_source(struct read *r, struct dr_scenario_source source) {
    dr_arena_init(&r->arena, 0);
    dr_buf_init(&r->text, 1 << 20);
    dr_reports_init(&r->reports, &r->arena, source.file);
    r->result = dr_scenario_read(&r->arena, &source, &r->reports, &r->scenario);
    for (size_t i = 0; i < r->reports.n; i++) { /* the folder differs in every run */
        const char *slash = strrchr(r->reports.v[i].where, '/');
        r->reports.v[i].where = slash == NULL ? r->reports.v[i].where : slash + 1;
    }
    dr_reports_put(&r->reports, &r->text);
}

static void read_text(struct read *r, const char *yaml) { read_source(r, (struct dr_scenario_source){.file = put_file("s.yaml", yaml)}); }

static void unread(struct read *r) {
    dr_buf_deinit(&r->text);
    dr_arena_deinit(&r->arena);
}

static void check_wrong(const char *yaml, const char *expected) {
    struct read r;
    read_text(&r, yaml);
    CHECK_EQ_CSTR(r.text.p == NULL ? "" : r.text.p, expected);
    CHECK_EQ_INT(r.result, -1);
    unread(&r);
}

/* Runs a file that must be readable. */
static void run_text(struct read *r, const char *yaml, struct dr_scenario_result *result) {
    static const struct dr_scenario_run_options quiet = {NULL, NULL};
    read_text(r, yaml);
    CHECK_EQ_CSTR(r->text.p == NULL ? "" : r->text.p, "");
    dr_scenario_run(&r->arena, &r->scenario, &quiet, result);
}

/* ---- mistakes ---- */

TEST(scenario, every_mistake_is_reported_at_once_with_its_place) {
    check_wrong("name: x\n"
                "abuot: y\n"
                "start: 25:00\n"
                "until: 10:30\n"
                "each: explosion\n"
                "world:\n"
                "  wrokers: 2\n"
                "  boot: soon\n"
                "  workers: [{count: 2, zone: q}]\n"
                "  workloads: [{name: web, cpu: lots, kind: deploymint}]\n"
                "  budgets: [{app: wbe, minAvailable: 1}]\n"
                "config:\n"
                "  minWorker: 2\n"
                "timeline:\n"
                "  - at 10:02 intrerupt w1\n"
                "expect:\n"
                "  - at 10:04 decide scale_upp +2\n",
                "s.yaml:1:1: about: is missing\n"
                "s.yaml:2:1: abuot: unknown key; did you mean about?\n"
                "s.yaml:3:8: start: 25:00: must be a time of day (HH:MM) or a full time\n"
                "s.yaml:5:7: each: explosion: must be error, timeout, lose-reply, crash-before, crash-after, interleave-before or "
                "interleave-after\n"
                "s.yaml:7:3: world.wrokers: unknown key; did you mean workers?\n"
                "s.yaml:8:9: world.boot: soon: must be a span such as 20s, or a range such as 15s..30s\n"
                "s.yaml:9:30: world.workers.zone: q: there is none of this name in the world; did you mean a?\n"
                "s.yaml:10:32: world.workloads.cpu: lots: must be a number of cores such as 2, 1.5 or 500m\n"
                "s.yaml:10:44: world.workloads.kind: deploymint: must be deployment, daemonset, bare or mirror\n"
                "s.yaml:11:19: world.budgets.app: wbe: there is none of this name in the world; did you mean web?\n"
                "s.yaml:13:3: minWorker: unknown key; did you mean minWorkers?\n"
                "s.yaml:15:14: timeline: intrerupt: unknown; did you mean interrupt?\n"
                "s.yaml:17:21: expect: scale_upp: unknown; did you mean scale_up?\n");
}

#define HEAD "name: x\nabout: y\nstart: 10:00\nuntil: 11:00\n"

TEST(scenario, what_is_missing_is_named) {
    check_wrong("world: {}\n", "s.yaml:1:1: name: is missing\n"
                               "s.yaml:1:1: about: is missing\n"
                               "s.yaml:1:1: start: is missing\n"
                               "s.yaml:1:1: until: is missing\n"
                               "s.yaml:1:1: expect: is missing: a scenario says what must come out\n");
}

TEST(scenario, a_sentence_says_where_it_goes_wrong) {
    check_wrong(
        HEAD "expect:\n  - launches\n",
        "s.yaml:6:13: expect: the sentence ends too early: must be a whole number such as 2 (exactly), >=2 (at least) or <=2 (at most)\n");
    check_wrong(HEAD "expect:\n  - launches two\n",
                "s.yaml:6:14: expect: two: must be a whole number such as 2 (exactly), >=2 (at least) or <=2 (at most)\n");
    check_wrong(HEAD "expect:\n  - launches 2 please\n", "s.yaml:6:16: expect: please: nothing more is expected here but zone, market\n");
    check_wrong(HEAD "expect:\n  - at 12:00 launches 2\n",
                "s.yaml:6:8: expect: 12:00: must be a time within the run: HH:MM, HH:MM:SS, +SPAN after the start, start or end\n");
    check_wrong(HEAD "expect:\n  - {at: 5}\n", "s.yaml:6:5: expect: a mapping: must be a sentence\n");
    check_wrong(
        HEAD "timeline:\n  - at 10:05 interrupt bob\nexpect: [settled]\n",
        "s.yaml:6:24: timeline: bob: must be a worker: w3 (the third machine of the run), spot1 or demand1 (the first running one of that "
        "market), oldest, newest, victim or i-...\n");
    check_wrong(HEAD "timeline:\n  - at 10:05 kubelet w1 sideways\nexpect: [settled]\n",
                "s.yaml:6:25: timeline: sideways: must be down or up\n");
    check_wrong(HEAD "timeline:\n  - 'at 10:05 process 9 ticks'\nexpect: [settled]\n",
                "s.yaml:6:5: timeline: process: must be from 1 to 7\n");
    check_wrong(HEAD "timeline:\n  - 'at 10:05 item {\"pk\"'\nexpect: [settled]\n",
                "s.yaml:6:5: timeline: state item: JSON, byte 5: expected ':', found the end\n");
}

TEST(scenario, ceilings_are_told_before_the_run) {
    check_wrong(HEAD "world: {workers: 2000}\nexpect: [settled]\n",
                "s.yaml:5:18: world.workers: 2000: must be a number from 0 to 1000, or a list of workers\n");
    check_wrong(HEAD "world: {servers: 200}\nexpect: [settled]\n", "s.yaml:5:18: world.servers: 200: must be at most 100\n");
    check_wrong(HEAD "world: {workloads: [{name: a, replicas: 30000}]}\nexpect: [settled]\n",
                "s.yaml:5:20: world.workloads: 30000 pods: at most 20000\n");
    check_wrong("name: x\nabout: y\nstart: 10:00\nuntil: +300d\nconfig: {interval: 5s, tickLimit: 12s}\nexpect: [settled]\n",
                "s.yaml:4:8: until: +300d: more than 1000000 passes at this interval\n");
}

/* ---- times and words ---- */

TEST(scenario, a_clock_time_before_the_start_is_the_next_day) {
    struct dr_lexicon l = {.start_ms = 20 * DR_DAY_MS + 22 * DR_HOUR_MS, .end_ms = 21 * DR_DAY_MS + 4 * DR_HOUR_MS};
    int64_t ms;
    CHECK(dr_lexicon_time(&l, DR_STR("23:30"), &ms));
    CHECK_EQ_INT(ms, l.start_ms + 90 * DR_MINUTE_MS);
    CHECK(dr_lexicon_time(&l, DR_STR("01:00"), &ms));
    CHECK_EQ_INT(ms, 21 * DR_DAY_MS + DR_HOUR_MS);
    CHECK(dr_lexicon_time(&l, DR_STR("+90s"), &ms));
    CHECK_EQ_INT(ms, l.start_ms + 90 * DR_SECOND_MS);
    CHECK(dr_lexicon_time(&l, DR_STR("end"), &ms));
    CHECK_EQ_INT(ms, l.end_ms);
    CHECK(!dr_lexicon_time(&l, DR_STR("noon"), &ms));
}

TEST(scenario, quantities_are_read_exactly) {
    int64_t n;
    CHECK(dr_parse_cores(DR_STR("1.5"), &n));
    CHECK_EQ_INT(n, 1500);
    CHECK(dr_parse_cores(DR_STR("250m"), &n));
    CHECK_EQ_INT(n, 250);
    CHECK(!dr_parse_cores(DR_STR("0.0001"), &n));
    CHECK(dr_parse_bytes(DR_STR("1.5Gi"), &n));
    CHECK_EQ_INT(n, INT64_C(1610612736));
    CHECK(!dr_parse_bytes(DR_STR("9999999Ti"), &n));
    CHECK(dr_parse_value(DR_STR("70.1%"), &n));
    CHECK_EQ_INT(n, 701000);
    CHECK(dr_parse_value(DR_STR("1200"), &n));
    CHECK_EQ_INT(n, INT64_C(1200000000));
    struct dr_sentence_arg at_most = {.n = 3, .m = DR_LIMIT_AT_MOST};
    CHECK(dr_limit_holds(&at_most, 3));
    CHECK(!dr_limit_holds(&at_most, 4));
}

/* ---- traces ---- */

TEST(scenario, a_trace_has_either_time_format_holes_zeros_and_no_final_newline) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_reports reports;
    dr_reports_init(&reports, &arena, "s.yaml");
    struct dr_scenario_curve curve = {.n = 0};
    CHECK_EQ_INT(
        dr_trace_load(&arena, put_file("a.csv", "time,value\n1400000000,5\n1400000060,0\n1400000600,2.5"), 1000000, &reports, &curve), 0);
    CHECK_EQ_INT(curve.n, 3);
    CHECK_EQ_INT(curve.points[2].at_ms, INT64_C(1400000600000));
    CHECK_EQ_INT(curve.points[1].micro, 0);
    CHECK_EQ_INT(curve.points[2].micro, 2500000);
    CHECK_EQ_INT(dr_trace_load(&arena, put_file("b.csv", "2014-04-10 00:04:00,10\r\n2014-04-10 00:09:00,20\r\n2014-04-10 00:14:00,30\r\n"),
                               500000, &reports, &curve),
                 0);
    CHECK_EQ_INT(curve.n, 3);
    CHECK_EQ_INT(curve.step_ms, 5 * DR_MINUTE_MS);
    CHECK_EQ_INT(curve.points[1].micro, 10000000);
    CHECK_EQ_INT(reports.n, 0);
    dr_arena_deinit(&arena);
}

TEST(scenario, a_wrong_row_of_a_trace_is_named_by_line) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_reports reports;
    dr_reports_init(&reports, &arena, "s.yaml");
    struct dr_scenario_curve curve = {.n = 0};
    const char *file = put_file("c.csv", "time,value\n10,5\nlater,5\n30,many\n20\n40,1\n35,1\n");
    CHECK_EQ_INT(dr_trace_load(&arena, file, 1000000, &reports, &curve), -1);
    CHECK_EQ_INT(reports.n, 4);
    CHECK_CONTAINS(reports.v[0].text, "line 3: later,5: the time must be Unix seconds or YYYY-MM-DD HH:MM:SS");
    CHECK_CONTAINS(reports.v[1].text, "line 4: 30,many: the value must be a number");
    CHECK_CONTAINS(reports.v[2].text, "line 5: 20: must be TIME,VALUE");
    CHECK_CONTAINS(reports.v[3].text, "line 7: 35,1: not later than the row before");
    CHECK_EQ_INT(dr_trace_load(&arena, put_file("d.csv", ""), 1000000, &reports, &curve), -1);
    CHECK_CONTAINS(reports.v[4].text, "fewer than two rows");
    dr_arena_deinit(&arena);
}

TEST(scenario, a_trace_of_the_command_line_takes_the_place_of_the_files) {
    const char *yaml = put_file("s.yaml", HEAD "world:\n  series: {cpu: {file: missing.csv, peak: 50%}}\nexpect: [settled]\n");
    const char *csv = put_file("e.csv", "0,10\n600,40\n1200,20\n");
    char option[700];
    snprintf(option, sizeof(option), "cpu=%s", csv);
    const char *series[] = {option};
    struct read r;
    read_source(&r, (struct dr_scenario_source){.file = yaml, .series = series, .series_n = 1});
    CHECK_EQ_CSTR(r.text.p == NULL ? "" : r.text.p, "");
    CHECK_EQ_INT(r.scenario.curve_n, 1);
    CHECK_EQ_INT(r.scenario.curves[0].points[1].micro, 500000);
    CHECK_EQ_INT(r.scenario.curves[0].points[1].at_ms, r.scenario.lexicon.start_ms + 10 * DR_MINUTE_MS);
    unread(&r);
    read_source(&r, (struct dr_scenario_source){.file = yaml});
    CHECK_EQ_INT(r.result, -1);
    CHECK_CONTAINS(dr_buf_str(&r.text), "missing.csv: No such file or directory");
    unread(&r);
}

/* ---- running ---- */

#define QUIET HEAD "world: {workers: 3, series: {cpu: 50%, memory: 60%}}\n"

TEST(scenario, an_expectation_that_fails_names_line_expected_and_seen) {
    struct read r;
    struct dr_scenario_result result;
    run_text(&r,
             QUIET "timeline:\n  - at 10:30 kill w1\n"
                   "expect:\n  - workers 5\n  - at 10:04 decide scale_up +2\n  - never below 3 workers\n  - at 10:05 decide noop\n"
                   "  - at end worker w1 ready\n  - at 10:10 up rule cpu yes\n  - decided noop 1\n  - at 10:02 says a storm\n"
                   "  - never decide noop reason within_limits\n  - at end action scale_up\n  - workers 2\n",
             &result);
    CHECK(!result.held);
    static const struct {
        int line;
        const char *seen;
    } expected[] = {
        {11, "workers 2 at 10:30"},
        {9, "workers 2"},
        {10, "noop within_limits: cpu 50%, memory 60%, no pods pending"},
        {12, "no pass began at that time"},
        {13, "w1 is gone"},
        {14, "no"},
        {15, "31 times"},
        {16, "noop within_limits: cpu 50%, memory 60%, no pods pending"},
        {17, "at 10:00 within_limits"},
        {18, "action none"},
    };
    const size_t n = sizeof expected / sizeof expected[0];
    for (size_t k = 0; k < n; k++) {
        bool found = false;
        for (size_t i = 0; i < result.failure_n; i++) {
            found = found || (result.failures[i].line == expected[k].line && dr_str_starts(result.failures[i].seen, expected[k].seen));
        }
        if (!found) {
            FAIL("line %d: not told that %s", expected[k].line, expected[k].seen);
        }
    }
    CHECK_EQ_INT(result.failure_n, n);
    CHECK(result.trace.n > 0);
    unread(&r);
}

TEST(scenario, the_same_seed_gives_the_same_run_and_another_seed_another) {
    static const char yaml[] = HEAD "seed: 5\nworld: {workers: 0}\nexpect:\n  - launches 2\n";
    struct dr_scenario_result a;
    struct dr_scenario_result b;
    struct read r;
    run_text(&r, yaml, &a);
    CHECK(a.held);
    unread(&r);
    run_text(&r, yaml, &b);
    CHECK_EQ_U64(a.trace_hash, b.trace_hash);
    unread(&r);
    read_source(&r, (struct dr_scenario_source){.file = put_file("s.yaml", yaml), .seed = "6"});
    static const struct dr_scenario_run_options quiet = {NULL, NULL};
    dr_scenario_run(&r.arena, &r.scenario, &quiet, &b);
    CHECK(a.trace_hash != b.trace_hash);
    unread(&r);
}

TEST(scenario, a_fault_at_each_call_is_one_run_per_call) {
    struct read r;
    struct dr_scenario_result result;
    run_text(&r,
             "name: x\nabout: y\nstart: 10:00\nuntil: 10:06\neach: crash-before\nworld: {workers: 3, series: {cpu: 50%, memory: "
             "60%}}\nexpect:\n  - workers 3\n",
             &result);
    CHECK(result.held);
    CHECK(result.runs > 10);
    unread(&r);
    run_text(&r,
             "name: x\nabout: y\nstart: 10:00\nuntil: 10:06\neach: crash-before\nworld: {workers: 3, series: {cpu: 50%, memory: "
             "60%}}\nexpect:\n  - crashes 0\n",
             &result);
    CHECK(!result.held);
    CHECK_EQ_INT(result.failed_call, 1);
    CHECK_EQ_STR(result.failures[0].seen, "crashes 1");
    unread(&r);
}

TEST(scenario, a_broken_promise_fails_whatever_was_expected) {
    struct read r;
    struct dr_scenario_result result;
    /* The world is told another minimum than the engine: what the engine rightly does breaks the world's promise. */
    static const char yaml[] =
        "name: x\nabout: y\nstart: 10:00\nuntil: 11:00\nworld: {workers: 4, series: {cpu: 5%, memory: 5%}}\nexpect:\n  - launches 0\n";
    read_text(&r, yaml);
    CHECK_EQ_INT(r.result, 0);
    r.scenario.options.min_workers = 4;
    static const struct dr_scenario_run_options quiet = {NULL, NULL};
    dr_scenario_run(&r.arena, &r.scenario, &quiet, &result);
    CHECK(!result.held);
    CHECK(result.violation != NULL);
    CHECK_CONTAINS(dr_str_of(result.violation), "minimum is 4");
    unread(&r);
}

/* ---- the command ---- */

static int simulate(const char *path, const char *option, char *out, size_t out_n) {
    char name[] = "drover";
    char command[] = "simulate";
    char *argv[] = {name, command, (char *)(uintptr_t)path, (char *)(uintptr_t)option, NULL};
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    FILE *file = tmpfile();
    CHECK(file != NULL);
    static const char *const no_env[] = {NULL};
    struct dr_app app = {.out = file, .err = file, .env = no_env, .arena = &arena};
    int code = dr_app_main(&app, option == NULL ? 3 : 4, argv);
    rewind(file);
    out[fread(out, 1, out_n - 1, file)] = '\0';
    fclose(file);
    dr_arena_deinit(&arena);
    return code;
}

TEST(simulate, exit_code_says_held_failed_or_wrong) {
    char out[20000];
    CHECK_EQ_INT(simulate(put_file("held.yaml", QUIET "expect: [workers 3]\n"), NULL, out, sizeof(out)), 0);
    CHECK_CONTAINS(dr_str_of(out), "held    x\n");
    CHECK_CONTAINS(dr_str_of(out), "1 held, 0 failed\n");
    CHECK_EQ_INT(simulate(put_file("failed.yaml", QUIET "expect: [workers 4]\n"), NULL, out, sizeof(out)), 1);
    CHECK_CONTAINS(dr_str_of(out), "failed.yaml:6:10: expected: workers 4\n        seen: workers 3\n");
    CHECK_EQ_INT(simulate(put_file("wrong.yaml", QUIET "expect: [wrokers 4]\n"), NULL, out, sizeof(out)), 2);
    CHECK_CONTAINS(dr_str_of(out), "wrong.yaml:6:10: expect: wrokers: unknown; did you mean workers?\n");
    /* A folder: all three, in the order of names. */
    CHECK_EQ_INT(simulate(folder_of_test(), NULL, out, sizeof(out)), 2);
    CHECK_CONTAINS(dr_str_of(out), "1 held, 1 failed, 1 with mistakes\n");
    CHECK(strstr(out, "FAILED  x") < strstr(out, "held    x"));
    CHECK_EQ_INT(simulate("/nowhere/at/all", NULL, out, sizeof(out)), 2);
    CHECK_CONTAINS(dr_str_of(out), "No such file or directory");
}

TEST(simulate, the_trace_is_every_event_and_decision) {
    char out[20000];
    CHECK_EQ_INT(simulate(put_file("held.yaml", "name: x\nabout: y\nstart: 10:00\nuntil: 10:04\nworld: {workers: 1, series: {cpu: 50%, "
                                                "memory: 60%}}\nexpect: [launches 1]\n"),
                          "--trace", out, sizeof(out)),
                 0);
    CHECK_CONTAINS(dr_str_of(out), "10:00:00 decide scale_up +1 below_minimum: 1 planned, minimum 2\n");
    CHECK_CONTAINS(dr_str_of(out), "10:00:00 instance i-0000000000000002 launched");
}

/* ---- the files of the tree ---- */

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static int is_yaml(const struct dirent *e) { return dr_str_ends(dr_str_of(e->d_name), ".yaml"); }

TEST_TIMEOUT(scenario, every_file_of_tests_scenarios_holds, 300) {
    struct dirent **entries;
    const char *folder = dr_test_path("tests/scenarios");
    int n = scandir(folder, &entries, is_yaml, by_name);
    CHECK(n > 60);
    int64_t runs = 0;
    struct dr_buf text;
    dr_buf_init(&text, 0);
    for (int i = 0; i < n; i++) {
        char path[700];
        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        struct read r;
        struct dr_scenario_result result;
        read_source(&r, (struct dr_scenario_source){.file = path});
        if (r.result < 0) {
            FAIL("%s", r.text.p);
        }
        static const struct dr_scenario_run_options quiet = {NULL, NULL};
        dr_scenario_run(&r.arena, &r.scenario, &quiet, &result);
        runs += result.runs;
        if (!result.held) {
            dr_scenario_put_text(&r.scenario, &result, false, &text);
        }
        unread(&r);
        free(entries[i]);
    }
    free(entries);
    if (text.n > 0) {
        FAIL("%s", text.p);
    }
    dr_buf_deinit(&text);
    printf("%d scenarios, %lld runs\n", n, (long long)runs);
}

/* A hazard without a scenario has a test elsewhere: of forecasts (19), adapters and deployment (1, 7, 9, 36, 37), and of the table of keys (38, in test_config.c). */
TEST(scenario, every_hazard_has_a_file_of_its_number) {
    struct dirent **entries;
    int n = scandir(dr_test_path("tests/scenarios"), &entries, is_yaml, by_name);
    for (int hazard = 1; hazard <= 38; hazard++) {
        bool elsewhere = hazard == 1 || hazard == 7 || hazard == 9 || hazard == 19 || hazard >= 36;
        char prefix[32];
        snprintf(prefix, sizeof(prefix), "hazard-%02d-", hazard);
        bool found = false;
        for (int i = 0; i < n; i++) {
            found = found || strncmp(entries[i]->d_name, prefix, strlen(prefix)) == 0;
        }
        if (!found && !elsewhere) {
            FAIL("no scenario for hazard %d", hazard);
        }
    }
    for (int i = 0; i < n; i++) {
        free(entries[i]);
    }
    free(entries);
}

TEST(scenario, the_manual_has_the_reference_that_the_program_prints) {
    size_t n;
    char *manual = dr_test_read_file(dr_test_path("docs/scenarios.md"), &n);
    struct dr_buf reference;
    dr_buf_init(&reference, 0);
    dr_scenario_put_reference(&reference);
    if (strstr(manual, reference.p) == NULL) {
        FAIL("docs/scenarios.md is not up to date: replace its reference by the output of drover simulate --reference");
    }
    dr_buf_deinit(&reference);
    free(manual);
}
