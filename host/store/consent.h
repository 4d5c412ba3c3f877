/* consent.h - a grant or an approval, together with a pin of the tool as it was then.
 *
 * A grant or an approval without a pin would also hold for another tool that takes the name later:
 * so both are stored, and removed, in one transaction. */
#pragma once

#include <stddef.h>

#include "store/approvals.h"
#include "store/grants.h"
#include "store/pins.h"

/** Store pins and the grant or approval of their tools: all or nothing. A pin replaces the one of
 * the same plugin, tool and version; a grant the one of the same selector; an approval the one of
 * the same version and conversation. A grant by name alone also replaces the grants of single
 * versions: the last decision holds. Grants that had expired at granted_s are removed. The call
 * that an approval answers waits no more, and its approval is nowhere else.
 *
 * @param grant, approval  NULL: none
 * @return see store.h; TOOLRACK_E_INVALID when the conversation is ""; TOOLRACK_E_NOT_FOUND when
 * the call cannot be answered, as store_pending_find(). [any-thread] */
int store_consent(struct store *store, const struct store_pin *pins, size_t pin_count,
                  const struct store_grant *grant, const struct store_approval *approval,
                  struct toolrack_error *err);

/** Remove the grants of a selector, and the approvals and pins of the tools that it names. Their
 * calls that were allowed once, and were not made since, wait again.
 *
 * @param selector    "name", which means all versions, or "name@version"
 * @param keeps_pins  the pins stay: the configuration grants the name too
 * @param order       NULL: a person's decision
 * @return see store.h; TOOLRACK_E_NOT_FOUND when there is neither a grant that has not expired nor
 *         an approval nor a pin to be removed, nor such a call: that it was withdrawn is stored all
 *         the same, for store_withdrawn(). [any-thread] */
int store_withdraw(struct store *store, const char *selector, bool keeps_pins, int64_t now_s,
                   const struct store_shared_order *order, struct toolrack_error *err);

/** A number that is another one whenever something of a version of a tool was withdrawn, stored
 * here or remembered by a host; 0: nothing was. @return see store.h. [any-thread] */
int store_withdrawn(struct store *store, const char *tool, const char *version, uint64_t *ret,
                    struct toolrack_error *err);
