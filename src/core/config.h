#ifndef DR_CORE_CONFIG_H
#define DR_CORE_CONFIG_H

/*
 * The configuration as the core uses it, and the one table of keys from which the parser, `drover config`, the reference page and the schema come.
 * No value is read that is not in the table, and none is in the table that is not read (hazard 38; a test compares).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define DR_MAX_SIGNALS 32
#define DR_MAX_RULES 36

enum dr_signal_kind { DR_SIGNAL_CPU, DR_SIGNAL_MEMORY, DR_SIGNAL_CUSTOM };

/* A series to be read. `pending` is no signal of this list: it is worked out from the pods. */
struct dr_signal {
    struct dr_str name; /* "cpu", "memory", or the custom signal's name */
    enum dr_signal_kind kind;
    struct dr_str query;
    int64_t window_ms; /* longest window that any rule asks for; 0: the last value only */
};

enum dr_compare { DR_ABOVE, DR_AT_LEAST, DR_BELOW, DR_AT_MOST }; /* >, >=, <, <= */

enum dr_rule_kind {
    DR_RULE_SIGNAL,  /* a signal compared with a threshold */
    DR_RULE_PENDING, /* pods that a new worker would help, waiting for `for_ms` */
};

struct dr_rule {
    struct dr_str name; /* "cpu", "memory", "pending", custom name */
    enum dr_rule_kind kind;
    size_t signal; /* index into signals, for DR_RULE_SIGNAL */
    enum dr_compare compare;
    int64_t threshold_micro; /* ratio 0.7 = 700000; a count 5 = 5000000 */
    int64_t for_ms;          /* window on samples; 0 = the last value is enough */
    int64_t readings;        /* consecutive ticks, 1 = this one */
    bool ratio;              /* value and threshold are ratios: people read them in percent */
    bool off;                /* the rule keeps its place but is not evaluated */
};

/* Places of the fixed signals and rules; custom ones follow. The direction of a rule is that of its operator: up rules have > or >=, down rules < or <=. */
enum { DR_SIGNAL_AT_CPU, DR_SIGNAL_AT_MEMORY, DR_SIGNAL_AT_CUSTOM };
enum { DR_UP_CPU, DR_UP_MEMORY, DR_UP_PENDING, DR_UP_CUSTOM };
enum { DR_DOWN_CPU, DR_DOWN_MEMORY, DR_DOWN_CUSTOM };

enum dr_match { DR_MATCH_ANY, DR_MATCH_ALL };
enum dr_sizing { DR_SIZING_RATIO, DR_SIZING_STEP, DR_SIZING_FIT };
enum dr_join_failure { DR_JOIN_TERMINATE, DR_JOIN_QUARANTINE };
enum dr_cooldown_by { DR_COOLDOWN_WANTED, DR_COOLDOWN_LAST };
enum dr_replace { DR_REPLACE_AT_ONCE, DR_REPLACE_NEXT_TICK };
enum dr_replace_market { DR_REPLACE_SAME, DR_REPLACE_ON_DEMAND };
enum dr_order { DR_ORDER_ZONE, DR_ORDER_IDLE, DR_ORDER_PODS, DR_ORDER_AGE };
#define DR_MAX_ORDER 4

struct dr_config {
    struct dr_str cluster; /* key of the state item */
    int64_t interval_ms;   /* between scheduled ticks */
    int64_t tick_limit_ms; /* longest a tick may last */
    int64_t min_workers;
    int64_t max_workers;

    struct dr_signal signals[DR_MAX_SIGNALS];
    size_t signal_n;
    int64_t min_samples; /* a window with fewer is unknown */
    int64_t max_gap_ms;  /* a hole larger than this in a window is unknown; also from the last sample to now */

    enum dr_match up_match;
    struct dr_rule up[DR_MAX_RULES];
    size_t up_n;
    enum dr_sizing sizing;
    int64_t pods_per_node;
    int64_t urgent_pending; /* step sizing: more than this is urgent */
    int64_t max_batch_up;
    int64_t cooldown_up_ms;
    int64_t join_timeout_ms;
    enum dr_join_failure join_failure;
    int64_t quarantine_ms;
    int64_t backoff_ms; /* after a scale-up in which nothing joined; doubles */
    int64_t backoff_max_ms;

    struct dr_rule down[DR_MAX_RULES];
    size_t down_n;
    int64_t idle_for_ms;
    int64_t max_batch_down;
    int64_t cooldown_down_ms;
    int64_t drain_timeout_ms;
    int64_t stuck_ms;
    int64_t victim_avoid_ms; /* after a failed drain; doubles */
    enum dr_order order[DR_MAX_ORDER];
    size_t order_n;
    bool allow_bare_pods;
    bool allow_local_data;

    enum dr_cooldown_by cooldown_by;

    int64_t spot_percent;   /* 100 = spot first, 0 = never spot */
    int64_t on_demand_base; /* this many workers on demand before any spot */
    int64_t stockout_ms;    /* how long an empty pool is avoided */

    enum dr_replace replace;
    enum dr_replace_market replace_market;

    int64_t journal_days;
};

/* Is "never empty a zone" a rule (minimum >= zones, and more than one zone), or only a preference? */
bool dr_config_zone_is_rule(const struct dr_config *cfg, size_t zone_n);

/*
 * Presets. `default` is ours; the others reproduce published algorithms:
 *   strict   cpu >= 70 % and pods pending for 3 min, both; ratio sizing; shrinks on cpu < 30 % for 10 min; oldest first; spot first
 *   simple   cpu > 70 % for 3 min or pods pending for 3 min; ratio sizing; shrinks on cpu <= 30 % for 10 min
 *   layered  cpu or memory in two readings, or pods pending, or a custom signal; 2 workers when urgent, else 1; shrinks at once; 70 % spot
 */
enum dr_preset { DR_PRESET_DEFAULT, DR_PRESET_STRICT, DR_PRESET_SIMPLE, DR_PRESET_LAYERED };
#define DR_PRESET_N 4
const char *dr_preset_name(enum dr_preset preset);
bool dr_preset_find(struct dr_str name, enum dr_preset *ret);

/* A complete, valid configuration. Strings are static. */
void dr_config_init(struct dr_config *cfg, enum dr_preset preset);

/* Works out every signal's window from the rules. The functions of this header do that themselves; for a caller who changed a rule in place. */
void dr_config_windows(struct dr_config *cfg);

/* Contradictions between values (min > max, a down threshold above its up threshold, ...). Calls `report` for each one found, with the key to change; returns how many. */
size_t dr_config_check(const struct dr_config *cfg, void (*report)(void *self, const char *key, const char *what), void *self);

enum dr_key_type {
    DR_KEY_INT,       /* whole number */
    DR_KEY_SPAN,      /* "90s", "3m", "1h30m", or a bare number of seconds */
    DR_KEY_RATIO,     /* "70%" or 0.7 */
    DR_KEY_VALUE,     /* decimal number in the signal's own unit */
    DR_KEY_BOOL,      /* true or false */
    DR_KEY_ENUM,      /* one of `choices` */
    DR_KEY_STR,       /* text; `min` and `max` are lengths; with `choices`: letters, digits, '.', '_' and '-' only */
    DR_KEY_ENUM_LIST, /* [zone, age]: several of `choices`, each once */
    DR_KEY_COMPARE,   /* an operator */
    DR_KEY_LIST,      /* [a, b]: up to `max` texts, as struct dr_strs; with `choices`, an example "name=value", each is of that form */
    DR_KEY_SECRET,    /* where a secret is kept, never the secret: file:PATH, ssm:NAME, secretsmanager:ID; may be empty */
};

/* One key of the table. */
struct dr_key {
    const char *path; /* "scaleUp.cooldown" */
    enum dr_key_type type;
    const char *unit; /* "workers", "pods", "%", "" */
    int64_t min;      /* in stored units: ms for spans, millionths for ratios and values */
    int64_t max;
    const char *choices; /* "any|all" for enums; "off" on a number: this word is allowed too and turns the rule off; NULL: none */
    const char *env;     /* variable that overrides it, or NULL */
    const char *help;    /* one sentence */
    size_t offset;       /* where the value stands in struct dr_config (struct dr_custom for the keys of custom signals) */
    size_t flag;         /* offset of the bool that says "off" (custom signals: "given"); 0: none */
};

/*
 * Value of any key of any table: `base` or `object` is the structure that the key's offset is of. As dr_config_set and dr_config_get, which are for struct dr_config.
 * A secret that was written where its place belongs is not repeated in the error.
 */
int dr_key_set(void *base, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err);
void dr_key_get(const void *object, const struct dr_key *key, struct dr_buf *buf);
struct dr_strs dr_key_list(const void *base, const struct dr_key *key); /* of a DR_KEY_LIST */

/* The table, in the order of the reference page. */
const struct dr_key *dr_config_keys(size_t *ret_n);
const struct dr_key *dr_config_key_find(struct dr_str path);       /* NULL: none */
const struct dr_key *dr_config_key_of_env(struct dr_str variable); /* NULL: none */
/* The key nearest to a mistyped path, or NULL if none is near. */
const struct dr_key *dr_config_key_near(struct dr_str path);
/* Parses `text` by the key's type and range and stores it; strings are copied to the arena. The error names value and what is allowed, not the key. Order of calls does not matter. */
int dr_config_set(struct dr_config *cfg, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err);
/* The same for a variable of the environment. Ratios are percent there, "70" or "70%"; "0.7" is refused because it could mean either. */
int dr_config_set_env(struct dr_config *cfg, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err);
/* The value as dr_config_set would take it. */
void dr_config_get(const struct dr_config *cfg, const struct dr_key *key, struct dr_buf *buf);
/* What the key accepts, for error texts and the reference page: "a whole number of workers from 1 to 1000". */
void dr_config_key_allowed(const struct dr_key *key, struct dr_buf *buf);

/*
 * A custom signal with its rules (list `custom`; keys name, query, above, below, for, readings). `has_*` false: no such rule.
 * `above` makes an up rule (>), `below` a down rule (<). A signal that is unknown never starts a launch; it holds up a scale-down only if it has `below`.
 */
struct dr_custom {
    struct dr_str name;
    struct dr_str query;
    bool has_above;
    int64_t above_micro;
    bool has_below;
    int64_t below_micro;
    int64_t for_ms;
    int64_t readings;
};
void dr_custom_init(struct dr_custom *custom); /* no rule, for 0, readings 1 */
const struct dr_key *dr_custom_keys(size_t *ret_n);
const struct dr_key *dr_custom_key_find(struct dr_str path);
int dr_custom_set(struct dr_custom *custom, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err);
/* "" for what is not given. */
void dr_custom_get(const struct dr_custom *custom, const struct dr_key *key, struct dr_buf *buf);

/* Adds a signal and its rules; one of the same name is replaced. Fails on a missing name, query or threshold, a reserved name ("cpu", "memory", "pending"), and past DR_MAX_SIGNALS. */
int dr_config_add_custom(struct dr_config *cfg, const struct dr_custom *custom, struct dr_err *err);
void dr_config_clear_custom(struct dr_config *cfg);
size_t dr_config_custom_n(const struct dr_config *cfg);
struct dr_custom dr_config_custom(const struct dr_config *cfg, size_t i); /* i < dr_config_custom_n() */

#endif
