#include "app/nearest.h"

#include <ctype.h>

#define MAX_NAME_BYTES 64

void dr_nearest_init(struct dr_nearest *nearest, struct dr_str typed) {
    *nearest = (struct dr_nearest){.typed = typed};
    /* A third of the letters may be wrong, in short names at most one or two. */
    nearest->distance = typed.n > MAX_NAME_BYTES ? 0 : (unsigned)(typed.n / 3 + 2 > 5 ? 5 : typed.n / 3 + 2);
}

static bool same_letters(struct dr_str a, struct dr_str b) {
    if (a.n != b.n) {
        return false;
    }
    for (size_t i = 0; i < a.n; i++) {
        if (tolower((unsigned char)a.p[i]) != tolower((unsigned char)b.p[i])) {
            return false;
        }
    }
    return true;
}

void dr_nearest_try(struct dr_nearest *nearest, struct dr_str name) {
    if (name.n == 0 || nearest->distance == 0) {
        return;
    }
    unsigned distance = same_letters(nearest->typed, name) ? 1 : dr_str_distance(nearest->typed, name, nearest->distance);
    if (distance < nearest->distance) {
        nearest->distance = distance;
        nearest->best = name;
        nearest->found = true;
    }
}
