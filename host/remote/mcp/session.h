/* session.h - a running MCP server, and the requests that are under way to it.
 *
 * A thread that asks writes its request itself, and one of the threads that wait reads for all of
 * them: so a call of one thread is one write and one read, without another thread. What comes
 * belongs to one of them, and is handled on that one's thread: the answer to its request, its
 * progress; and what names no request (questions, log lines), to the call that is under way the
 * longest. Where no call waits, mount_session_tend() reads. */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "plugin/image-host.h"
#include "remote/mcp/message.h"
#include "remote/mcp/transport.h"

/* Most things that are no message, or answer nothing, before the server is given up. */
#define SESSION_BAD_MAX           1000u
/* Of how many requests that nobody waits for any more an answer is no such message. */
#define SESSION_LATE_MAX          64u
/* Most messages that wait for the thread of a call. */
#define SESSION_WAITING_MAX       10000u
/* Most bytes of them, but for the answer. */
#define SESSION_WAITING_BYTES_MAX (64u * 1024 * 1024)
/* How long a thread that waits does not look whether its call was cancelled. */
#define SESSION_LOOK_MS_MAX       20u
/* How long a cancelled call may wait until the server has heard of it. */
#define SESSION_TELL_MS_MAX       500u
/* How often a request may be refused until it is permitted: without a token, with one that has
 * expired, with one of too little scope. */
#define SESSION_REFUSED_MAX       3u

struct session;

/* What the server says without being asked. */
struct session_news {
    atomic_bool tools; /* its list of tools has changed */
    /* What has changed of what it offers beside tools; the text is the URI of a resource, or NULL.
     * It takes no lock of the session. [any-thread] */
    void (*notice)(void *user, enum plugin_notice notice, const char *text);
    void *user;
};

/* How a request is sent and waited for. [the asker's thread] */
struct session_wait {
    bool is_call;                     /* may be asked questions */
    const char *mirrored;             /* of struct outgoing */
    uint32_t silence_ms;              /* longest time without anything about it; 0: without limit */
    uint64_t (*until_ns)(void *user); /* of the monotonic clock; 0: without limit */
    bool (*is_cancelled)(void *user); /* NULL: it cannot be */
    /* Handle progress, a log line or a question. The message is the callee's. NULL: nothing is of
     * interest. */
    void (*take)(void *user, struct message *message);
    void *user;
};

/* Borrowed as long as the session. */
struct session_options {
    const char *name;
    const struct log *log;
    struct secrets *secrets; /* hidden in what it says; NULL: none */
    /** Open a transport. @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY */
    int (*open)(const void *user, struct transport **ret, struct toolrack_error *err);
    const void *user;
};

/** Start a server, or begin to talk to one. @return as session_options.open(), with a reference */
int mount_session_start(const struct session_options *options, struct session_news *news,
                        struct session **ret, struct toolrack_error *err);
struct session *mount_session_ref(struct session *session);
/** The last one ends the server. */
void mount_session_unref(struct session *session);
CLEANUP_DEFINE(struct session, mount_session_unref)

/** A number for a request, unlike all others. [any-thread] */
uint64_t mount_session_number(struct session *session);
/** Send a request and wait for its answer, which is the caller's.
 * @param text  the whole message with that number as `id` and progress token, without line end
 * @return 0: a result or a failure; TOOLRACK_E_CANCELLED: cancelled or late, which the server is
 *         told; TOOLRACK_E_TIMEOUT: it was silent for too long; TOOLRACK_E_IO: the server has ended
 *         or cannot be understood, and how (`signal` is set if one killed it);
 *         TOOLRACK_E_EXECUTION_FAILED: it refused this request in words of the transport;
 *         TOOLRACK_E_PERMISSION_DENIED: it wants other credentials; TOOLRACK_E_UNAVAILABLE: it does
 *         not know the session any more, and has not taken the request;
 *         TOOLRACK_E_LIMIT_EXCEEDED, or that of mount_session_kill(); TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
int mount_session_ask(struct session *session, uint64_t number, const struct buf *text,
                      const struct session_wait *wait, struct message **ret,
                      struct toolrack_error *err);
/** The server speaks this revision from now on. [any-thread] */
void mount_session_agree(struct session *session, const char *revision);
/** The server was told that the session has begun: wait until it knows, and hear what it says
 * unasked from then on. @return 0; TOOLRACK_E_CANCELLED; as mount_session_ask(). [any-thread] */
int mount_session_settle(struct session *session, const struct session_wait *wait,
                         struct toolrack_error *err);
/** Send a request whose answer is of no interest, but that there is none: the server tells of
 * changes as long as it does not answer. [any-thread] */
void mount_session_listen(struct session *session, uint64_t number, const struct buf *text);
/** Send what needs no answer: a notification, or an answer. What cannot be sent is dropped.
 * [any-thread] */
void mount_session_tell(struct session *session, const struct buf *text);
/** The same: answer a request of the server. @param result  JSON, or NULL: `code` and `text` */
void mount_session_answer(struct session *session, const struct message *request,
                          const char *result, int code, const char *text);

/** Read and send what there is, if nobody else does. [any-thread] */
void mount_session_tend(struct session *session);
/** Its process group; 0: it has none, or has ended. [any-thread] */
pid_t mount_session_group(struct session *session);
/** Kill it: all who wait are told why. [any-thread] */
void mount_session_kill(struct session *session, const struct toolrack_error *why);
/** Whether it has ended. [any-thread] */
bool mount_session_has_ended(struct session *session);
