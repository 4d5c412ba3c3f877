/* origin.h - where a plugin comes from, as text.
 *
 * An id is what a plugin says of itself, so it proves nothing. What an administrator decided about
 * a plugin is therefore bound to its identity: the id and the origin. The origin is the trust and
 * the folder, without symbolic links: "community:/opt/tools". Four origins have no folder:
 * "builtin", the folder that came with toolrack, wherever it is installed; "configuration", the
 * definitions of toolrack.json; "app", what the embedding app registers; and "remote", what runs
 * elsewhere: tools of other hosts and of MCP servers, whose ids say of which. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "plugin/trust.h"

#define ORIGIN_BUILTIN       "builtin"
#define ORIGIN_CONFIGURATION "configuration"
#define ORIGIN_APP           "app"
#define ORIGIN_REMOTE        "remote"

/** The origin of the plugins in a folder, in the arena; NULL when out of memory.
 * @param real  its path without symbolic links; of a folder that does not exist, as it is written.
 * [any-thread] */
const char *origin_of_folder(struct arena *arena, enum trust trust, const char *real);

/** The text of an identity: the id, a blank, and the origin. An id has no blanks. On the heap; NULL
 * when out of memory. [any-thread] */
char *identity_text(const char *id, const char *origin);
/** The same in the arena. [any-thread] */
const char *identity_text_in(struct arena *arena, const char *id, const char *origin);

/** The length of the id in the text of an identity, or in an id alone. */
static inline size_t identity_id_length(const char *identity) {
    return strcspn(identity, " ");
}

/** Whether what is stored for `stored` applies to an identity. Databases of schema 3 have ids
 * alone: they apply to the plugin that has the id, until they are bound to the identity that owns
 * the id. (store/identities.h) */
static inline bool identity_is_of(const char *stored, const char *identity) {
    size_t length = identity_id_length(identity);
    return strncmp(stored, identity, length) == 0 &&
           (stored[length] == '\0' || strcmp(stored + length, identity + length) == 0);
}
