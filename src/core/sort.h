#ifndef DR_CORE_SORT_H
#define DR_CORE_SORT_H

/* Sorting without the heap: qsort of the C library may allocate and takes no context. */

#include <stddef.h>

#include "base/arena.h"

/* Below 0, 0 or above 0, as memcmp; `ctx` is handed through. */
typedef int dr_sort_compare(const void *a, const void *b, const void *ctx);

/* Stable merge sort of `n` pointers. The scratch space stays in the arena. A list that is in order already costs n - 1 comparisons. */
void dr_sort(struct dr_arena *arena, const void **v, size_t n, dr_sort_compare *compare, const void *ctx);

#endif
