/* EC2's error codes in the words of the compute port, where these say more than the classes of the AWS client. */

#include "adapter/ec2/handle.h"

enum dr_code dr_ec2_launch_code(struct dr_str error_code, enum dr_code code) {
    if (dr_str_is(error_code, "IdempotentInstanceTerminated")) {
        return DR_E_NOT_FOUND; /* the token did its work and its instance has ended: this index will have no other */
    }
    switch (code) {
    case DR_E_PROTECTED: /* OperationNotPermitted is about protection only where something is ended */
        return DR_E_DENIED;
    case DR_E_NOT_FOUND: /* no such template, subnet, image or group: what was asked for is wrong */
    case DR_E_CONFLICT:  /* the token was used with other parameters */
        return DR_E_INVALID;
    case DR_E_LIMIT: /* an answer too large to be read is an answer to something that was done */
        return error_code.n == 0 ? DR_E_UNAVAILABLE : code;
    default:
        return code;
    }
}

enum dr_code dr_ec2_terminate_code(struct dr_str error_code, enum dr_code code) {
    /* Rule 16: nothing else says that the instance is gone, and nothing else is a refusal. */
    if (code == DR_E_NOT_FOUND && !dr_str_is(error_code, "InvalidInstanceID.NotFound")) {
        return DR_E_INVALID;
    }
    if (code == DR_E_PROTECTED && !dr_str_is(error_code, "OperationNotPermitted")) {
        return DR_E_INVALID;
    }
    return code == DR_E_LIMIT && error_code.n == 0 ? DR_E_UNAVAILABLE : code;
}
