/* answer.h - execute the calls of a model's message, and tell of them while they run. */
#pragma once

#include "provider/outcome.h"

struct toolrack;

/** As toolrack_answer(), on the thread of which `watch` is called (provider/outcome.h); NULL: nobody
 * is told. All calls run on threads of the host then. */
int answer_message(struct toolrack *host, enum toolrack_format format, const char *message,
                   size_t length, const struct toolrack_call_options *options,
                   const struct agent_watch *watch, struct toolrack_text **ret,
                   struct toolrack_error *err);
