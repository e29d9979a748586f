/* drover explain: why something did or did not happen, answered from stored plans. */
#include <string.h>

#include "app/commands.h"
#include "app/nearest.h"
#include "app/session.h"
#include "app/story.h"
#include "app/when.h"
#include "base/time.h"

#define MAX_OUTPUT_BYTES ((size_t)8 * 1024 * 1024)

static const struct dr_option options[] = {
    DR_OPTION_CONFIG, DR_OPTION_STATE, DR_OPTION_CLUSTER, {"at", 0, "TIME", NULL, "what was decided at that time, and why"},
    DR_OPTION_OUTPUT, DR_OPTION_END,
};

struct subject {
    const char *kind; /* "action", "node", "pod" */
    const char *name;
};

/* ---- a time ---- */

static void put_at(const struct dr_args *args, int64_t asked_ms, const struct dr_journal_row *row, const struct dr_plan *plan,
                   struct dr_buf *buf) {
    if (dr_args_json(args)) {
        struct dr_jsonw w;
        dr_jsonw_init(&w, buf, 2);
        dr_jsonw_object(&w);
        dr_jsonw_kv_i64(&w, "asked", asked_ms);
        dr_jsonw_key(&w, "plan");
        dr_jsonw_raw(&w, row->json);
        dr_jsonw_end(&w);
        dr_buf_putc(buf, '\n');
        return;
    }
    if (row->at_ms != asked_ms) {
        dr_buf_puts(buf, "The last record at ");
        dr_time_put(buf, asked_ms);
        dr_buf_puts(buf, " is ");
        dr_time_put_span(buf, asked_ms - row->at_ms);
        dr_buf_puts(buf, " older: a pass that does nothing is recorded when its reason changes, else once an hour.\n\n");
    }
    dr_plan_explain(plan, buf);
}

static int explain_at(struct dr_app *app, const struct dr_args *args, const struct dr_state_file *file, struct dr_buf *buf) {
    int64_t asked_ms = 0;
    int code = dr_when_option(app, args, file, "at", &asked_ms);
    if (code != 0) {
        return code;
    }
    struct dr_history history;
    dr_history_init(&history, file);
    history.newest_first = true;
    history.to_ms = asked_ms + 1;
    const struct dr_journal_row *row;
    struct dr_err err;
    int found = dr_history_next(&history, &row, &err);
    if (found < 0) {
        code = dr_app_fail(app, DR_EXIT_FAILED, "%s", err.text);
    } else if (found == 0) {
        code = dr_app_fail(app, DR_EXIT_FAILED, "%s: nothing is recorded at or before that time; drover history %s lists what is",
                           file->path, file->hint);
    } else {
        put_at(args, asked_ms, row, &history.plan, buf);
    }
    dr_history_deinit(&history);
    return code;
}

/* ---- an action, a node, a pod ---- */

static void put_story_text(const struct dr_story *story, const struct subject *subject, struct dr_buf *buf) {
    dr_buf_fmt(buf, "%c%s %s", subject->kind[0] - 'a' + 'A', subject->kind + 1, subject->name);
    if (story->instance.n > 0 && !dr_str_is(story->instance, subject->name)) {
        dr_buf_fmt(buf, " is instance %.*s", DR_FMT(story->instance));
    }
    dr_buf_puts(buf, ":\n");
    for (const struct dr_story_line *line = story->first; line != NULL; line = line->next) {
        dr_buf_puts(buf, "  ");
        dr_time_put(buf, line->at_ms);
        dr_buf_fmt(buf, "  %.*s\n", DR_FMT(line->text));
    }
    if (story->left_out > 0) {
        dr_buf_fmt(buf, "  and %zu more lines\n", story->left_out);
    }
    if (story->now.n > 0) {
        dr_buf_fmt(buf, "now: %.*s", DR_FMT(dr_buf_str(&story->now)));
    }
}

static void put_story_json(const struct dr_story *story, const struct subject *subject, struct dr_buf *buf) {
    struct dr_jsonw w;
    dr_jsonw_init(&w, buf, 2);
    dr_jsonw_object(&w);
    dr_jsonw_kv_cstr(&w, "kind", subject->kind);
    dr_jsonw_kv_cstr(&w, "name", subject->name);
    if (story->instance.n > 0) {
        dr_jsonw_kv_str(&w, "instanceId", story->instance);
    }
    dr_jsonw_key(&w, "records");
    dr_jsonw_array(&w);
    for (const struct dr_story_line *line = story->first; line != NULL; line = line->next) {
        dr_jsonw_object(&w);
        dr_jsonw_kv_i64(&w, "at", line->at_ms);
        dr_jsonw_kv_str(&w, "requestId", line->request_id);
        dr_jsonw_kv_str(&w, "text", line->text);
        dr_jsonw_end(&w);
    }
    dr_jsonw_end(&w);
    dr_jsonw_kv_i64(&w, "leftOut", (int64_t)story->left_out);
    dr_jsonw_kv_str(&w, "now", dr_str_trim(dr_buf_str(&story->now)));
    dr_jsonw_end(&w);
    dr_buf_putc(buf, '\n');
}

static int fail_unknown(struct dr_app *app, const struct dr_state_file *file, const struct subject *subject, const struct dr_story *story) {
    struct dr_buf hint;
    dr_buf_init(&hint, 512);
    for (size_t i = 0; i < story->others.n; i++) {
        dr_buf_fmt(&hint, "%s%.*s", i == 0 ? "; the last ones are " : ", ", DR_FMT(story->others.v[i]));
    }
    if (strcmp(subject->kind, "pod") == 0) {
        dr_buf_puts(&hint, "; records name pods that waited while something was decided (the first 100), that were evicted, or that kept a "
                           "worker from being removed");
    }
    int code = dr_app_fail(app, DR_EXIT_FAILED, "%s: nothing is recorded about %s %s%.*s", file->path, subject->kind, subject->name,
                           DR_FMT(dr_buf_str(&hint)));
    dr_buf_deinit(&hint);
    return code;
}

static int tell(struct dr_story *story, const struct dr_state_file *file, const struct subject *subject, struct dr_err *err) {
    struct dr_str name = dr_str_of(subject->name);
    if (strcmp(subject->kind, "action") == 0) {
        return dr_story_of_action(story, file, name, err);
    }
    if (strcmp(subject->kind, "node") == 0) {
        return dr_story_of_node(story, file, name, err);
    }
    size_t slash = dr_str_find(name, '/');
    return dr_story_of_pod(story, file, dr_str_sub(name, 0, slash), dr_str_sub(name, slash + 1, name.n), err);
}

static int explain_subject(struct dr_app *app, const struct dr_args *args, const struct dr_state_file *file, const struct subject *subject,
                           struct dr_buf *buf) {
    struct dr_story story;
    dr_story_init(&story, app->arena);
    struct dr_err err;
    int code = DR_EXIT_OK;
    if (tell(&story, file, subject, &err) < 0) {
        code = dr_app_fail(app, DR_EXIT_FAILED, "%s", err.text);
    } else if (story.n == 0 && story.now.n == 0) {
        code = fail_unknown(app, file, subject, &story);
    } else if (dr_args_json(args)) {
        put_story_json(&story, subject, buf);
    } else {
        put_story_text(&story, subject, buf);
    }
    dr_story_deinit(&story);
    return code;
}

/* ---- the command ---- */

/* One word alone: a pod has a slash in its name, an action begins with its time; anything else is a node or an instance. */
static const char *kind_of(const char *name) {
    size_t digits = strspn(name, "0123456789");
    if (strchr(name, '/') != NULL) {
        return "pod";
    }
    return digits >= 9 && name[digits] == '-' ? "action" : "node";
}

static int check_usage(struct dr_app *app, const struct dr_args *args, struct subject *ret) {
    static const char *const kinds[] = {"action", "node", "pod"};
    bool at = dr_args_has(args, "at");
    bool alone = args->operand_n == 1 && strcmp(args->operands[0], "action") != 0 && strcmp(args->operands[0], "node") != 0 &&
                 strcmp(args->operands[0], "pod") != 0;
    if (at ? args->operand_n != 0 : args->operand_n != 2 && !alone) {
        return dr_app_fail(app, DR_EXIT_USAGE,
                           "explain: what? --at TIME, action ID, node NAME or pod NAMESPACE/NAME (see drover explain --help)");
    }
    if (at) {
        return 0;
    }
    struct dr_nearest nearest;
    dr_nearest_init(&nearest, dr_str_of(args->operands[0]));
    if (alone) {
        *ret = (struct subject){kind_of(args->operands[0]), args->operands[0]};
    }
    for (size_t i = 0; i < 3 && !alone; i++) {
        if (strcmp(args->operands[0], kinds[i]) == 0) {
            *ret = (struct subject){kinds[i], args->operands[1]};
        }
        dr_nearest_try(&nearest, dr_str_of(kinds[i]));
    }
    if (ret->kind == NULL) {
        return dr_app_fail(app, DR_EXIT_USAGE, "explain: %s: must be action, node or pod%s%.*s%s", args->operands[0],
                           nearest.found ? "; did you mean " : "", DR_FMT(nearest.best), nearest.found ? "?" : "");
    }
    const char *slash = strchr(ret->name, '/');
    if (strcmp(ret->kind, "pod") == 0 && (slash == NULL || slash == ret->name || slash[1] == '\0' || strchr(slash + 1, '/') != NULL)) {
        return dr_app_fail(app, DR_EXIT_USAGE, "explain: pod %s: must be NAMESPACE/NAME", ret->name);
    }
    return 0;
}

static int run(struct dr_app *app, const struct dr_args *args) {
    struct subject subject = {NULL, NULL};
    struct dr_state_file file;
    int code = check_usage(app, args, &subject);
    if (code != 0 || (code = dr_state_file_open(app, args, &file)) != 0) {
        return code;
    }
    struct dr_buf buf;
    dr_buf_init(&buf, MAX_OUTPUT_BYTES);
    code = subject.kind == NULL ? explain_at(app, args, &file, &buf) : explain_subject(app, args, &file, &subject, &buf);
    dr_app_print(app, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    dr_state_file_close(&file);
    return code;
}

const struct dr_command dr_cmd_explain = {
    .name = "explain",
    .summary = "why something did or did not happen: at a time, to an action, a node or a pod",
    .first_words = "action|node|pod",
    .operands = "--at TIME | action ID | node NAME | pod NAMESPACE/NAME",
    .details = "TIME is 2026-11-15T20:04:00Z, \"2026-11-15 20:04\" (UTC), 20:04 (the last before the newest record), or Unix seconds.\n"
               "NAME is the name of a node or the id of its instance. The kind may be left out.\n",
    .options = options,
    .operand_max = 2,
    .run = run,
};
