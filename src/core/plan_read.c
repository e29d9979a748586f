/* Reads what plan_json.c wrote. Lenient towards what a newer program may add, strict about types: a stored plan that does not parse is corrupt. */
#include "base/json.h"
#include "core/plan.h"

struct reader {
    struct dr_json json;
    struct dr_arena *arena;
    struct dr_err *err;
};

/* Elements are gathered in a list first, since their number is not known. */
#define LIST_MAX 1000

static int get_str(struct reader *r, struct dr_str *ret) {
    struct dr_str view;
    if (dr_json_str(&r->json, r->arena, &view, r->err) < 0)
        return -1;
    *ret = dr_str_dup(r->arena, view);
    return 0;
}

static int get_i64(struct reader *r, int64_t *ret) { return dr_json_i64(&r->json, ret, r->err); }
static int get_bool(struct reader *r, bool *ret) { return dr_json_bool(&r->json, ret, r->err); }
static int get_micro(struct reader *r, int64_t *ret) { return dr_json_micro(&r->json, ret, r->err); }

/* Index of a name in an enum of `n` values; `otherwise` for one that is not known. */
static int get_name(struct reader *r, const char *(*name_of)(int), int n, int otherwise, int *ret) {
    struct dr_str name;
    if (dr_json_str(&r->json, r->arena, &name, r->err) < 0)
        return -1;
    *ret = otherwise;
    for (int i = 0; i < n; i++) {
        if (dr_str_is(name, name_of(i)))
            *ret = i;
    }
    return 0;
}

static const char *verdict_of(int i) { return dr_verdict_name((enum dr_verdict)i); }
static const char *reason_of(int i) { return dr_reason_name((enum dr_reason)i); }
static const char *truth_of(int i) { return dr_truth_name((enum dr_truth)i); }
static const char *compare_of(int i) { return dr_compare_sign((enum dr_compare)i); }
static const char *victim_of(int i) { return dr_victim_name((enum dr_victim_verdict)i); }

static int get_truth(struct reader *r, enum dr_truth *ret) {
    int i = 0;
    if (get_name(r, truth_of, DR_UNKNOWN + 1, DR_UNKNOWN, &i) < 0)
        return -1;
    *ret = (enum dr_truth)i;
    return 0;
}

/* One object: `field` consumes the value of a key, or says 1 for one that it does not know. */
static int read_object(struct reader *r, int (*field)(struct reader *r, const struct dr_json_key *key, void *self), void *self) {
    if (dr_json_enter(&r->json, DR_JSON_OBJECT, r->err) < 0)
        return -1;
    struct dr_json_key key;
    int more = 0;
    while ((more = dr_json_next_key(&r->json, &key, r->err)) > 0) {
        int result = field(r, &key, self);
        if (result < 0 || (result > 0 && dr_json_skip(&r->json, r->err) < 0))
            return -1;
    }
    return more;
}

/* An array of objects into `ret`, zeroed elements of `size` bytes each. */
static int read_array(struct reader *r, size_t size, int (*element)(struct reader *r, void *self), void **ret, size_t *ret_n) {
    if (dr_json_enter(&r->json, DR_JSON_ARRAY, r->err) < 0)
        return -1;
    char *list = NULL;
    size_t n = 0;
    size_t cap = 0;
    int more = 0;
    while ((more = dr_json_next_element(&r->json, r->err)) > 0) {
        if (n == LIST_MAX)
            return dr_fail(r->err, DR_E_LIMIT, "stored plan: a list beyond %d elements", LIST_MAX);
        if (n == cap) {
            cap = cap == 0 ? 8 : cap * 2;
            char *larger = dr_arena_alloc(r->arena, cap, size);
            for (size_t i = 0; i < n * size; i++)
                larger[i] = list[i];
            list = larger;
        }
        if (element(r, list + n * size) < 0)
            return -1;
        n++;
    }
    *ret = list;
    *ret_n = n;
    return more;
}

/* ---- parts ---- */

static int pod_field(struct reader *r, const struct dr_json_key *key, void *self) {
    struct dr_pod *pod = self;
    if (dr_json_key_is(key, "namespace"))
        return get_str(r, &pod->ns);
    if (dr_json_key_is(key, "name"))
        return get_str(r, &pod->name);
    return 1;
}

static int get_pod(struct reader *r, const struct dr_pod **ret) {
    struct dr_pod *pod = DR_NEW(r->arena, struct dr_pod);
    *ret = pod;
    return read_object(r, pod_field, pod);
}

static int workers_field(struct reader *r, const struct dr_json_key *key, void *self) {
    struct dr_plan *plan = self;
    if (dr_json_key_is(key, "known"))
        return get_bool(r, &plan->workers_known);
    if (dr_json_key_is(key, "count"))
        return get_i64(r, &plan->worker_count);
    if (dr_json_key_is(key, "live"))
        return get_i64(r, &plan->live);
    if (dr_json_key_is(key, "planned"))
        return get_i64(r, &plan->planned);
    if (dr_json_key_is(key, "held"))
        return get_i64(r, &plan->held);
    if (dr_json_key_is(key, "minimum"))
        return get_i64(r, &plan->min_workers);
    if (dr_json_key_is(key, "maximum"))
        return get_i64(r, &plan->max_workers);
    return 1;
}

struct rule_pair {
    struct dr_rule *rule;
    struct dr_rule_result *result;
};

static int rule_itself(struct reader *r, const struct dr_json_key *key, struct dr_rule *rule) {
    if (dr_json_key_is(key, "rule"))
        return get_str(r, &rule->name);
    if (dr_json_key_is(key, "threshold"))
        return get_micro(r, &rule->threshold_micro);
    if (dr_json_key_is(key, "forMs"))
        return get_i64(r, &rule->for_ms);
    if (dr_json_key_is(key, "readings"))
        return get_i64(r, &rule->readings);
    if (dr_json_key_is(key, "ratio"))
        return get_bool(r, &rule->ratio);
    if (dr_json_key_is(key, "compare")) {
        int compare = 0;
        int result = get_name(r, compare_of, DR_AT_MOST + 1, DR_ABOVE, &compare);
        rule->compare = (enum dr_compare)compare;
        return result;
    }
    if (dr_json_key_is(key, "kind")) {
        struct dr_str kind = DR_STR_NONE;
        int result = get_str(r, &kind);
        rule->kind = dr_str_is(kind, "pending") ? DR_RULE_PENDING : DR_RULE_SIGNAL;
        return result;
    }
    return 1;
}

static int rule_field(struct reader *r, const struct dr_json_key *key, void *self) {
    struct rule_pair *pair = self;
    struct dr_rule_result *result = pair->result;
    if (dr_json_key_is(key, "truth"))
        return get_truth(r, &result->truth);
    if (dr_json_key_is(key, "spike"))
        return get_bool(r, &result->spike);
    if (dr_json_key_is(key, "heldMs"))
        return get_i64(r, &result->held_ms);
    if (dr_json_key_is(key, "streak"))
        return get_i64(r, &result->streak);
    if (dr_json_key_is(key, "why"))
        return get_str(r, &result->why);
    if (dr_json_key_is(key, "value")) {
        result->has_value = true;
        return get_micro(r, &result->value_micro);
    }
    return rule_itself(r, key, pair->rule);
}

static int read_rule(struct reader *r, void *self) {
    struct dr_rule_result *result = self;
    struct dr_rule *rule = DR_NEW(r->arena, struct dr_rule);
    rule->readings = 1;
    result->rule = rule;
    return read_object(r, rule_field, &(struct rule_pair){.rule = rule, .result = result});
}

static int pending_field(struct reader *r, const struct dr_json_key *key, void *self) {
    struct dr_pending *pending = self;
    if (dr_json_key_is(key, "known"))
        return get_bool(r, &pending->known);
    if (dr_json_key_is(key, "why"))
        return get_str(r, &pending->why);
    if (dr_json_key_is(key, "waiting"))
        return get_i64(r, &pending->waiting);
    if (dr_json_key_is(key, "helpable"))
        return get_i64(r, &pending->helpable);
    if (dr_json_key_is(key, "remainder"))
        return get_i64(r, &pending->remainder);
    if (dr_json_key_is(key, "successors"))
        return get_i64(r, &pending->successors);
    if (dr_json_key_is(key, "sinceMs"))
        return get_i64(r, &pending->since_ms);
    if (dr_json_key_is(key, "workersNeeded"))
        return get_i64(r, &pending->workers_needed);
    if (dr_json_key_is(key, "unmodelledOnly"))
        return get_bool(r, &pending->unmodelled_only);
    if (dr_json_key_is(key, "oldest"))
        return get_pod(r, &pending->oldest);
    return 1;
}

struct candidate_parts {
    struct dr_candidate *candidate;
    struct dr_worker *worker;
};

static int candidate_field(struct reader *r, const struct dr_json_key *key, void *self) {
    struct candidate_parts *parts = self;
    if (dr_json_key_is(key, "id"))
        return get_str(r, &parts->worker->id);
    if (dr_json_key_is(key, "zone"))
        return get_str(r, &parts->worker->zone);
    if (dr_json_key_is(key, "pod"))
        return get_pod(r, &parts->candidate->pod);
    if (dr_json_key_is(key, "node")) {
        struct dr_node *node = DR_NEW(r->arena, struct dr_node);
        parts->worker->node = node;
        return get_str(r, &node->name);
    }
    if (dr_json_key_is(key, "verdict")) {
        int verdict = 0;
        int result = get_name(r, victim_of, DR_VICTIM_NOT_READY + 1, DR_VICTIM_NOT_A_CANDIDATE, &verdict);
        parts->candidate->verdict = (enum dr_victim_verdict)verdict;
        return result;
    }
    return 1;
}

static int read_candidate(struct reader *r, void *self) {
    struct dr_candidate *candidate = self;
    struct dr_worker *worker = DR_NEW(r->arena, struct dr_worker);
    candidate->worker = worker;
    return read_object(r, candidate_field, &(struct candidate_parts){.candidate = candidate, .worker = worker});
}

static int read_id(struct reader *r, void *self) { return get_str(r, self); }

static int victims_field(struct reader *r, const struct dr_json_key *key, void *self) {
    struct dr_victims *victims = self;
    void *list = NULL;
    size_t n = 0;
    if (dr_json_key_is(key, "chosen")) {
        int result = read_array(r, sizeof(struct dr_str), read_id, &list, &n);
        victims->chosen = (struct dr_strs){.v = list, .n = n};
        return result;
    }
    if (dr_json_key_is(key, "candidates")) {
        int result = read_array(r, sizeof(struct dr_candidate), read_candidate, &list, &n);
        victims->all = list;
        victims->all_n = n;
        return result;
    }
    return 1;
}

static int deed_field(struct reader *r, const struct dr_json_key *key, void *self) {
    struct dr_deed *deed = self;
    if (dr_json_key_is(key, "at"))
        return get_i64(r, &deed->at_ms);
    if (dr_json_key_is(key, "target"))
        return get_str(r, &deed->target);
    if (dr_json_key_is(key, "outcome"))
        return get_str(r, &deed->outcome);
    if (dr_json_key_is(key, "what")) {
        struct dr_str what = DR_STR_NONE;
        int result = get_str(r, &what);
        deed->what = result < 0 ? "" : what.p; /* a copy in the arena has a NUL behind */
        return result;
    }
    if (dr_json_key_is(key, "rule")) {
        int64_t rule = 0;
        int result = get_i64(r, &rule);
        deed->rule = rule > 0 && rule < 1000 ? (int)rule : 0;
        return result;
    }
    return 1;
}

static int read_deed(struct reader *r, void *self) {
    struct dr_deed *deed = self;
    deed->what = "";
    return read_object(r, deed_field, deed);
}

/* ---- the whole ---- */

static int decision_field(struct reader *r, const struct dr_json_key *key, struct dr_decision *decision) {
    int i = 0;
    if (dr_json_key_is(key, "verdict")) {
        int result = get_name(r, verdict_of, DR_VERDICT_N, DR_VERDICT_NOOP, &i);
        decision->verdict = (enum dr_verdict)i;
        return result;
    }
    if (dr_json_key_is(key, "reason")) {
        int result = get_name(r, reason_of, DR_REASON_N, DR_REASON_NONE, &i);
        decision->reason = (enum dr_reason)i;
        return result;
    }
    if (dr_json_key_is(key, "delta"))
        return get_i64(r, &decision->delta);
    if (dr_json_key_is(key, "detail"))
        return get_str(r, &decision->detail);
    if (dr_json_key_is(key, "urgent"))
        return get_bool(r, &decision->urgent);
    if (dr_json_key_is(key, "wanted"))
        return get_i64(r, &decision->wanted);
    if (dr_json_key_is(key, "leftMs"))
        return get_i64(r, &decision->left_ms);
    if (dr_json_key_is(key, "clampedBy")) {
        struct dr_str by = DR_STR_NONE;
        int result = get_str(r, &by);
        decision->clamped_by = by.p;
        return result;
    }
    if (dr_json_key_is(key, "victims"))
        return read_object(r, victims_field, &decision->victims);
    return 1;
}

static int list_field(struct reader *r, const struct dr_json_key *key, struct dr_plan *plan) {
    void *list = NULL;
    int result = 1;
    if (dr_json_key_is(key, "up")) {
        result = read_array(r, sizeof(struct dr_rule_result), read_rule, &list, &plan->up_n);
        plan->up = list;
    } else if (dr_json_key_is(key, "down")) {
        result = read_array(r, sizeof(struct dr_rule_result), read_rule, &list, &plan->down_n);
        plan->down = list;
    } else if (dr_json_key_is(key, "deeds")) {
        result = read_array(r, sizeof(struct dr_deed), read_deed, &list, &plan->deed_n);
        plan->deeds = list;
        plan->deed_cap = plan->deed_n;
    }
    return result;
}

static int plan_field(struct reader *r, const struct dr_json_key *key, void *self) {
    struct dr_plan *plan = self;
    if (dr_json_key_is(key, "at"))
        return get_i64(r, &plan->at_ms);
    if (dr_json_key_is(key, "cluster"))
        return get_str(r, &plan->cluster);
    if (dr_json_key_is(key, "requestId"))
        return get_str(r, &plan->request_id);
    if (dr_json_key_is(key, "actionId"))
        return get_str(r, &plan->action_id);
    if (dr_json_key_is(key, "pressure"))
        return get_truth(r, &plan->pressure);
    if (dr_json_key_is(key, "idle"))
        return get_truth(r, &plan->idle);
    if (dr_json_key_is(key, "idleMs"))
        return get_i64(r, &plan->idle_ms);
    if (dr_json_key_is(key, "unknown"))
        return get_str(r, &plan->unknown);
    if (dr_json_key_is(key, "workers"))
        return read_object(r, workers_field, plan);
    if (dr_json_key_is(key, "pending"))
        return read_object(r, pending_field, &plan->pending);
    int result = decision_field(r, key, &plan->decision);
    return result == 1 ? list_field(r, key, plan) : result;
}

int dr_plan_read(struct dr_arena *arena, struct dr_str json, struct dr_plan *ret, struct dr_err *err) {
    struct reader r = {.arena = arena, .err = err};
    dr_json_init(&r.json, json, 0);
    struct dr_plan plan = {0};
    if (read_object(&r, plan_field, &plan) < 0 || dr_json_end(&r.json, err) < 0)
        return dr_wrap(err, "stored plan");
    *ret = plan;
    return 0;
}
