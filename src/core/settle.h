#ifndef DR_CORE_SETTLE_H
#define DR_CORE_SETTLE_H

/* Parts of dr_step_settle that belong to one stage. */

#include "core/step.h"

bool dr_settle_launch(struct dr_machine *m, const struct dr_step *step, const struct dr_result *result, const struct dr_state *in,
                      struct dr_state *out);

#endif
