/* level.h - the levels of the protocol's log messages, as indexes: debug, info, notice, warning,
 * error, critical, alert, emergency. */
#pragma once

#define LEVEL_NONE  (-1)
#define LEVEL_FIRST 1 /* of a client of the handshake era that names none: info */

/** The index of a level's name, or LEVEL_NONE. `name` may be NULL. */
int level_find(const char *name);
/** The name of an index. */
const char *level_name(int level);
