/* member.h - this host's part in a group of hosts that are joined by NATS.
 *
 * A member announces its own tools and runs calls of them for the others, and has the tools of the
 * others registered here and sends their calls to them. It knows the registry and the calls of its
 * host by the functions that it is given. */
#pragma once

#include "base/buf.h"
#include "base/log.h"
#include "registry/tool.h"
#include "remote/nats/decision.h"
#include "run/run.h"
#include "toolrack/toolrack.h"

struct member;
struct message_order;

/* How often a host announces itself, unless its options say otherwise; and the least. */
#define MEMBER_BEAT_MS           1000u
#define MEMBER_BEAT_MS_MIN       20u
/* After so many beats in which nothing came from a host it is gone. */
#define MEMBER_BEATS_SILENT      5u
/* Most hosts of a group, and most tools of one of them. */
#define MEMBER_HOSTS_MAX         4096u
#define MEMBER_TOOLS_MAX         65536u
/* Most tools of all hosts together; of these the registry takes what it has room for. */
#define MEMBER_REMOTE_TOOLS_MAX  131072u
/* Of these, by hosts whose keys are not trusted, and the bytes of their descriptions: whoever may
 * publish can be as many hosts as he likes. */
#define MEMBER_UNKNOWN_TOOLS_MAX 65536u
#define MEMBER_UNKNOWN_SIZE_MAX  (64u * 1024 * 1024)
/* Most lines of the log in a minute about what others do wrong. */
#define MEMBER_LINES_MAX         100u
/* Most calls of other hosts that are under way here. */
#define MEMBER_CALLS_MAX         4096u

/* What the configuration says of the tools of one host. What a host announces of itself says
 * nothing of this. */
struct member_host {
    const char *key; /* public */
    enum trust trust;
    int permission; /* the least that they have here, enum tr_permission; -1: as without this */
};

/* All pointers are borrowed until member_leave(). Functions are called on threads of the member,
 * and on those of calls. */
struct member_options {
    const struct log *log;
    const char *url;         /* nats://, tls:// ...; several with commas */
    const char *group;       /* only hosts of the same group know each other */
    const char *name;        /* of this host, for people */
    const char *credentials; /* file of a JWT and a seed; NULL: none. Likewise: */
    const char *nkey;        /* file of the seed of an nkey */
    const char *ca;          /* files of TLS */
    const char *certificate;
    const char *key;
    const char *key_folder;     /* where the key of this host is kept; NULL: nowhere */
    const char *const *trusted; /* public keys of hosts, `trusted_count` of them */
    size_t trusted_count;
    const struct member_host *hosts; /* `host_count` of them; of others, trust is `community` */
    size_t host_count;
    bool serves;      /* others may call its tools */
    bool uses;        /* it registers and calls the tools of others */
    unsigned beat_ms; /* 0: MEMBER_BEAT_MS */

    void *user;
    /* The tools of this host that are enabled, without those of other hosts; as toolrack_list(). */
    int (*list)(void *user, struct toolrack_tools **ret, struct toolrack_error *err);
    /* As toolrack_get(). */
    struct toolrack_tool *(*get)(void *user, const char *selector);
    /* As toolrack_submit_tool(). */
    int (*submit)(void *user, struct toolrack_tool *tool, const char *arguments, size_t length,
                  const struct toolrack_call_options *options, toolrack_done *done, void *done_user,
                  struct toolrack_call **ret, struct toolrack_error *err);
    void (*cancel)(struct toolrack_call *call);
    void (*let_go)(struct toolrack_call *call);
    /* How many calls run in this host. */
    uint32_t (*running)(void *user);
    /* Register a tool of other hosts. `tool` and `service` are copied; its release() is called once
     * in any case, maybe much later.
     * @return 0 with its number, or as registry_add_all(). */
    int (*add)(void *user, const struct tr_tool *tool, enum trust trust,
               const struct run_service *service, uint64_t *ret_uid, struct toolrack_error *err);
    /* Take it back; its calls that run end by themselves. */
    void (*remove)(void *user, const char *name, uint64_t uid);
    /* Carry out an order that came with a signature of a key that this host obeys, on a thread for
     * it, one at a time.
     * @param package  the bytes of a package to install, whose hash is as the order says
     * @param key      that signed the order
     * @param out      receives a JSON value: the report
     * @return 0; or a code, with err set */
    int (*obey)(void *user, const struct message_order *order, const struct buf *package,
                const char *key, struct buf *out, struct toolrack_error *err);

    /* What is shared with the group (decision.h). NULL: nothing. */
    struct store *store;
    /* The digest of the tool that a selector means, as this host announces it, or would. False: it
     * means none. */
    bool (*digest)(void *user, const char *selector, char ret[ANNOUNCE_DIGEST_ROOM]);
    /* Put a decision of the group into effect.
     * @return 0; TOOLRACK_E_UNAVAILABLE: a person has decided here meanwhile; another code */
    int (*carry_out)(void *user, const struct decision *decision,
                     const struct store_shared_order *order, struct toolrack_error *err);
    /* A decision that is not in effect, since another one was made at the same time. */
    void (*overruled)(void *user, const struct decision *loser, const struct decision *winner);
};

/* What a member has counted since it joined, and what there is. */
struct member_counts {
    uint64_t hosts; /* others that are known */
    uint64_t trusted;
    uint64_t slow; /* that get no calls for a while */
    uint64_t silent;
    uint64_t running;  /* calls, as they said last */
    uint64_t tools;    /* of each, registered or not */
    uint64_t sent;     /* calls to others; of these: */
    uint64_t answered; /* with a result or an error */
    uint64_t late;     /* not before the deadline */
    uint64_t cancelled;
    uint64_t lost;    /* with the host, or nobody was there */
    uint64_t ejected; /* how often a host was found to be slow */
};

/** Join. Whether the server is there is known when this returns; later it is found again whenever
 * it was lost.
 * @return 0; TOOLRACK_E_INVALID for a name or an option; TOOLRACK_E_IO when libnats or the server
 *         cannot be reached; as key_open(); TOOLRACK_E_NO_MEMORY. [any-thread] */
int member_join(const struct member_options *options, struct member **ret,
                struct toolrack_error *err);

/** Leave: the others are told, tools of others are removed, calls of others are cancelled and calls
 * to others end. Waits until no thread of the member runs. NULL is ignored. [any-thread but those
 * of calls and of the member] */
void member_leave(struct member *member);

/** Release what calls of tools of others may still have used after member_leave(): once none runs.
 */
void member_destroy(struct member *member);

/** The tools of this host have changed. [any-thread] */
void member_changed(struct member *member);

/** Something was decided at this host. [any-thread] */
void member_decided(struct member *member);

/** Ask all hosts of the group to announce themselves, and wait until their tools are known, for a
 * time at most. [any-thread but those of the member] */
void member_gather(struct member *member, unsigned wait_ms);

/** What it has counted. [any-thread] */
void member_count(struct member *member, struct member_counts *ret);

/** The hosts of the group as a JSON array, this one first, appended: name, instance, key, version,
 * self, trusted, state ("here", "slow" or "silent"), running, tools, latency_us (null: not measured
 * yet), clock_ms (how far its clock is before this one's; null: likewise). [any-thread] */
void member_describe(struct member *member, struct buf *out);

/** Put a package where the hosts of the group get it: an object that has its SHA-256 as the name.
 * @return 0; as object_put() [any-thread] */
int member_put_package(struct member *member, const char *sha256, const void *data, size_t length,
                       struct toolrack_error *err);

/** The packages that are there, a JSON array of objects: package (the SHA-256), size; appended.
 * @return 0; as objects_list() [any-thread] */
int member_list_packages(struct member *member, struct buf *out, struct toolrack_error *err);

/** Whether others may call its tools. [any-thread] */
bool member_serves(const struct member *member);

/** Whether this host trusts a key, or has it. [any-thread] */
bool member_takes(const struct member *member, const char *key);

/** Have another host carry out an order, and wait for the end.
 * @param instance  of the host, and its key as it announces it: the answer must be signed by that
 * @param ret       the report, a JSON value, appended
 * @return 0; TOOLRACK_E_PERMISSION_DENIED: this host does not trust the other one, or that does not
 *         trust this one; TOOLRACK_E_UNAVAILABLE: it is not there; TOOLRACK_E_TIMEOUT; or what the
 *         order failed of. [any-thread] */
int member_order(struct member *member, const char *instance, const char *key,
                 const struct message_order *order, unsigned wait_ms, struct buf *ret,
                 struct toolrack_error *err);
