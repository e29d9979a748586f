#include "app/state_file.h"

#include <string.h>

#include "app/session.h"
#include "base/num.h"

#define PAGE_ROWS 256
#define CALL_MS 20000
/* More than a page of the largest rows; an arena that reaches it is a file that is not what it says. */
#define PAGE_BYTES ((size_t)512 * 1024 * 1024)

static const char *path_of(struct dr_app *app, const struct dr_args *args) {
    const char *path = dr_args_get(args, "state");
    if (path == NULL) {
        path = dr_app_env(app, "DROVER_STATE");
    }
    return path == NULL || path[0] == '\0' ? "drover.db" : path;
}

static int find_cluster(struct dr_app *app, const struct dr_args *args, struct dr_state_file *file, struct dr_err *err) {
    const char *cluster = dr_args_get(args, "cluster");
    if (cluster != NULL) {
        file->pk = dr_str_of(cluster);
    } else if (dr_sqlite_only_key(file->handle, app->arena, &file->pk, err) < 0) {
        return -1;
    } else if (file->pk.n == 0) {
        file->pk = DR_STR("cluster");
    }
    return file->store.ops->load(file->store.self, app->arena, file->pk, dr_state_file_deadline(file), &file->state, err);
}

int64_t dr_state_file_deadline(const struct dr_state_file *file) {
    return file->session == NULL ? INT64_MAX : dr_process_now_ms(&file->session->process) + CALL_MS;
}

static int open_configured(struct dr_app *app, const struct dr_args *args, struct dr_state_file *ret) {
    struct dr_session *session = DR_NEW(app->arena, struct dr_session);
    int code = dr_session_open(session, app, args, DR_LIVE_STORE | DR_LIVE_READ_ONLY, false);
    if (code != 0) {
        return code;
    }
    const struct dr_settings *settings = &session->settings;
    const char *cluster = dr_args_get(args, "cluster");
    const char *config = dr_session_file(app, args);
    bool sqlite = dr_live_store(&settings->live) == DR_STORE_SQLITE;
    *ret = (struct dr_state_file){
        .path = sqlite ? settings->live.state_file.p : dr_str_fmt(app->arena, "table %.*s", DR_FMT(settings->live.state_table)).p,
        .hint = dr_str_fmt(app->arena, "-c %s", config == NULL ? "FILE" : config).p,
        .session = session,
        .store = session->live.ports.store,
        .pk = cluster != NULL ? dr_str_of(cluster) : settings->cfg.cluster,
    };
    struct dr_err err = {.code = DR_OK};
    if (ret->store.ops->load(ret->store.self, app->arena, ret->pk, dr_state_file_deadline(ret), &ret->state, &err) < 0) {
        dr_state_file_close(ret);
        return dr_app_fail(app, DR_EXIT_FAILED, "%s", err.text);
    }
    return 0;
}

int dr_state_file_open(struct dr_app *app, const struct dr_args *args, struct dr_state_file *ret) {
    const char *config = dr_app_env(app, "DROVER_CONFIG");
    bool configured = dr_args_has(args, "config") || (config != NULL && config[0] != '\0');
    if (configured && !dr_args_has(args, "state")) {
        return open_configured(app, args, ret);
    }
    struct dr_err err = {.code = DR_OK};
    *ret = (struct dr_state_file){.path = path_of(app, args)};
    ret->hint = dr_str_fmt(app->arena, "--state %s", ret->path).p;
    if (dr_sqlite_open(ret->path, DR_SQLITE_READ, &ret->handle, &err) < 0) {
        const char *hint = err.code == DR_E_NOT_FOUND ? "; name the state file with --state FILE, or the configuration with -c FILE" : "";
        return dr_app_fail(app, DR_EXIT_FAILED, "%s%s", err.text, hint);
    }
    ret->store = dr_sqlite_store(ret->handle);
    if (find_cluster(app, args, ret, &err) < 0) {
        dr_state_file_close(ret);
        return dr_app_fail(app, err.code == DR_E_INVALID ? DR_EXIT_USAGE : DR_EXIT_FAILED, "%s", err.text);
    }
    return 0;
}

void dr_state_file_close(struct dr_state_file *file) {
    dr_sqlite_close(file->handle);
    file->handle = NULL;
    if (file->session != NULL) {
        dr_session_close(file->session);
        file->session = NULL;
    }
}

void dr_history_init(struct dr_history *history, const struct dr_state_file *file) {
    *history = (struct dr_history){.file = file};
    dr_arena_init(&history->arena, PAGE_BYTES);
    dr_buf_init(&history->seen_id, 1024);
}

void dr_history_deinit(struct dr_history *history) {
    dr_arena_deinit(&history->arena);
    dr_buf_deinit(&history->seen_id);
}

static int compare(const struct dr_journal_row *a, const struct dr_journal_row *b) {
    if (a->at_ms != b->at_ms) {
        return a->at_ms < b->at_ms ? -1 : 1;
    }
    int order = dr_str_cmp(a->request_id, b->request_id);
    if (order != 0) {
        return order;
    }
    return a->sequence == b->sequence ? 0 : a->sequence < b->sequence ? -1 : 1;
}

/*
 * A page begins at the time of the last row handed out, because several rows may have the same; what was handed out already is passed over.
 * Pages instead of one statement held open: a reader that stops to think must not keep the writer's log from being moved into the file.
 */
static int next_page(struct dr_history *h, struct dr_err *err) {
    struct dr_journal_query query = {h->from_ms, h->to_ms, PAGE_ROWS, h->newest_first};
    if (h->started && h->newest_first) {
        query.to_ms = dr_sat_add(h->seen.at_ms, 1);
    } else if (h->started) {
        query.from_ms = h->seen.at_ms;
    }
    dr_arena_reset(&h->arena);
    const struct dr_store *store = &h->file->store;
    if (store->ops->journal_read(store->self, &h->arena, h->file->pk, &query, dr_state_file_deadline(h->file), &h->rows, &h->row_n, err) <
        0) {
        return -1;
    }
    h->at = 0;
    h->last_page = h->row_n < PAGE_ROWS;
    while (h->started && h->at < h->row_n) {
        int order = compare(&h->rows[h->at], &h->seen);
        if (h->newest_first ? order < 0 : order > 0) {
            break;
        }
        h->at++;
    }
    if (h->at == h->row_n && !h->last_page) {
        return dr_fail(err, DR_E_LIMIT, "%s: journal: %d rows or more of the same millisecond", h->file->path, PAGE_ROWS);
    }
    return 0;
}

int dr_history_next(struct dr_history *h, const struct dr_journal_row **row, struct dr_err *err) {
    if (h->at == h->row_n) {
        if (h->last_page) {
            return 0;
        }
        if (next_page(h, err) < 0) {
            return -1;
        }
        if (h->at == h->row_n) {
            return 0;
        }
    }
    *row = &h->rows[h->at++];
    h->started = true;
    dr_buf_clear(&h->seen_id);
    dr_buf_put_str(&h->seen_id, (*row)->request_id);
    h->seen = (struct dr_journal_row){.at_ms = (*row)->at_ms, .request_id = dr_buf_str(&h->seen_id), .sequence = (*row)->sequence};
    if (dr_plan_read(&h->arena, (*row)->json, &h->plan, err) < 0) {
        if (err != NULL) {
            err->code = DR_E_CORRUPT;
        }
        return dr_wrap(err, "%s: journal row %lld %.*s %lld", h->file->path, (long long)(*row)->at_ms, DR_FMT((*row)->request_id),
                       (long long)(*row)->sequence);
    }
    return 1;
}
