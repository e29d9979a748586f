#include "core/room.h"

#include "base/num.h"
#include "core/match.h"
#include "core/sort.h"

static bool finished(const struct dr_pod *pod) { return pod->phase == DR_PHASE_SUCCEEDED || pod->phase == DR_PHASE_FAILED; }

static const struct dr_port_use *add_ports(struct dr_arena *arena, const struct dr_port_use *list, const struct dr_pod_spec *spec) {
    if (spec->host_port_n == 0) {
        return list;
    }
    struct dr_port_use *use = DR_NEW(arena, struct dr_port_use);
    use->spec = spec;
    use->next = list;
    return use;
}

void dr_overhead_work_out(struct dr_arena *arena, const struct dr_fleet *fleet, struct dr_overhead *ret) {
    DR_ASSERT(fleet->pods_indexed);
    *ret = (struct dr_overhead){0};
    for (size_t i = 0; i < fleet->worker_n; i++) {
        const struct dr_worker *worker = &fleet->workers[i];
        struct dr_overhead here = {0};
        for (size_t k = 0; worker->ready && k < worker->pod_n; k++) {
            const struct dr_pod *pod = dr_fleet_pod(fleet, worker, k);
            if (pod->owner != DR_OWNER_DAEMONSET || finished(pod)) {
                continue;
            }
            here.cpu_milli = dr_sat_add(here.cpu_milli, pod->spec->cpu_milli);
            here.mem_bytes = dr_sat_add(here.mem_bytes, pod->spec->mem_bytes);
            here.pods++;
            ret->ports = add_ports(arena, ret->ports, pod->spec);
        }
        ret->cpu_milli = dr_max_i64(ret->cpu_milli, here.cpu_milli);
        ret->mem_bytes = dr_max_i64(ret->mem_bytes, here.mem_bytes);
        ret->pods = dr_max_i64(ret->pods, here.pods);
    }
}

void dr_room_of_worker(struct dr_arena *arena, const struct dr_fleet *fleet, const struct dr_worker *worker, struct dr_room *ret) {
    DR_ASSERT(fleet->pods_indexed && worker->node != NULL);
    const struct dr_node *node = worker->node;
    *ret = (struct dr_room){.node = node, .cpu_milli = node->cpu_milli, .mem_bytes = node->mem_bytes, .pods = node->pod_limit};
    for (size_t i = 0; i < worker->pod_n; i++) {
        const struct dr_pod *pod = dr_fleet_pod(fleet, worker, i);
        if (!finished(pod)) {
            dr_room_take(arena, ret, pod->spec, 1);
        }
    }
}

void dr_room_of_type(const struct dr_worker_type *type, uint64_t zones, const struct dr_overhead *overhead, struct dr_room *ret) {
    *ret = (struct dr_room){
        .type = type,
        .zones = zones,
        .cpu_milli = type->cpu_milli - overhead->cpu_milli,
        .mem_bytes = type->mem_bytes - overhead->mem_bytes,
        .pods = type->pod_limit - overhead->pods,
        .ports = overhead->ports,
    };
}

static int64_t holds_of(int64_t left, int64_t request, int64_t count) {
    if (request <= 0) {
        return count;
    }
    return left <= 0 ? 0 : dr_min_i64(count, left / request);
}

int64_t dr_room_holds(const struct dr_room *room, const struct dr_pod_spec *spec, int64_t count) {
    if (spec->host_port_n > 0) {
        for (const struct dr_port_use *use = room->ports; use != NULL; use = use->next) {
            if (dr_match_ports_clash(use->spec, spec)) {
                return 0;
            }
        }
        count = dr_min_i64(count, 1);
    }
    count = dr_min_i64(count, dr_max_i64(room->pods, 0));
    count = holds_of(room->cpu_milli, spec->cpu_milli, count);
    return holds_of(room->mem_bytes, spec->mem_bytes, count);
}

void dr_room_take(struct dr_arena *arena, struct dr_room *room, const struct dr_pod_spec *spec, int64_t count) {
    room->cpu_milli = dr_sat_add(room->cpu_milli, -dr_sat_mul(spec->cpu_milli, count));
    room->mem_bytes = dr_sat_add(room->mem_bytes, -dr_sat_mul(spec->mem_bytes, count));
    room->pods -= count;
    room->ports = add_ports(arena, room->ports, spec);
}

static int64_t share_ppm(int64_t request, int64_t of) { return of > 0 ? dr_mul_div(request, 1000000, of) : request; }

static int64_t size_ppm(const struct dr_pod_spec *spec, const struct dr_room *measure) {
    return dr_max_i64(share_ppm(spec->cpu_milli, measure->cpu_milli), share_ppm(spec->mem_bytes, measure->mem_bytes));
}

/* Largest first; among equals any fixed order of the contents does. */
static int compare_sizes(const void *a, const void *b, const void *ctx) {
    const struct dr_pod_spec *x = ((const struct dr_pod *)a)->spec;
    const struct dr_pod_spec *y = ((const struct dr_pod *)b)->spec;
    if (x == y) {
        return 0;
    }
    int64_t size_x = size_ppm(x, ctx);
    int64_t size_y = size_ppm(y, ctx);
    return size_x != size_y ? (size_x < size_y) - (size_x > size_y) : -dr_pod_spec_cmp(x, y);
}

void dr_room_groups(struct dr_arena *arena, const struct dr_pod **pods, size_t n, const struct dr_room *measure,
                    struct dr_pod_groups *ret) {
    dr_sort(arena, (const void **)pods, n, compare_sizes, measure);
    *ret = (struct dr_pod_groups){.v = DR_NEW_N(arena, struct dr_pod_group, n)};
    for (size_t i = 0; i < n; i++) {
        struct dr_pod_group *last = ret->n > 0 ? &ret->v[ret->n - 1] : NULL;
        if (last != NULL && dr_pod_spec_eq(last->spec, pods[i]->spec)) {
            last->count++;
        } else {
            ret->v[ret->n++] = (struct dr_pod_group){pods[i]->spec, &pods[i], 1, size_ppm(pods[i]->spec, measure)};
        }
    }
}
