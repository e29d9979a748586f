#ifndef DR_ADAPTER_AWS_CREDENTIALS_H
#define DR_ADAPTER_AWS_CREDENTIALS_H

/*
 * Where credentials come from. Each source is one file with one function; they stand in one table and are asked in its order until one has an answer:
 * environment, web identity, profile, container, instance metadata. Not supported, and refused with a clear text where a profile asks for it: credential_process, source_profile,
 * SSO.
 */

#include "adapter/aws/aws.h"
#include "base/secret.h"

struct dr_aws_credentials {
    struct dr_str access_key; /* heap */
    struct dr_secret secret_key;
    struct dr_secret token; /* of a session; empty for keys that last */
    int64_t expires_ms;     /* 0: never */
};

void dr_aws_credentials_clear(struct dr_aws_credentials *credentials);
/* Copies what was found; -1 with INVALID if the keys are not both there, or hold a blank or a line break. */
int dr_aws_credentials_set(struct dr_aws_credentials *credentials, struct dr_str access_key, struct dr_str secret_key, struct dr_str token,
                           int64_t expires_ms, struct dr_err *err);
/* From a document of the container endpoint or of instance metadata. Never puts its contents into an error. */
int dr_aws_credentials_from_json(struct dr_aws_credentials *credentials, struct dr_str doc, struct dr_err *err);

/*
 * What a source gets to look at. Answers: 1 = `ret` is filled; 0 = this source is not set up, with the reason in `err`; -1 = it is set up but did not work: the search ends, since
 * going on would act as somebody else.
 */
struct dr_aws_source {
    const char *name;
    int (*load)(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err);
};

int dr_aws_from_environment(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err);
int dr_aws_from_web_identity(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err);
int dr_aws_from_profile(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err);
int dr_aws_from_container(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err);
int dr_aws_from_metadata(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err);

/* The region of the instance: 1 and text in the arena, 0 if there is no instance metadata, -1. */
int dr_aws_metadata_region(struct dr_aws *aws, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err);

/* One AssumeRoleWithWebIdentity; the name of the session may be empty. */
int dr_aws_assume_web_identity(struct dr_aws *aws, const char *token_file, struct dr_str role, struct dr_str session,
                               struct dr_aws_credentials *ret, struct dr_err *err);

/* Values of the profile in force, from the shared files; empty if there is none. 0, or -1 if a file cannot be read or parsed, or a profile that was asked for is not there. */
struct dr_aws_profile {
    bool found;
    struct dr_str access_key;
    struct dr_str secret_key; /* in the caller's arena, which is wiped by nobody: short-lived */
    struct dr_str token;
    struct dr_str region;
    struct dr_str endpoint_url;
    struct dr_str role_arn;
    struct dr_str session_name;
    struct dr_str web_identity_token_file;
    struct dr_str unsupported; /* the key that asks for something that we do not do */
};
int dr_aws_profile_read(struct dr_aws *aws, struct dr_arena *arena, struct dr_aws_profile *ret, struct dr_err *err);

/* A whole small file; -1 with NOT_FOUND or INVALID that names it. */
int dr_aws_read_file(const char *path, size_t max_bytes, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err);

/*
 * The credentials in force: from the cache while they last, fetched again 5 minutes before they end. If that fails, the old ones are used until they end, and the
 * source is asked again half a minute later. `renew`: the service says that they have ended.
 */
int dr_aws_credentials_get(struct dr_aws *aws, bool renew, const struct dr_aws_credentials **ret, struct dr_err *err);

#endif
