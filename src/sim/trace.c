#include "sim/inner.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"

/* The line carries the time of day, and the day of the run where there is more than one. */
static size_t put_time(const struct dr_world *w, char *line) {
    int64_t day_ms = w->now_ms % DR_DAY_MS;
    int64_t day = (w->now_ms - w->o.start_ms) / DR_DAY_MS;
    int n = day > 0 ? snprintf(line, 24, "d%d ", (int)(day + 1)) : 0;
    n += snprintf(line + n, 16, "%02d:%02d:%02d ", (int)(day_ms / DR_HOUR_MS), (int)(day_ms / DR_MINUTE_MS % 60),
                  (int)(day_ms / DR_SECOND_MS % 60));
    return (size_t)n;
}

static void put_line(struct dr_world *w, const char *fmt, va_list args) {
    char *line = w->ring[w->ring_at];
    size_t n = put_time(w, line);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)vsnprintf(line + n, SIM_LINE - n, fmt, args);
#pragma GCC diagnostic pop
    w->ring_at = (w->ring_at + 1) % DR_WORLD_TRACE_RING;
    if (w->ring_n < DR_WORLD_TRACE_RING) {
        w->ring_n++;
    }
    uint64_t h = dr_str_hash(dr_str_of(line));
    w->trace_hash = (w->trace_hash ^ h) * UINT64_C(0x100000001b3) + (w->trace_hash >> 29);
    if (w->o.hooks.trace != NULL) {
        char copy[SIM_LINE]; /* the hook may trace */
        memcpy(copy, line, SIM_LINE);
        w->o.hooks.trace(w->o.hooks.self, w->now_ms, copy);
    }
}

void sim_trace(struct dr_world *w, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    put_line(w, fmt, args);
    va_end(args);
}

void dr_world_trace(struct dr_world *world, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    put_line(world, fmt, args);
    va_end(args);
}

void sim_break(struct dr_world *w, const char *fmt, ...) {
    char text[SIM_LINE];
    va_list args;
    va_start(args, fmt);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)vsnprintf(text, sizeof text, fmt, args);
#pragma GCC diagnostic pop
    va_end(args);
    w->stats.violations++;
    sim_trace(w, "VIOLATION %.180s", text);
    if (w->broken) {
        return;
    }
    w->broken = true;
    size_t n = put_time(w, w->violation);
    (void)snprintf(w->violation + n, sizeof w->violation - n, "%s", text);
    if (w->o.hooks.violation != NULL) {
        w->o.hooks.violation(w->o.hooks.self, w->violation);
    }
}

const char *dr_world_violation(const struct dr_world *world) { return world->broken ? world->violation : NULL; }

void dr_world_trace_tail(const struct dr_world *world, struct dr_buf *buf) {
    size_t first = (world->ring_at + DR_WORLD_TRACE_RING - world->ring_n) % DR_WORLD_TRACE_RING;
    for (size_t i = 0; i < world->ring_n; i++) {
        dr_buf_puts(buf, world->ring[(first + i) % DR_WORLD_TRACE_RING]);
        dr_buf_putc(buf, '\n');
    }
}

uint64_t dr_world_trace_hash(const struct dr_world *world) { return world->trace_hash; }
