#include "core/fleet.h"
#include "core/identity.h"
#include "harness/test.h"

static const char *named(const char *provider_id, const char *label) {
    static char text[64];
    struct dr_node node = {.provider_id = dr_str_of(provider_id), .instance_label = dr_str_of(label)};
    struct dr_str id = DR_STR("untouched");
    switch (dr_identity_of(&node, &id)) {
    case DR_IDENTITY_NONE:
        return dr_str_is(id, "untouched") ? "none" : "?";
    case DR_IDENTITY_BROKEN:
        return dr_str_is(id, "untouched") ? "broken" : "?";
    case DR_IDENTITY_ID:
        break;
    }
    CHECK(id.n < sizeof text);
    memcpy(text, id.p, id.n);
    text[id.n] = '\0';
    return text;
}

TEST(identity, provider_id_or_label_names_the_instance) {
    CHECK_EQ_CSTR(named("aws:///eu-west-1a/i-0abc", ""), "i-0abc");
    CHECK_EQ_CSTR(named("aws://eu-west-1a/i-0abc", ""), "i-0abc");
    CHECK_EQ_CSTR(named("", "i-0abc"), "i-0abc");
    CHECK_EQ_CSTR(named("k3s://worker-1", "i-0abc"), "i-0abc");
    CHECK_EQ_CSTR(named("aws:///eu-west-1a/i-0abc", "i-0abc"), "i-0abc");
}

TEST(identity, anything_else_names_none) {
    const char *const provider_ids[] = {"",       "k3s://i-0abc", "aws://", "aws:///", "aws:///zone/", "aws:///zone/0abc",
                                        "i-0abc", "gce:///x/i-1"};
    for (size_t i = 0; i < sizeof provider_ids / sizeof provider_ids[0]; i++) {
        CHECK_EQ_CSTR(named(provider_ids[i], ""), "none");
    }
}

TEST(identity, provider_id_and_label_that_differ_are_broken) { CHECK_EQ_CSTR(named("aws:///eu-west-1a/i-0abc", "i-0abd"), "broken"); }

TEST(identity, missing_address_on_either_side_is_no_contradiction) {
    struct dr_node node = {.internal_ip = DR_STR("10.0.0.1"), .created_ms = 10};
    struct dr_instance instance = {.launched_ms = 10};
    CHECK(dr_identity_agrees(&node, &instance));
    instance.private_ip = DR_STR("10.0.0.2");
    CHECK(!dr_identity_agrees(&node, &instance));
    node.internal_ip = DR_STR_NONE;
    CHECK(dr_identity_agrees(&node, &instance));
}
