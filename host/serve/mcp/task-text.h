/* task-text.h - a task as clients are shown it. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

struct mcp;
struct toolrack_text;

/** Append the members of a task that the protocol has, after those that are there. `text` is what
 * toolrack_task_get() gives.
 * @param whole  its outcome, and what it asks for, too */
void task_text_add(struct buf *out, const struct toolrack_text *text, bool whole);
