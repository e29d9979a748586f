#include "base/json_write.h"

#include "base/err.h"
#include "base/utf8.h"

enum { MAX_DEPTH = 64 };

void dr_jsonw_init(struct dr_jsonw *w, struct dr_buf *buf, unsigned indent) { *w = (struct dr_jsonw){.buf = buf, .indent = indent}; }

static void new_line(struct dr_jsonw *w) {
    if (w->indent > 0) {
        dr_buf_putc(w->buf, '\n');
        for (unsigned i = 0; i < w->depth * w->indent; i++) {
            dr_buf_putc(w->buf, ' ');
        }
    }
}

static bool in_object(const struct dr_jsonw *w) { return w->depth > 0 && (w->object_bits & 1) != 0; }

/* Whatever must stand in front of a value: nothing after a key, else the comma of an array. One document per writer. */
static void before_value(struct dr_jsonw *w) {
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    DR_ASSERT(!in_object(w));
    DR_ASSERT(w->depth > 0 || !w->comma);
    if (w->comma) {
        dr_buf_putc(w->buf, ',');
    }
    if (w->depth > 0) {
        new_line(w);
    }
}

static void open(struct dr_jsonw *w, char c, unsigned object) {
    before_value(w);
    DR_ASSERT(w->depth < MAX_DEPTH);
    dr_buf_putc(w->buf, c);
    w->depth++;
    w->object_bits = w->object_bits << 1 | object;
    w->comma = false;
}

void dr_jsonw_object(struct dr_jsonw *w) { open(w, '{', 1); }

void dr_jsonw_array(struct dr_jsonw *w) { open(w, '[', 0); }

void dr_jsonw_end(struct dr_jsonw *w) {
    DR_ASSERT(w->depth > 0 && !w->after_key);
    char c = in_object(w) ? '}' : ']';
    bool empty = !w->comma;
    w->depth--;
    w->object_bits >>= 1;
    w->comma = true;
    if (!empty) {
        new_line(w);
    }
    dr_buf_putc(w->buf, c);
}

static void put_escape(struct dr_buf *buf, unsigned char c) {
    static const char hex[] = "0123456789abcdef";
    static const char named[] = "btn\0fr"; /* 0x08 to 0x0d */
    if (c == '"' || c == '\\') {
        char text[2] = {'\\', (char)c};
        dr_buf_put(buf, text, 2);
    } else if (c >= 0x08 && c <= 0x0D && named[c - 0x08] != '\0') {
        char text[2] = {'\\', named[c - 0x08]};
        dr_buf_put(buf, text, 2);
    } else {
        char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        dr_buf_put(buf, text, 6);
    }
}

static void put_quoted(struct dr_buf *buf, struct dr_str s) {
    dr_buf_putc(buf, '"');
    const char *p = s.p;
    const char *end = p == NULL ? p : p + s.n;
    const char *plain = p;
    while (p < end) {
        unsigned char c = (unsigned char)*p;
        size_t len = c < 0x80 ? 1 : dr_utf8_len(p, end);
        /* DEL is legal in JSON but moves cursors; it is escaped like the other controls. */
        if (len > 0 && c >= 0x20 && c != '"' && c != '\\' && c != 0x7F) {
            p += len;
            continue;
        }
        dr_buf_put(buf, plain, (size_t)(p - plain));
        if (len == 0) {
            dr_buf_puts(buf, "\xEF\xBF\xBD");
        } else {
            put_escape(buf, c);
        }
        plain = ++p;
    }
    dr_buf_put(buf, plain, (size_t)(p - plain));
    dr_buf_putc(buf, '"');
}

void dr_jsonw_key_str(struct dr_jsonw *w, struct dr_str key) {
    DR_ASSERT(in_object(w) && !w->after_key);
    if (w->comma) {
        dr_buf_putc(w->buf, ',');
    }
    new_line(w);
    put_quoted(w->buf, key);
    dr_buf_puts(w->buf, w->indent > 0 ? ": " : ":");
    w->after_key = true;
    w->comma = true;
}

void dr_jsonw_key(struct dr_jsonw *w, const char *key) { dr_jsonw_key_str(w, dr_str_of(key)); }

void dr_jsonw_raw(struct dr_jsonw *w, struct dr_str json) {
    before_value(w);
    dr_buf_put_str(w->buf, json);
    w->comma = true;
}

void dr_jsonw_str(struct dr_jsonw *w, struct dr_str s) {
    before_value(w);
    put_quoted(w->buf, s);
    w->comma = true;
}

void dr_jsonw_cstr(struct dr_jsonw *w, const char *s) { dr_jsonw_str(w, dr_str_of(s)); }

void dr_jsonw_i64(struct dr_jsonw *w, int64_t v) {
    before_value(w);
    dr_buf_put_i64(w->buf, v);
    w->comma = true;
}

void dr_jsonw_micro(struct dr_jsonw *w, int64_t micro) {
    before_value(w);
    dr_buf_put_micro(w->buf, micro);
    w->comma = true;
}

void dr_jsonw_bool(struct dr_jsonw *w, bool v) { dr_jsonw_raw(w, v ? DR_STR("true") : DR_STR("false")); }

void dr_jsonw_null(struct dr_jsonw *w) { dr_jsonw_raw(w, DR_STR("null")); }

void dr_jsonw_kv_str(struct dr_jsonw *w, const char *key, struct dr_str s) {
    dr_jsonw_key(w, key);
    dr_jsonw_str(w, s);
}

void dr_jsonw_kv_cstr(struct dr_jsonw *w, const char *key, const char *s) { dr_jsonw_kv_str(w, key, dr_str_of(s)); }

void dr_jsonw_kv_i64(struct dr_jsonw *w, const char *key, int64_t v) {
    dr_jsonw_key(w, key);
    dr_jsonw_i64(w, v);
}

void dr_jsonw_kv_micro(struct dr_jsonw *w, const char *key, int64_t micro) {
    dr_jsonw_key(w, key);
    dr_jsonw_micro(w, micro);
}

void dr_jsonw_kv_bool(struct dr_jsonw *w, const char *key, bool v) {
    dr_jsonw_key(w, key);
    dr_jsonw_bool(w, v);
}
