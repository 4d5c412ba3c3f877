/* conversation.h - the messages so far, as the body of the next request.
 *
 * Messages are kept as JSON text and sent back unchanged: a model's messages contain signatures and
 * other data that only its provider understands. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "toolrack/format.h"

/* Most tokens of one answer; Anthropic requires this number. */
#define CONVERSATION_ANSWER_TOKENS_MAX 8192u

struct conversation {
    enum toolrack_format format;
    struct buf head;     /**< members before the messages, each with a comma after it */
    struct buf messages; /**< separated by commas */
    size_t count;        /**< number of messages */
};

/** Begin a conversation; release with conversation_finish().
 * @param system  NULL: no system prompt
 * @param tools   a JSON array of definitions in this format
 * @return 0; TOOLRACK_E_INVALID for a string that is not UTF-8; TOOLRACK_E_NO_MEMORY. On failure
 *         there is nothing to release. [any-thread] */
int conversation_init(struct conversation *ret, enum toolrack_format format, const char *model,
                      const char *system, const char *tools, const char *task,
                      struct toolrack_error *err);
/** Set parameters of each request: members of its body, each with a comma after it, as of
 * parameters_write().
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int conversation_set_parameters(struct conversation *conversation, const struct buf *members,
                                struct toolrack_error *err);
void conversation_finish(struct conversation *conversation);

/** Append the model's message, or the response that contains it.
 * @return 0; TOOLRACK_E_INVALID when it is no such message; TOOLRACK_E_NO_MEMORY. On failure
 *         nothing changed. */
int conversation_add_message(struct conversation *conversation, const char *message, size_t length,
                             struct toolrack_error *err);

/** Append the results from toolrack_answer().
 * @return as above */
int conversation_add_results(struct conversation *conversation, const char *results, size_t length,
                             struct toolrack_error *err);

/** Append the body of the next request: all messages, with a request for a streamed answer.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int conversation_body(const struct conversation *conversation, struct buf *out,
                      struct toolrack_error *err);
