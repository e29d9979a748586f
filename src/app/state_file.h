#ifndef DR_APP_STATE_FILE_H
#define DR_APP_STATE_FILE_H

/* A state opened for reading by a command, from an SQLite file or from the store of a configuration: the item of its cluster and a walk over its journal. Works while another process writes. */

#include "adapter/sqlite/sqlite.h"
#include "app/command.h"
#include "core/plan.h"

struct dr_session;

struct dr_state_file {
    const char *path; /* or what stands for it in messages: "table drover-state" */
    const char *hint; /* the options that lead here again: "--state drover.db" */
    struct dr_sqlite *handle;
    struct dr_session *session; /* of a configuration; NULL: a file was named */
    struct dr_store store;
    struct dr_str pk;
    struct dr_state state; /* state.exists false: no item yet */
};

/*
 * Opens the file of --state, else the store of --config (or $DROVER_CONFIG), else the file $DROVER_STATE or drover.db; finds the cluster and loads its item.
 * 0, or an exit code after saying why.
 */
int dr_state_file_open(struct dr_app *app, const struct dr_args *args, struct dr_state_file *ret);
void dr_state_file_close(struct dr_state_file *file);
int64_t dr_state_file_deadline(const struct dr_state_file *file); /* of a call that starts now */

/* Walk over the journal. Fill from, to and newest_first, then call next; plan and row are valid until the next call. */
struct dr_history {
    const struct dr_state_file *file;
    int64_t from_ms; /* inclusive */
    int64_t to_ms;   /* exclusive; 0: no end */
    bool newest_first;

    struct dr_arena arena; /* of the page */
    const struct dr_journal_row *rows;
    size_t row_n;
    size_t at;
    bool started;
    bool last_page;
    struct dr_journal_row seen; /* key of the last row handed out; its request id stands in `seen_id` */
    struct dr_buf seen_id;
    struct dr_plan plan;
};

void dr_history_init(struct dr_history *history, const struct dr_state_file *file);
void dr_history_deinit(struct dr_history *history);
/* 1: *row and history->plan are the next ones; 0: no more; -1: error. */
int dr_history_next(struct dr_history *history, const struct dr_journal_row **row, struct dr_err *err);

#endif
