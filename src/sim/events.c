/* Virtual time: a heap of what is going to happen, ordered by time and then by when it was scheduled. */

#include "sim/inner.h"

#include <stdlib.h>

bool sim_grow(void **v, size_t *cap, size_t n, size_t size, size_t max) {
    if (n < *cap) {
        return true;
    }
    if (n >= max) {
        return false;
    }
    size_t next = *cap == 0 ? 16 : *cap * 2;
    next = next > max ? max : next;
    void *grown = realloc(*v, next * size);
    DR_ASSERT(grown != NULL);
    *v = grown;
    *cap = next;
    return true;
}

struct dr_str sim_uid(struct dr_world *w, char kind, uint64_t serial) {
    return dr_str_fmt(&w->arena, "%08x-0000-4000-8000-%012llx", (unsigned)kind, (unsigned long long)serial);
}

static bool before(const struct sim_event *a, const struct sim_event *b) {
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->seq < b->seq;
}

static void push(struct dr_world *w, struct sim_event e) {
    DR_ASSERT(sim_grow((void **)&w->events, &w->event_cap, w->event_n, sizeof *w->events, SIM_MAX_EVENTS));
    e.at_ms = e.at_ms < w->now_ms ? w->now_ms : e.at_ms;
    e.seq = ++w->event_seq;
    size_t i = w->event_n++;
    while (i > 0 && before(&e, &w->events[(i - 1) / 2])) {
        w->events[i] = w->events[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    w->events[i] = e;
}

static struct sim_event pop(struct dr_world *w) {
    struct sim_event top = w->events[0];
    struct sim_event last = w->events[--w->event_n];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= w->event_n) {
            break;
        }
        if (child + 1 < w->event_n && before(&w->events[child + 1], &w->events[child])) {
            child++;
        }
        if (!before(&w->events[child], &last)) {
            break;
        }
        w->events[i] = w->events[child];
        i = child;
    }
    w->events[i] = last;
    return top;
}

void sim_post(struct dr_world *w, int64_t at_ms, enum sim_event_kind kind, int slot, uint64_t serial, int64_t b) {
    push(w, (struct sim_event){.at_ms = at_ms, .kind = kind, .slot = slot, .serial = serial, .b = b});
}

void dr_world_at(struct dr_world *world, int64_t at_ms, void (*fn)(struct dr_world *world, void *arg), void *arg) {
    push(world, (struct sim_event){.at_ms = at_ms, .kind = SIM_EV_CALL, .fn = fn, .arg = arg});
}

static void happen(struct dr_world *w, const struct sim_event *e) {
    switch (e->kind) {
    case SIM_EV_CALL:
        e->fn(w, e->arg);
        break;
    case SIM_EV_BOOT:
    case SIM_EV_VISIBLE:
    case SIM_EV_JOIN:
    case SIM_EV_SILENT:
    case SIM_EV_ENDED:
    case SIM_EV_VANISH:
    case SIM_EV_RECLAIM:
    case SIM_EV_NOTICE:
        sim_machine_event(w, e);
        break;
    case SIM_EV_READY:
    case SIM_EV_EXPEL:
        sim_node_event(w, e);
        break;
    case SIM_EV_START:
    case SIM_EV_GONE:
        sim_pod_event(w, e);
        break;
    }
}

void sim_settle(struct dr_world *w) {
    while (w->schedule_due) {
        w->schedule_due = false;
        sim_schedule(w);
    }
}

int64_t dr_world_now(const struct dr_world *world) { return world->now_ms; }

int64_t dr_world_next(const struct dr_world *world) { return world->event_n == 0 ? INT64_MAX : world->events[0].at_ms; }

bool dr_world_advance(struct dr_world *world, int64_t until_ms) {
    world->started = true;
    sim_settle(world);
    while (!world->broken && world->event_n > 0 && world->events[0].at_ms <= until_ms) {
        struct sim_event e = pop(world);
        world->now_ms = e.at_ms > world->now_ms ? e.at_ms : world->now_ms;
        happen(world, &e);
        sim_settle(world);
    }
    if (!world->broken && until_ms > world->now_ms) {
        world->now_ms = until_ms;
    }
    return !world->broken;
}
