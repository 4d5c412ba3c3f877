/* daemon-places.h - the host that a command line and its environment mean: its state folder, its
 * configuration and its folders of plugins. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "cli/daemon-find.h"
#include "cli/options.h"

/* A mark of a configuration file. */
#define DAEMON_MARK_ROOM 96

/** A path from the root, to be freed; "" stays so. NULL for NULL, and without memory. */
char *daemon_absolute(const char *path);

/** The state folder that the command line means, from the root, to be freed; NULL: none, or no
 * memory. */
char *daemon_folder(const struct options *options);

/** Tell one content of the configuration file from another; a change that keeps time, size and file
 * is not seen. */
void daemon_mark_config(const struct options *options, char ret[static DAEMON_MARK_ROOM]);

/** The configuration file that these options name, if it is not as the mark says: to be freed.
 * NULL: it is, or no memory. */
char *daemon_differing_config(const struct options *options, const char *config_mark);

/** Add the member "options": what the command line of a daemon and its environment say of the host.
 */
void daemon_add_options(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct options *options,
                        const char *config_mark);

/** Whether a command with these options wants the host that the daemon has: what the command line
 * says of the host is as the daemon's says it, and so is what their environments say besides. */
bool daemon_is_same(const struct daemon_found *found, const struct options *options);

/** The configuration file that has changed since the daemon started; NULL: it has not, or is not
 * known. */
const char *daemon_changed_config(const struct daemon_found *found);
