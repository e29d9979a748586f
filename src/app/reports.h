#ifndef DR_APP_REPORTS_H
#define DR_APP_REPORTS_H

/* Everything that is wrong with a file, collected so that a person sees it at once: "file:line:column: text", in the order of the file. */

#include "base/arena.h"
#include "base/str.h"

#define DR_MAX_REPORTS 100

struct dr_report {
    const char *where; /* file name, or another source of values such as "environment" */
    int line;          /* 0: the source as a whole */
    int column;
    size_t order;
    struct dr_str text;
};

struct dr_reports {
    struct dr_arena *arena;
    const char *file;
    struct dr_report v[DR_MAX_REPORTS];
    size_t n;
    size_t left_out; /* past DR_MAX_REPORTS */
};

/* `file` is what the lines begin with; it and the arena must outlive the reports. */
void dr_reports_init(struct dr_reports *reports, struct dr_arena *arena, const char *file);

/* Adds a problem of the file; line 0: of the file as a whole. Control characters in the text become '?', so that a file cannot write to a terminal. */
__attribute__((format(printf, 4, 5))) void dr_reports_add(struct dr_reports *reports, int line, int column, const char *fmt, ...);
/* The same for a problem that is not in the file ("environment", "command line"). */
__attribute__((format(printf, 3, 4))) void dr_reports_add_at(struct dr_reports *reports, const char *where, const char *fmt, ...);

/* All problems, one line each. */
void dr_reports_put(struct dr_reports *reports, struct dr_buf *buf);

#endif
