#ifndef DR_ADAPTER_SQLITE_HANDLE_H
#define DR_ADAPTER_SQLITE_HANDLE_H

/* Shared by the files of this adapter only: the open handle and how SQLite's result codes become ours. */

#include <sqlite3.h>

#include "adapter/sqlite/sqlite.h"

enum dr_sqlite_statement {
    DR_SQL_LOAD,
    DR_SQL_KEYS,
    DR_SQL_INBOX,
    DR_SQL_JOURNAL_OLDEST,
    DR_SQL_JOURNAL_NEWEST,
    DR_SQL_JOURNAL_GET,
    DR_SQL_READ_N, /* those above only read */
    DR_SQL_CAS_FIRST = DR_SQL_READ_N,
    DR_SQL_CAS,
    DR_SQL_INBOX_PUT,
    DR_SQL_INBOX_HANDLE,
    DR_SQL_JOURNAL_PUT,
    DR_SQL_JOURNAL_EXPIRE,
    DR_SQL_INBOX_EXPIRE,
    DR_SQL_N,
};

struct dr_sqlite {
    sqlite3 *db;
    char *path;
    bool read_only;
    sqlite3_stmt *statements[DR_SQL_N];
};

/* The statements that make an empty database ours. */
extern const char *const dr_sqlite_schema;

/* Prepares what the mode allows. */
int dr_sqlite_prepare(struct dr_sqlite *handle, struct dr_err *err);

/* Fills `err` from the connection's last failure ("<path>: <what>: <why>") and returns -1. `db` may be NULL: the code alone speaks. */
int dr_sqlite_fail(struct dr_err *err, sqlite3 *db, int rc, const char *path, const char *what);

#endif
