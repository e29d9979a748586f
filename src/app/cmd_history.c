/* drover history: the recorded decisions, one line each. */
#include <string.h>

#include "app/commands.h"
#include "app/session.h"
#include "app/state_file.h"
#include "app/when.h"
#include "base/time.h"

#define DEFAULT_LIMIT 50
#define MAX_LIMIT 100000
#define LINE_BYTES 8192

static const struct dr_option options[] = {
    DR_OPTION_CONFIG,
    DR_OPTION_STATE,
    DR_OPTION_CLUSTER,
    {"from", 0, "TIME", NULL, "not before this time"},
    {"to", 0, "TIME", NULL, "before this time"},
    {"limit", 'n', "N", NULL, "at most so many, the newest (default 50)"},
    {"actions", 'a', NULL, NULL, "only passes that did something"},
    DR_OPTION_OUTPUT,
    DR_OPTION_END,
};

struct line {
    struct dr_str text; /* or the stored JSON */
    struct line *older;
};

static int parse_limit(struct dr_app *app, const struct dr_args *args, size_t *ret) {
    const char *text = dr_args_get(args, "limit");
    int64_t limit = DEFAULT_LIMIT;
    if (text != NULL && (!dr_str_to_i64(dr_str_of(text), &limit) || limit < 1 || limit > MAX_LIMIT)) {
        return dr_app_fail(app, DR_EXIT_USAGE, "history: --limit: %s: must be a whole number from 1 to %d", text, MAX_LIMIT);
    }
    *ret = (size_t)limit;
    return 0;
}

static struct dr_str line_of(struct dr_arena *arena, const struct dr_plan *plan) {
    struct dr_buf buf;
    dr_buf_init(&buf, LINE_BYTES);
    dr_time_put(&buf, plan->at_ms);
    dr_buf_puts(&buf, "  ");
    dr_plan_text(plan, &buf);
    for (size_t i = 0; i < plan->deed_n; i++) {
        const struct dr_deed *deed = &plan->deeds[i];
        dr_buf_fmt(&buf, "%s %s%s%.*s", i == 0 ? " |" : ",", deed->what, deed->target.n > 0 ? " " : "", DR_FMT(deed->target));
    }
    struct dr_str text = dr_str_dup(arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

/* The newest `limit` lines, linked so that the oldest comes first. */
static int gather(struct dr_app *app, struct dr_history *history, size_t limit, const struct dr_args *args, struct line **ret,
                  struct dr_err *err) {
    const struct dr_journal_row *row;
    int more = 0;
    struct line *list = NULL;
    while (limit > 0 && (more = dr_history_next(history, &row, err)) > 0) {
        if (dr_args_has(args, "actions") && history->plan.deed_n == 0) {
            continue;
        }
        struct line *line = DR_NEW(app->arena, struct line);
        line->text = dr_args_json(args) ? dr_str_dup(app->arena, row->json) : line_of(app->arena, &history->plan);
        line->older = list;
        list = line;
        limit--;
    }
    *ret = list;
    return more < 0 ? -1 : 0;
}

/* Stored rows were parsed before, so they are JSON and may be passed on as they are. */
static void print(struct dr_app *app, const struct line *list, bool json) {
    if (json) {
        fputs("[", app->out);
    }
    for (const struct line *line = list; line != NULL; line = line->older) {
        if (json) {
            fputs(line == list ? "\n" : ",\n", app->out);
        }
        if (json) {
            fwrite(line->text.p, 1, line->text.n, app->out);
        } else {
            dr_app_print(app, line->text);
            fputs("\n", app->out);
        }
    }
    if (json) {
        fputs(list == NULL ? "]\n" : "\n]\n", app->out);
    } else if (list == NULL) {
        fputs("nothing is recorded\n", app->out);
    }
}

static int run(struct dr_app *app, const struct dr_args *args) {
    size_t limit = 0;
    int code = parse_limit(app, args, &limit);
    struct dr_state_file file;
    if (code != 0 || (code = dr_state_file_open(app, args, &file)) != 0) {
        return code;
    }
    struct dr_history history;
    dr_history_init(&history, &file);
    history.newest_first = true;
    struct line *list = NULL;
    struct dr_err err;
    code = dr_when_option(app, args, &file, "from", &history.from_ms);
    if (code == 0) {
        code = dr_when_option(app, args, &file, "to", &history.to_ms);
    }
    if (code == 0 && gather(app, &history, limit, args, &list, &err) < 0) {
        code = dr_app_fail(app, DR_EXIT_FAILED, "%s", err.text);
    }
    if (code == 0) {
        print(app, list, dr_args_json(args));
    }
    dr_history_deinit(&history);
    dr_state_file_close(&file);
    return code;
}

const struct dr_command dr_cmd_history = {
    .name = "history",
    .summary = "past decisions and what was done",
    .operands = "",
    .details = "TIME is 2026-11-15T20:04:00Z, \"2026-11-15 20:04\" (UTC), 20:04 (the last before the newest record), or Unix seconds.\n"
               "A pass that did nothing is recorded when its reason changes, else once an hour.\n",
    .options = options,
    .run = run,
};
