/* A zone in a file of tzdata (RFC 9636): the moments at which its offset changes, and a rule in a
 * line of text for the time after the last of them. Only the second part of a file is used, that
 * has moments of 64 bits. */
#include "choose/zone.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"

#define ZONE_FOLDER   "/usr/share/zoneinfo/"
#define ZONE_NAME_MAX 64u
/* The largest file of tzdata has 4 KiB. */
#define ZONE_FILE_MAX 16384u
#define HEADER_SIZE   44u
#define DAY           86400

struct bytes {
    const unsigned char *data;
    size_t size;
};

/* Moments, types of local time, and the line behind them; all inside the file. */
struct zone {
    size_t count;
    size_t type_count;
    const unsigned char *moments; /* 8 bytes each */
    const unsigned char *indexes; /* 1 byte each */
    const unsigned char *types;   /* 6 bytes each, the offset in the first 4 */
    const char *rule;             /* ends with zero */
};

static uint64_t number_at(const unsigned char *data, size_t size) {
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        number = number << 8 | data[i];
    }
    return number;
}

/* Sizes of what stands behind a header: leap seconds, UT and standard indicators, names. */
static size_t rest_size(const unsigned char *header, size_t moment_size) {
    return (size_t)number_at(header + 28, 4) * (moment_size + 4) + number_at(header + 24, 4) +
           number_at(header + 20, 4) + number_at(header + 40, 4);
}

static size_t table_size(const unsigned char *header, size_t moment_size) {
    return (size_t)number_at(header + 32, 4) * (moment_size + 1) +
           (size_t)number_at(header + 36, 4) * 6;
}

/* Past the header and what it announces; false: the file is too short or no such file. */
static bool skip_part(struct bytes *file, size_t moment_size) {
    if (file->size < HEADER_SIZE || memcmp(file->data, "TZif", 4) != 0) {
        return false;
    }
    size_t size =
            HEADER_SIZE + table_size(file->data, moment_size) + rest_size(file->data, moment_size);
    if (size > file->size) {
        return false;
    }
    file->data += size;
    file->size -= size;
    return true;
}

/* The file ends with zero, which is not counted. */
static bool read_zone(struct bytes file, struct zone *ret) {
    if (!skip_part(&file, 4)) {
        return false;
    }
    const unsigned char *header = file.data;
    if (!skip_part(&file, 8)) {
        return false;
    }
    ret->count = number_at(header + 32, 4);
    ret->type_count = number_at(header + 36, 4);
    ret->moments = header + HEADER_SIZE;
    ret->indexes = ret->moments + ret->count * 8;
    ret->types = ret->indexes + ret->count;
    ret->rule = file.size > 0 && file.data[0] == '\n' ? (const char *)file.data + 1 : "";
    return ret->type_count > 0;
}

/* ---------------------------------------------------------------------- rule */

/* A rule such as "CET-1CEST,M3.5.0,M10.5.0/3": each reader goes past what it reads. */

static bool skip_name(const char **at) {
    const char *from = *at;
    if (**at == '<') {
        const char *end = strchr(*at, '>');
        *at = end != NULL ? end + 1 : *at;
        return end != NULL;
    }
    while (ascii_is_letter(**at)) {
        (*at)++;
    }
    return *at > from;
}

static int read_number(const char **at) {
    int number = 0;
    while (ascii_is_digit(**at)) {
        number = number < 100000 ? number * 10 + (**at - '0') : number;
        (*at)++;
    }
    return number;
}

/* "-3:30", in seconds. */
static int read_clock(const char **at) {
    int sign = **at == '-' ? -1 : 1;
    *at += **at == '-' || **at == '+';
    int seconds = read_number(at) * 3600;
    for (int unit = 60; **at == ':' && unit > 0; unit /= 60) {
        (*at)++;
        seconds += read_number(at) * unit;
    }
    return sign * seconds;
}

static bool is_leap(int64_t year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days since 1970-01-01 of the first of January. */
static int64_t days_of_year(int64_t year) {
    int64_t past = year - 1;
    return past * 365 + past / 4 - past / 100 + past / 400 - 719162;
}

/* ",M3.5.0/2" in a year: seconds since 1970 of local time; false: another form. */
static bool read_change(const char **at, int64_t year, int64_t *ret) {
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    if (strncmp(*at, ",M", 2) != 0) {
        return false;
    }
    *at += 2;
    int month = read_number(at);
    *at += **at == '.';
    int week = read_number(at);
    *at += **at == '.';
    int weekday = read_number(at);
    if (month < 1 || month > 12 || week < 1 || week > 5 || weekday > 6) {
        return false;
    }
    int64_t first = days_of_year(year) + before[month - 1] + (is_leap(year) && month > 2);
    int length = before[month] - before[month - 1] + (is_leap(year) && month == 2);
    /* The first of January 1970 was a Thursday. */
    int64_t first_weekday = ((first + 4) % 7 + 7) % 7;
    int64_t day = (weekday - first_weekday + 7) % 7 + (week - 1) * 7;
    day -= day >= length ? 7 : 0;
    int clock = 2 * 3600;
    if (**at == '/') {
        (*at)++;
        clock = read_clock(at);
    }
    *ret = (first + day) * DAY + clock;
    return true;
}

/* The offset in seconds by a rule; false: it has a form that is not known. */
static bool offset_by_rule(const char *rule, int64_t moment, int32_t *ret) {
    const char *at = rule;
    if (!skip_name(&at) || (*at != '-' && *at != '+' && !ascii_is_digit(*at))) {
        return false;
    }
    int32_t standard = -read_clock(&at);
    *ret = standard;
    if (*at == '\n' || *at == '\0') {
        return true;
    }
    if (!skip_name(&at)) {
        return false;
    }
    int32_t summer = *at == ',' ? standard + 3600 : -read_clock(&at);
    int64_t days = (moment + standard) / DAY;
    int64_t year = 1970 + days * 400 / 146097;
    year -= days_of_year(year) > days;
    year += days_of_year(year + 1) <= days;
    int64_t start;
    int64_t end;
    if (!read_change(&at, year, &start) || !read_change(&at, year, &end)) {
        return false;
    }
    start -= standard;
    end -= summer;
    bool is_summer =
            start < end ? moment >= start && moment < end : moment >= start || moment < end;
    *ret = is_summer ? summer : standard;
    return true;
}

/* -------------------------------------------------------------------- offset */

static int32_t offset_of_type(const struct zone *zone, size_t type) {
    type = type < zone->type_count ? type : 0;
    return (int32_t)(uint32_t)number_at(zone->types + type * 6, 4);
}

static int32_t offset_at(const struct zone *zone, int64_t moment) {
    size_t later = 0; /* moments that are not after it */
    int32_t offset;
    while (later < zone->count && (int64_t)number_at(zone->moments + later * 8, 8) <= moment) {
        later++;
    }
    if (later == zone->count && offset_by_rule(zone->rule, moment, &offset)) {
        return offset;
    }
    return offset_of_type(zone, later == 0 ? 0 : zone->indexes[later - 1]);
}

/* Letters, digits and a few signs: no name leads out of the folder. */
static bool is_zone_name(const char *name) {
    size_t length = strnlen(name, ZONE_NAME_MAX);
    if (length == 0 || length == ZONE_NAME_MAX || !ascii_is_letter(name[0])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_alnum(name[i]) && strchr("_+-/", name[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* The file and a zero behind it; the size, or -1: there is none that can be read. */
static ssize_t read_file(const char *name, unsigned char *bytes, size_t room) {
    char path[sizeof ZONE_FOLDER + ZONE_NAME_MAX];
    (void)snprintf(path, sizeof path, "%s%s", ZONE_FOLDER, name);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t size = fd >= 0 ? read(fd, bytes, room - 1) : -1;
    if (size >= 0) {
        bytes[size] = '\0';
    }
    return size;
}

int zone_offset(const char *name, int64_t at_ms, int32_t *ret, struct toolrack_error *err) {
    unsigned char bytes[ZONE_FILE_MAX];
    struct zone zone;
    if (strcmp(name, "UTC") == 0) {
        *ret = 0;
        return 0;
    }
    ssize_t size = is_zone_name(name) ? read_file(name, bytes, sizeof bytes) : -1;
    if (size < 0 || !read_zone((struct bytes){bytes, (size_t)size}, &zone)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the time zone '%.64s' is not known on this machine: it is no file in "
                         "%s, such as Asia/Shanghai",
                         name, ZONE_FOLDER);
    }
    int64_t moment = (at_ms >= 0 ? at_ms : at_ms - 999) / 1000;
    *ret = offset_at(&zone, moment) / 60;
    return 0;
}
