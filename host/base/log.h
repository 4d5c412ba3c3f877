/* log.h - lines for the operator.
 *
 * The library prints nothing: a line goes to the sink of the embedding app, if there is one. */
#pragma once

#include "base/error.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

/** Where lines go. `write` may be NULL; it is called on any thread and must not call back. */
struct log {
    void (*write)(void *user, int level, const char *source, const char *line);
    void *user;
    int level_min;
};

/** Longest line, with its final zero; longer lines are cut. */
#define LOG_LINE_MAX 1024

/** Log one line, unless it is empty. `source` is a module or a plugin id. [any-thread] */
void log_line(const struct log *log, int level, const char *source, const char *format, ...)
        TOOLRACK_PRINTF(4, 5);
