#ifndef DR_APP_STATUS_H
#define DR_APP_STATUS_H

/* The state item in words and as JSON for programs. */

#include "core/plan.h"
#include "core/state.h"

/* `last`: the last recorded plan, NULL if there is none; its time is what "now" means here, since the file may be of a simulated day. */
void dr_status_text(const struct dr_state *state, const struct dr_plan *last, struct dr_buf *buf);
/* `last_json`: the last journal row as stored, already known to be JSON; empty: none. */
void dr_status_json(const struct dr_state *state, struct dr_str last_json, struct dr_jsonw *w);
/* What the active action is and how far it is; nothing without one. */
void dr_status_action(const struct dr_state *state, struct dr_buf *buf);

#endif
