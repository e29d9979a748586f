/* drover status: the item of a state file and the last recorded decision. */
#include "app/commands.h"
#include "app/session.h"
#include "app/state_file.h"
#include "app/status.h"

#define MAX_OUTPUT_BYTES ((size_t)4 * 1024 * 1024)

static const struct dr_option options[] = {DR_OPTION_CONFIG, DR_OPTION_STATE, DR_OPTION_CLUSTER, DR_OPTION_OUTPUT, DR_OPTION_END};

static void print(struct dr_app *app, const struct dr_args *args, const struct dr_state_file *file, const struct dr_plan *last,
                  struct dr_str last_json) {
    struct dr_buf buf;
    dr_buf_init(&buf, MAX_OUTPUT_BYTES);
    if (dr_args_json(args)) {
        struct dr_jsonw w;
        dr_jsonw_init(&w, &buf, 2);
        dr_status_json(&file->state, last_json, &w);
        dr_buf_putc(&buf, '\n');
    } else {
        dr_status_text(&file->state, last, &buf);
    }
    dr_app_print(app, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
}

static int run(struct dr_app *app, const struct dr_args *args) {
    struct dr_state_file file;
    int code = dr_state_file_open(app, args, &file);
    if (code != 0) {
        return code;
    }
    struct dr_history history;
    dr_history_init(&history, &file);
    history.newest_first = true;
    const struct dr_journal_row *row = NULL;
    struct dr_err err;
    int found = dr_history_next(&history, &row, &err);
    if (found < 0) {
        code = dr_app_fail(app, DR_EXIT_FAILED, "%s", err.text);
    } else {
        print(app, args, &file, found > 0 ? &history.plan : NULL, found > 0 ? row->json : DR_STR_NONE);
    }
    if (code == 0 && dr_state_blocked(&file.state)) {
        code = dr_app_fail(
            app, DR_EXIT_REFUSED,
            "%s: the item has attributes of the wrong type that describe an action, a mark or the lease; nothing is done until a person\n"
            "has corrected or removed them (status lists them as problems)",
            file.path);
    }
    dr_history_deinit(&history);
    dr_state_file_close(&file);
    return code;
}

const struct dr_command dr_cmd_status = {
    .name = "status",
    .summary = "the fleet as its state has it: workers, the action under way, the last decision",
    .operands = "",
    .options = options,
    .run = run,
};
