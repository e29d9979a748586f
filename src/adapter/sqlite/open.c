/*
 * Opening a file without changing one that is not ours. SQLite itself reads the header through a connection that is declared immutable: that takes no locks,
 * makes no -wal and -shm files and replays nothing. (Reading the header with read(2) would not do: closing such a descriptor drops the locks that another
 * connection of this process holds on the file.)
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter/sqlite/handle.h"

#define MAX_PATH_BYTES ((size_t)4096)

/* Path with a suffix in heap memory. */
static char *path_with(const char *path, const char *suffix) {
    char *joined = NULL;
    int n = asprintf(&joined, "%s%s", path, suffix);
    DR_ASSERT(n >= 0);
    return joined;
}

/* The folder that holds the file, in heap memory. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return path_with(".", "");
    }
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    char *folder = path_with(path, "");
    folder[n] = '\0';
    return folder;
}

static bool has_wal(const char *path) {
    char *wal = path_with(path, "-wal");
    struct stat st;
    bool there = stat(wal, &st) == 0;
    free(wal);
    return there;
}

/* file: URI of a path. Everything that a URI could read as its own is escaped, a second slash in a row too: "//" would begin a host name. */
static void put_uri(struct dr_buf *buf, const char *path) {
    dr_buf_puts(buf, "file:");
    for (const char *p = path; *p != '\0'; p++) {
        unsigned char c = (unsigned char)*p;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("._-~", c) != NULL;
        if (plain || (c == '/' && (p == path || p[-1] != '/'))) {
            dr_buf_putc(buf, (char)c);
        } else {
            dr_buf_fmt(buf, "%%%02X", c);
        }
    }
    dr_buf_puts(buf, "?immutable=1");
}

static int open_immutable(const char *path, sqlite3 **ret, struct dr_err *err) {
    struct dr_buf uri;
    dr_buf_init(&uri, 4 * MAX_PATH_BYTES);
    put_uri(&uri, path);
    int rc = sqlite3_open_v2(uri.p, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    dr_buf_deinit(&uri);
    if (rc != SQLITE_OK) {
        dr_sqlite_fail(err, *ret, rc, path, "open");
        sqlite3_close(*ret);
        *ret = NULL;
        return -1;
    }
    return 0;
}

/* The integer (or, for text, whether it is `expected`) that a one-row pragma answers. */
static int ask(sqlite3 *db, const char *path, const char *sql, const char *expected, int64_t *ret, struct dr_err *err) {
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
    }
    if (rc == SQLITE_ROW && expected != NULL) {
        const unsigned char *text = sqlite3_column_text(statement, 0);
        *ret = text != NULL && strcmp((const char *)text, expected) == 0;
    } else if (rc == SQLITE_ROW) {
        *ret = sqlite3_column_int64(statement, 0);
    }
    int result = rc == SQLITE_ROW ? 0 : dr_sqlite_fail(err, db, rc, path, "check");
    sqlite3_finalize(statement);
    return result;
}

/* Is it a state file of ours, of a version that we know? */
static int check_identity(sqlite3 *db, const char *path, struct dr_err *err) {
    int64_t application_id = 0;
    int64_t version = 0;
    if (ask(db, path, "PRAGMA application_id", NULL, &application_id, err) < 0 ||
        ask(db, path, "PRAGMA user_version", NULL, &version, err) < 0) {
        return -1;
    }
    if (application_id != DR_SQLITE_APPLICATION_ID) {
        return dr_fail(err, DR_E_INVALID,
                       "%s: is a database of another program (application id %lld); choose another file, this one was not touched", path,
                       (long long)application_id);
    }
    if (version > DR_SQLITE_SCHEMA_VERSION) {
        return dr_fail(err, DR_E_INVALID,
                       "%s: was written by a newer drover (schema %lld, this one knows %d); use that version, the file was not touched",
                       path, (long long)version, DR_SQLITE_SCHEMA_VERSION);
    }
    if (version < 1) {
        return dr_fail(err, DR_E_CORRUPT,
                       "%s: has no schema version; restore it from a copy or choose another file, this one was not touched", path);
    }
    return 0;
}

static int check_pages(sqlite3 *db, const char *path, struct dr_err *err) {
    int64_t sound = 0;
    if (ask(db, path, "PRAGMA quick_check(1)", "ok", &sound, err) < 0) {
        return -1;
    }
    if (!sound) {
        return dr_fail(err, DR_E_CORRUPT, "%s: is damaged; restore it from a copy or move it away, it was not touched", path);
    }
    return 0;
}

static int check_system(const char *path, enum dr_sqlite_mode mode, bool *ret_exists, struct dr_err *err) {
    if (path[0] == '\0' || strlen(path) >= MAX_PATH_BYTES) {
        return dr_fail(err, DR_E_INVALID, "state file: name of %zu bytes: 1 to %zu are allowed", strlen(path), MAX_PATH_BYTES - 1);
    }
    struct stat st;
    *ret_exists = stat(path, &st) == 0;
    if (!*ret_exists) {
        if (errno != ENOENT) {
            return dr_fail(err, errno == EACCES ? DR_E_DENIED : DR_E_INVALID, "%s: %s", path, strerror(errno));
        }
        return mode == DR_SQLITE_READ ? dr_fail(err, DR_E_NOT_FOUND, "%s: there is no such file", path) : 0;
    }
    if (!S_ISREG(st.st_mode)) {
        return dr_fail(err, DR_E_INVALID, "%s: is not a regular file", path);
    }
    if (st.st_size == 0) {
        return dr_fail(err, DR_E_INVALID, "%s: is empty, not a state file; remove it and drover makes a new one", path);
    }
    if (access(path, R_OK) != 0) {
        return dr_fail(err, DR_E_DENIED, "%s: cannot be read: %s", path, strerror(errno));
    }
    if (mode == DR_SQLITE_WRITE && access(path, W_OK) != 0) {
        return dr_fail(err, DR_E_DENIED, "%s: cannot be written: %s", path, strerror(errno));
    }
    return 0;
}

/* WAL needs to make files beside the database; without that SQLite's own message would not say which folder. */
static int check_folder(const char *path, struct dr_err *err) {
    char *folder = folder_of(path);
    struct stat st;
    int result = 0;
    if (stat(folder, &st) != 0) {
        result = dr_fail(err, errno == ENOENT ? DR_E_NOT_FOUND : DR_E_DENIED, "%s: folder %s: %s", path, folder,
                         errno == ENOENT ? "does not exist; make it first" : strerror(errno));
    } else if (!S_ISDIR(st.st_mode)) {
        result = dr_fail(err, DR_E_INVALID, "%s: %s is not a folder", path, folder);
    } else if (access(folder, W_OK | X_OK) != 0) {
        result = dr_fail(err, DR_E_DENIED, "%s: folder %s cannot be written: %s", path, folder, strerror(errno));
    }
    free(folder);
    return result;
}

/* Makes a complete, empty state file of that name. */
static int make(const char *path, struct dr_err *err) {
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(db, dr_sqlite_schema, NULL, NULL, NULL);
    }
    int result = rc == SQLITE_OK ? 0 : dr_sqlite_fail(err, db, rc, path, "create");
    sqlite3_close(db);
    return result;
}

static int create(const char *path, struct dr_err *err) {
    if (check_folder(path, err) < 0) {
        return -1;
    }
    char suffix[48];
    snprintf(suffix, sizeof(suffix), ".new-%ld", (long)getpid());
    char *fresh = path_with(path, suffix);
    unlink(fresh); /* of a process with our number that ended in the middle */
    int result = make(fresh, err);
    if (result == 0 && link(fresh, path) != 0 && errno != EEXIST) { /* EEXIST: another process was first, its file serves as well */
        result = dr_fail(err, DR_E_UNAVAILABLE, "%s: create: %s", path, strerror(errno));
    }
    unlink(fresh);
    char *left = path_with(fresh, "-journal");
    unlink(left); /* there only if making it failed half-way */
    free(left);
    free(fresh);
    return result;
}

/* What can be checked without touching anything. `ret_db` (if not NULL) receives the connection instead of it being closed. */
static int inspect(const char *path, bool pages, sqlite3 **ret_db, struct dr_err *err) {
    sqlite3 *db = NULL;
    if (open_immutable(path, &db, err) < 0) {
        return -1;
    }
    int result = check_identity(db, path, err);
    if (result == 0 && pages) {
        result = check_pages(db, path, err);
    }
    if (result == 0 && ret_db != NULL) {
        *ret_db = db;
        return 0;
    }
    sqlite3_close(db);
    return result;
}

static int set_up(struct dr_sqlite *handle, bool check, struct dr_err *err) {
    sqlite3 *db = handle->db;
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, DR_SQLITE_BUSY_MS);
    /* While the checks run, closing must not move the log into the file. */
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    if (check_identity(db, handle->path, err) < 0 || (check && check_pages(db, handle->path, err) < 0)) {
        return -1;
    }
    if (!handle->read_only) {
        /* FULL: an intent must be on the disk before its effect begins. */
        int rc = sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", NULL, NULL, NULL);
        if (rc != SQLITE_OK) {
            return dr_sqlite_fail(err, db, rc, handle->path, "open");
        }
        if (sqlite3_db_readonly(db, "main") != 0) {
            return dr_fail(err, DR_E_DENIED, "%s: cannot be written", handle->path);
        }
    }
    if (dr_sqlite_prepare(handle, err) < 0) {
        return -1;
    }
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    return 0;
}

static int connect_to(struct dr_sqlite *handle, struct dr_err *err) {
    /* With a log beside it the file alone is not the whole truth: pages are then checked through the real connection. Identity never changes. */
    bool wal = has_wal(handle->path);
    if (handle->read_only && !wal) {
        /* Nobody has it open, so the immutable connection stays: it leaves no files behind and works in a folder that cannot be written. */
        return inspect(handle->path, false, &handle->db, err) < 0 ? -1 : set_up(handle, false, err);
    }
    if (inspect(handle->path, !wal && !handle->read_only, NULL, err) < 0) {
        return -1;
    }
    int flags = handle->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    int rc = sqlite3_open_v2(handle->path, &handle->db, flags, NULL);
    if (rc != SQLITE_OK) {
        return dr_sqlite_fail(err, handle->db, rc, handle->path, "open");
    }
    return set_up(handle, wal && !handle->read_only, err);
}

int dr_sqlite_open(const char *path, enum dr_sqlite_mode mode, struct dr_sqlite **ret, struct dr_err *err) {
    *ret = NULL;
    bool exists = false;
    if (check_system(path, mode, &exists, err) < 0) {
        return -1;
    }
    if (mode == DR_SQLITE_WRITE && (exists ? check_folder(path, err) : create(path, err)) < 0) {
        return -1;
    }
    struct dr_sqlite *handle = calloc(1, sizeof(*handle));
    DR_ASSERT(handle != NULL);
    handle->path = path_with(path, "");
    handle->read_only = mode == DR_SQLITE_READ;
    if (connect_to(handle, err) < 0) {
        dr_sqlite_close(handle);
        return -1;
    }
    *ret = handle;
    return 0;
}

void dr_sqlite_close(struct dr_sqlite *handle) {
    if (handle == NULL) {
        return;
    }
    for (size_t i = 0; i < DR_SQL_N; i++) {
        sqlite3_finalize(handle->statements[i]);
    }
    int rc = sqlite3_close(handle->db);
    DR_ASSERT(rc == SQLITE_OK);
    free(handle->path);
    free(handle);
}
