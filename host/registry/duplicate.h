/* duplicate.h - tools whose name and version are taken. */
#pragma once

#include "base/log.h"
#include "registry/change.h"
#include "registry/owner.h"
#include "registry/refusal.h"

/** Keep one tool of each name and version in a sorted change: the first, and the others are
 * refused; or, with `replaces`, the last, which is reported and logged. */
void duplicates_resolve(struct change *change, bool replaces, struct toolrack_refusals *refusals,
                        const struct owner_rules *rules);

/** For a change that registers all or nothing: set the error for the first pair with the same name
 * and version. @return 0: there is none; TOOLRACK_E_EXISTS. */
int duplicates_check(const struct change *change, struct toolrack_error *err);
