#ifndef DR_ADAPTER_EC2_XML_H
#define DR_ADAPTER_EC2_XML_H

/*
 * A walk over the XML answer of one call: fields are named by their path below the root, as in "reservationSet/item/instancesSet/item/instanceId", and handed out
 * as they end. Nothing is kept. Document types are refused, with them every entity of a document's own, and depth and text have ceilings.
 */

#include "base/err.h"
#include "base/str.h"

#define DR_XML_MAX_DEPTH 24
#define DR_XML_MAX_PATH 512
#define DR_XML_MAX_TEXT 4096 /* of one field */

struct dr_xml_rule {
    const char *path;
    int field;
};

struct dr_xml_spec {
    const char *call; /* "DescribeInstances": the root must be <DescribeInstancesResponse> */
    const struct dr_xml_rule *rules;
    size_t rule_n;
    /* An element of a rule begins; NULL: nobody cares. */
    int (*begin)(void *self, int field, struct dr_err *err);
    /* It ends; `text` is trimmed and valid during the call. A failure ends the walk and is wrapped with call and path. */
    int (*end)(void *self, int field, struct dr_str text, struct dr_err *err);
};

/* DR_E_INVALID: not XML, cut, another document, or what a handler said; DR_E_LIMIT: a ceiling. Every text begins "ec2 <call>: ". */
int dr_xml_walk(struct dr_str body, const struct dr_xml_spec *spec, void *self, struct dr_err *err);

#endif
