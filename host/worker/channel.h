/* channel.h - one conversation between the host and one thread of a worker.
 *
 * Shared memory that both map, in which exactly one side has the turn: it may write
 * a frame and hand the turn over, the other side waits. So nothing queues, nothing
 * is lost, and a tool that logs without end is slowed to what its reader takes.
 *
 *     host                                  worker
 *     call          ------------------->    runs the tool
 *                   <-------------------    log, progress, question, need room
 *     go on, answer ------------------->
 *                   <-------------------    result or failure
 *
 * The turn is a futex word. Who waits looks at it for a moment where the other side
 * runs on another CPU, and sleeps otherwise; handing over makes a system call only
 * when the other side sleeps. Measured, and why nothing else was taken: tests/bench,
 * host/README.md.
 *
 * Nothing that lies in the memory is believed by the host: a frame is copied out
 * before it is looked at, the memory is sealed against shrinking, and every size is
 * checked. Frames up to CHANNEL_INLINE_MAX lie in the channel's own memory; larger
 * ones in a second, the bulk, which the host makes as large as is needed and keeps
 * while it is at most CHANNEL_BULK_KEPT_MAX. Only the host makes memory: a worker
 * that has more to say than there is room asks for it first. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/error.h"

/* Changes with every change of what lies in the memory or goes over the socket. */
#define CHANNEL_VERSION 1u

/* Largest payload in the channel's own memory, each way. */
#define CHANNEL_INLINE_MAX    (64u * 1024)
/* Largest payload at all: a result of the largest size and what stands around it. */
#define CHANNEL_PAYLOAD_MAX   (65u * 1024 * 1024)
/* A bulk memory above this is given back after the call that needed it. */
#define CHANNEL_BULK_KEPT_MAX (4u * 1024 * 1024)

/** What a frame is; its payload is protocol.h's. */
enum frame_type {
    FRAME_NONE,
    /* host to worker */
    FRAME_START,  /* what to load, and the sandbox: the first frame, on the first channel */
    FRAME_CALL,   /* run a tool */
    FRAME_GO_ON,  /* seen: after log, progress, need */
    FRAME_ANSWER, /* to a question */
    FRAME_OPEN,   /* start a thread for another channel, whose memory comes over the socket */
    FRAME_END,    /* close the plugin and exit */
    /* worker to host */
    FRAME_READY,    /* the plugin is loaded; or after OPEN, the thread runs */
    FRAME_REFUSED,  /* it could not be loaded: code and message; the worker exits */
    FRAME_RESULT,   /* of the call */
    FRAME_FAILURE,  /* of the call: code, field, message */
    FRAME_LOG,
    FRAME_PROGRESS,
    FRAME_QUESTION, /* to the person who called */
    FRAME_NEED,     /* a bulk memory of this many bytes, please; answered by GO_ON */
    FRAME_DESCRIBE, /* layers of the sandbox in force, before READY */
    FRAME_TYPE_COUNT
};

struct channel;

/** The host's half. Memory is made, sealed against shrinking and growing; its descriptor is
 * for the worker. NULL: err is set (TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY). [any-thread] */
struct channel *channel_create(struct toolrack_error *err);
/** The worker's half: maps what it was given; takes the descriptors over. `socket` is the inherited
 * one, over which bulk memories come. NULL with err set when it is none. [worker] */
struct channel *channel_join(int memory_fd, int socket_fd, struct toolrack_error *err);
/** Unmap and close; NULL is ignored. Nobody waits on it. */
void channel_destroy(struct channel *channel);

/** Host: the descriptor of the channel's memory, borrowed. */
int channel_fd(const struct channel *channel);
/** Host: over which socket bulk memories go to the worker; borrowed until channel_destroy(). */
void channel_set_socket(struct channel *channel, int socket_fd);

/** Where to write a payload of `size` bytes before channel_send(); NULL: it does not fit (worker:
 * ask with channel_need()), or there is no memory (host). The caller has the turn. */
void *channel_room(struct channel *channel, size_t size);

/** Worker: ask the host for room. False: refused or the host is gone. */
bool channel_need(struct channel *channel, size_t size);

/** Host: make room that the worker asked for, and hand the turn back. 0 or a code. */
int channel_grant(struct channel *channel, size_t size, struct toolrack_error *err);

/** Hand over the turn with a frame whose payload of `size` bytes stands in channel_room(). */
void channel_send(struct channel *channel, enum frame_type type, size_t size);

/** One frame received. The payload lies in memory of the receiver's own until the next receive or
 * channel_destroy(); zero-terminated behind its end. */
struct frame_in {
    enum frame_type type;
    const char *payload;
    size_t size;
};

enum channel_wait {
    CHANNEL_FRAME,       /* a frame came */
    CHANNEL_LATE,        /* not by the moment */
    CHANNEL_INTERRUPTED, /* channel_interrupt() */
    CHANNEL_GONE,        /* channel_abandon(): the other side is dead */
    CHANNEL_NONSENSE,    /* what came is no frame: sizes or type out of range */
    CHANNEL_NO_MEMORY
};

/** Wait for the turn and take the frame that came with it.
 * @param until_ns  of the monotonic clock; 0 is for ever
 * [one thread at a time] */
enum channel_wait channel_receive(struct channel *channel, uint64_t until_ns,
                                  struct frame_in *ret);

/** Host: whether the turn has come back, without waiting. */
bool channel_has_turn(const struct channel *channel);

/** Host: end the wait of whoever waits, once: it gets CHANNEL_INTERRUPTED; a wait begun later is
 * not touched when nobody waited. [any-thread] */
void channel_interrupt(struct channel *channel);
/** Host: the worker is dead: who waits now or later gets CHANNEL_GONE. [any-thread] */
void channel_abandon(struct channel *channel);

/** Host: ask the tool to end; worker: whether it was asked. Cleared by the next FRAME_CALL. */
void channel_cancel(struct channel *channel);
bool channel_is_cancelled(const struct channel *channel);

/** A few kilobytes of the memory that belong to the worker's crash handler (crash.h), read by the
 * host after the worker's end. */
#define CHANNEL_CRASH_SIZE 4096u
void *channel_crash_area(struct channel *channel);
