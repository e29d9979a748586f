/*
 * Series. A direct series is a function of time. cpu and memory, where no series is given, are demand (or the use of the running pods) over the capacity of the Ready workers; capacity changes, so samples of the time before a change are
 * made just before it, and the rest when someone reads: nothing happens while nobody looks.
 */

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/time.h"
#include "sim/inner.h"

#define MAX_READ 4096

/* ---- curves ---- */

static void curve_put(struct sim_curve *c, int64_t at_ms, int64_t value) {
    DR_ASSERT(sim_grow((void **)&c->v, &c->cap, c->n, sizeof *c->v, (size_t)1 << 20));
    size_t i = c->n++;
    while (i > 0 && c->v[i - 1].at_ms > at_ms) {
        c->v[i] = c->v[i - 1];
        i--;
    }
    c->v[i] = (struct sim_point){at_ms, value};
    if (i > 0 && c->v[i - 1].at_ms == at_ms) { /* the later word counts */
        c->v[i - 1].value = value;
        memmove(&c->v[i], &c->v[i + 1], (c->n - i - 1) * sizeof *c->v);
        c->n--;
    }
    c->cursor = 0;
}

/* Index of the last point at or before the time, or n. */
static size_t curve_find(struct sim_curve *c, int64_t at_ms) {
    size_t i = c->cursor;
    if (i >= c->n || c->v[i].at_ms > at_ms) {
        i = 0;
    }
    if (c->n == 0 || c->v[0].at_ms > at_ms) {
        return c->n;
    }
    while (i + 1 < c->n && c->v[i + 1].at_ms <= at_ms) {
        i++;
    }
    c->cursor = i;
    return i;
}

static bool curve_at(struct sim_curve *c, int64_t at_ms, bool linear, bool before_first, int64_t *ret) {
    size_t i = curve_find(c, at_ms);
    if (i == c->n) {
        *ret = c->n > 0 ? c->v[0].value : 0;
        return c->n > 0 && before_first;
    }
    const struct sim_point *a = &c->v[i], *b = &c->v[i + 1 < c->n ? i + 1 : i];
    *ret = a->value;
    if (linear && b->at_ms > a->at_ms && b->value != a->value) {
        *ret += dr_mul_div(b->value - a->value, at_ms - a->at_ms, b->at_ms - a->at_ms);
    }
    return true;
}

/* ---- cpu and memory of the world ---- */

static void reckon(struct dr_world *w) {
    w->cap_cpu = w->cap_mem = w->use_cpu = w->use_mem = 0;
    for (size_t i = 0; i < w->node_n; i++) {
        const struct sim_node *n = &w->nodes[i];
        if (!n->used || n->server || n->ready != DR_READY_TRUE) {
            continue;
        }
        w->cap_cpu += n->cpu_milli;
        w->cap_mem += n->mem_bytes;
        for (int k = n->pod_head; k != SIM_NONE; k = w->pods[k].next) {
            if (w->pods[k].phase == DR_PHASE_RUNNING) {
                w->use_cpu += w->workloads[w->pods[k].workload].spec->cpu_milli;
                w->use_mem += w->workloads[w->pods[k].workload].spec->mem_bytes;
            }
        }
    }
    w->use_cpu = w->use_cpu * w->o.pod_use_percent / 100;
    w->use_mem = w->use_mem / 100 * w->o.pod_use_percent;
}

static int64_t ratio(int64_t wanted, int64_t capacity) {
    int64_t scaled;
    if (capacity <= 0) {
        return -1;
    }
    int64_t micro = dr_mul_i64(wanted, 1000000, &scaled) ? scaled / capacity : dr_mul_div(wanted, 1000000, capacity);
    return dr_clamp_i64(micro, 0, 1000000);
}

static int64_t demand_at(struct sim_curve *demand, int64_t at_ms, int64_t capacity) {
    int64_t wanted;
    (void)curve_at(demand, at_ms, true, true, &wanted);
    return ratio(wanted, capacity);
}

static void make_samples(struct dr_world *w, int64_t to) {
    if (to <= w->sampled_to) {
        return;
    }
    int64_t cpu = ratio(w->use_cpu, w->cap_cpu), mem = ratio(w->use_mem, w->cap_mem);
    for (int64_t k = dr_max_i64(w->sampled_to + 1, to - SIM_SAMPLES + 1); k <= to; k++) {
        int64_t at = k * w->o.sample_ms;
        struct sim_derived *d = &w->samples[(uint64_t)k % SIM_SAMPLES];
        d->cpu = w->demand_cpu.n == 0 ? cpu : demand_at(&w->demand_cpu, at, w->cap_cpu);
        d->mem = w->demand_mem.n == 0 ? mem : demand_at(&w->demand_mem, at, w->cap_mem);
    }
    w->sampled_to = to;
}

static void refresh(struct dr_world *w) {
    if (w->totals_due) {
        reckon(w);
        w->totals_due = false;
    }
}

void sim_metrics_touch(struct dr_world *w) {
    if (!w->started) {
        w->totals_due = true; /* the time before the run looks like its beginning */
        return;
    }
    if (w->totals_due && w->totals_ms == w->now_ms) {
        return;
    }
    refresh(w);
    make_samples(w, (w->now_ms - 1) / w->o.sample_ms);
    w->totals_due = true;
    w->totals_ms = w->now_ms;
}

/* ---- reading ---- */

static struct sim_series *find_series(struct dr_world *w, struct dr_str name) {
    for (size_t i = 0; i < w->series_n; i++) {
        if (dr_str_eq(w->series[i].name, name)) {
            return &w->series[i];
        }
    }
    return NULL;
}

static const struct sim_outage *outage_at(const struct dr_world *w, struct dr_str signal, enum dr_outage kind, int64_t at_ms) {
    for (size_t i = 0; i < w->outage_n; i++) {
        const struct sim_outage *o = &w->outages[i];
        if (o->kind == kind && at_ms >= o->from_ms && at_ms < o->to_ms && (o->signal.n == 0 || dr_str_eq(o->signal, signal))) {
            return o;
        }
    }
    return NULL;
}

/* One sample by number; false: there is none. */
static bool sample(struct dr_world *w, struct sim_series *series, const struct dr_signal *signal, int64_t k, struct dr_sample *ret) {
    int64_t at = k * w->o.sample_ms;
    ret->at_ms = at;
    if (w->outage_n > 0 && outage_at(w, signal->name, DR_OUTAGE_GAP, at) != NULL) {
        return false;
    }
    if (series != NULL) {
        return curve_at(&series->curve, at, series->linear, false, &ret->micro);
    }
    if (k <= w->sampled_to - SIM_SAMPLES || k > w->sampled_to) {
        return false;
    }
    const struct sim_derived *d = &w->samples[(uint64_t)k % SIM_SAMPLES];
    ret->micro = signal->kind == DR_SIGNAL_CPU ? d->cpu : d->mem;
    return ret->micro >= 0;
}

/* The usual case without holes and series: straight from the ring. */
static size_t copy_derived(const struct dr_world *w, bool cpu, int64_t first, int64_t last, struct dr_sample *v) {
    size_t n = 0;
    for (int64_t k = dr_max_i64(first, w->sampled_to - SIM_SAMPLES + 1); k <= last; k++) {
        const struct sim_derived *d = &w->samples[(uint64_t)k % SIM_SAMPLES];
        v[n] = (struct dr_sample){k * w->o.sample_ms, cpu ? d->cpu : d->mem};
        n += v[n].micro >= 0;
    }
    return n;
}

static struct dr_reading unknown(struct dr_str why) { return (struct dr_reading){.known = false, .why = why}; }

static struct dr_reading read_one(struct dr_world *w, struct dr_arena *arena, const struct dr_signal *signal, int64_t now_ms) {
    struct sim_series *series = find_series(w, signal->name);
    if (series == NULL && signal->kind == DR_SIGNAL_CUSTOM) {
        return unknown(DR_STR("no such series"));
    }
    if (series == NULL) {
        refresh(w);
        make_samples(w, w->now_ms / w->o.sample_ms);
    }
    int64_t last = dr_min_i64(now_ms, w->now_ms) / w->o.sample_ms;
    int64_t first = signal->window_ms <= 0 ? last : dr_ceil_div(now_ms - signal->window_ms, w->o.sample_ms);
    first = dr_max_i64(first, last - MAX_READ + 1);
    size_t room = last >= first ? (size_t)(last - first + 1) : 0;
    struct dr_sample *v = DR_NEW_N(arena, struct dr_sample, room);
    size_t n = 0;
    if (series == NULL && w->outage_n == 0) {
        n = copy_derived(w, signal->kind == DR_SIGNAL_CPU, first, last, v);
    } else {
        for (int64_t k = first; k <= last; k++) {
            n += sample(w, series, signal, k, &v[n]);
        }
    }
    if (n == 0) {
        return unknown(DR_STR("no samples"));
    }
    return (struct dr_reading){.known = true, .samples = v, .sample_n = n};
}

static void metrics_read(void *self, struct dr_arena *arena, const struct dr_signal *signals, size_t signal_n, int64_t now_ms,
                         int64_t deadline_ms, struct dr_reading *ret) {
    struct sim_process *p = self;
    struct dr_world *w = p->world;
    struct sim_gate g;
    sim_gate_enter(p, DR_CALL_METRICS_READ, deadline_ms, &g);
    if (!g.act) {
        struct dr_err err;
        (void)sim_gate_refuse(p, &g, &err);
        for (size_t i = 0; i < signal_n; i++) {
            ret[i] = unknown(dr_str_dup(arena, dr_str_of(err.text)));
        }
        return;
    }
    bool hung = false;
    for (size_t i = 0; i < signal_n; i++) {
        int64_t now = w->now_ms;
        const struct sim_outage *o = w->outage_n == 0 ? NULL : outage_at(w, signals[i].name, DR_OUTAGE_UNKNOWN, now);
        if (o != NULL) {
            ret[i] = unknown(o->why);
        } else if (w->outage_n > 0 && outage_at(w, signals[i].name, DR_OUTAGE_HANG, now) != NULL) {
            hung = true;
            ret[i] = unknown(DR_STR("no answer in time"));
        } else {
            ret[i] = read_one(w, arena, &signals[i], now_ms); /* asked by the process's own clock */
        }
    }
    if (hung) { /* the queries run at once: the longest counts */
        int64_t until = w->now_ms + 10 * DR_SECOND_MS;
        (void)dr_world_advance(w, deadline_ms > 0 ? dr_min_i64(until, deadline_ms - p->clock_offset_ms) : until);
    }
    (void)sim_gate_leave(p, &g, NULL);
}

const struct dr_metrics_ops sim_metrics_ops = {.request = NULL, .read = metrics_read};

/* ---- what the runner says ---- */

void dr_world_demand_cpu(struct dr_world *world, int64_t at_ms, int64_t milli) {
    sim_metrics_touch(world); /* the past stays as it was */
    curve_put(&world->demand_cpu, at_ms, milli);
}

void dr_world_demand_mem(struct dr_world *world, int64_t at_ms, int64_t bytes) {
    sim_metrics_touch(world); /* the past stays as it was */
    curve_put(&world->demand_mem, at_ms, bytes);
}

static struct sim_series *need_series(struct dr_world *w, struct dr_str signal) {
    struct sim_series *s = find_series(w, signal);
    if (s == NULL) {
        DR_ASSERT(w->series_n < SIM_MAX_SERIES);
        s = &w->series[w->series_n++];
        *s = (struct sim_series){.name = sim_str(w, signal)};
    }
    return s;
}

void dr_world_series(struct dr_world *world, struct dr_str signal, int64_t at_ms, int64_t micro) {
    curve_put(&need_series(world, signal)->curve, at_ms, micro);
}

void dr_world_series_linear(struct dr_world *world, struct dr_str signal, bool on) { need_series(world, signal)->linear = on; }

void dr_world_series_clear(struct dr_world *world, struct dr_str signal) {
    struct sim_series *s = find_series(world, signal);
    if (s != NULL) {
        free(s->curve.v);
        *s = world->series[--world->series_n];
    }
}

void dr_world_outage(struct dr_world *world, struct dr_str signal, enum dr_outage kind, int64_t from_ms, int64_t to_ms, struct dr_str why) {
    DR_ASSERT(world->outage_n < SIM_MAX_OUTAGES);
    struct dr_str text = why.n > 0 ? sim_str(world, why) : DR_STR("connection refused");
    world->outages[world->outage_n++] = (struct sim_outage){sim_str(world, signal), kind, from_ms, to_ms, text};
}

int64_t dr_world_signal(struct dr_world *world, struct dr_str signal, bool *known) {
    enum dr_signal_kind kind = dr_str_is(signal, "cpu") ? DR_SIGNAL_CPU : dr_str_is(signal, "memory") ? DR_SIGNAL_MEMORY : DR_SIGNAL_CUSTOM;
    struct dr_signal s = {.name = signal, .kind = kind};
    dr_arena_reset(&world->scratch);
    struct dr_reading r = read_one(world, &world->scratch, &s, world->now_ms);
    *known = r.known && outage_at(world, signal, DR_OUTAGE_UNKNOWN, world->now_ms) == NULL &&
             outage_at(world, signal, DR_OUTAGE_HANG, world->now_ms) == NULL;
    return *known ? r.samples[r.sample_n - 1].micro : 0;
}

void sim_metrics_free(struct dr_world *w) {
    free(w->demand_cpu.v);
    free(w->demand_mem.v);
    for (size_t i = 0; i < w->series_n; i++) {
        free(w->series[i].curve.v);
    }
}
