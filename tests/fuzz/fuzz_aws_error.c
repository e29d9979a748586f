/* Any bytes as the answer of a service: an error is read, its texts are short, one line, and valid UTF-8. The first byte chooses how much goes to the header. */
#include <string.h>

#include "adapter/aws/errors.h"
#include "base/utf8.h"
#include "harness/fuzz.h"

static void check_text(const char *text, size_t size) {
    const char *end = text + strlen(text);
    DR_ASSERT((size_t)(end - text) < size);
    for (const char *p = text; p < end;) {
        size_t n = dr_utf8_len(p, end);
        DR_ASSERT(n > 0 && (unsigned char)*p >= 0x20 && *p != 0x7F);
        p += n;
    }
}

DR_FUZZ(aws_error) {
    struct dr_aws_error error;
    size_t header_n = n == 0 ? 0 : data[0] % 32u;
    header_n = header_n > n ? n : header_n;
    struct dr_str all = {(const char *)data, n};
    dr_aws_error_read(dr_str_sub(all, 0, header_n), dr_str_sub(all, header_n, n), &error);
    check_text(error.code, sizeof error.code);
    check_text(error.message, sizeof error.message);
    (void)dr_aws_error_class(dr_str_of(error.code), 500);
}
