/* Values of keys as text: reading with range checks, and writing back exactly what reading takes. */
#include <string.h>

#include "base/time.h"
#include "core/config.h"
#include "core/rule.h"

#define MICRO INT64_C(1000000)

/* Enums are stored through an int of the same size and representation. */
_Static_assert(sizeof(enum dr_match) == sizeof(int) && sizeof(enum dr_order) == sizeof(int) && sizeof(enum dr_compare) == sizeof(int),
               "enum size");

/* ---- choices ---- */

/* The i-th of "any|all"; empty past the end. */
static struct dr_str choice_at(const char *choices, int wanted) {
    struct dr_str rest = dr_str_of(choices);
    for (int i = 0;; i++) {
        size_t end = dr_str_find(rest, '|');
        if (i == wanted) {
            return dr_str_sub(rest, 0, end);
        }
        if (end == rest.n) {
            return DR_STR_NONE;
        }
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
}

static int choice_find(const char *choices, struct dr_str text) {
    for (int i = 0;; i++) {
        struct dr_str choice = choice_at(choices, i);
        if (choice.n == 0) {
            return -1;
        }
        if (dr_str_eq(choice, text)) {
            return i;
        }
    }
}

static bool compare_find(const char *choices, struct dr_str text, enum dr_compare *ret) {
    if (choice_find(choices, text) < 0) {
        return false;
    }
    for (int i = DR_ABOVE; i <= DR_AT_MOST; i++) {
        if (dr_str_is(text, dr_compare_sign((enum dr_compare)i))) {
            *ret = (enum dr_compare)i;
            return true;
        }
    }
    return false;
}

/* ---- numbers ---- */

/* All units, so that nothing is lost: 3661000 -> 1h1m1s. */
static void put_span(struct dr_buf *buf, int64_t ms) {
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{DR_DAY_MS, "d"}, {DR_HOUR_MS, "h"}, {DR_MINUTE_MS, "m"}, {DR_SECOND_MS, "s"}, {1, "ms"}};
    if (ms == 0) {
        dr_buf_puts(buf, "0s");
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ms / units[i].ms > 0) {
            dr_buf_put_i64(buf, ms / units[i].ms);
            dr_buf_puts(buf, units[i].unit);
            ms %= units[i].ms;
        }
    }
}

static void put_percent(struct dr_buf *buf, int64_t micro) {
    dr_buf_put_micro(buf, micro * 100);
    dr_buf_putc(buf, '%');
}

static bool parse_percent(struct dr_str number, int64_t *ret_micro) {
    int64_t percent_micro = 0;
    if (!dr_str_to_micro(number, &percent_micro)) {
        return false;
    }
    *ret_micro = percent_micro / 100;
    return percent_micro % 100 == 0; /* finer than a millionth cannot be kept */
}

static bool parse_ratio(struct dr_str text, int64_t *ret_micro) {
    if (dr_str_ends(text, "%")) {
        return parse_percent(dr_str_trim(dr_str_sub(text, 0, text.n - 1)), ret_micro);
    }
    return dr_str_to_micro(text, ret_micro);
}

static bool parse_number(const struct dr_key *key, struct dr_str text, int64_t *ret) {
    switch (key->type) {
    case DR_KEY_INT:
        return dr_str_to_i64(text, ret);
    case DR_KEY_SPAN:
        return dr_time_parse_span(text, ret);
    case DR_KEY_RATIO:
        return parse_ratio(text, ret);
    case DR_KEY_VALUE:
        return dr_str_to_micro(text, ret);
    case DR_KEY_BOOL:
    case DR_KEY_ENUM:
    case DR_KEY_STR:
    case DR_KEY_ENUM_LIST:
    case DR_KEY_COMPARE:
    case DR_KEY_LIST:
    case DR_KEY_SECRET:
        break;
    }
    return false;
}

static void put_number(const struct dr_key *key, int64_t value, struct dr_buf *buf) {
    if (key->type == DR_KEY_INT) {
        dr_buf_put_i64(buf, value);
    } else if (key->type == DR_KEY_SPAN) {
        put_span(buf, value);
    } else if (key->type == DR_KEY_RATIO) {
        put_percent(buf, value);
    } else {
        dr_buf_put_micro(buf, value);
    }
}

/* ---- what is allowed ---- */

static void put_choices(struct dr_buf *buf, const char *choices, const char *last) {
    for (int i = 0;; i++) {
        struct dr_str choice = choice_at(choices, i);
        if (choice.n == 0) {
            return;
        }
        if (i > 0) {
            dr_buf_puts(buf, choice_at(choices, i + 1).n > 0 ? ", " : last);
        }
        dr_buf_put_str(buf, choice);
    }
}

static void put_range(const struct dr_key *key, const char *what, struct dr_buf *buf) {
    dr_buf_puts(buf, what);
    if (key->type == DR_KEY_INT && key->unit[0] != '\0' && key->unit[0] != '%') {
        dr_buf_fmt(buf, " of %s", key->unit);
    }
    dr_buf_puts(buf, " from ");
    put_number(key, key->min, buf);
    dr_buf_puts(buf, " to ");
    put_number(key, key->max, buf);
    if (key->choices != NULL) {
        dr_buf_fmt(buf, ", or %s", key->choices);
    }
}

void dr_config_key_allowed(const struct dr_key *key, struct dr_buf *buf) {
    switch (key->type) {
    case DR_KEY_INT:
        put_range(key, "a whole number", buf);
        break;
    case DR_KEY_SPAN:
        put_range(key, "a time such as 90s, 3m or 1h30m", buf);
        break;
    case DR_KEY_RATIO:
        put_range(key, "a share such as 70% or 0.7", buf);
        break;
    case DR_KEY_VALUE:
        dr_buf_puts(buf, "a number");
        break;
    case DR_KEY_BOOL:
        dr_buf_puts(buf, "true or false");
        break;
    case DR_KEY_ENUM:
    case DR_KEY_COMPARE:
        put_choices(buf, key->choices, " or ");
        break;
    case DR_KEY_ENUM_LIST:
        dr_buf_puts(buf, "a list of ");
        put_choices(buf, key->choices, " and ");
        dr_buf_puts(buf, ", each at most once");
        break;
    case DR_KEY_STR:
        if (key->min == 0) {
            dr_buf_fmt(buf, "a text of up to %d characters", (int)key->max);
        } else {
            dr_buf_fmt(buf, "a text of %d to %d characters", (int)key->min, (int)key->max);
        }
        if (key->choices != NULL) {
            dr_buf_puts(buf, ": letters, digits, '.', '_' and '-'");
        }
        break;
    case DR_KEY_LIST:
        dr_buf_fmt(buf, "a list of up to %d texts", (int)key->max);
        if (key->choices != NULL) {
            dr_buf_fmt(buf, " such as %s, or a mapping", key->choices);
        }
        break;
    case DR_KEY_SECRET:
        dr_buf_puts(buf, "where the secret is kept: file:PATH, ssm:NAME or secretsmanager:ID");
        break;
    }
}

static int refuse(const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    struct dr_buf buf;
    dr_buf_init(&buf, 256);
    dr_config_key_allowed(key, &buf);
    /* Somebody may have written the secret itself. */
    struct dr_str shown = key->type == DR_KEY_SECRET ? DR_STR("***") : dr_str_sub(text, 0, 60);
    int r = dr_fail(err, DR_E_INVALID, "%.*s%s: must be %.*s", DR_FMT(shown), shown.n < text.n && key->type != DR_KEY_SECRET ? "..." : "",
                    DR_FMT(dr_buf_str(&buf)));
    dr_buf_deinit(&buf);
    return r;
}

/* ---- set ---- */

static bool is_name(struct dr_str text) {
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        if (!ok) {
            return false;
        }
    }
    return true;
}

static int set_number(char *base, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    bool off = key->choices != NULL && dr_str_is(text, key->choices);
    int64_t value = 0;
    if (!off) {
        if (!parse_number(key, text, &value) || value < key->min || value > key->max) {
            return refuse(key, text, err);
        }
        memcpy(base + key->offset, &value, sizeof value);
    }
    if (key->flag > 0) {
        /* The flag of a rule says "off"; that of a custom threshold, which has no word for it, says "given". */
        bool flag = key->choices != NULL ? off : true;
        memcpy(base + key->flag, &flag, sizeof flag);
    }
    return 0;
}

static int set_str(char *base, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    bool fits = (int64_t)text.n >= key->min && (int64_t)text.n <= key->max;
    if (!fits || (key->choices != NULL && !is_name(text))) {
        return refuse(key, text, err);
    }
    struct dr_str copy = dr_str_dup(arena, text);
    memcpy(base + key->offset, &copy, sizeof copy);
    return 0;
}

static int set_order(struct dr_config *cfg, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    struct dr_str rest = dr_str_trim(text);
    if (dr_str_starts(rest, "[") && dr_str_ends(rest, "]")) {
        rest = dr_str_sub(rest, 1, rest.n - 1);
    }
    enum dr_order order[DR_MAX_ORDER];
    size_t n = 0;
    bool more = true;
    while (more) {
        size_t comma = dr_str_find(rest, ',');
        int found = choice_find(key->choices, dr_str_trim(dr_str_sub(rest, 0, comma)));
        if (found < 0 || n == DR_MAX_ORDER) {
            return refuse(key, text, err);
        }
        for (size_t i = 0; i < n; i++) {
            if (order[i] == (enum dr_order)found) {
                return refuse(key, text, err);
            }
        }
        order[n++] = (enum dr_order)found;
        more = comma < rest.n;
        rest = dr_str_sub(rest, comma + 1, rest.n);
    }
    memcpy(cfg->order, order, n * sizeof order[0]);
    cfg->order_n = n;
    return 0;
}

/* Elements end at commas; whoever has one with a comma in it cannot write it. `choices` says that each has a name: "name=value". */
static int set_list(char *base, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    struct dr_str rest = dr_str_trim(text);
    if (dr_str_starts(rest, "[") && dr_str_ends(rest, "]")) {
        rest = dr_str_trim(dr_str_sub(rest, 1, rest.n - 1));
    }
    struct dr_str *items = DR_NEW_N(arena, struct dr_str, (size_t)key->max);
    struct dr_strs list = {items, 0};
    bool more = rest.n > 0;
    while (more) {
        size_t comma = dr_str_find(rest, ',');
        struct dr_str item = dr_str_trim(dr_str_sub(rest, 0, comma));
        size_t equals = dr_str_find(item, '=');
        bool fits = item.n > 0 && list.n < (size_t)key->max && (key->choices == NULL || (equals > 0 && equals < item.n));
        if (!fits || dr_strs_has(list, item)) {
            return refuse(key, text, err);
        }
        items[list.n++] = dr_str_dup(arena, item);
        more = comma < rest.n;
        rest = dr_str_sub(rest, comma + 1, rest.n);
    }
    memcpy(base + key->offset, &list, sizeof list);
    return 0;
}

static int set_secret(char *base, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    size_t colon = dr_str_find(text, ':');
    struct dr_str kind = dr_str_sub(text, 0, colon);
    bool known = dr_str_is(kind, "file") || dr_str_is(kind, "ssm") || dr_str_is(kind, "secretsmanager");
    if (text.n > 0 && (!known || colon + 1 >= text.n)) {
        return refuse(key, text, err);
    }
    return set_str(base, arena, key, text, err);
}

static int set_word(char *base, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    if (key->type == DR_KEY_BOOL) {
        bool value = dr_str_is(text, "true");
        if (!value && !dr_str_is(text, "false")) {
            return refuse(key, text, err);
        }
        memcpy(base + key->offset, &value, sizeof value);
        return 0;
    }
    int value = choice_find(key->choices, text);
    enum dr_compare compare = DR_ABOVE;
    if (value < 0 || (key->type == DR_KEY_COMPARE && !compare_find(key->choices, text, &compare))) {
        return refuse(key, text, err);
    }
    if (key->type == DR_KEY_COMPARE) {
        memcpy(base + key->offset, &compare, sizeof compare);
    } else {
        memcpy(base + key->offset, &value, sizeof value);
    }
    return 0;
}

int dr_key_set(void *base, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    struct dr_str trimmed = dr_str_trim(text);
    switch (key->type) {
    case DR_KEY_INT:
    case DR_KEY_SPAN:
    case DR_KEY_RATIO:
    case DR_KEY_VALUE:
        return set_number(base, key, trimmed, err);
    case DR_KEY_STR:
        return set_str(base, arena, key, trimmed, err);
    case DR_KEY_LIST:
        return set_list(base, arena, key, trimmed, err);
    case DR_KEY_SECRET:
        return set_secret(base, arena, key, trimmed, err);
    case DR_KEY_ENUM_LIST:
        return set_order(base, key, trimmed, err);
    case DR_KEY_BOOL:
    case DR_KEY_ENUM:
    case DR_KEY_COMPARE:
        break;
    }
    return set_word(base, key, trimmed, err);
}

int dr_config_set(struct dr_config *cfg, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    if (dr_key_set(cfg, arena, key, text, err) < 0) {
        return -1;
    }
    dr_config_windows(cfg);
    return 0;
}

int dr_config_set_env(struct dr_config *cfg, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    struct dr_str trimmed = dr_str_trim(text);
    int64_t micro = 0;
    if (key->type != DR_KEY_RATIO || !dr_str_to_micro(trimmed, &micro)) {
        return dr_config_set(cfg, arena, key, trimmed, err);
    }
    if (micro < MICRO) {
        return dr_fail(err, DR_E_INVALID, "%.*s: must be percent, such as 70 or 70%%", DR_FMT(trimmed));
    }
    return dr_config_set(cfg, arena, key, dr_str_fmt(arena, "%.*s%%", DR_FMT(trimmed)), err);
}

int dr_custom_set(struct dr_custom *custom, struct dr_arena *arena, const struct dr_key *key, struct dr_str text, struct dr_err *err) {
    return dr_key_set(custom, arena, key, text, err);
}

/* ---- get ---- */

struct dr_strs dr_key_list(const void *base, const struct dr_key *key) {
    DR_ASSERT(key->type == DR_KEY_LIST);
    struct dr_strs list;
    memcpy(&list, (const char *)base + key->offset, sizeof list);
    return list;
}

static void get_list(const void *base, const struct dr_key *key, struct dr_buf *buf) {
    struct dr_strs list = dr_key_list(base, key);
    dr_buf_putc(buf, '[');
    for (size_t i = 0; i < list.n; i++) {
        dr_buf_puts(buf, i == 0 ? "" : ", ");
        dr_buf_put_str(buf, list.v[i]);
    }
    dr_buf_putc(buf, ']');
}

void dr_key_get(const void *object, const struct dr_key *key, struct dr_buf *buf) {
    const char *base = object;
    switch (key->type) {
    case DR_KEY_INT:
    case DR_KEY_SPAN:
    case DR_KEY_RATIO:
    case DR_KEY_VALUE: {
        int64_t value = 0;
        memcpy(&value, base + key->offset, sizeof value);
        put_number(key, value, buf);
        return;
    }
    case DR_KEY_LIST:
        get_list(base, key, buf);
        return;
    case DR_KEY_SECRET:
    case DR_KEY_STR: {
        struct dr_str value;
        memcpy(&value, base + key->offset, sizeof value);
        dr_buf_put_str(buf, value);
        return;
    }
    case DR_KEY_BOOL: {
        bool value = false;
        memcpy(&value, base + key->offset, sizeof value);
        dr_buf_puts(buf, value ? "true" : "false");
        return;
    }
    case DR_KEY_ENUM: {
        int value = 0;
        memcpy(&value, base + key->offset, sizeof value);
        dr_buf_put_str(buf, choice_at(key->choices, value));
        return;
    }
    case DR_KEY_COMPARE: {
        enum dr_compare value = DR_ABOVE;
        memcpy(&value, base + key->offset, sizeof value);
        dr_buf_puts(buf, dr_compare_sign(value));
        return;
    }
    case DR_KEY_ENUM_LIST:
        break;
    }
    const struct dr_config *cfg = (const void *)base;
    dr_buf_putc(buf, '[');
    for (size_t i = 0; i < cfg->order_n; i++) {
        if (i > 0) {
            dr_buf_puts(buf, ", ");
        }
        dr_buf_put_str(buf, choice_at(key->choices, (int)cfg->order[i]));
    }
    dr_buf_putc(buf, ']');
}

static bool flag_of(const void *base, const struct dr_key *key) {
    bool flag = false;
    if (key->flag > 0) {
        memcpy(&flag, (const char *)base + key->flag, sizeof flag);
    }
    return flag;
}

void dr_config_get(const struct dr_config *cfg, const struct dr_key *key, struct dr_buf *buf) {
    if (flag_of(cfg, key)) {
        dr_buf_puts(buf, key->choices);
    } else {
        dr_key_get(cfg, key, buf);
    }
}

void dr_custom_get(const struct dr_custom *custom, const struct dr_key *key, struct dr_buf *buf) {
    if (key->flag == 0 || flag_of(custom, key)) {
        dr_key_get(custom, key, buf);
    }
}
