#include "app/scenario_sentence.h"

#include <ctype.h>
#include <string.h>

#include "app/nearest.h"
#include "app/scenario_words.h"
#include "base/err.h"

/* ---- the words of a sentence ---- */

struct words {
    struct dr_str v[DR_SENTENCE_WORDS];
    size_t n;
    struct dr_str line;
};

static bool split(struct dr_str line, struct words *ret) {
    ret->n = 0;
    ret->line = line;
    for (size_t i = 0; i < line.n;) {
        size_t from = i;
        while (i < line.n && line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\n') {
            i++;
        }
        if (i > from) {
            if (ret->n == DR_SENTENCE_WORDS) {
                return false;
            }
            ret->v[ret->n++] = dr_str_sub(line, from, i);
        }
        i++;
    }
    return true;
}

/* ---- patterns ---- */

/* The next word of a pattern with the brackets around it. */
struct token {
    struct dr_str word;
    bool opens;
    bool closes;
};

static bool next_token(struct dr_str *rest, struct token *ret) {
    *rest = dr_str_trim(*rest);
    if (rest->n == 0) {
        return false;
    }
    size_t end = dr_str_find(*rest, ' ');
    ret->word = dr_str_sub(*rest, 0, end);
    *rest = dr_str_sub(*rest, end, rest->n);
    ret->opens = ret->word.p[0] == '[';
    ret->closes = dr_str_ends(ret->word, "]");
    ret->word = dr_str_sub(ret->word, ret->opens ? 1 : 0, ret->closes ? ret->word.n - 1 : ret->word.n);
    return true;
}

static bool is_value(struct dr_str word) { return isupper((unsigned char)word.p[0]) != 0; }
static bool is_choice(struct dr_str word) { return !is_value(word) && dr_str_find(word, '|') < word.n; }
/* A value, a choice, or a word that stands alone in brackets: whether it was said is all it says. */
static bool is_captured(const struct token *token) {
    return is_value(token->word) || is_choice(token->word) || (token->opens && token->closes);
}

/* Place of `word` among "a|b|c", -1: none. */
static int64_t choice_of(struct dr_str choices, struct dr_str word) {
    for (int64_t i = 0; choices.n > 0; i++) {
        size_t end = dr_str_find(choices, '|');
        if (dr_str_eq(dr_str_sub(choices, 0, end), word)) {
            return i;
        }
        choices = dr_str_sub(choices, end + 1, choices.n);
    }
    return -1;
}

struct match {
    const struct dr_lexicon *lexicon;
    struct dr_arena *arena;
    const struct words *words;
    size_t at;            /* next word */
    struct dr_str why;    /* of a mismatch: what would have been allowed at `at` */
    struct dr_str wanted; /* and the word of the pattern there; empty: no word, too many */
    struct dr_sentence_arg args[DR_SENTENCE_ARGS];
};

static bool take_word(struct match *m, const struct token *token, struct dr_sentence_arg *arg) {
    struct dr_str pattern = token->word;
    m->wanted = pattern;
    struct dr_str word = m->at < m->words->n ? m->words->v[m->at] : DR_STR_NONE;
    if (is_value(pattern)) {
        const struct dr_word_kind *kind = dr_word_kind_find(pattern);
        DR_ASSERT(kind != NULL);
        arg->text = word;
        if (word.n > 0 && kind->rest) {
            const char *end = m->words->line.p + m->words->line.n;
            arg->text = dr_str_trim((struct dr_str){word.p, (size_t)(end - word.p)});
            m->at = m->words->n - 1;
        }
        if (word.n == 0 || !kind->parse(m->lexicon, kind, arg->text, arg)) {
            m->why = dr_word_kind_allowed(m->arena, m->lexicon, kind, word);
            return false;
        }
    } else if (is_choice(pattern)) {
        arg->text = word;
        arg->n = choice_of(pattern, word);
        if (arg->n < 0) {
            m->why = dr_str_fmt(m->arena, "must be %.*s", DR_FMT(dr_words_list(m->arena, pattern)));
            return false;
        }
    } else if (!dr_str_eq(word, pattern)) {
        m->why = dr_str_fmt(m->arena, "must be \"%.*s\"", DR_FMT(pattern));
        return false;
    }
    if (is_captured(token)) {
        arg->given = true;
    }
    m->at++;
    return true;
}

/* The words of one group, from its first to its last token. */
static bool take_group(struct match *m, struct dr_str group, size_t first_arg) {
    struct token token = {.opens = false};
    while (next_token(&group, &token)) {
        DR_ASSERT(first_arg < DR_SENTENCE_ARGS);
        if (!take_word(m, &token, &m->args[first_arg])) {
            return false;
        }
        first_arg += is_captured(&token);
        if (token.closes) {
            break;
        }
    }
    return true;
}

struct group {
    struct dr_str pattern; /* from its opening token on */
    size_t first_arg;
    bool used;
};

/* Optional groups in any order; a group that begins with a value is tried when no word fits. */
static bool take_optional(struct match *m, struct group *groups, size_t n) {
    while (m->at < m->words->n) {
        bool found = false;
        for (int values = 0; values < 2 && !found; values++) {
            for (size_t i = 0; i < n && !found; i++) {
                struct dr_str rest = groups[i].pattern;
                struct token token = {.opens = false};
                (void)next_token(&rest, &token);
                struct dr_sentence_arg probe = {0};
                size_t before = m->at;
                if (groups[i].used || is_value(token.word) != (values == 1) || !take_word(m, &token, &probe)) {
                    continue;
                }
                m->at = before;
                groups[i].used = found = true;
                if (!take_group(m, groups[i].pattern, groups[i].first_arg)) {
                    return false;
                }
            }
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static struct dr_str further_words(struct dr_arena *arena, const struct group *groups, size_t n) {
    struct dr_buf buf;
    dr_buf_init(&buf, 1024);
    dr_buf_puts(&buf, "nothing more is expected here");
    size_t listed = 0;
    for (size_t i = 0; i < n; i++) {
        struct dr_str rest = groups[i].pattern;
        struct token token = {.opens = false};
        (void)next_token(&rest, &token);
        if (!groups[i].used) {
            dr_buf_puts(&buf, listed++ == 0 ? " but " : ", ");
            dr_buf_put_str(&buf, token.word);
        }
    }
    struct dr_str text = dr_str_dup(arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return text;
}

static bool match_form(struct match *m, const char *pattern) {
    struct group groups[DR_SENTENCE_ARGS] = {{.used = false}};
    size_t group_n = 0;
    size_t arg = 0;
    struct dr_str rest = dr_str_of(pattern);
    for (;;) {
        struct dr_str here = dr_str_trim(rest);
        struct token token = {.opens = false};
        if (!next_token(&rest, &token)) {
            break;
        }
        DR_ASSERT(arg < DR_SENTENCE_ARGS);
        if (token.opens) {
            DR_ASSERT(group_n < DR_SENTENCE_ARGS);
            groups[group_n++] = (struct group){.pattern = here, .first_arg = arg};
            arg += is_captured(&token);
            while (!token.closes) {
                DR_ASSERT(next_token(&rest, &token));
                arg += is_captured(&token);
            }
            continue;
        }
        DR_ASSERT(group_n == 0);
        if (!take_word(m, &token, &m->args[arg])) {
            return false;
        }
        arg += is_captured(&token);
    }
    size_t before = m->at;
    if (!take_optional(m, groups, group_n)) {
        bool in_group = m->at > before && m->why.n > 0;
        for (size_t i = 0; i < group_n && !in_group; i++) {
            in_group = groups[i].used && m->why.n > 0;
        }
        if (!in_group) {
            m->why = further_words(m->arena, groups, group_n);
            m->wanted = DR_STR_NONE;
        }
        return false;
    }
    return true;
}

/* ---- sentences ---- */

/* What the forms that came furthest would have taken at the word where they stopped. */
struct stop {
    const struct dr_lexicon *lexicon;
    size_t at;
    struct dr_str why; /* of the first */
    struct dr_nearest nearest;
    struct dr_buf list; /* words and kinds, each once */
};

static void stop_list(struct stop *stop, struct dr_str word) {
    struct dr_str rest = dr_buf_str(&stop->list);
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, '|');
        if (dr_str_eq(dr_str_sub(rest, 0, end), word)) {
            return;
        }
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
    dr_buf_puts(&stop->list, stop->list.n > 0 ? "|" : "");
    dr_buf_put_str(&stop->list, word);
}

static void stop_add(struct stop *stop, const struct match *m) {
    if (stop->why.n == 0) {
        stop->why = m->why;
    }
    struct dr_str rest = m->wanted;
    if (rest.n > 0 && is_value(rest)) {
        dr_word_kind_try(&stop->nearest, stop->lexicon, dr_word_kind_find(rest));
        stop_list(stop, rest);
        return;
    }
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, '|');
        dr_nearest_try(&stop->nearest, dr_str_sub(rest, 0, end));
        stop_list(stop, dr_str_sub(rest, 0, end));
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
}

static void report_stop(const struct stop *stop, struct dr_arena *arena, const char *section, const struct dr_yaml *node,
                        const struct words *words, struct dr_reports *reports) {
    struct dr_str word = stop->at < words->n ? words->v[stop->at] : DR_STR_NONE;
    size_t offset = word.n > 0 ? (size_t)(word.p - node->text.p) : node->text.n;
    int column = node->column + (int)offset + (node->quoted ? 1 : 0);
    struct dr_str why = stop->why;
    if (word.n > 0 && stop->nearest.found) {
        why = dr_str_fmt(arena, "unknown; did you mean %.*s?", DR_FMT(stop->nearest.best));
    } else if (stop->at == 0) {
        why = DR_STR("unknown; docs/scenarios.md lists what can be said");
    } else if (dr_str_find(dr_buf_str(&stop->list), '|') < stop->list.n) {
        why = dr_str_fmt(arena, "must be %.*s", DR_FMT(dr_words_list(arena, dr_buf_str(&stop->list))));
    }
    dr_reports_add(reports, node->line, column, "%s: %.*s: %.*s", section,
                   DR_FMT(word.n > 0 ? word : DR_STR("the sentence ends too early")), DR_FMT(why));
}

int dr_sentence_read(struct dr_arena *arena, const struct dr_lexicon *lexicon, const struct dr_sentence_form *forms, const char *section,
                     const struct dr_yaml *node, struct dr_reports *reports, struct dr_sentence *ret) {
    struct words words;
    if (node->kind != DR_YAML_SCALAR || dr_yaml_null(node)) {
        dr_reports_add(reports, node->line, node->column, "%s: %s: must be a sentence", section, dr_yaml_kind_name(node));
        return -1;
    }
    if (!split(node->text, &words) || words.n == 0) {
        dr_reports_add(reports, node->line, node->column, "%s: a sentence has 1 to %d words", section, DR_SENTENCE_WORDS);
        return -1;
    }
    struct stop stop = {.lexicon = lexicon};
    dr_buf_init(&stop.list, 2048);
    for (size_t i = 0; forms[i].pattern != NULL; i++) {
        struct match m = {.lexicon = lexicon, .arena = arena, .words = &words};
        if (match_form(&m, forms[i].pattern)) {
            *ret = (struct dr_sentence){.form = i, .line = node->line, .column = node->column, .text = node->text};
            memcpy(ret->args, m.args, sizeof ret->args);
            dr_buf_deinit(&stop.list);
            return 0;
        }
        if (m.at > stop.at || i == 0) {
            stop.at = m.at;
            stop.why = DR_STR_NONE;
            dr_buf_clear(&stop.list);
            dr_nearest_init(&stop.nearest, m.at < words.n ? words.v[m.at] : DR_STR_NONE);
        }
        if (m.at == stop.at) {
            stop_add(&stop, &m);
        }
    }
    report_stop(&stop, arena, section, node, &words, reports);
    dr_buf_deinit(&stop.list);
    return -1;
}

bool dr_limit_holds(const struct dr_sentence_arg *limit, int64_t seen) {
    if (limit->m == DR_LIMIT_AT_LEAST) {
        return seen >= limit->n;
    }
    return limit->m == DR_LIMIT_AT_MOST ? seen <= limit->n : seen == limit->n;
}
