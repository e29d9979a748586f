#include "adapter/ec2/xml.h"

#include <expat.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct walk {
    const struct dr_xml_spec *spec;
    void *self;
    XML_Parser parser;
    struct dr_err *err;
    bool failed;
    unsigned depth; /* the root is 1 */
    char path[DR_XML_MAX_PATH];
    size_t path_n;
    char text[DR_XML_MAX_TEXT];
    size_t text_n;
    bool keep_text; /* the innermost element is a field */
};

static void stop(struct walk *w) {
    w->failed = true;
    (void)XML_StopParser(w->parser, XML_FALSE);
}

__attribute__((format(printf, 3, 4))) static void fail(struct walk *w, enum dr_code code, const char *fmt, ...) {
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)dr_fail(w->err, code, "ec2 %s: line %lu: %s", w->spec->call, (unsigned long)XML_GetCurrentLineNumber(w->parser), text);
    stop(w);
}

/* A handler said no: what it said gets the place. */
static void refused(struct walk *w) {
    (void)dr_wrap(w->err, "ec2 %s: %.*s", w->spec->call, (int)w->path_n, w->path);
    stop(w);
}

static const struct dr_xml_rule *rule_of(const struct walk *w) {
    for (size_t i = 0; i < w->spec->rule_n; i++) {
        const struct dr_xml_rule *rule = &w->spec->rules[i];
        if (strlen(rule->path) == w->path_n && memcmp(rule->path, w->path, w->path_n) == 0) {
            return rule;
        }
    }
    return NULL;
}

static bool root_ok(struct walk *w, const char *name) {
    size_t n = strlen(w->spec->call);
    if (strncmp(name, w->spec->call, n) == 0 && strcmp(name + n, "Response") == 0) {
        return true;
    }
    if (strcasecmp(name, "html") == 0) {
        fail(w, DR_E_INVALID, "an HTML page instead of an answer");
    } else {
        fail(w, DR_E_INVALID, "<%.64s> instead of <%sResponse>", name, w->spec->call);
    }
    return false;
}

static void XMLCALL on_begin(void *self, const XML_Char *name, const XML_Char **attributes) {
    (void)attributes;
    struct walk *w = self;
    w->depth++;
    w->text_n = 0;
    w->keep_text = false;
    if (w->failed || (w->depth == 1 && !root_ok(w, name))) {
        return;
    }
    if (w->depth == 1) {
        return;
    }
    size_t n = strlen(name);
    if (w->depth > DR_XML_MAX_DEPTH || w->path_n + n + 1 > sizeof(w->path)) {
        fail(w, DR_E_LIMIT, "deeper than %d elements", DR_XML_MAX_DEPTH);
        return;
    }
    if (w->path_n > 0) {
        w->path[w->path_n++] = '/';
    }
    memcpy(w->path + w->path_n, name, n);
    w->path_n += n;
    const struct dr_xml_rule *rule = rule_of(w);
    w->keep_text = rule != NULL;
    if (rule != NULL && w->spec->begin != NULL && w->spec->begin(w->self, rule->field, w->err) < 0) {
        refused(w);
    }
}

static void XMLCALL on_text(void *self, const XML_Char *s, int n) {
    struct walk *w = self;
    if (!w->keep_text || w->failed) {
        return;
    }
    if ((size_t)n > sizeof(w->text) - w->text_n) {
        fail(w, DR_E_LIMIT, "%.*s: longer than %d bytes", (int)w->path_n, w->path, DR_XML_MAX_TEXT);
        return;
    }
    memcpy(w->text + w->text_n, s, (size_t)n);
    w->text_n += (size_t)n;
}

static void XMLCALL on_end(void *self, const XML_Char *name) {
    struct walk *w = self;
    w->depth--;
    if (w->failed || w->depth == 0) {
        return;
    }
    const struct dr_xml_rule *rule = rule_of(w);
    struct dr_str text = dr_str_trim((struct dr_str){w->text, w->keep_text ? w->text_n : 0});
    if (rule != NULL && w->spec->end != NULL && w->spec->end(w->self, rule->field, text, w->err) < 0) {
        refused(w);
        return;
    }
    size_t n = strlen(name);
    w->path_n -= w->path_n > n ? n + 1 : n;
    w->text_n = 0;
    w->keep_text = false;
}

static void XMLCALL on_doctype(void *self, const XML_Char *name, const XML_Char *system_id, const XML_Char *public_id, int internal) {
    (void)system_id;
    (void)public_id;
    (void)internal;
    struct walk *w = self;
    fail(w, DR_E_INVALID, "%s",
         strcasecmp(name, "html") == 0 ? "an HTML page instead of an answer" : "a document type, which no answer has");
}

int dr_xml_walk(struct dr_str body, const struct dr_xml_spec *spec, void *self, struct dr_err *err) {
    struct dr_str rest = dr_str_trim(body);
    if (rest.n == 0) {
        return dr_fail(err, DR_E_INVALID, "ec2 %s: an empty body", spec->call);
    }
    if (body.n > INT_MAX) {
        return dr_fail(err, DR_E_LIMIT, "ec2 %s: a body of %zu bytes", spec->call, body.n);
    }
    struct dr_err own;
    struct walk w = {.spec = spec, .self = self, .err = err == NULL ? &own : err};
    w.parser = XML_ParserCreate(NULL);
    if (w.parser == NULL) {
        return dr_fail(err, DR_E_INTERNAL, "ec2 %s: no memory for the XML parser", spec->call);
    }
    XML_SetUserData(w.parser, &w);
    XML_SetElementHandler(w.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(w.parser, on_text);
    XML_SetStartDoctypeDeclHandler(w.parser, on_doctype);
    enum XML_Status status = XML_Parse(w.parser, body.p, (int)body.n, 1);
    if (status != XML_STATUS_OK && !w.failed) {
        enum XML_Error code = XML_GetErrorCode(w.parser);
        bool cut = code == XML_ERROR_NO_ELEMENTS || code == XML_ERROR_UNCLOSED_TOKEN || code == XML_ERROR_PARTIAL_CHAR ||
                   (XML_GetCurrentByteIndex(w.parser) >= (XML_Index)body.n);
        fail(&w, DR_E_INVALID, "%s (%s)", cut ? "the answer is cut" : "not XML", XML_ErrorString(code));
    }
    XML_ParserFree(w.parser);
    return w.failed ? -1 : 0;
}
