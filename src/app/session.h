#ifndef DR_APP_SESSION_H
#define DR_APP_SESSION_H

/* What every command on a real cluster begins with: the configuration, the process, the parts of the world that it needs. */

#include "app/command.h"
#include "app/daemon.h"
#include "app/live.h"

#define DR_OPTION_CONFIG                                                                                                                   \
    { "config", 'c', "FILE", NULL, "configuration file (default: $DROVER_CONFIG, else drover.yaml if there is one)" }

/* The configuration file that the command is to use; NULL: there is none, then defaults and the environment count. */
const char *dr_session_file(struct dr_app *app, const struct dr_args *args);
/* Reads the configuration. 0, or DR_EXIT_USAGE after all mistakes were printed. */
int dr_session_settings(struct dr_app *app, const char *file, struct dr_arena *arena, struct dr_settings *ret);

struct dr_session {
    struct dr_settings settings;
    struct dr_process process;
    struct dr_live live;
    struct dr_log log;
    struct dr_app *app;
};

/* Configuration, process and the parts (bits of enum dr_live_part). 0, or an exit code after saying what is wrong; nothing is left open then. */
int dr_session_open(struct dr_session *session, struct dr_app *app, const struct dr_args *args, unsigned parts, bool catch_signals);
void dr_session_close(struct dr_session *session);

/* The log as configured, on the program's output. */
void dr_session_log(struct dr_log *log, struct dr_app *app, const struct dr_live_config *cfg);
/* Alerts and finished actions into a log. */
struct dr_notify dr_session_notify(struct dr_log *log);

/* Exit code of a pass. */
int dr_session_exit(enum dr_tick_outcome outcome);

#endif
