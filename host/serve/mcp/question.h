/* question.h - what a call asks its client for, in the way that fits: by a task, by rounds, by
 * requests of the server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "toolrack/toolrack.h"

struct request;

/** As options.input of a call, whose `user` is its request. */
int question_ask(void *user, struct toolrack_input *inputs, size_t count);

/** Whether a call that asked has nobody any more who wants its end: it was cancelled, its session
 * was ended, or its token holds no longer. */
bool question_is_unwanted(struct request *request);
