/* parts.h - the parts of a member, for its files.
 *
 *   join.c       joining and leaving, the threads, subjects
 *   announced.c  this host and its tools as the others see them
 *   incoming.c   calls of others
 *   micro.c      the same as a micro service of NATS, for any client
 *   peers.c      the other hosts (peer.h)
 *   reading.c    their tools are read
 *   remote-tool.c  and registered here
 *   pick.c       which host gets a call
 *   outgoing.c   calls to others
 *   proof.c      whose the messages of calls are
 *   order.c      orders about packages, to others and by them
 *   large.c      messages that are larger than the server takes
 *   agree.c      decisions that the group shares (agree.h); bucket.c where they are kept
 *
 * Threads: those of libnats deliver messages and only look things up or put them into a queue; the
 * member's own thread asks other hosts and registers tools, which may take long; a second one
 * announces this host and probes others, at each beat; calls wait on their own threads. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "remote/nats/announce.h"
#include "remote/nats/breaker.h"
#include "remote/nats/callers.h"
#include "remote/nats/key.h"
#include "remote/nats/libnats.h"
#include "remote/nats/member.h"
#include "remote/nats/message.h"
#include "remote/nats/object.h"
#include "remote/nats/subject.h"

/* Room for the number of a host, 16 hexadecimal digits. */
#define INSTANCE_ROOM 17u
/* Longest subject here. */
#define SUBJECT_ROOM  (2u * SUBJECT_TOKEN_MAX + 128u)

/* Headers of signed messages. */
#define HEADER_KEY       "Toolrack-Key"
#define HEADER_TIME      "Toolrack-Time"
#define HEADER_NONCE     "Toolrack-Nonce"
#define HEADER_SIGNATURE "Toolrack-Signature"
#define HEADER_CODE      "Toolrack-Code" /* of a call and its messages (proof.c) */

/* A tool of this host as it is announced. */
struct own_tool {
    struct toolrack_tool *tool; /* a reference */
    char *json;
    size_t length;
    char digest[ANNOUNCE_DIGEST_ROOM];
};

/* The tools of this host at one moment, by name and version. Immutable and counted. */
struct announced {
    atomic_uint refs;
    struct own_tool *tools;
    size_t count;
    char digest[ANNOUNCE_DIGEST_ROOM]; /* of all */
};

struct agreement; /* what the group has decided */
struct secrets;   /* of this host with others (proof.c) */
struct incoming;  /* a call of another host */
struct outgoing;  /* a call to another host */
struct endpoint;  /* a tool as an endpoint of a micro service */
struct peer;      /* another host */
struct remote_tool;

struct member {
    struct member_options options;
    struct key *key;
    struct nonces *nonces;
    struct secrets *secrets;
    char instance[INSTANCE_ROOM];
    char *group_token;
    char *inbox; /* what the inboxes of this member begin with */
    natsConnection *connection;
    atomic_bool connected;
    unsigned beat_ms;
    int64_t max_payload;

    natsSubscription *subscriptions[24];
    size_t subscription_count;
    size_t live; /* subscriptions, of endpoints too, whose last message is not handled; guarded by
                    `lock` */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* the thread has something to do, or something it did is done */
    pthread_t thread;
    pthread_t beat_thread;
    bool runs;      /* the thread was started */
    bool beats_run; /* likewise the other one */
    bool stops;     /* it is to end */
    bool is_dirty;  /* the tools of this host have changed */
    bool is_left;   /* member_leave() was called */
    bool is_closed; /* libnats tells nothing more of the connection */
    bool wants;     /* a peer's tools are to be read */
    struct announced *catalogue;
    atomic_uint_fast64_t announcements; /* how many it has made */

    struct incoming *incoming; /* a list; guarded by `lock`, as are the next */
    size_t incoming_count;
    struct callers *callers;
    size_t fetching;           /* threads that fetch a call */
    bool is_obeying;           /* a thread carries out an order */
    size_t obeying;            /* threads that carry one out, or answer */
    struct outgoing *outgoing; /* likewise */
    struct peer *peers;
    void *peers_by_instance; /* a table of tsearch() */
    size_t peer_count;
    unsigned beats;             /* since it joined */
    struct remote_tool *unused; /* that no host has, by next_unused */
    struct member_counts counts;

    struct remote_tool *remote_tools; /* all; for the member's thread alone, as are the next */
    size_t unknown_count;             /* of those, tools of hosts that are not trusted */
    size_t unknown_size;              /* bytes of their descriptions */
    size_t remote_tool_count;
    void *tools_by_identity;
    void *tools_by_name;

    struct endpoint **endpoints; /* the member's thread changes them, under the lock */
    size_t endpoint_count;
    char micro_started[32]; /* when it joined, as RFC 3339 */

    struct agreement *agreement; /* NULL: nothing is shared */

    pthread_mutex_t warn_lock; /* for the next; others may be held */
    uint64_t warn_minute;      /* of the clock, in which these warnings came: */
    uint64_t warnings;
};

/* On what terms a host has tools here: by its key alone, which its signature proves. */
struct host_terms {
    bool trusted; /* its key is trusted */
    enum trust trust;
    uint32_t permission; /* the least of its tools */
};

/* ---- join.c */

/** "toolrack.1.GROUP.<form>" @return `ret`. */
const char *member_subject(const struct member *member, char ret[SUBJECT_ROOM], const char *format,
                           ...) TOOLRACK_PRINTF(3, 4);
/** Receive messages of a subject; `queue` NULL: each member gets all.
 * @return 0; TOOLRACK_E_IO. */
int member_subscribe(struct member *member, const char *subject, const char *queue,
                     natsMsgHandler handle, void *user, natsSubscription **ret,
                     struct toolrack_error *err);
/** The same until the member leaves. */
int member_keep_subscribed(struct member *member, const char *subject, natsMsgHandler handle,
                           struct toolrack_error *err);
/** Publish; a failure is logged. `reply` may be NULL. */
bool member_publish(struct member *member, const char *subject, const char *reply,
                    const struct buf *data);
bool member_trusts(const struct member *member, const char *public);
/** @param public  "": it has proven no key */
struct host_terms member_terms(const struct member *member, const char *public);
/** Whether it trusts a key, or has it itself: a process of the same state folder does. */
bool member_obeys(const struct member *member, const char *public);
/** Whether a warning is logged whose cause others can repeat as they like: MEMBER_LINES_MAX of them
 * a minute. How many were left out is logged afterwards. What concerns a host with a trusted key is
 * logged without asking, so that nobody crowds it out. [any-thread] */
bool member_may_warn(struct member *member);
/** A header; "": there is none. */
const char *member_header(natsMsg *message, const char *name);
/** Where the answer to a request goes. NULL: the request names no subject, or one that is not for
 * answers: this host may publish where who asks may not, such as to the server's own requests. */
const char *member_reply(natsMsg *message);
/** Wake the member's thread. Caller holds the lock. */
void member_wake(struct member *member);

/* ---- announced.c */

int announced_make(struct member *member, struct announced **ret, struct toolrack_error *err);
void announced_unref(struct announced *catalogue);
CLEANUP_DEFINE(struct announced, announced_unref)
/** The present one, a reference; or NULL. */
struct announced *announced_get(struct member *member);
/** A tool by name and version; NULL: there is none. */
const struct own_tool *announced_find(const struct announced *catalogue, const char *name,
                                      const char *version);
/** Answer a request for a page of the tools. */
void announced_asked(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                     void *member);
/** Announce this host, if it serves. */
void announced_tell(struct member *member, bool leaving);
/** The same, as another host greets. */
void announced_greeted(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *member);
/** Take the tools of this host as they are now; announce them if they have changed. */
void announced_renew(struct member *member);

/* ---- incoming.c */

/* A call by any client of NATS: the message has the arguments, and the answer is the result. */
void incoming_foreign(struct member *member, struct endpoint *endpoint, const struct own_tool *own,
                      natsMsg *message);
void incoming_call(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                   void *member);
void incoming_control(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *member);
/** Cancel all and wait until they have ended. */
void incoming_stop(struct member *member);

/* ---- proof.c */

/** NULL: out of memory. */
struct secrets *secrets_create(void);
void secrets_destroy(struct secrets *secrets);

/* In these, `instance` is that of the serving host, `key` that of the other host, "" where it has
 * none: then nothing is proven; and `inbox` the subject that the call wants its answers at. */

/** Send a call, with the key of this host, whose answers then have a code.
 * @param is_proven  the call has one too
 * @return false: it cannot be sent. [any-thread] */
bool proof_send_call(struct member *member, const char *instance, const char *key, bool is_proven,
                     const char *inbox, const struct buf *data);
/** Whether a call is made by a host that this one obeys. A code that is wrong is an error: its
 * sender believes that it has the right to call.
 * @param ret_key  NULL: it has no code, or is by a key that this host does not obey
 * @return 0; TOOLRACK_E_PERMISSION_DENIED; as nonces_take() */
int proof_check_call(struct member *member, natsMsg *message, const char **ret_key,
                     struct toolrack_error *err);
/** Send another message of a call; a failure is logged.
 * @param purpose  "event": of the serving host; "control": of the calling one [any-thread] */
bool proof_send(struct member *member, const char *purpose, const char *instance, const char *key,
                const char *inbox, const struct buf *data);
/** Whether such a message is by the other host. [any-thread] */
bool proof_check(const struct member *member, const char *purpose, const char *instance,
                 const char *key, const char *inbox, natsMsg *message);

/* ---- order.c */

/** An order of another host. */
void order_received(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                    void *member);
/** Wait until none is carried out. */
void order_stop(struct member *member);

/* ---- large.c */

/** Open the bucket of this group for something: "messages", "packages".
 * @param age_s_max  see objects_open(), whose codes it has */
int member_open_bucket(const struct member *member, const char *what, uint64_t age_s_max,
                       struct objects **ret, struct toolrack_error *err);
/** Put a message into the object store, and write the one that is sent in its place.
 * @param what  "the call", for the error
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED: it cannot be put; TOOLRACK_E_NO_MEMORY */
int large_put(const struct member *member, const char *what, const struct buf *message,
              struct buf *out, struct toolrack_error *err);
/** Get the message that another one stands for, and remove it from the store.
 * @return 0; TOOLRACK_E_INVALID: it is not what was sent; TOOLRACK_E_UNAVAILABLE: it is not there,
 *         or the server does not answer; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY */
int large_take(const struct member *member, const struct message_object *object, struct buf *out,
               struct toolrack_error *err);

/* ---- micro.c */

/** A call of an endpoint has ended; `err` NULL: with a result. */
void endpoint_count(struct endpoint *endpoint, uint64_t duration_ns,
                    const struct toolrack_error *err);

/** Have an endpoint for each tool of a catalogue that any client may call. [the member's thread] */
void micro_update(struct member *member, const struct announced *catalogue);
/** Answer $SRV.PING, $SRV.INFO and $SRV.STATS. */
void micro_answer(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                  void *member);
void micro_stop(struct member *member);
void micro_destroy(struct member *member);
/** For $SRV. */
int micro_start(struct member *member, struct toolrack_error *err);

/* ---- peers.c */

/** Another host announces itself. */
void peers_announced(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                     void *member);
/** An answer to a probe, or that nobody answers. */
void peers_probed(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                  void *member);
/** Probe others; forget those that are silent. [the thread of beats, no lock] */
void peers_watch(struct member *member);
/** The server is there again: the time without it says nothing of the others. */
void peers_greeted(struct member *member);
void peers_destroy(struct member *member);
void peers_describe(struct member *member, struct buf *out);

/* ---- reading.c */

/** Read the tools of hosts whose tools are not known, and register and remove tools. [the member's
 * thread, no lock] */
void peers_update(struct member *member);

/* ---- remote-tool.c */

/** Take tools that no host has any more out of the registry, and release them. [the member's
 * thread, no lock] @return whether one was registered */
bool remote_tools_clean(struct member *member);
/** Other tools have gone: those whose names were taken may be registered now. [likewise] */
void remote_tools_retry(struct member *member);
/** Take all out of the registry. No thread of the member runs. */
void remote_tools_stop(struct member *member);
void remote_tools_destroy(struct member *member);

/* ---- pick.c */

/* What a call needs of the host that it is sent to. */
struct peer_pick {
    char instance[INSTANCE_ROOM];
    char name[64];
    char key[KEY_TEXT_ROOM]; /* that the signature of its tools proves; "": none */
};
/** Choose a host for a call of a tool: of two by chance the one with less load. Its load is one
 * more then, until peers_ended().
 * @param not_this  hosts that are left out: `count` of them
 * @return 0; TOOLRACK_E_UNAVAILABLE */
int peers_pick(struct member *member, const struct remote_tool *tool,
               const struct peer_pick *not_this, size_t count, struct peer_pick *ret,
               struct toolrack_error *err);
/* How a call ended, for the host: with whatever answer, without one in time, before that by its
 * caller, or because nobody is there. */
enum peer_outcome { PEER_ANSWERED, PEER_LATE, PEER_CANCELLED, PEER_GONE };
void peers_ended(struct member *member, const struct peer_pick *pick, enum peer_outcome outcome);

/* ---- agree.c */

/** NULL: out of memory. */
struct agreement *agreement_create(struct member *member);
/** Share decisions from now on, by a thread of its own. That the server cannot keep them is logged,
 * and no failure. @return 0; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY */
int agreement_start(struct agreement *agreement, struct toolrack_error *err);
/** Decisions were made here; or tools have changed, so that others may be carried out. NULL is
 * ignored, as in the next functions. [any-thread] */
void agreement_wake(struct agreement *agreement, bool tools);
/** The server was lost and is found again. [any-thread] */
void agreement_reread(struct agreement *agreement);
/** End the thread. */
void agreement_stop(struct agreement *agreement);
void agreement_destroy(struct agreement *agreement);

/* ---- outgoing.c */

/* What a tool is: tools of several hosts are one if these are equal. */
struct remote_identity {
    char digest[ANNOUNCE_DIGEST_ROOM]; /* of the description as it came */
    struct host_terms terms;           /* of its hosts: of others the same is another tool */
};

/* The user of the service of a remote tool. The tables of the member have a reference while a host
 * has it, and so has the service. */
struct remote_tool {
    struct remote_identity identity; /* first: the table compares it */
    atomic_uint refs;
    struct member *member;
    const char *name;
    const char *version;
    bool idempotent;
    bool is_safe;
    /* For the member's thread: */
    struct remote_tool *next;
    struct remote_tool *previous;
    struct remote_tool *next_of_name;
    size_t size;                          /* of its description */
    struct remote_tool *previous_of_name; /* NULL: it is the one in the table of names */
    bool is_registered;
    int refused; /* why it could not be registered, a code; logged once */
    uint64_t uid;
    /* Guarded by the lock of the member: */
    struct remote_tool *next_unused;
    bool is_unused;      /* it is in that list */
    struct peer **hosts; /* that have it */
    size_t host_count;
    size_t host_room;
    char texts[]; /* name and version */
};

tr_status outgoing_run(struct tr_call *call, void *remote_tool);
/** A message for a call to another host. */
void outgoing_message(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                      void *member);
/** A host is gone, or (NULL) the server or this member is: calls to it fail. Caller holds the lock.
 */
void outgoing_lose(struct member *member, const char *instance);
