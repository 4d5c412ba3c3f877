/* wording.h - a text with the words that its signs and values stand for.
 *
 * "17 * 23" says calculate, "100 USD in EUR" says convert, and neither has a word that says so.
 * Such words are added after what was said, and count as if they stood where the signs are.
 *
 * Of a conversation (turns.h) the wish that is open stands for itself if it says what is to be
 * done. Another goes on with those before it: "and in London?" */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct wording {
    const char *text; /**< what was said, and the words that were added; not zero-terminated */
    size_t length;
    size_t said;  /**< how many bytes of it were said */
    size_t start; /**< the signs, among these bytes */
    size_t end;
    uint32_t least; /**< turns that count so much at least are what the text says */
    char *memory;   /**< owned; NULL: nothing was added, and the text is borrowed */
};

struct values;

/** Add the words that the signs and values of a text stand for.
 * @param text    borrowed until wording_finish()
 * @param values  of the text
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int wording_make(const char *text, size_t length, const struct values *values, struct wording *ret,
                 struct toolrack_error *err);
/** An empty one is ignored. */
void wording_finish(struct wording *wording);

/** Where a part of it stands in what was said. */
void wording_place(const struct wording *wording, size_t *start, size_t *end);
