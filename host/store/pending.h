/* pending.h - calls that wait until a person agrees.
 *
 * A call that nobody at hand can confirm is kept here. Whoever may decide lists what waits
 * and answers; the caller calls again, and the host takes the answer. An answer holds for
 * the very call that was shown: the same version, arguments, caller and conversation. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Longest arguments that are shown to a person; a call with more is refused. */
#define STORE_ARGUMENTS_SIZE_MAX 65536u
/* Most that wait or are answered and not taken, at one time. */
#define STORE_PENDING_MAX        1024
/* How many that have expired are remembered, so that it can be said that they have. */
#define STORE_EXPIRED_MAX        64

/* Size of an id, 128 random bits as hexadecimal digits, with its final zero. */
#define STORE_PENDING_ID_SIZE 33u

/** A call that waits. `caller`, `channel`, `conversation` and `reason` may be NULL. */
struct store_pending {
    const char *id;
    const char *tool;
    const char *version;
    const char *arguments; /**< JSON; at most STORE_ARGUMENTS_SIZE_MAX */
    const char *caller;
    const char *channel;
    const char *conversation;
    const char *reason;
    int64_t created_s;
    int64_t expires_s;
};

enum store_answer {
    STORE_ANSWER_NONE, /* nobody has answered yet */
    STORE_ANSWER_ALLOW_ONCE,
    STORE_ANSWER_ALLOW_CONVERSATION,
    STORE_ANSWER_ALLOW_ALWAYS,
    STORE_ANSWER_DENY
};

/** Keep a call; its id is not read but made.
 *
 * @return as all of the store; TOOLRACK_E_LIMIT_EXCEEDED also when too many wait. [any-thread] */
int store_pending_add(struct store *store, const struct store_pending *pending,
                      char ret_id[STORE_PENDING_ID_SIZE], struct toolrack_error *err);

/** Answer. What is allowed for the conversation or always is kept as an approval (approvals.h) in
 * the same moment.
 *
 * @param answer  not STORE_ANSWER_NONE
 * @return as all of the store; TOOLRACK_E_NOT_FOUND when it expired, was answered already or is
 *         unknown, which the text tells apart; TOOLRACK_E_INVALID when it is allowed for the
 *         conversation and belongs to none. [any-thread] */
int store_pending_resolve(struct store *store, const char *id, enum store_answer answer,
                          const char *who, int64_t now_s, struct toolrack_error *err);

/** What became of a call that waited. */
struct store_taken {
    enum store_answer answer; /**< STORE_ANSWER_NONE while it waits */
    char id[STORE_PENDING_ID_SIZE];
    char who[STORE_WHO_SIZE]; /**< who answered, or "" */
};

/** Take the answer to a call. One that was given goes to the first who takes it. While no such
 * call is kept, which is nearly always, the file is only read.
 *
 * @param call  tool, version, arguments, caller and conversation are those of the call that is
 *              made now; an id of NULL stands for any
 * @return as all of the store; TOOLRACK_E_NOT_FOUND when no such call waits or is answered.
 * [any-thread] */
int store_pending_take(struct store *store, const struct store_pending *call, int64_t now_s,
                       struct store_taken *ret, struct toolrack_error *err);

/** Visit those that wait and have not expired, the oldest first. [any-thread] */
int store_pending_read(struct store *store, int64_t now_s,
                       void (*visit)(void *user, const struct store_pending *pending), void *user,
                       struct toolrack_error *err);
