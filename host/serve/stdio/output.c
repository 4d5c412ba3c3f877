/* output.c - see output.h. */
#include "serve/stdio/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Memory for messages that is kept. */
#define KEPT_MAX (4u * OUTPUT_WAITING_MAX)

/* More than a pipe takes at once: such a message is not joined with others into one write(). */
#define LONG_FROM (64u * 1024)

/* A write must not wait longer than the signal that ends the process. The descriptor may be shared
 * with other programs, to which O_NONBLOCK would be news: so a pipe is opened once more. */
static void make_patient(struct output *output) {
    struct stat about;
    if (fstat(output->fd, &about) < 0) {
        return;
    }
    output->socket = S_ISSOCK(about.st_mode);
    if (S_ISFIFO(about.st_mode)) {
        char path[32];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", output->fd);
        int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0) {
            output->fd = fd;
            output->reopened = true;
        }
    }
}

void output_init(struct output *output, int fd, int stop_fd) {
    *output = (struct output){.fd = fd, .stop_fd = stop_fd, .lock = LOCK_INIT};
    (void)pthread_cond_init(&output->less, NULL);
    make_patient(output);
}

void output_finish(struct output *output) {
    if (output->reopened) {
        (void)close(output->fd);
    }
    buf_finish(&output->waiting);
    buf_finish(&output->taken);
    (void)pthread_cond_destroy(&output->less);
    lock_finish(&output->lock);
}

/* Wait until more can be written. @return 0, or a negative errno */
static int wait_for_room(const struct output *output) {
    struct pollfd waits[] = {{.fd = output->fd, .events = POLLOUT},
                             {.fd = output->stop_fd, .events = POLLIN}};
    if (poll(waits, ARRAY_LENGTH(waits), -1) < 0) {
        return errno == EINTR ? 0 : -errno;
    }
    return waits[1].revents != 0 ? -EINTR : 0;
}

/* @return 0, or a negative errno */
static int write_all(const struct output *output, const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = output->socket
                                  ? send(output->fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL)
                                  : write(output->fd, text, length);
        int failure = 0;
        if (written >= 0) {
            text += written;
            length -= (size_t)written;
        } else if (errno == EAGAIN) {
            failure = wait_for_room(output);
        } else if (errno != EINTR) {
            failure = -errno;
        }
        if (failure != 0) {
            return failure;
        }
    }
    return 0;
}

static void keep_little(struct buf *buf) {
    if (buf->room > KEPT_MAX) {
        buf_finish(buf);
    }
    buf_clear(buf);
}

/* Write what waits, until nothing does. Caller holds the lock, which is released meanwhile, and
 * nobody else writes. */
static void write_waiting(struct output *output) {
    output->writing = true;
    while (output->waiting.length > 0 && output->failure == 0) {
        struct buf taken = output->waiting;
        output->waiting = output->taken;
        output->taken = taken;
        lock_release(&output->lock);
        int failure = write_all(output, taken.data, taken.length);
        lock_take(&output->lock);
        keep_little(&output->taken);
        if (output->failure == 0) {
            output->failure = failure;
        }
        (void)pthread_cond_broadcast(&output->less);
    }
    output->writing = false;
    (void)pthread_cond_broadcast(&output->less);
}

/* Without a copy, which is memory for once: `waiting` does not keep as much. Caller holds the lock,
 * which is released meanwhile; others wait as behind write_waiting(), which goes on with theirs. */
static void write_long(struct output *output, const char *text, size_t length) {
    output->writing = true;
    lock_release(&output->lock);
    int failure = write_all(output, text, length);
    failure = failure == 0 ? write_all(output, "\n", 1) : failure;
    lock_take(&output->lock);
    if (output->failure == 0) {
        output->failure = failure;
    }
    write_waiting(output);
}

void output_send(struct output *output, const char *text, size_t length) {
    LOCK_SCOPE(&output->lock);
    while (output->waiting.length >= OUTPUT_WAITING_MAX && output->failure == 0) {
        if (!output->writing) {
            write_waiting(output); /* it was held */
        } else {
            lock_wait(&output->lock, &output->less);
        }
    }
    if (output->failure != 0) {
        return;
    }
    if (length >= LONG_FROM && output->waiting.length == 0 && !output->writing && !output->held) {
        write_long(output, text, length);
        return;
    }
    size_t before = output->waiting.length;
    buf_add(&output->waiting, text, length);
    buf_add_char(&output->waiting, '\n');
    if (output->waiting.failed) {
        /* A message that is missing or cut leaves a client waiting; the end of the pipe does not.
         */
        buf_truncate(&output->waiting, before);
        output->failure = -ENOMEM;
    } else if (!output->writing && !output->held) {
        write_waiting(output);
    }
}

void output_hold(struct output *output) {
    LOCK_SCOPE(&output->lock);
    output->held = true;
}

void output_flush(struct output *output) {
    LOCK_SCOPE(&output->lock);
    output->held = false;
    if (!output->writing) {
        write_waiting(output);
    }
}

void output_stop(struct output *output, int failure) {
    LOCK_SCOPE(&output->lock);
    output->failure = output->failure != 0 ? output->failure : failure;
    (void)pthread_cond_broadcast(&output->less);
}

void output_drain(struct output *output) {
    LOCK_SCOPE(&output->lock);
    while (output->writing || (output->waiting.length > 0 && output->failure == 0)) {
        lock_wait(&output->lock, &output->less);
    }
}

int output_failure(struct output *output) {
    LOCK_SCOPE(&output->lock);
    return output->failure;
}
