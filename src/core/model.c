#include "core/model.h"

const char *dr_market_name(enum dr_market market) { return market == DR_MARKET_SPOT ? "spot" : "on-demand"; }

const char *dr_event_kind_name(enum dr_event_kind kind) {
    switch (kind) {
    case DR_EVENT_WARNING:
        return "warning";
    case DR_EVENT_REBALANCE:
        return "rebalance";
    case DR_EVENT_STATE_CHANGE:
        return "state-change";
    }
    return "unknown";
}

const struct dr_str *dr_labels_get(struct dr_labels labels, struct dr_str key) {
    for (size_t i = 0; i < labels.n; i++) {
        if (dr_str_eq(labels.v[i].key, key)) {
            return &labels.v[i].value;
        }
    }
    return NULL;
}
