/* duplicate.h - tools of a name and version that is taken. */
#pragma once

#include "base/log.h"
#include "registry/change.h"
#include "registry/refusal.h"

/* The rule that such a refusal names. */
#define DUPLICATE_RULE "tool-exists"

/** Leave one tool of each name and version in a change, which is sorted: the first, while the
 * others are refused; or, with `replaces`, the last, which is told and logged. */
void duplicates_resolve(struct change *change, bool replaces, struct toolrack_refusals *refusals,
                        const struct log *log);

/** For a change that registers all or nothing: the first pair of the same name and version, as an
 * error. @return 0: there is none; TOOLRACK_E_EXISTS. */
int duplicates_check(const struct change *change, struct toolrack_error *err);
