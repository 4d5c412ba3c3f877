/* approvals.h - tools that need a confirmation, and for which a person gave it beforehand. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Most approvals kept for single conversations: they are not told when one ends. The oldest go. */
#define STORE_CONVERSATION_APPROVALS_MAX 10000

/** One approval: this version of the tool may run, whatever its arguments. */
struct store_approval {
    const char *tool;
    const char *version;
    const char *conversation; /**< in this conversation only; NULL: always */
    const char *who;
    int64_t approved_s;
};

/** Find who approved a version of a tool, always or in a conversation (NULL: in none), and while
 * the tool was of a plugin: that version is pinned for it.
 * @return as all of the store; TOOLRACK_E_NOT_FOUND without a message when nobody did.
 * [any-thread] */
int store_approval_find(struct store *store, const struct store_approval *approval,
                        const char *plugin, char ret_who[STORE_WHO_SIZE],
                        struct toolrack_error *err);

/** Find a version of a tool that is approved always, likewise. [any-thread] */
int store_approval_find_version(struct store *store, const char *tool,
                                char ret_version[STORE_WHO_SIZE], struct toolrack_error *err);

/** Visit all, by tool, version and conversation. [any-thread] */
int store_approvals_read(struct store *store,
                         void (*visit)(void *user, const struct store_approval *approval),
                         void *user, struct toolrack_error *err);
