/* Reads what plan_json.c wrote. Lenient towards what a newer program may add, strict about types: a stored plan that does not parse is corrupt. */
#include <stddef.h>
#include <string.h>

#include "base/json.h"
#include "core/plan.h"

#define LIST_MAX 1000

struct reader {
    struct dr_json json;
    struct dr_arena *arena;
    struct dr_err *err;
};

enum kind { STR, CSTR, I64, BOOL, MICRO, TRUTH, COMPARE, VERDICT, REASON, VICTIM, POD };

/* A key whose value goes to one place of a structure. */
struct field {
    const char *key;
    enum kind kind;
    size_t offset;
};

/* ---- values ---- */

static const char *truth_of(int i) { return dr_truth_name((enum dr_truth)i); }
static const char *compare_of(int i) { return dr_compare_sign((enum dr_compare)i); }
static const char *verdict_of(int i) { return dr_verdict_name((enum dr_verdict)i); }
static const char *reason_of(int i) { return dr_reason_name((enum dr_reason)i); }
static const char *victim_of(int i) { return dr_victim_name((enum dr_victim_verdict)i); }

/* Names of an enum, and which value stands for one that is not known. */
struct names {
    const char *(*of)(int i);
    int n;
    int otherwise;
};

static struct names names_of(enum kind kind) {
    switch (kind) {
    case COMPARE:
        return (struct names){compare_of, DR_AT_MOST + 1, DR_ABOVE};
    case VERDICT:
        return (struct names){verdict_of, DR_VERDICT_N, DR_VERDICT_NOOP};
    case REASON:
        return (struct names){reason_of, DR_REASON_N, DR_REASON_NONE};
    case VICTIM:
        return (struct names){victim_of, DR_VICTIM_NOT_READY + 1, DR_VICTIM_NOT_A_CANDIDATE};
    default:
        return (struct names){truth_of, DR_UNKNOWN + 1, DR_UNKNOWN};
    }
}

static int read_name(struct reader *r, enum kind kind, void *to) {
    struct dr_str name;
    if (dr_json_str(&r->json, r->arena, &name, r->err) < 0) {
        return -1;
    }
    struct names names = names_of(kind);
    int value = names.otherwise;
    for (int i = 0; i < names.n; i++) {
        if (dr_str_is(name, names.of(i))) {
            value = i;
        }
    }
    memcpy(to, &value, sizeof value);
    return 0;
}

static int read_str(struct reader *r, void *to) {
    struct dr_str view;
    if (dr_json_str(&r->json, r->arena, &view, r->err) < 0) {
        return -1;
    }
    struct dr_str copy = dr_str_dup(r->arena, view);
    memcpy(to, &copy, sizeof copy);
    return 0;
}

static int read_cstr(struct reader *r, void *to) {
    struct dr_str copy = DR_STR_NONE;
    if (read_str(r, &copy) < 0) {
        return -1;
    }
    memcpy(to, &copy.p, sizeof copy.p); /* copies in the arena have a NUL behind */
    return 0;
}

static int read_pod(struct reader *r, void *to);

static int read_value(struct reader *r, enum kind kind, void *to) {
    switch (kind) {
    case STR:
        return read_str(r, to);
    case CSTR:
        return read_cstr(r, to);
    case I64:
        return dr_json_i64(&r->json, to, r->err);
    case BOOL:
        return dr_json_bool(&r->json, to, r->err);
    case MICRO:
        return dr_json_micro(&r->json, to, r->err);
    case POD:
        return read_pod(r, to);
    case TRUTH:
    case COMPARE:
    case VERDICT:
    case REASON:
    case VICTIM:
        break;
    }
    return read_name(r, kind, to);
}

/* ---- objects and lists ---- */

typedef int (*special_fn)(struct reader *r, const struct dr_json_key *key, void *self);

/* 1: none of the fields. */
static int read_field(struct reader *r, const struct dr_json_key *key, const struct field *fields, size_t n, void *self) {
    for (size_t i = 0; i < n; i++) {
        if (dr_json_key_is(key, fields[i].key)) {
            return read_value(r, fields[i].kind, (char *)self + fields[i].offset);
        }
    }
    return 1;
}

/* `special` (may be NULL) gets what the fields do not name; it says 1 for what it does not know either. */
static int read_object(struct reader *r, const struct field *fields, size_t n, special_fn special, void *self) {
    if (dr_json_enter(&r->json, DR_JSON_OBJECT, r->err) < 0) {
        return -1;
    }
    struct dr_json_key key;
    int more = 0;
    while ((more = dr_json_next_key(&r->json, &key, r->err)) > 0) {
        int result = read_field(r, &key, fields, n, self);
        if (result > 0 && special != NULL) {
            result = special(r, &key, self);
        }
        if (result < 0 || (result > 0 && dr_json_skip(&r->json, r->err) < 0)) {
            return -1;
        }
    }
    return more;
}

/* Zeroed elements of `size` bytes each. */
static int read_array(struct reader *r, size_t size, int (*element)(struct reader *r, void *self), void **ret, size_t *ret_n) {
    if (dr_json_enter(&r->json, DR_JSON_ARRAY, r->err) < 0) {
        return -1;
    }
    char *list = NULL;
    size_t n = 0;
    size_t cap = 0;
    int more = 0;
    while ((more = dr_json_next_element(&r->json, r->err)) > 0) {
        if (n == LIST_MAX) {
            return dr_fail(r->err, DR_E_LIMIT, "a list beyond %d elements", LIST_MAX);
        }
        if (n == cap) {
            cap = cap == 0 ? 8 : cap * 2;
            char *larger = dr_arena_alloc(r->arena, cap, size);
            if (n > 0) {
                memcpy(larger, list, n * size);
            }
            list = larger;
        }
        if (element(r, list + n * size) < 0) {
            return -1;
        }
        n++;
    }
    *ret = list;
    *ret_n = n;
    return more;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AT(type, member) offsetof(struct type, member)

/* ---- parts ---- */

static int read_pod(struct reader *r, void *to) {
    static const struct field fields[] = {{"namespace", STR, AT(dr_pod, ns)}, {"name", STR, AT(dr_pod, name)}};
    struct dr_pod *pod = DR_NEW(r->arena, struct dr_pod);
    memcpy(to, &pod, sizeof pod);
    return read_object(r, fields, COUNT(fields), NULL, pod);
}

static int read_workers(struct reader *r, struct dr_plan *plan) {
    static const struct field fields[] = {
        {"known", BOOL, AT(dr_plan, workers_known)}, {"count", I64, AT(dr_plan, worker_count)}, {"live", I64, AT(dr_plan, live)},
        {"planned", I64, AT(dr_plan, planned)},      {"held", I64, AT(dr_plan, held)},          {"minimum", I64, AT(dr_plan, min_workers)},
        {"maximum", I64, AT(dr_plan, max_workers)},
    };
    return read_object(r, fields, COUNT(fields), NULL, plan);
}

struct waiting_parts {
    struct dr_waiting waiting;
    struct dr_pod pod;
};

static int read_waiting(struct reader *r, void *self) {
    static const struct field fields[] = {
        {"namespace", STR, AT(waiting_parts, pod.ns)},
        {"name", STR, AT(waiting_parts, pod.name)},
        {"sinceMs", I64, AT(waiting_parts, waiting.since_ms)},
        {"helpable", BOOL, AT(waiting_parts, waiting.helpable)},
    };
    struct waiting_parts *parts = DR_NEW(r->arena, struct waiting_parts);
    if (read_object(r, fields, COUNT(fields), NULL, parts) < 0) {
        return -1;
    }
    parts->waiting.pod = &parts->pod;
    memcpy(self, &parts->waiting, sizeof parts->waiting);
    return 0;
}

static int pending_list(struct reader *r, const struct dr_json_key *key, void *self) {
    struct dr_pending *pending = self;
    void *list = NULL;
    if (!dr_json_key_is(key, "pods")) {
        return 1;
    }
    if (read_array(r, sizeof(struct dr_waiting), read_waiting, &list, &pending->pod_n) < 0) {
        return -1;
    }
    pending->pods = list;
    return 0;
}

static int read_pending(struct reader *r, struct dr_pending *pending) {
    static const struct field fields[] = {
        {"known", BOOL, AT(dr_pending, known)},
        {"why", STR, AT(dr_pending, why)},
        {"waiting", I64, AT(dr_pending, waiting)},
        {"helpable", I64, AT(dr_pending, helpable)},
        {"remainder", I64, AT(dr_pending, remainder)},
        {"successors", I64, AT(dr_pending, successors)},
        {"sinceMs", I64, AT(dr_pending, since_ms)},
        {"workersNeeded", I64, AT(dr_pending, workers_needed)},
        {"unmodelledOnly", BOOL, AT(dr_pending, unmodelled_only)},
        {"oldest", POD, AT(dr_pending, oldest)},
    };
    return read_object(r, fields, COUNT(fields), pending_list, pending);
}

struct rule_parts {
    struct dr_rule rule;
    struct dr_rule_result result;
    struct dr_str kind;
};

static int rule_value(struct reader *r, const struct dr_json_key *key, void *self) {
    struct rule_parts *parts = self;
    if (!dr_json_key_is(key, "value")) {
        return 1;
    }
    parts->result.has_value = true;
    return dr_json_micro(&r->json, &parts->result.value_micro, r->err);
}

static int read_rule(struct reader *r, void *self) {
    static const struct field fields[] = {
        {"rule", STR, AT(rule_parts, rule.name)},
        {"threshold", MICRO, AT(rule_parts, rule.threshold_micro)},
        {"forMs", I64, AT(rule_parts, rule.for_ms)},
        {"readings", I64, AT(rule_parts, rule.readings)},
        {"ratio", BOOL, AT(rule_parts, rule.ratio)},
        {"compare", COMPARE, AT(rule_parts, rule.compare)},
        {"kind", STR, AT(rule_parts, kind)},
        {"truth", TRUTH, AT(rule_parts, result.truth)},
        {"spike", BOOL, AT(rule_parts, result.spike)},
        {"heldMs", I64, AT(rule_parts, result.held_ms)},
        {"streak", I64, AT(rule_parts, result.streak)},
        {"why", STR, AT(rule_parts, result.why)},
    };
    struct rule_parts *parts = DR_NEW(r->arena, struct rule_parts);
    parts->rule.readings = 1;
    if (read_object(r, fields, COUNT(fields), rule_value, parts) < 0) {
        return -1;
    }
    parts->rule.kind = dr_str_is(parts->kind, "pending") ? DR_RULE_PENDING : DR_RULE_SIGNAL;
    parts->result.rule = &parts->rule;
    *(struct dr_rule_result *)self = parts->result;
    return 0;
}

struct candidate_parts {
    struct dr_candidate candidate;
    struct dr_worker worker;
    struct dr_node node;
};

static int read_candidate(struct reader *r, void *self) {
    static const struct field fields[] = {
        {"id", STR, AT(candidate_parts, worker.id)},      {"zone", STR, AT(candidate_parts, worker.zone)},
        {"node", STR, AT(candidate_parts, node.name)},    {"verdict", VICTIM, AT(candidate_parts, candidate.verdict)},
        {"pod", POD, AT(candidate_parts, candidate.pod)},
    };
    struct candidate_parts *parts = DR_NEW(r->arena, struct candidate_parts);
    if (read_object(r, fields, COUNT(fields), NULL, parts) < 0) {
        return -1;
    }
    parts->worker.node = parts->node.name.n > 0 ? &parts->node : NULL;
    parts->candidate.worker = &parts->worker;
    *(struct dr_candidate *)self = parts->candidate;
    return 0;
}

static int victims_list(struct reader *r, const struct dr_json_key *key, void *self) {
    struct dr_victims *victims = self;
    void *list = NULL;
    int result = 1;
    if (dr_json_key_is(key, "chosen")) {
        result = read_array(r, sizeof(struct dr_str), read_str, &list, &victims->chosen.n);
        victims->chosen.v = list;
    } else if (dr_json_key_is(key, "candidates")) {
        result = read_array(r, sizeof(struct dr_candidate), read_candidate, &list, &victims->all_n);
        victims->all = list;
    }
    return result;
}

struct deed_parts {
    struct dr_deed deed;
    int64_t rule;
};

static int read_deed(struct reader *r, void *self) {
    static const struct field fields[] = {
        {"at", I64, AT(deed_parts, deed.at_ms)},      {"what", CSTR, AT(deed_parts, deed.what)},
        {"target", STR, AT(deed_parts, deed.target)}, {"outcome", STR, AT(deed_parts, deed.outcome)},
        {"rule", I64, AT(deed_parts, rule)},
    };
    struct deed_parts parts = {.deed = {.what = ""}};
    if (read_object(r, fields, COUNT(fields), NULL, &parts) < 0) {
        return -1;
    }
    parts.deed.rule = parts.rule > 0 && parts.rule < 1000 ? (int)parts.rule : 0;
    *(struct dr_deed *)self = parts.deed;
    return 0;
}

/* ---- the whole ---- */

static int plan_part(struct reader *r, const struct dr_json_key *key, void *self) {
    struct dr_plan *plan = self;
    void *list = NULL;
    int result = 1;
    if (dr_json_key_is(key, "workers")) {
        result = read_workers(r, plan);
    } else if (dr_json_key_is(key, "pending")) {
        result = read_pending(r, &plan->pending);
    } else if (dr_json_key_is(key, "victims")) {
        result = read_object(r, NULL, 0, victims_list, &plan->decision.victims);
    } else if (dr_json_key_is(key, "up")) {
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

int dr_plan_read(struct dr_arena *arena, struct dr_str json, struct dr_plan *ret, struct dr_err *err) {
    static const struct field fields[] = {
        {"at", I64, AT(dr_plan, at_ms)},
        {"cluster", STR, AT(dr_plan, cluster)},
        {"requestId", STR, AT(dr_plan, request_id)},
        {"actionId", STR, AT(dr_plan, action_id)},
        {"verdict", VERDICT, AT(dr_plan, decision.verdict)},
        {"reason", REASON, AT(dr_plan, decision.reason)},
        {"delta", I64, AT(dr_plan, decision.delta)},
        {"detail", STR, AT(dr_plan, decision.detail)},
        {"urgent", BOOL, AT(dr_plan, decision.urgent)},
        {"wanted", I64, AT(dr_plan, decision.wanted)},
        {"clampedBy", CSTR, AT(dr_plan, decision.clamped_by)},
        {"leftMs", I64, AT(dr_plan, decision.left_ms)},
        {"pressure", TRUTH, AT(dr_plan, pressure)},
        {"idle", TRUTH, AT(dr_plan, idle)},
        {"idleMs", I64, AT(dr_plan, idle_ms)},
        {"unknown", STR, AT(dr_plan, unknown)},
    };
    struct reader r = {.arena = arena, .err = err};
    dr_json_init(&r.json, json, 0);
    struct dr_plan plan = {0};
    if (read_object(&r, fields, COUNT(fields), plan_part, &plan) < 0 || dr_json_end(&r.json, err) < 0) {
        return dr_wrap(err, "stored plan");
    }
    *ret = plan;
    return 0;
}
