/* formats.h - which cells of an xlsx file are dates. The file has them as numbers, days since the
 * end of 1899 or the beginning of 1904; that one is a date is said by the format of its cell only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parts.h"
#include "sink.h"

/* Most styles of cells that are looked at; programs that write such files have as many at most. */
#define FORMATS_STYLES_MAX 65536u
#define FORMATS_DATE_SIZE  32

/** The styles that cells name by number. */
struct formats {
    uint8_t *kinds; /**< owned: of each style, what its numbers are */
    size_t count;
    bool from_1904;
};

/** Read what the workbook says; a file without styles has no dates. False: it ended, as `sink`
 * says. formats_finish() is called in any case. */
bool formats_read(struct sink *sink, const struct parts *parts, struct formats *ret);
void formats_finish(struct formats *formats);

/** Write the value of a cell with a style as "2024-01-15", "14:30:00", "2024-01-15 14:30:00" or, of
 * a time that goes on beyond a day, "49:30:00". False: it is no date, or none that there is. */
bool formats_date(const struct formats *formats, size_t style, const char *value,
                  char ret[FORMATS_DATE_SIZE]);
