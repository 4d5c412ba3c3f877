#include "zone.h"

#include <string.h>

#include <unicode/ucal.h>

/* An abbreviation may mean several zones, and ICU uses the one that Java once used (BST is
 * Bangladesh). Only abbreviations that are IANA names are accepted here. */
static bool is_ambiguous(const char *name) {
    static const char *const known[] = {"UTC", "GMT", "UCT", "EST", "MST", "HST", "WET",
                                        "CET", "MET", "EET", "PRC", "ROC", "ROK"};
    if (strlen(name) != 3) {
        return false;
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(name, known[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* Copy the name as UTF-16 and check that ICU has it as a system zone: otherwise custom zones such
 * as GMT+5 would be accepted silently, and unknown names would mean GMT. */
static bool is_known(const char *name, UChar *id) {
    size_t length = strlen(name);
    if (length == 0 || length >= ZONE_NAME_SIZE || is_ambiguous(name) ||
        strcmp(name, "Etc/Unknown") == 0) {
        return false;
    }
    for (size_t i = 0; i <= length; i++) {
        id[i] = (UChar)(unsigned char)name[i]; /* a name that is not ASCII is unknown anyway */
    }
    UChar canonical[128];
    UBool is_system = 0;
    UErrorCode status = U_ZERO_ERROR;
    (void)ucal_getCanonicalTimeZoneID(id, -1, canonical, 128, &is_system, &status);
    return U_SUCCESS(status) && is_system;
}

static enum zone_result open_zone(const char *name, UCalendar **ret) {
    UChar id[ZONE_NAME_SIZE];
    if (!is_known(name, id)) {
        return ZONE_UNKNOWN;
    }
    UErrorCode status = U_ZERO_ERROR;
    *ret = ucal_open(id, -1, "en_US", UCAL_GREGORIAN, &status);
    return U_SUCCESS(status) ? ZONE_OK : ZONE_FAILED;
}

static enum zone_result read_calendar(UCalendar *calendar, struct zone_time *ret) {
    UErrorCode status = U_ZERO_ERROR;
    struct zone_time time = {
            .moment = ucal_getMillis(calendar, &status),
            .year = ucal_get(calendar, UCAL_EXTENDED_YEAR, &status),
            .month = ucal_get(calendar, UCAL_MONTH, &status) + 1,
            .day = ucal_get(calendar, UCAL_DATE, &status),
            .hour = ucal_get(calendar, UCAL_HOUR_OF_DAY, &status),
            .minute = ucal_get(calendar, UCAL_MINUTE, &status),
            .second = ucal_get(calendar, UCAL_SECOND, &status),
            .weekday = ucal_get(calendar, UCAL_DAY_OF_WEEK, &status) - UCAL_SUNDAY,
    };
    int32_t dst_ms = ucal_get(calendar, UCAL_DST_OFFSET, &status);
    time.offset_s = (ucal_get(calendar, UCAL_ZONE_OFFSET, &status) + dst_ms) / 1000;
    time.is_dst = dst_ms != 0;
    if (U_FAILURE(status)) {
        return ZONE_FAILED;
    }
    *ret = time;
    return ZONE_OK;
}

double zone_now(void) {
    return ucal_getNow();
}

enum zone_result zone_at(const char *name, double moment, struct zone_time *ret) {
    UCalendar *calendar = NULL;
    enum zone_result result = open_zone(name, &calendar);
    if (result == ZONE_OK) {
        UErrorCode status = U_ZERO_ERROR;
        ucal_setMillis(calendar, moment, &status);
        result = U_SUCCESS(status) ? read_calendar(calendar, ret) : ZONE_FAILED;
    }
    ucal_close(calendar);
    return result;
}

/* ICU changes a time that does not exist into one that does, so the time is read back and compared.
 * A whole day may be missing when a zone moved across the date line. */
static bool same_time(const struct zone_time *a, const struct zone_time *b) {
    return a->year == b->year && a->month == b->month && a->day == b->day && a->hour == b->hour &&
           a->minute == b->minute;
}

static bool day_exists(int year, int month, int day) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < ZONE_YEAR_MIN || year > ZONE_YEAR_MAX || month < 1 || month > 12 || day < 1) {
        return false;
    }
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= days[month - 1] + (leap && month == 2);
}

enum zone_result zone_find(const char *name, int hour, int minute, struct zone_time *ret) {
    UCalendar *calendar = NULL;
    enum zone_result result = open_zone(name, &calendar);
    if (result == ZONE_OK && !day_exists(ret->year, ret->month, ret->day)) {
        result = ZONE_NO_DATE;
    }
    if (result == ZONE_OK) {
        struct zone_time asked = *ret;
        asked.hour = hour;
        asked.minute = minute;
        UErrorCode status = U_ZERO_ERROR;
        ucal_setAttribute(calendar, UCAL_REPEATED_WALL_TIME, UCAL_WALLTIME_FIRST);
        ucal_clear(calendar);
        ucal_setDateTime(calendar, asked.year, asked.month - 1, asked.day, hour, minute, 0,
                         &status);
        result = U_SUCCESS(status) ? read_calendar(calendar, ret) : ZONE_FAILED;
        if (result == ZONE_OK && !same_time(&asked, ret)) {
            result = ZONE_SKIPPED;
        }
    }
    ucal_close(calendar);
    return result;
}
