#include "adapter/aws/xml.h"

#include <expat.h>
#include <string.h>

#include "base/json.h"

enum { MAX_DEPTH = 64, MAX_TEXT = 64 << 10 };

struct reader {
    XML_Parser parser;
    struct dr_aws_field *fields;
    size_t n;
    struct dr_arena *arena;
    struct dr_aws_field *open; /* whose text is being read */
    int open_depth;
    int depth;
    struct dr_buf text;
    const char *refused;
};

static void refuse(struct reader *reader, const char *why) {
    reader->refused = why;
    (void)XML_StopParser(reader->parser, XML_FALSE);
}

static void keep(struct reader *reader) {
    reader->open->value = dr_str_dup(reader->arena, dr_str_trim(dr_buf_str(&reader->text)));
    reader->open->found = true;
    reader->open = NULL;
}

static void XMLCALL on_start(void *self, const XML_Char *name, const XML_Char **attributes) {
    struct reader *reader = self;
    (void)attributes;
    if (++reader->depth > MAX_DEPTH) {
        refuse(reader, "too deep");
        return;
    }
    const char *colon = strrchr(name, ':');
    const char *local = colon == NULL ? name : colon + 1;
    for (size_t i = 0; i < reader->n && reader->open == NULL; i++) {
        if (!reader->fields[i].found && strcmp(reader->fields[i].name, local) == 0) {
            reader->open = &reader->fields[i];
            reader->open_depth = reader->depth;
            dr_buf_clear(&reader->text);
        }
    }
}

static void XMLCALL on_end(void *self, const XML_Char *name) {
    struct reader *reader = self;
    (void)name;
    if (reader->open != NULL && reader->depth == reader->open_depth) {
        keep(reader);
    }
    reader->depth--;
}

static void XMLCALL on_text(void *self, const XML_Char *p, int n) {
    struct reader *reader = self;
    if (reader->open == NULL) {
        return;
    }
    dr_buf_put(&reader->text, p, (size_t)n);
    if (reader->text.truncated) {
        refuse(reader, "text too long");
    }
}

static void XMLCALL on_doctype(void *self, const XML_Char *name, const XML_Char *system_id, const XML_Char *public_id, int internal) {
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)internal;
    refuse(self, "document type");
}

int dr_aws_xml_fields(struct dr_str doc, struct dr_aws_field *fields, size_t n, struct dr_arena *arena, struct dr_err *err) {
    struct reader reader = {.fields = fields, .n = n, .arena = arena, .parser = XML_ParserCreate(NULL)};
    DR_ASSERT(reader.parser != NULL);
    if (doc.n > INT32_MAX) {
        XML_ParserFree(reader.parser);
        return dr_fail(err, DR_E_LIMIT, "xml of %zu bytes", doc.n);
    }
    dr_buf_init(&reader.text, MAX_TEXT);
    XML_SetUserData(reader.parser, &reader);
    XML_SetElementHandler(reader.parser, on_start, on_end);
    XML_SetCharacterDataHandler(reader.parser, on_text);
    XML_SetStartDoctypeDeclHandler(reader.parser, on_doctype);
    int r = 0;
    if (XML_Parse(reader.parser, doc.p == NULL ? "" : doc.p, (int)doc.n, XML_TRUE) != XML_STATUS_OK) {
        const char *why = reader.refused != NULL ? reader.refused : XML_ErrorString(XML_GetErrorCode(reader.parser));
        bool limit = reader.refused != NULL && strcmp(reader.refused, "document type") != 0;
        if (reader.open != NULL) {
            keep(&reader);
        }
        r = dr_fail(err, limit ? DR_E_LIMIT : DR_E_INVALID, "xml at byte %ld: %s", (long)XML_GetCurrentByteIndex(reader.parser), why);
    }
    dr_buf_deinit(&reader.text);
    XML_ParserFree(reader.parser);
    return r;
}

static int read_value(struct dr_json *j, struct dr_aws_field *field, struct dr_arena *arena, struct dr_err *err) {
    enum dr_json_type type = DR_JSON_NULL;
    if (dr_json_peek(j, &type, err) < 0) {
        return -1;
    }
    if (field == NULL || type != DR_JSON_STRING) {
        return dr_json_skip(j, err);
    }
    field->found = true;
    return dr_json_str(j, arena, &field->value, err);
}

int dr_aws_json_fields(struct dr_str doc, struct dr_aws_field *fields, size_t n, struct dr_arena *arena, struct dr_err *err) {
    struct dr_json j;
    struct dr_json_key key;
    int r = 0;
    dr_json_init(&j, doc, 0);
    if (dr_json_enter(&j, DR_JSON_OBJECT, err) < 0) {
        return -1;
    }
    while ((r = dr_json_next_key(&j, &key, err)) > 0) {
        struct dr_aws_field *field = NULL;
        for (size_t i = 0; i < n && field == NULL; i++) {
            field = !fields[i].found && dr_json_key_is(&key, fields[i].name) ? &fields[i] : NULL;
        }
        if (read_value(&j, field, arena, err) < 0) {
            return -1;
        }
    }
    return r < 0 ? -1 : dr_json_end(&j, err);
}
