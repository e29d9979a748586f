/* A scenario file as a whole: its keys, and its sentences once everything is known that they may refer to. */

#include "app/nearest.h"
#include "app/scenario.h"
#include "base/time.h"
#include "sim/fault.h"

#define MAX_SENTENCES 2000
#define MAX_PASSES 1000000
#define LONGEST_RUN_MS (400 * DR_DAY_MS)

static const char *const sections[] = {"name",  "about", "hazard", "rule",   "seed",     "start",
                                       "until", "each",  "world",  "config", "timeline", "expect"};
#define SECTION_N (sizeof sections / sizeof sections[0])

static void check_sections(struct dr_scenario_reader *r, const struct dr_yaml *root) {
    for (const struct dr_yaml *v = root->child; v != NULL; v = v->next) {
        struct dr_nearest nearest;
        dr_nearest_init(&nearest, v->key->text);
        bool known = false;
        for (size_t i = 0; i < SECTION_N; i++) {
            known = known || dr_str_is(v->key->text, sections[i]);
            dr_nearest_try(&nearest, dr_str_of(sections[i]));
        }
        if (!known && nearest.found) {
            dr_reports_add(r->reports, v->key->line, v->key->column, "%.*s: unknown key; did you mean %.*s?", DR_FMT(v->key->text),
                           DR_FMT(nearest.best));
        } else if (!known) {
            dr_reports_add(
                r->reports, v->key->line, v->key->column,
                "%.*s: unknown key; name, about, hazard, rule, seed, start, until, each, world, config, timeline and expect are known",
                DR_FMT(v->key->text));
        }
    }
}

/* Text of a key; reported if it is missing (where it is needed) or no text. */
static struct dr_str text_of(struct dr_scenario_reader *r, const struct dr_yaml *root, const char *key, bool needed) {
    const struct dr_yaml *v = dr_yaml_get(root, key);
    if (v == NULL || dr_yaml_null(v)) {
        if (needed) {
            dr_reports_add(r->reports, v == NULL ? 1 : v->line, v == NULL ? 1 : v->column, "%s: is missing", key);
        }
        return DR_STR_NONE;
    }
    if (v->kind != DR_YAML_SCALAR) {
        dr_reports_add(r->reports, v->line, v->column, "%s: %s: must be a text", key, dr_yaml_kind_name(v));
        return DR_STR_NONE;
    }
    return v->text;
}

static void bad_value(struct dr_scenario_reader *r, const struct dr_yaml *root, const char *key, const char *allowed) {
    const struct dr_yaml *v = dr_yaml_get(root, key);
    dr_reports_add(r->reports, v->line, v->column, "%s: %.*s: must be %s", key, DR_FMT(v->text), allowed);
}

static int64_t number_of(struct dr_scenario_reader *r, const struct dr_yaml *root, const char *key) {
    struct dr_str text = text_of(r, root, key, false);
    int64_t n = 0;
    if (text.n > 0 && (!dr_str_to_i64(text, &n) || n < 0)) {
        bad_value(r, root, key, "a whole number of 0 or more");
    }
    return n;
}

static void read_times(struct dr_scenario_reader *r, const struct dr_yaml *root) {
    struct dr_scenario *s = r->scenario;
    int64_t day_ms = s->options.start_ms - s->options.start_ms % DR_DAY_MS;
    int64_t ms;
    struct dr_str start = text_of(r, root, "start", true);
    if (start.n > 0 && dr_time_parse_clock(start, &ms)) {
        s->options.start_ms = day_ms + ms;
    } else if (start.n > 0 && (!dr_time_parse(start, &s->options.start_ms) || s->options.start_ms < DR_DAY_MS)) {
        bad_value(r, root, "start", "a time of day (HH:MM) or a full time");
    }
    s->lexicon.start_ms = s->lexicon.end_ms = s->options.start_ms;
    struct dr_str until = text_of(r, root, "until", true);
    if (until.n > 0 &&
        (!dr_lexicon_time(&s->lexicon, until, &ms) || ms <= s->lexicon.start_ms || ms - s->lexicon.start_ms > LONGEST_RUN_MS)) {
        bad_value(r, root, "until", "a time after the start (HH:MM, +SPAN or a full time), at most 400 days later");
    } else if (until.n > 0) {
        s->lexicon.end_ms = ms;
    }
}

static void read_each(struct dr_scenario_reader *r, const struct dr_yaml *root) {
    struct dr_str text = text_of(r, root, "each", false);
    r->scenario->each = -1;
    for (int i = 0; i < DR_FAULT_KIND_N && text.n > 0; i++) {
        if (dr_str_is(text, dr_fault_kind_text((enum dr_fault_kind)i)) && i != DR_FAULT_STALE && i != DR_FAULT_CLOCK_STEP &&
            i != DR_FAULT_DELAY) {
            r->scenario->each = i;
        }
    }
    if (text.n > 0 && r->scenario->each < 0) {
        bad_value(r, root, "each", "error, timeout, lose-reply, crash-before, crash-after, interleave-before or interleave-after");
    }
}

static void read_seed(struct dr_scenario_reader *r, const struct dr_yaml *root) {
    r->scenario->seed = (uint64_t)number_of(r, root, "seed");
    int64_t n;
    if (r->source->seed == NULL) {
        return;
    }
    if (!dr_str_to_i64(dr_str_of(r->source->seed), &n) || n < 0) {
        dr_reports_add_at(r->reports, "command line", "--seed: %s: must be a whole number of 0 or more", r->source->seed);
        return;
    }
    r->scenario->seed = (uint64_t)n;
}

/* The very configuration of the program; the environment is left out, so that a scenario means the same everywhere. */
static void read_config(struct dr_scenario_reader *r, const struct dr_yaml *config) {
    struct dr_settings *settings = &r->scenario->settings;
    dr_settings_init(settings, r->arena, DR_PRESET_DEFAULT, DR_ORIGIN_DEFAULT);
    settings->file = r->source->file;
    size_t before = r->reports->n;
    if (config != NULL && !dr_yaml_null(config)) {
        dr_settings_apply(settings, r->arena, config, r->reports);
    }
    dr_settings_check(settings, r->reports->n == before, r->reports);
    const struct dr_config *cfg = &settings->cfg;
    struct dr_str *signals = DR_NEW_N(r->arena, struct dr_str, cfg->signal_n);
    for (size_t i = 0; i < cfg->signal_n; i++) {
        signals[i] = cfg->signals[i].name;
    }
    r->scenario->lexicon.signals = (struct dr_strs){signals, cfg->signal_n};
    struct dr_str *rules = DR_NEW_N(r->arena, struct dr_str, cfg->up_n + cfg->down_n);
    size_t n = 0;
    for (size_t i = 0; i < cfg->up_n + cfg->down_n; i++) {
        struct dr_str name = i < cfg->up_n ? cfg->up[i].name : cfg->down[i - cfg->up_n].name;
        if (!dr_strs_has((struct dr_strs){rules, n}, name)) {
            rules[n++] = name;
        }
    }
    r->scenario->lexicon.rules = (struct dr_strs){rules, n};
}

static struct dr_sentence *read_sentences(struct dr_scenario_reader *r, const struct dr_yaml *list, const char *section,
                                          const struct dr_sentence_form *forms, size_t *ret_n) {
    *ret_n = 0;
    if (list == NULL || dr_yaml_null(list)) {
        return NULL;
    }
    if (list->kind != DR_YAML_SEQUENCE || list->n > MAX_SENTENCES) {
        dr_reports_add(r->reports, list->line, list->column, "%s: %s: must be a list of at most %d sentences", section,
                       dr_yaml_kind_name(list), MAX_SENTENCES);
        return NULL;
    }
    struct dr_sentence *v = DR_NEW_N(r->arena, struct dr_sentence, list->n);
    for (const struct dr_yaml *item = list->child; item != NULL; item = item->next) {
        *ret_n += dr_sentence_read(r->arena, &r->scenario->lexicon, forms, section, item, r->reports, &v[*ret_n]) == 0;
    }
    return v;
}

static void read_all(struct dr_scenario_reader *r, const struct dr_yaml *root) {
    struct dr_scenario *s = r->scenario;
    check_sections(r, root);
    s->name = text_of(r, root, "name", true);
    s->about = text_of(r, root, "about", true);
    s->hazard = number_of(r, root, "hazard");
    s->rule = number_of(r, root, "rule");
    read_seed(r, root);
    dr_world_options_init(&s->options, s->seed);
    read_times(r, root);
    read_each(r, root);
    read_config(r, dr_yaml_get(root, "config"));
    dr_scenario_read_world(r, dr_yaml_get(root, "world"));
    s->timeline = read_sentences(r, dr_yaml_get(root, "timeline"), "timeline", dr_scenario_verbs, &s->timeline_n);
    s->expects = read_sentences(r, dr_yaml_get(root, "expect"), "expect", dr_scenario_expectations, &s->expect_n);
    if (dr_yaml_get(root, "expect") == NULL) {
        dr_reports_add(r->reports, 1, 1, "expect: is missing: a scenario says what must come out");
    }
    dr_scenario_check_timeline(r);
    if ((s->lexicon.end_ms - s->lexicon.start_ms) / s->settings.cfg.interval_ms > MAX_PASSES) {
        const struct dr_yaml *until = dr_yaml_get(root, "until");
        dr_reports_add(r->reports, until->line, until->column, "until: %.*s: more than %d passes at this interval", DR_FMT(until->text),
                       MAX_PASSES);
    }
}

int dr_scenario_read(struct dr_arena *arena, const struct dr_scenario_source *source, struct dr_reports *reports, struct dr_scenario *ret) {
    struct dr_scenario_reader r = {arena, reports, source, ret};
    *ret = (struct dr_scenario){.file = source->file};
    const struct dr_yaml *root;
    if (dr_yaml_load(arena, reports, &root) < 0) {
        return -1;
    }
    if (root->kind != DR_YAML_MAPPING) {
        dr_reports_add(reports, root->line, root->column, "%s: must be a mapping of keys", dr_yaml_kind_name(root));
        return -1;
    }
    read_all(&r, root);
    return reports->n + reports->left_out == 0 ? 0 : -1;
}
