/* The table of sources, the cache, and what is common to sources. */
#include "adapter/aws/credentials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/aws/inner.h"
#include "adapter/aws/xml.h"
#include "base/time.h"

#define REFRESH_MS (5 * DR_MINUTE_MS)
#define AGAIN_MS (30 * DR_SECOND_MS)

static const struct dr_aws_source sources[] = {
    {"environment", dr_aws_from_environment}, {"web identity", dr_aws_from_web_identity},  {"profile", dr_aws_from_profile},
    {"container", dr_aws_from_container},     {"instance metadata", dr_aws_from_metadata},
};

void dr_aws_credentials_clear(struct dr_aws_credentials *credentials) {
    char *heap = NULL;
    memcpy(&heap, &credentials->access_key.p, sizeof heap);
    free(heap);
    dr_secret_clear(&credentials->secret_key);
    dr_secret_clear(&credentials->token);
    *credentials = (struct dr_aws_credentials){0};
}

static bool printable(struct dr_str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= 0x20 || s.p[i] == 0x7F) {
            return false;
        }
    }
    return true;
}

int dr_aws_credentials_set(struct dr_aws_credentials *credentials, struct dr_str access_key, struct dr_str secret_key, struct dr_str token,
                           int64_t expires_ms, struct dr_err *err) {
    if (access_key.n == 0 || secret_key.n == 0) {
        return dr_fail(err, DR_E_INVALID, "the %s key is missing", access_key.n == 0 ? "access" : "secret");
    }
    if (!printable(access_key) || !printable(secret_key) || !printable(token)) {
        return dr_fail(err, DR_E_INVALID, "a key or token holds a blank, a line break or a byte outside of ASCII");
    }
    dr_aws_credentials_clear(credentials);
    char *copy = strndup(access_key.p, access_key.n);
    DR_ASSERT(copy != NULL);
    credentials->access_key = (struct dr_str){copy, access_key.n};
    dr_secret_set(&credentials->secret_key, secret_key);
    dr_secret_set(&credentials->token, token);
    credentials->expires_ms = expires_ms;
    return 0;
}

int dr_aws_credentials_from_json(struct dr_aws_credentials *credentials, struct dr_str doc, struct dr_err *err) {
    struct dr_aws_field fields[] = {{.name = "AccessKeyId"}, {.name = "SecretAccessKey"}, {.name = "Token"}, {.name = "Expiration"},
                                    {.name = "Code"},        {.name = "Message"}};
    struct dr_arena arena;
    struct dr_err inner;
    int64_t expires_ms = 0;
    dr_arena_init(&arena, 0);
    int r = dr_aws_json_fields(doc, fields, 6, &arena, &inner);
    if (r < 0) {
        r = dr_fail(err, DR_E_INVALID, "the answer is no JSON object");
    } else if (fields[4].found && !dr_str_is(fields[4].value, "Success")) {
        r = dr_fail(err, DR_E_DENIED, "%.*s: %.*s", DR_FMT(dr_str_sub(fields[4].value, 0, 100)),
                    DR_FMT(dr_str_sub(fields[5].value, 0, 200)));
    } else if (fields[3].found && fields[3].value.n > 0 && !dr_time_parse(fields[3].value, &expires_ms)) {
        r = dr_fail(err, DR_E_INVALID, "Expiration is no time");
    } else {
        r = dr_aws_credentials_set(credentials, fields[0].value, fields[1].value, fields[2].value, expires_ms, err);
    }
    dr_arena_deinit(&arena);
    return r;
}

int dr_aws_read_file(const char *path, size_t max_bytes, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return dr_fail(err, errno == ENOENT || errno == ENOTDIR ? DR_E_NOT_FOUND : DR_E_INVALID, "%s: %s", path, strerror(errno));
    }
    struct dr_buf text;
    char piece[4096];
    dr_buf_init(&text, max_bytes);
    for (size_t n; !text.truncated && (n = fread(piece, 1, sizeof piece, file)) > 0;) {
        dr_buf_put(&text, piece, n);
    }
    bool bad = ferror(file) != 0;
    int why = errno;
    (void)fclose(file);
    *ret = dr_str_dup(arena, dr_buf_str(&text));
    int r = bad              ? dr_fail(err, DR_E_INVALID, "%s: %s", path, strerror(why))
            : text.truncated ? dr_fail(err, DR_E_LIMIT, "%s: larger than %zu bytes", path, max_bytes)
                             : 0;
    if (text.p != NULL) {
        explicit_bzero(text.p, text.n);
    }
    explicit_bzero(piece, sizeof piece);
    dr_buf_deinit(&text);
    return r;
}

/* Asks one source, or all of them in their order. Fills `ret` and says who it was, or NULL with all the reasons. */
static const struct dr_aws_source *search(struct dr_aws *aws, const struct dr_aws_source *only, struct dr_aws_credentials *ret,
                                          struct dr_err *err) {
    struct dr_buf tried;
    dr_buf_init(&tried, sizeof err->text);
    const struct dr_aws_source *found = NULL;
    bool stopped = false;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0] && found == NULL && !stopped; i++) {
        const struct dr_aws_source *source = &sources[i];
        struct dr_err reason = {0};
        if (only != NULL && source != only) {
            continue;
        }
        int r = source->load(aws, ret, &reason);
        found = r > 0 ? source : NULL;
        stopped = r < 0;
        if (stopped) {
            dr_fail(err, reason.code, "credentials from %s: %s", source->name, reason.text);
        }
        dr_buf_fmt(&tried, "%s%s: %s", tried.n > 0 ? "; " : "", source->name, reason.text);
    }
    if (found == NULL && !stopped) {
        dr_fail(err, DR_E_DENIED, "no credentials: %s", tried.p == NULL ? "" : tried.p);
    }
    dr_buf_deinit(&tried);
    return found;
}

static bool usable(const struct dr_aws_credentials *credentials, int64_t now) {
    return credentials->access_key.n > 0 && (credentials->expires_ms == 0 || now < credentials->expires_ms);
}

static bool same(const struct dr_aws_credentials *a, const struct dr_aws_credentials *b) {
    return dr_str_eq(a->access_key, b->access_key) && dr_str_eq(dr_secret_reveal(&a->secret_key), dr_secret_reveal(&b->secret_key)) &&
           dr_str_eq(dr_secret_reveal(&a->token), dr_secret_reveal(&b->token));
}

int dr_aws_credentials_get(struct dr_aws *aws, bool renew, const struct dr_aws_credentials **ret, struct dr_err *err) {
    int64_t now = aws->now_ms(aws->self);
    struct dr_aws_credentials *have = &aws->credentials;
    bool good = usable(have, now) && !renew;
    bool fresh = good && (have->expires_ms == 0 || now < have->expires_ms - REFRESH_MS);
    *ret = have;
    if (fresh || (good && now < aws->source_again_ms)) {
        return 0;
    }
    if (now < aws->source_again_ms && !renew) {
        return dr_fail(err, aws->source_failed.code, "%s", aws->source_failed.text); /* no storm on a source that just failed */
    }
    struct dr_aws_credentials next = {0};
    struct dr_err failed = {0};
    const struct dr_aws_source *source = search(aws, aws->source, &next, &failed);
    if (source == NULL) {
        aws->source_again_ms = now + AGAIN_MS;
        aws->source_failed = failed;
        return good ? 0 : dr_fail(err, failed.code, "%s", failed.text);
    }
    aws->source = source;
    aws->source_again_ms = 0;
    if (renew && same(have, &next)) {
        dr_aws_credentials_clear(&next);
        return dr_fail(err, DR_E_DENIED, "credentials from %s have ended, and there are no newer ones", source->name);
    }
    dr_aws_credentials_clear(have);
    *have = next;
    if (!usable(have, now)) {
        return dr_fail(err, DR_E_DENIED, "credentials from %s have already ended; is this machine's clock right?", source->name);
    }
    return 0;
}
