/* drover tick: one pass on the real cluster. */
#include "app/commands.h"
#include "app/session.h"

#define MAX_OUTPUT_BYTES ((size_t)4 * 1024 * 1024)

static const struct dr_option options[] = {DR_OPTION_CONFIG, DR_OPTION_OUTPUT, DR_OPTION_END};

static void put_json(const struct dr_tick_report *report, struct dr_buf *buf) {
    struct dr_jsonw w;
    dr_jsonw_init(&w, buf, 2);
    dr_jsonw_object(&w);
    dr_jsonw_kv_cstr(&w, "outcome", dr_tick_outcome_name(report->outcome));
    dr_jsonw_kv_i64(&w, "effects", report->effects);
    dr_jsonw_kv_i64(&w, "writes", report->writes);
    if (report->err.code != DR_OK) {
        dr_jsonw_kv_cstr(&w, "error", report->err.text);
    }
    dr_jsonw_key(&w, "plan");
    dr_plan_json(&report->plan, &w);
    dr_jsonw_end(&w);
    dr_buf_putc(buf, '\n');
}

static void print(struct dr_app *app, const struct dr_args *args, const struct dr_tick_report *report) {
    struct dr_buf buf;
    dr_buf_init(&buf, MAX_OUTPUT_BYTES);
    if (dr_args_json(args)) {
        put_json(report, &buf);
    } else {
        dr_plan_explain(&report->plan, &buf);
    }
    dr_app_print(app, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
}

static int run(struct dr_app *app, const struct dr_args *args) {
    struct dr_session session;
    int code = dr_session_open(&session, app, args, DR_LIVE_TICK | DR_LIVE_QUEUE, true);
    if (code != 0) {
        return code;
    }
    if (session.live.sqs != NULL) {
        session.live.ports.events = dr_sqs_events(session.live.sqs);
    }
    struct dr_daemon daemon;
    dr_daemon_init(&daemon);
    daemon.ports = &session.live.ports;
    daemon.cfg = &session.settings.cfg;
    daemon.name = dr_live_name(&session.live);
    struct dr_tick_report report;
    code = dr_session_exit(dr_daemon_tick(&daemon, "command", &report));
    print(app, args, &report);
    if (report.err.code != DR_OK) {
        (void)dr_app_fail(app, (enum dr_exit)code, "%s: %s", dr_tick_outcome_name(report.outcome), report.err.text);
    }
    dr_daemon_deinit(&daemon);
    dr_session_close(&session);
    return code;
}

const struct dr_command dr_cmd_tick = {
    .name = "tick",
    .summary = "one pass on the real cluster: observe, decide, act, record; for cron or by hand",
    .operands = "",
    .details =
        "Exit 0: done, or an action is under way and goes on in a later pass, or another process holds the lease.\n"
        "Exit 1: the state could not be read or written, or another process took over. Exit 3: a person must look at the state item.\n",
    .options = options,
    .run = run,
};
