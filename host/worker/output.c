#include "worker/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "schema/secret.h"

/* Most bytes read of a stream at a time, so that a plugin that prints without end leaves time for
 * others; and most bytes read of a dead process, whose pipes hold less. */
#define READ_TURN_MAX (64u * 1024)
#define READ_END_MAX  (1024u * 1024)

void output_init(struct output *output, const struct log *log, const char *source) {
    output->log = log;
    output->source = source;
    for (unsigned i = 0; i < STREAM_COUNT; i++) {
        output->streams[i].fd = -1;
    }
    lock_init(&output->lock);
}

void output_set_streams(struct output *output, int streams[STREAM_COUNT]) {
    for (unsigned i = 0; i < STREAM_COUNT; i++) {
        output->streams[i].fd = streams[i];
        streams[i] = -1;
    }
}

void output_finish(struct output *output) {
    for (unsigned i = 0; i < STREAM_COUNT; i++) {
        closep(&output->streams[i].fd);
    }
    lock_finish(&output->lock);
    buf_finish(&output->secrets);
}

/* -------------------------------------------------------------------- lines */

void output_hide(struct output *output, const struct buf *secrets) {
    LOCK_SCOPE(&output->lock);
    struct buf *all = &output->secrets;
    /* Those of the earliest calls make room. */
    while (all->length > 0 && all->length + secrets->length > SECRETS_SIZE_MAX) {
        size_t first = strlen(all->data) + 1;
        memmove(all->data, all->data + first, all->length - first);
        buf_truncate(all, all->length - first);
    }
    if (all->length == 0 ||
        memmem(all->data, all->length, secrets->data, secrets->length) == NULL) {
        buf_add(all, secrets->data, secrets->length);
    }
}

const char *output_visible(struct output *output, const char *line, char room[LOG_LINE_MAX]) {
    LOCK_SCOPE(&output->lock);
    if (output->secrets.length == 0 && !output->secrets.failed) {
        return line;
    }
    utf8_copy(room, LOG_LINE_MAX, line);
    secrets_mask(&output->secrets, room);
    return room;
}

static void note(struct output *output, const char *line) {
    LOCK_ASSERT_HELD(&output->lock);
    char *to = output->last[output->line_count++ % CREW_LAST_LINES];
    utf8_copy(to, LOG_LINE_MAX, line);
    utf8_make_line(to);
}

size_t output_last_lines(const struct output *output, const char *ret[CREW_LAST_LINES]) {
    uint64_t end = output->line_count;
    uint64_t at = end > CREW_LAST_LINES ? end - CREW_LAST_LINES : 0;
    size_t count = 0;
    for (; at < end; at++) {
        ret[count++] = output->last[at % CREW_LAST_LINES];
    }
    return count;
}

uint64_t output_due(const struct output *output) {
    return output->dropped > 0 ? output->window_ns + CLOCK_NS_PER_S : 0;
}

void output_tell_dropped(struct output *output, uint64_t now_ns) {
    if (output->dropped > 0) {
        log_line(output->log, LOG_WARNING, output->source,
                 "%u more lines were dropped: it printed more than %u within a second",
                 output->dropped, CREW_LINES_PER_S_MAX);
    }
    output->window_ns = now_ns;
    output->passed = 0;
    output->dropped = 0;
}

void output_log(struct output *output, int level, const char *line, uint64_t now_ns) {
    char room[LOG_LINE_MAX];
    line = output_visible(output, line, room);
    lock_take(&output->lock);
    note(output, line);
    lock_release(&output->lock);
    if (now_ns - output->window_ns >= CLOCK_NS_PER_S) {
        output_tell_dropped(output, now_ns);
    }
    if (output->passed == CREW_LINES_PER_S_MAX) {
        output->dropped++;
        return;
    }
    output->passed++;
    log_line(output->log, level, output->source, "%s", line);
}

/* ------------------------------------------------------- what calls say */

static bool passes(struct output *output, enum said_kind kind, uint32_t max, uint64_t now_ns) {
    struct said *said = &output->said[kind];
    LOCK_ASSERT_HELD(&output->lock);
    if (now_ns - said->window_ns >= CLOCK_NS_PER_S) {
        said->window_ns = now_ns;
        said->passed = 0;
    }
    if (said->passed == max) {
        said->dropped++;
        atomic_store_explicit(&output->has_dropped, true, memory_order_relaxed);
        return false;
    }
    said->passed++;
    return true;
}

bool output_passes_log(struct output *output, const char *line, uint64_t now_ns) {
    LOCK_SCOPE(&output->lock);
    note(output, line);
    return passes(output, SAID_LOG, CREW_LINES_PER_S_MAX, now_ns);
}

bool output_passes_progress(struct output *output, uint64_t now_ns) {
    LOCK_SCOPE(&output->lock);
    return passes(output, SAID_PROGRESS, CREW_PROGRESS_PER_S_MAX, now_ns);
}

void output_tell_dropped_said(struct output *output) {
    if (!atomic_load_explicit(&output->has_dropped, memory_order_relaxed)) {
        return;
    }
    lock_take(&output->lock);
    uint32_t lines = output->said[SAID_LOG].dropped;
    uint32_t progress = output->said[SAID_PROGRESS].dropped;
    output->said[SAID_LOG].dropped = 0;
    output->said[SAID_PROGRESS].dropped = 0;
    atomic_store_explicit(&output->has_dropped, false, memory_order_relaxed);
    lock_release(&output->lock);
    if (lines > 0) {
        log_line(output->log, LOG_WARNING, output->source,
                 "%u more log lines of its calls were dropped: it logged more than %u within a "
                 "second",
                 lines, CREW_LINES_PER_S_MAX);
    }
    if (progress > 0) {
        log_line(
                output->log, LOG_WARNING, output->source,
                "%u more reports of progress were dropped: there were more than %u within a second",
                progress, CREW_PROGRESS_PER_S_MAX);
    }
}

/* ---------------------------------------------------------------- streams */

/* A line that does not fit is none of the worker program. */
static void take_notice(struct output *output, const struct stream *stream, uint64_t now_ns) {
    if (stream->is_cut || stream->length == 0 || output->notice == NULL) {
        return;
    }
    if (now_ns - output->notice_window_ns >= CLOCK_NS_PER_S) {
        output->notice_window_ns = now_ns;
        output->notices = 0;
    }
    if (output->notices <= CREW_NOTICES_PER_S_MAX) {
        output->notice(output->user,
                       output->notices < CREW_NOTICES_PER_S_MAX ? stream->line : NULL);
        output->notices++;
    }
}

/* Empty lines are not logged. */
static void log_stream(struct output *output, struct stream *stream, uint64_t now_ns) {
    stream->line[stream->length] = '\0';
    if (stream == &output->streams[STREAM_NOTICES]) {
        take_notice(output, stream, now_ns);
    } else if (stream->length > 0) {
        output_log(output, LOG_INFO, stream->line, now_ns);
    }
    stream->length = 0;
}

/* Add bytes without line breaks and zeros. The part of a too long line that fits is logged at once,
 * as the line may never end; its rest is left out. */
static void add_bytes(struct output *output, struct stream *stream, const char *bytes,
                      size_t length, uint64_t now_ns) {
    size_t room = sizeof stream->line - 1 - stream->length;
    if (stream->is_cut || length == 0) {
        return;
    }
    memcpy(stream->line + stream->length, bytes, length < room ? length : room);
    stream->length += length < room ? length : room;
    if (length > room) {
        stream->is_cut = true;
        stream->length = utf8_cut(stream->line, stream->length); /* not inside a character */
        log_stream(output, stream, now_ns);
    }
}

static void add(struct output *output, struct stream *stream, char *bytes, size_t length,
                uint64_t now_ns) {
    for (char *zero = memchr(bytes, '\0', length); zero != NULL;
         zero = memchr(zero, '\0', length - (size_t)(zero - bytes))) {
        *zero = ' ';
    }
    const char *end = bytes + length;
    for (const char *at = bytes; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        add_bytes(output, stream, at, (size_t)((line_end != NULL ? line_end : end) - at), now_ns);
        if (line_end == NULL) {
            return;
        }
        log_stream(output, stream, now_ns);
        stream->is_cut = false;
        at = line_end + 1;
    }
}

/* ------------------------------------------------------------------ reading */

/* False: the stream has ended. */
static bool read_some(struct output *output, struct stream *stream, size_t size_max,
                      uint64_t now_ns) {
    char bytes[4096];
    for (size_t done = 0; done < size_max;) {
        ssize_t got = read(stream->fd, bytes, sizeof bytes);
        if (got > 0) {
            add(output, stream, bytes, (size_t)got, now_ns);
            done += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return got < 0 && errno == EAGAIN;
        }
    }
    return true;
}

bool output_read(struct output *output, unsigned stream, uint64_t now_ns) {
    struct stream *from = &output->streams[stream];
    if (read_some(output, from, READ_TURN_MAX, now_ns)) {
        return true;
    }
    log_stream(output, from, now_ns);
    return false;
}

void output_close(struct output *output, unsigned stream) {
    closep(&output->streams[stream].fd);
    output->streams[stream].fd = -1;
}

void output_end(struct output *output, uint64_t now_ns) {
    for (unsigned i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &output->streams[i];
        if (stream->fd >= 0) {
            (void)read_some(output, stream, READ_END_MAX, now_ns);
            log_stream(output, stream, now_ns);
        }
    }
    output_tell_dropped(output, now_ns);
}
