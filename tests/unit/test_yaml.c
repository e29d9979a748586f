/* YAML into a tree: what is kept, what is refused, and where a message points. */
#include <stdio.h>

#include "app/yaml.h"
#include "harness/test.h"

struct parse {
    struct dr_arena arena;
    struct dr_reports reports;
    const struct dr_yaml *root;
    int result;
    struct dr_buf text; /* of the reports */
};

static void parse_text(struct parse *p, struct dr_str text) {
    dr_arena_init(&p->arena, 0);
    dr_reports_init(&p->reports, &p->arena, "f.yaml");
    p->root = NULL;
    p->result = dr_yaml_parse(&p->arena, text, &p->reports, &p->root);
    dr_buf_init(&p->text, 1 << 20);
    dr_reports_put(&p->reports, &p->text);
}

static void parse_deinit(struct parse *p) {
    dr_buf_deinit(&p->text);
    dr_arena_deinit(&p->arena);
}

TEST(yaml, mapping_sequence_and_scalars_keep_order_and_place) {
    struct parse p;
    parse_text(&p, DR_STR("a: 1\nlist:\n  - x\n  - 'y z'\nb: {c: 70%, d: [1, 2]}\n"));
    CHECK_EQ_INT(p.result, 0);
    CHECK_EQ_INT(p.reports.n, 0);
    CHECK_EQ_INT(p.root->kind, DR_YAML_MAPPING);
    CHECK_EQ_INT(p.root->n, 3);
    const struct dr_yaml *a = p.root->child;
    CHECK_EQ_STR(a->key->text, "a");
    CHECK_EQ_STR(a->text, "1");
    CHECK_EQ_INT(a->line, 1);
    CHECK_EQ_INT(a->column, 4);
    const struct dr_yaml *list = a->next;
    CHECK_EQ_INT(list->kind, DR_YAML_SEQUENCE);
    CHECK_EQ_INT(list->n, 2);
    CHECK_EQ_STR(list->child->next->text, "y z");
    CHECK(list->child->next->quoted);
    CHECK_EQ_INT(list->child->next->line, 4);
    CHECK_EQ_INT(list->child->next->column, 5);
    const struct dr_yaml *b = dr_yaml_get(p.root, "b");
    CHECK_EQ_STR(dr_yaml_get(b, "c")->text, "70%");
    CHECK_EQ_INT(dr_yaml_get(b, "d")->n, 2);
    CHECK(dr_yaml_get(b, "e") == NULL);
    CHECK(dr_yaml_get(a, "e") == NULL);
    CHECK(b->next == NULL);
    parse_deinit(&p);
}

TEST(yaml, empty_documents_are_empty_mappings) {
    static const char *const texts[] = {"", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "null\n", "{}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct parse p;
        parse_text(&p, dr_str_of(texts[i]));
        CHECK_EQ_INT(p.result, 0);
        CHECK_EQ_INT(p.root->kind, DR_YAML_MAPPING);
        CHECK_EQ_INT(p.root->n, 0);
        parse_deinit(&p);
    }
}

TEST(yaml, null_is_told_from_an_empty_text) {
    struct parse p;
    parse_text(&p, DR_STR("a:\nb: ~\nc: null\nd: ''\ne: 'null'\nf: x\n"));
    CHECK_EQ_INT(p.result, 0);
    CHECK(dr_yaml_null(dr_yaml_get(p.root, "a")));
    CHECK(dr_yaml_null(dr_yaml_get(p.root, "b")));
    CHECK(dr_yaml_null(dr_yaml_get(p.root, "c")));
    CHECK(!dr_yaml_null(dr_yaml_get(p.root, "d")));
    CHECK(!dr_yaml_null(dr_yaml_get(p.root, "e")));
    CHECK(!dr_yaml_null(dr_yaml_get(p.root, "f")));
    parse_deinit(&p);
}

TEST(yaml, refused_input_names_place_and_reason) {
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"a: &x 1\n", "f.yaml:1:4: anchors and tags are not allowed"},
        {"a: !!str 1\n", "f.yaml:1:4: anchors and tags are not allowed"},
        {"a: 1\nb: *a\n", "f.yaml:2:4: aliases are not allowed"},
        {"a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document"},
        {"? [1, 2]\n: 3\n", "f.yaml:1:3: a key must be a text"},
        {"a: [1, 2\n", "f.yaml:2:1: not YAML: "},
        {"a: 'x\n", "f.yaml:2:1: not YAML: "},
        {"a: 1\n b: 2\n", "f.yaml:2:3: not YAML: "},
        {"a: >=\n", "(line 1); a value that begins with > or | needs quotes"},
        {"a:\n\tb: 1\n", "f.yaml:2:1: not YAML: "},
        {"a: \x01\n", "f.yaml: byte 3: not YAML: "},
        {"a: \xff\n", "f.yaml: byte 3: not YAML: "},
        {"%YAML 9.9\n---\na: 1\n", "f.yaml:1:1: not YAML: "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct parse p;
        parse_text(&p, dr_str_of(cases[i].text));
        CHECK_EQ_INT(p.result, -1);
        CHECK_CONTAINS(dr_buf_str(&p.text), cases[i].expected);
        parse_deinit(&p);
    }
}

TEST(yaml, every_duplicate_is_reported_and_the_first_stands) {
    struct parse p;
    parse_text(&p, DR_STR("b: 1\na: {x: 1, x: 2}\nb: 3\nb: 4\n"));
    CHECK_EQ_INT(p.result, 0);
    CHECK_EQ_CSTR(p.text.p, "f.yaml:2:11: x: given twice, first in line 2\n"
                            "f.yaml:3:1: b: given twice, first in line 1\n"
                            "f.yaml:4:1: b: given twice, first in line 1\n");
    CHECK_EQ_STR(dr_yaml_get(p.root, "b")->text, "1");
    parse_deinit(&p);
}

static struct dr_str repeat(const char *unit, size_t times, struct dr_buf *buf) {
    dr_buf_init(buf, 4 << 20);
    for (size_t i = 0; i < times; i++) {
        dr_buf_puts(buf, unit);
    }
    return dr_buf_str(buf);
}

TEST(yaml, ceilings_hold_and_the_last_allowed_size_is_allowed) {
    static const struct {
        const char *unit;
        size_t times;
        const char *expected; /* NULL: parses */
    } cases[] = {
        {"[", 33, "too deep: more than 32 levels"},
        {"- a\n", 99999, NULL},
        {"- a\n", 100000, "too large: more than 100000 values"},
        {"# 345678\n", 1024 * 1024 / 9, NULL},
        {"# 345678\n", 1024 * 1024 / 9 + 1, "too large: more than 1 MiB"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct dr_buf buf;
        struct parse p;
        parse_text(&p, repeat(cases[i].unit, cases[i].times, &buf));
        CHECK_EQ_INT(p.result, cases[i].expected == NULL ? 0 : -1);
        if (cases[i].expected != NULL) {
            CHECK_CONTAINS(dr_buf_str(&p.text), cases[i].expected);
        }
        parse_deinit(&p);
        dr_buf_deinit(&buf);
    }
}

TEST(yaml, depth_of_32_is_allowed) {
    struct parse p;
    parse_text(&p, DR_STR("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"));
    CHECK_EQ_INT(p.result, 0);
    parse_deinit(&p);
}

TEST(yaml, tens_of_thousands_of_keys_of_one_mapping_are_checked_for_duplicates) {
    struct dr_buf buf;
    dr_buf_init(&buf, 1 << 20);
    for (int i = 0; i < 49998; i++) {
        dr_buf_fmt(&buf, "k%d: 1\n", i);
    }
    dr_buf_puts(&buf, "k7: 1\n");
    struct parse p;
    parse_text(&p, dr_buf_str(&buf));
    CHECK_EQ_INT(p.result, 0);
    CHECK_EQ_CSTR(p.text.p, "f.yaml:49999:1: k7: given twice, first in line 8\n");
    parse_deinit(&p);
    dr_buf_deinit(&buf);
}

TEST(yaml, file_that_is_not_there_or_a_folder_is_reported) {
    static const struct {
        const char *file;
        const char *expected;
    } cases[] = {
        {"no-such-folder/f.yaml", "no-such-folder/f.yaml: cannot be opened: No such file or directory\n"},
        {"/", "/: cannot be read: Is a directory\n"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct dr_arena arena;
        dr_arena_init(&arena, 0);
        struct dr_reports reports;
        dr_reports_init(&reports, &arena, cases[i].file);
        const struct dr_yaml *root = NULL;
        CHECK_EQ_INT(dr_yaml_load(&arena, &reports, &root), -1);
        struct dr_buf text;
        dr_buf_init(&text, 1 << 16);
        dr_reports_put(&reports, &text);
        CHECK_EQ_CSTR(text.p, cases[i].expected);
        dr_buf_deinit(&text);
        dr_arena_deinit(&arena);
    }
}

TEST(yaml, a_file_cannot_send_control_characters_to_the_terminal) {
    struct parse p;
    parse_text(&p, DR_STR("\"\\e[31m\": 1\n\"\\e[31m\": 2\n"));
    CHECK_EQ_CSTR(p.text.p, "f.yaml:2:1: ?[31m: given twice, first in line 1\n");
    parse_deinit(&p);
}

TEST(reports, the_hundred_and_first_is_counted_not_kept) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_reports reports;
    dr_reports_init(&reports, &arena, "f.yaml");
    for (int i = 0; i < 103; i++) {
        dr_reports_add(&reports, 200 - i, 1, "wrong");
    }
    dr_reports_add_at(&reports, "environment", "left out too");
    struct dr_buf text;
    dr_buf_init(&text, 1 << 16);
    dr_reports_put(&reports, &text);
    CHECK(dr_str_starts(dr_buf_str(&text), "f.yaml:101:1: wrong\n"));
    CHECK(dr_str_ends(dr_buf_str(&text), "f.yaml:200:1: wrong\nf.yaml: and 4 more\n"));
    dr_buf_deinit(&text);
    dr_arena_deinit(&arena);
}
