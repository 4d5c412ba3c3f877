/* hidden.h - characters that a reader does not see.
 *
 * Tag characters, zero-width characters, variation selectors and bidirectional controls can carry
 * text to a model that no person sees, or show a person another order than the one that is stored.
 * Here a character is hidden if it has no shape of its own (Default_Ignorable_Code_Point of
 * Unicode, the annotation characters and the separators U+2028 and U+2029) and does not stand where
 * ordinary text needs it:
 *
 *  - one joiner (U+200C, U+200D) after a letter of a script that joins, such as Persian or Hindi;
 *  - U+200D between two emoji;
 *  - one variation selector after a character that has variants: U+FE0E and U+FE0F after an emoji
 *    or symbol, others after an ideograph, a mathematical sign or a Mongolian letter;
 *  - the tags of the flags of England, Scotland and Wales;
 *  - U+200B after a letter of a script that is written without spaces, such as Thai.
 *
 * Bidirectional controls are always hidden. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/** The offset of the first hidden character, with its number of bytes and code point; `length` if
 * there is none. Bytes that are not UTF-8 are passed over. To find the next, continue after it:
 * what stands before the text that is given counts as nothing. The last two may be NULL.
 * [any-thread] */
size_t hidden_find(const char *text, size_t length, size_t *ret_size, uint32_t *ret_point);

/** Whether the text has one. [any-thread] */
bool hidden_has(const char *text, size_t length);

/** Append a character as "\u200b", one above U+FFFF as two such forms: inside a JSON string this
 * means the character itself, and in text everybody sees it. [any-thread] */
void hidden_add_escape(struct buf *out, uint32_t point);

/** Appends what is between two hidden characters. */
typedef void hidden_add_part(struct buf *out, const char *text, size_t length);

/** Append text with its hidden characters in that form, and what is between them by `add`.
 * [any-thread] */
void hidden_add_parts(struct buf *out, const char *text, size_t length, hidden_add_part *add);

/** Append text or JSON with its hidden characters in that form, and all others unchanged.
 * [any-thread] */
void hidden_add_visible(struct buf *out, const char *text, size_t length);
