#ifndef DR_ADAPTER_KUBERNETES_QUANTITY_H
#define DR_ADAPTER_KUBERNETES_QUANTITY_H

/*
 * Quantities of Kubernetes: "100m", "1.5Gi", "2e3", "0.5". Read with integers only. What does not come out whole is rounded up, as the scheduler does, and what is
 * larger than 64 bits hold is the largest number. False: not a quantity, or a negative one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

bool dr_quantity_milli(struct dr_str text, int64_t *ret); /* thousandths: milli-cores */
bool dr_quantity_units(struct dr_str text, int64_t *ret); /* whole units: bytes, pods */

#endif
