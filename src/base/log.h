#ifndef DR_BASE_LOG_H
#define DR_BASE_LOG_H

/*
 * Structured log: one JSON object per line (ts, level, event, msg, tick, fields), or one line of text on a terminal. Library code does not log; the edge
 * logs once. The sink and the time come from the caller; there is no global logger.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum dr_level { DR_LOG_DEBUG, DR_LOG_INFO, DR_LOG_WARN, DR_LOG_ERROR };

struct dr_log {
    enum dr_level min_level;
    bool text; /* text for people instead of JSON */
    bool colour;
    void (*write)(void *self, const char *line, size_t n); /* complete line with newline */
    void *self;
    struct dr_str tick; /* request id of the current tick, empty outside */
};

struct dr_field {
    const char *key;
    enum { DR_FIELD_STR, DR_FIELD_INT, DR_FIELD_BOOL, DR_FIELD_MICRO } kind;
    struct dr_str s;
    int64_t i;
};
#define DR_F_STR(k, v) ((struct dr_field){.key = (k), .kind = DR_FIELD_STR, .s = (v)})
#define DR_F_INT(k, v) ((struct dr_field){.key = (k), .kind = DR_FIELD_INT, .i = (v)})
#define DR_F_BOOL(k, v) ((struct dr_field){.key = (k), .kind = DR_FIELD_BOOL, .i = (v)})
#define DR_F_MICRO(k, v) ((struct dr_field){.key = (k), .kind = DR_FIELD_MICRO, .i = (v)})

/* A NULL log drops everything. A line stays within 8 KiB: the message is shortened and fields that do not fit are left out, and `cut` says so; JSON stays JSON. */
void dr_log_put(const struct dr_log *log, int64_t now_ms, enum dr_level level, const char *event, struct dr_str msg,
                const struct dr_field *fields, size_t field_n);

#endif
