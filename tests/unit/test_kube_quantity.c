#include "adapter/kubernetes/quantity.h"
#include "harness/test.h"

TEST(quantity, every_form_is_read_exactly) {
    static const struct {
        const char *text;
        int64_t milli;
        int64_t units;
    } table[] = {
        {"0", 0, 0},
        {"100m", 100, 1},
        {"1", 1000, 1},
        {"1.5", 1500, 2},
        {".5", 500, 1},
        {"5.", 5000, 5},
        {"+2", 2000, 2},
        {"0.1", 100, 1},
        {"1n", 1, 1},
        {"999999999n", 1000, 1},
        {"1000001u", 1001, 2},
        {"1k", 1000000, 1000},
        {"1Ki", 1024000, 1024},
        {"1.5Ki", 1536000, 1536},
        {"128Mi", INT64_C(134217728000), INT64_C(134217728)},
        {"7206252Ki", INT64_C(7379202048000), INT64_C(7379202048)},
        {"1Gi", INT64_C(1073741824000), INT64_C(1073741824)},
        {"1.1Gi", INT64_C(1181116006400), INT64_C(1181116007)},
        {"2M", INT64_C(2000000000), 2000000},
        {"3G", INT64_C(3000000000000), INT64_C(3000000000)},
        {"1T", INT64_C(1000000000000000), INT64_C(1000000000000)},
        {"1Pi", INT64_C(1125899906842624000), INT64_C(1125899906842624)},
        {"1P", INT64_C(1000000000000000000), INT64_C(1000000000000000)},
        {"1E", INT64_MAX, INT64_C(1000000000000000000)},
        {"7Ei", INT64_MAX, INT64_C(8070450532247928832)},
        {"8Ei", INT64_MAX, INT64_MAX},
        {"1e3", 1000000, 1000},
        {"1E3", 1000000, 1000},
        {"1.25e+2", 125000, 125},
        {"1500e-3", 1500, 2},
        {"1e-30", 1, 1},
        {"0e999", 0, 0},
        {"9223372036854775807", INT64_MAX, INT64_MAX},
        {"99999999999999999999999999", INT64_MAX, INT64_MAX},
        {"0.00000000000000000000000000001", 1, 1},
        {"000000000000000000000000000042", 42000, 42},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int64_t milli = -1;
        int64_t units = -1;
        if (!dr_quantity_milli(dr_str_of(table[i].text), &milli) || !dr_quantity_units(dr_str_of(table[i].text), &units)) {
            FAIL("%s is refused", table[i].text);
        }
        if (milli != table[i].milli || units != table[i].units) {
            FAIL("%s: %" PRId64 " milli, %" PRId64 " units", table[i].text, milli, units);
        }
    }
}

TEST(quantity, what_is_none_is_refused) {
    static const char *const wrong[] = {"",    " 1", "1 ",      "-1",  "m",    ".",    "1.2.3",    "1mm",   "1Kii",
                                        "1ki", "1K", "1mi",     "1e",  "1e+",  "1ee3", "0x10",     "1e1.5", "NaN",
                                        "Inf", "1i", "1e99999", "++1", "1Mi5", "1e3m", "1\xC2\xB5"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t v;
        if (dr_quantity_units(dr_str_of(wrong[i]), &v)) {
            FAIL("\"%s\" passes as %" PRId64, wrong[i], v);
        }
    }
}
