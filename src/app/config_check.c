/* Contradictions of a configuration at the line where they were written, and the origin of a value in words. */
#include "app/config_file.h"

#define MAX_VALUE_BYTES 8192

static struct dr_origin origin_of(const struct dr_settings *settings, const struct dr_key *key) {
    return settings->origins[dr_settings_key_index(key)];
}

struct check {
    const struct dr_settings *settings;
    struct dr_reports *reports;
    bool complete;
};

/* Was the value given? What was refused has left the default or the preset in its place. */
static bool given(const struct dr_settings *settings, const struct dr_key *key) {
    enum dr_origin_kind kind = origin_of(settings, key).kind;
    return kind != DR_ORIGIN_DEFAULT && kind != DR_ORIGIN_PRESET;
}

/* The key that the text of a contradiction compares with ("is above maxWorkers: ..."), NULL: none. */
static const struct dr_key *other_key(const char *what, const struct dr_key *self) {
    struct dr_str rest = dr_str_of(what);
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, ' ');
        struct dr_str word = dr_str_sub(rest, 0, end);
        const struct dr_key *key = dr_settings_key_find(dr_str_ends(word, ":") ? dr_str_sub(word, 0, word.n - 1) : word);
        if (key != NULL && key != self) {
            return key;
        }
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
    return NULL;
}

static struct dr_str value_of(const struct dr_settings *settings, const struct dr_key *key, struct dr_buf *buf) {
    dr_buf_clear(buf);
    dr_settings_get(settings, key, buf);
    return dr_buf_str(buf);
}

/* At the value to change; where that one was not given by anybody, at the one that it contradicts. */
static void on_contradiction(void *self, const char *path, const char *what) {
    struct check *check = self;
    const struct dr_settings *settings = check->settings;
    const struct dr_key *key = dr_settings_key_find(dr_str_of(path));
    const struct dr_key *other = key == NULL ? NULL : other_key(what, key);
    if (!check->complete && (key == NULL || !given(settings, key) || (other != NULL && !given(settings, other)))) {
        return;
    }
    struct dr_arena *arena = check->reports->arena;
    struct dr_str text;
    struct dr_origin origin = dr_str_is(dr_str_of(path), "custom") ? settings->custom_origin : (struct dr_origin){DR_ORIGIN_DEFAULT, 0, 0};
    if (key == NULL) {
        text = dr_str_fmt(arena, "%s: %s", path, what);
    } else {
        struct dr_buf a;
        struct dr_buf b;
        dr_buf_init(&a, MAX_VALUE_BYTES);
        dr_buf_init(&b, MAX_VALUE_BYTES);
        struct dr_str value = value_of(settings, key, &a);
        origin = origin_of(settings, key);
        if (other == NULL) {
            text = dr_str_fmt(arena, "%s: %.*s: %s", path, DR_FMT(value), what);
        } else {
            text = dr_str_fmt(arena, "%s: %.*s: %s (%s is %.*s)", path, DR_FMT(value), what, other->path,
                              DR_FMT(value_of(settings, other, &b)));
            if (!given(settings, key)) {
                origin = origin_of(settings, other);
            }
        }
        dr_buf_deinit(&a);
        dr_buf_deinit(&b);
    }
    if (origin.kind == DR_ORIGIN_ENVIRONMENT) {
        dr_reports_add_at(check->reports, "environment", "%.*s", DR_FMT(text));
    } else {
        dr_reports_add(check->reports, origin.kind == DR_ORIGIN_FILE ? origin.line : 0, origin.column, "%.*s", DR_FMT(text));
    }
}

void dr_settings_check(const struct dr_settings *settings, bool complete, struct dr_reports *reports) {
    struct check check = {settings, reports, complete};
    dr_config_check(&settings->cfg, on_contradiction, &check);
    dr_live_config_check(&settings->live, on_contradiction, &check);
}

void dr_settings_put_origin(const struct dr_settings *settings, struct dr_origin origin, const struct dr_key *key, struct dr_buf *buf) {
    switch (origin.kind) {
    case DR_ORIGIN_DEFAULT:
        dr_buf_puts(buf, "default");
        break;
    case DR_ORIGIN_PRESET:
        dr_buf_fmt(buf, "preset %s", dr_preset_name(settings->preset));
        break;
    case DR_ORIGIN_FILE:
        dr_buf_fmt(buf, "%s:%d", settings->file == NULL ? "file" : settings->file, origin.line);
        break;
    case DR_ORIGIN_ENVIRONMENT:
        dr_buf_fmt(buf, "environment %s", key == NULL || key->env == NULL ? "" : key->env);
        break;
    case DR_ORIGIN_COMMAND_LINE:
        dr_buf_puts(buf, "command line");
        break;
    }
}
