#ifndef DR_BASE_JSON_WRITE_H
#define DR_BASE_JSON_WRITE_H

/* JSON writer into a builder. Commas are its business; a wrong order of calls is our own mistake and asserts. Invalid UTF-8 becomes U+FFFD. */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct dr_jsonw {
    struct dr_buf *buf;
    unsigned depth;
    uint64_t object_bits;
    bool comma;
    bool after_key;
    unsigned indent; /* 0 = compact */
};

void dr_jsonw_init(struct dr_jsonw *w, struct dr_buf *buf, unsigned indent);
void dr_jsonw_object(struct dr_jsonw *w);
void dr_jsonw_array(struct dr_jsonw *w);
void dr_jsonw_end(struct dr_jsonw *w); /* closes the innermost */
void dr_jsonw_key(struct dr_jsonw *w, const char *key);
void dr_jsonw_key_str(struct dr_jsonw *w, struct dr_str key);
void dr_jsonw_str(struct dr_jsonw *w, struct dr_str s);
void dr_jsonw_cstr(struct dr_jsonw *w, const char *s);
void dr_jsonw_i64(struct dr_jsonw *w, int64_t v);
void dr_jsonw_micro(struct dr_jsonw *w, int64_t micro);
void dr_jsonw_bool(struct dr_jsonw *w, bool v);
void dr_jsonw_null(struct dr_jsonw *w);
void dr_jsonw_raw(struct dr_jsonw *w, struct dr_str json); /* already JSON, trusted */

/* Key and value in one call. */
void dr_jsonw_kv_str(struct dr_jsonw *w, const char *key, struct dr_str s);
void dr_jsonw_kv_cstr(struct dr_jsonw *w, const char *key, const char *s);
void dr_jsonw_kv_i64(struct dr_jsonw *w, const char *key, int64_t v);
void dr_jsonw_kv_micro(struct dr_jsonw *w, const char *key, int64_t micro);
void dr_jsonw_kv_bool(struct dr_jsonw *w, const char *key, bool v);

#endif
