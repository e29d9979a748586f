#include "adapter/ssm/ssm.h"

#include <stdlib.h>
#include <string.h>

#include "adapter/ssm/parse.h"
#include "base/json_write.h"
#include "base/time.h"

static const struct dr_aws_service ssm = {"ssm", DR_AWS_JSON_11, NULL, "AmazonSSM"};
static const struct dr_aws_service secretsmanager = {"secretsmanager", DR_AWS_JSON_11, NULL, "secretsmanager"};

#define SSM_PREFIX "ssm:"
#define SECRETS_PREFIX "secretsmanager:"
enum { MAX_REFERENCE = 2048 };

struct entry {
    char *reference; /* heap */
    struct dr_secret value;
    int64_t fetched_ms; /* 0: never */
    bool forgotten;     /* refused where it was used */
    struct dr_aws_call *call;
};

struct dr_secrets {
    struct dr_secrets_options o;
    struct entry entries[DR_SECRETS_MAX];
    size_t n;
};

struct dr_secrets *dr_secrets_new(const struct dr_secrets_options *options, struct dr_err *err) {
    DR_ASSERT(options->aws != NULL && options->now_ms != NULL);
    struct dr_secrets *secrets = calloc(1, sizeof(*secrets));
    if (secrets == NULL) {
        (void)dr_fail(err, DR_E_INTERNAL, "secrets: no memory");
        return NULL;
    }
    secrets->o = *options;
    secrets->o.refresh_ms = options->refresh_ms == 0 ? 5 * DR_MINUTE_MS : options->refresh_ms;
    secrets->o.stale_ms = options->stale_ms == 0 ? DR_HOUR_MS : options->stale_ms;
    return secrets;
}

void dr_secrets_free(struct dr_secrets *secrets) {
    if (secrets == NULL) {
        return;
    }
    for (size_t i = 0; i < secrets->n; i++) {
        dr_aws_call_free(secrets->entries[i].call);
        dr_secret_clear(&secrets->entries[i].value);
        free(secrets->entries[i].reference);
    }
    free(secrets);
}

bool dr_secrets_is_reference(struct dr_str text) { return dr_str_starts(text, SSM_PREFIX) || dr_str_starts(text, SECRETS_PREFIX); }

/* "secretsmanager:name#member": an ARN or name has no '#'. */
static void split(struct dr_str reference, struct dr_str *ret_name, struct dr_str *ret_member) {
    *ret_member = DR_STR_NONE;
    if (dr_str_starts(reference, SSM_PREFIX)) {
        *ret_name = dr_str_sub(reference, strlen(SSM_PREFIX), reference.n);
        return;
    }
    struct dr_str rest = dr_str_sub(reference, strlen(SECRETS_PREFIX), reference.n);
    size_t hash = dr_str_find(rest, '#');
    *ret_name = dr_str_sub(rest, 0, hash);
    *ret_member = dr_str_sub(rest, hash + 1, rest.n);
}

static int check_reference(struct dr_str reference, struct dr_err *err) {
    struct dr_str name = DR_STR_NONE;
    struct dr_str member;
    if (dr_secrets_is_reference(reference)) {
        split(reference, &name, &member);
    }
    if (name.n == 0 || reference.n > MAX_REFERENCE || memchr(reference.p, '\0', reference.n) != NULL) {
        return dr_fail(err, DR_E_INVALID, "secret \"%.*s\": must be ssm:NAME or secretsmanager:NAME[#MEMBER]",
                       DR_FMT(dr_str_sub(reference, 0, 100)));
    }
    return 0;
}

static struct entry *entry_of(struct dr_secrets *secrets, struct dr_str reference, struct dr_err *err) {
    for (size_t i = 0; i < secrets->n; i++) {
        if (dr_str_is(reference, secrets->entries[i].reference)) {
            return &secrets->entries[i];
        }
    }
    if (check_reference(reference, err) < 0) {
        return NULL;
    }
    if (secrets->n == DR_SECRETS_MAX) {
        (void)dr_fail(err, DR_E_LIMIT, "secrets: more than %d references", DR_SECRETS_MAX);
        return NULL;
    }
    struct entry *entry = &secrets->entries[secrets->n];
    entry->reference = strndup(reference.p, reference.n);
    DR_ASSERT(entry->reference != NULL);
    secrets->n++;
    return entry;
}

static bool is_old(const struct dr_secrets *secrets, const struct entry *entry, int64_t keep_ms) {
    int64_t age_ms = secrets->o.now_ms(secrets->o.self) - entry->fetched_ms;
    return entry->fetched_ms == 0 || age_ms < 0 || age_ms > keep_ms;
}

static void send(struct dr_secrets *secrets, struct entry *entry, int64_t deadline_ms) {
    struct dr_str reference = dr_str_of(entry->reference);
    bool parameter = dr_str_starts(reference, SSM_PREFIX);
    struct dr_str name;
    struct dr_str member;
    struct dr_buf body;
    struct dr_jsonw w;
    split(reference, &name, &member);
    dr_buf_init(&body, 0);
    dr_jsonw_init(&w, &body, 0);
    dr_jsonw_object(&w);
    dr_jsonw_kv_str(&w, parameter ? "Name" : "SecretId", name);
    if (parameter) {
        dr_jsonw_kv_bool(&w, "WithDecryption", true);
    }
    dr_jsonw_end(&w);
    struct dr_aws_request request = {.service = parameter ? &ssm : &secretsmanager,
                                     .action = parameter ? "GetParameter" : "GetSecretValue",
                                     .body = dr_buf_str(&body),
                                     .deadline_ms = deadline_ms,
                                     .repeatable = true,
                                     .max_body = 1 << 20,
                                     .secret = true};
    entry->call = dr_aws_start(secrets->o.aws, &request);
    dr_buf_deinit(&body);
}

void dr_secrets_request(struct dr_secrets *secrets, struct dr_str reference, int64_t deadline_ms) {
    struct dr_err err; /* what is wrong is told by get */
    struct entry *entry = entry_of(secrets, reference, &err);
    if (entry != NULL && entry->call == NULL && (entry->forgotten || is_old(secrets, entry, secrets->o.refresh_ms))) {
        send(secrets, entry, deadline_ms);
    }
}

/* Waits for the call and takes its value. */
static int fetch(struct dr_secrets *secrets, struct entry *entry, struct dr_err *err) {
    struct dr_str reference = dr_str_of(entry->reference);
    struct dr_secret fresh = {NULL, 0};
    struct dr_str body;
    struct dr_str name;
    struct dr_str member;
    split(reference, &name, &member);
    int result = dr_aws_wait(secrets->o.aws, entry->call, &body, err);
    if (result == 0) {
        result = dr_str_starts(reference, SSM_PREFIX) ? dr_ssm_parse_parameter(body, &fresh, err)
                                                      : dr_ssm_parse_secret(body, member, &fresh, err);
    }
    dr_aws_call_free(entry->call);
    entry->call = NULL;
    if (result < 0) {
        dr_secret_clear(&fresh);
        return dr_wrap(err, "secret %s", entry->reference);
    }
    dr_secret_clear(&entry->value);
    entry->value = fresh;
    entry->fetched_ms = secrets->o.now_ms(secrets->o.self);
    entry->forgotten = false;
    return 0;
}

int dr_secrets_get(struct dr_secrets *secrets, struct dr_str reference, int64_t deadline_ms, const struct dr_secret **ret,
                   struct dr_err *err) {
    struct dr_err own;
    err = err == NULL ? &own : err;
    struct entry *entry = entry_of(secrets, reference, err);
    if (entry == NULL) {
        return -1;
    }
    dr_secrets_request(secrets, reference, deadline_ms);
    if (entry->call != NULL && fetch(secrets, entry, err) < 0) {
        /* A service that does not answer does not make a good value bad; one that says "no such secret" or "denied" does. */
        bool silent = dr_code_unknown_outcome(err->code);
        if (!silent || entry->forgotten || is_old(secrets, entry, secrets->o.stale_ms)) {
            return -1;
        }
    }
    *ret = &entry->value;
    return 0;
}

void dr_secrets_forget(struct dr_secrets *secrets, struct dr_str reference) {
    for (size_t i = 0; i < secrets->n; i++) {
        if (dr_str_is(reference, secrets->entries[i].reference)) {
            secrets->entries[i].forgotten = true;
        }
    }
}
