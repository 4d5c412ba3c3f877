/* turn.h - calls read from a provider's message, and their results written for it.
 *
 * Pure: texts in, texts out. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "toolrack/format.h"

/* Most calls in one message, and most bytes of it. */
#define FORMAT_CALLS_MAX   1024u
#define FORMAT_MESSAGE_MAX (64u * 1024 * 1024)

/** One call that a model made. Texts live in the message. */
struct format_call {
    const char *id;   /**< NULL where the provider gave none, or no text */
    const char *name; /**< as the model wrote it; "" where it wrote none */
    const char *arguments;
    size_t arguments_length; /**< text of JSON, zero-terminated; "{}" where there are none */
    /** NULL, or why it cannot be called: InvalidArguments for arguments that are no JSON object. */
    const struct toolrack_error *problem;
    yyjson_val *raw; /**< the call itself, for what is to be echoed */
};

struct format_message {
    enum toolrack_format format;
    yyjson_doc *doc;
    struct arena arena;
    struct format_call *calls;
    size_t count;
    size_t room; /**< for turn.c */
};

/** Read the calls of a message: the assistant's message itself, or the whole response.
 * @return 0; TOOLRACK_E_INVALID for what is no message of this format, with the place;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. On failure there is nothing to finish.
 *         [any-thread] */
int format_read_message(enum toolrack_format format, const char *text, size_t length,
                        struct format_message *ret, struct toolrack_error *err);
void format_message_finish(struct format_message *message);

/** How one call ended. Borrowed. */
struct format_outcome {
    const char *json; /**< the result as toolrack_result_json() gives it; NULL: it failed */
    size_t length;
    bool is_content;                  /**< it is {"content": [blocks], "structuredContent": ...} */
    const struct toolrack_error *err; /**< of a failure */
};

/** Append what answers the message: a JSON array of what is to be appended to the conversation.
 * @param outcomes  one for each call, in order
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int format_write_results(const struct format_message *message,
                         const struct format_outcome *outcomes, struct buf *out,
                         struct toolrack_error *err);
