/* sink.h - where the text of a document goes: a window of its characters is kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../filesystem/text.h"

/* Why the text ends before the document does. */
enum sink_end {
    SINK_GOES_ON,
    SINK_FULL,      /**< the window is */
    SINK_CANCELLED, /**< `is_cancelled` says so */
    SINK_FAILED     /**< `message` says why */
};

struct sink {
    struct text text; /**< what is kept */
    uint64_t skip;    /**< characters that are left out at the beginning */
    uint64_t keep;    /**< characters that are kept then */
    uint64_t seen;    /**< characters so far */
    enum sink_end end;
    bool is_limit;     /**< FAILED: a limit of documents was reached */
    char message[300]; /**< one line */
    bool (*is_cancelled)(void *user);
    void *user;
    char last; /**< last byte that was added; 0: none */
};

void sink_finish(struct sink *sink);
/** Add valid UTF-8. False if no more is wanted: who adds then returns. */
bool sink_add(struct sink *sink, const char *data, size_t length);
bool sink_add_string(struct sink *sink, const char *string);
/** Begin a new line, unless one has begun. */
bool sink_new_line(struct sink *sink);
/** The document cannot be read on. False. */
bool sink_fail(struct sink *sink, bool is_limit, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/** Look whether the call goes on. */
bool sink_goes_on(struct sink *sink);
