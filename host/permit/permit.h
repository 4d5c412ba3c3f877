/* permit.h - may this call run, and who said so?
 *
 * What people decided is kept by the store; a decision is about one plugin's tool as it looked
 * then. So each comes with a pin, and holds only for a plugin that has one: nobody inherits a
 * permission by taking a name.
 *
 *   check.c      one call: pin, permission, and who is asked
 *   grants.c     grant, revoke, and what is granted and approved
 *   approvals.c  calls that wait for an answer
 *   consent.c    what was decided; keeping and withdrawing it
 *   pins.c       tools that are not as they were approved
 *   decisions.c  the log of all that */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/log.h"
#include "config/config.h"
#include "registry/registry.h"
#include "store/decisions.h"
#include "toolrack/toolrack.h"

/* How long a call that nobody at hand could confirm waits for an answer. */
#define PENDING_EXPIRY_S 3600

struct permit;
struct toolrack; /* api's; here a name */

/* All is borrowed until permit_destroy(). */
struct permit_options {
    const struct log *log;
    struct store *store;
    struct registry *registry;
    const struct config *config; /* what it grants */
    struct toolrack *host;       /* given to the callbacks */
    /* Tell the app. [any-thread] */
    void (*event)(struct toolrack *host, const struct toolrack_event *event);
    /* Ask a person, which may take any time; NULL: nobody can be asked. No lock is held. [as
     * permit_check()] */
    int (*approve)(struct toolrack *host, const struct toolrack_approval_request *request);
};

/** NULL when out of memory. */
struct permit *permit_create(const struct permit_options *options);
/** Write what waits for the store, and end the thread that writes. The log of decisions is complete
 * then; further decisions are not kept, and nothing else changes: calls that were given up may
 * still ask. */
void permit_stop(struct permit *permit);
/** Release it, stopped or not; NULL is ignored. Nobody uses it any more. */
void permit_destroy(struct permit *permit);

/** Take over what the store has kept. @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int permit_refresh(struct permit *permit, struct toolrack_error *err);

/* --------------------------------------------------------------------- calls */

/** Whether a call may run of a tool that is not free. It may ask a person and take any time.
 * @param options  never NULL, of the full size
 * @return 0, or the code of the refusal with err set. [call-thread] */
int permit_check(struct permit *permit, struct toolrack_tool *tool,
                 const struct toolrack_call_options *options, const char *arguments, size_t length,
                 struct toolrack_error *err);

/** Whether no call of it may run, whoever agrees: it is held, or dangerous without a grant.
 * [any-thread] */
bool permit_refuses(struct permit *permit, const struct toolrack_tool *tool);

/* ---------------------------------------------------------------------- pins */

/** Compare a registration with what was approved, and hold it where its policy says so. For the
 * registry, before anybody can call it: it does not call back. [any-thread] */
void permit_compare(struct permit *permit, struct registration *reg);

/** Tell log and app where a tool that was registered is not what was approved. [any-thread] */
void permit_tell_changed(struct permit *permit, const struct toolrack_tool *tool);

/* What a tool said of itself when it was approved. Strings in the arena. */
struct permit_approved {
    const char *description; /* NULL: it is the same now */
    const char *schema;      /* likewise */
};

/** Find how a tool differs from what was approved. False: it does not, or was never approved.
 * [any-thread] */
bool permit_find_change(struct permit *permit, const struct registration *reg, struct arena *arena,
                        struct permit_approved *ret);

/* ----------------------------------------------------------------- decisions */

/** Log a decision, which is kept in the store a moment later. Its time is not read but made;
 * strings are copied. [any-thread] */
void permit_note(struct permit *permit, const struct store_decision *decision);

/* As the functions of toolrack.h that are called so. [any-thread] */
int permit_grant(struct permit *permit, const char *name, uint64_t seconds, const char *who,
                 struct toolrack_error *err);
int permit_revoke(struct permit *permit, const char *name, const char *who,
                  struct toolrack_error *err);
int permit_grants(struct permit *permit, struct toolrack_text **ret, struct toolrack_error *err);
int permit_pending(struct permit *permit, struct toolrack_text **ret, struct toolrack_error *err);
int permit_resolve(struct permit *permit, const char *id, enum toolrack_approval approval,
                   const char *who, struct toolrack_error *err);
int permit_decisions(struct permit *permit, const struct toolrack_decisions_filter *filter,
                     struct toolrack_text **ret, struct toolrack_error *err);
