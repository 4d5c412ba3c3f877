/* approvals.h - approvals that persons gave in advance, for tools that need confirmation. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Most approvals kept that are for one conversation: the store does not learn when a conversation
 * ends. Beyond, the oldest are removed. */
#define STORE_CONVERSATION_APPROVALS_MAX 10000

/** One approval: this version of the tool may run with any arguments. */
struct store_approval {
    const char *tool;
    const char *version;
    const char *conversation; /**< in this conversation only; NULL: in all */
    const char *caller; /**< of the calls in the conversation only; "": those without one; NULL:
                             whoever calls, as always where it is for all conversations */
    const char *who;
    int64_t approved_s;
    const char *answers; /**< the id of the call that waited for it (pending.h); NULL: none */
};

/** Find who approved a version of a tool, always or for the given caller (NULL: none) in the given
 * conversation (NULL: always only).
 * The version must also be pinned for the given plugin.
 * @return see store.h; TOOLRACK_E_NOT_FOUND without a message when there is no approval.
 * [any-thread] */
int store_approval_find(struct store *store, const struct store_approval *approval,
                        const char *plugin, char ret_who[STORE_WHO_SIZE],
                        struct toolrack_error *err);

/** Find a version of a tool that is approved always. @return the same. [any-thread] */
int store_approval_find_version(struct store *store, const char *tool,
                                char ret_version[STORE_WHO_SIZE], struct toolrack_error *err);

/** Visit all, ordered by tool, version, conversation and caller. [any-thread] */
int store_approvals_read(struct store *store,
                         void (*visit)(void *user, const struct store_approval *approval),
                         void *user, struct toolrack_error *err);
