#include "base/time.h"

#include "base/num.h"

struct civil {
    int64_t year;
    unsigned month;
    unsigned day;
};

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static int64_t ms_of_day(int64_t ms) { return ms % DR_DAY_MS + (ms % DR_DAY_MS < 0 ? DR_DAY_MS : 0); }

/* Proleptic Gregorian calendar in eras of 400 years that begin on 1 March, so that the leap day is the last of a year. */
static struct civil civil_of_days(int64_t days) {
    days += 719468; /* from 0000-03-01 to 1970-01-01 */
    int64_t era = floor_div(days, 146097);
    int64_t day_of_era = days - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153; /* 0 = March */
    int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
    return (struct civil){year_of_era + era * 400 + (month <= 2), (unsigned)month, (unsigned)(day_of_year - (153 * shifted + 2) / 5 + 1)};
}

static int64_t days_of_civil(int64_t year, unsigned month, unsigned day) {
    year -= month <= 2;
    int64_t era = floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static unsigned days_in_month(unsigned year, unsigned month) {
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static void put_2(struct dr_buf *buf, int64_t v) {
    dr_buf_putc(buf, (char)('0' + v / 10));
    dr_buf_putc(buf, (char)('0' + v % 10));
}

static void put_3(struct dr_buf *buf, int64_t v) {
    dr_buf_putc(buf, (char)('0' + v / 100));
    put_2(buf, v % 100);
}

static void put_hms(struct dr_buf *buf, int64_t of_day, bool with_seconds) {
    put_2(buf, of_day / DR_HOUR_MS);
    dr_buf_putc(buf, ':');
    put_2(buf, of_day / DR_MINUTE_MS % 60);
    if (with_seconds) {
        dr_buf_putc(buf, ':');
        put_2(buf, of_day / DR_SECOND_MS % 60);
    }
}

void dr_time_put(struct dr_buf *buf, int64_t ms) {
    int64_t days = floor_div(ms, DR_DAY_MS);
    int64_t of_day = ms_of_day(ms);
    struct civil c = civil_of_days(days);
    if (c.year >= 0 && c.year <= 9999) {
        put_2(buf, c.year / 100);
        put_2(buf, c.year % 100);
    } else {
        dr_buf_put_i64(buf, c.year);
    }
    dr_buf_putc(buf, '-');
    put_2(buf, c.month);
    dr_buf_putc(buf, '-');
    put_2(buf, c.day);
    dr_buf_putc(buf, 'T');
    put_hms(buf, of_day, true);
    if (of_day % 1000 != 0) {
        dr_buf_putc(buf, '.');
        put_3(buf, of_day % 1000);
    }
    dr_buf_putc(buf, 'Z');
}

void dr_time_put_clock(struct dr_buf *buf, int64_t ms) {
    int64_t of_day = ms_of_day(ms);
    put_hms(buf, of_day, of_day / DR_SECOND_MS % 60 != 0);
}

static const struct unit {
    const char *name;
    int64_t ms;
} units[] = {{"d", DR_DAY_MS}, {"h", DR_HOUR_MS}, {"m", DR_MINUTE_MS}, {"s", DR_SECOND_MS}, {"ms", 1}};
enum { UNIT_N = sizeof units / sizeof units[0] };

void dr_time_put_span(struct dr_buf *buf, int64_t ms) {
    uint64_t left = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    if (left == 0) {
        dr_buf_puts(buf, "0s");
        return;
    }
    if (ms < 0) {
        dr_buf_putc(buf, '-');
    }
    size_t i = 0;
    while (left < (uint64_t)units[i].ms) {
        i++;
    }
    for (size_t last = i + 1; i <= last && i < UNIT_N; i++) {
        uint64_t count = left / (uint64_t)units[i].ms;
        left -= count * (uint64_t)units[i].ms;
        if (count != 0) {
            dr_buf_put_i64(buf, (int64_t)count);
            dr_buf_puts(buf, units[i].name);
        }
    }
}

/* Exactly `n` digits from the front of the view. */
static bool take_digits(struct dr_str *s, size_t n, unsigned *ret) {
    unsigned v = 0;
    if (s->n < n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9') {
            return false;
        }
        v = v * 10 + (unsigned)(s->p[i] - '0');
    }
    *s = dr_str_sub(*s, n, s->n);
    *ret = v;
    return true;
}

static bool take_char(struct dr_str *s, char c) {
    if (s->n == 0 || s->p[0] != c) {
        return false;
    }
    *s = dr_str_sub(*s, 1, s->n);
    return true;
}

/* "YYYY-MM-DD" as days since 1970. */
static bool take_date(struct dr_str *s, int64_t *ret_days) {
    unsigned year = 0;
    unsigned month = 0;
    unsigned day = 0;
    if (!take_digits(s, 4, &year) || !take_char(s, '-') || !take_digits(s, 2, &month) || !take_char(s, '-') || !take_digits(s, 2, &day)) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) {
        return false;
    }
    *ret_days = days_of_civil(year, month, day);
    return true;
}

/* "HH:MM[:SS[.fraction]]"; a leap second is taken as the first of the next minute. */
static bool take_clock(struct dr_str *s, bool seconds_required, bool leap, int64_t *ret_ms) {
    unsigned hour = 0;
    unsigned minute = 0;
    unsigned second = 0;
    int64_t fraction_ms = 0;
    if (!take_digits(s, 2, &hour) || !take_char(s, ':') || !take_digits(s, 2, &minute)) {
        return false;
    }
    if (take_char(s, ':')) {
        if (!take_digits(s, 2, &second)) {
            return false;
        }
        if (leap && take_char(s, '.')) {
            unsigned digit = 0;
            size_t n = 0;
            for (int64_t scale = 100; take_digits(s, 1, &digit); scale /= 10) {
                fraction_ms += scale * digit;
                n++;
            }
            if (n == 0) {
                return false;
            }
        }
    } else if (seconds_required) {
        return false;
    }
    *ret_ms = (int64_t)hour * DR_HOUR_MS + (int64_t)minute * DR_MINUTE_MS + (int64_t)second * DR_SECOND_MS + fraction_ms;
    return hour < 24 && minute < 60 && second < (leap ? 61 : 60);
}

/* "Z" or "+HH:MM" or "-HH:MM" as what must be subtracted. */
static bool take_offset(struct dr_str *s, int64_t *ret_ms) {
    *ret_ms = 0;
    if (take_char(s, 'Z') || take_char(s, 'z')) {
        return true;
    }
    bool negative = s->n > 0 && s->p[0] == '-';
    unsigned hour = 0;
    unsigned minute = 0;
    if (!take_char(s, '-') && !take_char(s, '+')) {
        return false;
    }
    if (!take_digits(s, 2, &hour) || !take_char(s, ':') || !take_digits(s, 2, &minute) || hour > 23 || minute > 59) {
        return false;
    }
    *ret_ms = (int64_t)hour * DR_HOUR_MS + (int64_t)minute * DR_MINUTE_MS;
    *ret_ms = negative ? -*ret_ms : *ret_ms;
    return true;
}

static bool parse_unix(struct dr_str s, int64_t *ret_ms) {
    int64_t seconds = 0;
    return dr_str_to_i64(s, &seconds) && dr_mul_i64(seconds, DR_SECOND_MS, ret_ms);
}

bool dr_time_parse(struct dr_str s, int64_t *ret_ms) {
    int64_t days = 0;
    int64_t of_day = 0;
    int64_t offset = 0;
    struct dr_str rest = s;
    if (!take_date(&rest, &days)) {
        return parse_unix(s, ret_ms);
    }
    if (take_char(&rest, 'T') || take_char(&rest, 't')) {
        if (!take_clock(&rest, true, true, &of_day) || !take_offset(&rest, &offset)) {
            return false;
        }
    } else if (!take_char(&rest, ' ') || !take_clock(&rest, false, false, &of_day)) {
        return false;
    }
    if (rest.n != 0) {
        return false;
    }
    *ret_ms = days * DR_DAY_MS + of_day - offset;
    return true;
}

bool dr_time_parse_span(struct dr_str s, int64_t *ret_ms) {
    int64_t total = 0;
    size_t next_unit = 0;
    size_t part_n = 0;
    while (s.n > 0) {
        size_t digit_n = 0;
        while (digit_n < s.n && s.p[digit_n] >= '0' && s.p[digit_n] <= '9') {
            digit_n++;
        }
        int64_t count = 0;
        int64_t part = 0;
        if (!dr_str_to_i64(dr_str_sub(s, 0, digit_n), &count)) {
            return false;
        }
        s = dr_str_sub(s, digit_n, s.n);
        size_t name_n = 0;
        while (name_n < s.n && (s.p[name_n] < '0' || s.p[name_n] > '9')) {
            name_n++;
        }
        struct dr_str name = name_n == 0 && part_n == 0 ? DR_STR("s") : dr_str_sub(s, 0, name_n);
        s = dr_str_sub(s, name_n, s.n);
        /* Units come largest first and once each, so "30m1h" and "5s5s" are typing errors. */
        while (next_unit < UNIT_N && !dr_str_is(name, units[next_unit].name)) {
            next_unit++;
        }
        if (next_unit == UNIT_N || !dr_mul_i64(count, units[next_unit].ms, &part) || !dr_add_i64(total, part, &total)) {
            return false;
        }
        next_unit++;
        part_n++;
    }
    if (part_n > 0) {
        *ret_ms = total;
    }
    return part_n > 0;
}

bool dr_time_parse_clock(struct dr_str s, int64_t *ret_ms) {
    int64_t ms = 0;
    if (!take_clock(&s, false, false, &ms) || s.n != 0) {
        return false;
    }
    *ret_ms = ms;
    return true;
}
