/* The program as a person runs it: exit codes, messages, and what it says about a state file that the engine wrote. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapter/sqlite/sqlite.h"
#include "base/json.h"
#include "base/time.h"
#include "engine/tick.h"
#include "harness/test.h"
#include "sim/world.h"

#define MAX_ARGS 12
#define MAX_OUTPUT (1 << 22)

struct ran {
    int code; /* -1: ended by a signal */
    struct dr_buf out;
    struct dr_buf err;
};

static void ran_deinit(struct ran *r) {
    dr_buf_deinit(&r->out);
    dr_buf_deinit(&r->err);
}

static bool drain(int fd, struct dr_buf *buf) {
    char bytes[4096];
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n > 0) {
        dr_buf_put(buf, bytes, (size_t)n);
    }
    return n > 0;
}

static void start(const char *const *args, const int *out, const int *err) {
    char *argv[MAX_ARGS + 2] = {0};
    argv[0] = strdup("drover");
    for (size_t i = 0; args[i] != NULL; i++) {
        CHECK(i < MAX_ARGS);
        argv[i + 1] = strdup(args[i]);
    }
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    close(out[0]);
    close(out[1]);
    close(err[0]);
    close(err[1]);
    static const char *const variables[] = {"MIN_WORKERS", "MAX_WORKERS", "CPU_UP", "CPU_DOWN", "DROVER_STATE"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        unsetenv(variables[i]); /* of whoever runs the tests */
    }
    execv(dr_test_program(), argv);
    _exit(127);
}

/* Runs the program and waits for it; both outputs are read as they come, so that neither can fill its pipe. */
static struct ran run(const char *const *args) {
    struct ran r = {.code = -1};
    dr_buf_init(&r.out, MAX_OUTPUT);
    dr_buf_init(&r.err, MAX_OUTPUT);
    int out[2];
    int err[2];
    CHECK(dr_test_program() != NULL);
    CHECK_EQ_INT(pipe(out), 0);
    CHECK_EQ_INT(pipe(err), 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        start(args, out, err);
    }
    close(out[1]);
    close(err[1]);
    struct pollfd fds[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        CHECK(poll(fds, 2, -1) > 0);
        for (int i = 0; i < 2; i++) {
            if (fds[i].fd >= 0 && fds[i].revents != 0 && !drain(fds[i].fd, i == 0 ? &r.out : &r.err)) {
                close(fds[i].fd);
                fds[i].fd = -1;
            }
        }
    }
    int status = 0;
    CHECK_EQ_INT(waitpid(child, &status, 0), child);
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return r;
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

static void check_json(struct dr_str text) {
    struct dr_json json;
    struct dr_err err = {.code = DR_OK};
    dr_json_init(&json, text, 0);
    CHECK_OK(dr_json_skip(&json, &err), err);
    CHECK_OK(dr_json_end(&json, &err), err);
}

/* ---- usage ---- */

TEST(cli, help_and_version_are_results) {
    struct ran r = RUN("--help");
    CHECK_EQ_INT(r.code, 0);
    CHECK_CONTAINS(dr_buf_str(&r.out), "usage: drover COMMAND [options]");
    CHECK_CONTAINS(dr_buf_str(&r.out), "\n  config ");
    CHECK_EQ_INT(r.err.n, 0);
    ran_deinit(&r);
    r = RUN("--version");
    CHECK_EQ_INT(r.code, 0);
    CHECK(dr_str_starts(dr_buf_str(&r.out), "drover 0."));
    ran_deinit(&r);
    r = RUN("config", "--help");
    CHECK_EQ_INT(r.code, 0);
    CHECK_CONTAINS(dr_buf_str(&r.out), "-c, --config FILE");
    ran_deinit(&r);
    r = RUN("help", "explain");
    CHECK_EQ_INT(r.code, 0);
    CHECK_CONTAINS(dr_buf_str(&r.out), "usage: drover explain");
    ran_deinit(&r);
}

TEST(cli, every_command_has_help_and_says_what_it_does) {
    struct ran all = RUN("--help");
    const char *line = strstr(all.out.p, "\n\n  ");
    CHECK(line != NULL);
    size_t commands = 0;
    for (line += 2; line[0] == ' ' && line[1] == ' '; line = strchr(line, '\n') + 1) {
        char name[32];
        CHECK_EQ_INT(sscanf(line, " %31s", name), 1);
        struct ran r = RUN(name, "--help");
        CHECK_EQ_INT(r.code, 0);
        CHECK_CONTAINS(dr_buf_str(&r.out), "usage: drover ");
        ran_deinit(&r);
        commands++;
    }
    CHECK(commands >= 5);
    ran_deinit(&all);
}

TEST(cli, wrong_usage_is_exit_2_with_the_nearest_name) {
    static const struct {
        const char *args[6];
        const char *expected;
    } cases[] = {
        {{NULL}, "usage: drover COMMAND"},
        {{"confg", NULL}, "unknown command: confg; did you mean config?"},
        {{"frobnicate", NULL}, "unknown command: frobnicate (see drover --help)"},
        {{"--hlp", NULL}, "unknown option: --hlp"},
        {{"help", "statsu", NULL}, "unknown command: statsu; did you mean status?"},
        {{"config", "--prset", "strict", NULL}, "config: unknown option: --prset; did you mean --preset?"},
        {{"config", "--prset=strict", NULL}, "config: unknown option: --prset; did you mean --preset?"},
        {{"config", "-z", NULL}, "config: unknown option: -z"},
        {{"config", "--preset", NULL}, "config: needs a value: --preset"},
        {{"config", "--schema=1", NULL}, "config: takes no value: --schema=1"},
        {{"config", "-o", "xml", NULL}, "config: --output must be one of text|json: xml"},
        {{"config", "-o", "json", "-o", "json", NULL}, "config: given twice: output"},
        {{"config", "extra", NULL}, "config: one argument too many: extra"},
        {{"config", "--preset", "fast", NULL}, "--preset must be one of default|strict|simple|layered: fast"},
        {{"config", "--reference", "--schema", NULL}, "--reference and --schema at once"},
        {{"config", "--reference", "-o", "json", NULL}, "--reference is Markdown"},
        {{"completion", NULL}, "name a shell: bash"},
        {{"completion", "fish", NULL}, "fish: only bash is supported"},
        {{"history", "--limit", "0", NULL}, "--limit: 0: must be a whole number from 1 to"},
        {{"explain", NULL}, "explain: what? --at TIME, action ID, node NAME or pod NAMESPACE/NAME"},
        {{"explain", "nod", "x", NULL}, "explain: nod: must be action, node or pod; did you mean node?"},
        {{"explain", "pod", "web", NULL}, "explain: pod web: must be NAMESPACE/NAME"},
        {{"explain", "pod", "a/b/c", NULL}, "explain: pod a/b/c: must be NAMESPACE/NAME"},
        {{"explain", "node", "x", "--at", "20:04", NULL}, "explain: what?"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ran r = run(cases[i].args);
        if (r.code != 2) {
            FAIL("case %zu: exit %d: %s", i, r.code, r.err.p == NULL ? "" : r.err.p);
        }
        CHECK_CONTAINS(dr_buf_str(&r.err), cases[i].expected);
        CHECK_EQ_INT(r.out.n, 0);
        ran_deinit(&r);
    }
}

TEST(cli, what_was_typed_cannot_drive_the_terminal) {
    struct ran r = RUN("\033[31mred");
    CHECK_EQ_INT(r.code, 2);
    CHECK_CONTAINS(dr_buf_str(&r.err), "?[31mred");
    CHECK(strchr(r.err.p, '\033') == NULL);
    ran_deinit(&r);
}

/* ---- config ---- */

static const char *config_file(const char *text) {
    static char path[600];
    snprintf(path, sizeof(path), "%s/drover.yaml", dr_test_tmpdir());
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
    return path;
}

TEST(cli, config_prints_values_with_their_origin) {
    const char *path = config_file("minWorkers: 3\nscaleUp:\n  cooldown: 4m\n");
    struct ran r = RUN("config", "-c", path, "--preset", "strict");
    CHECK_EQ_INT(r.code, 0);
    CHECK_CONTAINS(dr_buf_str(&r.out), "preset: strict                          # command line\n");
    char line[700];
    snprintf(line, sizeof(line), "minWorkers: 3                           # %s:1\n", path);
    CHECK_CONTAINS(dr_buf_str(&r.out), line);
    CHECK_CONTAINS(dr_buf_str(&r.out), "  match: all                            # preset strict\n");
    CHECK_CONTAINS(dr_buf_str(&r.out), "maxWorkers: 10                          # default\n");
    CHECK_EQ_INT(r.err.n, 0);
    ran_deinit(&r);
    r = RUN("config", "-c", path, "-o", "json");
    CHECK_EQ_INT(r.code, 0);
    check_json(dr_buf_str(&r.out));
    CHECK_CONTAINS(dr_buf_str(&r.out), "\"value\": \"4m\"");
    ran_deinit(&r);
}

TEST(cli, wrong_configuration_is_exit_2_with_all_mistakes) {
    const char *path = config_file("minWorkers: x\nmaxWorker: 3\n");
    struct ran r = RUN("config", "-c", path);
    CHECK_EQ_INT(r.code, 2);
    CHECK_EQ_INT(r.out.n, 0);
    char expected[1500];
    snprintf(expected, sizeof(expected),
             "%s:1:13: minWorkers: x: must be a whole number of workers from 0 to 1000\n%s:2:1: maxWorker: unknown key; did you mean "
             "maxWorkers?\n",
             path, path);
    CHECK_EQ_CSTR(r.err.p, expected);
    ran_deinit(&r);
    r = RUN("config", "-c", "no-such-file.yaml");
    CHECK_EQ_INT(r.code, 2);
    CHECK_EQ_CSTR(r.err.p, "no-such-file.yaml: cannot be opened: No such file or directory\n");
    ran_deinit(&r);
}

TEST(cli, reference_equals_the_page_in_docs) {
    struct ran r = RUN("config", "--reference");
    CHECK_EQ_INT(r.code, 0);
    size_t n = 0;
    char *page = dr_test_read_file(dr_test_path("docs/configuration.md"), &n);
    CHECK_EQ_INT(r.out.n, n);
    CHECK(memcmp(r.out.p, page, n) == 0);
    free(page);
    ran_deinit(&r);
}

TEST(cli, schema_is_json) {
    struct ran r = RUN("config", "--schema");
    CHECK_EQ_INT(r.code, 0);
    check_json(dr_buf_str(&r.out));
    CHECK_CONTAINS(dr_buf_str(&r.out), "\"additionalProperties\": false");
    ran_deinit(&r);
}

TEST(cli, completion_is_a_script_that_bash_accepts) {
    struct ran r = RUN("completion", "bash");
    CHECK_EQ_INT(r.code, 0);
    char path[600];
    snprintf(path, sizeof(path), "%s/completion", dr_test_tmpdir());
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    fwrite(r.out.p, 1, r.out.n, file);
    fputs("COMP_WORDS=(drover exp); COMP_CWORD=1; _drover; echo ${COMPREPLY[*]}\n"
          "COMP_WORDS=(drover config --pre); COMP_CWORD=2; _drover; echo ${COMPREPLY[*]}\n"
          "COMP_WORDS=(drover config -o j); COMP_CWORD=3; _drover; echo ${COMPREPLY[*]}\n"
          "COMP_WORDS=(drover config --preset s); COMP_CWORD=3; _drover; echo ${COMPREPLY[*]}\n"
          "COMP_WORDS=(drover explain ''); COMP_CWORD=2; _drover; echo ${COMPREPLY[*]}\n"
          "COMP_WORDS=(drover explain --a); COMP_CWORD=2; _drover; echo ${COMPREPLY[*]}\n",
          file);
    fclose(file);
    char command[700];
    snprintf(command, sizeof(command), "bash %s", path);
    FILE *answer = popen(command, "r");
    CHECK(answer != NULL);
    char text[200] = "";
    size_t n = fread(text, 1, sizeof(text) - 1, answer);
    text[n] = '\0';
    CHECK_EQ_INT(pclose(answer), 0);
    CHECK_EQ_CSTR(text, "explain\n--preset\njson\nstrict simple\naction node pod\n--at\n");
    ran_deinit(&r);
}

/* ---- outputs that fail ---- */

/* Starts the program with that standard output and gives its exit code and what it says. */
static struct ran run_into(int fd, const char *const *args) {
    struct ran r = {.code = -1};
    dr_buf_init(&r.out, 16);
    dr_buf_init(&r.err, MAX_OUTPUT);
    int out[2] = {open("/dev/null", O_RDONLY), fd};
    int err[2];
    CHECK_EQ_INT(pipe(err), 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        start(args, out, err);
    }
    close(err[1]);
    while (drain(err[0], &r.err)) {}
    close(err[0]);
    close(out[0]);
    int status = 0;
    CHECK_EQ_INT(waitpid(child, &status, 0), child);
    r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return r;
}

TEST(cli, reader_that_went_away_is_no_failure) {
    int gone[2];
    CHECK_EQ_INT(pipe(gone), 0);
    close(gone[0]);
    static const char *const args[] = {"config", "--reference", NULL};
    struct ran r = run_into(gone[1], args);
    CHECK_EQ_INT(r.code, 0);
    CHECK_EQ_INT(r.err.n, 0);
    close(gone[1]);
    ran_deinit(&r);
}

TEST(cli, full_disk_under_the_output_is_a_failure) {
    int full = open("/dev/full", O_WRONLY);
    CHECK(full >= 0);
    static const char *const outputs[][4] = {{"config", "--reference", NULL}, {"--version", NULL}};
    for (size_t i = 0; i < 2; i++) {
        struct ran r = run_into(full, outputs[i]);
        CHECK_EQ_INT(r.code, 1);
        CHECK_CONTAINS(dr_buf_str(&r.err), "drover: output: No space left on device");
        ran_deinit(&r);
    }
    close(full);
}

/* ---- a state file ---- */

struct fleet {
    struct dr_world *world;
    struct dr_sqlite *handle;
    struct dr_ports ports;
    struct dr_config cfg;
    struct dr_arena arena;
    struct dr_arena later;
    int64_t start_ms;
    int tick_n;
    char path[600];
};

/* Two workers in two zones with a deployment each of them could carry, 20:00 on a virtual day; state in a file. */
static void fleet_init(struct fleet *f) {
    struct dr_err err;
    CHECK(dr_time_parse(DR_STR("2026-11-15T20:00:00Z"), &f->start_ms));
    struct dr_world_options options;
    dr_world_options_init(&options, 1);
    options.start_ms = f->start_ms;
    options.cluster = DR_STR("shop");
    options.check = false; /* the world looks at its own store, which is not used here */
    f->world = dr_world_new(&options, &err);
    CHECK(f->world != NULL);
    for (int i = 0; i < 2; i++) {
        struct dr_world_worker worker = {.age_ms = DR_HOUR_MS};
        dr_world_add_worker(f->world, &worker);
    }
    struct dr_world_workload web = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "web", 4, 100, 64 << 20);
    CHECK_OK(dr_world_add_workload(f->world, &web, &err), err);
    dr_world_series(f->world, DR_STR("cpu"), f->start_ms - DR_HOUR_MS, 500000);
    dr_world_series(f->world, DR_STR("memory"), f->start_ms - DR_HOUR_MS, 300000);
    snprintf(f->path, sizeof(f->path), "%s/state.db", dr_test_tmpdir());
    CHECK_OK(dr_sqlite_open(f->path, DR_SQLITE_WRITE, &f->handle, &err), err);
    f->ports = dr_world_ports(f->world, 0);
    f->ports.store = dr_sqlite_store(f->handle);
    dr_config_init(&f->cfg, DR_PRESET_DEFAULT);
    f->cfg.cluster = DR_STR("shop");
    dr_arena_init(&f->arena, 0);
    dr_arena_init(&f->later, 0);
    f->tick_n = 0;
}

static void fleet_deinit(struct fleet *f) {
    dr_sqlite_close(f->handle);
    dr_world_free(f->world);
    dr_arena_deinit(&f->arena);
    dr_arena_deinit(&f->later);
}

/* A tick every two minutes until so many minutes after 20:00. */
static void fleet_run(struct fleet *f, int64_t until_minute) {
    while (dr_world_now(f->world) < f->start_ms + until_minute * DR_MINUTE_MS) {
        int64_t now = dr_world_now(f->world);
        char request[32];
        snprintf(request, sizeof(request), "t%04d", ++f->tick_n);
        struct dr_tick_options options = {.request_id = dr_str_of(request), .deadline_ms = now + f->cfg.tick_limit_ms, .later = &f->later};
        struct dr_tick_report report;
        dr_arena_reset(&f->arena);
        dr_tick(&f->ports, &f->cfg, &options, &f->arena, &report);
        CHECK(dr_world_advance(f->world, now + f->cfg.interval_ms));
    }
}

/* Quiet, then load from 20:10 to 20:30, then idle until 22:30. */
static void fleet_story(struct fleet *f) {
    dr_world_series(f->world, DR_STR("cpu"), f->start_ms + 10 * DR_MINUTE_MS, 850000);
    dr_world_series(f->world, DR_STR("cpu"), f->start_ms + 30 * DR_MINUTE_MS, 200000);
    fleet_run(f, 150);
}

/* First word after the text, copied. */
static const char *word_after(struct dr_str text, const char *before) {
    static char word[128];
    const char *p = strstr(text.p, before);
    if (p == NULL) {
        FAIL("no \"%s\" in \"%.*s\"", before, DR_FMT(text));
    }
    CHECK_EQ_INT(sscanf(p + strlen(before), "%127[^ ,:\n]", word), 1);
    return word;
}

TEST(cli, history_tells_the_decisions_in_order) {
    struct fleet f;
    fleet_init(&f);
    fleet_story(&f);
    struct ran r = RUN("history", "--state", f.path);
    CHECK_EQ_INT(r.code, 0);
    struct dr_str out = dr_buf_str(&r.out);
    CHECK_CONTAINS(out, "scale_up +1: cpu 85% > 70% for 3m");
    CHECK_CONTAINS(out, "scale_down -1 idle: cpu 20% < 30%");
    CHECK(strstr(r.out.p, "scale_up") < strstr(r.out.p, "scale_down"));
    ran_deinit(&r);
    r = RUN("history", "--state", f.path, "--limit", "1");
    CHECK_EQ_INT(r.code, 0);
    CHECK_EQ_INT(strchr(r.out.p, '\n') - r.out.p + 1, r.out.n);
    ran_deinit(&r);
    r = RUN("history", "--state", f.path, "--from", "20:00", "--to", "2026-11-15 20:10");
    CHECK_EQ_INT(r.code, 0);
    CHECK(strstr(r.out.p, "scale_up") == NULL);
    ran_deinit(&r);
    r = RUN("history", "--state", f.path, "--actions", "-o", "json");
    CHECK_EQ_INT(r.code, 0);
    check_json(dr_buf_str(&r.out));
    CHECK_CONTAINS(dr_buf_str(&r.out), "\"verdict\":\"scale_up\"");
    CHECK(strstr(r.out.p, "\"within_limits\"") == NULL); /* nothing was done in that one */
    ran_deinit(&r);
    fleet_deinit(&f);
}

TEST(cli, explain_at_a_time_gives_rules_with_numbers) {
    struct fleet f;
    fleet_init(&f);
    fleet_story(&f);
    struct ran history = RUN("history", "--state", f.path, "--actions");
    char when[32];
    CHECK_EQ_INT(sscanf(history.out.p, "%31s", when), 1);
    struct ran r = RUN("explain", "--state", f.path, "--at", when);
    CHECK_EQ_INT(r.code, 0);
    CHECK_CONTAINS(dr_buf_str(&r.out), "scale_up +1: cpu 85% > 70% for 3m");
    CHECK_CONTAINS(dr_buf_str(&r.out), "memory 30% not > 75%");
    CHECK_CONTAINS(dr_buf_str(&r.out), "minimum 2, maximum 10");
    ran_deinit(&r);
    r = RUN("explain", "--state", f.path, "--at", "20:09", "-o", "json");
    CHECK_EQ_INT(r.code, 0);
    check_json(dr_buf_str(&r.out));
    ran_deinit(&r);
    r = RUN("explain", "--state", f.path, "--at", "20:09");
    CHECK_CONTAINS(dr_buf_str(&r.out), "The last record at 2026-11-15T20:09:00Z is ");
    ran_deinit(&r);
    r = RUN("explain", "--state", f.path, "--at", "2026-11-01 00:00");
    CHECK_EQ_INT(r.code, 1);
    CHECK_CONTAINS(dr_buf_str(&r.err), "nothing is recorded at or before that time");
    ran_deinit(&r);
    r = RUN("explain", "--state", f.path, "--at", "teatime");
    CHECK_EQ_INT(r.code, 2);
    CHECK_CONTAINS(dr_buf_str(&r.err), "--at: teatime: must be a time such as");
    ran_deinit(&r);
    ran_deinit(&history);
    fleet_deinit(&f);
}

TEST(cli, explain_action_tells_its_reason_deeds_and_end) {
    struct fleet f;
    fleet_init(&f);
    fleet_story(&f);
    struct ran history = RUN("history", "--state", f.path, "--actions");
    char id[128];
    snprintf(id, sizeof(id), "%s", word_after(dr_buf_str(&history.out), "begin scale-up "));
    struct ran r = RUN("explain", "--state", f.path, "action", id);
    CHECK_EQ_INT(r.code, 0);
    struct dr_str out = dr_buf_str(&r.out);
    CHECK_CONTAINS(out, "decided: scale_up +1: cpu 85% > 70% for 3m");
    CHECK_CONTAINS(out, "launch ");
    CHECK_CONTAINS(out, "complete scale-up");
    CHECK_CONTAINS(out, "now: it has ended");
    ran_deinit(&r);
    r = RUN("explain", "--state", f.path, "action", id, "-o", "json");
    CHECK_EQ_INT(r.code, 0);
    check_json(dr_buf_str(&r.out));
    ran_deinit(&r);
    r = RUN("explain", "--state", f.path, "action", "0-none");
    CHECK_EQ_INT(r.code, 1);
    CHECK_CONTAINS(dr_buf_str(&r.err), "nothing is recorded about action 0-none; the last ones are ");
    CHECK_CONTAINS(dr_buf_str(&r.err), id);
    ran_deinit(&r);
    ran_deinit(&history);
    fleet_deinit(&f);
}

TEST(cli, explain_node_tells_why_it_was_removed) {
    struct fleet f;
    fleet_init(&f);
    fleet_story(&f);
    struct ran history = RUN("history", "--state", f.path, "--actions");
    char id[128];
    snprintf(id, sizeof(id), "%s", word_after(dr_buf_str(&history.out), ", terminate "));
    struct ran r = RUN("explain", "--state", f.path, "node", id);
    CHECK_EQ_INT(r.code, 0);
    struct dr_str out = dr_buf_str(&r.out);
    CHECK_CONTAINS(out, "chosen for removal: scale_down -1 idle");
    CHECK_CONTAINS(out, "cordon ");
    CHECK_CONTAINS(out, "mark ");
    CHECK_CONTAINS(out, "terminate ");
    char node[128];
    snprintf(node, sizeof(node), "%s", word_after(out, "cordon "));
    ran_deinit(&r);
    r = RUN("explain", "--state", f.path, "node", node);
    CHECK_EQ_INT(r.code, 0);
    char line[300];
    snprintf(line, sizeof(line), "Node %s is instance %s:\n", node, id);
    CHECK_CONTAINS(dr_buf_str(&r.out), line);
    CHECK_CONTAINS(dr_buf_str(&r.out), "terminate ");
    ran_deinit(&r);
    r = RUN("explain", "--state", f.path, "node", "ip-1-2-3-4");
    CHECK_EQ_INT(r.code, 1);
    ran_deinit(&r);
    ran_deinit(&history);
    fleet_deinit(&f);
}

TEST(cli, explain_pod_tells_how_long_it_waited_and_what_followed) {
    struct fleet f;
    fleet_init(&f);
    struct dr_err err;
    fleet_run(&f, 4);
    struct dr_world_workload big = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "big", 3, 1200, 64 << 20);
    CHECK_OK(dr_world_add_workload(f.world, &big, &err), err);
    fleet_run(&f, 20);
    struct ran all = RUN("history", "--state", f.path, "-o", "json");
    CHECK_CONTAINS(dr_buf_str(&all.out), "\"oldest\":{\"namespace\":\"default\",\"name\":\"big-");
    char pod[160];
    snprintf(pod, sizeof(pod), "default/%s", word_after(dr_buf_str(&all.out), "\"oldest\":{\"namespace\":\"default\",\"name\":\""));
    pod[strcspn(pod, "\"")] = '\0';
    struct ran r = RUN("explain", "--state", f.path, "pod", pod);
    CHECK_EQ_INT(r.code, 0);
    CHECK_CONTAINS(dr_buf_str(&r.out), "waited for ");
    CHECK_CONTAINS(dr_buf_str(&r.out), ", a new worker would help it (");
    CHECK_CONTAINS(dr_buf_str(&r.out), "decision: scale_up +1: 1 pod pending for ");
    ran_deinit(&r);
    r = RUN("explain", "--state", f.path, "pod", "default/none");
    CHECK_EQ_INT(r.code, 1);
    CHECK_CONTAINS(dr_buf_str(&r.err), "nothing is recorded about pod default/none");
    ran_deinit(&r);
    ran_deinit(&all);
    fleet_deinit(&f);
}

TEST(cli, status_shows_the_action_under_way_while_the_writer_runs) {
    struct fleet f;
    fleet_init(&f);
    dr_world_series(f.world, DR_STR("cpu"), f.start_ms, 850000);
    fleet_run(&f, 6); /* three minutes of load, and the launch has not joined */
    struct ran r = RUN("status", "--state", f.path);
    CHECK_EQ_INT(r.code, 0);
    struct dr_str out = dr_buf_str(&r.out);
    CHECK_CONTAINS(out, "cluster shop: ");
    CHECK_CONTAINS(out, "(minimum 2, maximum 10)");
    CHECK_CONTAINS(out, "action: scale-up ");
    CHECK_CONTAINS(out, "1 requested");
    CHECK_CONTAINS(out, "last decision: 2026-11-15T20:");
    ran_deinit(&r);
    r = RUN("status", "--state", f.path, "-o", "json");
    CHECK_EQ_INT(r.code, 0);
    check_json(dr_buf_str(&r.out));
    CHECK_CONTAINS(dr_buf_str(&r.out), "\"kind\": \"scale_up\"");
    ran_deinit(&r);
    fleet_deinit(&f);
}

static void store_item(const char *path, const char *body) {
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_OK(dr_sqlite_open(path, DR_SQLITE_WRITE, &handle, &err), err);
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_state state;
    enum dr_cas outcome = DR_CAS_LOST;
    CHECK_OK(dr_state_decode(&arena, dr_str_of(body), &state, &err), err);
    CHECK_OK(store.ops->cas(store.self, &state, 0, &outcome, &err), err);
    CHECK_EQ_INT(outcome, DR_CAS_OK);
    dr_arena_deinit(&arena);
    dr_sqlite_close(handle);
}

TEST(cli, item_with_wrong_types_is_exit_3_and_says_what_to_do) {
    char path[600];
    snprintf(path, sizeof(path), "%s/state.db", dr_test_tmpdir());
    store_item(path, "{\"pk\":{\"S\":\"cluster\"},\"workerCount\":{\"N\":\"4\"},\"scaleUpActionId\":{\"N\":\"7\"}}");
    struct ran r = RUN("status", "--state", path);
    CHECK_EQ_INT(r.code, 3);
    CHECK_CONTAINS(dr_buf_str(&r.out), "problem: scaleUpActionId: ");
    CHECK_CONTAINS(dr_buf_str(&r.err), "nothing is done until a person");
    ran_deinit(&r);
}

TEST(cli, state_file_without_anything_says_so) {
    char path[600];
    snprintf(path, sizeof(path), "%s/state.db", dr_test_tmpdir());
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_OK(dr_sqlite_open(path, DR_SQLITE_WRITE, &handle, &err), err);
    dr_sqlite_close(handle);
    struct ran r = RUN("status", "--state", path);
    CHECK_EQ_INT(r.code, 0);
    CHECK_EQ_CSTR(r.out.p, "cluster cluster: nothing is stored yet\n");
    ran_deinit(&r);
    r = RUN("history", "--state", path);
    CHECK_EQ_INT(r.code, 0);
    CHECK_EQ_CSTR(r.out.p, "nothing is recorded\n");
    ran_deinit(&r);
    r = RUN("history", "--state", path, "-o", "json");
    CHECK_EQ_CSTR(r.out.p, "[]\n");
    ran_deinit(&r);
}

TEST(cli, state_files_that_cannot_be_used_are_named_and_left) {
    char path[600];
    snprintf(path, sizeof(path), "%s/notes.txt", dr_test_tmpdir());
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    fputs("these are my notes\n", file);
    fclose(file);
    static const char *const commands[] = {"status", "history"};
    for (size_t i = 0; i < 2; i++) {
        struct ran r = RUN(commands[i], "--state", path);
        CHECK_EQ_INT(r.code, 1);
        CHECK_CONTAINS(dr_buf_str(&r.err), "notes.txt: ");
        CHECK_CONTAINS(dr_buf_str(&r.err), "not a state file");
        ran_deinit(&r);
    }
    size_t n = 0;
    char *now = dr_test_read_file(path, &n);
    CHECK_EQ_CSTR(now, "these are my notes\n");
    free(now);
    struct ran r = RUN("status", "--state", "no/such.db");
    CHECK_EQ_INT(r.code, 1);
    CHECK_CONTAINS(dr_buf_str(&r.err), "no/such.db: there is no such file; name the state file with --state FILE");
    ran_deinit(&r);
}

TEST(cli, journal_row_that_is_not_a_plan_is_an_error_that_names_it) {
    char path[600];
    snprintf(path, sizeof(path), "%s/state.db", dr_test_tmpdir());
    store_item(path, "{\"pk\":{\"S\":\"cluster\"},\"workerCount\":{\"N\":\"4\"}}");
    struct dr_sqlite *handle = NULL;
    struct dr_err err;
    CHECK_OK(dr_sqlite_open(path, DR_SQLITE_WRITE, &handle, &err), err);
    struct dr_store store = dr_sqlite_store(handle);
    struct dr_journal_row row = {1000, DR_STR("r7"), 3, DR_STR("{\"at\":")};
    CHECK_OK(store.ops->journal_put(store.self, DR_STR("cluster"), &row, INT64_MAX, 0, &err), err);
    dr_sqlite_close(handle);
    struct ran r = RUN("history", "--state", path);
    CHECK_EQ_INT(r.code, 1);
    CHECK_CONTAINS(dr_buf_str(&r.err), "journal row 1000 r7 3: ");
    ran_deinit(&r);
}
