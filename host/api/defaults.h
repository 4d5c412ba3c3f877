/* defaults.h - which version a name alone means, when an administrator has said so. */
#pragma once

#include <yyjson.h>

#include "toolrack/toolrack.h"

/** Whether what was set can be read from the store. A default that names no version is logged.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int defaults_open(struct toolrack *host, struct toolrack_error *err);

/** Say in the log of each name whose default is not there, or disabled, what is called instead. For
 * the end of opening: later it is told as it happens. */
void defaults_check(struct toolrack *host);

/** Say so of a tool that has just left, or changed, when it was the default. [any-thread] */
void defaults_tell(struct toolrack *host, enum toolrack_event_kind kind,
                   const struct toolrack_tool *tool);

/** Add the object `default` to what is said of a tool. [any-thread] */
void defaults_describe(struct toolrack *host, const struct toolrack_tool *tool, yyjson_mut_doc *doc,
                       yyjson_mut_val *root);
