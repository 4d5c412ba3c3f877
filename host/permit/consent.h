/* consent.h - keeping and withdrawing what people decide. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "permit/decisions.h"
#include "permit/permit.h"
#include "store/consent.h"
#include "store/pending.h"

#define PERMIT_MAGIC 0x74696d72u

struct permit {
    uint32_t magic; /* PERMIT_MAGIC */
    struct permit_options options;
    struct lock lock; /* held while a decision is made and takes effect; guards `stopped` */
    bool stopped;
    atomic_bool unread; /* what the store keeps could not be read for some tool */
    struct decisions decisions;
};

/** Keep that tools are approved as they are now: all or nothing, durable on return. They are
 * pinned, and what was held runs again.
 *
 * @param tools     what is pinned: versions of one name, at least one
 * @param grant     NULL: none
 * @param approval  NULL: none
 * @return 0; the store's; TOOLRACK_E_NO_MEMORY. [any-thread] */
int consent_keep(struct permit *permit, struct toolrack_tool *const *tools, size_t count,
                 const struct store_grant *grant, const struct store_approval *approval,
                 const char *who, struct toolrack_error *err);

/** Keep that this version of a tool may run from now on: in a conversation, or with NULL always.
 * It is pinned as it is now.
 * @return as consent_keep(). [any-thread] */
int consent_approve(struct permit *permit, struct toolrack_tool *tool, const char *conversation,
                    const char *who, struct toolrack_error *err);

/** Withdraw what a selector of a name selects.
 * @return 0; TOOLRACK_E_NOT_FOUND; the store's; TOOLRACK_E_NO_MEMORY. [any-thread] */
int consent_withdraw(struct permit *permit, const char *selector, const char *name,
                     struct toolrack_error *err);
