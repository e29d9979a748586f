#ifndef DR_APP_CONFIG_FILE_H
#define DR_APP_CONFIG_FILE_H

/*
 * The configuration as a person gives it: preset, YAML file, environment, in that order, through the tables of keys (core/config.h, app/live_config.h). Where every value came from
 * is kept. Everything that is wrong is reported at once as "file:line:column: key: value: what is allowed"; nothing is used from a configuration with a mistake.
 */

#include "app/live_config.h"
#include "app/reports.h"
#include "app/yaml.h"
#include "core/config.h"

enum dr_origin_kind { DR_ORIGIN_DEFAULT, DR_ORIGIN_PRESET, DR_ORIGIN_FILE, DR_ORIGIN_ENVIRONMENT, DR_ORIGIN_COMMAND_LINE };

struct dr_origin {
    enum dr_origin_kind kind;
    int line; /* with DR_ORIGIN_FILE */
    int column;
};

struct dr_settings {
    struct dr_config cfg;
    struct dr_live_config live;
    enum dr_preset preset;
    struct dr_origin preset_origin;
    struct dr_origin custom_origin;
    struct dr_origin *origins; /* one per key, in the order of dr_settings_key() */
    const char *file;          /* NULL: none was given */
};

/* All keys: those of the core first, then those of the adapters. */
size_t dr_settings_key_n(void);
const struct dr_key *dr_settings_key(size_t i);
size_t dr_settings_key_index(const struct dr_key *key);
const struct dr_key *dr_settings_key_find(struct dr_str path); /* NULL: none */
/* The value as the reader would take it. */
void dr_settings_get(const struct dr_settings *settings, const struct dr_key *key, struct dr_buf *buf);
/* The list of a DR_KEY_LIST. */
struct dr_strs dr_settings_list(const struct dr_settings *settings, const struct dr_key *key);

struct dr_settings_source {
    const char *file;       /* NULL: none */
    const char *preset;     /* of the command line: wins over the file's; NULL: none */
    const char *const *env; /* "NAME=value", ends with NULL; NULL: the environment is not looked at */
};

/* Defaults of a preset. Values live in the arena. */
void dr_settings_init(struct dr_settings *settings, struct dr_arena *arena, enum dr_preset preset, enum dr_origin_kind origin);

/*
 * Applies a mapping of keys: a whole configuration file, or the configuration part of a scenario. `preset` in it sets everything anew first, unless the command
 * line gave one. Contradictions are not looked for yet.
 */
void dr_settings_apply(struct dr_settings *settings, struct dr_arena *arena, const struct dr_yaml *mapping, struct dr_reports *reports);

/*
 * Contradictions between values, at the line of the value to change. `complete`: no value was refused; otherwise only contradictions between values that were
 * given count, since the default in the place of a refused one contradicts nothing that its author wrote.
 */
void dr_settings_check(const struct dr_settings *settings, bool complete, struct dr_reports *reports);

/* All of it. -1: something is wrong, see reports. `reports` must have been made with the file's name (or any other text without a file). */
int dr_settings_load(struct dr_settings *settings, struct dr_arena *arena, const struct dr_settings_source *source,
                     struct dr_reports *reports);

/* "default", "preset strict", "drover.yaml:12", "environment CPU_UP", "command line"; `key` may be NULL. */
void dr_settings_put_origin(const struct dr_settings *settings, struct dr_origin origin, const struct dr_key *key, struct dr_buf *buf);

#endif
