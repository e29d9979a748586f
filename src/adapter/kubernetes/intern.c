#include "adapter/kubernetes/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { BLOCK_BYTES = 32 << 10, FIRST_SLOTS = 256 };

/* Eight bytes at a time; the byte-wise hash of base would be a tenth of the time of reading a list. */
static uint64_t mix(struct dr_str s) {
    uint64_t h = UINT64_C(0x9E3779B97F4A7C15) ^ s.n;
    size_t i = 0;
    for (; i + 8 <= s.n; i += 8) {
        uint64_t v;
        memcpy(&v, s.p + i, 8);
        h = (h ^ v) * UINT64_C(0xD6E8FEB86659FD93);
        h ^= h >> 32;
    }
    uint64_t tail = 0;
    if (i < s.n) {
        memcpy(&tail, s.p + i, s.n - i);
    }
    h = (h ^ tail) * UINT64_C(0xD6E8FEB86659FD93);
    return h ^ h >> 29;
}

static void *grown(void *p, size_t n, size_t size) {
    void *q = realloc(p, n * size);
    DR_ASSERT(q != NULL);
    return q;
}

void dr_intern_init(struct dr_intern *table, struct dr_arena *arena) {
    *table = (struct dr_intern){.arena = arena, .slot_cap = FIRST_SLOTS, .item_cap = FIRST_SLOTS / 2};
    table->slots = calloc(table->slot_cap, sizeof *table->slots);
    DR_ASSERT(table->slots != NULL);
    table->items = grown(NULL, table->item_cap, sizeof *table->items);
    table->items[table->item_n++] = (struct dr_intern_item){.p = ""};
}

void dr_intern_deinit(struct dr_intern *table) {
    free(table->slots);
    free(table->items);
    *table = (struct dr_intern){.arena = NULL};
}

char *dr_intern_pack(struct dr_intern *table, size_t n) {
    if (n > BLOCK_BYTES / 8) {
        return dr_arena_alloc(table->arena, n, 1);
    }
    if (n > table->block_left) {
        table->block = dr_arena_alloc(table->arena, BLOCK_BYTES, 1);
        table->block_left = BLOCK_BYTES;
    }
    char *p = table->block;
    table->block += n;
    table->block_left -= n;
    return p;
}

static void put_slot(uint64_t *slots, size_t cap, uint64_t hash, uint64_t slot) {
    size_t i = hash & (cap - 1);
    while (slots[i] != 0) {
        i = (i + 1) & (cap - 1);
    }
    slots[i] = slot;
}

static void grow_slots(struct dr_intern *table) {
    size_t cap = table->slot_cap * 2;
    uint64_t *slots = calloc(cap, sizeof *slots);
    DR_ASSERT(slots != NULL);
    for (size_t i = 1; i < table->item_n; i++) {
        uint64_t hash = mix((struct dr_str){table->items[i].p, table->items[i].n});
        put_slot(slots, cap, hash, (hash & UINT64_C(0xFFFFFFFF00000000)) | i);
    }
    free(table->slots);
    table->slots = slots;
    table->slot_cap = cap;
}

static uint32_t add(struct dr_intern *table, struct dr_str s, uint64_t hash) {
    if (table->item_n == table->item_cap) {
        table->item_cap *= 2;
        table->items = grown(table->items, table->item_cap, sizeof *table->items);
    }
    if (table->item_n * 2 >= table->slot_cap) {
        grow_slots(table);
    }
    char *copy = dr_intern_pack(table, s.n);
    memcpy(copy, s.p, s.n);
    uint32_t id = (uint32_t)table->item_n++;
    table->items[id] = (struct dr_intern_item){.p = copy, .n = s.n};
    put_slot(table->slots, table->slot_cap, hash, (hash & UINT64_C(0xFFFFFFFF00000000)) | id);
    return id;
}

uint32_t dr_intern_id(struct dr_intern *table, struct dr_str s) {
    if (s.n == 0) {
        return 0;
    }
    const struct dr_intern_item *last = &table->items[table->last];
    if (last->n == s.n && memcmp(last->p, s.p, s.n) == 0) {
        return table->last;
    }
    uint64_t hash = mix(s);
    for (size_t i = hash & (table->slot_cap - 1); table->slots[i] != 0; i = (i + 1) & (table->slot_cap - 1)) {
        uint32_t id = (uint32_t)table->slots[i];
        const struct dr_intern_item *item = &table->items[id];
        if ((table->slots[i] ^ hash) >> 32 == 0 && item->n == s.n && memcmp(item->p, s.p, s.n) == 0) {
            table->last = id;
            return id;
        }
    }
    return add(table, s, hash);
}

struct dr_str dr_intern_get(const struct dr_intern *table, uint32_t id) {
    DR_ASSERT(id < table->item_n);
    return (struct dr_str){table->items[id].p, table->items[id].n};
}

struct dr_str dr_intern_str(struct dr_intern *table, struct dr_str s) {
    return dr_intern_get(table, dr_intern_id(table, s));
}
