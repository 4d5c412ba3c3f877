/* notice.h - what a worker tells beside what it prints, in the same pipe.
 *
 * One pipe, as each descriptor of a worker is held by the host as long as the worker lives. A
 * notice is a mark, at most a letter and a text, and a line break, written at once: so few bytes
 * (PIPE_BUF) are not mixed with those of other threads, whatever these print and wherever in a line
 * they are. The mark is a zero byte and 64 bits that the host drew for this worker: what a tool
 * prints of other people's text cannot be taken for a notice. What the plugin itself writes can,
 * and may: it is the plugin that the notices are from.
 *
 * A pipe that is full makes the writer wait for the host's next turn, as for what is printed. */
#pragma once

#include <stdint.h>

#include "plugin/image-host.h"

#define NOTICE_MARK_SIZE 17u

/** The mark of a worker's notices, as it is in the pipe; it has no line break. */
struct notice_mark {
    char bytes[NOTICE_MARK_SIZE];
};
struct notice_mark notice_mark(uint64_t number);

/* Longest notice after its mark, without the line break. */
#define NOTICE_LINE_MAX      (1 + NOTICE_TEXT_MAX)
/* The letter of a notice. */
#define NOTICE_LETTER(which) ((char)('a' + (int)(which)))

/** Worker: tell a notice; one whose text is too long or has a line break is left out.
 * [any-thread] */
void notice_send(int fd, const struct notice_mark *mark, enum plugin_notice which,
                 const char *text);
/** Worker: wake the host's supervisor. [any-thread] */
void notice_ring(int fd, const struct notice_mark *mark);
