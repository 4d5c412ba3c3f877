/* principal.h - who sends a request to a server. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

struct toolrack_token_grant;

/** Who sends a message: decided by the transport, never by what a message says. */
struct principal {
    /* The caller of its calls, and the owner of its tasks and approvals: "token:ID", "uid:1000",
     * "oauth:ISSUER SUBJECT". NULL: the message does not say (a pipe, and HTTP on loopback without
     * authorisation): then the principal is the pipe, "stdio:ID", or the session, "session:ID";
     * where there is neither, who() of the exchange says it. No two that are not the same client
     * or the same user have the same one. Tools, logs and lists show it: it is no secret. */
    const char *id;
    /* Whose shares it takes of what all clients use: "uid:1000", the user who sends a message
     * without `id`, and whose the session is that it begins. NULL: its `id`, that of the pipe, or
     * where there is none, as all of whom nobody knows who they are. */
    const char *party;
    /* The subset of tools that it is shown; NULL: all. */
    const char *profile;
    /* The tools that it may see and call, by "name" or "name@range", NULL-terminated; NULL: all. */
    const char *const *allow;
    /* Bit 1 << enum toolrack_permission is set if it may call tools of that permission (the others
     * are shown to it: a call is answered by `missing_scope`). */
    uint32_t permissions;
    /* What its token was found to be; NULL: it came without one of toolrack's. */
    struct toolrack_token_grant *grant;
    /* Its answer to a question about a `confirm` tool counts as that of a person. */
    bool approves;
    /* It administers the host: by its token, or as the user at a socket. */
    bool admin;
};

/* Of the principal of a session, and of a pipe, whose client nobody knows. */
#define SESSION_PREFIX "session:"
#define PIPE_PREFIX    "stdio:"
/* The party of all of whom nobody knows who they are. */
#define PARTY_UNKNOWN  "unknown"

/** Whether it has shown who it is, by a token or by OAuth: others may get something else. */
bool principal_has_shown(const struct principal *principal);

/** Whether it can come again as the same: a pipe and a session are another one each time. */
bool principal_comes_again(const struct principal *principal);

/** Whether it may be told what places the host has on its machine: an administrator, and who has
 * come without a token, through a pipe or from the machine itself. A client with a token or OAuth
 * may be anywhere, and can execute no command here. */
bool principal_knows_places(const struct principal *principal);
/** Append a message to it; to who may not be told the places of the host, commands without them. */
void principal_add_message(struct buf *out, const struct principal *principal, const char *message,
                           size_t length);

/** Copy what a principal's pointers lead to, and say of what party it is; that of a pipe, which is
 * its own, is to be set. @return false: out of memory */
bool principal_keep(struct principal *principal, struct arena *arena);
