/* pending.h - calls that wait for approval.
 *
 * A call is stored here when no person can approve it at once. A person lists the waiting calls and
 * answers; the caller calls again, and the host takes the answer. An answer holds only for the same
 * version, arguments, caller and conversation, and for the tool as it was when the call began to
 * wait.
 *
 * Each decision is in one place: an answer for the conversation or for always is an approval
 * (approvals.h), and nothing is left here to be taken. A call that is over stays for a while, so
 * that a message can say what became of it. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Longest arguments that are shown to a person; a call with longer ones is refused. */
#define STORE_ARGUMENTS_SIZE_MAX 65536u
/* Most calls that wait at one time: of one party, so that it does not keep others from waiting, and
 * of all. */
#define STORE_PENDING_PARTY_MAX  64
#define STORE_PENDING_MAX        1024
/* How many calls are kept that have expired, or whose answer is used. */
#define STORE_EXPIRED_MAX        64

/* Size of an id, 128 random bits as hexadecimal digits, with its final zero. */
#define STORE_PENDING_ID_SIZE 33u

/** A call that waits. `caller`, `channel`, `conversation` and `reason` may be NULL. */
struct store_pending {
    const char *id;
    const char *tool;
    const char *version;
    const char *arguments; /**< JSON; at most STORE_ARGUMENTS_SIZE_MAX */
    const char *unmasked;  /**< the same with its secrets, of which only a hash is stored; NULL: it
                                has none, or the call was read */
    const char *caller;
    const char *party; /**< whose share of those that wait it takes: the caller, or who has several;
                            not read back */
    const char *channel;
    const char *conversation;
    const char *reason;
    int64_t created_s;
    int64_t expires_s;
    const char *plugin; /**< the identity of the tool's plugin; NULL in a row of schema 3 */
    const char *pin;    /**< the tool as the call found it, for the store any text; NULL as above */
};

enum store_answer {
    STORE_ANSWER_NONE, /* nobody has answered yet */
    STORE_ANSWER_ALLOW_ONCE,
    STORE_ANSWER_ALLOW_CONVERSATION,
    STORE_ANSWER_ALLOW_ALWAYS,
    STORE_ANSWER_DENY
};

/** Store a call under a new id; pending->id is ignored.
 *
 * @return see store.h; TOOLRACK_E_LIMIT_EXCEEDED also when too many wait, of its party or
 *         of all. [any-thread] */
int store_pending_add(struct store *store, const struct store_pending *pending,
                      char ret_id[STORE_PENDING_ID_SIZE], struct toolrack_error *err);

/** Visit a call that can be given this answer.
 *
 * @return see store.h; TOOLRACK_E_NOT_FOUND when the call expired, was answered already or is
 *         unknown, as the message says. One that was allowed once can be denied until it is made.
 *         [any-thread] */
int store_pending_find(struct store *store, const char *id, enum store_answer answer, int64_t now_s,
                       void (*visit)(void *user, const struct store_pending *pending), void *user,
                       struct toolrack_error *err);

/** Answer a call alone; for more than that see store_consent().
 *
 * @param answer  STORE_ANSWER_ALLOW_ONCE or STORE_ANSWER_DENY
 * @return as store_pending_find() [any-thread] */
int store_pending_resolve(struct store *store, const char *id, enum store_answer answer,
                          const char *who, int64_t now_s, struct toolrack_error *err);

/** The answer to a call. */
struct store_taken {
    enum store_answer answer; /**< STORE_ANSWER_NONE while it waits; else for this call alone */
    char id[STORE_PENDING_ID_SIZE];
    char who[STORE_WHO_SIZE]; /**< who answered, or "" */
};

/** Take the answer to a call; only the first taker gets it. When no such call is stored, which is
 * nearly always so, the file is only read.
 *
 * @param call  tool, version, plugin, pin, arguments, caller and conversation of the call that is
 *              made now; an id of NULL matches any
 * @return see store.h; TOOLRACK_E_NOT_FOUND when no such call waits or has an answer.
 * [any-thread] */
int store_pending_take(struct store *store, const struct store_pending *call, int64_t now_s,
                       struct store_taken *ret, struct toolrack_error *err);

/** Visit the waiting calls that have not expired, the oldest first. [any-thread] */
int store_pending_read(struct store *store, int64_t now_s,
                       void (*visit)(void *user, const struct store_pending *pending), void *user,
                       struct toolrack_error *err);
