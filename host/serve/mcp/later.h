/* later.h - what waits for the store, on a thread of its own: the threads of a transport wait for
 * nothing. */
#pragma once

#include <stdbool.h>

struct request;

/** Go on with a request on the thread for such work. What it needs of its message must have been
 * copied. Answered by this function when there is no such thread. */
void later_run(struct request *request, void (*run)(struct request *request));

/** The same for what chooses tools: it may wait for a model, so each has a thread of its own.
 * @return false: the party has as many as it leaves to others; the request is to be answered */
bool later_choose(struct request *request, void (*run)(struct request *request));
