/* interest.h - tell the plugins of which resources somebody wants to hear, while nobody waits for
 * that. */
#pragma once

#include <stddef.h>

#include "toolrack/offer.h"

struct mcp;

/** Ask for SUBSCRIBE or UNSUBSCRIBE of each URI, one after the other. Nothing when the server ends.
 * All is borrowed until this returns.
 * @param plugins  as options.plugins of a call */
void interest_tell(struct mcp *mcp, enum toolrack_offer what, const char *const *uris, size_t count,
                   const char *const *plugins);
