/* output.h - messages on their way to the client of a pipe.
 *
 * What many threads send goes out in the order in which they sent it, a message a line. The thread
 * that finds nobody writing writes, also what the others send meanwhile: so many answers are one
 * write(). When the client does not read, who sends waits: at most OUTPUT_WAITING_MAX bytes and the
 * message that exceeds them are kept. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/lock.h"

#define OUTPUT_WAITING_MAX (1024u * 1024)

struct output {
    int fd;
    int stop_fd;   /* borrowed: when it can be read, nobody waits for the client any more */
    bool reopened; /* `fd` is owned */
    bool socket;
    struct lock lock;
    pthread_cond_t less;
    struct buf waiting; /* not taken by who writes */
    struct buf taken;   /* being written, by the one thread that writes */
    bool writing;
    bool held;   /* nobody begins to write: more comes at once */
    int failure; /* a negative errno: nothing is sent any more */
};

void output_init(struct output *output, int fd, int stop_fd);
void output_finish(struct output *output);

/** Send one message. [any-thread] */
void output_send(struct output *output, const char *text, size_t length);

/** Let messages wait for output_flush(). [any-thread] */
void output_hold(struct output *output);
void output_flush(struct output *output);

/** Send nothing any more; who waits goes on. [any-thread] */
void output_stop(struct output *output, int failure);

/** Wait until all is written, or nothing can be. */
void output_drain(struct output *output);

/** Why nothing can be sent any more, a negative errno; 0: it can. [any-thread] */
int output_failure(struct output *output);
