/* permit.h - may this call run, and who decided that?
 *
 * The store keeps people's decisions. A decision applies to one plugin's tool as it was then: it is
 * stored with a pin, and holds only for the plugin that has the pin. Another plugin does not get a
 * permission by using the same name.
 *
 *   check.c      one call: pin, permission, and whether a person is asked
 *   plans.c      several calls that a person is asked about at once
 *   grants.c     grant, revoke
 *   grants-list.c  lists of grants and approvals, and whether they count
 *   approvals.c  calls that wait for an answer
 *   consent.c    storing and withdrawing decisions
 *   standing.c   the effect of decisions on registered tools
 *   decisions.c  the log of decisions */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "permit/standing.h"
#include "registry/registry.h"
#include "store/decisions.h"
#include "store/writer.h"
#include "toolrack/toolrack.h"

/* How long a call waits for an answer when no person could be asked at once. */
#define PENDING_EXPIRY_S 3600

struct permit;
struct toolrack; /* of api; opaque here */

/* All pointers are borrowed until permit_destroy(). */
struct permit_options {
    const struct log *log;
    struct store *store;
    struct store_writer *writer; /* for the log of decisions */
    struct registry *registry;
    const struct config *config; /* for the grants in it */
    struct toolrack *host;       /* given to the callbacks */
    /* Send an event to the app. [any-thread] */
    void (*event)(struct toolrack *host, const struct toolrack_event *event);
    /* Ask a person, which may take any time; NULL: no person can be asked. No lock is held. [as
     * permit_check()] */
    int (*approve)(struct toolrack *host, const struct toolrack_approval_request *request);
    /* Whether the tool takes the arguments, as toolrack_arguments_check(): a person is asked only
     * about a call that can run. NULL: all are taken. */
    int (*check_arguments)(const struct toolrack_tool *tool, const char *arguments, size_t length,
                           struct toolrack_error *err);
};

/** NULL when out of memory. */
struct permit *permit_create(const struct permit_options *options);
/** Store no more decisions, so that the registry can be destroyed. An answer that still comes
 * allows that one call only. NULL is ignored. [any-thread] */
void permit_stop(struct permit *permit);
/** Write the waiting decisions to the store. [any-thread] */
void permit_flush(struct permit *permit);
/** Flush and release it; NULL is ignored. No other thread may use it, and the writer is stopped. */
void permit_destroy(struct permit *permit);

/** Read the decisions about all registered tools from the store again.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. On failure nothing is granted, not by the
 *         configuration either, and calls that need a decision read again. [any-thread] */
int permit_refresh(struct permit *permit, struct toolrack_error *err);

/** Read the settings and the decisions about all registered tools from the store again, as one
 * change of the registry: another process has made some. The permit must not be stopped meanwhile.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY: nothing has changed, and calls that need a
 *         decision read again. [any-thread] */
int permit_follow(struct permit *permit, struct toolrack_error *err);

/** Some of what was decided about plugins or tools cannot be read, for the given reason: from now
 * on tools that are registered are refused (registration_set_unread()), even if their own decisions
 * can be read, until permit_admit(). Only the first reason counts. [any-thread] */
void permit_withhold(struct permit *permit, const char *reason);
bool permit_withholds(struct permit *permit);
/** All of it was read: end that, also for the tools that are registered.
 * @return as permit_follow(). [any-thread] */
int permit_admit(struct permit *permit, struct toolrack_error *err);

/* --------------------------------------------------------------------- calls */

/** Whether a call of a tool that is not free may run. May ask a person and take any time.
 * @param options    never NULL, of the full size
 * @param cancelled  set when nobody wants the call any more: it is not kept for an answer; may be
 *                   NULL
 * @return 0, or the code of the refusal with err set. [call-thread] */
int permit_check(struct permit *permit, struct toolrack_tool *tool,
                 const struct toolrack_call_options *options, const char *arguments, size_t length,
                 const atomic_bool *cancelled, struct toolrack_error *err);

/** Note in the log of decisions that a call is refused for what its tool calls itself.
 * @param rule  that refuses it
 * @param err   the refusal [call-thread] */
void permit_note_refusal(struct permit *permit, struct toolrack_tool *tool,
                         const struct toolrack_call_options *options, const char *rule,
                         const struct toolrack_error *err);

/** Whether a call of a tool would ask a person, if it began now. Nothing is asked.
 * @param options   as of permit_check()
 * @param ret_asks  set to true only if a person would be asked
 * @return 0, or the code of the refusal with err set. [call-thread] */
int permit_foresee(struct permit *permit, struct toolrack_tool *tool,
                   const struct toolrack_call_options *options, bool *ret_asks,
                   struct toolrack_error *err);

/* Most characters of the name of a plan that a person reads in a question. */
#define PERMIT_PLAN_NAME_MAX 100u

/** Several calls that a person is asked about at once, before the first is made. */
struct permit_plan {
    const char *name;   /* what is asked about, in the place of a tool: plan "NAME" */
    const char *sha256; /* hexadecimal digits: the answer is for this alone */
    const char *reason;
    const char *calls;                  /* JSON: what is asked about */
    const char *masked;                 /* the same without secrets; NULL: it has none */
    struct toolrack_tool *const *tools; /* that ask; one may be there several times */
    size_t count;
};

/** Ask a person about a plan: the app's approver, or the answer to an earlier attempt.
 * @param ret_any  set to whether the tools may run with any arguments, not only those of `calls`
 * @param ret_who  receives who agreed
 * @return 0: the person agrees; else as permit_check(). [call-thread] */
int permit_ask_plan(struct permit *permit, const struct permit_plan *plan,
                    const struct toolrack_call_options *options, bool *ret_any,
                    char ret_who[STORE_WHO_SIZE], struct toolrack_error *err);

/** A number that is another one after a yes to the tool was taken back, by whatever process.
 * @param ret_kept  receives the part of it that outlives the process; may be NULL
 * @return 0; a code of the store. [any-thread] */
int permit_standing(struct permit *permit, const struct toolrack_tool *tool, uint64_t *ret,
                    uint64_t *ret_kept, struct toolrack_error *err);

/** Visit the grants of the configuration that have no effect, each with a sentence that says so,
 * cut and made one line. What has changed is not among them: see permit_describe_change().
 * [any-thread] */
typedef void permit_take_idle(void *user, const char *granted, const char *text);
void permit_visit_idle(struct permit *permit, permit_take_idle *take, void *user);

/** Log them. To be called when the plugins are registered. [any-thread] */
void permit_check_configured(struct permit *permit);

/* ---------------------------------------------------------------------- pins */

/** Compare new tools with what was approved, hold them where their policy says so, and set their
 * grants. If the store cannot be read, they are registered without grants. For
 * registry_options.registering.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int permit_registering(struct permit *permit, struct toolrack_tool *const *tools, size_t count,
                       struct toolrack_error *err);

/** Write that a registered tool is not as it was approved, as one line; "" if it is. [any-thread]
 */
void permit_describe_change(const struct toolrack_tool *tool, char ret[ERROR_MESSAGE_MAX]);

/** Log that, and send an event, if a registered tool is not as it was approved. [any-thread] */
void permit_tell_changed(struct permit *permit, const struct toolrack_tool *tool);

/** Find how a tool differs from its approved state.
 * @return 0: it does; TOOLRACK_E_NOT_FOUND without a message: it does not, or was never approved; a
 *         code of the store; TOOLRACK_E_NO_MEMORY. [any-thread] */
int permit_find_change(struct permit *permit, const struct registration *reg, struct arena *arena,
                       struct permit_approved *ret, struct toolrack_error *err);

/* ----------------------------------------------------------------- decisions */

/** Log a decision, which is stored a little later. Its time member is ignored: the present time is
 * used. Strings are copied. [any-thread] */
void permit_note(struct permit *permit, const struct store_decision *decision);

/* As the functions of toolrack.h with these names; `order` NULL is a person's decision here
 * (store/shared.h). [any-thread] */
int permit_grant(struct permit *permit, const char *name, uint64_t seconds, const char *who,
                 const struct store_shared_order *order, struct toolrack_error *err);
int permit_revoke(struct permit *permit, const char *name, const char *who,
                  const struct store_shared_order *order, struct toolrack_error *err);
int permit_grants(struct permit *permit, struct toolrack_text **ret, struct toolrack_error *err);
int permit_pending(struct permit *permit, const struct toolrack_pending_filter *filter,
                   struct toolrack_text **ret, struct toolrack_error *err);
int permit_resolve(struct permit *permit, const char *id, enum toolrack_approval approval,
                   const char *who, struct toolrack_error *err);
int permit_decisions(struct permit *permit, const struct toolrack_decisions_filter *filter,
                     struct toolrack_text **ret, struct toolrack_error *err);
