/* The in-memory store: the item is kept as a value in a memory of its own, written by compare-and-set on its revision. */

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "sim/inner.h"

#define MAX_INBOX 100000
#define INBOX_READ 1000
#define JOURNAL_READ 1000

/* ---- item ---- */

static size_t item_index(const struct dr_world *w, struct dr_str pk) {
    size_t i = 0;
    while (i < w->item_n && !dr_str_eq(w->items[i].state[w->items[i].now].pk, pk)) {
        i++;
    }
    return i;
}

static struct sim_item *item_find(struct dr_world *w, struct dr_str pk) {
    size_t i = item_index(w, pk);
    return i < w->item_n ? &w->items[i] : NULL;
}

static const struct dr_state *stored(const struct sim_item *item) { return item == NULL ? NULL : &item->state[item->now]; }

static struct sim_item *item_new(struct dr_world *w) {
    if (w->item_n == SIM_MAX_ITEMS) {
        return NULL;
    }
    struct sim_item *item = &w->items[w->item_n++];
    dr_arena_init(&item->arena[0], (size_t)1 << 24);
    dr_arena_init(&item->arena[1], (size_t)1 << 24);
    item->now = 0;
    return item;
}

/* The other buffer becomes the item; what was loaded before stays in its reader's memory. */
static void item_write(struct sim_item *item, const struct dr_state *state, int64_t revision) {
    int next = 1 - item->now;
    dr_arena_reset(&item->arena[next]);
    struct dr_state *to = &item->state[next];
    dr_state_copy(&item->arena[next], to, state);
    to->exists = true;
    to->revision = revision;
    to->problems.v = NULL; /* found while reading, never written */
    to->problems.n = 0;
    item->now = next;
}

/* The item must survive its encoded form, or a real store would hand back something else than this one. */
static void check_codec(struct dr_world *w, const struct dr_state *state) {
    struct dr_arena arena;
    struct dr_buf buf;
    struct dr_state back;
    struct dr_err err;
    dr_arena_init(&arena, (size_t)1 << 26);
    dr_buf_init(&buf, (size_t)1 << 22);
    dr_state_encode(state, &buf);
    if (dr_state_decode(&arena, dr_buf_str(&buf), &back, &err) < 0) {
        sim_break(w, "the written item cannot be decoded: %s", err.text);
    } else {
        if (back.problems.n > 0) {
            sim_break(w, "the written item has a problem: %.*s %.*s", DR_FMT(back.problems.v[0].attribute),
                      DR_FMT(back.problems.v[0].what));
        } else if (!dr_state_eq(&back, state)) {
            sim_break(w, "the written item is not what its encoded form says");
        }
    }
    dr_buf_deinit(&buf);
    dr_arena_deinit(&arena);
}

static int store_load(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, struct dr_state *ret, struct dr_err *err) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_STORE_LOAD, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    const struct dr_state *state = stored(item_find(p->world, pk));
    if (state == NULL) {
        dr_state_init(ret, dr_str_dup(arena, pk));
    } else {
        dr_state_copy(arena, ret, state);
    }
    return sim_gate_leave(p, &g, err);
}

static int cas(struct sim_process *p, const struct dr_state *state, enum dr_cas *ret, struct dr_err *err) {
    struct dr_world *w = p->world;
    struct sim_item *item = item_find(w, state->pk);
    int64_t revision = item == NULL ? 0 : stored(item)->revision;
    if (revision != state->revision) {
        *ret = DR_CAS_LOST;
        return 0;
    }
    if (dr_str_eq(state->pk, w->o.cluster)) {
        sim_promise_write(p, stored(item), state);
    }
    item = item == NULL ? item_new(w) : item;
    if (item == NULL) {
        return dr_fail(err, DR_E_LIMIT, "store.cas: more than %d clusters", SIM_MAX_ITEMS);
    }
    item_write(item, state, revision + 1);
    if (w->o.codec_check) {
        check_codec(w, stored(item));
    }
    *ret = DR_CAS_OK;
    return 0;
}

static int store_cas(void *self, const struct dr_state *state, int64_t deadline_ms, enum dr_cas *ret, struct dr_err *err) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_STORE_CAS, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    int r = cas(p, state, ret, err);
    return sim_gate_leave(p, &g, err) < 0 ? -1 : r;
}

const struct dr_state *dr_world_item(const struct dr_world *world) {
    size_t i = item_index(world, world->o.cluster);
    return i < world->item_n ? stored(&world->items[i]) : NULL;
}

void dr_world_put_item(struct dr_world *world, const struct dr_state *state) {
    struct sim_item *item = item_find(world, state->pk);
    item = item == NULL ? item_new(world) : item;
    DR_ASSERT(item != NULL);
    item_write(item, state, state->revision);
    /* Wrong types found while an item of another system was read stay with it. */
    dr_state_copy(&item->arena[item->now], &item->state[item->now], state);
    item->state[item->now].exists = true;
}

/* ---- inbox ---- */

static struct sim_inbox_row *inbox_find(struct dr_world *w, struct dr_str pk, struct dr_str id, enum dr_event_kind kind) {
    for (size_t i = 0; i < w->inbox_n; i++) {
        struct sim_inbox_row *r = &w->inbox[i];
        if (r->event.kind == kind && dr_str_eq(r->event.instance_id, id) && dr_str_eq(r->pk, pk)) {
            return r;
        }
    }
    return NULL;
}

static void inbox_sweep(struct dr_world *w) {
    size_t n = 0;
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < w->inbox_n; i++) {
        if (w->inbox[i].event.handled && w->inbox[i].keep_until_ms <= w->now_ms) {
            continue;
        }
        if (w->inbox[i].event.handled) {
            due = dr_min_i64(due, w->inbox[i].keep_until_ms);
        }
        w->inbox[n++] = w->inbox[i];
    }
    w->inbox_n = n;
    w->sweep_due_ms = due;
}

/* True if there was no such row. Oldest first by the event's own time. */
static int inbox_add(struct dr_world *w, struct dr_str pk, const struct dr_event *event, struct dr_err *err) {
    if (w->sweep_due_ms <= w->now_ms) {
        inbox_sweep(w);
    }
    if (inbox_find(w, pk, event->instance_id, event->kind) != NULL) {
        return 0;
    }
    if (!sim_grow((void **)&w->inbox, &w->inbox_cap, w->inbox_n, sizeof *w->inbox, MAX_INBOX)) {
        return dr_fail(err, DR_E_LIMIT, "store.inbox_put: more than %d rows", MAX_INBOX);
    }
    size_t i = w->inbox_n++;
    while (i > 0 && w->inbox[i - 1].event.at_ms > event->at_ms) {
        w->inbox[i] = w->inbox[i - 1];
        i--;
    }
    w->inbox[i] = (struct sim_inbox_row){sim_str(w, pk), *event, 0};
    w->inbox[i].event.instance_id = sim_str(w, event->instance_id);
    w->inbox[i].event.handled = false;
    return 1;
}

void sim_inbox_deliver(struct dr_world *w, struct dr_str id, enum dr_event_kind kind, int64_t at_ms) {
    struct sim_machine *m = sim_machine_find(w, id);
    if (m != NULL && kind == DR_EVENT_WARNING) {
        m->warned = true;
        m->warned_ms = m->warned_ms == 0 ? at_ms : m->warned_ms;
        m->notice_stamp = m->notice_stamp == 0 ? ++w->stamp : m->notice_stamp;
    }
    struct dr_event event = {id, kind, at_ms, false};
    struct dr_err err;
    int r = inbox_add(w, w->o.cluster, &event, &err);
    sim_trace(w, "%s for %.*s %s", dr_event_kind_name(kind), DR_FMT(id), r > 0 ? "in the inbox" : "repeated");
    if (w->o.hooks.wake != NULL) {
        w->o.hooks.wake(w->o.hooks.self, &event);
    }
}

static int store_inbox(void *self, struct dr_arena *arena, struct dr_str pk, int64_t deadline_ms, const struct dr_event **ret,
                       size_t *ret_n, struct dr_err *err) {
    struct sim_process *p = self;
    struct dr_world *w = p->world;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_STORE_INBOX, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    if (w->sweep_due_ms <= w->now_ms) {
        inbox_sweep(w);
    }
    struct dr_event *v = DR_NEW_N(arena, struct dr_event, w->inbox_n < INBOX_READ ? w->inbox_n : INBOX_READ);
    size_t n = 0;
    for (size_t i = 0; i < w->inbox_n && n < INBOX_READ; i++) {
        if (dr_str_eq(w->inbox[i].pk, pk)) {
            v[n++] = w->inbox[i].event;
        }
    }
    p->inbox_stamp = ++w->stamp;
    *ret = v;
    *ret_n = n;
    return sim_gate_leave(p, &g, err);
}

static int store_inbox_put(void *self, struct dr_str pk, const struct dr_event *event, int64_t deadline_ms, struct dr_err *err) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_STORE_INBOX_PUT, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    int r = inbox_add(p->world, pk, event, err);
    return sim_gate_leave(p, &g, err) < 0 || r < 0 ? -1 : 0;
}

static int store_inbox_handle(void *self, struct dr_str pk, struct dr_str instance_id, enum dr_event_kind kind, int64_t keep_until_ms,
                              int64_t deadline_ms, struct dr_err *err) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_STORE_INBOX_HANDLE, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    struct sim_inbox_row *row = inbox_find(p->world, pk, instance_id, kind);
    if (row != NULL) {
        row->event.handled = true;
        row->keep_until_ms = keep_until_ms;
        p->world->sweep_due_ms = dr_min_i64(p->world->sweep_due_ms, keep_until_ms);
    }
    return sim_gate_leave(p, &g, err);
}

/* ---- journal ---- */

static int key_cmp(const struct sim_journal_row *a, struct dr_str pk, const struct dr_journal_row *b) {
    int c = dr_str_cmp(a->pk, pk);
    if (c != 0 || a->row.at_ms != b->at_ms) {
        return c != 0 ? c : a->row.at_ms < b->at_ms ? -1 : 1;
    }
    c = dr_str_cmp(a->row.request_id, b->request_id);
    return c != 0 ? c : a->row.sequence == b->sequence ? 0 : a->row.sequence < b->sequence ? -1 : 1;
}

/* First row that is not before the key. Rows mostly come in order, so it is looked for from the end. */
static size_t journal_place(const struct dr_world *w, struct dr_str pk, const struct dr_journal_row *row) {
    size_t i = w->journal_n;
    while (i > 0 && key_cmp(&w->journal[i - 1], pk, row) >= 0) {
        i--;
    }
    return i;
}

/* One block holds the texts of a row. */
static void journal_copy(struct sim_journal_row *to, struct dr_str pk, const struct dr_journal_row *row, int64_t expire_ms) {
    char *block = malloc(pk.n + row->request_id.n + row->json.n + 1);
    DR_ASSERT(block != NULL);
    char *at = block;
    struct dr_str texts[3] = {pk, row->request_id, row->json};
    for (int i = 0; i < 3; i++) {
        if (texts[i].n > 0) {
            memcpy(at, texts[i].p, texts[i].n);
        }
        texts[i].p = at;
        at += texts[i].n;
    }
    *to = (struct sim_journal_row){texts[0], *row, expire_ms};
    to->row.request_id = texts[1];
    to->row.json = texts[2];
}

static void journal_free(struct sim_journal_row *row) { free((void *)(uintptr_t)row->pk.p); }

/* Expired rows go; if there are still too many, a quarter of the oldest with them, so that not every write moves the whole list. */
static void journal_trim(struct dr_world *w) {
    size_t n = 0, excess = w->journal_n / 4;
    for (size_t i = 0; i < w->journal_n; i++) {
        if (w->journal[i].expire_ms <= w->now_ms || i < excess) {
            journal_free(&w->journal[i]);
        } else {
            w->journal[n++] = w->journal[i];
        }
    }
    w->journal_n = n;
}

static int journal_add(struct dr_world *w, struct dr_str pk, const struct dr_journal_row *row, int64_t expire_ms, struct dr_err *err) {
    size_t i = journal_place(w, pk, row);
    if (i < w->journal_n && key_cmp(&w->journal[i], pk, row) == 0) {
        return dr_str_eq(w->journal[i].row.json, row->json)
                   ? 0
                   : dr_fail(err, DR_E_CONFLICT, "store.journal_put: the key is taken by another row");
    }
    if (w->o.journal_rows == 0) {
        return 0;
    }
    if (w->journal_n >= w->o.journal_rows) {
        journal_trim(w);
        i = journal_place(w, pk, row);
    }
    DR_ASSERT(sim_grow((void **)&w->journal, &w->journal_cap, w->journal_n, sizeof *w->journal, w->o.journal_rows + 1));
    memmove(&w->journal[i + 1], &w->journal[i], (w->journal_n - i) * sizeof *w->journal);
    w->journal_n++;
    journal_copy(&w->journal[i], pk, row, expire_ms);
    return 0;
}

static int store_journal_put(void *self, struct dr_str pk, const struct dr_journal_row *row, int64_t expire_ms, int64_t deadline_ms,
                             struct dr_err *err) {
    struct sim_process *p = self;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_STORE_JOURNAL_PUT, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    int r = journal_add(p->world, pk, row, expire_ms, err);
    return sim_gate_leave(p, &g, err) < 0 ? -1 : r;
}

static bool wanted(const struct dr_world *w, const struct sim_journal_row *r, struct dr_str pk, const struct dr_journal_query *q) {
    return r->expire_ms > w->now_ms && r->row.at_ms >= q->from_ms && (q->to_ms == 0 || r->row.at_ms < q->to_ms) && dr_str_eq(r->pk, pk);
}

static int store_journal_read(void *self, struct dr_arena *arena, struct dr_str pk, const struct dr_journal_query *query,
                              int64_t deadline_ms, const struct dr_journal_row **ret, size_t *ret_n, struct dr_err *err) {
    struct sim_process *p = self;
    struct dr_world *w = p->world;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_STORE_JOURNAL_READ, deadline_ms, &g);
    if (!g.act) {
        return sim_gate_refuse(p, &g, err);
    }
    size_t limit = query->limit == 0 ? JOURNAL_READ : query->limit;
    limit = limit < w->journal_n ? limit : w->journal_n;
    struct dr_journal_row *v = DR_NEW_N(arena, struct dr_journal_row, limit);
    size_t n = 0;
    for (size_t k = 0; k < w->journal_n && n < limit; k++) {
        const struct sim_journal_row *r = &w->journal[query->newest_first ? w->journal_n - 1 - k : k];
        if (wanted(w, r, pk, query)) {
            v[n] = r->row;
            v[n].request_id = dr_str_dup(arena, r->row.request_id);
            v[n].json = dr_str_dup(arena, r->row.json);
            n++;
        }
    }
    *ret = v;
    *ret_n = n;
    return sim_gate_leave(p, &g, err);
}

void sim_store_free(struct dr_world *w) {
    for (size_t i = 0; i < w->item_n; i++) {
        dr_arena_deinit(&w->items[i].arena[0]);
        dr_arena_deinit(&w->items[i].arena[1]);
    }
    for (size_t i = 0; i < w->journal_n; i++) {
        journal_free(&w->journal[i]);
    }
    free(w->journal);
    free(w->inbox);
}

const struct dr_store_ops sim_store_ops = {
    .load = store_load,
    .cas = store_cas,
    .inbox = store_inbox,
    .inbox_put = store_inbox_put,
    .inbox_handle = store_inbox_handle,
    .journal_put = store_journal_put,
    .journal_read = store_journal_read,
};
