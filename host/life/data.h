/* data.h - ${data}: a folder for each plugin, outside of the state folder.
 *
 * It belongs to the plugin's identity: its name is the id and a hash of id and origin, so that no
 * other file that says the same id gets it. */
#pragma once

#include "base/arena.h"
#include "config/places.h"

/** The folder of a plugin, in the arena; NULL: there is no place for it (no HOME), or no memory.
 * [any-thread] */
const char *data_folder(struct arena *arena, const struct places *places, const char *id,
                        const char *origin);

/** Make it, for this user alone. NULL: it is there; else why not, in the arena. [any-thread] */
const char *data_make(struct arena *arena, const char *folder);
