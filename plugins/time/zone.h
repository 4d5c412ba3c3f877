/* zone.h - wall-clock time in a time zone, on ICU.
 *
 * Every function creates its own calendar for the named zone: the zone of the process (TZ) is
 * neither read nor set. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Longest IANA name that is accepted, with its zero. */
#define ZONE_NAME_SIZE 64

/** Years that are entirely Gregorian and have four digits. */
#define ZONE_YEAR_MIN 1600
#define ZONE_YEAR_MAX 9999

enum zone_result {
    ZONE_OK = 0,
    ZONE_UNKNOWN, /**< no zone of that name */
    ZONE_NO_DATE, /**< no such day, or the year is out of range */
    ZONE_SKIPPED, /**< a clock change skipped that time on that day */
    ZONE_FAILED   /**< ICU itself failed */
};

/** A moment in the local time of a zone. */
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

/** The local time of a zone at a moment. [any-thread] */
enum zone_result zone_at(const char *name, double moment, struct zone_time *ret);

/** The moment of a local time in a zone; of two such moments, the first. Reads only the day from
 * `ret`, and fills in the rest. [any-thread] */
enum zone_result zone_find(const char *name, int hour, int minute, struct zone_time *ret);
