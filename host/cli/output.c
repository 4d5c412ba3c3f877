#include "cli/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/options.h"

#define WIDTH_DEFAULT 80u
#define WIDTH_MAX     10000u

int output_write(int fd, const char *text, size_t length) {
    if (length == 0) {
        return 0;
    }
    if (isatty(fd) != 1) {
        return write_all(fd, text, length);
    }
    CLEANUP(buf_finish) struct buf escaped = BUF_INIT;
    text_add_escaped(&escaped, text, length);
    return escaped.failed ? -ENOMEM : write_all(fd, escaped.data, escaped.length);
}

void output_note(const char *format, ...) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    buf_add_text(&line, "toolrack: ");
    if (!text.failed && text.length > 0) {
        text_add_line(&line, text.data, text.length);
    }
    buf_add_char(&line, '\n');
    if (!line.failed) {
        (void)write_all(STDERR_FILENO, line.data, line.length);
    }
}

size_t output_width(void) {
    if (isatty(STDOUT_FILENO) != 1) {
        return 0;
    }
    const char *columns = getenv("COLUMNS");
    long long width = 0;
    if (columns != NULL && options_number(columns, 1, WIDTH_MAX, &width)) {
        return (size_t)width;
    }
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col;
    }
    return WIDTH_DEFAULT;
}
