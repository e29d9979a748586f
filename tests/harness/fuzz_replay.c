/* Fuzz targets as plain tests: the corpus as it is, then mutations of it under the seed of the run. */
#include <dirent.h>
#include <stdio.h>

#include "base/rand.h"
#include "harness/fuzz.h"

enum { MAX_FILES = 512, MUTATIONS = 20000, MAX_BYTES = 4096 };

struct input {
    char *p;
    size_t n;
};

/* On the heap and exactly as long as it is, so that a read behind the end is seen. */
static void run_one(void (*target)(const uint8_t *, size_t), const char *p, size_t n) {
    uint8_t *copy = malloc(n == 0 ? 1 : n);
    CHECK(copy != NULL);
    memcpy(copy, p, n);
    target(copy, n);
    free(copy);
}

static size_t load_corpus(const char *name, struct input *inputs) {
    char folder[64];
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", name);
    const char *path = dr_test_path(folder);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        FAIL("no corpus: %s", path);
    }
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL && n < MAX_FILES;) {
        if (entry->d_name[0] != '.') {
            char file[4400];
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
            inputs[n].p = dr_test_read_file(file, &inputs[n].n);
            n++;
        }
    }
    closedir(dir);
    if (n == 0) {
        FAIL("empty corpus: %s", path);
    }
    return n;
}

/* One small change in place; returns the new length. */
static size_t mutate(struct dr_rand *r, char *p, size_t n, const struct input *other) {
    size_t at = (size_t)dr_rand_below(r, n + 1);
    size_t len = (size_t)dr_rand_below(r, 16) + 1;
    switch (dr_rand_below(r, 5)) {
    case 0: /* flip bits */
        if (at < n) {
            p[at] = (char)(p[at] ^ (char)(1 << dr_rand_below(r, 8)));
        }
        return n;
    case 1: /* any byte */
        if (at < n) {
            p[at] = (char)dr_rand_below(r, 256);
        }
        return n;
    case 2: /* take out */
        len = len > n - at ? n - at : len;
        memmove(p + at, p + at + len, n - at - len);
        return n - len;
    case 3: /* cut */
        return at;
    default: /* put in a piece of another input */
        len = len > other->n ? other->n : len;
        if (n + len > MAX_BYTES || len == 0) {
            return n;
        }
        memmove(p + at + len, p + at, n - at);
        memcpy(p + at, other->p + dr_rand_below(r, other->n - len + 1), len);
        return n + len;
    }
}

void dr_fuzz_replay(const char *name, void (*target)(const uint8_t *data, size_t n)) {
    static struct input inputs[MAX_FILES];
    static char work[MAX_BYTES];
    size_t input_n = load_corpus(name, inputs);
    for (size_t i = 0; i < input_n; i++) {
        run_one(target, inputs[i].p, inputs[i].n);
    }
    struct dr_rand r;
    dr_rand_init(&r, dr_test_seed());
    for (int i = 0; i < MUTATIONS; i++) {
        const struct input *from = &inputs[dr_rand_below(&r, input_n)];
        size_t n = from->n < MAX_BYTES ? from->n : MAX_BYTES;
        memcpy(work, from->p, n);
        for (uint64_t k = dr_rand_below(&r, 6) + 1; k > 0; k--) {
            n = mutate(&r, work, n, &inputs[dr_rand_below(&r, input_n)]);
        }
        run_one(target, work, n);
    }
    for (size_t i = 0; i < input_n; i++) {
        free(inputs[i].p);
    }
}
