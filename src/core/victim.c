#include "core/victim.h"

#include "base/num.h"
#include "core/drain.h"

const char *dr_victim_name(enum dr_victim_verdict verdict) {
    static const char *const names[] = {
        [DR_VICTIM_OK] = "ok",
        [DR_VICTIM_NOT_A_CANDIDATE] = "not a candidate",
        [DR_VICTIM_UNKNOWN] = "unknown",
        [DR_VICTIM_CORDONED] = "cordoned by someone else",
        [DR_VICTIM_PROTECTED] = "protected",
        [DR_VICTIM_AVOIDED] = "avoided after a failed drain",
        [DR_VICTIM_CRITICAL_POD] = "critical pod",
        [DR_VICTIM_BARE_POD] = "pod without controller",
        [DR_VICTIM_LOCAL_DATA] = "pod with local data",
        [DR_VICTIM_BUDGET] = "disruption budget",
        [DR_VICTIM_NO_ROOM] = "no room elsewhere",
        [DR_VICTIM_ZONE] = "would empty its zone",
        [DR_VICTIM_MINIMUM] = "minimum",
        [DR_VICTIM_NOT_READY] = "not ready",
    };
    size_t i = (size_t)verdict;
    return i < sizeof names / sizeof names[0] ? names[i] : "unknown";
}

/* One choice under way. */
struct choice {
    struct dr_arena *arena;
    const struct dr_config *cfg;
    const struct dr_state *state;
    struct dr_fleet *fleet;
    bool surplus;
    bool zone_is_rule;
    struct dr_str *gone; /* targets and those already chosen */
    size_t gone_n;
    size_t target_n; /* how many of `gone` were targets before */
};

/* What the comparators look at, worked out once per candidate. */
struct rank {
    struct dr_candidate *candidate;
    bool taken;
    int64_t idle_ppm;
    int64_t pods;
    int64_t zone_live;
};

static struct dr_strs gone(const struct choice *c) { return (struct dr_strs){c->gone, c->gone_n}; }

static struct dr_candidate verdict_of(const struct dr_worker *worker, enum dr_victim_verdict verdict, const struct dr_pod *pod) {
    return (struct dr_candidate){worker, verdict, pod};
}

static bool is_avoided(const struct choice *c, struct dr_str id) {
    if (c->state->avoid.n == 0) {
        return false;
    }
    const struct dr_avoid *avoid = dr_state_avoid(c->state, dr_str_fmt(c->arena, "victim/%.*s", DR_FMT(id)));
    return avoid != NULL && avoid->until_epoch > c->fleet->snap->now_ms / 1000;
}

static enum dr_victim_verdict verdict_of_class(enum dr_pod_class class) {
    switch (class) {
    case DR_POD_CRITICAL:
        return DR_VICTIM_CRITICAL_POD;
    case DR_POD_BARE:
        return DR_VICTIM_BARE_POD;
    case DR_POD_LOCAL:
        return DR_VICTIM_LOCAL_DATA;
    case DR_POD_STAYS:
    case DR_POD_FINISHED:
    case DR_POD_LEAVING:
    case DR_POD_EVICT:
        break;
    }
    return DR_VICTIM_OK;
}

static struct dr_candidate check_pods(const struct choice *c, const struct dr_worker *worker, bool as_target) {
    const struct dr_snapshot *snap = c->fleet->snap;
    if (!c->fleet->pods_indexed || !snap->budgets_part.known) {
        return verdict_of(worker, DR_VICTIM_UNKNOWN, NULL);
    }
    for (size_t i = 0; i < worker->pod_n; i++) {
        const struct dr_pod *pod = dr_fleet_pod(c->fleet, worker, i);
        enum dr_victim_verdict verdict = verdict_of_class(dr_pod_obstacle(c->cfg, pod));
        if (verdict != DR_VICTIM_OK) {
            return verdict_of(worker, verdict, pod);
        }
    }
    const struct dr_pod *pod = as_target ? NULL : dr_budget_blocks(snap, c->fleet, worker);
    return verdict_of(worker, pod != NULL ? DR_VICTIM_BUDGET : DR_VICTIM_OK, pod);
}

static enum dr_victim_verdict check_node(const struct choice *c, const struct dr_worker *worker, bool as_target) {
    const struct dr_node *node = worker->node;
    if (!worker->ready) {
        return DR_VICTIM_NOT_READY;
    }
    bool ours = as_target && c->state->down_action_id.n > 0 && dr_str_eq(node->cordon_owner, c->state->down_action_id);
    if (node->unschedulable && !ours) {
        return DR_VICTIM_CORDONED;
    }
    return node->protected_ ? DR_VICTIM_PROTECTED : DR_VICTIM_OK;
}

/* Everything that does not depend on who else goes. */
static struct dr_candidate check_alone(const struct choice *c, const struct dr_worker *worker, bool as_target) {
    if (worker->marked || worker->refused || worker->interrupted || worker->quarantined || (worker->target && !as_target)) {
        return verdict_of(worker, DR_VICTIM_NOT_A_CANDIDATE, NULL);
    }
    if (worker->instance == NULL || (worker->node == NULL && !worker->unjoined)) {
        return verdict_of(worker, DR_VICTIM_UNKNOWN, NULL);
    }
    if (!as_target && is_avoided(c, worker->id)) {
        return verdict_of(worker, DR_VICTIM_AVOIDED, NULL);
    }
    if (worker->unjoined) {
        bool may = worker->join_expired || c->surplus || as_target;
        return verdict_of(worker, may ? DR_VICTIM_OK : DR_VICTIM_NOT_READY, NULL);
    }
    enum dr_victim_verdict verdict = check_node(c, worker, as_target);
    return verdict == DR_VICTIM_OK ? check_pods(c, worker, as_target) : verdict_of(worker, verdict, NULL);
}

static int64_t count_gone(const struct choice *c, const struct dr_worker *but, const struct dr_str *zone) {
    int64_t n = 0;
    for (size_t i = 0; i < c->gone_n; i++) {
        const struct dr_worker *worker = dr_fleet_find(c->fleet, c->gone[i]);
        n += worker != NULL && worker != but && worker->live && (zone == NULL || dr_str_eq(worker->zone, *zone));
    }
    return n;
}

static int64_t live_in_zone(const struct choice *c, const struct dr_worker *worker) {
    const struct dr_zone *zone = dr_fleet_zone(c->fleet, worker->zone);
    return zone != NULL ? zone->live - count_gone(c, worker, &worker->zone) : 0;
}

static bool empties_zone(const struct choice *c, const struct dr_worker *worker) { return worker->live && live_in_zone(c, worker) <= 1; }

/* What depends on who else goes. */
static struct dr_candidate check_together(const struct choice *c, const struct dr_worker *worker) {
    if (worker->live && c->fleet->live - count_gone(c, worker, NULL) - 1 < c->cfg->min_workers) {
        return verdict_of(worker, DR_VICTIM_MINIMUM, NULL);
    }
    if (c->zone_is_rule && empties_zone(c, worker)) {
        return verdict_of(worker, DR_VICTIM_ZONE, NULL);
    }
    const struct dr_pod *blocker = NULL;
    if (worker->node != NULL && !dr_fit_leaves(c->arena, c->fleet, worker, gone(c), &blocker)) {
        return verdict_of(worker, DR_VICTIM_NO_ROOM, blocker);
    }
    return verdict_of(worker, DR_VICTIM_OK, NULL);
}

static void begin(struct choice *c, struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state,
                  struct dr_fleet *fleet, bool surplus) {
    *c = (struct choice){.arena = arena, .cfg = cfg, .state = state, .fleet = fleet, .surplus = surplus};
    dr_fleet_index_pods(arena, fleet);
    c->zone_is_rule = dr_config_zone_is_rule(cfg, fleet->zone_n);
    c->gone = DR_NEW_N(arena, struct dr_str, fleet->worker_n);
    for (size_t i = 0; i < fleet->worker_n; i++) {
        if (fleet->workers[i].target) {
            c->gone[c->gone_n++] = fleet->workers[i].id;
        }
    }
    c->target_n = c->gone_n;
}

struct dr_candidate dr_victim_check(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state,
                                    struct dr_fleet *fleet, const struct dr_worker *worker, bool as_target) {
    struct choice c;
    begin(&c, arena, cfg, state, fleet, false);
    struct dr_candidate candidate = check_alone(&c, worker, as_target);
    return candidate.verdict == DR_VICTIM_OK ? check_together(&c, worker) : candidate;
}

static void work_out_rank(const struct choice *c, struct dr_candidate *candidate, struct rank *ret) {
    const struct dr_worker *worker = candidate->worker;
    *ret = (struct rank){.candidate = candidate};
    int64_t cpu_milli = 0;
    for (size_t i = 0; i < worker->pod_n; i++) {
        const struct dr_pod *pod = dr_fleet_pod(c->fleet, worker, i);
        if (pod->phase != DR_PHASE_SUCCEEDED && pod->phase != DR_PHASE_FAILED) {
            cpu_milli = dr_sat_add(cpu_milli, pod->spec->cpu_milli);
        }
        ret->pods += dr_pod_must_leave(pod);
    }
    if (worker->node != NULL && worker->node->cpu_milli > 0) {
        ret->idle_ppm = dr_mul_div(cpu_milli, 1000000, worker->node->cpu_milli);
    }
}

static int compare_i64(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* Below 0: `a` goes before `b`. */
static int compare_by(enum dr_order order, const struct rank *a, const struct rank *b) {
    switch (order) {
    case DR_ORDER_ZONE:
        return compare_i64(b->zone_live, a->zone_live);
    case DR_ORDER_IDLE:
        return compare_i64(a->idle_ppm, b->idle_ppm);
    case DR_ORDER_PODS:
        return compare_i64(a->pods, b->pods);
    case DR_ORDER_AGE:
        return compare_i64(a->candidate->worker->instance->launched_ms, b->candidate->worker->instance->launched_ms);
    }
    return 0;
}

static bool goes_before(const struct choice *c, const struct rank *a, const struct rank *b) {
    const struct dr_worker *x = a->candidate->worker;
    const struct dr_worker *y = b->candidate->worker;
    if (x->unjoined != y->unjoined) {
        return x->unjoined;
    }
    if (x->join_expired != y->join_expired) {
        return x->join_expired;
    }
    bool last_x = empties_zone(c, x);
    bool last_y = empties_zone(c, y);
    if (last_x != last_y) {
        return last_y;
    }
    int order = 0;
    for (size_t i = 0; i < c->cfg->order_n && order == 0; i++) {
        order = compare_by(c->cfg->order[i], a, b);
    }
    return order != 0 ? order < 0 : dr_str_cmp(x->id, y->id) < 0;
}

static struct rank *pick(const struct choice *c, struct rank *ranks, size_t n) {
    struct rank *best = NULL;
    for (size_t i = 0; i < n; i++) {
        ranks[i].zone_live = live_in_zone(c, ranks[i].candidate->worker);
    }
    for (size_t i = 0; i < n; i++) {
        if (!ranks[i].taken && (best == NULL || goes_before(c, &ranks[i], best))) {
            best = &ranks[i];
        }
    }
    return best;
}

void dr_victims_choose(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, struct dr_fleet *fleet,
                       int64_t want, bool surplus, struct dr_victims *ret) {
    struct choice c;
    begin(&c, arena, cfg, state, fleet, surplus);
    *ret = (struct dr_victims){.all = DR_NEW_N(arena, struct dr_candidate, fleet->worker_n), .all_n = fleet->worker_n};
    struct rank *ranks = DR_NEW_N(arena, struct rank, fleet->worker_n);
    size_t rank_n = 0;
    for (size_t i = 0; i < fleet->worker_n; i++) {
        ret->all[i] = check_alone(&c, &fleet->workers[i], false);
        if (ret->all[i].verdict == DR_VICTIM_OK) {
            work_out_rank(&c, &ret->all[i], &ranks[rank_n++]);
        }
    }
    struct rank *best = NULL;
    while ((int64_t)(c.gone_n - c.target_n) < want && (best = pick(&c, ranks, rank_n)) != NULL) {
        best->taken = true;
        *best->candidate = check_together(&c, best->candidate->worker);
        if (best->candidate->verdict == DR_VICTIM_OK) {
            c.gone[c.gone_n++] = best->candidate->worker->id;
        }
    }
    ret->chosen = (struct dr_strs){c.gone + c.target_n, c.gone_n - c.target_n};
}
