/* said.h - show a model's calls and their results to a person.
 *
 * Only for display: toolrack_answer() itself reads what is called. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "toolrack/format.h"

/* Most characters of arguments and of a result that are shown. */
#define SAID_WIDTH_MAX 160u

/* Most calls, and results, of a message that are shown; of the others, how many there are. */
#define SAID_LINES_MAX 64u

/** Call `line` with a line for each call in a model's message: "add {"a":2,"b":3}". The message was
 * accepted before: what is refused is not called.
 * @return their number */
size_t said_calls(enum toolrack_format format, const char *message, size_t length,
                  void (*line)(void *user, const char *text), void *user);

/** The same for each result: "add: 5". Their names are those of the calls in `message`.
 * @return their number */
size_t said_results(enum toolrack_format format, const char *message, size_t length,
                    const char *results, size_t results_length,
                    void (*line)(void *user, const char *text), void *user);
