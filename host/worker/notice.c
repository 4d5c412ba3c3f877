#include "worker/notice.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

_Static_assert(NOTICE_MARK_SIZE + NOTICE_LINE_MAX + 1 <= PIPE_BUF, "it is written at once");

struct notice_mark notice_mark(uint64_t number) {
    static const char digits[] = "0123456789abcdef";
    struct notice_mark mark = {{0}};
    for (unsigned i = 1; i < NOTICE_MARK_SIZE; i++) {
        mark.bytes[i] = digits[number & 15];
        number >>= 4;
    }
    return mark;
}

void notice_send(int fd, const struct notice_mark *mark, enum plugin_notice which,
                 const char *text) {
    char line[NOTICE_MARK_SIZE + NOTICE_LINE_MAX + 1];
    size_t length = text != NULL ? strnlen(text, NOTICE_TEXT_MAX + 1) : 0;
    if (length > NOTICE_TEXT_MAX || (text != NULL && memchr(text, '\n', length) != NULL)) {
        return;
    }
    memcpy(line, mark->bytes, NOTICE_MARK_SIZE);
    line[NOTICE_MARK_SIZE] = NOTICE_LETTER(which);
    if (length > 0) {
        memcpy(line + NOTICE_MARK_SIZE + 1, text, length);
    }
    line[NOTICE_MARK_SIZE + 1 + length] = '\n';
    (void)!write(fd, line, NOTICE_MARK_SIZE + 1 + length + 1);
}

void notice_ring(int fd, const struct notice_mark *mark) {
    char line[NOTICE_MARK_SIZE + 1];
    memcpy(line, mark->bytes, NOTICE_MARK_SIZE);
    line[NOTICE_MARK_SIZE] = '\n';
    (void)!write(fd, line, sizeof line);
}
