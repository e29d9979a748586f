#include "adapter/aws/inner.h"

int dr_aws_from_environment(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err) {
    struct dr_str access = dr_aws_env(aws, "AWS_ACCESS_KEY_ID");
    struct dr_str secret = dr_aws_env(aws, "AWS_SECRET_ACCESS_KEY");
    if (aws->profile.n > 0) {
        (void)dr_fail(err, DR_E_NOT_FOUND, "not asked, because a profile is configured");
        return 0;
    }
    if (access.n == 0 && secret.n == 0) {
        (void)dr_fail(err, DR_E_NOT_FOUND, "AWS_ACCESS_KEY_ID is not set");
        return 0;
    }
    if (access.n == 0 || secret.n == 0) {
        return dr_fail(err, DR_E_INVALID, "%s is set without %s", access.n > 0 ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                       access.n > 0 ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    }
    return dr_aws_credentials_set(ret, access, secret, dr_aws_env(aws, "AWS_SESSION_TOKEN"), 0, err) < 0 ? -1 : 1;
}
