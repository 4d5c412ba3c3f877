#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

void log_line(const struct log *log, int level, const char *source, const char *format, ...) {
    if (log == NULL || log->write == NULL || level < log->level_min) {
        return;
    }
    char line[LOG_LINE_MAX];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (length >= (int)sizeof line) {
        line[utf8_cut(line, sizeof line - 1)] = '\0';
    }
    utf8_make_line(line); /* even if a plugin or a file put line breaks into it */
    bool is_empty = line[strspn(line, " ")] == '\0';
    if (!is_empty) { /* one of a plugin tells nothing */
        log->write(log->user, level, source, line);
    }
}
