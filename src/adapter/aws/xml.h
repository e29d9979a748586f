#ifndef DR_ADAPTER_AWS_XML_H
#define DR_ADAPTER_AWS_XML_H

/* Small answers in XML: the text of a few elements, wherever they stand. Large lists have readers of their own. */

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct dr_aws_field {
    const char *name;
    struct dr_str value; /* of the first element or key of that name; empty: none */
    bool found;
};

/*
 * Fills the fields from an XML document. 0, or -1 with INVALID (not well formed, or a document type, which no service sends and entities need) or LIMIT (deeper than
 * 64, text longer than 64 KiB); what stood before the bad place is filled in all the same, so that a cut error can still be named.
 */
int dr_aws_xml_fields(struct dr_str doc, struct dr_aws_field *fields, size_t n, struct dr_arena *arena, struct dr_err *err);

/* The same for the top level of a JSON object; values that are no strings are left out. */
int dr_aws_json_fields(struct dr_str doc, struct dr_aws_field *fields, size_t n, struct dr_arena *arena, struct dr_err *err);

#endif
