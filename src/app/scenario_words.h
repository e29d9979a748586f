#ifndef DR_APP_SCENARIO_WORDS_H
#define DR_APP_SCENARIO_WORDS_H

/* The kinds of values that sentences of a scenario hold: how each is read, what it may be. Private to the reader of sentences. */

#include "app/nearest.h"
#include "app/scenario_sentence.h"

struct dr_word_kind {
    const char *name;    /* in patterns: "SPAN" */
    const char *allowed; /* after "must be" */
    bool (*parse)(const struct dr_lexicon *lexicon, const struct dr_word_kind *kind, struct dr_str word, struct dr_sentence_arg *ret);
    const char *(*names)(size_t i);                                   /* NULL at the end; NULL: the kind has no fixed names */
    const struct dr_strs *(*known)(const struct dr_lexicon *lexicon); /* names of this scenario; NULL: none */
    bool rest;                                                        /* takes the rest of the line */
};

const struct dr_word_kind *dr_word_kind_find(struct dr_str name); /* NULL: none */

/* Tries the names of a kind for "did you mean". */
void dr_word_kind_try(struct dr_nearest *nearest, const struct dr_lexicon *lexicon, const struct dr_word_kind *kind);

/* "must be ...", with the nearest name where one is near. */
struct dr_str dr_word_kind_allowed(struct dr_arena *arena, const struct dr_lexicon *lexicon, const struct dr_word_kind *kind,
                                   struct dr_str word);

/* "a|b|c" as "a, b or c". */
struct dr_str dr_words_list(struct dr_arena *arena, struct dr_str choices);

#endif
