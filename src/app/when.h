#ifndef DR_APP_WHEN_H
#define DR_APP_WHEN_H

/* Times as people type them. */

#include "app/state_file.h"

/*
 * RFC 3339, "YYYY-MM-DD HH:MM[:SS]" in UTC, Unix seconds, or a time of day: that of the day of the newest journal row, or of the day before where it would lie after it.
 * The clock of the machine is not asked: the file may be of a simulated day. 0, or an exit code after saying what is wrong; `name` is the option.
 */
int dr_when_parse(struct dr_app *app, const struct dr_args *args, const struct dr_state_file *file, const char *name, const char *text,
                  int64_t *ret_ms);
/* The same for an option that may be missing: *ret_ms stays as it is then. */
int dr_when_option(struct dr_app *app, const struct dr_args *args, const struct dr_state_file *file, const char *name, int64_t *ret_ms);

#endif
