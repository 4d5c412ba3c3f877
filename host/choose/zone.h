/* zone.h - local time in a zone, from the files of tzdata. Neither TZ nor the locale of the process
 * has a part in it. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/** How far the local time of a zone is from UTC at a moment.
 * @param name   IANA name, such as "Asia/Shanghai"; "UTC" needs no file
 * @param at_ms  UTC, since 1970
 * @param ret    minutes, such as 480
 * @return 0; TOOLRACK_E_INVALID for a zone that this machine does not know. [any-thread] */
int zone_offset(const char *name, int64_t at_ms, int32_t *ret, struct toolrack_error *err);
