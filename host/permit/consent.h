/* consent.h - what was decided, in memory, where calls look; keeping and withdrawing it. */
#pragma once

#include "base/lock.h"
#include "permit/decisions.h"
#include "permit/permit.h"
#include "store/consent.h"
#include "store/pending.h"

/* What the store keeps, in memory. Texts are owned. */
struct consents {
    struct lock writer; /* held while a decision is kept and takes effect: one at a time */
    struct lock lock;   /* guards what follows; the order is writer, then lock */
    struct store_grant *grants;
    size_t grant_count;
    struct store_approval *approvals; /* sorted by tool, version, conversation */
    size_t approval_count;
    struct store_pin *pins;
    size_t pin_count;
};

#define PERMIT_MAGIC 0x74696d72u
struct permit {
    uint32_t magic;
    struct permit_options options;
    struct consents consents;
    struct decisions decisions;
};

/** Keep that tools are approved as they are now: all or nothing, durable on return. They are
 * pinned, and what was held runs again.
 *
 * @param tools     what is pinned: versions of one name
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
 * @return 0; TOOLRACK_E_NOT_FOUND; the store's. [any-thread] */
int consent_withdraw(struct permit *permit, const char *selector, const char *name,
                     struct toolrack_error *err);

/* Room for the name of who decided, with its final zero; more is cut. */
#define CONSENT_WHO_SIZE STORE_PENDING_WHO_SIZE

/** Whether a grant holds for a tool now, of its plugin; then who gave it. [any-thread] */
bool consent_is_granted(struct permit *permit, const struct toolrack_tool *tool,
                        char ret_who[CONSENT_WHO_SIZE]);
/** Likewise an approval, for a conversation (NULL: none) or always. [any-thread] */
bool consent_is_approved(struct permit *permit, const struct toolrack_tool *tool,
                         const char *conversation, char ret_who[CONSENT_WHO_SIZE]);
/** A version of the tool that is approved always, in `ret_version`. [any-thread] */
bool consent_find_version(struct permit *permit, const struct toolrack_tool *tool,
                          char ret_version[CONSENT_WHO_SIZE]);
