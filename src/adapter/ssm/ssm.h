#ifndef DR_ADAPTER_SSM_H
#define DR_ADAPTER_SSM_H

/*
 * Secrets from SSM Parameter Store and from Secrets Manager, by reference:
 *
 *     ssm:/drover/prometheus-password            a parameter, decrypted
 *     secretsmanager:drover/kube                 the text of a secret (name or ARN)
 *     secretsmanager:drover/kube#token           one member of a secret that is a JSON object
 *
 * Values are kept in memory only, asked for again when they are old, and wiped when they go. While a service does not answer, an old value serves on for a time.
 * Nothing here prints a value: calls are marked secret for the recorder, and errors name the reference alone.
 */

#include "adapter/aws/aws.h"
#include "base/secret.h"

#define DR_SECRETS_MAX 64          /* references */
#define DR_SECRETS_MAX_BYTES 65536 /* of a value: what Secrets Manager takes */

struct dr_secrets_options {
    struct dr_aws *aws;
    int64_t (*now_ms)(void *self);
    void *self;
    int64_t refresh_ms; /* 0: 5 minutes */
    int64_t stale_ms;   /* for how long an old value serves while it cannot be refreshed; 0: 1 hour */
};

struct dr_secrets;
struct dr_secrets *dr_secrets_new(const struct dr_secrets_options *options, struct dr_err *err);
void dr_secrets_free(struct dr_secrets *secrets); /* NULL is fine */

/* True if the text begins like a reference of ours. */
bool dr_secrets_is_reference(struct dr_str text);

/* Sends for the value if it is missing or old, without waiting; so several come at once. */
void dr_secrets_request(struct dr_secrets *secrets, struct dr_str reference, int64_t deadline_ms);
/*
 * The value, from memory or after waiting. It belongs to the cache and is valid until the next get or forget of the same reference. DR_E_INVALID: no reference, or the
 * value has no such member; DR_E_NOT_FOUND: no such parameter or secret; DR_E_DENIED; DR_E_LIMIT.
 */
int dr_secrets_get(struct dr_secrets *secrets, struct dr_str reference, int64_t deadline_ms, const struct dr_secret **ret,
                   struct dr_err *err);
/* The value was refused where it was used: the next get asks again. */
void dr_secrets_forget(struct dr_secrets *secrets, struct dr_str reference);

#endif
