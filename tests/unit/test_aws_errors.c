/* Refusals in every shape, whole and broken, and what they mean to us. */
#include "adapter/aws/errors.h"
#include "base/utf8.h"
#include "harness/test.h"

static struct dr_aws_error read(const char *header, const char *body) {
    struct dr_aws_error error;
    dr_aws_error_read(dr_str_of(header), dr_str_of(body), &error);
    return error;
}

TEST(aws_errors, every_shape_gives_code_and_message) {
    static const struct {
        const char *header;
        const char *body;
        const char *code;
        const char *message;
    } cases[] = {
        {NULL,
         "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>InsufficientInstanceCapacity</Code><Message>No "
         "&lt;m5&gt; "
         "left.</Message></Error></Errors><RequestID>x</RequestID></Response>",
         "InsufficientInstanceCapacity", "No <m5> left."},
        {NULL,
         "<ErrorResponse "
         "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>ExpiredToken</Code><Message>The token\n has  "
         "expired</Message></Error></ErrorResponse>",
         "ExpiredToken", "The token has expired"},
        {NULL, "<Error><Code>AccessDenied</Code></Error>", "AccessDenied", ""},
        {NULL, "<aws:Error xmlns:aws='x'><aws:Code>AccessDenied</aws:Code></aws:Error>", "AccessDenied", ""},
        {NULL,
         "{\"__type\":\"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException\",\"message\":\"The conditional request failed\"}",
         "ConditionalCheckFailedException", "The conditional request failed"},
        {NULL, "{\"Message\":\"no\",\"__type\":\"AccessDeniedException\"}", "AccessDeniedException", "no"},
        {NULL, "{\"code\":\"Throttling\",\"message\":null}", "Throttling", ""},
        {"ResourceNotFoundException:http://internal.amazon.com/coral/", "{\"message\":\"x\"}", "ResourceNotFoundException", "x"},
        {"ThrottlingException", "", "ThrottlingException", ""},
        {"ThrottlingException", "{\"__type\":\"Other\"}", "ThrottlingException", ""},
        {NULL, "{\"__type\":\"Client.RequestLimitExceeded;Sender\"}", "RequestLimitExceeded", ""},
        /* A JSON service whose front refuses in XML, and the other way round. */
        {NULL, "\n  <ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>m</Message></Error></ErrorResponse>",
         "SignatureDoesNotMatch", "m"},
        {NULL, " {\"__type\":\"x#UnrecognizedClientException\",\"message\":\"m\"} ", "UnrecognizedClientException", "m"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dr_aws_error error = read(cases[i].header, cases[i].body);
        CHECK_EQ_CSTR(error.code, cases[i].code);
        CHECK_EQ_CSTR(error.message, cases[i].message);
    }
}

TEST(aws_errors, broken_bodies_keep_what_could_be_read) {
    static const struct {
        const char *body;
        const char *code;
        const char *message;
    } cases[] = {
        {"", "", ""},
        {"   \n", "", ""},
        {"<html><head><title>502 Bad Gateway</title></head></html>", "", "<html><head><title>502 Bad Gateway</title></head></html>"},
        {"<!DOCTYPE html><html><body>x</body></html>", "", "<!DOCTYPE html><html><body>x</body></html>"},
        {"upstream connect error\r\n\x01\x7F or disconnect", "", "upstream connect error or disconnect"},
        {"<Response><Errors><Error><Code>Throttling</Code><Mess", "Throttling", ""},
        {"<Response><Errors><Error><Code>Throttling</Code><Message>slow do", "Throttling", "slow do"},
        {"<Response><Errors><Error><Code>Thrott", "Thrott", ""}, /* a cut code is judged by the status */
        {"{\"__type\":\"Throttling\",\"mess", "Throttling", ""},
        {"{\"__type\":\"Thrott", "", "{\"__type\":\"Thrott"},
        {"{\"__type\":17,\"message\":[]}", "", "{\"__type\":17,\"message\":[]}"},
        {"{\"__type\":\"has blanks in it\",\"message\":\"m\"}", "", "m"},
        {"[]", "", "[]"},
        {"null", "", "null"},
        {"\xFF\xFE<\0", "", "<"},
        {"<Code>\xC3\x28</Code>", "", "<Code> (</Code>"},
        {"<?xml version=\"1.0\"?><!DOCTYPE r [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><r><Code>&b;</Code></r>", "",
         "<?xml version=\"1.0\"?><!DOCTYPE r [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><r><Code>&b;</Code></r>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dr_aws_error error = read(NULL, cases[i].body);
        CHECK_EQ_CSTR(error.code, cases[i].code);
        CHECK_EQ_CSTR(error.message, cases[i].message);
    }
}

TEST(aws_errors, long_messages_are_cut_on_a_character) {
    struct dr_buf body;
    dr_buf_init(&body, 0);
    dr_buf_puts(&body, "{\"__type\":\"X\",\"message\":\"a");
    for (int i = 0; i < 5000; i++) {
        dr_buf_puts(&body, "\xC3\xA4");
    }
    dr_buf_puts(&body, "\"}");
    struct dr_aws_error error = read(NULL, body.p);
    CHECK_EQ_CSTR(error.code, "X");
    CHECK_EQ_INT(strlen(error.message), 255);
    for (const char *p = error.message; *p != '\0';) {
        size_t n = dr_utf8_len(p, error.message + strlen(error.message));
        CHECK(n > 0);
        p += n;
    }
    dr_buf_deinit(&body);
}

TEST(aws_errors, deep_or_endless_documents_are_let_go) {
    struct dr_buf body;
    dr_buf_init(&body, 0);
    for (int i = 0; i < 10000; i++) {
        dr_buf_puts(&body, "<a>");
    }
    CHECK_EQ_CSTR(read(NULL, body.p).code, "");
    dr_buf_clear(&body);
    dr_buf_puts(&body, "<e><Code>");
    for (int i = 0; i < 100000; i++) {
        dr_buf_puts(&body, "aaaaaaaaaa");
    }
    CHECK(strlen(read(NULL, body.p).code) < 128);
    dr_buf_deinit(&body);
}

TEST(aws_errors, codes_have_classes_and_unknown_ones_go_by_status) {
    static const struct {
        const char *code;
        int status;
        enum dr_code class;
    } cases[] = {
        {"InsufficientInstanceCapacity", 500, DR_E_CAPACITY},
        {"Unsupported", 400, DR_E_CAPACITY},
        {"InsufficientFreeAddressesInSubnet", 400, DR_E_CAPACITY},
        {"SpotMaxPriceTooLow", 400, DR_E_CAPACITY},
        {"VcpuLimitExceeded", 400, DR_E_QUOTA},
        {"MaxSpotInstanceCountExceeded", 400, DR_E_QUOTA},
        {"InstanceLimitExceeded", 400, DR_E_QUOTA},
        {"RequestLimitExceeded", 503, DR_E_THROTTLED},
        {"ProvisionedThroughputExceededException", 400, DR_E_THROTTLED},
        {"ThrottlingException", 400, DR_E_THROTTLED},
        {"UnauthorizedOperation", 403, DR_E_DENIED},
        {"ExpiredTokenException", 400, DR_E_DENIED},
        {"RequestExpired", 400, DR_E_DENIED},
        {"InvalidInstanceID.NotFound", 400, DR_E_NOT_FOUND},
        {"InvalidLaunchTemplateName.NotFoundException", 400, DR_E_NOT_FOUND},
        {"ResourceNotFoundException", 400, DR_E_NOT_FOUND},
        {"ParameterNotFound", 400, DR_E_NOT_FOUND},
        {"AWS.SimpleQueueService.NonExistentQueue", 400, DR_E_NOT_FOUND},
        {"ConditionalCheckFailedException", 400, DR_E_CONFLICT},
        {"TransactionConflictException", 400, DR_E_CONFLICT},
        {"IdempotentParameterMismatch", 400, DR_E_CONFLICT},
        {"IdempotentInstanceTerminated", 400, DR_E_CONFLICT},
        {"OperationNotPermitted", 400, DR_E_PROTECTED},
        {"InternalError", 500, DR_E_UNAVAILABLE},
        {"InvalidParameterValue", 400, DR_E_INVALID},
        {"InvalidInstanceID.Malformed", 400, DR_E_INVALID},
        {"ValidationException", 500, DR_E_INVALID},
        {"NobodyKnowsThis", 400, DR_E_INVALID},
        {"NobodyKnowsThis", 503, DR_E_UNAVAILABLE},
        {"", 302, DR_E_INVALID},
        {"", 401, DR_E_DENIED},
        {"", 403, DR_E_DENIED},
        {"", 404, DR_E_NOT_FOUND},
        {"", 408, DR_E_UNAVAILABLE},
        {"", 409, DR_E_CONFLICT},
        {"", 429, DR_E_THROTTLED},
        {"", 500, DR_E_UNAVAILABLE},
        {"", 599, DR_E_UNAVAILABLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum dr_code class = dr_aws_error_class(dr_str_of(cases[i].code), cases[i].status);
        if (class != cases[i].class) {
            FAIL("%s with %d is %s, expected %s", cases[i].code, cases[i].status, dr_code_name(class), dr_code_name(cases[i].class));
        }
    }
}
