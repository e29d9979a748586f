#ifndef DR_APP_COMMANDS_H
#define DR_APP_COMMANDS_H

/* The commands that there are, each in its own file. */

#include "app/command.h"

extern const struct dr_command dr_cmd_check;
extern const struct dr_command dr_cmd_completion;
extern const struct dr_command dr_cmd_config;
extern const struct dr_command dr_cmd_demo;
extern const struct dr_command dr_cmd_explain;
extern const struct dr_command dr_cmd_history;
extern const struct dr_command dr_cmd_plan;
extern const struct dr_command dr_cmd_run;
extern const struct dr_command dr_cmd_simulate;
extern const struct dr_command dr_cmd_status;
extern const struct dr_command dr_cmd_tick;

#endif
