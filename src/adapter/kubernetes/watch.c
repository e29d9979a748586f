/*
 * Two streams of events. Pods are watched with a selector that leaves only those without a node, so that a stream of a large cluster is small; the server tells the
 * present ones first when no version is given.
 *
 *     closed --(pause over)--> open --(end, time-out)--> closed, version kept
 *                               |--(410, in the stream or as status)--> closed, version forgotten
 *                               +--(error)--> closed, pause doubled
 */

#include <stdlib.h>

#include "adapter/kubernetes/client.h"
#include "adapter/kubernetes/event.h"
#include "base/num.h"
#include "base/time.h"

enum { STREAM_SECONDS = 240, SLACK_MS = 30000, PAUSE_BASE_MS = 250, MIN_SPACING_MS = 500, PAUSE_CAP_MS = 30000, MAX_VERSION = 64 };
static const size_t MAX_EVENT_BYTES = (size_t)8 << 20;

struct stream {
    struct dr_kube_watch *watch;
    bool of_nodes;
    struct dr_http_call *call;
    struct dr_buf line;
    char version[MAX_VERSION]; /* to go on from; empty: from the present state */
    bool gone;
    bool broken; /* what came was no event */
    bool any;    /* something came since it was opened */
    int failures;
    int64_t opened_ms;
    int64_t resume_ms;
    struct dr_err why; /* of not being open */
};

struct dr_kube_watch {
    struct dr_kubernetes *kube;
    struct stream pods;
    struct stream nodes;
    struct dr_arena names;
    struct dr_intern states; /* node name -> what was last seen of it */
    bool seen_unschedulable;
    bool seen_nodes;
};

/* What of a Node matters here, one of these per combination. */
static const char STATES[8];

/* Heartbeats change a Node all the time; only what a tick would decide on wakes it. */
static void note_node(struct dr_kube_watch *watch, const struct dr_kube_event *event) {
    bool deleted = dr_str_is(event->type, "DELETED");
    const void *state = deleted ? NULL : &STATES[1 + (event->ready ? 1 : 0) + (event->unschedulable ? 2 : 0)];
    struct dr_intern_item *item = &watch->states.items[dr_intern_id(&watch->states, event->name)];
    watch->seen_nodes = watch->seen_nodes || item->value != state;
    item->value = state;
}

/* False ends the stream. */
static bool take_event(struct stream *s, struct dr_str line) {
    struct dr_arena arena;
    struct dr_kube_event event;
    dr_arena_init(&arena, 0);
    bool ok = dr_kube_event_read(line, &arena, s->of_nodes, &event, &s->why) == 0;
    if (!ok) {
        s->broken = true;
    } else if (dr_str_is(event.type, "ERROR")) {
        s->gone = event.code == 410;
        s->broken = !s->gone;
        (void)dr_fail(&s->why, DR_E_UNAVAILABLE, "the server ended the stream with %lld", (long long)event.code);
        ok = false;
    } else if (event.version.n > 0 && event.version.n < sizeof s->version) {
        memcpy(s->version, event.version.p, event.version.n);
        s->version[event.version.n] = '\0';
    }
    if (ok && !dr_str_is(event.type, "BOOKMARK")) {
        if (s->of_nodes) {
            note_node(s->watch, &event);
        } else if (!dr_str_is(event.type, "DELETED")) {
            s->watch->seen_unschedulable = s->watch->seen_unschedulable || event.unschedulable;
        }
    }
    dr_arena_deinit(&arena);
    return ok;
}

static bool on_data(void *self, struct dr_str piece) {
    struct stream *s = self;
    s->any = true;
    while (piece.n > 0) {
        size_t end = dr_str_find(piece, '\n');
        dr_buf_put(&s->line, piece.p, end);
        if (s->line.truncated) {
            s->broken = true;
            (void)dr_fail(&s->why, DR_E_LIMIT, "an event of more than %zu bytes", MAX_EVENT_BYTES);
            return false;
        }
        if (end == piece.n) {
            return true;
        }
        bool go_on = s->line.n == 0 || take_event(s, dr_buf_str(&s->line));
        dr_buf_clear(&s->line);
        if (!go_on) {
            return false;
        }
        piece = dr_str_sub(piece, end + 1, piece.n);
    }
    return true;
}

static void open_stream(struct stream *s) {
    struct dr_kubernetes *kube = s->watch->kube;
    struct dr_buf path;
    /* Not all at the same second: the streams of several replicas end apart. */
    int64_t seconds = STREAM_SECONDS + dr_rand_between(&kube->rand, 0, STREAM_SECONDS / 4);
    dr_buf_init(&path, 0);
    dr_buf_puts(&path,
                s->of_nodes ? "/api/v1/nodes?watch=1" : "/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3D%2Cstatus.phase%3DPending");
    dr_buf_fmt(&path, "&allowWatchBookmarks=true&timeoutSeconds=%lld", (long long)seconds);
    if (s->version[0] != '\0') {
        dr_buf_puts(&path, "&resourceVersion=");
        dr_kube_put_encoded(&path, dr_str_of(s->version));
    }
    dr_buf_clear(&s->line);
    s->gone = s->broken = s->any = false;
    s->opened_ms = dr_kube_now(kube);
    s->call = dr_kube_start(
        kube,
        &(struct dr_kube_request){
            .method = "GET", .path = dr_buf_str(&path), .timeout_ms = seconds * DR_SECOND_MS + SLACK_MS, .on_data = on_data, .self = s});
    dr_buf_deinit(&path);
}

static void wait_longer(struct stream *s, int64_t asked_ms) {
    struct dr_kubernetes *kube = s->watch->kube;
    int64_t pause = dr_http_backoff_ms(dr_rand_next(&kube->rand), s->failures, PAUSE_BASE_MS, PAUSE_CAP_MS);
    s->failures = s->failures < 16 ? s->failures + 1 : s->failures;
    s->resume_ms = dr_kube_now(kube) + dr_max_i64(dr_max_i64(pause, PAUSE_BASE_MS), dr_min_i64(asked_ms, PAUSE_CAP_MS));
}

static void start_over(struct stream *s) {
    struct dr_kube_watch *watch = s->watch;
    s->version[0] = '\0';
    if (s->of_nodes) {
        watch->seen_nodes = true; /* something may have been missed */
        dr_intern_deinit(&watch->states);
        dr_arena_reset(&watch->names);
        dr_intern_init(&watch->states, &watch->names);
    }
}

static void close_stream(struct stream *s) {
    struct dr_kubernetes *kube = s->watch->kube;
    struct dr_http_response response;
    struct dr_err err = {.code = DR_OK};
    const char *what = s->of_nodes ? "watch nodes" : "watch pods";
    int r = dr_http_wait(kube->http, s->call, &response, &err);
    if (r < 0 && !s->broken && !s->gone) {
        s->why = err;
        (void)dr_kube_unreached(what, &s->why);
        /* A stream that worked may break at any time; going on from its version loses nothing. */
        s->failures = s->any ? 0 : s->failures;
        wait_longer(s, 0);
    } else if (r == 0 && response.status == 410) {
        s->gone = true;
    } else if (r == 0 && response.status != 200) {
        (void)dr_kube_refused(what, response.status, response.body, &s->why);
        if (response.status == 401) {
            (void)dr_kube_token_forget(kube);
        }
        wait_longer(s, response.retry_after_ms);
    } else if (s->broken) {
        (void)dr_wrap(&s->why, "kubernetes %s", what);
        start_over(s);
        wait_longer(s, 0);
    } else if (!s->gone) {
        s->failures = s->any ? 0 : s->failures;
        if (s->any) {
            s->resume_ms = s->opened_ms + MIN_SPACING_MS; /* a proxy may cut streams as soon as something came */
        } else {
            wait_longer(s, 0);
        }
    }
    if (s->gone) {
        start_over(s);
        wait_longer(s, 0);
    }
    dr_http_call_free(s->call);
    s->call = NULL;
}

static void turn(struct stream *s) {
    if (s->call != NULL && dr_http_done(s->call)) {
        close_stream(s);
    }
    if (s->call == NULL && s->resume_ms <= dr_kube_now(s->watch->kube)) {
        open_stream(s);
    }
    if (s->call != NULL && s->any) {
        s->why = (struct dr_err){.code = DR_OK};
        s->failures = 0;
    }
}

static void init_stream(struct stream *s, struct dr_kube_watch *watch, bool of_nodes) {
    *s = (struct stream){.watch = watch, .of_nodes = of_nodes};
    dr_buf_init(&s->line, MAX_EVENT_BYTES);
}

struct dr_kube_watch *dr_kube_watch_new(struct dr_kubernetes *kube) {
    struct dr_kube_watch *watch = calloc(1, sizeof *watch);
    DR_ASSERT(watch != NULL);
    watch->kube = kube;
    dr_arena_init(&watch->names, 0);
    dr_intern_init(&watch->states, &watch->names);
    init_stream(&watch->pods, watch, false);
    init_stream(&watch->nodes, watch, true);
    return watch;
}

void dr_kube_watch_free(struct dr_kube_watch *watch) {
    if (watch == NULL) {
        return;
    }
    struct stream *both[] = {&watch->pods, &watch->nodes};
    for (size_t i = 0; i < 2; i++) {
        dr_http_call_free(both[i]->call);
        dr_buf_deinit(&both[i]->line);
    }
    dr_intern_deinit(&watch->states);
    dr_arena_deinit(&watch->names);
    free(watch);
}

void dr_kube_watch_turn(struct dr_kube_watch *watch, struct dr_kube_watch_seen *ret) {
    turn(&watch->pods);
    turn(&watch->nodes);
    int64_t next_ms = dr_kube_now(watch->kube) + DR_MINUTE_MS;
    next_ms = watch->pods.call == NULL ? dr_min_i64(next_ms, watch->pods.resume_ms) : next_ms;
    next_ms = watch->nodes.call == NULL ? dr_min_i64(next_ms, watch->nodes.resume_ms) : next_ms;
    *ret = (struct dr_kube_watch_seen){.unschedulable = watch->seen_unschedulable,
                                       .nodes = watch->seen_nodes,
                                       .connected = watch->pods.call != NULL && watch->nodes.call != NULL,
                                       .next_ms = next_ms};
    watch->seen_unschedulable = watch->seen_nodes = false;
}

struct dr_str dr_kube_watch_why(const struct dr_kube_watch *watch) {
    return watch->pods.call == NULL || watch->pods.why.code != DR_OK ? dr_str_of(watch->pods.why.text) : dr_str_of(watch->nodes.why.text);
}
