/* The tables, the statements over them, and SQLite's result codes in our words. */

#include <string.h>

#include "adapter/sqlite/handle.h"

#define TEXT_OF(x) TEXT_OF_(x)
#define TEXT_OF_(x) #x

/*
 * The item stands as its DynamoDB JSON text with the revision beside it; 0 is an item that another system wrote. Journal rows can be large, hence a table with
 * row ids and an index over the key. The mode is stored in the file, so readers know it before they open the log.
 */
const char *const dr_sqlite_schema =
    "BEGIN;"
    "PRAGMA application_id=" TEXT_OF(
        DR_SQLITE_APPLICATION_ID) ";"
                                  "PRAGMA user_version=" TEXT_OF(
                                      DR_SQLITE_SCHEMA_VERSION) ";"
                                                                "CREATE TABLE item (pk TEXT PRIMARY KEY, revision INTEGER NOT NULL, body "
                                                                "TEXT NOT NULL) STRICT;"
                                                                "CREATE TABLE inbox (pk TEXT NOT NULL, instance_id TEXT NOT NULL, kind "
                                                                "TEXT NOT NULL, at_ms INTEGER NOT NULL, handled INTEGER NOT NULL DEFAULT 0,"
                                                                " expire_ms INTEGER, PRIMARY KEY (pk, instance_id, kind)) STRICT, WITHOUT "
                                                                "ROWID;"
                                                                "CREATE TABLE journal (pk TEXT NOT NULL, at_ms INTEGER NOT NULL, "
                                                                "request_id TEXT NOT NULL, sequence INTEGER NOT NULL, body TEXT NOT NULL,"
                                                                " expire_ms INTEGER NOT NULL, UNIQUE (pk, at_ms, request_id, sequence)) "
                                                                "STRICT;"
                                                                "CREATE INDEX inbox_expire ON inbox (expire_ms) WHERE expire_ms IS NOT "
                                                                "NULL;"
                                                                "CREATE INDEX journal_expire ON journal (expire_ms);"
                                                                "COMMIT;"
                                                                "PRAGMA journal_mode=WAL;";

static const char *const sql[DR_SQL_N] = {
    [DR_SQL_LOAD] = "SELECT revision, body FROM item WHERE pk = ?1",
    [DR_SQL_KEYS] = "SELECT pk FROM item ORDER BY pk LIMIT 6",
    /* Rows that wait come first into the 1,000: a day of handled ones must not hide them. */
    [DR_SQL_INBOX] = "SELECT * FROM (SELECT instance_id, kind, at_ms, handled FROM inbox WHERE pk = ?1 ORDER BY handled, at_ms, "
                     "instance_id, kind LIMIT ?2)"
                     " ORDER BY at_ms, instance_id, kind",
    [DR_SQL_JOURNAL_OLDEST] = "SELECT at_ms, request_id, sequence, body FROM journal WHERE pk = ?1 AND at_ms >= ?2 AND at_ms < ?3"
                              " ORDER BY at_ms, request_id, sequence LIMIT ?4",
    [DR_SQL_JOURNAL_NEWEST] = "SELECT at_ms, request_id, sequence, body FROM journal WHERE pk = ?1 AND at_ms >= ?2 AND at_ms < ?3"
                              " ORDER BY at_ms DESC, request_id DESC, sequence DESC LIMIT ?4",
    [DR_SQL_JOURNAL_GET] = "SELECT body FROM journal WHERE pk = ?1 AND at_ms = ?2 AND request_id = ?3 AND sequence = ?4",
    [DR_SQL_CAS_FIRST] = "INSERT INTO item (pk, revision, body) VALUES (?1, ?2 + 1, ?3)"
                         " ON CONFLICT (pk) DO UPDATE SET revision = ?2 + 1, body = ?3 WHERE revision = ?2",
    [DR_SQL_CAS] = "UPDATE item SET revision = ?2 + 1, body = ?3 WHERE pk = ?1 AND revision = ?2",
    [DR_SQL_INBOX_PUT] = "INSERT INTO inbox (pk, instance_id, kind, at_ms) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
    [DR_SQL_INBOX_HANDLE] =
        "UPDATE inbox SET handled = 1, expire_ms = max(ifnull(expire_ms, ?4), ?4) WHERE pk = ?1 AND instance_id = ?2 AND kind = ?3",
    [DR_SQL_JOURNAL_PUT] =
        "INSERT INTO journal (pk, at_ms, request_id, sequence, body, expire_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
    [DR_SQL_JOURNAL_EXPIRE] = "DELETE FROM journal WHERE expire_ms <= ?1",
    [DR_SQL_INBOX_EXPIRE] = "DELETE FROM inbox WHERE expire_ms <= ?1",
};

int dr_sqlite_prepare(struct dr_sqlite *handle, struct dr_err *err) {
    size_t n = handle->read_only ? (size_t)DR_SQL_READ_N : (size_t)DR_SQL_N;
    for (size_t i = 0; i < n; i++) {
        int rc = sqlite3_prepare_v3(handle->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &handle->statements[i], NULL);
        if (rc == SQLITE_ERROR) {
            return dr_fail(err, DR_E_CORRUPT, "%s: its tables are not those of a state file: %s; it was not touched", handle->path,
                           sqlite3_errmsg(handle->db));
        }
        if (rc != SQLITE_OK) {
            return dr_sqlite_fail(err, handle->db, rc, handle->path, "open");
        }
    }
    return 0;
}

struct meaning {
    int rc;
    enum dr_code code;
    const char *why;
};

static const struct meaning meanings[] = {
    {SQLITE_BUSY, DR_E_TIMEOUT, "another process kept it locked for too long"},
    {SQLITE_LOCKED, DR_E_TIMEOUT, "it is locked"},
    {SQLITE_FULL, DR_E_UNAVAILABLE, "the disk is full"},
    {SQLITE_READONLY, DR_E_DENIED, "it cannot be written"},
    {SQLITE_PERM, DR_E_DENIED, "not permitted"},
    {SQLITE_CANTOPEN, DR_E_DENIED, "it cannot be opened"},
    {SQLITE_CORRUPT, DR_E_CORRUPT, "it is damaged; restore it from a copy or move it away"},
    {SQLITE_NOTADB, DR_E_INVALID, "it is not a state file; choose another one, this one was not touched"},
    {SQLITE_TOOBIG, DR_E_LIMIT, "a value is too large"},
    {SQLITE_IOERR, DR_E_UNAVAILABLE, "input/output error"},
};

int dr_sqlite_fail(struct dr_err *err, sqlite3 *db, int rc, const char *path, const char *what) {
    struct meaning found = {rc, DR_E_INTERNAL, sqlite3_errstr(rc)};
    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
        if (meanings[i].rc == (rc & 0xff)) {
            found = meanings[i];
        }
    }
    int system = db == NULL ? 0 : sqlite3_system_errno(db);
    if (system != 0 && (found.code == DR_E_UNAVAILABLE || found.code == DR_E_DENIED)) {
        return dr_fail(err, found.code, "%s: %s: %s (%s)", path, what, found.why, strerror(system));
    }
    return dr_fail(err, found.code, "%s: %s: %s", path, what, found.why);
}
