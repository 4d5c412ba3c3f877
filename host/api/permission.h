/* permission.h - may this call run?
 *
 * What people decided is kept by the store and held in memory, where calls look:
 *
 *   permission.c  one call: pin, permission, and who is asked
 *   consent.c     what was decided, in memory; keeping and withdrawing it
 *   grants.c      grant, revoke, and what is granted and approved
 *   approvals.c   calls that wait for an answer
 *   pins.c        tools that are not as they were approved
 *   decisions.c   the log of all that
 *
 * A decision is about one plugin's tool as it looked then. So each comes with a pin, and holds only
 * for a plugin that has one: nobody inherits a permission by taking a name. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "registry/tool.h"
#include "store/consent.h"
#include "store/pending.h"
#include "toolrack/toolrack.h"

/* How long a call that nobody at hand could confirm waits for an answer. */
#define PENDING_EXPIRY_S 3600

/* What the store keeps, in memory. Texts are owned. */
struct consents {
    pthread_mutex_t writer; /* held while a decision is kept and takes effect: one at a time */
    pthread_mutex_t lock;   /* guards what follows; the order is writer, then lock */
    struct store_grant *grants;
    size_t grant_count;
    struct store_approval *approvals; /* sorted by tool, version, conversation */
    size_t approval_count;
    struct store_pin *pins;
    size_t pin_count;
};

/* ---------------------------------------------------------------- permission.c */

/** The permit of struct call_host; `user` is the host. [call-thread] */
int permission_check(void *user, struct toolrack_tool *tool,
                     const struct toolrack_call_options *options, const char *arguments,
                     size_t length, struct toolrack_error *err);

/** Whether no call of it may run, whoever agrees: it is held, or dangerous without a grant.
 * [any-thread] */
bool permission_is_refused(struct toolrack *host, const struct toolrack_tool *tool);

/** Keep that this version of a tool may run from now on: in a conversation, or with NULL always.
 * It is pinned as it is now.
 * @return as consent_keep(). [any-thread] */
int permission_approve(struct toolrack *host, struct toolrack_tool *tool, const char *conversation,
                       const char *who, struct toolrack_error *err);

/* ------------------------------------------------------------------- consent.c */

void consents_init(struct consents *consents);
void consents_finish(struct consents *consents);

/** Take over what the store has kept. @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int consents_read(struct toolrack *host, struct toolrack_error *err);

/** Keep that tools are approved as they are now: all or nothing, durable on return. They are
 * pinned, and what was held runs again.
 *
 * @param tools     what is pinned
 * @param grant     NULL: none
 * @param approval  NULL: none
 * @return 0; the store's; TOOLRACK_E_NO_MEMORY. [any-thread] */
int consent_keep(struct toolrack *host, struct toolrack_tool *const *tools, size_t count,
                 const struct store_grant *grant, const struct store_approval *approval,
                 const char *who, struct toolrack_error *err);

/** Withdraw what a selector names. @return 0; TOOLRACK_E_NOT_FOUND; the store's. [any-thread] */
int consent_withdraw(struct toolrack *host, const char *selector, struct toolrack_error *err);

/* Room for the name of who decided, with its final zero; more is cut. */
#define CONSENT_WHO_SIZE STORE_PENDING_WHO_SIZE

/** Whether a grant holds for a tool now, of its plugin. [any-thread] */
bool consent_is_granted(struct toolrack *host, const struct toolrack_tool *tool,
                        char ret_who[CONSENT_WHO_SIZE]);
/** Likewise an approval, for a conversation (NULL: none) or always. [any-thread] */
bool consent_is_approved(struct toolrack *host, const struct toolrack_tool *tool,
                         const char *conversation, char ret_who[CONSENT_WHO_SIZE]);
/** A version of the tool that is approved always, in `ret_version`. [any-thread] */
bool consent_find_version(struct toolrack *host, const struct toolrack_tool *tool,
                          char ret_version[CONSENT_WHO_SIZE]);

/** The pin with which a registration is compared: that of its version, else one that it equals,
 * else the latest; NULL for a tool that was never approved. Caller holds consents->lock. */
const struct store_pin *consent_find_pin(const struct consents *consents,
                                         const struct registration *reg);

/* ---------------------------------------------------------------------- pins.c */

/** Fill in what a registration says of itself, and its hash; texts are borrowed from it. */
void pin_make(const struct registration *reg, struct store_pin *ret);

/** Compare a registration with what was approved, and hold it where the policy says so. For the
 * registry, before anybody can call it; `user` is the host. [any-thread] */
void pins_check(void *user, struct registration *reg);

/** Say so where a tool that was registered is not what was approved. [any-thread] */
void pins_tell(struct toolrack *host, const struct toolrack_tool *tool);

/** Compare all registered versions of a name anew. [any-thread] */
void pins_check_name(struct toolrack *host, const char *name);
