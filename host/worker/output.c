#include "worker/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "schema/secret.h"

/* Most bytes read of a stream at a time, so that a plugin that prints without end leaves time for
 * others; and most bytes read of a dead process, whose pipe holds less. */
#define READ_TURN_MAX (64u * 1024)
#define READ_END_MAX  (1024u * 1024)

void output_init(struct output *output, const struct log *log, const char *source) {
    output->log = log;
    output->source = source;
    output->fd = -1;
    lock_init(&output->lock);
}

void output_open(struct output *output, int fd, uint64_t mark) {
    output->fd = fd;
    output->mark = notice_mark(mark);
}

void output_finish(struct output *output) {
    closep(&output->fd);
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

/* --------------------------------------------------------------- what is read */

/* A notice that is too long is none of the worker program. */
_Static_assert(NOTICE_LINE_MAX < LOG_LINE_MAX, "one of it fits");

static void take_notice(struct output *output, uint64_t now_ns) {
    struct line *line = &output->notice;
    line->text[line->length] = '\0';
    if (line->is_cut || line->length == 0 || output->noticed == NULL) {
        return;
    }
    if (now_ns - output->notice_window_ns >= CLOCK_NS_PER_S) {
        output->notice_window_ns = now_ns;
        output->notices = 0;
    }
    if (output->notices <= CREW_NOTICES_PER_S_MAX) {
        output->noticed(output->user, output->notices < CREW_NOTICES_PER_S_MAX ? line->text : NULL);
        output->notices++;
    }
}

/* Empty lines are not logged. */
static void log_printed(struct output *output, uint64_t now_ns) {
    struct line *line = &output->printed;
    line->text[line->length] = '\0';
    if (line->length > 0) {
        output_log(output, LOG_INFO, line->text, now_ns);
    }
    line->length = 0;
}

/* Adds bytes without line breaks and zeros, as far as they fit. */
static void add(struct line *line, const char *bytes, size_t length) {
    size_t room = sizeof line->text - 1 - line->length;
    if (line->is_cut) {
        return;
    }
    memcpy(line->text + line->length, bytes, length < room ? length : room);
    line->length += length < room ? length : room;
    line->is_cut = length > room;
}

/* The part of a too long line that fits is logged at once, as the line may never end; its rest is
 * left out. */
static void add_printed(struct output *output, const char *bytes, size_t length, uint64_t now_ns) {
    struct line *line = &output->printed;
    bool was_cut = line->is_cut;
    add(line, bytes, length);
    if (line->is_cut && !was_cut) {
        line->length = utf8_cut(line->text, line->length); /* not inside a character */
        log_printed(output, now_ns);
    }
}

/* What began like a mark was printed; its zero is shown as a space. */
static void take_back_mark(struct output *output, uint64_t now_ns) {
    if (output->marked > 0 && output->marked < NOTICE_MARK_SIZE) {
        add_printed(output, " ", 1, now_ns);
        add_printed(output, output->mark.bytes + 1, output->marked - 1, now_ns);
    }
    output->marked = 0;
}

static void end_line(struct output *output, uint64_t now_ns) {
    if (output->marked == NOTICE_MARK_SIZE) {
        take_notice(output, now_ns);
        output->notice.length = 0;
        output->notice.is_cut = false;
        output->marked = 0;
    } else {
        take_back_mark(output, now_ns);
        log_printed(output, now_ns);
        output->printed.is_cut = false;
    }
}

/* Takes the bytes up to the next one that may mean something, and returns how many. */
static size_t take_some(struct output *output, const char *bytes, size_t size, uint64_t now_ns) {
    if (bytes[0] == '\n') {
        end_line(output, now_ns);
        return 1;
    }
    if (output->marked > 0 && output->marked < NOTICE_MARK_SIZE &&
        bytes[0] == output->mark.bytes[output->marked]) {
        output->marked++;
        return 1;
    }
    if (output->marked == NOTICE_MARK_SIZE) {
        const char *end = memchr(bytes, '\n', size);
        size_t length = end != NULL ? (size_t)(end - bytes) : size;
        add(&output->notice, bytes, length);
        return length;
    }
    take_back_mark(output, now_ns);
    if (bytes[0] == '\0') {
        output->marked = 1;
        return 1;
    }
    const char *line_end = memchr(bytes, '\n', size);
    size_t length = line_end != NULL ? (size_t)(line_end - bytes) : size;
    length = strnlen(bytes, length);
    add_printed(output, bytes, length, now_ns);
    return length;
}

/* False: the pipe has ended. */
static bool read_some(struct output *output, size_t size_max, uint64_t now_ns) {
    char bytes[4096];
    for (size_t done = 0; done < size_max;) {
        ssize_t got = read(output->fd, bytes, sizeof bytes);
        for (size_t taken = 0; got > 0 && taken < (size_t)got;) {
            taken += take_some(output, bytes + taken, (size_t)got - taken, now_ns);
        }
        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            return got < 0 && errno == EAGAIN;
        }
    }
    return true;
}

/* What has no line break, and gets none. */
static void end_output(struct output *output, uint64_t now_ns) {
    take_back_mark(output, now_ns);
    log_printed(output, now_ns);
}

bool output_read(struct output *output, uint64_t now_ns) {
    if (read_some(output, READ_TURN_MAX, now_ns)) {
        return true;
    }
    end_output(output, now_ns);
    return false;
}

void output_close(struct output *output) {
    closep(&output->fd);
    output->fd = -1;
}

void output_end(struct output *output, uint64_t now_ns) {
    if (output->fd >= 0) {
        (void)read_some(output, READ_END_MAX, now_ns);
        end_output(output, now_ns);
    }
    output_tell_dropped(output, now_ns);
}
