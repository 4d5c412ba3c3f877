#include "sink.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sink_finish(struct sink *sink) {
    text_finish(&sink->text);
}

/* Bytes of the character that begins here. */
static size_t length_of(const char *at, const char *end) {
    size_t length = 1;
    while (at + length < end && ((unsigned char)at[length] & 0xc0) == 0x80) {
        length++;
    }
    return length;
}

bool sink_add(struct sink *sink, const char *data, size_t length) {
    const char *end = data + length;
    const char *from = NULL;
    const char *at = data;
    if (sink->end != SINK_GOES_ON) {
        return false;
    }
    while (at < end && sink->seen < sink->skip + sink->keep) {
        from = from == NULL && sink->seen >= sink->skip ? at : from;
        sink->last = *at;
        at += length_of(at, end);
        sink->seen++;
    }
    if (from != NULL) {
        text_add(&sink->text, from, (size_t)(at - from));
    }
    if (sink->text.failed) {
        return sink_fail(sink, false, "out of memory");
    }
    sink->end = at < end ? SINK_FULL : SINK_GOES_ON;
    return at == end;
}

bool sink_add_string(struct sink *sink, const char *string) {
    return sink_add(sink, string, strlen(string));
}

bool sink_new_line(struct sink *sink) {
    return sink->last == '\n' || sink->last == '\0' || sink_add(sink, "\n", 1);
}

bool sink_fail(struct sink *sink, bool is_limit, const char *format, ...) {
    va_list args;
    if (sink->end == SINK_FAILED) {
        return false;
    }
    va_start(args, format);
    (void)vsnprintf(sink->message, sizeof sink->message, format, args);
    va_end(args);
    sink->message[strcspn(sink->message, "\n")] = '\0';
    sink->is_limit = is_limit;
    sink->end = SINK_FAILED;
    return false;
}

bool sink_goes_on(struct sink *sink) {
    if (sink->end == SINK_GOES_ON && sink->is_cancelled != NULL && sink->is_cancelled(sink->user)) {
        sink->end = SINK_CANCELLED;
    }
    return sink->end == SINK_GOES_ON;
}
