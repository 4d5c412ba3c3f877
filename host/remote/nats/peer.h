/* peer.h - another host, for the files about hosts: peers.c, reading.c, remote-tool.c, pick.c.
 *
 * Invariants, under the member's lock:
 *  (1) A peer is in tool->hosts of each tool of peer->tools, and in no other.
 *  (2) A remote tool that no host has is in the list of unused ones; the member's thread takes it
 *      out of the registry and releases it a little later. */
#pragma once

#include "base/clock.h"
#include "remote/nats/parts.h"

struct peer {
    char instance[INSTANCE_ROOM]; /* first: the table compares it */
    struct peer *next;
    struct peer *previous;
    char name[64];
    char key[KEY_TEXT_ROOM]; /* as it says; proven by the signature of its tools */
    char version[64];
    bool is_proven;
    bool is_signed; /* its last announcement was signed by a trusted key, which is `key` */
    uint64_t announced_number;            /* its number; an older one is not taken */
    char announced[ANNOUNCE_DIGEST_ROOM]; /* the digest of its tools */
    char known[ANNOUNCE_DIGEST_ROOM];     /* of those that were read; "": none were */
    unsigned failures;                    /* to read them, in a row */
    uint64_t retry_ns;                    /* when that is tried again */
    uint64_t running;                     /* calls, as it said last */
    uint64_t sent;                        /* calls of this host that are under way */
    uint64_t calls;                       /* of this host that have ended there */
    uint64_t failed;                      /* of these, not answered: late, or it was lost */
    uint64_t seen_ns;
    uint64_t probed_ns; /* when the probe was sent that was not answered; 0: none */
    int64_t latency_us; /* -1: not measured */
    int64_t clock_ms;
    struct breaker breaker;
    struct remote_tool **tools;
    size_t tool_count;
};

/* ---- peers.c */

/** NULL: it is not known. Caller holds the lock. */
struct peer *peer_find(const struct member *member, const char *instance);
/** A host is gone. Caller holds the lock. */
void peer_forget(struct member *member, struct peer *peer);

/* ---- remote-tool.c */

/** A remote tool, the one that there is or a new one. [the member's thread]
 * @param size  of its description
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED at the limits of member.h; TOOLRACK_E_NO_MEMORY */
int remote_tool_get(struct member *member, const struct tr_tool *described, const char *digest,
                    size_t size, const struct host_terms *terms, struct remote_tool **ret,
                    struct toolrack_error *err);
/** Register a tool, unless it is. The description is needed for that only, so it is not kept. [the
 * member's thread] */
void remote_tool_register(struct member *member, struct remote_tool *tool,
                          const struct tr_tool *described);
/** Give a peer other tools. Caller holds the lock. */
void peer_set_tools(struct peer *peer, struct remote_tool *const *tools, size_t count);
