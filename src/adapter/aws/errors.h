#ifndef DR_ADAPTER_AWS_ERRORS_H
#define DR_ADAPTER_AWS_ERRORS_H

/* What a service says when it refuses, in any of its shapes, and what that means to us. Pure. */

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct dr_aws_error {
    char code[128];    /* "InsufficientInstanceCapacity"; empty: the answer names none */
    char message[256]; /* the service's words, or the beginning of a body that is no error document; one line, valid UTF-8, cut */
};

/*
 * Reads an answer that was no success: EC2 XML (Response/Errors/Error), query XML (ErrorResponse/Error), JSON (__type, code, message) with `type_header` (x-amzn-errortype) first,
 * whichever it is, cut or whole; also HTML and nothing at all. Never fails.
 */
void dr_aws_error_read(struct dr_str type_header, struct dr_str body, struct dr_aws_error *ret);

/* Our class of a service's code; a code that is not in the table is judged by its ending, then by the HTTP status. */
enum dr_code dr_aws_error_class(struct dr_str code, int status);

/* True if the service says that the session's credentials have ended. EC2 says the same of a clock that is wrong. */
bool dr_aws_error_expired(struct dr_str code);
/* True if a wrong clock may be the reason. */
bool dr_aws_error_skewed(struct dr_str code);

#endif
