/* conversation.h - what was said so far, as the body of the next request.
 *
 * Messages are kept as texts of JSON and given back as they came: what a model
 * said holds signatures and the like that only its provider understands. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "toolrack/format.h"

/* What Anthropic wants to be told: most tokens of one answer. */
#define CONVERSATION_ANSWER_TOKENS_MAX 8192u

struct conversation {
    enum toolrack_format format;
    struct buf head;     /**< members before the messages, each with a comma after it */
    struct buf messages; /**< separated by commas */
    size_t count;        /**< of them */
};

/** Begin one; release with conversation_finish().
 * @param system  NULL: nothing is said about the model's part
 * @param tools   a JSON array of definitions in this format
 * @return 0; TOOLRACK_E_INVALID for a text that is no UTF-8; TOOLRACK_E_NO_MEMORY. On failure there
 *         is nothing to release. [any-thread] */
int conversation_init(struct conversation *ret, enum toolrack_format format, const char *model,
                      const char *system, const char *tools, const char *task,
                      struct toolrack_error *err);
void conversation_finish(struct conversation *conversation);

/** Append what the model said: its message, or the response that holds it.
 * @return 0; TOOLRACK_E_INVALID for what is no such message; TOOLRACK_E_NO_MEMORY. On failure
 *         nothing changed. */
int conversation_add_message(struct conversation *conversation, const char *message, size_t length,
                             struct toolrack_error *err);

/** Append what toolrack_answer() gave.
 * @return as above */
int conversation_add_results(struct conversation *conversation, const char *results, size_t length,
                             struct toolrack_error *err);

/** Append the body of the next request: what was said so far, to be answered as a stream.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int conversation_body(const struct conversation *conversation, struct buf *out,
                      struct toolrack_error *err);
