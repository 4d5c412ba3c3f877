/* consent.h - what was decided about a tool, together with how the tool looked then.
 *
 * A grant or an approval without a pin would hold for whatever takes that name later: so the two
 * are kept, and withdrawn, at once. */
#pragma once

#include <stddef.h>

#include "store/approvals.h"
#include "store/grants.h"
#include "store/pins.h"

/** Keep pins, and what was decided about their tools: all or nothing. Each takes the place of what
 * was kept for the same plugin, tool and version; for the same selector; for the same version and
 * conversation. A grant by name alone takes the place of those of single versions as well: what was
 * decided last holds. Grants that had expired at granted_s are removed.
 *
 * @param grant, approval  NULL: none
 * @return as all of the store; TOOLRACK_E_INVALID when the conversation is "". [any-thread] */
int store_consent(struct store *store, const struct store_pin *pins, size_t pin_count,
                  const struct store_grant *grant, const struct store_approval *approval,
                  struct toolrack_error *err);

/** Remove the grants of a selector, and the approvals and pins of the tools that it names.
 *
 * @param selector  "name", which stands for all versions, or "name@version"
 * @return as all of the store; TOOLRACK_E_NOT_FOUND when there is neither a grant that has not
 *         expired nor an approval. [any-thread] */
int store_withdraw(struct store *store, const char *selector, int64_t now_s,
                   struct toolrack_error *err);
