#include "app/scenario_words.h"

#include "base/decimal.h"
#include "base/num.h"
#include "base/time.h"
#include "core/plan.h"
#include "sim/fault.h"

#define MAX_COUNT INT64_C(1000000000)

/* ---- names ---- */

const char *dr_counter_name(enum dr_counter counter) {
    static const char *const names[] = {
        [DR_COUNTER_WORKERS] = "workers",
        [DR_COUNTER_READY] = "ready",
        [DR_COUNTER_NODES] = "nodes",
        [DR_COUNTER_GHOSTS] = "ghosts",
        [DR_COUNTER_CORDONED] = "cordoned",
        [DR_COUNTER_PODS] = "pods",
        [DR_COUNTER_RUNNING] = "running",
        [DR_COUNTER_WAITING] = "waiting",
        [DR_COUNTER_MARKS] = "marks",
        [DR_COUNTER_RECORDS] = "records",
        [DR_COUNTER_REFUSED] = "refused",
        [DR_COUNTER_QUARANTINED] = "quarantined",
        [DR_COUNTER_LAUNCHES] = "launches",
        [DR_COUNTER_LAUNCH_REFUSALS] = "launch-refusals",
        [DR_COUNTER_TERMINATIONS] = "terminations",
        [DR_COUNTER_INTERRUPTIONS] = "interruptions",
        [DR_COUNTER_EVICTIONS] = "evictions",
        [DR_COUNTER_EVICTIONS_BLOCKED] = "evictions-blocked",
        [DR_COUNTER_LOST_PODS] = "lost-pods",
        [DR_COUNTER_CUT_SHORT] = "cut-short",
        [DR_COUNTER_ALERTS] = "alerts",
        [DR_COUNTER_CRASHES] = "crashes",
        [DR_COUNTER_STRIKES] = "strikes",
        [DR_COUNTER_PENDING_SECONDS] = "pending-seconds",
    };
    _Static_assert(sizeof names / sizeof names[0] == DR_COUNTER_N, "every counter has a name");
    return names[counter];
}

const char *dr_worker_state_name(enum dr_worker_state state) {
    static const char *const names[] = {
        [DR_WORKER_ALIVE] = "alive",       [DR_WORKER_GONE] = "gone", [DR_WORKER_READY] = "ready",
        [DR_WORKER_CORDONED] = "cordoned", [DR_WORKER_OPEN] = "open", [DR_WORKER_MARKED] = "marked",
    };
    _Static_assert(sizeof names / sizeof names[0] == DR_WORKER_STATE_N, "every state has a name");
    return names[state];
}

static const char *counter_at(size_t i) { return i < DR_COUNTER_N ? dr_counter_name((enum dr_counter)i) : NULL; }
static const char *worker_state_at(size_t i) { return i < DR_WORKER_STATE_N ? dr_worker_state_name((enum dr_worker_state)i) : NULL; }
static const char *verdict_at(size_t i) { return i < DR_VERDICT_N ? dr_verdict_name((enum dr_verdict)i) : NULL; }
static const char *reason_at(size_t i) { return i < DR_REASON_N ? dr_reason_name((enum dr_reason)i) : NULL; }
static const char *call_at(size_t i) { return i < DR_CALL_NAME_N ? dr_call_name_text((enum dr_call_name)i) : NULL; }
static const char *fault_at(size_t i) { return i < DR_FAULT_KIND_N ? dr_fault_kind_text((enum dr_fault_kind)i) : NULL; }
static const char *code_at(size_t i) { return i <= DR_E_INTERNAL ? dr_code_name((enum dr_code)i) : NULL; }
static const char *market_at(size_t i) { return i < 2 ? dr_market_name((enum dr_market)i) : NULL; }
static const char *event_at(size_t i) { return i < 3 ? dr_event_kind_name((enum dr_event_kind)i) : NULL; }
static const char *truth_at(size_t i) {
    static const char *const names[] = {"no", "yes", "unknown"};
    return i < 3 ? names[i] : NULL;
}
static const char *action_at(size_t i) {
    static const char *const names[] = {"none", "scale_up", "scale_down"};
    return i < 3 ? names[i] : NULL;
}

static const struct dr_strs *known_zones(const struct dr_lexicon *l) { return &l->zones; }
static const struct dr_strs *known_types(const struct dr_lexicon *l) { return &l->types; }
static const struct dr_strs *known_workloads(const struct dr_lexicon *l) { return &l->workloads; }
static const struct dr_strs *known_budgets(const struct dr_lexicon *l) { return &l->budgets; }
static const struct dr_strs *known_signals(const struct dr_lexicon *l) { return &l->signals; }
static const struct dr_strs *known_rules(const struct dr_lexicon *l) { return &l->rules; }

/* ---- numbers ---- */

bool dr_parse_cores(struct dr_str text, int64_t *ret_milli) {
    bool milli = dr_str_ends(text, "m");
    struct dr_str number = milli ? dr_str_sub(text, 0, text.n - 1) : text;
    return dr_decimal_scale(number, milli ? 0 : 3, DR_DECIMAL_EXACT, ret_milli) && *ret_milli >= 0 && *ret_milli <= MAX_COUNT;
}

bool dr_parse_bytes(struct dr_str text, int64_t *ret_bytes) {
    static const struct {
        const char *suffix;
        int shift;
    } units[] = {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (dr_str_ends(text, units[i].suffix)) {
            int64_t micro;
            return dr_str_to_micro(dr_str_sub(text, 0, text.n - 2), &micro) && micro >= 0 &&
                   dr_mul_i64(micro, (int64_t)1 << units[i].shift, ret_bytes) && (*ret_bytes /= 1000000, true);
        }
    }
    return dr_str_to_i64(text, ret_bytes) && *ret_bytes >= 0;
}

bool dr_parse_value(struct dr_str text, int64_t *ret_micro) {
    bool percent = dr_str_ends(text, "%");
    return dr_decimal_scale(percent ? dr_str_sub(text, 0, text.n - 1) : text, percent ? 4 : 6, DR_DECIMAL_ROUND, ret_micro);
}

bool dr_lexicon_time(const struct dr_lexicon *lexicon, struct dr_str word, int64_t *ret_ms) {
    int64_t ms;
    if (dr_str_is(word, "start") || dr_str_is(word, "end")) {
        *ret_ms = dr_str_is(word, "start") ? lexicon->start_ms : lexicon->end_ms;
        return true;
    }
    if (dr_str_starts(word, "+")) {
        bool ok = dr_time_parse_span(dr_str_sub(word, 1, word.n), &ms);
        *ret_ms = ok ? dr_sat_add(lexicon->start_ms, ms) : 0;
        return ok;
    }
    if (dr_time_parse_clock(word, &ms)) {
        int64_t at_ms = lexicon->start_ms - lexicon->start_ms % DR_DAY_MS + ms;
        *ret_ms = at_ms < lexicon->start_ms ? at_ms + DR_DAY_MS : at_ms;
        return true;
    }
    return dr_str_find(word, 'T') < word.n && dr_time_parse(word, ret_ms);
}

/* ---- how each kind is read ---- */

#define PARSER(name_)                                                                                                                      \
    static bool name_(const struct dr_lexicon *lexicon, const struct dr_word_kind *kind, struct dr_str word, struct dr_sentence_arg *ret)
#define UNUSED ((void)lexicon, (void)kind)

PARSER(parse_time) {
    UNUSED;
    return dr_lexicon_time(lexicon, word, &ret->n) && ret->n >= lexicon->start_ms && ret->n <= lexicon->end_ms;
}

PARSER(parse_span) {
    UNUSED;
    return dr_time_parse_span(word, &ret->n);
}

PARSER(parse_shift) {
    UNUSED;
    bool minus = dr_str_starts(word, "-");
    bool ok = dr_time_parse_span(minus || dr_str_starts(word, "+") ? dr_str_sub(word, 1, word.n) : word, &ret->n);
    ret->n = minus ? -ret->n : ret->n;
    return ok;
}

PARSER(parse_count) {
    UNUSED;
    return dr_str_to_i64(word, &ret->n) && ret->n >= 0 && ret->n <= MAX_COUNT && word.p[0] != '+' && word.p[0] != '-';
}

PARSER(parse_stock) {
    if (dr_str_is(word, "unlimited")) {
        ret->n = -1;
        return true;
    }
    return parse_count(lexicon, kind, word, ret);
}

PARSER(parse_delta) {
    UNUSED;
    return (word.p[0] == '+' || word.p[0] == '-') && dr_str_to_i64(word, &ret->n) && ret->n != 0;
}

PARSER(parse_limit) {
    ret->m = dr_str_starts(word, ">=") ? DR_LIMIT_AT_LEAST : dr_str_starts(word, "<=") ? DR_LIMIT_AT_MOST : DR_LIMIT_EXACT;
    struct dr_str number = dr_str_sub(word, ret->m == DR_LIMIT_EXACT ? 0 : 2, word.n);
    return number.n > 0 && parse_count(lexicon, kind, number, ret);
}

PARSER(parse_value) {
    UNUSED;
    return dr_parse_value(word, &ret->n);
}

PARSER(parse_cores) {
    UNUSED;
    return dr_parse_cores(word, &ret->n);
}

PARSER(parse_bytes) {
    UNUSED;
    return dr_parse_bytes(word, &ret->n);
}

PARSER(parse_usd) {
    UNUSED;
    return dr_str_to_micro(word, &ret->n) && ret->n >= 0 && ret->n <= MAX_COUNT * 1000;
}

/* w3, spot1, demand2, oldest, newest, victim, i-... */
PARSER(parse_worker) {
    UNUSED;
    static const char *const numbered[] = {"w", "spot", "demand"};
    if (dr_str_is(word, "oldest") || dr_str_is(word, "newest") || dr_str_is(word, "victim") || dr_str_starts(word, "i-")) {
        return true;
    }
    for (size_t i = 0; i < 3; i++) {
        if (dr_str_starts(word, numbered[i])) {
            struct dr_str number = dr_str_of(numbered[i]);
            number = dr_str_sub(word, number.n, word.n);
            if (number.n > 0 && parse_count(lexicon, kind, number, ret) && ret->n > 0) {
                return true;
            }
        }
    }
    return false;
}

/* KEY[=VALUE]:EFFECT */
PARSER(parse_taint) {
    UNUSED;
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    size_t colon = dr_str_find(word, ':');
    struct dr_str effect = dr_str_sub(word, colon + 1, word.n);
    for (size_t i = 0; i < 3; i++) {
        if (colon > 0 && colon < word.n && dr_str_is(effect, effects[i])) {
            ret->n = (int64_t)i;
            return true;
        }
    }
    return false;
}

PARSER(parse_name) {
    UNUSED;
    for (size_t i = 0; kind->names != NULL && kind->names(i) != NULL; i++) {
        if (dr_str_is(word, kind->names(i))) {
            ret->n = (int64_t)i;
            return true;
        }
    }
    return kind->known != NULL && dr_strs_has(*kind->known(lexicon), word);
}

/* a|b|c: a set of bits. */
PARSER(parse_names) {
    while (word.n > 0) {
        size_t end = dr_str_find(word, '|');
        struct dr_sentence_arg one = {0};
        if (!parse_name(lexicon, kind, dr_str_sub(word, 0, end), &one)) {
            return false;
        }
        ret->n |= (int64_t)1 << one.n;
        word = dr_str_sub(word, end + 1, word.n);
    }
    return ret->n != 0;
}

PARSER(parse_signal) { return dr_str_is(word, "all") || parse_name(lexicon, kind, word, ret); }

PARSER(parse_text) {
    UNUSED;
    (void)ret;
    return word.n > 0;
}

static const struct dr_word_kind kinds[] = {
    {"TIME", "a time within the run: HH:MM, HH:MM:SS, +SPAN after the start, start or end", parse_time, NULL, NULL, false},
    {"SPAN", "a span such as 45s, 3m or 1h30m", parse_span, NULL, NULL, false},
    {"SHIFT", "a span with a sign such as -90s or +5m", parse_shift, NULL, NULL, false},
    {"COUNT", "a whole number of 0 or more", parse_count, NULL, NULL, false},
    {"STOCK", "a whole number of 0 or more, or unlimited", parse_stock, NULL, NULL, false},
    {"DELTA", "a number of workers with its sign such as +2 or -1", parse_delta, NULL, NULL, false},
    {"LIMIT", "a whole number such as 2 (exactly), >=2 (at least) or <=2 (at most)", parse_limit, NULL, NULL, false},
    {"VALUE", "a number such as 0.82, 82% or 1200", parse_value, NULL, NULL, false},
    {"CORES", "a number of cores such as 2, 1.5 or 500m", parse_cores, NULL, NULL, false},
    {"BYTES", "an amount of memory such as 512Mi or 2Gi", parse_bytes, NULL, NULL, false},
    {"USD", "a price in dollars per hour such as 0.0416", parse_usd, NULL, NULL, false},
    {"WORKER",
     "a worker: w3 (the third machine of the run), spot1 or demand1 (the first running one of that market), oldest, newest, victim or "
     "i-...",
     parse_worker, NULL, NULL, false},
    {"TAINT", "KEY:EFFECT or KEY=VALUE:EFFECT with NoSchedule, PreferNoSchedule or NoExecute", parse_taint, NULL, NULL, false},
    {"ZONE", "a zone of the world", parse_name, NULL, known_zones, false},
    {"TYPE", "a type of the world", parse_name, NULL, known_types, false},
    {"WORKLOAD", "a workload of the world", parse_name, NULL, known_workloads, false},
    {"BUDGET", "a budget of the world", parse_name, NULL, known_budgets, false},
    {"SIGNAL", "a signal of the configuration, or all", parse_signal, NULL, known_signals, false},
    {"RULE", "a rule of the configuration", parse_name, NULL, known_rules, false},
    {"MARKET", "", parse_name, market_at, NULL, false},
    {"EVENT", "", parse_name, event_at, NULL, false},
    {"CALL", "", parse_name, call_at, NULL, false},
    {"FAULT", "", parse_name, fault_at, NULL, false},
    {"CODE", "", parse_name, code_at, NULL, false},
    {"COUNTER", "", parse_name, counter_at, NULL, false},
    {"STATE", "", parse_name, worker_state_at, NULL, false},
    {"TRUTH", "", parse_name, truth_at, NULL, false},
    {"ACTION", "", parse_name, action_at, NULL, false},
    {"VERDICT", "one or several, joined by a bar, of ", parse_names, verdict_at, NULL, false},
    {"REASON", "one or several, joined by a bar, of ", parse_names, reason_at, NULL, false},
    {"TEXT", "some text", parse_text, NULL, NULL, true},
};
#define KIND_N (sizeof kinds / sizeof kinds[0])

const struct dr_word_kind *dr_word_kind_find(struct dr_str name) {
    for (size_t i = 0; i < KIND_N; i++) {
        if (dr_str_is(name, kinds[i].name)) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* ---- what is allowed ---- */

static void put_names(struct dr_buf *buf, const struct dr_lexicon *lexicon, const struct dr_word_kind *kind) {
    size_t n = 0;
    for (size_t i = 0; kind->names != NULL && kind->names(i) != NULL; i++) {
        dr_buf_fmt(buf, "%s%s", n++ == 0 ? "" : ", ", kind->names(i));
    }
    const struct dr_strs *known = kind->known == NULL || lexicon == NULL ? NULL : kind->known(lexicon);
    for (size_t i = 0; known != NULL && i < known->n && i < 20; i++) {
        dr_buf_fmt(buf, "%s%.*s", n++ == 0 ? ": " : ", ", DR_FMT(known->v[i]));
    }
}

void dr_word_kind_try(struct dr_nearest *nearest, const struct dr_lexicon *lexicon, const struct dr_word_kind *kind) {
    for (size_t i = 0; kind->names != NULL && kind->names(i) != NULL; i++) {
        dr_nearest_try(nearest, dr_str_of(kind->names(i)));
    }
    const struct dr_strs *known = kind->known == NULL ? NULL : kind->known(lexicon);
    for (size_t i = 0; known != NULL && i < known->n; i++) {
        dr_nearest_try(nearest, known->v[i]);
    }
}

struct dr_str dr_word_kind_allowed(struct dr_arena *arena, const struct dr_lexicon *lexicon, const struct dr_word_kind *kind,
                                   struct dr_str word) {
    struct dr_nearest nearest;
    dr_nearest_init(&nearest, word);
    if (word.n > 0) {
        dr_word_kind_try(&nearest, lexicon, kind);
    }
    if (nearest.found) {
        return dr_str_fmt(arena, "unknown; did you mean %.*s?", DR_FMT(nearest.best));
    }
    struct dr_buf buf;
    dr_buf_init(&buf, 900);
    dr_buf_fmt(&buf, "must be %s", kind->allowed);
    put_names(&buf, lexicon, kind);
    struct dr_str text = dr_str_dup(arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

struct dr_str dr_words_list(struct dr_arena *arena, struct dr_str choices) {
    struct dr_buf buf;
    dr_buf_init(&buf, 512);
    for (size_t n = 0; choices.n > 0; n++) {
        size_t end = dr_str_find(choices, '|');
        dr_buf_puts(&buf, n == 0 ? "" : end == choices.n ? " or " : ", ");
        dr_buf_put_str(&buf, dr_str_sub(choices, 0, end));
        choices = dr_str_sub(choices, end + 1, choices.n);
    }
    struct dr_str text = dr_str_dup(arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

void dr_sentence_put_kinds(struct dr_buf *buf) {
    for (size_t i = 0; i < KIND_N; i++) {
        dr_buf_fmt(buf, "| `%s` | %s", kinds[i].name, kinds[i].allowed);
        put_names(buf, NULL, &kinds[i]);
        dr_buf_puts(buf, " |\n");
    }
}
