#include "adapter/aws/errors.h"

#include <string.h>

#include "adapter/aws/xml.h"
#include "base/utf8.h"

/* In the order of the classes. The status is not asked: EC2 sends InsufficientInstanceCapacity with 500, and some services send throttling with 400. */
static const struct {
    const char *code;
    enum dr_code class;
} table[] = {
    {"RequestLimitExceeded", DR_E_THROTTLED},
    {"Throttling", DR_E_THROTTLED},
    {"ThrottlingException", DR_E_THROTTLED},
    {"ThrottledException", DR_E_THROTTLED},
    {"RequestThrottled", DR_E_THROTTLED},
    {"RequestThrottledException", DR_E_THROTTLED},
    {"TooManyRequestsException", DR_E_THROTTLED},
    {"ProvisionedThroughputExceededException", DR_E_THROTTLED},
    {"PriorRequestNotComplete", DR_E_THROTTLED},
    {"BandwidthLimitExceeded", DR_E_THROTTLED},
    {"EC2ThrottledException", DR_E_THROTTLED},
    {"SlowDown", DR_E_THROTTLED},

    {"InsufficientInstanceCapacity", DR_E_CAPACITY},
    {"InsufficientHostCapacity", DR_E_CAPACITY},
    {"InsufficientReservedInstanceCapacity", DR_E_CAPACITY},
    {"InsufficientCapacity", DR_E_CAPACITY},
    {"InsufficientCapacityOnHost", DR_E_CAPACITY},
    {"InsufficientAddressCapacity", DR_E_CAPACITY},
    {"InsufficientFreeAddressesInSubnet", DR_E_CAPACITY},
    {"InsufficientVolumeCapacity", DR_E_CAPACITY},
    {"ReservationCapacityExceeded", DR_E_CAPACITY},
    {"UnfulfillableCapacity", DR_E_CAPACITY},
    {"SpotMaxPriceTooLow", DR_E_CAPACITY},
    {"Unsupported", DR_E_CAPACITY}, /* the type is not offered in this zone: another may have it */

    {"InstanceLimitExceeded", DR_E_QUOTA},
    {"VcpuLimitExceeded", DR_E_QUOTA},
    {"MaxSpotInstanceCountExceeded", DR_E_QUOTA},
    {"VolumeLimitExceeded", DR_E_QUOTA},
    {"MaxIOPSLimitExceeded", DR_E_QUOTA},
    {"AddressLimitExceeded", DR_E_QUOTA},
    {"PrivateIpAddressLimitExceeded", DR_E_QUOTA},
    {"NetworkInterfaceLimitExceeded", DR_E_QUOTA},
    {"TagLimitExceeded", DR_E_QUOTA},
    {"ResourceLimitExceeded", DR_E_QUOTA},
    {"ResourceCountExceeded", DR_E_QUOTA},
    {"ServiceQuotaExceededException", DR_E_QUOTA},
    {"LimitExceededException", DR_E_QUOTA},
    {"LimitExceeded", DR_E_QUOTA},
    {"OverLimit", DR_E_QUOTA},

    {"UnauthorizedOperation", DR_E_DENIED},
    {"AuthFailure", DR_E_DENIED},
    {"AccessDenied", DR_E_DENIED},
    {"AccessDeniedException", DR_E_DENIED},
    {"KMSAccessDeniedException", DR_E_DENIED},
    {"NotAuthorized", DR_E_DENIED},
    {"OptInRequired", DR_E_DENIED},
    {"PendingVerification", DR_E_DENIED},
    {"Blocked", DR_E_DENIED},
    {"InvalidClientTokenId", DR_E_DENIED},
    {"InvalidAccessKeyId", DR_E_DENIED},
    {"UnrecognizedClientException", DR_E_DENIED},
    {"SignatureDoesNotMatch", DR_E_DENIED},
    {"InvalidSignatureException", DR_E_DENIED},
    {"InvalidSignature", DR_E_DENIED},
    {"IncompleteSignature", DR_E_DENIED},
    {"IncompleteSignatureException", DR_E_DENIED},
    {"MissingAuthenticationToken", DR_E_DENIED},
    {"MissingAuthenticationTokenException", DR_E_DENIED},
    {"ExpiredToken", DR_E_DENIED},
    {"ExpiredTokenException", DR_E_DENIED},
    {"RequestExpired", DR_E_DENIED},
    {"RequestTimeTooSkewed", DR_E_DENIED},
    {"InvalidIdentityToken", DR_E_DENIED},
    {"IDPRejectedClaim", DR_E_DENIED},

    {"AWS.SimpleQueueService.NonExistentQueue", DR_E_NOT_FOUND},
    {"QueueDoesNotExist", DR_E_NOT_FOUND},
    {"NonExistentQueue", DR_E_NOT_FOUND},
    {"ParameterNotFound", DR_E_NOT_FOUND},
    {"NoSuchEntity", DR_E_NOT_FOUND},
    {"InvalidAMIID.Unavailable", DR_E_NOT_FOUND},

    {"ConditionalCheckFailedException", DR_E_CONFLICT},
    {"TransactionConflictException", DR_E_CONFLICT},
    {"TransactionCanceledException", DR_E_CONFLICT},
    {"TransactionInProgressException", DR_E_CONFLICT},
    {"ReplicatedWriteConflictException", DR_E_CONFLICT},
    {"IdempotentParameterMismatch", DR_E_CONFLICT},
    {"IdempotentParameterMismatchException", DR_E_CONFLICT},
    {"IdempotentInstanceTerminated", DR_E_CONFLICT}, /* the token's instance has ended: a known outcome, launched and gone */
    {"ResourceInUseException", DR_E_CONFLICT},
    {"IncorrectInstanceState", DR_E_CONFLICT},
    {"IncorrectState", DR_E_CONFLICT},

    {"OperationNotPermitted", DR_E_PROTECTED},

    {"InternalError", DR_E_UNAVAILABLE},
    {"InternalFailure", DR_E_UNAVAILABLE},
    {"InternalServerError", DR_E_UNAVAILABLE},
    {"InternalServiceError", DR_E_UNAVAILABLE},
    {"InternalServiceErrorException", DR_E_UNAVAILABLE},
    {"ServiceUnavailable", DR_E_UNAVAILABLE},
    {"ServiceUnavailableException", DR_E_UNAVAILABLE},
    {"Unavailable", DR_E_UNAVAILABLE},
    {"RequestTimeout", DR_E_UNAVAILABLE},
    {"RequestTimeoutException", DR_E_UNAVAILABLE},
    {"IDPCommunicationError", DR_E_UNAVAILABLE},
};

static enum dr_code class_of_status(int status) {
    switch (status) {
    case 401:
    case 403:
        return DR_E_DENIED;
    case 404:
        return DR_E_NOT_FOUND;
    case 409:
        return DR_E_CONFLICT;
    case 408:
        return DR_E_UNAVAILABLE;
    case 429:
        return DR_E_THROTTLED;
    default:
        return status >= 500 ? DR_E_UNAVAILABLE : DR_E_INVALID;
    }
}

enum dr_code dr_aws_error_class(struct dr_str code, int status) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (dr_str_is(code, table[i].code)) {
            return table[i].class;
        }
    }
    if (dr_str_ends(code, ".NotFound") || dr_str_ends(code, "NotFoundException")) {
        return DR_E_NOT_FOUND;
    }
    if (dr_str_ends(code, ".Malformed") || dr_str_ends(code, "ValidationException") || dr_str_ends(code, "ValidationError")) {
        return DR_E_INVALID;
    }
    return class_of_status(status);
}

bool dr_aws_error_expired(struct dr_str code) {
    return dr_str_is(code, "ExpiredToken") || dr_str_is(code, "ExpiredTokenException") || dr_str_is(code, "RequestExpired");
}

bool dr_aws_error_skewed(struct dr_str code) {
    static const char *const codes[] = {"RequestTimeTooSkewed",  "RequestExpired", "InvalidSignatureException",
                                        "SignatureDoesNotMatch", "AuthFailure",    "RequestInTheFuture"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (dr_str_is(code, codes[i])) {
            return true;
        }
    }
    return false;
}

/* One line of valid UTF-8 in a buffer: control characters and bytes that are no characters become blanks, runs of blanks one. */
static void put_line(char *out, size_t size, struct dr_str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n;) {
        size_t len = dr_utf8_len(s.p + i, s.p + s.n);
        bool blank = len == 0 || (unsigned char)s.p[i] <= 0x20 || s.p[i] == 0x7F;
        len = len == 0 ? 1 : len;
        if (n + len + 1 > size) {
            break;
        }
        if (!blank) {
            memcpy(out + n, s.p + i, len);
            n += len;
        } else if (n > 0 && out[n - 1] != ' ') {
            out[n++] = ' ';
        }
        i += len;
    }
    out[n > 0 && out[n - 1] == ' ' ? n - 1 : n] = '\0';
}

/* "com.amazonaws.dynamodb.v20120810#ThrottlingException" and "Foo:http://..." and "Client.Foo" and "Foo;Sender" are Foo. */
static struct dr_str bare_code(struct dr_str code) {
    size_t hash = dr_str_find(code, '#');
    code = hash < code.n ? dr_str_sub(code, hash + 1, code.n) : code;
    code = dr_str_sub(code, 0, dr_str_find(code, ':'));
    code = dr_str_sub(code, 0, dr_str_find(code, ';'));
    if (dr_str_starts(code, "Client.") || dr_str_starts(code, "Server.")) {
        code = dr_str_sub(code, 7, code.n);
    }
    return dr_str_trim(code);
}

/* A code is a word; anything else in its place is not worth acting on. */
static bool is_code(struct dr_str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-')) {
            return false;
        }
    }
    return s.n > 0;
}

static struct dr_str first_found(const struct dr_aws_field *fields, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (fields[i].found && fields[i].value.n > 0) {
            return fields[i].value;
        }
    }
    return DR_STR_NONE;
}

void dr_aws_error_read(struct dr_str type_header, struct dr_str body, struct dr_aws_error *ret) {
    enum { MAX_READ = 64 << 10 }; /* no error needs more; the rest of a large page is not looked at */
    struct dr_aws_field code[] = {{.name = "__type"}, {.name = "code"}, {.name = "Code"}};
    struct dr_aws_field message[] = {{.name = "message"}, {.name = "Message"}, {.name = "errorMessage"}};
    struct dr_aws_field fields[6];
    struct dr_arena arena;
    struct dr_err ignored;
    dr_arena_init(&arena, 0);
    memcpy(fields, code, sizeof code);
    memcpy(fields + 3, message, sizeof message);
    body = dr_str_sub(dr_str_trim(body), 0, MAX_READ);
    if (dr_str_starts(body, "<")) {
        (void)dr_aws_xml_fields(body, fields, 6, &arena, &ignored);
    } else if (dr_str_starts(body, "{")) {
        (void)dr_aws_json_fields(body, fields, 6, &arena, &ignored);
    }
    struct dr_str from_header = bare_code(type_header);
    struct dr_str from_body = bare_code(first_found(fields, 3));
    struct dr_str name = is_code(from_header) ? from_header : is_code(from_body) ? from_body : DR_STR_NONE;
    struct dr_str text = first_found(fields + 3, 3);
    put_line(ret->code, sizeof ret->code, name);
    put_line(ret->message, sizeof ret->message, text.n > 0 || name.n > 0 ? text : dr_str_sub(body, 0, 120));
    dr_arena_deinit(&arena);
}
