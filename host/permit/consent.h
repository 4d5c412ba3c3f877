/* consent.h - storing and withdrawing people's decisions. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "permit/decisions.h"
#include "permit/permit.h"
#include "store/consent.h"
#include "store/pending.h"

#define PERMIT_MAGIC 0x74696d72u

/* Stands for the plugin of a tool where a plan waits for approval. No plugin is named so: their
 * identities have an origin. */
#define PLAN_PLUGIN "plan"

struct permit {
    uint32_t magic; /* PERMIT_MAGIC */
    struct permit_options options;
    struct lock lock; /* held while a decision is made and takes effect; guards `stopped` */
    bool stopped;
    atomic_bool unread;    /* the store could not be read for some tool */
    atomic_bool withholds; /* permit_withhold(); the reason is set before, and not changed later */
    char reason[ERROR_MESSAGE_MAX];
    struct decisions decisions;
};

/** Store that tools are approved as they are now: all or none, stored on return. The tools are
 * pinned, and those that were held run again.
 *
 * @param tools     to be pinned: versions of one name, at least one
 * @param grant     NULL: none
 * @param approval  NULL: none
 * @return 0; a code of the store; TOOLRACK_E_NO_MEMORY. [any-thread] */
int consent_keep(struct permit *permit, struct toolrack_tool *const *tools, size_t count,
                 const struct store_grant *grant, const struct store_approval *approval,
                 const char *who, struct toolrack_error *err);

/** Store that this version of a tool may run from now on: in a conversation, for its caller (which
 * may be NULL) alone; or, with the conversation NULL, always. The tool is pinned as it is now.
 * @param answers  the id of the call that waited for it; NULL: none
 * @return as consent_keep(). [any-thread] */
int consent_approve(struct permit *permit, struct toolrack_tool *tool, const char *conversation,
                    const char *caller, const char *answers, const char *who,
                    struct toolrack_error *err);

/** Withdraw the grants and approvals that a selector of a name selects, and unless `keeps_pins`
 * what the tools were then.
 * @param order  NULL: a person's decision
 * @return 0; TOOLRACK_E_NOT_FOUND; a code of the store; TOOLRACK_E_NO_MEMORY. [any-thread] */
int consent_withdraw(struct permit *permit, const char *selector, const char *name, bool keeps_pins,
                     const struct store_shared_order *order, struct toolrack_error *err);
