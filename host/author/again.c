#include "author/again.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"

#define LINE_LENGTH_MAX (1024u * 1024)

int again_add_variable(const char *name, const char *value) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const char *before = getenv(name);
    if (before != NULL && before[0] != '\0') {
        buf_printf(&text, "%s:", before);
    }
    buf_add_text(&text, value);
    return text.failed || setenv(name, text.data, 1) < 0 ? -1 : 0;
}

/* The words of this process; each ends with a NUL in `line`. NULL: out of memory. */
static char **words_of(struct buf *line) {
    size_t count = 0;
    for (size_t at = 0; at < line->length; at += strlen(line->data + at) + 1) {
        count++;
    }
    char **words = calloc(count + 1, sizeof *words);
    size_t at = 0;
    for (size_t i = 0; words != NULL && i < count; i++) {
        words[i] = line->data + at;
        at += strlen(words[i]) + 1;
    }
    return words;
}

static int read_line(struct buf *line) {
    CLEANUP(closep) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    char some[4096];
    ssize_t length = 0;
    while (fd >= 0 && line->length < LINE_LENGTH_MAX &&
           (length = read(fd, some, sizeof some)) > 0) {
        buf_add(line, some, (size_t)length);
    }
    if (line->length >= LINE_LENGTH_MAX) { /* cut, it would be another command */
        errno = E2BIG;
        return -1;
    }
    return fd < 0 || length < 0 || line->failed || line->length == 0 ? -1 : 0;
}

int again_start(struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    if (read_line(&line) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read /proc/self/cmdline: %s", strerror(errno));
    }
    CLEANUP(freep) char **words = words_of(&line);
    if (words == NULL) {
        return error_oom(err);
    }
    (void)execv("/proc/self/exe", words);
    return error_set(err, TOOLRACK_E_IO, "cannot start the command again: %s", strerror(errno));
}
