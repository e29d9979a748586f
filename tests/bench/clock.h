#ifndef DR_BENCH_CLOCK_H
#define DR_BENCH_CLOCK_H

/* The wall clock of this process, for days that pass in a minute. Other clocks stay what they are, so that deadlines of calls and measurements are real. */

#include <stdint.h>

void dr_bench_clock_set(int64_t ms);  /* since 1970 UTC; it goes on from there */
void dr_bench_clock_move(int64_t ms); /* by so much */

#endif
