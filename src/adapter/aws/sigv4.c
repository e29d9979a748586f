/*
 * Signature Version 4:
 *   canonical request = method, path, query, headers, names of the headers, hash of the body
 *   text to sign      = algorithm, time, scope, hash of the canonical request
 *   signature         = HMAC(key of the day, region and service; text to sign)
 */
#include "adapter/aws/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/time.h"

enum { HASH_BYTES = 32 };

struct pair {
    struct dr_str name;
    struct dr_str value;
    size_t at; /* order of appearance */
};

static bool unreserved(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

/* Escapes all but unreserved characters and those in `also`. */
static void escape(struct dr_buf *buf, struct dr_str s, const char *also) {
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (unreserved(c) || (c != '\0' && strchr(also, c) != NULL)) {
            dr_buf_putc(buf, c);
        } else {
            char out[3] = {'%', hex[(unsigned char)c >> 4], hex[(unsigned char)c & 15]};
            dr_buf_put(buf, out, sizeof out);
        }
    }
}

void dr_sigv4_escape(struct dr_buf *buf, struct dr_str s) { escape(buf, s, ""); }

static void put_hash(struct dr_buf *buf, struct dr_str s) {
    unsigned char hash[HASH_BYTES];
    unsigned n = 0;
    DR_ASSERT(EVP_Digest(s.p == NULL ? "" : s.p, s.n, hash, &n, EVP_sha256(), NULL) == 1 && n == HASH_BYTES);
    for (size_t i = 0; i < HASH_BYTES; i++) {
        dr_buf_fmt(buf, "%02x", hash[i]);
    }
}

static void hmac(const unsigned char *key, size_t key_n, struct dr_str text, unsigned char out[HASH_BYTES]) {
    unsigned n = 0;
    const unsigned char *p = (const unsigned char *)(text.p == NULL ? "" : text.p);
    DR_ASSERT(HMAC(EVP_sha256(), key, (int)key_n, p, text.n, out, &n) != NULL && n == HASH_BYTES);
}

void dr_sigv4_date(int64_t now_ms, char out[DR_SIGV4_DATE_SIZE]) {
    /* Years 0 to 9999, so that the text always fits. */
    time_t seconds = (time_t)dr_clamp_i64(now_ms / DR_SECOND_MS, INT64_C(-62167219200), INT64_C(253402300799));
    struct tm tm = {0};
    DR_ASSERT(gmtime_r(&seconds, &tm) != NULL);
    char text[64];
    int n = snprintf(text, sizeof text, "%04d%02d%02dT%02d%02d%02dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                     tm.tm_sec);
    DR_ASSERT(n == DR_SIGV4_DATE_SIZE - 1);
    memcpy(out, text, DR_SIGV4_DATE_SIZE);
}

/* Dot segments and empty ones are taken out, then every segment is escaped once more: "/a%20b" is signed as "/a%2520b". */
static void put_path(struct dr_buf *buf, struct dr_str path) {
    size_t start = buf->n;
    size_t *starts = calloc(path.n + 1, sizeof *starts);
    DR_ASSERT(starts != NULL);
    size_t depth = 0;
    for (size_t at = 0; at < path.n;) {
        struct dr_str rest = dr_str_sub(path, at, path.n);
        struct dr_str part = dr_str_sub(rest, 0, dr_str_find(rest, '/'));
        at += part.n + 1;
        if (dr_str_is(part, "..") && depth > 0) {
            buf->n = starts[--depth];
        } else if (part.n > 0 && !dr_str_is(part, ".") && !dr_str_is(part, "..")) {
            starts[depth++] = buf->n;
            dr_buf_putc(buf, '/');
            escape(buf, part, "");
        }
    }
    free(starts);
    if (buf->n == start || dr_str_ends(path, "/")) {
        dr_buf_putc(buf, '/');
    }
}

static int by_name_then_value(const void *a, const void *b) {
    const struct pair *x = a;
    const struct pair *y = b;
    int order = dr_str_cmp(x->name, y->name);
    return order != 0 ? order : dr_str_cmp(x->value, y->value);
}

static int by_name_then_place(const void *a, const void *b) {
    const struct pair *x = a;
    const struct pair *y = b;
    int order = dr_str_cmp(x->name, y->name);
    return order != 0 ? order : x->at < y->at ? -1 : 1;
}

/* Sorted by escaped name, then escaped value: not by the joined text, where "=" would take part in the order. */
static void put_query(struct dr_buf *buf, struct dr_str query, struct dr_arena *arena) {
    struct pair *pairs = DR_NEW_N(arena, struct pair, query.n + 1);
    struct dr_buf scratch;
    size_t n = 0;
    dr_buf_init(&scratch, 0);
    for (size_t at = 0; at < query.n;) {
        struct dr_str rest = dr_str_sub(query, at, query.n);
        struct dr_str part = dr_str_sub(rest, 0, dr_str_find(rest, '&'));
        size_t equals = dr_str_find(part, '=');
        at += part.n + 1;
        if (part.n == 0) {
            continue;
        }
        dr_buf_clear(&scratch);
        escape(&scratch, dr_str_sub(part, 0, equals), "%");
        pairs[n].name = dr_str_dup(arena, dr_buf_str(&scratch));
        dr_buf_clear(&scratch);
        escape(&scratch, dr_str_sub(part, equals + 1, part.n), "%");
        pairs[n++].value = dr_str_dup(arena, dr_buf_str(&scratch));
    }
    dr_buf_deinit(&scratch);
    qsort(pairs, n, sizeof *pairs, by_name_then_value);
    for (size_t i = 0; i < n; i++) {
        dr_buf_puts(buf, i > 0 ? "&" : "");
        dr_buf_put_str(buf, pairs[i].name);
        dr_buf_putc(buf, '=');
        dr_buf_put_str(buf, pairs[i].value);
    }
}

static bool space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Without white space at the ends, and one blank for each run of it inside. */
static void put_trimmed(struct dr_buf *buf, struct dr_str s) {
    bool gap = false;
    bool first = true;
    for (size_t i = 0; i < s.n; i++) {
        if (space(s.p[i])) {
            gap = true;
            continue;
        }
        if (gap && !first) {
            dr_buf_putc(buf, ' ');
        }
        dr_buf_putc(buf, s.p[i]);
        gap = false;
        first = false;
    }
}

static struct pair *sort_headers(const struct dr_sigv4_request *request, struct dr_arena *arena) {
    struct pair *pairs = DR_NEW_N(arena, struct pair, request->header_n);
    for (size_t i = 0; i < request->header_n; i++) {
        struct dr_str name = request->headers[i].name;
        char *lower = DR_NEW_N(arena, char, name.n + 1);
        for (size_t k = 0; k < name.n; k++) {
            lower[k] = name.p[k] >= 'A' && name.p[k] <= 'Z' ? (char)(name.p[k] - 'A' + 'a') : name.p[k];
        }
        pairs[i] = (struct pair){{lower, name.n}, request->headers[i].value, i};
    }
    qsort(pairs, request->header_n, sizeof *pairs, by_name_then_place);
    return pairs;
}

static void put_header_names(struct dr_buf *buf, const struct pair *headers, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || !dr_str_eq(headers[i].name, headers[i - 1].name)) {
            dr_buf_puts(buf, i > 0 ? ";" : "");
            dr_buf_put_str(buf, headers[i].name);
        }
    }
}

static void put_canonical(struct dr_buf *buf, const struct dr_sigv4_request *request, const struct pair *headers, struct dr_arena *arena) {
    dr_buf_puts(buf, request->method);
    dr_buf_putc(buf, '\n');
    put_path(buf, request->path);
    dr_buf_putc(buf, '\n');
    put_query(buf, request->query, arena);
    for (size_t i = 0; i < request->header_n; i++) {
        bool repeated = i > 0 && dr_str_eq(headers[i].name, headers[i - 1].name);
        dr_buf_putc(buf, repeated ? ',' : '\n');
        if (!repeated) {
            dr_buf_put_str(buf, headers[i].name);
            dr_buf_putc(buf, ':');
        }
        put_trimmed(buf, headers[i].value);
    }
    dr_buf_puts(buf, "\n\n");
    put_header_names(buf, headers, request->header_n);
    dr_buf_putc(buf, '\n');
    put_hash(buf, request->body);
}

void dr_sigv4_canonical(const struct dr_sigv4_request *request, struct dr_buf *ret) {
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    put_canonical(ret, request, sort_headers(request, &arena), &arena);
    dr_arena_deinit(&arena);
}

/* HMAC over HMAC: the day, the region, the service, the word. What is left of it on the stack is wiped. */
static void put_signature(struct dr_buf *buf, const struct dr_sigv4_key *key, struct dr_str day, struct dr_str text) {
    struct dr_str secret = dr_secret_reveal(key->secret_key);
    struct dr_buf first;
    unsigned char a[HASH_BYTES];
    unsigned char b[HASH_BYTES];
    dr_buf_init(&first, 0);
    dr_buf_puts(&first, "AWS4");
    dr_buf_put_str(&first, secret);
    hmac((const unsigned char *)first.p, first.n, day, a);
    explicit_bzero(first.p, first.n);
    dr_buf_deinit(&first);
    hmac(a, sizeof a, key->region, b);
    hmac(b, sizeof b, key->service, a);
    hmac(a, sizeof a, DR_STR("aws4_request"), b);
    hmac(b, sizeof b, text, a);
    for (size_t i = 0; i < sizeof a; i++) {
        dr_buf_fmt(buf, "%02x", a[i]);
    }
    explicit_bzero(a, sizeof a);
    explicit_bzero(b, sizeof b);
}

void dr_sigv4_sign(const struct dr_sigv4_key *key, const struct dr_sigv4_request *request, int64_t now_ms, struct dr_buf *ret) {
    struct dr_arena arena;
    struct dr_buf canonical;
    struct dr_buf text;
    char date[DR_SIGV4_DATE_SIZE];
    dr_arena_init(&arena, 0);
    dr_buf_init(&canonical, 0);
    dr_buf_init(&text, 0);
    dr_sigv4_date(now_ms, date);
    struct pair *headers = sort_headers(request, &arena);
    put_canonical(&canonical, request, headers, &arena);
    struct dr_str scope = dr_str_fmt(&arena, "%.8s/%.*s/%.*s/aws4_request", date, DR_FMT(key->region), DR_FMT(key->service));
    dr_buf_fmt(&text, "AWS4-HMAC-SHA256\n%s\n%.*s\n", date, DR_FMT(scope));
    put_hash(&text, dr_buf_str(&canonical));
    dr_buf_fmt(ret, "AWS4-HMAC-SHA256 Credential=%.*s/%.*s, SignedHeaders=", DR_FMT(key->access_key), DR_FMT(scope));
    put_header_names(ret, headers, request->header_n);
    dr_buf_puts(ret, ", Signature=");
    put_signature(ret, key, (struct dr_str){date, 8}, dr_buf_str(&text));
    dr_buf_deinit(&text);
    dr_buf_deinit(&canonical);
    dr_arena_deinit(&arena);
}
