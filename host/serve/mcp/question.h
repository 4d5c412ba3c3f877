/* question.h - what a call asks its client for, in the way that fits: by a task, by rounds, by
 * requests of the server. */
#pragma once

#include <stddef.h>

#include "toolrack/toolrack.h"

/** As options.input of a call, whose `user` is its request. */
int question_ask(void *user, struct toolrack_input *inputs, size_t count);
