/* unsaid.h - which of the arguments that a model gave nothing says.
 *
 * An argument is said by the text, by the context, by the rules (a date that is reckoned, a choice
 * by another word), or by the schema: its default, or its only choice. Another one is a guess, and
 * so is one that the text only denies: "never to production". */
#pragma once

#include "base/buf.h"
#include "choose/selecting.h"

/** Append the JSON Pointers of guesses, with a zero behind each.
 * @param arguments  those of the model
 * @param schema     of the tool
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int unsaid_find(const struct selecting *selecting, yyjson_val *arguments, yyjson_val *schema,
                struct buf *ret, struct toolrack_error *err);
