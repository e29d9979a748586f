#include "app/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/err.h"

struct level {
    struct dr_yaml *node;
    struct dr_yaml *last;      /* child */
    const struct dr_yaml *key; /* of the value that is due in a mapping */
};

struct builder {
    struct dr_arena *arena;
    struct dr_reports *reports;
    struct level levels[DR_YAML_MAX_DEPTH];
    size_t depth;
    size_t node_n;
    size_t document_n;
    struct dr_yaml *root;
};

static int place(size_t zero_based) { return zero_based >= 0x7fffffff ? 0x7fffffff : (int)zero_based + 1; }

static int refuse(struct builder *b, const yaml_mark_t *mark, const char *what) {
    dr_reports_add(b->reports, place(mark->line), place(mark->column), "%s", what);
    return -1;
}

static struct dr_yaml *new_node(struct builder *b, const yaml_event_t *event, enum dr_yaml_kind kind) {
    if (++b->node_n > DR_YAML_MAX_NODES) {
        refuse(b, &event->start_mark, "too large: more than 100000 values");
        return NULL;
    }
    struct dr_yaml *node = DR_NEW(b->arena, struct dr_yaml);
    node->kind = kind;
    node->line = place(event->start_mark.line);
    node->column = place(event->start_mark.column);
    return node;
}

/* Puts a node where it belongs: root, key, value or element. */
static int attach(struct builder *b, const yaml_event_t *event, struct dr_yaml *node) {
    if (b->depth == 0) {
        b->root = node;
        return 0;
    }
    struct level *level = &b->levels[b->depth - 1];
    if (level->node->kind == DR_YAML_MAPPING && level->key == NULL) {
        if (node->kind != DR_YAML_SCALAR) {
            return refuse(b, &event->start_mark, "a key must be a text, not a list or mapping");
        }
        level->key = node;
        return 0;
    }
    node->key = level->key;
    level->key = NULL;
    if (level->last == NULL) {
        level->node->child = node;
    } else {
        level->last->next = node;
    }
    level->last = node;
    level->node->n++;
    return 0;
}

static int on_scalar(struct builder *b, const yaml_event_t *event) {
    struct dr_yaml *node = new_node(b, event, DR_YAML_SCALAR);
    if (node == NULL) {
        return -1;
    }
    node->text = dr_str_dup(b->arena, (struct dr_str){(const char *)event->data.scalar.value, event->data.scalar.length});
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return attach(b, event, node);
}

static int on_open(struct builder *b, const yaml_event_t *event, enum dr_yaml_kind kind) {
    if (b->depth == DR_YAML_MAX_DEPTH) {
        return refuse(b, &event->start_mark, "too deep: more than 32 levels");
    }
    struct dr_yaml *node = new_node(b, event, kind);
    if (node == NULL || attach(b, event, node) < 0) {
        return -1;
    }
    b->levels[b->depth++] = (struct level){node, NULL, NULL};
    return 0;
}

static int compare_keys(const void *a, const void *b) {
    const struct dr_yaml *x = (*(struct dr_yaml *const *)a)->key;
    const struct dr_yaml *y = (*(struct dr_yaml *const *)b)->key;
    int order = dr_str_cmp(x->text, y->text);
    if (order != 0) {
        return order;
    }
    return x->line != y->line ? (x->line < y->line ? -1 : 1) : (x->column < y->column ? -1 : 1);
}

/* Sorted, because a file may hold tens of thousands of keys in one mapping and comparing all pairs would take minutes. */
static void report_duplicates(struct builder *b, const struct dr_yaml *mapping) {
    if (mapping->n < 2) {
        return;
    }
    const struct dr_yaml **sorted = malloc(mapping->n * sizeof(*sorted));
    DR_ASSERT(sorted != NULL);
    size_t n = 0;
    for (const struct dr_yaml *child = mapping->child; child != NULL; child = child->next) {
        sorted[n++] = child;
    }
    qsort(sorted, n, sizeof(*sorted), compare_keys);
    const struct dr_yaml *first = sorted[0]->key;
    for (size_t i = 1; i < n; i++) {
        const struct dr_yaml *key = sorted[i]->key;
        if (dr_str_eq(first->text, key->text)) {
            dr_reports_add(b->reports, key->line, key->column, "%.*s: given twice, first in line %d", DR_FMT(key->text), first->line);
        } else {
            first = key;
        }
    }
    free(sorted);
}

static int on_close(struct builder *b) {
    DR_ASSERT(b->depth > 0);
    const struct dr_yaml *node = b->levels[--b->depth].node;
    if (node->kind == DR_YAML_MAPPING) {
        report_duplicates(b, node);
    }
    return 0;
}

static bool decorated(const yaml_event_t *event) {
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor != NULL || event->data.sequence_start.tag != NULL;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor != NULL || event->data.mapping_start.tag != NULL;
    default:
        return false;
    }
}

static int on_event(struct builder *b, const yaml_event_t *event) {
    if (decorated(event)) {
        return refuse(b, &event->start_mark, "anchors and tags are not allowed: write the value out");
    }
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return refuse(b, &event->start_mark, "aliases are not allowed: write the value out");
    case YAML_DOCUMENT_START_EVENT:
        return ++b->document_n > 1 ? refuse(b, &event->start_mark, "a second document: one per file is allowed") : 0;
    case YAML_SCALAR_EVENT:
        return on_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(b, event, DR_YAML_SEQUENCE);
    case YAML_MAPPING_START_EVENT:
        return on_open(b, event, DR_YAML_MAPPING);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_close(b);
    default:
        return 0;
    }
}

/* libyaml's own words ("did not find expected key") with the place; its reader errors have an offset only. */
static int on_broken(struct builder *b, const yaml_parser_t *parser) {
    const char *problem = parser->problem == NULL ? "cannot be read" : parser->problem;
    if (parser->error == YAML_READER_ERROR) {
        dr_reports_add(b->reports, 0, 0, "byte %zu: not YAML: %s", parser->problem_offset, problem);
    } else if (parser->context != NULL) {
        /* Seen with operators: `compare: >=` begins a block of text in YAML. */
        bool block = strstr(parser->context, "block scalar") != NULL;
        dr_reports_add(b->reports, place(parser->problem_mark.line), place(parser->problem_mark.column), "not YAML: %s %s (line %d)%s",
                       problem, parser->context, place(parser->context_mark.line),
                       block ? "; a value that begins with > or | needs quotes" : "");
    } else {
        dr_reports_add(b->reports, place(parser->problem_mark.line), place(parser->problem_mark.column), "not YAML: %s", problem);
    }
    return -1;
}

static int build(struct builder *b, yaml_parser_t *parser) {
    bool more = true;
    while (more) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            return on_broken(b, parser);
        }
        more = event.type != YAML_STREAM_END_EVENT;
        int result = on_event(b, &event);
        yaml_event_delete(&event);
        if (result < 0) {
            return -1;
        }
    }
    return 0;
}

int dr_yaml_parse(struct dr_arena *arena, struct dr_str text, struct dr_reports *reports, const struct dr_yaml **ret) {
    if (text.n > DR_YAML_MAX_BYTES) {
        dr_reports_add(reports, 0, 0, "too large: more than 1 MiB");
        return -1;
    }
    yaml_parser_t parser;
    int ready = yaml_parser_initialize(&parser);
    DR_ASSERT(ready);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.p == NULL ? "" : text.p), text.n);
    struct builder b = {.arena = arena, .reports = reports};
    int result = build(&b, &parser);
    yaml_parser_delete(&parser);
    if (result < 0) {
        return -1;
    }
    bool empty = b.root == NULL || dr_yaml_null(b.root);
    if (empty) {
        struct dr_yaml *root = DR_NEW(arena, struct dr_yaml);
        *root = (struct dr_yaml){.kind = DR_YAML_MAPPING, .line = 1, .column = 1};
        b.root = root;
    }
    *ret = b.root;
    return 0;
}

int dr_yaml_load(struct dr_arena *arena, struct dr_reports *reports, const struct dr_yaml **ret) {
    FILE *file = fopen(reports->file, "rb");
    if (file == NULL) {
        dr_reports_add(reports, 0, 0, "cannot be opened: %s", strerror(errno));
        return -1;
    }
    char *text = malloc(DR_YAML_MAX_BYTES + 1); /* one more than allowed, so that the parser sees that it is too large */
    DR_ASSERT(text != NULL);
    errno = 0;
    size_t n = fread(text, 1, DR_YAML_MAX_BYTES + 1, file);
    int result = -1;
    if (ferror(file)) {
        dr_reports_add(reports, 0, 0, "cannot be read: %s", strerror(errno));
    } else {
        result = dr_yaml_parse(arena, (struct dr_str){text, n}, reports, ret);
    }
    fclose(file);
    free(text);
    return result;
}

const struct dr_yaml *dr_yaml_get(const struct dr_yaml *node, const char *key) {
    if (node == NULL || node->kind != DR_YAML_MAPPING) {
        return NULL;
    }
    for (const struct dr_yaml *child = node->child; child != NULL; child = child->next) {
        if (dr_str_is(child->key->text, key)) {
            return child;
        }
    }
    return NULL;
}

bool dr_yaml_null(const struct dr_yaml *node) {
    return node->kind == DR_YAML_SCALAR && !node->quoted &&
           (node->text.n == 0 || dr_str_is(node->text, "~") || dr_str_is(node->text, "null"));
}

const char *dr_yaml_kind_name(const struct dr_yaml *node) {
    switch (node->kind) {
    case DR_YAML_SEQUENCE:
        return "a list";
    case DR_YAML_MAPPING:
        return "a mapping";
    case DR_YAML_SCALAR:
        break;
    }
    return "a single value";
}
