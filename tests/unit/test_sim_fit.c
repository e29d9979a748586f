/*
 * The simulator's scheduler and the core's fit were written apart; here each checks the other on random worlds. Whatever the scheduler left waiting the core must not be able to seat, and whatever it seated the core must allow; and both must agree on whether a
 * new worker would help.
 */

#include "base/rand.h"
#include "core/fit.h"
#include "sim_help.h"

#define ROUNDS 300

static struct dr_str pick(struct dr_rand *r, const char *const *v, uint64_t n) { return dr_str_of(v[dr_rand_below(r, n)]); }

static const char *const keys[] = {"disk", "gpu", "topology.kubernetes.io/zone", "kubernetes.io/os", "cores"};
static const char *const values[] = {"ssd", "yes", "eu-central-1a", "linux", "8", "16", "no"};
static const char *const zones[] = {"eu-central-1a", "eu-central-1b"};

struct draw {
    struct dr_rand r;
    struct dr_arena arena;
};

static struct dr_labels draw_selector(struct draw *d) {
    struct dr_label *l = DR_NEW(&d->arena, struct dr_label);
    *l = (struct dr_label){pick(&d->r, keys, 5), pick(&d->r, values, 7)};
    return (struct dr_labels){l, 1};
}

static void draw_affinity(struct draw *d, struct dr_pod_spec *spec) {
    spec->term_n = 1 + dr_rand_below(&d->r, 2);
    struct dr_term *terms = DR_NEW_N(&d->arena, struct dr_term, spec->term_n);
    for (size_t i = 0; i < spec->term_n; i++) {
        terms[i].requirement_n = dr_rand_below(&d->r, 3);
        struct dr_requirement *v = DR_NEW_N(&d->arena, struct dr_requirement, terms[i].requirement_n);
        for (size_t k = 0; k < terms[i].requirement_n; k++) {
            v[k].op = (enum dr_match_op)dr_rand_below(&d->r, 6);
            v[k].key = pick(&d->r, keys, 5);
            size_t n = v[k].op == DR_OP_IN || v[k].op == DR_OP_NOT_IN ? 1 + dr_rand_below(&d->r, 2)
                       : v[k].op == DR_OP_GT || v[k].op == DR_OP_LT   ? 1
                                                                      : 0;
            struct dr_str *list = DR_NEW_N(&d->arena, struct dr_str, n);
            for (size_t m = 0; m < n; m++) {
                list[m] = pick(&d->r, values, 7);
            }
            v[k].values = (struct dr_strs){list, n};
        }
        terms[i].requirements = v;
    }
    spec->affinity = terms;
}

static void draw_tolerations(struct draw *d, struct dr_pod_spec *spec) {
    struct dr_toleration *t = DR_NEW(&d->arena, struct dr_toleration);
    *t = (struct dr_toleration){
        .key = dr_rand_below(&d->r, 4) == 0 ? DR_STR_NONE : pick(&d->r, keys, 2),
        .value = pick(&d->r, values, 2),
        .exists = dr_rand_below(&d->r, 2) == 0,
        .any_effect = dr_rand_below(&d->r, 2) == 0,
        .effect = (enum dr_taint_effect)dr_rand_below(&d->r, 3),
    };
    t->value = t->exists ? DR_STR_NONE : t->value;
    spec->tolerations = t;
    spec->toleration_n = 1;
}

static struct dr_pod_spec draw_spec(struct draw *d) {
    struct dr_pod_spec spec = {.cpu_milli = dr_rand_between(&d->r, 0, 1200), .mem_bytes = dr_rand_between(&d->r, 0, 2000) * SIM_MIB};
    if (dr_rand_below(&d->r, 3) == 0) {
        spec.selector = draw_selector(d);
    }
    if (dr_rand_below(&d->r, 3) == 0) {
        draw_affinity(d, &spec);
    }
    if (dr_rand_below(&d->r, 2) == 0) {
        draw_tolerations(d, &spec);
    }
    if (dr_rand_below(&d->r, 4) == 0) {
        struct dr_host_port *port = DR_NEW(&d->arena, struct dr_host_port);
        *port = (struct dr_host_port){dr_rand_between(&d->r, 80, 81), dr_rand_below(&d->r, 2) ? 'T' : 'U'};
        spec.host_ports = port;
        spec.host_port_n = 1;
    }
    if (dr_rand_below(&d->r, 5) == 0) {
        struct dr_str *zone = DR_NEW(&d->arena, struct dr_str);
        *zone = pick(&d->r, zones, 2);
        spec.volume_zones = (struct dr_strs){zone, 1};
    }
    spec.volume_unbound = dr_rand_below(&d->r, 20) == 0;
    return spec;
}

static struct sim draw_world(struct draw *d, uint64_t seed) {
    struct dr_world_options o;
    dr_world_options_init(&o, seed);
    struct dr_label labels[2] = {{DR_STR("disk"), DR_STR("ssd")}, {DR_STR("cores"), pick(&d->r, values + 4, 2)}};
    struct dr_taint taint = {pick(&d->r, keys, 2), pick(&d->r, values, 2), (enum dr_taint_effect)dr_rand_below(&d->r, 3)};
    struct dr_worker_type types[2] = {o.types[0], o.types[0]};
    types[0].labels = (struct dr_labels){labels, 2};
    types[0].pod_limit = 4;
    types[1].name = DR_STR("t3.large");
    types[1].cpu_milli *= 2;
    types[1].taints = &taint;
    types[1].taint_n = 1;
    struct dr_subnet subnets[2] = {{DR_STR("s-a"), DR_STR("eu-central-1a")}, {DR_STR("s-b"), DR_STR("eu-central-1b")}};
    o.types = types;
    o.type_n = 2;
    o.subnets = subnets;
    o.max_workers = 1000;
    struct sim s = sim_open(&o);
    for (uint64_t i = 1 + dr_rand_below(&d->r, 4); i > 0; i--) {
        struct dr_str id = dr_world_add_worker(s.w, &(struct dr_world_worker){.type = types[dr_rand_below(&d->r, 2)].name});
        if (dr_rand_below(&d->r, 6) == 0) {
            (void)dr_world_node_cordon(s.w, id, true);
        }
    }
    for (int i = 0; i < 8; i++) {
        struct dr_world_workload l = dr_world_workload_of(DR_WORKLOAD_DEPLOYMENT, "x", (int64_t)dr_rand_below(&d->r, 4), 0, 0);
        l.name = dr_str_fmt(&d->arena, "w%d", i);
        l.spec = draw_spec(d);
        (void)sim_add(&s, &l);
    }
    sim_pass(&s, DR_MINUTE_MS);
    return s;
}

/* Room by plain addition over the pods of the snapshot, `self` left out. */
static bool has_room(const struct dr_snapshot *snap, const struct dr_node *node, const struct dr_pod *self) {
    int64_t cpu = self->spec->cpu_milli, mem = self->spec->mem_bytes, n = 1;
    for (size_t i = 0; i < snap->pod_n; i++) {
        const struct dr_pod *p = &snap->pods[i];
        if (p == self || !dr_str_eq(p->node, node->name)) {
            continue;
        }
        cpu += p->spec->cpu_milli;
        mem += p->spec->mem_bytes;
        n++;
        if (dr_match_ports_clash(p->spec, self->spec)) {
            return false;
        }
    }
    return cpu <= node->cpu_milli && mem <= node->mem_bytes && n <= node->pod_limit;
}

static bool core_seats(const struct dr_snapshot *snap, const struct dr_node *node, const struct dr_pod *pod) {
    return node->ready == DR_READY_TRUE && !node->unschedulable && dr_fit_rules(pod->spec, node) == DR_FIT_YES && has_room(snap, node, pod);
}

static bool core_new_worker(const struct dr_snapshot *snap, const struct dr_pod *pod) {
    for (size_t t = 0; t < snap->pool.type_n; t++) {
        for (size_t z = 0; z < snap->pool.subnet_n; z++) {
            if (dr_fit_new_worker(pod->spec, &snap->pool.types[t], snap->pool.subnets[z].zone, 0, 0, 0) == DR_FIT_YES) {
                return true;
            }
        }
    }
    return false;
}

static bool named_in(struct dr_buf *buf, struct dr_str pod) { return buf->n > 0 && memmem(buf->p, buf->n, pod.p, pod.n) != NULL; }

static void compare(struct sim *s, uint64_t seed, int64_t *seated, int64_t *left) {
    struct dr_snapshot snap = sim_peek(s);
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 16);
    (void)dr_world_check_settled(s->w, DR_SETTLED_PODS, &buf);
    for (size_t i = 0; i < snap.pod_n; i++) {
        const struct dr_pod *pod = &snap.pods[i];
        for (size_t k = 0; k < snap.node_n; k++) {
            const struct dr_node *node = &snap.nodes[k];
            bool here = dr_str_eq(pod->node, node->name);
            if (here && !core_seats(&snap, node, pod)) {
                FAIL("seed %llu: %.*s runs on %.*s, the core says %s", (unsigned long long)seed, DR_FMT(pod->name), DR_FMT(node->name),
                     dr_fit_name(dr_fit_rules(pod->spec, node)));
            }
            if (pod->unschedulable && core_seats(&snap, node, pod)) {
                FAIL("seed %llu: %.*s waits, the core would seat it on %.*s", (unsigned long long)seed, DR_FMT(pod->name),
                     DR_FMT(node->name));
            }
            *seated += here;
        }
        *left += pod->unschedulable;
        if (pod->unschedulable && named_in(&buf, pod->name) != core_new_worker(&snap, pod)) {
            FAIL("seed %llu: would a new worker help %.*s? the simulator says %d", (unsigned long long)seed, DR_FMT(pod->name),
                 named_in(&buf, pod->name));
        }
    }
    dr_buf_deinit(&buf);
}

TEST(sim_fit, scheduler_and_core_agree_on_random_worlds) {
    int64_t seated = 0, left = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t seed = dr_test_seed() + i;
        struct draw d;
        dr_rand_init(&d.r, seed);
        dr_arena_init(&d.arena, 0);
        struct sim s = draw_world(&d, seed);
        compare(&s, seed, &seated, &left);
        sim_close(&s);
        dr_arena_deinit(&d.arena);
    }
    CHECK(seated > ROUNDS && left > ROUNDS); /* both sides were tried */
}
