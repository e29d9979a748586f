/* Any bytes as a quantity: never negative, and thousandths are never less than whole units. */
#include "adapter/kubernetes/quantity.h"
#include "harness/fuzz.h"

DR_FUZZ(kube_quantity) {
    int64_t milli = 0;
    int64_t units = 0;
    struct dr_str text = {(const char *)data, n};
    bool a = dr_quantity_milli(text, &milli);
    bool b = dr_quantity_units(text, &units);
    DR_ASSERT(a == b);
    if (a) {
        DR_ASSERT(milli >= 0 && units >= 0 && milli >= units && (milli == INT64_MAX || milli / 1000 <= units));
    }
}
