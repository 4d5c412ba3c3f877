/* render.h - a value of the text as the JSON value of a parameter. */
#pragma once

#include "base/buf.h"
#include "choose/evidence.h"

/** Append the JSON of a candidate that is not FORM_NONE.
 * @return false: the value cannot be written so, such as brackets that hold no JSON; nothing was
 *         appended. [any-thread] */
bool render_candidate(const struct values *values, const struct parameter *parameter,
                      const struct candidate *candidate, struct buf *out);

/** Append a day as JSON, as the end of a range that its parameter is: its first or its last second
 * where a time is wanted.
 * @return false: the parameter is no end of a range, or takes no day. [any-thread] */
bool render_day(const struct values *values, const struct parameter *parameter,
                const struct value *day, struct buf *out);

/** Whether a path is relative and its parameter takes absolute ones, so that the working folder
 * goes before it. [any-thread] */
bool render_is_absolute(const struct values *values, const struct parameter *parameter,
                        const struct value *value);

/** Whether the text says something that no argument can be, which is asked for: an integer of more
 * than 64 bits, a day that no month has, a day that is not understood.
 * @param reason  why not, in the language of the text, is appended then. [any-thread] */
bool render_is_refused(const struct values *values, const struct parameter *parameter,
                       const struct candidate *candidate, struct buf *reason);
