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
    uint64_t orders; /**< not 0: it observes with the key of the state folder, by which others obey
                        toolrack_rollout() */
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

/** A package for the hosts of the group. */
struct toolrack_rollout_options {
    size_t size;      /**< sizeof(struct toolrack_rollout_options) */
    const char *file; /**< ID-VERSION.trp, with its signature beside it */
    /** The name of the host that gets it first; NULL: the first one by its name. */
    const char *first;
    /** So many calls of its tools must have ended there, none of them with a failure, before others
     * get it; 0: none. */
    uint64_t calls;
    uint64_t wait_ms; /**< how long these may take; 0: ten minutes */
    const char *who;  /**< the person who decides; NULL: that of the options of the host */
    /** As that of struct toolrack_install_options: what the package has, and what is asked for. */
    bool (*agree)(void *user, const char *report);
    /** What was done, a line of text; NULL: not told. */
    void (*told)(void *user, const char *line);
    void *user;
};
#define TOOLRACK_ROLLOUT_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_rollout_options) }

/** Have the hosts of the group install a package. It is verified here, put into the object store of
 * the NATS server, and installed on one host, which verifies it by its own keys; when that one
 * finds it healthy (its file has no errors, its tools are registered and may run, those that change
 * nothing give results for their examples, and `calls`), on the others, one after the other. The
 * first failure ends this, and hosts that have installed it go back. Only hosts whose keys are
 * trusted here get orders, and each obeys only if it trusts the key of this one.
 *
 * @param ret_report  a JSON object: id, version, package (the SHA-256 of the file), done (whether
 *                    all that are trusted and here have it), reason (why not, or null), hosts: an
 *                    array of objects: name, instance, key, state ("installed", "unchanged": it was
 *                    there already, "rolled-back", "failed": it may have it, "waiting": it got no
 *                    order, "untrusted", "silent"), from (the version before, or null), reason
 *                    (or null)
 * @return 0, also when it was ended, which `done` says; TOOLRACK_E_NOT_FOUND: this host has not
 *         joined, there is no such file, or no such host; TOOLRACK_E_UNAVAILABLE: the server has no
 *         JetStream, or no host of the group is here; as toolrack_install(). [any-thread but those
 *         of calls and events] */
TOOLRACK_API int toolrack_rollout(struct toolrack *host,
                                  const struct toolrack_rollout_options *options,
                                  struct toolrack_text **ret_report, struct toolrack_error *err);

/** The packages of the group.
 * @param ret  a JSON object: store, an array of objects: package, size, of what the object store
 *             has; hosts: an array of objects: name, key, packages (as of toolrack_packages(), or
 *             null), reason (why they are not known, or null)
 * @return as toolrack_rollout() */
TOOLRACK_API int toolrack_hosts_packages(struct toolrack *host, struct toolrack_text **ret,
                                         struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
