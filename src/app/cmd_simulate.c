/* drover simulate: scenarios from files and folders in virtual time. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/commands.h"
#include "app/scenario.h"

#define MAX_FILES 5000
#define MAX_DEPTH 8
#define MAX_OUTPUT_BYTES ((size_t)256 << 20)

static const struct dr_option options[] = {
    {"seed", 0, "N", NULL, "instead of the seeds in the files"},
    {"series", 0, "SIGNAL=FILE", NULL, "a load trace (CSV: time, value) for this signal"},
    {"trace", 't', NULL, NULL, "every event of the world and every decision, as they happen"},
    {"reference", 0, NULL, NULL, "every key, verb, expectation and value, as Markdown"},
    DR_OPTION_OUTPUT,
    DR_OPTION_END,
};

struct files {
    struct dr_arena *arena;
    const char **v;
    size_t n;
};

struct simulation {
    struct dr_app *app;
    const struct dr_args *args;
    struct files files;
    size_t held;
    size_t failed;
    size_t wrong; /* files that could not be read */
    struct dr_jsonw json;
    struct dr_buf out;
};

/* ---- which files ---- */

static bool is_scenario(const char *name) { return dr_str_ends(dr_str_of(name), ".yaml") || dr_str_ends(dr_str_of(name), ".yml"); }

static int collect(struct simulation *sim, const char *path, int depth);

static int collect_folder(struct simulation *sim, const char *path, int depth) {
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0) {
        return dr_app_fail(sim->app, DR_EXIT_USAGE, "simulate: %s: %s", path, strerror(errno));
    }
    int code = DR_EXIT_OK;
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.' && code == DR_EXIT_OK) {
            const char *inner =
                dr_str_fmt(sim->app->arena, "%s%s%s", path, dr_str_ends(dr_str_of(path), "/") ? "" : "/", entries[i]->d_name).p;
            struct stat st;
            bool folder = stat(inner, &st) == 0 && S_ISDIR(st.st_mode);
            if (folder || is_scenario(inner)) {
                code = collect(sim, inner, depth + 1);
            }
        }
        free(entries[i]);
    }
    free(entries);
    return code;
}

static int collect(struct simulation *sim, const char *path, int depth) {
    struct stat st;
    if (stat(path, &st) < 0) {
        return dr_app_fail(sim->app, DR_EXIT_USAGE, "simulate: %s: %s", path, strerror(errno));
    }
    if (S_ISDIR(st.st_mode)) {
        if (depth > MAX_DEPTH) {
            return dr_app_fail(sim->app, DR_EXIT_USAGE, "simulate: %s: folders deeper than %d", path, MAX_DEPTH);
        }
        return collect_folder(sim, path, depth);
    }
    if (sim->files.n == MAX_FILES) {
        return dr_app_fail(sim->app, DR_EXIT_USAGE, "simulate: more than %d files", MAX_FILES);
    }
    sim->files.v[sim->files.n++] = path;
    return DR_EXIT_OK;
}

/* ---- one file ---- */

static void print_trace(void *self, const char *line) {
    struct simulation *sim = self;
    FILE *to = dr_args_json(sim->args) ? sim->app->err : sim->app->out;
    fputs(line, to);
    fputc('\n', to);
}

static void flush(struct simulation *sim) {
    if (!dr_args_json(sim->args)) {
        dr_app_print(sim->app, dr_buf_str(&sim->out));
        dr_buf_clear(&sim->out);
    }
}

static void progress(struct simulation *sim, size_t i) {
    if (sim->app->terminal && !dr_args_json(sim->args)) {
        fprintf(sim->app->out, "\r\x1b[K%zu/%zu %s\r", i + 1, sim->files.n, sim->files.v[i]);
        fflush(sim->app->out);
    }
}

static void clear_progress(struct simulation *sim) {
    if (sim->app->terminal && !dr_args_json(sim->args)) {
        fputs("\x1b[K", sim->app->out);
    }
}

static void simulate(struct simulation *sim, const char *file) {
    struct dr_arena arena;
    dr_arena_init(&arena, (size_t)1 << 30);
    const char *series[] = {dr_args_get(sim->args, "series")};
    struct dr_scenario_source source = {file, series, series[0] == NULL ? 0 : 1, dr_args_get(sim->args, "seed")};
    struct dr_reports *reports = DR_NEW(&arena, struct dr_reports);
    dr_reports_init(reports, &arena, file);
    struct dr_scenario *scenario = DR_NEW(&arena, struct dr_scenario);
    if (dr_scenario_read(&arena, &source, reports, scenario) < 0) {
        struct dr_buf buf;
        dr_buf_init(&buf, 0);
        dr_reports_put(reports, &buf);
        fputs(buf.p, sim->app->err);
        dr_buf_deinit(&buf);
        sim->wrong++;
        dr_arena_deinit(&arena);
        return;
    }
    struct dr_scenario_run_options run_options = {sim, dr_args_has(sim->args, "trace") ? print_trace : NULL};
    struct dr_scenario_result *result = DR_NEW(&arena, struct dr_scenario_result);
    dr_scenario_run(&arena, scenario, &run_options, result);
    sim->held += result->held;
    sim->failed += !result->held;
    clear_progress(sim);
    if (dr_args_json(sim->args)) {
        dr_scenario_put_json(scenario, result, &sim->json);
    } else {
        dr_scenario_put_text(scenario, result, false, &sim->out);
    }
    flush(sim);
    dr_arena_deinit(&arena);
}

static void finish(struct simulation *sim) {
    if (dr_args_json(sim->args)) {
        dr_jsonw_end(&sim->json);
        dr_jsonw_kv_i64(&sim->json, "held", (int64_t)sim->held);
        dr_jsonw_kv_i64(&sim->json, "failed", (int64_t)sim->failed);
        dr_jsonw_kv_i64(&sim->json, "wrong", (int64_t)sim->wrong);
        dr_jsonw_end(&sim->json);
        fwrite(sim->out.p, 1, sim->out.n, sim->app->out);
        fputc('\n', sim->app->out);
        return;
    }
    fprintf(sim->app->out, "%zu held, %zu failed", sim->held, sim->failed);
    if (sim->wrong > 0) {
        fprintf(sim->app->out, ", %zu with mistakes", sim->wrong);
    }
    fputc('\n', sim->app->out);
}

static int print_reference(struct dr_app *app) {
    struct dr_buf buf;
    dr_buf_init(&buf, 0);
    dr_scenario_put_reference(&buf);
    fwrite(buf.p, 1, buf.n, app->out);
    dr_buf_deinit(&buf);
    return DR_EXIT_OK;
}

static int run(struct dr_app *app, const struct dr_args *args) {
    if (dr_args_has(args, "reference")) {
        return print_reference(app);
    }
    if (args->operand_n == 0) {
        return dr_app_fail(app, DR_EXIT_USAGE, "simulate: a scenario file or a folder of them is missing: see drover simulate --help");
    }
    struct simulation sim = {.app = app, .args = args, .files = {.v = DR_NEW_N(app->arena, const char *, MAX_FILES)}};
    for (size_t i = 0; i < args->operand_n; i++) {
        int code = collect(&sim, args->operands[i], 0);
        if (code != DR_EXIT_OK) {
            return code;
        }
    }
    if (sim.files.n == 0) {
        return dr_app_fail(app, DR_EXIT_USAGE, "simulate: no scenario (*.yaml) in %s", args->operands[0]);
    }
    dr_buf_init(&sim.out, MAX_OUTPUT_BYTES);
    if (dr_args_json(args)) {
        dr_jsonw_init(&sim.json, &sim.out, 2);
        dr_jsonw_object(&sim.json);
        dr_jsonw_key(&sim.json, "scenarios");
        dr_jsonw_array(&sim.json);
    }
    for (size_t i = 0; i < sim.files.n; i++) {
        progress(&sim, i);
        simulate(&sim, sim.files.v[i]);
    }
    finish(&sim);
    dr_buf_deinit(&sim.out);
    return sim.wrong > 0 ? DR_EXIT_USAGE : sim.failed > 0 ? DR_EXIT_FAILED : DR_EXIT_OK;
}

const struct dr_command dr_cmd_simulate = {
    .name = "simulate",
    .summary = "run scenarios in virtual time and say what held, what it cost and who waited",
    .operands = "FILE|DIR ...",
    .details =
        "A folder is walked in the order of names. Exit code 1: an expectation failed or a promise was broken; 2: a file has mistakes.\n"
        "docs/scenarios.md describes the files.\n",
    .options = options,
    .operand_max = DR_MAX_OPERANDS,
    .run = run,
};
