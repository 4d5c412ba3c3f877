/* time - the current time in a zone, and times converted between zones.
 *
 * Names and formats are those of the MCP reference server "time", so that prompts written for it
 * keep working; `date` is an addition. Times are ISO 8601 with seconds and offset. A wall-clock
 * time that a clock change skips is an error; if it occurs twice, the first is used. */
#include <toolrack/plugin.h>

#include <string.h>

#include "zone.h"

/* 9999-12-31T23:59:59+14:00:00 and its zero; offsets with seconds occur in old local times. */
#define DATETIME_SIZE 32

struct moment {
    const char *timezone;
    const char *datetime;
    const char *day_of_week;
    bool is_dst;
};
TR_DEFINE_STRUCT(moment, struct moment, (TR_STRING, timezone, "IANA name of the time zone"),
                 (TR_STRING, datetime, "ISO 8601 with offset: 2025-01-31T12:00:00+01:00"),
                 (TR_STRING, day_of_week, "In English"),
                 (TR_BOOL, is_dst, "Daylight saving time is in force"))

struct conversion {
    struct moment source;
    struct moment target;
    const char *time_difference;
};
TR_DEFINE_STRUCT(conversion, struct conversion,
                 (TR_STRUCT(moment), source, "The time that was given"),
                 (TR_STRUCT(moment), target, "The same moment in the other time zone"),
                 (TR_STRING, time_difference,
                  "Hours that the target is ahead of the source: +9.0h, -3.5h, +5.75h"))

static void fail_zone(struct tr_call *call, const char *field, const char *name) {
    (void)tr_fail(
            call, TR_INVALID_ARGUMENTS, field,
            "no time zone \"%.64s\"; use an IANA name such as Europe/London, America/New_York "
            "or UTC",
            name);
}

static void fail_icu(struct tr_call *call) {
    (void)tr_fail(call, TR_FAILED, NULL, "the time zone data cannot be read");
}

static const char *copy(struct tr_call *call, const char *text) {
    size_t size = strlen(text) + 1;
    char *memory = tr_alloc(call, size);
    return memory == NULL ? NULL : memcpy(memory, text, size);
}

static void format(const struct zone_time *time, char text[DATETIME_SIZE]) {
    int offset = time->offset_s < 0 ? -time->offset_s : time->offset_s;
    int used = snprintf(text, DATETIME_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u%c%02u:%02u",
                        (unsigned)time->year % 10000U, (unsigned)time->month % 100U,
                        (unsigned)time->day % 100U, (unsigned)time->hour % 100U,
                        (unsigned)time->minute % 100U, (unsigned)time->second % 100U,
                        time->offset_s < 0 ? '-' : '+', (unsigned)offset / 3600U % 100U,
                        (unsigned)offset / 60U % 60U);
    if (offset % 60 != 0 && used > 0 && used < DATETIME_SIZE) {
        (void)snprintf(text + used, DATETIME_SIZE - (size_t)used, ":%02u", (unsigned)offset % 60U);
    }
}

static struct moment describe(struct tr_call *call, const char *name,
                              const struct zone_time *time) {
    static const char *const days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                       "Thursday", "Friday", "Saturday"};
    char text[DATETIME_SIZE];
    format(time, text);
    return (struct moment){.timezone = copy(call, name),
                           .datetime = copy(call, text),
                           .day_of_week = days[time->weekday % 7],
                           .is_dst = time->is_dst};
}

static struct moment get_current_time(struct tr_call *call, const char *timezone) {
    struct zone_time time;
    switch (zone_at(timezone, zone_now(), &time)) {
    case ZONE_OK: return describe(call, timezone, &time);
    case ZONE_UNKNOWN: fail_zone(call, "timezone", timezone); break;
    default: fail_icu(call); break;
    }
    return (struct moment){0};
}

/* Read at least one and at most `max` digits, and step over them. */
static bool read_number(const char **text, int max, int *ret) {
    int value = 0;
    int count = 0;
    for (; count < max && **text >= '0' && **text <= '9'; (*text)++, count++) {
        value = value * 10 + (**text - '0');
    }
    *ret = value;
    return count > 0;
}

static bool skip(const char **text, char expected) {
    if (**text != expected) {
        return false;
    }
    (*text)++;
    return true;
}

static bool read_time(const char *text, int *ret_hour, int *ret_minute) {
    return read_number(&text, 2, ret_hour) && skip(&text, ':') &&
           read_number(&text, 2, ret_minute) && *text == '\0' && *ret_hour < 24 && *ret_minute < 60;
}

static bool read_date(const char *text, struct zone_time *ret) {
    return read_number(&text, 4, &ret->year) && skip(&text, '-') &&
           read_number(&text, 2, &ret->month) && skip(&text, '-') &&
           read_number(&text, 2, &ret->day) && *text == '\0';
}

/* Find the moment that is asked about. Without a date, the day is the current day in the source's
 * zone. False: the call has been failed. */
static bool find_source(struct tr_call *call, const char *zone, const char *time, const char *date,
                        struct zone_time *ret) {
    int hour;
    int minute;
    if (!read_time(time, &hour, &minute)) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "time",
                      "must be HH:MM in 24-hour form, such as 09:30 or 17:05");
        return false;
    }
    enum zone_result result = ZONE_OK;
    if (date == NULL) {
        result = zone_at(zone, zone_now(), ret);
    } else if (!read_date(date, ret)) {
        result = ZONE_NO_DATE;
    }
    if (result == ZONE_OK) {
        result = zone_find(zone, hour, minute, ret);
    }
    switch (result) {
    case ZONE_OK: return true;
    case ZONE_UNKNOWN: fail_zone(call, "source_timezone", zone); return false;
    case ZONE_NO_DATE:
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "date",
                      "is no day from %d to %d in the form YYYY-MM-DD, such as 2025-01-31",
                      ZONE_YEAR_MIN, ZONE_YEAR_MAX);
        return false;
    case ZONE_SKIPPED:
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "time",
                      "%02d:%02d does not exist in %.64s on that day: the clocks were changed",
                      hour, minute, zone);
        return false;
    default: fail_icu(call); return false;
    }
}

/* With one or two decimals: +9.0h, +5.5h, +5.75h. */
static const char *difference(struct tr_call *call, int seconds) {
    char text[32];
    int size = snprintf(text, sizeof text, "%+.2f", seconds / 3600.0);
    if (size > 0 && text[size - 1] == '0') {
        size--;
    }
    (void)snprintf(text + size, sizeof text - (size_t)size, "h");
    char *point = strpbrk(text, ","); /* the process may have set a locale */
    if (point != NULL) {
        *point = '.';
    }
    return copy(call, text);
}

static struct conversion convert_time(struct tr_call *call, const char *source_timezone,
                                      const char *time, const char *target_timezone,
                                      const char *date) {
    struct conversion result = {0};
    struct zone_time source;
    struct zone_time target;
    if (!find_source(call, source_timezone, time, date, &source)) {
        return result;
    }
    switch (zone_at(target_timezone, source.moment, &target)) {
    case ZONE_OK:
        result.source = describe(call, source_timezone, &source);
        result.target = describe(call, target_timezone, &target);
        result.time_difference = difference(call, target.offset_s - source.offset_s);
        break;
    case ZONE_UNKNOWN: fail_zone(call, "target_timezone", target_timezone); break;
    default: fail_icu(call); break;
    }
    return result;
}

/* clang-format off */
TR_TOOL(get_current_time,
    ("Get the current date, time and day of the week in a time zone. Use it whenever an answer depends "
     "on what time or day it is now.",
     .title = "Current time", .category = "time", .tags = "time,date,clock,timezone,now,today",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"timezone": "Europe/Warsaw"}), NULL))),
    TR_STRUCT(moment), TR_CALL,
    (TR_STRING, timezone, "IANA time zone name, such as America/New_York or Europe/London; UTC if the "
     "user's time zone is not known", TR_DEFAULT("UTC"), .max_length = 63))

TR_TOOL(convert_time,
    ("Convert a wall-clock time from one time zone to another, with daylight saving time of that day "
     "taken into account. Also gives the difference in hours.",
     .title = "Convert time", .category = "time", .tags = "time,date,timezone,convert,dst",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"source_timezone": "UTC", "time": "23:59",
                               "target_timezone": "Asia/Tokyo", "date": "2000-02-29"}),
                    TR_SCHEMA({"source": {"timezone": "UTC", "datetime": "2000-02-29T23:59:00+00:00",
                                          "day_of_week": "Tuesday", "is_dst": false},
                               "target": {"timezone": "Asia/Tokyo",
                                          "datetime": "2000-03-01T08:59:00+09:00",
                                          "day_of_week": "Wednesday", "is_dst": false},
                               "time_difference": "+9.0h"})),
         TR_EXAMPLE(TR_SCHEMA({"source_timezone": "UTC", "time": "14:00",
                               "target_timezone": "Asia/Tokyo"}), NULL))),
    TR_STRUCT(conversion), TR_CALL,
    (TR_STRING, source_timezone, "IANA time zone name that the time is in, such as Europe/London",
     .max_length = 63),
    (TR_STRING, time, "Time to convert, HH:MM in 24-hour form",
     .pattern = "^([01]?[0-9]|2[0-3]):[0-5]?[0-9]$"),
    (TR_STRING, target_timezone, "IANA time zone name to convert to, such as Asia/Tokyo",
     .max_length = 63),
    (TR_OPTIONAL(TR_STRING), date, "Day in the source time zone, YYYY-MM-DD; today if left out",
     .pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", .format = "date"))

TR_PLUGIN(("time", .description = "Tells and converts time in all time zones", .vendor = "toolrack",
           .license = "MIT", .flags = TR_THREAD_SAFE),
          "1.0.0", get_current_time, convert_time)
