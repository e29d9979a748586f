/* drover check: the doctor. */
#include "app/check.h"
#include "app/commands.h"
#include "app/session.h"

#define MAX_OUTPUT_BYTES ((size_t)4 * 1024 * 1024)

static const struct dr_option options[] = {
    DR_OPTION_CONFIG,
    {"create", 0, NULL, NULL, "make the DynamoDB tables, or what is missing of them"},
    DR_OPTION_OUTPUT,
    DR_OPTION_END,
};

/* Each as it is found: a call that hangs should not hide what is known already. */
static void tell(void *self, const struct dr_finding *finding) {
    struct dr_app *app = self;
    static const char *const signs[] = {"ok  ", "warn", "FAIL"};
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};
    fprintf(app->out, "%s%s%s %-11s ", app->colour ? colours[finding->level] : "", signs[finding->level], app->colour ? "\033[0m" : "",
            finding->area);
    dr_app_print(app, finding->what);
    fputc('\n', app->out);
    if (finding->remedy.n > 0) {
        fputs("                 ", app->out);
        dr_app_print(app, finding->remedy);
        fputc('\n', app->out);
    }
    fflush(app->out);
}

static void put_json(struct dr_app *app, const struct dr_check *check) {
    struct dr_buf buf;
    dr_buf_init(&buf, MAX_OUTPUT_BYTES);
    struct dr_jsonw w;
    dr_jsonw_init(&w, &buf, 2);
    dr_jsonw_object(&w);
    dr_jsonw_kv_i64(&w, "failures", (int64_t)check->failed);
    dr_jsonw_kv_i64(&w, "warnings", (int64_t)check->warned);
    dr_jsonw_key(&w, "findings");
    dr_jsonw_array(&w);
    for (const struct dr_finding *finding = check->first; finding != NULL; finding = finding->next) {
        dr_jsonw_object(&w);
        dr_jsonw_kv_cstr(&w, "level", dr_finding_level_name(finding->level));
        dr_jsonw_kv_cstr(&w, "area", finding->area);
        dr_jsonw_kv_str(&w, "what", finding->what);
        if (finding->remedy.n > 0) {
            dr_jsonw_kv_str(&w, "remedy", finding->remedy);
        }
        dr_jsonw_end(&w);
    }
    dr_jsonw_end(&w);
    dr_jsonw_end(&w);
    dr_buf_putc(&buf, '\n');
    dr_app_print(app, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
}

static int run(struct dr_app *app, const struct dr_args *args) {
    struct dr_session session;
    int code = dr_session_open(&session, app, args, 0, false);
    if (code != 0) {
        return code;
    }
    struct dr_check check;
    dr_check_init(&check, &session.live, app->arena);
    check.create = dr_args_has(args, "create");
    if (!dr_args_json(args)) {
        check.told = tell;
        check.self = app;
    }
    dr_check_run(&check);
    if (dr_args_json(args)) {
        put_json(app, &check);
    } else {
        fprintf(app->out, "%zu failures, %zu warnings\n", check.failed, check.warned);
    }
    dr_session_close(&session);
    return check.failed == 0 ? DR_EXIT_OK : DR_EXIT_FAILED;
}

const struct dr_command dr_cmd_check = {
    .name = "check",
    .summary = "the doctor: connections, permissions, node identity, clocks, tables, queries, launch template",
    .operands = "",
    .details = "Asks whether launches and terminations would be allowed without doing them. Changes nothing but with --create.\n"
               "Exit 1: something would stop a pass; a warning does not.\n",
    .options = options,
    .run = run,
};
