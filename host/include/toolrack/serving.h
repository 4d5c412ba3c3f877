/* toolrack/serving.h - what a server of tools keeps: configuration, tokens, tasks.
 *
 * A server is a front of a host: it decides who calls (a principal, such as a token), shows each
 * principal its tools, and answers a long call with a task that is asked for later. What must
 * survive the server is in the state folder; without one it lasts as long as the host. */
#pragma once

#include "toolrack/toolrack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------- configuration */

/** The member "serve" of the configuration, with each default filled in and paths from the root, as
 * a JSON object; toolrack.schema.json describes it.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_serving(struct toolrack *host, struct toolrack_text **ret,
                                  struct toolrack_error *err);

/* What a server uses of the files that "serve" names. */
#define TOOLRACK_SERVING_FILES  1u /**< certificate, key and the keys of tokens */
#define TOOLRACK_SERVING_SOCKET 2u /**< the socket and its folder */
/** Check "serve" before a server begins. Names of tools, tags and categories that no tool has are
 * warnings in the log, since their plugin may come later.
 * @param parts  TOOLRACK_SERVING_..., or-ed: the files that must be there
 * @return 0; TOOLRACK_E_INVALID with the file, line and member that names what is not there;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_serving_check(struct toolrack *host, uint32_t parts,
                                        struct toolrack_error *err);

/** What a server finds wrong of a value of "serve", such as a file that is not what it should be:
 * an error with the file, line and column of the configuration that state it.
 * @param pointer  JSON Pointer of the member, such as "/serve/tls/key"; the error's field
 * @param problem  what is wrong, and what to do
 * @return TOOLRACK_E_INVALID. [any-thread] */
TOOLRACK_API int toolrack_serving_refuse(struct toolrack *host, const char *pointer,
                                         const char *problem, struct toolrack_error *err);

/** Whether the configuration has a profile of that name, or it is one of those that need none:
 * TOOLRACK_PROFILE_BASIC and TOOLRACK_PROFILE_FULL. */
TOOLRACK_API bool toolrack_has_profile(struct toolrack *host, const char *profile);
/** Whether a tool is in a profile: it fits each of the lists that the profile has. None is in a
 * profile that is not there.
 * @param profile  NULL: all tools are in it */
TOOLRACK_API bool toolrack_profile_has(struct toolrack *host, const char *profile,
                                       const struct toolrack_tool *tool);

/* ------------------------------------------------------------------ tokens */

/* What each secret begins with, so that a scanner of source code finds it. */
#define TOOLRACK_TOKEN_PREFIX "trk_"

/** A token to be added: who has its secret may use a server. */
struct toolrack_token {
    size_t size; /**< sizeof(struct toolrack_token) */
    /** 1 to 64 letters, digits, '_', '-' and '.', not first '-' or '.'; of one token at a time. */
    const char *name;
    const char *profile; /**< of the configuration, whose tools it is shown; NULL: all tools */
    /** The tools that it may see and call, besides: "name", "name@version", "name@range", where a
     * name may have '*' and '?'. NULL-terminated; NULL: all. */
    const char *const *tools;
    int64_t expires_s;        /**< since 1970; 0: it does not expire. A clock that is set back to
                               * before there was the token ends it too */
    uint32_t rate_per_minute; /**< how many requests; 0: the server's limit */
    uint32_t admin;           /**< not 0: it may administer the host */
    uint64_t approves; /**< not 0: its answer to the question of a `confirm` tool is a person's */
};
#define TOOLRACK_TOKEN_INIT \
    { .size = sizeof(struct toolrack_token) }

/** Add a token. Durable on return; other hosts of the state folder know it then
 * (toolrack_reached()). The token of that name that has expired is replaced.
 *
 * @param ret_secret  receives the secret, to be released by toolrack_text_unref(): it is stored
 *                    nowhere, only a hash of it
 * @param who         the person who decides; NULL: that of the options
 * @return 0; TOOLRACK_E_EXISTS; TOOLRACK_E_INVALID for a name, profile, tool or time that is wrong;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO: then nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_token_add(struct toolrack *host, const struct toolrack_token *token,
                                    struct toolrack_text **ret_secret, const char *who,
                                    struct toolrack_error *err);

/* The name of the token of a file. */
#define TOOLRACK_TOKEN_FILE_NAME "file"

/** Take the secret in a file as the token TOOLRACK_TOKEN_FILE_NAME of an administrator, for as long
 * as this host is open; that of an earlier call is unknown from then on, unless it is the same. For
 * a server to which nobody can add a token before it starts, as in a container. Neither the secret
 * nor a hash of it is stored, and other hosts do not know it.
 *
 * @param path  of a regular file from the root, which others than its owner and root cannot change,
 *              of any owner, but root's or this user's where others can make files (/tmp); its one
 *              line is TOOLRACK_TOKEN_PREFIX and 32 to 251 letters, digits and "-._~+/".
 *              NULL: no file any more
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_REFUSED: others could change the file; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY: then nothing changed. [any-thread] */
TOOLRACK_API int toolrack_token_file(struct toolrack *host, const char *path,
                                     struct toolrack_error *err);

/** The tokens, by name, as a JSON array of objects: name, id, admin, approves, profile (or null),
 * tools (an array, or null), rate_per_minute, created_s, expires_s (or null), expired, who. That of
 * a file comes last, and has the path as `who`.
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_tokens(struct toolrack *host, struct toolrack_text **ret,
                                 struct toolrack_error *err);

/** Revoke a token: from now on it is unknown, and the calls of "token:ID" that wait for approval
 * are over. Durable on return; in effect in other hosts of the
 * state folder then (toolrack_reached()).
 * @param who  the person who decides; NULL: that of the options
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_IO: then nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_token_revoke(struct toolrack *host, const char *name, const char *who,
                                       struct toolrack_error *err);

/* What a token was found to be. It does not change, but toolrack_token_grant_holds() does. */
struct toolrack_token_grant;

/** Find the token of a secret. Does not read the store unless tokens have changed; how long it
 * takes does not depend on how much of the secret is right.
 *
 * @return 0 with a reference, to be released by toolrack_token_grant_unref();
 *         TOOLRACK_E_NOT_FOUND, with the same message for each secret that is not, or no longer,
 *         that of a token; TOOLRACK_E_IO: the tokens cannot be read; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_token_find(struct toolrack *host, const char *secret,
                                     struct toolrack_token_grant **ret, struct toolrack_error *err);
TOOLRACK_API struct toolrack_token_grant *toolrack_token_grant_ref(
        struct toolrack_token_grant *grant);
TOOLRACK_API void toolrack_token_grant_unref(struct toolrack_token_grant *grant);

/** Whether it is neither revoked nor expired by now: for what lasts longer than a request. */
TOOLRACK_API bool toolrack_token_grant_holds(const struct toolrack_token_grant *grant);
/** Unlike any other token's that there was or will be, also one of the same name. */
TOOLRACK_API const char *toolrack_token_grant_id(const struct toolrack_token_grant *grant);
TOOLRACK_API const char *toolrack_token_grant_name(const struct toolrack_token_grant *grant);
TOOLRACK_API bool toolrack_token_grant_is_admin(const struct toolrack_token_grant *grant);
TOOLRACK_API bool toolrack_token_grant_approves(const struct toolrack_token_grant *grant);
/** Or NULL. */
TOOLRACK_API const char *toolrack_token_grant_profile(const struct toolrack_token_grant *grant);
/** NULL-terminated, or NULL. */
TOOLRACK_API const char *const *toolrack_token_grant_tools(
        const struct toolrack_token_grant *grant);
TOOLRACK_API uint32_t
toolrack_token_grant_rate_per_minute(const struct toolrack_token_grant *grant);
/** Since 1970; 0: it does not expire. */
TOOLRACK_API int64_t toolrack_token_grant_expires_s(const struct toolrack_token_grant *grant);

/** Whether a list of tools as that of a token has a version of a tool; a list of NULL has all. */
TOOLRACK_API bool toolrack_tools_have(const char *const *tools, const char *name,
                                      const char *version);

/* ------------------------------------------------------------------- tasks */

/* Room for the id of a task: 128 random bits as hexadecimal digits, and a zero. */
#define TOOLRACK_TASK_ID_ROOM 33

/* For `ttl_ms`: it is never removed. */
#define TOOLRACK_TASK_FOR_EVER UINT64_MAX

/* Most bytes of what a task asks for. */
#define TOOLRACK_TASK_INPUT_MAX (1024u * 1024)

/** A call that is answered with a task. */
struct toolrack_task {
    size_t size;       /**< sizeof(struct toolrack_task) */
    const char *owner; /**< the principal that called */
    const char *tool;
    const char *version;
    const char *method; /**< of the protocol, such as "tools/call" */
    uint64_t ttl_ms;    /**< how long it is kept, from now; 0: as the configuration says */
    uint64_t poll_ms;   /**< how often it should be asked for; 0: as the configuration says */
};
#define TOOLRACK_TASK_INIT \
    { .size = sizeof(struct toolrack_task) }

/** Create a task that this host runs, with the status "working". Durable on return. Tasks whose
 * time is over are removed.
 *
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED: its owner has as many as "serve" allows, or results of as
 *         many bytes, or a string is too long; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY: there is no
 * task. */
TOOLRACK_API int toolrack_task_create(struct toolrack *host, const struct toolrack_task *task,
                                      char ret_id[TOOLRACK_TASK_ID_ROOM],
                                      struct toolrack_error *err);

/** Say how far a task is. Durable on return. "completed", "failed" and "cancelled" are final. A
 * result that cannot be kept, such as on a full disk or beyond what "serve" allows, makes the task
 * "failed", and the function fails.
 *
 * @param status          "working", "input_required", "completed", "failed" or "cancelled"
 * @param message         one line for people, or NULL
 * @param result          of "completed": the text of a JSON value, at most TOOLRACK_RESULT_MAX and
 *                        64 KiB; else NULL
 * @param failure         of "failed": likewise
 * @param input_requests  of "input_required": the text of a JSON object, at most
 *                        TOOLRACK_TASK_INPUT_MAX; else NULL
 * @return 0; TOOLRACK_E_EXISTS if its status is final already; TOOLRACK_E_NOT_FOUND, also if its
 *         time is over; TOOLRACK_E_INVALID; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_task_set(struct toolrack *host, const char *id, const char *status,
                                   const char *message, const char *result, const char *failure,
                                   const char *input_requests, struct toolrack_error *err);

/** A task as a JSON object: taskId, status, statusMessage (or null), createdAt and lastUpdatedAt
 * (RFC 3339), ttlMs (null: for ever), pollIntervalMs, tool, version, method, owner, and, where it
 * has them, inputRequests, result, error. A task whose host has ended is "failed", and its error
 * says so.
 *
 * @param owner  NULL: whoever owns it; else a task of another is not found
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NOT_FOUND;
 *         TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_task_get(struct toolrack *host, const char *owner, const char *id,
                                   struct toolrack_text **ret, struct toolrack_error *err);

/** The tasks, the oldest first, as a JSON array of such objects without inputRequests, result and
 * error.
 * @param owner  NULL: of all */
TOOLRACK_API int toolrack_tasks(struct toolrack *host, const char *owner,
                                struct toolrack_text **ret, struct toolrack_error *err);

/** Cancel a task: its status is "cancelled" when this returns, and the host that runs it, perhaps
 * in another process, sends TOOLRACK_EVENT_TASK: its front cancels the call.
 *
 * @return 0; TOOLRACK_E_EXISTS if its status is final already; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_IO:
 *         then nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_task_cancel(struct toolrack *host, const char *owner, const char *id,
                                      struct toolrack_error *err);

/** Remove a task that is "completed" or "failed", with its result: its owner has room again.
 *
 * @param owner  as of toolrack_task_get()
 * @return 0; TOOLRACK_E_INVALID if it has another status; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_IO: then
 *         nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_task_remove(struct toolrack *host, const char *owner, const char *id,
                                      struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
