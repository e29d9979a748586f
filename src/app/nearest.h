#ifndef DR_APP_NEAREST_H
#define DR_APP_NEAREST_H

/* "Did you mean": of several names the one nearest to what was typed, if it is near enough to be a slip of the finger. */

#include "base/str.h"

struct dr_nearest {
    struct dr_str typed;
    struct dr_str best;
    unsigned distance;
    bool found;
};

void dr_nearest_init(struct dr_nearest *nearest, struct dr_str typed);
/* Looks at one name; upper and lower case count as nearly the same. The empty name is passed over. */
void dr_nearest_try(struct dr_nearest *nearest, struct dr_str name);

#endif
