/* Workloads: what makes pods. */

#include "base/time.h"
#include "sim/inner.h"

struct dr_world_workload dr_world_workload_of(enum dr_world_kind kind, const char *name, int64_t replicas, int64_t cpu_milli,
                                              int64_t mem_bytes) {
    return (struct dr_world_workload){
        .kind = kind,
        .name = dr_str_of(name),
        .replicas = replicas,
        .spec = {.cpu_milli = cpu_milli, .mem_bytes = mem_bytes},
        .grace_ms = -1,
        .start_ms = -1,
        .stop_ms = -1,
    };
}

static void copy_workload(struct dr_world *w, struct sim_workload *l, const struct dr_world_workload *from) {
    *l = (struct sim_workload){.w = *from};
    l->w.ns = from->ns.n == 0 ? DR_STR("default") : sim_str(w, from->ns);
    l->w.name = sim_str(w, from->name);
    l->spec = DR_NEW(&w->arena, struct dr_pod_spec);
    sim_spec(w, l->spec, &from->spec);
    struct dr_label app = {DR_STR("app"), l->w.name};
    l->w.labels = sim_labels(w, from->labels.n > 0 ? from->labels : (struct dr_labels){&app, 1});
    l->w.grace_ms = from->grace_ms < 0 ? 30 * DR_SECOND_MS : from->grace_ms;
    l->w.start_ms = from->start_ms < 0 ? w->o.pod_start_ms : from->start_ms;
    l->w.stop_ms = from->stop_ms < 0 ? w->o.pod_stop_ms : from->stop_ms;
    if (from->kind == DR_WORKLOAD_DAEMONSET || from->kind == DR_WORKLOAD_MIRROR) {
        l->w.replicas = 1; /* one on every Node */
    }
    l->owner_uid = from->kind == DR_WORKLOAD_BARE ? DR_STR_NONE : sim_uid(w, 'w', ++w->serial);
}

static void make_first_pods(struct dr_world *w, int workload) {
    const struct sim_workload *l = &w->workloads[workload];
    if (l->w.kind == DR_WORKLOAD_DEPLOYMENT || l->w.kind == DR_WORKLOAD_BARE) {
        dr_world_set_replicas(w, workload, l->w.replicas);
        return;
    }
    for (size_t i = 0; i < w->node_n; i++) {
        if (w->nodes[i].used && sim_rules_allow(l->spec, &w->nodes[i], true)) {
            (void)sim_pod_create(w, workload, (int)i);
        }
    }
}

int dr_world_add_workload(struct dr_world *world, const struct dr_world_workload *workload, struct dr_err *err) {
    if (workload->name.n == 0 || workload->name.n > 200 || workload->replicas < 0) {
        return dr_fail(err, DR_E_INVALID, "workload %.*s: needs a name of 1 to 200 characters and replicas of 0 or more",
                       DR_FMT(workload->name));
    }
    if (!sim_grow((void **)&world->workloads, &world->workload_cap, world->workload_n, sizeof *world->workloads, SIM_MAX_WORKLOADS)) {
        return dr_fail(err, DR_E_LIMIT, "workload %.*s: more than %d workloads", DR_FMT(workload->name), SIM_MAX_WORKLOADS);
    }
    if (workload->replicas > (int64_t)(world->o.max_pods - world->pods_alive)) {
        return dr_fail(err, DR_E_LIMIT, "workload %.*s: %lld pods more than the ceiling of %zu", DR_FMT(workload->name),
                       (long long)workload->replicas, world->o.max_pods);
    }
    int handle = (int)world->workload_n++;
    copy_workload(world, &world->workloads[handle], workload);
    make_first_pods(world, handle);
    return handle;
}

int dr_world_find_workload(const struct dr_world *world, struct dr_str name) {
    for (size_t i = 0; i < world->workload_n; i++) {
        if (dr_str_eq(world->workloads[i].w.name, name)) {
            return (int)i;
        }
    }
    return -1;
}

/* Waiting pods first, then the newest: as a ReplicaSet chooses. */
static int surplus_pod(const struct dr_world *w, int workload) {
    int best = SIM_NONE;
    for (size_t i = 0; i < w->pod_n; i++) {
        const struct sim_pod *p = &w->pods[i];
        if (!p->used || p->deleting || p->workload != workload) {
            continue;
        }
        const struct sim_pod *b = best == SIM_NONE ? NULL : &w->pods[best];
        bool waits = p->node == SIM_NONE;
        if (b == NULL || (waits != (b->node == SIM_NONE) ? waits : p->serial > b->serial)) {
            best = (int)i;
        }
    }
    return best;
}

static void remove_all(struct dr_world *w, int workload) {
    for (size_t i = 0; i < w->pod_n; i++) {
        if (w->pods[i].used && w->pods[i].workload == workload) {
            sim_pod_delete(w, (int)i, -1, "its workload was removed");
        }
    }
}

void dr_world_set_replicas(struct dr_world *world, int workload, int64_t replicas) {
    DR_ASSERT(workload >= 0 && (size_t)workload < world->workload_n && replicas >= 0);
    struct sim_workload *l = &world->workloads[workload];
    l->w.replicas = replicas;
    if (l->w.kind == DR_WORKLOAD_DAEMONSET || l->w.kind == DR_WORKLOAD_MIRROR) {
        if (replicas == 0) {
            remove_all(world, workload);
        }
        return;
    }
    while (world->workloads[workload].live < replicas && sim_pod_create(world, workload, SIM_NONE) != SIM_NONE) {}
    while (world->workloads[workload].live > replicas) {
        sim_pod_delete(world, surplus_pod(world, workload), -1, "scaled down");
    }
}

void dr_world_set_volume(struct dr_world *world, int workload, bool unbound) {
    DR_ASSERT(workload >= 0 && (size_t)workload < world->workload_n);
    /* Lent snapshots point to the old one. */
    struct dr_pod_spec *spec = DR_NEW(&world->arena, struct dr_pod_spec);
    *spec = *world->workloads[workload].spec;
    spec->volume_unbound = unbound;
    world->workloads[workload].spec = spec;
    world->schedule_due = true;
    sim_dirty(world, SIM_PODS);
}

void dr_world_fix(struct dr_world *world, int workload) {
    DR_ASSERT(workload >= 0 && (size_t)workload < world->workload_n);
    struct sim_workload *l = &world->workloads[workload];
    l->w.image_broken = false;
    l->w.stuck_stop = false;
    for (size_t i = 0; i < world->pod_n; i++) {
        const struct sim_pod *p = &world->pods[i];
        if (!p->used || p->workload != workload || p->node == SIM_NONE) {
            continue;
        }
        if (p->deleting) {
            sim_post(world, world->now_ms + p->stop_ms, SIM_EV_GONE, (int)i, p->serial, 0);
        } else if (p->phase == DR_PHASE_PENDING) {
            sim_post(world, world->now_ms + l->w.start_ms, SIM_EV_START, (int)i, p->serial, 0);
        }
    }
}
