#include "core/sort.h"

#include <stdbool.h>
#include <string.h>

static bool in_order(const void **v, size_t n, dr_sort_compare *compare, const void *ctx) {
    for (size_t i = 1; i < n; i++) {
        if (compare(v[i - 1], v[i], ctx) > 0) {
            return false;
        }
    }
    return true;
}

/* Merges from[lo, mid) and from[mid, hi) into to[lo, hi). */
static void merge(const void **from, const void **to, size_t lo, size_t mid, size_t hi, dr_sort_compare *compare, const void *ctx) {
    size_t a = lo;
    size_t b = mid;
    for (size_t i = lo; i < hi; i++) {
        bool left = a < mid && (b >= hi || compare(from[a], from[b], ctx) <= 0);
        to[i] = left ? from[a++] : from[b++];
    }
}

void dr_sort(struct dr_arena *arena, const void **v, size_t n, dr_sort_compare *compare, const void *ctx) {
    if (in_order(v, n, compare, ctx)) {
        return;
    }
    const void **from = v;
    const void **to = DR_NEW_N(arena, const void *, n);
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            size_t mid = n - lo < width ? n : lo + width;
            size_t hi = n - lo < 2 * width ? n : lo + 2 * width;
            merge(from, to, lo, mid, hi, compare, ctx);
        }
        const void **swap = from;
        from = to;
        to = swap;
    }
    if (from != v) {
        memcpy(v, from, n * sizeof *v);
    }
}
