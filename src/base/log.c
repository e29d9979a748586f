#include "base/log.h"

#include <string.h>

#include "base/json_write.h"
#include "base/time.h"
#include "base/utf8.h"

enum { MAX_LINE_BYTES = 8192, CUT_MARK_BYTES = 32 };

static const char *level_name(enum dr_level level) {
    static const char *const names[] = {"debug", "info", "warn", "error"};
    return names[level];
}

/* Appends what `render` makes of an item if the line stays under its ceiling; false if it does not. */
static bool put_if_it_fits(struct dr_buf *line, struct dr_buf *part) {
    bool fits = !part->truncated && line->n + part->n <= MAX_LINE_BYTES - CUT_MARK_BYTES;
    if (fits) {
        dr_buf_put_str(line, dr_buf_str(part));
    }
    dr_buf_clear(part);
    return fits;
}

static void json_string(struct dr_buf *buf, struct dr_str s) {
    struct dr_jsonw w;
    dr_jsonw_init(&w, buf, 0);
    dr_jsonw_str(&w, s);
}

static void json_pair(struct dr_buf *part, const char *key, struct dr_str value) {
    dr_buf_putc(part, ',');
    json_string(part, dr_str_of(key));
    dr_buf_putc(part, ':');
    json_string(part, value);
}

/* For people: control characters and bytes that are no UTF-8 must not reach a terminal. */
static void text_value(struct dr_buf *part, struct dr_str s) {
    for (size_t i = 0; i < s.n;) {
        size_t len = dr_utf8_len(s.p + i, s.p + s.n);
        unsigned char c = (unsigned char)s.p[i];
        bool control = c < 0x20 || c == 0x7F || (c == 0xC2 && len == 2 && (unsigned char)s.p[i + 1] < 0xA0);
        if (len == 0 || control) {
            dr_buf_putc(part, '?');
        } else {
            dr_buf_put(part, s.p + i, len);
        }
        i += len == 0 ? 1 : len;
    }
}

static void put_field(struct dr_buf *part, const struct dr_field *f, bool text) {
    if (text) {
        dr_buf_putc(part, ' ');
        text_value(part, dr_str_of(f->key));
        dr_buf_putc(part, '=');
    } else {
        dr_buf_putc(part, ',');
        json_string(part, dr_str_of(f->key));
        dr_buf_putc(part, ':');
    }
    switch (f->kind) {
    case DR_FIELD_STR:
        if (text) {
            text_value(part, f->s);
        } else {
            json_string(part, f->s);
        }
        break;
    case DR_FIELD_INT:
        dr_buf_put_i64(part, f->i);
        break;
    case DR_FIELD_BOOL:
        dr_buf_puts(part, f->i != 0 ? "true" : "false");
        break;
    case DR_FIELD_MICRO:
        dr_buf_put_micro(part, f->i);
        break;
    }
}

/* The message is the one thing never dropped: it is halved until it fits. */
static bool put_msg(struct dr_buf *line, struct dr_buf *part, struct dr_str msg, bool text) {
    bool cut = false;
    for (;;) {
        if (text) {
            text_value(part, msg);
        } else {
            json_pair(part, "msg", msg);
        }
        if (put_if_it_fits(line, part) || msg.n == 0) {
            return cut;
        }
        cut = true;
        msg.n = dr_utf8_cut(msg.p, msg.n / 2);
    }
}

static void put_head(const struct dr_log *log, struct dr_buf *line, struct dr_buf *part, int64_t now_ms, enum dr_level level,
                     const char *event) {
    if (!log->text) {
        dr_buf_puts(line, "{\"ts\":\"");
        dr_time_put(line, now_ms);
        dr_buf_fmt(line, "\",\"level\":\"%s\"", level_name(level));
        json_pair(part, "event", dr_str_of(event));
        (void)put_if_it_fits(line, part);
        if (log->tick.n > 0) {
            json_pair(part, "tick", log->tick);
            (void)put_if_it_fits(line, part);
        }
        return;
    }
    static const char *const colours[] = {"\033[2m", "\033[32m", "\033[33m", "\033[31m"};
    dr_time_put(line, now_ms);
    dr_buf_fmt(line, " %s%-5s%s ", log->colour ? colours[level] : "", level_name(level), log->colour ? "\033[0m" : "");
    text_value(part, dr_str_of(event));
    dr_buf_puts(part, ": ");
    (void)put_if_it_fits(line, part);
}

void dr_log_put(const struct dr_log *log, int64_t now_ms, enum dr_level level, const char *event, struct dr_str msg,
                const struct dr_field *fields, size_t field_n) {
    if (log == NULL || level < log->min_level) {
        return;
    }
    struct dr_buf line;
    struct dr_buf part;
    dr_buf_init(&line, MAX_LINE_BYTES);
    dr_buf_init(&part, MAX_LINE_BYTES);
    put_head(log, &line, &part, now_ms, level, event);
    bool cut = put_msg(&line, &part, msg, log->text);
    for (size_t i = 0; i < field_n; i++) {
        put_field(&part, &fields[i], log->text);
        cut = !put_if_it_fits(&line, &part) || cut;
    }
    if (cut) {
        dr_buf_puts(&line, log->text ? " [cut]" : ",\"cut\":true");
    }
    dr_buf_puts(&line, log->text ? "\n" : "}\n");
    log->write(log->self, line.p, line.n);
    dr_buf_deinit(&part);
    dr_buf_deinit(&line);
}
