#include "bench/clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t moved_ms;

void dr_bench_clock_set(int64_t ms) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    moved_ms += ms - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void dr_bench_clock_move(int64_t ms) { moved_ms += ms; }

/* In the place of libc's for everything in the program: the product has no other way to ask for the time of day. */
int clock_gettime(clockid_t clock_id, struct timespec *tp) {
    int result = (int)syscall(SYS_clock_gettime, clock_id, tp);
    if (result == 0 && clock_id == CLOCK_REALTIME) {
        int64_t ns = (int64_t)tp->tv_sec * 1000000000 + tp->tv_nsec + moved_ms * 1000000;
        tp->tv_sec = ns / 1000000000;
        tp->tv_nsec = ns % 1000000000;
    }
    return result;
}
