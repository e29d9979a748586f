/* drover plan: what one pass would do now and why; changes nothing. */
#include "app/commands.h"
#include "app/session.h"
#include "base/time.h"

#define MAX_OUTPUT_BYTES ((size_t)4 * 1024 * 1024)
#define TEXT_MAX 2048
#define READ_MS 10000

static const struct dr_option options[] = {
    DR_OPTION_CONFIG,
    {"diff", 0, NULL, NULL, "also what is different from the last recorded pass"},
    DR_OPTION_OUTPUT,
    DR_OPTION_END,
};

/* ---- differences ---- */

struct diff {
    struct dr_arena *arena;
    struct dr_buf *text;
    struct dr_jsonw *json; /* NULL: text */
    size_t n;
};

static void put_change(struct diff *diff, struct dr_str what, struct dr_str before, struct dr_str now) {
    if (dr_str_eq(before, now)) {
        return;
    }
    diff->n++;
    if (diff->json == NULL) {
        dr_buf_fmt(diff->text, "  %.*s: %.*s -> %.*s\n", DR_FMT(what), DR_FMT(before), DR_FMT(now));
        return;
    }
    dr_jsonw_object(diff->json);
    dr_jsonw_kv_str(diff->json, "what", what);
    dr_jsonw_kv_str(diff->json, "before", before);
    dr_jsonw_kv_str(diff->json, "now", now);
    dr_jsonw_end(diff->json);
}

static void put_count(struct diff *diff, const char *what, int64_t before, int64_t now) {
    put_change(diff, dr_str_of(what), dr_str_fmt(diff->arena, "%lld", (long long)before), dr_str_fmt(diff->arena, "%lld", (long long)now));
}

static struct dr_str decision_text(struct diff *diff, const struct dr_plan *plan) {
    struct dr_buf buf;
    dr_buf_init(&buf, TEXT_MAX);
    dr_buf_fmt(&buf, "%s", dr_verdict_name(plan->decision.verdict));
    if (plan->decision.delta != 0) {
        dr_buf_fmt(&buf, " %+lld", (long long)plan->decision.delta);
    }
    dr_buf_fmt(&buf, " %s", dr_reason_name(plan->decision.reason));
    struct dr_str text = dr_str_dup(diff->arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

/* Rules by name: one that was not there before, or is not there now, is a difference too. */
static void put_rules(struct diff *diff, const char *direction, const struct dr_rule_result *before, size_t before_n,
                      const struct dr_rule_result *now, size_t now_n) {
    for (size_t i = 0; i < now_n; i++) {
        const char *was = "absent";
        for (size_t j = 0; j < before_n; j++) {
            was = dr_str_eq(before[j].rule->name, now[i].rule->name) ? dr_truth_name(before[j].truth) : was;
        }
        put_change(diff, dr_str_fmt(diff->arena, "%s rule %.*s", direction, DR_FMT(now[i].rule->name)), dr_str_of(was),
                   dr_str_of(dr_truth_name(now[i].truth)));
    }
}

static void put_changes(struct diff *diff, const struct dr_plan *before, const struct dr_plan *now) {
    put_change(diff, DR_STR("decision"), decision_text(diff, before), decision_text(diff, now));
    put_count(diff, "workers", before->worker_count, now->worker_count);
    put_count(diff, "live", before->live, now->live);
    put_count(diff, "planned", before->planned, now->planned);
    put_count(diff, "minimum", before->min_workers, now->min_workers);
    put_count(diff, "maximum", before->max_workers, now->max_workers);
    put_count(diff, "pods that wait", before->pending.waiting, now->pending.waiting);
    put_count(diff, "of which a new worker would help", before->pending.helpable, now->pending.helpable);
    put_rules(diff, "up", before->up, before->up_n, now->up, now->up_n);
    put_rules(diff, "down", before->down, before->down_n, now->down, now->down_n);
    put_change(diff, DR_STR("action"), before->action_id, now->action_id);
    put_change(diff, DR_STR("unknown"), before->unknown, now->unknown);
}

/* The last recorded pass. False: there is none; err is set if that could not be found out. */
static bool last_plan(struct dr_session *session, struct dr_arena *arena, struct dr_plan *ret, struct dr_err *err) {
    const struct dr_store *store = &session->live.ports.store;
    struct dr_journal_query query = {.limit = 1, .newest_first = true};
    const struct dr_journal_row *rows;
    size_t n = 0;
    int64_t deadline_ms = dr_process_now_ms(&session->process) + READ_MS;
    if (store->ops->journal_read(store->self, arena, session->settings.cfg.cluster, &query, deadline_ms, &rows, &n, err) < 0) {
        return false;
    }
    return n > 0 && dr_plan_read(arena, rows[0].json, ret, err) == 0;
}

/* ---- output ---- */

static int put_diff(struct dr_session *session, struct dr_arena *arena, const struct dr_plan *plan, struct dr_buf *buf, struct dr_jsonw *w,
                    struct dr_err *err) {
    struct dr_plan before;
    *err = (struct dr_err){.code = DR_OK};
    bool found = last_plan(session, arena, &before, err);
    if (!found && err->code != DR_OK) {
        return -1;
    }
    struct diff diff = {arena, buf, w, 0};
    if (w != NULL) {
        dr_jsonw_key(w, "changes");
        dr_jsonw_array(w);
    } else if (found) {
        dr_buf_puts(buf, "different from the last recorded pass, ");
        dr_time_put(buf, before.at_ms);
        dr_buf_puts(buf, ":\n");
    }
    if (found) {
        put_changes(&diff, &before, plan);
    }
    if (w != NULL) {
        dr_jsonw_end(w);
    } else if (!found) {
        dr_buf_puts(buf, "no pass is recorded yet\n");
    } else if (diff.n == 0) {
        dr_buf_puts(buf, "  nothing\n");
    }
    return 0;
}

static int print(struct dr_session *session, const struct dr_args *args, struct dr_arena *arena, const struct dr_tick_report *report,
                 struct dr_err *err) {
    struct dr_buf buf;
    dr_buf_init(&buf, MAX_OUTPUT_BYTES);
    struct dr_jsonw w;
    int result = 0;
    bool diff = dr_args_has(args, "diff");
    if (dr_args_json(args)) {
        dr_jsonw_init(&w, &buf, 2);
        dr_jsonw_object(&w);
        dr_jsonw_kv_cstr(&w, "outcome", dr_tick_outcome_name(report->outcome));
        dr_jsonw_key(&w, "plan");
        dr_plan_json(&report->plan, &w);
        if (diff) {
            result = put_diff(session, arena, &report->plan, &buf, &w, err);
        }
        dr_jsonw_end(&w);
        dr_buf_putc(&buf, '\n');
    } else {
        dr_plan_explain(&report->plan, &buf);
        if (diff) {
            result = put_diff(session, arena, &report->plan, &buf, NULL, err);
        }
    }
    if (result == 0) {
        dr_app_print(session->app, dr_buf_str(&buf));
    }
    dr_buf_deinit(&buf);
    return result;
}

static int run(struct dr_app *app, const struct dr_args *args) {
    struct dr_session session;
    int code = dr_session_open(&session, app, args, DR_LIVE_TICK | DR_LIVE_READ_ONLY, false);
    if (code != 0) {
        return code;
    }
    struct dr_arena later;
    dr_arena_init(&later, 0);
    struct dr_tick_options tick = {
        .request_id = DR_STR("plan"),
        .deadline_ms = dr_process_now_ms(&session.process) + session.settings.cfg.tick_limit_ms,
        .dry_run = true,
        .later = &later,
    };
    struct dr_tick_report report;
    code = dr_session_exit(dr_tick(&session.live.ports, &session.settings.cfg, &tick, app->arena, &report));
    struct dr_err err = report.err;
    if (err.code == DR_OK && print(&session, args, app->arena, &report, &err) < 0) {
        code = DR_EXIT_FAILED;
    }
    if (err.code != DR_OK) {
        (void)dr_app_fail(app, (enum dr_exit)code, "%s", err.text);
    }
    dr_arena_deinit(&later);
    dr_session_close(&session);
    return code;
}

const struct dr_command dr_cmd_plan = {
    .name = "plan",
    .summary = "dry run on the real cluster: what one pass would do now and why; changes nothing",
    .operands = "",
    .details = "Only reads. \"planned\" behind a deed says what the pass would do first; what follows depends on its result.\n",
    .options = options,
    .run = run,
};
