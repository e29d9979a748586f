#ifndef DR_BASE_TIME_H
#define DR_BASE_TIME_H

/* Time is int64 milliseconds since 1970 UTC in every layer; the state item holds whole seconds ("epoch"). Nothing here reads a clock. */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define DR_SECOND_MS INT64_C(1000)
#define DR_MINUTE_MS (60 * DR_SECOND_MS)
#define DR_HOUR_MS (60 * DR_MINUTE_MS)
#define DR_DAY_MS (24 * DR_HOUR_MS)

/* "2026-11-15T20:04:00Z", with ".250" only where there are milliseconds. */
void dr_time_put(struct dr_buf *buf, int64_t ms);
/* "20:04" (seconds only if not 0: "20:04:30"), time of day in UTC. */
void dr_time_put_clock(struct dr_buf *buf, int64_t ms);
/* "3d4h", "10m", "1m30s", "45s", "250ms", "0s": the two largest units. */
void dr_time_put_span(struct dr_buf *buf, int64_t ms);
/* RFC 3339 with Z or an offset, "YYYY-MM-DD HH:MM[:SS]" (UTC), or Unix seconds. */
bool dr_time_parse(struct dr_str s, int64_t *ret_ms);
/* "250ms", "45s", "3m", "1h30m", "2d", or a bare number of seconds. */
bool dr_time_parse_span(struct dr_str s, int64_t *ret_ms);
/* "HH:MM[:SS]" as milliseconds of the day. */
bool dr_time_parse_clock(struct dr_str s, int64_t *ret_ms);

#endif
