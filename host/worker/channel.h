/* channel.h - one conversation between the host and one thread of a worker.
 *
 * A channel is shared memory that both processes map. Exactly one side holds it: that side may
 * write a frame and hand the memory over, the other side waits. So no frame is queued or lost, and
 * a tool that logs without end runs no faster than its log lines are read.
 *
 *     host                                  worker
 *     call          ------------------->    runs the tool
 *                   <-------------------    log, progress, question
 *     go on, answer ------------------->
 *                   <-------------------    result or failure
 *
 * A side that waits first spins for a short time if the other side runs on another CPU, then
 * sleeps; handing over makes a system call only when the other side sleeps (handover.h).
 * Measurements and rejected alternatives: tests/bench, host/README.md.
 *
 * The host trusts nothing in the memory: a frame is copied out before it is read, the memory is
 * sealed against shrinking, and every size is checked. The memory has room for the largest possible
 * frame. One part, for frames up to CHANNEL_INLINE_MAX each way, is allocated at creation; the
 * other part, the bulk, is for larger frames, is used by the side that holds the memory, and has no
 * pages before it is written to. As soon as the host has taken a frame out of the bulk, it frees
 * the bulk's pages above CHANNEL_BULK_KEPT_MAX; the worker cannot prevent this. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "worker/channel-wait.h"

/* Increased with every change of the memory's layout or of what is sent over the socket. */
#define CHANNEL_VERSION 7u

/* Largest payload in the inline part, each way. */
#define CHANNEL_INLINE_MAX    (64u * 1024)
/* Largest payload of any frame: arguments or a result of the largest size, or all inputs of a
 * question, plus the other fields of the frame. */
#define CHANNEL_PAYLOAD_MAX   (72u * 1024 * 1024)
/* Up to this size, the memory of the bulk and of a side's copies of received frames is kept for the
 * next frame. */
#define CHANNEL_BULK_KEPT_MAX (4u * 1024 * 1024)

/** Type of a frame; protocol.h defines the payloads. */
enum frame_type {
    FRAME_NONE,
    /* host to worker */
    FRAME_START,  /* what to load, and the sandbox: the first frame, on the first channel */
    FRAME_CALL,   /* run a tool */
    FRAME_GO_ON,  /* acknowledges log, progress */
    FRAME_ANSWER, /* to a question */
    FRAME_OPEN,   /* start a thread for another channel, whose memory comes over the socket */
    FRAME_END,    /* close the plugin and exit */
    /* worker to host */
    FRAME_READY,   /* the plugin is loaded; or after OPEN, the thread was started */
    FRAME_REFUSED, /* the plugin could not be loaded: code and message; the worker exits */
    FRAME_RESULT,  /* of the call */
    FRAME_FAILURE, /* of the call: code, field, message */
    FRAME_LOG,
    FRAME_PROGRESS,
    FRAME_QUESTION, /* to the person who called */
    FRAME_TYPE_COUNT
};

struct channel;

/** Create the host's half, which holds the channel first. The memory is sealed against shrinking
 * and growing; its descriptor is for the worker. NULL: err is set (TOOLRACK_E_IO,
 * TOOLRACK_E_NO_MEMORY). [any-thread] */
struct channel *channel_create(struct toolrack_error *err);
/** Create the worker's half: map the memory and close the descriptor in any case, so that a plugin
 * that closes all descriptors does not damage its channel. NULL with err set when the memory is no
 * channel. [worker] */
struct channel *channel_join(int memory_fd, struct toolrack_error *err);
/** Unmap and close; NULL is ignored. No thread may be waiting on the channel. */
void channel_destroy(struct channel *channel);

/** Host: the descriptor of the channel's memory, borrowed; -1: it is closed. */
int channel_fd(const struct channel *channel);

/** Host: close the descriptor, which more workers need; the mapping stays. Only where
 * the worker can give back no pages of the memory, as its filter of system calls sees to. It is
 * kept where the kernel (before Linux 5.14) can do what it is for only by it. [one thread at a
 * time] */
void channel_close_file(struct channel *channel);

/** Where to write a payload of `size` bytes before channel_send(); NULL: it is larger than
 * CHANNEL_PAYLOAD_MAX, or there is no memory. The other side can write to this memory too: do not
 * read back what you wrote. The caller holds the channel. */
void *channel_room(struct channel *channel, size_t size);

/** Hand the channel over with a frame whose payload of `size` bytes is in channel_room(), which was
 * called with exactly this size. A payload of size 0 needs no channel_room(). */
void channel_send(struct channel *channel, enum frame_type type, size_t size);

/** One frame received. The payload is in the receiver's own memory, with a zero byte after its end.
 * The payload of a FRAME_CALL is valid until the next FRAME_CALL, as a tool reads its arguments
 * while its questions are answered; that of other frames until the next receive. */
struct frame_in {
    enum frame_type type;
    const char *payload;
    size_t size;
};

/** Wait for the other side's hand-over and take its frame. A frame that the other side sent is
 * taken even if the deadline is over, the wait was interrupted or the other side is dead.
 * @param until_ns  of the monotonic clock; 0: no limit
 * [one thread at a time] */
enum channel_wait channel_receive(struct channel *channel, uint64_t until_ns, struct frame_in *ret);

/** Host: take over the memory of the payload that was received last, with `*ret_room` bytes: it
 * stays valid until free(). [one thread at a time] */
char *channel_keep(struct channel *channel, size_t *ret_room);

/** Host: whether the worker has handed the channel over, without waiting. [one thread at a time] */
bool channel_is_held(const struct channel *channel);

/** Between two calls: discard interrupts that ended no wait, and free memory above
 * CHANNEL_BULK_KEPT_MAX, including the payloads of received frames in it. [one thread at a time] */
void channel_settle(struct channel *channel);

/** Host: end the current wait once, or the next one if no thread waits: channel_receive() returns
 * CHANNEL_INTERRUPTED. The reason is stored elsewhere: a thread that reads it there and then waits
 * misses no interrupt; a thread that finds no reason waits again. [any-thread] */
void channel_interrupt(struct channel *channel);
/** Host: the worker is dead: each wait, current or later, gets CHANNEL_GONE, after the worker's
 * last frame if there is one. [any-thread] */
void channel_abandon(struct channel *channel);

/** Host: ask the tool of the last FRAME_CALL sent to end; later calls are not affected.
 * [any-thread]
 */
void channel_cancel(struct channel *channel);
/** Worker: whether the host cancelled the last FRAME_CALL received. [worker] */
bool channel_is_cancelled(const struct channel *channel);

/** A few kilobytes of the memory that belong to the worker's crash handler (crash.h), read by the
 * host after the worker's end. */
#define CHANNEL_CRASH_SIZE 4096u
void *channel_crash_area(struct channel *channel);
