#include "app/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void dr_reports_init(struct dr_reports *reports, struct dr_arena *arena, const char *file) {
    reports->arena = arena;
    reports->file = file;
    reports->n = 0;
    reports->left_out = 0;
}

__attribute__((format(printf, 5, 0))) static void add(struct dr_reports *reports, const char *where, int line, int column, const char *fmt,
                                                      va_list args) {
    if (reports->n == DR_MAX_REPORTS) {
        reports->left_out++;
        return;
    }
    char text[1024];
    int n = vsnprintf(text, sizeof(text), fmt, args);
    DR_ASSERT(n >= 0);
    for (char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < ' ' || *p == 0x7f) {
            *p = '?';
        }
    }
    reports->v[reports->n] = (struct dr_report){where, line, column, reports->n, dr_str_dup(reports->arena, dr_str_of(text))};
    reports->n++;
}

void dr_reports_add(struct dr_reports *reports, int line, int column, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    add(reports, reports->file, line, column, fmt, args);
    va_end(args);
}

void dr_reports_add_at(struct dr_reports *reports, const char *where, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    add(reports, where, 0, 0, fmt, args);
    va_end(args);
}

/* By place in the file; what has no place comes last, in the order found. */
static int compare(const void *a, const void *b) {
    const struct dr_report *x = a;
    const struct dr_report *y = b;
    if ((x->line == 0) != (y->line == 0)) {
        return x->line == 0 ? 1 : -1;
    }
    if (x->line != y->line) {
        return x->line < y->line ? -1 : 1;
    }
    if (x->column != y->column) {
        return x->column < y->column ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

void dr_reports_put(struct dr_reports *reports, struct dr_buf *buf) {
    qsort(reports->v, reports->n, sizeof(reports->v[0]), compare);
    for (size_t i = 0; i < reports->n; i++) {
        const struct dr_report *report = &reports->v[i];
        dr_buf_puts(buf, report->where);
        if (report->line > 0) {
            dr_buf_fmt(buf, ":%d:%d", report->line, report->column);
        }
        dr_buf_puts(buf, ": ");
        dr_buf_put_str(buf, report->text);
        dr_buf_putc(buf, '\n');
    }
    if (reports->left_out > 0) {
        dr_buf_fmt(buf, "%s: and %zu more\n", reports->file, reports->left_out);
    }
}
