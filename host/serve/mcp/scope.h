/* scope.h - of which plugins a principal is shown what they offer beside tools.
 *
 * Profiles and the lists of tokens name tools. Whoever is shown a part of the tools is shown the
 * resources and prompts of the plugins that it is shown at least one tool of, and no others: they
 * are not listed, and unknown to it. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "serve/mcp/mcp.h"

/** Their ids, as options.plugins of a call: in the arena. NULL: all of them.
 * @return false: out of memory */
bool scope_plugins(struct mcp *mcp, const struct principal *principal, struct arena *arena,
                   const char *const **ret);

/** Whether a plugin is one of them. */
bool scope_has(struct mcp *mcp, const struct principal *principal, const char *plugin);

/** What changes for a principal, as bits of enum change: one that is shown a part of the tools is
 * shown the resources and prompts of the plugins of these, which may be others then. */
unsigned scope_changes(struct mcp *mcp, const struct principal *principal, unsigned changes);
