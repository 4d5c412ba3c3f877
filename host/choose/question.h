/* question.h - what to ask for a value that a text does not give, in the language of the text. */
#pragma once

#include "base/buf.h"
#include "choose/parameter.h"

/* What the author of a tool wrote stands in quotes (author.h). */

/** Append the first sentence of a description in quotes, without its full stop. What follows
 * explains; or it tells a reader what to do.
 * @param width  most characters */
void question_add_sentence(struct buf *out, const char *text, size_t width, bool chinese);

/** Ask for a parameter. `parameter` and `description` may be NULL: then for what `name` and
 * `description` say. */
void question_missing(struct buf *out, const struct parameter *parameter, const char *name,
                      const char *description, bool chinese);

/** Ask for another value than `json`, which the schema refuses for `reason`.
 * @param parameter  NULL: it is none of those that are filled
 * @param pointer    of the value in the arguments; "": all of them */
void question_invalid(struct buf *out, const struct parameter *parameter, const char *pointer,
                      const char *json, const char *reason, bool chinese);

/** Ask whether a parameter is what was found. */
void question_confirm(struct buf *out, const struct parameter *parameter, const char *json,
                      bool chinese);

/** Ask what words of the text are for. */
void question_words(struct buf *out, const char *words, size_t length, bool chinese);

/** Ask whether the call is to be made before or without another thing that the text wants. */
void question_other_wish(struct buf *out, const char *words, size_t length, bool chinese);

/** Ask whether a tool is to be called, though the text only asks or tells of what it does. */
void question_told(struct buf *out, const char *tool, bool chinese);

/** Ask whether a tool is to be called to which earlier texts led, and not this one. */
void question_led(struct buf *out, const char *tool, bool chinese);

/** Ask for a shorter text: only the beginning of it is read. */
void question_long(struct buf *out, bool chinese);

/** Ask whether a value is right that a model gave and nothing says. */
void question_guessed(struct buf *out, const char *name, const char *json, bool chinese);
