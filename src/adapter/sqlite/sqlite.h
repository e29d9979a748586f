#ifndef DR_ADAPTER_SQLITE_H
#define DR_ADAPTER_SQLITE_H

/*
 * The embedded store: one SQLite file (WAL, STRICT tables) behind the store port. Several processes may share a file on one machine; every write is one
 * statement, so compare-and-set needs no transaction that could be left open.
 *
 * A file is looked at before anything is written to it: one that is not ours, newer than this program, damaged or read-only is refused and left as it was.
 * A new file is made complete under another name and then linked into place, so that no process ever sees half of one.
 *
 * Rows of inbox and journal expire when a later journal row is written: its time is the only clock that the store knows, which may be a virtual one.
 * For the same reason `deadline_ms` is not looked at: a call waits for other processes at most DR_SQLITE_BUSY_MS and then fails with DR_E_TIMEOUT.
 */

#include "base/err.h"
#include "port/store.h"

#define DR_SQLITE_BUSY_MS 5000
#define DR_SQLITE_APPLICATION_ID 0x64726f76 /* "drov" */
#define DR_SQLITE_SCHEMA_VERSION 1
/* Largest item and journal row: what DynamoDB takes, so that a state can move there. */
#define DR_SQLITE_MAX_BODY_BYTES DR_STATE_MAX_BYTES

enum dr_sqlite_mode {
    DR_SQLITE_READ,  /* never creates or changes the file; every write fails with DR_E_DENIED */
    DR_SQLITE_WRITE, /* creates the file if there is none; its folder must exist */
};

struct dr_sqlite;

/*
 * Opens a state file. DR_E_NOT_FOUND: no such file (reading) or folder; DR_E_DENIED: may not be read or written; DR_E_INVALID: not a state file of ours,
 * or newer than this program; DR_E_CORRUPT: damaged; DR_E_UNAVAILABLE: disk full or input/output error. The text names the file and what to do.
 */
int dr_sqlite_open(const char *path, enum dr_sqlite_mode mode, struct dr_sqlite **ret, struct dr_err *err);

/* The port; valid until the handle is closed. */
struct dr_store dr_sqlite_store(struct dr_sqlite *handle);

/* NULL is fine. */
void dr_sqlite_close(struct dr_sqlite *handle);

/*
 * The key of the one item in the file, for commands that are pointed at a file and not at a cluster; copied to the arena. Empty: the file holds no item.
 * More than one item: DR_E_INVALID, the first few keys named.
 */
int dr_sqlite_only_key(struct dr_sqlite *handle, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err);

#endif
