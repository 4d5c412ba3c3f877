/* advice.h - what the author of a plugin can improve in what it states about itself: descriptions,
 * names, hints, examples, capabilities. For `check` only: a host that loads the plugin does not
 * ask.
 */
#pragma once

#include "plugin/descriptor.h"

/** Add findings about a descriptor that could be read (`plugin` is not NULL). Names of tools in
 * the findings are those of the descriptor, which must live as long as they.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int advice_check(const struct descriptor *desc, struct findings *findings);
