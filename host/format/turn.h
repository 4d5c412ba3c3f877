/* turn.h - read calls from a provider's message, and write their results.
 *
 * Pure functions on strings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "format/message.h"

/** Read the calls of a message: the assistant's message itself, or the whole response.
 * @return 0; TOOLRACK_E_INVALID for text that is not a message of this format, with the place;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. On failure there is nothing to finish.
 *         [any-thread] */
int format_read_message(enum toolrack_format format, const char *text, size_t length,
                        struct format_message *ret, struct toolrack_error *err);

/** The same with memory that is used first; borrowed until format_message_finish(). */
int format_read_message_in(enum toolrack_format format, const char *text, size_t length,
                           void *memory, size_t size, struct format_message *ret,
                           struct toolrack_error *err);
void format_message_finish(struct format_message *message);

/** What takes the place of a result that is too long for a model. */
struct format_keeping {
    size_t length_max; /**< bytes of the text of a result; images and sounds do not count */
    void *user;
    /** Append what the model is told in place of the text, which may be changed.
     * @return whether there was memory */
    bool (*keep)(void *user, const struct format_call *call, char *text, size_t length,
                 struct buf *out);
};

/** The outcome of one call. Borrowed. */
struct format_outcome {
    const char *json; /**< the result as from toolrack_result_json(); NULL: the call failed */
    size_t length;
    bool is_error;                    /**< the result says what went wrong */
    bool is_content;                  /**< it is {"content": [blocks], "structuredContent": ...} */
    const struct toolrack_error *err; /**< of a failure */
    const char *changed;              /**< what was changed in the arguments, as from
                                       * toolrack_result_changed(), or NULL */
    size_t changed_length;
    const struct format_keeping *keeping; /**< NULL: a result of any length is written */
};

/** Append what a model is told of a call that failed. */
void format_add_failure(struct buf *out, const struct toolrack_error *err);

/** Append the answer to the message: a JSON array of the messages to append to the conversation.
 * @param outcomes  one for each call, in order
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int format_write_results(const struct format_message *message,
                         const struct format_outcome *outcomes, struct buf *out,
                         struct toolrack_error *err);
