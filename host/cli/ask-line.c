/* ask-line.c - the terminal of a question: show text, read a line. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/width.h"

bool ask_possible(void) {
    return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

bool ask_init(struct ask *ask, int in, int out) {
    *ask = (struct ask){.in = in, .out = out, .stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    return ask->stop >= 0;
}

void ask_finish(struct ask *ask) {
    if (ask->stop >= 0) {
        (void)close(ask->stop);
        ask->stop = -1;
    }
}

void ask_stop(const struct ask *ask) {
    if (ask->stop >= 0) {
        (void)eventfd_write(ask->stop, 1); /* fails only if it is readable already */
    }
}

bool ask_is_stopped(const struct ask *ask) {
    struct pollfd fd = {.fd = ask->stop, .events = POLLIN};
    return ask->stop >= 0 && poll(&fd, 1, 0) > 0;
}

size_t ask_columns(const struct ask *ask) {
    struct winsize size;
    return ioctl(ask->out, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t ask_rows(const struct ask *ask) {
    struct winsize size;
    return ioctl(ask->out, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

void ask_add_text(const struct ask *ask, struct buf *out, const char *prefix, const char *text,
                  size_t length, bool exact) {
    CLEANUP(buf_finish) struct buf escaped = BUF_INIT;
    text_add_escaped(&escaped, text, length);
    for (char *tab = escaped.data; tab != NULL && (tab = strchr(tab, '\t')) != NULL;) {
        *tab = ' '; /* its width is not known */
    }
    buf_add(&escaped, "", 0); /* an empty text is a line too */
    out->failed = out->failed || escaped.failed;
    for (size_t at = 0; !out->failed && at <= escaped.length;) {
        const char *end = memchr(escaped.data + at, '\n', escaped.length - at);
        size_t line = end != NULL ? (size_t)(end - escaped.data) - at : escaped.length - at;
        width_wrap(out, prefix, prefix, escaped.data + at, line, ask_columns(ask), exact);
        at += line + 1;
    }
}

void ask_show(const struct ask *ask, const struct buf *text) {
    if (!text->failed) {
        (void)write_all(ask->out, text->data, text->length);
    }
}

void ask_forget_typed(const struct ask *ask) {
    if (isatty(ask->in) == 1) {
        (void)tcflush(ask->in, TCIFLUSH); /* where that fails nothing better is known */
    }
}

/* Milliseconds to wait for the next byte: -1 is without limit, 0 after the deadline. */
static int patience_ms(const struct ask *ask) {
    if (ask->deadline_ns == 0) {
        return -1;
    }
    uint64_t now = clock_now_ns();
    if (now >= ask->deadline_ns) {
        return 0;
    }
    uint64_t left_ms = (ask->deadline_ns - now) / CLOCK_NS_PER_MS + 1;
    return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

/* Wait for input; false: the question has ended. */
static bool wait_for_input(const struct ask *ask) {
    for (;;) {
        struct pollfd fds[] = {{.fd = ask->in, .events = POLLIN},
                               {.fd = ask->stop, .events = POLLIN}};
        int patience = patience_ms(ask);
        int ready = patience == 0 ? 0 : poll(fds, 2, patience);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0 || fds[1].revents != 0) {
            return false;
        }
        if (fds[0].revents != 0) {
            return true;
        }
    }
}

/* Read a line, without its end. Byte by byte: what follows is not of this line.
 * False: end of input, the question has ended, or the line is too long. */
static bool read_line(const struct ask *ask, struct buf *line) {
    buf_clear(line);
    while (line->length <= ASK_LINE_LENGTH_MAX) {
        char c;
        ssize_t got = wait_for_input(ask) ? read(ask->in, &c, 1) : 0;
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        if (c == '\n') {
            buf_add(line, "", 0); /* an empty line is a string too */
            return !line->failed;
        }
        buf_add_char(line, c);
    }
    return false;
}

bool ask_line(const struct ask *ask, const struct buf *text, struct buf *line) {
    ask_show(ask, text);
    if (!read_line(ask, line)) {
        return false;
    }
    while (line->length > 0 && strchr(" \t\r", line->data[line->length - 1]) != NULL) {
        buf_truncate(line, line->length - 1);
    }
    size_t skip = strspn(line->data, " \t");
    memmove(line->data, line->data + skip, line->length - skip + 1);
    line->length -= skip;
    return true;
}

bool ask_is_yes(const char *text) {
    return strcasecmp(text, "y") == 0 || strcasecmp(text, "yes") == 0 ||
           strcasecmp(text, "true") == 0;
}

bool ask_is_no(const char *text) {
    return strcasecmp(text, "n") == 0 || strcasecmp(text, "no") == 0 ||
           strcasecmp(text, "false") == 0;
}
