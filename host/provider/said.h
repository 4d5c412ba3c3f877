/* said.h - show a model's calls and their results to a person.
 *
 * Only for display: toolrack_answer() itself reads what is called. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "base/buf.h"
#include "toolrack/format.h"

/* Most characters of arguments and of a result that are shown. */
#define SAID_WIDTH_MAX 160u

/* Most calls, and results, of a message that are shown; of the others, how many there are. */
#define SAID_LINES_MAX 64u

/** A call, for a person: its name and arguments on one line each, without control characters. */
struct said_call {
    size_t index; /**< which call of the message, from 0 */
    const char *tool;
    const char *arguments; /**< cut; "" without any */
};

/** Call `take` with each call in a model's message; NULL: they are counted only. The message was
 * accepted before: what is refused is not called. Without memory calls are left out.
 * @return their number */
size_t said_calls(enum toolrack_format format, const char *message, size_t length,
                  void (*take)(void *user, const struct said_call *call), void *user);

/** Call `take` with the name of each call in a model's message, or "" for what is no name, and
 * where its arguments are: a JSON Pointer. */
void said_arguments(enum toolrack_format format, yyjson_val *message,
                    void (*take)(void *user, const char *name, const char *pointer), void *user);

/** Append text on one line, cut at a limit. */
void said_add(struct buf *out, const char *text, size_t length);
