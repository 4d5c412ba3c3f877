/* zone.h - wall-clock time in a time zone, on ICU.
 *
 * Every function makes its own calendar, with the zone given by name: the process's own zone (TZ)
 * is neither read nor set. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Longest IANA name that is looked up, with its zero. */
#define ZONE_NAME_SIZE 64

/** Years for which the calendar is Gregorian throughout and has four digits. */
#define ZONE_YEAR_MIN 1600
#define ZONE_YEAR_MAX 9999

enum zone_result {
    ZONE_OK = 0,
    ZONE_UNKNOWN, /**< no zone of that name */
    ZONE_NO_DATE, /**< no such day, or beyond the years */
    ZONE_SKIPPED, /**< a clock change left that time out on that day */
    ZONE_FAILED   /**< ICU itself failed */
};

/** A moment as clocks of a zone show it. */
struct zone_time {
    double moment;        /**< ms since 1970 UTC */
    int year, month, day; /**< month from 1 */
    int hour, minute, second;
    int weekday;  /**< 0 is Sunday */
    int offset_s; /**< east of UTC, daylight saving included */
    bool is_dst;
};

/** Now, in ms since 1970 UTC. [any-thread] */
double zone_now(void);

/** What the clocks of a zone show at a moment. [any-thread] */
enum zone_result zone_at(const char *name, double moment, struct zone_time *ret);

/** The moment when the clocks of a zone show this; of two such moments, the first. Only the day is
 * read from `ret`, and the rest filled in. [any-thread] */
enum zone_result zone_find(const char *name, int hour, int minute, struct zone_time *ret);
