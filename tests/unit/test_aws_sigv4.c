/* Signature V4 on cases whose signatures were made by another implementation; the published vectors and thousands of odd requests are compared end to end. */
#include <stdio.h>

#include "adapter/aws/sigv4.h"
#include "harness/test.h"

#define AT_2015 INT64_C(1440938160000) /* 2015-08-30 12:36:00, the time of the published examples */

static struct dr_str sign(const struct dr_sigv4_request *request, const char *region, const char *service, int64_t at_ms) {
    static struct dr_buf out;
    struct dr_secret secret = {0};
    dr_secret_set(&secret, DR_STR("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"));
    struct dr_sigv4_key key = {DR_STR("AKIDEXAMPLE"), &secret, dr_str_of(region), dr_str_of(service)};
    dr_buf_deinit(&out);
    dr_buf_init(&out, 0);
    dr_sigv4_sign(&key, request, at_ms, &out);
    dr_secret_clear(&secret);
    return dr_buf_str(&out);
}

static struct dr_str canonical(const struct dr_sigv4_request *request) {
    static struct dr_buf out;
    dr_buf_deinit(&out);
    dr_buf_init(&out, 0);
    dr_sigv4_canonical(request, &out);
    return dr_buf_str(&out);
}

TEST(aws_sigv4, plain_request_has_the_published_signature) {
    struct dr_http_header headers[] = {{DR_STR("Host"), DR_STR("example.amazonaws.com")},
                                       {DR_STR("X-Amz-Date"), DR_STR("20150830T123600Z")}};
    struct dr_sigv4_request request = {.method = "GET", .path = DR_STR("/"), .headers = headers, .header_n = 2};
    CHECK_EQ_STR(sign(&request, "us-east-1", "service", AT_2015),
                 "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, "
                 "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST(aws_sigv4, query_and_type_have_the_published_signature) {
    struct dr_http_header headers[] = {{DR_STR("X-Amz-Date"), DR_STR("20150830T123600Z")},
                                       {DR_STR("Host"), DR_STR("iam.amazonaws.com")},
                                       {DR_STR("Content-Type"), DR_STR("application/x-www-form-urlencoded; charset=utf-8")}};
    struct dr_sigv4_request request = {
        .method = "GET", .path = DR_STR("/"), .query = DR_STR("Version=2010-05-08&Action=ListUsers"), .headers = headers, .header_n = 3};
    CHECK(dr_str_ends(
        sign(&request, "us-east-1", "iam", AT_2015),
        "SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"));
}

TEST(aws_sigv4, form_with_a_session_token_has_the_signature_of_the_sdk) {
    struct dr_http_header headers[] = {{DR_STR("Host"), DR_STR("ec2.eu-west-1.amazonaws.com")},
                                       {DR_STR("Content-Type"), DR_STR("application/x-www-form-urlencoded; charset=utf-8")},
                                       {DR_STR("X-Amz-Date"), DR_STR("20261115T200400Z")},
                                       {DR_STR("X-Amz-Security-Token"), DR_STR("tok/en+==")}};
    struct dr_sigv4_request request = {
        .method = "POST", .headers = headers, .header_n = 4, .body = DR_STR("Action=DescribeInstances&Version=2016-11-15")};
    CHECK(dr_str_ends(sign(&request, "eu-west-1", "ec2", INT64_C(1794773040000)),
                      "Signature=6afaa21b5b1cb60fc5bbdf3ac5c2dc59fef182e0b92d03582e3b943dd96d90ba"));
}

TEST(aws_sigv4, odd_path_query_and_headers_have_the_signature_of_the_sdk) {
    struct dr_http_header headers[] = {{DR_STR("My-Header1"), DR_STR("  a   b  ")},
                                       {DR_STR("Host"), DR_STR("example.amazonaws.com")},
                                       {DR_STR("X-Amz-Date"), DR_STR("20150830T123600Z")},
                                       {DR_STR("my-header1"), DR_STR("c")}};
    struct dr_sigv4_request request = {.method = "GET",
                                       .path = DR_STR("/a%20b/../c//d/./%E1%88%B4/"),
                                       .query = DR_STR("b=2&a=%2F&a=&A=1&a-b=1&a"),
                                       .headers = headers,
                                       .header_n = 4};
    struct dr_str text = canonical(&request);
    CHECK_CONTAINS(text, "\n/c/d/%25E1%2588%25B4/\n");
    CHECK_CONTAINS(text, "\nA=1&a=&a=&a=%2F&a-b=1&b=2\n");
    CHECK_CONTAINS(text, "\nmy-header1:a b,c\n");
    CHECK(dr_str_ends(sign(&request, "us-east-1", "service", AT_2015),
                      "Signature=160a27e624ee3e953c3bd32e7c95f70f4c3ee53fc4335356c670fda02d58f0ca"));
}

TEST(aws_sigv4, paths_are_made_plain_and_escaped_once_more) {
    static const char *const cases[][2] = {
        {"", "/"},
        {"/", "/"},
        {"//", "/"},
        {"/a", "/a"},
        {"/a/", "/a/"},
        {"/./a", "/a"},
        {"/a/..", "/"},
        {"/..", "/"},
        {"/../../a", "/a"},
        {"/a/b/../", "/a/"},
        {"/a//b///c", "/a/b/c"},
        {"/a%2Fb", "/a%252Fb"},
        {"/a b", "/a%20b"},
        {"/~a-b_c.d", "/~a-b_c.d"},
        {"/\xC3\xA4", "/%C3%A4"},
        {"/...", "/..."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[128];
        struct dr_sigv4_request request = {.method = "GET", .path = dr_str_of(cases[i][0])};
        (void)snprintf(expected, sizeof expected, "GET\n%s\n", cases[i][1]);
        struct dr_str text = canonical(&request);
        CHECK_EQ_STR(dr_str_sub(text, 0, strlen(expected)), expected);
    }
}

TEST(aws_sigv4, queries_are_sorted_by_name_then_value_and_escaped_where_they_were_not) {
    static const char *const cases[][2] = {
        {"a", "a="},
        {"a=", "a="},
        {"b=1&a=2", "a=2&b=1"},
        {"a=2&a=1", "a=1&a=2"},
        {"a=b=c", "a=b%3Dc"},
        {"a=%20", "a=%20"},
        {"a= ", "a=%20"},
        {"&&a=1&", "a=1"},
        {"a-=1&a=1", "a=1&a-=1"},
        {"\xC3\xA4=\xE1\x88\xB4", "%C3%A4=%E1%88%B4"},
        {"a=+", "a=%2B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[128];
        struct dr_sigv4_request request = {.method = "GET", .query = dr_str_of(cases[i][0])};
        (void)snprintf(expected, sizeof expected, "GET\n/\n%s\n", cases[i][1]);
        struct dr_str text = canonical(&request);
        CHECK_EQ_STR(dr_str_sub(text, 0, strlen(expected)), expected);
    }
}

TEST(aws_sigv4, date_is_utc_and_clamped_to_four_digits_of_year) {
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{0, "19700101T000000Z"},
                 {AT_2015, "20150830T123600Z"},
                 {AT_2015 + 999, "20150830T123600Z"},
                 {INT64_C(1709208000000), "20240229T120000Z"},
                 {INT64_MAX, "99991231T235959Z"},
                 {INT64_MIN, "00000101T000000Z"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char date[DR_SIGV4_DATE_SIZE];
        dr_sigv4_date(cases[i].ms, date);
        CHECK_EQ_CSTR(date, cases[i].text);
    }
}
