#ifndef DR_ADAPTER_KUBERNETES_INTERN_H
#define DR_ADAPTER_KUBERNETES_INTERN_H

/*
 * Equal bytes kept once. A cluster of 150,000 pods has few namespaces, nodes, owners, label sets and specs; each is stored once and named by a small number. Number 0 is
 * always the empty text. Bytes are packed into blocks of an arena without gaps; the tables are on the heap.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

struct dr_intern_item {
    const char *p;
    size_t n;
    const void *value; /* what the bytes mean, once somebody worked it out */
};

struct dr_intern {
    struct dr_arena *arena;
    char *block; /* where the next bytes go */
    size_t block_left;
    struct dr_intern_item *items;
    size_t item_n;
    size_t item_cap;
    uint64_t *slots; /* hash in the upper half, number in the lower; 0: free */
    size_t slot_cap; /* a power of two */
    uint32_t last;   /* found last: lists are sorted, so it is often the next one too */
};

void dr_intern_init(struct dr_intern *table, struct dr_arena *arena);
void dr_intern_deinit(struct dr_intern *table); /* the bytes stay in the arena */

/* The number of these bytes; the same for equal bytes. */
uint32_t dr_intern_id(struct dr_intern *table, struct dr_str s);
/* The kept copy. */
struct dr_str dr_intern_str(struct dr_intern *table, struct dr_str s);
struct dr_str dr_intern_get(const struct dr_intern *table, uint32_t id);
/* Packs a copy without looking for an equal one: for what is known to be unique. */
char *dr_intern_pack(struct dr_intern *table, size_t n);

#endif
