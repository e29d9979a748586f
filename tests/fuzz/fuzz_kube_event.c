/* Any bytes as a line of a watch: an error with a text, or an event. */
#include "adapter/kubernetes/event.h"
#include "harness/fuzz.h"

DR_FUZZ(kube_event) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    for (int of_nodes = 0; of_nodes < 2; of_nodes++) {
        struct dr_kube_event event;
        struct dr_err err = {.code = DR_OK};
        if (dr_kube_event_read((struct dr_str){(const char *)data, n}, &arena, of_nodes == 1, &event, &err) < 0) {
            DR_ASSERT(err.code != DR_OK && err.text[0] != '\0');
        } else {
            DR_ASSERT(event.type.n <= n && event.name.n <= n && event.version.n <= n);
        }
    }
    dr_arena_deinit(&arena);
}
