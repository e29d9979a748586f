#include "app/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CALL_MS 15000

void dr_check_init(struct dr_check *check, struct dr_live *live, struct dr_arena *arena) {
    memset(check, 0, sizeof(*check));
    check->live = live;
    check->arena = arena;
    check->end = &check->first;
    dr_state_init(&check->state, live->settings->cfg.cluster);
    static const struct dr_part unasked = {.known = false, .why = {"was not asked", 13}};
    check->snap.instances_part = check->snap.nodes_part = check->snap.pods_part = check->snap.budgets_part = unasked;
}

const char *dr_finding_level_name(enum dr_finding_level level) {
    static const char *const names[] = {"ok", "warning", "failure"};
    return names[level];
}

int64_t dr_check_deadline(const struct dr_check *check) { return dr_process_now_ms(check->live->process) + CALL_MS; }

void dr_check_add(struct dr_check *check, enum dr_finding_level level, const char *area, const char *remedy, const char *fmt, ...) {
    char text[6000];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    struct dr_finding *finding = DR_NEW(check->arena, struct dr_finding);
    *finding = (struct dr_finding){level, area, dr_str_dup(check->arena, dr_str_of(text)),
                                   dr_str_dup(check->arena, dr_str_of(remedy == NULL ? "" : remedy)), NULL};
    *check->end = finding;
    check->end = &finding->next;
    check->failed += level == DR_FINDING_FAIL;
    check->warned += level == DR_FINDING_WARN;
    if (check->told != NULL) {
        check->told(check->self, finding);
    }
}

void dr_check_run(struct dr_check *check) {
    check->snap.now_ms = dr_process_now_ms(check->live->process);
    dr_check_store(check);
    dr_check_compute(check);
    dr_check_cluster(check);
    dr_check_identities(check);
    dr_check_metrics(check);
    dr_check_queue(check);
    dr_check_clocks(check);
}
