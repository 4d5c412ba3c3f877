#include "date.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define DAY       86400
#define COUNT_MAX 100000 /* of units ago */

/* An offset such as "Z", "+0100", "+01:00" at the end of a text; false: something else is there. */
static bool read_offset(const char *text, bool *ret_has, int *ret_seconds) {
    text += strspn(text, " ");
    *ret_has = *text != '\0';
    *ret_seconds = 0;
    if (*text == '\0' || strcasecmp(text, "z") == 0 || strcasecmp(text, "utc") == 0) {
        return true;
    }
    int hours;
    int minutes = 0;
    int end = 0;
    char sign = *text;
    if ((sign != '+' && sign != '-') ||
        (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &end) != 2 &&
         sscanf(text + 1, "%2d%2d%n", &hours, &minutes, &end) != 2) ||
        text[1 + end] != '\0' || !isdigit((unsigned char)text[1]) || hours > 15 || minutes < 0 ||
        minutes > 59) {
        return false;
    }
    *ret_seconds = (hours * 60 + minutes) * 60 * (sign == '-' ? -1 : 1);
    return true;
}

/* What stands behind the time in a text that has one, and what it means. */
static bool finish(struct tm *parts, const char *rest, int64_t *ret) {
    bool has_offset;
    int offset;
    if (*rest == '.') { /* parts of a second */
        rest++;
        rest += strspn(rest, "0123456789");
    }
    if (!read_offset(rest, &has_offset, &offset)) {
        return false;
    }
    parts->tm_isdst = -1;
    int day = parts->tm_mday;
    time_t time = has_offset ? timegm(parts) - offset : mktime(parts);
    *ret = time;
    return parts->tm_mday == day; /* there is such a day: not February 30 */
}

static bool read_absolute(const char *text, int64_t *ret) {
    static const char *const forms[] = {
            "%Y-%m-%dT%H:%M:%S",
            "%Y-%m-%d %H:%M:%S",
            "%Y-%m-%dT%H:%M",
            "%Y-%m-%d %H:%M",
            "%Y-%m-%d",
            "%Y/%m/%d",
            "%b %d, %Y",
            "%b %d %Y",
            "%d %b %Y",
            "%a %b %d %H:%M:%S %Y",
            "%a, %d %b %Y %H:%M:%S",
            "%b %d %Y %H:%M:%S",
            "%d %b %Y %H:%M:%S",
    };
    /* The longest form that fits: a shorter one would take the rest for an offset. */
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm parts = {.tm_mday = 1};
        const char *rest = strptime(text, forms[i], &parts);
        if (rest != NULL && finish(&parts, rest, ret)) {
            return true;
        }
    }
    return false;
}

/* The beginning of the day, or of one some days before, in local time. */
static int64_t day_before(int64_t now, int days) {
    time_t time = (time_t)now;
    struct tm parts;
    (void)localtime_r(&time, &parts);
    parts.tm_mday -= days;
    parts.tm_hour = 0;
    parts.tm_min = 0;
    parts.tm_sec = 0;
    parts.tm_isdst = -1;
    return mktime(&parts);
}

static bool read_ago(const char *text, int64_t now, int64_t *ret) {
    static const struct {
        const char *unit;
        int64_t seconds;
        int months;
    } units[] = {{"second", 1, 0}, {"minute", 60, 0},    {"hour", 3600, 0},
                 {"day", DAY, 0},  {"week", 7 * DAY, 0}, {"fortnight", 14 * DAY, 0},
                 {"month", 0, 1},  {"year", 0, 12}};
    char unit[16];
    char ago[8];
    char more;
    char count_text[8];
    if (sscanf(text, " %7s %15[a-zA-Z] %7[a-zA-Z] %c", count_text, unit, ago, &more) != 3 ||
        strcasecmp(ago, "ago") != 0) {
        return false;
    }
    char *end;
    long count = strcasecmp(count_text, "a") == 0 || strcasecmp(count_text, "an") == 0 ||
                                 strcasecmp(count_text, "one") == 0
                         ? 1
                         : strtol(count_text, &end, 10);
    if (isdigit((unsigned char)count_text[0]) ? *end != '\0' || count > COUNT_MAX : count != 1) {
        return false;
    }
    size_t length = strlen(unit);
    length -= length > 1 && tolower((unsigned char)unit[length - 1]) == 's';
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].unit) != length || strncasecmp(unit, units[i].unit, length) != 0) {
            continue;
        }
        time_t time = (time_t)(now - count * units[i].seconds);
        struct tm parts;
        (void)localtime_r(&time, &parts);
        parts.tm_mon -= (int)count * units[i].months;
        parts.tm_isdst = -1;
        *ret = units[i].months == 0 ? time : mktime(&parts);
        return true;
    }
    return false;
}

bool date_read(const char *text, int64_t now, int64_t *ret) {
    text += strspn(text, " ");
    if (strcasecmp(text, "now") == 0) {
        *ret = now;
        return true;
    }
    if (strcasecmp(text, "today") == 0 || strcasecmp(text, "midnight") == 0) {
        *ret = day_before(now, 0);
        return true;
    }
    if (strcasecmp(text, "yesterday") == 0) {
        *ret = day_before(now, 1);
        return true;
    }
    if (text[0] == '@' && isdigit((unsigned char)text[1])) {
        char *end;
        *ret = strtoll(text + 1, &end, 10);
        return *end == '\0' && end - text < 16;
    }
    return read_ago(text, now, ret) || read_absolute(text, ret);
}

static struct tm parts_of(int64_t time, int offset) {
    time_t local = (time_t)(time + (int64_t)offset * 60);
    struct tm parts = {0};
    (void)gmtime_r(&local, &parts);
    return parts;
}

void date_write(int64_t time, int offset, char ret[DATE_SIZE]) {
    struct tm parts = parts_of(time, offset);
    int minutes = abs(offset);
    (void)snprintf(ret, DATE_SIZE, "%04d-%02d-%02d %02d:%02d:%02d%c%02d:%02d", parts.tm_year + 1900,
                   parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                   offset < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
}

void date_write_git(int64_t time, int offset, char ret[DATE_SIZE]) {
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm parts = parts_of(time, offset);
    int minutes = abs(offset);
    (void)snprintf(ret, DATE_SIZE, "%.3s %.3s %d %02d:%02d:%02d %d %c%02d%02d",
                   days + 3 * parts.tm_wday, months + 3 * parts.tm_mon, parts.tm_mday,
                   parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_year + 1900,
                   offset < 0 ? '-' : '+', minutes / 60 % 100, minutes % 60);
}
