#include "app/when.h"

#include "base/time.h"

/* Time of the newest row, 0 without any. */
static int newest(const struct dr_state_file *file, int64_t *ret_ms, struct dr_err *err) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_journal_query query = {.limit = 1, .newest_first = true};
    const struct dr_journal_row *rows;
    size_t n = 0;
    int result = file->store.ops->journal_read(file->store.self, &arena, file->pk, &query, dr_state_file_deadline(file), &rows, &n, err);
    *ret_ms = result == 0 && n > 0 ? rows[0].at_ms : 0;
    dr_arena_deinit(&arena);
    return result;
}

int dr_when_parse(struct dr_app *app, const struct dr_args *args, const struct dr_state_file *file, const char *name, const char *text,
                  int64_t *ret_ms) {
    struct dr_str s = dr_str_of(text);
    int64_t of_day = 0;
    int64_t last = 0;
    struct dr_err err;
    if (dr_time_parse_clock(s, &of_day)) {
        if (newest(file, &last, &err) < 0) {
            return dr_app_fail(app, DR_EXIT_FAILED, "%s", err.text);
        }
        int64_t day = last - last % DR_DAY_MS;
        *ret_ms = day + of_day > last && day > 0 ? day + of_day - DR_DAY_MS : day + of_day;
        return 0;
    }
    if (!dr_time_parse(s, ret_ms) || *ret_ms < 0) {
        return dr_app_fail(app, DR_EXIT_USAGE,
                           "%s: --%s: %s: must be a time such as 2026-11-15T20:04:00Z, \"2026-11-15 20:04\", 20:04 or Unix seconds",
                           args->command->name, name, text);
    }
    return 0;
}

int dr_when_option(struct dr_app *app, const struct dr_args *args, const struct dr_state_file *file, const char *name, int64_t *ret_ms) {
    const char *text = dr_args_get(args, name);
    return text == NULL ? 0 : dr_when_parse(app, args, file, name, text, ret_ms);
}
