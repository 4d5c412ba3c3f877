/* channel.h - one conversation between the host and one thread of a worker.
 *
 * Shared memory that both map and exactly one side holds: that side may write a frame and
 * hand the memory over, the other side waits. So nothing queues, nothing
 * is lost, and a tool that logs without end is slowed to what its reader takes.
 *
 *     host                                  worker
 *     call          ------------------->    runs the tool
 *                   <-------------------    log, progress, question
 *     go on, answer ------------------->
 *                   <-------------------    result or failure
 *
 * A side that waits looks for a moment whether the memory is handed over, where the other side
 * runs on another CPU, and sleeps otherwise; handing over makes a system call only when the
 * other side sleeps (handover.h). Measured, and why nothing else was taken: tests/bench,
 * host/README.md.
 *
 * Nothing that lies in the memory is believed by the host: a frame is copied out
 * before it is looked at, the memory is sealed against shrinking, and every size is
 * checked. The memory has room for the largest frame there may be, and takes none before
 * it is written to: a part of it for frames up to CHANNEL_INLINE_MAX each way, which is there
 * from the beginning, and one for larger frames, the bulk, which the side that holds the memory
 * uses. The host gives back what the bulk took above CHANNEL_BULK_KEPT_MAX as soon as a frame was
 * taken out of it, whether the worker likes it or not. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "worker/channel-wait.h"

/* Changes with every change of what lies in the memory or goes over the socket. */
#define CHANNEL_VERSION 2u

/* Largest payload with memory of its own, each way. */
#define CHANNEL_INLINE_MAX    (64u * 1024)
/* Largest payload at all: a result of the largest size, twice, for a string is sent as JSON and as
 * text, and what stands around it. */
#define CHANNEL_PAYLOAD_MAX   (129u * 1024 * 1024)
/* Memory of the bulk, and of a side's own for what it received, is kept for the next frame up to
 * this size. */
#define CHANNEL_BULK_KEPT_MAX (4u * 1024 * 1024)

/** What a frame is; its payload is protocol.h's. */
enum frame_type {
    FRAME_NONE,
    /* host to worker */
    FRAME_START,  /* what to load, and the sandbox: the first frame, on the first channel */
    FRAME_CALL,   /* run a tool */
    FRAME_GO_ON,  /* seen: after log, progress, describe */
    FRAME_ANSWER, /* to a question */
    FRAME_OPEN,   /* start a thread for another channel, whose memory comes over the socket */
    FRAME_END,    /* close the plugin and exit */
    /* worker to host */
    FRAME_READY,   /* the plugin is loaded; or after OPEN, the thread runs */
    FRAME_REFUSED, /* it could not be loaded: code and message; the worker exits */
    FRAME_RESULT,  /* of the call */
    FRAME_FAILURE, /* of the call: code, field, message */
    FRAME_LOG,
    FRAME_PROGRESS,
    FRAME_QUESTION, /* to the person who called */
    FRAME_DESCRIBE, /* layers of the sandbox in force, before READY */
    FRAME_TYPE_COUNT
};

struct channel;

/** The host's half, which holds the channel first. Memory is made and sealed against shrinking and
 * growing; its descriptor is for the worker. NULL: err is set (TOOLRACK_E_IO,
 * TOOLRACK_E_NO_MEMORY). [any-thread] */
struct channel *channel_create(struct toolrack_error *err);
/** The worker's half: maps what it was given, and closes the descriptor in any case: a plugin that
 * closes what it finds open does not reach its channel. NULL with err set when it is none.
 * [worker] */
struct channel *channel_join(int memory_fd, struct toolrack_error *err);
/** Unmap and close; NULL is ignored. Nobody waits on it. */
void channel_destroy(struct channel *channel);

/** Host: the descriptor of the channel's memory, borrowed. */
int channel_fd(const struct channel *channel);

/** Where to write a payload of `size` bytes before channel_send(); NULL: it is larger than
 * CHANNEL_PAYLOAD_MAX, or there is no memory. It is the other side's memory too: write it, and do
 * not read there what you wrote. The caller holds the channel. */
void *channel_room(struct channel *channel, size_t size);

/** Hand the channel over with a frame whose payload of `size` bytes stands in channel_room(), which
 * was asked for just that size; of size 0, without that. */
void channel_send(struct channel *channel, enum frame_type type, size_t size);

/** One frame received. The payload lies in memory of the receiver's own, zero-terminated behind its
 * end: that of a FRAME_CALL until the next FRAME_CALL, for a tool reads its arguments while its
 * questions are answered; that of other frames until the next receive. */
struct frame_in {
    enum frame_type type;
    const char *payload;
    size_t size;
};

/** Wait for the other side's hand-over and take the frame that came with it. A frame that the other
 * side sent is taken, whatever else happened: late, interrupted or dead.
 * @param until_ns  of the monotonic clock; 0 is for ever
 * [one thread at a time] */
enum channel_wait channel_receive(struct channel *channel, uint64_t until_ns, struct frame_in *ret);

/** Host: whether the worker has handed the channel over, without waiting. [one thread at a time] */
bool channel_is_held(const struct channel *channel);

/** Between two calls: forget interrupts that nobody waited for, and give back memory above
 * CHANNEL_BULK_KEPT_MAX, with it the payloads of frames received. [one thread at a time] */
void channel_settle(struct channel *channel);

/** Host: end the wait of whoever waits, or the next wait if nobody does, once: it gets
 * CHANNEL_INTERRUPTED. It says no more than that there is something to see elsewhere, so that who
 * looks there and then waits misses nothing; who finds nothing there waits again. [any-thread] */
void channel_interrupt(struct channel *channel);
/** Host: the worker is dead: who waits now or later gets CHANNEL_GONE, after the frame that it sent
 * before if there is one. [any-thread] */
void channel_abandon(struct channel *channel);

/** Host: ask the tool of the last FRAME_CALL sent to end; a later one is not touched. [any-thread]
 */
void channel_cancel(struct channel *channel);
/** Worker: whether that was asked of the last FRAME_CALL received. [worker] */
bool channel_is_cancelled(const struct channel *channel);

/** A few kilobytes of the memory that belong to the worker's crash handler (crash.h), read by the
 * host after the worker's end. */
#define CHANNEL_CRASH_SIZE 4096u
void *channel_crash_area(struct channel *channel);
