/* Any bytes as an answer: samples in the order of their time, or a reason. */
#include "adapter/prometheus/answer.h"
#include "harness/fuzz.h"

DR_FUZZ(prometheus) {
    struct dr_arena arena;
    struct dr_reading r;
    dr_arena_init(&arena, 0);
    for (int status = 200; status <= 500; status += 300) {
        dr_prometheus_answer(&arena, status, (struct dr_str){(const char *)data, n}, &r);
        DR_ASSERT(r.known ? r.sample_n > 0 && status == 200 : r.sample_n == 0 && r.why.n > 0);
        for (size_t i = 1; i < r.sample_n; i++) {
            DR_ASSERT(r.samples[i].at_ms > r.samples[i - 1].at_ms);
        }
    }
    dr_arena_deinit(&arena);
}
