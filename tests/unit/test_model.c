#include "core/model.h"
#include "harness/test.h"

TEST(model, names_of_markets_and_events_are_stable) {
    CHECK_EQ_CSTR(dr_market_name(DR_MARKET_ON_DEMAND), "on-demand");
    CHECK_EQ_CSTR(dr_market_name(DR_MARKET_SPOT), "spot");
    CHECK_EQ_CSTR(dr_event_kind_name(DR_EVENT_WARNING), "warning");
    CHECK_EQ_CSTR(dr_event_kind_name(DR_EVENT_REBALANCE), "rebalance");
    CHECK_EQ_CSTR(dr_event_kind_name(DR_EVENT_STATE_CHANGE), "state-change");
}

TEST(model, label_is_found_by_its_whole_key) {
    const struct dr_label v[] = {{DR_STR("app"), DR_STR("a")}, {DR_STR("application"), DR_STR("b")}, {DR_STR("empty"), DR_STR("")}};
    struct dr_labels labels = {v, 3};
    CHECK_EQ_STR(*dr_labels_get(labels, DR_STR("app")), "a");
    CHECK_EQ_STR(*dr_labels_get(labels, DR_STR("application")), "b");
    CHECK_EQ_STR(*dr_labels_get(labels, DR_STR("empty")), "");
    CHECK(dr_labels_get(labels, DR_STR("appl")) == NULL);
    CHECK(dr_labels_get((struct dr_labels){NULL, 0}, DR_STR("app")) == NULL);
}
