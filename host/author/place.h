/* place.h - the temporary folder of a test, and the hosts that are opened in it.
 *
 *     plugins/     a copy of the plugin, alone
 *     home/ work/ tmp/  of the children: home, working folder, temporary files
 *     process.json none.json  configurations for either isolation */
#pragma once

#include "author/inside.h"
#include "base/error.h"

/** Make the folder with all that is in it. @return 0; TOOLRACK_E_NOT_FOUND, TOOLRACK_E_IO,
 * TOOLRACK_E_NO_MEMORY. */
int place_make(struct session *session, struct toolrack_error *err);

/** Write the configurations, when the id of the plugin is known; NULL: it is not. */
int place_configure(struct session *session, struct toolrack_error *err);

/** Remove it. */
void place_remove(struct session *session);

/** Be in it, for a child: working folder, environment, output. False: that failed. */
bool place_enter(const struct session *session);

/** Open a host there. `err` is of the library. */
int place_open(const struct session *session, bool in_process,
               void (*event)(void *user, const struct toolrack_event *event), void *user,
               struct toolrack **ret, struct toolrack_error *err);

/** The path of the copy; of a fixed size with its end. */
#define PLACE_ROOM 4352u
const char *place_path(const struct session *session, const char *name, char ret[PLACE_ROOM]);
/** The copy of the plugin. */
const char *place_plugin(const struct session *session, char ret[PLACE_ROOM]);
