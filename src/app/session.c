#include "app/session.h"

#include <string.h>
#include <unistd.h>

const char *dr_session_file(struct dr_app *app, const struct dr_args *args) {
    const char *file = dr_args_get(args, "config");
    if (file == NULL) {
        file = dr_app_env(app, "DROVER_CONFIG");
    }
    if (file == NULL || file[0] == '\0') {
        file = access("drover.yaml", F_OK) == 0 ? "drover.yaml" : NULL;
    }
    return file;
}

int dr_session_settings(struct dr_app *app, const char *file, struct dr_arena *arena, struct dr_settings *ret) {
    struct dr_settings_source source = {file, NULL, app->env};
    struct dr_reports *reports = DR_NEW(arena, struct dr_reports);
    dr_reports_init(reports, arena, file == NULL ? "configuration" : file);
    if (dr_settings_load(ret, arena, &source, reports) == 0) {
        return 0;
    }
    struct dr_buf buf;
    dr_buf_init(&buf, (size_t)1024 * 1024);
    dr_reports_put(reports, &buf);
    fputs(buf.p == NULL ? "" : buf.p, app->err);
    dr_buf_deinit(&buf);
    return DR_EXIT_USAGE;
}

int dr_session_open(struct dr_session *session, struct dr_app *app, const struct dr_args *args, unsigned parts, bool catch_signals) {
    memset(session, 0, sizeof(*session));
    session->app = app;
    session->process.signal_fd = -1;
    int code = dr_session_settings(app, dr_session_file(app, args), app->arena, &session->settings);
    if (code != 0) {
        return code;
    }
    struct dr_err err = {.code = DR_OK};
    if (dr_process_init(&session->process, catch_signals, &err) < 0 ||
        dr_live_init(&session->live, &session->settings, app->env, &session->process, &err) < 0 ||
        dr_live_open(&session->live, parts, &err) < 0) {
        dr_session_close(session);
        return dr_app_fail(app, err.code == DR_E_INVALID ? DR_EXIT_USAGE : DR_EXIT_FAILED, "%s", err.text);
    }
    dr_session_log(&session->log, app, &session->settings.live);
    return 0;
}

void dr_session_close(struct dr_session *session) {
    dr_live_deinit(&session->live);
    dr_process_deinit(&session->process);
}

/* ---- log ---- */

static void write_line(void *self, const char *line, size_t n) {
    fwrite(line, 1, n, self);
    fflush(self); /* whoever reads the log wants it now */
}

void dr_session_log(struct dr_log *log, struct dr_app *app, const struct dr_live_config *cfg) {
    bool text = cfg->log_format == DR_LOG_FORMAT_TEXT || (cfg->log_format == DR_LOG_FORMAT_AUTO && app->terminal);
    *log = (struct dr_log){
        .min_level = (enum dr_level)cfg->log_level,
        .text = text,
        .colour = text && app->colour,
        .write = write_line,
        .self = app->out,
    };
}

static void notify(void *self, int64_t now_ms, enum dr_notice_level level, const char *event, struct dr_str text) {
    struct dr_field field = DR_F_STR("notice", dr_str_of(event));
    dr_log_put(self, now_ms, level == DR_NOTICE_INFO ? DR_LOG_INFO : DR_LOG_WARN, level == DR_NOTICE_INFO ? "notice" : "alert", text,
               &field, 1);
}

struct dr_notify dr_session_notify(struct dr_log *log) {
    static const struct dr_notify_ops ops = {.notify = notify};
    return (struct dr_notify){&ops, log};
}

int dr_session_exit(enum dr_tick_outcome outcome) {
    switch (outcome) {
    case DR_TICK_DONE:
    case DR_TICK_WAITING:
    case DR_TICK_LEASE:
        return DR_EXIT_OK;
    case DR_TICK_REFUSED:
        return DR_EXIT_REFUSED;
    case DR_TICK_LOST:
    case DR_TICK_FAILED:
        break;
    }
    return DR_EXIT_FAILED;
}
