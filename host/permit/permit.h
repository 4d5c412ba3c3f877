/* permit.h - may this call run, and who said so?
 *
 * What people decided is kept by the store; a decision is about one plugin's tool as it looked
 * then. So each comes with a pin, and holds only for a plugin that has one: nobody inherits a
 * permission by taking a name.
 *
 *   check.c      one call: pin, permission, and who is asked
 *   grants.c     grant, revoke, and what is granted and approved
 *   approvals.c  calls that wait for an answer
 *   consent.c    keeping and withdrawing what was decided
 *   standing.c   what that means for tools that are registered
 *   decisions.c  the log of all that */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "permit/standing.h"
#include "registry/registry.h"
#include "store/decisions.h"
#include "store/writer.h"
#include "toolrack/toolrack.h"

/* How long a call that nobody at hand could confirm waits for an answer. */
#define PENDING_EXPIRY_S 3600

struct permit;
struct toolrack; /* api's; here a name */

/* All is borrowed until permit_destroy(). */
struct permit_options {
    const struct log *log;
    struct store *store;
    struct store_writer *writer; /* of the log of decisions */
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
/** Decide nothing more: the registry may end. A person who is still asked allows one call at most;
 * NULL is ignored. [any-thread] */
void permit_stop(struct permit *permit);
/** Write the decisions that wait for the writer. [any-thread] */
void permit_flush(struct permit *permit);
/** Flush and release it; NULL is ignored. Nobody uses it any more, and the writer is stopped. */
void permit_destroy(struct permit *permit);

/** Read anew what the store says of all tools that are registered.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. On failure nothing is granted but by the
 * configuration, and calls that need a decision read again. [any-thread] */
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
bool permit_refuses(const struct toolrack_tool *tool);

/* ---------------------------------------------------------------------- pins */

/** Compare new tools with what was approved, hold them where their policy says so, and set their
 * grants. Where the store cannot be read they are registered without. For
 * registry_options.registering.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int permit_registering(struct permit *permit, struct toolrack_tool *const *tools, size_t count,
                       struct toolrack_error *err);

/** Tell log and app where a tool that was registered is not what was approved. [any-thread] */
void permit_tell_changed(struct permit *permit, const struct toolrack_tool *tool);

/** Find how a tool differs from what was approved.
 * @return 0: it does; TOOLRACK_E_NOT_FOUND without a message: it does not, or was never approved;
 *         the store's; TOOLRACK_E_NO_MEMORY. [any-thread] */
int permit_find_change(struct permit *permit, const struct registration *reg, struct arena *arena,
                       struct permit_approved *ret, struct toolrack_error *err);

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
