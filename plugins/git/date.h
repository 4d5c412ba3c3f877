/* date.h - points in time as people and git write them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Read "2024-01-15T14:30:25+01:00" and the like (without an offset: local time), "2024-01-15",
 * "Jan 15 2024", "15 Jan 2024", "@1705329025", "now", "today", "yesterday", "3 weeks ago". A day
 * alone is its beginning. `now` is seconds since 1970, and so is the result. False: it is none of
 * these. */
bool date_read(const char *text, int64_t now, int64_t *ret);

#define DATE_SIZE 48

/** "2024-01-15 14:30:25+01:00", by minutes east of UTC. */
void date_write(int64_t time, int offset, char ret[DATE_SIZE]);

/** "Mon Jan 15 14:30:25 2024 +0100", as git does. */
void date_write_git(int64_t time, int offset, char ret[DATE_SIZE]);
