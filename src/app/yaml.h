#ifndef DR_APP_YAML_H
#define DR_APP_YAML_H

/*
 * YAML as we use it: one document of mappings, sequences and scalars as a small tree with the place of every node, order kept. Values stay text; what they mean is
 * the reader's business. Anchors, aliases and tags are refused: a file that people read top to bottom does not need them, and they are how small files become large.
 * Ceilings: 1 MiB, 32 levels, 100,000 nodes.
 */

#include <stdbool.h>
#include <stddef.h>

#include "app/reports.h"
#include "base/arena.h"
#include "base/str.h"

#define DR_YAML_MAX_BYTES ((size_t)1024 * 1024)
#define DR_YAML_MAX_DEPTH 32
#define DR_YAML_MAX_NODES 100000

enum dr_yaml_kind { DR_YAML_SCALAR, DR_YAML_SEQUENCE, DR_YAML_MAPPING };

struct dr_yaml {
    enum dr_yaml_kind kind;
    int line; /* both from 1 */
    int column;
    struct dr_str text;        /* scalar */
    bool quoted;               /* scalar in quotes or a block: never null */
    struct dr_yaml *child;     /* first element or first value */
    size_t n;                  /* children */
    const struct dr_yaml *key; /* in a mapping: the scalar this value belongs to */
    struct dr_yaml *next;      /* the next child of the same parent */
};

/*
 * Parses a whole document. What is wrong goes to the reports; -1 if there is no tree (syntax, ceilings, things refused). Duplicate keys are reported too, but the tree
 * is there, the first one standing. An empty document is an empty mapping. Nodes and texts live in the arena.
 */
int dr_yaml_parse(struct dr_arena *arena, struct dr_str text, struct dr_reports *reports, const struct dr_yaml **ret);

/* Reads and parses the file named in the reports. */
int dr_yaml_load(struct dr_arena *arena, struct dr_reports *reports, const struct dr_yaml **ret);

/* The value of a key in a mapping, NULL if there is none (or `node` is no mapping). */
const struct dr_yaml *dr_yaml_get(const struct dr_yaml *node, const char *key);

/* No value was given: an empty plain scalar, "~" or "null". */
bool dr_yaml_null(const struct dr_yaml *node);

/* "a text", "a list", "a mapping": for messages. */
const char *dr_yaml_kind_name(const struct dr_yaml *node);

#endif
