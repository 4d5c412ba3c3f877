/* result.h - what a tool gave, as the result of tools/call. */
#pragma once

#include "serve/mcp/dialect.h"
#include "serve/principal.h"

/** Append the members content, structuredContent and isError of a result.
 * @param tool  that was called, or NULL */
void result_add(struct buf *out, const struct dialect *dialect, const struct toolrack_tool *tool,
                const struct toolrack_result *result);

/** The same for a failure of a tool: words for the model of a principal, and what it may do.
 * @param tool  that was called, or NULL */
void result_add_failure(struct buf *out, const struct principal *principal,
                        const struct toolrack_tool *tool, const struct toolrack_error *err);

/** Append a JSON object, as text and as structuredContent where the revision has that. */
void result_add_value(struct buf *out, const struct dialect *dialect, const char *json,
                      size_t length);

/** Append a content block of one text, in an array: the member content. */
void result_add_text(struct buf *out, const char *text, size_t length);

/** Append these words. */
void result_add_words(struct buf *text, const struct principal *principal,
                      const struct toolrack_tool *tool, const struct toolrack_error *err);

/** Append what went wrong, in words: the kind of failure, the field, the message without what is
 * only of use to the author of the plugin. */
void result_add_reason(struct buf *text, const struct principal *principal,
                       const struct toolrack_error *err);
