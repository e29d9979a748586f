#ifndef DR_ADAPTER_SSM_PARSE_H
#define DR_ADAPTER_SSM_PARSE_H

/* Answers that hold secrets. What is read goes straight into the secret; errors name service, call and field, never a value. */

#include "base/err.h"
#include "base/secret.h"

/* GetParameter. */
int dr_ssm_parse_parameter(struct dr_str body, struct dr_secret *ret, struct dr_err *err);
/* GetSecretValue; `member` empty: the whole text, else that member of the object that the text holds. */
int dr_ssm_parse_secret(struct dr_str body, struct dr_str member, struct dr_secret *ret, struct dr_err *err);

#endif
