#include "scale.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------ numbers */

/* The round step that is nearest to a length: 1, 2 or 5 times a power of ten. */
static double round_step(double length) {
    double power = pow(10, floor(log10(length)));
    double of_power = length / power;
    return power * (of_power < 1.5 ? 1 : of_power < 3.5 ? 2 : of_power < 7.5 ? 5 : 10);
}

/* Commas between the thousands of the digits before a point. */
static void group_thousands(const char *digits, char ret[static TICK_LABEL_SIZE]) {
    size_t whole = strspn(digits + (digits[0] == '-'), "0123456789");
    size_t length = 0;
    if (digits[0] == '-') {
        ret[length++] = *digits++;
    }
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0) {
            ret[length++] = ',';
        }
        ret[length++] = digits[i];
    }
    (void)snprintf(ret + length, TICK_LABEL_SIZE - length, "%s", digits + whole);
}

void scale_number_label(double value, double step, char ret[static TICK_LABEL_SIZE]) {
    static const struct {
        double unit;
        const char *suffix;
    } units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1, ""}};
    double size = fmax(fabs(value), step);
    value = fabs(value) < step * 1e-9 ? 0 : value;
    if (size >= 1e15 || (size < 1e-4 && value != 0)) {
        (void)snprintf(ret, TICK_LABEL_SIZE, "%.4g", value);
        return;
    }
    size_t i = 0;
    while (value != 0 && i < 3 && fabs(value) < units[i].unit) {
        i++;
    }
    i = value == 0 ? 3 : i;
    double decimals = ceil(-log10(step / units[i].unit) - 1e-9);
    int digits = decimals < 0 ? 0 : decimals > 8 ? 8 : (int)decimals;
    char plain[48];
    (void)snprintf(plain, sizeof plain, "%.*f%s", digits, value / units[i].unit, units[i].suffix);
    group_thousands(plain, ret);
}

static void add_tick(struct scale *scale, double value) {
    if (scale->count < TICKS_MAX) {
        scale->ticks[scale->count++].value = value;
    }
}

void scale_numbers(double low, double high, size_t wanted, bool round, struct scale *ret) {
    double size = fmax(fabs(low), fabs(high));
    if (!(high - low > fmax(size * 1e-9, SCALE_LENGTH_MIN))) {
        double more = size > 10 * SCALE_LENGTH_MIN ? size * 0.1 : 1;
        low -= more;
        high += more;
    }
    double step = round_step((high - low) / (double)(wanted < 1 ? 1 : wanted));
    *ret = (struct scale){.low = round ? floor(low / step + 1e-9) * step : low,
                          .high = round ? ceil(high / step - 1e-9) * step : high};
    double first = ceil(ret->low / step - 1e-9);
    for (double n = first; n * step <= ret->high + step * 1e-9 && ret->count < TICKS_MAX; n++) {
        add_tick(ret, n * step);
        scale_number_label(n * step, step, ret->ticks[ret->count - 1].label);
    }
}

/* ------------------------------------------------------------ times */

#define DAY_S 86400.0

struct date {
    int64_t year;
    int month; /* from 1 */
    int day;
};

/* Days since 1970-01-01 in the proleptic Gregorian calendar, by eras of 400 years which begin in
 * March. */
static int64_t days_of(struct date date) {
    int64_t year = date.year - (date.month <= 2);
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static struct date date_of(int64_t days) {
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t of_era = days - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    struct date date = {.month = (int)(month < 10 ? month + 3 : month - 9),
                        .day = (int)(of_year - (153 * month + 2) / 5 + 1)};
    date.year = year + era * 400 + (date.month <= 2);
    return date;
}

static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* A step of an axis of times: so many seconds, or so many months. */
struct time_step {
    double seconds; /* about, where it is months */
    int months;
};

static struct time_step choose_step(double length) {
    static const struct time_step steps[] = {{1, 0},
                                             {5, 0},
                                             {15, 0},
                                             {30, 0},
                                             {60, 0},
                                             {300, 0},
                                             {900, 0},
                                             {1800, 0},
                                             {3600, 0},
                                             {3 * 3600.0, 0},
                                             {6 * 3600.0, 0},
                                             {12 * 3600.0, 0},
                                             {DAY_S, 0},
                                             {2 * DAY_S, 0},
                                             {7 * DAY_S, 0},
                                             {14 * DAY_S, 0},
                                             {30.4 * DAY_S, 1},
                                             {91 * DAY_S, 3},
                                             {182 * DAY_S, 6},
                                             {365 * DAY_S, 12}};
    size_t count = sizeof steps / sizeof steps[0];
    for (size_t i = 0; i < count; i++) {
        if (steps[i].seconds >= length * 0.8) {
            return steps[i];
        }
    }
    double years = fmax(round_step(length / (365.25 * DAY_S)), 1);
    return (struct time_step){years * 365.25 * DAY_S, (int)(years * 12)};
}

/* With what changes from tick to tick, and what is above it where that has changed. */
static void label_time(struct tick *tick, struct time_step step, bool first) {
    int64_t days = (int64_t)floor(tick->value / DAY_S);
    int second = (int)(tick->value - (double)days * DAY_S);
    struct date date = date_of(days);
    if (step.months >= 12) {
        (void)snprintf(tick->label, sizeof tick->label, "%lld", (long long)date.year);
    } else if (step.months > 0) {
        bool year = first || date.month <= step.months;
        (void)snprintf(tick->label, sizeof tick->label, year ? "%s %lld" : "%s",
                       months[date.month - 1], (long long)date.year);
    } else if (step.seconds >= DAY_S || second == 0) {
        (void)snprintf(tick->label, sizeof tick->label, first ? "%d %s %lld" : "%d %s", date.day,
                       months[date.month - 1], (long long)date.year);
    } else if (first) {
        (void)snprintf(tick->label, sizeof tick->label, "%d %s %02d:%02d", date.day,
                       months[date.month - 1], second / 3600, second / 60 % 60);
    } else if (step.seconds >= 60) {
        (void)snprintf(tick->label, sizeof tick->label, "%02d:%02d", second / 3600,
                       second / 60 % 60);
    } else {
        (void)snprintf(tick->label, sizeof tick->label, "%02d:%02d:%02d", second / 3600,
                       second / 60 % 60, second % 60);
    }
}

static double month_at(int64_t month) {
    int64_t year = (month >= 0 ? month : month - 11) / 12;
    return (double)days_of((struct date){year, (int)(month - year * 12) + 1, 1}) * DAY_S;
}

void scale_times(double low, double high, size_t wanted, struct scale *ret) {
    if (!(high > low)) {
        low -= DAY_S / 2;
        high += DAY_S / 2;
    }
    *ret = (struct scale){.low = low, .high = high};
    struct time_step step = choose_step((high - low) / (double)(wanted < 1 ? 1 : wanted));
    if (step.months > 0) {
        struct date date = date_of((int64_t)floor(low / DAY_S));
        int64_t month = date.year * 12 + date.month - 1;
        month -= ((month % step.months) + step.months) % step.months;
        for (; month_at(month) <= high && ret->count < TICKS_MAX; month += step.months) {
            if (month_at(month) >= low) {
                add_tick(ret, month_at(month));
            }
        }
    } else {
        for (double n = ceil(low / step.seconds);
             n * step.seconds <= high && ret->count < TICKS_MAX; n++) {
            add_tick(ret, n * step.seconds);
        }
    }
    for (size_t i = 0; i < ret->count; i++) {
        label_time(&ret->ticks[i], step, i == 0);
    }
}

/* ------------------------------------------------------------ reading times */

static bool read_digits(const char **text, int count, int *ret) {
    *ret = 0;
    for (; count > 0; count--, (*text)++) {
        if (**text < '0' || **text > '9') {
            return false;
        }
        *ret = *ret * 10 + (**text - '0');
    }
    return true;
}

static bool skip(const char **text, char c) {
    if (**text != c) {
        return false;
    }
    (*text)++;
    return true;
}

static bool read_date(const char **text, struct date *ret) {
    int year;
    ret->day = 1;
    if (!read_digits(text, 4, &year) || !skip(text, '-') || !read_digits(text, 2, &ret->month) ||
        ret->month < 1 || ret->month > 12) {
        return false;
    }
    ret->year = year;
    if (**text == '-') {
        (*text)++;
        if (!read_digits(text, 2, &ret->day)) {
            return false;
        }
    }
    struct date back = date_of(days_of(*ret));
    return back.month == ret->month && back.day == ret->day;
}

/* "Z", or an offset such as +02:00 in seconds. */
static bool read_offset(const char **text, double *ret) {
    int hour;
    int minute;
    *ret = 0;
    if (**text == 'Z') {
        (*text)++;
        return true;
    }
    if (**text != '+' && **text != '-') {
        return true;
    }
    double sign = **text == '-' ? -1 : 1;
    (*text)++;
    if (!read_digits(text, 2, &hour) || !skip(text, ':') || !read_digits(text, 2, &minute)) {
        return false;
    }
    *ret = sign * (hour * 3600.0 + minute * 60.0);
    return hour < 24 && minute < 60;
}

static bool read_clock(const char **text, double *ret) {
    int hour;
    int minute;
    int second = 0;
    double offset;
    double fraction = 0;
    if (!read_digits(text, 2, &hour) || !skip(text, ':') || !read_digits(text, 2, &minute)) {
        return false;
    }
    if (**text == ':') {
        (*text)++;
        if (!read_digits(text, 2, &second)) {
            return false;
        }
        if (**text == '.') {
            double unit = 0.1;
            for ((*text)++; **text >= '0' && **text <= '9'; (*text)++, unit /= 10) {
                fraction += unit * (**text - '0');
            }
        }
    }
    if (!read_offset(text, &offset)) {
        return false;
    }
    *ret = hour * 3600.0 + minute * 60.0 + second + fraction - offset;
    return hour < 24 && minute < 60 && second < 60;
}

bool scale_read_time(const char *text, double *ret) {
    struct date date;
    double clock = 0;
    if (!read_date(&text, &date)) {
        return false;
    }
    if (*text == 'T' || *text == ' ') {
        text++;
        if (!read_clock(&text, &clock)) {
            return false;
        }
    }
    *ret = (double)days_of(date) * DAY_S + clock;
    return *text == '\0';
}
