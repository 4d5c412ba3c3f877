/* toolrack/hosts.h - several hosts as one, joined by NATS.
 *
 * A host joins a group: it offers its enabled tools to the others, and has theirs beside its own. A
 * tool that it has itself is called here; of several other hosts that have the same tool, each call
 * goes to one that has little to do. A tool of others is like a local one for permission, priority,
 * statistics and search; its trust is `community`. */
#pragma once

#include "toolrack/toolrack.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a host joins. What is NULL or 0 is as "nats" of the configuration says, else as stated here.
 */
struct toolrack_join_options {
    size_t size;             /**< sizeof(struct toolrack_join_options) */
    const char *url;         /**< "nats://127.0.0.1:4222"; several servers with commas between them.
                                It may have a user's name and password, and is not logged */
    const char *group;       /**< hosts of the same group know each other; "default" */
    const char *name;        /**< of this host, for people; the machine's */
    const char *credentials; /**< file of NATS with a user's JWT and seed; none */
    const char *ca;          /**< file of certificates that sign those of the servers, for tls:// */
    const char *certificate; /**< file of this host's certificate, with `key` */
    const char *key;
    /** The public keys of hosts that are trusted, NULL-terminated: their calls of tools that are
     * not safe may run here, and their tools keep the permission that they state. NULL: as the
     * configuration says, else none. */
    const char *const *trusted;
    uint64_t beat_ms;  /**< how often it announces itself; 1000 */
    uint64_t observes; /**< not 0: it neither offers tools nor has those of others; it only sees who
                          is there */
    const char *nkey;  /**< file of the seed of an nkey of NATS, of this user alone; none */
};
#define TOOLRACK_JOIN_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_join_options) }

/** Join a group. From now on tools come and go as those of other hosts do, with the events of tools
 * that are registered and unregistered. A server that is lost is found again; meanwhile calls of
 * tools of others fail with TOOLRACK_E_UNAVAILABLE.
 *
 * @param options  borrowed during the call; NULL is all as the configuration says
 * @return 0; TOOLRACK_E_EXISTS: it has joined already; TOOLRACK_E_INVALID; TOOLRACK_E_REFUSED: the
 *         file of its key can be read by others; TOOLRACK_E_IO: the server cannot be reached, or
 *         libnats is not there; TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_join(struct toolrack *host, const struct toolrack_join_options *options,
                               struct toolrack_error *err);

/** Whether "nats" of the configuration names a server to join. [any-thread] */
TOOLRACK_API bool toolrack_joins(struct toolrack *host);

/** Leave it: the tools of others are unregistered, calls of others are cancelled. Nothing happens
 * to a host that has not joined. toolrack_close() does it too. [any-thread but those of calls and
 * events] */
TOOLRACK_API void toolrack_leave(struct toolrack *host);

/** The hosts of the group, this one first, as a JSON array of objects: name, instance (another one
 * at each start), key (public), version, self, trusted, state ("here"; "slow": it gets no calls for
 * a while; "silent"), running (calls, as it said last), tools (how many), latency_us and clock_ms
 * (by how much its clock is ahead of this one's); these two are null where they were not measured
 * yet.
 * @param wait_ms  0: what is known; else all are asked, and their answers awaited for so long
 * @return 0 with a reference, to be released by toolrack_text_unref(); TOOLRACK_E_NOT_FOUND: this
 *         host has not joined; TOOLRACK_E_NO_MEMORY. [any-thread but those of calls and events] */
TOOLRACK_API int toolrack_hosts(struct toolrack *host, uint32_t wait_ms, struct toolrack_text **ret,
                                struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
