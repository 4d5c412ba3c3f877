/* defaults.h - default versions that an administrator set: the version that a name alone means. */
#pragma once

#include <yyjson.h>

#include "store/shared.h"
#include "toolrack/toolrack.h"

/** Store a default version and make it the default; NULL removes it.
 * @param identity  of the plugin that has the name (store/defaults.h); NULL: not chosen
 * @param who       as host_who()
 * @param order     NULL: a person's decision here (store/shared.h)
 * @return 0; a code of the store; TOOLRACK_E_NO_MEMORY. [any-thread] */
int defaults_set(struct toolrack *host, const char *name, const char *version, const char *identity,
                 const char *who, const struct store_shared_order *order,
                 struct toolrack_error *err);

/** Check that the defaults can be read from the store. A default without a valid version is logged.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int defaults_open(struct toolrack *host, struct toolrack_error *err);

/** For each name whose default is missing or disabled, log what is called instead. Called at the
 * end of opening; later changes are logged by defaults_tell(). */
void defaults_check(struct toolrack *host);

/** The same for a tool that was just removed or changed, if it was the default. [any-thread] */
void defaults_tell(struct toolrack *host, enum toolrack_event_kind kind,
                   const struct toolrack_tool *tool);

/** Add the object `default` to the JSON about a tool. [any-thread] */
void defaults_describe(struct toolrack *host, const struct toolrack_tool *tool, yyjson_mut_doc *doc,
                       yyjson_mut_val *root);
